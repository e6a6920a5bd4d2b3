"""Who led a partition: over all of its leader epochs, and at the offset of a finding."""

from __future__ import annotations

from bisect import bisect_left
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from kafkalog.auditing.partition import PartitionAudit
from kafkalog.auditing.topics.metadata import Metadata
from kafkalog.auditing.topics.metadata_joins import epoch_leaders, leader_spans
from kafkalog.findings import Finding
from kafkalog.format.kernel import NONE

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["LeadersAt", "Led", "leaders_of"]


class Led(NamedTuple):
    """A leader epoch: who led from when (ms) on, by which change, and the first offset of a log in it or after it.

    `leader` is None for nobody; it, `since` and `change` are None where the metadata does not show them.
    """

    leader_epoch: int
    leader: int | None
    since: int | None
    change: str | None
    first_offset: int


def leaders_of(partition: PartitionAudit, metadata: Metadata | None) -> list[Led]:
    """Return the leader epochs of a log's batches and those of the metadata, oldest first."""
    directory, epochs = partition.directory, sorted(partition.epochs)
    end = partition.log_end_offset
    found: list[Led] = []
    for span in () if metadata is None else leader_spans(metadata, directory.topic, directory.partition):
        epoch = span.value.leader_epoch
        at = bisect_left(epochs, (epoch, -1))
        first = epochs[at][1] if at < len(epochs) else end
        leader = None if span.value.leader < 0 else span.value.leader
        found.append(Led(epoch, leader, span.since, span.value.change, first))
    known = {led.leader_epoch for led in found}
    found += [Led(epoch, None, None, None, first) for epoch, first in epochs if epoch >= 0 and epoch not in known]
    return sorted(found, key=lambda led: (led.leader_epoch, led.since or 0))


class LeadersAt:
    """Who led a log's partition when its offsets were written, by the leader epochs of the batches there."""

    def __init__(self, partition: PartitionAudit, metadata: Metadata) -> None:
        self._partition = partition
        self._metadata = metadata

    @cached_property
    def _of_runs(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return where the log's leader epochs begin, and who led in each; last NONE, for what is before the first."""
        directory, epochs = self._partition.directory, self._partition.epochs
        known = epoch_leaders(self._metadata, directory.topic, directory.partition)
        led = [known.get(epoch, NONE) for epoch, _ in epochs]
        return np.array([first for _, first in epochs], np.int64), np.array([*led, NONE], np.int64)

    def at(self, offsets: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the broker that led at each offset, NONE where the metadata does not reach back to its epoch."""
        firsts, led = self._of_runs
        found: NDArray[np.int64] = led[np.searchsorted(firsts, offsets, "right") - 1]
        return found

    def on(self, finding: Finding) -> Finding:
        """Return a finding with the broker that led at its offset; without an offset it stays as it is."""
        if finding.offset is None:
            return finding
        (leader,) = self.at(np.array([finding.offset])).tolist()
        return finding if leader == NONE else finding._replace(leader=leader)

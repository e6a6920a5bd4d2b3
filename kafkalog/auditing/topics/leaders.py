"""Who led a partition: over all of its leader epochs, and at the offset of a finding."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import NamedTuple

from kafkalog.auditing.partition import PartitionAudit
from kafkalog.auditing.topics.metadata import Metadata
from kafkalog.auditing.topics.metadata_joins import leader_of_epoch, leader_spans
from kafkalog.findings import Finding

__all__ = ["Led", "leaders_of", "with_leader"]


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


def with_leader(finding: Finding, partition: PartitionAudit, metadata: Metadata) -> Finding:
    """Return a finding with the broker that led when its offset was written, by the leader epoch of the batch there.

    Without an offset, and where the metadata does not reach back to that epoch, it stays as it is.
    """
    if finding.offset is None:
        return finding
    at = bisect_right(partition.epochs, finding.offset, key=lambda pair: pair[1]) - 1
    if at < 0:
        return finding
    epoch = partition.epochs[at][0]
    directory = partition.directory
    return finding._replace(leader=leader_of_epoch(metadata, directory.topic, directory.partition, epoch))

"""Leader epochs rebuilt from a log's batches: where each epoch's batches begin."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from kafkalog.columns.named import NONE
from kafkalog.kernel import buffers

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from kafkalog.auditing.side_files.index_witness import Batches
    from kafkalog.kafka.batch import CellTable

__all__ = ["EpochRun", "EpochRuns", "runs_of_log"]


@dataclass(frozen=True, slots=True)
class EpochRun:
    """Consecutive batches of one leader epoch: offsets of the first one, and the last offset before it."""

    epoch: int
    first: int
    first_last: int
    before: int | None


class EpochRuns:
    """The runs of one segment; call `chunk` for each chunk in order."""

    def __init__(self) -> None:
        self.runs: list[EpochRun] = []

    def plain(self, heads: CellTable) -> None:
        """Take in a chunk of one epoch, which is that of the batches before it."""
        if not self.runs:
            epoch, first, last = (
                heads.cell(column, 0) for column in (buffers.LEADER_EPOCH, buffers.BASE_OFFSET, buffers.LAST_OFFSET)
            )
            self.runs.append(EpochRun(epoch, first, last, None))

    def chunk(self, epochs: NDArray[np.int64], batches: Batches, last_offset: int | None) -> None:
        """Take in the next batches, with their leader epochs; `last_offset` is the one before them."""
        known = self.runs[-1].epoch if self.runs else None
        changes = np.append(known is None or epochs[0] != known, epochs[1:] != epochs[:-1])
        for row in np.flatnonzero(changes):
            last = int(batches.last_offset[row])
            base = int(batches.base_offset[row])
            before = int(batches.last_offset[row - 1]) if row else last_offset
            first = (last if before is None else before + 1) if base == NONE else base
            self.runs.append(EpochRun(int(epochs[row]), first, last, before))


def runs_of_log(segments: Iterable[tuple[Sequence[EpochRun], int | None]], log_start: int) -> list[EpochRun]:
    """Join the runs of segments, each given with its last offset, without those that end before the log's start."""
    joined: list[EpochRun] = []
    before: int | None = None
    for runs, last_offset in segments:
        for run in runs:
            if not joined or joined[-1].epoch != run.epoch:
                joined.append(run if run.before is not None else replace(run, before=before))
        before = before if last_offset is None else last_offset
    ends = [following.before for following in joined[1:]]
    reach = [end is None or end >= log_start for end in ends] + [before is not None and before >= log_start] * bool(
        joined
    )
    return [run for run, reaches in zip(joined, reach, strict=True) if reaches]

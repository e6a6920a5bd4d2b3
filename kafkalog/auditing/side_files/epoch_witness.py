"""``leader-epoch-checkpoint`` held against the leader epochs of the batches.

An epoch begins at the log's end of that moment, which is the first offset of its first batch, or lies in the gap in
front of that where batches were cleaned away. The first entry is raised to the log's start when that moves. An epoch
without batches is there only as the last one, or where its batches would have been in a gap. With tiered storage the
epochs of the part that is remote only stay.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from kafkalog.auditing.side_files.epoch_runs import EpochRun

__all__ = ["EpochFault", "epoch_faults"]


class EpochFault(NamedTuple):
    """What is wrong with an entry, by its number, None where one is missing; `offset` is where it would begin.

    `stale` says that the file may only be older than the log's start.
    """

    entry: int | None
    offset: int
    needed: int | None
    found: int | None
    message: str
    stale: bool = False


def epoch_faults(
    entries: Sequence[tuple[int, int]], runs: Sequence[EpochRun], log_start: int, local_start: int, log_end: int
) -> list[EpochFault]:
    """Say which entries (epoch, start offset) the batches contradict, and which epoch is missing.

    `runs` are ``runs_of_log``. Before `local_start` there are no batches here; that is `log_start` but for a log whose
    first part is remote. Entries that begin after `log_end` are not judged here.
    """
    # Where the format went back to one without epochs, brokers cleared the file: it begins behind the last such batch.
    old = max((number for number, run in enumerate(runs) if run.epoch < 0), default=-1)
    cleared = runs[old].first if old >= 0 else 0
    runs = runs[old + 1 :]
    for number, ((epoch, start), (later, behind)) in enumerate(pairwise(entries), 1):
        if later <= epoch or behind <= start:
            message = f"epoch {later} from offset {behind} stands behind epoch {epoch} from offset {start}"
            return [EpochFault(number, behind, start + 1, behind, message)]
    found = [
        _fault(number, *entry, runs, log_start, local_start, log_end)
        for number, entry in enumerate(entries)
        if not 0 <= entry[1] < cleared
    ]
    return [fault for fault in [*found, _missing(entries, runs)] if fault is not None]


def _missing(entries: Sequence[tuple[int, int]], runs: Sequence[EpochRun]) -> EpochFault | None:
    known = {epoch for epoch, _ in entries}
    for run in runs:
        if run.epoch not in known:
            message = f"batches from offset {run.first} on have epoch {run.epoch}, which the checkpoint does not have"
            return EpochFault(None, run.first, run.epoch, None, message)
    return None


def _fault(
    number: int, epoch: int, start: int, runs: Sequence[EpochRun], log_start: int, local_start: int, log_end: int
) -> EpochFault | None:
    if min(epoch, start) < 0:
        return EpochFault(
            number, start, 0, min(epoch, start), f"the entry is {epoch} {start}: neither is ever negative"
        )
    if start > log_end:
        return None
    run = next((run for run in runs if run.epoch == epoch), None)
    if run is None:
        if start == log_end or log_start <= start < local_start or any(_in_gap(start, run, log_start) for run in runs):
            return None
        message = f"epoch {epoch} begins at offset {start} by the checkpoint, the batches there have another one"
        return EpochFault(number, start, None, epoch, message, stale=start < log_start)
    needed = max(run.first, log_start)
    overlaps = run.first <= (-1 if run.before is None else run.before)
    if start == needed or _in_gap(start, run, log_start) or (overlaps and run.first < start <= run.first_last + 1):
        return None  # 0.11 wrote batches that overlap: the offset that it went by is inside or behind
    message = f"epoch {epoch} begins at offset {start} by the checkpoint, at {needed} by the batches"
    return EpochFault(number, start, needed, start, message, stale=number == 0 and start < needed)


def _in_gap(start: int, run: EpochRun, log_start: int) -> bool:
    """Say whether an offset lies in the gap right in front of a run."""
    before = log_start - 1 if run.before is None else run.before
    return max(before, log_start - 1) < start < run.first

"""``leader-epoch-checkpoint`` compared with the leader epochs of the batches.

An epoch begins at the log's end of that moment: that is the first offset of its first batch, or an offset in the gap
before it where batches were cleaned away. The first entry is raised to the log's start when that moves. An epoch
without batches has an entry only as the last one, or where its batches would have been in a gap. With
tiered storage, epochs of the part that is remote keep their entries.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from kafkalog.auditing.side_files.epoch_runs import EpochRun

__all__ = ["EpochFault", "epoch_faults"]


class EpochFault(NamedTuple):
    """What is wrong with an entry: its number, None where one is missing, and the `offset` where it would begin.

    `stale` says that the file may just be older than the log's start.
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

    `runs` are ``runs_of_log``. Before `local_start` there are no batches here; that is `log_start` except in a log
    whose first part is remote. Entries that begin after `log_end` are not judged here.
    """
    # Where the format went back to one without epochs, brokers cleared the file: it begins after the last such batch.
    old = max((number for number, run in enumerate(runs) if run.epoch < 0), default=-1)
    cleared = runs[old].first if old >= 0 else 0
    runs = runs[old + 1 :]
    for number, ((epoch, start), (later, after)) in enumerate(pairwise(entries), 1):
        if later <= epoch or after <= start:
            message = (
                f"the entry of epoch {later} from offset {after} follows that of epoch {epoch} from offset {start}"
            )
            return [EpochFault(number, after, start + 1, after, message)]
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
            message = (
                f"batches from offset {run.first} on have epoch {run.epoch}, but the checkpoint has no entry for it"
            )
            return EpochFault(None, run.first, run.epoch, None, message)
    return None


def _fault(
    number: int, epoch: int, start: int, runs: Sequence[EpochRun], log_start: int, local_start: int, log_end: int
) -> EpochFault | None:
    if min(epoch, start) < 0:
        return EpochFault(
            number,
            start,
            0,
            min(epoch, start),
            f"an entry has epoch {epoch} and offset {start}; neither may be negative",
        )
    if start > log_end:
        return None
    run = next((run for run in runs if run.epoch == epoch), None)
    if run is None:
        if start == log_end or log_start <= start < local_start or any(_in_gap(start, run, log_start) for run in runs):
            return None
        message = f"the checkpoint has epoch {epoch} from offset {start} on, but the batches there have another epoch"
        return EpochFault(number, start, None, epoch, message, stale=start < log_start)
    needed = max(run.first, log_start)
    overlaps = run.first <= (-1 if run.before is None else run.before)
    if start == needed or _in_gap(start, run, log_start) or (overlaps and run.first < start <= run.first_last + 1):
        return None  # 0.11 wrote batches that overlap: the offset that it used is inside or after
    message = f"the checkpoint has epoch {epoch} from offset {start} on, but by the batches it begins at {needed}"
    return EpochFault(number, start, needed, start, message, stale=number == 0 and start < needed)


def _in_gap(start: int, run: EpochRun, log_start: int) -> bool:
    """Say whether an offset is in the gap directly before a run."""
    before = log_start - 1 if run.before is None else run.before
    return max(before, log_start - 1) < start < run.first

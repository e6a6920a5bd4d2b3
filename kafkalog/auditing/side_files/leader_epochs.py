"""A partition's ``leader-epoch-checkpoint`` compared with the leader epochs of its batches."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise
from typing import NamedTuple

from kafkalog.auditing.partition import PartitionAudit
from kafkalog.auditing.side_files.kraft_snapshot import head_missing, snapshot_offsets
from kafkalog.auditing.side_files.rebuilt import EpochRun, ForeignSegments, RebuiltSegment, runs_of_log
from kafkalog.files.directories import exists
from kafkalog.files.names import METADATA_TOPIC
from kafkalog.findings import Finding
from kafkalog.settle import Reason, lowered

__all__ = ["epoch_faults", "leader_epochs"]


# ``leader-epoch-checkpoint`` compared with the leader epochs of the batches.
#
# An epoch begins at the log's end of that moment: that is the first offset of its first batch, or an offset in the gap
# before it where batches were cleaned away. The first entry is raised to the log's start when that moves. An epoch
# without batches has an entry only as the last one, or where its batches would have been in a gap. With
# tiered storage, epochs of the part that is remote keep their entries.


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
    entries = [entry for entry, _ in groupby(entries)]  # a broker ignores what is said again
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


def leader_epochs(
    audit: PartitionAudit, segments: Sequence[RebuiltSegment], foreign: ForeignSegments
) -> Iterator[Finding]:
    """Yield where the checkpoint contradicts the batches."""
    directory = audit.directory
    path = os.path.join(directory.log, "leader-epoch-checkpoint")
    log_start = _first_offset(audit)
    runs = runs_of_log(((rebuilt.epochs, rebuilt.last_offset) for rebuilt in segments), log_start)
    if not exists(path):
        if any(run.epoch >= 0 for run in runs):
            message = "there is no leader-epoch-checkpoint beside the segments"
            yield directory.finding("side-file-missing", path, message)
        return
    if any(finding.code == "checkpoint-malformed" and finding.file == path for finding in audit.findings):
        return
    faults = epoch_faults(directory.leader_epochs, runs, log_start, audit.log_start_offset, audit.log_end_offset)
    if not faults:
        return
    fault = faults[0]
    more = _more(len(faults) - 1)
    finding = directory.finding(
        "leader-epochs-mismatch", path, fault.message + more,
        offset=fault.offset, needed=fault.needed, found=fault.found,
    )  # fmt: skip
    headless = any(True for _ in head_missing(directory))
    excused = (fault.stale and (directory.orphans or not directory.clean_shutdown)) or foreign.any_foreign or headless
    yield lowered(finding, Reason.FOLLOWS) if excused else finding


def _more(count: int) -> str:
    return "" if not count else f"; {count} more {'entry is' if count == 1 else 'entries are'} wrong"


def _first_offset(audit: PartitionAudit) -> int:
    """Return the log's start that the leader epochs refer to."""
    directory, start = audit.directory, audit.log_start_offset
    if directory.topic == METADATA_TOPIC and directory.leader_epochs:
        # It is a snapshot's offset, which no other file has once the log was cut there.
        first = directory.leader_epochs[0][1]
        return first if first > start and first in snapshot_offsets(directory) else start
    # With tiered storage the log begins before the first local segment.
    return min(start, directory.checkpoints.get("log_start", start))

"""A partition's ``leader-epoch-checkpoint`` compared with the leader epochs of its batches."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from kafkalog.auditing.partition import PartitionAudit, located
from kafkalog.auditing.side_files.doubts import Doubts
from kafkalog.auditing.side_files.epoch_runs import runs_of_log
from kafkalog.auditing.side_files.epoch_witness import epoch_faults
from kafkalog.auditing.side_files.kraft_snapshot import snapshot_offsets
from kafkalog.auditing.side_files.rebuilt import RebuiltSegment
from kafkalog.findings import Finding, Severity
from kafkalog.log.names import METADATA_TOPIC
from kafkalog.log.storage import exists

__all__ = ["leader_epochs"]


def leader_epochs(audit: PartitionAudit, segments: Sequence[RebuiltSegment], doubts: Doubts) -> Iterator[Finding]:
    """Yield where the checkpoint contradicts the batches."""
    directory = audit.directory
    path = os.path.join(directory.log, "leader-epoch-checkpoint")
    log_start = _first_offset(audit)
    runs = runs_of_log(((rebuilt.epochs, rebuilt.last_offset) for rebuilt in segments), log_start)
    if not exists(path):
        if any(run.epoch >= 0 for run in runs):
            message = "there is no leader-epoch-checkpoint beside the segments"
            yield located(Finding.of("side-file-missing", path, message), directory)
        return
    if any(finding.code == "checkpoint-malformed" and finding.file == path for finding in audit.findings):
        return
    faults = epoch_faults(directory.leader_epochs, runs, log_start, audit.log_start_offset, audit.log_end_offset)
    if not faults:
        return
    fault = faults[0]
    more = _more(len(faults) - 1)
    finding = Finding.of(
        "leader-epochs-mismatch", path, fault.message + more,
        offset=fault.offset, needed=fault.needed, found=fault.found,
    )  # fmt: skip
    excused = (fault.stale and (directory.orphans or not directory.clean_shutdown)) or doubts.any_foreign
    yield located(finding._replace(severity=Severity.NOTE) if excused else finding, directory)


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

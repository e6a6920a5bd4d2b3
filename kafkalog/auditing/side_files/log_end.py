"""Files that know offsets after the log's end: its end was cut off, or a checkpoint is another directory's."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Final

from kafkalog.auditing.partition import PartitionAudit, located
from kafkalog.findings import Finding, Severity

__all__ = ["log_end"]

_OF_ROOT: Final = (
    ("recovery_point", "recovery-point-offset-checkpoint"),
    ("high_watermark", "replication-offset-checkpoint"),
    ("log_start", "log-start-offset-checkpoint"),
    ("cleaner", "cleaner-offset-checkpoint"),
)
_LAST_OFFSET: Final = 2**63 - 2  # the offset after it still has 63 bits


def log_end(audit: PartitionAudit, *, explained: bool) -> Iterator[Finding]:
    """Yield one finding that names the files; a note where another finding has `explained` it."""
    directory, end = audit.directory, audit.log_end_offset
    beside = [(offset, os.path.basename(path)) for offset, path in directory.snapshots.items()]
    beside += [(start, "leader-epoch-checkpoint") for _, start in directory.leader_epochs]
    beside += [(min(offset, _LAST_OFFSET) + 1, f"{offset:020}.index") for offset in directory.orphans]
    known_of_root = directory.checkpoints
    of_root = [(known_of_root[kind], name) for kind, name in _OF_ROOT if kind in known_of_root]
    beyond = [(offset, name) for offset, name in beside if offset > end]
    ahead = [(offset, name) for offset, name in of_root if offset > end]
    if not beyond and not ahead:
        return
    known = max(beyond or ahead)[0]
    words = ", ".join(f"{name} has offset {offset}" for offset, name in [*beyond, *ahead])
    finding = Finding.of(
        "log-cut-short" if beyond else "checkpoint-ahead",
        directory.segments[-1].path if beyond and directory.segments else directory.log,
        f"the log ends at offset {end}, but {words}",
        offset=end,
        last_offset=known,
        needed=known,
        found=end,
    )
    excused = explained or not directory.clean_shutdown
    yield located(finding._replace(severity=Severity.NOTE) if excused else finding, directory)

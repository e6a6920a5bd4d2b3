"""Files that know offsets after the log's end: the log is missing, its end was cut off, or a file is another log's.

What a running broker leaves in a copy is an end that is older than the files copied after it, never a partition without
any segment. Below the recovery point all was flushed: in files of one moment no end is before it.
"""

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
_SET_ASIDE: Final = (".log.deleted", ".log.swap")  # the next segment follows at once
_LAST_OFFSET: Final = 2**63 - 2  # the offset after it still has 63 bits


def log_end(audit: PartitionAudit, *, explained: bool, one_moment: bool = False) -> Iterator[Finding]:
    """Yield one finding that names the files; a note where another finding has `explained` it.

    `one_moment` says that the files of a broker that ran are of one moment.
    """
    directory, end = audit.directory, audit.log_end_offset
    covered = directory.covered_to
    beside = [(offset, os.path.basename(path)) for offset, path in directory.snapshots.items()]
    beside += [(start, "leader-epoch-checkpoint") for _, start in directory.leader_epochs]
    beside += [(min(offset, _LAST_OFFSET) + 1, f"{offset:020}.index") for offset in directory.orphans]
    beside += [(covered, "the newest .checkpoint")]
    known_of_root = directory.checkpoints
    of_root = [(known_of_root[kind], name) for kind, name in _OF_ROOT if kind in known_of_root]
    beyond = [(offset, name) for offset, name in beside if offset > end]
    ahead = [(offset, name) for offset, name in of_root if offset > end]
    if not beyond and not ahead:
        return
    is_missing = not directory.segments
    known = max([*beyond, *ahead] if is_missing else beyond or ahead)[0]
    words = ", ".join(f"{name} has offset {offset}" for offset, name in [*beyond, *ahead])
    what = "there is no .log file" if is_missing else f"the log ends at offset {end}"
    finding = Finding.of(
        "log-missing" if is_missing else "log-cut-short" if beyond else "checkpoint-ahead",
        directory.log if is_missing or not beyond else directory.segments[-1].path,
        f"{what}, but {words}",
        offset=end,
        last_offset=known,
        needed=known,
        found=end,
    )
    if covered > end:
        told = f"{finding.message}; a broker goes on from that .checkpoint, which has the state of all before it"
        finding = finding._replace(message=told)
        if known <= covered:
            finding = finding._replace(severity=Severity.WARNING)
    if is_missing:
        excused = directory.running and any(name.endswith(_SET_ASIDE) for name in directory.left_over)
    else:
        flushed = one_moment and known_of_root.get("recovery_point", -1) > end
        excused = explained or not (directory.clean_shutdown or flushed)
    yield located(finding._replace(severity=Severity.NOTE) if excused else finding, directory)

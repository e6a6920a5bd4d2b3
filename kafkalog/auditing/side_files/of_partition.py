"""A partition's side files compared with its whole log: ``.txnindex``, ``.snapshot``, leader epochs, the log's end."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Final

from kafkalog.auditing.partition import PartitionAudit, covered
from kafkalog.auditing.side_files.end_at_start import end_at_start
from kafkalog.auditing.side_files.kraft_snapshot import head_missing
from kafkalog.auditing.side_files.leader_epochs import leader_epochs
from kafkalog.auditing.side_files.rebuilt import ForeignSegments, RebuiltSegment
from kafkalog.auditing.side_files.snapshots import SnapshotChain
from kafkalog.auditing.side_files.txn_indexes import txn_index_faults
from kafkalog.findings import Bytes, Finding
from kafkalog.settle import Reason, lowered

__all__ = ["check_partition", "compare_partition", "log_end"]


# Files that know offsets after the log's end: the log is missing, its end was cut off, or a file is another log's.
#
# What a running broker leaves in a copy is an end that is older than the files copied after it, never a partition
# without any segment. Below the recovery point all was flushed: in files of one moment no end is before it.


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
    first = max(end, covered) if known > covered else end  # a newer .checkpoint has the state of all before it
    what = "there is no .log file" if is_missing else f"the log ends at offset {end}"
    finding = directory.finding(
        "log-missing" if is_missing else "log-cut-short" if beyond else "checkpoint-ahead",
        directory.log if is_missing or not beyond else directory.segments[-1].path,
        f"{what}, but {words}",
        offset=first,
        last_offset=known,
        needed=known,
        found=first,
    )
    if covered > end:
        message = f"{finding.message}; a broker goes on from that .checkpoint, which has the state of all before it"
        finding = finding._replace(message=message)
        if known <= covered:
            finding = lowered(finding, Reason.IN_CHECKPOINT)
    if is_missing:
        excused = directory.running and any(name.endswith(_SET_ASIDE) for name in directory.left_over)
    else:
        flushed = one_moment and known_of_root.get("recovery_point", -1) > end
        excused = explained or not (directory.clean_shutdown or flushed)
    yield lowered(finding, Reason.FOLLOWS) if excused else finding


def compare_partition(audit: PartitionAudit, segments: Sequence[RebuiltSegment]) -> Iterator[Finding]:
    """Yield where a partition's side files contradict its log.

    `segments` are those that were joined to `audit`, in the order of their offsets.
    """
    wrong = list(txn_index_faults(audit, missing=True))
    harmful = [faults.place.segment for faults in wrong if faults.is_harmful and not faults.is_rebuilt]
    foreign = ForeignSegments.against(segments, harmful)
    yield from _orphans(audit)
    for faults in wrong:
        yield faults.finding(excused=foreign.any_foreign)
    yield from SnapshotChain(audit, segments, foreign).compare()
    yield from leader_epochs(audit, segments, foreign)
    yield from end_at_start(audit)
    yield from head_missing(audit.directory)
    # A damaged tail explains it, and so does what the segment's own index has reported.
    reported = bool(segments) and (segments[-1].cut_short or segments[-1].has_damaged_tail)
    yield from log_end(audit, explained=reported or foreign.any_foreign)


def check_partition(audit: PartitionAudit, *, one_moment: bool = False) -> Iterator[Finding]:
    """Yield the findings that affect an audit's verdicts and need no further read of a segment.

    These are about the entries of ``.txnindex`` files, and about files with offsets after the log's end. `one_moment`
    says that the files of a broker that ran are of one moment.
    """
    for faults in txn_index_faults(audit, missing=False):
        yield faults.finding(excused=False)
    yield from end_at_start(audit)
    yield from head_missing(audit.directory)
    yield from log_end(audit, explained=_has_damaged_tail(audit), one_moment=one_moment)


def _has_damaged_tail(audit: PartitionAudit) -> bool:
    """Say whether the log ends with bytes that are no batch."""
    segments = audit.directory.segments
    if not segments or not (audit.findings or audit.damaged):
        return False
    damaged = [(place.file, place.position, place.length) for place in audit.damaged]
    damaged += [
        (finding.file, finding.position or 0, finding.length or 0)
        for finding in audit.findings
        if finding.bytes is Bytes.SUSPECT
    ]
    last = segments[-1]
    return any(file == last.path and length and at + length >= last.size for file, at, length in damaged)


def _orphans(audit: PartitionAudit) -> Iterator[Finding]:
    """Yield index files whose segment is not there; those in a gap or after the end are notes beside its finding.

    Where no segment is there, one finding says so (``log_end``).
    """
    directory = audit.directory
    bases = [segment.base_offset for segment in directory.segments]
    if not bases:
        return
    for offset in directory.orphans:
        finding = directory.finding(
            "segment-missing",
            os.path.join(directory.log, f"{offset:020}.log"),
            f"the segment from offset {offset} on is missing, but its indexes are here",
            offset=offset,
        )
        yield covered(finding, directory) if offset < bases[0] else lowered(finding, Reason.FOLLOWS)

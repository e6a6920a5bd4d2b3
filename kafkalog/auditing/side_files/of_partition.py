"""A partition's side files compared with its whole log: ``.txnindex``, ``.snapshot``, leader epochs, the log's end."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from kafkalog.auditing.partition import PartitionAudit, covered, located
from kafkalog.auditing.side_files.doubts import Doubts
from kafkalog.auditing.side_files.leader_epochs import leader_epochs
from kafkalog.auditing.side_files.log_end import log_end
from kafkalog.auditing.side_files.rebuilt import RebuiltSegment
from kafkalog.auditing.side_files.snapshot_chain import SnapshotChain
from kafkalog.auditing.side_files.txn_indexes import txn_index_faults
from kafkalog.findings import Bytes, Finding, Severity

__all__ = ["check_partition", "compare_partition"]


def compare_partition(audit: PartitionAudit, segments: Sequence[RebuiltSegment]) -> Iterator[Finding]:
    """Yield where a partition's side files contradict its log.

    `segments` are those that were joined to `audit`, in the order of their offsets.
    """
    wrong = list(txn_index_faults(audit, missing=True))
    harmful = [faults.place.segment for faults in wrong if faults.is_harmful and not faults.is_rebuilt]
    doubts = Doubts.against(segments, harmful)
    yield from _orphans(audit)
    for faults in wrong:
        yield faults.finding(excused=doubts.any_foreign)
    yield from SnapshotChain(audit, segments, doubts).compare()
    yield from leader_epochs(audit, segments, doubts)
    # A damaged tail explains it, and so does what the segment's own index has reported.
    reported = bool(segments) and (segments[-1].cut_short or segments[-1].has_damaged_tail)
    yield from log_end(audit, explained=reported or doubts.any_foreign)


def check_partition(audit: PartitionAudit, *, one_moment: bool = False) -> Iterator[Finding]:
    """Yield the findings that affect an audit's verdicts and need no further read of a segment.

    These are about the entries of ``.txnindex`` files, and about files with offsets after the log's end. `one_moment`
    says that the files of a broker that ran are of one moment.
    """
    for faults in txn_index_faults(audit, missing=False):
        yield faults.finding(excused=False)
    yield from log_end(audit, explained=_has_damaged_tail(audit), one_moment=one_moment)


def _has_damaged_tail(audit: PartitionAudit) -> bool:
    """Say whether the log ends with bytes that are no batch."""
    segments = audit.directory.segments
    if not segments or not (audit.findings or audit.damaged):
        return False
    extents = [(extent.file, extent.position, extent.length) for extent in audit.damaged]
    extents += [
        (finding.file, finding.position or 0, finding.length or 0)
        for finding in audit.findings
        if finding.bytes is Bytes.SUSPECT
    ]
    last = segments[-1]
    return any(file == last.path and length and at + length >= last.size for file, at, length in extents)


def _orphans(audit: PartitionAudit) -> Iterator[Finding]:
    """Yield index files whose segment is not there; those in a gap or after the end are notes beside its finding.

    Where no segment is there, one finding says so (``log_end``).
    """
    directory = audit.directory
    bases = [segment.base_offset for segment in directory.segments]
    if not bases:
        return
    for offset in directory.orphans:
        finding = Finding.of(
            "segment-missing",
            os.path.join(directory.log, f"{offset:020}.log"),
            f"the segment from offset {offset} on is missing, but its indexes are here",
            offset=offset,
        )
        first = offset < bases[0]
        finding = covered(finding, directory) if first else finding._replace(severity=Severity.NOTE)
        yield located(finding, directory)

"""A partition's side files compared with its whole log: ``.txnindex``, ``.snapshot``, leader epochs, the log's end."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from kafkalog.auditing.partition import PartitionAudit, covered
from kafkalog.auditing.side_files.copied_epochs import epochs_of_copies
from kafkalog.auditing.side_files.end_at_start import end_at_start
from kafkalog.auditing.side_files.kraft_snapshot import head_missing, kraft_snapshots
from kafkalog.auditing.side_files.leader_epochs import leader_epochs
from kafkalog.auditing.side_files.log_ends import log_end
from kafkalog.auditing.side_files.rebuilt import ForeignSegments, RebuiltSegment
from kafkalog.auditing.side_files.segment_indexes import closed_with_other_times, newest_led_astray
from kafkalog.auditing.side_files.snapshots import SnapshotChain
from kafkalog.auditing.side_files.txn_indexes import txn_index_faults
from kafkalog.files.names import METADATA_TOPIC
from kafkalog.findings import Finding
from kafkalog.settle import Reason, lowered

__all__ = ["check_partition", "compare_partition"]


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
    # What the segment's own index has reported explains it, unless that is a note: the index may be newer.
    reported = bool(segments) and segments[-1].cut_short and audit.directory.clean_shutdown
    yield from log_end(audit, explained=reported or foreign.any_foreign)


def check_partition(audit: PartitionAudit, *, one_moment: bool = False) -> Iterator[Finding]:
    """Yield the findings that affect an audit's verdicts and need no further read of a segment.

    These are about the entries of ``.txnindex`` files, about indexes whose segment is gone or is not theirs, and about
    files with offsets after the log's end. `one_moment` says that the files of a broker that ran are of one moment.
    """
    for faults in txn_index_faults(audit, missing=False):
        yield faults.finding(excused=False)
    yield from _orphans(audit)
    yield from epochs_of_copies(audit)
    if audit.directory.topic == METADATA_TOPIC:
        yield from kraft_snapshots(audit)
    yield from end_at_start(audit)
    yield from head_missing(audit.directory)
    if audit.directory.segments and not (audit.directory.clean_shutdown or audit.damaged):
        yield from newest_led_astray(audit.directory, audit.log_end_offset)  # else `end_at_start` follows the index
    yield from closed_with_other_times(audit.directory, audit.newest_of)
    yield from log_end(audit, explained=False, one_moment=one_moment)


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

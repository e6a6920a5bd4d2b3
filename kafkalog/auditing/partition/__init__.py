"""Facts of one log: what its segments and small files say, joined into one frozen value, with the causes of its gaps.

It answers: what is in this log, where is it damaged, which offsets are missing and is that legal.
"""

from __future__ import annotations

from kafkalog.auditing.partition.cleaning import is_cleaned, may_be_compacted
from kafkalog.auditing.partition.facts import PartitionAudit
from kafkalog.auditing.partition.forks import LogReach, fork_of, reach, replica_forks, state_differences
from kafkalog.auditing.partition.gaps import LostOffsets
from kafkalog.auditing.partition.header_rules import HEADER_CODES, check_headers
from kafkalog.auditing.partition.joined import join, open_at_start, open_offsets, segment_row
from kafkalog.auditing.partition.log_rules import (
    absent_offsets,
    covered,
    file_of,
    late_beginnings,
    located,
    log_findings,
    marker_findings,
)
from kafkalog.auditing.partition.neighbours import WrongFields
from kafkalog.auditing.partition.scan import SegmentScan, scan_segment
from kafkalog.auditing.partition.scan_message import (
    DIGEST_SIZE,
    MESSAGE_ROWS,
    SCAN_VERSION,
    KeptAbout,
    kept_about,
    kept_bytes,
    kept_scan,
    may_be_kept,
    read_extents,
    read_scan,
    scan_messages,
)
from kafkalog.auditing.partition.steady_log import (
    ReadAgain,
    ReadLog,
    gone_finding,
    moving_finding,
    of_one_moment,
    read_log,
    steady_findings,
    unreadable_while_moving,
    with_note,
)
from kafkalog.auditing.partition.timestamp_units import made_of, misread, segments_of
from kafkalog.auditing.partition.visible import visible_batches, visible_records

__all__ = [
    "DIGEST_SIZE",
    "HEADER_CODES",
    "MESSAGE_ROWS",
    "SCAN_VERSION",
    "KeptAbout",
    "LogReach",
    "LostOffsets",
    "PartitionAudit",
    "ReadAgain",
    "ReadLog",
    "SegmentScan",
    "WrongFields",
    "absent_offsets",
    "check_headers",
    "covered",
    "file_of",
    "fork_of",
    "gone_finding",
    "is_cleaned",
    "join",
    "kept_about",
    "kept_bytes",
    "kept_scan",
    "late_beginnings",
    "located",
    "log_findings",
    "made_of",
    "marker_findings",
    "may_be_compacted",
    "may_be_kept",
    "misread",
    "moving_finding",
    "of_one_moment",
    "open_at_start",
    "open_offsets",
    "reach",
    "read_extents",
    "read_log",
    "read_scan",
    "replica_forks",
    "scan_messages",
    "scan_segment",
    "segment_row",
    "segments_of",
    "state_differences",
    "steady_findings",
    "unreadable_while_moving",
    "visible_batches",
    "visible_records",
    "with_note",
]

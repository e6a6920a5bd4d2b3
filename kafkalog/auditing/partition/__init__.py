"""Facts of one log: what its segments and small files say, joined into one frozen value, with the causes of its gaps.

It answers: what is in this log, where is it damaged, which offsets are missing and is that legal.
"""

from __future__ import annotations

from kafkalog.auditing.partition.cuts import Cut
from kafkalog.auditing.partition.damaged_bytes import DamagedExtents
from kafkalog.auditing.partition.facts import PartitionAudit
from kafkalog.auditing.partition.findings import covered, file_of, located, log_findings, offset_range
from kafkalog.auditing.partition.joined import join
from kafkalog.auditing.partition.log_start import open_at_start
from kafkalog.auditing.partition.lost_offsets import LostOffsets
from kafkalog.auditing.partition.marker_rules import marker_findings
from kafkalog.auditing.partition.neighbours import WrongFields
from kafkalog.auditing.partition.one_moment import Settled, settled, with_note
from kafkalog.auditing.partition.read import ReadLog, read_log
from kafkalog.auditing.partition.replicas import fork_of, reach, replica_forks, state_differences
from kafkalog.auditing.partition.scan import SegmentScan, scan_segment
from kafkalog.auditing.partition.scan_file import (
    DIGEST_SIZE,
    KeptAbout,
    kept_about,
    kept_bytes,
    kept_scan,
    may_be_kept,
)
from kafkalog.auditing.partition.scan_message import (
    MESSAGE_ROWS,
    SCAN_VERSION,
    read_extents,
    read_scan,
    read_states,
    scan_messages,
    write_states,
)
from kafkalog.auditing.partition.segments import segment_row
from kafkalog.auditing.partition.steady import (
    gone_finding,
    moving_finding,
    steady_findings,
    unreadable_while_moving,
)

__all__ = [
    "DIGEST_SIZE",
    "MESSAGE_ROWS",
    "SCAN_VERSION",
    "Cut",
    "DamagedExtents",
    "KeptAbout",
    "LostOffsets",
    "PartitionAudit",
    "ReadLog",
    "SegmentScan",
    "Settled",
    "WrongFields",
    "covered",
    "file_of",
    "fork_of",
    "gone_finding",
    "join",
    "kept_about",
    "kept_bytes",
    "kept_scan",
    "located",
    "log_findings",
    "marker_findings",
    "may_be_kept",
    "moving_finding",
    "offset_range",
    "open_at_start",
    "reach",
    "read_extents",
    "read_log",
    "read_scan",
    "read_states",
    "replica_forks",
    "scan_messages",
    "scan_segment",
    "segment_row",
    "settled",
    "state_differences",
    "steady_findings",
    "unreadable_while_moving",
    "with_note",
    "write_states",
]

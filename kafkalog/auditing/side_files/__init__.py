"""Side files rebuilt from the log and compared: indexes, ``.txnindex``, snapshots, epochs, checkpoints.

It answers: does a file beside the log contradict the log.
"""

from __future__ import annotations

from kafkalog.auditing.side_files.copied_epochs import epochs_of_copy, odd_epochs
from kafkalog.auditing.side_files.copy_skew import explains_transactions, lower_copied
from kafkalog.auditing.side_files.end_at_start import end_after_clean_stop
from kafkalog.auditing.side_files.of_node import at_start_findings, compare_cluster, compare_node
from kafkalog.auditing.side_files.of_partition import check_partition, compare_partition
from kafkalog.auditing.side_files.rebuilt import RebuiltSegment, SideFiles

__all__ = [
    "RebuiltSegment",
    "SideFiles",
    "at_start_findings",
    "check_partition",
    "compare_cluster",
    "compare_node",
    "compare_partition",
    "end_after_clean_stop",
    "epochs_of_copy",
    "explains_transactions",
    "lower_copied",
    "odd_epochs",
]

"""Side files rebuilt from the log and compared: indexes, ``.txnindex``, snapshots, epochs, checkpoints.

It answers: does a file beside the log contradict the log.
"""

from __future__ import annotations

from kafkalog.auditing.side_files.copy_skew import explains_transactions, lower_copied
from kafkalog.auditing.side_files.of_node import compare_cluster, compare_node, twice_findings
from kafkalog.auditing.side_files.of_partition import check_partition, compare_partition
from kafkalog.auditing.side_files.rebuilt import RebuiltSegment, SideFiles

__all__ = [
    "RebuiltSegment",
    "SideFiles",
    "check_partition",
    "compare_cluster",
    "compare_node",
    "compare_partition",
    "explains_transactions",
    "lower_copied",
    "twice_findings",
]

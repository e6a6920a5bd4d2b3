"""Transactions and their verdicts: how each ended in each partition, what is still open and why, as rows.

It answers: when does a transaction hang, what does a read_committed consumer see, did all partitions end alike.
"""

from __future__ import annotations

from kafkalog.auditing.transactions.after_salvage import ChangedFate, ChangedFates, fates_after_salvage
from kafkalog.auditing.transactions.atomicity import (
    KEY_COLUMNS,
    AtomicityCheck,
    across_partitions,
    conflict_finding,
    conflicts,
    own_epoch_keys,
)
from kafkalog.auditing.transactions.audit_result import (
    Audit,
    ClusterAudit,
    Reused,
    concerns,
    coordinator_of,
    narrowed,
)
from kafkalog.auditing.transactions.contradictions import Contradictions, may_lack_its_end
from kafkalog.auditing.transactions.judging import (
    Judgement,
    LogAudit,
    judge_replicas,
    key_outcomes,
    outcomes_of_replicas,
    with_own_epoch,
)
from kafkalog.auditing.transactions.lost_leaders import LEADERLESS
from kafkalog.auditing.transactions.newest_records import are_alike
from kafkalog.auditing.transactions.summary import Blocker, LogSummary, Summary
from kafkalog.auditing.transactions.surroundings import AuditOptions, StateLog, Surroundings
from kafkalog.auditing.transactions.table_rows import (
    COLUMN_TABLES,
    MANY_ROWS,
    NEWEST_ABORTED,
    NO_DECISIONS,
    audit_batches,
    audit_columns,
    audit_rows,
    coordinator_batches,
    coordinator_rows,
    decision_keys,
    gap_rows,
    log_batches,
    log_rows,
    notable_columns,
    notable_rows,
    partition_row,
    unsettled_rows,
)
from kafkalog.auditing.transactions.transaction_findings import (
    ABORT,
    OF_VERDICTS,
    Deadlines,
    findings_of_transactions,
)

__all__ = [
    "ABORT",
    "COLUMN_TABLES",
    "KEY_COLUMNS",
    "LEADERLESS",
    "MANY_ROWS",
    "NEWEST_ABORTED",
    "NO_DECISIONS",
    "OF_VERDICTS",
    "AtomicityCheck",
    "Audit",
    "AuditOptions",
    "Blocker",
    "ChangedFate",
    "ChangedFates",
    "ClusterAudit",
    "Contradictions",
    "Deadlines",
    "Judgement",
    "LogAudit",
    "LogSummary",
    "Reused",
    "StateLog",
    "Summary",
    "Surroundings",
    "across_partitions",
    "are_alike",
    "audit_batches",
    "audit_columns",
    "audit_rows",
    "concerns",
    "conflict_finding",
    "conflicts",
    "coordinator_batches",
    "coordinator_of",
    "coordinator_rows",
    "decision_keys",
    "fates_after_salvage",
    "findings_of_transactions",
    "gap_rows",
    "judge_replicas",
    "key_outcomes",
    "log_batches",
    "log_rows",
    "may_lack_its_end",
    "narrowed",
    "notable_columns",
    "notable_rows",
    "outcomes_of_replicas",
    "own_epoch_keys",
    "partition_row",
    "unsettled_rows",
    "with_own_epoch",
]

"""What incidents are made of besides the other tables: no command has it."""

from __future__ import annotations

from typing import Final

from kafkalog.tables.audit import TRANSACTIONS
from kafkalog.tables.column import Column, Table

__all__ = ["NOTABLE"]

NOTABLE: Final = Table(
    "notable",
    "a transaction that an incident may tell of",
    (
        *TRANSACTIONS.columns,
        Column(
            "not_before_ms", "int64", "of an open one, the time of the marker before its data: a broker's clock", "ms"
        ),
        Column(
            "not_after_ms",
            "int64",
            "of an open one, the time of the marker after its first batch: a broker's clock",
            "ms",
        ),
        Column("after_commit", "bool", "whether the COMMIT of the coordinator's newest decision is before its data"),
        Column("forked_records", "int64", "its records from the log's fork on; null in a log without one"),
        Column("older_records", "int64", "its records of older epochs than the last; null where all are of one epoch"),
    ),
)

"""The tables of an audit as reports read them, and those of an audit in memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

import numpy as np

from kafkalog.auditing.incidents import rows_of_audit, rows_of_verification
from kafkalog.auditing.transactions import Audit, Summary, transaction_columns
from kafkalog.format.records.transaction_state import TransactionState
from kafkalog.format.text_columns import TextColumn
from kafkalog.format.times import iso
from kafkalog.tables import TABLES
from kafkalog.tables.audit import AUDIT_TABLES
from kafkalog.tables.verify import VERIFY_TABLES
from kafkalog.txn.columns import NONE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from kafkalog.auditing.verification import Verification

__all__ = [
    "DECIDING",
    "AuditSource",
    "Decisions",
    "leader_changes",
    "leader_words",
    "source_of",
    "source_of_verification",
    "transaction_rows",
]

Row = dict[str, Any]


class Decisions(NamedTuple):
    """The coordinator's decisions: their times (int64, ms), transactional ids (objects), whether they abort (bool)."""

    times: NDArray[np.int64]
    transactional_ids: NDArray[Any]
    aborts: NDArray[np.bool_]


DECIDING: Final = ("prepare_commit", "prepare_abort")  # the states of the records that decide


class AuditSource(Protocol):
    """The verdict, totals and tables of an audit, or of a verification, which has no transactions."""

    @property
    def tables(self) -> frozenset[str]:
        """Return the names of its tables."""

    @property
    def verdict(self) -> str: ...

    @property
    def totals(self) -> str: ...

    @property
    def worst(self) -> str | None:
        """Return the word of the highest severity, None without findings."""

    @property
    def complete(self) -> bool: ...

    def rows(self, table: str) -> Iterator[Row]:
        """Yield the rows of a table, each a dict by column."""

    def transactions(self) -> Iterator[dict[str, NDArray[Any]]]:
        """Yield the table ``transactions``, some thousand rows at a time, as its columns by name.

        A column of numbers is int64 with NONE where there is none, one of text has objects.
        """

    def decisions(self) -> Iterator[Decisions]:
        """Yield the records of the table ``coordinator`` that decide a transaction, some thousand rows at a time."""


class _Summed:
    """What audits and verifications sum up alike."""

    __slots__ = ("summary",)

    def __init__(self, summary: Summary) -> None:
        self.summary = summary

    @property
    def verdict(self) -> str:
        return self.summary.verdict()

    @property
    def totals(self) -> str:
        return self.summary.totals()

    @property
    def worst(self) -> str | None:
        return None if self.summary.worst is None else self.summary.worst.word

    @property
    def complete(self) -> bool:
        return self.summary.complete


class _AuditInMemory(_Summed):
    __slots__ = ("_audit",)
    tables = frozenset(table.name for table in AUDIT_TABLES)

    def __init__(self, audit: Audit, summary: Summary) -> None:
        super().__init__(summary)
        self._audit = audit

    def rows(self, table: str) -> Iterator[Row]:
        names = TABLES[table].names
        return (dict(zip(names, row, strict=True)) for row in rows_of_audit(self._audit, table))

    def transactions(self) -> Iterator[dict[str, NDArray[Any]]]:
        for cluster in self._audit.clusters:
            for log in cluster.logs:
                for columns in transaction_columns(log):
                    yield {
                        name: column.objects() if isinstance(column, TextColumn) else column
                        for name, column in columns.items()
                    }

    def decisions(self) -> Iterator[Decisions]:
        for cluster in self._audit.clusters:
            states = cluster.coordinator.states
            chosen = np.flatnonzero(np.isin(states.state, [TransactionState[word.upper()] for word in DECIDING]))
            names = np.array([*states.ids.take(states.transactional_id[chosen])], dtype=object)
            aborts = states.state[chosen] == TransactionState.PREPARE_ABORT
            yield Decisions(states.last_update_timestamp[chosen], names, aborts)


class _VerificationInMemory(_Summed):
    __slots__ = ("_found",)
    tables = frozenset(table.name for table in VERIFY_TABLES)

    def __init__(self, found: Verification) -> None:
        super().__init__(found.summary())
        self._found = found

    def rows(self, table: str) -> Iterator[Row]:
        if table not in self.tables:
            return iter(())
        names = TABLES[table].names
        return (dict(zip(names, row, strict=True)) for row in rows_of_verification(self._found, table))

    def transactions(self) -> Iterator[dict[str, NDArray[Any]]]:
        return iter(())

    def decisions(self) -> Iterator[Decisions]:
        return iter(())


def source_of(audit: Audit, summary: Summary | None = None) -> AuditSource:
    """Return the source of an audit in memory."""
    return _AuditInMemory(audit, summary or Summary.of(audit))


def source_of_verification(found: Verification) -> AuditSource:
    """Return the source of a verification in memory."""
    return _VerificationInMemory(found)


def leader_changes(source: AuditSource) -> Iterator[Row]:
    """Yield the rows of ``leaders`` with which a log's leader changed: all but the oldest of each log."""
    known: set[str] = set()
    for row in source.rows("leaders"):
        if row["log"] in known:
            yield row
        known.add(row["log"])


def leader_words(row: Mapping[str, Any]) -> str:
    """Say what a row of ``leaders`` says."""
    leader = "leader unknown" if row["change"] is None else "no leader"
    if row["leader"] is not None:
        leader = f"broker {row['leader']} leads"
    change = "" if row["change"] is None else f", {row['change']}"
    since = "" if row["since_ms"] is None else f", {iso(row['since_ms'])}"
    return f"leader epoch {row['leader_epoch']} from offset {row['first_offset']} on: {leader}{change}{since}"


def transaction_rows(source: AuditSource) -> Iterator[Row]:
    """Yield the rows of ``transactions``, for what is written row by row."""
    for columns in source.transactions():
        for cells in zip(*(column.tolist() for column in columns.values()), strict=True):
            yield {name: None if cell == NONE else cell for name, cell in zip(columns, cells, strict=True)}

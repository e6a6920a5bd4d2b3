"""The tables of an audit as reports read them, and those of an audit in memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from kafkalog.auditing.incidents import rows_of_audit
from kafkalog.auditing.transactions import Audit, Summary, transaction_columns
from kafkalog.tables import TABLES
from kafkalog.txn.columns import NONE

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["AuditSource", "source_of", "transaction_rows"]

Row = dict[str, Any]


class AuditSource(Protocol):
    """An audit's verdict, totals and tables."""

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


@dataclass(frozen=True, slots=True)
class _AuditInMemory:
    audit: Audit
    summary: Summary

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

    def rows(self, table: str) -> Iterator[Row]:
        names = TABLES[table].names
        return (dict(zip(names, row, strict=True)) for row in rows_of_audit(self.audit, table))

    def transactions(self) -> Iterator[dict[str, NDArray[Any]]]:
        for cluster in self.audit.clusters:
            for log in cluster.logs:
                yield from transaction_columns(log)


def source_of(audit: Audit, summary: Summary | None = None) -> AuditSource:
    """Return the source of an audit in memory."""
    return _AuditInMemory(audit, summary or Summary.of(audit))


def transaction_rows(source: AuditSource) -> Iterator[Row]:
    """Yield the rows of ``transactions``, for what is written row by row."""
    for columns in source.transactions():
        for cells in zip(*(column.tolist() for column in columns.values()), strict=True):
            yield {name: None if cell == NONE else cell for name, cell in zip(columns, cells, strict=True)}

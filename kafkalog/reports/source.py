"""The tables of an audit as reports read them: of an audit in memory, or of the Parquet that one has written."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from kafkalog.auditing.incidents import rows_of_audit
from kafkalog.auditing.transactions import Audit, Summary, transaction_columns
from kafkalog.errors import UnreadableError
from kafkalog.tables import TABLES
from kafkalog.txn.columns import NONE

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["AuditSource", "WrittenAudit", "source_of", "transaction_rows"]

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


class WrittenAudit:
    """An audit that was written as a directory of Parquet tables, by this process, another one, or Spark."""

    def __init__(self, folder: Path) -> None:
        """Open the audit in `folder`.

        Raises UnreadableError if it has no verdict.json, or no ``_SUCCESS``: a run that ended early wrote only a part.
        """
        from kafkalog.auditing.pipeline import SUCCESS, VERDICT

        self._folder = folder
        if not (folder / SUCCESS).is_file():
            raise UnreadableError(f"{folder}: has no {SUCCESS}, so it is not the whole output of an audit")
        try:
            said = json.loads((folder / VERDICT).read_bytes())
            self.verdict, self.totals = str(said["verdict"]), str(said["totals"])
            self.worst: str | None = said["worst"]
            self.complete = bool(said["complete"])
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise UnreadableError(f"{folder}: {VERDICT} can't be read: {error}") from error

    def _batches(self, table: str) -> Iterator[Any]:
        import pyarrow.parquet as pq

        for file in sorted((self._folder / table).glob("**/*.parquet")):
            with pq.ParquetFile(file) as parquet:
                yield from parquet.iter_batches()

    def rows(self, table: str) -> Iterator[Row]:
        """Yield the rows of a table; of a table that was not written, none."""
        texts = [column.name for column in TABLES[table].columns if column.type == "json"]
        for batch in self._batches(table):
            for row in batch.to_pylist():
                yield row | {name: json.loads(row[name]) for name in texts if isinstance(row.get(name), str)}

    def transactions(self) -> Iterator[dict[str, NDArray[Any]]]:
        """Yield the table ``transactions`` as columns."""
        for batch in self._batches("transactions"):
            yield {name: _column(batch.column(name)) for name in TABLES["transactions"].names}


def transaction_rows(source: AuditSource) -> Iterator[Row]:
    """Yield the rows of ``transactions``, for what is written row by row."""
    for columns in source.transactions():
        for cells in zip(*(column.tolist() for column in columns.values()), strict=True):
            yield {name: None if cell == NONE else cell for name, cell in zip(columns, cells, strict=True)}


def _column(array: Any) -> NDArray[Any]:
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_integer(array.type):
        return np.asarray(pc.fill_null(array.cast(pa.int64()), NONE))
    return np.asarray(array.to_numpy(zero_copy_only=False), dtype=object)

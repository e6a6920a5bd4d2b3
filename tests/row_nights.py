"""Audits that keep their rows and take those of an earlier night, and what an audit that reads everything writes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from kafkalog.auditing.incidents import batches_of_audit
from kafkalog.auditing.pipeline import Keeping, KeptScans, LocalFolder, audit
from kafkalog.auditing.transactions import AuditOptions
from kafkalog.tables.audit_tables import TRANSACTIONS
from kafkalog.tables.parquet import WholeFile

__all__ = ["Night", "fresh"]

Row = tuple[Any, ...]


class Night:
    """An audit that keeps its scans and rows in a folder, and takes those of others; what it wrote."""

    def __init__(self, paths: Path | list[Path], into: Path, *earlier: Path, **options: Any) -> None:
        into.mkdir()
        folders = tuple(map(str, earlier))
        scans = KeptScans(Keeping(LocalFolder(str(into))), folders, 2**62)
        chosen = paths if isinstance(paths, list) else [paths]
        self.found = audit(chosen, AuditOptions(**options), kept=scans)
        parts = list(batches_of_audit(self.found, TRANSACTIONS.name, scans.rows))
        self.rows = _rows(parts)
        self.files = [part for part in parts if isinstance(part, WholeFile)]
        self.kept = {path.name for path in into.glob("*.rows")}
        self.taken = {name for name in self.kept for folder in earlier if (folder / name).exists()}


def _rows(parts: list[Any]) -> list[Row]:
    tables = [
        pq.read_table(pa.BufferReader(part.data)) if isinstance(part, WholeFile) else pa.Table.from_batches([part])
        for part in parts
    ]
    whole = pa.concat_tables([table.replace_schema_metadata(None) for table in tables]) if tables else None
    return [] if whole is None else [tuple(row.values()) for row in whole.to_pylist()]


def fresh(paths: Path | list[Path], **options: Any) -> list[Row]:
    """The table of an audit that reads everything and keeps nothing."""
    found = audit(paths if isinstance(paths, list) else [paths], AuditOptions(**options))
    return _rows(list(batches_of_audit(found, TRANSACTIONS.name)))

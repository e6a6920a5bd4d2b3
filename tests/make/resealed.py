"""Audits that somebody changed on purpose: a manifest is no signature, so it can be made to fit."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from kafkalog.tables.manifest import sealed, unsealed


def list_anew(folder: Path, file: Path) -> None:
    """Make the manifest say of a file what it is now."""
    manifest = folder / "manifest.json"
    lists = unsealed(manifest.read_bytes())
    del lists["sha256"]
    for entry in [*lists["others"], *(one for files in lists["tables"].values() for one in files)]:
        if entry["file"] == file.relative_to(folder).as_posix():
            entry |= {"size_bytes": file.stat().st_size, "sha256": hashlib.sha256(file.read_bytes()).hexdigest()}
    manifest.write_text(sealed(lists))


def table_file(folder: Path, table: str) -> Path:
    """Return the one file of a table."""
    (file,) = (folder / table).glob("*.parquet")
    return file


def change_cell(folder: Path, table: str, column: str, cell: Any) -> int:
    """Change the middle cell of a column; return its row, counted from 1."""
    file = table_file(folder, table)
    rows = pq.read_table(file)
    at, row = rows.column_names.index(column), rows.num_rows // 2
    cells = rows.column(at).to_pylist()
    cells[row] = cell
    field = rows.schema.field(at)
    pq.write_table(rows.set_column(at, field, pa.array(cells, field.type)), file, store_schema=False)
    list_anew(folder, file)
    return row + 1


def change_type(folder: Path, table: str, column: str, kind: pa.DataType) -> None:
    """Give a column another type, without a value in any row."""
    file = table_file(folder, table)
    rows = pq.read_table(file)
    at = rows.column_names.index(column)
    pq.write_table(rows.set_column(at, column, pa.nulls(rows.num_rows, kind)), file, store_schema=False)
    list_anew(folder, file)

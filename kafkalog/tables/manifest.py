"""The list of the files that are the tables of an output: what is not in it does not count, what is missing is noticed.

A task that runs twice, or is lost, writes files of its own each time. Only those that the manifest names are rows.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import PurePosixPath
from typing import Any, Final, NamedTuple

__all__ = ["MANIFEST", "TableFile", "as_manifest", "read_manifest"]

MANIFEST: Final = "manifest.json"  # written when all tables are, before what says that the run is complete


class TableFile(NamedTuple):
    """A file of a table: its name below the output's directory, its size, and its rows if a footer counts them."""

    name: str
    size_bytes: int
    rows: int | None


def as_manifest(files: Mapping[str, Iterable[TableFile]]) -> dict[str, Any]:
    """Return what the manifest says of each table's files."""
    return {"tables": {table: [_entry(file) for file in some] for table, some in sorted(files.items())}}


def _entry(file: TableFile) -> dict[str, Any]:
    return {"file": file.name, "size_bytes": file.size_bytes, "rows": file.rows}


def read_manifest(data: bytes) -> dict[str, list[TableFile]]:
    """Read a manifest. Raises ValueError, KeyError, TypeError or RecursionError for anything else."""
    tables = json.loads(data)["tables"]
    if not isinstance(tables, dict):
        raise TypeError("tables is no object")
    return {table: [_file(entry) for entry in files] for table, files in tables.items()}


def _file(entry: Mapping[str, Any]) -> TableFile:
    name, size, rows = (entry[key] for key in ("file", "size_bytes", "rows"))
    if not isinstance(name, str) or not isinstance(size, int) or not isinstance(rows, int | None):
        raise TypeError(f"{entry!r:.200} is no file")
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or "\\" in name or "\0" in name:
        raise ValueError(f"{name!r:.200} is not in the directory")
    return TableFile(name, size, rows)

"""The list of an output's files: what is not in it does not count, what is missing or was changed is noticed.

A task that runs twice, or is lost, writes files of its own each time. Only those that the manifest names are rows.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from itertools import chain
from pathlib import PurePosixPath
from typing import Any, Final, NamedTuple

from kafkalog.untrusted import is_count, untrusted_json

__all__ = ["MANIFEST", "Manifest", "Run", "TableFile", "read_manifest", "sealed", "unsealed"]

MANIFEST: Final = "manifest.json"  # written when all tables are, before what says that the run is complete
_SEAL: Final = b',\n "sha256": '


class TableFile(NamedTuple):
    """A file: its name below the output's directory, its size, its rows if a footer counts them, and its SHA-256."""

    name: str
    size_bytes: int
    rows: int | None
    sha256: str

    def change(self, size: int, sha256: str) -> str | None:
        """Say what is another thing now in a file of this size and checksum; None if nothing is."""
        if size != self.size_bytes:
            return f"it has {size} bytes; {MANIFEST} says {self.size_bytes}"
        if sha256 != self.sha256:
            return f"its {size} bytes were changed: their SHA-256 is {sha256}; {MANIFEST} says {self.sha256}"
        return None


class Run(NamedTuple):
    """Which run made an output: its id, the cluster (several joined by commas, None for none), when it began (ms).

    The same stands in verdict.json and in each Parquet file's footer, under ``kafkalog.run_id`` and so on; it is no
    column, so that the rows of two engines, or of two nights of the same files, are equal.
    """

    run_id: str
    cluster_id: str | None
    started_ms: int


class Manifest(NamedTuple):
    """The files of each table, and the `others` that say where the tables come from and how the run ended."""

    tables: Mapping[str, list[TableFile]]
    others: list[TableFile]
    run: Run | None = None

    def files(self) -> Iterator[TableFile]:
        """Yield all files."""
        return chain(*self.tables.values(), self.others)

    def text(self) -> str:
        """Write it."""
        tables = {table: [_entry(file) for file in files] for table, files in sorted(self.tables.items())}
        about = {} if self.run is None else {"run": self.run._asdict()}
        return sealed({**about, "tables": tables, "others": [_entry(file) for file in self.others]})


def sealed(said: Mapping[str, Any]) -> str:
    """Write an object as JSON whose last value is the SHA-256 of all bytes before it."""
    body = json.dumps(said, indent=1)[: -len("\n}")]
    return f'{body}{_SEAL.decode()}"{hashlib.sha256(body.encode()).hexdigest()}"\n}}\n'


def unsealed(data: bytes) -> Any:
    """Read such an object. Raises ValueError for any other bytes."""
    body, _, seal = data.rpartition(_SEAL)
    if seal != f'"{hashlib.sha256(body).hexdigest()}"\n}}\n'.encode():
        raise ValueError("it was changed since it was written: it has not the SHA-256 that it ends with")
    return untrusted_json(data)


def read_manifest(data: bytes) -> Manifest:
    """Read a manifest. Raises ValueError, KeyError or TypeError for anything else."""
    said = unsealed(data)
    tables, others = said["tables"], said["others"]
    if not isinstance(tables, dict):
        raise TypeError("tables is no object")
    listed = {table: list(map(_file, files)) for table, files in tables.items()}
    return Manifest(listed, list(map(_file, others)), _run(said.get("run")))


def _run(said: Any) -> Run | None:
    if said is None:
        return None
    run_id, cluster_id, started = said["run_id"], said["cluster_id"], said["started_ms"]
    if not isinstance(run_id, str) or not isinstance(cluster_id, str | None) or not is_count(started):
        raise TypeError(f"{said!r:.200} is no run")
    return Run(run_id, cluster_id, started)


def _entry(file: TableFile) -> dict[str, Any]:
    return {"file": file.name, "size_bytes": file.size_bytes, "rows": file.rows, "sha256": file.sha256}


def _file(entry: Mapping[str, Any]) -> TableFile:
    name, size, rows, sha256 = (entry[key] for key in ("file", "size_bytes", "rows", "sha256"))
    if not (isinstance(name, str) and is_count(size) and (rows is None or is_count(rows))):
        raise TypeError(f"{entry!r:.200} is no file")
    if not isinstance(sha256, str):
        raise TypeError(f"{entry!r:.200} has no checksum")
    path = PurePosixPath(name)
    if not path.name or path.is_absolute() or ".." in path.parts or "\\" in name or "\0" in name:
        raise ValueError(f"{name!r:.200} is not in the directory")
    return TableFile(name, size, rows, sha256)

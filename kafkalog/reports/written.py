"""The tables of an audit that was written as Parquet, as reports read them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from kafkalog.errors import UnreadableError
from kafkalog.provenance import PROVENANCE
from kafkalog.reports.source import DECIDING, Decisions
from kafkalog.tables import TABLES
from kafkalog.tables.manifest import MANIFEST, read_manifest
from kafkalog.txn.columns import NONE

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["WrittenAudit"]

Row = dict[str, Any]


class WrittenAudit:
    """An audit that was written as a directory of Parquet tables, by this process, another one, or Spark."""

    def __init__(self, folder: Path) -> None:
        """Open the audit in `folder`.

        Raises UnreadableError if it has no verdict.json, or no ``_SUCCESS``: a run that ended early wrote only a part;
        or if it has not the files that its manifest lists.
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
        except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
            raise UnreadableError(f"{folder}: {VERDICT} can't be read: {error}") from error
        self._files = _files(folder)
        self.tables = frozenset(self._files)

    def origin(self) -> dict[str, Any]:
        """Return what provenance.json says; nothing where it is not there. Raises UnreadableError."""
        file = self._folder / PROVENANCE
        try:
            return _checked(dict(json.loads(file.read_bytes())))
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, TypeError, RecursionError) as error:
            raise UnreadableError(f"{file}: can't be read: {error}") from error

    def _batches(self, table: str, columns: Sequence[str] | None = None) -> Iterator[Any]:
        """Yield a table's batches. Raises UnreadableError for a file that is damaged, or of another table."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        for file, rows in self._files.get(table, ()):
            try:
                with pq.ParquetFile(file) as parquet:
                    if parquet.metadata.num_rows != rows:
                        raise UnreadableError(f"{file}: has {parquet.metadata.num_rows} rows; {MANIFEST} says {rows}")
                    if missing := set(TABLES[table].names) - set(parquet.schema_arrow.names):
                        raise UnreadableError(f"{file}: it has no column {min(missing)}")
                    for batch in parquet.iter_batches(columns=columns):
                        batch.validate(full=True)
                        yield batch
            except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
                raise UnreadableError(f"{file}: it can't be read as Parquet: {error}") from error

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

    def decisions(self) -> Iterator[Decisions]:
        """Yield the coordinator's decisions."""
        import pyarrow.compute as pc

        wanted = ("last_update_timestamp_ms", "transactional_id", "state")
        for batch in self._batches("coordinator", wanted):
            chosen = batch.filter(pc.is_in(batch.column("state"), value_set=_deciding()))
            times, names, states = (_column(chosen.column(name)) for name in wanted)
            yield Decisions(times, names, states == DECIDING[1])


def _files(folder: Path) -> dict[str, list[tuple[Path, int | None]]]:
    """Return the files of each table that is written as Parquet, with their rows. Raises UnreadableError."""
    try:
        listed = read_manifest((folder / MANIFEST).read_bytes())
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise UnreadableError(f"{folder}: {MANIFEST} can't be read: {error}") from error
    found: dict[str, list[tuple[Path, int | None]]] = {}
    if unknown := set(listed) - set(TABLES):  # damaged, or of a later version: it would be missing without a word
        raise UnreadableError(f"{folder}: {MANIFEST} lists a table that this version does not know: {min(unknown)!r}")
    for table in TABLES:
        for name, size, rows in listed.get(table, ()):
            file = folder / name
            if not file.is_file():
                raise UnreadableError(f"{folder}: {name} is missing; {MANIFEST} lists it")
            if file.stat().st_size != size:
                raise UnreadableError(f"{file}: has {file.stat().st_size} bytes; {MANIFEST} says {size}")
            if file.suffix == ".parquet":
                found.setdefault(table, []).append((file, rows))
    return found


def _deciding() -> Any:
    import pyarrow as pa

    return pa.array(DECIDING)


def _checked(origin: dict[str, Any]) -> dict[str, Any]:
    """Return what provenance.json says. Raises TypeError where a part that is shown is not what was written."""
    parts = (("arguments", list), ("files", list), ("started_ms", int), ("ended_ms", int))
    for name, kind in parts:
        if name in origin and not isinstance(origin[name], kind):
            raise TypeError(f"{name} is no {kind.__name__}")
    if not all(isinstance(file, dict) for file in origin.get("files", ())):
        raise TypeError("files has what is no object")
    return origin


def _column(array: Any) -> NDArray[Any]:
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_integer(array.type):
        return np.asarray(pc.fill_null(array.cast(pa.int64()), NONE))
    return np.asarray(array.to_numpy(zero_copy_only=False), dtype=object)

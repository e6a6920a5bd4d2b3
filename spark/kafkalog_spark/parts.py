"""Parquet files that tasks write: under names that nobody else uses, until the driver says which of them count."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from typing import Final, NamedTuple, Self

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import fs

from kafkalog.errors import UnreadableError
from kafkalog.files.object_stores import file_system
from kafkalog.tables import TABLES, Table
from kafkalog.tables.arrow import ParquetFile, arrow_batches, arrow_schema
from kafkalog.tables.manifest import Run, TableFile
from kafkalog_spark.between_tasks import FileAccess, Row, begin_task, cells, rows_of

__all__ = [
    "CANNOT_WRITE",
    "NOT_SHARED",
    "PART",
    "PARTS",
    "STORE_ERRORS",
    "HashedStream",
    "PartFile",
    "PartFiles",
    "PutTogether",
    "TableRows",
    "filesystem_of",
    "part_rows",
    "read_part",
    "write_part",
]

# What the driver knows an error of a kind by, wherever in a trace it is.
CANNOT_WRITE: Final = "kafkalog can't write its output: "
NOT_SHARED: Final = "kafkalog does not see here what the driver wrote: "
STORE_ERRORS: Final = (OSError, pa.ArrowException)  # what filesystems raise; some stores' are no OSError
PART: Final = "part"  # the kind of a row whose content is a file of a table
_TOGETHER: Final = 1 << 12  # rows of a table
_FILE_BYTES: Final = 64 << 20  # of a file, approximately
_PUT_TOGETHER: Final = 512 << 20  # ditto, of small ones together


def filesystem_of(uri: str) -> tuple[fs.FileSystem, str]:
    """Return the filesystem of a directory, and its path there; object stores are reached as when they are read.

    Raises OSError.
    """
    if uri.startswith("file://"):
        filesystem, path = fs.FileSystem.from_uri(uri)
        return filesystem, path.rstrip("/")
    try:
        return file_system(uri)
    except UnreadableError as error:
        raise OSError(str(error).removeprefix(f"{uri}: ")) from error


class PartFile(NamedTuple):
    """A complete file of a table."""

    table: str
    file: TableFile


def write_part(part: PartFile) -> bytes:
    """Write a table's file as what a task sends to the driver."""
    file = part.file
    return f"{part.table}/{file.rows}/{file.size_bytes}/{file.sha256}/{file.name}".encode()


def part_rows(parts: Iterable[PartFile], *cells: object) -> Iterator[Row]:
    """Make the rows that say to the driver which files there are; `cells` stand between their kind and content."""
    return ((PART, *cells, write_part(part)) for part in parts)


def read_part(content: bytes) -> PartFile:
    """Read what ``write_part`` wrote."""
    table, rows, size, sha256, name = content.decode().split("/")
    return PartFile(table, TableFile(name, int(size), int(rows), sha256))


class HashedStream:
    """An output stream of pyarrow's that knows the size and the SHA-256 of what was written."""

    def __init__(self, stream: pa.NativeFile) -> None:
        self._stream = stream
        self._digest = hashlib.sha256()
        self.size = 0

    def write(self, data: bytes) -> None:
        """Write bytes."""
        self._digest.update(data)
        self._stream.write(data)
        self.size += len(data)

    def close(self) -> None:
        """Close the stream."""
        self._stream.close()

    def file(self, name: str, rows: int | None) -> TableFile:
        """Return what was written as a file of the manifest."""
        return TableFile(name, self.size, rows, self._digest.hexdigest())


class PartFiles:
    """The files of one task, one at a time for each table; a ``with`` block that fails removes them all.

    It fails, too, where Spark needs no more rows of a task that runs twice.

    Of a task that runs twice the driver takes the files of one run: each run's have names of their own.
    """

    def __init__(self, folder: str, run: Run | None = None, file_bytes: int = _FILE_BYTES) -> None:
        self._run = run
        self._file_bytes = file_bytes
        self._filesystem, self._folder = filesystem_of(folder)
        self._open: dict[str, tuple[str, HashedStream, ParquetFile]] = {}
        self._made: list[str] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:
            self.remove()

    def write_rows(self, table: str, batch: pa.RecordBatch) -> Iterator[PartFile]:
        """Add rows to a table's file; yield a file that is full."""
        try:
            if table not in self._open:
                name = _new_name(table)
                stream = HashedStream(self._filesystem.open_output_stream(f"{self._folder}/{name}"))
                self._made.append(name)
                self._open[table] = name, stream, ParquetFile(stream, arrow_schema(TABLES[table]), self._run)
            _, stream, file = self._open[table]
            file.write_batch(batch)
            if stream.size >= self._file_bytes:
                yield self._close(table)
        except STORE_ERRORS as error:
            raise OSError(f"{CANNOT_WRITE}{error}") from error

    def read_rows(self, part: PartFile) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a file that a task of this job wrote."""
        schema = arrow_schema(TABLES[part.table])
        with self._filesystem.open_input_file(f"{self._folder}/{part.file.name}") as stream:
            for batch in pq.ParquetFile(stream).iter_batches(_TOGETHER):
                yield pa.RecordBatch.from_arrays(batch.columns, schema=schema)

    def close(self) -> Iterator[PartFile]:
        """Complete all files; yield them."""
        try:
            for table in list(self._open):
                yield self._close(table)
        except STORE_ERRORS as error:
            raise OSError(f"{CANNOT_WRITE}{error}") from error

    def remove(self) -> None:
        """Remove all files that were made."""
        for _, stream, file in self._open.values():
            with suppress(*STORE_ERRORS):
                file.close()
            with suppress(OSError):
                stream.close()
        self._open.clear()
        for name in self._made:
            with suppress(OSError):
                self._filesystem.delete_file(f"{self._folder}/{name}")

    def _close(self, table: str) -> PartFile:
        name, stream, file = self._open.pop(table)
        file.close()
        stream.close()
        return PartFile(table, stream.file(name, file.rows))


PARTS: Final = pa.schema([("task", pa.int32()), ("content", pa.binary())])  # files, and which task takes them


@dataclass(frozen=True, slots=True)
class PutTogether:
    """Writes the rows of small files in the folder `work` again, to one file for each task and table."""

    work: str
    reach: FileAccess
    run: Run | None

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        begin_task(self.reach)
        with PartFiles(self.work, self.run, _PUT_TOGETHER) as files:
            yield from rows_of(((0, write_part(part)) for part in self._written(batches, files)), PARTS)

    @staticmethod
    def _written(batches: Iterable[pa.RecordBatch], files: PartFiles) -> Iterator[PartFile]:
        for (content,) in cells(batches, "content"):
            part = read_part(content)
            for batch in files.read_rows(part):
                yield from files.write_rows(part.table, batch)
        yield from files.close()


class TableRows:
    """Rows of tables, put together before they are written: a batch of Arrow costs as much as some hundred rows.

    `written` takes each batch, with its table and cluster, and yields what the driver gets for it.
    """

    def __init__(
        self, tables: Mapping[str, Table], written: Callable[[str, int, pa.RecordBatch], Iterator[Row]]
    ) -> None:
        self._tables = tables
        self._written = written
        self._rows: dict[tuple[str, int], list[Row]] = {}  # not yet in a batch, by table and cluster

    def add(self, name: str, cluster: int, rows: Iterable[Row]) -> Iterator[Row]:
        """Add rows of a table; yield what the driver gets for those that are complete."""
        rows = iter(rows)
        held = self._rows.setdefault((name, cluster), [])
        held += islice(rows, _TOGETHER - len(held))
        while len(held) == _TOGETHER:
            yield from self._complete(name, cluster)
            held += islice(rows, _TOGETHER)

    def rest(self) -> Iterator[Row]:
        """Yield what the driver gets for all that is left."""
        for name, cluster in self._rows:
            yield from self._complete(name, cluster)

    def _complete(self, name: str, cluster: int) -> Iterator[Row]:
        rows = self._rows[name, cluster]
        for batch in arrow_batches(rows, arrow_schema(self._tables[name])):
            yield from self._written(name, cluster, batch)
        rows.clear()


def _new_name(table: str) -> str:
    return f"{table}-{uuid.uuid4().hex}.parquet"

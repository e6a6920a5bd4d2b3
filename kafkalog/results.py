"""Lazy answers: nothing is read before rows are asked for, and what streams is read again each time, in bounded memory.

Each reading has a context of its own with how inputs are reached, what is called with the progress, and which event
cancels it, so that threads do not meet.
"""

from __future__ import annotations

import html
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextvars import Context, copy_context
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar, overload

from kafkalog.errors import CancelledError, InvalidInputError, OutputError, UnsupportedError
from kafkalog.escape import escape
from kafkalog.files.limits import Limits
from kafkalog.files.names import is_remote, local_path, why_no_place
from kafkalog.files.watch import CountingWatch, set_watch
from kafkalog.findings import Finding
from kafkalog.segments.blocks import Rows
from kafkalog.segments.file_rows import BlockShape
from kafkalog.severity import Severity
from kafkalog.tables import TABLES, Table
from kafkalog.unread import leaves_complete

if TYPE_CHECKING:
    import threading

    import pandas
    import polars

    from kafkalog.auditing.incidents import Verdict
    from kafkalog.exit_status import Exit
    from kafkalog.files.object_stores import StorageOptions
    from kafkalog.log_dirs.remote_store import Remote
    from kafkalog.tables.arrow import ArrowReader, ArrowTable, RecordBatch, Schema

__all__ = ["Access", "Answering", "Item", "OfTable", "Progress", "Result", "ResultOutcome"]

Row_co = TypeVar("Row_co", covariant=True)
_Asked = TypeVar("_Asked")
Cells = tuple[Any, ...]
Item = tuple[Table, Cells] | Rows | Finding

_SHOWN: Final = 10  # rows in a notebook
_COLUMNS: Final = 12
_SHOWN_TEXT: Final = 80  # characters of a cell there


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run is: the file that it reads, and how many of the bytes that it knows of were read."""

    file: str
    read_bytes: int
    total_bytes: int


class _Asker(CountingWatch):
    """Tells who asked how far it is, and ends the run where that one no longer wants it."""

    def __init__(self, on_progress: Callable[[Progress], object] | None, cancel: threading.Event | None) -> None:
        super().__init__()
        self._on_progress = on_progress
        self._cancel = cancel
        self._furthest = 0

    def moved(self, file: str) -> None:
        self._furthest = max(self._furthest, self.read_bytes)  # a file may be read again
        total = max(self.total, self._furthest)
        if self._cancel is not None and self._cancel.is_set():
            raise CancelledError(f"cancelled after {self._furthest} of {total} bytes")
        if self._on_progress is not None:
            self._on_progress(Progress(file, self._furthest, total))


@dataclass(frozen=True, slots=True)
class Access:
    """What is read, and how: inputs, their remote store, limits, processes, callbacks for progress and findings."""

    paths: tuple[str, ...]
    remote: Remote | None = None
    storage: StorageOptions | None = None
    limits: Limits = field(default_factory=Limits)
    jobs: int | None = 1
    on_progress: Callable[[Progress], object] | None = None
    cancel: threading.Event | None = None
    on_finding: Callable[[Finding], object] | None = None

    def begin(self) -> None:
        """Raise CancelledError where the event is set, though there may be nothing to read."""
        if self.cancel is not None and self.cancel.is_set():
            raise CancelledError("cancelled after 0 bytes: before anything was read")

    def context(self) -> Context:
        """Return a context to read in."""
        made = copy_context()
        made.run(self._enter)
        return made

    def _enter(self) -> None:
        if self.on_progress is not None or self.cancel is not None:
            set_watch(_Asker(self.on_progress, self.cancel))
        if self.remote is not None:
            from kafkalog.log_dirs.remote_store import give_remote

            give_remote(self.remote)
        if self.storage is not None:
            from kafkalog.files.object_stores import give_storage

            give_storage(self.storage)

    def each(self, made: Callable[[], Iterable[_Asked]]) -> Iterator[_Asked]:
        """Yield what is made, which reads; whoever asks for the next one may do so in any context."""
        context = self.context()
        items = context.run(lambda: iter(made()))
        try:
            while (item := context.run(next, items, _END)) is not _END:
                yield item  # type: ignore[misc]  # not the mark of the end
        finally:
            if hasattr(items, "close"):
                context.run(items.close)

    @property
    def places(self) -> tuple[str, ...]:
        """Return where nothing is written."""
        return self.paths if self.remote is None else (*self.paths, self.remote.path)


_END: Final = object()


@dataclass(frozen=True, slots=True)
class ResultOutcome:
    """How a run ended: the exit status of the command that does the same, its findings, its verdict if there is one.

    It is `complete` if all could be read that was asked for.
    """

    status: Exit
    complete: bool
    findings: list[Finding]
    verdict: Verdict | None = None

    @property
    def unread(self) -> list[Finding]:
        """Return what could not be read, or is not there."""
        return [one for one in self.findings if not leaves_complete(one.code)]

    @property
    def worst(self) -> Severity | None:
        """Return the highest severity of the findings, None without any."""
        return max((one.severity for one in self.findings), default=None)

    def __str__(self) -> str:
        """Return the verdict, or how many findings there are."""
        if self.verdict is not None:
            return self.verdict.headline
        worst = "" if self.worst is None else f", the worst an {self.worst.word}".replace("an warning", "a warning")
        read = "everything was read" if self.complete else f"{len(self.unread) or 'some'} of it was not read"
        return f"{read}; findings: {len(self.findings)}{worst.replace('an note', 'a note')}"


class Answering(ABC):
    """A question, and how it is answered: each call of `items` answers it, or gives again what is known."""

    access: Access

    @abstractmethod
    def items(self, table: Table, names: Sequence[str], shape: BlockShape, /) -> Iterator[Item]:
        """Yield the rows of a table, those that come many at once with these columns; findings may be among them."""

    @abstractmethod
    def outcome(self, table: Table, /) -> ResultOutcome:
        """Return how the reading of a table ended; where it has not run, it runs."""

    def names(self, table: Table) -> tuple[str, ...]:
        """Return the columns that a table has without being asked for any."""
        return table.usual

    def batches(self, table: Table, names: Sequence[str]) -> tuple[Schema, Iterator[RecordBatch]]:
        """Return the table's rows as batches of Arrow, one after the other."""
        from kafkalog.tables.arrow import chosen_schema
        from kafkalog.writing.columnar import ARROW_SHAPE, batches_of

        schema = chosen_schema(table, names)
        return schema, batches_of(self.items(table, names, ARROW_SHAPE), table, schema)


class Result(Generic[Row_co]):
    """The rows of a table, read when they are asked for: iterate, or take them as Arrow, pandas, polars or a file.

    Memory is that of a batch for what streams: iteration, ``write`` and Arrow's stream, which DuckDB, polars and
    pyarrow read (``__arrow_c_stream__``). `outcome` says how the reading ended.
    """

    def __init__(self, run: Answering, table: Table, names: Sequence[str] | None = None) -> None:
        self._run = run
        self._table = table
        self._chosen = names

    @property
    def table(self) -> str:
        """Return the name of the table: ``kafkalog schema NAME`` says what its columns mean."""
        return self._table.name

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the names of the columns."""
        return self._run.names(self._table) if self._chosen is None else tuple(self._chosen)

    @property
    def outcome(self) -> ResultOutcome:
        """Return how the reading ended: exit status, findings, what was not read, the verdict; it reads if needed."""
        return self._run.outcome(self._table)

    def select(self, *names: str) -> Result[dict[str, Any]]:
        """Return the same rows with these columns alone: what is not asked for is not made.

        Raises InvalidInputError for a column that the table does not have, and for one that is named twice.
        """
        if len(set(names)) < len(names):
            raise InvalidInputError(f"select names a column twice: {', '.join(names)}")
        if unknown := [name for name in names if name not in self._table.names]:
            raise InvalidInputError(
                f"the table {self.table} has no column {unknown[0]!r}: it has {', '.join(self._table.names)}"
            )
        return Result(self._run, self._table, names)

    def __iter__(self) -> Iterator[Row_co]:
        """Yield the rows, each a dictionary of its columns; an absent value is None."""
        names, table = self.columns, self._table.names
        kept = None if names == table else [table.index(name) for name in names]
        for item in self._run.items(self._table, names, BlockShape()):
            if isinstance(item, Rows):  # of a block, which has these columns alone
                rows = item.block.rows(item.start, item.stop)
                yield from (dict(zip(names, cells, strict=True)) for cells in rows)  # type: ignore[misc]  # as declared
            elif not isinstance(item, Finding):
                cells = item[1] if kept is None else [item[1][at] for at in kept]
                yield dict(zip(names, cells, strict=True))  # type: ignore[misc]  # ditto

    def to_reader(self) -> ArrowReader:
        """Return what reads the rows as batches of Arrow, in bounded memory. Needs pyarrow."""
        from kafkalog.tables.arrow import arrow_reader

        schema, batches = self._run.batches(self._table, self.columns)
        return arrow_reader(batches, schema)

    def to_arrow(self) -> ArrowTable:
        """Return all rows as a table of Arrow, typed as ``kafkalog schema`` says. Needs pyarrow."""
        from kafkalog.tables.arrow import arrow_table

        schema, batches = self._run.batches(self._table, self.columns)
        return arrow_table(batches, schema)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Give the rows as a stream of Arrow's, for any library that reads one. Needs pyarrow."""
        return self.to_reader().__arrow_c_stream__(requested_schema)

    def to_pandas(self) -> pandas.DataFrame:
        """Return all rows as a frame of pandas, with Arrow's types: offsets stay exact where some are absent."""
        import pandas as pd

        return self.to_arrow().to_pandas(types_mapper=pd.ArrowDtype)

    def to_polars(self) -> polars.DataFrame:
        """Return all rows as a frame of polars."""
        import polars as pl

        return pl.DataFrame(self.to_arrow())

    def write(self, path: str | os.PathLike[str], *, replace: bool = False) -> None:
        """Write the rows to a file that appears whole: ``.parquet``, ``.arrow``, ``.ndjson``, ``.json`` or ``.csv``.

        A file that is there is replaced only with `replace`, and nothing is written into evidence: UnsupportedError.
        Raises OutputError if it can't be written.
        """
        from kafkalog.files.off_limits import refuse_evidence
        from kafkalog.writing import sink_of
        from kafkalog.writing.new_file import NewFile

        wrong = why_no_place(os.fspath(path)) or ("an object store is not written to" if is_remote(str(path)) else None)
        if wrong is not None:
            raise UnsupportedError(f"{path}: {wrong}; give a local file")
        place = Path(local_path(os.fspath(path)))
        make = sink_of(place.suffix)
        refuse_evidence(str(place), self._run.access.places)
        if place.exists() and not replace:
            raise UnsupportedError(f"{place}: exists already; give a new name, or replace=True")
        if place.exists() and not place.is_file():
            raise UnsupportedError(f"{place}: is no file; give the name of a file")
        try:
            with NewFile(place, replaces=replace) as new:
                sink = make(new, self._table, self.columns)
                for item in self._run.items(self._table, self.columns, BlockShape(sink.room, sink.spaced)):
                    if isinstance(item, Rows):
                        sink.block(item)
                    elif not isinstance(item, Finding):
                        sink.row(*item)
                sink.close()
                new.keep()
        except OSError as error:
            raise OutputError(f"{place}: {error.strerror or error}") from error

    def __repr__(self) -> str:
        return f"<rows of the table {self.table}, columns {', '.join(self.columns)}>"

    def _repr_html_(self) -> str:
        """Show the first rows in a notebook; of a judgement its verdict, too."""
        rows = list(islice(self._dictionaries(), _SHOWN + 1))
        filled = [name for name in self.columns if any(row[name] is not None for row in rows)]
        first = [name for name in self._table.answers if name in filled] if self._chosen is None else []
        shown = [*first, *(name for name in filled if name not in first)][:_COLUMNS]
        head = "".join(f"<th>{html.escape(name)}</th>" for name in shown)
        body = "".join(f"<tr>{''.join(_cell(row[name]) for name in shown)}</tr>" for row in rows[:_SHOWN])
        more = f"<p>the first {_SHOWN} rows of more</p>" if len(rows) > _SHOWN else ""
        nothing = "" if rows else f"<p>no rows in the table {html.escape(self.table)}</p>"
        said = f"<p><b>{html.escape(escape(title))}</b></p>" if (title := self._title()) else ""
        table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>" if rows else nothing
        return f"{said}{table}{more}"

    def _title(self) -> str:
        """Return what is said above the rows."""
        return ""

    def _dictionaries(self) -> Iterator[dict[str, Any]]:
        yield from Result[dict[str, Any]](self._run, self._table, self._chosen)


def _cell(value: object) -> str:
    text = "" if value is None else escape(str(value))
    return f"<td>{html.escape(text if len(text) <= _SHOWN_TEXT else f'{text[:_SHOWN_TEXT]}…')}</td>"


class OfTable(Generic[Row_co]):
    """A table of a result, named as the attribute is: its rows are as lazy as the result."""

    def __set_name__(self, _owner: type, name: str) -> None:
        self._table = TABLES[name]

    @overload
    def __get__(self, result: None, owner: type) -> OfTable[Row_co]: ...
    @overload
    def __get__(self, result: Result[Any], owner: type) -> Result[Row_co]: ...
    def __get__(self, result: Result[Any] | None, owner: type) -> Result[Row_co] | OfTable[Row_co]:
        return self if result is None else Result(result._run, self._table)

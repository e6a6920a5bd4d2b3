"""How something is shown: what is known of an output format, in which one a command shows what, and what it tells."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, BinaryIO

from kafkalog.tables import TABLES, Table
from kafkalog.tables.audit_tables import FINDINGS
from kafkalog.zone import UTC, Zone
from kafkalog_cli.output import STDOUT, Target, parquet_engine

if TYPE_CHECKING:
    from kafkalog.reports import AuditSource, FirstScreen, Night
    from kafkalog.writing.row_formats import BlockSink

__all__ = ["Form", "Showing", "Told", "WriteReport"]

# A sink for these tables, most formats have the first alone; a dump says which files its rows name.
MakeSink = Callable[["Showing", BinaryIO, Sequence[Table], Sequence[str]], "BlockSink"]
WriteReport = Callable[["Told", "Showing", BinaryIO], None]


@dataclass(frozen=True, slots=True)
class Form:
    """An output format. A `sink` takes rows; `report` writes an audit; without both it is one command's own.

    A name of `suffixes` chooses it, one that ends in `misread` other programs would take for something else. A stream
    has `one_table` only, or several. It goes to `folders` with a file for each table, as Spark in `parts`. What is
    `columnar` needs pyarrow. It `needs_path` if it can't go to standard output, and may have a strip of `nights`.
    """

    name: str
    suffixes: tuple[str, ...] = ()
    sink: MakeSink | None = None
    report: WriteReport | None = None
    people: bool = False
    one_table: bool = False
    folders: bool = False
    parts: bool = False
    columnar: bool = False
    needs_path: bool = False
    nights: bool = False
    misread: str = ""

    def __str__(self) -> str:
        return self.name

    @property
    def has_rows(self) -> bool:
        """Say whether it has the rows of tables."""
        return self.sink is not None

    @property
    def draws(self) -> bool:
        """Say whether people read its rows: a command may draw something instead of them."""
        return self.people and self.has_rows

    @property
    def is_lines(self) -> bool:
        """Say whether it is text for programs, which the kernel writes."""
        return self.has_rows and not self.people and not self.columnar

    @property
    def has_findings(self) -> bool:
        """Say whether findings are rows of it, beside those of other tables; else they go to standard error."""
        return self.is_lines and not self.one_table

    @property
    def engine(self) -> str:
        """Say what writes it. Raises OutputError if that is missing."""
        return parquet_engine() if self.columnar else self.name


@dataclass(frozen=True, slots=True)
class Showing:
    """How a command shows what it found: in which form and where, which tables and columns, times of which zone.

    With `everything` these are all rows of all tables, with `findings` each of them that is above a note. A `full`
    report tells every incident whole, on a terminal, too.
    """

    form: Form
    target: Target = STDOUT
    tables: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    everything: bool = False
    findings: bool = False
    zone: Zone = UTC
    full: bool = False

    @property
    def is_folder(self) -> bool:
        """Say whether it goes to a directory with a file for each table."""
        return self.form.folders and self.target.is_folder

    @property
    def tells_findings(self) -> bool:
        """Say whether findings go to standard error: one other table or a program's picture has no place for them."""
        return not (self.form.people or self.form.has_findings or self.is_folder) and self.tables != (FINDINGS.name,)

    def sink(self, stream: BinaryIO, tables: Sequence[str | Table], files: Sequence[str] = ()) -> BlockSink:
        """Return the sink of a command that has these tables; `files` are those that a dump's rows name.

        A table that is made of a question comes itself, others by their names.
        """
        assert self.form.sink is not None
        known = [TABLES[table] if isinstance(table, str) else table for table in tables]
        return self.form.sink(self, stream, known, files)


@dataclass(frozen=True, slots=True)
class Told:
    """What a report tells: the audit, with `every` also what happens in healthy clusters, or some incidents alone.

    `screen` has its verdict. `origin` gives what ``provenance.json`` has, and is called only for what shows it; `more`
    writes what a text has before its totals. `since` is what changed since the last of earlier `nights`.
    """

    source: AuditSource
    screen: FirstScreen
    origin: Callable[[], Mapping[str, Any]]
    every: bool = False
    incident: str | None = None
    more: Callable[[BinaryIO], None] | None = None
    nights: Sequence[Night] = ()
    since: AuditSource | None = None

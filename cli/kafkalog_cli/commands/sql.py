"""``kafkalog sql``: a question to the tables of audits, in SQL."""

from __future__ import annotations

import json
import re
import shutil
import tempfile
from collections import deque
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from kafkalog.errors import UnreadableError, UnsupportedError
from kafkalog.files.off_limits import no_room, temporary_folder
from kafkalog.files.opening import open_source
from kafkalog.files.waiting import answer_of
from kafkalog.tables import TABLES
from kafkalog.tables.declared import Column, Table
from kafkalog_cli.help import GroupedCommand
from kafkalog_cli.options import check_rows, output_options, showing_options, tz_option
from kafkalog_cli.render.showing import Showing

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

__all__ = ["sql"]

_Answer = TypeVar("_Answer")


@click.command("sql", cls=GroupedCommand)
@click.argument("audits", nargs=-1, required=True, type=click.Path(exists=True), metavar="AUDIT...")
@click.argument("query", metavar="SELECT")
@showing_options(tz_option, output_options("Write to this file.", folders=False))
def sql(audits: tuple[str, ...], query: str, showing: Showing) -> int:
    """Answer a SELECT over the tables of AUDITs, which txn-audit wrote as Parquet, with DuckDB.

    Each table is a view of its name; kafkalog schema lists them. An AUDIT may also be a Parquet file that extract, dump
    or another command wrote. Nothing else is read, and nothing is written but the result.

    \b
        kafkalog txn-audit /copy/of/log.dirs -o audit
        kafkalog sql audit "SELECT topic, state, count(*) AS n FROM transactions GROUP BY ALL ORDER BY ALL"
        kafkalog sql monday tuesday "SELECT audit, sum(log_end_offset) AS ends FROM partitions GROUP BY ALL"
    """
    check_rows(showing, ("result",))
    with database(audits, query) as connection:
        refuse_all_but_one_select(connection, query)
        if showing.form.columnar:
            from kafkalog.writing.columnar import write_stream

            found = _waited(connection, lambda: connection.sql(query).to_arrow_reader(_ROWS))  # of DuckDB's own types
            with found as reader, showing.target.stream(audits) as stream:
                write_stream(showing.form.name, stream, reader.schema, _batches(connection, reader))
            return 0
        from kafkalog_cli.render.sinks import write_rows

        asked = answer(connection, query)
        with showing.target.stream(audits) as stream:
            write_rows(showing, stream, [asked])
    return 0


_ROWS: Final = 10_000  # at a time
_MOST_MEMORY: Final = 2 << 30  # bytes; DuckDB's own limit is 80 % of the machine's
_MOST_TEMPORARY: Final = 16 << 30  # bytes on disk, of what needs more memory
_ROW_METADATA: Final = b"org.apache.spark.sql.parquet.row.metadata"
_WHOLE: Final = frozenset({"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINYINT", "USMALLINT", "UINTEGER",
                           "UBIGINT", "UHUGEINT"})  # fmt: skip
_SAFE: Final = {
    "autoinstall_known_extensions": "false", "autoload_known_extensions": "false",
    "allow_community_extensions": "false", "python_enable_replacements": "false",
}  # fmt: skip


@contextmanager
def _in_words() -> Iterator[None]:
    """Raise UnsupportedError with DuckDB's words, as one line."""
    import duckdb

    try:
        yield
    except duckdb.Error as error:
        lines = str(error).partition("\n\n")[0].split("\n")
        words = "; ".join(line.strip() for line in lines if line.strip()) or type(error).__name__
        raise UnsupportedError(words) from error


def _waited(connection: duckdb.DuckDBPyConnection, work: Callable[[], _Answer]) -> _Answer:
    """Do a part of a query's work, which a signal interrupts. Raises UnsupportedError with DuckDB's words."""
    with _in_words():
        return answer_of(work, give_up=connection.interrupt)


def _batches(connection: duckdb.DuckDBPyConnection, reader: pa.RecordBatchReader) -> Iterator[pa.RecordBatch]:
    """Yield the batches of a result, each computed where a signal is heard."""
    while (batch := _waited(connection, lambda: next(reader, None))) is not None:
        yield batch


def refuse_all_but_one_select(connection: duckdb.DuckDBPyConnection, text: str) -> None:
    """Raise UnsupportedError for anything else, with DuckDB's words where these say why."""
    import duckdb

    with _in_words():
        statements = connection.extract_statements(text)
    if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
        raise UnsupportedError("one SELECT is run; the audits are never changed")


def answer(connection: duckdb.DuckDBPyConnection, text: str) -> tuple[Table, Iterator[tuple[Any, ...]]]:
    """Run a SELECT; return a table of its columns, and its rows. Raises UnsupportedError with DuckDB's words."""
    found = _waited(connection, lambda: connection.execute(text))
    with _in_words():
        names = _distinct([str(one[0]) for one in found.description or ()])
        kinds = [str(one[1]) for one in found.description or ()]
    columns = (
        Column(name, "int64" if kind in _WHOLE else "string", "", "ms" if name.endswith("_ms") else "")
        for name, kind in zip(names, kinds, strict=True)
    )
    return Table("result", "a row of the result", tuple(columns)), _rows(found)


def _rows(found: duckdb.DuckDBPyConnection) -> Iterator[tuple[Any, ...]]:
    while some := _waited(found, lambda: found.fetchmany(_ROWS)):
        yield from (tuple(map(_cell, row)) for row in some)


def _distinct(names: Sequence[str]) -> list[str]:
    """Give columns of one name numbers: a table has each name once."""
    seen: dict[str, int] = {}
    found = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        found.append(name if seen[name] == 1 else f"{name}_{seen[name]}")
    return found


def _cell(value: Any) -> Any:
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return json.dumps(value, default=str, ensure_ascii=False) if isinstance(value, list | dict) else str(value)


@contextmanager
def database(inputs: Sequence[str], query: str) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open a database with a view for each table of some audits, and of Parquet that other commands wrote.

    Of several audits each view has the rows of all; its first column, `audit`, says whose. Nothing can be read but
    these files, and no setting be changed. What does not fit into its memory is in a directory of its own below
    TMPDIR, or /tmp, until it is closed. Raises UnsupportedError without DuckDB, UnreadableError for other inputs,
    and for files that are not what was written, or have a cell that its column can't have in a table of the `query`.
    """
    try:
        import duckdb
        import pyarrow.dataset  # noqa: F401  # asked for now, so that it is said before anything is read
    except ImportError as error:
        raise UnsupportedError("kafkalog sql needs DuckDB: pip install duckdb pyarrow") from error
    home = temporary_folder()
    try:
        folder = tempfile.mkdtemp(prefix="kafkalog-", dir=home)
    except OSError as error:
        raise no_room("temporary files", error) from error
    try:
        config: dict[str, str | bool | int | float | list[str]] = {
            **_SAFE, "temp_directory": folder, "memory_limit": f"{_MOST_MEMORY}B",
            "max_temp_directory_size": f"{_MOST_TEMPORARY}B",
        }  # fmt: skip
        with duckdb.connect(":memory:", config=config) as connection:
            _register(connection, inputs, set(re.findall(r"\w+", query.lower())))
            yield connection
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _register(connection: duckdb.DuckDBPyConnection, inputs: Sequence[str], asked: Collection[str]) -> None:
    """Make the views, and refuse everything else from then on.

    The cells of the tables that are `asked` for are checked: these tables are read once more for that.
    """
    import pyarrow.dataset as ds

    from kafkalog.reports import WrittenAudit
    from kafkalog.tables.checked_cells import checked_batches

    parts: dict[str, list[tuple[str, list[str]]]] = {}
    audits = 0
    for name in inputs:
        if (place := Path(name)).is_dir():
            source = WrittenAudit(place)
            audits += 1
            for table in sorted(source.tables):
                deque(source.batches(table) if table in asked else (), maxlen=0)
                parts.setdefault(table, []).append((name, [str(path) for path in source.files(table)]))
        else:
            table = _table_of(place)
            deque(checked_batches(name, name, TABLES[table], None) if table in asked else (), maxlen=0)
            parts.setdefault(table, []).append((name, [name]))
    for table, of_table in sorted(parts.items()):
        selects = []
        for number, (name, files) in enumerate(of_table):
            view = f"files of {table} {number}"
            for file in files:
                open_source(file).close()  # a FIFO would be waited for
            connection.register(view, ds.dataset(files, format="parquet"))
            audit = f"{_text(name)} AS audit, " if audits > 1 else ""
            selects.append(f"SELECT {audit}* FROM {_name(view)}")
        connection.execute(f"CREATE VIEW {_name(table)} AS {' UNION ALL BY NAME '.join(selects)}")
        _comment(connection, TABLES[table])
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")


def _comment(connection: duckdb.DuckDBPyConnection, table: Table) -> None:
    """Say what a view's rows and columns mean."""
    connection.execute(f"COMMENT ON VIEW {_name(table.name)} IS {_text(table.row)}")
    there = {row[0] for row in connection.execute(f"DESCRIBE {_name(table.name)}").fetchall()}
    for column in table.columns:
        if column.name in there:
            place = f"{_name(table.name)}.{_name(column.name)}"
            connection.execute(f"COMMENT ON COLUMN {place} IS {_text(column.meaning)}")


def _table_of(file: Path) -> str:
    """Return which table a Parquet file has, by its footer. Raises UnreadableError."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    open_source(file).close()
    try:
        said = json.loads((pq.read_metadata(file).metadata or {})[_ROW_METADATA])
        table = str(said["fields"][0]["metadata"]["table"])
        return TABLES[table].name
    except (OSError, pa.ArrowException) as error:
        raise UnreadableError(f"{file}: it can't be read as Parquet: {error}") from error
    except (ValueError, KeyError, TypeError, IndexError) as error:
        raise UnreadableError(f"{file}: kafkalog did not write it: its footer names no table") from error


def _text(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'

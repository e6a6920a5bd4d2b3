"""A dump as rows of tables."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, BinaryIO

import click

from kafkalog import FileKind, FileName, Finding
from kafkalog.files.names import SEGMENTS
from kafkalog.segments.blocks import Rows
from kafkalog.segments.file_rows import TABLES_OF, DistinctIds, finding_row, segment_rows, side_file_rows
from kafkalog.tables import TABLES
from kafkalog.tables.audit_tables import FINDINGS
from kafkalog_cli.dumping import DumpRequest, DumpRun, counted_of
from kafkalog_cli.exit import Outcome
from kafkalog_cli.inputs import STDIN, check_side_file, check_unknown, chunks_of, name_of
from kafkalog_cli.output import Target, say, write_provenance
from kafkalog_cli.render.row_formats import BlockSink, CsvSink
from kafkalog_cli.render.sinks import sink_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kafkalog.log_dirs.log_directory import Place
    from kafkalog.tables import Table
    from kafkalog_cli.render.row_formats import BlockSink

__all__ = ["dump_files", "dump_rows", "dump_sink"]


class _FindingRows:
    """Findings as rows with the ids that an audit gives them: those about a partition's files name the partition."""

    def __init__(self) -> None:
        self._places: dict[str, Place | None] = {}
        self._distinct = DistinctIds()

    def __call__(self, finding: Finding) -> tuple[Any, ...]:
        home = os.path.dirname(finding.file) or os.curdir
        if finding.file == STDIN:
            return self._distinct(finding_row(finding))
        if home not in self._places:
            from kafkalog.log_dirs.log_directory import Place  # imports the readers of checkpoints, too

            self._places[home] = Place.of(home)
        place = self._places[home]
        if place is None:
            return self._distinct(finding_row(finding))
        finding = finding._replace(log=home, topic=place.topic, partition=place.partition)
        return self._distinct(finding_row(finding, place.node_id))


def dump_rows(request: DumpRequest, sink: BlockSink, outcome: Outcome, *, findings_as_rows: bool) -> None:
    """Give the rows of all files to `sink`; findings too, or to standard error."""

    row_of = _FindingRows()

    def show(finding: Finding) -> None:
        if findings_as_rows:
            sink.row(FINDINGS, row_of(finding))
        else:
            say(str(finding))

    def unreadable(file: str, message: str) -> None:
        say(f"error: {message}")
        if findings_as_rows:
            sink.row(FINDINGS, row_of(Finding.of("file-unreadable", file, message)))

    run = DumpRun(request, outcome, show, unreadable)

    def handle(file: str, name: FileName) -> None:
        if name.kind is FileKind.UNKNOWN:
            run.report(check_unknown(file))
            return
        if name.kind in SEGMENTS:
            run.begin(file, name)
            chunks = run.of_producers(chunks_of(file, request.limits, request.max_bytes, sink.flush, sink.batches))
            names = {table: sink.names(TABLES[table]) for table in request.wanted if table in TABLES}
            most = (
                None if request.limit is None or counted_of(request.wanted) != "records" else request.limit - run.given
            )
            rows: Iterator[tuple[Table, tuple[Any, ...]] | Rows | Finding] = segment_rows(
                file,
                chunks,
                names,
                request.selection_of(file),
                request.options.internal,
                most,
                sink.room,
                spaced=sink.spaced,
                decoders=request.decoders,
            )
        else:
            check_side_file(file)
            rows = side_file_rows(file, name.kind)
        wanted = request.wanted if request.tables or name.kind in SEGMENTS else {TABLES_OF[name.kind][0].name}
        counted = counted_of(wanted)
        left: dict[str, int | None] = dict.fromkeys(wanted, request.limit)
        for item in rows:
            if isinstance(item, Finding):
                run.report(item)
                continue
            table = item.block.table if isinstance(item, Rows) else item[0]
            room: int | None = left.get(table.name, 0)
            if room == 0:
                continue
            taken = 1
            if isinstance(item, Rows):
                taken = len(item) if room is None else min(len(item), room)
                if counted == table.name and request.limit is not None:
                    taken = min(taken, request.limit - run.given)
                sink.block(item.first(taken))
            else:
                sink.row(*item)
            left[table.name] = None if room is None else room - taken
            if counted in (None, table.name):
                run.took(taken)

    run.each(handle)
    sink.close()


# Chooses the sink for the rows of a dump: its tables follow from the files that were named.


def dump_sink(
    form: str, stream: BinaryIO, request: DumpRequest, columns: Sequence[str], target: Target, *, raw: bool
) -> BlockSink:
    """Return the sink for `form`; a csv has exactly one table.

    Raises UsageError if the files or the options give it several, or none of its columns.
    """
    if form != "csv":
        return sink_of(form, stream, columns, _in_order({*_expected(request), "findings"}), terminal=target.on_terminal)
    if len(request.tables) > 1:
        raise click.UsageError("--format csv takes exactly one --table.")
    name = request.tables[0] if request.tables else _only_table(request)
    if columns and not set(columns) & set(TABLES[name].names):
        raise click.UsageError(f"The table {name} has none of these columns: kafkalog schema {name} lists its own.")
    return CsvSink(stream, columns, TABLES[name], escaped=target.on_terminal and not raw, safe=target.csv_safe)


def dump_files(
    form: str, target: Target, request: DumpRequest, columns: Sequence[str], inputs: Sequence[str], outcome: Outcome
) -> None:
    """Write Arrow or Parquet of one table to a file or to standard output, or a directory with a file for each table.

    Raises UsageError if that is a terminal, or if several tables would go to one file.
    """
    if form != "ndjson":
        from kafkalog_cli.output import parquet_engine

        parquet_engine()
    if target.on_terminal:
        raise click.UsageError(f"--format {form} is not for a terminal: name a file with -o, or redirect it.")
    if target.is_folder(form):
        from kafkalog_cli.render.folders import folder_sink

        tables = _in_order({*_expected(request), "findings"})
        with target.folder(inputs) as folder:
            with folder_sink(form, folder, columns, tables, request.files) as sink:
                dump_rows(request, sink, outcome, findings_as_rows=True)
            write_provenance(folder, target.command)
        return
    if len(request.tables) > 1:
        raise click.UsageError(f"Several tables in {form} need a directory: name one, without a suffix, with -o.")
    from kafkalog_cli.render.columnar import arrow_stream

    table = request.tables[0] if request.tables else _only_table(request)
    with target.stream(inputs) as stream:
        sink = arrow_stream(form, stream, columns, table, request.files)
        dump_rows(request, sink, outcome, findings_as_rows=table == "findings")


def _kinds(request: DumpRequest) -> set[FileKind]:
    """Return the kinds of the files that have rows."""
    return {name_of(file).kind for file in request.files} & set(TABLES_OF)


def _expected(request: DumpRequest) -> set[str]:
    """Return the tables of the files, even those without rows."""
    if request.tables:
        return set(request.tables)
    return {
        name for kind in _kinds(request) for name in (request.wanted if kind in SEGMENTS else {TABLES_OF[kind][0].name})
    }


def _in_order(tables: set[str]) -> list[str]:
    """Put the table with the most rows first: json writes that one as it comes."""
    return sorted(tables, key=lambda name: (name != counted_of(tables), name))


def _only_table(request: DumpRequest) -> str:
    """Return the one table of the files by default."""
    of_segment = counted_of(request.wanted) or "batches"
    names = {of_segment if kind in SEGMENTS else TABLES_OF[kind][0].name for kind in _kinds(request)}
    if len(names) > 1:
        raise click.UsageError(
            f"--format csv has one table, but the files have {', '.join(sorted(names))}: choose one with --table."
        )
    return names.pop() if names else "batches"

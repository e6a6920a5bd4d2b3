"""A dump as rows of tables."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

from kafkalog import FileKind, FileName, Finding
from kafkalog.files.names import SEGMENTS
from kafkalog.segments.blocks import Rows
from kafkalog.segments.file_rows import TABLES_OF, BlockShape, DistinctIds, finding_row, segment_rows, side_file_rows
from kafkalog.tables import TABLES
from kafkalog.tables.audit_tables import FINDINGS
from kafkalog.tables.declared import EVERY_COLUMN
from kafkalog.unread import not_read
from kafkalog_cli.dumping import DumpRequest, DumpRun, counted_of
from kafkalog_cli.inputs import STDIN, check_side_file, check_unknown, name_of
from kafkalog_cli.output import NothingToWriteError, write_provenance
from kafkalog_cli.render.sinks import folder_sink

if TYPE_CHECKING:
    from kafkalog.exit_status import Outcome
    from kafkalog.log_dirs.log_directory import Place
    from kafkalog.tables import Table
    from kafkalog.writing.row_formats import BlockSink
    from kafkalog_cli.render.showing import Form, Showing

__all__ = ["dump_folder", "dump_stream"]


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


class _RowDump(DumpRun):
    """Gives the rows of files to `sink`; findings too, or to standard error."""

    def __init__(self, request: DumpRequest, sink: BlockSink, outcome: Outcome, *, findings_as_rows: bool) -> None:
        super().__init__(request, outcome)
        self._sink = sink
        self._finding_row = _FindingRows() if findings_as_rows else None
        self._is_empty = True

    def check(self) -> None:
        """Raise NothingToWriteError if a filter left nothing, and no finding is a row either."""
        if self._is_empty and not self.request.selection.everything:
            raise NothingToWriteError

    def show(self, finding: Finding) -> None:
        if self._finding_row is None:
            super().show(finding)
        else:
            self._is_empty = False
            self._sink.row(FINDINGS, self._finding_row(finding))

    def unreadable(self, file: str, message: str) -> None:
        super().unreadable(file, message)
        if self._finding_row is not None:
            self.show(not_read(file, message))

    def one(self, file: str, name: FileName) -> None:
        if name.kind is FileKind.UNKNOWN:
            self.report(check_unknown(file))
        elif name.kind in SEGMENTS:
            self._give(self._of_segment(file, name), self.request.wanted)
        else:
            check_side_file(file)
            self._give(side_file_rows(file, name.kind), set(self.request.tables) or {TABLES_OF[name.kind][0].name})

    def _of_segment(
        self, file: str, name: FileName
    ) -> Iterator[tuple[Table, tuple[Any, ...]] | Rows | Finding]:  # fmt: skip
        request, sink = self.request, self._sink
        chunks = self.chunks(file, name, sink.flush, sink.batches)
        names = {table: sink.names(TABLES[table]) for table in request.wanted if table in TABLES}
        is_counted = request.limit is not None and counted_of(request.wanted) == "records"
        return segment_rows(
            file, chunks, names, request.selection_of(file), request.options.internal,
            (request.limit or 0) - self.given if is_counted else None, BlockShape(sink.room, sink.spaced),
            decoders=request.decoders,
        )  # fmt: skip

    def _give(self, rows: Iterable[tuple[Table, tuple[Any, ...]] | Rows | Finding], wanted: set[str]) -> None:
        """Give the rows of the wanted tables, of each at most as many as the limit says."""
        limit, counted = self.request.limit, counted_of(wanted)
        left: dict[str, int | None] = dict.fromkeys(wanted, limit)
        for item in rows:
            if isinstance(item, Finding):
                self.report(item)
                continue
            table = item.block.table if isinstance(item, Rows) else item[0]
            room: int | None = left.get(table.name, 0)
            if room == 0:
                continue
            self._is_empty = False
            taken = 1
            if isinstance(item, Rows):
                taken = len(item) if room is None else min(len(item), room)
                if counted == table.name and limit is not None:
                    taken = min(taken, limit - self.given)
                self._sink.block(item.first(taken))
            else:
                self._sink.row(*item)
            left[table.name] = None if room is None else room - taken
            if counted in (None, table.name):
                self.took(taken)


def dump_stream(
    showing: Showing, request: DumpRequest, inputs: Sequence[str], outcome: Outcome, *, findings_as_rows: bool
) -> None:
    """Write rows to a file or to standard output; of Arrow, Parquet and CSV one table.

    Raises UsageError if the files or the options give it several, or none of its columns.
    """
    with showing.target.nothing_said(), showing.target.stream(inputs) as stream:
        sink = showing.sink(stream, _tables(showing, request), request.files)
        rows = _RowDump(request, sink, outcome, findings_as_rows=findings_as_rows)
        rows.all()
        sink.close()
        rows.check()


def dump_folder(showing: Showing, request: DumpRequest, inputs: Sequence[str], outcome: Outcome) -> None:
    """Write a directory with a file for each table."""
    target = showing.target
    with target.nothing_said(), target.folder(inputs) as folder:
        with folder_sink(showing, folder, _expected(request), request.files) as sink:
            rows = _RowDump(request, sink, outcome, findings_as_rows=True)
            rows.all()
            sink.close()
        rows.check()
        write_provenance(folder, target.command)


def _tables(showing: Showing, request: DumpRequest) -> list[str]:
    """Return the tables of a stream: they follow from the files that were named."""
    form, columns = showing.form, showing.columns
    if not form.one_table:
        return _expected(request)
    if len(request.tables) > 1:
        raise click.UsageError(
            f"Several tables in {form} need a directory: name one, without a suffix, with -o."
            if form.folders
            else f"--format {form} takes exactly one --table."
        )
    name = request.tables[0] if request.tables else _only_table(request, form)
    if form.is_lines and columns and not set(columns) & {EVERY_COLUMN, *TABLES[name].names}:
        raise click.UsageError(f"The table {name} has none of these columns: kafkalog schema {name} lists its own.")
    return [name]


def _kinds(request: DumpRequest) -> set[FileKind]:
    """Return the kinds of the files that have rows."""
    return {name_of(file).kind for file in request.files} & set(TABLES_OF)


def _expected(request: DumpRequest) -> list[str]:
    """Return the tables of the files, even those without rows, and that of findings.

    The table with the most rows is the first: json writes that one as it comes.
    """
    found = set(request.tables) or {
        name for kind in _kinds(request) for name in (request.wanted if kind in SEGMENTS else {TABLES_OF[kind][0].name})
    }
    found |= {FINDINGS.name}
    return sorted(found, key=lambda name: (name != counted_of(found), name))


def _only_table(request: DumpRequest, form: Form) -> str:
    """Return the one table of the files by default."""
    of_segment = counted_of(request.wanted) or "batches"
    names = {of_segment if kind in SEGMENTS else TABLES_OF[kind][0].name for kind in _kinds(request)}
    if len(names) > 1:
        raise click.UsageError(
            f"--format {form} has one table, but the files have {', '.join(sorted(names))}: choose one with --table."
        )
    return names.pop() if names else "batches"

"""Drives a dump: one file after another into the tool's text or into rows; one bad file costs that file only."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, BinaryIO, Final

import kafkalog
from kafkalog import Chunk, FileKind, FileName, Finding, Limits, UnreadableError
from kafkalog.format import kernel, selecting
from kafkalog.log.blocks import Rows
from kafkalog.log.rows import TABLES_OF, DistinctIds, finding_row, segment_rows, side_file_rows
from kafkalog.log.selection import Selection
from kafkalog.log.watch import watch
from kafkalog.narrowing import nothing_matches
from kafkalog.tables import TABLES
from kafkalog.tables.audit import FINDINGS
from kafkalog_cli.exit import Outcome
from kafkalog_cli.inputs import STDIN, check_segment, check_side_file, check_unknown, chunks_of, known_size, name_of
from kafkalog_cli.output import say, say_official
from kafkalog_cli.render.kafka.options import KafkaTextOptions
from kafkalog_cli.render.kafka.segments import KafkaText
from kafkalog_cli.render.kafka.writer import java_path

if TYPE_CHECKING:
    from kafkalog.log.logdir import Place
    from kafkalog_cli.render.rows import BlockSink

__all__ = ["SEGMENTS", "DumpRequest", "counted_of", "dump_rows", "dump_text"]

SEGMENTS: Final = (FileKind.LOG, FileKind.KRAFT_SNAPSHOT)
# Findings that the tool's own summaries report.
_IN_SUMMARIES: Final = frozenset({"index-entry-not-last-offset", "time-index-entry-unlike-batch"})


@dataclass(frozen=True, slots=True)
class DumpRequest:
    """What to dump and how far."""

    files: tuple[str, ...]
    limits: Limits
    selection: Selection
    max_bytes: int | None = None
    limit: int | None = None
    options: KafkaTextOptions = field(default_factory=KafkaTextOptions)
    tables: tuple[str, ...] = ()

    @property
    def wanted(self) -> set[str]:
        """Return the names of the tables that a segment has rows for."""
        if self.tables:
            return set(self.tables)
        if self.options.internal:
            return {"batches", "control", "internal"}
        return {"batches", "control", "records"} if self.options.deep else {"batches"}


def counted_of(tables: Collection[str]) -> str | None:
    """Return the table whose rows ``--limit`` counts, which is also the one with the most rows."""
    return next((name for name in ("internal", "records", "batches") if name in tables), None)


class Enough(Exception):  # noqa: N818  # no error: --limit is reached
    """The requested number of rows is reached."""


class _Run:
    """One command's files: counts findings, shows them, continues after what can't be read."""

    def __init__(
        self,
        request: DumpRequest,
        outcome: Outcome,
        show: Callable[[Finding], None],
        unreadable: Callable[[str, str], None],
    ) -> None:
        self.request = request
        self.outcome = outcome
        self.show = show
        self.unreadable = unreadable
        self.given = 0
        self.is_segment = False
        self.producers: set[int] = set()
        sizes = [size for size in map(known_size, request.files) if size is not None]
        watch().begin(sum(sizes), len(sizes))

    def report(self, finding: Finding) -> None:
        self.outcome.count(finding.severity)
        watch().found([finding])
        self.show(finding)

    def each(self, handle: Callable[[str, FileName], None]) -> None:
        try:
            for file in self.request.files:
                try:
                    handle(file, name_of(file))
                except UnreadableError as error:
                    self.outcome.incomplete = True
                    self.unreadable(file, str(error))
        except Enough:
            pass
        wanted = self.request.selection.producer_id
        if wanted is not None and self.is_segment and wanted not in self.producers:
            self.outcome.incomplete = True
            say(f"error: {nothing_matches('producer', [wanted], self.producers)}")

    def of_producers(self, chunks: Iterator[Chunk]) -> Iterator[Chunk]:
        """Pass chunks on; where one producer is wanted, note which there are."""
        self.is_segment = True
        for chunk in chunks:
            if self.request.selection.producer_id is not None:
                self.producers.update(chunk.heads.column(kernel.PRODUCER_ID))
            yield chunk

    def begin(self, file: str, name: FileName) -> None:
        """Look at a segment before it is read."""
        if file != STDIN:
            check_segment(file, name)

    def took(self, rows: int) -> None:
        """Count rows given; raises Enough at --limit."""
        self.given += rows
        if self.request.limit is not None and self.given >= self.request.limit:
            raise Enough


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
            from kafkalog.log.logdir import Place  # imports the readers of checkpoints, too

            self._places[home] = Place.of(home)
        place = self._places[home]
        if place is None:
            return self._distinct(finding_row(finding))
        finding = finding._replace(log=home, topic=place.topic, partition=place.partition)
        return self._distinct(finding_row(finding, place.node_id))


def _say_finding(finding: Finding) -> None:
    say(str(finding))


def dump_rows(request: DumpRequest, sink: BlockSink, outcome: Outcome, *, findings_as_rows: bool) -> None:
    """Give the rows of all files to `sink`; findings too, or to standard error."""

    row_of = _FindingRows()

    def show(finding: Finding) -> None:
        if findings_as_rows:
            sink.row(FINDINGS, row_of(finding))
        else:
            _say_finding(finding)

    def unreadable(file: str, message: str) -> None:
        say(f"error: {message}")
        if findings_as_rows:
            sink.row(FINDINGS, row_of(Finding.of("file-unreadable", file, message)))

    run = _Run(request, outcome, show, unreadable)

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
            rows = segment_rows(
                file, chunks, names, request.selection, request.options.internal, most, sink.room, spaced=sink.spaced
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


def dump_text(request: DumpRequest, stream: BinaryIO, outcome: Outcome) -> None:
    """Write what the official tool prints for all files, its summaries to standard error."""
    deep = request.options.deep

    def show(finding: Finding) -> None:
        told = finding.code in _IN_SUMMARIES and finding.found is not None
        if not told and not (deep and finding.code == "offset-gap"):
            _say_finding(finding)

    run = _Run(request, outcome, show, lambda _, message: say(f"error: {message}"))
    text = KafkaText(stream, request.options, run.report)
    plain = request.selection.everything and request.limit is None

    def flush() -> None:
        text.writer.flush()
        stream.flush()

    def handle(file: str, name: FileName) -> None:
        text.begin(file)
        if name.kind in SEGMENTS:
            if name.offset is not None or name.kind is FileKind.KRAFT_SNAPSHOT:
                text.log_start(name)
            run.begin(file, name)
            for chunk in run.of_producers(chunks_of(file, request.limits, request.max_bytes, flush)):
                if plain:
                    text.chunk(file, chunk)
                else:
                    _selected(text, chunk, request, run)
                for finding in chunk.findings:
                    run.report(finding)
        elif name.kind is FileKind.UNKNOWN:
            say_official(f"Ignoring unknown file {java_path(file)}")
            run.outcome.count(check_unknown(file).severity)
        else:
            check_side_file(file)
            _side_file(text, file, name.kind, run.report)

    run.each(handle)
    flush()
    for finding in text.records.undecodable():
        run.report(finding)
    for line in text.summaries.lines():
        say_official(line)


def _selected(text: KafkaText, chunk: Chunk, request: DumpRequest, run: _Run) -> None:
    """Write the selected batches and records of a chunk."""
    selection, deep = request.selection, request.options.deep
    heads = chunk.heads
    decode = deep or selection.looks_at_records
    picks = selection.batches(heads)
    selecting.leave_out(heads.cells, heads.capacity, heads.count, picks.rows, picks.count if decode else 0, False)
    at = 0  # the next of the picked batches without a line
    written = -1
    for block in chunk.records() if decode else ():
        chosen = selection.records(block)
        for number in chosen.rows[: chosen.count]:
            row = block.recs.cell(kernel.BATCH, number) if block.outer is None else block.outer
            if row != written:
                while at < picks.count and picks.rows[at] < row:
                    if not selection.looks_at_records:
                        _one(text, chunk, picks.rows[at], run, counts=not deep)
                    at += 1
                _one(text, chunk, row, run, counts=not deep)
                at += 1
                written = row
            if deep:
                text.record(block, number)
                run.took(1)
        for finding in block.findings:
            run.report(finding)
    if not selection.looks_at_records:
        for row in picks.rows[at : picks.count]:
            _one(text, chunk, row, run, counts=not deep)


def _one(text: KafkaText, chunk: Chunk, row: int, run: _Run, *, counts: bool) -> None:
    text.batch(chunk, row)
    if counts:
        run.took(1)


def _side_file(text: KafkaText, file: str, kind: FileKind, report: Callable[[Finding], None]) -> None:
    """Write a file that is not a segment."""
    from kafkalog_cli.render.kafka.side_files import SideFileText

    options = text.options
    side_file = SideFileText(text.writer, options, text.summaries)
    if kind is FileKind.OFFSET_INDEX:
        index = kafkalog.check_offset_index(file, options.max_message_size)
        side_file.offset_index(file, index)
        findings = index.findings
    elif kind is FileKind.TIME_INDEX:
        times = kafkalog.check_time_index(file)
        side_file.time_index(file, times)
        findings = times.findings
    elif kind is FileKind.TXN_INDEX:
        findings = []
        side_file.transaction_index(kafkalog.read_aborted_transactions(file, on_finding=findings.append))
    elif kind is FileKind.PRODUCER_SNAPSHOT:
        findings = []
        side_file.snapshot(kafkalog.read_snapshot(file, on_finding=findings.append))
    else:
        findings = []
        for item in side_file_rows(file, kind):
            if isinstance(item, Finding):
                findings.append(item)
            else:
                table, row = item
                side_file.plain(row[1:], table.names[1:])
    for finding in findings:
        if not (options.index_sanity_check and finding.code in _IN_SUMMARIES):
            report(finding)

"""Drives a dump: one file after another into the tool's text or into rows; one bad file costs that file only."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Final

import kafkalog
from kafkalog import Batch, Chunk, FileKind, FileName, Finding, Limits, UnreadableError
from kafkalog.format import kernel
from kafkalog.log.rows import TABLES_OF, finding_row, segment_rows, side_file_rows
from kafkalog.log.selection import Selection
from kafkalog.tables.audit import FINDINGS
from kafkalog_cli.exit import Outcome
from kafkalog_cli.output import say
from kafkalog_cli.progress import Progress
from kafkalog_cli.render.kafka import KafkaText, Options
from kafkalog_cli.render.rows import RowSink

__all__ = ["STDIN", "Request", "dump_rows", "dump_text"]

STDIN: Final = "-"
_SEGMENTS: Final = (FileKind.LOG, FileKind.KRAFT_SNAPSHOT)
# Findings that the tool's own summaries tell.
_IN_SUMMARIES: Final = frozenset({"index-mismatch", "time-index-mismatch"})
_LOOKS: Final = (
    (b"\x1f\x8b", "gzip-compressed data: decompress it first"),
    (b"\x28\xb5\x2f\xfd", "zstd-compressed data: decompress it first"),
    (b"PK\x03\x04", "a zip archive"),
    (b"PAR1", "a Parquet file"),
)


@dataclass(frozen=True, slots=True)
class Request:
    """What to dump and how far."""

    files: tuple[str, ...]
    limits: Limits
    selection: Selection
    max_bytes: int | None = None
    limit: int | None = None
    options: Options = field(default_factory=Options)
    tables: tuple[str, ...] = ()

    @property
    def wanted(self) -> set[str]:
        """Return the names of the tables that a segment gives."""
        if self.tables:
            return set(self.tables)
        return {"batches", "control", "records"} if self.options.deep else {"batches"}


class Enough(Exception):  # noqa: N818  # no error: --limit is reached
    """As many rows as were asked for."""


def _check_path(file: str) -> None:
    """Refuse what is no file of Kafka's, naming what it is."""
    path = Path(file)
    if path.is_dir():
        raise UnreadableError(f"{file}: a directory: did you mean `kafkalog txn-audit {file}`?")
    source = kafkalog.FileSource(file)
    try:
        head = source.read(0, 512)
    finally:
        source.close()
    for magic, what in _LOOKS:
        if head.startswith(magic):
            raise UnreadableError(f"{file}: {what}")


def _check_segment(file: str, name: FileName) -> None:
    """Refuse what cannot be a segment: text, or an empty file that no broker's files stand beside."""
    _check_path(file)
    with contextlib.closing(kafkalog.FileSource(file)) as source:
        head = source.read(0, 512)
        if not head:
            stem = Path(file).name.partition(".")[0]
            folder = Path(file).absolute().parent
            beside = (f"{stem}.index", f"{stem}.timeindex", "leader-epoch-checkpoint", "partition.metadata")
            if name.removed or any((folder / other).exists() for other in beside):
                return
            raise UnreadableError(f"{file}: an empty file")
    if len(head) >= 8 and all(32 <= byte < 127 or byte in (9, 10, 13) for byte in head):
        what = "the text of a dump" if head.startswith(b"Dumping ") else "a text file"
        raise UnreadableError(f"{file}: {what}, no segment")


def _chunks(request: Request, file: str) -> Iterator[Chunk]:
    if file == STDIN:
        stream = sys.stdin.buffer
        source = kafkalog.StreamSource(getattr(stream, "raw", stream))
        return kafkalog.scan_source(source, limits=request.limits)
    return kafkalog.segment_chunks(file, limits=request.limits, max_bytes=request.max_bytes)


def _name(file: str) -> FileName:
    return FileName(FileKind.LOG) if file == STDIN else kafkalog.parse_name(Path(file).name)


class _Run:
    """One command's files: counts findings, shows them, goes on behind what can't be read."""

    def __init__(self, request: Request, outcome: Outcome, show: Callable[[Finding], None]) -> None:
        self.request = request
        self.outcome = outcome
        self.show = show
        self.given = 0
        self.progress = Progress(request.files)

    def report(self, finding: Finding) -> None:
        self.outcome.count(finding.severity)
        self.show(finding)

    def each(self, handle: Callable[[str, FileName], None]) -> None:
        with contextlib.suppress(Enough):
            for file in self.request.files:
                try:
                    handle(file, _name(file))
                except UnreadableError as error:
                    self.outcome.incomplete = True
                    say(f"error: {error}")
        self.progress.close()

    def took(self, rows: int) -> None:
        """Count rows given; raises Enough at --limit."""
        self.given += rows
        if self.request.limit is not None and self.given >= self.request.limit:
            raise Enough


def _say_finding(finding: Finding) -> None:
    say(str(finding))


def dump_rows(request: Request, sink: RowSink, outcome: Outcome, *, findings_as_rows: bool) -> None:
    """Give the rows of all files to `sink`; findings too, or to standard error."""

    def show(finding: Finding) -> None:
        if findings_as_rows:
            sink.row(FINDINGS, finding_row(finding))
        else:
            _say_finding(finding)

    run = _Run(request, outcome, show)

    def handle(file: str, name: FileName) -> None:
        if name.kind is FileKind.UNKNOWN:
            _check_path(file)
            raise UnreadableError(f"{file}: no file of Kafka's, by its name")
        if name.kind in _SEGMENTS:
            if file != STDIN:
                _check_segment(file, name)
            chunks = run.progress.over(file, _chunks(request, file))
            rows = segment_rows(file, chunks, request.wanted, request.selection)
        else:
            _check_path(file)
            rows = side_file_rows(file, name.kind)
        wanted = request.wanted if request.tables or name.kind in _SEGMENTS else {TABLES_OF[name.kind][0].name}
        counted = "records" if "records" in wanted else "batches" if "batches" in wanted else None
        left: dict[str, int | None] = dict.fromkeys(wanted, request.limit)
        for item in rows:
            if isinstance(item, Finding):
                run.report(item)
                continue
            table, row = item
            room: int | None = left.get(table.name, 0)
            if room == 0:
                continue
            sink.row(table, row)
            left[table.name] = None if room is None else room - 1
            if counted in (None, table.name):
                run.took(1)

    run.each(handle)
    sink.close()


def dump_text(request: Request, stream: BinaryIO, outcome: Outcome) -> None:
    """Write what the official tool prints for all files, its summaries to standard error."""
    deep = request.options.deep

    def show(finding: Finding) -> None:
        if finding.code not in _IN_SUMMARIES and not (deep and finding.code == "offset-gap"):
            _say_finding(finding)

    run = _Run(request, outcome, show)
    text = KafkaText(stream, request.options, run.report)
    plain = request.selection.everything and request.limit is None

    def handle(file: str, name: FileName) -> None:
        text.current = file
        text.begin(file)
        if name.kind in _SEGMENTS:
            if name.offset is not None or name.kind is FileKind.KRAFT_SNAPSHOT:
                text.log_start(name)
            if file != STDIN:
                _check_segment(file, name)
            for chunk in run.progress.over(file, _chunks(request, file)):
                if plain:
                    text.chunk(file, chunk)
                    more = True
                else:
                    more = _selected(text, chunk, request, run)
                for finding in chunk.findings:
                    run.report(finding)
                if not more:
                    break
        elif name.kind is FileKind.UNKNOWN:
            _unknown(file)
        else:
            _check_path(file)
            _side_file(text, file, name.kind, run.report, request.options)

    run.each(handle)
    text.flush()
    stream.flush()
    for line in text.summaries():
        print(line, file=sys.stderr)


def _unknown(file: str) -> None:
    print(f"Ignoring unknown file {file}", file=sys.stderr)
    if os.path.lexists(file):
        _check_path(file)


def _selected(text: KafkaText, chunk: Chunk, request: Request, run: _Run) -> bool:
    """Write the selected batches and records of a chunk; say whether more may be selected behind it."""
    selection, deep = request.selection, request.options.deep
    batches = [Batch.of(chunk.heads, row) for row in range(chunk.heads.count)]
    decode = deep or selection.looks_at_records
    chosen = [selection.may_hold(batch) for batch in batches]
    for row, is_chosen in enumerate(chosen):
        if not (is_chosen and decode):
            chunk.skip(row)
    written = -1
    for block in chunk.records() if decode else ():
        for number in range(block.recs.count):
            row = block.recs.cell(kernel.BATCH, number) if block.outer is None else block.outer
            if not selection.holds(block.record(number, batches[row].position)):
                continue
            if row != written:
                for other in range(written + 1, row if not selection.looks_at_records else written + 1):
                    if chosen[other]:
                        _one(text, chunk, other, run, counts=not deep)
                _one(text, chunk, row, run, counts=not deep)
                written = row
            if deep:
                text.record(block, number)
                run.took(1)
        for finding in block.findings:
            run.report(finding)
    if not selection.looks_at_records:
        for row in range(written + 1, len(batches)):
            if chosen[row]:
                _one(text, chunk, row, run, counts=not deep)
    return not (batches and selection.ends_before(batches[-1]))


def _one(text: KafkaText, chunk: Chunk, row: int, run: _Run, *, counts: bool) -> None:
    text.batch(chunk, row)
    if counts:
        run.took(1)


def _side_file(text: KafkaText, file: str, kind: FileKind, report: Callable[[Finding], None], options: Options) -> None:
    """Write a file that is no segment."""
    if kind is FileKind.OFFSET_INDEX:
        index = kafkalog.check_offset_index(file, options.max_message_size)
        text.offset_index(file, index)
        findings = index.findings
    elif kind is FileKind.TIME_INDEX:
        times = kafkalog.check_time_index(file)
        text.time_index(file, times)
        findings = times.findings
    elif kind is FileKind.TXN_INDEX:
        findings = []
        text.transaction_index(kafkalog.read_aborted_transactions(file, on_finding=findings.append))
    elif kind is FileKind.PRODUCER_SNAPSHOT:
        findings = []
        text.snapshot(kafkalog.read_snapshot(file, on_finding=findings.append))
    else:
        findings = []
        for item in side_file_rows(file, kind):
            if isinstance(item, Finding):
                findings.append(item)
            else:
                table, row = item
                text.plain(row[1:], table.names[1:])
    for finding in findings:
        if not (options.index_sanity_check and finding.code in _IN_SUMMARIES):
            report(finding)

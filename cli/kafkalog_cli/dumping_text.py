"""A dump as the official tool's text."""

from __future__ import annotations

from collections.abc import Callable
from typing import BinaryIO, Final

import kafkalog
from kafkalog import Chunk, FileKind, FileName, Finding
from kafkalog.files.names import SEGMENTS
from kafkalog.kernel import buffers
from kafkalog.kernel import records as kernel_records
from kafkalog_cli.dumping import DumpRequest, DumpRun
from kafkalog_cli.exit import Outcome
from kafkalog_cli.inputs import check_side_file, check_unknown, chunks_of
from kafkalog_cli.output import say, say_official
from kafkalog_cli.render.kafka.segment_lines import KafkaText
from kafkalog_cli.render.kafka.summaries import Summaries
from kafkalog_cli.render.kafka.tool_options import KafkaTextOptions
from kafkalog_cli.render.kafka.writer import LineWriter, java_path

__all__ = ["dump_text"]

# Findings that the tool's own summaries report.
_IN_SUMMARIES: Final = frozenset({"index-entry-not-last-offset", "time-index-entry-unlike-batch"})


def dump_text(request: DumpRequest, stream: BinaryIO, outcome: Outcome) -> None:
    """Write what the official tool prints for all files, its summaries to standard error."""
    deep = request.options.deep

    def show(finding: Finding) -> None:
        in_summary = finding.code in _IN_SUMMARIES and finding.found is not None
        if not in_summary and not (deep and finding.code == "offset-gap"):
            say(str(finding))

    run = DumpRun(request, outcome, show, lambda _, message: say(f"error: {message}"))
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
            unknown = check_unknown(file)
            run.outcome.count(unknown.code, unknown.severity)
        else:
            check_side_file(file)
            _side_file(text, file, name.kind, run.report)

    run.each(handle)
    flush()
    for finding in text.records.undecodable():
        run.report(finding)
    for line in text.summaries.lines():
        say_official(line)


def _selected(text: KafkaText, chunk: Chunk, request: DumpRequest, run: DumpRun) -> None:
    """Write the selected batches and records of a chunk."""
    selection, deep = request.selection_of(chunk.file), request.options.deep
    heads = chunk.heads
    decode = deep or selection.looks_at_records
    picks = selection.batches(heads, None if selection.fates is None else selection.fates.of(heads))
    kernel_records.leave_out(heads.cells, heads.count, picks.rows, picks.count if decode else 0, False)
    at = 0  # the next of the picked batches without a line
    written = -1
    for block in chunk.records() if decode else ():
        chosen = selection.records(block)
        for number in chosen.rows[: chosen.count]:
            row = block.recs.cell(buffers.BATCH, number) if block.outer is None else block.outer
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


def _one(text: KafkaText, chunk: Chunk, row: int, run: DumpRun, *, counts: bool) -> None:
    text.batch(chunk, row)
    if counts:
        run.took(1)


def _side_file(text: KafkaText, file: str, kind: FileKind, report: Callable[[Finding], None]) -> None:
    """Write a file that is not a segment."""
    from kafkalog.segments.file_rows import side_file_rows  # text of segments needs no tables

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


# The lines of files other than segments: indexes, snapshots, and those that the official tool does not know.


class SideFileText:
    """Writes the entries of side files, and keeps for the summaries what does not agree with the log."""

    def __init__(self, writer: LineWriter, options: KafkaTextOptions, summaries: Summaries) -> None:
        self._writer = writer
        self._options = options
        self._summaries = summaries

    def offset_index(self, path: str, check: kafkalog.OffsetIndexCheck) -> None:
        """Write an offset index's entries and keep what does not agree with the log."""
        shown = self._writer.name(java_path(path))
        if not check.slots:
            self._writer.line(f"{shown} is empty.")
            return
        if self._options.index_sanity_check:
            if check.sane:
                self._writer.line(f"{shown} passed sanity check.")
            return
        for entry in check.listed:
            if not self._options.verify_index_only:
                self._writer.line(f"offset: {entry.offset} position: {entry.position}")
        if check.mismatches:
            self._summaries.offset_index(path, check.mismatches)

    def time_index(self, path: str, check: kafkalog.TimeIndexCheck) -> None:
        """Write a time index's entries and keep what does not agree with the log."""
        if self._options.index_sanity_check:
            if check.sane:
                self._writer.line(f"{self._writer.name(java_path(path))} passed sanity check.")
            return
        for entry in check.listed:
            if not self._options.verify_index_only:
                self._writer.line(f"timestamp: {entry.timestamp} offset: {entry.offset}")
        self._summaries.time_index(path, check.errors)

    def transaction_index(self, entries: list[kafkalog.AbortedTransaction]) -> None:
        for entry in entries:
            self._writer.line(
                f"version: {entry.version} producerId: {entry.producer_id} firstOffset: {entry.first_offset}"
                f" lastOffset: {entry.last_offset} lastStableOffset: {entry.last_stable_offset}"
            )

    def snapshot(self, entries: list[kafkalog.ProducerState]) -> None:
        for entry in entries:
            first = entry.current_txn_first_offset
            text = (
                f"producerId: {entry.producer_id} producerEpoch: {entry.producer_epoch}"
                f" coordinatorEpoch: {entry.coordinator_epoch} currentTxnFirstOffset:"
                f" {'OptionalLong.empty' if first < 0 else f'OptionalLong[{first}]'} lastTimestamp: {entry.timestamp}"
            )
            if entry.last_offset >= 0:
                text += (
                    f" firstSequence: {entry.first_sequence} lastSequence: {entry.last_sequence}"
                    f" lastOffset: {entry.last_offset} offsetDelta: {entry.offset_delta} timestamp: {entry.timestamp}"
                )
            elif self._options.dialect == "4.2":
                text += " "
            self._writer.line(text)

    def plain(self, row: tuple[object, ...], names: tuple[str, ...]) -> None:
        """Write a row of a file that the official tool does not know, in that tool's style."""
        values = zip(names, row, strict=True)
        self._writer.line(" ".join(f"{name}: {self._writer.name(str(value))}" for name, value in values))

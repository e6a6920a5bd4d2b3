"""A dump as the official tool's text."""

from __future__ import annotations

from typing import TYPE_CHECKING, BinaryIO, Final

from kafkalog import Chunk, FileKind, FileName, Finding
from kafkalog.files.names import SEGMENTS
from kafkalog.kernel import buffers
from kafkalog.kernel import records as kernel_records
from kafkalog_cli.dumping import DumpRequest, DumpRun
from kafkalog_cli.inputs import check_side_file, check_unknown
from kafkalog_cli.output import say_official
from kafkalog_cli.render.kafka.segment_lines import KafkaText
from kafkalog_cli.render.kafka.writer import java_path

if TYPE_CHECKING:
    from kafkalog.exit_status import Outcome

__all__ = ["dump_text"]

# Findings that the tool's own summaries report.
_IN_SUMMARIES: Final = frozenset({"index-entry-not-last-offset", "time-index-entry-unlike-batch"})


def dump_text(request: DumpRequest, stream: BinaryIO, outcome: Outcome) -> None:
    """Write what the official tool prints for all files, its summaries to standard error."""
    run = _TextDump(request, stream, outcome)
    run.all()
    run.flush()
    for finding in run.text.records.undecodable():
        run.report(finding)
    for line in run.text.summaries.lines():
        say_official(line)


class _TextDump(DumpRun):
    def __init__(self, request: DumpRequest, stream: BinaryIO, outcome: Outcome) -> None:
        super().__init__(request, outcome)
        self.text = KafkaText(stream, request.options, self.report)
        self._stream = stream
        self._deep = request.options.deep
        self._plain = request.selection.everything and request.limit is None

    def flush(self) -> None:
        """Show all lines so far."""
        self.text.writer.flush()
        self._stream.flush()

    def show(self, finding: Finding) -> None:
        in_summary = finding.code in _IN_SUMMARIES and finding.found is not None
        if not in_summary and not (self._deep and finding.code == "offset-gap"):
            super().show(finding)

    def one(self, file: str, name: FileName) -> None:
        self.text.begin(file)
        if name.kind in SEGMENTS:
            self._segment(file, name)
        elif name.kind is FileKind.UNKNOWN:
            say_official(f"Ignoring unknown file {java_path(file)}")
            unknown = check_unknown(file)
            self.outcome.count(unknown.code, unknown.severity)
        else:
            check_side_file(file)
            self._side_file(file, name.kind)

    def _segment(self, file: str, name: FileName) -> None:
        if name.offset is not None or name.kind is FileKind.KRAFT_SNAPSHOT:
            self.text.log_start(name)
        for chunk in self.chunks(file, name, self.flush):
            if self._plain:
                self.text.write_chunk(file, chunk)
            else:
                self._selected(chunk)
            for finding in chunk.findings:
                self.report(finding)

    def _selected(self, chunk: Chunk) -> None:
        """Write the selected batches and records of a chunk."""
        selection = self.request.selection_of(chunk.file)
        heads = chunk.heads
        decode = self._deep or selection.looks_at_records
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
                            self._batch(chunk, picks.rows[at])
                        at += 1
                    self._batch(chunk, row)
                    at += 1
                    written = row
                if self._deep:
                    self.text.record(block, number)
                    self.took(1)
            for finding in block.findings:
                self.report(finding)
        if not selection.looks_at_records:
            for row in picks.rows[at : picks.count]:
                self._batch(chunk, row)

    def _batch(self, chunk: Chunk, row: int) -> None:
        self.text.batch(chunk, row)
        if not self._deep:
            self.took(1)

    def _side_file(self, file: str, kind: FileKind) -> None:
        from kafkalog_cli.render.kafka.side_file_lines import write_side_file  # text of segments needs no tables

        is_sane_only = self.request.options.index_sanity_check
        for finding in write_side_file(self.text.writer, file, kind, self.request.options, self.text.summaries):
            if not (is_sane_only and finding.code in _IN_SUMMARIES):
                self.report(finding)

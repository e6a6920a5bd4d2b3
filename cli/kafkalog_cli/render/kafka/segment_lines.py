"""The lines of a segment: its batches by the kernel's formatter, and its records if they are requested."""

from __future__ import annotations

import os
from array import array
from collections.abc import Callable
from functools import partial
from typing import BinaryIO, Final

import kafkalog
from kafkalog import Batch, Chunk, Finding, RecordBlock
from kafkalog.kafka.internal_topics import Internal
from kafkalog.kernel import buffers, kafka_text
from kafkalog.segments.decoded import pieces
from kafkalog_cli.render.kafka.record_lines import BIG, RecordPart, RecordText, own_parts, write_big
from kafkalog_cli.render.kafka.summaries import Summaries
from kafkalog_cli.render.kafka.templates import line_template
from kafkalog_cli.render.kafka.tool_options import STRING, KafkaTextOptions
from kafkalog_cli.render.kafka.writer import LineWriter, java_path

__all__ = ["KafkaText"]

_NO_PLACES: Final = array("q")


class KafkaText:
    """Writes the tool's text to `out`; `summaries` and `records` keep what it writes only after all files."""

    def __init__(self, out: BinaryIO, options: KafkaTextOptions, report: Callable[[Finding], None]) -> None:
        self.options = options
        self.writer = LineWriter(out, escaped=options.escape)
        self.records = RecordText(self.writer, options, report)
        self.summaries = Summaries(options.dialect)
        self._report = report
        self._template = line_template(options.dialect)
        is_plain = options.key_decoder is options.value_decoder is STRING
        self._in_pieces = is_plain and options.internal is None
        is_json = options.internal is not None and options.internal is not Internal.REMOTE_LOG_METADATA
        self._by_kernel = not options.escape and (is_json or (is_plain and options.internal is None))
        self._decoded = None
        if self._by_kernel and options.internal is not None:
            from kafkalog.kafka.internal_text import BlockText  # only a decoder needs it
            from kafkalog_cli.render.decoders import DIALECTS

            self._decoded = BlockText(options.internal, DIALECTS[options.dialect])

    def begin(self, path: str) -> None:
        """Write the line that begins a file."""
        self.records.file = path
        self.writer.line(f"Dumping {self.writer.name(java_path(path))}")

    def log_start(self, name: kafkalog.FileName) -> None:
        """Write what a segment's or KRaft snapshot's name says."""
        if name.kind is kafkalog.FileKind.LOG:
            if name.offset is not None:
                self.writer.line(f"Log starting offset: {name.offset}")
        elif name.offset is None:
            self.writer.line("KRaft bootstrap snapshot")
        else:
            self.writer.line(f"Snapshot end offset: {name.offset}, epoch: {name.epoch}")

    def chunk(self, path: str, chunk: Chunk) -> None:
        """Write a chunk's lines, with its records' if they are requested."""
        heads, writer, template = chunk.heads, self.writer, self._template
        row = self._records(path, chunk) if self.options.deep else 0
        while row < heads.count:
            row, writer.used = kafka_text.batch_lines(
                heads.cells, heads.capacity, row, heads.count, template.batches, template.literals,
                writer.buffer, writer.used,
            )  # fmt: skip
            if row < heads.count:
                writer.flush()
        for finding in chunk.findings:
            if finding.code == "batch-truncated" and self.options.max_bytes is None:
                writer.line(f"Found {finding.found} invalid bytes at the end of {writer.name(os.path.basename(path))}")

    def batch(self, chunk: Chunk, row: int) -> None:
        """Write one batch's line."""
        heads, writer, template = chunk.heads, self.writer, self._template
        if len(writer.buffer) - writer.used < kafka_text.LINE_ROOM:
            writer.flush()
        _, writer.used = kafka_text.batch_lines(
            heads.cells, heads.capacity, row, row + 1, template.batches, template.literals, writer.buffer, writer.used
        )

    def record(
        self, block: RecordBlock, number: int, batch: Batch | None = None, parts: tuple[RecordPart, ...] | None = None
    ) -> None:
        """Write one record's line the long way; `parts` are its decoded key and payload if there are some."""
        batch = batch or Batch.of(block.heads, block.recs.cell(buffers.BATCH, number))
        if self._in_pieces and block.recs.cell(buffers.RECORD_SIZE, number) > BIG:
            parts = own_parts(block, number) if self.options.print_data_log else ()
        if parts is not None and not batch.is_control:
            write_big(self.writer, self.records, self.options, block, number, batch, parts)
        else:
            self.writer.line(self.records.line(block.record(number), batch))

    def _slowly(self, block: RecordBlock, number: int, is_written: bool) -> tuple[str | None, str | None] | None:
        """Return the texts of a record of an internal topic that is not simply read, unless they are written."""
        batch = Batch.of(block.heads, block.recs.cell(buffers.BATCH, number))
        if batch.is_control:
            return None, None
        if is_written:
            self.records.doubt(block.record(number), batch)
            return None
        return self.records.internal(block.record(number), batch)

    def _decoded_parts(self, number: int) -> tuple[RecordPart, ...]:
        """Return where the texts of a record's key and payload are."""
        assert self._decoded is not None  # its block was written
        content, places = self._decoded.content, self._decoded.places
        room = len(places) // 4
        return (
            RecordPart("key", content, places[number], places[room + number]),
            RecordPart("payload", content, places[2 * room + number], places[3 * room + number]),
        )

    def _records(self, path: str, chunk: Chunk) -> int:
        """Write the chunk's batches and records up to its last record; answers the first batch after it."""
        row = 0
        for block in chunk.records():
            if block.outer is not None and row <= block.outer:
                while row <= block.outer:
                    self.batch(chunk, row)
                    row += 1
            self.summaries.records(path, block)
            if self._decoded is None:
                row = self._block(block, row, chunk)
            else:
                for piece in pieces(block):
                    row = self._block(piece.records, row, chunk)
            for finding in block.findings:
                self._report(finding)
        return row

    def _block(self, block: RecordBlock, row: int, chunk: Chunk) -> int:
        options, writer, template = self.options, self.writer, self._template
        heads, recs = block.heads, block.recs
        number, at = 0, -1
        content, places = bytearray(), _NO_PLACES
        if self._decoded is not None and block.outer is None:
            self._decoded.write(block.buf, recs, partial(self._slowly, block))
            content, places = self._decoded.content, self._decoded.places
        while number < recs.count:
            if self._by_kernel and block.outer is None:
                number, writer.used, row, why = kafka_text.record_lines(
                    block.buf, heads.cells, heads.capacity, recs.cells, recs.capacity, number, recs.count, row,
                    not options.skip_record_metadata, options.print_data_log or options.internal is not None,
                    template.batches, template.literals, template.records, writer.buffer, writer.used,
                    content, places,
                )  # fmt: skip
                if why == kafka_text.NO_ROOM:
                    writer.flush()
                if why != kafka_text.SPECIAL:
                    continue
            elif block.outer is None:
                while row <= recs.cell(buffers.BATCH, number):
                    self.batch(chunk, row)
                    row += 1
            if recs.cell(buffers.BATCH, number) != at:
                at = recs.cell(buffers.BATCH, number)
                batch = Batch.of(heads, at)
            self.record(block, number, batch, self._decoded_parts(number) if places else None)
            number += 1
        return row

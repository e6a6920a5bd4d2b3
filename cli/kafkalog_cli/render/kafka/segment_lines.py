"""The lines of a segment: its batches by the kernel's formatter, and its records if they are requested."""

from __future__ import annotations

import os
from array import array
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import BinaryIO, Final, NamedTuple

import kafkalog
from kafkalog import Batch, Chunk, Finding, Record, RecordBlock
from kafkalog.kafka.batch import CellTable
from kafkalog.kafka.compression import CODECS
from kafkalog.kafka.internal_topics import Internal
from kafkalog.kernel import buffers, columns, plans
from kafkalog.kernel import text as kernel_text
from kafkalog.segments.decoded import pieces
from kafkalog_cli.render.kafka.summaries import Summaries
from kafkalog_cli.render.kafka.tool_options import STRING, Decoder, KafkaTextOptions
from kafkalog_cli.render.kafka.writer import LineWriter, java_path

__all__ = ["BIG", "KafkaText"]

FALSE_TRUE: Final = ("false", "true")
_CODEC_WORDS: Final = (*CODECS, "unknown(5)", "unknown(6)", "unknown(7)")
_WORDS_AT: Final = 5  # the step's cell that says where its words are
_OVERRUN: Final = 32  # bytes: the kernel copies short literals in steps of this size


class _Step(NamedTuple):
    """A literal of a line and the value after it; `other` is the second column that a value may need."""

    text: str
    kind: int = plans.LINE_NOTHING
    column: int = 0
    mask: int = 0
    words: tuple[str, ...] = ()
    other: int = 0


def _integer(name: str, column: int) -> _Step:
    return _Step(f" {name}: ", plans.LINE_INTEGER, column)


def _flag(name: str, column: int, mask: int) -> _Step:
    return _Step(f" {name}: ", plans.LINE_FLAG, column, mask, FALSE_TRUE)


def _tail(timestamp_type: _Step) -> list[_Step]:
    return [
        _integer("position", buffers.POSITION),
        timestamp_type,
        _Step(": ", plans.LINE_INTEGER, buffers.MAX_TIMESTAMP),
        _integer("size", buffers.SIZE),
        _integer("magic", buffers.MAGIC),
        _Step(" compresscodec: ", plans.LINE_WORD, buffers.ATTRIBUTES, 7, _CODEC_WORDS),
        _integer("crc", buffers.CRC),
        _flag("isvalid", buffers.VALID, 1),
        _Step("\n"),
    ]


_TIMESTAMP_TYPE: Final = _Step(" ", plans.LINE_FLAG, buffers.ATTRIBUTES, 8, ("CreateTime", "LogAppendTime"))
_NO_TIMESTAMP: Final = _Step(" NoTimestampType")
_LEGACY: Final = [_Step("offset: ", plans.LINE_INTEGER, buffers.LAST_OFFSET)]
_CURRENT: Final = [
    _Step("baseOffset: ", plans.LINE_INTEGER, buffers.BASE_OFFSET),
    _integer("lastOffset", buffers.LAST_OFFSET),
    _integer("count", buffers.COUNT),
    _integer("baseSequence", buffers.BASE_SEQUENCE),
    _integer("lastSequence", buffers.LAST_SEQUENCE),
    _integer("producerId", buffers.PRODUCER_ID),
    _integer("producerEpoch", buffers.PRODUCER_EPOCH),
    _integer("partitionLeaderEpoch", buffers.LEADER_EPOCH),
    _flag("isTransactional", buffers.ATTRIBUTES, 0x10),
    _flag("isControl", buffers.ATTRIBUTES, 0x20),
    _Step(
        " deleteHorizonMs: ",
        plans.LINE_OPTIONAL,
        buffers.ATTRIBUTES,
        0x40,
        ("OptionalLong[", "]", "OptionalLong.empty"),
        buffers.BASE_TIMESTAMP,
    ),
    *_tail(_TIMESTAMP_TYPE),
]
# By magic.
_BATCHES: Final = (_LEGACY + _tail(_NO_TIMESTAMP), _LEGACY + _tail(_TIMESTAMP_TYPE), _CURRENT)


class LineTemplate(NamedTuple):
    """The input of ``kernel.text``: a batch's line by magic, the parts of a record's line, all their bytes."""

    batches: array[int]
    records: array[int]
    literals: bytes


def line_template(dialect: str) -> LineTemplate:
    """Lay out the lines of the official tool of a version."""
    literals = _Literals()
    batches = _laid_out(_BATCHES, literals)
    first_payload = " payload: " if dialect == "4.2" else "| payload: "
    texts = (
        "| offset: ", " CreateTime: ", " LogAppendTime: ", " keySize: ", " valueSize: ", " sequence: ",
        " headerKeys: [", "]", " key: ", " payload: ", "| key: ", first_payload,
        " endTxnMarker: ABORT coordinatorEpoch: ", " endTxnMarker: COMMIT coordinatorEpoch: ",
    )  # fmt: skip
    records = array("q", [cell for text in texts for cell in literals.add(text)])
    return LineTemplate(batches, records, bytes(literals.data) + bytes(_OVERRUN))


class _Literals:
    """Bytes that lines are made of, each stored once."""

    def __init__(self) -> None:
        self.data = bytearray()

    def add(self, text: str) -> tuple[int, int]:
        """Return where a text's bytes are and how many."""
        encoded = text.encode()
        at = self.data.find(encoded)
        if at < 0:
            at = len(self.data)
            self.data += encoded
        return at, len(encoded)


def _laid_out(programs: Sequence[list[_Step]], literals: _Literals) -> array[int]:
    """Lay the lines' steps and words out as ``kernel.text`` reads them."""
    cells = array("q", [0] * len(programs))
    words_at: list[tuple[int, tuple[str, ...]]] = []
    for number, steps in enumerate(programs):
        cells[number] = len(cells)
        for step in steps:
            words_at.append((len(cells) + _WORDS_AT, step.words))
            cells.extend([*literals.add(step.text), step.kind, step.column, step.mask, 0, step.other])
        cells.append(-1)
    for at, words in words_at:
        cells[at] = len(cells)
        for word in words:
            cells.extend(literals.add(word))
    return cells


_TIMESTAMP_TYPES: Final = {"create_time": "CreateTime", "log_append_time": "LogAppendTime", "none": "NoTimestampType"}

_CONTROL_WORDS: Final = {
    "leader_change": "LeaderChange:",
    "snapshot_header": "SnapshotHeader",
    "snapshot_footer": "SnapshotFooter",
    "kraft_version": "KRaftVersion",
    "kraft_voters": "KRaftVoters",
}


class RecordText:
    """Makes the lines of records and keeps what could not be decoded in them; `file` is the file that they are in."""

    def __init__(self, writer: LineWriter, options: KafkaTextOptions, report: Callable[[Finding], None]) -> None:
        self.file = ""
        self._writer = writer
        self._options = options
        self._report = report
        self._first: dict[tuple[str, str], Finding] = {}  # by file and what is wrong
        self._counts: dict[tuple[str, str], int] = {}

    def line(self, record: Record, batch: Batch) -> str:
        """Return a record's line."""
        text = "" if self._options.skip_record_metadata else self._metadata(batch, record)
        return text if batch.is_control else text + self._contents(record, batch)

    def internal(self, record: Record, batch: Batch) -> tuple[str | None, str | None]:
        """Return a record's key and value as the topic's decoder shows them, and keep what is wrong with it."""
        from kafkalog_cli.render.decoders import shown

        internal = self._options.internal
        assert internal is not None  # the caller's options say so
        key, payload, doubtful = shown(internal, record, self._options.dialect)
        if doubtful:
            self.doubt(record, batch)
        json = self._writer.json
        return key if key is None else json(key), payload if payload is None else json(payload)

    def doubt(self, record: Record, batch: Batch) -> None:
        """Keep what is wrong with a record of an internal topic."""
        from kafkalog.segments.internal_blocks import internal_findings

        assert self._options.internal is not None  # the caller's options say so
        for finding in internal_findings(self.file, batch, record, self._options.internal):
            self._count(finding.code, finding)

    def undecodable(self) -> Iterator[Finding]:
        """Yield a finding for each file and kind of thing that a decoder cannot read, or finds odd."""
        for which, first in self._first.items():
            count = self._counts[which]
            more = f", and {count - 1} more" if count > 1 else ""
            yield first._replace(message=first.message + more)

    def _metadata(self, batch: Batch, record: Record) -> str:
        key_size, value_size = (-1 if data is None else len(data) for data in (record.key, record.value))
        return self.metadata(batch, record, key_size, value_size)

    def metadata(self, batch: Batch, record: Record, key_size: int, value_size: int) -> str:
        """Return what a line says before key and value, which `record` need not have."""
        text = (
            f"| offset: {record.offset} {_TIMESTAMP_TYPES[batch.timestamp_type]}: {record.timestamp}"
            f" keySize: {key_size} valueSize: {value_size}"
        )
        if batch.magic >= 2:
            keys = ",".join(self._writer.text(key) for key, _ in record.headers)
            text += f" sequence: {record.sequence} headerKeys: [{keys}]"
        else:
            stray = "}" if self._options.dialect == "4.2" else ""
            text += f" isValid: {FALSE_TRUE[bool(record.crc_holds)]} crc: {record.crc}{stray}"
        return text + self._control(batch, record) if batch.is_control else text

    def _control(self, batch: Batch, record: Record) -> str:
        try:
            control = kafkalog.control_record(record.key, record.value)
        except kafkalog.MalformedError as error:
            self._report(kafkalog.control_finding(self.file, batch, record, error))
            return ""
        if control.coordinator_epoch is not None:
            return f" endTxnMarker: {control.name.upper()} coordinatorEpoch: {control.coordinator_epoch}"
        if control.name in _CONTROL_WORDS:
            return f" {_CONTROL_WORDS[control.name]} {self._writer.json(control.json)}"
        return f" controlType: UNKNOWN({control.type})"

    def _contents(self, record: Record, batch: Batch) -> str:
        options = self._options
        if options.internal:
            key, payload = self.internal(record, batch)
        elif options.print_data_log:
            key = self._decoded(options.key_decoder, record.key, "key", record, batch)
            payload = self._decoded(options.value_decoder, record.value, "value", record, batch)
        else:
            return ""
        skip = options.skip_record_metadata
        text = "" if key is None else f"{'| ' if skip else ' '}key: {key}"
        if payload is not None:
            bar = "| " if skip and not text and options.dialect != "4.2" else " "
            text += f"{bar}payload: {payload}"
        return text

    def _decoded(self, decoder: Decoder, data: bytes | None, what: str, record: Record, batch: Batch) -> str | None:
        if data is None:
            return None
        if decoder is STRING:
            return self._writer.text(data)
        decoded = decoder(data)
        if decoded is None:
            self._count(what, kafkalog.undecodable(self.file, batch, record.offset, what, len(data)))
        return decoded

    def _count(self, what: str, finding: Finding) -> None:
        which = (self.file, what)
        self._first.setdefault(which, finding)
        self._counts[which] = self._counts.get(which, 0) + 1


# The line of a record that is too big for one piece of memory: header keys, key and value piece by piece.


BIG: Final = 1 << 18  # bytes of a record

_KEYS: Final = 1 << 12  # listed at once

_LIST: Final = "headerKeys: ["


class RecordPart(NamedTuple):
    """A text of a record in its line, after the metadata: where it is in `buf`. A size below 0 stands for null."""

    name: str
    buf: bytes | bytearray | memoryview
    start: int
    size: int


def own_parts(block: RecordBlock, number: int) -> tuple[RecordPart, RecordPart]:
    """Return a record's key and value as strings."""
    cell = block.recs.cell
    return (
        RecordPart("key", block.buf, cell(buffers.KEY_START, number), cell(buffers.KEY_SIZE, number)),
        RecordPart("payload", block.buf, cell(buffers.VALUE_START, number), cell(buffers.VALUE_SIZE, number)),
    )


def write_big(
    writer: LineWriter,
    records: RecordText,
    options: KafkaTextOptions,
    block: RecordBlock,
    number: int,
    batch: Batch,
    parts: Sequence[RecordPart],
) -> None:
    """Write one record's line, with a key and payload that are somewhere as text."""
    cell, skip = block.recs.cell, options.skip_record_metadata
    position, count = cell(buffers.HEADERS_START, number), cell(buffers.HEADERS_COUNT, number)
    if not skip:
        sizes = (cell(column, number) for column in (buffers.KEY_SIZE, buffers.VALUE_SIZE))
        text = records.metadata(batch, _without_headers(block, number, batch), *sizes)
        before, found, after = text.partition(_LIST)
        writer.part(before + found)
        for part in _keys(writer, block, position, count):
            writer.part(part)
        writer.part(after)
    if not batch.is_control:
        bar = "| " if skip else " "
        for name, buf, start, size in parts:
            if size >= 0:
                writer.part(f"{bar}{name}: ")
                for data in _slices(buf, start, size):
                    writer.part(writer.text(data))
            if size >= 0 or (name == "key" and options.dialect == "4.2"):
                bar = " "
    writer.line("")


def _without_headers(block: RecordBlock, number: int, batch: Batch) -> Record:
    """Return what the rest of the line needs of a record: only of a control record its key and value."""
    cell, magic = block.recs.cell, batch.magic
    return Record(
        cell(buffers.OFFSET, number),
        cell(buffers.TIMESTAMP, number),
        cell(buffers.SEQUENCE, number),
        block.key(number) if batch.is_control else None,
        block.value(number) if batch.is_control else None,
        (),
        cell(buffers.RECORD_SIZE, number),
        batch.position,
        magic,
        batch.crc if magic < 2 else None,
        batch.crc_holds if magic < 2 else None,
    )


def _keys(writer: LineWriter, block: RecordBlock, position: int, count: int) -> Iterator[str]:
    """Yield the keys of headers with commas between them."""
    cells, found = array("q", (position, count)), CellTable(buffers.HEADER_COLUMNS, _KEYS)
    position, left, comma = -1, count, ""
    while left > 0:
        _, position, left, listed = columns.headers(block.buf, cells, 0, 1, 0, 1, position, left, found.cells)
        found.count = listed
        sizes = found.column(buffers.HEADER_KEY_SIZE)
        if not any(sizes):
            yield comma + "," * (listed - 1)
        else:
            for start, size in zip(found.column(buffers.HEADER_KEY_START), sizes, strict=True):
                yield comma
                for data in _slices(block.buf, start, size):
                    yield writer.text(data)
                comma = ","
        comma = ","


def _slices(buf: bytes | bytearray | memoryview, start: int, size: int) -> Iterator[bytes]:
    """Yield bytes in pieces that can be decoded one by one: a character, whole or malformed, is in one piece."""
    stop = start + size
    while start < stop:
        end = min(start + BIG, stop)
        for at in range(end, max(end - 4, start), -1):
            if end < stop and buf[at] & 0xC0 != 0x80:  # begins a character: what is before it has ended
                end = at
                break
        yield bytes(buf[start:end])
        start = end


_NO_PLACES: Final = CellTable(1, 0)


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

    def write_chunk(self, path: str, chunk: Chunk) -> None:
        """Write a chunk's lines, with its records' if they are requested."""
        heads, writer, template = chunk.heads, self.writer, self._template
        row = self._records(path, chunk) if self.options.deep else 0
        while row < heads.count:
            row, writer.used = kernel_text.batch_lines(
                heads.cells, row, heads.count, template, writer.buffer, writer.used
            )
            if row < heads.count:
                writer.flush()
        for finding in chunk.findings:
            if finding.code == "batch-truncated" and self.options.max_bytes is None:
                writer.line(f"Found {finding.found} invalid bytes at the end of {writer.name(os.path.basename(path))}")

    def batch(self, chunk: Chunk, row: int) -> None:
        """Write one batch's line."""
        heads, writer, template = chunk.heads, self.writer, self._template
        if len(writer.buffer) - writer.used < plans.LINE_ROOM:
            writer.flush()
        _, writer.used = kernel_text.batch_lines(heads.cells, row, row + 1, template, writer.buffer, writer.used)

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
        return (
            RecordPart(
                "key", content, places.cell(buffers.TEXT_KEY, number), places.cell(buffers.TEXT_KEY_SIZE, number)
            ),
            RecordPart(
                "payload", content, places.cell(buffers.TEXT_PAYLOAD, number),
                places.cell(buffers.TEXT_PAYLOAD_SIZE, number),
            ),
        )  # fmt: skip

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
        parts = 0 if options.skip_record_metadata else plans.WITH_METADATA
        if options.print_data_log or options.internal is not None:
            parts |= plans.WITH_CONTENTS
        content, places = bytearray(), _NO_PLACES
        if self._decoded is not None and block.outer is None:
            self._decoded.write_records(block.buf, recs, partial(self._slowly, block))
            content, places = self._decoded.content, self._decoded.places
        while number < recs.count:
            if self._by_kernel and block.outer is None:
                number, writer.used, row, why = kernel_text.record_lines(
                    block, number, row, parts, template, writer.buffer, writer.used, content, places.cells
                )
                if why == kernel_text.NO_ROOM:
                    writer.flush()
                if why != kernel_text.SPECIAL:
                    continue
            elif block.outer is None:
                while row <= recs.cell(buffers.BATCH, number):
                    self.batch(chunk, row)
                    row += 1
            if recs.cell(buffers.BATCH, number) != at:
                at = recs.cell(buffers.BATCH, number)
                batch = Batch.of(heads, at)
            self.record(block, number, batch, self._decoded_parts(number) if places is not _NO_PLACES else None)
            number += 1
        return row

"""Rules for a batch whose CRC matches: its header fields, its records and its control records must fit together.

Every leader follows these rules (DefaultRecordBatch, LogValidator): a batch that breaks one was written by something
else, or was changed and given a new CRC. A breach that brokers were seen to store as a client sent it is a note.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from typing import Final

import numpy as np

from kafkalog.findings import Finding
from kafkalog.kafka.batch import (
    CODEC_MASK,
    CONTROL,
    LOG_APPEND_TIME,
    TRANSACTIONAL,
    CellTable,
    checked_from,
    size_of,
    smallest_size,
)
from kafkalog.kafka.compression import stream_words
from kafkalog.kafka.control import END_TYPES, control_record
from kafkalog.kafka.layout import CONTROL_RECORD_KEY, END_TXN_MARKER, MESSAGE_V0, MESSAGE_V1
from kafkalog.kafka.message import MalformedError
from kafkalog.kernel import buffers, headers
from kafkalog.kernel import records as kernel_records
from kafkalog.segments.chunk import Chunk
from kafkalog.segments.decoded import Decoder, RecordBlock

__all__ = [
    "RECORD_CODES",
    "StrictDecoder",
    "check_records",
    "control_words",
    "message_words",
    "record_words",
    "wrapper_words",
]


# Rules for the records of a batch whose CRC matches: a producer may send anything.
#
# Rules that Kafka does not check when it reads are notes and warnings, those at which it throws are errors.


_ODD: Final = (
    (buffers.OVERLONG, "number-overlong", "a number in its records has more bytes than it needs"),
    (buffers.DROPPED, "number-bits-dropped", "a number in its records has bits that no number of its kind has"),
    (buffers.ATTRIBUTES_SET, "record-attributes-set", "a record's attributes are not 0"),
    (buffers.BELOW_NULL, "size-below-null", "a key's or value's length is below -1"),
    (buffers.REPEATED, "offset-delta-repeated", "two consecutive records have the same offset"),
    (buffers.FALLING, "offset-delta-falling", "a record's offset is below that of the record before it"),
)

RECORD_CODES: Final = tuple(code for _, code, _ in _ODD)


def record_words(
    heads: CellTable, row: int, buf: bytes | bytearray | memoryview, start: int, stop: int
) -> Iterator[Words]:
    """Say what is odd about a magic 2 batch's records in ``buf[start:stop]``, uncompressed."""
    count = heads.cell(buffers.COUNT, row)
    flags = kernel_records.find_oddities(buf, start, stop, count, _found)
    whole, smallest, largest, newest, *_ = _found
    base, last = heads.cell(buffers.BASE_OFFSET, row), heads.cell(buffers.LAST_OFFSET, row)
    said = [(code, words) for flag, code, words in _ODD if flags & flag]
    if whole and smallest < 0:
        said.append(("offset-delta-negative", f"a record's offset delta is {smallest}"))
    if whole and base + largest > last >= base:
        said.append(
            ("offset-delta-above-last", f"a record's offset is {base + largest}, but the batch's last offset is {last}")
        )
    declared = heads.cell(buffers.MAX_TIMESTAMP, row)
    newest += heads.cell(buffers.BASE_TIMESTAMP, row)
    if whole == count and whole and not heads.cell(buffers.ATTRIBUTES, row) & LOG_APPEND_TIME and newest != declared:
        said.append(
            (
                "max-timestamp-wrong",
                f"the newest timestamp in its header is {declared}, that of its records is {newest}",
            )
        )
    return iter(said)


def control_words(heads: CellTable, row: int, key: bytes | None, value: bytes | None) -> Iterator[Words]:
    """Say what is wrong with a control record."""
    attributes = heads.cell(buffers.ATTRIBUTES, row)
    try:
        record = control_record(key, value)
    except MalformedError as error:
        yield error.code, str(error)
        return
    ends = record.type in END_TYPES
    if record.version > 0:
        yield "control-version-newer", f"a control record has version {record.version}, and is read as version 0"
    if len(key or b"") > CONTROL_RECORD_KEY.size:
        yield "control-key-long", f"a control record's key has {len(key or b'')} bytes, and only 4 are read"
    if record.name == "unknown":
        yield "control-type-unknown", f"a control record's type is {record.type}"
    if ends and len(value or b"") > END_TXN_MARKER.size:
        yield "marker-value-long", f"a marker's value has {len(value or b'')} bytes, and only 6 are read"
    if ends and END_TXN_MARKER.read_field("version", value or b"") > 0:
        yield "marker-version-newer", "a marker's version is above 0, and is read as version 0"
    if ends and not attributes & TRANSACTIONAL:
        yield "marker-not-transactional", "it ends a transaction, but its batch is not transactional"
    if not ends and attributes & TRANSACTIONAL:
        yield "control-type-transactional", f"a control record of type {record.type} is in a transactional batch"


def message_words(heads: CellTable, row: int, buf: bytes | bytearray | memoryview) -> Iterator[Words]:
    """Say what is odd about a message of magic 0 or 1."""
    cell = heads.cell
    codec = cell(buffers.ATTRIBUTES, row) & CODEC_MASK
    start = cell(buffers.SECTION_START, row)
    key = int.from_bytes(buf[start : start + 4], "big", signed=True) if start >= 0 else -1
    if codec and key >= 0:
        yield "wrapper-key-set", f"a wrapper has a key of {key} bytes"
    if key < -1:
        yield "size-below-null", f"the key's length is {key}"


def wrapper_words(heads: CellTable, row: int, data: bytes | bytearray) -> Iterator[Words]:
    """Say what is odd about the messages inside a wrapper of magic 0 or 1, uncompressed."""
    magic, offset = heads.cell(buffers.MAGIC, row), heads.cell(buffers.LAST_OFFSET, row)
    at, last, newest = 0, -1, -1
    smallest = smallest_size(0)
    while at + smallest <= len(data):
        inner, _, crc, inner_magic, _ = MESSAGE_V0.packed.unpack_from(data, at)
        end = at + size_of(data, at)
        if not at + smallest <= end <= len(data):
            break
        if inner_magic != magic:
            yield (
                "wrapper-magic-mixed",
                f"a message inside the wrapper has magic {inner_magic}, the wrapper has {magic}",
            )
        if inner <= last:
            yield "wrapper-offsets-falling", f"offset {inner} follows {last} inside the wrapper"
        if headers.crc32(data, at + checked_from(0), end) != crc:
            yield "message-crc-mismatch", f"the message at offset {inner} inside the wrapper has a wrong CRC"
        if inner_magic == 1:
            newest = max(newest, MESSAGE_V1.read_field("timestamp", data, at))
        at, last = end, inner
    declared = heads.cell(buffers.MAX_TIMESTAMP, row)
    if magic == 1 and at and not heads.cell(buffers.ATTRIBUTES, row) & LOG_APPEND_TIME and newest != declared:
        yield "max-timestamp-wrong", f"its timestamp is {declared}, the newest one inside is {newest}"
    if magic == 1 and 0 < offset < last:
        yield "wrapper-offset-too-small", f"its offset is {offset}, that of the last message inside is {last}"
    if magic == 0 and at and offset != last:
        yield "wrapper-offset-wrong", f"its offset is {offset}, that of the last message inside is {last}"


# Records decoded under every rule of the format: breaches of `record_rules` become findings.


Words = tuple[str, str]


class StrictDecoder(Decoder):
    """A decoder that also reports what can be decoded and should not be there."""

    def blocks(self, buf: memoryview) -> Iterator[RecordBlock]:
        """Decode the records in which something may be wrong; breaches of the rules are in the next block's findings.

        The kernel looks at all of them first: most batches are in order, and need nothing more.
        """
        self.reported: list[Finding] = []
        self.seen: set[tuple[int, str]] = set()
        self.found = array("q", bytes(8 * buffers.FOUND_CELLS))
        self.look(buf, 0, self.heads.count, unpacked=False)
        for block in super().blocks(buf):
            self.look_at_control(block)
            block.findings += self.taken()
            yield block
        if self.reported:
            last = self.block(b"", 0, ())
            last.findings += self.taken()
            yield last

    def taken(self) -> list[Finding]:
        reported, self.reported = self.reported, []
        return reported

    def tell(self, row: int, words: Iterable[Words]) -> None:
        """Keep findings about a batch whose CRC matches, each code once."""
        if not self.heads.cell(buffers.VALID, row):
            return
        for code, text in words:
            if (row, code) not in self.seen:
                self.seen.add((row, code))
                self.reported.append(self.finding(code, row, text))

    def look(self, buf: bytes | bytearray | memoryview, row: int, stop_row: int, *, unpacked: bool) -> None:
        """Check the batches in rows [`row`, `stop_row`), and leave those that are in order out of what is decoded."""
        heads = self.heads
        while True:
            row = kernel_records.next_odd(buf, heads.cells, row, stop_row, unpacked, self.found)
            if row >= stop_row:
                return
            if heads.cell(buffers.MAGIC, row) < 2:
                self.tell(row, message_words(heads, row, buf))
            else:
                start, stop = heads.cell(buffers.SECTION_START, row), heads.cell(buffers.SECTION_STOP, row)
                self.tell(row, record_words(heads, row, buf, start, stop))
            row += 1

    def unpack(self, payload: memoryview, row: int, magic: int) -> bytes | bytearray | Finding | None:
        """Decompress a batch's records and check the stream, and the messages in a wrapper, by the rules."""
        data = super().unpack(payload, row, magic)
        if not isinstance(data, bytes | bytearray):
            return data
        self.tell(row, stream_words(self.heads.cell(buffers.ATTRIBUTES, row) & CODEC_MASK, payload, len(data)))
        if magic < 2:
            self.tell(row, wrapper_words(self.heads, row, data))
        return data

    def unpacked_together(self, buf: memoryview, first: int) -> tuple[int, memoryview]:
        """Decompress batches by the kernel, and check their streams by the rules."""
        starts, stops = (
            self.heads.column(column)[first:].tolist() for column in (buffers.SECTION_START, buffers.SECTION_STOP)
        )
        stop_row, data = super().unpacked_together(buf, first)
        for row, start, stop in zip(range(first, stop_row), starts, stops, strict=False):
            size = self.heads.cell(buffers.SECTION_STOP, row) - self.heads.cell(buffers.SECTION_START, row)
            self.tell(row, stream_words(self.heads.cell(buffers.ATTRIBUTES, row) & CODEC_MASK, buf[start:stop], size))
        return stop_row, data

    def unpacked(self, data: bytes | bytearray | memoryview, row: int, stop_row: int) -> None:
        """Check the decompressed records of batches by the rules."""
        self.look(data, row, stop_row, unpacked=True)

    def look_at_control(self, block: RecordBlock) -> None:
        """Check that control records have what their type needs."""
        if block.outer is not None or not block.recs.count:
            return
        rows = block.recs.numpy()[buffers.BATCH]
        is_control = block.heads.numpy()[buffers.ATTRIBUTES, rows] & CONTROL != 0
        for number in np.flatnonzero(is_control).tolist():
            self.tell(
                int(rows[number]), control_words(self.heads, int(rows[number]), block.key(number), block.value(number))
            )


_DECODING: Final = slice(buffers.SECTION_START, buffers.ERROR_POSITION + 1)

_found: Final = array("q", bytes(8 * buffers.FOUND_CELLS))


def _strict(chunk: Chunk) -> StrictDecoder:
    return StrictDecoder(chunk.file, chunk.heads, chunk.limits.max_decompressed_bytes, chunk.expansion)


def check_records(chunk: Chunk) -> Iterator[Finding]:
    """Look at every record of a chunk and yield what is wrong with them, in the order of their batches.

    The chunk can be decoded again afterwards.
    """
    heads = chunk.heads
    if not heads.count:
        return
    if kernel_records.in_order(chunk.buf, heads.cells, heads.count, _found):
        return
    decoding = heads.numpy()[_DECODING]
    before = decoding.copy()
    found: list[Finding] = []
    for block in _strict(chunk).blocks(chunk.buf):
        found += block.findings
    decoding[:] = before
    yield from sorted(found, key=lambda finding: finding.position or 0)

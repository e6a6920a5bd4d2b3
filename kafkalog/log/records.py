"""The records of a chunk's batches, decompressed and decoded a thousand at a time."""

from __future__ import annotations

import threading
from collections.abc import Generator, Iterator
from sys import getrefcount
from typing import Final

from kafkalog.findings import Finding
from kafkalog.format import batch_headers, batch_records, frames, kernel
from kafkalog.format.batch import CODEC_MASK, LOG_APPEND_TIME, CellTable, Record
from kafkalog.format.batch_start import magic_of, size_of, smallest_size
from kafkalog.format.compression import CODECS, DecompressionError, OverLimitError, decompress, zstd_at_once
from kafkalog.format.record_errors import RECORD_ERRORS
from kafkalog.log.expansion import Expansion

__all__ = ["ROOM", "Decoder", "RecordBlock", "header_at", "headers_of", "record_cells"]

ROOM: Final = 1048  # as many as batches in a chunk, for the same reason
_KEPT: Final = 4  # buffers of a thread that may be used again
_UNUSED: Final = 3  # references to a buffer while it is looked at
_of_thread = threading.local()


class RecordBlock:
    """Decoded records: `recs` is the kernel's table of them, `buf` the bytes that their positions are in.

    `heads` are their batches. For the messages inside a wrapper of magic 0 or 1 these are the inner messages, and
    `outer` is the wrapper's row in the chunk; otherwise `outer` is None. The next block uses the same buffers.
    """

    __slots__ = ("buf", "findings", "heads", "outer", "recs")

    def __init__(
        self, buf: bytes | bytearray | memoryview, heads: CellTable, recs: CellTable, outer: int | None = None
    ) -> None:
        self.buf = buf
        self.heads = heads
        self.recs = recs
        self.outer = outer
        self.findings: list[Finding] = []

    def key(self, number: int) -> bytes | None:
        """Return one record's key."""
        start, size = self.recs.cell(kernel.KEY_START, number), self.recs.cell(kernel.KEY_SIZE, number)
        return None if size < 0 else bytes(self.buf[start : start + size])

    def value(self, number: int) -> bytes | None:
        """Return one record's value."""
        start, size = self.recs.cell(kernel.VALUE_START, number), self.recs.cell(kernel.VALUE_SIZE, number)
        return None if size < 0 else bytes(self.buf[start : start + size])

    def headers(self, number: int) -> tuple[tuple[bytes, bytes | None], ...]:
        """Return one record's headers in order."""
        start, count = self.recs.cell(kernel.HEADERS_START, number), self.recs.cell(kernel.HEADERS_COUNT, number)
        return tuple(headers_of(self.buf, start, count))

    def record(self, number: int, position: int | None = None) -> Record:
        """Make one Record; `position` is that of its batch if it is inside a wrapper."""
        row, offset, timestamp, sequence, key, key_size, value, value_size, headers, count, size = self.recs.row(number)
        buf = self.buf
        magic = self.heads.cell(kernel.MAGIC, row)
        return Record(
            offset,
            timestamp,
            sequence,
            None if key_size < 0 else bytes(buf[key : key + key_size]),
            None if value_size < 0 else bytes(buf[value : value + value_size]),
            tuple(headers_of(buf, headers, count)),
            size,
            self.heads.cell(kernel.POSITION, row) if position is None else position,
            magic,
            self.heads.cell(kernel.CRC, row) if magic < 2 else None,
            bool(self.heads.cell(kernel.VALID, row)) if magic < 2 else None,
        )


def _wrapped(number: int) -> int:
    """Wrap at 64 bits, as Java's sums do."""
    return (number + 2**63) % 2**64 - 2**63


def headers_of(
    buf: bytes | bytearray | memoryview, position: int, count: int, most: int | None = None
) -> Iterator[tuple[bytes, bytes | None]]:
    """Yield `count` headers that the kernel has checked, from `position` on; of each part, at most `most` bytes."""
    for _ in range(count):
        key, key_size, value, value_size, position = header_at(buf, position)
        if most is not None:
            key_size, value_size = min(key_size, most), min(value_size, most)
        data = None if value_size < 0 else bytes(buf[value : value + value_size])
        yield bytes(buf[key : key + key_size]), data


def header_at(buf: bytes | bytearray | memoryview, position: int) -> tuple[int, int, int, int, int]:
    """Say where a header that the kernel has checked has its parts: key, its size, value, its size, the next header."""
    key_size, key = _varint(buf, position)
    value_size, value = _varint(buf, key + key_size)
    return key, key_size, value, value_size, value + max(value_size, 0)


def _varint(buf: bytes | bytearray | memoryview, position: int) -> tuple[int, int]:
    """Read a varint that the kernel has checked: the value, and the position after it."""
    value = shift = 0
    while True:
        byte = buf[position]
        position += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            value &= 0xFFFFFFFF
            return (value >> 1) ^ -(value & 1), position


def record_cells(room: int) -> CellTable:
    """Return a table for so many records."""
    return CellTable(len(kernel.RECORD_COLUMNS), room)


def _content() -> bytearray:
    """Return a buffer for decompressed records that no decoder and no block of records has: a new one costs faults."""
    known: list[bytearray] = getattr(_of_thread, "contents", [])
    for buffer in known:
        if getrefcount(buffer) <= _UNUSED:
            return buffer
    buffer = bytearray(frames.ROOM)
    _of_thread.contents = [*known[1 - _KEPT :], buffer]
    return buffer


class Decoder:
    """The records of one chunk's batches, as many at a time as a table of the caller's, or one of 1048, has room for.

    Skips rows whose section starts below 0. A batch may decompress to `limit` bytes, and all of the file's to what
    `expansion` has left.
    """

    def __init__(
        self, file: str, heads: CellTable, limit: int, expansion: Expansion, table: CellTable | None = None
    ) -> None:
        self.file = file
        self.heads = heads
        self.limit = limit
        self.expansion = expansion
        self.recs = record_cells(ROOM) if table is None else table
        self.room = self.recs.capacity
        self._content: bytearray | None = None

    def blocks(self, buf: memoryview) -> Iterator[RecordBlock]:
        """Decode every row's records."""
        row = 0
        while row < self.heads.count:
            if self.heads.cell(kernel.MAGIC, row) < 2 and self.is_wrapper(row):
                yield from self.wrapper(buf, row)
                row += 1
                continue
            first = row
            n, row, why, errors = batch_records.read(
                buf, self.heads.cells, self.heads.capacity, row, self.heads.count, False, self.recs.cells, self.room
            )
            if n or errors:
                yield self.block(buf, n, range(first, min(row + 1, self.heads.count)) if errors else ())
            if why == batch_records.PACKED and self.heads.cell(kernel.MAGIC, row) >= 2:
                row = yield from self.packed(buf, row)

    def is_wrapper(self, row: int) -> bool:
        return (
            self.heads.cell(kernel.SECTION_START, row) >= 0
            and self.heads.cell(kernel.ATTRIBUTES, row) & CODEC_MASK != 0
        )

    def block(
        self,
        buf: bytes | bytearray | memoryview,
        count: int,
        rows: range | tuple[()],
        heads: CellTable | None = None,
        outer: int | None = None,
    ) -> RecordBlock:
        """Wrap `count` decoded records, with a finding for each of `rows` that has an error."""
        self.recs.count = count
        heads = heads or self.heads
        block = RecordBlock(buf, heads, self.recs, outer)
        for row in rows:
            error = heads.cell(kernel.ERROR, row)
            batch = row if outer is None else outer
            if error > 0 and self.heads.cell(kernel.VALID, batch):
                number = heads.cell(kernel.DECODED, row)
                count = heads.cell(kernel.COUNT, row)
                code, words = RECORD_ERRORS[error]
                block.findings.append(self.finding(code, batch, f"record {number} of {count}: {words}"))
            if error > 0:
                heads.set(kernel.ERROR, row, -1)  # reported
        return block

    def finding(self, code: str, row: int, message: str) -> Finding:
        cell = self.heads.cell
        offset = cell(kernel.LAST_OFFSET, row)
        text = f"in the batch that ends at offset {offset}: {message}"
        position, size = cell(kernel.POSITION, row), cell(kernel.SIZE, row)
        return Finding.of(code, self.file, text, position=position, length=size, offset=offset)

    def unpack(self, payload: memoryview, row: int, magic: int) -> bytes | bytearray | Finding | None:
        """Decompress a batch's records; if that fails and the CRC matches, return a finding.

        Returns None for a batch that is not to be decompressed, because the file's others took all that they may.
        """
        cell, cells, capacity = self.heads.cell, self.heads.cells, self.heads.capacity
        codec, position = (
            cells[kernel.ATTRIBUTES * capacity + row] & CODEC_MASK,
            cells[kernel.POSITION * capacity + row],
        )
        if codec >= len(CODECS):
            found: Finding = self.finding("codec-unknown", row, f"codec {codec} does not exist")
        elif (left := self.expansion.room(position)) < 0:
            return None
        else:
            try:
                data = decompress(codec, payload, min(left, self.limit), magic=magic)
                self.expansion.take(position, len(data), cells[kernel.COUNT * capacity + row])
                return data
            except OverLimitError:
                if left < self.limit:
                    self.expansion.stop(position, cell(kernel.SIZE, row), cell(kernel.LAST_OFFSET, row))
                    return None
                self.expansion.take(position, self.limit)
                found = self.finding(
                    "decompression-over-limit", row,
                    f"{len(payload)} bytes of {CODECS[codec]} decompress to more than --max-decompressed-bytes"
                    f" {self.limit}",
                )  # fmt: skip
            except DecompressionError as error:
                self.expansion.take(position, error.size)
                found = self.finding(error.code, row, str(error))
        return found if self.heads.cell(kernel.VALID, row) else None

    def unpacked(self, data: bytes | bytearray | memoryview, row: int, stop_row: int) -> None:
        """Take the decompressed records of the batches in rows [`row`, `stop_row`), before they are decoded."""

    def packed(self, buf: memoryview, first: int) -> Generator[RecordBlock, None, int]:
        """Decode the compressed records of the magic 2 batches from row `first` on, several at once.

        Returns the next row. One call for each batch would cost more than its records.
        """
        row, content = self.unpacked_together(buf, first)
        if row > first:
            yield from self.decoded(content, first, row, [])
            return row
        starts, stops, counts, attributes, magics, errors_of = (
            self.heads.column(number)
            for number in (
                kernel.SECTION_START, kernel.SECTION_STOP, kernel.COUNT, kernel.ATTRIBUTES, kernel.MAGIC, kernel.ERROR,
            )
        )  # fmt: skip
        parts: list[bytes | bytearray] = []
        findings: list[Finding] = []
        row, size = first, 0
        while row < self.heads.count and size < frames.ENOUGH:
            start, stop = starts[row], stops[row]
            if start < 0 or not attributes[row] & CODEC_MASK or magics[row] < 2 or errors_of[row]:
                break
            data = b"" if start == stop and not counts[row] else self.unpack(buf[start:stop], row, 2)
            if isinstance(data, bytes | bytearray):
                starts[row] = size
                size += len(data)
                stops[row] = size
                parts.append(data)
            else:
                starts[row] = -1
                findings += [data] if data is not None else []
            row += 1
        yield from self.decoded(parts[0] if len(parts) == 1 else b"".join(parts), first, row, findings)
        return row

    def unpacked_together(self, buf: memoryview, first: int) -> tuple[int, memoryview]:
        """Decompress batches from row `first` on by the kernel, as far as it can: return the next row, and their bytes.

        It needs no question about what the file may still decompress to, so there must be enough.
        """
        heads = self.heads
        positions = heads.column(kernel.POSITION)
        if self._content is None:
            self._content = _content()
        if self.expansion.room_together(positions[first], positions[-1]) < frames.ROOM:
            return first, memoryview(b"")
        content = memoryview(self._content)
        row, size, records = frames.unpack(
            buf, heads.cells, heads.capacity, first, heads.count, content, self.limit, buf, content, zstd_at_once
        )
        if row > first:
            self.expansion.take(positions[row - 1], size, records)
        return row, content[:size]

    def decoded(
        self, data: bytes | bytearray | memoryview, first: int, stop_row: int, findings: list[Finding]
    ) -> Iterator[RecordBlock]:
        """Decode the decompressed records of rows [`first`, `stop_row`); the first block has the findings."""
        self.unpacked(data, first, stop_row)
        at, why = first, batch_records.NO_ROOM
        while why == batch_records.NO_ROOM:
            n, at, why, errors = batch_records.read(
                data, self.heads.cells, self.heads.capacity, at, stop_row, True, self.recs.cells, self.room
            )
            block = self.block(data, n, range(first, stop_row) if errors else ())
            block.findings += findings
            findings = []
            yield block

    def wrapper(self, buf: memoryview, row: int) -> Iterator[RecordBlock]:
        """Decode the messages inside a wrapper of magic 0 or 1."""
        cell = self.heads.cell
        magic = cell(kernel.MAGIC, row)
        payload = self.wrapped(buf, row)
        data = payload if isinstance(payload, Finding) else self.unpack(payload, row, magic)
        inner = _Inner(data) if isinstance(data, bytes | bytearray) else None
        if inner is None or inner.wrong:
            finding = data if isinstance(data, Finding) else None
            if inner is not None and cell(kernel.VALID, row):
                finding = self.finding(inner.code, row, inner.wrong)
            block = self.block(b"", 0, ())
            block.findings += [finding] if finding is not None else []
            yield block
            if inner is None:
                return
        assert inner is not None
        offset = cell(kernel.LAST_OFFSET, row)
        shift = offset - inner.last_offset if magic == 1 and offset else 0
        first = True
        for heads in inner.heads():
            for i in range(heads.count):
                heads.set(kernel.BASE_OFFSET, i, _wrapped(heads.cell(kernel.LAST_OFFSET, i) + shift))
                heads.set(kernel.LAST_OFFSET, i, heads.cell(kernel.BASE_OFFSET, i))
                if cell(kernel.ATTRIBUTES, row) & LOG_APPEND_TIME and magic == 1:
                    heads.set(kernel.MAX_TIMESTAMP, i, cell(kernel.MAX_TIMESTAMP, row))
                    heads.set(kernel.ATTRIBUTES, i, heads.cell(kernel.ATTRIBUTES, i) | LOG_APPEND_TIME)
            if first and heads.count:
                self.heads.set(kernel.BASE_OFFSET, row, heads.cell(kernel.BASE_OFFSET, 0))
                first = False
            start = 0
            while start < heads.count:
                n, done, _, errors = batch_records.read(
                    inner.data, heads.cells, heads.capacity, start, heads.count, True, self.recs.cells, self.room
                )
                yield self.block(inner.data, n, range(start, heads.count) if errors else (), heads, row)
                start = done
        self.heads.set(kernel.COUNT, row, inner.count)

    def wrapped(self, buf: memoryview, row: int) -> memoryview | Finding:
        """Return the wrapper's value."""
        position, stop = self.heads.cell(kernel.SECTION_START, row), self.heads.cell(kernel.SECTION_STOP, row)
        for what in ("key", "value"):
            if stop - position < 4:
                return self.finding("wrapper-too-short", row, f"the {what}'s size runs past the end of the message")
            size = int.from_bytes(buf[position : position + 4], "big", signed=True)
            position += 4
            if size > stop - position:
                return self.finding("wrapper-past-end", row, f"the {what} runs past the end of the message")
            if what == "key":
                position += max(size, 0)
        return buf[position : position + max(size, 0)]


class _Inner:
    """The messages inside a wrapper: their number, the last one's offset, and what is wrong with them."""

    def __init__(self, data: bytes | bytearray) -> None:
        self.data = data
        self.count = 0
        self.last_offset = 0
        self.code = self.wrong = ""
        self.end = 0
        for heads in self.heads():
            self.count += heads.count
            if heads.count:
                self.last_offset = heads.cell(kernel.LAST_OFFSET, heads.count - 1)
                if any(attributes & CODEC_MASK for attributes in heads.column(kernel.ATTRIBUTES)):
                    self.code, self.wrong = "wrapper-nested", "a message inside the wrapper is itself compressed"
        if not self.count:
            self.code, self.wrong = "wrapper-empty", "the wrapper has no message inside"
        elif self.end < len(data):
            rest = len(data) - self.end
            self.code, self.wrong = "wrapper-rest", f"the last {rest} bytes inside the wrapper are not a message"

    def heads(self) -> Iterator[CellTable]:
        """Yield the messages' headers, up to the first that is not valid; their own CRCs are not checked here."""
        heads = CellTable(len(kernel.BATCH_COLUMNS), ROOM)
        at, row = 0, 0
        while True:
            row, at, why = batch_headers.read(self.data, at, len(self.data), 0, heads.cells, heads.capacity, row)
            if why == batch_headers.BAD and row < heads.capacity and self.is_message(at):
                at += size_of(self.data, at)
                row += 1
                if row < heads.capacity:
                    continue
                why = batch_headers.FULL
            heads.count = row
            self.end = at
            yield heads
            if why != batch_headers.FULL:
                return
            row = 0

    def is_message(self, at: int) -> bool:
        """Say whether a message whose CRC does not match at least has all its bytes."""
        magic = magic_of(self.data, at)
        return magic < 2 and smallest_size(magic) <= size_of(self.data, at) <= len(self.data) - at

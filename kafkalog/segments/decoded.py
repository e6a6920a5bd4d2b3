"""The records of a chunk's batches, decompressed and decoded a thousand at a time."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING, Final, NamedTuple

from kafkalog.files.limits import Expansion
from kafkalog.findings import Finding
from kafkalog.kafka.batch import CODEC_MASK, LOG_APPEND_TIME, CellTable, Record, magic_of, size_of, smallest_size
from kafkalog.kafka.compression import CODECS, DecompressionError, OverLimitError, decompress, zstd_at_once
from kafkalog.kernel import buffers
from kafkalog.kernel import headers as kernel_headers
from kafkalog.kernel import records as kernel_records

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = [
    "RECORD_ERRORS",
    "ROOM",
    "Decoder",
    "Piece",
    "RecordBlock",
    "header_at",
    "headers_of",
    "pieces",
    "read_varint",
    "record_cells",
]


# What may be wrong with a record of a batch whose CRC matches: a finding's code, and its words about the record.
RECORD_ERRORS: Final = {
    buffers.RECORD_SIZE_UNENDING: ("record-size-unending", "its length has too many bytes or runs past the end"),
    buffers.TIMESTAMP_DELTA_UNENDING: (
        "timestamp-delta-unending",
        "its timestamp delta has too many bytes or runs past the record",
    ),
    buffers.OFFSET_DELTA_UNENDING: (
        "offset-delta-unending",
        "its offset delta has too many bytes or runs past the record",
    ),
    buffers.KEY_SIZE_UNENDING: ("key-size-unending", "its key's length has too many bytes or runs past the record"),
    buffers.VALUE_SIZE_UNENDING: (
        "value-size-unending",
        "its value's length has too many bytes or runs past the record",
    ),
    buffers.HEADER_COUNT_UNENDING: (
        "header-count-unending",
        "its number of headers has too many bytes or runs past the record",
    ),
    buffers.HEADER_KEY_SIZE_UNENDING: (
        "header-key-size-unending",
        "a header key's length has too many bytes or runs past the record",
    ),
    buffers.HEADER_VALUE_SIZE_UNENDING: (
        "header-value-size-unending",
        "a header value's length has too many bytes or runs past the record",
    ),
    buffers.RECORD_SIZE_NEGATIVE: ("record-size-negative", "its length is negative"),
    buffers.RECORD_SIZE_TOO_SMALL: ("record-size-too-small", "its length is less than the smallest record needs"),
    buffers.RECORD_PAST_END: ("record-past-end", "it runs past the batch's end"),
    buffers.KEY_PAST_END: ("key-past-end", "its key runs past the record"),
    buffers.VALUE_PAST_END: ("value-past-end", "its value runs past the record"),
    buffers.HEADER_COUNT_NEGATIVE: ("header-count-negative", "its number of headers is negative"),
    buffers.HEADER_COUNT_TOO_HIGH: ("header-count-too-high", "its number of headers is more than it has room for"),
    buffers.HEADER_KEY_NULL: ("header-key-null", "a header key's length is negative"),
    buffers.HEADER_KEY_PAST_END: ("header-key-past-end", "a header key runs past the record"),
    buffers.HEADER_VALUE_PAST_END: ("header-value-past-end", "a header value runs past the record"),
    buffers.RECORD_REST: ("record-rest", "it has bytes after its last field"),
    buffers.RECORDS_END_EARLY: ("records-end-early", "the batch ends before this record"),
    buffers.RECORDS_REST: ("records-rest", "the batch has bytes after its last record"),
    buffers.RECORDS_COUNT_BELOW_0: ("records-count-negative", "the batch's number of records is negative"),
    buffers.MESSAGE_TOO_SHORT: ("message-too-short", "the message is too short for the lengths of key and value"),
    buffers.MESSAGE_KEY_PAST_END: ("message-key-past-end", "its key runs past the message"),
    buffers.MESSAGE_VALUE_PAST_END: ("message-value-past-end", "its value runs past the message"),
    buffers.MESSAGE_REST: ("message-rest", "the message has bytes after its value"),
}


ROOM: Final = 1048  # as many as batches in a chunk, for the same reason


class RecordBlock:
    """Decoded records: `recs` is the kernel's table of them, `buf` the bytes that their positions are in.

    `heads` are their batches. For the messages inside a wrapper of magic 0 or 1 these are the inner messages, and
    `outer` is the wrapper's row in the chunk; otherwise `outer` is None. The next block uses the same buffers.
    `reached` is the last offset that the first record's batch had in the block before, NONE where it begins here.
    """

    __slots__ = ("buf", "findings", "heads", "outer", "reached", "recs")

    def __init__(
        self, buf: bytes | bytearray | memoryview, heads: CellTable, recs: CellTable, outer: int | None = None
    ) -> None:
        self.buf = buf
        self.heads = heads
        self.recs = recs
        self.outer = outer
        self.reached = buffers.NONE
        self.findings: list[Finding] = []

    def passed(self) -> NDArray[np.bool_] | None:
        """Say which records no consumer is given, because their batch had their offset, or a later one, before them.

        None where offsets rise. By the rule of CompletedFetch.nextFetchedRecord, which goes on from the last one.
        """
        import numpy as np

        cells = self.recs.numpy()
        offsets = cells[buffers.OFFSET]
        if not len(offsets) or (int(offsets[0]) > self.reached and bool((offsets[1:] > offsets[:-1]).all())):
            return None
        from kafkalog.columns.sorted_rows import running_max  # few batches need it

        batches = cells[buffers.BATCH] if self.outer is None else np.zeros(len(offsets), np.int64)
        goes_on = np.append(False, batches[1:] == batches[:-1])
        before = np.where(goes_on, np.append(0, running_max(batches, offsets)[:-1]), buffers.NONE)
        found: NDArray[np.bool_] = offsets <= np.where(batches == batches[0], np.maximum(before, self.reached), before)
        return found

    def key(self, number: int) -> bytes | None:
        """Return one record's key."""
        start, size = self.recs.cell(buffers.KEY_START, number), self.recs.cell(buffers.KEY_SIZE, number)
        return None if size < 0 else bytes(self.buf[start : start + size])

    def value(self, number: int) -> bytes | None:
        """Return one record's value."""
        start, size = self.recs.cell(buffers.VALUE_START, number), self.recs.cell(buffers.VALUE_SIZE, number)
        return None if size < 0 else bytes(self.buf[start : start + size])

    def headers(self, number: int) -> tuple[tuple[bytes, bytes | None], ...]:
        """Return one record's headers in order."""
        start, count = self.recs.cell(buffers.HEADERS_START, number), self.recs.cell(buffers.HEADERS_COUNT, number)
        return tuple(headers_of(self.buf, start, count))

    def record(self, number: int, position: int | None = None) -> Record:
        """Make one Record; `position` is that of its batch if it is inside a wrapper."""
        row, offset, timestamp, sequence, key, key_size, value, value_size, headers, count, size = self.recs.row(number)
        buf = self.buf
        magic = self.heads.cell(buffers.MAGIC, row)
        return Record(
            offset,
            timestamp,
            sequence,
            None if key_size < 0 else bytes(buf[key : key + key_size]),
            None if value_size < 0 else bytes(buf[value : value + value_size]),
            tuple(headers_of(buf, headers, count)),
            size,
            self.heads.cell(buffers.POSITION, row) if position is None else position,
            magic,
            self.heads.cell(buffers.CRC, row) if magic < 2 else None,
            bool(self.heads.cell(buffers.VALID, row)) if magic < 2 else None,
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
    key_size, key = read_varint(buf, position)
    value_size, value = read_varint(buf, key + key_size)
    return key, key_size, value, value_size, value + max(value_size, 0)


def read_varint(buf: bytes | bytearray | memoryview, position: int) -> tuple[int, int]:
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


def record_cells(room: int, more: int = 0) -> CellTable:
    """Return a table for so many records, with `more` columns after the kernel's."""
    return CellTable(len(buffers.RECORD_COLUMNS) + more, room)


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
        self._last: tuple[int | None, int, int] | None = None  # the batch that the next block may go on with

    def blocks(self, buf: memoryview) -> Iterator[RecordBlock]:
        """Decode every row's records."""
        row = 0
        while row < self.heads.count:
            if self.heads.cell(buffers.MAGIC, row) < 2 and self.is_wrapper(row):
                yield from self.wrapper(buf, row)
                row += 1
                continue
            first = row
            n, row, why, errors = kernel_records.read_records(
                buf, self.heads.cells, row, self.heads.count, False, self.recs.cells
            )
            if n or errors:
                yield self.block(buf, n, range(first, min(row + 1, self.heads.count)) if errors else ())
            if why == kernel_records.PACKED and self.heads.cell(buffers.MAGIC, row) >= 2:
                row = yield from self.packed(buf, row)

    def is_wrapper(self, row: int) -> bool:
        return (
            self.heads.cell(buffers.SECTION_START, row) >= 0
            and self.heads.cell(buffers.ATTRIBUTES, row) & CODEC_MASK != 0
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
        if count:
            cell = self.recs.cell
            if self._last is not None and self._last[:2] == (outer, cell(buffers.BATCH, 0)):
                block.reached = self._last[2]
            last = cell(buffers.BATCH, count - 1), cell(buffers.OFFSET, count - 1)
            self._last = (outer, *last) if count == self.room else None
        for row in rows:
            error = heads.cell(buffers.ERROR, row)
            batch = row if outer is None else outer
            if error > 0 and self.heads.cell(buffers.VALID, batch):
                number = heads.cell(buffers.DECODED, row)
                count = heads.cell(buffers.COUNT, row)
                code, words = RECORD_ERRORS[error]
                block.findings.append(self.finding(code, batch, f"record {number} of {count}: {words}"))
            if error > 0:
                heads.set(buffers.ERROR, row, -1)  # reported
        return block

    def finding(self, code: str, row: int, message: str) -> Finding:
        cell = self.heads.cell
        offset = cell(buffers.LAST_OFFSET, row)
        text = f"in the batch that ends at offset {offset}: {message}"
        position, size = cell(buffers.POSITION, row), cell(buffers.SIZE, row)
        return Finding.of(code, self.file, text, position=position, length=size, offset=offset)

    def unpack(self, payload: memoryview, row: int, magic: int) -> bytes | bytearray | Finding | None:
        """Decompress a batch's records; if that fails and the CRC matches, return a finding.

        Returns None for a batch that is not to be decompressed, because the file's others took all that they may.
        """
        cell, cells = self.heads.cell, self.heads.cells
        codec, position = (
            cells[buffers.ATTRIBUTES, row] & CODEC_MASK,
            cells[buffers.POSITION, row],
        )
        if codec >= len(CODECS):
            found: Finding = self.finding("codec-unknown", row, f"codec {codec} does not exist")
        elif (left := self.expansion.room(position)) < 0:
            return None
        else:
            try:
                data = decompress(codec, payload, min(left, self.limit), magic=magic)
                self.expansion.count(position, len(data), cells[buffers.COUNT, row])
                return data
            except OverLimitError:
                if left < self.limit:
                    self.expansion.stop(position, cell(buffers.SIZE, row), cell(buffers.LAST_OFFSET, row))
                    return None
                self.expansion.count(position, self.limit)
                found = self.finding(
                    "decompression-over-limit", row,
                    f"{len(payload)} bytes of {CODECS[codec]} decompress to more than --max-decompressed-bytes"
                    f" {self.limit}",
                )  # fmt: skip
            except DecompressionError as error:
                self.expansion.count(position, error.size)
                found = self.finding(error.code, row, str(error))
        return found if self.heads.cell(buffers.VALID, row) else None

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
                buffers.SECTION_START, buffers.SECTION_STOP, buffers.COUNT, buffers.ATTRIBUTES, buffers.MAGIC,
                buffers.ERROR,
            )
        )  # fmt: skip
        parts: list[bytes | bytearray] = []
        findings: list[Finding] = []
        row, size = first, 0
        while row < self.heads.count and size < kernel_records.ENOUGH:
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
        positions = heads.column(buffers.POSITION)
        if self._content is None:
            self._content = bytearray(kernel_records.ROOM)
        if self.expansion.room_together(positions[first], positions[-1]) < kernel_records.ROOM:
            return first, memoryview(b"")
        content = memoryview(self._content)
        row, size, records = kernel_records.unpack(
            buf, heads.cells, first, heads.count, content, self.limit, buf, content, zstd_at_once
        )
        if row > first:
            self.expansion.count(positions[row - 1], size, records)
        return row, content[:size]

    def decoded(
        self, data: bytes | bytearray | memoryview, first: int, stop_row: int, findings: list[Finding]
    ) -> Iterator[RecordBlock]:
        """Decode the decompressed records of rows [`first`, `stop_row`); the first block has the findings."""
        self.unpacked(data, first, stop_row)
        at, why = first, kernel_records.NO_ROOM
        while why == kernel_records.NO_ROOM:
            n, at, why, errors = kernel_records.read_records(
                data, self.heads.cells, at, stop_row, True, self.recs.cells
            )
            block = self.block(data, n, range(first, stop_row) if errors else ())
            block.findings += findings
            findings = []
            yield block

    def wrapper(self, buf: memoryview, row: int) -> Iterator[RecordBlock]:
        """Decode the messages inside a wrapper of magic 0 or 1."""
        cell = self.heads.cell
        magic = cell(buffers.MAGIC, row)
        payload = self.wrapped(buf, row)
        data = payload if isinstance(payload, Finding) else self.unpack(payload, row, magic)
        inner = _Inner(data) if isinstance(data, bytes | bytearray) else None
        if inner is None or inner.wrong:
            finding = data if isinstance(data, Finding) else None
            if inner is not None and cell(buffers.VALID, row):
                finding = self.finding(inner.code, row, inner.wrong)
            block = self.block(b"", 0, ())
            block.findings += [finding] if finding is not None else []
            yield block
            if inner is None:
                return
        assert inner is not None
        offset = cell(buffers.LAST_OFFSET, row)
        shift = offset - inner.last_offset if magic == 1 and offset else 0
        first = True
        for heads in inner.heads():
            for i in range(heads.count):
                heads.set(buffers.BASE_OFFSET, i, _wrapped(heads.cell(buffers.LAST_OFFSET, i) + shift))
                heads.set(buffers.LAST_OFFSET, i, heads.cell(buffers.BASE_OFFSET, i))
                if cell(buffers.ATTRIBUTES, row) & LOG_APPEND_TIME and magic == 1:
                    heads.set(buffers.MAX_TIMESTAMP, i, cell(buffers.MAX_TIMESTAMP, row))
                    heads.set(buffers.ATTRIBUTES, i, heads.cell(buffers.ATTRIBUTES, i) | LOG_APPEND_TIME)
            if first and heads.count:
                self.heads.set(buffers.BASE_OFFSET, row, heads.cell(buffers.BASE_OFFSET, 0))
                first = False
            start = 0
            while start < heads.count:
                n, done, _, errors = kernel_records.read_records(
                    inner.data, heads.cells, start, heads.count, True, self.recs.cells
                )
                yield self.block(inner.data, n, range(start, heads.count) if errors else (), heads, row)
                start = done
        self.heads.set(buffers.COUNT, row, inner.count)

    def wrapped(self, buf: memoryview, row: int) -> memoryview | Finding:
        """Return the wrapper's value."""
        position, stop = self.heads.cell(buffers.SECTION_START, row), self.heads.cell(buffers.SECTION_STOP, row)
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
                self.last_offset = heads.cell(buffers.LAST_OFFSET, heads.count - 1)
                if any(attributes & CODEC_MASK for attributes in heads.column(buffers.ATTRIBUTES)):
                    self.code, self.wrong = "wrapper-nested", "a message inside the wrapper is itself compressed"
        if not self.count:
            self.code, self.wrong = "wrapper-empty", "the wrapper has no message inside"
        elif self.end < len(data):
            rest = len(data) - self.end
            self.code, self.wrong = "wrapper-rest", f"the last {rest} bytes inside the wrapper are not a message"

    def heads(self) -> Iterator[CellTable]:
        """Yield the messages' headers, up to the first that is not valid; their own CRCs are not checked here."""
        heads = CellTable(len(buffers.BATCH_COLUMNS), ROOM)
        at, row = 0, 0
        while True:
            row, at, why = kernel_headers.read_headers(self.data, at, len(self.data), 0, heads.cells, row)
            if why == kernel_headers.BAD and row < heads.capacity and self.is_message(at):
                at += size_of(self.data, at)
                row += 1
                if row < heads.capacity:
                    continue
                why = kernel_headers.FULL
            heads.count = row
            self.end = at
            yield heads
            if why != kernel_headers.FULL:
                return
            row = 0

    def is_message(self, at: int) -> bool:
        """Say whether a message whose CRC does not match at least has all its bytes."""
        magic = magic_of(self.data, at)
        return magic < 2 and smallest_size(magic) <= size_of(self.data, at) <= len(self.data) - at


_PIECE: Final = 1 << 21  # bytes of records, so that what is made of each at once is bounded


class Piece(NamedTuple):
    """Some records of a block, from number `first` on; the next piece uses the same cells."""

    first: int
    records: RecordBlock


def pieces(block: RecordBlock, most: int = _PIECE) -> Iterator[Piece]:
    """Yield a block in pieces of at most so many bytes, or of one record; the block itself if it has no more.

    The pieces have no findings.
    """
    recs = block.recs
    sizes = recs.column(buffers.RECORD_SIZE)
    if sum(sizes) <= most:
        yield Piece(0, block)
        return
    cells = record_cells(recs.capacity)
    first = 0
    while first < recs.count:
        stop, size = first + 1, sizes[first]
        while stop < recs.count and size + sizes[stop] <= most:
            size += sizes[stop]
            stop += 1
        cells.count = stop - first
        for column in range(len(buffers.RECORD_COLUMNS)):
            cells.column(column)[:] = recs.column(column)[first:stop]
        yield Piece(first, RecordBlock(block.buf, block.heads, cells, block.outer))
        first = stop

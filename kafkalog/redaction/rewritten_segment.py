"""A segment, or a KRaft snapshot, written again batch by batch: other contents, right checksums.

Whole batches alone are written again: those whose checksum matches and whose records can all be read. All other bytes
become zeros of the same length. A compressed batch may get another size: the batches after it have other positions.
"""

from __future__ import annotations

import os
import struct
from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Final, NamedTuple

import numpy as np

from kafkalog.files.limits import Limits
from kafkalog.files.names import parse_name
from kafkalog.files.opening import SizedSource, open_source
from kafkalog.kafka.batch import CODEC_MASK, CONTROL, CellTable, set_size
from kafkalog.kafka.compression import DecompressionError, OverLimitError, decompress
from kafkalog.kafka.internal_topics import Internal
from kafkalog.kafka.layout import MESSAGE_V0, MESSAGE_V1, RECORD_BATCH
from kafkalog.kernel import buffers, headers
from kafkalog.kernel import records as kernel_records
from kafkalog.redaction.internal_bytes import InternalBytes
from kafkalog.redaction.keyed_bytes import KeyedBytes
from kafkalog.redaction.new_names import NameKind, NewNames
from kafkalog.redaction.packing import compress
from kafkalog.redaction.shifted_times import ShiftedTimes
from kafkalog.segments.chunk import Chunk
from kafkalog.segments.decoded import read_varint, record_cells
from kafkalog.segments.segment import chunks_of_source

__all__ = ["HIGHEST_NUMBER", "HIGHEST_TIME", "BatchPlace", "Contents", "Places", "ZeroedPlace", "rewrite"]

_ROOM: Final = 1 << 13  # records that are decoded at once
_ZEROS: Final = bytes(1 << 16)
_STEP: Final = 1 << 20
_MOST_OFFSETS: Final = 1 << 31  # of a segment
HIGHEST_TIME: Final = 1 << 43  # ms: the year 2248
HIGHEST_NUMBER: Final = 1 << 53  # above every offset and producer id that a broker reaches
_UINT32: Final = struct.Struct(">I")
_CRC_AT: Final = buffers.CRC_AT
_CHECKED_FROM: Final = buffers.ATTRIBUTES_AT

Write = Callable[[bytes | bytearray | memoryview], object]


class BatchPlace(NamedTuple):
    """Where a batch was, and where it is now: positions and sizes are bytes."""

    original_position: int
    original_size: int
    position: int
    size: int


_PLACE_NUMBERS: Final = len(BatchPlace._fields)


class ZeroedPlace(NamedTuple):
    """Bytes that became zeros: `position` is that in the original, `why` what is wrong with them."""

    position: int
    size: int
    why: str


@dataclass(slots=True)
class Places:
    """What became of a file's bytes: the batches that moved, what was zeroed, the two sizes.

    `timestamps` and `producers` are those of batches that no broker would give one.
    """

    zeroed: list[ZeroedPlace] = field(default_factory=list)
    timestamps: set[int] = field(default_factory=set)
    producers: set[int] = field(default_factory=set)
    last_offset: int = -1
    original_size: int = 0
    size: int = 0
    _moved: array[int] = field(default_factory=partial(array, "q"))  # as many numbers for each as BatchPlace has

    def put(self, batch: BatchPlace) -> None:
        """Take a batch, in the file's order."""
        if batch.original_position != batch.position or batch.original_size != batch.size:
            self._moved.extend(batch)

    def moved(self) -> Iterator[BatchPlace]:
        """Yield the batches that have another position or size than they had."""
        return (self._batch(at) for at in range(0, len(self._moved), _PLACE_NUMBERS))

    def _batch(self, at: int) -> BatchPlace:
        return BatchPlace._make(self._moved[at : at + _PLACE_NUMBERS])

    def now(self, position: int) -> int:
        """Return where a byte of the original is: in a batch that has another size, at most at its end."""
        rows = range(0, len(self._moved), _PLACE_NUMBERS)
        at = bisect_right(rows, position, key=self._moved.__getitem__) - 1
        if at < 0:
            return position
        batch = self._batch(rows[at])
        if position >= batch.original_position + batch.original_size:
            return batch.position + batch.size + position - batch.original_position - batch.original_size
        return batch.position + min(position - batch.original_position, batch.size - 1)


class Contents:
    """What records hold afterwards: keys, values, headers, times, and the records of internal topics."""

    def __init__(self, salt: bytes, names: NewNames, times: ShiftedTimes) -> None:
        self.names = names
        self.times = times
        self.internal = InternalBytes(salt, names, times)
        self.keys = KeyedBytes(salt, "key")
        self.values = KeyedBytes(salt, "value")
        self.headers = KeyedBytes(salt, "header")


class _UnreadableBatchError(ValueError):
    """A batch whose checksum matches and whose records can't be read."""


def rewrite(path: str, write: Write, contents: Contents, internal: Internal | None, limits: Limits) -> Places:
    """Write a file's batches again; `internal` is the kind of records of an internal topic.

    Raises UnreadableError if the file can't be read.
    """
    source = open_source(path)
    try:
        rewriting = _Rewriting(source, write, contents, internal, limits)
        rewriting.places.last_offset = (parse_name(os.path.basename(path)).offset or 0) - 1
        for chunk in chunks_of_source(source, path, limits=limits):
            chunk.only_possible()
            rewriting.take(chunk)
        rewriting.fill(source.size, "no-whole-batch")
    finally:
        source.close()
    places = rewriting.places
    places.original_size = source.size
    return places


class _Rewriting:
    """Writes chunk after chunk; `at` is how far the original is done."""

    def __init__(
        self, source: SizedSource, write: Write, contents: Contents, internal: Internal | None, limits: Limits
    ) -> None:
        self.places = Places()
        self._source = source
        self._size = source.size
        self._write = write
        self._contents = contents
        self._internal = internal
        self._limits = limits
        self._recs = record_cells(_ROOM)
        self._at = 0

    def take(self, chunk: Chunk) -> None:
        """Write the whole batches of a chunk."""
        heads = chunk.heads
        if not heads.count:
            return
        buf = bytearray(chunk.buf)
        original = chunk.buf
        start_of = chunk.position
        # No checksum is of the offset: a damaged one may be anything.
        whole = [
            row
            for row in range(heads.count)
            if heads.cell(buffers.VALID, row) and heads.cell(buffers.LAST_OFFSET, row) < HIGHEST_NUMBER
        ]
        packed = {row for row in whole if heads.cell(buffers.ATTRIBUTES, row) & CODEC_MASK}
        sections = {
            row: (heads.cell(buffers.SECTION_START, row), heads.cell(buffers.SECTION_STOP, row)) for row in whole
        }
        for row in set(range(heads.count)) - set(whole) | packed:
            heads.set(buffers.SECTION_START, row, -1)
        bad = {row for row in whole if row not in packed and sections[row][0] < 0}
        self._redact(buf, heads, 0, heads.count, unpacked=False)
        for row in range(heads.count):
            position, size = heads.cell(buffers.POSITION, row), heads.cell(buffers.SIZE, row)
            if position < self._at:
                continue
            at = position - start_of
            if row not in sections:
                self.fill(min(position, self._size), "no-whole-batch")  # the next one begins with its header
                continue
            head_size = RECORD_BATCH.size if heads.cell(buffers.MAGIC, row) > 1 else 0
            self.fill(position, "no-whole-batch")
            if row in packed:
                made = self._packed(original[at : at + size], heads, row)
            elif row in bad or heads.cell(buffers.ERROR, row):
                made = None
            else:
                made = buf[at : at + size]
            if made is None:
                made = bytearray(original[at : at + head_size]) + bytes(size - head_size)
                self.places.zeroed.append(ZeroedPlace(position, size, "records-unreadable"))
            self._contents.times.in_batch(made, heads.cell(buffers.MAGIC, row))
            self._seal(made, heads.cell(buffers.MAGIC, row))
            self._put(made, heads, row)

    def fill(self, position: int, why: str) -> None:
        """Write zeros for the original's bytes up to a position, but for the header of the batch that they begin with.

        A header passes whose numbers can be those of the next batch: where a batch is torn or damaged stays visible.
        """
        left = position - self._at
        if left <= 0:
            return
        head = self._source.read_bytes(self._at, min(left, RECORD_BATCH.size))
        kept = _next_header(head, left, self.places.last_offset, self._contents.times)
        if kept or self._has_content(self._at, position):
            self.places.zeroed.append(ZeroedPlace(self._at + len(kept), left - len(kept), why))
        self._at = position
        self.places.size += left
        self._write(kept)
        left -= len(kept)
        while left > 0:
            self._write(_ZEROS[:left])
            left -= len(_ZEROS)

    def _has_content(self, start: int, stop: int) -> bool:
        """Say whether there is a byte other than zero."""
        steps = range(start, stop, _STEP)
        return any(any(self._source.read_bytes(at, min(_STEP, stop - at))) for at in steps)

    def _put(self, made: bytearray, heads: CellTable, row: int) -> None:
        places, cell = self.places, heads.cell
        position, size = cell(buffers.POSITION, row), cell(buffers.SIZE, row)
        places.put(BatchPlace(position, size, places.size, len(made)))
        if not -1 <= (newest := cell(buffers.MAX_TIMESTAMP, row)) < HIGHEST_TIME:
            places.timestamps.add(newest)
        if not 0 <= (producer := cell(buffers.PRODUCER_ID, row)) < HIGHEST_NUMBER:
            places.producers.add(producer)
        places.last_offset = max(places.last_offset, cell(buffers.LAST_OFFSET, row))
        self._write(made)
        places.size += len(made)
        self._at = position + size

    def _packed(self, batch: memoryview, heads: CellTable, row: int) -> bytearray | None:
        """Return a compressed batch with other contents, None if its records can't be read."""
        if heads.cell(buffers.MAGIC, row) < 2:
            return self._wrapper(batch, heads.cell(buffers.MAGIC, row))
        codec = heads.cell(buffers.ATTRIBUTES, row) & CODEC_MASK
        payload = batch[RECORD_BATCH.size :]
        count = heads.cell(buffers.COUNT, row)
        if not len(payload) and not count:
            return bytearray(batch)
        try:
            data = bytearray(decompress(codec, payload, self._limits.max_decompressed_bytes))
        except (DecompressionError, OverLimitError):
            return None
        heads.set(buffers.SECTION_START, row, 0)
        heads.set(buffers.SECTION_STOP, row, len(data))
        self._redact(data, heads, row, row + 1, unpacked=True)
        if heads.cell(buffers.ERROR, row):
            return None
        made = bytearray(batch[: RECORD_BATCH.size]) + compress(codec, data, payload)
        set_size(made, len(made))
        return made

    def _redact(self, data: bytearray, heads: CellTable, row: int, stop: int, *, unpacked: bool) -> None:
        """Replace the contents of the records of some batches in `data`."""
        why = kernel_records.NO_ROOM
        while why == kernel_records.NO_ROOM:
            count, row, why, _ = kernel_records.read_records(data, heads.cells, row, stop, unpacked, self._recs.cells)
            self._recs.count = count
            self._redact_records(data, heads)

    def _redact_records(self, data: bytearray, heads: CellTable) -> None:
        recs, table = self._recs.numpy(), heads.numpy()
        batch = recs[buffers.BATCH]
        is_control = ((table[buffers.ATTRIBUTES] & CONTROL != 0) & (table[buffers.MAGIC] > 1))[batch]
        keys, values = (buffers.KEY_START, buffers.KEY_SIZE), (buffers.VALUE_START, buffers.VALUE_SIZE)
        is_ours = is_control if self._internal is None else np.ones_like(is_control)
        ours = recs[[*keys, *values]][:, is_ours].T.tolist()
        for control, (key_at, key_size, value_at, value_size) in zip(is_control[is_ours].tolist(), ours, strict=True):
            self._redact_pair(data, control, key_at, key_size, value_at, value_size)
        for columns, keyed in ((keys, self._contents.keys), (values, self._contents.values)):
            keyed.replace(data, zip(*recs[list(columns)][:, ~is_ours].tolist(), strict=True))
        headers_of = recs[[buffers.HEADERS_START, buffers.HEADERS_COUNT]][:, recs[buffers.HEADERS_COUNT] > 0]
        for at, count in headers_of.T.tolist():
            self._redact_headers(data, at, count)

    def _redact_pair(
        self, data: bytearray, is_control: bool, key_at: int, key_size: int, value_at: int, value_size: int
    ) -> None:
        key = None if key_size < 0 else bytes(data[key_at : key_at + key_size])
        value = None if value_size < 0 else bytes(data[value_at : value_at + value_size])
        internal = self._contents.internal
        if is_control or self._internal is None:
            made = internal.control(key, value)
        else:
            made = internal.record(self._internal, key, value)
        for was, at, now in ((key, key_at, made.key), (value, value_at, made.value)):
            if was is not None:
                assert now is not None
                assert len(now) == len(was)
                data[at : at + len(was)] = now

    def _redact_headers(self, data: bytearray, at: int, count: int) -> None:
        for _ in range(count):
            size, at = read_varint(data, at)
            data[at : at + size] = self._contents.names.of(NameKind.HEADER, bytes(data[at : at + size]))
            at += size
            size, at = read_varint(data, at)
            self._contents.headers.replace(data, [(at, size)])
            at += max(size, 0)

    def _wrapper(self, message: memoryview, magic: int) -> bytearray | None:
        """Return a wrapper of magic 0 or 1 with other messages inside, None if they can't be read."""
        head = (MESSAGE_V1 if magic else MESSAGE_V0).size
        codec = message[_MAGIC_ATTRIBUTES] & CODEC_MASK
        try:
            key, value = _content(message, head)
            if value is None:
                return None
            data = bytearray(decompress(codec, value, self._limits.max_decompressed_bytes, magic=magic))
            self._inner(data)
        except (DecompressionError, OverLimitError, _UnreadableBatchError):
            return None
        packed = compress(codec, data, value)
        made = bytearray(message[:head])
        for part in (None if key is None else self._contents.keys.like(bytes(key)), packed):
            made += _INT32.pack(-1 if part is None else len(part)) + (part or b"")
        set_size(made, len(made))
        return made

    def _inner(self, data: bytearray) -> None:
        """Replace the contents of the messages inside a wrapper. Raises _UnreadableBatchError."""
        at = 0
        while at < len(data):
            if len(data) - at < MESSAGE_V0.size + 8:
                raise _UnreadableBatchError
            size = _INT32.unpack_from(data, at + 8)[0] + buffers.LOG_OVERHEAD
            magic = data[at + buffers.MAGIC_AT]
            head = at + (MESSAGE_V1 if magic else MESSAGE_V0).size
            if magic > 1 or size < head - at + 8 or size > len(data) - at or data[at + _MAGIC_ATTRIBUTES] & CODEC_MASK:
                raise _UnreadableBatchError
            message = memoryview(data)[at : at + size]
            held = headers.crc32(message, buffers.MAGIC_AT, size) == _UINT32.unpack_from(message, _OLD_CRC_AT)[0]
            self._replace_content(message, head - at)
            self._contents.times.in_batch(message, magic)
            crc = headers.crc32(message, buffers.MAGIC_AT, size)
            _UINT32.pack_into(message, _OLD_CRC_AT, crc if held else crc ^ 1)
            message.release()
            at += size

    def _replace_content(self, message: memoryview, head: int) -> None:
        key, value = _content(message, head)
        for part, keyed in ((key, self._contents.keys), (value, self._contents.values)):
            if part is not None:
                keyed.replace(part, [(0, len(part))])

    def _seal(self, made: bytearray, magic: int) -> None:
        """Set the checksum of a batch or a message."""
        if magic > 1:
            _UINT32.pack_into(made, _CRC_AT, headers.crc32c(made, _CHECKED_FROM, len(made)))
        elif any(made):
            _UINT32.pack_into(made, _OLD_CRC_AT, headers.crc32(made, buffers.MAGIC_AT, len(made)))


_INT32: Final = struct.Struct(">i")
_START: Final = struct.Struct(">qii")
_OLD_CRC_AT: Final = buffers.MESSAGE_CRC_AT
_MAGIC_ATTRIBUTES: Final = buffers.MESSAGE_ATTRIBUTES_AT


def _next_header(head: bytes, size: int, last_offset: int, times: ShiftedTimes) -> bytes:
    """Return the header of a batch of magic 2 that may follow, with a checksum that its zeros do not have.

    Of a header that is cut, the numbers up to the magic are returned. Nothing is returned where no broker would write
    one of the numbers.
    """
    if len(head) < buffers.SIZE_UP_TO_MAGIC or head[buffers.MAGIC_AT] != 2:
        return b""
    if len(head) < RECORD_BATCH.size:
        base, length, leader_epoch = _START.unpack_from(head)
        fits = last_offset < base < last_offset + _MOST_OFFSETS and 0 < length < _STEP and -1 <= leader_epoch < _STEP
        return head[: buffers.SIZE_UP_TO_MAGIC] if fits else b""
    (base, length, leader_epoch, _, _, attributes, delta, base_time, max_time, producer, epoch, sequence, count
     ) = RECORD_BATCH.packed.unpack(head)  # fmt: skip
    is_possible = (
        last_offset < base < last_offset + _MOST_OFFSETS
        and length >= RECORD_BATCH.size - buffers.LOG_OVERHEAD
        and leader_epoch >= -1
        and not attributes & buffers.UNUSED_BITS
        and 0 <= count <= delta + 1
        and all(-1 <= time < HIGHEST_TIME for time in (base_time, max_time))
        and -1 <= producer < HIGHEST_NUMBER
        and epoch >= -1
        and sequence >= -1
    )
    if not is_possible:
        return b""
    made = bytearray(head)
    times.in_batch(made, 2)
    whole = made + bytes(max(0, min(size, length + buffers.LOG_OVERHEAD) - len(made)))
    _UINT32.pack_into(made, _CRC_AT, headers.crc32c(whole, _CHECKED_FROM, len(whole)) ^ 1)
    return bytes(made)


def _content(message: memoryview, head: int) -> Iterator[memoryview | None]:
    """Return the key and the value of a message of magic 0 or 1. Raises _UnreadableBatchError."""
    parts: list[memoryview | None] = []
    at = head
    for _ in range(2):
        if len(message) - at < 4:
            raise _UnreadableBatchError
        size = _INT32.unpack_from(message, at)[0]
        at += 4
        if size > len(message) - at:
            raise _UnreadableBatchError
        parts.append(None if size < 0 else message[at : at + size])
        at += max(size, 0)
    if at != len(message):
        raise _UnreadableBatchError
    return iter(parts)

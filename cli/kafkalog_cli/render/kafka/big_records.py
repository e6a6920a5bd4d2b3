"""The line of a record that is too big for one piece of memory: header keys, key and value piece by piece."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from kafkalog import Batch, Record, RecordBlock
from kafkalog.format import gathering, kernel
from kafkalog_cli.render.kafka.options import KafkaTextOptions
from kafkalog_cli.render.kafka.records import RecordText
from kafkalog_cli.render.kafka.writer import LineWriter

__all__ = ["BIG", "RecordPart", "own_parts", "write_big"]

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
        RecordPart("key", block.buf, cell(kernel.KEY_START, number), cell(kernel.KEY_SIZE, number)),
        RecordPart("payload", block.buf, cell(kernel.VALUE_START, number), cell(kernel.VALUE_SIZE, number)),
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
    position, count = cell(kernel.HEADERS_START, number), cell(kernel.HEADERS_COUNT, number)
    if not skip:
        sizes = (cell(column, number) for column in (kernel.KEY_SIZE, kernel.VALUE_SIZE))
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
        cell(kernel.OFFSET, number),
        cell(kernel.TIMESTAMP, number),
        cell(kernel.SEQUENCE, number),
        block.key(number) if batch.is_control else None,
        block.value(number) if batch.is_control else None,
        (),
        cell(kernel.RECORD_SIZE, number),
        batch.position,
        magic,
        batch.crc if magic < 2 else None,
        batch.crc_holds if magic < 2 else None,
    )


def _keys(writer: LineWriter, block: RecordBlock, position: int, count: int) -> Iterator[str]:
    """Yield the keys of headers with commas between them."""
    cells, found = array("q", (position, count)), array("q", bytes(8 * 4 * _KEYS))
    position, left, comma = -1, count, ""
    while left > 0:
        _, position, left, listed = gathering.headers(block.buf, cells, 0, 1, 0, 1, position, left, found, _KEYS)
        sizes = found[_KEYS : _KEYS + listed]
        if not any(sizes):
            yield comma + "," * (listed - 1)
        else:
            for start, size in zip(found, sizes, strict=False):
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

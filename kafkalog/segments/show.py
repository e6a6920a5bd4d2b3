"""The bytes at a position, field by field: the proof of a finding."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

from kafkalog.errors import UnreadableError, UnsupportedError
from kafkalog.files.limits import Limits
from kafkalog.files.names import SEGMENTS, FileKind, parse_name, sibling
from kafkalog.files.opening import Source, open_source, read_small
from kafkalog.findings import Bytes, Finding
from kafkalog.kafka.batch import CODEC_MASK, SIZE_UP_TO_MAGIC, Batch, checked_from, layout_of, magic_of
from kafkalog.kafka.control import END_TYPES
from kafkalog.kafka.fields import Field, codec, fields_of
from kafkalog.kafka.layout import (
    ABORTED_TXN,
    CONTROL_RECORD_KEY,
    END_TXN_MARKER,
    MESSAGE_CONTENT,
    MESSAGE_V0,
    OFFSET_INDEX_ENTRY,
    PRODUCER_SNAPSHOT,
    PRODUCER_STATE_ENTRY,
    RECORD,
    RECORD_BATCH,
    RECORD_HEADER,
    TIME_INDEX_ENTRY,
    Layout,
)
from kafkalog.kernel import buffers, headers
from kafkalog.segments.chunk import Chunk
from kafkalog.segments.segment import segment_chunks
from kafkalog.tables.dump_tables import FIELDS

__all__ = ["Shown", "compared", "outside", "show"]


class Shown(NamedTuple):
    """A field of a file, and whether it contains the position that was asked for."""

    file: str
    field: Field
    is_here: bool

    def row(self) -> tuple[Any, ...]:
        """Make it a row of the table ``fields``."""
        field = self.field
        return FIELDS.of(
            file=self.file,
            structure=field.structure,
            field=field.name,
            position=field.position,
            size_bytes=field.size,
            bytes=field.data.hex(),
            value=field.value,
            computed=field.computed,
            meaning=field.meaning,
            is_here=self.is_here,
        )


def show(
    path: str | os.PathLike[str],
    position: int | None = None,
    *,
    offset: int | None = None,
    limits: Limits | None = None,
) -> Iterator[Shown]:
    """Yield the fields of the structure at a byte `position` of a file, or of the batch that contains the log `offset`.

    Raises UnreadableError if the file can't be read or has nothing there, UnsupportedError for an offset in a file that
    is not a segment.

    Positions and sizes are bytes. `limits` bound the memory of a batch, in bytes; by default they are those of
    `Limits()`.

    >>> path = "fixtures/v2.8-hanging/data/ledger-1/00000000000000000000.log"
    >>> [(shown.field.name, shown.field.value) for shown in kafkalog.show(path, 0)][:2]
    [('base_offset', '0'), ('batch_length', '97')]
    """
    file, kind = os.fspath(path), parse_name(Path(path).name).kind
    if kind in SEGMENTS or kind is FileKind.UNKNOWN:
        found = show_batch(file, position, offset, limits or Limits())
    elif position is None:
        raise UnsupportedError(f"{file}: only segments can be searched for an offset; give a position")
    else:
        found = show_entry(file, kind, position)
    for where, field in found:
        start = field.position
        is_here = (
            where == file and position is not None and start is not None and start <= position < start + field.size
        )
        yield Shown(where, field, is_here)


# What `show` says of every kind of file: whether a CRC matches, and that a position is outside the file.


def compared(field: Field, computed: str, under: str) -> Field:
    """Compare a stored CRC with that of the bytes that it covers."""
    verdict = "matches" if field.value == computed else "DOES NOT MATCH"
    return field._replace(computed=computed, meaning=f"of {under}: {verdict}")


def outside(file: str, position: int, size: int) -> UnreadableError:
    """Make the error for a position outside the file."""
    return UnreadableError(f"{file}: position {position} is outside the file, which has {size} bytes")


# The batch of a segment that contains a position or an offset, field by field.


_PIECE: Final = 1 << 20

_RAW: Final = 64  # bytes that are shown outside batches

_HEADERS: Final = 100  # of a record that are shown

_CONTROL_RECORDS: Final = 16  # of a control batch that are shown without being asked for


@dataclass(slots=True)
class _Found:
    """What is at a position: a batch with the records to show, or bytes outside batches."""

    position: int
    size: int
    batch: Batch | None
    findings: list[Finding]
    records: list[_Record]


@dataclass(frozen=True, slots=True)
class _Record:
    """A record's bytes and their position in the file, None if they were compressed."""

    number: int
    offset: int
    data: bytes
    position: int | None


def show_batch(file: str, position: int | None, offset: int | None, limits: Limits) -> Iterator[tuple[str, Field]]:
    """Yield (file, field) of the batch at `position`, or of the batch that contains `offset`.

    Raises UnreadableError if there is none.
    """
    with contextlib.closing(open_source(file)) as source:
        if position is not None and not 0 <= position < source.size:
            raise outside(file, position, source.size)
        found = _find(file, position, offset, limits)
        fields = _batch(source, found) if found.batch is not None else _raw(source, found, position)
        for field in fields:
            yield file, field
        for record in found.records:
            for field in _record(record, found.batch):
                yield file, field
        for finding in found.findings:
            yield file, _of_finding(finding)


def _of_finding(finding: Finding) -> Field:
    return Field(
        "finding", finding.code, position=None, size=0, data=b"", value=finding.message, meaning=finding.severity.word
    )


def _find(file: str, position: int | None, offset: int | None, limits: Limits) -> _Found:
    base = parse_name(Path(file).name).offset
    before = None if base is None else base - 1
    for chunk in segment_chunks(file, limits=limits):
        row = _row_at(chunk, position) if offset is None else _row_of(chunk, offset, before)
        if row is not None:
            return _in_batch(chunk, row, position, offset)
        if position is not None:
            for finding in chunk.findings:
                start, size = finding.position, finding.length
                lost = finding.bytes in (Bytes.LOST, Bytes.SUSPECT)
                if lost and start is not None and size and start <= position < start + size:
                    return _Found(start, size, None, [finding], [])
        if chunk.heads.count:
            before = chunk.heads.cell(buffers.LAST_OFFSET, chunk.heads.count - 1)
    if offset is not None:
        raise UnreadableError(f"{file}: no batch that can be read contains offset {offset}")
    raise UnreadableError(f"{file}: nothing can be read at position {position}")


def _row_at(chunk: Chunk, position: int | None) -> int | None:
    for row, start in enumerate(chunk.heads.column(buffers.POSITION)):
        if position is not None and start <= position < start + _size(chunk, row):
            return row
    return None


def _size(chunk: Chunk, row: int) -> int:
    """Return how many bytes a batch has, by the finding if its length is wrong."""
    start = chunk.heads.cell(buffers.POSITION, row)
    for finding in chunk.findings:
        if finding.code == "batch-length-wrong" and finding.position == start and isinstance(finding.needed, int):
            return finding.needed
    return chunk.heads.cell(buffers.SIZE, row)


def _row_of(chunk: Chunk, offset: int, before: int | None) -> int | None:
    """Return the row that contains `offset`; a wrapper of magic 0 or 1 begins after the batch before it."""
    for row, last in enumerate(chunk.heads.column(buffers.LAST_OFFSET)):
        first = chunk.heads.cell(buffers.BASE_OFFSET, row)
        if first == buffers.NONE:
            first = last if before is None else min(before + 1, last)
        if first <= offset <= last:
            return row
        before = last
    return None


def _in_batch(chunk: Chunk, row: int, position: int | None, offset: int | None) -> _Found:
    batch = Batch.of(chunk.heads, row)
    size = _size(chunk, row)
    findings = [
        finding
        for finding in chunk.findings
        if finding.position is not None and batch.position <= finding.position < batch.position + size
    ]
    for other in range(chunk.heads.count):
        if other != row:
            chunk.skip(other)
    records = _records(chunk, batch, position, offset, findings) if batch.crc_holds and batch.magic > 1 else []
    return _Found(batch.position, size, batch, findings, records)


def _records(
    chunk: Chunk, batch: Batch, position: int | None, offset: int | None, findings: list[Finding]
) -> list[_Record]:
    """Return the record at `position` or `offset`, and all of a control batch."""
    packed = bool(batch.attributes & CODEC_MASK)
    begin = 0 if packed else batch.position + RECORD_BATCH.size - chunk.position  # of the records in their buffer
    wanted: list[_Record] = []
    at, number = begin, 0
    for block in chunk.records():
        for row in range(block.recs.count):
            size, its = block.recs.cell(buffers.RECORD_SIZE, row), block.recs.cell(buffers.OFFSET, row)
            place = None if packed else chunk.position + at
            is_there = place is not None and position is not None and place <= position < place + size
            if is_there or its == offset or (batch.is_control and number < _CONTROL_RECORDS):
                wanted.append(_Record(number, its, bytes(block.buf[at : at + size]), place))
            at, number = at + size, number + 1
        findings += block.findings
    findings += chunk.expansion.findings(chunk.file)
    return wanted


def _batch(source: Source, found: _Found) -> Iterator[Field]:
    assert found.batch is not None
    old = found.batch.magic < 2
    layout = layout_of(found.batch.magic)
    structure = "message" if old else "RecordBatch"
    head = source.read_bytes(found.position, layout.size)
    first = checked_from(found.batch.magic)
    stop = min(found.position + found.size, source.size or 0)
    computed = str(_checksum(source, found.position + first, stop, legacy=old))
    for field in fields_of(layout, structure, head, found.position):
        under = f"bytes {found.position + first}-{stop - 1}"
        yield compared(field, computed, under) if field.name == "crc" else field
    after = found.position + len(head)
    if old:
        yield from fields_of(MESSAGE_CONTENT, structure, source.read_bytes(after, min(stop - after, _PIECE)), after)
    elif stop > after:
        data = source.read_bytes(after, min(_RAW, stop - after))
        yield Field(
            structure, "records", position=after, size=stop - after, data=data, value=None, meaning=_said(found.batch)
        )


def _said(batch: Batch) -> str:
    packed = batch.attributes & CODEC_MASK
    how = f"compressed, {codec(batch.attributes)}" if packed else "not compressed"
    return f"{batch.records_count} record{'s' * (batch.records_count != 1)}, {how}"


def _record(record: _Record, batch: Batch | None) -> Iterator[Field]:
    """Show a record, and for a control record what its key and value mean."""
    structure = f"record {record.number}, offset {record.offset}"
    at, is_marker = 0, False
    for field in fields_of(RECORD, structure, record.data, record.position):
        yield field
        at += field.size
        is_control = batch is not None and batch.is_control
        if is_control and field.name == "key" and field.size >= CONTROL_RECORD_KEY.size:
            yield from fields_of(
                CONTROL_RECORD_KEY, "ControlRecordType", record.data[at - field.size :], field.position
            )
            is_marker = CONTROL_RECORD_KEY.read_field("type", record.data, at - field.size) in END_TYPES
        if is_control and field.name == "value" and is_marker and field.size >= END_TXN_MARKER.size:
            yield from fields_of(END_TXN_MARKER, "EndTransactionMarker", record.data[at - field.size :], field.position)
    for _ in range(_HEADERS):
        place = None if record.position is None else record.position + at
        header = fields_of(RECORD_HEADER, structure, record.data[at:], place)
        if len(header) < len(RECORD_HEADER.fields):
            return
        yield from header
        at += sum(field.size for field in header)


def _raw(source: Source, found: _Found, position: int | None) -> Iterator[Field]:
    """Show bytes outside batches: what would be a header, or the bytes at the position."""
    head = source.read_bytes(found.position, min(RECORD_BATCH.size, found.size))
    (finding,) = found.findings
    if finding.code in ("batch-truncated", "batch-length-wrong") and len(head) >= SIZE_UP_TO_MAGIC:
        old = magic_of(head) < 2
        yield from fields_of(MESSAGE_V0 if old else RECORD_BATCH, "message" if old else "RecordBatch", head,
                             found.position)  # fmt: skip
    elif position is not None:
        start = found.position + (position - found.position) // 16 * 16
        data = source.read_bytes(start, min(_RAW, found.position + found.size - start))
        yield Field(
            "bytes",
            "no batch",
            position=start,
            size=len(data),
            data=data,
            value=None,
            meaning=f"of {found.size} bytes from position {found.position} on",
        )


def _checksum(source: Source, start: int, stop: int, *, legacy: bool) -> int:
    crc = 0
    sum_of = headers.crc32 if legacy else headers.crc32c
    for at in range(start, stop, _PIECE):
        data = source.read_bytes(at, min(_PIECE, stop - at))
        crc = sum_of(data, 0, len(data), crc)
    return crc


# The entry or line of a side file that contains a position, field by field.


_ENTRIES: Final = {
    FileKind.OFFSET_INDEX: (OFFSET_INDEX_ENTRY, "OffsetIndex"),
    FileKind.TIME_INDEX: (TIME_INDEX_ENTRY, "TimeIndex"),
    FileKind.TXN_INDEX: (ABORTED_TXN, "AbortedTxn"),
}

_LONGEST_LINE: Final = 256  # bytes that are shown of a part of a line

Found = Iterator[tuple[str, Field]]


def show_entry(file: str, kind: FileKind, position: int) -> Found:
    """Yield (file, field) of the entry at `position`.

    Raises UnreadableError if the file does not have that position.
    """
    data = read_small(file)
    if not 0 <= position < len(data):
        raise outside(file, position, len(data))
    if kind in _ENTRIES:
        layout, structure = _ENTRIES[kind]
        yield from _index_entry(file, data, position, layout, structure)
    elif kind is FileKind.PRODUCER_SNAPSHOT:
        yield from _snapshot_entry(file, data, position)
    else:
        yield from _line(file, data, position)


def _index_entry(file: str, data: bytes, position: int, layout: Layout, structure: str) -> Found:
    number = position // layout.size
    at = number * layout.size
    entry = data[at : at + layout.size]
    if len(entry) < layout.size:
        meaning = f"not a whole entry, which has {layout.size} bytes"
        yield file, Field(structure, "rest", position=at, size=len(entry), data=entry, value=None, meaning=meaning)
        return
    base = parse_name(os.path.basename(file)).offset
    preallocated = not any(data[at:]) and layout is not ABORTED_TXN
    for field in fields_of(layout, structure, entry, at):
        said = field.meaning
        if preallocated:
            said = "zeros up to the end of the file: preallocated"
        elif field.name == "relative_offset" and base is not None:
            said = f"offset {base + int(field.value or 0)}"
        elif field.name == "position":
            said = "where the batch begins in the segment"
        yield file, field._replace(structure=f"{structure} entry {number}", meaning=said)
    if layout is OFFSET_INDEX_ENTRY and not preallocated:
        yield from _batch_there(file, OFFSET_INDEX_ENTRY.packed.unpack(entry)[1])


def _batch_there(index: str, position: int) -> Found:
    """Show the header at the position of an entry, if the segment is beside the index."""
    segment = sibling(index, os.path.basename(index).partition(".")[0] + ".log")
    with contextlib.suppress(UnreadableError), contextlib.closing(open_source(segment)) as source:
        head = source.read_bytes(position, RECORD_BATCH.size) if position >= 0 else b""
        if len(head) == RECORD_BATCH.size and magic_of(head) == 2:
            for field in fields_of(RECORD_BATCH, "RecordBatch", head, position):
                yield segment, field


def _snapshot_entry(file: str, data: bytes, position: int) -> Found:
    computed = str(headers.crc32c(data, PRODUCER_SNAPSHOT.position("entries_count"), len(data)))
    for field in fields_of(PRODUCER_SNAPSHOT, "ProducerSnapshot", data[: PRODUCER_SNAPSHOT.size], 0):
        yield file, compared(field, computed, "all bytes after it") if field.name == "crc" else field
    number, _ = divmod(position - PRODUCER_SNAPSHOT.size, PRODUCER_STATE_ENTRY.size)
    if number >= 0:
        at = PRODUCER_SNAPSHOT.size + number * PRODUCER_STATE_ENTRY.size
        entry = data[at : at + PRODUCER_STATE_ENTRY.size]
        if len(entry) < PRODUCER_STATE_ENTRY.size:
            yield (
                file,
                Field(
                    "ProducerStateEntry",
                    "rest",
                    position=at,
                    size=len(entry),
                    data=entry[:64],
                    value=None,
                    meaning="not a whole entry",
                ),
            )
            return
        for field in fields_of(PRODUCER_STATE_ENTRY, "ProducerStateEntry", entry, at):
            yield file, field._replace(structure=f"ProducerStateEntry {number}")


def _line(file: str, data: bytes, position: int) -> Found:
    """Show the line of a text file, part by part."""
    start = data.rfind(b"\n", 0, position) + 1
    stop = data.find(b"\n", position)
    stop = len(data) if stop < 0 else stop
    number = data.count(b"\n", 0, start) + 1
    names = _parts_of(file, number)
    text = data[start : min(stop + 1, len(data))]
    found = [match.start() for match in re.finditer(rb"\S+", text)][: max(1, len(names))]
    places = [0, *found[1:], len(text)]
    for name, at, end in zip(names or ["text"], places, places[1:], strict=False):
        part = text[at:end]
        value = part[:_LONGEST_LINE].strip().decode("utf-8", "backslashreplace")
        yield (
            file,
            Field(
                f"line {number}",
                name,
                position=start + at,
                size=len(part),
                data=part[:_LONGEST_LINE],
                value=value,
                meaning="",
            ),
        )


def _parts_of(file: str, number: int) -> list[str]:
    kind = parse_name(os.path.basename(file)).kind
    if kind not in (FileKind.OFFSET_CHECKPOINT, FileKind.LEADER_EPOCH_CHECKPOINT):
        return []
    if number <= 2:
        return ["version" if number == 1 else "entries_count"]
    return ["epoch", "start_offset"] if kind is FileKind.LEADER_EPOCH_CHECKPOINT else ["topic", "partition", "offset"]

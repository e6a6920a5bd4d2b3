"""The batch of a segment that contains a position or an offset, field by field."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from kafkalog.errors import UnreadableError
from kafkalog.findings import Bytes, Finding
from kafkalog.format import checksums, kernel
from kafkalog.format.batch import CODEC_MASK, Batch
from kafkalog.format.batch_start import SIZE_UP_TO_MAGIC, checked_from, layout_of, magic_of
from kafkalog.format.control import END_TYPES
from kafkalog.format.fields import Field, fields_of
from kafkalog.format.layout import (
    CONTROL_RECORD_KEY,
    END_TXN_MARKER,
    MESSAGE_CONTENT,
    MESSAGE_V0,
    RECORD,
    RECORD_BATCH,
    RECORD_HEADER,
)
from kafkalog.format.meanings import codec
from kafkalog.log.chunk import Chunk, Limits
from kafkalog.log.files import Source, open_source
from kafkalog.log.names import parse_name
from kafkalog.log.segment import segment_chunks
from kafkalog.log.show_words import compared, outside

__all__ = ["show_batch"]

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
            before = chunk.heads.cell(kernel.LAST_OFFSET, chunk.heads.count - 1)
    if offset is not None:
        raise UnreadableError(f"{file}: no batch that can be read contains offset {offset}")
    raise UnreadableError(f"{file}: nothing can be read at position {position}")


def _row_at(chunk: Chunk, position: int | None) -> int | None:
    for row, start in enumerate(chunk.heads.column(kernel.POSITION)):
        if position is not None and start <= position < start + _size(chunk, row):
            return row
    return None


def _size(chunk: Chunk, row: int) -> int:
    """Return how many bytes a batch has, by the finding if its length is wrong."""
    start = chunk.heads.cell(kernel.POSITION, row)
    for finding in chunk.findings:
        if finding.code == "batch-length-wrong" and finding.position == start and isinstance(finding.needed, int):
            return finding.needed
    return chunk.heads.cell(kernel.SIZE, row)


def _row_of(chunk: Chunk, offset: int, before: int | None) -> int | None:
    """Return the row that contains `offset`; a wrapper of magic 0 or 1 begins after the batch before it."""
    for row, last in enumerate(chunk.heads.column(kernel.LAST_OFFSET)):
        first = chunk.heads.cell(kernel.BASE_OFFSET, row)
        if first == kernel.NONE:
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
            size, its = block.recs.cell(kernel.RECORD_SIZE, row), block.recs.cell(kernel.OFFSET, row)
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
    head = source.read(found.position, layout.size)
    first = checked_from(found.batch.magic)
    stop = min(found.position + found.size, source.size or 0)
    computed = str(_checksum(source, found.position + first, stop, legacy=old))
    for field in fields_of(layout, structure, head, found.position):
        under = f"bytes {found.position + first}-{stop - 1}"
        yield compared(field, computed, under) if field.name == "crc" else field
    after = found.position + len(head)
    if old:
        yield from fields_of(MESSAGE_CONTENT, structure, source.read(after, min(stop - after, _PIECE)), after)
    elif stop > after:
        data = source.read(after, min(_RAW, stop - after))
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
            is_marker = CONTROL_RECORD_KEY.read("type", record.data, at - field.size) in END_TYPES
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
    head = source.read(found.position, min(RECORD_BATCH.size, found.size))
    (finding,) = found.findings
    if finding.code in ("batch-truncated", "batch-length-wrong") and len(head) >= SIZE_UP_TO_MAGIC:
        old = magic_of(head) < 2
        yield from fields_of(MESSAGE_V0 if old else RECORD_BATCH, "message" if old else "RecordBatch", head,
                             found.position)  # fmt: skip
    elif position is not None:
        start = found.position + (position - found.position) // 16 * 16
        data = source.read(start, min(_RAW, found.position + found.size - start))
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
    sum_of = checksums.crc32 if legacy else checksums.crc32c
    for at in range(start, stop, _PIECE):
        data = source.read(at, min(_PIECE, stop - at))
        crc = sum_of(data, 0, len(data), crc)
    return crc

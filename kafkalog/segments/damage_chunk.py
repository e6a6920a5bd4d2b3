"""What a reader gets for damage: the rows of a batch, as far as it can be read, and the findings about it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from kafkalog.findings import Finding
from kafkalog.kafka.batch import MAGIC_AT, checked_from, magic_of, set_magic, set_size, smallest_size
from kafkalog.kafka.layout import RECORD_BATCH
from kafkalog.kernel import buffers, headers
from kafkalog.segments.chunk import Chunk
from kafkalog.segments.cursor import WINDOW, Cursor
from kafkalog.segments.damage import Damage, Wrong, decide, passed_over

__all__ = ["next_damage"]


def next_damage(cursor: Cursor) -> Chunk:
    """Make the chunk of the damage at the cursor: one row if there is a batch, otherwise none."""
    damage = decide(cursor)
    cursor.heads.count = 0
    chunk = _CHUNKS[damage.wrong](damage, cursor)
    chunk.resumed.append(damage.resumed)
    return chunk


def _wrong_magic(damage: Damage, cursor: Cursor) -> Chunk:
    """Read a batch of magic 2, whatever its magic byte says."""
    data = bytearray(cursor.source.read(damage.position, damage.size))
    set_magic(data, 2)
    _read_header(cursor, data, damage.position)
    return _with_magic(damage, cursor, cursor.ordered(cursor.chunk(data, damage.position)))


def _with_magic(damage: Damage, cursor: Cursor, chunk: Chunk) -> Chunk:
    """Report the wrong magic of a batch whose CRC is that of magic 2.

    The row keeps a magic above 2; 0 and 1 would give it another layout.
    """
    magic = damage.false_magic
    if magic is None:
        return chunk
    if magic > 2:
        cursor.heads.set(buffers.MAGIC, 0, magic)
    offset = cursor.heads.cell(buffers.BASE_OFFSET, 0)
    chunk.findings.append(
        cursor.finding(
            "magic-wrong",
            f"the batch at offset {offset} has magic {magic}, but its CRC matches as that of a magic 2 batch",
            position=damage.position + MAGIC_AT,
            length=1,
            offset=offset,
            needed=2,
            found=magic,
        )
    )
    return chunk


def _over_limit(damage: Damage, cursor: Cursor) -> Chunk:
    """A batch above the limit whose CRC, computed in pieces, matches: its records are not read."""
    _header_row(damage, cursor)
    cursor.heads.set(buffers.VALID, 0, 1)
    chunk = cursor.ordered(cursor.chunk())
    limit = cursor.limits.max_batch_bytes
    chunk.findings.append(
        cursor.finding(
            "batch-over-limit",
            f"the batch has {damage.size} bytes, more than --max-batch-bytes {limit}: its records were not read",
            position=damage.position,
            length=damage.size,
            offset=cursor.heads.cell(buffers.BASE_OFFSET, 0),
            needed=limit,
            found=damage.size,
        )
    )
    return _with_magic(damage, cursor, chunk)


def _wrong_length(damage: Damage, cursor: Cursor) -> Chunk:
    """Read a batch by the length that its CRC proves."""
    data = bytearray(cursor.source.read(damage.position, damage.size))
    set_size(data, damage.size)
    _read_header(cursor, data, damage.position)
    chunk = cursor.ordered(cursor.chunk(data, damage.position))
    chunk.findings.append(_length_finding(damage, cursor, None))
    return chunk


def _lost_end(damage: Damage, cursor: Cursor) -> Chunk:
    """A batch whose bytes are lost up to the next whole batch."""
    _header_row(damage, cursor)
    chunk = cursor.chunk()
    chunk.findings.append(_length_finding(damage, cursor, damage.size))
    return chunk


def _length_finding(damage: Damage, cursor: Cursor, lost: int | None) -> Finding:
    """Report a length that does not lead to the next batch; `lost` is the lost bytes, None if the batch is read."""
    return cursor.finding(
        "batch-length-wrong",
        f"the batch has {damage.declared} bytes by its header, but the next whole batch or the end of the file is"
        f" {damage.size} bytes after its start",
        position=damage.position,
        length=lost,
        offset=cursor.heads.cell(buffers.LAST_OFFSET, 0),
        needed=damage.size,
        found=damage.declared,
    )


def _mismatch(damage: Damage, cursor: Cursor) -> Chunk:
    """A batch whose CRC does not match its bytes."""
    here, size, is_old = damage.position, damage.size, magic_of(damage.head) < 2
    if damage.is_decoded:
        data = bytearray(cursor.source.read(here, size))
        _read_header(cursor, data, here)
        chunk = cursor.chunk(data, here)
    else:
        _header_row(damage, cursor)
        chunk = cursor.chunk()
    stored = cursor.heads.cell(buffers.CRC, 0)
    computed = _checksum(cursor, here + checked_from(magic_of(damage.head)), here + size, is_old=is_old)
    offset = cursor.heads.cell(buffers.LAST_OFFSET, 0)
    chunk.findings.append(
        cursor.finding(
            "crc-mismatch",
            f"the CRC of the batch that ends at offset {offset} does not match: stored {stored:#010x},"
            f" computed {computed:#010x}",
            position=here,
            length=size,
            offset=offset,
            needed=stored,
            found=computed,
        )
    )
    last = cursor.order.last_offset
    if last is not None and offset > last:
        following = cursor.resync.whole(here + size)
        if following is not None and following.base_offset is not None:
            cursor.order.reach(min(offset, following.base_offset - 1))  # its highest possible offset
    return chunk


def _checksum(cursor: Cursor, start: int, stop: int, *, is_old: bool) -> int:
    crc = 0
    sum_of = headers.crc32 if is_old else headers.crc32c
    for at in range(start, stop, WINDOW):
        data = cursor.source.read(at, min(WINDOW, stop - at))
        crc = sum_of(data, 0, len(data), crc)
    return crc


def _torn(damage: Damage, cursor: Cursor) -> Chunk:
    """The part of a batch that the file ends in; no finding if the reader asked for that end."""
    chunk = cursor.chunk()
    if cursor.source.is_cut:
        return chunk
    last = cursor.order.last_offset
    after = "" if last is None else f" after offset {last}"
    chunk.findings.append(
        cursor.finding(
            "batch-truncated",
            f"the file ends inside a batch{after}: the batch needs {damage.declared} bytes, {damage.size} are there",
            position=damage.position,
            length=damage.size,
            needed=damage.declared,
            found=damage.size,
        )
    )
    return chunk


def _preallocated(damage: Damage, cursor: Cursor) -> Chunk:
    chunk, zeros = cursor.chunk(), damage.size
    chunk.findings.append(
        cursor.finding(
            "tail-preallocated",
            f"the file ends in {zeros} zero bytes",
            position=damage.position,
            length=zeros,
            found=zeros,
        )
    )
    return chunk


def _no_batch(damage: Damage, cursor: Cursor) -> Chunk:
    """Bytes that belong to no batch."""
    is_zero = damage.wrong is Wrong.ZEROS
    what = "zero bytes" if is_zero else "bytes that are no batch"
    before = damage.before
    where = "at the end of the file" if before is None else f"before the batch that ends at offset {before}"
    chunk = cursor.chunk()
    chunk.findings.append(
        cursor.finding(
            "bytes-zero" if is_zero else "bytes-unreadable",
            f"{damage.size} {what}, {where}",
            position=damage.position,
            length=damage.size,
            needed="a batch",
            found=what,
        )
    )
    return chunk


def _passed_over(damage: Damage, cursor: Cursor) -> Chunk:
    """Bytes that belong to no batch, in a file with much damage."""
    chunk = cursor.chunk()
    chunk.findings.append(passed_over(cursor, damage.position, damage.size))
    return chunk


def _read_header(cursor: Cursor, data: bytearray, position: int) -> None:
    """Put the header of the one batch in `data` into the table, whether its CRC matches or not."""
    headers.read(data, 0, len(data), position, cursor.heads.cells, 0)
    cursor.heads.count = 1


def _header_row(damage: Damage, cursor: Cursor) -> None:
    """Put the header's fields into the table although the batch is not whole; the row says that its CRC is wrong."""
    padded = bytearray(damage.head.ljust(RECORD_BATCH.size, b"\0"))
    smallest = smallest_size(magic_of(padded))
    set_size(padded, smallest)
    headers.read(padded, 0, smallest, damage.position, cursor.heads.cells, 0)
    size = damage.declared if damage.wrong is Wrong.END_LOST else damage.size
    cursor.heads.set(buffers.SIZE, 0, size)
    cursor.heads.set(buffers.VALID, 0, 0)
    cursor.heads.set(buffers.SECTION_START, 0, -1)
    cursor.heads.count = 1


_CHUNKS: Final[dict[Wrong, Callable[[Damage, Cursor], Chunk]]] = {
    Wrong.MAGIC: _wrong_magic,
    Wrong.OVER_LIMIT: _over_limit,
    Wrong.LENGTH: _wrong_length,
    Wrong.CHECKSUM: _mismatch,
    Wrong.END_LOST: _lost_end,
    Wrong.TORN: _torn,
    Wrong.PREALLOCATED: _preallocated,
    Wrong.ZEROS: _no_batch,
    Wrong.NO_BATCH: _no_batch,
    Wrong.PASSED_OVER: _passed_over,
}

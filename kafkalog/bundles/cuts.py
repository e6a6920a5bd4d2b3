"""Cuts a log by time or offset: which offsets stay, at which bytes its segments begin and end, and what its files say.

A cut log is one that a broker could have: it begins where its retention might have ended, and ends where it was once.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from kafkalog.files.names import FileKind
from kafkalog.kafka.layout import ABORTED_TXN, OFFSET_INDEX_ENTRY, TIME_INDEX_ENTRY
from kafkalog.kernel import buffers
from kafkalog.segments.segment import scan, segment_chunks

__all__ = [
    "Bounds",
    "CutLog",
    "CutSegment",
    "WrittenTo",
    "cut_log",
    "index_up_to",
    "with_epochs",
    "with_offsets",
    "written_to",
]

_OF_BATCH: Final = (
    buffers.BASE_OFFSET, buffers.LAST_OFFSET, buffers.POSITION, buffers.SIZE, buffers.MAX_TIMESTAMP
)  # fmt: skip


class CutSegment(NamedTuple):
    """What is kept of a segment: its path, the name of the new one, the bytes from `start` to `stop`, its offsets."""

    path: str
    name: str
    start: int
    stop: int
    first_offset: int
    last_offset: int
    is_cut: bool


class CutLog(NamedTuple):
    """The segments that are kept, the first offset and the one after the last; `why` says what moved the beginning."""

    segments: tuple[CutSegment, ...]
    first_offset: int
    end_offset: int
    is_cut_at_start: bool
    is_cut_at_end: bool
    moved_for_open: int | None = None  # where the cut would have been without transactions that began before it


class Bounds(NamedTuple):
    """Where a log is to begin and to end: times in ms, and offsets, which are in it; None for as it is."""

    since: int | None = None
    until: int | None = None
    first_offset: int | None = None
    last_offset: int | None = None


def cut_log(
    segments: Sequence[tuple[str, int, int]], bounds: Bounds, begun: Sequence[tuple[int, int]]
) -> CutLog | None:
    """Cut a log's segments, each a path with its base offset and size, at batches within bounds.

    It begins at the first batch with a time from `since` on and an offset from `first_offset` on, or before it at the
    first batch of a transaction that was open there: `begun` has the first offset of each, and its marker's. It ends
    with the last batch up to `until` and `last_offset`. None where nothing is cut. Raises UnreadableError.
    """
    tables = [_batches(path, size) for path, _, size in segments]
    every = np.concatenate(tables, axis=1) if tables else np.empty((len(_OF_BATCH), 0), np.int64)
    if not every.shape[1]:
        return None
    base, last, *_, time = every
    first = [
        np.flatnonzero(after)
        for after in _compared(np.greater_equal, (time, bounds.since), (last, bounds.first_offset))
    ]
    at = max([0, *(int(rows[0]) if len(rows) else every.shape[1] - 1 for rows in first)])
    wanted = from_offset = int(base[at])
    if at:
        from_offset = min([wanted, *(start for start, end in begun if start < wanted <= end)])
    end = int(last[-1])
    for before in _compared(np.less_equal, (time, bounds.until), (base, bounds.last_offset)):
        kept = np.flatnonzero(before)
        end = min(end, int(last[kept[-1]]) if len(kept) else int(base[0]) - 1)
    from_offset = min(from_offset, end + 1)
    is_cut_at_start, is_cut_at_end = from_offset > int(base[0]), end < int(last[-1])
    if not (is_cut_at_start or is_cut_at_end):
        return None
    found = tuple(_kept(segments, tables, from_offset, end))
    begins = found[0].first_offset if found else max(from_offset, end + 1)
    moved = wanted if from_offset < wanted else None
    return CutLog(found, begins, end + 1, is_cut_at_start, is_cut_at_end, moved)


def _compared(how: Any, *pairs: tuple[Any, int | None]) -> Iterator[Any]:
    """Yield which batches are within each bound that is set."""
    return (how(column, bound) for column, bound in pairs if bound is not None)


def _batches(path: str, size: int) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    parts = []
    for chunk in segment_chunks(path, max_bytes=size):
        heads = chunk.heads.numpy()
        parts.append(heads[:, heads[buffers.VALID] != 0][list(_OF_BATCH)].astype(np.int64))
    found = np.concatenate(parts, axis=1) if parts else np.empty((len(_OF_BATCH), 0), np.int64)
    found[0] = np.where(found[0] < 0, found[1], found[0])  # a compressed message of magic 0 or 1 has its last one alone
    return found


def _kept(
    segments: Sequence[tuple[str, int, int]], tables: Sequence[np.ndarray[tuple[int, ...], np.dtype[np.int64]]],
    first: int, last: int,
) -> Iterator[CutSegment]:  # fmt: skip
    """Yield what is kept of each segment; damaged bytes between two batches that stay, stay."""
    for (path, _, size), table in zip(segments, tables, strict=True):
        base, ends, position, length, _ = table
        rows = np.flatnonzero((ends >= first) & (base <= last))
        if not len(rows):
            continue
        low, high = int(rows[0]), int(rows[-1])
        from_start = low == 0
        start = 0 if from_start else int(position[low])
        stop = size if high == table.shape[1] - 1 else int(position[high] + length[high])
        name = os.path.basename(path) if from_start else f"{int(base[low]):020}.log"
        yield CutSegment(path, name, start, stop, int(base[low]), int(ends[high]), start > 0 or stop < size)


class WrittenTo(NamedTuple):
    """The end of a segment that a broker writes to, as it was copied: its size in bytes, and its last offset."""

    base_offset: int
    size: int
    last_offset: int


def written_to(base_offset: int, size: int, read: Callable[[int, int], bytes], index: bytes) -> WrittenTo:
    """Return where the first `size` bytes of a segment end; `read` gives its bytes, `index` has places of batches."""
    places = [position for _, position in OFFSET_INDEX_ENTRY.packed.iter_unpack(_whole(index, OFFSET_INDEX_ENTRY.size))]
    start = max((one for one in places if 0 < one < size), default=0)
    last = base_offset - 1
    for chunk in scan(read(start, size - start)):
        for row in range(chunk.heads.count):
            last = max(
                last, chunk.heads.cell(buffers.LAST_OFFSET, row) if chunk.heads.cell(buffers.VALID, row) else last
            )
    return WrittenTo(base_offset, size, last)


def index_up_to(kind: FileKind, data: bytes, end: WrittenTo) -> bytes:
    """Return an index without the entries of what was appended after a segment's end; zeros are in their place."""
    layout = {FileKind.OFFSET_INDEX: OFFSET_INDEX_ENTRY, FileKind.TIME_INDEX: TIME_INDEX_ENTRY}.get(kind, ABORTED_TXN)
    kept = 0
    for one, two, *others in layout.packed.iter_unpack(_whole(data, layout.size)):
        offset = end.base_offset + (one if kind is FileKind.OFFSET_INDEX else two) if not others else others[1]
        if offset > end.last_offset or (kind is FileKind.OFFSET_INDEX and two >= max(end.size, 1)):
            break
        kept += layout.size
    else:
        return data
    return data[:kept] if kind is FileKind.TXN_INDEX else data[:kept] + bytes(len(data) - kept)


def _whole(data: bytes, size: int) -> bytes:
    """Return the whole entries of an index up to the last that is not zero: brokers preallocate megabytes."""
    used = -(-len(data.rstrip(b"\0")) // size) * size
    return data[: min(used, len(data) // size * size)]


def with_epochs(data: bytes, log: CutLog) -> bytes:
    """Return a leader-epoch-checkpoint as a broker leaves it that cut a log at its start and its end.

    What is malformed stays as it is.
    """
    try:
        version, _, *lines = data.decode().splitlines()
        entries = [(int(epoch), int(start)) for epoch, start in (line.split() for line in lines)]
    except ValueError:
        return data
    before = [one for one in entries if one[1] <= log.first_offset]
    kept = [(before[-1][0], log.first_offset)] if before else []
    kept += [one for one in entries if log.first_offset < one[1] < log.end_offset]
    return "".join(
        f"{line}\n" for line in (version, len(kept), *(f"{epoch} {start}" for epoch, start in kept))
    ).encode()


def with_offsets(
    data: bytes, left_out: Collection[tuple[str, int]], cut: Mapping[tuple[str, int], CutLog], *, of_start: bool
) -> bytes:  # fmt: skip
    """Return a checkpoint of offsets without the partitions that were left out, and with offsets that cut ones have.

    `of_start` says that it has the logs' beginnings. What is malformed stays as it is.
    """
    try:
        version, _, *lines = data.decode().splitlines()
        rows = [(topic, int(number), int(offset)) for topic, number, offset in (one.split(" ") for one in lines)]
    except ValueError:
        return data
    said = []
    for topic, number, offset in rows:
        if (topic, number) in left_out:
            continue
        log = cut.get((topic, number))
        if log is not None:
            offset = max(offset, log.first_offset) if of_start else min(offset, log.end_offset)  # noqa: PLW2901  # it is what is kept of it
        said.append(f"{topic} {number} {offset}")
    if len(said) == len(rows) and not cut:
        return data
    return "".join(f"{line}\n" for line in (version, len(said), *said)).encode()

"""Copying the provably whole batches of a segment, byte for byte: never renumbered, never recompressed."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kafkalog.errors import UnreadableError
from kafkalog.findings import Finding
from kafkalog.format import batch_headers, kernel
from kafkalog.format.batch import CellTable
from kafkalog.log.chunk import Chunk, Limits
from kafkalog.log.cursor import CHUNK_ROOM
from kafkalog.log.files import Source, open_source
from kafkalog.log.names import FileKind, parse_name
from kafkalog.log.segment import batch_positions, scan_source
from kafkalog.log.stretches import Stretch, Stretches, stretches
from kafkalog.log.window import WINDOW
from kafkalog.tables.salvage import GRADES, REASONS

__all__ = ["TAKEN", "Salvaged", "SalvagedStretches", "salvage", "salvaged"]

TAKEN: Final = frozenset({"anchored", "chained"})  # the grades that are copied by default
_SMALL: Final = 1 << 16  # bytes of a stretch that is read and written with others
_ISOLATED: Final = GRADES.index("isolated")
_BELIEVED_END: Final = REASONS.index("believed-end")  # after it come those that a finding is about
_SUPPORT: Final = {
    "index-entry": "the segment's index has an entry at this position",
    "expected-offset": "the header of the damaged batch leads to the first offset here",
    "neighbours-met": "the offsets fit those before and after",
    "offsets-go-on": "the offsets continue from batch to batch",
    "no-witness": "nothing but the CRC shows that it belongs to the log",
}


class Salvaged(NamedTuple):
    """A stretch of a segment, and whether it was copied."""

    stretch: Stretch
    taken: bool


class SalvagedStretches(NamedTuple):
    """Stretches of a segment that follow one another, and which of them were copied."""

    file: str
    stretches: Stretches
    taken: NDArray[np.bool_]

    def findings(self) -> dict[str, NDArray[np.int64]]:
        """Return which of them have a finding, by its code: those that were found after damage."""
        grades, reasons = self.stretches.grades, self.stretches.reasons
        found = (grades >= 0) & (reasons > _BELIEVED_END)
        return {
            "stretch-isolated": np.flatnonzero(found & (grades == _ISOLATED)),
            "stretch-regained": np.flatnonzero(found & (grades != _ISOLATED)),
        }

    def finding(self, code: str, row: int) -> Finding:
        """Make the finding of this code about one of them."""
        stretch = self.stretches.at(row)
        what = "1 whole batch" if stretch.batches == 1 else f"{stretch.batches} whole batches"
        return Finding.of(
            code,
            self.file,
            f"{what} after damage, up to offset {stretch.last_offset}: {stretch.grade}, because"
            f" {_SUPPORT[stretch.reason]} ({stretch.reason})",
            position=stretch.position,
            length=stretch.size,
            offset=stretch.first_offset,
            last_offset=stretch.last_offset,
            found=stretch.grade,
        )


def salvage(
    path: str | os.PathLike[str],
    write: Callable[[memoryview], object],
    *,
    limits: Limits | None = None,
    grades: Collection[str] = TAKEN,
) -> Iterator[Salvaged | Finding]:
    """Yield the stretches of a segment in file order, and the findings; those of `grades` go to `write`, byte for byte.

    The sizes of the stretches add up to the file's size. Every CRC is computed again before its batch is written.
    Raises UnreadableError if the file can't be read, or changes in between.
    """
    for item in salvaged(path, write, limits=limits, grades=grades):
        if isinstance(item, Chunk):
            yield from item.findings
            continue
        codes = {row: code for code, rows in item.findings().items() for row in rows.tolist()}
        for row, taken in enumerate(item.taken.tolist()):
            if row in codes:
                yield item.finding(codes[row], row)
            yield Salvaged(item.stretches.at(row), taken)


def salvaged(
    path: str | os.PathLike[str],
    write: Callable[[memoryview], object],
    *,
    limits: Limits | None = None,
    grades: Collection[str] = TAKEN,
) -> Iterator[SalvagedStretches | Chunk]:
    """Salvage a segment, as `salvage` does; its stretches are columns, and a chunk is yielded for its findings."""
    name = parse_name(Path(path).name)
    base_offset = name.offset if name.kind is FileKind.LOG else None
    hints = batch_positions(path)
    source = open_source(path)
    try:
        chunks = scan_source(source, limits=limits, base_offset=base_offset, hints=lambda: hints)
        copier = _Copier(source, write, limits)
        wanted = [GRADES.index(grade) for grade in grades]
        for item in stretches(chunks, size=source.size, base_offset=base_offset, hints=hints):
            if isinstance(item, Chunk):
                yield item
                continue
            taken = np.isin(item.grades, wanted)
            copier.copy(item, np.flatnonzero(taken))
            yield SalvagedStretches(source.name, item, taken)
    finally:
        source.close()


class _Copier:
    """Reads stretches again and writes them; raises if one no longer has the batches that it had when it was graded."""

    def __init__(self, source: Source, write: Callable[[memoryview], object], limits: Limits | None) -> None:
        self._source = source
        self._write = write
        self._limits = limits
        self._heads = CellTable(len(kernel.BATCH_COLUMNS), CHUNK_ROOM)

    def copy(self, parts: Stretches, rows: NDArray[np.int64]) -> None:
        """Copy these of the stretches; small ones are read and written together."""
        waiting: list[_Extent] = []
        columns = (parts.positions, parts.sizes, parts.batches)
        for cells in zip(*(column[rows].tolist() for column in columns), strict=True):
            part = _Extent(*cells)
            is_large = part.size > _SMALL or part.batches > CHUNK_ROOM
            if waiting and (is_large or part.position + part.size - waiting[0].position > WINDOW):
                self._small(waiting)
                waiting.clear()
            if is_large:
                self._large(part)
            else:
                waiting.append(part)
        if waiting:
            self._small(waiting)

    def _small(self, parts: Sequence[_Extent]) -> None:
        begin, heads, pieces = parts[0].position, self._heads, []
        data = memoryview(self._source.read(begin, parts[-1].position + parts[-1].size - begin))
        for part in parts:
            start = part.position - begin
            stop = start + part.size
            if stop > len(data):
                raise self._changed(part)
            count, at, _ = batch_headers.read(data, start, stop, begin, heads.cells, heads.capacity, 0)
            if (count, at) != (part.batches, stop):
                raise self._changed(part)
            pieces.append(data[start:stop])
        self._write(memoryview(b"".join(pieces)))

    def _large(self, part: _Extent) -> None:
        batches = 0
        for chunk in scan_source(_Part(self._source, part.position, part.size), limits=self._limits):
            if chunk.goes_on_at is not None or 0 in chunk.heads.column(kernel.VALID):
                break
            batches += chunk.heads.count
            if chunk.heads.count:
                self._write(_bytes_of(chunk))
        if batches != part.batches:
            raise self._changed(part)

    def _changed(self, part: _Extent) -> UnreadableError:
        return UnreadableError(f"{self._source.name}: the file changed while it was read, at position {part.position}")


class _Extent(NamedTuple):
    """Where a stretch is, and how many batches it has."""

    position: int
    size: int
    batches: int


def _bytes_of(chunk: Chunk) -> memoryview:
    """Return the bytes of a chunk's batches, which are consecutive."""
    last = chunk.heads.count - 1
    start = chunk.heads.cell(kernel.POSITION, 0) - chunk.position
    stop = chunk.heads.cell(kernel.POSITION, last) + chunk.heads.cell(kernel.SIZE, last) - chunk.position
    return chunk.buf[start:stop]


class _Part:
    """A part of a source, as a source of its own."""

    is_cut = False

    def __init__(self, source: Source, position: int, size: int) -> None:
        self.name = source.name
        self.size: int | None = size
        self._source = source
        self._position = position
        self._stop = position + size

    def read_into(self, position: int, view: memoryview, least: int, /) -> int:
        room = max(0, self._stop - self._position - position)
        return self._source.read_into(self._position + position, view[:room], min(least, room))

    def read(self, position: int, size: int) -> bytes:
        return self._source.read(self._position + position, max(0, min(size, self._stop - self._position - position)))

    def release(self, position: int) -> None: ...

    def close(self) -> None: ...

    def changes(self) -> None: ...

"""Copying the provably whole batches of a segment, byte for byte: never renumbered, never recompressed."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

from kafkalog.errors import UnreadableError
from kafkalog.findings import Finding
from kafkalog.format import kernel
from kafkalog.log.chunk import Chunk, Limits
from kafkalog.log.files import Source, open_source
from kafkalog.log.names import FileKind, parse_name
from kafkalog.log.segment import batch_positions, scan_source
from kafkalog.log.stretches import Stretch, stretches
from kafkalog.tables.salvage import STRETCHES

__all__ = ["TAKEN", "Salvaged", "salvage"]

TAKEN: Final = frozenset({"anchored", "chained"})  # the grades that are copied by default
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

    def row(self, file: str) -> tuple[Any, ...]:
        """Make it a row of the table ``stretches``."""
        part = self.stretch
        return STRETCHES.of(
            file=file,
            position=part.position,
            size_bytes=part.size,
            batches=part.batches,
            records=part.records,
            first_offset=part.first_offset,
            last_offset=part.last_offset,
            grade=part.grade,
            taken=self.taken,
            reason=part.reason,
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
    name = parse_name(Path(path).name)
    base_offset = name.offset if name.kind is FileKind.LOG else None
    hints = batch_positions(path)
    source = open_source(path)
    try:
        chunks = scan_source(source, limits=limits, base_offset=base_offset, hints=lambda: hints)
        for item in stretches(chunks, size=source.size, base_offset=base_offset, hints=hints):
            if isinstance(item, Finding):
                yield item
                continue
            taken = item.grade in grades
            if taken:
                _copy(source, item, write, limits)
            if finding := _finding(source.name, item):
                yield finding
            yield Salvaged(item, taken)
    finally:
        source.close()


def _finding(file: str, stretch: Stretch) -> Finding | None:
    """Make the finding for a stretch that was found after damage."""
    if stretch.grade is None or stretch.reason in ("file-start", "believed-end"):
        return None
    code = "stretch-isolated" if stretch.grade == "isolated" else "stretch-regained"
    what = "1 whole batch" if stretch.batches == 1 else f"{stretch.batches} whole batches"
    return Finding.of(
        code,
        file,
        f"{what} after damage, up to offset {stretch.last_offset}: {stretch.grade}, because {_SUPPORT[stretch.reason]}"
        f" ({stretch.reason})",
        position=stretch.position,
        length=stretch.size,
        offset=stretch.first_offset,
        last_offset=stretch.last_offset,
        found=stretch.grade,
    )


def _copy(source: Source, stretch: Stretch, write: Callable[[memoryview], object], limits: Limits | None) -> None:
    """Read a stretch again and write it; raise if it no longer has the batches that it had when it was graded."""
    batches = 0
    for chunk in scan_source(_Part(source, stretch.position, stretch.size), limits=limits):
        if chunk.goes_on_at is not None or 0 in chunk.heads.column(kernel.VALID):
            break
        batches += chunk.heads.count
        if chunk.heads.count:
            write(_bytes_of(chunk))
    if batches != stretch.batches:
        raise UnreadableError(f"{source.name}: the file changed while it was read, at position {stretch.position}")


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

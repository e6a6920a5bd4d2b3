"""Copying the provably whole batches of a segment, byte for byte: never renumbered, never recompressed.

A batch is whole if its CRC matches. After damage that is not enough: a producer's record may contain the bytes of a
whole batch. So a stretch after damage needs other support; without any it is ``isolated``.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from kafkalog.columns.sorted_rows import runs
from kafkalog.errors import UnreadableError
from kafkalog.files.limits import Limits
from kafkalog.files.names import FileKind, parse_name
from kafkalog.files.opening import Source, open_source
from kafkalog.findings import Bytes, Finding
from kafkalog.kafka.batch import believed_counts
from kafkalog.kernel import buffers
from kafkalog.segments.chunk import Chunk, Resumed
from kafkalog.segments.cursor import allowed_offsets
from kafkalog.segments.segment import batch_positions, scan_source
from kafkalog.tables.dump_tables import STRETCHES

__all__ = ["TAKEN", "SalvageSums", "Salvaged", "Stretch", "salvage", "stretches"]

TAKEN: Final = frozenset({"anchored", "chained"})  # the grades that are copied by default

_GRADE: Final = {
    "file-start": "anchored",
    "believed-end": "anchored",
    "index-entry": "anchored",
    "expected-offset": "anchored",
    "neighbours-met": "anchored",
    "offsets-go-on": "chained",
    "no-witness": "isolated",
}

# What supports a stretch that is found after damage.
_SUPPORT: Final = {
    "index-entry": "the segment's index has an entry at this position",
    "expected-offset": "the header of the damaged batch leads to the first offset here",
    "neighbours-met": "the offsets fit those before and after",
    "offsets-go-on": "the offsets continue from batch to batch",
    "no-witness": "nothing but the CRC shows that it belongs to the log",
}

_HELD: Final = 4096  # parts that wait until it is known what follows; with more, the earlier ones are decided


class Stretch(NamedTuple):
    """Consecutive batches, or bytes outside batches (`batches` is 0).

    `records` is None if wrappers of magic 0 or 1 would have to be decompressed to count them, `first_offset` if the
    first batch is a wrapper. `grade` is ``anchored``, ``chained`` or ``isolated``, None if nothing is whole; `reason`
    says what supports the stretch, or is the code of the finding against it.
    """

    position: int
    size: int
    batches: int
    records: int | None
    first_offset: int | None
    last_offset: int | None
    grade: str | None
    reason: str

    def finding(self, file: str) -> Finding | None:
        """Make the finding about whole batches that were found after damage; None for other stretches."""
        if self.reason not in _SUPPORT:
            return None
        what = "1 whole batch" if self.batches == 1 else f"{self.batches} whole batches"
        return Finding.of(
            "stretch-isolated" if self.grade == "isolated" else "stretch-regained",
            file,
            f"{what} after damage, up to offset {self.last_offset}: {self.grade}, because {_SUPPORT[self.reason]}"
            f" ({self.reason})",
            position=self.position,
            length=self.size,
            offset=self.first_offset,
            last_offset=self.last_offset,
            found=self.grade,
        )


class Salvaged(NamedTuple):
    """A stretch of a segment, and whether it was copied."""

    stretch: Stretch
    taken: bool

    def row(self, file: str) -> tuple[Any, ...]:
        """Make it a row of the table ``stretches``."""
        stretch = self.stretch
        return STRETCHES.of(
            file=file,
            position=stretch.position,
            size_bytes=stretch.size,
            batches=stretch.batches,
            records=stretch.records,
            first_offset=stretch.first_offset,
            last_offset=stretch.last_offset,
            grade=stretch.grade,
            taken=self.taken,
            reason=stretch.reason,
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

    Positions and sizes are bytes. `limits` bound the memory of a batch, in bytes; by default they are those of
    `Limits()`.

    >>> kept = bytearray()
    >>> path = "fixtures/v2.8-hanging/data/ledger-1/00000000000000000000.log"
    >>> [item.stretch.size for item in kafkalog.salvage(path, kept.extend)]
    [873]
    """
    name = parse_name(Path(path).name)
    base_offset = name.offset if name.kind is FileKind.LOG else None
    hints = batch_positions(path)
    with closing(open_source(path)) as source:
        chunks = scan_source(source, limits=limits, base_offset=base_offset, hints=lambda: hints)
        for item in stretches(chunks, size=source.size, base_offset=base_offset, hints=hints):
            if isinstance(item, Chunk):
                yield from item.findings
                continue
            taken = item.grade in grades
            if taken:
                _copy(source, item, write, limits)
            if finding := item.finding(source.name):
                yield finding
            yield Salvaged(item, taken)


def stretches(
    chunks: Iterator[Chunk], *, size: int, base_offset: int | None = None, hints: Collection[int] = ()
) -> Iterator[Stretch | Chunk]:
    """Cut a segment of `size` bytes into stretches, in file order and without a hole; each chunk comes before its own.

    `base_offset` is the lowest offset that belongs there, if known; `hints` are the positions of batches by the index
    beside the segment.
    """
    before = None if base_offset is None else base_offset - 1
    order, grader = _Order(before), _Grader(before, frozenset(hints), size)
    for item in _parts(chunks, size, base_offset):
        if isinstance(item, Chunk):
            yield item
            continue
        for part in order.take(item):
            yield from grader.take(part)
    for part in order.waiting:
        yield from grader.take(part)
    yield from grader.last()


# A segment as parts: batches whose offsets continue without a gap, and bytes outside batches.


@dataclass(slots=True)
class _Part:
    """Batches whose offsets continue without a gap, or bytes outside batches; the fields are those of a stretch.

    `resumed` is set where reading goes on after damage; `goes_back` says whether offsets go back from the highest
    before; `reason` is the reason against the part, and later what supports it.
    """

    position: int
    size: int
    reason: str | None = None
    batches: int = 0
    records: int | None = 0
    first_offset: int | None = None
    last_offset: int = -1
    goes_back: bool = False
    resumed: Resumed | None = None

    @property
    def stop(self) -> int:
        """Return the position after it."""
        return self.position + self.size

    @property
    def fits(self) -> bool:
        """Say whether it is whole batches with nothing against them."""
        return self.batches > 0 and self.reason is None

    @property
    def low(self) -> int:
        """Return the lowest offset that is known."""
        return self.last_offset if self.first_offset is None else self.first_offset

    def add(self, after: _Part) -> None:
        """Add the part that follows."""
        self.size += after.size
        self.batches += after.batches
        is_known = self.records is not None and after.records is not None
        self.records = (self.records or 0) + (after.records or 0) if is_known else None
        self.last_offset = after.last_offset

    def is_continued(self, after: _Part) -> bool:
        """Say whether the whole batches that follow continue the offsets."""
        if not (self.fits and after.fits) or after.resumed is not None or after.goes_back != self.goes_back:
            return False
        if after.first_offset is None:
            return after.last_offset > self.last_offset
        return after.first_offset == self.last_offset + 1

    def stretch(self) -> Stretch:
        """Make it a stretch, once its reason is known."""
        assert self.reason is not None
        first, last = (self.first_offset, self.last_offset) if self.batches else (None, None)
        return Stretch(
            self.position, self.size, self.batches, self.records, first, last, _GRADE.get(self.reason), self.reason
        )


def _parts(chunks: Iterator[Chunk], size: int, base_offset: int | None) -> Iterator[Chunk | _Part]:
    """Cut a segment of `size` bytes into parts, without a hole; each chunk comes before the parts that it decides.

    `base_offset` is the lowest offset that belongs there, if known.
    """
    cutter, at = _Cutter(base_offset), 0
    newest: _Part | None = None
    for chunk in chunks:
        yield chunk
        for part in cutter.cut(chunk):
            if part.stop <= at:  # another finding is about the same bytes
                continue
            if newest is not None and part.position <= at and newest.is_continued(part):
                newest.add(part)
            else:
                if newest is not None:
                    yield newest
                if part.position > at:
                    yield _changed(at, part.position)
                newest = part
            at = part.stop
    if newest is not None:
        yield newest
    if at < size:
        yield _changed(at, size)


def _changed(start: int, stop: int) -> _Part:
    """Fill a hole that a file leaves that changed while it was read."""
    return _Part(start, stop - start, "file-changed")


class _Cutter:
    """Cuts chunk after chunk into parts of batches and parts of other bytes; those of two are not joined yet."""

    def __init__(self, base_offset: int | None) -> None:
        self._lowest, self._highest = allowed_offsets(base_offset)
        self._top = self._lowest - 1
        self._resumed: dict[int, Resumed] = {}  # where reading goes on, by the position

    def cut(self, chunk: Chunk) -> list[_Part]:
        """Return the parts of a chunk, in the file's order."""
        for resumed in chunk.resumed:
            self._resumed[resumed.position] = resumed
        lost = [_Part(finding.position or 0, finding.length or 0, finding.code) for finding in chunk.findings
                if _is_lost(finding)]  # fmt: skip
        found = sorted([*self._batches(chunk), *lost], key=lambda part: part.position)
        self._resumed = dict(list(self._resumed.items())[-1:])  # it may be in the next chunk
        return found

    def _batches(self, chunk: Chunk) -> Iterator[_Part]:
        """Yield consecutive batches without a gap; their CRCs match."""
        if not chunk.heads.count:
            return
        heads = chunk.heads.numpy()
        positions, sizes, valid, bases, lasts = heads[_HEADS]
        counts = believed_counts(heads)
        is_wrapper = bases == buffers.NONE
        lows = np.where(is_wrapper, lasts, bases)
        inside = (lows >= self._lowest) & (lasts <= self._highest)
        seen = np.where(inside & (valid > 0), lasts, self._top)
        goes_back = lows <= np.maximum.accumulate(np.concatenate(([self._top], seen)))[:-1]
        follows = (positions[1:] == positions[:-1] + sizes[:-1]) & (lasts[1:] >= bases[1:])
        follows &= np.where(is_wrapper[1:], lasts[1:] > lasts[:-1], bases[1:] == lasts[:-1] + 1)
        for column in (valid, inside, goes_back):
            follows &= column[1:] == column[:-1]
        unfit = next((finding.code for finding in chunk.findings if _is_unfit(finding)), None)
        is_uncounted = is_wrapper | (counts == buffers.NONE)
        for start, stop in zip(*(rows.tolist() for rows in runs(np.append(True, ~follows))), strict=True):
            if not valid[start]:
                continue
            position, last = int(positions[start]), int(lasts[stop - 1])
            part = _Part(
                position, int(positions[stop - 1] + sizes[stop - 1]) - position,
                unfit or (None if inside[start] else "offset-outside-segment"), stop - start,
                None if is_uncounted[start:stop].any() else int(counts[start:stop].sum()),
                None if is_wrapper[start] else int(bases[start]), last, bool(goes_back[start]),
                self._resumed.get(position),
            )  # fmt: skip
            if part.fits:
                self._top = max(self._top, last)
            yield part


_HEADS: Final = [buffers.POSITION, buffers.SIZE, buffers.VALID, buffers.BASE_OFFSET, buffers.LAST_OFFSET]


def _is_lost(finding: Finding) -> bool:
    """Say whether a finding is about bytes that are not a whole batch."""
    return finding.bytes in (Bytes.LOST, Bytes.SUSPECT) and finding.length is not None


def _is_unfit(finding: Finding) -> bool:
    """Say whether a batch with a matching CRC can't be taken: no reader accepts it as it is, or it was not read."""
    return finding.bytes is Bytes.WHOLE or (finding.bytes is Bytes.LOST and finding.length is None)


class _Order:
    """Rules out batches whose offsets go back; those that belong here have offsets above `last`.

    If two parts contradict each other, the one with more batches is believed; with equally many, the first one if its
    offset follows what came before, otherwise the second.
    """

    def __init__(self, last: int | None) -> None:
        self.waiting: list[_Part] = []
        self._last = last  # offset that is believed for good
        self._newest: _Part | None = None  # the first that waits, believed until something contradicts it

    def take(self, part: _Part) -> list[_Part]:
        """Add the next part; return those that are decided."""
        decided: list[_Part] = []
        if part.fits:
            newest = self._newest
            is_contradicted = newest is not None and part.low <= newest.last_offset
            if (self._last is not None and part.low <= self._last) or (
                newest is not None and is_contradicted and not self._outweighs(part, newest)
            ):
                part.reason = "offset-not-increasing"
            else:
                if newest is not None and is_contradicted:
                    newest.reason = "offset-not-increasing"
                elif newest is not None:
                    self._last = newest.last_offset
                decided, self.waiting = self.waiting, []
                self._newest = part
        self.waiting.append(part)
        if len(self.waiting) - (self._newest is not None) > _HELD:
            if self._newest is not None:
                self._last, self._newest = self._newest.last_offset, None
            decided, self.waiting = decided + self.waiting, []
        return decided

    def _outweighs(self, part: _Part, newest: _Part) -> bool:
        """Say whether `part` is believed and not `newest`, which it contradicts."""
        if part.batches != newest.batches:
            return part.batches > newest.batches
        return self._last is not None and newest.low != self._last + 1


class _Grader:
    """Joins parts to stretches and grades each, once it is known which offset follows it."""

    def __init__(self, before: int | None, hints: Collection[int], size: int) -> None:
        self._before = before  # the last offset before, of batches that have support
        self._hints = hints
        self._size = size
        self._waiting: list[_Part] = []  # the newest stretch, and what comes after it
        self._newest: _Part | None = None
        self._stop = 0  # of the whole batches so far
        self._reason: str | None = "file-start"  # what supports them, None if nothing does

    def take(self, part: _Part) -> Iterator[Stretch]:
        """Add a part; yield the stretches that are decided."""
        newest = self._newest
        if part.fits:
            is_alone = newest is not None and len(self._waiting) == 1
            if newest is not None and is_alone and part.resumed is None and part.position == newest.stop:
                newest.add(part)
                return
            follows = newest is not None and part.first_offset == newest.last_offset + 1
            yield from self._graded(is_followed=follows)
            self._newest = part
        self._waiting.append(part)
        if len(self._waiting) - (self._newest is not None) > _HELD:
            yield from self._graded(is_followed=False)

    def last(self) -> Iterator[Stretch]:
        """Yield the stretches that are left: the file ends."""
        is_at_end = bool(self._waiting) and self._waiting[-1] is self._newest and self._waiting[-1].stop == self._size
        yield from self._graded(is_followed=is_at_end)

    def _graded(self, *, is_followed: bool) -> Iterator[Stretch]:
        """Grade all that waits; say whether the offset after the newest stretch, or the file's end, follows it."""
        for part in self._waiting:
            if part.batches:
                self._grade(part, is_followed=is_followed)
            yield part.stretch()
        self._waiting.clear()
        self._newest = None

    def _grade(self, part: _Part, *, is_followed: bool) -> None:
        """Say what supports a part of batches, if nothing is against it: what supports those before, or its own."""
        goes_on = part.resumed is None and part.position == self._stop
        self._stop = part.stop
        is_proved = part.resumed is not None and part.resumed.is_proved
        if part.reason is not None:
            if not goes_on:
                self._reason = "believed-end" if is_proved else None
            return
        if not goes_on or self._reason is None:
            self._reason = self._own_support(part, is_followed=is_followed)
        if self._reason != "no-witness":
            self._before = part.last_offset
        part.reason = self._reason

    def _own_support(self, part: _Part, *, is_followed: bool) -> str:
        first, resumed = part.first_offset, part.resumed
        if resumed is not None and resumed.is_proved:
            return "believed-end"
        if part.position in self._hints:
            return "index-entry"
        if resumed is not None and first is not None and first == resumed.expected:
            return "expected-offset"
        if is_followed and self._before is not None and first == self._before + 1:
            return "neighbours-met"
        return "offsets-go-on" if part.batches > 1 else "no-witness"


def _copy(source: Source, stretch: Stretch, write: Callable[[memoryview], object], limits: Limits | None) -> None:
    """Read a stretch again and write it. Raises UnreadableError if it no longer has the batches that it had."""
    batches = 0
    for chunk in scan_source(_PartOfSource(source, stretch.position, stretch.size), limits=limits):
        if chunk.resumed or 0 in chunk.heads.column(buffers.VALID):
            break
        batches += chunk.heads.count
        if chunk.heads.count:
            write(_bytes_of(chunk))
    if batches != stretch.batches:
        raise UnreadableError(f"{source.name}: the file changed while it was read, at position {stretch.position}")


def _bytes_of(chunk: Chunk) -> memoryview:
    """Return the bytes of a chunk's batches, which are consecutive."""
    last = chunk.heads.count - 1
    start = chunk.heads.cell(buffers.POSITION, 0) - chunk.position
    stop = chunk.heads.cell(buffers.POSITION, last) + chunk.heads.cell(buffers.SIZE, last) - chunk.position
    return chunk.buf[start:stop]


class _PartOfSource:
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

    def read_bytes(self, position: int, size: int) -> bytes:
        return self._source.read_bytes(
            self._position + position, max(0, min(size, self._stop - self._position - position))
        )

    def release(self, position: int) -> None: ...

    def close(self) -> None: ...

    def changes(self) -> None: ...


class SalvageSums:
    """What a salvage copied and left out so far; `last` is the last offset copied, first the one before the segment."""

    def __init__(self, last: int) -> None:
        self.last = last
        self.batches = 0  # that were copied
        self.size = 0  # their bytes
        self.left: Counter[str] = Counter()  # bytes left out, by reason
        self.holes: list[int] = []  # the last offset before each place where something was left out
        self.lost_tail = False  # is something left out after all that was copied

    def add(self, part: Salvaged) -> None:
        """Add the stretch that follows."""
        stretch = part.stretch
        if part.taken:
            self.batches += stretch.batches
            self.size += stretch.size
            self.last = self.last if stretch.last_offset is None else stretch.last_offset
            self.lost_tail = False
            return
        self.left[stretch.reason] += stretch.size
        if stretch.reason != "tail-preallocated":
            if self.holes[-1:] != [self.last]:
                self.holes.append(self.last)
            self.lost_tail = True

"""A segment as stretches: consecutive whole batches, graded by what shows that they belong to the log, and the rest.

A batch is whole if its CRC matches. After damage that is not enough: a producer's record may contain the bytes of a
whole batch. So a stretch after damage needs other support; without any it is ``isolated``.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from kafkalog.findings import Bytes, Finding
from kafkalog.format import kernel
from kafkalog.log.chunk import Chunk, Resumed

__all__ = ["Stretch", "stretches"]

_HELD: Final = 4096  # parts that wait until it is known which offsets go back; with more, the earlier ones are believed
_BACK: Final = "offset-not-increasing"


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


@dataclass(slots=True)
class _Piece:
    """A part of the file: batches whose offsets continue without a gap; or, with `against`, something else."""

    position: int
    size: int
    batches: int = 0
    records: int | None = None
    first: int | None = None
    last: int = 0
    resumed: Resumed | None = None
    goes_back: bool = False  # from the highest offset before it
    against: str = ""

    @property
    def low(self) -> int:
        return self.last if self.first is None else self.first

    @property
    def stop(self) -> int:
        return self.position + self.size

    def join(self, piece: _Piece) -> None:
        """Add the piece after it."""
        self.size += piece.size
        self.batches += piece.batches
        self.records = None if self.records is None or piece.records is None else self.records + piece.records
        self.last = piece.last

    def stretch(self, grade: str | None, reason: str) -> Stretch:
        first, last = (self.first, self.last) if self.batches else (None, None)
        records = self.records if self.batches else 0
        return Stretch(
            self.position, self.size, self.batches, records=records, first_offset=first, last_offset=last,
            grade=grade, reason=reason,
        )  # fmt: skip


def stretches(
    chunks: Iterator[Chunk], *, size: int, base_offset: int | None = None, hints: Sequence[int] = ()
) -> Iterator[Stretch | Finding]:
    """Cut a segment of `size` bytes into stretches, in file order and without a hole; findings come in between.

    `base_offset` is the lowest offset that belongs there, if known; `hints` are the positions of batches by the index
    beside the segment.
    """
    findings: deque[Finding] = deque()
    pieces = _filled(_pieces_of(chunks, findings.append, _allowed(base_offset)), size)
    before = None if base_offset is None else base_offset - 1
    for stretch in _graded(_in_order(pieces, before), before, frozenset(hints), size):
        while findings:
            yield findings.popleft()
        yield stretch
    yield from findings


class _Allowed(NamedTuple):
    """The lowest and the highest offset that a segment may contain."""

    lowest: int
    highest: int


def _allowed(base_offset: int | None) -> _Allowed:
    """Return which offsets a segment may contain by its name."""
    if base_offset is None:
        return _Allowed(-(2**63), 2**63 - 1)
    return _Allowed(base_offset, min(base_offset + 2**31 - 1, 2**63 - 1))


def _pieces_of(chunks: Iterator[Chunk], report: Callable[[Finding], object], allowed: _Allowed) -> Iterator[_Piece]:
    """Cut the chunks into pieces of batches and pieces of other bytes; those of two chunks are not joined yet."""
    resumed: dict[int, Resumed] = {}
    top = max(allowed.lowest - 1, -(2**63))
    for chunk in chunks:
        found = []
        places = chunk.resumed if chunk.crowd is None else [*chunk.resumed, *chunk.crowd.resumed()]
        resumed |= {place.position: place for place in places}
        unfit = next((finding.code for finding in chunk.examined if _is_unfit(finding)), "")
        for piece in _pieces(chunk, unfit, allowed, top):
            piece.resumed = resumed.pop(piece.position, None)
            top = max(top, piece.last) if not piece.against else top
            found.append(piece)
        for finding in chunk.findings:
            report(finding)
            if _is_lost(finding):
                found.append(_Piece(finding.position or 0, finding.length or 0, against=finding.code))
        yield from sorted(found, key=lambda piece: piece.position)
        resumed = dict([resumed.popitem()]) if resumed else {}


def _is_lost(finding: Finding) -> bool:
    """Say whether a finding is about bytes that are not a whole batch."""
    return finding.bytes in (Bytes.LOST, Bytes.SUSPECT) and finding.length is not None


def _is_unfit(finding: Finding) -> bool:
    """Say whether a batch with a matching CRC can't be taken: no reader accepts it as it is, or it was not read."""
    return finding.bytes is Bytes.WHOLE or (finding.bytes is Bytes.LOST and finding.length is None)


def _pieces(chunk: Chunk, unfit: str, allowed: _Allowed, top: int) -> Iterator[_Piece]:
    heads = chunk.heads
    if not heads.count:
        return
    table = heads.numpy()
    positions, sizes, valid, counts = (
        table[number] for number in (kernel.POSITION, kernel.SIZE, kernel.VALID, kernel.COUNT)
    )
    bases, lasts = table[kernel.BASE_OFFSET], table[kernel.LAST_OFFSET]
    is_wrapper = bases == kernel.NONE
    follows = (positions[1:] == positions[:-1] + sizes[:-1]) & (valid[1:] == valid[:-1])
    follows &= np.where(is_wrapper[1:], lasts[1:] > lasts[:-1], bases[1:] == lasts[:-1] + 1) & (lasts[1:] >= bases[1:])
    lows = np.where(is_wrapper, lasts, bases)
    inside = (lows >= allowed.lowest) & (lasts <= allowed.highest)
    follows &= inside[1:] == inside[:-1]
    highest = np.maximum.accumulate(np.concatenate(([top], np.where(inside & (valid > 0), lasts, top))))
    goes_back = lows <= highest[:-1]
    follows &= goes_back[1:] == goes_back[:-1]
    starts = [0, *(np.flatnonzero(~follows) + 1).tolist()]
    for start, stop in zip(starts, [*starts[1:], heads.count], strict=True):
        if not valid[start]:
            continue
        some = slice(start, stop)
        yield _Piece(
            position=int(positions[start]),
            size=int(positions[stop - 1] + sizes[stop - 1] - positions[start]),
            batches=stop - start,
            records=None if is_wrapper[some].any() or (counts[some] == kernel.NONE).any() else int(counts[some].sum()),
            first=None if is_wrapper[start] else int(bases[start]),
            last=int(lasts[stop - 1]),
            goes_back=bool(goes_back[start]),
            against=unfit or ("" if inside[start] else "offset-outside-segment"),
        )


def _filled(pieces: Iterator[_Piece], size: int) -> Iterator[_Piece]:
    """Join pieces that continue, and fill the holes that a file leaves that changed while it was read."""
    held: _Piece | None = None
    at = 0
    for piece in pieces:
        if piece.stop <= at:  # another finding is about the same bytes
            continue
        if piece.position > at:
            if held is not None:
                yield held
            yield _Piece(at, piece.position - at, against="file-changed")
            held = None
        at = piece.stop
        if held is not None and _goes_on(held, piece):
            held.join(piece)
            continue
        if held is not None:
            yield held
        held = piece
    if held is not None:
        yield held
    if at < size:
        yield _Piece(at, size - at, against="file-changed")


def _goes_on(held: _Piece, piece: _Piece) -> bool:
    if not held.batches or not piece.batches or held.against or piece.against or piece.resumed is not None:
        return False
    if held.goes_back != piece.goes_back:
        return False
    return piece.last > held.last if piece.first is None else piece.first == held.last + 1


def _in_order(pieces: Iterator[_Piece], before: int | None) -> Iterator[_Piece]:
    """Rule out batches whose offsets go back; those that belong here have offsets above `before`.

    If two pieces contradict each other, the one with more batches is believed; with equally many, the first one if its
    offset follows what came before, otherwise the second.
    """
    last = before  # offset that is believed for good
    newest: _Piece | None = None  # believed until something contradicts it
    after: list[_Piece] = []  # what was ruled out after it
    for piece in pieces:
        if not piece.batches or piece.against:
            after.append(piece)
        elif (last is not None and piece.low <= last) or (
            newest is not None and piece.low <= newest.last and not _outweighs(piece, newest, last)
        ):
            piece.against = _BACK
            after.append(piece)
        else:
            if newest is not None and piece.low <= newest.last:
                newest.against = _BACK
            elif newest is not None:
                last = newest.last
            yield from [newest, *after] if newest is not None else after
            newest, after = piece, []
        if len(after) > _HELD:
            last = newest.last if newest is not None else last
            yield from [newest, *after] if newest is not None else after
            newest, after = None, []
    yield from [newest, *after] if newest is not None else after


def _outweighs(piece: _Piece, newest: _Piece, last: int | None) -> bool:
    """Say whether `piece` is believed and not `newest`, which it contradicts; `last` is the offset before both."""
    if piece.batches != newest.batches:
        return piece.batches > newest.batches
    return last is not None and newest.low != last + 1


def _graded(pieces: Iterator[_Piece], before: int | None, hints: frozenset[int], size: int) -> Iterator[Stretch]:
    """Join pieces to stretches and grade each, once it is known which offset follows it."""
    grader = _Grader(before, hints, size)
    for piece in pieces:
        yield from grader.take(piece)
    yield from grader.decided(None)


class _Grade(NamedTuple):
    """How far whole batches are believed, and what supports that."""

    word: str
    reason: str


class _Grader:
    """Keeps the newest stretch, and what comes after it, until the next one is met."""

    def __init__(self, before: int | None, hints: frozenset[int], size: int) -> None:
        self.before = before  # the last offset before, of batches that have support
        self.hints = hints
        self.size = size
        self.open: _Piece | None = None
        self.after: list[_Piece] = []
        self.stop = 0  # of the whole batches so far
        self.grade: _Grade | None = _Grade("anchored", "file-start")  # theirs, None if nothing supports them

    def take(self, piece: _Piece) -> Iterator[Stretch]:
        """Add the next piece; yields the stretches that it decides."""
        if not piece.batches or piece.against:
            self.after.append(piece)
            if len(self.after) > _HELD:
                yield from self.decided(None)
            return
        if self.open is not None and piece.resumed is None and piece.position == self.open.stop:
            self.open.join(piece)
            return
        yield from self.decided(piece.first)
        self.open = piece

    def decided(self, following: int | None) -> Iterator[Stretch]:
        """Yield the stretch that is kept, and what comes after it; the next one begins at the offset `following`."""
        if self.open is not None:
            self.grade = self._grade(self.open, following)
            self.stop = self.open.stop
            if self.grade.word != "isolated":
                self.before = self.open.last
            yield self.open.stretch(*self.grade)
        for piece in self.after:
            if piece.batches and piece.resumed is not None:
                self.grade = _Grade("anchored", "believed-end") if piece.resumed.is_proved else None
            elif piece.batches and piece.position != self.stop:
                self.grade = None
            self.stop = piece.stop if piece.batches else self.stop
            yield piece.stretch(None, piece.against)
        self.open, self.after = None, []

    def _grade(self, piece: _Piece, following: int | None) -> _Grade:
        if piece.resumed is None and piece.position == self.stop and self.grade is not None:
            return self.grade
        if piece.resumed is not None and piece.resumed.is_proved:
            return _Grade("anchored", "believed-end")
        if piece.position in self.hints:
            return _Grade("anchored", "index-entry")
        if piece.resumed is not None and piece.first is not None and piece.first == piece.resumed.expected:
            return _Grade("anchored", "expected-offset")
        is_last = not self.after and piece.stop == self.size
        meets = following == piece.last + 1 or (following is None and is_last)
        if meets and self.before is not None and piece.first == self.before + 1:
            return _Grade("anchored", "neighbours-met")
        return _Grade("chained", "offsets-go-on") if piece.batches > 1 else _Grade("isolated", "no-witness")

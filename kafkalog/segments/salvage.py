"""Copying the provably whole batches of a segment, byte for byte: never renumbered, never recompressed."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kafkalog.columns.sorted_rows import group_begins, runs
from kafkalog.columns.table import Columns
from kafkalog.errors import UnreadableError
from kafkalog.files.limits import Limits
from kafkalog.files.names import FileKind, parse_name
from kafkalog.files.opening import Source, open_source
from kafkalog.findings import Bytes, Finding
from kafkalog.kafka.batch import CellTable
from kafkalog.kernel import buffers, headers
from kafkalog.segments.chunk import Chunk
from kafkalog.segments.cursor import CHUNK_ROOM, WINDOW, allowed_offsets
from kafkalog.segments.segment import batch_positions, scan_source
from kafkalog.tables.arrow import Numbers
from kafkalog.tables.dump_tables import GRADES, REASONS

__all__ = [
    "BACK",
    "BATCHES",
    "EXPECTED",
    "FIRST",
    "LAST",
    "POSITION",
    "PROVED",
    "REASON",
    "RECORDS",
    "RESUMED",
    "SIZE",
    "TAKEN",
    "SalvageSums",
    "Salvaged",
    "SalvagedStretches",
    "Stretch",
    "joined",
    "salvage",
    "salvaged",
    "stretch_at",
    "stretches",
]


# A segment as pieces, in columns: batches whose offsets continue without a gap, and bytes outside batches.
#
# A file may have a million of them, so a table of int64 has a column of it in each of its rows. `NONE` is no value.


# The rows of a table of pieces. RECORDS is NONE if wrappers of magic 0 or 1 would have to be decompressed to count
# them, FIRST if the first batch is a wrapper; RESUMED is not 0 where reading goes on after damage, at the offset
# EXPECTED by a damaged header; BACK says whether offsets go back from the highest before; REASON is the number of the
# reason against the piece.
POSITION, SIZE, BATCHES, RECORDS, FIRST, LAST, RESUMED, EXPECTED, BACK, REASON = range(10)

PROVED: Final = 2  # RESUMED: the bytes before prove that a batch begins there

NO_REASON: Final = -1

Pieces = NDArray[np.int64]

_NUMBERS: Final = {reason: number for number, reason in enumerate(REASONS)}

_CHANGED: Final = _NUMBERS["file-changed"]

_OUTSIDE: Final = _NUMBERS["offset-outside-segment"]


def no_pieces(count: int = 0) -> Pieces:
    """Return a table of `count` pieces without batches."""
    table = np.full((10, count), buffers.NONE)
    table[[BATCHES, RECORDS, RESUMED, BACK]] = 0
    table[REASON] = NO_REASON
    return table


def pieces_of(chunks: Iterator[Chunk], size: int, base_offset: int | None) -> Iterator[Chunk | Pieces]:
    """Cut a segment of `size` bytes into pieces, without a hole; each chunk comes before the pieces that it decides.

    `base_offset` is the lowest offset that belongs there, if known.
    """
    cutter, at, held = _Cutter(base_offset), 0, no_pieces()
    for chunk in chunks:
        yield chunk
        table = _filled(cutter.cut(chunk), at)
        if not table.shape[1]:
            continue
        at = int(table[POSITION, -1] + table[SIZE, -1])
        table = np.concatenate((held, table), axis=1)
        table = joined(table, _goes_on(table))
        held = table[:, -1:]
        if table.shape[1] > 1:
            yield table[:, :-1]
    if at < size:
        held = np.concatenate((held, _changed(np.array([at]), np.array([size]))), axis=1)
    yield held


def joined(table: Pieces, goes_on: NDArray[np.bool_]) -> Pieces:
    """Add each piece that goes on to the one before it; the first has no cell in `goes_on`."""
    if not goes_on.any():
        return table
    starts, stops = runs(np.append(True, ~goes_on))
    some = table[:, starts]
    some[[SIZE, BATCHES]] = np.add.reduceat(table[[SIZE, BATCHES]], starts, axis=1)
    is_unknown = np.logical_or.reduceat(table[RECORDS] == buffers.NONE, starts)
    some[RECORDS] = np.where(is_unknown, buffers.NONE, np.add.reduceat(table[RECORDS], starts))
    some[LAST] = table[LAST, stops - 1]
    return some


def _goes_on(table: Pieces) -> NDArray[np.bool_]:
    """Say for each piece but the first whether it is of whole batches that continue the one before."""
    fits = (table[BATCHES] > 0) & (table[REASON] == NO_REASON)
    before, after = table[:, :-1], table[:, 1:]
    continues = np.where(after[FIRST] == buffers.NONE, after[LAST] > before[LAST], after[FIRST] == before[LAST] + 1)
    goes_on: NDArray[np.bool_] = (
        fits[1:] & fits[:-1] & (after[RESUMED] == 0) & (after[BACK] == before[BACK]) & continues
    )
    return goes_on


def _filled(table: Pieces, at: int) -> Pieces:
    """Fill the holes from `at` on that a file leaves that changed while it was read; drop bytes that came before."""
    if not table.shape[1]:
        return table
    before = np.maximum.accumulate(np.concatenate(([at], table[POSITION] + table[SIZE])))
    is_new = before[1:] > before[:-1]  # otherwise another finding is about the same bytes
    if not is_new.all():
        table, before = table[:, is_new], before[np.append(is_new, True)]
    holes = np.flatnonzero(table[POSITION] > before[: table.shape[1]])
    if not len(holes):
        return table
    return np.insert(table, holes, _changed(before[holes], table[POSITION, holes]), axis=1)


def _changed(starts: NDArray[np.int64], stops: NDArray[np.int64]) -> Pieces:
    table = no_pieces(len(starts))
    table[POSITION], table[SIZE], table[REASON] = starts, stops - starts, _CHANGED
    return table


class _Cutter:
    """Cuts chunk after chunk into pieces of batches and pieces of other bytes; those of two are not joined yet."""

    def __init__(self, base_offset: int | None) -> None:
        self._lowest, self._highest = allowed_offsets(base_offset)
        self._top = self._lowest - 1
        self._resumed = np.zeros((3, 0), np.int64)  # where reading goes on: the position, RESUMED and EXPECTED

    def cut(self, chunk: Chunk) -> Pieces:
        """Return the pieces of a chunk, in the file's order."""
        self._resumed = np.concatenate((self._resumed[:, -1:], _resumed(chunk)), axis=1)
        lost = [finding for finding in chunk.findings if _is_lost(finding)]
        others = no_pieces(len(lost))
        others[POSITION] = [finding.position or 0 for finding in lost]
        others[SIZE] = [finding.length or 0 for finding in lost]
        others[REASON] = [_NUMBERS[finding.code] for finding in lost]
        tables = [table for table in (self._batches(chunk), others) if table.shape[1]]
        if len(tables) < 2:
            return tables[0] if tables else others
        table = np.concatenate(tables, axis=1)
        return table[:, np.argsort(table[POSITION], kind="stable")]

    def _batches(self, chunk: Chunk) -> Pieces:
        if not chunk.heads.count:
            return no_pieces()
        heads = chunk.heads.numpy()
        positions, sizes, valid, counts, bases, lasts = heads[_HEADS]
        is_wrapper = bases == buffers.NONE
        follows = (positions[1:] == positions[:-1] + sizes[:-1]) & (valid[1:] == valid[:-1])
        follows &= np.where(is_wrapper[1:], lasts[1:] > lasts[:-1], bases[1:] == lasts[:-1] + 1)
        follows &= lasts[1:] >= bases[1:]
        lows = np.where(is_wrapper, lasts, bases)
        inside = (lows >= self._lowest) & (lasts <= self._highest)
        follows &= inside[1:] == inside[:-1]
        seen = np.where(inside & (valid > 0), lasts, self._top)
        goes_back = lows <= np.maximum.accumulate(np.concatenate(([self._top], seen)))[:-1]
        follows &= goes_back[1:] == goes_back[:-1]
        starts, stops = runs(np.append(True, ~follows))
        ends = stops - 1
        if not valid.all():
            starts, ends = starts[valid[starts] > 0], ends[valid[starts] > 0]
        table = no_pieces(len(starts))
        if not len(starts):
            return table
        table[POSITION], table[FIRST], table[BACK] = positions[starts], bases[starts], goes_back[starts]
        table[SIZE] = positions[ends] + sizes[ends] - positions[starts]
        table[BATCHES], table[LAST] = ends - starts + 1, lasts[ends]
        is_unknown = is_wrapper | (counts == buffers.NONE)
        known, unknown = np.cumsum(np.where(is_unknown, 0, counts)), np.cumsum(is_unknown)
        table[RECORDS] = known[ends] - known[starts] + counts[starts]
        table[RECORDS, (unknown[ends] > unknown[starts]) | is_unknown[starts]] = buffers.NONE
        unfit = next((_NUMBERS[finding.code] for finding in chunk.findings if _is_unfit(finding)), None)
        table[REASON] = np.where(inside[starts], NO_REASON, _OUTSIDE) if unfit is None else unfit
        if (fits := table[REASON] == NO_REASON).any():
            self._top = max(self._top, int(table[LAST, fits].max()))
        self._mark_resumed(table)
        return table

    def _mark_resumed(self, table: Pieces) -> None:
        """Say which pieces begin where reading goes on after damage."""
        if not self._resumed.shape[1]:
            return
        places = np.searchsorted(self._resumed[0], table[POSITION], side="right") - 1
        found = np.flatnonzero((places >= 0) & (self._resumed[0, places] == table[POSITION]))
        table[RESUMED, found], table[EXPECTED, found] = self._resumed[1:, places[found]]


_HEADS: Final = [
    buffers.POSITION, buffers.SIZE, buffers.VALID, buffers.COUNT, buffers.BASE_OFFSET, buffers.LAST_OFFSET,
]  # fmt: skip


def _resumed(chunk: Chunk) -> NDArray[np.int64]:
    """Return where reading goes on after each damage of a chunk."""
    none = buffers.NONE
    rows = [(at, 1 + proved, none if expected is None else expected) for at, proved, expected in chunk.resumed]
    return np.array(rows, np.int64).reshape(-1, 3).T


def _is_lost(finding: Finding) -> bool:
    """Say whether a finding is about bytes that are not a whole batch."""
    return finding.bytes in (Bytes.LOST, Bytes.SUSPECT) and finding.length is not None


def _is_unfit(finding: Finding) -> bool:
    """Say whether a batch with a matching CRC can't be taken: no reader accepts it as it is, or it was not read."""
    return finding.bytes is Bytes.WHOLE or (finding.bytes is Bytes.LOST and finding.length is None)


# A segment as stretches: consecutive whole batches, graded by what shows that they belong to the log, and the rest.
#
# A batch is whole if its CRC matches. After damage that is not enough: a producer's record may contain the bytes of a
# whole batch. So a stretch after damage needs other support; without any it is ``isolated``.


_HELD: Final = 4096  # parts that wait until it is known which offsets go back; with more, the earlier ones are believed

_START, _PROVED, _INDEX, _EXPECTED, _MET, _GOES_ON, _ALONE, *_ = range(len(REASONS))

_GRADES: Final = np.array([0, 0, 0, 0, 0, 1, 2, *[-1] * (len(REASONS) - 7)], np.int8)  # by the reason

_BACK: Final = REASONS.index("offset-not-increasing")


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


def _stretches(pieces: Pieces) -> Columns:
    """Make stretches of graded pieces: `grade` is a number in GRADES, below 0 for none, `reason` one in REASONS."""
    cells = pieces[[POSITION, SIZE, BATCHES, RECORDS, FIRST, LAST, REASON, REASON]]
    cells[4:6, cells[2] == 0] = buffers.NONE
    cells[6] = _GRADES[cells[7]]
    return Columns.of_table(Stretch._fields, cells)


def stretch_at(rows: Columns, row: int) -> Stretch:
    """Return one of some stretches."""
    position, size, batches, records, first, last, grade, reason = next(
        rows.take(slice(row, row + 1)).tuples(*Stretch._fields)
    )
    return Stretch(
        position, size, batches, records=_known(records), first_offset=_known(first), last_offset=_known(last),
        grade=None if grade < 0 else GRADES[grade], reason=REASONS[reason],
    )  # fmt: skip


def _known(cell: int) -> int | None:
    return None if cell == buffers.NONE else cell


def stretches(
    chunks: Iterator[Chunk], *, size: int, base_offset: int | None = None, hints: Sequence[int] = ()
) -> Iterator[Columns | Chunk]:
    """Cut a segment of `size` bytes into stretches, in file order and without a hole; each chunk comes before its own.

    `base_offset` is the lowest offset that belongs there, if known; `hints` are the positions of batches by the index
    beside the segment.
    """
    before = None if base_offset is None else base_offset - 1
    order, grader = _Order(before), _Grader(before, hints, size)
    for item in pieces_of(chunks, size, base_offset):
        if isinstance(item, Chunk):
            yield item
        elif (graded := grader.take(order.take(item))).shape[1]:
            yield _stretches(graded)
    if (graded := grader.take(order.pieces, is_end=True)).shape[1]:
        yield _stretches(graded)


def _fits(pieces: Pieces) -> NDArray[np.bool_]:
    """Say which pieces are whole batches with nothing against them."""
    fits: NDArray[np.bool_] = (pieces[BATCHES] > 0) & (pieces[REASON] == NO_REASON)
    return fits


class _Order:
    """Rules out batches whose offsets go back; those that belong here have offsets above `last`.

    If two pieces contradict each other, the one with more batches is believed; with equally many, the first one if its
    offset follows what came before, otherwise the second.
    """

    def __init__(self, last: int | None) -> None:
        self.pieces = no_pieces()  # those that wait
        self._last = last  # offset that is believed for good
        self._newest: _Believed | None = None  # the first that waits, believed until something contradicts it

    def take(self, more: Pieces) -> Pieces:
        """Add pieces; return those that are decided."""
        table = np.concatenate((self.pieces, more), axis=1)
        rows = self.pieces.shape[1] + np.flatnonzero(_fits(more))
        lasts, batches = table[LAST, rows], table[BATCHES, rows]
        lows = np.where(table[FIRST, rows] == buffers.NONE, lasts, table[FIRST, rows])
        begin, back = 0, []
        for row, *cells in zip(*(cells.tolist() for cells in (rows, lows, lasts, batches)), strict=True):
            begin = self._held(begin, row)
            piece, newest = _Believed(*cells), self._newest
            if (self._last is not None and piece.low <= self._last) or (
                newest is not None and piece.low <= newest.last and not self._outweighs(piece, newest)
            ):
                back.append(row)
                continue
            if newest is not None and piece.low <= newest.last:
                back.append(begin)
            elif newest is not None:
                self._last = newest.last
            begin, self._newest = row, piece
        begin = self._held(begin, table.shape[1])
        table[REASON, back] = _BACK
        self.pieces = table[:, begin:]
        return table[:, :begin]

    def _held(self, begin: int, stop: int) -> int:
        """Return the first piece that waits if those from `begin` to `stop` are all that do: not too many may."""
        while stop - begin - (self._newest is not None) > _HELD:
            begin += _HELD + 1
            if self._newest is not None:
                begin += 1
                self._last, self._newest = self._newest.last, None
        return begin

    def _outweighs(self, piece: _Believed, newest: _Believed) -> bool:
        """Say whether `piece` is believed and not `newest`, which it contradicts."""
        if piece.batches != newest.batches:
            return piece.batches > newest.batches
        return self._last is not None and newest.low != self._last + 1


class _Believed(NamedTuple):
    """The offsets of a piece, and how many batches support them."""

    low: int
    last: int
    batches: int


class _Grader:
    """Joins pieces to stretches and grades each, once it is known which offset follows it."""

    def __init__(self, before: int | None, hints: Sequence[int], size: int) -> None:
        self._before = before  # the last offset before, of batches that have support
        self._hints = np.array(hints, np.int64)
        self._size = size
        self._pieces = no_pieces()  # the newest stretch, and what comes after it
        self._stop = 0  # of the whole batches so far
        self._reason = _START  # what supports them, NO_REASON if nothing does

    def take(self, more: Pieces, *, is_end: bool = False) -> Pieces:
        """Add pieces; return the stretches that are decided."""
        table = np.concatenate((self._pieces, more), axis=1)
        fits, stops = _fits(table), table[POSITION] + table[SIZE]
        goes_on = fits[1:] & fits[:-1] & (table[RESUMED, 1:] == 0) & (table[POSITION, 1:] == stops[:-1])
        table = joined(table, goes_on)
        rows = np.flatnonzero(_fits(table))
        begin, count = int(rows[-1]) if len(rows) else 0, table.shape[1]
        if is_end or count - begin - bool(len(rows)) > _HELD:
            begin = count
        self._grade(table, rows[rows < begin], self._meets(table, rows, is_end=is_end)[rows < begin], begin)
        self._pieces = table[:, begin:]
        return table[:, :begin]

    def _meets(self, table: Pieces, rows: NDArray[np.int64], *, is_end: bool) -> NDArray[np.bool_]:
        """Say for each stretch whether the offset after it, or the file's end, follows."""
        meets = np.zeros(len(rows), bool)
        following = table[FIRST, rows[1:]]
        meets[:-1] = (following == table[LAST, rows[:-1]] + 1) & (following != buffers.NONE)
        meets[:-1] &= np.diff(rows) - 1 <= _HELD
        if is_end and len(rows) and rows[-1] == table.shape[1] - 1:
            meets[-1] = table[POSITION, -1] + table[SIZE, -1] == self._size
        return meets

    def _grade(self, table: Pieces, rows: NDArray[np.int64], meets: NDArray[np.bool_], stop: int) -> None:
        """Set the reasons of the stretches `rows`, in the order of all batches up to the piece `stop`."""
        after = np.searchsorted(self._hints, table[POSITION])
        is_hinted = np.append(self._hints, -1)[after] == table[POSITION]
        is_expected = (table[RESUMED] > 0) & (table[FIRST] != buffers.NONE) & (table[FIRST] == table[EXPECTED])
        alone = np.where(table[BATCHES] > 1, _GOES_ON, _ALONE)
        own = np.select([table[RESUMED] == PROVED, is_hinted, is_expected], [_PROVED, _INDEX, _EXPECTED], alone)
        met = np.zeros(table.shape[1], bool)
        met[rows] = meets & (own[rows] > _MET)
        work = np.flatnonzero(table[BATCHES, :stop] > 0)
        cells = (table[POSITION], table[SIZE], table[RESUMED], table[FIRST], table[LAST], table[REASON], own, met)
        reasons = []
        for position, size, resumed, first, last, against, reason, meet in zip(
            *(column[work].tolist() for column in cells), strict=True
        ):
            goes_on = not resumed and position == self._stop
            if against != NO_REASON:
                if not goes_on:
                    self._reason = _PROVED if resumed == PROVED else NO_REASON
            else:
                if not goes_on or self._reason == NO_REASON:
                    is_met = meet and self._before is not None and first == self._before + 1
                    self._reason = _MET if is_met else reason
                if self._reason != _ALONE:
                    self._before = last
                reasons.append(self._reason)
            self._stop = position + size
        table[REASON, rows] = reasons


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
    stretches: Columns
    taken: NDArray[np.bool_]

    def columns(self) -> Columns:
        """Return them as columns of the table ``stretches``."""
        rows = self.stretches
        return Columns(
            {
                "position": rows["position"],
                "size_bytes": rows["size"],
                "batches": rows["batches"],
                "records": rows["records"],
                "first_offset": rows["first_offset"],
                "last_offset": rows["last_offset"],
                "grade": Numbers.worded(rows["grade"], GRADES),
                "taken": self.taken.astype(np.int64),
                "reason": Numbers.worded(rows["reason"], REASONS),
            }
        )

    def findings(self) -> dict[str, NDArray[np.int64]]:
        """Return which of them have a finding, by its code: those that were found after damage."""
        grades, reasons = self.stretches["grade"], self.stretches["reason"]
        found = (grades >= 0) & (reasons > _BELIEVED_END)
        return {
            "stretch-isolated": np.flatnonzero(found & (grades == _ISOLATED)),
            "stretch-regained": np.flatnonzero(found & (grades != _ISOLATED)),
        }

    def finding(self, code: str, row: int) -> Finding:
        """Make the finding of this code about one of them."""
        stretch = stretch_at(self.stretches, row)
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
            yield Salvaged(stretch_at(item.stretches, row), taken)


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
            taken = np.isin(item["grade"], wanted)
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
        self._heads = CellTable(len(buffers.BATCH_COLUMNS), CHUNK_ROOM)

    def copy(self, parts: Columns, rows: NDArray[np.int64]) -> None:
        """Copy these of the stretches; small ones are read and written together."""
        waiting: list[_WaitingStretch] = []
        for position, size, batches in parts.take(rows).tuples("position", "size", "batches"):
            part = _WaitingStretch(position, size, batches)
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

    def _small(self, parts: Sequence[_WaitingStretch]) -> None:
        begin, heads, pieces = parts[0].position, self._heads, []
        data = memoryview(self._source.read(begin, parts[-1].position + parts[-1].size - begin))
        for part in parts:
            start = part.position - begin
            stop = start + part.size
            if stop > len(data):
                raise self._changed(part)
            count, at, _ = headers.read(data, start, stop, begin, heads.cells, 0)
            if (count, at) != (part.batches, stop):
                raise self._changed(part)
            pieces.append(data[start:stop])
        self._write(memoryview(b"".join(pieces)))

    def _large(self, part: _WaitingStretch) -> None:
        batches = 0
        for chunk in scan_source(_Part(self._source, part.position, part.size), limits=self._limits):
            if chunk.resumed or 0 in chunk.heads.column(buffers.VALID):
                break
            batches += chunk.heads.count
            if chunk.heads.count:
                self._write(_bytes_of(chunk))
        if batches != part.batches:
            raise self._changed(part)

    def _changed(self, part: _WaitingStretch) -> UnreadableError:
        return UnreadableError(f"{self._source.name}: the file changed while it was read, at position {part.position}")


class _WaitingStretch(NamedTuple):
    """Where a stretch is, and how many batches it has."""

    position: int
    size: int
    batches: int


def _bytes_of(chunk: Chunk) -> memoryview:
    """Return the bytes of a chunk's batches, which are consecutive."""
    last = chunk.heads.count - 1
    start = chunk.heads.cell(buffers.POSITION, 0) - chunk.position
    stop = chunk.heads.cell(buffers.POSITION, last) + chunk.heads.cell(buffers.SIZE, last) - chunk.position
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


# What a salvage copied of a segment and what it left out, added up.


_PREALLOCATED: Final = REASONS.index("tail-preallocated")


class SalvageSums:
    """The sums so far; `last` is the last offset that was copied, at first the one before the segment."""

    def __init__(self, last: int) -> None:
        self.last = last
        self.batches = 0  # that were copied
        self.size = 0  # their bytes
        self.left: Counter[str] = Counter()  # bytes left out, by reason
        self.holes: list[int] = []  # the last offset before each place where something was left out
        self.lost_tail = False  # is something left out after all that was copied

    def add(self, part: SalvagedStretches) -> None:
        """Add the stretches that follow."""
        made, taken = part.stretches, part.taken
        self.batches += int(made["batches"][taken].sum())
        self.size += int(made["size"][taken].sum())
        why, sizes = made["reason"], made["size"]
        reasons, firsts = np.unique(why[~taken], return_index=True)
        for reason in reasons[np.argsort(firsts)].tolist():
            self.left[REASONS[reason]] += int(sizes[~taken & (why == reason)].sum())
        copied = np.maximum.accumulate(np.where(taken, np.arange(len(taken)), -1))  # the newest one, of each
        before = np.where(copied < 0, self.last, made["last_offset"][copied])
        is_lost = ~taken & (why != _PREALLOCATED)
        holes = before[is_lost]
        is_other = group_begins(holes)
        if len(holes) and self.holes:
            is_other[0] = holes[0] != self.holes[-1]
        self.holes += holes[is_other].tolist()
        self.lost_tail = bool(is_lost[copied[-1] + 1 :].any()) or (self.lost_tail and copied[-1] < 0)
        self.last = int(before[-1])

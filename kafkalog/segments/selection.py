"""Which records are selected: batches that can't contain any are skipped before they are decompressed."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from kafkalog.kafka.batch import CODEC_MASK, CONTROL, TRANSACTIONAL, CellTable
from kafkalog.kernel import buffers
from kafkalog.kernel import records as kernel_records
from kafkalog.segments.decoded import RecordBlock, headers_of
from kafkalog.tables.dump_tables import OUTCOMES

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from kafkalog.columns.sorted_rows import Spans
    from kafkalog.folds.fates import BatchFates, Fates
    from kafkalog.segments.chunk import Chunk

__all__ = ["Met", "Picks", "ReplicaChoice", "Selection", "Shares", "all_rows", "literal_of"]

_LOWEST, _HIGHEST = -(2**63), 2**63 - 1


@dataclass(frozen=True, slots=True)
class Picks:
    """Rows of a table of the kernel: the first `count` numbers in `rows`, in order."""

    rows: array[int] | memoryview
    count: int


@lru_cache(maxsize=2)
def _numbers(capacity: int) -> array[int]:
    return array("q", range(capacity))


def all_rows(table: CellTable) -> Picks:
    """Return all rows of a table."""
    return Picks(_numbers(table.capacity), table.count)


@dataclass(slots=True)
class Met:
    """What a selection has met so far: the offsets of all batches, how many batches and records it selected.

    Of records in logs that are known also how many of each outcome, and the first and last offset of each partition.
    `deleted` are records before the start of their log. In the logs `with_gaps` batches do not follow each other.
    """

    first_offset: int | None = None
    last_offset: int | None = None
    batches: int = 0
    records: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    places: dict[tuple[str, int], tuple[int, int]] = field(default_factory=dict)
    deleted: int = 0
    with_gaps: set[str] = field(default_factory=set)
    _next: int | None = None  # the offset that is due
    _end: int | None = None  # the offset that is due after the file
    _log: str | None = None

    def begin(self, log: str | None, end: int | None) -> None:
        """Begin with a file of a log; `end` is where its next segment begins, None after the last one."""
        self.close()
        if log is None or log != self._log:
            self._next = None
        self._log, self._end = log, end

    def close(self) -> None:
        """Take note of what is missing at the end of a file."""
        if self._end is not None and self._next != self._end:
            self._take_gap()
        self._end = None

    def _take_gap(self) -> None:
        if self._log is not None:
            self.with_gaps.add(self._log)

    def _follow(self, heads: CellTable, first: int, last: int) -> None:
        """Take note of what is missing before and between a chunk's batches; old ones do not say their first offset."""
        if heads.cell(buffers.MAGIC, 0) > 1 and heads.cell(buffers.MAGIC, heads.count - 1) > 1:
            offsets = sum(heads.column(buffers.LAST_OFFSET)) - sum(heads.column(buffers.BASE_OFFSET)) + heads.count
            follows = self._next is None or self._next == first
            if not (follows and offsets == last - first + 1 and all(heads.column(buffers.VALID))):
                self._take_gap()
        self._next = last + 1

    def meet(self, heads: CellTable) -> None:
        """Take note of the offsets of a chunk's batches."""
        if heads.count:
            first, last = heads.cell(buffers.BASE_OFFSET, 0), heads.cell(buffers.LAST_OFFSET, heads.count - 1)
            self._follow(heads, first, last)
            if self.last_offset is None and first != buffers.NONE:
                self.first_offset = first
            self.last_offset = max(last, -1 if self.last_offset is None else self.last_offset)

    def count_picked(self, block: RecordBlock, picks: Picks, fates: Fates, found: BatchFates) -> None:
        """Count the picked records of a block of a log; `found` is what became of their batches."""
        import numpy as np

        rows = np.frombuffer(picks.rows, np.int64)[: picks.count]
        cells = block.recs.numpy()
        batches = cells[buffers.BATCH, rows] if block.outer is None else np.full(len(rows), block.outer)
        counts = np.bincount(found.outcome[batches][found.outcome[batches] >= 0], minlength=len(OUTCOMES))
        self.outcomes.update({word: count for word, count in zip(OUTCOMES, counts.tolist(), strict=True) if count})
        if fates.topic is not None and fates.partition is not None:
            offsets = cells[buffers.OFFSET, rows]
            first, last = int(offsets.min()), int(offsets.max())
            low, high = self.places.get((fates.topic, fates.partition), (first, last))
            self.places[fates.topic, fates.partition] = min(low, first), max(high, last)

    def words(self, *, of_records: bool) -> str | None:
        """Say that nothing was selected, and what there is; None where something was, or no batch was there."""
        if self.last_offset is None or (self.batches and not (of_records and not self.records)):
            return None
        begin = "" if self.first_offset is None else f"{self.first_offset} to "
        return f"nothing matches: there are offsets {begin}{self.last_offset}"


class ReplicaChoice(NamedTuple):
    """Which replicas are read: the ones that consumers read, or those of a `node`, by its id or directory.

    With `every` what others alone have follows.
    """

    every: bool = False
    node: str | None = None


class Searches(Protocol):
    """A regular expression, Python's own or one that gives up."""

    @property
    def pattern(self) -> bytes:
        """Return its text."""

    @property
    def flags(self) -> int:
        """Return its flags, those in the text included."""

    def search(self, data: bytes, /) -> object:
        """Return what is true where it matches somewhere. Raises UnreadableError if it gives up."""


class Shares(Protocol):
    """One of several replicas: which of them have its batches and records, by the number of a set of replicas."""

    @property
    def leaves_out(self) -> bool:
        """Say whether there is a replica before it, which may have the same."""

    @property
    def words(self) -> tuple[str, ...]:
        """Return the names of the replicas of each set."""

    def of_batches(self, heads: CellTable) -> NDArray[np.int64]:
        """Return the set of each batch."""

    def of_records(self, block: RecordBlock) -> NDArray[np.int64]:
        """Return the set of each record."""

    def is_new(self, sets: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Say of sets whether no replica before this one is in them."""


@dataclass(frozen=True, slots=True)
class Selection:
    """A batch or record is selected if it meets every condition that is set. Both ends of a range belong to it.

    `outcomes` are words of that column; they, `transactional_ids`, which may be patterns, and `visible_only`
    need the `fates` of the log. Of `header` the value may be None: any. `value` is a part of it, `key` the whole key,
    a `word` a part of key, value or headers. `extents` are transactions one of which a batch is in, `spans` ranges of
    offsets one of which a record is in.
    Records before `log_start` are deleted: those that meet every condition are counted, and left out. Of a `share` it
    is what no replica before has.
    """

    first_offset: int | None = None
    last_offset: int | None = None
    since_ms: int | None = None
    until_ms: int | None = None
    producer_id: int | None = None
    key: bytes | None = None
    control_only: bool = False
    outcomes: frozenset[str] = frozenset()
    transactional_ids: tuple[str, ...] = ()
    header: tuple[bytes, bytes | None] | None = None
    value: bytes | None = None
    value_pattern: Searches | None = None
    word: bytes | None = None
    null_value: bool = False
    data_only: bool = False
    visible_only: bool = False
    extents: Spans | None = None
    spans: tuple[tuple[int, int], ...] | None = None
    log_start: int | None = None
    share: Shares | None = field(default=None, compare=False, repr=False)
    fates: Fates | None = field(default=None, compare=False, repr=False)
    met: Met = field(default_factory=Met, compare=False, repr=False)

    @property
    def everything(self) -> bool:
        """Say whether everything is selected."""
        return self == Selection() and not self._leaves_out

    @property
    def _leaves_out(self) -> bool:
        return self.share is not None and self.share.leaves_out

    @property
    def looks_at_records(self) -> bool:
        """Say whether the records must be read to know whether a batch has a selected one."""
        of_records = (
            self.key, self.header, self.until_ms, self.since_ms, self.value, self.value_pattern, self.spans,
            self.log_start, self.word,
        )  # fmt: skip
        is_asked = self.null_value or self.visible_only or self._leaves_out
        return is_asked or any(one is not None for one in of_records)

    @property
    def needs_fates(self) -> bool:
        """Say whether it must be known what became of the batches."""
        return bool(self.outcomes or self.transactional_ids or self.visible_only)

    def batches(self, heads: CellTable, found: BatchFates | None = None) -> Picks:
        """Return the batches that, by their headers, may contain a selected record; `found` is what became of them."""
        if self.everything:
            return all_rows(heads)
        rows = array("q", bytes(8 * heads.count))
        picks = Picks(rows, kernel_records.wanted_batches(heads.cells, heads.count, self._conditions(), rows))
        if self.needs_fates and self.fates is not None and found is not None:
            picks = _picked(picks, self.fates.chosen(found, self.outcomes, self.transactional_ids))
            if self.visible_only:
                picks = _picked(picks, found.shown == 1)
        if self.data_only or self.extents is not None:
            picks = _picked(picks, self._of_transactions(heads))
        if self.share is not None and self.share.leaves_out:
            picks = _picked(picks, self.share.is_new(self.share.of_batches(heads)))
        self.met.meet(heads)
        self.met.batches += picks.count
        return picks

    def _of_transactions(self, heads: CellTable) -> NDArray[np.bool_]:
        """Say which batches are no control batches, and in one of the transactions."""
        cells = heads.numpy()
        has_bits = cells[buffers.MAGIC] > 1
        chosen: NDArray[np.bool_] = ~(has_bits & (cells[buffers.ATTRIBUTES] & CONTROL != 0))
        if self.extents is not None:
            chosen &= has_bits & (cells[buffers.ATTRIBUTES] & TRANSACTIONAL != 0)
            chosen &= self.extents.find_rows(cells[buffers.PRODUCER_ID], cells[buffers.BASE_OFFSET]) >= 0
        return chosen

    def skip_without_literals(self, chunk: Chunk) -> bool:
        """Leave out the batches that are not compressed and do not have the bytes looked for; say if some are left."""
        name = None if self.header is None else self.header[0]
        literal = max((one for one in (self.key, *self._in_value, self.word, name) if one), key=len, default=b"")
        heads = chunk.heads
        if not literal or not heads.count:
            return True
        rows = array("q", bytes(8 * heads.count))
        count = kernel_records.holding(chunk.buf, literal, heads.cells, heads.count, chunk.position, rows)
        kept = heads.numpy()[buffers.ATTRIBUTES] & CODEC_MASK != 0
        kept[rows[:count]] = True
        if not kept.any():
            return False
        picks = _picked(all_rows(heads), kept)
        kernel_records.leave_out(heads.cells, heads.count, picks.rows, picks.count, False)
        return True

    @property
    def _in_value(self) -> tuple[bytes, ...]:
        """Return bytes each of which every value has that is meant; an empty one stands for any value but null."""
        pattern = () if self.value_pattern is None else (literal_of(self.value_pattern),)
        return pattern if self.value is None else (self.value, *pattern)

    def leave_out_others(self, heads: CellTable, picks: Picks, *, control_only: bool = False) -> None:
        """Leave out the records of batches that were not picked, with `control_only` of all without control records."""
        if control_only or not self.everything:
            kernel_records.leave_out(heads.cells, heads.count, picks.rows, picks.count, control_only)

    def records(self, block: RecordBlock) -> Picks:
        """Return the selected records in a block of batches that may contain some."""
        recs = block.recs
        if self.everything:
            return all_rows(recs)
        rows = array("q", bytes(8 * recs.count))
        has_key = self.key is not None
        count = kernel_records.wanted_records(
            block.buf, recs.cells, recs.count, self._conditions(), self.key or b"", has_key, rows
        )
        picks = Picks(rows, count)
        wanted = self._by_columns(block)
        if wanted is not None:
            picks = _picked(picks, wanted)
        for literal in self._in_value:
            picks = _with_value(block, picks, literal)
        for test in self._tests(block):
            found = array("q", filter(test, picks.rows[: picks.count]))
            picks = Picks(found, len(found))
        if picks.count and self.share is not None and self.share.leaves_out:
            picks = _picked(picks, self.share.is_new(self.share.of_records(block)))
        if self.log_start is not None:
            picks = self._since(self.log_start, recs, picks)
        self.met.records += picks.count
        return picks

    def _since(self, start: int, recs: CellTable, picks: Picks) -> Picks:
        """Leave out records before the log's start, and count them."""
        offsets = recs.numpy()[buffers.OFFSET]  # one below 0 was never the log's, nor deleted
        deleted = (offsets >= 0) & (offsets < start)
        kept = _picked(picks, ~deleted) if deleted.any() else picks
        self.met.deleted += picks.count - kept.count
        return kept

    def _by_columns(self, block: RecordBlock) -> NDArray[np.bool_] | None:
        """Say which records pass what their columns decide, besides what the kernel tests; None where nothing does."""
        of_visible = self.visible_only and self.fates is not None and self.fates.last_stable_offset is not None
        if self.spans is None and not of_visible and not self.null_value:
            return None
        import numpy as np

        cells = block.recs.numpy()
        offset = cells[buffers.OFFSET]
        wanted = np.full(len(offset), fill_value=True)
        if self.spans is not None:
            spans = [(offset >= low) & (offset <= high) for low, high in self.spans]
            wanted &= np.logical_or.reduce(spans) if spans else False
        if of_visible and self.fates is not None:
            wanted &= (offset >= self.fates.log_start_offset) & (offset < self.fates.last_stable_offset)
            if (passed := block.passed()) is not None:
                wanted &= ~passed
        if self.null_value:
            wanted &= cells[buffers.VALUE_SIZE] < 0
        return wanted

    def _tests(self, block: RecordBlock) -> Iterator[Callable[[int], bool]]:
        """Yield what a record's number must pass that only its bytes decide."""
        if self.header is not None:
            yield lambda row: self._has_header(block, row)
        if self.value_pattern is not None:
            pattern = self.value_pattern
            yield lambda row: bool(pattern.search(block.value(row) or b""))
        if self.word is not None:
            word = self.word
            yield lambda row: any(word in part for part in self._parts(block, row))

    @staticmethod
    def _parts(block: RecordBlock, row: int) -> Iterator[bytes]:
        """Yield what a record says: its key, its value, and the names and values of its headers."""
        recs = block.recs
        yield from (block.key(row) or b"", block.value(row) or b"")
        start, count = recs.cell(buffers.HEADERS_START, row), recs.cell(buffers.HEADERS_COUNT, row)
        for name, value in headers_of(block.buf, start, count):
            yield from (name, value or b"")

    def _has_header(self, block: RecordBlock, row: int) -> bool:
        name, value = self.header or (b"", None)
        recs = block.recs
        start, count = recs.cell(buffers.HEADERS_START, row), recs.cell(buffers.HEADERS_COUNT, row)
        return any(key == name and value in (None, its) for key, its in headers_of(block.buf, start, count))

    def _conditions(self) -> array[int]:
        return array("q", (
            _within(self.first_offset, _LOWEST), _within(self.last_offset, _HIGHEST),
            _within(self.since_ms, _LOWEST), _within(self.until_ms, _HIGHEST),
            0 if self.producer_id is None else _within(self.producer_id, 0),
            self.producer_id is not None, self.control_only,
        ))  # fmt: skip


def literal_of(pattern: Searches) -> bytes:
    """Return bytes that are in every match of a regular expression, b"" where none are known: they are found faster.

    Python's own parser says what the expression means.
    """
    return _literal_of(pattern.pattern, pattern.flags)


@lru_cache(maxsize=16)
def _literal_of(pattern: bytes, flags: int) -> bytes:
    import re
    import warnings

    parser = getattr(re, "_parser", None)
    if parser is None or flags & re.IGNORECASE:
        return b""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # they were given when it was compiled
        return max(_runs(parser.parse(pattern, flags)), key=len)


def _runs(steps: Iterable[tuple[object, Any]]) -> Iterator[bytes]:
    """Yield bytes that a match of all these steps of Python's parser has."""
    import re

    run = bytearray()
    for step, what in steps:
        name = str(step)
        if name == "LITERAL":
            run.append(what)
            continue
        yield bytes(run)
        run.clear()
        if name == "SUBPATTERN" and not what[1] & re.IGNORECASE:
            yield from _runs(what[3])
        elif name == "ATOMIC_GROUP":
            yield from _runs(what)
        elif name in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT") and what[0]:
            yield from _runs(what[2])
    yield bytes(run)


def _with_value(block: RecordBlock, picks: Picks, literal: bytes) -> Picks:
    """Return those of the picks that have these bytes in their value: one search leads to the next that has."""
    import numpy as np

    cells, rows = block.recs.numpy(), np.frombuffer(picks.rows, np.int64)[: picks.count]
    rows = rows[cells[buffers.VALUE_SIZE, rows] >= len(literal)]
    if not literal or not len(rows):
        return Picks(array("q", rows.tobytes()), len(rows))
    at = cells[buffers.VALUE_START, rows]
    stops = (at + cells[buffers.VALUE_SIZE, rows]).tolist()
    starts, found, row = at.tolist(), array("q"), 0
    data = memoryview(block.buf)[starts[0] : stops[-1]].tobytes()
    while row < len(starts) and (place := data.find(literal, starts[row] - starts[0])) >= 0:
        row = bisect_right(starts, place + starts[0], row) - 1
        if place + starts[0] + len(literal) <= stops[row]:
            found.append(int(rows[row]))
        row += 1
    return Picks(found, len(found))


def _picked(picks: Picks, wanted: NDArray[np.bool_]) -> Picks:
    """Return those of the picks that are wanted; `wanted` is about each row of the table."""
    import numpy as np

    rows = np.frombuffer(picks.rows, np.int64)[: picks.count]
    chosen = array("q", rows[wanted[rows]].tobytes())
    return Picks(chosen, len(chosen))


def _within(number: int | None, other: int) -> int:
    """Return the number, `other` for none; beyond 64 bits, which no offset or time is, the nearest that has them."""
    return other if number is None else min(max(number, _LOWEST), _HIGHEST)

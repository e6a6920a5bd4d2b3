"""The fold: batches to transactions and producers, and the same for the results of other folds.

A transactional data batch is an *extent* of one batch; a marker is an extent of none that ends the one before it.
Reading a segment, joining segments and joining the tasks of a cluster are two methods of ``kernel.fold.States``:
`absorb` for what is open and `finish` for what ends, fed by `Fold`. It is associative, not commutative: parts may be
joined in any grouping, never in any order.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from kafkalog.columns.sorted_rows import Spans, among
from kafkalog.columns.table import AFTER_ALL, FEW, NONE, Columns
from kafkalog.folds.shares import entangled
from kafkalog.folds.state_table import SECRET, StateTable, zeros
from kafkalog.kafka.batch import CellTable
from kafkalog.kernel import fold as kernel_fold
from kafkalog.kernel.buffers import (
    ABORT,
    COMMIT,
    EVENT_CELLS,
    EVENT_KIND,
    EVENT_LEADER_EPOCH,
    EVENTS,
    EXTENT_COLUMNS,
    IS_OPEN,
    OPEN,
    PART_COLUMNS,
    PRODUCER_COLUMNS,
    S_BITS,
    S_FINISHED,
    S_REPORTED,
    S_SECRET,
    T_COORDINATOR_EPOCH,
    TALLY_COLUMNS,
    WIDTH,
    WROTE,
    as_table,
)
from kafkalog.kernel.fold import tallied

if TYPE_CHECKING:
    from numpy.typing import NDArray


__all__ = [
    "ABORT",
    "COLUMNS",
    "COMMIT",
    "EVENT_ROWS",
    "FIRST_BITS",
    "FIRST_ROWS",
    "GAP_COLUMNS",
    "MARKER_COLUMNS",
    "OPEN",
    "Break",
    "Fold",
    "FoldedLog",
    "Tally",
    "begins",
    "collapse",
    "ends",
    "has_data",
    "has_marker",
    "is_open",
    "spans",
    "spare",
    "tally",
]

GAP_COLUMNS: Final = ("first_offset", "last_offset", "position")

MARKER_COLUMNS: Final = ("marker_offset", "marker_timestamp")

FIRST_ROWS: Final = 264  # finished rows until they are packed, at first

_MOST_ROOM: Final = 4104

EVENT_ROWS: Final = 256

FIRST_BITS: Final = 7  # half as many states as slots

_NO_SLOTS: Final = array("q", [-1]) * (1 << FIRST_BITS)

_PRODUCER_ID: Final = EXTENT_COLUMNS.index("producer_id")

_CELLS: Final = {name: number for number, name in enumerate(PART_COLUMNS)}

_NONE_YET: Final = {"first_offset": NONE, "last_offset": NONE, "newest": -1, "newest_broker": -1, "leader_epoch": NONE}


class Break(NamedTuple):
    """Two batches of a producer; the second neither continues the sequence nor begins a higher epoch.

    Timestamps are the batches' newest, in ms.
    """

    log_id: int
    producer_id: int
    epoch: int
    last_sequence: int
    last_offset: int
    last_timestamp: int
    next_epoch: int
    first_sequence: int
    first_offset: int
    next_timestamp: int


@dataclass(slots=True)
class FoldedLog:
    """What a fold knows of a part of a log.

    `finished` are its ended transactions by ``EXTENT_COLUMNS``, each log's and producer's in log order, `opened` those
    still open. `producers` are rows by ``PRODUCER_COLUMNS``, sorted, `gaps` by ``GAP_COLUMNS``, `leader_epochs`
    (epoch, first offset) where it changes, `unreadable_markers` (offset, position, size). Of a share of the producers
    `others` are the markers of all producers that are the first, the last, or next to an open transaction's begin, by
    ``MARKER_COLUMNS``. Offsets are None without a batch; times are in ms, -1 for none.
    """

    finished: Columns
    opened: Columns
    producers: Columns
    gaps: Columns
    breaks: list[Break]
    leader_epochs: list[tuple[int, int]]
    unreadable_markers: list[tuple[int, int, int]]
    batches: int
    records: int
    control_records: int
    first_offset: int | None
    last_offset: int | None
    first_position: int
    newest: int
    newest_broker: int
    cleaned: bool
    others: Columns = field(default_factory=lambda: Columns.empty(MARKER_COLUMNS))

    @property
    def extents(self) -> Columns:
        """Return the transactions, open ones last."""
        return self.finished + self.opened

    def shares(self, count: int) -> Iterator[FoldedLog]:
        """Yield the parts that ``shares_of`` lists: the transactions, producers and breaks of each share.

        That of the log as a whole has all but the ended transactions that nothing about other ones depends on.
        """
        if count == 1:
            yield self
            return
        tables = (self.finished, self.opened, self.producers)
        of_each = zip(*(rows.split("producer_id", count) for rows in tables), strict=True)
        others = self._markers_around()
        for number, (finished, opened, producers) in enumerate(of_each):
            breaks = [found for found in self.breaks if found.producer_id % count == number]
            yield replace(
                self, finished=finished, opened=opened, producers=producers, others=others, breaks=breaks
            )  # fmt: skip
        yield replace(self, finished=entangled(self.finished))

    def _markers_around(self) -> Columns:
        """Return the first and the last marker, and those next to the begins of open transactions."""
        rows = self.finished.columns(*MARKER_COLUMNS)
        order = np.argsort(rows["marker_offset"], kind="stable")
        if not len(order):
            return Columns.empty(MARKER_COLUMNS)
        at = np.searchsorted(rows["marker_offset"][order], self.opened["first_offset"])
        wanted = np.unique(np.clip(np.concatenate([[0, len(order) - 1], at - 1, at]), 0, len(order) - 1))
        return rows.take(order[wanted], *MARKER_COLUMNS)


class _States(StateTable):
    """The states of a fold, the rows that it has finished and the events that it reports.

    The next fold of few producers uses them again, because clearing them takes longer than its work: cells are written
    before they are read, but for the slots.
    """

    __slots__ = ("events", "out")

    def __init__(self) -> None:
        super().__init__(WIDTH, FIRST_BITS, _NEW_LOG[:])
        self.out = CellTable(len(EXTENT_COLUMNS), FIRST_ROWS)
        self.events = as_table(zeros(EVENT_CELLS * EVENT_ROWS), EVENT_CELLS)

    def clear(self) -> None:
        """Forget all states."""
        self.slots[:] = _NO_SLOTS
        self.part[:] = _NEW_LOG
        self.part[S_SECRET], self.part[S_BITS] = SECRET, FIRST_BITS

    def is_small(self) -> bool:
        """Say whether it has no more room than a new one."""
        return self.part[S_BITS] == FIRST_BITS and self.out.capacity == FIRST_ROWS


class Fold:
    """Folds batches, or other folds' rows, in log order; who is done with it calls `close`."""

    def __init__(self) -> None:
        self._states = spare.pop() if spare else _States()
        self._packed: list[Columns] = []
        self._gaps: list[Columns] = []
        self._breaks: list[Break] = []
        self._leader_epochs: list[tuple[int, int]] = []
        self._unreadable: list[tuple[int, int, int]] = []

    @property
    def last_offset(self) -> int | None:
        """Return the last offset so far."""
        return self._offset("last_offset")

    def close(self) -> None:
        """Leave the buffers to another fold; its result may be used, it may not."""
        if self._states.is_small() and len(spare) < _SPARE:
            self._states.clear()
            spare.append(self._states)
        del self._states

    def batches(self, heads: CellTable, types: array[int], coordinator_epochs: array[int]) -> None:
        """Fold the batches of a chunk whose checksums match; `types` and `coordinator_epochs` are its markers'."""
        row, why = 0, kernel_fold.NO_ROOM
        while why != kernel_fold.DONE:
            row, why = kernel_fold.batches(self._states, heads, row, types, coordinator_epochs)
            self._go_on(why)

    def extents(self, rows: Columns) -> None:
        """Fold extents of another fold."""
        self._rows(kernel_fold.extents, rows, EXTENT_COLUMNS)

    def producers(self, rows: Columns) -> None:
        """Fold another fold's rows of producers."""
        self._rows(kernel_fold.producers, rows, PRODUCER_COLUMNS)

    def _rows(
        self, loop: Callable[[_States, Any, int], tuple[int, int]], rows: Columns, names: tuple[str, ...]
    ) -> None:
        if not len(rows):
            return
        table, row, why = rows.table(names), 0, kernel_fold.NO_ROOM
        while why != kernel_fold.DONE:
            row, why = loop(self._states, table, row)
            self._go_on(why)

    def follow(self, later: FoldedLog) -> None:
        """Fold a later part's transactions and producers.

        Only a producer with an open transaction has something to join: rows of others are moved unchanged.
        """
        self._pack()
        for rows in later.finished.pieces(1):
            if self._may_join(rows):
                self.extents(rows)
                self._pack()
            else:
                self._packed.append(rows)
        for rows in later.opened.blocks():
            self.extents(rows)
        for rows in later.producers.blocks():
            self.producers(rows)
        self._breaks += later.breaks

    def opened(self) -> Columns:
        """Return the transactions that are open so far."""
        states = self._used()
        return _of_states(EXTENT_COLUMNS, states, states[:, IS_OPEN].nonzero()[0], (*range(IS_OPEN),), _NO_MARKER)

    def result(self) -> FoldedLog:
        """Return what is known so far."""
        self._pack()
        opened, producers = self._few() if self._value("used") < FEW else self._many()
        part = self._states.part
        return FoldedLog(
            Columns.chained(self._packed, EXTENT_COLUMNS),
            opened,
            producers,
            Columns.chained(self._gaps, GAP_COLUMNS),
            self._breaks,
            self._leader_epochs,
            self._unreadable,
            part[_CELLS["batches"]],
            part[_CELLS["records"]],
            part[_CELLS["control_records"]],
            self._offset("first_offset"),
            self._offset("last_offset"),
            part[_CELLS["first_position"]],
            part[_CELLS["newest"]],
            part[_CELLS["newest_broker"]],
            bool(part[_CELLS["cleaned"]]),
        )

    def _few(self) -> tuple[Columns, Columns]:
        """Return the transactions that are open, and the producers' rows, of few states."""
        used = self._value("used")
        if not used:
            return _NONE_OPEN, _NO_PRODUCERS
        opened, producers = (array("q", bytes(8 * used * len(names))) for names in (EXTENT_COLUMNS, PRODUCER_COLUMNS))
        counts = kernel_fold.few_states(self._states.cells, used, opened, producers, array("q", bytes(8 * used)))
        return _few(EXTENT_COLUMNS, opened, counts[0]), _few(PRODUCER_COLUMNS, producers, counts[1])

    def _many(self) -> tuple[Columns, Columns]:
        states = self._used()
        wrote = (states[:, WROTE] > 0).nonzero()[0]
        wrote = wrote[np.lexsort((states[wrote, 1], states[wrote, 0]))]
        of_producers = (0, 1, *range(WROTE, WIDTH))
        return self.opened(), _of_states(PRODUCER_COLUMNS, states, wrote, of_producers)

    def _used(self) -> NDArray[np.int64]:
        """Return the states in use, a row each."""
        return np.frombuffer(self._states.cells, np.int64).reshape(-1, WIDTH)[: self._value("used")]

    def _may_join(self, rows: Columns) -> bool:
        """Say whether a row may belong to a transaction that is open."""
        states = self._used()
        opened = states[states[:, IS_OPEN] != 0, _PRODUCER_ID]
        return bool(len(opened)) and bool(among(rows["producer_id"], np.sort(opened)).any())

    def _value(self, name: str) -> int:
        return self._states.part[_CELLS[name]]

    def _offset(self, name: str) -> int | None:
        value = self._value(name)
        return None if value == NONE else value

    def _go_on(self, why: int) -> None:
        reported = self._states.part[S_REPORTED]
        self._states.part[S_REPORTED] = 0
        if reported:
            self._take_events(reported)
        if why == kernel_fold.NO_STATES:
            self._states.grow()
        elif why == kernel_fold.NO_ROOM and not reported:
            self._pack()
            self._states.out = CellTable(len(EXTENT_COLUMNS), min(4 * self._states.out.capacity, _MOST_ROOM))

    def _pack(self) -> None:
        finished = self._states.part[S_FINISHED]
        if not finished:
            return
        rows = np.frombuffer(self._states.out.flat, np.int64).reshape(len(EXTENT_COLUMNS), -1)[:, :finished]
        # Few rows stay as they are given, many are copied when they are packed.
        self._packed.append(Columns.of_table(EXTENT_COLUMNS, rows.copy() if finished < FEW else rows).packed())
        self._states.part[S_FINISHED] = 0

    def _take_events(self, reported: int) -> None:
        if reported == 1 and self._states.events[0, EVENT_KIND] == EVENT_LEADER_EPOCH:  # all that a healthy log has
            self._leader_epochs.append((self._states.events[0, 1], self._states.events[0, 2]))
            return
        events = np.frombuffer(self._states.events, np.int64).reshape(-1, EVENT_CELLS)[:reported]
        gaps, epochs, breaks, unreadable = (events[events[:, 0] == number, 1:] for number in range(len(EVENTS)))
        if len(gaps):
            self._gaps.append(Columns.of_table(GAP_COLUMNS, gaps[:, : len(GAP_COLUMNS)].T.copy()).packed())
        self._leader_epochs += [(epoch, first) for epoch, first in epochs[:, :2].tolist()]
        self._breaks += [Break(*row) for row in breaks.tolist()]
        self._unreadable += [(offset, position, size) for offset, position, size in unreadable[:, :3].tolist()]


_NO_MARKER: Final = (OPEN, *[NONE] * (len(EXTENT_COLUMNS) - IS_OPEN - 1))

_NEW_LOG: Final = array("q", [_NONE_YET.get(name, 0) for name in PART_COLUMNS])

_SPARE: Final = 4  # folds' buffers that are kept

spare: list[_States] = []

_NONE_OPEN: Final = Columns.empty(EXTENT_COLUMNS)

_NO_PRODUCERS: Final = Columns.empty(PRODUCER_COLUMNS)


def _few(names: tuple[str, ...], table: array[int], count: int) -> Columns:
    if not count:
        return Columns.empty(names)
    return Columns.of_table(names, np.frombuffer(table, np.int64, count * len(names)).reshape(-1, count))


def _of_states(
    names: tuple[str, ...],
    states: NDArray[np.int64],
    rows: NDArray[np.intp],
    cells: Sequence[int],
    same: Sequence[int] = (),
) -> Columns:
    """Return columns of some states, packed some thousand at a time: states are many and wide.

    The first columns are these `cells`, the others have the `same` value in each row.
    """
    found = []
    for start in range(0, len(rows), _MOST_ROOM):
        some = states[rows[start : start + _MOST_ROOM]].T[[*cells]]
        if same:
            some = np.vstack([some, np.repeat(np.array(same)[:, np.newaxis], some.shape[1], axis=1)])
        found.append(Columns.of_table(names, some).packed())
    return Columns.chained(found, names)


# Transactions as extents: rows that ``collapse`` joins, however they were cut.


COLUMNS: Final = EXTENT_COLUMNS


def collapse(extents: Columns) -> Columns:
    """Join neighbouring extents of each producer in each log into one row per transaction.

    A row ends at its producer's marker; a row without a marker is still open at the end of what was read. Data of an
    older epoch that the next transaction's marker ended too is part of that transaction, and counts in its
    ``older_records``. `extents` must be in log order within each (log, producer); so is the result, sorted by log and
    producer. ``collapse(a + b) == collapse(collapse(a) + collapse(b))``.
    """
    fold = Fold()
    fold.extents(extents)
    rows = fold.result().extents.columns(*COLUMNS)
    return rows.take(np.lexsort((rows["producer_id"], rows["log_id"])))


class Tally(NamedTuple):
    """Counts of a log's transactions; `committed` and `aborted` are those with data.

    `sole` were ended by a marker whose epoch no other transaction of the producer has. `is_plain` says that each has
    data of one epoch and its begin, and a marker; `in_order` that no marker has an older epoch than its data and all
    are of one coordinator's epoch.
    """

    committed: int
    aborted: int
    sole: int
    is_plain: bool
    in_order: bool


def is_open(rows: Columns) -> NDArray[np.bool_]:
    """Say which transactions no marker has ended."""
    found: NDArray[np.bool_] = rows["marker_type"] == OPEN
    return found


def has_data(rows: Columns) -> NDArray[np.bool_]:
    """Say which transactions have records: a marker that ended nothing has a row, too."""
    found: NDArray[np.bool_] = rows["first_offset"] != NONE
    return found


def has_marker(rows: Columns) -> NDArray[np.bool_]:
    """Say which transactions have their marker in the log."""
    found: NDArray[np.bool_] = rows["marker_offset"] != NONE
    return found


def begins(rows: Columns) -> NDArray[np.int64]:
    """Return where each transaction begins: one without data where its marker is."""
    return np.where(has_data(rows), rows["first_offset"], rows["marker_offset"])


def ends(rows: Columns, after: int = AFTER_ALL) -> NDArray[np.int64]:
    """Return where each transaction's marker is; an open one ends `after` all that is read."""
    return np.where(is_open(rows), after, rows["marker_offset"])


def spans(rows: Columns) -> Spans:
    """Return which offsets each transaction is about, by its producer: one without data has that of its marker."""
    return Spans(rows["producer_id"], begins(rows), ends(rows))


def tally(rows: Columns) -> Tally:
    """Return the counts of a log's transactions, made once for the same rows."""
    return rows.known(_counted)


def _counted(rows: Columns) -> Tally:
    committed = aborted = sole = 0
    are_plain = are_in_order = True
    epochs = set()
    for some in rows.blocks(*TALLY_COLUMNS):
        number, table = len(some), some.table(TALLY_COLUMNS)
        commits, aborts, alone, is_plain, in_order = tallied(table, number)
        committed, aborted, sole = committed + commits, aborted + aborts, sole + alone
        are_plain, are_in_order = are_plain and is_plain, are_in_order and in_order
        epochs.add(table[T_COORDINATOR_EPOCH, 0])
    return Tally(committed, aborted, sole, is_plain=are_plain, in_order=are_in_order and len(epochs) < 2)

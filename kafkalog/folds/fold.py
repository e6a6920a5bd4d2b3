"""The fold: batches to transactions and producers, and the same for the results of other folds.

A transactional data batch is an *extent* of one batch; a marker is an extent of none that ends the one before it.
Reading a segment, joining segments and joining the tasks of a cluster are one function, ``kernel.fold.absorb``, fed by
`Fold`. It is associative, not commutative: parts may be joined in any grouping, never in any order.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from kafkalog.columns.named import FEW, NONE, Columns
from kafkalog.folds.shares import entangled
from kafkalog.kernel import fold as kernel_fold
from kafkalog.kernel.fold import (
    ABORT,
    COMMIT,
    EXTENT_COLUMNS,
    OPEN,
    PRODUCER_COLUMNS,
    STATE_SIZE,
    TALLY_COLUMNS,
    tallied,
)
from kafkalog.kernel.slots import lengthen, secret_bits

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from kafkalog.kafka.batch import CellTable

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
    "collapse",
    "spare",
    "tally",
]

GAP_COLUMNS: Final = ("first_offset", "last_offset", "position")

MARKER_COLUMNS: Final = ("marker_offset", "marker_timestamp")

FIRST_ROWS: Final = 264  # finished rows until they are packed, at first

_MOST_ROOM: Final = 4104

EVENT_ROWS: Final = 256

FIRST_BITS: Final = 7  # half as many states as slots

_MANY_BITS: Final = 16  # from here on a table only doubles: what is not used costs memory

_IS_OPEN: Final = EXTENT_COLUMNS.index("marker_type")  # a state has no marker

_NO_SLOTS: Final = array("q", [-1]) * (1 << FIRST_BITS)

_LEADER_EPOCH: Final = kernel_fold.EVENTS.index("leader_epoch")

_PRODUCER_ID: Final = EXTENT_COLUMNS.index("producer_id")

_CELLS: Final = {name: number for number, name in enumerate(kernel_fold.PART_CELLS)}

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


class _Buffers(NamedTuple):
    """What a fold of few producers needs: used again by the next one, because clearing it takes longer than its work.

    Cells are written before they are read, but for the slots.
    """

    slots: array[int]
    states: array[int]
    out: array[int]
    events: array[int]


class Fold:
    """Folds batches, or other folds' rows, in log order; who is done with it calls `close`."""

    def __init__(self) -> None:
        self._secret = _SECRET
        self._bits = FIRST_BITS
        self._room = FIRST_ROWS
        if spare:
            buffers = spare.pop()
            buffers.slots[:] = _NO_SLOTS
        else:
            buffers = _Buffers(
                array("q", [-1]) * (1 << self._bits),
                _zeros(STATE_SIZE * (1 << self._bits - 1)),
                _zeros(len(EXTENT_COLUMNS) * self._room),
                _zeros(kernel_fold.EVENT_SIZE * EVENT_ROWS),
            )
        self._slots, self._states, self._out, self._events = buffers
        self._cells = _NEW_LOG[:]
        self._finished = 0  # rows in the buffer of finished ones
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
        if self._bits == FIRST_BITS and self._room == FIRST_ROWS and len(spare) < _SPARE:
            spare.append(_Buffers(self._slots, self._states, self._out, self._events))
        del self._slots, self._states, self._out, self._events

    def batches(self, heads: CellTable, types: array[int], coordinator_epochs: array[int]) -> None:
        """Fold the batches of a chunk whose checksums match; `types` and `coordinator_epochs` are its markers'."""
        row, why = 0, kernel_fold.NO_ROOM
        while why != kernel_fold.DONE:
            row, self._finished, reported, why = kernel_fold.batches(
                heads.cells, heads.capacity, row, heads.count, types, coordinator_epochs, self._secret,
                self._bits, self._slots, self._states, self._cells, self._out, self._finished, self._room,
                self._events,
            )  # fmt: skip
            self._go_on(reported, why)

    def extents(self, rows: Columns) -> None:
        """Fold extents of another fold."""
        flat, row, why = rows.flat(EXTENT_COLUMNS), 0, kernel_fold.NO_ROOM
        while why != kernel_fold.DONE:
            row, self._finished, why = kernel_fold.extents(
                flat, row, len(rows), self._secret, self._bits, self._slots, self._states, self._cells, self._out,
                self._finished, self._room,
            )  # fmt: skip
            self._go_on(0, why)

    def producers(self, rows: Columns) -> None:
        """Fold another fold's rows of producers."""
        flat, row, why = rows.flat(PRODUCER_COLUMNS), 0, kernel_fold.NO_ROOM
        while why != kernel_fold.DONE:
            row, reported, why = kernel_fold.producers(
                flat, row, len(rows), self._secret, self._bits, self._slots, self._states, self._cells, self._events
            )
            self._go_on(reported, why)

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
        return _of_states(EXTENT_COLUMNS, states, states[:, _IS_OPEN].nonzero()[0], (*range(_IS_OPEN),), _NO_MARKER)

    def result(self) -> FoldedLog:
        """Return what is known so far."""
        self._pack()
        opened, producers = self._few() if self._value("used") < FEW else self._many()
        cells = self._cells
        return FoldedLog(
            Columns.chained(self._packed, EXTENT_COLUMNS),
            opened,
            producers,
            Columns.chained(self._gaps, GAP_COLUMNS),
            self._breaks,
            self._leader_epochs,
            self._unreadable,
            cells[_CELLS["batches"]],
            cells[_CELLS["records"]],
            cells[_CELLS["control_records"]],
            self._offset("first_offset"),
            self._offset("last_offset"),
            cells[_CELLS["first_position"]],
            cells[_CELLS["newest"]],
            cells[_CELLS["newest_broker"]],
            bool(cells[_CELLS["cleaned"]]),
        )

    def _few(self) -> tuple[Columns, Columns]:
        """Return the transactions that are open, and the producers' rows, of few states."""
        used = self._value("used")
        if not used:
            return _NONE_OPEN, _NO_PRODUCERS
        opened, producers = (array("q", bytes(8 * used * len(names))) for names in (EXTENT_COLUMNS, PRODUCER_COLUMNS))
        counts = kernel_fold.few_states(self._states, used, opened, producers, array("q", bytes(8 * used)))
        return _few(EXTENT_COLUMNS, opened, counts[0]), _few(PRODUCER_COLUMNS, producers, counts[1])

    def _many(self) -> tuple[Columns, Columns]:
        states = self._used()
        wrote = (states[:, _IS_OPEN + 1] > 0).nonzero()[0]
        wrote = wrote[np.lexsort((states[wrote, 1], states[wrote, 0]))]
        of_producers = (0, 1, *range(_IS_OPEN + 1, STATE_SIZE))
        return self.opened(), _of_states(PRODUCER_COLUMNS, states, wrote, of_producers)

    def _used(self) -> NDArray[np.int64]:
        """Return the states in use, a row each."""
        return np.frombuffer(self._states, np.int64).reshape(-1, STATE_SIZE)[: self._value("used")]

    def _may_join(self, rows: Columns) -> bool:
        """Say whether a row may belong to a transaction that is open."""
        states = self._used()
        opened = states[states[:, _IS_OPEN] != 0, _PRODUCER_ID]
        return bool(len(opened)) and bool(np.isin(rows["producer_id"], opened).any())

    def _value(self, name: str) -> int:
        return self._cells[_CELLS[name]]

    def _offset(self, name: str) -> int | None:
        value = self._value(name)
        return None if value == NONE else value

    def _go_on(self, reported: int, why: int) -> None:
        if reported:
            self._take_events(reported)
        if why == kernel_fold.NO_STATES:
            self._grow()
        elif why == kernel_fold.NO_ROOM and not reported:
            self._pack()
            self._room = min(4 * self._room, _MOST_ROOM)
            self._out = _zeros(len(EXTENT_COLUMNS) * self._room)

    def _grow(self) -> None:
        self._bits += 2 if self._bits < _MANY_BITS else 1
        del self._slots
        self._slots = array("q", [-1]) * (1 << self._bits)
        lengthen(self._states, STATE_SIZE << self._bits - 1)
        kernel_fold.rehash(self._slots, self._states, self._cells, self._secret, self._bits)

    def _pack(self) -> None:
        if not self._finished:
            return
        table = np.frombuffer(self._out, np.int64).reshape(len(EXTENT_COLUMNS), self._room)
        rows = table[:, : self._finished]
        # Few rows stay as they are given, many are copied when they are packed.
        self._packed.append(Columns.of_table(EXTENT_COLUMNS, rows.copy() if self._finished < FEW else rows).packed())
        self._finished = 0

    def _take_events(self, reported: int) -> None:
        if reported == 1 and self._events[0] == _LEADER_EPOCH:  # all that a healthy log has
            self._leader_epochs.append((self._events[1], self._events[2]))
            return
        events = np.frombuffer(self._events, np.int64).reshape(-1, kernel_fold.EVENT_SIZE)[:reported]
        gaps, epochs, breaks, unreadable = (
            events[events[:, 0] == number, 1:] for number in range(len(kernel_fold.EVENTS))
        )
        if len(gaps):
            self._gaps.append(Columns.of_table(GAP_COLUMNS, gaps[:, : len(GAP_COLUMNS)].T.copy()).packed())
        self._leader_epochs += [(epoch, first) for epoch, first in epochs[:, :2].tolist()]
        self._breaks += [Break(*row) for row in breaks.tolist()]
        self._unreadable += [(offset, position, size) for offset, position, size in unreadable[:, :3].tolist()]


_NO_MARKER: Final = (kernel_fold.OPEN, *[NONE] * (len(EXTENT_COLUMNS) - _IS_OPEN - 1))

_NEW_LOG: Final = array("q", [_NONE_YET.get(name, 0) for name in kernel_fold.PART_CELLS])

_SECRET: Final = secret_bits(62) * 2 + 1  # of this process: nobody can aim at it who does not see it

_SPARE: Final = 4  # folds' buffers that are kept

spare: list[_Buffers] = []

_NONE_OPEN: Final = Columns.empty(EXTENT_COLUMNS)

_NO_PRODUCERS: Final = Columns.empty(PRODUCER_COLUMNS)


def _few(names: tuple[str, ...], table: array[int], count: int) -> Columns:
    if not count:
        return Columns.empty(names)
    return Columns.of_table(names, np.frombuffer(table, np.int64, count * len(names)).reshape(-1, count))


def _zeros(cells: int) -> array[int]:
    return array("q", [0]) * cells


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


_EPOCH: Final = TALLY_COLUMNS.index("coordinator_epoch")


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


def tally(rows: Columns) -> Tally:
    """Return the counts of a log's transactions, made once for the same rows."""
    return rows.known(_counted)


def _counted(rows: Columns) -> Tally:
    committed = aborted = sole = 0
    are_plain = are_in_order = True
    epochs = set()
    for some in rows.blocks(*TALLY_COLUMNS):
        number, flat = len(some), some.flat(TALLY_COLUMNS)
        commits, aborts, alone, is_plain, in_order = tallied(flat, number)
        committed, aborted, sole = committed + commits, aborted + aborts, sole + alone
        are_plain, are_in_order = are_plain and is_plain, are_in_order and in_order
        epochs.add(flat[_EPOCH * number])
    return Tally(committed, aborted, sole, is_plain=are_plain, in_order=are_in_order and len(epochs) < 2)

# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
# cython: auto_pickle=False
"""The folds' hot loops: batches, or other folds' results, into one state for each producer.

One source that runs compiled and interpreted, under the rules of ``kafkalog.kernel.buffers``. A *table* is a
``folds.state_table.StateTable``: its `cells` are states row by row, one for each (log, producer), these two first;
`slots` is the hash table of their numbers, -1 where it is empty, its size a power of two and never less than twice the
states; `part` has the cells ``S_…``.

For an audit a state has WIDTH cells: first the transaction that no marker has ended yet, by ``EXTENT_COLUMNS`` without
the marker's, then whether there is one, then what the producer wrote, by ``PRODUCER_COLUMNS`` without the two keys.
For a snapshot it has STATE_CELLS: the number of the part of the log, then ``STATE_COLUMNS``.
"""

from __future__ import annotations

from typing import Any

try:
    import cython
except ImportError:  # not needed to run, only to compile
    from kafkalog.kernel import _shadow as cython

if not cython.compiled:  # else they come with the .pxd
    from collections import namedtuple

    from kafkalog.kernel.buffers import *
    from kafkalog.kernel.headers import believed
    from kafkalog.kernel.numbers import add64, minus64

    # They are structs, and so in registers: a row of cells would be read right after it is written.
    Extent = namedtuple("Extent", EXTENT_COLUMNS[E_FIRST_OFFSET:E_MARKER_TYPE])
    Marker = namedtuple("Marker", ("type", "offset", "epoch", "coordinator_epoch", "timestamp"))
    Written = namedtuple("Written", PRODUCER_COLUMNS[2 : 2 + P_BEFORE_EPOCH])
    Sequenced = namedtuple("Sequenced", ("epoch", "sequence", "offset", "timestamp"))

__all__ = [
    "DONE",
    "NO_ROOM",
    "NO_STATES",
    "batches",
    "extents",
    "few_states",
    "producers",
    "rehash",
    "sequence_break",
    "snapshot_batches",
    "snapshot_rows",
    "tallied",
]

# Why a loop stopped: all rows done, no room for more finished rows or events, or all states in use.
DONE, NO_ROOM, NO_STATES = range(3)


@cython.final
@cython.cclass
class States:
    """Producers' states, the hash table of their numbers, and what is known of their part of the log.

    An audit's have `out`, which gets the finished rows, and `events`, which gets what is reported; the part's cells say
    how many. No method checks a bound: ``states_of`` compares the sizes, a loop asks ``stops`` before each row.
    """

    width: cython.Py_ssize_t
    slots: cython.longlong[::1]
    cells: cython.longlong[::1]
    part: cython.longlong[::1]
    rows: cython.const[cython.longlong][:, ::1]  # that are folded
    out: cython.longlong[:, ::1]
    events: cython.longlong[:, ::1]

    @cython.cfunc
    @cython.inline
    @cython.exceptval(check=False)
    def slot_of(self, log: cython.longlong, producer: cython.longlong) -> cython.Py_ssize_t:
        """Return the slot that has the number of a producer's state, or the empty one where it belongs.

        A secret odd factor chooses the first slot to look at, so that data can't aim at one.
        """
        h: cython.ulonglong = ((producer ^ (log << 40)) * self.part[S_SECRET]) & ALL_BITS
        i: cython.Py_ssize_t = h >> (64 - self.part[S_BITS])
        mask: cython.Py_ssize_t = len(self.slots) - 1
        at: cython.Py_ssize_t
        while self.slots[i] >= 0:
            at = self.slots[i] * self.width
            if self.cells[at + E_PRODUCER_ID] == producer and self.cells[at + E_LOG_ID] == log:
                break
            i = (i + 1) & mask
        return i

    @cython.cfunc
    @cython.inline
    @cython.exceptval(check=False)
    def new_in(self, slot: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """Put the number of a new state in an empty slot; return where the state begins."""
        number: cython.longlong = self.part[S_USED]
        self.slots[slot] = number
        self.part[S_USED] = number + 1
        return number * self.width

    @cython.cfunc
    @cython.inline
    @cython.exceptval(check=False)
    def state_of(self, log: cython.longlong, producer: cython.longlong) -> cython.Py_ssize_t:
        """Return where the state of a producer begins; a producer without a state gets a new one."""
        i: cython.Py_ssize_t = self.slot_of(log, producer)
        at: cython.Py_ssize_t
        cell: cython.Py_ssize_t
        if self.slots[i] >= 0:
            return self.slots[i] * self.width
        at = self.new_in(i)
        for cell in range(WIDTH):
            self.cells[at + cell] = 0
        self.cells[at + E_LOG_ID] = log
        self.cells[at + E_PRODUCER_ID] = producer
        return at

    @cython.cfunc
    @cython.inline
    @cython.exceptval(check=False)
    def stops(self) -> cython.int:
        """Say why the loop can't take another row; ``DONE`` if it can."""
        if self.part[S_FINISHED] >= self.out.shape[1] or self.part[S_REPORTED] + EVENTS_AT_ONCE > len(self.events):
            return NO_ROOM
        if (self.part[S_USED] + 1) * self.width > len(self.cells):
            return NO_STATES
        return DONE

    @cython.cfunc
    @cython.inline
    @cython.exceptval(check=False)
    def extent_of(self, row: cython.Py_ssize_t) -> Extent:
        """Read an extent by ``EXTENT_COLUMNS``."""
        return Extent(
            first_offset=self.rows[E_FIRST_OFFSET, row],
            last_offset=self.rows[E_LAST_OFFSET, row],
            batches=self.rows[E_BATCHES, row],
            records=self.rows[E_RECORDS, row],
            size=self.rows[E_SIZE, row],
            min_timestamp=self.rows[E_MIN_TIMESTAMP, row],
            max_timestamp=self.rows[E_MAX_TIMESTAMP, row],
            first_epoch=self.rows[E_FIRST_EPOCH, row],
            last_epoch=self.rows[E_LAST_EPOCH, row],
            older_records=self.rows[E_OLDER_RECORDS, row],
            position=self.rows[E_POSITION, row],
        )

    @cython.cfunc
    @cython.inline
    @cython.exceptval(check=False)
    def marker_of(self, row: cython.Py_ssize_t) -> Marker:
        """Read the marker of an extent by ``EXTENT_COLUMNS``."""
        return Marker(
            type=self.rows[E_MARKER_TYPE, row],
            offset=self.rows[E_MARKER_OFFSET, row],
            epoch=self.rows[E_MARKER_EPOCH, row],
            coordinator_epoch=self.rows[E_COORDINATOR_EPOCH, row],
            timestamp=self.rows[E_MARKER_TIMESTAMP, row],
        )

    @cython.cfunc
    @cython.inline
    @cython.exceptval(check=False)
    def written_of(self, row: cython.Py_ssize_t) -> Written:
        """Read what a producer wrote by ``PRODUCER_COLUMNS``."""
        return Written(
            batches=self.rows[2 + P_BATCHES, row],
            records=self.rows[2 + P_RECORDS, row],
            first_epoch=self.rows[2 + P_FIRST_EPOCH, row],
            last_epoch=self.rows[2 + P_LAST_EPOCH, row],
            last_sequence=self.rows[2 + P_LAST_SEQUENCE, row],
            first_offset=self.rows[2 + P_FIRST_OFFSET, row],
            last_offset=self.rows[2 + P_LAST_OFFSET, row],
            first_timestamp=self.rows[2 + P_FIRST_TIMESTAMP, row],
            last_timestamp=self.rows[2 + P_LAST_TIMESTAMP, row],
        )

    @cython.cfunc
    @cython.inline
    @cython.exceptval(check=False)
    def sequenced_of(self, row: cython.Py_ssize_t, column: cython.Py_ssize_t) -> Sequenced:
        """Read the first or the last batch that has sequences by ``PRODUCER_COLUMNS``, its epoch in this column."""
        return Sequenced(
            epoch=self.rows[column, row],
            sequence=self.rows[column + 1, row],
            offset=self.rows[column + 2, row],
            timestamp=self.rows[column + 3, row],
        )

    @cython.cfunc
    @cython.inline
    @cython.exceptval(check=False)
    def absorb(self, at: cython.Py_ssize_t, extent: Extent) -> cython.void:
        """Join an extent to its producer's state.

        First values of an extent are from its first row that has data, last values from its last row that has data: a
        marker's row has none.
        """
        if not self.cells[at + IS_OPEN]:
            self.cells[at + IS_OPEN] = 1
            self.cells[at + E_FIRST_OFFSET] = extent.first_offset
            self.cells[at + E_LAST_OFFSET] = extent.last_offset
            self.cells[at + E_BATCHES] = extent.batches
            self.cells[at + E_RECORDS] = extent.records
            self.cells[at + E_SIZE] = extent.size
            self.cells[at + E_MIN_TIMESTAMP] = extent.min_timestamp
            self.cells[at + E_MAX_TIMESTAMP] = extent.max_timestamp
            self.cells[at + E_FIRST_EPOCH] = extent.first_epoch
            self.cells[at + E_LAST_EPOCH] = extent.last_epoch
            self.cells[at + E_OLDER_RECORDS] = extent.older_records
            self.cells[at + E_POSITION] = extent.position
        else:
            if extent.first_offset != NONE:
                self.cells[at + E_LAST_OFFSET] = extent.last_offset
                if extent.older_records != NONE:
                    self.cells[at + E_OLDER_RECORDS] = add64(self.cells[at + E_RECORDS], extent.older_records)
                elif extent.first_epoch != self.cells[at + E_LAST_EPOCH]:
                    self.cells[at + E_OLDER_RECORDS] = self.cells[at + E_RECORDS]
                self.cells[at + E_LAST_EPOCH] = extent.last_epoch
            self.cells[at + E_BATCHES] = add64(self.cells[at + E_BATCHES], extent.batches)
            self.cells[at + E_RECORDS] = add64(self.cells[at + E_RECORDS], extent.records)
            self.cells[at + E_SIZE] = add64(self.cells[at + E_SIZE], extent.size)
            if extent.min_timestamp != NONE and (
                self.cells[at + E_MIN_TIMESTAMP] == NONE or extent.min_timestamp < self.cells[at + E_MIN_TIMESTAMP]
            ):
                self.cells[at + E_MIN_TIMESTAMP] = extent.min_timestamp
            self.cells[at + E_MAX_TIMESTAMP] = max(self.cells[at + E_MAX_TIMESTAMP], extent.max_timestamp)

    @cython.cfunc
    @cython.inline
    @cython.exceptval(check=False)
    def finish(self, at: cython.Py_ssize_t, marker: Marker) -> cython.void:
        """Move a producer's extent, which this marker ends, out of its state."""
        cell: cython.Py_ssize_t
        n: cython.Py_ssize_t = self.part[S_FINISHED]
        self.part[S_FINISHED] = n + 1
        for cell in range(IS_OPEN):
            self.out[cell, n] = self.cells[at + cell]
        self.out[E_MARKER_TYPE, n] = marker.type
        self.out[E_MARKER_OFFSET, n] = marker.offset
        self.out[E_MARKER_EPOCH, n] = marker.epoch
        self.out[E_COORDINATOR_EPOCH, n] = marker.coordinator_epoch
        self.out[E_MARKER_TIMESTAMP, n] = marker.timestamp
        self.cells[at + IS_OPEN] = 0

    @cython.cfunc
    @cython.inline
    @cython.exceptval(check=False)
    def wrote(self, at: cython.Py_ssize_t, written: Written) -> cython.void:
        """Join what a producer wrote to its state."""
        to: cython.Py_ssize_t = at + WROTE
        self.cells[to + P_LAST_EPOCH] = written.last_epoch
        self.cells[to + P_LAST_SEQUENCE] = written.last_sequence
        self.cells[to + P_LAST_OFFSET] = written.last_offset
        if not self.cells[to + P_BATCHES]:
            self.cells[to + P_BATCHES] = written.batches
            self.cells[to + P_RECORDS] = written.records
            self.cells[to + P_FIRST_EPOCH] = written.first_epoch
            self.cells[to + P_FIRST_OFFSET] = written.first_offset
            self.cells[to + P_FIRST_TIMESTAMP] = written.first_timestamp
            self.cells[to + P_LAST_TIMESTAMP] = written.last_timestamp
        else:
            self.cells[to + P_BATCHES] += written.batches
            self.cells[to + P_RECORDS] = add64(self.cells[to + P_RECORDS], written.records)
            self.cells[to + P_FIRST_TIMESTAMP] = min(self.cells[to + P_FIRST_TIMESTAMP], written.first_timestamp)
            self.cells[to + P_LAST_TIMESTAMP] = max(self.cells[to + P_LAST_TIMESTAMP], written.last_timestamp)

    @cython.cfunc
    @cython.inline
    @cython.exceptval(check=False)
    def continued(self, at: cython.Py_ssize_t, first: Sequenced, last: Sequenced) -> cython.void:
        """Continue a producer's sequence with later batches, of which these are the first and the last.

        Sequences that neither continue nor begin again with 0 under a higher epoch become an event. It comes before
        ``wrote``: the first batches of a producer continue nothing.
        """
        to: cython.Py_ssize_t = at + WROTE
        e: cython.Py_ssize_t
        is_first: cython.bint = not self.cells[to + P_BATCHES]
        if first.sequence < 0 and not is_first:
            return
        if is_first or self.cells[to + P_BEFORE_SEQUENCE] < 0:
            self.cells[to + P_BEFORE_EPOCH] = first.epoch
            self.cells[to + P_BEFORE_SEQUENCE] = first.sequence
            self.cells[to + P_BEFORE_OFFSET] = first.offset
            self.cells[to + P_BEFORE_TIMESTAMP] = first.timestamp
        elif (
            sequence_break(
                self.cells[to + P_BEHIND_EPOCH], self.cells[to + P_BEHIND_SEQUENCE], first.epoch, first.sequence
            )
            != CONTINUES
        ):
            e = self.part[S_REPORTED]
            self.part[S_REPORTED] = e + 1
            self.events[e, EVENT_KIND] = EVENT_BREAK
            self.events[e, BREAK_LOG_ID] = self.cells[at + E_LOG_ID]
            self.events[e, BREAK_PRODUCER_ID] = self.cells[at + E_PRODUCER_ID]
            self.events[e, BREAK_LAST_EPOCH] = self.cells[to + P_BEHIND_EPOCH]
            self.events[e, BREAK_LAST_SEQUENCE] = self.cells[to + P_BEHIND_SEQUENCE]
            self.events[e, BREAK_LAST_OFFSET] = self.cells[to + P_BEHIND_OFFSET]
            self.events[e, BREAK_LAST_TIMESTAMP] = self.cells[to + P_BEHIND_TIMESTAMP]
            self.events[e, BREAK_NEXT_EPOCH] = first.epoch
            self.events[e, BREAK_FIRST_SEQUENCE] = first.sequence
            self.events[e, BREAK_FIRST_OFFSET] = first.offset
            self.events[e, BREAK_NEXT_TIMESTAMP] = first.timestamp
        self.cells[to + P_BEHIND_EPOCH] = last.epoch
        self.cells[to + P_BEHIND_SEQUENCE] = last.sequence
        self.cells[to + P_BEHIND_OFFSET] = last.offset
        self.cells[to + P_BEHIND_TIMESTAMP] = last.timestamp

    @cython.cfunc
    @cython.inline
    @cython.exceptval(check=False)
    def report(
        self, kind: cython.longlong, first: cython.longlong, second: cython.longlong, third: cython.longlong
    ) -> cython.void:
        """Add an event of a batch."""
        e: cython.Py_ssize_t = self.part[S_REPORTED]
        self.part[S_REPORTED] = e + 1
        self.events[e, EVENT_KIND] = kind
        self.events[e, 1] = first
        self.events[e, 2] = second
        self.events[e, 3] = third

    @cython.cfunc
    @cython.inline
    @cython.exceptval(check=False)
    def in_order(self, row: cython.Py_ssize_t, first: cython.longlong) -> cython.void:
        """Go on with the log: offsets missing before a batch that begins at `first`, a new leader epoch are events."""
        before: cython.longlong = self.part[S_LAST_OFFSET]
        epoch: cython.longlong = self.rows[LEADER_EPOCH, row]
        if add64(first, -1) != before or before == NONE:
            if self.part[S_FIRST_OFFSET] == NONE:
                self.part[S_FIRST_OFFSET] = first
                self.part[S_FIRST_POSITION] = self.rows[POSITION, row]
            elif first > before and add64(first, -1) != before:
                self.report(EVENT_GAP, add64(before, 1), add64(first, -1), self.rows[POSITION, row])
        self.part[S_LAST_OFFSET] = self.rows[LAST_OFFSET, row]
        if epoch != self.part[S_LEADER_EPOCH]:
            self.part[S_LEADER_EPOCH] = epoch
            self.report(EVENT_LEADER_EPOCH, epoch, first, 0)

    @cython.cfunc
    @cython.inline
    @cython.exceptval(check=False)
    def counted(
        self,
        row: cython.Py_ssize_t,
        records: cython.longlong,
        is_control: cython.bint,
    ) -> cython.void:
        """Count a batch and its records; fewer of them than offsets, or a delete horizon, are the cleaner's."""
        first: cython.longlong = self.rows[BASE_OFFSET, row]
        is_lie: cython.bint = records == 0 and self.rows[COUNT, row] != 0  # a count that shows nothing of the cleaner
        if is_control:
            self.part[S_CONTROL_RECORDS] = add64(self.part[S_CONTROL_RECORDS], records)
            if self.rows[ATTRIBUTES, row] & HORIZON_BIT:
                self.part[S_CLEANED] = 1
        else:
            self.part[S_BATCHES] += 1
            self.part[S_RECORDS] = add64(self.part[S_RECORDS], records)
            if first != NONE and not is_lie and records < add64(add64(self.rows[LAST_OFFSET, row], 1), -first):
                self.part[S_CLEANED] = 1

    @cython.cfunc
    @cython.inline
    @cython.exceptval(check=False)
    def batch(
        self,
        row: cython.Py_ssize_t,
        kind: cython.longlong,
        coordinator_epoch: cython.longlong,
    ) -> cython.void:
        """Fold a batch whose checksum matches; `kind` is its marker's type, below 0 for none."""
        attributes: cython.longlong = self.rows[ATTRIBUTES, row]
        is_modern: cython.bint = self.rows[MAGIC, row] > 1
        is_control: cython.bint = is_modern and attributes & CONTROL_BIT
        newest: cython.longlong = max(self.rows[MAX_TIMESTAMP, row], -1)  # what is below is no time of Kafka's
        records: cython.longlong = believed(self.rows, row) if self.rows[COUNT, row] != NONE else 1
        first: cython.longlong = self.rows[BASE_OFFSET, row]
        if first == NONE:  # a wrapper that can't be opened may begin right after the batch before it
            first = self.rows[LAST_OFFSET, row]
            if self.part[S_LAST_OFFSET] != NONE:
                first = add64(self.part[S_LAST_OFFSET], 1)
        self.in_order(row, first)
        self.part[S_NEWEST] = max(self.part[S_NEWEST], newest)
        if kind >= 0 or (attributes & APPEND_TIME_BIT and self.rows[MAGIC, row] > 0):
            self.part[S_NEWEST_BROKER] = max(self.part[S_NEWEST_BROKER], newest)
        self.counted(row, records, is_control)
        if kind >= 0:
            self.end(row, first, newest, kind, coordinator_epoch)
        elif kind == UNREADABLE:
            self.report(EVENT_MARKER_UNREADABLE, first, self.rows[POSITION, row], self.rows[SIZE, row])
        if is_modern and not is_control and self.rows[PRODUCER_ID, row] >= 0:
            self.data(row, first, newest, records)

    @cython.cfunc
    @cython.inline
    @cython.exceptval(check=False)
    def data(
        self,
        row: cython.Py_ssize_t,
        first: cython.longlong,
        newest: cython.longlong,
        records: cython.longlong,
    ) -> cython.void:
        """Fold a producer's data: that of a transaction opens one, or is more of the open one."""
        at: cython.Py_ssize_t = self.state_of(0, self.rows[PRODUCER_ID, row])
        epoch: cython.longlong = self.rows[PRODUCER_EPOCH, row]
        last: cython.longlong = self.rows[LAST_OFFSET, row]
        earliest: cython.longlong = newest
        written: Written
        extent: Extent
        # Else the base is not a record's time.
        if not self.rows[ATTRIBUTES, row] & (APPEND_TIME_BIT | HORIZON_BIT) and self.rows[BASE_TIMESTAMP, row] < newest:
            earliest = max(self.rows[BASE_TIMESTAMP, row], -1)
        self.continued(
            at,
            Sequenced(epoch=epoch, sequence=self.rows[BASE_SEQUENCE, row], offset=first, timestamp=newest),
            Sequenced(epoch=epoch, sequence=self.rows[LAST_SEQUENCE, row], offset=last, timestamp=newest),
        )
        written = Written(
            batches=1,
            records=records,
            first_epoch=epoch,
            last_epoch=epoch,
            last_sequence=self.rows[LAST_SEQUENCE, row],
            first_offset=first,
            last_offset=last,
            first_timestamp=earliest,
            last_timestamp=newest,
        )
        self.wrote(at, written)
        if self.rows[ATTRIBUTES, row] & TRANSACTIONAL_BIT:
            extent = Extent(
                first_offset=first,
                last_offset=last,
                batches=1,
                records=records,
                size=self.rows[SIZE, row],
                min_timestamp=earliest,
                max_timestamp=newest,
                first_epoch=epoch,
                last_epoch=epoch,
                older_records=NONE,
                position=self.rows[POSITION, row],
            )
            self.absorb(at, extent)

    @cython.cfunc
    @cython.inline
    @cython.exceptval(check=False)
    def end(
        self,
        row: cython.Py_ssize_t,
        first: cython.longlong,
        newest: cython.longlong,
        kind: cython.longlong,
        coordinator_epoch: cython.longlong,
    ) -> cython.void:
        """Fold a marker: it ends its producer's open transaction, whatever its epoch; with none open, an empty one."""
        at: cython.Py_ssize_t = self.state_of(0, self.rows[PRODUCER_ID, row])
        marker: Marker = Marker(
            type=kind,
            offset=first,
            epoch=self.rows[PRODUCER_EPOCH, row],
            coordinator_epoch=coordinator_epoch,
            timestamp=newest,
        )
        if not self.cells[at + IS_OPEN]:
            nothing: Extent = Extent(
                first_offset=NONE,
                last_offset=NONE,
                batches=0,
                records=0,
                size=0,
                min_timestamp=NONE,
                max_timestamp=NONE,
                first_epoch=NONE,
                last_epoch=NONE,
                older_records=NONE,
                position=NONE,
            )
            self.absorb(at, nothing)
        self.finish(at, marker)

    @cython.cfunc
    @cython.inline
    @cython.exceptval(check=False)
    def current_batch(
        self,
        row: cython.Py_ssize_t,
        part: cython.Py_ssize_t,
        coordinator_epoch: cython.longlong,
    ) -> cython.void:
        """Make a batch of a part a row of its own, in the last state's cells, and join it."""
        s: cython.Py_ssize_t = len(self.cells) - STATE_CELLS
        base: cython.longlong = self.rows[BASE_OFFSET, row]
        last: cython.longlong = self.rows[LAST_OFFSET, row]
        attributes: cython.longlong = self.rows[ATTRIBUTES, row]
        self.cells[s + Q_PART] = part
        self.cells[s + Q_PRODUCER_ID] = self.rows[PRODUCER_ID, row]
        self.cells[s + Q_FIRST_EPOCH] = self.cells[s + Q_PRODUCER_EPOCH] = self.rows[PRODUCER_EPOCH, row]
        self.cells[s + Q_EPOCH_CHANGES] = 0
        self.cells[s + Q_FIRST_OFFSET] = base
        self.cells[s + Q_NEWEST_OFFSET] = last
        self.cells[s + Q_TIMESTAMP] = self.rows[MAX_TIMESTAMP, row]
        if attributes & CONTROL_BIT:
            self.cells[s + Q_LAST_SEQUENCE] = self.cells[s + Q_LAST_OFFSET] = self.cells[s + Q_OFFSET_DELTA] = NONE
            self.cells[s + Q_DATA_TIMESTAMP] = self.cells[s + Q_CURRENT_TXN_FIRST_OFFSET] = NONE
            self.cells[s + Q_COORDINATOR_EPOCH] = coordinator_epoch
            self.cells[s + Q_MARKER_OFFSET] = last
        else:
            self.cells[s + Q_LAST_SEQUENCE] = self.rows[LAST_SEQUENCE, row]
            self.cells[s + Q_LAST_OFFSET] = last
            self.cells[s + Q_OFFSET_DELTA] = minus64(last, base)
            self.cells[s + Q_DATA_TIMESTAMP] = self.rows[MAX_TIMESTAMP, row]
            self.cells[s + Q_COORDINATOR_EPOCH] = self.cells[s + Q_MARKER_OFFSET] = NONE
            self.cells[s + Q_CURRENT_TXN_FIRST_OFFSET] = base if attributes & TRANSACTIONAL_BIT else NONE
        self.continue_state(s)

    @cython.cfunc
    @cython.inline
    @cython.exceptval(check=False)
    def continue_state(self, row: cython.Py_ssize_t) -> cython.void:
        """Join the later row whose cells are ``cells[row:]`` to its producer's state, or make it a new state.

        A marker in the later row ended what was open before: the state's open transaction is then the row's, or none.

        ProducerStateManager's rule, as in `batches`, for entries of a producer snapshot.
        """
        i: cython.Py_ssize_t = self.slot_of(self.cells[row + Q_PART], self.cells[row + Q_PRODUCER_ID])
        at: cython.Py_ssize_t
        cell: cython.Py_ssize_t
        if self.slots[i] < 0:
            at = self.new_in(i)
            for cell in range(STATE_CELLS):
                self.cells[at + cell] = self.cells[row + cell]
            return
        at = self.slots[i] * STATE_CELLS
        self.cells[at + Q_EPOCH_CHANGES] += self.cells[row + Q_EPOCH_CHANGES]
        if self.cells[row + Q_FIRST_EPOCH] != self.cells[at + Q_PRODUCER_EPOCH]:
            self.cells[at + Q_EPOCH_CHANGES] += 1
            self.cells[at + Q_LAST_OFFSET] = NONE
        if self.cells[row + Q_EPOCH_CHANGES]:
            self.cells[at + Q_LAST_OFFSET] = NONE
        if self.cells[row + Q_LAST_OFFSET] != NONE or self.cells[at + Q_LAST_OFFSET] == NONE:
            for cell in range(Q_LAST_SEQUENCE, Q_COORDINATOR_EPOCH):
                self.cells[at + cell] = self.cells[row + cell]
        self.cells[at + Q_PRODUCER_EPOCH] = self.cells[row + Q_PRODUCER_EPOCH]
        self.cells[at + Q_NEWEST_OFFSET] = self.cells[row + Q_NEWEST_OFFSET]
        self.cells[at + Q_TIMESTAMP] = self.cells[row + Q_TIMESTAMP]
        if self.cells[row + Q_MARKER_OFFSET] != NONE:
            self.cells[at + Q_COORDINATOR_EPOCH] = self.cells[row + Q_COORDINATOR_EPOCH]
            self.cells[at + Q_MARKER_OFFSET] = self.cells[row + Q_MARKER_OFFSET]
            self.cells[at + Q_CURRENT_TXN_FIRST_OFFSET] = self.cells[row + Q_CURRENT_TXN_FIRST_OFFSET]
        elif self.cells[at + Q_CURRENT_TXN_FIRST_OFFSET] == NONE:
            self.cells[at + Q_CURRENT_TXN_FIRST_OFFSET] = self.cells[row + Q_CURRENT_TXN_FIRST_OFFSET]


def sequence_break(
    epoch: cython.longlong, last_sequence: cython.longlong, next_epoch: cython.longlong, first_sequence: cython.longlong
) -> cython.int:
    """Say what breaks between two batches of a producer, as ProducerAppendInfo does: after 2147483647 comes 0.

    A hole is up to half of all sequences wide; a higher epoch begins again with 0.
    """
    ahead: cython.longlong = (first_sequence - last_sequence - 1) & 2147483647
    if next_epoch == epoch:
        return CONTINUES if ahead == 0 else HOLE if ahead < 1073741824 else OVERLAP
    if next_epoch < epoch:
        return EPOCH_DECREASING
    return CONTINUES if first_sequence == 0 else EPOCH_NOT_FROM_ZERO


@cython.cfunc
def states_of(table: Any) -> States:
    """Take the buffers of a table of states; raise IndexError if they don't have the sizes that the loops rely on."""
    one: States = States.__new__(States)
    one.width = table.width
    one.slots = table.slots
    one.cells = table.cells
    one.part = table.part
    if (
        len(one.part) < PART_CELLS
        or one.width < 2
        or len(one.slots) != 1 << one.part[S_BITS]
        or 2 * (len(one.cells) // one.width) > len(one.slots)
        or len(one.cells) % one.width
    ):
        raise IndexError
    if one.width == WIDTH:
        one.out = table.out.cells
        one.events = table.events
        if len(one.out) < EXTENT_CELLS or one.events.shape[1] < EVENT_CELLS:
            raise IndexError
    elif one.width != STATE_CELLS:
        raise IndexError
    return one


def rehash(table: Any) -> None:
    """Fill a table's empty slots with the numbers of all states in use."""
    one: States = states_of(table)
    number: cython.Py_ssize_t
    at: cython.Py_ssize_t
    for number in range(one.part[S_USED]):
        at = number * one.width
        one.slots[one.slot_of(one.cells[at + E_LOG_ID], one.cells[at + E_PRODUCER_ID])] = number


def batches(
    table: Any,
    heads: Any,
    row: cython.Py_ssize_t,
    types: cython.const[cython.longlong][::1],
    coordinator_epochs: cython.const[cython.longlong][::1],
) -> tuple[int, int]:
    """Fold the batches of the kernel's table `heads` whose checksums match into a table of states, from `row` on.

    Data of a transaction opens one of its producer, or is more of the open one. Any marker of the producer ends the
    open one, whatever the marker's epoch; with none open it is an empty transaction. A marker that can't be read ends
    nothing. `types` and `coordinator_epochs` are those of their markers. Answers (row to continue with, why it
    stopped).

    Follows ProducerAppendInfo.appendEndTxnMarker and ProducerStateManager.completeTxn (KIP-98).
    """
    one: States = states_of(table)
    count: cython.Py_ssize_t = heads.count
    why: cython.int
    one.rows = heads.cells
    if one.width != WIDTH or len(one.rows) < BATCH_CELLS or row < 0:
        raise IndexError
    if count > min(one.rows.shape[1], len(types), len(coordinator_epochs)):
        raise IndexError
    while row < count:
        why = one.stops()
        if why != DONE:
            return row, why
        if one.rows[VALID, row]:
            one.batch(row, types[row], coordinator_epochs[row])
        row += 1
    return row, DONE


def extents(table: Any, rows: cython.const[cython.longlong][:, ::1], row: cython.Py_ssize_t) -> tuple[int, int]:
    """Fold extents of other folds, rows by ``EXTENT_COLUMNS`` in log order, from `row` on.

    A producer's extents belong to one transaction up to the first that has a marker, which ends it. Answers (row to
    continue with, why it stopped).

    ProducerStateManager's rule, as in `batches`, for what is known of parts of a log.
    """
    one: States = states_of(table)
    at: cython.Py_ssize_t
    why: cython.int
    one.rows = rows
    if one.width != WIDTH or len(rows) < EXTENT_CELLS or row < 0:
        raise IndexError
    while row < rows.shape[1]:
        why = one.stops()
        if why != DONE:
            return row, why
        at = one.state_of(one.rows[E_LOG_ID, row], one.rows[E_PRODUCER_ID, row])
        one.absorb(at, one.extent_of(row))
        if one.rows[E_MARKER_TYPE, row] >= 0:
            one.finish(at, one.marker_of(row))
        row += 1
    return row, DONE


def producers(table: Any, rows: cython.const[cython.longlong][:, ::1], row: cython.Py_ssize_t) -> tuple[int, int]:
    """Fold what producers wrote in later parts, rows by ``PRODUCER_COLUMNS``, from `row` on.

    Answers (row to continue with, why it stopped).
    """
    one: States = states_of(table)
    at: cython.Py_ssize_t
    why: cython.int
    one.rows = rows
    if one.width != WIDTH or len(rows) < PRODUCER_CELLS + 2 or row < 0:
        raise IndexError
    while row < rows.shape[1]:
        why = one.stops()
        if why != DONE:
            return row, why
        at = one.state_of(one.rows[E_LOG_ID, row], one.rows[E_PRODUCER_ID, row])
        one.continued(
            at, one.sequenced_of(row, 2 + P_BEFORE_EPOCH), one.sequenced_of(row, 2 + P_BEHIND_EPOCH)
        )  # fmt: skip
        one.wrote(at, one.written_of(row))
        row += 1
    return row, DONE


def few_states(
    states: cython.const[cython.longlong][::1],
    used: cython.Py_ssize_t,
    opened: cython.longlong[::1],
    producers: cython.longlong[::1],
    order: cython.longlong[::1],
) -> tuple[int, int]:
    """Copy few states into two tables that have room for `used` rows, column by column, without a gap between columns.

    `opened` gets the transactions without a marker, by ``EXTENT_COLUMNS``, `producers` what those wrote that wrote, by
    ``PRODUCER_COLUMNS``, sorted by their keys; `order` is a buffer of `used` cells. Answers how many rows each has.
    """
    row: cython.Py_ssize_t
    at: cython.Py_ssize_t
    place: cython.Py_ssize_t
    cell: cython.Py_ssize_t
    of_opened: cython.Py_ssize_t = 0
    of_producers: cython.Py_ssize_t = 0
    n: cython.Py_ssize_t = 0
    if (
        used < 0
        or len(states) < used * WIDTH
        or len(opened) < used * EXTENT_CELLS
        or len(producers) < used * (PRODUCER_CELLS + 2)
        or len(order) < used
    ):
        raise IndexError
    for row in range(used):
        at = row * WIDTH
        if states[at + IS_OPEN]:
            of_opened += 1
        if states[at + WROTE + P_BATCHES] > 0:
            place = of_producers
            while place > 0 and (
                states[order[place - 1] + E_PRODUCER_ID] > states[at + E_PRODUCER_ID]
                if states[order[place - 1] + E_LOG_ID] == states[at + E_LOG_ID]
                else states[order[place - 1] + E_LOG_ID] > states[at + E_LOG_ID]
            ):
                order[place] = order[place - 1]
                place -= 1
            order[place] = at
            of_producers += 1
    for row in range(used):
        at = row * WIDTH
        if states[at + IS_OPEN]:
            for cell in range(IS_OPEN):
                opened[n + cell * of_opened] = states[at + cell]
            opened[n + E_MARKER_TYPE * of_opened] = OPEN
            for cell in range(E_MARKER_OFFSET, EXTENT_CELLS):
                opened[n + cell * of_opened] = NONE
            n += 1
    for row in range(of_producers):
        at = order[row]
        producers[row] = states[at + E_LOG_ID]
        producers[row + of_producers] = states[at + E_PRODUCER_ID]
        for cell in range(PRODUCER_CELLS):
            producers[row + (cell + 2) * of_producers] = states[at + WROTE + cell]
    return of_opened, of_producers


def tallied(rows: cython.const[cython.longlong][:, ::1], count: cython.Py_ssize_t) -> tuple[int, int, int, bool, bool]:
    """Count `count` transactions by ``TALLY_COLUMNS``.

    Answers (committed with data, aborted with data, ended by a marker whose epoch is theirs alone, whether each has
    data of one epoch, its begin and a marker, whether no marker has an older epoch than its data and all are of one
    coordinator's epoch).
    """
    row: cython.Py_ssize_t
    committed: cython.Py_ssize_t = 0
    aborted: cython.Py_ssize_t = 0
    sole: cython.Py_ssize_t = 0
    odd: cython.Py_ssize_t = 0
    disorder: cython.Py_ssize_t = 0
    last: cython.longlong
    marker: cython.longlong
    kind: cython.longlong
    if count < 1 or len(rows) < TALLY_CELLS or count > rows.shape[1]:
        raise IndexError
    for row in range(count):
        kind = rows[T_MARKER_TYPE, row]
        last = rows[T_LAST_EPOCH, row]
        marker = rows[T_MARKER_EPOCH, row]
        if rows[T_FIRST_OFFSET, row] == NONE or kind == OPEN:
            odd += 1
            continue
        if kind == COMMIT:
            committed += 1
        else:
            aborted += 1
        if rows[T_OLDER_RECORDS, row] != NONE:
            odd += 1
        elif marker > last:
            sole += 1
        if not rows[T_BATCHES, row]:
            odd += 1
        if marker < last or rows[T_COORDINATOR_EPOCH, row] != rows[T_COORDINATOR_EPOCH, 0]:
            disorder += 1
    return committed, aborted, sole, odd == 0, odd == 0 and disorder == 0


# Producers' states as a snapshot has them: batches, or rows of other parts, into one state for each producer.


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def part_of(stops: cython.const[cython.longlong][::1], offset: cython.longlong) -> cython.Py_ssize_t:
    """Return the number of the part that an offset is in: the first whose stop is above it."""
    low: cython.Py_ssize_t = 0
    high: cython.Py_ssize_t = len(stops)
    half: cython.Py_ssize_t
    while low < high:
        half = (low + high) // 2
        if stops[half] <= offset:
            low = half + 1
        else:
            high = half
    return low


def snapshot_batches(
    table: Any,
    heads: Any,
    row: cython.Py_ssize_t,
    types: cython.const[cython.longlong][::1],
    coordinator_epochs: cython.const[cython.longlong][::1],
    stops: cython.const[cython.longlong][::1],
) -> int:
    """Fold the batches of the kernel's table `heads` that change a producer's state into a table, from `row` on.

    Those are batches of magic 2 whose checksum matches, except control batches that end no transaction. A batch
    belongs to the part that ends at the first of `stops`, which rise, above its last offset. Answers the row to
    continue with when there is room for more states.
    """
    one: States = states_of(table)
    count: cython.Py_ssize_t = heads.count
    room: cython.longlong = len(one.cells) // STATE_CELLS - 1  # the last state's cells are the current row
    attributes: cython.longlong
    one.rows = heads.cells
    if one.width != STATE_CELLS or len(one.rows) < BATCH_CELLS or room < 1 or row < 0:
        raise IndexError
    if count > min(one.rows.shape[1], len(types), len(coordinator_epochs)):
        raise IndexError
    while row < count:
        if one.part[S_USED] >= room:
            return row
        attributes = one.rows[ATTRIBUTES, row]
        if (
            one.rows[VALID, row]
            and one.rows[MAGIC, row] > 1
            and one.rows[PRODUCER_ID, row] >= 0
            and (types[row] >= 0 or not attributes & CONTROL_BIT)
        ):
            one.current_batch(row, part_of(stops, one.rows[LAST_OFFSET, row]), coordinator_epochs[row])
        row += 1
    return row


def snapshot_rows(table: Any, rows: cython.const[cython.longlong][:, ::1], row: cython.Py_ssize_t) -> int:
    """Fold rows by ``STATE_COLUMNS`` of other parts, in log order, from `row` on, as one part.

    Answers the row to continue with when there is room for more states.
    """
    one: States = states_of(table)
    room: cython.longlong = len(one.cells) // STATE_CELLS - 1
    s: cython.Py_ssize_t = len(one.cells) - STATE_CELLS
    cell: cython.Py_ssize_t
    if one.width != STATE_CELLS or len(rows) < STATE_CELLS - 1 or room < 1 or row < 0:
        raise IndexError
    while row < rows.shape[1]:
        if one.part[S_USED] >= room:
            return row
        one.cells[s + Q_PART] = 0
        for cell in range(1, STATE_CELLS):
            one.cells[s + cell] = rows[cell - 1, row]
        one.continue_state(s)
        row += 1
    return row

# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The folds' hot loops: batches, or other folds' results, into one state for each producer.

One source that runs compiled and interpreted, under the rules of ``kafkalog.kernel.buffers``. *States* are row by row,
one for each (log, producer), these two first. *Slots* is the hash table of their numbers, -1 where it is empty; its
size is a power of two and never less than twice the states. *Part* has the cells ``S_…``.

For an audit a state has WIDTH cells: first the transaction that no marker has ended yet, by ``EXTENT_COLUMNS`` without
the marker's, then whether there is one, then what the producer wrote, by ``PRODUCER_COLUMNS`` without the two keys.
For a snapshot it has STATE_CELLS: the number of the part of the log, then ``STATE_COLUMNS``.
"""

from __future__ import annotations

try:
    import cython
except ImportError:  # not needed to run, only to compile
    from kafkalog.kernel import _shadow as cython

if not cython.compiled:  # else they come with the .pxd
    from collections import namedtuple

    from kafkalog.kernel.buffers import *
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


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def slot_of(
    log: cython.longlong,
    producer: cython.longlong,
    width: cython.Py_ssize_t,
    slots: cython.const[cython.longlong][::1],
    states: cython.const[cython.longlong][::1],
    part: cython.const[cython.longlong][::1],
) -> cython.Py_ssize_t:
    """Return the slot that has the number of a producer's state, or the empty one where it belongs.

    A secret odd factor chooses the first slot to look at, so that data can't aim at one.
    """
    h: cython.ulonglong = ((producer ^ (log << 40)) * part[S_SECRET]) & ALL_BITS
    i: cython.Py_ssize_t = h >> (64 - part[S_BITS])
    mask: cython.Py_ssize_t = len(slots) - 1
    at: cython.Py_ssize_t
    while slots[i] >= 0:
        at = slots[i] * width
        if states[at + E_PRODUCER_ID] == producer and states[at + E_LOG_ID] == log:
            break
        i = (i + 1) & mask
    return i


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def state_of(
    log: cython.longlong,
    producer: cython.longlong,
    slots: cython.longlong[::1],
    states: cython.longlong[::1],
    part: cython.longlong[::1],
) -> cython.Py_ssize_t:
    """Return where the state of a producer begins; a producer without a state gets a new one."""
    i: cython.Py_ssize_t = slot_of(log, producer, WIDTH, slots, states, part)
    at: cython.Py_ssize_t
    cell: cython.Py_ssize_t
    if slots[i] >= 0:
        return slots[i] * WIDTH
    slots[i] = part[S_USED]
    at = part[S_USED] * WIDTH
    part[S_USED] += 1
    for cell in range(WIDTH):
        states[at + cell] = 0
    states[at + E_LOG_ID] = log
    states[at + E_PRODUCER_ID] = producer
    return at


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def absorb(
    states: cython.longlong[::1],
    at: cython.Py_ssize_t,
    extent: Extent,
) -> cython.void:
    """Join an extent to its producer's state.

    First values of an extent are from its first row that has data, last values from its last row that has data: a
    marker's row has none.
    """
    if not states[at + IS_OPEN]:
        states[at + IS_OPEN] = 1
        states[at + E_FIRST_OFFSET] = extent.first_offset
        states[at + E_LAST_OFFSET] = extent.last_offset
        states[at + E_BATCHES] = extent.batches
        states[at + E_RECORDS] = extent.records
        states[at + E_SIZE] = extent.size
        states[at + E_MIN_TIMESTAMP] = extent.min_timestamp
        states[at + E_MAX_TIMESTAMP] = extent.max_timestamp
        states[at + E_FIRST_EPOCH] = extent.first_epoch
        states[at + E_LAST_EPOCH] = extent.last_epoch
        states[at + E_OLDER_RECORDS] = extent.older_records
        states[at + E_POSITION] = extent.position
    else:
        if extent.first_offset != NONE:
            states[at + E_LAST_OFFSET] = extent.last_offset
            if extent.older_records != NONE:
                states[at + E_OLDER_RECORDS] = add64(states[at + E_RECORDS], extent.older_records)
            elif extent.first_epoch != states[at + E_LAST_EPOCH]:
                states[at + E_OLDER_RECORDS] = states[at + E_RECORDS]
            states[at + E_LAST_EPOCH] = extent.last_epoch
        states[at + E_BATCHES] = add64(states[at + E_BATCHES], extent.batches)
        states[at + E_RECORDS] = add64(states[at + E_RECORDS], extent.records)
        states[at + E_SIZE] = add64(states[at + E_SIZE], extent.size)
        if extent.min_timestamp != NONE and (
            states[at + E_MIN_TIMESTAMP] == NONE or extent.min_timestamp < states[at + E_MIN_TIMESTAMP]
        ):
            states[at + E_MIN_TIMESTAMP] = extent.min_timestamp
        states[at + E_MAX_TIMESTAMP] = max(states[at + E_MAX_TIMESTAMP], extent.max_timestamp)


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def finish(
    states: cython.longlong[::1],
    at: cython.Py_ssize_t,
    marker: Marker,
    out: cython.longlong[:, ::1],
    part: cython.longlong[::1],
) -> cython.void:
    """Move a producer's extent, which this marker ends, out of its state."""
    cell: cython.Py_ssize_t
    n: cython.Py_ssize_t = part[S_FINISHED]
    part[S_FINISHED] = n + 1
    for cell in range(IS_OPEN):
        out[cell, n] = states[at + cell]
    out[E_MARKER_TYPE, n] = marker.type
    out[E_MARKER_OFFSET, n] = marker.offset
    out[E_MARKER_EPOCH, n] = marker.epoch
    out[E_COORDINATOR_EPOCH, n] = marker.coordinator_epoch
    out[E_MARKER_TIMESTAMP, n] = marker.timestamp
    states[at + IS_OPEN] = 0


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def wrote(
    states: cython.longlong[::1],
    at: cython.Py_ssize_t,
    written: Written,
) -> cython.void:
    """Join what a producer wrote to its state."""
    to: cython.Py_ssize_t = at + WROTE
    states[to + P_LAST_EPOCH] = written.last_epoch
    states[to + P_LAST_SEQUENCE] = written.last_sequence
    states[to + P_LAST_OFFSET] = written.last_offset
    if not states[to + P_BATCHES]:
        states[to + P_BATCHES] = written.batches
        states[to + P_RECORDS] = written.records
        states[to + P_FIRST_EPOCH] = written.first_epoch
        states[to + P_FIRST_OFFSET] = written.first_offset
        states[to + P_FIRST_TIMESTAMP] = written.first_timestamp
        states[to + P_LAST_TIMESTAMP] = written.last_timestamp
    else:
        states[to + P_BATCHES] += written.batches
        states[to + P_RECORDS] = add64(states[to + P_RECORDS], written.records)
        states[to + P_FIRST_TIMESTAMP] = min(states[to + P_FIRST_TIMESTAMP], written.first_timestamp)
        states[to + P_LAST_TIMESTAMP] = max(states[to + P_LAST_TIMESTAMP], written.last_timestamp)


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
@cython.inline
@cython.exceptval(check=False)
def continued(
    states: cython.longlong[::1],
    at: cython.Py_ssize_t,
    first: Sequenced,
    last: Sequenced,
    events: cython.longlong[:, ::1],
    part: cython.longlong[::1],
) -> cython.void:
    """Continue a producer's sequence with later batches, of which these are the first and the last.

    Sequences that neither continue nor begin again with 0 under a higher epoch become an event. It comes before
    ``wrote``: the first batches of a producer continue nothing.
    """
    to: cython.Py_ssize_t = at + WROTE
    e: cython.Py_ssize_t
    is_first: cython.bint = not states[to + P_BATCHES]
    if first.sequence < 0 and not is_first:
        return
    if is_first or states[to + P_BEFORE_SEQUENCE] < 0:
        states[to + P_BEFORE_EPOCH] = first.epoch
        states[to + P_BEFORE_SEQUENCE] = first.sequence
        states[to + P_BEFORE_OFFSET] = first.offset
        states[to + P_BEFORE_TIMESTAMP] = first.timestamp
    elif (
        sequence_break(states[to + P_BEHIND_EPOCH], states[to + P_BEHIND_SEQUENCE], first.epoch, first.sequence)
        != CONTINUES
    ):
        e = part[S_REPORTED]
        part[S_REPORTED] = e + 1
        events[e, EVENT_KIND] = EVENT_BREAK
        events[e, BREAK_LOG_ID] = states[at + E_LOG_ID]
        events[e, BREAK_PRODUCER_ID] = states[at + E_PRODUCER_ID]
        events[e, BREAK_LAST_EPOCH] = states[to + P_BEHIND_EPOCH]
        events[e, BREAK_LAST_SEQUENCE] = states[to + P_BEHIND_SEQUENCE]
        events[e, BREAK_LAST_OFFSET] = states[to + P_BEHIND_OFFSET]
        events[e, BREAK_LAST_TIMESTAMP] = states[to + P_BEHIND_TIMESTAMP]
        events[e, BREAK_NEXT_EPOCH] = first.epoch
        events[e, BREAK_FIRST_SEQUENCE] = first.sequence
        events[e, BREAK_FIRST_OFFSET] = first.offset
        events[e, BREAK_NEXT_TIMESTAMP] = first.timestamp
    states[to + P_BEHIND_EPOCH] = last.epoch
    states[to + P_BEHIND_SEQUENCE] = last.sequence
    states[to + P_BEHIND_OFFSET] = last.offset
    states[to + P_BEHIND_TIMESTAMP] = last.timestamp


def check(
    slots: cython.const[cython.longlong][::1],
    states: cython.const[cython.longlong][::1],
    part: cython.const[cython.longlong][::1],
    width: cython.Py_ssize_t,
) -> None:
    """Raise IndexError if buffers do not have the sizes that the loops rely on; the loops check nothing."""
    if (
        len(part) < PART_CELLS
        or len(slots) != 1 << part[S_BITS]
        or 2 * (len(states) // width) > len(slots)
        or len(states) % width
    ):
        raise IndexError


def rehash(
    slots: cython.longlong[::1],
    states: cython.const[cython.longlong][::1],
    part: cython.const[cython.longlong][::1],
    width: cython.Py_ssize_t,
) -> None:
    """Fill empty slots with the numbers of all states in use."""
    number: cython.Py_ssize_t
    at: cython.Py_ssize_t
    if width < 2:
        raise IndexError
    check(slots, states, part, width)
    for number in range(part[S_USED]):
        at = number * width
        slots[slot_of(states[at + E_LOG_ID], states[at + E_PRODUCER_ID], width, slots, states, part)] = number


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def report(
    part: cython.longlong[::1],
    events: cython.longlong[:, ::1],
    kind: cython.longlong,
    first: cython.longlong,
    second: cython.longlong,
    third: cython.longlong,
) -> cython.void:
    """Add an event of a batch."""
    e: cython.Py_ssize_t = part[S_REPORTED]
    part[S_REPORTED] = e + 1
    events[e, EVENT_KIND] = kind
    events[e, 1] = first
    events[e, 2] = second
    events[e, 3] = third


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def in_order(
    heads: cython.const[cython.longlong][:, ::1],
    row: cython.Py_ssize_t,
    first: cython.longlong,
    part: cython.longlong[::1],
    events: cython.longlong[:, ::1],
) -> cython.void:
    """Go on with the log: offsets missing before a batch that begins at `first`, and a new leader epoch are events."""
    before: cython.longlong = part[S_LAST_OFFSET]
    epoch: cython.longlong = heads[LEADER_EPOCH, row]
    if add64(first, -1) != before or before == NONE:
        if part[S_FIRST_OFFSET] == NONE:
            part[S_FIRST_OFFSET] = first
            part[S_FIRST_POSITION] = heads[POSITION, row]
        elif first > before and add64(first, -1) != before:
            report(part, events, EVENT_GAP, add64(before, 1), add64(first, -1), heads[POSITION, row])
    part[S_LAST_OFFSET] = heads[LAST_OFFSET, row]
    if epoch != part[S_LEADER_EPOCH]:
        part[S_LEADER_EPOCH] = epoch
        report(part, events, EVENT_LEADER_EPOCH, epoch, first, 0)


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def counted(
    heads: cython.const[cython.longlong][:, ::1],
    row: cython.Py_ssize_t,
    records: cython.longlong,
    is_control: cython.bint,
    part: cython.longlong[::1],
) -> cython.void:
    """Count a batch and its records; fewer of them than offsets, or a delete horizon, are the cleaner's."""
    first: cython.longlong = heads[BASE_OFFSET, row]
    if is_control:
        part[S_CONTROL_RECORDS] = add64(part[S_CONTROL_RECORDS], records)
        if heads[ATTRIBUTES, row] & HORIZON_BIT:
            part[S_CLEANED] = 1
    else:
        part[S_BATCHES] += 1
        part[S_RECORDS] = add64(part[S_RECORDS], records)
        if first != NONE and records < add64(add64(heads[LAST_OFFSET, row], 1), -first):
            part[S_CLEANED] = 1


def batches(
    heads: cython.const[cython.longlong][:, ::1],
    row: cython.Py_ssize_t,
    count: cython.Py_ssize_t,
    types: cython.const[cython.longlong][::1],
    coordinator_epochs: cython.const[cython.longlong][::1],
    slots: cython.longlong[::1],
    states: cython.longlong[::1],
    part: cython.longlong[::1],
    out: cython.longlong[:, ::1],
    events: cython.longlong[:, ::1],
) -> tuple[int, int]:
    """Fold the batches in rows [`row`, `count`) of the kernel's table `heads` whose checksums match.

    Data of a transaction opens one of its producer, or is more of the open one. Any marker of the producer ends the
    open one, whatever the marker's epoch; with none open it is an empty transaction. A marker that can't be read ends
    nothing. `types` and `coordinator_epochs` are those of their markers. `out` gets finished rows, `events` what is
    reported; the part's cells say how many. Answers (row to continue with, why it stopped).
    """
    at: cython.Py_ssize_t
    states_room: cython.longlong = len(states) // WIDTH
    events_room: cython.Py_ssize_t = len(events) - EVENTS_AT_ONCE
    first: cython.longlong
    last: cython.longlong
    epoch: cython.longlong
    attributes: cython.longlong
    records: cython.longlong
    newest: cython.longlong
    earliest: cython.longlong
    kind: cython.longlong
    is_modern: cython.bint
    is_control: cython.bint
    is_data: cython.bint
    written: Written
    marker: Marker
    extent: Extent
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
    if count > min(heads.shape[1], len(types), len(coordinator_epochs)) or len(heads) < BATCH_CELLS:
        raise IndexError
    check(slots, states, part, WIDTH)
    if len(out) < EXTENT_CELLS or events.shape[1] < EVENT_CELLS:
        raise IndexError
    while row < count:
        if part[S_FINISHED] >= out.shape[1] or part[S_REPORTED] > events_room:
            return row, NO_ROOM
        if part[S_USED] >= states_room:
            return row, NO_STATES
        if not heads[VALID, row]:
            row += 1
            continue
        attributes = heads[ATTRIBUTES, row]
        is_modern = heads[MAGIC, row] > 1
        is_control = is_modern and attributes & CONTROL_BIT
        is_data = is_modern and not is_control and heads[PRODUCER_ID, row] >= 0
        kind = types[row]
        last = heads[LAST_OFFSET, row]
        newest = max(heads[MAX_TIMESTAMP, row], -1)  # what is below is no time of Kafka's
        records = heads[COUNT, row]
        if records == NONE:
            records = 1
        first = heads[BASE_OFFSET, row]
        if first == NONE:  # a wrapper that can't be opened may begin right after the batch before it
            first = last if part[S_LAST_OFFSET] == NONE else add64(part[S_LAST_OFFSET], 1)
        in_order(heads, row, first, part, events)
        part[S_NEWEST] = max(part[S_NEWEST], newest)
        if newest > part[S_NEWEST_BROKER] and (kind >= 0 or (attributes & APPEND_TIME_BIT and heads[MAGIC, row] > 0)):
            part[S_NEWEST_BROKER] = newest
        counted(heads, row, records, is_control, part)
        if kind == UNREADABLE:
            report(part, events, EVENT_MARKER_UNREADABLE, first, heads[POSITION, row], heads[SIZE, row])
        if not is_data and kind < 0:
            row += 1
            continue
        at = state_of(0, heads[PRODUCER_ID, row], slots, states, part)
        epoch = heads[PRODUCER_EPOCH, row]
        earliest = newest
        if is_data:
            # Else the base is not a record's time.
            if not attributes & (APPEND_TIME_BIT | HORIZON_BIT) and heads[BASE_TIMESTAMP, row] < newest:
                earliest = max(heads[BASE_TIMESTAMP, row], -1)
            continued(
                states,
                at,
                Sequenced(epoch=epoch, sequence=heads[BASE_SEQUENCE, row], offset=first, timestamp=newest),
                Sequenced(epoch=epoch, sequence=heads[LAST_SEQUENCE, row], offset=last, timestamp=newest),
                events,
                part,
            )
            written = Written(
                batches=1,
                records=records,
                first_epoch=epoch,
                last_epoch=epoch,
                last_sequence=heads[LAST_SEQUENCE, row],
                first_offset=first,
                last_offset=last,
                first_timestamp=earliest,
                last_timestamp=newest,
            )
            wrote(states, at, written)
        if kind >= 0:  # a marker, of whatever epoch
            if not states[at + IS_OPEN]:
                absorb(states, at, nothing)
            marker = Marker(
                type=kind,
                offset=first,
                epoch=epoch,
                coordinator_epoch=coordinator_epochs[row],
                timestamp=newest,
            )
            finish(states, at, marker, out, part)
        elif attributes & TRANSACTIONAL_BIT:
            extent = Extent(
                first_offset=first,
                last_offset=last,
                batches=1,
                records=records,
                size=heads[SIZE, row],
                min_timestamp=earliest,
                max_timestamp=newest,
                first_epoch=epoch,
                last_epoch=epoch,
                older_records=NONE,
                position=heads[POSITION, row],
            )
            absorb(states, at, extent)
        row += 1
    return row, DONE


def extents(
    rows: cython.const[cython.longlong][:, ::1],
    row: cython.Py_ssize_t,
    count: cython.Py_ssize_t,
    slots: cython.longlong[::1],
    states: cython.longlong[::1],
    part: cython.longlong[::1],
    out: cython.longlong[:, ::1],
) -> tuple[int, int]:
    """Fold extents of other folds, `count` rows by ``EXTENT_COLUMNS``, from `row` on, in log order.

    `out` gets finished rows. Answers (row to continue with, why it stopped).
    """
    at: cython.Py_ssize_t
    states_room: cython.longlong = len(states) // WIDTH
    extent: Extent
    marker: Marker
    if len(rows) < EXTENT_CELLS or count > rows.shape[1]:
        raise IndexError
    check(slots, states, part, WIDTH)
    if len(out) < EXTENT_CELLS:
        raise IndexError
    while row < count:
        if part[S_FINISHED] >= out.shape[1]:
            return row, NO_ROOM
        if part[S_USED] >= states_room:
            return row, NO_STATES
        at = state_of(rows[E_LOG_ID, row], rows[E_PRODUCER_ID, row], slots, states, part)
        extent = Extent(
            first_offset=rows[E_FIRST_OFFSET, row],
            last_offset=rows[E_LAST_OFFSET, row],
            batches=rows[E_BATCHES, row],
            records=rows[E_RECORDS, row],
            size=rows[E_SIZE, row],
            min_timestamp=rows[E_MIN_TIMESTAMP, row],
            max_timestamp=rows[E_MAX_TIMESTAMP, row],
            first_epoch=rows[E_FIRST_EPOCH, row],
            last_epoch=rows[E_LAST_EPOCH, row],
            older_records=rows[E_OLDER_RECORDS, row],
            position=rows[E_POSITION, row],
        )
        absorb(states, at, extent)
        if rows[E_MARKER_TYPE, row] >= 0:
            marker = Marker(
                type=rows[E_MARKER_TYPE, row],
                offset=rows[E_MARKER_OFFSET, row],
                epoch=rows[E_MARKER_EPOCH, row],
                coordinator_epoch=rows[E_COORDINATOR_EPOCH, row],
                timestamp=rows[E_MARKER_TIMESTAMP, row],
            )
            finish(states, at, marker, out, part)
        row += 1
    return row, DONE


def producers(
    rows: cython.const[cython.longlong][:, ::1],
    row: cython.Py_ssize_t,
    count: cython.Py_ssize_t,
    slots: cython.longlong[::1],
    states: cython.longlong[::1],
    part: cython.longlong[::1],
    events: cython.longlong[:, ::1],
) -> tuple[int, int]:
    """Fold what producers wrote in later parts, `count` rows by ``PRODUCER_COLUMNS``, from `row` on.

    Answers (row to continue with, why it stopped).
    """
    at: cython.Py_ssize_t
    states_room: cython.longlong = len(states) // WIDTH
    events_room: cython.Py_ssize_t = len(events) - EVENTS_AT_ONCE
    first: Sequenced
    last: Sequenced
    written: Written
    if len(rows) < PRODUCER_CELLS + 2 or count > rows.shape[1] or events.shape[1] < EVENT_CELLS:
        raise IndexError
    check(slots, states, part, WIDTH)
    while row < count:
        if part[S_REPORTED] > events_room:
            return row, NO_ROOM
        if part[S_USED] >= states_room:
            return row, NO_STATES
        at = state_of(rows[E_LOG_ID, row], rows[E_PRODUCER_ID, row], slots, states, part)
        first = Sequenced(
            epoch=rows[2 + P_BEFORE_EPOCH, row],
            sequence=rows[2 + P_BEFORE_SEQUENCE, row],
            offset=rows[2 + P_BEFORE_OFFSET, row],
            timestamp=rows[2 + P_BEFORE_TIMESTAMP, row],
        )
        last = Sequenced(
            epoch=rows[2 + P_BEHIND_EPOCH, row],
            sequence=rows[2 + P_BEHIND_SEQUENCE, row],
            offset=rows[2 + P_BEHIND_OFFSET, row],
            timestamp=rows[2 + P_BEHIND_TIMESTAMP, row],
        )
        continued(states, at, first, last, events, part)
        written = Written(
            batches=rows[2 + P_BATCHES, row],
            records=rows[2 + P_RECORDS, row],
            first_epoch=rows[2 + P_FIRST_EPOCH, row],
            last_epoch=rows[2 + P_LAST_EPOCH, row],
            last_sequence=rows[2 + P_LAST_SEQUENCE, row],
            first_offset=rows[2 + P_FIRST_OFFSET, row],
            last_offset=rows[2 + P_LAST_OFFSET, row],
            first_timestamp=rows[2 + P_FIRST_TIMESTAMP, row],
            last_timestamp=rows[2 + P_LAST_TIMESTAMP, row],
        )
        wrote(states, at, written)
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
def continue_state(
    slots: cython.longlong[::1], states: cython.longlong[::1], part: cython.longlong[::1], row: cython.Py_ssize_t
) -> cython.void:
    """Join the later row whose cells are ``states[row:]`` to its producer's state, or make it a new state.

    A marker in the later row ended what was open before: the state's open transaction is then the row's, or none.
    """
    i: cython.Py_ssize_t = slot_of(states[row + Q_PART], states[row + Q_PRODUCER_ID], STATE_CELLS, slots, states, part)
    at: cython.Py_ssize_t
    cell: cython.Py_ssize_t
    if slots[i] < 0:
        slots[i] = part[S_USED]
        at = part[S_USED] * STATE_CELLS
        part[S_USED] += 1
        for cell in range(STATE_CELLS):
            states[at + cell] = states[row + cell]
        return
    at = slots[i] * STATE_CELLS
    states[at + Q_EPOCH_CHANGES] += states[row + Q_EPOCH_CHANGES]
    if states[row + Q_FIRST_EPOCH] != states[at + Q_PRODUCER_EPOCH]:
        states[at + Q_EPOCH_CHANGES] += 1
        states[at + Q_LAST_OFFSET] = NONE
    if states[row + Q_EPOCH_CHANGES]:
        states[at + Q_LAST_OFFSET] = NONE
    if states[row + Q_LAST_OFFSET] != NONE or states[at + Q_LAST_OFFSET] == NONE:
        for cell in range(Q_LAST_SEQUENCE, Q_COORDINATOR_EPOCH):
            states[at + cell] = states[row + cell]
    states[at + Q_PRODUCER_EPOCH] = states[row + Q_PRODUCER_EPOCH]
    states[at + Q_NEWEST_OFFSET] = states[row + Q_NEWEST_OFFSET]
    states[at + Q_TIMESTAMP] = states[row + Q_TIMESTAMP]
    if states[row + Q_MARKER_OFFSET] != NONE:
        states[at + Q_COORDINATOR_EPOCH] = states[row + Q_COORDINATOR_EPOCH]
        states[at + Q_MARKER_OFFSET] = states[row + Q_MARKER_OFFSET]
        states[at + Q_CURRENT_TXN_FIRST_OFFSET] = states[row + Q_CURRENT_TXN_FIRST_OFFSET]
    elif states[at + Q_CURRENT_TXN_FIRST_OFFSET] == NONE:
        states[at + Q_CURRENT_TXN_FIRST_OFFSET] = states[row + Q_CURRENT_TXN_FIRST_OFFSET]


def snapshot_batches(
    heads: cython.const[cython.longlong][:, ::1],
    row: cython.Py_ssize_t,
    count: cython.Py_ssize_t,
    types: cython.const[cython.longlong][::1],
    coordinator_epochs: cython.const[cython.longlong][::1],
    stops: cython.const[cython.longlong][::1],
    slots: cython.longlong[::1],
    states: cython.longlong[::1],
    part: cython.longlong[::1],
) -> int:
    """Fold the batches in rows [`row`, `count`) of the kernel's table `heads` that change a producer's state.

    Those are batches of magic 2 whose checksum matches, except control batches that end no transaction. A batch
    belongs to the part that ends at the first of `stops`, which rise, above its last offset. Answers the row to
    continue with when there is room for more states.
    """
    room: cython.longlong = len(states) // STATE_CELLS - 1
    s: cython.Py_ssize_t = len(states) - STATE_CELLS  # the last state's cells are the current row
    attributes: cython.longlong
    base: cython.longlong
    last: cython.longlong
    low: cython.Py_ssize_t
    high: cython.Py_ssize_t
    half: cython.Py_ssize_t
    if count > min(heads.shape[1], len(types), len(coordinator_epochs)) or len(heads) < BATCH_CELLS:
        raise IndexError
    check(slots, states, part, STATE_CELLS)
    if room < 1:
        raise IndexError
    while row < count:
        if part[S_USED] >= room:
            return row
        attributes = heads[ATTRIBUTES, row]
        if (
            not heads[VALID, row]
            or heads[MAGIC, row] < 2
            or heads[PRODUCER_ID, row] < 0
            or (attributes & CONTROL_BIT and types[row] < 0)
        ):
            row += 1
            continue
        base = heads[BASE_OFFSET, row]
        last = heads[LAST_OFFSET, row]
        low = 0
        high = len(stops)
        while low < high:
            half = (low + high) // 2
            if stops[half] <= last:
                low = half + 1
            else:
                high = half
        states[s + Q_PART] = low
        states[s + Q_PRODUCER_ID] = heads[PRODUCER_ID, row]
        states[s + Q_FIRST_EPOCH] = states[s + Q_PRODUCER_EPOCH] = heads[PRODUCER_EPOCH, row]
        states[s + Q_EPOCH_CHANGES] = 0
        states[s + Q_FIRST_OFFSET] = base
        states[s + Q_NEWEST_OFFSET] = last
        states[s + Q_TIMESTAMP] = heads[MAX_TIMESTAMP, row]
        if attributes & CONTROL_BIT:
            states[s + Q_LAST_SEQUENCE] = states[s + Q_LAST_OFFSET] = states[s + Q_OFFSET_DELTA] = NONE
            states[s + Q_DATA_TIMESTAMP] = states[s + Q_CURRENT_TXN_FIRST_OFFSET] = NONE
            states[s + Q_COORDINATOR_EPOCH] = coordinator_epochs[row]
            states[s + Q_MARKER_OFFSET] = last
        else:
            states[s + Q_LAST_SEQUENCE] = heads[LAST_SEQUENCE, row]
            states[s + Q_LAST_OFFSET] = last
            states[s + Q_OFFSET_DELTA] = minus64(last, base)
            states[s + Q_DATA_TIMESTAMP] = heads[MAX_TIMESTAMP, row]
            states[s + Q_COORDINATOR_EPOCH] = states[s + Q_MARKER_OFFSET] = NONE
            states[s + Q_CURRENT_TXN_FIRST_OFFSET] = base if attributes & TRANSACTIONAL_BIT else NONE
        continue_state(slots, states, part, s)
        row += 1
    return row


def snapshot_rows(
    table: cython.const[cython.longlong][:, ::1],
    row: cython.Py_ssize_t,
    count: cython.Py_ssize_t,
    slots: cython.longlong[::1],
    states: cython.longlong[::1],
    part: cython.longlong[::1],
) -> int:
    """Fold `count` rows by ``STATE_COLUMNS`` of other parts, in log order, from `row` on, as one part.

    Answers the row to continue with when there is room for more states.
    """
    room: cython.longlong = len(states) // STATE_CELLS - 1
    s: cython.Py_ssize_t = len(states) - STATE_CELLS
    cell: cython.Py_ssize_t
    if len(table) < STATE_CELLS - 1 or count > table.shape[1] or row < 0:
        raise IndexError
    check(slots, states, part, STATE_CELLS)
    if room < 1:
        raise IndexError
    while row < count:
        if part[S_USED] >= room:
            return row
        states[s + Q_PART] = 0
        for cell in range(1, STATE_CELLS):
            states[s + cell] = table[cell - 1, row]
        continue_state(slots, states, part, s)
        row += 1
    return row

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
    from kafkalog.kernel.buffers import *
    from kafkalog.kernel.numbers import add64, minus64

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
    first_offset: cython.longlong,
    last_offset: cython.longlong,
    count: cython.longlong,
    records: cython.longlong,
    size: cython.longlong,
    min_timestamp: cython.longlong,
    max_timestamp: cython.longlong,
    first_epoch: cython.longlong,
    last_epoch: cython.longlong,
    older_records: cython.longlong,
    position: cython.longlong,
) -> cython.void:
    """Join an extent, given by ``EXTENT_COLUMNS`` without the marker's, to its producer's state.

    First values of an extent are from its first row that has data, last values from its last row that has data: a
    marker's row has none. Cells are given one by one: a row of them in memory would be read right after it is written,
    which takes half as long again.
    """
    if not states[at + IS_OPEN]:
        states[at + IS_OPEN] = 1
        states[at + E_FIRST_OFFSET] = first_offset
        states[at + E_LAST_OFFSET] = last_offset
        states[at + E_BATCHES] = count
        states[at + E_RECORDS] = records
        states[at + E_SIZE] = size
        states[at + E_MIN_TIMESTAMP] = min_timestamp
        states[at + E_MAX_TIMESTAMP] = max_timestamp
        states[at + E_FIRST_EPOCH] = first_epoch
        states[at + E_LAST_EPOCH] = last_epoch
        states[at + E_OLDER_RECORDS] = older_records
        states[at + E_POSITION] = position
    else:
        if first_offset != NONE:
            states[at + E_LAST_OFFSET] = last_offset
            if older_records != NONE:
                states[at + E_OLDER_RECORDS] = add64(states[at + E_RECORDS], older_records)
            elif first_epoch != states[at + E_LAST_EPOCH]:
                states[at + E_OLDER_RECORDS] = states[at + E_RECORDS]
            states[at + E_LAST_EPOCH] = last_epoch
        states[at + E_BATCHES] = add64(states[at + E_BATCHES], count)
        states[at + E_RECORDS] = add64(states[at + E_RECORDS], records)
        states[at + E_SIZE] = add64(states[at + E_SIZE], size)
        if min_timestamp != NONE and (
            states[at + E_MIN_TIMESTAMP] == NONE or min_timestamp < states[at + E_MIN_TIMESTAMP]
        ):
            states[at + E_MIN_TIMESTAMP] = min_timestamp
        states[at + E_MAX_TIMESTAMP] = max(states[at + E_MAX_TIMESTAMP], max_timestamp)


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def finish(
    states: cython.longlong[::1],
    at: cython.Py_ssize_t,
    marker_type: cython.longlong,
    marker_offset: cython.longlong,
    marker_epoch: cython.longlong,
    coordinator_epoch: cython.longlong,
    marker_timestamp: cython.longlong,
    out: cython.longlong[:, ::1],
    part: cython.longlong[::1],
) -> cython.void:
    """Move a producer's extent, which this marker ends, out of its state."""
    cell: cython.Py_ssize_t
    n: cython.Py_ssize_t = part[S_FINISHED]
    part[S_FINISHED] = n + 1
    for cell in range(IS_OPEN):
        out[cell, n] = states[at + cell]
    out[E_MARKER_TYPE, n] = marker_type
    out[E_MARKER_OFFSET, n] = marker_offset
    out[E_MARKER_EPOCH, n] = marker_epoch
    out[E_COORDINATOR_EPOCH, n] = coordinator_epoch
    out[E_MARKER_TIMESTAMP, n] = marker_timestamp
    states[at + IS_OPEN] = 0


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def wrote(
    states: cython.longlong[::1],
    at: cython.Py_ssize_t,
    count: cython.longlong,
    records: cython.longlong,
    first_epoch: cython.longlong,
    last_epoch: cython.longlong,
    last_sequence: cython.longlong,
    first_offset: cython.longlong,
    last_offset: cython.longlong,
    first_timestamp: cython.longlong,
    last_timestamp: cython.longlong,
) -> cython.void:
    """Join what a producer wrote, by ``PRODUCER_COLUMNS`` up to its times, to its state."""
    to: cython.Py_ssize_t = at + WROTE
    states[to + P_LAST_EPOCH] = last_epoch
    states[to + P_LAST_SEQUENCE] = last_sequence
    states[to + P_LAST_OFFSET] = last_offset
    if not states[to + P_BATCHES]:
        states[to + P_BATCHES] = count
        states[to + P_RECORDS] = records
        states[to + P_FIRST_EPOCH] = first_epoch
        states[to + P_FIRST_OFFSET] = first_offset
        states[to + P_FIRST_TIMESTAMP] = first_timestamp
        states[to + P_LAST_TIMESTAMP] = last_timestamp
    else:
        states[to + P_BATCHES] += count
        states[to + P_RECORDS] = add64(states[to + P_RECORDS], records)
        states[to + P_FIRST_TIMESTAMP] = min(states[to + P_FIRST_TIMESTAMP], first_timestamp)
        states[to + P_LAST_TIMESTAMP] = max(states[to + P_LAST_TIMESTAMP], last_timestamp)


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
    first_epoch: cython.longlong,
    first_sequence: cython.longlong,
    first_offset: cython.longlong,
    first_timestamp: cython.longlong,
    last_epoch: cython.longlong,
    last_sequence: cython.longlong,
    last_offset: cython.longlong,
    last_timestamp: cython.longlong,
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
    if first_sequence < 0 and not is_first:
        return
    if is_first or states[to + P_BEFORE_SEQUENCE] < 0:
        states[to + P_BEFORE_EPOCH] = first_epoch
        states[to + P_BEFORE_SEQUENCE] = first_sequence
        states[to + P_BEFORE_OFFSET] = first_offset
        states[to + P_BEFORE_TIMESTAMP] = first_timestamp
    elif (
        sequence_break(states[to + P_BEHIND_EPOCH], states[to + P_BEHIND_SEQUENCE], first_epoch, first_sequence)
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
        events[e, BREAK_NEXT_EPOCH] = first_epoch
        events[e, BREAK_FIRST_SEQUENCE] = first_sequence
        events[e, BREAK_FIRST_OFFSET] = first_offset
        events[e, BREAK_NEXT_TIMESTAMP] = first_timestamp
    states[to + P_BEHIND_EPOCH] = last_epoch
    states[to + P_BEHIND_SEQUENCE] = last_sequence
    states[to + P_BEHIND_OFFSET] = last_offset
    states[to + P_BEHIND_TIMESTAMP] = last_timestamp


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

    `types` and `coordinator_epochs` are those of their markers. `out` gets finished rows, `events` what is reported;
    the part's cells say how many. Answers (row to continue with, why it stopped).
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
                states, at, epoch, heads[BASE_SEQUENCE, row], first, newest, epoch, heads[LAST_SEQUENCE, row], last,
                newest, events, part,
            )  # fmt: skip
            wrote(states, at, 1, records, epoch, epoch, heads[LAST_SEQUENCE, row], first, last, earliest, newest)
        if kind >= 0:
            if not states[at + IS_OPEN]:
                absorb(states, at, NONE, NONE, 0, 0, 0, NONE, NONE, NONE, NONE, NONE, NONE)
            finish(states, at, kind, first, epoch, coordinator_epochs[row], newest, out, part)
        elif attributes & TRANSACTIONAL_BIT:
            absorb(
                states, at, first, last, 1, records, heads[SIZE, row], earliest, newest, epoch, epoch, NONE,
                heads[POSITION, row],
            )  # fmt: skip
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
        absorb(
            states,
            at,
            rows[E_FIRST_OFFSET, row],
            rows[E_LAST_OFFSET, row],
            rows[E_BATCHES, row],
            rows[E_RECORDS, row],
            rows[E_SIZE, row],
            rows[E_MIN_TIMESTAMP, row],
            rows[E_MAX_TIMESTAMP, row],
            rows[E_FIRST_EPOCH, row],
            rows[E_LAST_EPOCH, row],
            rows[E_OLDER_RECORDS, row],
            rows[E_POSITION, row],
        )
        if rows[E_MARKER_TYPE, row] >= 0:
            finish(
                states,
                at,
                rows[E_MARKER_TYPE, row],
                rows[E_MARKER_OFFSET, row],
                rows[E_MARKER_EPOCH, row],
                rows[E_COORDINATOR_EPOCH, row],
                rows[E_MARKER_TIMESTAMP, row],
                out,
                part,
            )
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
    if len(rows) < PRODUCER_CELLS + 2 or count > rows.shape[1] or events.shape[1] < EVENT_CELLS:
        raise IndexError
    check(slots, states, part, WIDTH)
    while row < count:
        if part[S_REPORTED] > events_room:
            return row, NO_ROOM
        if part[S_USED] >= states_room:
            return row, NO_STATES
        at = state_of(rows[E_LOG_ID, row], rows[E_PRODUCER_ID, row], slots, states, part)
        continued(
            states,
            at,
            rows[2 + P_BEFORE_EPOCH, row],
            rows[2 + P_BEFORE_SEQUENCE, row],
            rows[2 + P_BEFORE_OFFSET, row],
            rows[2 + P_BEFORE_TIMESTAMP, row],
            rows[2 + P_BEHIND_EPOCH, row],
            rows[2 + P_BEHIND_SEQUENCE, row],
            rows[2 + P_BEHIND_OFFSET, row],
            rows[2 + P_BEHIND_TIMESTAMP, row],
            events,
            part,
        )
        wrote(
            states,
            at,
            rows[2 + P_BATCHES, row],
            rows[2 + P_RECORDS, row],
            rows[2 + P_FIRST_EPOCH, row],
            rows[2 + P_LAST_EPOCH, row],
            rows[2 + P_LAST_SEQUENCE, row],
            rows[2 + P_FIRST_OFFSET, row],
            rows[2 + P_LAST_OFFSET, row],
            rows[2 + P_FIRST_TIMESTAMP, row],
            rows[2 + P_LAST_TIMESTAMP, row],
        )
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
    """Join the later row whose cells are ``states[row:]`` to its producer's state, or make it a new state."""
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

# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The folds' hot loops: batches, or other folds' results, into one state for each producer.

One source that runs compiled and interpreted, under the rules of ``kafkalog.kernel.buffers``. A table is a flat buffer
of int64, column by column, as there. *States* are row by row: STATE_SIZE cells for each (log, producer), first its
transaction that no marker has ended yet, by ``EXTENT_COLUMNS`` without the marker's, then whether there is one, then
what the producer wrote, by ``PRODUCER_COLUMNS`` without the two keys. *Slots* is the hash table of their numbers, -1
where it is empty; its size is a power of two and never less than twice the states. Numbers of columns and cells are C
variables where this is compiled, by the .pxd: Python sees the tuples of names.
"""

from __future__ import annotations

from typing import Final

from kafkalog.kernel.buffers import BATCH_COLUMNS

try:
    import cython
except ImportError:  # not needed to run, only to compile
    from kafkalog.kernel import _shadow as cython

if not cython.compiled:  # else they come with the .pxd
    from kafkalog.kernel import buffers
    from kafkalog.kernel.buffers import APPEND_TIME_BIT, CONTROL_BIT, HORIZON_BIT, TRANSACTIONAL_BIT, add64
    from kafkalog.kernel.slots import place

__all__ = [
    "ABORT",
    "COMMIT",
    "DONE",
    "EVENTS",
    "EVENT_SIZE",
    "EXTENT_COLUMNS",
    "NO_ROOM",
    "NO_STATES",
    "OPEN",
    "PART_CELLS",
    "PRODUCER_COLUMNS",
    "STATE_SIZE",
    "TALLY_COLUMNS",
    "batches",
    "extents",
    "few_states",
    "producers",
    "rehash",
    "tallied",
]

OPEN, ABORT, COMMIT = -1, 0, 1  # marker types

EXTENT_COLUMNS: Final = (
    "log_id",
    "producer_id",
    "first_offset",
    "last_offset",
    "batches",
    "records",
    "size",
    "min_timestamp",
    "max_timestamp",
    "first_epoch",
    "last_epoch",
    "older_records",  # before its last change of epoch; NONE where all batches are of one
    "position",  # of the first batch in its file
    "marker_type",
    "marker_offset",
    "marker_epoch",
    "coordinator_epoch",
    "marker_timestamp",
)
if not cython.compiled:  # else they are C's, by the .pxd
    (
        LOG_ID,
        PRODUCER_ID,
        FIRST_OFFSET,
        LAST_OFFSET,
        BATCHES,
        RECORDS,
        SIZE,
        MIN_TIMESTAMP,
        MAX_TIMESTAMP,
        FIRST_EPOCH,
        LAST_EPOCH,
        OLDER_RECORDS,
        POSITION,
        MARKER_TYPE,
        MARKER_OFFSET,
        MARKER_EPOCH,
        COORDINATOR_EPOCH,
        MARKER_TIMESTAMP,
    ) = range(len(EXTENT_COLUMNS))
    EXTENT_CELLS: Final = len(EXTENT_COLUMNS)
    IS_OPEN: Final = MARKER_TYPE

TALLY_COLUMNS: Final = (
    "first_offset", "batches", "older_records", "last_epoch", "marker_type", "marker_epoch", "coordinator_epoch",
)  # fmt: skip
if not cython.compiled:
    (
        T_FIRST_OFFSET,
        T_BATCHES,
        T_OLDER_RECORDS,
        T_LAST_EPOCH,
        T_MARKER_TYPE,
        T_MARKER_EPOCH,
        T_COORDINATOR_EPOCH,
    ) = range(len(TALLY_COLUMNS))

PRODUCER_COLUMNS: Final = (
    "log_id",
    "producer_id",
    "batches",
    "records",
    "first_epoch",
    "last_epoch",
    "last_sequence",
    "first_offset",
    "last_offset",
    "first_timestamp",
    "last_timestamp",
    "before_epoch",  # of the first batch that has sequences: compared with the part before
    "before_sequence",
    "before_offset",
    "before_timestamp",  # its newest
    "behind_epoch",  # of the last batch that has sequences: compared with the part after
    "behind_sequence",
    "behind_offset",
    "behind_timestamp",
)
if not cython.compiled:
    (
        P_BATCHES,
        P_RECORDS,
        P_FIRST_EPOCH,
        P_LAST_EPOCH,
        P_LAST_SEQUENCE,
        P_FIRST_OFFSET,
        P_LAST_OFFSET,
        P_FIRST_TIMESTAMP,
        P_LAST_TIMESTAMP,
        P_BEFORE_EPOCH,
        P_BEFORE_SEQUENCE,
        P_BEFORE_OFFSET,
        P_BEFORE_TIMESTAMP,
        P_BEHIND_EPOCH,
        P_BEHIND_SEQUENCE,
        P_BEHIND_OFFSET,
        P_BEHIND_TIMESTAMP,
    ) = range(len(PRODUCER_COLUMNS) - 2)
STATE_SIZE: Final = EXTENT_COLUMNS.index("marker_type") + 1 + len(PRODUCER_COLUMNS) - 2
if not cython.compiled:
    WIDTH: Final = STATE_SIZE

# What is reported of a whole part of a log.
PART_CELLS: Final = (
    "used",  # states
    "batches",
    "records",
    "control_records",
    "first_offset",
    "last_offset",
    "first_position",
    "newest",
    "newest_broker",
    "cleaned",
    "leader_epoch",
)
if not cython.compiled:
    (
        S_USED,
        S_BATCHES,
        S_RECORDS,
        S_CONTROL_RECORDS,
        S_FIRST_OFFSET,
        S_LAST_OFFSET,
        S_FIRST_POSITION,
        S_NEWEST,
        S_NEWEST_BROKER,
        S_CLEANED,
        S_LEADER_EPOCH,
    ) = range(len(PART_CELLS))

# What is reported of a place, in rows of EVENT_CELLS: first its kind, then
#   GAP              first and last offset missing, position of the batch after it
#   LEADER_EPOCH     epoch, first offset
#   BREAK            log, producer; epoch, last sequence, last offset and newest time before; epoch, first sequence,
#                    first offset and newest time after
#   MARKER_UNREADABLE  offset, position, size
EVENTS: Final = ("gap", "leader_epoch", "break", "marker_unreadable")
EVENT_SIZE: Final = 11
if not cython.compiled:
    GAP, LEADER_EPOCH, BREAK, MARKER_UNREADABLE = range(len(EVENTS))
    EVENT_CELLS: Final = EVENT_SIZE
    AT_ONCE: Final = 4  # events that one batch can make

# Why a loop stopped: all rows done, no room for more finished rows or events, or all states in use.
DONE, NO_ROOM, NO_STATES = range(3)

NONE: Final = -(2**63)
if not cython.compiled:
    MASK: Final = 2**31 - 1


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def state_of(
    log: cython.longlong,
    producer: cython.longlong,
    slots: cython.longlong[::1],
    states: cython.longlong[::1],
    part: cython.longlong[::1],
    secret: cython.longlong,
    bits: cython.int,
) -> cython.Py_ssize_t:
    """Return where the state of a producer begins; a producer without a state gets a new one."""
    mask: cython.longlong = len(slots) - 1
    i: cython.longlong = place(log, producer, secret, bits)
    at: cython.Py_ssize_t
    number: cython.longlong
    cell: cython.Py_ssize_t
    while True:
        number = slots[i]
        if number < 0:
            break
        at = number * WIDTH
        if states[at + PRODUCER_ID] == producer and states[at + LOG_ID] == log:
            return at
        i = (i + 1) & mask
    number = part[S_USED]
    slots[i] = number
    part[S_USED] = number + 1
    at = number * WIDTH
    for cell in range(WIDTH):
        states[at + cell] = 0
    states[at + LOG_ID] = log
    states[at + PRODUCER_ID] = producer
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
    none: cython.longlong = NONE
    if not states[at + IS_OPEN]:
        states[at + IS_OPEN] = 1
        states[at + FIRST_OFFSET] = first_offset
        states[at + LAST_OFFSET] = last_offset
        states[at + BATCHES] = count
        states[at + RECORDS] = records
        states[at + SIZE] = size
        states[at + MIN_TIMESTAMP] = min_timestamp
        states[at + MAX_TIMESTAMP] = max_timestamp
        states[at + FIRST_EPOCH] = first_epoch
        states[at + LAST_EPOCH] = last_epoch
        states[at + OLDER_RECORDS] = older_records
        states[at + POSITION] = position
    else:
        if first_offset != none:
            states[at + LAST_OFFSET] = last_offset
            if older_records != none:
                states[at + OLDER_RECORDS] = add64(states[at + RECORDS], older_records)
            elif first_epoch != states[at + LAST_EPOCH]:
                states[at + OLDER_RECORDS] = states[at + RECORDS]
            states[at + LAST_EPOCH] = last_epoch
        states[at + BATCHES] = add64(states[at + BATCHES], count)
        states[at + RECORDS] = add64(states[at + RECORDS], records)
        states[at + SIZE] = add64(states[at + SIZE], size)
        if min_timestamp != none and (states[at + MIN_TIMESTAMP] == none or min_timestamp < states[at + MIN_TIMESTAMP]):
            states[at + MIN_TIMESTAMP] = min_timestamp
        states[at + MAX_TIMESTAMP] = max(states[at + MAX_TIMESTAMP], max_timestamp)


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
    out: cython.longlong[::1],
    n: cython.Py_ssize_t,
    room: cython.Py_ssize_t,
) -> cython.Py_ssize_t:
    """Move a producer's extent, which this marker ends, out of its state; answer the number of finished rows."""
    cell: cython.Py_ssize_t
    for cell in range(IS_OPEN):
        out[n + cell * room] = states[at + cell]
    out[n + MARKER_TYPE * room] = marker_type
    out[n + MARKER_OFFSET * room] = marker_offset
    out[n + MARKER_EPOCH * room] = marker_epoch
    out[n + COORDINATOR_EPOCH * room] = coordinator_epoch
    out[n + MARKER_TIMESTAMP * room] = marker_timestamp
    states[at + IS_OPEN] = 0
    return n + 1


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
    to: cython.Py_ssize_t = at + IS_OPEN + 1
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


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def continued(
    states: cython.longlong[::1],
    at: cython.Py_ssize_t,
    before_epoch: cython.longlong,
    before_sequence: cython.longlong,
    before_offset: cython.longlong,
    before_timestamp: cython.longlong,
    behind_epoch: cython.longlong,
    behind_sequence: cython.longlong,
    behind_offset: cython.longlong,
    behind_timestamp: cython.longlong,
    events: cython.longlong[::1],
    n: cython.Py_ssize_t,
) -> cython.Py_ssize_t:
    """Continue a producer's sequence, from its first batch `before` to its last `behind`; answer the number of events.

    Sequences that neither continue nor begin again with 0 under a higher epoch become an event. It comes before
    ``wrote``: the first batches of a producer continue nothing.
    """
    to: cython.Py_ssize_t = at + IS_OPEN + 1
    cell: cython.Py_ssize_t
    e: cython.Py_ssize_t
    is_first: cython.bint = not states[to + P_BATCHES]
    if before_sequence < 0 and not is_first:
        return n
    if is_first or states[to + P_BEFORE_SEQUENCE] < 0:
        states[to + P_BEFORE_EPOCH] = before_epoch
        states[to + P_BEFORE_SEQUENCE] = before_sequence
        states[to + P_BEFORE_OFFSET] = before_offset
        states[to + P_BEFORE_TIMESTAMP] = before_timestamp
    elif (
        before_sequence != ((states[to + P_BEHIND_SEQUENCE] + 1) & MASK)
        if before_epoch == states[to + P_BEHIND_EPOCH]
        else before_epoch < states[to + P_BEHIND_EPOCH] or before_sequence != 0
    ):
        e = n * EVENT_CELLS
        events[e] = BREAK
        events[e + 1] = states[at + LOG_ID]
        events[e + 2] = states[at + PRODUCER_ID]
        for cell in range(4):
            events[e + 3 + cell] = states[to + P_BEHIND_EPOCH + cell]
        events[e + 7] = before_epoch
        events[e + 8] = before_sequence
        events[e + 9] = before_offset
        events[e + 10] = before_timestamp
        n += 1
    states[to + P_BEHIND_EPOCH] = behind_epoch
    states[to + P_BEHIND_SEQUENCE] = behind_sequence
    states[to + P_BEHIND_OFFSET] = behind_offset
    states[to + P_BEHIND_TIMESTAMP] = behind_timestamp
    return n


def check(
    slots: cython.longlong[::1],
    bits: cython.int,
    states: cython.longlong[::1],
    part: cython.longlong[::1],
    out: cython.longlong[::1],
    room: cython.Py_ssize_t,
) -> None:
    """Raise IndexError if buffers do not have the sizes that the loops rely on; the loops check nothing."""
    if (
        len(slots) != 1 << bits
        or 2 * (len(states) // WIDTH) > len(slots)
        or len(states) % WIDTH
        or len(part) < len(PART_CELLS)
        or len(out) < room * EXTENT_CELLS
    ):
        raise IndexError


def rehash(
    slots: cython.longlong[::1],
    states: cython.longlong[::1],
    part: cython.longlong[::1],
    secret: cython.longlong,
    bits: cython.int,
) -> None:
    """Fill empty slots with the numbers of all states in use."""
    number: cython.longlong
    mask: cython.longlong = len(slots) - 1
    i: cython.longlong
    check(slots, bits, states, part, states, 0)
    for number in range(part[S_USED]):
        i = place(states[number * WIDTH + LOG_ID], states[number * WIDTH + PRODUCER_ID], secret, bits)
        while slots[i] >= 0:
            i = (i + 1) & mask
        slots[i] = number


def batches(
    heads: cython.const[cython.longlong][::1],
    capacity: cython.Py_ssize_t,
    row: cython.Py_ssize_t,
    count: cython.Py_ssize_t,
    types: cython.const[cython.longlong][::1],
    coordinator_epochs: cython.const[cython.longlong][::1],
    secret: cython.longlong,
    bits: cython.int,
    slots: cython.longlong[::1],
    states: cython.longlong[::1],
    part: cython.longlong[::1],
    out: cython.longlong[::1],
    n: cython.Py_ssize_t,
    room: cython.Py_ssize_t,
    events: cython.longlong[::1],
) -> tuple[int, int, int, int]:
    """Fold the batches in rows [`row`, `count`) of the kernel's table `heads` whose checksums match.

    `types` and `coordinator_epochs` are those of their markers; `out` has `n` finished rows. Answers (row to continue
    with, finished rows in `out`, events, why it stopped).
    """
    reported: cython.Py_ssize_t = 0
    e: cython.Py_ssize_t
    at: cython.Py_ssize_t
    at_position: cython.Py_ssize_t = buffers.POSITION * capacity
    at_size: cython.Py_ssize_t = buffers.SIZE * capacity
    at_first: cython.Py_ssize_t = buffers.BASE_OFFSET * capacity
    at_last: cython.Py_ssize_t = buffers.LAST_OFFSET * capacity
    at_leader_epoch: cython.Py_ssize_t = buffers.LEADER_EPOCH * capacity
    at_magic: cython.Py_ssize_t = buffers.MAGIC * capacity
    at_valid: cython.Py_ssize_t = buffers.VALID * capacity
    at_attributes: cython.Py_ssize_t = buffers.ATTRIBUTES * capacity
    at_base_timestamp: cython.Py_ssize_t = buffers.BASE_TIMESTAMP * capacity
    at_max_timestamp: cython.Py_ssize_t = buffers.MAX_TIMESTAMP * capacity
    at_producer: cython.Py_ssize_t = buffers.PRODUCER_ID * capacity
    at_epoch: cython.Py_ssize_t = buffers.PRODUCER_EPOCH * capacity
    at_base_sequence: cython.Py_ssize_t = buffers.BASE_SEQUENCE * capacity
    at_last_sequence: cython.Py_ssize_t = buffers.LAST_SEQUENCE * capacity
    at_count: cython.Py_ssize_t = buffers.COUNT * capacity
    states_room: cython.longlong = len(states) // WIDTH
    events_room: cython.Py_ssize_t = len(events) // EVENT_CELLS - AT_ONCE
    position: cython.longlong
    first: cython.longlong
    last: cython.longlong
    epoch: cython.longlong
    attributes: cython.longlong
    records: cython.longlong
    newest: cython.longlong
    earliest: cython.longlong
    ending: cython.longlong
    producer: cython.longlong
    kind: cython.longlong
    control: cython.bint
    modern: cython.bint
    known: cython.bint
    data: cython.bint
    none: cython.longlong = NONE
    # Cells of the part, written back where the loop ends.
    before: cython.longlong
    now: cython.longlong
    latest: cython.longlong
    latest_broker: cython.longlong
    seen: cython.longlong = 0
    seen_records: cython.longlong = 0
    why: cython.int = DONE
    if count > min(capacity, len(types), len(coordinator_epochs)) or len(heads) < capacity * len(BATCH_COLUMNS):
        raise IndexError
    check(slots, bits, states, part, out, room)
    before = part[S_LAST_OFFSET]
    now = part[S_LEADER_EPOCH]
    latest = part[S_NEWEST]
    latest_broker = part[S_NEWEST_BROKER]
    while row < count:
        if n >= room or reported > events_room:
            why = NO_ROOM
            break
        if part[S_USED] >= states_room:
            why = NO_STATES
            break
        if not heads[at_valid + row]:
            row += 1
            continue
        position = heads[at_position + row]
        first = heads[at_first + row]
        last = heads[at_last + row]
        attributes = heads[at_attributes + row]
        modern = heads[at_magic + row] > 1
        control = modern and attributes & CONTROL_BIT
        newest = max(heads[at_max_timestamp + row], -1)  # what is below is no time of Kafka's
        producer = heads[at_producer + row]
        records = heads[at_count + row]
        kind = types[row]
        known = first != none
        if not known:  # a wrapper that can't be opened may begin right after the batch before it
            first = last if before == none else add64(before, 1)
        if records == none:
            records = 1
        if add64(first, -1) != before or before == none:
            if part[S_FIRST_OFFSET] == none:
                part[S_FIRST_OFFSET] = first
                part[S_FIRST_POSITION] = position
            elif first > before and add64(first, -1) != before:
                e = reported * EVENT_CELLS
                events[e] = GAP
                events[e + 1] = add64(before, 1)
                events[e + 2] = add64(first, -1)
                events[e + 3] = position
                reported += 1
        before = last
        epoch = heads[at_leader_epoch + row]
        if epoch != now:
            now = epoch
            e = reported * EVENT_CELLS
            events[e] = LEADER_EPOCH
            events[e + 1] = epoch
            events[e + 2] = first
            reported += 1
        latest = max(latest, newest)
        if newest > latest_broker and (kind >= 0 or (attributes & APPEND_TIME_BIT and heads[at_magic + row] > 0)):
            latest_broker = newest
        if control:
            part[S_CONTROL_RECORDS] = add64(part[S_CONTROL_RECORDS], records)
            if attributes & HORIZON_BIT:  # a delete horizon: the cleaner has been here
                part[S_CLEANED] = 1
        else:
            seen += 1
            seen_records = add64(seen_records, records)
            if known and records < add64(add64(last, 1), -first):
                part[S_CLEANED] = 1
        if kind == -2:
            e = reported * EVENT_CELLS
            events[e] = MARKER_UNREADABLE
            events[e + 1] = first
            events[e + 2] = position
            events[e + 3] = heads[at_size + row]
            reported += 1
        data = modern and not control and producer >= 0
        if not data and kind < 0:
            row += 1
            continue
        at = state_of(0, producer, slots, states, part, secret, bits)
        epoch = heads[at_epoch + row]
        earliest = newest
        if data:
            # Else the base is not a record's time.
            if not attributes & (APPEND_TIME_BIT | HORIZON_BIT) and heads[at_base_timestamp + row] < newest:
                earliest = max(heads[at_base_timestamp + row], -1)
            ending = heads[at_last_sequence + row]
            reported = continued(
                states, at, epoch, heads[at_base_sequence + row], first, newest, epoch, ending, last, newest, events,
                reported,
            )  # fmt: skip
            wrote(states, at, 1, records, epoch, epoch, ending, first, last, earliest, newest)
        if kind >= 0:
            if not states[at + IS_OPEN]:
                absorb(states, at, none, none, 0, 0, 0, none, none, none, none, none, none)
            n = finish(states, at, kind, first, epoch, coordinator_epochs[row], newest, out, n, room)
        elif attributes & TRANSACTIONAL_BIT:
            absorb(
                states, at, first, last, 1, records, heads[at_size + row], earliest, newest, epoch, epoch, none,
                position,
            )  # fmt: skip
        row += 1
    part[S_LAST_OFFSET] = before
    part[S_LEADER_EPOCH] = now
    part[S_NEWEST] = latest
    part[S_NEWEST_BROKER] = latest_broker
    part[S_BATCHES] += seen
    part[S_RECORDS] = add64(part[S_RECORDS], seen_records)
    return row, n, reported, why


def extents(
    rows: cython.longlong[::1],
    row: cython.Py_ssize_t,
    count: cython.Py_ssize_t,
    secret: cython.longlong,
    bits: cython.int,
    slots: cython.longlong[::1],
    states: cython.longlong[::1],
    part: cython.longlong[::1],
    out: cython.longlong[::1],
    n: cython.Py_ssize_t,
    room: cython.Py_ssize_t,
) -> tuple[int, int, int]:
    """Fold extents of other folds, `count` rows by ``EXTENT_COLUMNS``, from `row` on, in log order.

    `out` has `n` finished rows. Answers (row to continue with, finished rows in `out`, why it stopped).
    """
    at: cython.Py_ssize_t
    states_room: cython.longlong = len(states) // WIDTH
    if len(rows) < count * EXTENT_CELLS:
        raise IndexError
    check(slots, bits, states, part, out, room)
    while row < count:
        if n >= room:
            return row, n, NO_ROOM
        if part[S_USED] >= states_room:
            return row, n, NO_STATES
        at = state_of(rows[row], rows[row + count], slots, states, part, secret, bits)
        absorb(
            states,
            at,
            rows[row + FIRST_OFFSET * count],
            rows[row + LAST_OFFSET * count],
            rows[row + BATCHES * count],
            rows[row + RECORDS * count],
            rows[row + SIZE * count],
            rows[row + MIN_TIMESTAMP * count],
            rows[row + MAX_TIMESTAMP * count],
            rows[row + FIRST_EPOCH * count],
            rows[row + LAST_EPOCH * count],
            rows[row + OLDER_RECORDS * count],
            rows[row + POSITION * count],
        )
        if rows[row + MARKER_TYPE * count] >= 0:
            n = finish(
                states,
                at,
                rows[row + MARKER_TYPE * count],
                rows[row + MARKER_OFFSET * count],
                rows[row + MARKER_EPOCH * count],
                rows[row + COORDINATOR_EPOCH * count],
                rows[row + MARKER_TIMESTAMP * count],
                out,
                n,
                room,
            )
        row += 1
    return row, n, DONE


def producers(
    rows: cython.longlong[::1],
    row: cython.Py_ssize_t,
    count: cython.Py_ssize_t,
    secret: cython.longlong,
    bits: cython.int,
    slots: cython.longlong[::1],
    states: cython.longlong[::1],
    part: cython.longlong[::1],
    events: cython.longlong[::1],
) -> tuple[int, int, int]:
    """Fold what producers wrote in later parts, `count` rows by ``PRODUCER_COLUMNS``, from `row` on.

    Answers (row to continue with, events, why it stopped).
    """
    reported: cython.Py_ssize_t = 0
    at: cython.Py_ssize_t
    at_row: cython.Py_ssize_t
    states_room: cython.longlong = len(states) // WIDTH
    events_room: cython.Py_ssize_t = len(events) // EVENT_CELLS - AT_ONCE
    if len(rows) < count * (WIDTH - IS_OPEN + 1):
        raise IndexError
    check(slots, bits, states, part, states, 0)
    while row < count:
        if reported > events_room:
            return row, reported, NO_ROOM
        if part[S_USED] >= states_room:
            return row, reported, NO_STATES
        at = state_of(rows[row], rows[row + count], slots, states, part, secret, bits)
        at_row = row + 2 * count
        reported = continued(
            states,
            at,
            rows[at_row + P_BEFORE_EPOCH * count],
            rows[at_row + P_BEFORE_SEQUENCE * count],
            rows[at_row + P_BEFORE_OFFSET * count],
            rows[at_row + P_BEFORE_TIMESTAMP * count],
            rows[at_row + P_BEHIND_EPOCH * count],
            rows[at_row + P_BEHIND_SEQUENCE * count],
            rows[at_row + P_BEHIND_OFFSET * count],
            rows[at_row + P_BEHIND_TIMESTAMP * count],
            events,
            reported,
        )
        wrote(
            states,
            at,
            rows[at_row + P_BATCHES * count],
            rows[at_row + P_RECORDS * count],
            rows[at_row + P_FIRST_EPOCH * count],
            rows[at_row + P_LAST_EPOCH * count],
            rows[at_row + P_LAST_SEQUENCE * count],
            rows[at_row + P_FIRST_OFFSET * count],
            rows[at_row + P_LAST_OFFSET * count],
            rows[at_row + P_FIRST_TIMESTAMP * count],
            rows[at_row + P_LAST_TIMESTAMP * count],
        )
        row += 1
    return row, reported, DONE


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
    none: cython.longlong = NONE
    is_open: cython.longlong = OPEN
    if (
        used < 0
        or len(states) < used * WIDTH
        or len(opened) < used * EXTENT_CELLS
        or len(producers) < used * (WIDTH - IS_OPEN + 1)
        or len(order) < used
    ):
        raise IndexError
    for row in range(used):
        at = row * WIDTH
        if states[at + IS_OPEN]:
            of_opened += 1
        if states[at + IS_OPEN + 1] > 0:
            place = of_producers
            while place > 0 and (
                states[order[place - 1] + PRODUCER_ID] > states[at + PRODUCER_ID]
                if states[order[place - 1] + LOG_ID] == states[at + LOG_ID]
                else states[order[place - 1] + LOG_ID] > states[at + LOG_ID]
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
            opened[n + MARKER_TYPE * of_opened] = is_open
            for cell in range(MARKER_OFFSET, EXTENT_CELLS):
                opened[n + cell * of_opened] = none
            n += 1
    for row in range(of_producers):
        at = order[row]
        producers[row] = states[at + LOG_ID]
        producers[row + of_producers] = states[at + PRODUCER_ID]
        for cell in range(WIDTH - IS_OPEN - 1):
            producers[row + (cell + 2) * of_producers] = states[at + IS_OPEN + 1 + cell]
    return of_opened, of_producers


def tallied(rows: cython.longlong[::1], count: cython.Py_ssize_t) -> tuple[int, int, int, bool, bool]:
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
    is_open: cython.longlong = OPEN
    is_commit: cython.longlong = COMMIT
    if count < 1 or len(rows) < count * len(TALLY_COLUMNS):
        raise IndexError
    for row in range(count):
        kind = rows[T_MARKER_TYPE * count + row]
        last = rows[T_LAST_EPOCH * count + row]
        marker = rows[T_MARKER_EPOCH * count + row]
        if rows[T_FIRST_OFFSET * count + row] == NONE or kind == is_open:
            odd += 1
            continue
        if kind == is_commit:
            committed += 1
        else:
            aborted += 1
        if rows[T_OLDER_RECORDS * count + row] != NONE:
            odd += 1
        elif marker > last:
            sole += 1
        if not rows[T_BATCHES * count + row]:
            odd += 1
        if marker < last or rows[T_COORDINATOR_EPOCH * count + row] != rows[T_COORDINATOR_EPOCH * count]:
            disorder += 1
    return committed, aborted, sole, odd == 0, odd == 0 and disorder == 0

# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The hot loops of producers' states: batches, or rows of other parts, into one state for each producer.

One source that runs compiled and interpreted, under the rules of ``kafkalog.kernel.buffers``. *States* are row by row:
WIDTH cells for each (part of log, producer), the part's number first, then ``COLUMNS``. *Slots* is the hash table of
their numbers, as in ``loops``. `used` has one cell, the number of states.
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
    from kafkalog.kernel.buffers import CONTROL_BIT, TRANSACTIONAL_BIT
    from kafkalog.kernel.slots import place

__all__ = ["COLUMNS", "STATE_SIZE", "batches", "rehash", "rows"]

COLUMNS: Final = (
    "producer_id",
    "first_epoch",
    "producer_epoch",  # the last one
    "epoch_changes",
    # What only data sets; NONE if the part has no data, or if the epoch rose after it: a broker then forgets the
    # batches of the epoch before.
    "last_sequence",
    "last_offset",
    "offset_delta",
    "data_timestamp",
    # What only a marker sets.
    "coordinator_epoch",
    "marker_offset",
    "first_offset",  # of the part's first row for the producer
    "newest_offset",  # of its last one
    "timestamp",  # of its last one
    "current_txn_first_offset",  # of the transaction that is open at the part's end, if it began in it
)
if not cython.compiled:  # else they are C's, by the .pxd
    (
        PART,
        PRODUCER_ID,
        FIRST_EPOCH,
        PRODUCER_EPOCH,
        EPOCH_CHANGES,
        LAST_SEQUENCE,
        LAST_OFFSET,
        OFFSET_DELTA,
        DATA_TIMESTAMP,
        COORDINATOR_EPOCH,
        MARKER_OFFSET,
        FIRST_OFFSET,
        NEWEST_OFFSET,
        TIMESTAMP,
        CURRENT_TXN_FIRST_OFFSET,
        WIDTH,
    ) = range(len(COLUMNS) + 2)
STATE_SIZE: Final = len(COLUMNS) + 1
NONE: Final = -(2**63)


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def minus64(a: cython.longlong, b: cython.longlong) -> cython.longlong:
    """Subtract as Java does: the difference wraps at 64 bits."""
    if cython.compiled:
        return a - b
    return ((a - b + 2**63) & (2**64 - 1)) - 2**63


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def absorb(
    slots: cython.longlong[::1],
    states: cython.longlong[::1],
    used: cython.longlong[::1],
    row: cython.Py_ssize_t,
    secret: cython.longlong,
    bits: cython.int,
) -> cython.int:
    """Join the later row whose cells are ``states[row:]`` to its producer's state, or make it a new state."""
    mask: cython.longlong = len(slots) - 1
    i: cython.longlong = place(states[row], states[row + PRODUCER_ID], secret, bits)
    at: cython.Py_ssize_t
    cell: cython.Py_ssize_t
    number: cython.longlong
    while True:
        number = slots[i]
        if number < 0:
            break
        at = number * WIDTH
        if states[at + PRODUCER_ID] == states[row + PRODUCER_ID] and states[at] == states[row]:
            states[at + EPOCH_CHANGES] += states[row + EPOCH_CHANGES]
            if states[row + FIRST_EPOCH] != states[at + PRODUCER_EPOCH]:
                states[at + EPOCH_CHANGES] += 1
                states[at + LAST_OFFSET] = NONE
            if states[row + EPOCH_CHANGES]:
                states[at + LAST_OFFSET] = NONE
            if states[row + LAST_OFFSET] != NONE or states[at + LAST_OFFSET] == NONE:
                for cell in range(LAST_SEQUENCE, COORDINATOR_EPOCH):
                    states[at + cell] = states[row + cell]
            states[at + PRODUCER_EPOCH] = states[row + PRODUCER_EPOCH]
            states[at + NEWEST_OFFSET] = states[row + NEWEST_OFFSET]
            states[at + TIMESTAMP] = states[row + TIMESTAMP]
            if states[row + MARKER_OFFSET] != NONE:
                states[at + COORDINATOR_EPOCH] = states[row + COORDINATOR_EPOCH]
                states[at + MARKER_OFFSET] = states[row + MARKER_OFFSET]
                states[at + CURRENT_TXN_FIRST_OFFSET] = states[row + CURRENT_TXN_FIRST_OFFSET]
            elif states[at + CURRENT_TXN_FIRST_OFFSET] == NONE:
                states[at + CURRENT_TXN_FIRST_OFFSET] = states[row + CURRENT_TXN_FIRST_OFFSET]
            return 0
        i = (i + 1) & mask
    number = used[0]
    slots[i] = number
    used[0] = number + 1
    at = number * WIDTH
    for cell in range(WIDTH):
        states[at + cell] = states[row + cell]
    return 1


def check(
    slots: cython.longlong[::1], bits: cython.int, states: cython.longlong[::1], used: cython.longlong[::1]
) -> None:
    """Raise IndexError if buffers do not have the sizes that the loops rely on; the loops check nothing."""
    if (
        len(slots) != 1 << bits
        or 2 * (len(states) // WIDTH) > len(slots)
        or len(states) % WIDTH
        or len(states) < 2 * WIDTH
        or len(used) < 1
    ):
        raise IndexError


def rehash(
    slots: cython.longlong[::1],
    states: cython.longlong[::1],
    used: cython.longlong[::1],
    secret: cython.longlong,
    bits: cython.int,
) -> None:
    """Fill empty slots with the numbers of all states in use."""
    number: cython.longlong
    mask: cython.longlong = len(slots) - 1
    i: cython.longlong
    check(slots, bits, states, used)
    for number in range(used[0]):
        i = place(states[number * WIDTH], states[number * WIDTH + PRODUCER_ID], secret, bits)
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
    stops: cython.const[cython.longlong][::1],
    secret: cython.longlong,
    bits: cython.int,
    slots: cython.longlong[::1],
    states: cython.longlong[::1],
    used: cython.longlong[::1],
) -> int:
    """Fold the batches in rows [`row`, `count`) of the kernel's table `heads` that change a producer's state.

    Those are batches of magic 2 whose checksum matches, except control batches that end no transaction. A batch
    belongs to the part that ends at the first of `stops`, which rise, above its last offset. Answers the row to
    continue with when there is room for more states.
    """
    at_base: cython.Py_ssize_t = buffers.BASE_OFFSET * capacity
    at_last: cython.Py_ssize_t = buffers.LAST_OFFSET * capacity
    at_magic: cython.Py_ssize_t = buffers.MAGIC * capacity
    at_valid: cython.Py_ssize_t = buffers.VALID * capacity
    at_attributes: cython.Py_ssize_t = buffers.ATTRIBUTES * capacity
    at_newest: cython.Py_ssize_t = buffers.MAX_TIMESTAMP * capacity
    at_producer: cython.Py_ssize_t = buffers.PRODUCER_ID * capacity
    at_epoch: cython.Py_ssize_t = buffers.PRODUCER_EPOCH * capacity
    at_sequence: cython.Py_ssize_t = buffers.LAST_SEQUENCE * capacity
    room: cython.longlong = len(states) // WIDTH - 1
    s: cython.Py_ssize_t = len(states) - WIDTH  # the last state's cells are the current row
    attributes: cython.longlong
    base: cython.longlong
    last: cython.longlong
    low: cython.Py_ssize_t
    high: cython.Py_ssize_t
    half: cython.Py_ssize_t
    if count > min(capacity, len(types), len(coordinator_epochs)) or len(heads) < capacity * len(BATCH_COLUMNS):
        raise IndexError
    check(slots, bits, states, used)
    while row < count:
        if used[0] >= room:
            return row
        attributes = heads[at_attributes + row]
        if (
            not heads[at_valid + row]
            or heads[at_magic + row] < 2
            or heads[at_producer + row] < 0
            or (attributes & CONTROL_BIT and types[row] < 0)
        ):
            row += 1
            continue
        base = heads[at_base + row]
        last = heads[at_last + row]
        low = 0
        high = len(stops)
        while low < high:
            half = (low + high) // 2
            if stops[half] <= last:
                low = half + 1
            else:
                high = half
        states[s + PART] = low
        states[s + PRODUCER_ID] = heads[at_producer + row]
        states[s + FIRST_EPOCH] = states[s + PRODUCER_EPOCH] = heads[at_epoch + row]
        states[s + EPOCH_CHANGES] = 0
        states[s + FIRST_OFFSET] = base
        states[s + NEWEST_OFFSET] = last
        states[s + TIMESTAMP] = heads[at_newest + row]
        if attributes & CONTROL_BIT:
            states[s + LAST_SEQUENCE] = states[s + LAST_OFFSET] = states[s + OFFSET_DELTA] = NONE
            states[s + DATA_TIMESTAMP] = states[s + CURRENT_TXN_FIRST_OFFSET] = NONE
            states[s + COORDINATOR_EPOCH] = coordinator_epochs[row]
            states[s + MARKER_OFFSET] = last
        else:
            states[s + LAST_SEQUENCE] = heads[at_sequence + row]
            states[s + LAST_OFFSET] = last
            states[s + OFFSET_DELTA] = minus64(last, base)
            states[s + DATA_TIMESTAMP] = heads[at_newest + row]
            states[s + COORDINATOR_EPOCH] = states[s + MARKER_OFFSET] = NONE
            states[s + CURRENT_TXN_FIRST_OFFSET] = base if attributes & TRANSACTIONAL_BIT else NONE
        absorb(slots, states, used, s, secret, bits)
        row += 1
    return row


def rows(
    table: cython.const[cython.longlong][::1],
    row: cython.Py_ssize_t,
    count: cython.Py_ssize_t,
    secret: cython.longlong,
    bits: cython.int,
    slots: cython.longlong[::1],
    states: cython.longlong[::1],
    used: cython.longlong[::1],
) -> int:
    """Fold `count` rows by ``COLUMNS`` of other parts, in log order, from `row` on, as one part.

    Answers the row to continue with when there is room for more states.
    """
    room: cython.longlong = len(states) // WIDTH - 1
    s: cython.Py_ssize_t = len(states) - WIDTH
    cell: cython.Py_ssize_t
    if len(table) < count * (WIDTH - 1) or row < 0:
        raise IndexError
    check(slots, bits, states, used)
    while row < count:
        if used[0] >= room:
            return row
        states[s] = 0
        for cell in range(1, WIDTH):
            states[s + cell] = table[(cell - 1) * count + row]
        absorb(slots, states, used, s, secret, bits)
        row += 1
    return row

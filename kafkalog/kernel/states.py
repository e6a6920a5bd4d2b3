# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The hot loops of producers' states: batches, or rows of other parts, into one state for each producer.

One source that runs compiled and interpreted, under the rules of ``kafkalog.kernel.buffers``. *States* are row by row:
STATE_CELLS for each (part of log, producer), the part's number first, then ``STATE_COLUMNS``. *Slots* is the hash table
of their numbers, as in ``fold``. `used` has one cell, the number of states.
"""

from __future__ import annotations

try:
    import cython
except ImportError:  # not needed to run, only to compile
    from kafkalog.kernel import _shadow as cython

if not cython.compiled:  # else they come with the .pxd
    from kafkalog.kernel.buffers import *
    from kafkalog.kernel.numbers import minus64
    from kafkalog.kernel.slots import place

__all__ = ["batches", "rehash", "rows"]


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
    i: cython.longlong = place(states[row + Q_PART], states[row + Q_PRODUCER_ID], secret, bits)
    at: cython.Py_ssize_t
    cell: cython.Py_ssize_t
    number: cython.longlong
    while True:
        number = slots[i]
        if number < 0:
            break
        at = number * STATE_CELLS
        if states[at + Q_PRODUCER_ID] == states[row + Q_PRODUCER_ID] and states[at + Q_PART] == states[row + Q_PART]:
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
            return 0
        i = (i + 1) & mask
    number = used[0]
    slots[i] = number
    used[0] = number + 1
    at = number * STATE_CELLS
    for cell in range(STATE_CELLS):
        states[at + cell] = states[row + cell]
    return 1


def check(
    slots: cython.longlong[::1], bits: cython.int, states: cython.longlong[::1], used: cython.longlong[::1]
) -> None:
    """Raise IndexError if buffers do not have the sizes that the loops rely on; the loops check nothing."""
    if (
        len(slots) != 1 << bits
        or 2 * (len(states) // STATE_CELLS) > len(slots)
        or len(states) % STATE_CELLS
        or len(states) < 2 * STATE_CELLS
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
        i = place(states[number * STATE_CELLS + Q_PART], states[number * STATE_CELLS + Q_PRODUCER_ID], secret, bits)
        while slots[i] >= 0:
            i = (i + 1) & mask
        slots[i] = number


def batches(
    heads: cython.const[cython.longlong][:, ::1],
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
    check(slots, bits, states, used)
    while row < count:
        if used[0] >= room:
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
        absorb(slots, states, used, s, secret, bits)
        row += 1
    return row


def rows(
    table: cython.const[cython.longlong][:, ::1],
    row: cython.Py_ssize_t,
    count: cython.Py_ssize_t,
    secret: cython.longlong,
    bits: cython.int,
    slots: cython.longlong[::1],
    states: cython.longlong[::1],
    used: cython.longlong[::1],
) -> int:
    """Fold `count` rows by ``STATE_COLUMNS`` of other parts, in log order, from `row` on, as one part.

    Answers the row to continue with when there is room for more states.
    """
    room: cython.longlong = len(states) // STATE_CELLS - 1
    s: cython.Py_ssize_t = len(states) - STATE_CELLS
    cell: cython.Py_ssize_t
    if len(table) < STATE_CELLS - 1 or count > table.shape[1] or row < 0:
        raise IndexError
    check(slots, bits, states, used)
    while row < count:
        if used[0] >= room:
            return row
        states[s + Q_PART] = 0
        for cell in range(1, STATE_CELLS):
            states[s + cell] = table[cell - 1, row]
        absorb(slots, states, used, s, secret, bits)
        row += 1
    return row

# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Which program reads the key and the value of each record of an internal topic, by the numbers that they begin with.

`kinds` has three cells for each record type from 0 on: the program of its key, -1 for a type that is not known; the
number of its value's versions; and the program of version 0, which those of the other versions follow. `facts` has the
columns type, version and doubt. A record that is not simply read is in doubt, and ``internal_record`` says what it is.
"""

from __future__ import annotations

try:
    import cython
except ImportError:  # not needed to run, only to compile
    from kafkalog.format import _shadow as cython

from kafkalog.format.kernel import RECORD_COLUMNS
from kafkalog.format.message_ops import MESSAGE_COLUMNS

if cython.compiled:
    from cython.cimports.kafkalog.format.kernel import KEY_SIZE, KEY_START, VALUE_SIZE, VALUE_START, int16
    from cython.cimports.kafkalog.format.message_ops import M_ERROR, M_PROGRAM, M_SIZE, M_START, M_TAKEN, MOST_BYTES
else:
    from kafkalog.format.kernel import KEY_SIZE, KEY_START, VALUE_SIZE, VALUE_START, int16
    from kafkalog.format.message_ops import M_ERROR, M_PROGRAM, M_SIZE, M_START, M_TAKEN, MOST_BYTES

__all__ = ["FACTS", "doubts", "embedded", "framed", "keyed"]

FACTS = ("type", "version", "doubt")


def keyed(
    buf: cython.const[cython.uchar][::1],
    recs: cython.const[cython.longlong][::1],
    room: cython.Py_ssize_t,
    count: cython.Py_ssize_t,
    kinds: cython.const[cython.longlong][::1],
    keys: cython.longlong[::1],
    values: cython.longlong[::1],
    facts: cython.longlong[::1],
) -> None:
    """Set the programs and places of `count` records whose keys and values begin with an int16 each.

    The version is -1 in a tombstone. All tables have the capacity `room`.
    """
    i: cython.Py_ssize_t
    p: cython.Py_ssize_t
    q: cython.Py_ssize_t
    key_size: cython.longlong
    value_size: cython.longlong
    number: cython.longlong
    version: cython.longlong
    doubt: cython.bint
    if count > room or len(recs) < room * len(RECORD_COLUMNS) or len(facts) < room * 3:
        raise IndexError
    if len(keys) < room * len(MESSAGE_COLUMNS) or len(values) < room * len(MESSAGE_COLUMNS):
        raise IndexError
    for i in range(count):
        p = recs[KEY_START * room + i]
        q = recs[VALUE_START * room + i]
        key_size = recs[KEY_SIZE * room + i]
        value_size = recs[VALUE_SIZE * room + i]
        if p < 0 or q < 0 or key_size > len(buf) - p or value_size > len(buf) - q:
            raise IndexError
        keys[M_PROGRAM * room + i] = -1
        values[M_PROGRAM * room + i] = -1
        number = version = -1
        doubt = True
        if 2 <= key_size <= MOST_BYTES:
            number = int16(buf, p)
            if 0 <= number < len(kinds) // 3 and kinds[number * 3] >= 0:
                keys[M_PROGRAM * room + i] = kinds[number * 3]
                keys[M_START * room + i] = p + 2
                keys[M_SIZE * room + i] = key_size - 2
                if value_size < 0:
                    doubt = False
                elif 2 <= value_size <= MOST_BYTES:
                    version = int16(buf, q)
                    if 0 <= version < kinds[number * 3 + 1]:
                        values[M_PROGRAM * room + i] = kinds[number * 3 + 2] + version
                        values[M_START * room + i] = q + 2
                        values[M_SIZE * room + i] = value_size - 2
                        doubt = False
        facts[i] = number
        facts[room + i] = version
        facts[2 * room + i] = doubt


def framed(
    buf: cython.const[cython.uchar][::1],
    recs: cython.const[cython.longlong][::1],
    room: cython.Py_ssize_t,
    count: cython.Py_ssize_t,
    kinds: cython.const[cython.longlong][::1],
    values: cython.longlong[::1],
    facts: cython.longlong[::1],
) -> None:
    """Set the programs and places of `count` records whose values begin with frame version, type and version.

    The three are uvarints. All tables have the capacity `room`.
    """
    i: cython.Py_ssize_t
    p: cython.Py_ssize_t
    n: cython.Py_ssize_t
    size: cython.longlong
    number: cython.longlong
    version: cython.longlong
    doubt: cython.bint
    if count > room or len(recs) < room * len(RECORD_COLUMNS) or len(facts) < room * 3:
        raise IndexError
    if len(values) < room * len(MESSAGE_COLUMNS):
        raise IndexError
    for i in range(count):
        p = recs[VALUE_START * room + i]
        size = recs[VALUE_SIZE * room + i]
        if p < 0 or size > len(buf) - p:
            raise IndexError
        values[M_PROGRAM * room + i] = -1
        number = version = -1
        doubt = True
        if (
            3 <= size <= MOST_BYTES and buf[p] == 1 and buf[p + 2] < 128
        ):  # longer numbers are in doubt, but for a type's two bytes
            number = buf[p + 1]
            n = 2
            if number >= 128 and size >= 4:
                number = (number & 127) | buf[p + 2] << 7
                n = 3
            version = buf[p + n]
            n += 1
            if number < len(kinds) // 3 and kinds[number * 3] >= 0 and version < kinds[number * 3 + 1]:
                values[M_PROGRAM * room + i] = kinds[number * 3 + 2] + version
                values[M_START * room + i] = p + n
                values[M_SIZE * room + i] = size - n
                doubt = False
        facts[i] = number
        facts[room + i] = version
        facts[2 * room + i] = doubt


def doubts(
    count: cython.Py_ssize_t,
    room: cython.Py_ssize_t,
    messages: cython.const[cython.longlong][::1],
    remarks: cython.const[cython.longlong][::1],
    facts: cython.longlong[::1],
) -> None:
    """Put the records in doubt whose `messages` are malformed, have a remark, or bytes after the last field."""
    i: cython.Py_ssize_t
    if count > room or len(messages) < room * len(MESSAGE_COLUMNS) or len(facts) < room * 3:
        raise IndexError
    for i in range(count):
        if messages[M_PROGRAM * room + i] >= 0 and (
            messages[M_ERROR * room + i] or messages[M_TAKEN * room + i] != messages[M_SIZE * room + i]
        ):
            facts[2 * room + i] = 1
    for i in range(len(remarks)):
        if 0 <= remarks[i] < count:
            facts[2 * room + remarks[i]] = 1


def embedded(
    buf: cython.const[cython.uchar][::1],
    types: cython.const[cython.longlong][::1],
    type_sizes: cython.const[cython.longlong][::1],
    firsts: cython.const[cython.longlong][::1],
    counts: cython.const[cython.longlong][::1],
    starts: cython.const[cython.longlong][::1],
    sizes: cython.const[cython.longlong][::1],
    wanted: cython.const[cython.uchar][::1],
    program: cython.longlong,
    newest: cython.longlong,
    messages: cython.longlong[::1],
    capacity: cython.Py_ssize_t,
) -> None:
    """Set the programs and places of messages inside of groups' members, if the group's type is `wanted`.

    A group has its type, and its members from a first row on; a member has bytes that begin with a version. `program`
    is that of version 0, those of the versions up to the one after the newest follow.
    """
    g: cython.Py_ssize_t
    i: cython.Py_ssize_t
    k: cython.Py_ssize_t
    p: cython.Py_ssize_t
    version: cython.longlong
    if len(messages) < capacity * len(MESSAGE_COLUMNS) or capacity < len(starts) or len(sizes) < len(starts):
        raise IndexError
    if min(len(type_sizes), len(firsts), len(counts)) < len(types):
        raise IndexError
    for i in range(len(starts)):
        messages[M_PROGRAM * capacity + i] = -1
    for g in range(len(types)):
        if type_sizes[g] != len(wanted) or types[g] < 0 or types[g] > len(buf) - len(wanted):
            continue
        k = 0
        while k < len(wanted) and buf[types[g] + k] == wanted[k]:
            k += 1
        if k < len(wanted) or firsts[g] < 0 or counts[g] > len(starts) - firsts[g]:
            continue
        for i in range(firsts[g], firsts[g] + counts[g]):
            p = starts[i]
            if sizes[i] < 2 or p < 0 or sizes[i] > len(buf) - p:
                continue
            version = int16(buf, p)
            version = max(version, 0)
            version = min(version, newest + 1)
            messages[M_PROGRAM * capacity + i] = program + version
            messages[M_START * capacity + i] = p + 2
            messages[M_SIZE * capacity + i] = sizes[i] - 2

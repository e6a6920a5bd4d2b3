# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Runs the programs of generated messages over many of them, into tables; see ``message_ops.py`` for what they are.

It reads as Kafka's own code does and is as lenient; what Kafka only tolerates becomes a row of the table of remarks.
"""

from __future__ import annotations

try:
    import cython
except ImportError:  # not needed to run, only to compile
    from kafkalog.format import _shadow as cython

from kafkalog.format.kernel import NONE
from kafkalog.format.message_ops import MESSAGE_COLUMNS

if cython.compiled:
    from cython.cimports.kafkalog.format.kernel import int16, int32, int64, unsigned32, wrap32
    from cython.cimports.kafkalog.format.message_ops import (
        A_TAG,
        ARRAY,
        BOOL,
        BOOL_VALUE,
        BYTES,
        COMPACT,
        ELEMENT_END,
        ELEMENTS,
        END,
        ENDED,
        FRAME,
        INT8,
        INT16,
        INT32,
        INT64,
        IS_NULL,
        LONG_VARINT,
        M_A,
        M_AT,
        M_B,
        M_ERROR,
        M_NAME,
        M_PROGRAM,
        M_ROW,
        M_SIZE,
        M_START,
        M_TAKEN,
        MARK,
        MARK_VALUE,
        NUMBERS,
        PLAIN16,
        PROGRAM,
        REFUSED,
        SHORT,
        SIZE_OF_TAG,
        STEP,
        STRING,
        STRING_LENGTH,
        TABLE,
        TAG_COUNT,
        TAG_END,
        TAG_NEXT,
        TAG_ORDER,
        TAG_SIZE,
        TAGS,
        TAKE,
        TAKE_TAG,
        UINT16,
        UINT32,
        UUID,
    )
else:
    from kafkalog.format.kernel import int16, int32, int64, unsigned32, wrap32
    from kafkalog.format.message_ops import (
        A_TAG,
        ARRAY,
        BOOL,
        BOOL_VALUE,
        BYTES,
        COMPACT,
        ELEMENT_END,
        ELEMENTS,
        END,
        ENDED,
        FRAME,
        INT8,
        INT16,
        INT32,
        INT64,
        IS_NULL,
        LONG_VARINT,
        M_A,
        M_AT,
        M_B,
        M_ERROR,
        M_NAME,
        M_PROGRAM,
        M_ROW,
        M_SIZE,
        M_START,
        M_TAKEN,
        MARK,
        MARK_VALUE,
        NUMBERS,
        PLAIN16,
        PROGRAM,
        REFUSED,
        SHORT,
        SIZE_OF_TAG,
        STEP,
        STRING,
        STRING_LENGTH,
        TABLE,
        TAG_COUNT,
        TAG_END,
        TAG_NEXT,
        TAG_ORDER,
        TAG_SIZE,
        TAGS,
        TAKE,
        TAKE_TAG,
        UINT16,
        UINT32,
        UUID,
    )

__all__ = ["read"]


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
@cython.returns((cython.longlong, cython.Py_ssize_t))
def uvarint(buf: cython.const[cython.uchar][::1], p: cython.Py_ssize_t, stop: cython.Py_ssize_t):
    """Read an unsigned varint into 32 signed bits, as Java does: (value, position after it).

    The position is -1 where the bytes end in it, -2 where a fifth byte says that another follows.
    """
    v: cython.longlong = 0
    b: cython.longlong
    shift: cython.int = 0
    while True:
        if p >= stop:
            return 0, -1
        b = buf[p]
        p += 1
        if b < 128 or shift == 28:
            v |= b << shift
            break
        v |= (b & 127) << shift
        shift += 7
    if b >= 128:
        return unsigned32(v), -2
    return wrap32(v), p


def read(
    buf: cython.const[cython.uchar][::1],
    messages: cython.longlong[::1],
    capacity: cython.Py_ssize_t,
    first: cython.Py_ssize_t,
    count: cython.Py_ssize_t,
    programs: cython.const[cython.longlong][::1],
    steps: cython.const[cython.longlong][::1],
    tables: cython.longlong[::1],
    cells: cython.longlong[::1],
    stack: cython.longlong[::1],
) -> tuple[int, int, int]:
    """Read the messages in rows [`first`, `count`) of `messages`, each by its program.

    Answers (next message, table, rows): if the next message is not `count`, the table needs room for so many rows, and
    a call with that message continues. A malformed message has an error, and no row in any table.
    """
    i: cython.Py_ssize_t = first
    p: cython.Py_ssize_t
    q: cython.Py_ssize_t
    start: cython.Py_ssize_t
    stop: cython.Py_ssize_t
    s: cython.Py_ssize_t  # of the step
    t: cython.Py_ssize_t
    k: cython.Py_ssize_t
    origin: cython.Py_ssize_t  # of the row that is being read: of its first column's cell
    room: cython.Py_ssize_t  # of the row's table
    top: cython.Py_ssize_t  # of the stack
    first_table: cython.Py_ssize_t
    stop_table: cython.Py_ssize_t
    full: cython.Py_ssize_t
    wanted: cython.longlong
    g: cython.longlong
    op: cython.longlong
    n: cython.longlong
    m: cython.longlong
    v: cython.longlong
    tag: cython.longlong
    error: cython.longlong
    name: cython.longlong
    at: cython.Py_ssize_t
    a: cython.longlong
    b: cython.longlong
    is_remark: cython.bint
    none: cython.longlong = NONE
    if len(messages) < capacity * len(MESSAGE_COLUMNS) or count > capacity or first < 0:
        raise IndexError
    for k in range(len(tables) // TABLE):
        if tables[k * TABLE] + tables[k * TABLE + 1] * tables[k * TABLE + 4] > len(cells):
            raise IndexError
    while i < count:
        g = messages[M_PROGRAM * capacity + i]
        if g < 0:
            i += 1
            continue
        start = messages[M_START * capacity + i]
        n = messages[M_SIZE * capacity + i]
        if start < 0 or n < 0 or start > len(buf) or n > len(buf) - start:
            raise IndexError
        stop = start + n
        p = start
        s = programs[g * PROGRAM]
        t = programs[g * PROGRAM + 1]
        first_table = programs[g * PROGRAM + 2]
        stop_table = programs[g * PROGRAM + 3]
        tables[3] = tables[2]
        for k in range(first_table, stop_table):
            tables[k * TABLE + 3] = tables[k * TABLE + 2]
        error = 0
        name = -1
        a = b = 0
        at = 0
        top = 0
        full = -1
        wanted = tables[t * TABLE + 2] + 1
        if wanted > tables[t * TABLE + 1]:
            return i, t, wanted
        tables[t * TABLE + 2] = wanted
        room = tables[t * TABLE + 1]
        origin = tables[t * TABLE] + wanted - 1
        while True:
            op = steps[s]
            if op == INT64:
                if stop - p < 8:
                    error = SHORT
                    a = 8
                    break
                cells[origin + steps[s + 1] * room] = int64(buf, p)
                p += 8
                s += STEP
            elif op == INT32:
                if stop - p < 4:
                    error = SHORT
                    a = 4
                    break
                cells[origin + steps[s + 1] * room] = int32(buf, p)
                p += 4
                s += STEP
            elif op == INT16:
                if stop - p < 2:
                    error = SHORT
                    a = 2
                    break
                cells[origin + steps[s + 1] * room] = int16(buf, p)
                p += 2
                s += STEP
            elif op == INT8:
                if stop - p < 1:
                    error = SHORT
                    a = 1
                    break
                v = buf[p]
                cells[origin + steps[s + 1] * room] = v - 256 if v > 127 else v
                p += 1
                s += STEP
            elif op in (STRING, BYTES):
                if steps[s + 4] == COMPACT:
                    if p < stop and buf[p] < 128:
                        v = buf[p]
                        n = v - 1
                        p += 1
                    else:
                        v, q = uvarint(buf, p, stop)
                        if q < 0:
                            error = ENDED if q == -1 else LONG_VARINT
                            a = v
                            break
                        n = wrap32(v - 1)
                        p = q
                elif steps[s + 4] == PLAIN16:
                    if stop - p < 2:
                        error = SHORT
                        a = 2
                        break
                    n = int16(buf, p)
                    p += 2
                else:
                    if stop - p < 4:
                        error = SHORT
                        a = 4
                        break
                    n = int32(buf, p)
                    p += 4
                k = origin + steps[s + 1] * room
                cells[k] = p
                if n < 0:
                    if not steps[s + 3]:
                        error = IS_NULL
                        break
                    n = -1
                elif n > 32767 and op == STRING:
                    error = STRING_LENGTH
                    a = n
                    break
                elif n > stop - p:
                    error = TAKE
                    a = n
                    break
                else:
                    p += n
                cells[k + room] = n
                s += STEP
            elif op in (ARRAY, NUMBERS):
                if steps[s + 4] == COMPACT:
                    if p < stop and buf[p] < 128:
                        v = buf[p]
                        n = v - 1
                        p += 1
                    else:
                        v, q = uvarint(buf, p, stop)
                        if q < 0:
                            error = ENDED if q == -1 else LONG_VARINT
                            a = v
                            break
                        n = wrap32(v - 1)
                        p = q
                else:
                    if stop - p < 4:
                        error = SHORT
                        a = 4
                        break
                    n = int32(buf, p)
                    p += 4
                if n < 0:
                    if not steps[s + 3]:
                        error = IS_NULL
                        break
                    n = -1
                elif n > stop - p:  # every element takes at least one byte
                    error = ELEMENTS
                    a = n
                    break
                t = steps[s + 5]
                k = origin + steps[s + 1] * room
                cells[k] = tables[t * TABLE + 2]
                cells[k + room] = n
                if op == NUMBERS:
                    v = steps[s + 6]
                    if n * v > stop - p:
                        error = SHORT
                        name = steps[s + 7]
                        a = v
                        p += (stop - p) // v * v
                        break
                    if n > 0:
                        m = tables[t * TABLE + 2]
                        if m + n > tables[t * TABLE + 1]:
                            full = t
                            wanted = m + n
                            break
                        tables[t * TABLE + 2] = m + n
                        k = tables[t * TABLE] + m
                        while n > 0:
                            if v == 4:
                                cells[k] = int32(buf, p)
                            elif v == 8:
                                cells[k] = int64(buf, p)
                            elif v == 2:
                                cells[k] = int16(buf, p)
                            else:
                                m = buf[p]
                                cells[k] = m - 256 if m > 127 else m
                            p += v
                            k += 1
                            n -= 1
                    s += STEP
                elif n <= 0:
                    s = steps[s + 6]
                else:
                    wanted = tables[t * TABLE + 2] + 1
                    if wanted > tables[t * TABLE + 1]:
                        full = t
                        break
                    if top + FRAME > len(stack):
                        raise IndexError
                    stack[top] = s
                    stack[top + 1] = n
                    top += FRAME
                    tables[t * TABLE + 2] = wanted
                    room = tables[t * TABLE + 1]
                    origin = tables[t * TABLE] + wanted - 1
                    s += STEP
            elif op == ELEMENT_END:
                k = top - FRAME
                n = stack[k + 1] - 1
                if n > 0:
                    stack[k + 1] = n
                    t = steps[stack[k] + 5]
                    wanted = tables[t * TABLE + 2] + 1
                    if wanted > tables[t * TABLE + 1]:
                        full = t
                        break
                    tables[t * TABLE + 2] = wanted
                    origin = tables[t * TABLE] + wanted - 1
                    s = stack[k] + STEP
                else:
                    top = k
                    t = steps[s + 4]
                    room = tables[t * TABLE + 1]
                    origin = tables[t * TABLE] + tables[t * TABLE + 2] - 1
                    s += STEP
            elif op == TAGS:
                k = steps[s + 4]
                n = steps[k]
                k += 1
                while n > 0:
                    cells[origin + steps[k] * room] = steps[k + 1]
                    k += 2
                    n -= 1
                if p < stop and not buf[p]:  # the usual case: no tagged field
                    p += 1
                    s = steps[s + 5]
                    continue
                n, q = uvarint(buf, p, stop)
                if q < 0:
                    error = ENDED if q == -1 else LONG_VARINT
                    a = n
                    break
                p = q
                if steps[s + 6] and (n < 0 or n > stop - p or n > 10000):
                    error = TAG_COUNT
                    a = n
                    break
                if top + FRAME > len(stack):
                    raise IndexError
                stack[top] = s
                stack[top + 1] = n
                stack[top + 2] = -1
                top += FRAME
                s += STEP
            elif op == TAG_NEXT:
                k = top - FRAME
                q = stack[k]  # the step that began the tags
                if stack[k + 1] <= 0:
                    top = k
                    s = steps[q + 5]
                    continue
                stack[k + 1] -= 1
                name = A_TAG
                tag, at = uvarint(buf, p, stop)
                if at < 0:
                    error = ENDED if at == -1 else LONG_VARINT
                    a = tag
                    break
                p = at
                name = SIZE_OF_TAG
                n, at = uvarint(buf, p, stop)
                if at < 0:
                    error = ENDED if at == -1 else LONG_VARINT
                    a = n
                    break
                p = at
                name = -1
                if tag <= stack[k + 2]:
                    wanted = tables[2] + 1
                    if wanted > tables[1]:
                        full = 0
                        break
                    at = tables[0] + wanted - 1
                    v = tables[1]
                    cells[at] = i
                    cells[at + v] = TAG_ORDER
                    cells[at + 2 * v] = -1
                    cells[at + 3 * v] = tag
                    cells[at + 4 * v] = stack[k + 2]
                    tables[2] = wanted
                stack[k + 2] = tag
                stack[k + 3] = p
                stack[k + 4] = n
                k = steps[q + 4]
                k += 1 + 2 * steps[k]
                m = steps[k]
                k += 1
                while m > 0 and steps[k] != tag:
                    k += 2
                    m -= 1
                if m > 0:
                    s = steps[k + 1]
                    continue
                if n < 0 or n > stop - p:
                    error = TAKE_TAG
                    a = n
                    b = tag
                    break
                t = steps[q + 7]
                wanted = tables[t * TABLE + 2] + 1
                if wanted > tables[t * TABLE + 1]:
                    full = t
                    break
                k = tables[t * TABLE] + wanted - 1
                v = tables[t * TABLE + 1]
                cells[k] = tag
                cells[k + v] = p
                cells[k + 2 * v] = n
                tables[t * TABLE + 2] = wanted
                k = origin + steps[q + 1] * room
                if not cells[k + room]:
                    cells[k] = wanted - 1
                cells[k + room] += 1
                p += n
            elif op == TAG_END:
                k = top - FRAME
                v = p - stack[k + 3]
                if v != stack[k + 4]:
                    wanted = tables[2] + 1
                    if wanted > tables[1]:
                        full = 0
                        break
                    at = tables[0] + wanted - 1
                    n = tables[1]
                    cells[at] = i
                    cells[at + n] = TAG_SIZE
                    cells[at + 2 * n] = steps[s + 2]
                    cells[at + 3 * n] = v
                    cells[at + 4 * n] = stack[k + 4]
                    tables[2] = wanted
                s = stack[k] + STEP
            elif op == END:
                break
            elif op == UUID:
                if stop - p < 16:
                    error = SHORT
                    a = 16
                    break
                cells[origin + steps[s + 1] * room] = p
                p += 16
                s += STEP
            elif op in (BOOL, MARK):
                if op == MARK and steps[s + 4]:
                    n, q = uvarint(buf, p, stop)
                    if q < 0:
                        error = ENDED if q == -1 else LONG_VARINT
                        a = n
                        break
                    p = q
                    v = n > 0
                    is_remark = n not in (0, 1)
                else:
                    if p >= stop:
                        error = ENDED if op == MARK else SHORT
                        a = 1
                        break
                    n = buf[p]
                    p += 1
                    if op == MARK:
                        v = n < 128
                        is_remark = n not in (1, 255)
                    else:
                        v = n != 0
                        is_remark = n > 1
                if is_remark:
                    wanted = tables[2] + 1
                    if wanted > tables[1]:
                        full = 0
                        break
                    at = tables[0] + wanted - 1
                    m = tables[1]
                    cells[at] = i
                    cells[at + m] = MARK_VALUE if op == MARK else BOOL_VALUE
                    cells[at + 2 * m] = steps[s + 2]
                    cells[at + 3 * m] = n
                    cells[at + 4 * m] = 0
                    tables[2] = wanted
                cells[origin + steps[s + 1] * room] = v
                if op == MARK and not v:
                    for k in range(steps[s + 6], steps[s + 7]):
                        cells[origin + k * room] = none
                    s = steps[s + 5]
                else:
                    s += STEP
            elif op == UINT16:
                if stop - p < 2:
                    error = SHORT
                    a = 2
                    break
                cells[origin + steps[s + 1] * room] = int16(buf, p) & 65535
                p += 2
                s += STEP
            elif op == UINT32:
                if stop - p < 4:
                    error = SHORT
                    a = 4
                    break
                cells[origin + steps[s + 1] * room] = unsigned32(int32(buf, p))
                p += 4
                s += STEP
            else:
                error = REFUSED
                break
        if error or full >= 0:
            tables[2] = tables[3]
            for k in range(first_table, stop_table):
                tables[k * TABLE + 2] = tables[k * TABLE + 3]
            if full >= 0:
                return i, full, wanted
            messages[M_ERROR * capacity + i] = error
            messages[M_NAME * capacity + i] = steps[s + 2] if name < 0 else name
            messages[M_AT * capacity + i] = (stop if error == ENDED else p) - start
            messages[M_A * capacity + i] = a
            messages[M_B * capacity + i] = b if error == TAKE_TAG else stop - p
        else:
            messages[M_ROW * capacity + i] = tables[programs[g * PROGRAM + 1] * TABLE + 2] - 1
            messages[M_TAKEN * capacity + i] = p - start
        i += 1
    return i, -1, 0

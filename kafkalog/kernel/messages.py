# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
# cython: auto_pickle=False
"""Runs the programs of generated messages over many of them, into tables; see ``message_ops.py`` for what they are.

It reads as Kafka's own code does and is as lenient; what Kafka only tolerates becomes a row of the table of remarks.
"""

from __future__ import annotations

from typing import Any

try:
    import cython
except ImportError:  # not needed to run, only to compile
    from kafkalog.kernel import _shadow as cython

if not cython.compiled:  # else they come with the .pxd
    from json.encoder import encode_basestring, encode_basestring_ascii  # type: ignore[attr-defined]  # typeshed does not have it

    from kafkalog.kernel.buffers import *
    from kafkalog.kernel.message_ops import *
    from kafkalog.kernel.numbers import int16, int32, int64, unsigned32, wrap32
    from kafkalog.kernel.plans import BLANK, BRACE, CLOSING, COMMA, OPENING, QUOTE
    from kafkalog.kernel.put import put, put_base64, put_integer
    from kafkalog.kernel.text import java_text

__all__ = [
    "DONE",
    "NO_ROOM",
    "SPECIAL",
    "doubts",
    "embedded",
    "framed",
    "keyed",
    "members_of_type",
    "number",
    "place",
    "read_messages",
    "write_messages",
]


@cython.cfunc
@cython.exceptval(check=False)
@cython.returns((cython.longlong, cython.Py_ssize_t))
def long_number(buf: cython.const[cython.uchar][::1], p: cython.Py_ssize_t, stop: cython.Py_ssize_t):
    """Read an unsigned varint into 32 signed bits, as Java does: (number, position after it).

    Where the bytes end in it, or a fifth byte says that another follows: (what was read of it, the error below 0).
    """
    v: cython.longlong = 0
    b: cython.longlong
    shift: cython.int = 0
    while True:
        if p >= stop:
            return 0, -ENDED
        b = buf[p]
        p += 1
        if b < 128 or shift == 28:
            v |= b << shift
            break
        v |= (b & 127) << shift
        shift += 7
    if b >= 128:
        return unsigned32(v), -LONG_VARINT
    return wrap32(v), p


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
@cython.returns((cython.longlong, cython.Py_ssize_t))
def compact(buf: cython.const[cython.uchar][::1], p: cython.Py_ssize_t, stop: cython.Py_ssize_t):
    """Read an unsigned varint, most of which have one byte: (number, position after it), or as ``long_number``."""
    if p < stop and buf[p] < 128:
        return buf[p], p + 1
    return long_number(buf, p, stop)


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
@cython.returns((cython.longlong, cython.Py_ssize_t))
def length(buf: cython.const[cython.uchar][::1], p: cython.Py_ssize_t, stop: cython.Py_ssize_t, how: cython.longlong):
    """Read how long a string, bytes or an array are, below 0 for null: (length, position after it).

    Where it is no length: (what was read of it, or how many bytes were needed; the error below 0).
    """
    n: cython.longlong
    if how == PLAIN16:
        if stop - p < 2:
            return 2, -SHORT
        return int16(buf, p), p + 2
    if how == COMPACT:
        n, p = compact(buf, p, stop)
        return n if p < 0 else wrap32(n - 1), p
    if stop - p < 4:
        return 4, -SHORT
    return int32(buf, p), p + 4


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def integers(
    buf: cython.const[cython.uchar][::1],
    p: cython.Py_ssize_t,
    size: cython.longlong,
    count: cython.longlong,
    cells: cython.longlong[::1],
    k: cython.Py_ssize_t,
) -> cython.void:
    """Read integers of some bytes each into the cells from `k` on."""
    v: cython.longlong
    while count > 0:
        if size == 4:
            cells[k] = int32(buf, p)
        elif size == 8:
            cells[k] = int64(buf, p)
        elif size == 2:
            cells[k] = int16(buf, p)
        else:
            v = buf[p]
            cells[k] = v - 256 if v > 127 else v
        p += size
        k += 1
        count -= 1


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def row_added(tables: cython.longlong[::1], t: cython.Py_ssize_t) -> cython.Py_ssize_t:
    """Add a row to a table: its first cell's place, or -1 where the table has no room."""
    rows: cython.longlong = tables[t * TABLE + 2]
    if rows >= tables[t * TABLE + 1]:
        return -1
    tables[t * TABLE + 2] = rows + 1
    return tables[t * TABLE] + rows


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def remarked(
    tables: cython.longlong[::1],
    cells: cython.longlong[::1],
    message: cython.longlong,
    remark: cython.longlong,
    name: cython.longlong,
    a: cython.longlong,
    b: cython.longlong,
) -> cython.bint:
    """Add a row to the table of remarks; say whether there was room."""
    at: cython.Py_ssize_t = row_added(tables, 0)
    if at < 0:
        return False
    cells[at] = message
    cells[at + tables[1]] = remark
    cells[at + 2 * tables[1]] = name
    cells[at + 3 * tables[1]] = a
    cells[at + 4 * tables[1]] = b
    return True


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def step_of_tag(
    steps: cython.const[cython.longlong][::1], k: cython.Py_ssize_t, tag: cython.longlong
) -> cython.longlong:
    """Return the step of a tagged field by the list of what tags begin with, -1 for a tag that the list lacks."""
    left: cython.longlong
    k += 1 + 2 * steps[k]  # the columns to begin with
    left = steps[k]
    k += 1
    while left > 0:
        if steps[k] == tag:
            return steps[k + 1]
        k += 2
        left -= 1
    return -1


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def fixed(buf: cython.const[cython.uchar][::1], p: cython.Py_ssize_t, op: cython.longlong) -> cython.longlong:
    """Read a number of fixed size."""
    v: cython.longlong
    if op == INT64:
        return int64(buf, p)
    if op == INT32:
        return int32(buf, p)
    if op == INT16:
        return int16(buf, p)
    if op == UINT16:
        return int16(buf, p) & 65535
    if op == UINT32:
        return unsigned32(int32(buf, p))
    v = buf[p]
    return v - 256 if v > 127 else v


@cython.final
@cython.cclass
class Reading:
    """A message that is being read: how far, by which step, into which row; and what ends it too early.

    Each method does one step: it says whether the message goes on. Otherwise it has an `error`, with its `name`, its
    number `a`, and its second one or the step, `b`; with ``FULL`` these are the table that has no room, -1 for the
    stack, and for how many rows more.
    """

    buf: cython.const[cython.uchar][::1]
    steps: cython.const[cython.longlong][::1]
    tables: cython.longlong[::1]
    cells: cython.longlong[::1]
    stack: cython.longlong[::1]
    message: cython.longlong
    p: cython.Py_ssize_t
    stop: cython.Py_ssize_t
    s: cython.Py_ssize_t
    room: cython.Py_ssize_t  # rows that the row's table has room for
    origin: cython.Py_ssize_t  # the row's first cell
    top: cython.Py_ssize_t  # of the stack
    error: cython.longlong
    name: cython.longlong
    a: cython.longlong
    b: cython.longlong

    @cython.cfunc
    @cython.inline
    @cython.exceptval(check=False)
    def ends(
        self, error: cython.longlong, name: cython.longlong, a: cython.longlong, b: cython.longlong
    ) -> cython.bint:
        self.error = error
        self.name = name
        self.a = a
        self.b = b
        return False

    @cython.cfunc
    @cython.inline
    @cython.exceptval(check=False)
    def bad(self, error: cython.longlong, a: cython.longlong) -> cython.bint:
        """End with an error of the step's field."""
        return self.ends(error, self.steps[self.s + 2], a, 0)

    @cython.cfunc
    @cython.inline
    @cython.exceptval(check=False)
    def at(self, column: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """Return the cell of one of the step's columns."""
        return self.origin + (self.steps[self.s + 1] + column) * self.room

    @cython.cfunc
    @cython.inline
    @cython.exceptval(check=False)
    def in_last_row(self, t: cython.Py_ssize_t) -> cython.void:
        """Go on in the last row of a table."""
        self.room = self.tables[t * TABLE + 1]
        self.origin = self.tables[t * TABLE] + self.tables[t * TABLE + 2] - 1

    @cython.cfunc
    @cython.inline
    @cython.exceptval(check=False)
    def remark(
        self, what: cython.longlong, name: cython.longlong, a: cython.longlong, b: cython.longlong
    ) -> cython.bint:
        if remarked(self.tables, self.cells, self.message, what, name, a, b):
            return True
        return self.ends(FULL, 0, 1, 0)

    @cython.cfunc
    @cython.exceptval(check=False)
    def run(self) -> cython.bint:
        """Read the message up to its end: whether it has one."""
        op: cython.longlong
        while True:
            op = self.steps[self.s]
            if op in (INT8, INT16, INT32, INT64, UINT16, UINT32):
                if not self.number(op):
                    return False
            elif op in (STRING, BYTES):
                if not self.string(op):
                    return False
            elif op == NUMBERS:
                if not self.numbers():
                    return False
            elif op == ARRAY:
                if not self.array():
                    return False
            elif op == ELEMENT_END:
                if not self.element_end():
                    return False
            elif op == TAGS:
                if not self.tags():
                    return False
            elif op == TAG_NEXT:
                if not self.tag_next():
                    return False
            elif op == TAG_END:
                if not self.tag_end():
                    return False
            elif op == END:
                return True
            elif op == UUID:
                if not self.uuid():
                    return False
            elif op == BOOL:
                if not self.flag():
                    return False
            elif op == MARK:
                if not self.mark():
                    return False
            else:
                return self.bad(REFUSED, 0)

    @cython.cfunc
    @cython.inline
    @cython.exceptval(check=False)
    def number(self, op: cython.longlong) -> cython.bint:
        n: cython.longlong = 8 if op == INT64 else 4 if op in (INT32, UINT32) else 1 if op == INT8 else 2
        if self.stop - self.p < n:
            return self.bad(SHORT, n)
        self.cells[self.at(0)] = fixed(self.buf, self.p, op)
        self.p += n
        self.s += STEP
        return True

    @cython.cfunc
    @cython.inline
    @cython.exceptval(check=False)
    def string(self, op: cython.longlong) -> cython.bint:
        n: cython.longlong
        q: cython.Py_ssize_t
        k: cython.Py_ssize_t = self.at(0)
        n, q = length(self.buf, self.p, self.stop, self.steps[self.s + 4])
        if q < 0:
            return self.bad(-q, n)
        self.p = q
        self.cells[k] = q
        if n > self.stop - q or (n > 32767 and op == STRING):
            return self.bad(STRING_LENGTH if n > 32767 and op == STRING else TAKE, n)
        if n >= 0:
            self.p += n
        elif self.steps[self.s + 3]:
            n = -1
        else:
            return self.bad(IS_NULL, 0)
        self.cells[k + self.room] = n
        self.s += STEP
        return True

    @cython.cfunc
    @cython.inline
    @cython.exceptval(check=False)
    def elements(self) -> cython.bint:
        """Read how many elements an array has into its second cell, and where they begin into its first."""
        n: cython.longlong
        q: cython.Py_ssize_t
        k: cython.Py_ssize_t = self.at(0)
        n, q = length(self.buf, self.p, self.stop, self.steps[self.s + 4])
        if q < 0:
            return self.bad(-q, n)
        self.p = q
        if n > self.stop - q:  # every element takes at least one byte
            return self.bad(ELEMENTS, n)
        if n < 0 and not self.steps[self.s + 3]:
            return self.bad(IS_NULL, 0)
        self.cells[k] = self.tables[self.steps[self.s + 5] * TABLE + 2]
        self.cells[k + self.room] = max(n, -1)
        return True

    @cython.cfunc
    @cython.exceptval(check=False)
    def numbers(self) -> cython.bint:
        n: cython.longlong
        size: cython.longlong = self.steps[self.s + 6]
        t: cython.Py_ssize_t = self.steps[self.s + 5]
        rows: cython.Py_ssize_t
        if not self.elements():
            return False
        n = self.cells[self.at(1)]
        if n * size > self.stop - self.p:
            self.p += (self.stop - self.p) // size * size
            return self.ends(SHORT, self.steps[self.s + 7], size, 0)
        if n > 0:
            rows = self.tables[t * TABLE + 2]
            if rows + n > self.tables[t * TABLE + 1]:
                return self.ends(FULL, t, n, 0)
            self.tables[t * TABLE + 2] = rows + n
            integers(self.buf, self.p, size, n, self.cells, self.tables[t * TABLE] + rows)
            self.p += n * size
        self.s += STEP
        return True

    @cython.cfunc
    @cython.exceptval(check=False)
    def array(self) -> cython.bint:
        """Go into an array: its table is the row's table until the step after the array."""
        n: cython.longlong
        t: cython.Py_ssize_t = self.steps[self.s + 5]
        if not self.elements():
            return False
        n = self.cells[self.at(1)]
        if n <= 0:
            self.s = self.steps[self.s + 6]
            return True
        if row_added(self.tables, t) < 0:
            return self.ends(FULL, t, 1, 0)
        if self.top + FRAME > len(self.stack):
            return self.ends(FULL, -1, 1, 0)
        self.in_last_row(t)
        self.stack[self.top] = self.s
        self.stack[self.top + 1] = n
        self.top += FRAME
        self.s += STEP
        return True

    @cython.cfunc
    @cython.inline
    @cython.exceptval(check=False)
    def element_end(self) -> cython.bint:
        k: cython.Py_ssize_t = self.top - FRAME
        t: cython.Py_ssize_t
        n: cython.longlong = self.stack[k + 1] - 1
        if n > 0:
            self.stack[k + 1] = n
            t = self.steps[self.stack[k] + 5]
            self.origin = row_added(self.tables, t)
            if self.origin < 0:
                return self.ends(FULL, t, 1, 0)
            self.s = self.stack[k] + STEP
        else:
            self.top = k
            self.in_last_row(self.steps[self.s + 4])
            self.s += STEP
        return True

    @cython.cfunc
    @cython.inline
    @cython.exceptval(check=False)
    def tags(self) -> cython.bint:
        """Begin with the tagged fields: their columns have defaults, most often all of them."""
        n: cython.longlong
        q: cython.Py_ssize_t
        k: cython.Py_ssize_t = self.steps[self.s + 4]
        for n in range(self.steps[k]):
            self.cells[self.origin + self.steps[k + 1 + 2 * n] * self.room] = self.steps[k + 2 + 2 * n]
        n, q = compact(self.buf, self.p, self.stop)
        if q < 0:
            return self.bad(-q, n)
        self.p = q
        if self.steps[self.s + 6] and (n < 0 or n > self.stop - q or n > 10000):
            return self.bad(TAG_COUNT, n)
        if n <= 0:
            self.s = self.steps[self.s + 5]
            return True
        if self.top + FRAME > len(self.stack):
            return self.ends(FULL, -1, 1, 0)
        self.stack[self.top] = self.s
        self.stack[self.top + 1] = n
        self.stack[self.top + 2] = -1
        self.top += FRAME
        self.s += STEP
        return True

    @cython.cfunc
    @cython.exceptval(check=False)
    def tag_next(self) -> cython.bint:
        """Go on with the next tagged field, the frame of which has its tag, where it begins and its size."""
        k: cython.Py_ssize_t = self.top - FRAME
        q: cython.Py_ssize_t
        n: cython.longlong
        tag: cython.longlong
        s: cython.longlong
        if self.stack[k + 1] <= 0:
            self.top = k
            self.s = self.steps[self.stack[k] + 5]
            return True
        self.stack[k + 1] -= 1
        tag, q = compact(self.buf, self.p, self.stop)
        if q < 0:
            return self.ends(-q, A_TAG, tag, 0)
        self.p = q
        n, q = compact(self.buf, self.p, self.stop)
        if q < 0:
            return self.ends(-q, SIZE_OF_TAG, n, 0)
        self.p = q
        if tag <= self.stack[k + 2] and not self.remark(TAG_ORDER, -1, tag, self.stack[k + 2]):
            return False
        self.stack[k + 2] = tag
        self.stack[k + 3] = q
        self.stack[k + 4] = n
        s = step_of_tag(self.steps, self.steps[self.stack[k] + 4], tag)
        if s < 0:
            return self.unknown_tag(self.stack[k], tag, n)
        self.s = s
        return True

    @cython.cfunc
    @cython.exceptval(check=False)
    def unknown_tag(self, tags: cython.Py_ssize_t, tag: cython.longlong, n: cython.longlong) -> cython.bint:
        """Keep a tagged field that the version does not have; `tags` is the step of the tagged fields."""
        t: cython.Py_ssize_t = self.steps[tags + 7]
        k: cython.Py_ssize_t
        if n < 0 or n > self.stop - self.p:
            return self.ends(TAKE_TAG, self.steps[self.s + 2], n, tag)
        k = row_added(self.tables, t)
        if k < 0:
            return self.ends(FULL, t, 1, 0)
        self.cells[k] = tag
        self.cells[k + self.tables[t * TABLE + 1]] = self.p
        self.cells[k + 2 * self.tables[t * TABLE + 1]] = n
        k = self.origin + self.steps[tags + 1] * self.room
        if not self.cells[k + self.room]:
            self.cells[k] = self.tables[t * TABLE + 2] - 1
        self.cells[k + self.room] += 1
        self.p += n
        return True

    @cython.cfunc
    @cython.exceptval(check=False)
    def tag_end(self) -> cython.bint:
        k: cython.Py_ssize_t = self.top - FRAME
        taken: cython.longlong = self.p - self.stack[k + 3]
        if taken != self.stack[k + 4] and not self.remark(TAG_SIZE, self.steps[self.s + 2], taken, self.stack[k + 4]):
            return False
        self.s = self.stack[k] + STEP
        return True

    @cython.cfunc
    @cython.inline
    @cython.exceptval(check=False)
    def uuid(self) -> cython.bint:
        if self.stop - self.p < 16:
            return self.bad(SHORT, 16)
        self.cells[self.at(0)] = self.p
        self.p += 16
        self.s += STEP
        return True

    @cython.cfunc
    @cython.inline
    @cython.exceptval(check=False)
    def flag(self) -> cython.bint:
        v: cython.longlong
        if self.p >= self.stop:
            return self.bad(SHORT, 1)
        v = self.buf[self.p]
        self.p += 1
        if v > 1 and not self.remark(BOOL_VALUE, self.steps[self.s + 2], v, 0):
            return False
        self.cells[self.at(0)] = v != 0
        self.s += STEP
        return True

    @cython.cfunc
    @cython.exceptval(check=False)
    def mark(self) -> cython.bint:
        """Read whether there is a structure; without one its columns are null."""
        n: cython.longlong
        q: cython.Py_ssize_t
        k: cython.Py_ssize_t
        is_there: cython.bint
        is_odd: cython.bint
        if self.steps[self.s + 4]:
            n, q = compact(self.buf, self.p, self.stop)
            if q < 0:
                return self.bad(-q, n)
            self.p = q
            is_there = n > 0
            is_odd = n not in (0, 1)
        elif self.p >= self.stop:
            return self.bad(ENDED, 1)
        else:
            n = self.buf[self.p]
            self.p += 1
            is_there = n < 128
            is_odd = n not in (1, 255)
        if is_odd and not self.remark(MARK_VALUE, self.steps[self.s + 2], n, 0):
            return False
        self.cells[self.at(0)] = is_there
        if is_there:
            self.s += STEP
        else:
            for k in range(self.steps[self.s + 6], self.steps[self.s + 7]):
                self.cells[self.origin + k * self.room] = NONE
            self.s = self.steps[self.s + 5]
        return True


def read_messages(
    buf: cython.const[cython.uchar][::1],
    messages: cython.longlong[:, ::1],
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
    i: cython.Py_ssize_t
    k: cython.Py_ssize_t
    start: cython.Py_ssize_t
    size: cython.longlong
    t: cython.Py_ssize_t
    g: cython.Py_ssize_t
    rows: cython.longlong
    one: Reading = Reading.__new__(Reading)  # without a call: it would make objects of the buffers
    if len(messages) < MESSAGE_CELLS or count > messages.shape[1] or first < 0:
        raise IndexError
    for k in range(len(tables) // TABLE):
        if tables[k * TABLE] + tables[k * TABLE + 1] * tables[k * TABLE + 4] > len(cells):
            raise IndexError
    one.buf = buf
    one.steps = steps
    one.tables = tables
    one.cells = cells
    one.stack = stack
    for i in range(first, count):
        if messages[M_PROGRAM, i] < 0:
            continue
        g = messages[M_PROGRAM, i] * PROGRAM
        start = messages[M_START, i]
        size = messages[M_SIZE, i]
        if start < 0 or size < 0 or start > len(buf) or size > len(buf) - start:
            raise IndexError
        t = programs[g + 1]
        tables[3] = tables[2]
        for k in range(programs[g + 2], programs[g + 3]):
            tables[k * TABLE + 3] = tables[k * TABLE + 2]
        if row_added(tables, t) < 0:
            return i, t, tables[t * TABLE + 2] + 1
        one.message = i
        one.p = start
        one.stop = start + size
        one.s = programs[g]
        one.top = 0
        one.in_last_row(t)
        if one.run():
            messages[M_ROW, i] = tables[t * TABLE + 2] - 1
            messages[M_TAKEN, i] = one.p - start
            continue
        rows = one.a
        if one.error == FULL:
            if one.name < 0:
                raise IndexError
            rows += tables[one.name * TABLE + 2]
        tables[2] = tables[3]
        for k in range(programs[g + 2], programs[g + 3]):
            tables[k * TABLE + 2] = tables[k * TABLE + 3]
        if one.error == FULL:
            return i, one.name, rows
        messages[M_ERROR, i] = one.error
        messages[M_NAME, i] = one.name
        messages[M_AT, i] = size if one.error == ENDED else one.p - start
        messages[M_A, i] = one.a
        messages[M_B, i] = one.b if one.error == TAKE_TAG else one.stop - one.p
    return count, -1, 0


# Which program reads the key and the value of each record of an internal topic, by the numbers that they begin with.
#
# `kinds` has three cells for each record type from 0 on: the program of its key, -1 for a type that is not known; the
# number of its value's versions; and the program of version 0, which those of the other versions follow. `facts` has
# the columns type, version and doubt. A record that is not simply read is in doubt, and ``internal_record`` says what
# it is.


def keyed(
    buf: cython.const[cython.uchar][::1],
    recs: cython.const[cython.longlong][:, ::1],
    count: cython.Py_ssize_t,
    kinds: cython.const[cython.longlong][::1],
    keys: cython.longlong[:, ::1],
    values: cython.longlong[:, ::1],
    facts: cython.longlong[:, ::1],
) -> None:
    """Set the programs and places of `count` records whose keys and values begin with an int16 each.

    The version is -1 in a tombstone.
    """
    i: cython.Py_ssize_t
    p: cython.Py_ssize_t
    q: cython.Py_ssize_t
    key_size: cython.longlong
    value_size: cython.longlong
    number: cython.longlong
    version: cython.longlong
    doubt: cython.bint
    if count > recs.shape[1] or len(recs) < RECORD_CELLS or len(facts) < FACT_COLUMNS or facts.shape[1] < count:
        raise IndexError
    if len(keys) < MESSAGE_CELLS or keys.shape[1] < count or len(values) < MESSAGE_CELLS or values.shape[1] < count:
        raise IndexError
    for i in range(count):
        p = recs[KEY_START, i]
        q = recs[VALUE_START, i]
        key_size = recs[KEY_SIZE, i]
        value_size = recs[VALUE_SIZE, i]
        if p < 0 or q < 0 or key_size > len(buf) - p or value_size > len(buf) - q:
            raise IndexError
        keys[M_PROGRAM, i] = -1
        values[M_PROGRAM, i] = -1
        number = version = -1
        doubt = True
        if 2 <= key_size <= MOST_BYTES:
            number = int16(buf, p)
            if 0 <= number < len(kinds) // 3 and kinds[number * 3] >= 0:
                keys[M_PROGRAM, i] = kinds[number * 3]
                keys[M_START, i] = p + 2
                keys[M_SIZE, i] = key_size - 2
                if value_size < 0:
                    doubt = False
                elif 2 <= value_size <= MOST_BYTES:
                    version = int16(buf, q)
                    if 0 <= version < kinds[number * 3 + 1]:
                        values[M_PROGRAM, i] = kinds[number * 3 + 2] + version
                        values[M_START, i] = q + 2
                        values[M_SIZE, i] = value_size - 2
                        doubt = False
        facts[FACT_TYPE, i] = number
        facts[FACT_VERSION, i] = version
        facts[FACT_DOUBT, i] = doubt


def framed(
    buf: cython.const[cython.uchar][::1],
    recs: cython.const[cython.longlong][:, ::1],
    count: cython.Py_ssize_t,
    kinds: cython.const[cython.longlong][::1],
    values: cython.longlong[:, ::1],
    facts: cython.longlong[:, ::1],
) -> None:
    """Set the programs and places of `count` records whose values begin with frame version, type and version.

    The three are uvarints.
    """
    i: cython.Py_ssize_t
    p: cython.Py_ssize_t
    n: cython.Py_ssize_t
    size: cython.longlong
    number: cython.longlong
    version: cython.longlong
    doubt: cython.bint
    if count > recs.shape[1] or len(recs) < RECORD_CELLS or len(facts) < FACT_COLUMNS or facts.shape[1] < count:
        raise IndexError
    if len(values) < MESSAGE_CELLS or values.shape[1] < count:
        raise IndexError
    for i in range(count):
        p = recs[VALUE_START, i]
        size = recs[VALUE_SIZE, i]
        if p < 0 or size > len(buf) - p:
            raise IndexError
        values[M_PROGRAM, i] = -1
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
                values[M_PROGRAM, i] = kinds[number * 3 + 2] + version
                values[M_START, i] = p + n
                values[M_SIZE, i] = size - n
                doubt = False
        facts[FACT_TYPE, i] = number
        facts[FACT_VERSION, i] = version
        facts[FACT_DOUBT, i] = doubt


def doubts(
    count: cython.Py_ssize_t,
    messages: cython.const[cython.longlong][:, ::1],
    remarks: cython.const[cython.longlong][::1],
    facts: cython.longlong[:, ::1],
) -> None:
    """Put the records in doubt whose `messages` are malformed, have a remark, or bytes after the last field."""
    i: cython.Py_ssize_t
    if (
        len(messages) < MESSAGE_CELLS
        or messages.shape[1] < count
        or len(facts) < FACT_COLUMNS
        or facts.shape[1] < count
    ):
        raise IndexError
    for i in range(count):
        if messages[M_PROGRAM, i] >= 0 and (messages[M_ERROR, i] or messages[M_TAKEN, i] != messages[M_SIZE, i]):
            facts[FACT_DOUBT, i] = 1
    for i in range(len(remarks)):
        if 0 <= remarks[i] < count:
            facts[FACT_DOUBT, remarks[i]] = 1


def members_of_type(
    buf: cython.const[cython.uchar][::1],
    wanted: cython.const[cython.uchar][::1],
    types: cython.const[cython.longlong][::1],
    type_sizes: cython.const[cython.longlong][::1],
    firsts: cython.const[cython.longlong][::1],
    counts: cython.const[cython.longlong][::1],
    chosen: cython.uchar[::1],
) -> None:
    """Set `chosen` to 1 for the members of the groups whose type is `wanted`; a group has its from a first row on."""
    g: cython.Py_ssize_t
    i: cython.Py_ssize_t
    k: cython.Py_ssize_t
    if min(len(type_sizes), len(firsts), len(counts)) < len(types):
        raise IndexError
    for g in range(len(types)):
        if type_sizes[g] != len(wanted) or types[g] < 0 or types[g] > len(buf) - len(wanted):
            continue
        k = 0
        while k < len(wanted) and buf[types[g] + k] == wanted[k]:
            k += 1
        if k < len(wanted) or firsts[g] < 0 or counts[g] > len(chosen) - firsts[g]:
            continue
        for i in range(firsts[g], firsts[g] + counts[g]):
            chosen[i] = 1


def embedded(
    buf: cython.const[cython.uchar][::1],
    chosen: cython.const[cython.uchar][::1],
    starts: cython.const[cython.longlong][::1],
    sizes: cython.const[cython.longlong][::1],
    program: cython.longlong,
    newest: cython.longlong,
    messages: cython.longlong[:, ::1],
) -> None:
    """Set the programs and places of the messages inside of the `chosen` members, bytes that begin with a version.

    `program` is that of version 0, those of the versions up to the one after the newest follow.
    """
    i: cython.Py_ssize_t
    p: cython.Py_ssize_t
    version: cython.longlong
    if len(messages) < MESSAGE_CELLS or min(messages.shape[1], len(sizes), len(chosen)) < len(starts):
        raise IndexError
    for i in range(len(starts)):
        messages[M_PROGRAM, i] = -1
        p = starts[i]
        if not chosen[i] or sizes[i] < 2 or p < 0 or sizes[i] > len(buf) - p:
            continue
        version = int16(buf, p)
        version = max(version, 0)
        version = min(version, newest + 1)
        messages[M_PROGRAM, i] = program + version
        messages[M_START, i] = p + 2
        messages[M_SIZE, i] = sizes[i] - 2


# Writes messages that ``read`` read as JSON, as Kafka's generated converters do, or as rows have them.
#
# `steps` are programs in one flat buffer: steps of eight cells, (operation, literal start, literal size, column, what
# is left out, and three cells by operation); ``kafka/message_json.py`` makes them. A step writes its literal, then its
# value. A tagged field is left out where it has its default; then a comma that its literal begins with is, too, after
# a brace.

# Why ``write`` stopped: all done, no room in `out`, the caller must write this message, or the stack is too short.
DONE, NO_ROOM, SPECIAL, TOO_DEEP = range(4)


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def put_string(
    out: cython.uchar[::1],
    w: cython.Py_ssize_t,
    buf: cython.const[cython.uchar][::1],
    start: cython.Py_ssize_t,
    size: cython.Py_ssize_t,
    dialect: cython.int,
) -> cython.Py_ssize_t:
    """Write the content of a JSON string, at most 6 times `size` bytes: the position after it."""
    if size <= 0:
        return w
    if cython.compiled:
        done: cython.size_t = 0
        how: cython.int = KAFKALOG_JAVA
        if dialect != KAFKA_JSON:
            how = KAFKALOG_ASCII if dialect == ASCII_JSON else KAFKALOG_UNICODE
        return w + kafkalog_json(
            cython.address(out[w]), len(out) - w, cython.address(buf[start]), size, how, cython.address(done)
        )
    if dialect != KAFKA_JSON:
        encode = encode_basestring_ascii if dialect == ASCII_JSON else encode_basestring
        data = encode(bytes(buf[start : start + size]).decode(errors="backslashreplace")).encode()
        return put(out, w, data, 1, len(data) - 2)
    text = encode_basestring(java_text(bytes(buf[start : start + size])))[1:-1]
    if "\\u00" in text:  # Java writes these digits in upper case
        parts = text.split("\\")
        parts[1:] = [one[:3] + one[3:5].upper() + one[5:] if one.startswith("u00") else one for one in parts[1:]]
        text = "\\".join(parts)
    data = text.encode()
    return put(out, w, data, 0, len(data))


@cython.final
@cython.cclass
class Writing:
    """A message that is being written: how far, by which step, of which row; and why it ends too early.

    Each method writes one step. Those that say whether the message goes on are the ones that may end it.
    """

    buf: cython.const[cython.uchar][::1]
    programs: cython.const[cython.longlong][::1]
    steps: cython.const[cython.longlong][::1]
    literals: cython.const[cython.uchar][::1]
    tables: cython.const[cython.longlong][::1]
    cells: cython.const[cython.longlong][::1]
    stack: cython.longlong[::1]
    out: cython.uchar[::1]
    dialect: cython.int
    gap: cython.Py_ssize_t  # bytes of what is between two fields
    w: cython.Py_ssize_t
    s: cython.Py_ssize_t
    table: cython.Py_ssize_t
    row: cython.Py_ssize_t
    top: cython.Py_ssize_t  # of the stack
    why: cython.int

    @cython.cfunc
    @cython.inline
    @cython.exceptval(check=False)
    def ends(self, why: cython.int) -> cython.bint:
        self.why = why
        return False

    @cython.cfunc
    @cython.inline
    @cython.exceptval(check=False)
    def fits(self, size: cython.longlong) -> cython.bint:
        """Say whether there is room for so many bytes, otherwise end."""
        if size > len(self.out) - self.w:
            return self.ends(NO_ROOM)
        return True

    @cython.cfunc
    @cython.inline
    @cython.exceptval(check=False)
    def cell(self, number: cython.Py_ssize_t) -> cython.longlong:
        """Return what is in one of the columns of the step's field."""
        room: cython.Py_ssize_t = self.tables[self.table * TABLE + 1]
        return self.cells[self.tables[self.table * TABLE] + (self.steps[self.s + 3] + number) * room + self.row]

    @cython.cfunc
    @cython.inline
    @cython.exceptval(check=False)
    def is_left_out(self, value: cython.longlong) -> cython.bint:
        """Say whether a tagged field has its default; the step is then done."""
        return self.steps[self.s + 4] and value == self.steps[self.s + 5]

    @cython.cfunc
    @cython.inline
    @cython.exceptval(check=False)
    def byte(self, value: cython.uchar) -> cython.void:
        self.out[self.w] = value
        self.w += 1

    @cython.cfunc
    @cython.inline
    @cython.exceptval(check=False)
    def word_at(self, start: cython.Py_ssize_t, size: cython.Py_ssize_t) -> cython.void:
        """Write a piece of the literals."""
        self.w = put(self.out, self.w, self.literals, start, size)

    @cython.cfunc
    @cython.inline
    @cython.exceptval(check=False)
    def literal(self) -> cython.void:
        """Write the step's literal; right after a brace, that of a tagged field has no comma before it."""
        gap: cython.Py_ssize_t = self.gap if self.steps[self.s + 4] and self.out[self.w - 1] == BRACE else 0
        self.word_at(self.steps[self.s + 1] + gap, self.steps[self.s + 2] - gap)

    @cython.cfunc
    @cython.inline
    @cython.exceptval(check=False)
    def base64(self, start: cython.Py_ssize_t, size: cython.Py_ssize_t, url: cython.bint) -> cython.void:
        self.w = put_base64(self.out, self.w, self.buf, start, size, url)

    @cython.cfunc
    @cython.inline
    @cython.exceptval(check=False)
    def push(self, n: cython.longlong) -> cython.bint:
        """Keep the step, its row and `n` until what is inside of the field is written."""
        if self.top + FRAME > len(self.stack):
            return self.ends(TOO_DEEP)
        self.stack[self.top] = self.s
        self.stack[self.top + 1] = self.row
        self.stack[self.top + 2] = self.table
        self.stack[self.top + 3] = n
        self.top += FRAME
        return True

    @cython.cfunc
    @cython.inline
    @cython.exceptval(check=False)
    def pop(self) -> cython.void:
        """Go back to the field's step and its row."""
        self.top -= FRAME
        self.s = self.stack[self.top]
        self.row = self.stack[self.top + 1]
        self.table = self.stack[self.top + 2]

    @cython.cfunc
    @cython.inline
    @cython.exceptval(check=False)
    def begin(self, program: cython.longlong, row: cython.Py_ssize_t) -> cython.void:
        """Go on with the message in a row of a program's table."""
        self.s = self.programs[2 * program]
        self.table = self.programs[2 * program + 1]
        self.row = row

    @cython.cfunc
    @cython.exceptval(check=False)
    def run(self) -> cython.bint:
        """Write the message up to its end: whether it has one."""
        op: cython.longlong
        while True:
            op = self.steps[self.s]
            if not self.fits(self.steps[self.s + 2] + 32):
                return False
            if op == W_INTEGER:
                self.integer()
            elif op in (W_STRING, W_BASE64):
                if not self.string(op):
                    return False
            elif op == W_LITERAL:
                self.literal()
                self.s += STEP
            elif op == W_ARRAY:
                if not self.array():
                    return False
            elif op == W_ELEMENT_END:
                self.element_end()
            elif op == W_STRUCT:
                if not self.struct():
                    return False
            elif op == W_UUID:
                self.uuid()
            elif op == W_BOOL:
                self.flag()
            elif op == W_WORD:
                self.word()
            elif op == W_EMBEDDED:
                if not self.embedded():
                    return False
            elif op == W_UNKNOWN:
                if not self.unknown_tags():
                    return False
            elif op == W_RETURN:
                if not self.top:
                    return True
                self.pop()
                self.s += STEP
            else:
                return self.ends(SPECIAL)

    @cython.cfunc
    @cython.inline
    @cython.exceptval(check=False)
    def integer(self) -> cython.void:
        v: cython.longlong = self.cell(0)
        if not self.is_left_out(v):
            self.literal()
            self.w = put_integer(self.out, self.w, v)
        self.s += STEP

    @cython.cfunc
    @cython.inline
    @cython.exceptval(check=False)
    def flag(self) -> cython.void:
        v: cython.longlong = self.cell(0)
        if not self.is_left_out(v):
            self.literal()
            self.word_at(TRUE_LITERAL if v else FALSE_LITERAL, 4 if v else 5)
        self.s += STEP

    @cython.cfunc
    @cython.inline
    @cython.exceptval(check=False)
    def string(self, op: cython.longlong) -> cython.bint:
        n: cython.longlong = self.cell(1)
        if self.steps[self.s + 4] and n in (self.steps[self.s + 6], -2):
            self.s += STEP
            return True
        if n > 0 and not self.fits(self.steps[self.s + 2] + 32 + (6 * n if op == W_STRING else 2 * n)):
            return False
        self.literal()
        if n < 0:
            self.word_at(NULL_LITERAL, NULL_SIZE)
        else:
            self.byte(QUOTE)
            if op == W_STRING:
                self.w = put_string(self.out, self.w, self.buf, self.cell(0), n, self.dialect)
            else:
                self.base64(self.cell(0), n, False)
            self.byte(QUOTE)
        self.s += STEP
        return True

    @cython.cfunc
    @cython.exceptval(check=False)
    def embedded(self) -> cython.bint:
        """Write bytes, or go into the message that they are."""
        program: cython.longlong = self.cell(2)
        row: cython.Py_ssize_t = self.cell(3)
        if row < 0:
            return self.string(W_BASE64)
        if not self.push(0):
            return False
        self.literal()
        self.begin(program, row)
        return True

    @cython.cfunc
    @cython.exceptval(check=False)
    def array(self) -> cython.bint:
        """Write an array that is null or empty, or go into its first element."""
        n: cython.longlong = self.cell(1)
        row: cython.Py_ssize_t = self.cell(0)
        if self.is_left_out(n):
            self.s = self.steps[self.s + 7]
            return True
        self.literal()
        if n < 0:
            self.word_at(NULL_LITERAL, NULL_SIZE)
            self.s = self.steps[self.s + 7]
            return True
        self.byte(OPENING)
        if n == 0:
            self.byte(CLOSING)
            self.s = self.steps[self.s + 7]
            return True
        if not self.push(n):
            return False
        self.row = row
        self.table = self.steps[self.s + 6]
        self.s += STEP
        return True

    @cython.cfunc
    @cython.inline
    @cython.exceptval(check=False)
    def element_end(self) -> cython.void:
        k: cython.Py_ssize_t = self.top - FRAME
        self.stack[k + 3] -= 1
        if self.stack[k + 3] > 0:
            self.byte(COMMA)
            if self.dialect == SPACED_JSON:
                self.byte(BLANK)
            self.row += 1
            self.s = self.stack[k] + STEP
        else:
            self.byte(CLOSING)
            self.pop()
            self.s = self.steps[self.s + 7]

    @cython.cfunc
    @cython.exceptval(check=False)
    def struct(self) -> cython.bint:
        """Go into a structure, or write that it is null."""
        v: cython.longlong = self.cell(0)
        if self.is_left_out(v):
            self.s = self.steps[self.s + 7]
            return True
        if v > 0 and self.steps[self.s + 4]:  # it may equal its default
            return self.ends(SPECIAL)
        self.literal()
        if v > 0:
            self.s += STEP
        else:
            self.word_at(NULL_LITERAL, NULL_SIZE)
            self.s = self.steps[self.s + 7]
        return True

    @cython.cfunc
    @cython.inline
    @cython.exceptval(check=False)
    def uuid(self) -> cython.void:
        v: cython.longlong = self.cell(0)
        bits: cython.int = 0
        k: cython.Py_ssize_t
        if v >= 0:
            for k in range(16):
                bits |= self.buf[v + k]
        if bits or not self.steps[self.s + 4]:
            self.literal()
            self.byte(QUOTE)
            if bits:
                self.base64(v, 16, True)
            else:
                self.word_at(ZERO_UUID_LITERAL, ZERO_UUID_SIZE)
            self.byte(QUOTE)
        self.s += STEP

    @cython.cfunc
    @cython.inline
    @cython.exceptval(check=False)
    def word(self) -> cython.void:
        """Write the word that a number stands for, or the number, as a string."""
        v: cython.longlong = self.cell(0)
        k: cython.Py_ssize_t
        self.literal()
        self.byte(QUOTE)
        if 0 <= v < self.steps[self.s + 5]:
            k = self.steps[self.s + 6] + 2 * v
            self.word_at(self.steps[k], self.steps[k + 1])
        else:
            self.w = put_integer(self.out, self.w, v)
        self.byte(QUOTE)
        self.s += STEP

    @cython.cfunc
    @cython.exceptval(check=False)
    def unknown_tags(self) -> cython.bint:
        """Write the tagged fields that the version does not have, if there are any: their tags, and bytes in base64."""
        n: cython.longlong = self.cell(1)
        t: cython.Py_ssize_t = self.steps[self.s + 6] * TABLE
        k: cython.Py_ssize_t = self.tables[t] + self.cell(0)
        room: cython.Py_ssize_t = self.tables[t + 1]
        around: cython.Py_ssize_t = self.steps[self.s + 7]
        if n > 0:
            self.literal()
            self.word_at(self.steps[around], self.steps[around + 1])
        while n > 0:
            if not self.fits(2 * self.cells[k + 2 * room] + 128):
                return False
            self.w = put_integer(self.out, self.w, self.cells[k])
            self.word_at(self.steps[around + 2], self.steps[around + 3])
            self.base64(self.cells[k + room], self.cells[k + 2 * room], False)
            n -= 1
            k += 1
            if n > 0:
                self.word_at(self.steps[around + 4], self.steps[around + 5])
            else:
                self.word_at(self.steps[around + 6], self.steps[around + 7])
        self.s += STEP
        return True


def write_messages(
    buf: cython.const[cython.uchar][::1],
    messages: Any,
    first: cython.Py_ssize_t,
    texts: Any,
    starts: cython.longlong[::1],
    sizes: cython.longlong[::1],
) -> tuple[int, int, int]:
    """Write a table of messages from row `first` on to the texts, and where each of them is.

    Of the `texts` are `content`, of which `used` bytes are used, `json` with `programs`, the first step for each
    program that reads, `steps`, `literals` and `dialect`, and `tables`, what was read: `tables` and `cells`. Answers
    (next message, bytes used, why it stopped): ``DONE``; ``NO_ROOM`` in the content; or ``SPECIAL``: the message has
    what this can't write. A message that was not read is passed over.
    """
    rows: cython.const[cython.longlong][:, ::1] = messages.cells
    count: cython.Py_ssize_t = messages.count
    i: cython.Py_ssize_t
    k: cython.Py_ssize_t
    start: cython.Py_ssize_t
    one: Writing = Writing.__new__(Writing)
    one.buf = buf
    one.programs = texts.json.programs
    one.steps = texts.json.steps
    one.literals = texts.json.literals
    one.dialect = texts.json.dialect
    one.gap = 2 if one.dialect == SPACED_JSON else 1
    one.tables = texts.tables.tables
    one.cells = texts.tables.cells
    one.stack = texts.stack
    one.out = texts.content
    one.w = texts.used
    if len(rows) < MESSAGE_CELLS or count > rows.shape[1] or first < 0 or one.w < 0:
        raise IndexError
    if len(starts) < count or len(sizes) < count:
        raise IndexError
    for k in range(len(one.tables) // TABLE):
        if one.tables[k * TABLE] + one.tables[k * TABLE + 1] * one.tables[k * TABLE + 4] > len(one.cells):
            raise IndexError
    for i in range(first, count):
        if rows[M_PROGRAM, i] < 0 or rows[M_ROW, i] < 0:
            continue
        start = one.w
        one.top = 0
        one.begin(rows[M_PROGRAM, i], rows[M_ROW, i])
        if not one.run():
            if one.why == TOO_DEEP:
                raise IndexError
            return i, start, one.why
        starts[i] = start
        sizes[i] = one.w - start
    return count, one.w, DONE


# Numbers for strings of bytes: equal ones get one number, in the order in which they first occur.


@cython.final
@cython.cclass
class Numbering:
    """Strings that have numbers, in `arena`, and those of `buf` that get theirs.

    `slots` hold numbers plus one, `spans` the cells ``SPAN_…`` of each string.
    """

    buf: cython.const[cython.uchar][::1]
    slots: cython.longlong[::1]
    spans: cython.longlong[::1]
    arena: cython.uchar[::1]
    state: cython.longlong[::1]

    @cython.cfunc
    @cython.inline
    @cython.exceptval(check=False)
    def has(self, n: cython.Py_ssize_t, p: cython.Py_ssize_t, size: cython.longlong) -> cython.bint:
        """Say whether the string at `p` is that of a number."""
        at: cython.Py_ssize_t = self.spans[n * SPAN_CELLS + SPAN_START]
        k: cython.Py_ssize_t = 0
        if self.spans[n * SPAN_CELLS + SPAN_SIZE] != size:
            return False
        while k < size and self.arena[at + k] == self.buf[p + k]:
            k += 1
        return k == size

    @cython.cfunc
    @cython.inline
    @cython.exceptval(check=False)
    def hash_of(self, p: cython.Py_ssize_t, size: cython.longlong) -> cython.longlong:
        """Return a polynomial in a secret number: who writes the evidence can't make strings collide."""
        secret: cython.longlong = self.state[NUMBER_SECRET]
        prime: cython.longlong = 2147483647
        h: cython.longlong = size % prime
        end: cython.Py_ssize_t = p + size
        while p + 3 <= end:
            h = h * secret + ((self.buf[p] << 16) | (self.buf[p + 1] << 8) | self.buf[p + 2])
            h = (h & prime) + (h >> 31)
            h = (h & prime) + (h >> 31)
            p += 3
        while p < end:
            h = h * secret + self.buf[p]
            h = (h & prime) + (h >> 31)
            h = (h & prime) + (h >> 31)
            p += 1
        return h

    @cython.cfunc
    @cython.inline
    @cython.exceptval(check=False)
    def slot_of(self, h: cython.longlong, p: cython.Py_ssize_t, size: cython.longlong) -> cython.Py_ssize_t:
        """Return the slot that has the string's number, or the empty one where it belongs."""
        mask: cython.longlong = len(self.slots) - 1
        s: cython.Py_ssize_t = h & mask
        n: cython.Py_ssize_t
        while self.slots[s]:
            n = self.slots[s] - 1
            if self.spans[n * SPAN_CELLS + SPAN_HASH] == h and self.has(n, p, size):
                break
            s = (s + 1) & mask
        return s

    @cython.cfunc
    @cython.inline
    @cython.exceptval(check=False)
    def add(
        self, slot: cython.Py_ssize_t, h: cython.longlong, p: cython.Py_ssize_t, size: cython.longlong
    ) -> cython.bint:
        """Give the string at `p` the next number; say whether there was room."""
        n: cython.Py_ssize_t = self.state[NUMBERED]
        at: cython.Py_ssize_t = self.state[ARENA_USED]
        k: cython.Py_ssize_t
        if (n + 1) * 2 > len(self.slots) or (n + 1) * SPAN_CELLS > len(self.spans) or size > len(self.arena) - at:
            return False
        for k in range(size):
            self.arena[at + k] = self.buf[p + k]
        self.spans[n * SPAN_CELLS + SPAN_START] = at
        self.spans[n * SPAN_CELLS + SPAN_SIZE] = size
        self.spans[n * SPAN_CELLS + SPAN_HASH] = h
        self.slots[slot] = n + 1
        self.state[NUMBERED] = n + 1
        self.state[ARENA_USED] = at + size
        return True


def number(
    buf: cython.const[cython.uchar][::1],
    starts: cython.const[cython.longlong][::1],
    sizes: cython.const[cython.longlong][::1],
    first: cython.Py_ssize_t,
    numbers: cython.longlong[::1],
    strings: Any,
) -> int:
    """Set the `numbers` of the strings at `starts` in `buf` from the `first` one on; one of size below 0 gets -1.

    Of the numbered `strings` are `slots`, `spans`, `arena` and `state`: how many there are, bytes of the arena that
    they take, the secret. Answers the next string that there is no room for, or how many there are.
    """
    one: Numbering = Numbering.__new__(Numbering)
    i: cython.Py_ssize_t
    p: cython.Py_ssize_t
    s: cython.Py_ssize_t
    last: cython.Py_ssize_t = -1
    size: cython.longlong
    h: cython.longlong
    one.buf = buf
    one.slots = strings.slots
    one.spans = strings.spans
    one.arena = strings.arena
    one.state = strings.state
    if len(sizes) < len(starts) or len(numbers) < len(starts) or len(one.slots) & (len(one.slots) - 1):
        raise IndexError
    if not len(one.slots) or len(one.state) < NUMBER_CELLS:
        raise IndexError
    for i in range(first, len(starts)):
        size = sizes[i]
        if size < 0:
            numbers[i] = -1
            continue
        p = starts[i]
        if p < 0 or p > len(buf) or size > len(buf) - p:
            raise IndexError
        if last < 0 or not one.has(last, p, size):  # neighbours are often equal
            h = one.hash_of(p, size)
            s = one.slot_of(h, p, size)
            if not one.slots[s] and not one.add(s, h, p, size):
                return i
            last = one.slots[s] - 1
        numbers[i] = last
    return len(starts)


def place(strings: Any) -> None:
    """Put numbered strings into slots that are empty."""
    slots: cython.longlong[::1] = strings.slots
    spans: cython.const[cython.longlong][::1] = strings.spans
    count: cython.Py_ssize_t = strings.state[NUMBERED]
    n: cython.Py_ssize_t
    s: cython.Py_ssize_t
    mask: cython.longlong = len(slots) - 1
    if count * SPAN_CELLS > len(spans) or count * 2 > len(slots) or len(slots) & mask:
        raise IndexError
    for n in range(count):
        s = spans[n * SPAN_CELLS + SPAN_HASH] & mask
        while slots[s]:
            s = (s + 1) & mask
        slots[s] = n + 1

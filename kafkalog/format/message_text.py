# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Writes messages that ``message_loop`` read as JSON, as Kafka's generated converters do, or as rows have them.

`steps` are programs in one flat buffer: steps of eight cells, (operation, literal start, literal size, column, what is
left out, and three cells by operation); ``message_templates`` makes them. A step writes its literal, then its value. A
tagged field is left out where it has its default; then a comma that its literal begins with is, too, after a brace.
"""

from __future__ import annotations

try:
    import cython
except ImportError:  # not needed to run, only to compile
    from kafkalog.format import _shadow as cython

from kafkalog.format.message_ops import MESSAGE_COLUMNS

if cython.compiled:
    from cython.cimports.kafkalog.format.message_ops import (
        FRAME,
        M_PROGRAM,
        M_ROW,
        TABLE,
        W_ARRAY,
        W_BASE64,
        W_BOOL,
        W_ELEMENT_END,
        W_EMBEDDED,
        W_INTEGER,
        W_LITERAL,
        W_RETURN,
        W_STRING,
        W_STRUCT,
        W_UNKNOWN,
        W_UUID,
        W_WORD,
    )
else:
    import base64
    from json.encoder import encode_basestring, encode_basestring_ascii  # type: ignore[attr-defined]  # typeshed does not have it

    from kafkalog.format.lines import java_text
    from kafkalog.format.message_ops import (
        FRAME,
        M_PROGRAM,
        M_ROW,
        TABLE,
        W_ARRAY,
        W_BASE64,
        W_BOOL,
        W_ELEMENT_END,
        W_EMBEDDED,
        W_INTEGER,
        W_LITERAL,
        W_RETURN,
        W_STRING,
        W_STRUCT,
        W_UNKNOWN,
        W_UUID,
        W_WORD,
    )

__all__ = ["DONE", "NO_ROOM", "SPECIAL", "write"]

# Why ``write`` stopped: all done, no room in `out`, or the caller must write this message.
DONE, NO_ROOM, SPECIAL = range(3)


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def put(
    out: cython.uchar[::1],
    w: cython.Py_ssize_t,
    source: cython.const[cython.uchar][::1],
    start: cython.Py_ssize_t,
    size: cython.Py_ssize_t,
) -> cython.Py_ssize_t:
    """Copy ``source[start:start + size]`` to ``out[w:]``, where there is room: the position after it."""
    if cython.compiled:
        if size > 0:
            memcpy(cython.address(out[w]), cython.address(source[start]), size)
        return w + size
    out[w : w + size] = source[start : start + size]
    return w + size


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def put_integer(out: cython.uchar[::1], w: cython.Py_ssize_t, value: cython.longlong) -> cython.Py_ssize_t:
    """Write `value` in decimal digits, at most 20 bytes: the position after it."""
    if cython.compiled:
        return w + kafkalog_digits(cython.address(out[w]), value)
    digits = b"%d" % value
    out[w : w + len(digits)] = digits
    return w + len(digits)


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
    if cython.compiled:
        if size > 0 and dialect:
            w += kafkalog_row_text(cython.address(out[w]), cython.address(buf[start]), size, dialect == 1)
        elif size > 0:
            w += kafkalog_json_text(cython.address(out[w]), cython.address(buf[start]), size)
        return w
    if dialect:
        encode = encode_basestring_ascii if dialect == 1 else encode_basestring
        text = encode(bytes(buf[start : start + size]).decode(errors="backslashreplace"))
        return put(out, w, text[1:-1].encode(), 0, len(text[1:-1].encode()))
    text = encode_basestring(java_text(bytes(buf[start : start + size])))[1:-1]
    if "\\u00" in text:  # Java writes these digits in upper case
        parts = text.split("\\")
        parts[1:] = [one[:3] + one[3:5].upper() + one[5:] if one.startswith("u00") else one for one in parts[1:]]
        text = "\\".join(parts)
    data = text.encode()
    out[w : w + len(data)] = data
    return w + len(data)


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def put_base64(
    out: cython.uchar[::1],
    w: cython.Py_ssize_t,
    buf: cython.const[cython.uchar][::1],
    start: cython.Py_ssize_t,
    size: cython.Py_ssize_t,
    url: cython.bint,
) -> cython.Py_ssize_t:
    """Write bytes in base64, that of URLs without padding: the position after it."""
    if cython.compiled:
        if size > 0:
            w += kafkalog_base64(cython.address(out[w]), cython.address(buf[start]), size, url)
        return w
    data = bytes(buf[start : start + size])
    text = base64.urlsafe_b64encode(data).rstrip(b"=") if url else base64.b64encode(data)
    out[w : w + len(text)] = text
    return w + len(text)


def write(
    buf: cython.const[cython.uchar][::1],
    messages: cython.const[cython.longlong][::1],
    capacity: cython.Py_ssize_t,
    first: cython.Py_ssize_t,
    count: cython.Py_ssize_t,
    programs: cython.const[cython.longlong][::1],
    steps: cython.const[cython.longlong][::1],
    literals: cython.const[cython.uchar][::1],
    tables: cython.const[cython.longlong][::1],
    cells: cython.const[cython.longlong][::1],
    stack: cython.longlong[::1],
    out: cython.uchar[::1],
    w: cython.Py_ssize_t,
    starts: cython.longlong[::1],
    sizes: cython.longlong[::1],
    dialect: cython.int,
) -> tuple[int, int, int]:
    """Write the messages in rows [`first`, `count`) of `messages` to ``out[w:]``, and where each of them is.

    `programs` have the first step for each program that reads. Answers (next message, bytes in `out`, why it stopped):
    ``DONE``; ``NO_ROOM`` in `out`; or ``SPECIAL``: the message has what this can't write. A message that was not read
    is passed over. `dialect` is that of the programs.
    """
    i: cython.Py_ssize_t
    s: cython.Py_ssize_t
    k: cython.Py_ssize_t
    start: cython.Py_ssize_t
    row: cython.Py_ssize_t
    at: cython.Py_ssize_t
    table: cython.Py_ssize_t
    top: cython.Py_ssize_t
    limit: cython.Py_ssize_t = len(out)
    op: cython.longlong
    v: cython.longlong
    n: cython.longlong
    g: cython.longlong
    needed: cython.longlong
    gap: cython.Py_ssize_t = 2 if dialect == 2 else 1  # of what is between two fields
    if len(messages) < capacity * len(MESSAGE_COLUMNS) or count > capacity or first < 0:
        raise IndexError
    if len(starts) < count or len(sizes) < count:
        raise IndexError
    for k in range(len(tables) // TABLE):
        if tables[k * TABLE] + tables[k * TABLE + 1] * tables[k * TABLE + 4] > len(cells):
            raise IndexError
    for i in range(first, count):
        g = messages[M_PROGRAM * capacity + i]
        row = messages[M_ROW * capacity + i]
        if g < 0 or row < 0:
            continue
        s = programs[2 * g]
        table = programs[2 * g + 1]
        start = w
        top = 0
        while True:
            op = steps[s]
            needed = steps[s + 2] + 32
            if needed > limit - w:
                return i, start, NO_ROOM
            at = tables[table * TABLE] + steps[s + 3] * tables[table * TABLE + 1] + row
            if op == W_INTEGER:
                v = cells[at]
                if steps[s + 4] and v == steps[s + 5]:
                    s += 8
                    continue
                k = gap if steps[s + 4] and out[w - 1] == 123 else 0
                w = put(out, w, literals, steps[s + 1] + k, steps[s + 2] - k)
                w = put_integer(out, w, v)
                s += 8
            elif op in (W_STRING, W_BASE64, W_EMBEDDED):
                n = cells[at + tables[table * TABLE + 1]]
                if steps[s + 4] and n in (steps[s + 6], -2):
                    s += 8
                    continue
                k = gap if steps[s + 4] and out[w - 1] == 123 else 0
                if op == W_EMBEDDED and cells[at + 3 * tables[table * TABLE + 1]] >= 0:
                    if top + FRAME > len(stack):
                        raise IndexError
                    w = put(out, w, literals, steps[s + 1] + k, steps[s + 2] - k)
                    stack[top] = s
                    stack[top + 1] = row
                    stack[top + 2] = table
                    top += FRAME
                    g = cells[at + 2 * tables[table * TABLE + 1]]
                    row = cells[at + 3 * tables[table * TABLE + 1]]
                    s = programs[2 * g]
                    table = programs[2 * g + 1]
                    continue
                if n > 0:
                    needed += 6 * n if op == W_STRING else 2 * n
                    if needed > limit - w:
                        return i, start, NO_ROOM
                w = put(out, w, literals, steps[s + 1] + k, steps[s + 2] - k)
                if n < 0:
                    w = put(out, w, literals, 0, 4)
                else:
                    out[w] = 34
                    if op == W_STRING:
                        w = put_string(out, w + 1, buf, cells[at], n, dialect)
                    else:
                        w = put_base64(out, w + 1, buf, cells[at], n, False)
                    out[w] = 34
                    w += 1
                s += 8
            elif op == W_LITERAL:
                w = put(out, w, literals, steps[s + 1], steps[s + 2])
                s += 8
            elif op == W_ARRAY:
                n = cells[at + tables[table * TABLE + 1]]
                if steps[s + 4] and n == steps[s + 5]:
                    s = steps[s + 7]
                    continue
                k = gap if steps[s + 4] and out[w - 1] == 123 else 0
                w = put(out, w, literals, steps[s + 1] + k, steps[s + 2] - k)
                if n < 0:
                    w = put(out, w, literals, 0, 4)
                    s = steps[s + 7]
                elif n == 0:
                    out[w] = 91
                    out[w + 1] = 93
                    w += 2
                    s = steps[s + 7]
                else:
                    out[w] = 91
                    w += 1
                    if top + FRAME > len(stack):
                        raise IndexError
                    stack[top] = s
                    stack[top + 1] = row
                    stack[top + 2] = table
                    stack[top + 3] = n
                    top += FRAME
                    row = cells[at]
                    table = steps[s + 6]
                    s += 8
            elif op == W_ELEMENT_END:
                k = top - FRAME
                n = stack[k + 3] - 1
                if n > 0:
                    stack[k + 3] = n
                    out[w] = 44
                    if dialect == 2:
                        w += 1
                        out[w] = 32
                    row += 1
                    s = stack[k] + 8
                else:
                    out[w] = 93
                    top = k
                    row = stack[k + 1]
                    table = stack[k + 2]
                    s = steps[stack[k] + 7]
                w += 1
            elif op == W_STRUCT:
                v = cells[at]
                if steps[s + 4] and (v == steps[s + 5] or v > 0):
                    if v > 0:  # it may equal its default
                        return i, start, SPECIAL
                    s = steps[s + 7]
                    continue
                k = gap if steps[s + 4] and out[w - 1] == 123 else 0
                w = put(out, w, literals, steps[s + 1] + k, steps[s + 2] - k)
                if v > 0:
                    s += 8
                else:
                    w = put(out, w, literals, 0, 4)
                    s = steps[s + 7]
            elif op == W_UUID:
                v = cells[at]
                n = 0
                if v >= 0:
                    for k in range(16):
                        n |= buf[v + k]
                if steps[s + 4] and not n:
                    s += 8
                    continue
                k = gap if steps[s + 4] and out[w - 1] == 123 else 0
                w = put(out, w, literals, steps[s + 1] + k, steps[s + 2] - k)
                out[w] = 34
                w = put_base64(out, w + 1, buf, v, 16, True) if n else put(out, w + 1, literals, 4, 22)
                out[w] = 34
                w += 1
                s += 8
            elif op == W_BOOL:
                v = cells[at]
                if steps[s + 4] and v == steps[s + 5]:
                    s += 8
                    continue
                k = gap if steps[s + 4] and out[w - 1] == 123 else 0
                w = put(out, w, literals, steps[s + 1] + k, steps[s + 2] - k)
                w = put(out, w, literals, 26 if v else 30, 4 if v else 5)
                s += 8
            elif op == W_WORD:
                v = cells[at]
                w = put(out, w, literals, steps[s + 1], steps[s + 2])
                out[w] = 34
                w += 1
                if 0 <= v < steps[s + 5]:
                    k = steps[s + 6] + 2 * v
                    w = put(out, w, literals, steps[k], steps[k + 1])
                else:
                    w = put_integer(out, w, v)
                out[w] = 34
                w += 1
                s += 8
            elif op == W_UNKNOWN:
                n = cells[at + tables[table * TABLE + 1]]
                if n > 0:
                    k = gap if out[w - 1] == 123 else 0
                    w = put(out, w, literals, steps[s + 1] + k, steps[s + 2] - k)
                    g = tables[steps[s + 6] * TABLE] + cells[at]
                    v = tables[steps[s + 6] * TABLE + 1]
                    at = steps[s + 7]
                    w = put(out, w, literals, steps[at], steps[at + 1])
                    while n > 0:
                        needed = 2 * cells[g + 2 * v] + 128
                        if needed > limit - w:
                            return i, start, NO_ROOM
                        w = put_integer(out, w, cells[g])
                        w = put(out, w, literals, steps[at + 2], steps[at + 3])
                        w = put_base64(out, w, buf, cells[g + v], cells[g + 2 * v], False)
                        n -= 1
                        k = at + 4 if n > 0 else at + 6
                        w = put(out, w, literals, steps[k], steps[k + 1])
                        g += 1
                s += 8
            elif op == W_RETURN:
                if not top:
                    break
                top -= FRAME
                s = stack[top] + 8
                row = stack[top + 1]
                table = stack[top + 2]
            else:
                return i, start, SPECIAL
        starts[i] = start
        sizes[i] = w - start
    return count, w, DONE

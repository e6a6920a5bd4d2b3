# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The columns of a declared table to lines of JSON or CSV; ``buffers.py`` has the rules of its source.

What is between the values is data. A *template* is a flat buffer of int64: steps of seven cells, (literal start,
literal size, kind, column, validity, words, null), ended by a -1; then words, pairs of (start, size). Literals and
words are in one buffer of bytes. A step writes its literal, then its value by kind. `column` and `validity` say where
the column's first cell and first validity bit are (below 0: never null); `null` is the word for null.
"""

from __future__ import annotations

import binascii
from json.encoder import encode_basestring_ascii

try:
    import cython
except ImportError:  # not needed to run, only to compile
    from kafkalog.kernel import _shadow as cython

if not cython.compiled:  # else they come with the .pxd
    from kafkalog.kernel.buffers import varint
    from kafkalog.kernel.put import put, put_integer

__all__ = [
    "BASE64",
    "BIG",
    "CSV",
    "DONE",
    "HEADERS",
    "INTEGER",
    "IN_BASE64",
    "JSON",
    "LITERAL",
    "NO_ROOM",
    "QUOTED_JSON",
    "READY",
    "SAFE_CSV",
    "SLACK",
    "TEXT",
    "WORD",
    "headers_piece",
    "is_marked",
    "is_quoted",
    "kind_of",
    "row_lines",
    "text_piece",
]

# Kinds of a step: no value; the cell in digits; the word that the cell numbers; bytes that are UTF-8, otherwise null;
# bytes that are not, in base64, otherwise null; a record's headers. Of bytes, the column has three runs of cells,
# `room` apart: starts, sizes and kinds. Of headers it has starts and counts. JSON that is ready is like bytes.
LITERAL, INTEGER, WORD, TEXT, BASE64, HEADERS, READY = range(7)
# How bytes are written: UTF-8 as JSON, as CSV, as JSON inside a quoted field of a CSV; any bytes in base64. The first
# two are also the forms of a line, and so is CSV in which a text that a spreadsheet would take for a formula is marked.
JSON, CSV, QUOTED_JSON, IN_BASE64, SAFE_CSV = range(5)
# Why ``row_lines`` stopped: all done, no room in `out`, or the row could never fit and must be written in pieces.
DONE, NO_ROOM, BIG = range(3)
SLACK = 64  # bytes that must be free after what is written


@cython.cfunc
@cython.exceptval(check=False)
@cython.returns((cython.Py_ssize_t, cython.Py_ssize_t))
def _inside(
    buf: cython.const[cython.uchar][::1],
    at: cython.Py_ssize_t,
    stop: cython.Py_ssize_t,
    how: cython.int,
    out: cython.uchar[::1],
    w: cython.Py_ssize_t,
):
    """Write bytes while there is room, without quotes around them.

    Answers (position after what was read, position after what was written).
    """
    if stop <= at:
        return at, w
    if cython.compiled:
        done: cython.size_t = 0
        room: cython.Py_ssize_t = len(out) - w
        if at < 0 or stop > len(buf) or room <= 0:
            return stop, w
        if how == 1:
            w += kafkalog_csv(cython.address(out[w]), room, cython.address(buf[at]), stop - at, cython.address(done))
        elif how == 3:
            w += kafkalog_base64(cython.address(out[w]), room, cython.address(buf[at]), stop - at, cython.address(done))
        else:
            w += kafkalog_json(
                cython.address(out[w]), room, cython.address(buf[at]), stop - at, how == 2, cython.address(done)
            )
        return at + done, w
    return _inside_interpreted(buf, at, stop, how, out, w)


def _inside_interpreted(buf, at, stop, how, out, w):  # type: ignore[no-untyped-def]  # _inside has the types
    size = max(0, len(out) - w - 32) // 6
    size -= size % 3 if how == 3 else 0
    end = min(stop, at + size)
    if how != 3:
        while end < stop and end > at and buf[end] & 0xC0 == 0x80:  # whole characters
            end -= 1
    data = bytes(buf[at:end])
    if how == 3:
        data = binascii.b2a_base64(data, newline=False)
    elif how != 1:
        data = encode_basestring_ascii(data.decode()).encode()
        data = data[1 : len(data) - 1]
    if how in (1, 2):
        data = data.replace(b'"', b'""')
    out[w : w + len(data)] = data
    return end, w + len(data)


@cython.ccall
@cython.exceptval(check=False)
def kind_of(buf: cython.const[cython.uchar][::1], start: cython.Py_ssize_t, size: cython.Py_ssize_t) -> cython.int:
    """Say what bytes are, as in ``columns``: below 0 is the size of null."""
    if size < 0:
        return 0
    if size == 0:
        return 1
    if cython.compiled:
        return kafkalog_kind(cython.address(buf[start]), size)
    try:
        bytes(buf[start : start + size]).decode()
    except UnicodeDecodeError:
        return 3
    return 2


@cython.ccall
@cython.exceptval(check=False)
def is_quoted(buf: cython.const[cython.uchar][::1], start: cython.Py_ssize_t, size: cython.Py_ssize_t) -> cython.bint:
    """Say whether UTF-8 stands in quotes in a CSV field: it is empty, has ``,"\\r\\n``, or begins or ends blank."""
    if cython.compiled:
        if size <= 0 or start < 0 or start + size > len(buf):
            return True
        return kafkalog_csv_quoted(cython.address(buf[start]), size)
    return _is_quoted(bytes(buf[start : start + size]).decode())


@cython.ccall
@cython.exceptval(check=False)
def is_marked(first: cython.int, in_base64: cython.bint) -> cython.bint:
    """Say whether bytes that begin with `first` are a text that needs a mark: it begins with ``=+-@'``, tab or CR."""
    if in_base64:
        return first >> 2 == 62  # the digit that is a plus
    if first == 61 or first == 43 or first == 45 or first == 64:  # noqa: PLR1714  # a set is slow
        return True
    return first == 39 or first == 9 or first == 13  # noqa: PLR1714  # ditto


def _is_quoted(text: str) -> bool:
    return not text or any(character in text for character in ',"\r\n') or text != text.strip()


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def _quote(out: cython.uchar[::1], w: cython.Py_ssize_t, doubled: cython.bint) -> cython.Py_ssize_t:
    out[w] = 34
    if doubled:
        out[w + 1] = 34
    return w + 2 if doubled else w + 1


@cython.cfunc
@cython.exceptval(check=False)
def _part(
    out: cython.uchar[::1],
    w: cython.Py_ssize_t,
    buf: cython.const[cython.uchar][::1],
    start: cython.Py_ssize_t,
    size: cython.Py_ssize_t,
    kind: cython.int,
    literals: cython.const[cython.uchar][::1],
    words: cython.const[cython.longlong][::1],
    at: cython.Py_ssize_t,
    doubled: cython.bint,
) -> cython.Py_ssize_t:
    """Write a header's key or value with the names of its two fields, one of them null."""
    w = put(out, w, literals, words[at], words[at + 1])
    if 1 <= kind <= 2:
        w = _quote(out, w, doubled)
        start, w = _inside(buf, start, start + size, 2 if doubled else 0, out, w)
        w = _quote(out, w, doubled)
    else:
        w = put(out, w, literals, words[at + 4], words[at + 5])
    w = put(out, w, literals, words[at + 2], words[at + 3])
    if kind == 3:
        w = _quote(out, w, doubled)
        start, w = _inside(buf, start, start + size, 3, out, w)
        w = _quote(out, w, doubled)
    else:
        w = put(out, w, literals, words[at + 4], words[at + 5])
    return w


def headers_piece(
    buf: cython.const[cython.uchar][::1],
    p: cython.Py_ssize_t,
    left: cython.longlong,
    started: cython.bint,
    literals: cython.const[cython.uchar][::1],
    words: cython.const[cython.longlong][::1],
    at: cython.Py_ssize_t,
    form: cython.int,
    out: cython.uchar[::1],
    w: cython.Py_ssize_t,
) -> tuple[int, int, int]:
    """Write as many of the `left` headers from `p` on as have room: (position of the next, left, bytes in `out`).

    `words` has from `at` on the words for: before a key, before its base64, null, end; and the same of a value.
    """
    return _headers(buf, p, left, started, literals, words, at, form != 0, out, w)


@cython.cfunc
@cython.exceptval(check=False)
@cython.returns((cython.Py_ssize_t, cython.longlong, cython.Py_ssize_t))
def _headers(
    buf: cython.const[cython.uchar][::1],
    p: cython.Py_ssize_t,
    left: cython.longlong,
    started: cython.bint,
    literals: cython.const[cython.uchar][::1],
    words: cython.const[cython.longlong][::1],
    at: cython.Py_ssize_t,
    doubled: cython.bint,
    out: cython.uchar[::1],
    w: cython.Py_ssize_t,
):
    key: cython.Py_ssize_t
    value: cython.Py_ssize_t
    q: cython.Py_ssize_t
    key_size: cython.longlong
    value_size: cython.longlong
    size: cython.Py_ssize_t = len(buf)
    limit: cython.Py_ssize_t = len(out)
    while left > 0:
        key_size, key = varint(buf, p, size)
        if key < 0 or key_size < 0 or key_size > size - key:
            break  # the kernel has read it before: it can't be
        value_size, value = varint(buf, key + key_size, size)
        if value < 0 or value_size > size - value:
            break
        q = value + value_size if value_size > 0 else value
        if 6 * (q - p) + 160 > limit - w:
            return p, left, w
        if started:
            out[w] = 44
            w += 1
        started = True
        w = _part(out, w, buf, key, key_size, kind_of(buf, key, key_size), literals, words, at, doubled)
        w = _part(out, w, buf, value, value_size, kind_of(buf, value, value_size), literals, words, at + 6, doubled)
        w = put(out, w, literals, words[at + 12], words[at + 13])
        p = q
        left -= 1
    return p, left, w


def text_piece(
    buf: cython.const[cython.uchar][::1],
    at: cython.Py_ssize_t,
    stop: cython.Py_ssize_t,
    how: cython.int,
    out: cython.uchar[::1],
    w: cython.Py_ssize_t,
) -> tuple[int, int]:
    """Write a part of long bytes, without quotes around them: (position of the rest, bytes in `out`)."""
    return _inside(buf, at, stop, how, out, w)


def row_lines(
    buf: cython.const[cython.uchar][::1],
    cells: cython.const[cython.longlong][::1],
    room: cython.Py_ssize_t,
    valid: cython.const[cython.uchar][::1],
    row: cython.Py_ssize_t,
    stop_row: cython.Py_ssize_t,
    template: cython.const[cython.longlong][::1],
    literals: cython.const[cython.uchar][::1],
    form: cython.int,
    line_room: cython.Py_ssize_t,
    weight: cython.Py_ssize_t,
    out: cython.uchar[::1],
    w: cython.Py_ssize_t,
) -> tuple[int, int, int]:
    """Write the lines of rows [`row`, `stop_row`) to ``out[w:]``: (next row, bytes in `out`, why it stopped).

    ``DONE``; ``NO_ROOM`` in `out`; or ``BIG``: the row could never fit. `line_room` is the room of a line without its
    bytes; from `weight` on the cells have how many bytes a row has, and `room` later how many headers; below 0: none.
    """
    s: cython.Py_ssize_t
    column: cython.Py_ssize_t
    at: cython.Py_ssize_t
    start: cython.Py_ssize_t
    size: cython.Py_ssize_t
    bit: cython.Py_ssize_t
    kind: cython.longlong
    what: cython.longlong
    need: cython.longlong
    count: cython.longlong
    limit: cython.Py_ssize_t = len(out)
    quoted: cython.bint
    is_safe: cython.bint = form == 4
    is_csv: cython.bint = form == 1 or is_safe
    while row < stop_row:
        need = line_room
        if weight >= 0:
            need += 6 * cells[weight + row] + 96 * cells[weight + room + row]
        if need > limit - w:
            return row, w, BIG if need > limit else NO_ROOM
        s = 0
        while template[s] >= 0:
            w = put(out, w, literals, template[s], template[s + 1])
            kind = template[s + 2]
            if kind == 0:
                s += 7
                continue
            column = template[s + 3] + row
            bit = template[s + 4]
            if bit >= 0:
                bit += row
                if not valid[bit >> 3] & (1 << (bit & 7)):
                    at = template[s + 6]
                    w = put(out, w, literals, template[at], template[at + 1])
                    s += 7
                    continue
            if kind == 1:
                w = put_integer(out, w, cells[column])
            elif kind == 2:
                at = template[s + 5] + 2 * cells[column]
                w = put(out, w, literals, template[at], template[at + 1])
            elif kind == 5:
                start = cells[column]
                count = cells[column + room]
                quoted = is_csv and count > 0
                if quoted:
                    out[w] = 34
                    w += 1
                out[w] = 91
                w += 1
                start, count, w = _headers(
                    buf, start, count, False, literals, template, template[s + 5], is_csv, out, w
                )
                out[w] = 93
                w += 1
                if quoted:
                    out[w] = 34
                    w += 1
            else:
                what = cells[column + 2 * room]
                start = cells[column]
                size = cells[column + room]
                if kind == 6 and what and not is_csv:
                    w = put(out, w, buf, start, size)
                elif (kind == 3 or kind == 6) and 1 <= what <= 2:  # noqa: PLR1714  # a set is slow
                    if not is_csv:
                        out[w] = 34
                        w += 1
                        if what == 1:
                            w = put(out, w, buf, start, size)
                        else:
                            start, w = _inside(buf, start, start + size, 0, out, w)
                        out[w] = 34
                        w += 1
                    elif is_safe and kind == 3 and size > 0 and is_marked(buf[start], False):
                        out[w] = 39
                        at = put(out, w + 1, buf, start, size)
                        if is_quoted(out, w, size + 1):
                            out[w] = 34
                            out[w + 1] = 39
                            start, w = _inside(buf, start, start + size, 1, out, w + 2)
                            out[w] = 34
                            w += 1
                        else:
                            w = at
                    elif is_quoted(buf, start, size):
                        out[w] = 34
                        w += 1
                        start, w = _inside(buf, start, start + size, 1, out, w)
                        out[w] = 34
                        w += 1
                    else:
                        w = put(out, w, buf, start, size)
                elif kind == 4 and what == 3:
                    if not is_csv:
                        out[w] = 34
                        w += 1
                    elif is_safe and is_marked(buf[start], True):
                        out[w] = 39
                        w += 1
                    start, w = _inside(buf, start, start + size, 3, out, w)
                    if not is_csv:
                        out[w] = 34
                        w += 1
                else:
                    at = template[s + 6]
                    w = put(out, w, literals, template[at], template[at + 1])
            s += 7
        row += 1
    return row, w, DONE

# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The columns of a declared table to lines of JSON or CSV; ``buffers.py`` has the rules of its source.

What is between the values is data, a template: ``plans.py`` says what it has.
"""

from __future__ import annotations

import binascii
from json.encoder import encode_basestring_ascii

try:
    import cython
except ImportError:  # not needed to run, only to compile
    from kafkalog.kernel import _shadow as cython

if not cython.compiled:  # else they come with the .pxd
    from kafkalog.kernel.numbers import varint
    from kafkalog.kernel.plans import *
    from kafkalog.kernel.put import put, put_integer

__all__ = [
    "BIG",
    "DONE",
    "NO_ROOM",
    "SLACK",
    "headers_piece",
    "is_marked",
    "is_quoted",
    "kind_of",
    "row_lines",
    "text_piece",
]

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
        if how == CSV:
            w += kafkalog_csv(cython.address(out[w]), room, cython.address(buf[at]), stop - at, cython.address(done))
        elif how == IN_BASE64:
            w += kafkalog_base64(cython.address(out[w]), room, cython.address(buf[at]), stop - at, cython.address(done))
        else:
            w += kafkalog_json(
                cython.address(out[w]),
                room,
                cython.address(buf[at]),
                stop - at,
                how == QUOTED_JSON,
                cython.address(done),
            )
        return at + done, w
    return _inside_interpreted(buf, at, stop, how, out, w)


def _inside_interpreted(buf, at, stop, how, out, w):  # type: ignore[no-untyped-def]  # _inside has the types
    size = max(0, len(out) - w - 32) // 6
    size -= size % 3 if how == IN_BASE64 else 0
    end = min(stop, at + size)
    if how != IN_BASE64:
        while end < stop and end > at and buf[end] & 0xC0 == 0x80:  # whole characters
            end -= 1
    data = bytes(buf[at:end])
    if how == IN_BASE64:
        data = binascii.b2a_base64(data, newline=False)
    elif how != CSV:
        data = encode_basestring_ascii(data.decode()).encode()
        data = data[1 : len(data) - 1]
    if how in (CSV, QUOTED_JSON):
        data = data.replace(b'"', b'""')
    out[w : w + len(data)] = data
    return end, w + len(data)


@cython.ccall
@cython.exceptval(check=False)
def kind_of(buf: cython.const[cython.uchar][::1], start: cython.Py_ssize_t, size: cython.Py_ssize_t) -> cython.int:
    """Say what bytes are, as in ``columns``: below 0 is the size of null."""
    if size < 0:
        return NOTHING
    if size == 0:
        return PLAIN
    if cython.compiled:
        return kafkalog_kind(cython.address(buf[start]), size)
    try:
        bytes(buf[start : start + size]).decode()
    except UnicodeDecodeError:
        return BASE64
    return ESCAPED


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
    if first == 61 or first == 43 or first == 45 or first == 64:  # noqa: PLR1714  # =+-@; a set is slow
        return True
    return first == APOSTROPHE or first == TAB or first == RETURN  # noqa: PLR1714  # ditto


def _is_quoted(text: str) -> bool:
    return not text or any(character in text for character in ',"\r\n') or text != text.strip()


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def _quote(out: cython.uchar[::1], w: cython.Py_ssize_t, doubled: cython.bint) -> cython.Py_ssize_t:
    out[w] = QUOTE
    if doubled:
        out[w + 1] = QUOTE
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
    w = put(out, w, literals, words[at + BEFORE_TEXT], words[at + BEFORE_TEXT + 1])
    if PLAIN <= kind <= ESCAPED:
        w = _quote(out, w, doubled)
        start, w = _inside(buf, start, start + size, QUOTED_JSON if doubled else JSON, out, w)
        w = _quote(out, w, doubled)
    else:
        w = put(out, w, literals, words[at + NULL_WORD], words[at + NULL_WORD + 1])
    w = put(out, w, literals, words[at + BEFORE_BASE64], words[at + BEFORE_BASE64 + 1])
    if kind == BASE64:
        w = _quote(out, w, doubled)
        start, w = _inside(buf, start, start + size, IN_BASE64, out, w)
        w = _quote(out, w, doubled)
    else:
        w = put(out, w, literals, words[at + NULL_WORD], words[at + NULL_WORD + 1])
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
    return _headers(buf, p, left, started, literals, words, at, form != JSON, out, w)


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
            out[w] = COMMA
            w += 1
        started = True
        w = _part(
            out, w, buf, key, key_size, kind_of(buf, key, key_size), literals, words, at + HEADER_KEY_WORDS, doubled
        )
        w = _part(
            out,
            w,
            buf,
            value,
            value_size,
            kind_of(buf, value, value_size),
            literals,
            words,
            at + HEADER_VALUE_WORDS,
            doubled,
        )
        w = put(out, w, literals, words[at + HEADER_END], words[at + HEADER_END + 1])
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


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def _word(
    out: cython.uchar[::1],
    w: cython.Py_ssize_t,
    template: cython.const[cython.longlong][::1],
    literals: cython.const[cython.uchar][::1],
    at: cython.Py_ssize_t,
) -> cython.Py_ssize_t:
    return put(out, w, literals, template[at], template[at + 1])


@cython.cfunc
@cython.exceptval(check=False)
def _between(
    out: cython.uchar[::1],
    w: cython.Py_ssize_t,
    buf: cython.const[cython.uchar][::1],
    start: cython.Py_ssize_t,
    size: cython.Py_ssize_t,
    how: cython.int,
) -> cython.Py_ssize_t:
    """Write bytes between quotes."""
    out[w] = QUOTE
    start, w = _inside(buf, start, start + size, how, out, w + 1)
    out[w] = QUOTE
    return w + 1


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def _json_text(
    out: cython.uchar[::1],
    w: cython.Py_ssize_t,
    buf: cython.const[cython.uchar][::1],
    start: cython.Py_ssize_t,
    size: cython.Py_ssize_t,
    what: cython.longlong,
) -> cython.Py_ssize_t:
    """Write UTF-8 as a JSON string."""
    if what != PLAIN:
        return _between(out, w, buf, start, size, JSON)
    out[w] = QUOTE
    w = put(out, w + 1, buf, start, size)
    out[w] = QUOTE
    return w + 1


@cython.cfunc
@cython.exceptval(check=False)
def _csv_text(
    out: cython.uchar[::1],
    w: cython.Py_ssize_t,
    buf: cython.const[cython.uchar][::1],
    start: cython.Py_ssize_t,
    size: cython.Py_ssize_t,
    is_safe: cython.bint,
) -> cython.Py_ssize_t:
    """Write UTF-8 as a field of a CSV."""
    end: cython.Py_ssize_t
    if is_safe and size > 0 and is_marked(buf[start], False):
        out[w] = APOSTROPHE
        end = put(out, w + 1, buf, start, size)
        if not is_quoted(out, w, size + 1):
            return end
        out[w] = QUOTE
        out[w + 1] = APOSTROPHE
        start, w = _inside(buf, start, start + size, CSV, out, w + 2)
        out[w] = QUOTE
        return w + 1
    if is_quoted(buf, start, size):
        return _between(out, w, buf, start, size, CSV)
    return put(out, w, buf, start, size)


@cython.cfunc
@cython.exceptval(check=False)
def _coded(
    out: cython.uchar[::1],
    w: cython.Py_ssize_t,
    buf: cython.const[cython.uchar][::1],
    start: cython.Py_ssize_t,
    size: cython.Py_ssize_t,
    form: cython.int,
) -> cython.Py_ssize_t:
    """Write bytes in base64."""
    if form == JSON:
        return _between(out, w, buf, start, size, IN_BASE64)
    if form == SAFE_CSV and is_marked(buf[start], True):
        out[w] = APOSTROPHE
        w += 1
    start, w = _inside(buf, start, start + size, IN_BASE64, out, w)
    return w


@cython.cfunc
@cython.exceptval(check=False)
def _header_list(
    out: cython.uchar[::1],
    w: cython.Py_ssize_t,
    buf: cython.const[cython.uchar][::1],
    p: cython.Py_ssize_t,
    count: cython.longlong,
    literals: cython.const[cython.uchar][::1],
    template: cython.const[cython.longlong][::1],
    words: cython.Py_ssize_t,
    is_csv: cython.bint,
) -> cython.Py_ssize_t:
    """Write a record's headers as a list."""
    is_quoted_field: cython.bint = is_csv and count > 0
    if is_quoted_field:
        out[w] = QUOTE
        w += 1
    out[w] = OPENING
    p, count, w = _headers(buf, p, count, False, literals, template, words, is_csv, out, w + 1)
    out[w] = CLOSING
    w += 1
    if is_quoted_field:
        out[w] = QUOTE
        w += 1
    return w


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def _has_value(valid: cython.const[cython.uchar][::1], bit: cython.Py_ssize_t, row: cython.Py_ssize_t) -> cython.bint:
    """Say whether the validity bit of a row is set; below 0 there is none."""
    return bit < 0 or valid[(bit + row) >> 3] & (1 << ((bit + row) & 7)) != 0


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
    start: cython.Py_ssize_t
    size: cython.Py_ssize_t
    kind: cython.longlong
    what: cython.longlong
    need: cython.longlong
    limit: cython.Py_ssize_t = len(out)
    is_csv: cython.bint = form != JSON
    is_safe: cython.bint = form == SAFE_CSV
    while row < stop_row:
        need = line_room
        if weight >= 0:
            need += 6 * cells[weight + row] + 96 * cells[weight + room + row]
        if need > limit - w:
            return row, w, BIG if need > limit else NO_ROOM
        s = 0
        while template[s] >= 0:
            w = put(out, w, literals, template[s + ROW_LITERAL], template[s + ROW_SIZE])
            kind = template[s + ROW_KIND]
            column = template[s + ROW_COLUMN] + row
            if kind == AS_LITERAL:
                pass
            elif not _has_value(valid, template[s + ROW_VALID], row):
                w = _word(out, w, template, literals, template[s + ROW_NULL])
            elif kind == AS_INTEGER:
                w = put_integer(out, w, cells[column])
            elif kind == AS_WORD:
                w = _word(out, w, template, literals, template[s + ROW_WORDS] + 2 * cells[column])
            elif kind == AS_HEADERS:
                w = _header_list(
                    out, w, buf, cells[column], cells[column + room], literals, template, template[s + ROW_WORDS],
                    is_csv,
                )  # fmt: skip
            else:
                start = cells[column]
                size = cells[column + room]
                what = cells[column + 2 * room]
                if kind == AS_READY and what and not is_csv:
                    w = put(out, w, buf, start, size)
                elif kind != AS_BASE64 and PLAIN <= what <= ESCAPED:
                    if is_csv:
                        w = _csv_text(out, w, buf, start, size, is_safe and kind == AS_TEXT)
                    else:
                        w = _json_text(out, w, buf, start, size, what)
                elif kind == AS_BASE64 and what == BASE64:
                    w = _coded(out, w, buf, start, size, form)
                else:
                    w = _word(out, w, template, literals, template[s + ROW_NULL])
            s += ROW_CELLS
        row += 1
    return row, w, DONE

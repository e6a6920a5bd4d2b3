# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=True, initializedcheck=False
"""Columns to lines of text; ``buffers.py`` has the rules of its source.

The words of a line are data, a template: ``plans.py`` says what it has.
"""

from __future__ import annotations

from typing import Final

try:
    import cython
except ImportError:  # not needed to run, only to compile
    from kafkalog.kernel import _shadow as cython

if not cython.compiled:  # else they come with the .pxd
    import re

    from kafkalog.kernel.buffers import *
    from kafkalog.kernel.numbers import end_marker, int32
    from kafkalog.kernel.plans import *
    from kafkalog.kernel.put import put, put_integer

    # Java replaces an encoded surrogate as one character, Python each of its bytes.
    _SURROGATE: Final = re.compile(rb"\xed[\xa0-\xbf][\x80-\xbf]?")

__all__ = [
    "DONE",
    "NO_ROOM",
    "SPECIAL",
    "batch_lines",
    "breaks",
    "java_text",
    "record_lines",
]

# Why ``record_lines`` stopped: all done, no room in `out`, or the caller must write the next record.
DONE, NO_ROOM, SPECIAL = range(3)


@cython.ccall
@cython.exceptval(check=False)
def put_text(
    out: cython.uchar[::1],
    w: cython.Py_ssize_t,
    buf: cython.const[cython.uchar][::1],
    start: cython.Py_ssize_t,
    size: cython.Py_ssize_t,
) -> cython.Py_ssize_t:
    """Write bytes as Java's UTF-8 decoder followed by its encoder would; three times `size` must be free."""
    if size <= 0:
        return w
    if cython.compiled:
        if size * 3 > len(out) - w or start + size > len(buf):
            return w
        return w + kafkalog_text(cython.address(out[w]), cython.address(buf[start]), size)
    text = java_text(bytes(buf[start : start + size])).encode()
    out[w : w + len(text)] = text
    return w + len(text)


def java_text(data: bytes) -> str:
    """Decode UTF-8 as Java's ``new String(data, UTF_8)`` does: malformed bytes become U+FFFD, in Java's number."""
    if cython.compiled:
        return _java_text_compiled(data)
    return _SURROGATE.sub(b"\xef\xbf\xbd", data).decode("utf-8", "replace")


def _java_text_compiled(data: bytes) -> str:
    out = bytearray(3 * len(data))
    return out[: put_text(out, 0, data, 0, len(data))].decode()


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
@cython.returns((cython.longlong, cython.Py_ssize_t))
def _varint(buf: cython.const[cython.uchar][::1], p: cython.Py_ssize_t):
    """Read a varint that ``records.read`` has read before: (value, position after it)."""
    v: cython.longlong = 0
    b: cython.longlong
    shift: cython.int = 0
    while True:
        b = buf[p]
        p += 1
        v |= (b & 127) << shift
        shift += 7
        if b < 128:
            break
    v = v & 2147483647 if shift < 35 else (v & 2147483647) | (v >> 31 & 1) << 31
    return ((v >> 1) & 2147483647) ^ -(v & 1), p


@cython.cfunc
@cython.exceptval(check=False)
def put_batch(
    out: cython.uchar[::1],
    w: cython.Py_ssize_t,
    heads: cython.const[cython.longlong][:, ::1],
    row: cython.Py_ssize_t,
    template: cython.const[cython.longlong][::1],
    literals: cython.const[cython.uchar][::1],
) -> cython.Py_ssize_t:
    """Write a batch's line by `template`. ``LINE_ROOM`` bytes must be free."""
    s: cython.Py_ssize_t = heads[MAGIC, row]
    at: cython.Py_ssize_t
    kind: cython.longlong
    value: cython.longlong
    s = template[s if s < 2 else 2]
    while template[s] >= 0:
        w = put(out, w, literals, template[s + LINE_LITERAL], template[s + LINE_SIZE])
        kind = template[s + LINE_KIND]
        if kind == LINE_INTEGER:
            w = put_integer(out, w, heads[template[s + LINE_COLUMN], row])
        elif kind != LINE_NOTHING:
            value = heads[template[s + LINE_COLUMN], row] & template[s + LINE_MASK]
            at = template[s + LINE_WORDS]
            if kind == LINE_FLAG:
                at += 2 * (value != 0)
            elif kind == LINE_WORD:
                at += 2 * value
            elif value:
                w = put(out, w, literals, template[at], template[at + 1])
                w = put_integer(out, w, heads[template[s + LINE_OTHER], row])
                at += 2
            else:
                at += 4
            w = put(out, w, literals, template[at], template[at + 1])
        s += LINE_CELLS
    return w


def batch_lines(
    heads: cython.const[cython.longlong][:, ::1],
    row: cython.Py_ssize_t,
    stop_row: cython.Py_ssize_t,
    template: cython.const[cython.longlong][::1],
    literals: cython.const[cython.uchar][::1],
    out: cython.uchar[::1],
    w: cython.Py_ssize_t,
) -> tuple[int, int]:
    """Write the lines of rows [`row`, `stop_row`) to ``out[w:]`` while there is room: (next row, bytes in `out`)."""
    if not cython.compiled and stop_row - row > 1:
        return _batch_lines_interpreted(heads, row, stop_row, template, literals, out, w)
    while row < stop_row and len(out) - w >= LINE_ROOM:
        w = put_batch(out, w, heads, row, template, literals)
        row += 1
    return row, w


def _batch_lines_interpreted(heads, row, stop_row, template, literals, out, w):  # type: ignore[no-untyped-def]  # batch_lines has the types
    """Write runs of rows of one magic by a % pattern, the fastest way in the interpreter."""
    magic = heads[MAGIC, row]
    stop_row = min(stop_row, row + (len(out) - w) // LINE_ROOM)
    stop = next((i for i in range(row, stop_row) if heads[MAGIC, i] != magic), stop_row)
    pattern, columns = "", []

    def word(at):  # type: ignore[no-untyped-def]
        return bytes(literals[template[at] : template[at] + template[at + 1]]).decode()

    s = template[min(magic, 2)]
    while template[s] >= 0:
        kind, column, mask = template[s + LINE_KIND], template[s + LINE_COLUMN], template[s + LINE_MASK]
        at, other = template[s + LINE_WORDS], template[s + LINE_OTHER]
        cells = [heads[column, i] for i in range(row, stop)]
        pattern += word(s).replace("%", "%%") + ("%s" if kind else "")
        if kind == LINE_INTEGER:
            columns.append(cells)
        elif kind == LINE_FLAG:
            words = word(at), word(at + 2)
            columns.append([words[cell & mask != 0] for cell in cells])
        elif kind == LINE_WORD:
            columns.append([word(at + 2 * (cell & mask)) for cell in cells])
        elif kind == LINE_OPTIONAL:
            others = [heads[other, i] for i in range(row, stop)]
            some, none = word(at) + "%d" + word(at + 2), word(at + 4)
            columns.append([some % value if cell & mask else none for cell, value in zip(cells, others, strict=True)])
        s += LINE_CELLS
    text = "".join(map(pattern.__mod__, zip(*columns, strict=True))).encode()
    out[w : w + len(text)] = text
    return stop, w + len(text)


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def put_piece(
    out: cython.uchar[::1],
    w: cython.Py_ssize_t,
    literals: cython.const[cython.uchar][::1],
    pieces: cython.const[cython.longlong][::1],
    piece: cython.Py_ssize_t,
) -> cython.Py_ssize_t:
    """Write a piece of a record's line."""
    return put(out, w, literals, pieces[piece], pieces[piece + 1])


@cython.cfunc
@cython.exceptval(check=False)
def put_header_keys(
    out: cython.uchar[::1],
    w: cython.Py_ssize_t,
    buf: cython.const[cython.uchar][::1],
    p: cython.Py_ssize_t,
    left: cython.longlong,
) -> cython.Py_ssize_t:
    """Write the keys of the headers that begin at `p`, which ``records.read`` has read before."""
    size: cython.longlong
    started: cython.bint = False
    while left > 0:
        size, p = _varint(buf, p)
        if started:
            out[w] = COMMA
            w += 1
        started = True
        w = put_text(out, w, buf, p, size)
        size, p = _varint(buf, p + size)
        if size > 0:
            p += size
        left -= 1
    return w


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def put_metadata(
    out: cython.uchar[::1],
    w: cython.Py_ssize_t,
    buf: cython.const[cython.uchar][::1],
    recs: cython.const[cython.longlong][:, ::1],
    i: cython.Py_ssize_t,
    is_append_time: cython.bint,
    literals: cython.const[cython.uchar][::1],
    pieces: cython.const[cython.longlong][::1],
) -> cython.Py_ssize_t:
    """Write what a record has beside its content."""
    w = put_piece(out, w, literals, pieces, PIECE_BAR_OFFSET)
    w = put_integer(out, w, recs[OFFSET, i])
    w = put_piece(out, w, literals, pieces, PIECE_LOG_APPEND_TIME if is_append_time else PIECE_CREATE_TIME)
    w = put_integer(out, w, recs[TIMESTAMP, i])
    w = put_piece(out, w, literals, pieces, PIECE_KEY_SIZE)
    w = put_integer(out, w, recs[KEY_SIZE, i])
    w = put_piece(out, w, literals, pieces, PIECE_VALUE_SIZE)
    w = put_integer(out, w, recs[VALUE_SIZE, i])
    w = put_piece(out, w, literals, pieces, PIECE_SEQUENCE)
    w = put_integer(out, w, recs[SEQUENCE, i])
    w = put_piece(out, w, literals, pieces, PIECE_HEADER_KEYS)
    if recs[HEADERS_COUNT, i]:
        w = put_header_keys(out, w, buf, recs[HEADERS_START, i], recs[HEADERS_COUNT, i])
    return put_piece(out, w, literals, pieces, PIECE_END_HEADER_KEYS)


@cython.cfunc
@cython.exceptval(check=False)
def end_of(
    buf: cython.const[cython.uchar][::1], recs: cython.const[cython.longlong][:, ::1], i: cython.Py_ssize_t
) -> cython.int:
    """Say what a control record ends, below 0 for nothing."""
    key: cython.Py_ssize_t = recs[KEY_START, i]
    value: cython.Py_ssize_t = recs[VALUE_START, i]
    key_size: cython.longlong = recs[KEY_SIZE, i]
    value_size: cython.longlong = recs[VALUE_SIZE, i]
    if key < 0 or value < 0 or key + key_size > len(buf) or value + value_size > len(buf):
        return NO_END
    return end_marker(buf, key, key_size, value, value_size)


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def put_content(
    out: cython.uchar[::1],
    w: cython.Py_ssize_t,
    buf: cython.const[cython.uchar][::1],
    key: cython.Py_ssize_t,
    key_size: cython.longlong,
    payload: cython.Py_ssize_t,
    payload_size: cython.longlong,
    is_first: cython.bint,
    literals: cython.const[cython.uchar][::1],
    pieces: cython.const[cython.longlong][::1],
) -> cython.Py_ssize_t:
    """Write key and payload; a size below 0 is that of none."""
    if key_size >= 0:
        w = put_piece(out, w, literals, pieces, PIECE_FIRST_KEY if is_first else PIECE_KEY)
        w = put_text(out, w, buf, key, key_size)
        is_first = False
    if payload_size >= 0:
        w = put_piece(out, w, literals, pieces, PIECE_FIRST_PAYLOAD if is_first else PIECE_PAYLOAD)
        w = put_text(out, w, buf, payload, payload_size)
    return w


def record_lines(
    buf: cython.const[cython.uchar][::1],
    heads: cython.const[cython.longlong][:, ::1],
    recs: cython.const[cython.longlong][:, ::1],
    first: cython.Py_ssize_t,
    count: cython.Py_ssize_t,
    row: cython.Py_ssize_t,
    parts: cython.int,
    template: cython.const[cython.longlong][::1],
    literals: cython.const[cython.uchar][::1],
    pieces: cython.const[cython.longlong][::1],
    out: cython.uchar[::1],
    w: cython.Py_ssize_t,
    content: cython.const[cython.uchar][::1],
    places: cython.const[cython.longlong][:, ::1],
) -> tuple[int, int, int, int]:
    """Write the lines of records [`first`, `count`), each batch's line before its first record's.

    `parts` says what a line has, ``WITH_METADATA`` and ``WITH_CONTENTS``. `places` has four columns, ``TEXT_…``: where
    in `content` the text of a record's key is, its size, -1 for none, and its payload's; without them the record's own
    bytes are written. `row` is the next batch without a line. Answers (next record, bytes in `out`, next row, why it
    stopped): ``DONE``; ``NO_ROOM`` in `out`; or ``SPECIAL``: the batch's line is written, and the caller must write
    this record's line (magic 0 and 1, control records other than ABORT and COMMIT, content that could never fit).
    """
    i: cython.Py_ssize_t = first
    batch: cython.Py_ssize_t
    limit: cython.Py_ssize_t = len(out)
    attributes: cython.longlong
    kind: cython.int
    size: cython.longlong
    has_places: cython.bint = len(places) >= TEXT_COLUMNS
    if (has_places and places.shape[1] < count) or count > recs.shape[1]:
        raise IndexError
    while i < count:
        batch = recs[BATCH, i]
        while row <= batch:
            if limit - w < LINE_ROOM:
                return i, w, row, NO_ROOM
            w = put_batch(out, w, heads, row, template, literals)
            row += 1
        attributes = heads[ATTRIBUTES, batch]
        size = recs[RECORD_SIZE, i]
        if has_places:
            size += places[TEXT_KEY_SIZE, i] + places[TEXT_PAYLOAD_SIZE, i] + 2
        size = size * 3 + LINE_ROOM
        if size > limit or heads[MAGIC, batch] < 2:
            return i, w, row, SPECIAL
        if size > limit - w:
            return i, w, row, NO_ROOM
        if parts & WITH_METADATA:
            kind = -1
            if attributes & CONTROL_BIT:
                kind = end_of(buf, recs, i)
                if kind < 0:
                    return i, w, row, SPECIAL
            w = put_metadata(out, w, buf, recs, i, attributes & APPEND_TIME_BIT != 0, literals, pieces)
            if kind >= 0:
                w = put_piece(out, w, literals, pieces, PIECE_COMMIT if kind else PIECE_ABORT)
                w = put_integer(out, w, int32(buf, recs[VALUE_START, i] + 2))
        if parts & WITH_CONTENTS and not attributes & CONTROL_BIT:
            if has_places:
                w = put_content(
                    out, w, content, places[TEXT_KEY, i], places[TEXT_KEY_SIZE, i], places[TEXT_PAYLOAD, i],
                    places[TEXT_PAYLOAD_SIZE, i], not parts & WITH_METADATA, literals, pieces,
                )  # fmt: skip
            else:
                w = put_content(
                    out, w, buf, recs[KEY_START, i], recs[KEY_SIZE, i], recs[VALUE_START, i], recs[VALUE_SIZE, i],
                    not parts & WITH_METADATA, literals, pieces,
                )  # fmt: skip
        out[w] = NEWLINE
        w += 1
        i += 1
    return i, w, row, DONE


def breaks(
    recs: cython.const[cython.longlong][:, ::1],
    count: cython.Py_ssize_t,
    previous: cython.longlong,
    found: cython.longlong[::1],
) -> int:
    """Write to `found` the numbers of the records whose offset is not the previous one plus one; answer how many."""
    n: cython.Py_ssize_t = 0
    i: cython.Py_ssize_t
    offset: cython.longlong
    for i in range(count):
        offset = recs[OFFSET, i]
        if previous == TOP or offset != previous + 1:
            found[n] = i
            n += 1
        previous = offset
    return n

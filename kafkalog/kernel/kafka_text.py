# cython: language_level=3, boundscheck=True, wraparound=False, cdivision=True, initializedcheck=False
"""Columns to lines of text; ``buffers.py`` has the rules of its source.

The words of a batch line are data. A *template* is a flat buffer of int64: first, for magic 0, 1 and 2, where its steps
begin; then steps of seven cells, (literal start, literal size, kind, column, mask, words, other column), each list of
them ended by a -1; then words, pairs of (start, size). Literals and words are in one buffer of bytes. A step writes its
literal, then its value by kind. `kafkalog_cli.render.kafka.segment_lines` builds them.
"""

from __future__ import annotations

from typing import Final

try:
    import cython
except ImportError:  # not needed to run, only to compile
    from kafkalog.kernel import _shadow as cython

if not cython.compiled:  # else they come with the .pxd
    import re

    from kafkalog.kernel.buffers import (
        APPEND_TIME_BIT,
        ATTRIBUTES,
        BATCH,
        CONTROL_BIT,
        HEADERS_COUNT,
        HEADERS_START,
        KEY_SIZE,
        KEY_START,
        MAGIC,
        OFFSET,
        RECORD_SIZE,
        SEQUENCE,
        TIMESTAMP,
        VALUE_SIZE,
        VALUE_START,
        end_marker,
        int32,
    )
    from kafkalog.kernel.put import put, put_integer

    # Java replaces an encoded surrogate as one character, Python each of its bytes.
    _SURROGATE: Final = re.compile(rb"\xed[\xa0-\xbf][\x80-\xbf]?")

__all__ = [
    "DONE",
    "FLAG",
    "INTEGER",
    "LINE_ROOM",
    "NOTHING",
    "NO_ROOM",
    "OPTIONAL",
    "PIECES",
    "SPECIAL",
    "WORD",
    "batch_lines",
    "breaks",
    "java_text",
    "record_lines",
]

# Kinds of a step: no value; the cell in digits; true or false by mask; the word that the masked cell numbers; or, if
# the masked cell is not 0, the other column's cell between two words, otherwise a third word.
NOTHING, INTEGER, FLAG, WORD, OPTIONAL = range(5)
# Why ``record_lines`` stopped: all done, no room in `out`, or the caller must write the next record.
DONE, NO_ROOM, SPECIAL = range(3)
# The pieces of a record's line, in the order of the `pieces` argument.
PIECES: Final = (
    "bar_offset",  # "| offset: "
    "create_time",
    "log_append_time",
    "key_size",
    "value_size",
    "sequence",
    "header_keys",
    "end_header_keys",
    "key",
    "payload",
    "first_key",  # where the line begins with the key
    "first_payload",
    "abort",
    "commit",
)
if not cython.compiled:  # where each is in `pieces`, which has its place and its size; compiled, by the .pxd
    (
        BAR_OFFSET,
        CREATE_TIME,
        LOG_APPEND_TIME,
        KEY_SIZE_IS,
        VALUE_SIZE_IS,
        SEQUENCE_IS,
        HEADER_KEYS,
        END_HEADER_KEYS,
        KEY_IS,
        PAYLOAD_IS,
        FIRST_KEY,
        FIRST_PAYLOAD,
        ABORT,
        COMMIT,
    ) = range(0, 2 * len(PIECES), 2)
LAST: Final = 2**63 - 1  # nothing follows this offset
LINE_ROOM: Final = 640  # bytes that a batch line, or a record's line without its content, can't exceed


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
    heads: cython.const[cython.longlong][::1],
    capacity: cython.Py_ssize_t,
    row: cython.Py_ssize_t,
    template: cython.const[cython.longlong][::1],
    literals: cython.const[cython.uchar][::1],
) -> cython.Py_ssize_t:
    """Write a batch's line by `template`. ``LINE_ROOM`` bytes must be free."""
    s: cython.Py_ssize_t
    at: cython.Py_ssize_t
    kind: cython.longlong
    value: cython.longlong
    s = heads[MAGIC * capacity + row]  # magic
    s = template[s if s < 2 else 2]
    while template[s] >= 0:
        w = put(out, w, literals, template[s], template[s + 1])
        kind = template[s + 2]
        if kind == 1:
            w = put_integer(out, w, heads[template[s + 3] * capacity + row])
        elif kind != 0:
            value = heads[template[s + 3] * capacity + row] & template[s + 4]
            at = template[s + 5]
            if kind == 2:
                at += 2 * (value != 0)
            elif kind == 3:
                at += 2 * value
            elif value:
                w = put(out, w, literals, template[at], template[at + 1])
                w = put_integer(out, w, heads[template[s + 6] * capacity + row])
                at += 2
            else:
                at += 4
            w = put(out, w, literals, template[at], template[at + 1])
        s += 7
    return w


def batch_lines(
    heads: cython.const[cython.longlong][::1],
    capacity: cython.Py_ssize_t,
    row: cython.Py_ssize_t,
    stop_row: cython.Py_ssize_t,
    template: cython.const[cython.longlong][::1],
    literals: cython.const[cython.uchar][::1],
    out: cython.uchar[::1],
    w: cython.Py_ssize_t,
) -> tuple[int, int]:
    """Write the lines of rows [`row`, `stop_row`) to ``out[w:]`` while there is room: (next row, bytes in `out`)."""
    room: cython.Py_ssize_t = LINE_ROOM
    if not cython.compiled and stop_row - row > 1:
        return _batch_lines_interpreted(heads, capacity, row, stop_row, template, literals, out, w)
    while row < stop_row and len(out) - w >= room:
        w = put_batch(out, w, heads, capacity, row, template, literals)
        row += 1
    return row, w


def _batch_lines_interpreted(heads, capacity, row, stop_row, template, literals, out, w):  # type: ignore[no-untyped-def]  # batch_lines has the types
    """Write runs of rows of one magic by a % pattern, the fastest way in the interpreter."""
    magic = heads[MAGIC * capacity + row]
    stop_row = min(stop_row, row + (len(out) - w) // LINE_ROOM)
    stop = next((i for i in range(row, stop_row) if heads[MAGIC * capacity + i] != magic), stop_row)
    pattern, columns = "", []

    def word(at):  # type: ignore[no-untyped-def]
        return bytes(literals[template[at] : template[at] + template[at + 1]]).decode()

    s = template[min(magic, 2)]
    while template[s] >= 0:
        kind, mask, at, other = template[s + 2], template[s + 4], template[s + 5], template[s + 6]
        cells = heads[template[s + 3] * capacity + row : template[s + 3] * capacity + stop].tolist()
        pattern += word(s).replace("%", "%%") + ("%s" if kind else "")
        if kind == INTEGER:
            columns.append(cells)
        elif kind == FLAG:
            words = word(at), word(at + 2)
            columns.append([words[cell & mask != 0] for cell in cells])
        elif kind == WORD:
            columns.append([word(at + 2 * (cell & mask)) for cell in cells])
        elif kind == OPTIONAL:
            others = heads[other * capacity + row : other * capacity + stop].tolist()
            some, none = word(at) + "%d" + word(at + 2), word(at + 4)
            columns.append([some % value if cell & mask else none for cell, value in zip(cells, others, strict=True)])
        s += 7
    text = "".join(map(pattern.__mod__, zip(*columns, strict=True))).encode()
    out[w : w + len(text)] = text
    return stop, w + len(text)


def record_lines(
    buf: cython.const[cython.uchar][::1],
    heads: cython.const[cython.longlong][::1],
    capacity: cython.Py_ssize_t,
    recs: cython.const[cython.longlong][::1],
    room: cython.Py_ssize_t,
    first: cython.Py_ssize_t,
    count: cython.Py_ssize_t,
    row: cython.Py_ssize_t,
    metadata: cython.bint,
    contents: cython.bint,
    template: cython.const[cython.longlong][::1],
    literals: cython.const[cython.uchar][::1],
    pieces: cython.const[cython.longlong][::1],
    out: cython.uchar[::1],
    w: cython.Py_ssize_t,
    content: cython.const[cython.uchar][::1],
    places: cython.const[cython.longlong][::1],
) -> tuple[int, int, int, int]:
    """Write the lines of records [`first`, `count`), each batch's line before its first record's.

    `places` are four columns: where in `content` the text of a record's key is, its size, -1 for none, and its
    payload's; without them the record's own bytes are written. `row` is the next batch without a line. Answers (next
    record, bytes in `out`, next row, why it stopped): ``DONE``; ``NO_ROOM`` in `out`; or ``SPECIAL``: the batch's line
    is written, and the caller must write this record's line (magic 0 and 1, control records other than ABORT and
    COMMIT, content that could never fit).
    """
    i: cython.Py_ssize_t = first
    p: cython.Py_ssize_t
    at: cython.Py_ssize_t
    batch: cython.Py_ssize_t
    limit: cython.Py_ssize_t = len(out)
    attributes: cython.longlong
    key_size: cython.longlong
    value_size: cython.longlong
    kind: cython.longlong
    h: cython.longlong
    size: cython.longlong
    started: cython.bint
    line_room: cython.Py_ssize_t = LINE_ROOM
    at_attributes: cython.Py_ssize_t = ATTRIBUTES * capacity
    at_magic: cython.Py_ssize_t = MAGIC * capacity
    if 0 < len(places) < 4 * room or count > room:
        raise IndexError
    while i < count:
        batch = recs[BATCH * room + i]
        while row <= batch:
            if limit - w < line_room:
                return i, w, row, NO_ROOM
            w = put_batch(out, w, heads, capacity, row, template, literals)
            row += 1
        attributes = heads[at_attributes + batch]
        size = recs[RECORD_SIZE * room + i]
        if len(places):
            size += places[room + i] + places[3 * room + i] + 2
        size = size * 3 + line_room
        if size > limit or heads[at_magic + batch] < 2:
            return i, w, row, SPECIAL
        if size > limit - w:
            return i, w, row, NO_ROOM
        key_size = recs[KEY_SIZE * room + i]
        value_size = recs[VALUE_SIZE * room + i]
        kind = -1
        if metadata and attributes & CONTROL_BIT:
            p = recs[KEY_START * room + i]
            at = recs[VALUE_START * room + i]
            if p >= 0 and at >= 0 and p + key_size <= len(buf) and at + value_size <= len(buf):
                kind = end_marker(buf, p, key_size, at, value_size)
            if kind < 0:
                return i, w, row, SPECIAL
        if metadata:
            w = put(out, w, literals, pieces[BAR_OFFSET], pieces[BAR_OFFSET + 1])
            w = put_integer(out, w, recs[OFFSET * room + i])
            p = LOG_APPEND_TIME if attributes & APPEND_TIME_BIT else CREATE_TIME
            w = put(out, w, literals, pieces[p], pieces[p + 1])
            w = put_integer(out, w, recs[TIMESTAMP * room + i])
            w = put(out, w, literals, pieces[KEY_SIZE_IS], pieces[KEY_SIZE_IS + 1])
            w = put_integer(out, w, key_size)
            w = put(out, w, literals, pieces[VALUE_SIZE_IS], pieces[VALUE_SIZE_IS + 1])
            w = put_integer(out, w, value_size)
            w = put(out, w, literals, pieces[SEQUENCE_IS], pieces[SEQUENCE_IS + 1])
            w = put_integer(out, w, recs[SEQUENCE * room + i])
            w = put(out, w, literals, pieces[HEADER_KEYS], pieces[HEADER_KEYS + 1])
            h = recs[HEADERS_COUNT * room + i]
            p = recs[HEADERS_START * room + i]
            started = False
            while h > 0:
                size, p = _varint(buf, p)
                if started:
                    out[w] = 44
                    w += 1
                started = True
                w = put_text(out, w, buf, p, size)
                size, p = _varint(buf, p + size)
                if size > 0:
                    p += size
                h -= 1
            w = put(out, w, literals, pieces[END_HEADER_KEYS], pieces[END_HEADER_KEYS + 1])
            if kind >= 0:
                p = COMMIT if kind else ABORT
                w = put(out, w, literals, pieces[p], pieces[p + 1])
                w = put_integer(out, w, int32(buf, recs[VALUE_START * room + i] + 2))
        if contents and not attributes & CONTROL_BIT:
            p = KEY_IS if metadata else FIRST_KEY  # a payload's piece follows the key's
            if len(places):
                if places[room + i] >= 0:
                    w = put(out, w, literals, pieces[p], pieces[p + 1])
                    w = put_text(out, w, content, places[i], places[room + i])
                    p = KEY_IS
                if places[3 * room + i] >= 0:
                    w = put(out, w, literals, pieces[p + 2], pieces[p + 3])
                    w = put_text(out, w, content, places[2 * room + i], places[3 * room + i])
                key_size = value_size = -1
            if key_size >= 0:
                w = put(out, w, literals, pieces[p], pieces[p + 1])
                w = put_text(out, w, buf, recs[KEY_START * room + i], key_size)
                p = KEY_IS
            if value_size >= 0:
                w = put(out, w, literals, pieces[p + 2], pieces[p + 3])
                w = put_text(out, w, buf, recs[VALUE_START * room + i], value_size)
        out[w] = 10
        w += 1
        i += 1
    return i, w, row, DONE


def breaks(
    recs: cython.const[cython.longlong][::1],
    room: cython.Py_ssize_t,
    count: cython.Py_ssize_t,
    previous: cython.longlong,
    found: cython.longlong[::1],
) -> int:
    """Write to `found` the numbers of the records whose offset is not the previous one plus one; answer how many."""
    n: cython.Py_ssize_t = 0
    i: cython.Py_ssize_t
    offset: cython.longlong
    last: cython.longlong = LAST
    for i in range(count):
        offset = recs[OFFSET * room + i]
        if previous == last or offset != previous + 1:
            found[n] = i
            n += 1
        previous = offset
    return n

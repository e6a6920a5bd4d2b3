# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Columns to lines of text: as Kafka's tool writes them, and as rows of JSON or CSV; ``buffers.py`` has the rules.

What is between the values is data, a template: ``plans.py`` says what it has.
"""

from __future__ import annotations

import binascii
from typing import Any, Final

try:
    import cython
except ImportError:  # not needed to run, only to compile
    from kafkalog.kernel import _shadow as cython

if not cython.compiled:  # else they come with the .pxd
    import re

    from kafkalog.kernel.buffers import *
    from kafkalog.kernel.numbers import end_marker, int32, varint
    from kafkalog.kernel.plans import *
    from kafkalog.kernel.put import kind, put, put_integer

    # Java replaces an encoded surrogate as one character, Python each of its bytes.
    _SURROGATE: Final = re.compile(rb"\xed[\xa0-\xbf][\x80-\xbf]?")

__all__ = [
    "DONE",
    "NO_ROOM",
    "SLACK",
    "SPECIAL",
    "batch_lines",
    "breaks",
    "headers_piece",
    "is_marked",
    "is_quoted",
    "java_text",
    "kind_of",
    "record_lines",
    "row_lines",
    "text_piece",
]

# Why lines stopped: all done, no room in `out`, or the caller must write the next one.
DONE, NO_ROOM, SPECIAL = range(3)
SLACK = 64  # bytes that must be free after what is written


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def put_word(
    out: cython.uchar[::1],
    w: cython.Py_ssize_t,
    literals: cython.const[cython.uchar][::1],
    words: cython.const[cython.longlong][::1],
    at: cython.Py_ssize_t,
) -> cython.Py_ssize_t:
    """Write the literal whose start and size are at `at`."""
    return put(out, w, literals, words[at], words[at + 1])


# Lines as Kafka's tool writes them.


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
        w = put_word(out, w, literals, template, s + LINE_LITERAL)
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
                w = put_word(out, w, literals, template, at)
                w = put_integer(out, w, heads[template[s + LINE_OTHER], row])
                at += 2
            else:
                at += 4
            w = put_word(out, w, literals, template, at)
        s += LINE_CELLS
    return w


def batch_lines(
    heads: cython.const[cython.longlong][:, ::1],
    row: cython.Py_ssize_t,
    stop_row: cython.Py_ssize_t,
    lines: Any,
    out: cython.uchar[::1],
    w: cython.Py_ssize_t,
) -> tuple[int, int]:
    """Write the lines of rows [`row`, `stop_row`) to ``out[w:]`` while there is room: (next row, bytes in `out`).

    Of `lines` are `batches`, the template, and `literals`.
    """
    template: cython.const[cython.longlong][::1] = lines.batches
    literals: cython.const[cython.uchar][::1] = lines.literals
    if len(heads) < BATCH_CELLS or row < 0 or stop_row > heads.shape[1]:
        raise IndexError
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
@cython.exceptval(check=False)
def put_header_keys(
    out: cython.uchar[::1],
    w: cython.Py_ssize_t,
    buf: cython.const[cython.uchar][::1],
    p: cython.Py_ssize_t,
    left: cython.longlong,
) -> cython.Py_ssize_t:
    """Write the keys of the headers that begin at `p`, which ``records.read_records`` has read before."""
    size: cython.longlong
    started: cython.bint = False
    while left > 0:
        size, p = varint(buf, p, len(buf))
        if started:
            out[w] = COMMA
            w += 1
        started = True
        w = put_text(out, w, buf, p, size)
        size, p = varint(buf, p + size, len(buf))
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
    w = put_word(out, w, literals, pieces, PIECE_BAR_OFFSET)
    w = put_integer(out, w, recs[OFFSET, i])
    w = put_word(out, w, literals, pieces, PIECE_LOG_APPEND_TIME if is_append_time else PIECE_CREATE_TIME)
    w = put_integer(out, w, recs[TIMESTAMP, i])
    w = put_word(out, w, literals, pieces, PIECE_KEY_SIZE)
    w = put_integer(out, w, recs[KEY_SIZE, i])
    w = put_word(out, w, literals, pieces, PIECE_VALUE_SIZE)
    w = put_integer(out, w, recs[VALUE_SIZE, i])
    w = put_word(out, w, literals, pieces, PIECE_SEQUENCE)
    w = put_integer(out, w, recs[SEQUENCE, i])
    w = put_word(out, w, literals, pieces, PIECE_HEADER_KEYS)
    if recs[HEADERS_COUNT, i]:
        w = put_header_keys(out, w, buf, recs[HEADERS_START, i], recs[HEADERS_COUNT, i])
    return put_word(out, w, literals, pieces, PIECE_END_HEADER_KEYS)


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
        w = put_word(out, w, literals, pieces, PIECE_FIRST_KEY if is_first else PIECE_KEY)
        w = put_text(out, w, buf, key, key_size)
        is_first = False
    if payload_size >= 0:
        w = put_word(out, w, literals, pieces, PIECE_FIRST_PAYLOAD if is_first else PIECE_PAYLOAD)
        w = put_text(out, w, buf, payload, payload_size)
    return w


def record_lines(
    block: Any,
    first: cython.Py_ssize_t,
    row: cython.Py_ssize_t,
    parts: cython.int,
    lines: Any,
    out: cython.uchar[::1],
    w: cython.Py_ssize_t,
    content: cython.const[cython.uchar][::1],
    places: cython.const[cython.longlong][:, ::1],
) -> tuple[int, int, int, int]:
    """Write the lines of a block's records from `first` on, each batch's line before its first record's.

    Of the block are `buf` and the tables `heads` and `recs`; of `lines` are `batches` and `records`, the templates, and
    `literals`. `parts` says what a line has, ``WITH_METADATA`` and ``WITH_CONTENTS``. `places` has four columns,
    ``TEXT_…``: where in `content` the text of a record's key is, its size, -1 for none, and its payload's; without them
    the record's own bytes are written. `row` is the next batch without a line. Answers (next record, bytes in `out`,
    next row, why it stopped): ``DONE``; ``NO_ROOM`` in `out`; or ``SPECIAL``: the batch's line is written, and the
    caller must write this record's line (magic 0 and 1, control records other than ABORT and COMMIT, content that could
    never fit).
    """
    buf: cython.const[cython.uchar][::1] = block.buf
    heads: cython.const[cython.longlong][:, ::1] = block.heads.cells
    recs: cython.const[cython.longlong][:, ::1] = block.recs.cells
    count: cython.Py_ssize_t = block.recs.count
    template: cython.const[cython.longlong][::1] = lines.batches
    pieces: cython.const[cython.longlong][::1] = lines.records
    literals: cython.const[cython.uchar][::1] = lines.literals
    i: cython.Py_ssize_t = first
    batch: cython.Py_ssize_t
    limit: cython.Py_ssize_t = len(out)
    attributes: cython.longlong
    kind: cython.int
    size: cython.longlong
    has_places: cython.bint = len(places) >= TEXT_COLUMNS
    if (has_places and places.shape[1] < count) or count > recs.shape[1] or len(recs) < RECORD_CELLS:
        raise IndexError
    if len(heads) < BATCH_CELLS or row < 0 or len(pieces) < PIECES:
        raise IndexError
    while i < count:
        batch = recs[BATCH, i]
        if batch < 0 or batch >= heads.shape[1]:
            raise IndexError
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
                w = put_word(out, w, literals, pieces, PIECE_COMMIT if kind else PIECE_ABORT)
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
    if len(recs) < RECORD_CELLS or count > min(recs.shape[1], len(found)):
        raise IndexError
    for i in range(count):
        offset = recs[OFFSET, i]
        if previous == TOP or offset != previous + 1:
            found[n] = i
            n += 1
        previous = offset
    return n


# Rows as lines of JSON or CSV.


@cython.ccall
@cython.exceptval(check=False)
@cython.returns((cython.Py_ssize_t, cython.Py_ssize_t))
def text_piece(
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
            w += kafkalog_base64(
                cython.address(out[w]), room, cython.address(buf[at]), stop - at, False, cython.address(done)
            )
        else:
            w += kafkalog_json(
                cython.address(out[w]), room, cython.address(buf[at]), stop - at,
                KAFKALOG_QUOTED if how == QUOTED_JSON else KAFKALOG_ASCII, cython.address(done),
            )  # fmt: skip
        return at + done, w
    return _text_piece_interpreted(buf, at, stop, how, out, w)


def _text_piece_interpreted(buf, at, stop, how, out, w):  # type: ignore[no-untyped-def]  # text_piece has the types
    from json.encoder import encode_basestring_ascii  # Kafka's lines need no json

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


def kind_of(buf: cython.const[cython.uchar][::1], start: cython.Py_ssize_t, size: cython.Py_ssize_t) -> int:
    """Say what bytes are; below 0 is the size of null."""
    if size > 0 and (start < 0 or size > len(buf) - start):
        raise IndexError
    return kind(buf, start, size)


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
    """Say whether bytes that begin with `first` need a mark, as a spreadsheet may take them for a formula.

    It begins with ``=+-@'``, a tab, a line's end or a blank, which some take off first, or with a character from U+F000
    to U+FFFF, among which are wide signs that some read as narrow ones.
    """
    if in_base64:
        return first >> 2 == 62  # the digit that is a plus
    if first == 61 or first == 43 or first == 45 or first == 64:  # noqa: PLR1714  # =+-@; a set is slow
        return True
    if first == BLANK or first == NEWLINE or first == 0xEF:  # noqa: PLR1714, SIM109  # ditto
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
def _between(
    out: cython.uchar[::1],
    w: cython.Py_ssize_t,
    buf: cython.const[cython.uchar][::1],
    start: cython.Py_ssize_t,
    size: cython.Py_ssize_t,
    how: cython.int,
    doubled: cython.bint,
) -> cython.Py_ssize_t:
    """Write bytes between quotes."""
    w = _quote(out, w, doubled)
    start, w = text_piece(buf, start, start + size, how, out, w)
    return _quote(out, w, doubled)


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
    w = put_word(out, w, literals, words, at + BEFORE_TEXT)
    if PLAIN <= kind <= ESCAPED:
        w = _between(out, w, buf, start, size, QUOTED_JSON if doubled else JSON, doubled)
    else:
        w = put_word(out, w, literals, words, at + NULL_WORD)
    w = put_word(out, w, literals, words, at + BEFORE_BASE64)
    if kind == BASE64:
        w = _between(out, w, buf, start, size, IN_BASE64, doubled)
    else:
        w = put_word(out, w, literals, words, at + NULL_WORD)
    return w


@cython.ccall
@cython.exceptval(check=False)
@cython.returns((cython.Py_ssize_t, cython.longlong, cython.Py_ssize_t))
def headers_piece(
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
    """Write as many of the `left` headers from `p` on as have room: (position of the next, left, bytes in `out`).

    `words` has from `at` on the words for: before a key, before its base64, null, end; and the same of a value. In a
    field of a CSV quotes are `doubled`.
    """
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
        w = _part(out, w, buf, key, key_size, kind(buf, key, key_size), literals, words, at + HEADER_KEY_WORDS, doubled)
        w = _part(
            out,
            w,
            buf,
            value,
            value_size,
            kind(buf, value, value_size),
            literals,
            words,
            at + HEADER_VALUE_WORDS,
            doubled,
        )
        w = put_word(out, w, literals, words, at + HEADER_END)
        p = q
        left -= 1
    return p, left, w


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
        return _between(out, w, buf, start, size, JSON, False)
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
        start, w = text_piece(buf, start, start + size, CSV, out, w + 2)
        out[w] = QUOTE
        return w + 1
    if is_quoted(buf, start, size):
        return _between(out, w, buf, start, size, CSV, False)
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
        return _between(out, w, buf, start, size, IN_BASE64, False)
    if form == SAFE_CSV and is_marked(buf[start], True):
        out[w] = APOSTROPHE
        w += 1
    start, w = text_piece(buf, start, start + size, IN_BASE64, out, w)
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
    p, count, w = headers_piece(buf, p, count, False, literals, template, words, is_csv, out, w + 1)
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
    """Say whether a row has a value, by its validity bit; with a `bit` below 0 every row has one."""
    return bit < 0 or valid[(bit + row) >> 3] & (1 << ((bit + row) & 7)) != 0


def row_lines(
    block: Any,
    row: cython.Py_ssize_t,
    stop_row: cython.Py_ssize_t,
    lines: Any,
    out: cython.uchar[::1],
    w: cython.Py_ssize_t,
) -> tuple[int, int, int]:
    """Write the lines of a block's rows [`row`, `stop_row`) to ``out[w:]``: (next row, bytes in `out`, why it stopped).

    ``DONE``; ``NO_ROOM`` in `out`; or ``SPECIAL``: the row could never fit. Of the block are `buf`, `cells`, `room`,
    `valid` and `weight`, from where on the cells have how many bytes a row has, and `room` later how many headers;
    below 0: none. Of `lines` are `steps`, `literals`, `form`, and `line_room`, that of a line without its bytes.
    """
    buf: cython.const[cython.uchar][::1] = block.buf
    cells: cython.const[cython.longlong][::1] = block.cells
    valid: cython.const[cython.uchar][::1] = block.valid
    room: cython.Py_ssize_t = block.room
    weight: cython.Py_ssize_t = block.weight
    template: cython.const[cython.longlong][::1] = lines.steps
    literals: cython.const[cython.uchar][::1] = lines.literals
    form: cython.int = lines.form
    line_room: cython.Py_ssize_t = lines.line_room
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
            return row, w, SPECIAL if need > limit else NO_ROOM
        s = 0
        while template[s] >= 0:
            w = put_word(out, w, literals, template, s + ROW_LITERAL)
            kind = template[s + ROW_KIND]
            column = template[s + ROW_COLUMN] + row
            if kind == AS_LITERAL:
                pass
            elif not _has_value(valid, template[s + ROW_VALID], row):
                w = put_word(out, w, literals, template, template[s + ROW_NULL])
            elif kind == AS_INTEGER:
                w = put_integer(out, w, cells[column])
            elif kind == AS_WORD:
                w = put_word(out, w, literals, template, template[s + ROW_WORDS] + 2 * cells[column])
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
                    w = put_word(out, w, literals, template, template[s + ROW_NULL])
            s += ROW_CELLS
        row += 1
    return row, w, DONE

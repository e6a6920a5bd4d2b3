# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The only hot loops: batch headers with their checksums, records, and lines of text.

One source that runs compiled (pure-Python-mode Cython) and interpreted, with the same answers. Rules for it:

- Tables are one flat buffer of int64, column by column: cell (column, row) is ``table[column * capacity + row]``.
- Nothing here raises for bad bytes: a loop stops or marks the row, and says where.
- No ``cython.`` name inside a loop, no literal above 2**31 - 1 where it would be compiled, ``len(x)`` not ``x.shape``.
- The compiled form checks no bounds (a third of its time went there): each function checks its buffers' lengths where
  it begins, and each length in the data against the bytes left before it is used. The interpreted form does check, and
  the tests run both over hostile bytes: what is not held there is an IndexError.
- Sums of offsets and timestamps wrap at 64 bits as in Java: ``add64``.
"""

from __future__ import annotations

from typing import Final

try:
    import cython
except ImportError:  # not needed to run, only to compile
    from kafkalog.format import _shadow as cython

if not cython.compiled:
    import re
    import zlib

    # What may be a header, by its magic byte and those around it: length at most 128 MiB, attributes, delta, count.
    _PLAUSIBLE = re.compile(rb"(?s)\x02(?<=[\x00-\x08].{8})(?=.{4}[\x00-\x03].[\x00-\x7f].{33}[\x00-\x7f])")
    _PLAUSIBLE_OLD = re.compile(_PLAUSIBLE.pattern + rb"|[\x00\x01](?=[\x00-\x0f])(?<=(?!\x00{4})[\x00-\x08].{8})")

__all__ = [
    "BATCH_COLUMNS",
    "NONE",
    "RECORD_COLUMNS",
    "RECORD_ERRORS",
    "candidate",
    "crc32",
    "crc32c",
    "form",
    "headers",
    "oddities",
    "order",
    "records",
    "shift",
]

NONE: Final = -(2**63)  # a cell that has no value
TOP: Final = 2**63 - 1

BATCH_COLUMNS: Final = (
    "position",
    "size",
    "base_offset",
    "last_offset",
    "partition_leader_epoch",
    "magic",
    "crc",
    "valid",
    "attributes",
    "base_timestamp",
    "max_timestamp",
    "producer_id",
    "producer_epoch",
    "base_sequence",
    "last_sequence",
    "count",
    "section_start",  # of the records in the buffer; moves on while they are decoded
    "section_stop",
    "decoded",  # records so far
    "error",  # number in RECORD_ERRORS
    "error_position",  # in the buffer
)
(
    POSITION,
    SIZE,
    BASE_OFFSET,
    LAST_OFFSET,
    LEADER_EPOCH,
    MAGIC,
    CRC,
    VALID,
    ATTRIBUTES,
    BASE_TIMESTAMP,
    MAX_TIMESTAMP,
    PRODUCER_ID,
    PRODUCER_EPOCH,
    BASE_SEQUENCE,
    LAST_SEQUENCE,
    COUNT,
    SECTION_START,
    SECTION_STOP,
    DECODED,
    ERROR,
    ERROR_POSITION,
) = range(len(BATCH_COLUMNS))

RECORD_COLUMNS: Final = (
    "batch",  # row of its batch
    "offset",
    "timestamp",
    "sequence",
    "key_start",  # positions are in the buffer
    "key_size",  # -1: null
    "value_start",
    "value_size",
    "headers_start",
    "headers_count",
    "size",
)
(
    BATCH,
    OFFSET,
    TIMESTAMP,
    SEQUENCE,
    KEY_START,
    KEY_SIZE,
    VALUE_START,
    VALUE_SIZE,
    HEADERS_START,
    HEADERS_COUNT,
    RECORD_SIZE,
) = range(len(RECORD_COLUMNS))

# What may be wrong with a record whose batch's checksum holds: the finding's code, and what it says of the record.
RECORD_ERRORS: Final = (
    ("", ""),
    ("record-size-unending", "its length has too many bytes or runs past the end"),
    ("timestamp-delta-unending", "its timestamp delta has too many bytes or runs past the record"),
    ("offset-delta-unending", "its offset delta has too many bytes or runs past the record"),
    ("key-size-unending", "its key's length has too many bytes or runs past the record"),
    ("value-size-unending", "its value's length has too many bytes or runs past the record"),
    ("header-count-unending", "its number of headers has too many bytes or runs past the record"),
    ("header-key-size-unending", "a header key's length has too many bytes or runs past the record"),
    ("header-value-size-unending", "a header value's length has too many bytes or runs past the record"),
    ("record-size-negative", "its length is negative"),
    ("record-size-too-small", "its length is less than a record needs"),
    ("record-past-end", "it runs past the batch's end"),
    ("key-past-end", "its key runs past the record"),
    ("value-past-end", "its value runs past the record"),
    ("header-count-negative", "its number of headers is negative"),
    ("header-count-too-high", "it has no room for so many headers"),
    ("header-key-null", "a header key's length is negative"),
    ("header-key-past-end", "a header key runs past the record"),
    ("header-value-past-end", "a header value runs past the record"),
    ("record-rest", "it has bytes left over behind its last field"),
    ("records-end-early", "the batch ends before it"),
    ("records-rest", "bytes are left over behind the last one"),
    ("records-count-negative", "the batch's count is negative"),
    ("message-too-short", "the message has no room for the lengths of key and value"),
    ("message-key-past-end", "its key runs past the message"),
    ("message-value-past-end", "its value runs past the message"),
    ("message-rest", "the message has bytes left over behind its value"),
)
# What ``oddities`` finds; Kafka reads all of it.
OVERLONG, DROPPED, ATTRIBUTES_SET, BELOW_NULL, REPEATED, FALLING = (1, 2, 4, 8, 16, 32)

# Why ``headers`` stopped.
END, FULL, BAD = range(3)
# Why ``records`` stopped: all rows done, no room for more, or a row whose records must be decompressed first.
DONE, NO_ROOM, PACKED = range(3)

# What ``candidate`` found: nothing, a whole batch, or one that reaches too far to be looked at here.
NOTHING, WHOLE, FAR = range(3)
BLOCK: Final = 4096  # bytes for each of its sums
NEAR: Final = 4096  # bytes of a batch that it sums without them


def form() -> str:
    """Say which form of this module runs: ``compiled`` or ``interpreted``."""
    return "compiled" if cython.compiled else "interpreted"


if cython.compiled:
    kafkalog_prepare()
else:
    _package_crc32c = None


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def add64(a: cython.longlong, b: cython.longlong) -> cython.longlong:
    """Add as Java does: the sum wraps at 64 bits."""
    if cython.compiled:
        return a + b
    return ((a + b + 2**63) & (2**64 - 1)) - 2**63


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def wrap32(a: cython.longlong) -> cython.longlong:
    """Keep the low 32 bits, signed."""
    if cython.compiled:
        return (a << 32) >> 32
    return ((a + 2**31) & (2**32 - 1)) - 2**31


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def int16(buf: cython.const[cython.uchar][::1], i: cython.Py_ssize_t) -> cython.longlong:
    """Read a big-endian int16."""
    if cython.compiled:
        return kafkalog_int16(cython.address(buf[i + 1]))
    return int.from_bytes(buf[i : i + 2], "big", signed=True)


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def int32(buf: cython.const[cython.uchar][::1], i: cython.Py_ssize_t) -> cython.longlong:
    """Read a big-endian int32."""
    if cython.compiled:
        return kafkalog_int32(cython.address(buf[i + 3]))
    return int.from_bytes(buf[i : i + 4], "big", signed=True)


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def int64(buf: cython.const[cython.uchar][::1], i: cython.Py_ssize_t) -> cython.longlong:
    """Read a big-endian int64."""
    if cython.compiled:
        return kafkalog_int64(cython.address(buf[i + 7]))
    return int.from_bytes(buf[i : i + 8], "big", signed=True)


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def unsigned32(v: cython.longlong) -> cython.longlong:
    """Read an int32 as unsigned."""
    u: cython.uint
    if cython.compiled:
        u = v
        return u
    return v & (2**32 - 1)


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def zigzag64(v: cython.longlong) -> cython.longlong:
    """Undo the zigzag of a varlong: the low bit is the sign."""
    u: cython.ulonglong
    if cython.compiled:
        u = v
        return (u >> 1) ^ -(u & 1)
    u = v & (2**64 - 1)
    return (u >> 1) ^ -(u & 1)


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def add_sequence(sequence: cython.longlong, delta: cython.longlong) -> cython.longlong:
    """Move a sequence on as DefaultRecordBatch.incrementSequence does: after 2147483647 comes 0."""
    if sequence < 0:
        return -1
    if sequence > wrap32(2147483647 - delta):
        return wrap32(delta - (2147483647 - sequence) - 1)
    return sequence + delta


@cython.ccall
@cython.exceptval(check=False)
def crc32c(
    buf: cython.const[cython.uchar][::1], start: cython.Py_ssize_t, stop: cython.Py_ssize_t, crc: cython.longlong = 0
) -> cython.longlong:
    """Return the CRC-32C of ``buf[start:stop]``, going on from `crc` of what came before."""
    if start < 0 or start >= stop or stop > len(buf):
        return crc
    if cython.compiled:
        return kafkalog_crc32c(crc, cython.address(buf[start]), stop - start)
    global _package_crc32c
    if _package_crc32c is None:
        from crc32c import crc32c as _package_crc32c  # slow to import
    return _package_crc32c(buf[start:stop], crc)


@cython.ccall
@cython.exceptval(check=False)
def crc32(
    buf: cython.const[cython.uchar][::1], start: cython.Py_ssize_t, stop: cython.Py_ssize_t, crc: cython.longlong = 0
) -> cython.longlong:
    """Return the CRC-32 of ``buf[start:stop]``, that of magic 0 and 1."""
    if start < 0 or start >= stop or stop > len(buf):
        return crc
    if cython.compiled:
        return kafkalog_crc32(crc, cython.address(buf[start]), stop - start)
    return zlib.crc32(buf[start:stop], crc)


def shift(crc: cython.longlong, length: cython.longlong) -> cython.longlong:
    """Return the CRC-32C that `crc` adds to that of `length` bytes behind its own: sums are linear.

    ``crc32c(a + b) == shift(crc32c(a), len(b)) ^ crc32c(b)``.
    """
    if cython.compiled:
        return kafkalog_shift_by(crc, length)
    power = 1 << 23  # x^8: the coefficient of x^0 is the highest bit
    while length:
        if length & 1:
            crc = _multiply(power, crc)
        power = _multiply(power, power)
        length >>= 1
    return crc


def _multiply(a: cython.longlong, b: cython.longlong) -> cython.longlong:
    product = 0
    while a:
        if a & 2**31:
            product ^= b
        b = (b >> 1) ^ (0x82F63B78 if b & 1 else 0)
        a = (a << 1) & (2**32 - 1)
    return product


def candidate(
    buf: cython.const[cython.uchar][::1],
    start: cython.Py_ssize_t,
    stop: cython.Py_ssize_t,
    room: cython.longlong,
    limit: cython.longlong,
    legacy: cython.bint,
    sums: cython.const[cython.ulonglong][::1],
    tail: cython.const[cython.uchar][::1],
    state: cython.longlong[::1],
) -> tuple[int, int]:
    """Find the first position in [`start`, `stop`) at which a batch may begin, old messages too if `legacy`.

    `room` are the bytes from ``buf[0]`` to the file's end, `limit` is the most that a batch may have. ``sums[n]`` is
    the CRC-32C of all that lies before block n; ``buf[0]`` begins block ``state[0]``, ``tail[0]`` the block
    ``state[1]``. ``state[2]`` says how many extents may be summed by these, ``state[3]`` counts those above that.
    Answers the position and ``WHOLE`` where the checksum holds, or ``FAR`` where `buf` and `tail` do not tell;
    (`stop`, ``NOTHING``) where there is none.
    """
    i: cython.Py_ssize_t
    magic: cython.int
    size: cython.longlong
    count: cython.longlong
    key: cython.longlong
    at: cython.longlong
    left: cython.longlong
    block: cython.longlong
    crc: cython.longlong
    width: cython.longlong = BLOCK
    near: cython.longlong = NEAR
    end: cython.Py_ssize_t = min(stop, len(buf) - 17)
    if start < 0 or len(state) < 4 or state[0] < 0:
        raise IndexError
    i = start
    while i < end:
        if not cython.compiled:
            match = (_PLAUSIBLE_OLD if legacy else _PLAUSIBLE).search(buf, i + 16, min(end + 61, len(buf)))
            if match is None or match.start() - 16 >= end:
                break
            i = match.start() - 16
        magic = buf[i + 16]
        left = len(buf) - i
        if magic == 2 and left >= 61 and buf[i + 21] < 4 and (buf[i + 22] & 7) < 5 and buf[i + 23] < 128:
            size = int32(buf, i + 8) + 12
            count = int32(buf, i + 57)
            if size >= 61 and size <= limit and size <= room - i and count >= 0 and count <= int32(buf, i + 23) + 1:
                if size <= near and size <= left:
                    crc = crc32c(buf, i + 21, i + size)
                elif state[2] <= 0:
                    state[3] += 1
                    i += 1
                    continue
                else:
                    block = state[0] + (i + size) // width
                    at = (i + size) % width
                    if block != state[1] or block >= len(sums) or at > len(tail):
                        return i, FAR
                    state[2] -= 1
                    key = (i + 21) // width
                    crc = crc32c(buf, key * width, i + 21, sums[state[0] + key])
                    crc = crc32c(tail, 0, at, sums[block]) ^ shift(crc, size - 21)
                if crc == unsigned32(int32(buf, i + 17)):
                    return i, WHOLE
        elif magic < 2 and legacy and (buf[i + 17] & 0xF7) < 4:
            size = int32(buf, i + 8) + 12
            at = 18 + 8 * magic
            if 26 + 8 * magic <= size <= limit and size <= room - i and at + 4 <= left:
                key = int32(buf, i + at)
                at += 4 + max(key, 0)
                if key >= -1 and at + 4 <= size:
                    if at + 4 > left:
                        return i, FAR
                    key = int32(buf, i + at)
                    if key >= -1 and at + 4 + max(key, 0) == size:
                        if size > near or size > left:
                            return i, FAR
                        if crc32(buf, i + 16, i + size) == unsigned32(int32(buf, i + 12)):
                            return i, WHOLE
        i += 1
    return stop, NOTHING


def order(
    heads: cython.const[cython.longlong][::1],
    capacity: cython.Py_ssize_t,
    row: cython.Py_ssize_t,
    stop_row: cython.Py_ssize_t,
    state: cython.longlong[::1],
) -> tuple[int, int]:
    """Hold batches against the one before: offsets must rise, leader epochs must not fall.

    `state` is (last offset so far, or ``NONE``; leader epoch so far; lowest and highest offset allowed; gaps so far;
    offsets missing in them; position of the first). Answers the first row that breaks a rule and which: 1 offset not
    increasing, 2 leader epoch decreasing, 3 offset outside the segment; (`stop_row`, 0) where none does. The row that
    broke one counts: go on behind it.
    """
    i: cython.Py_ssize_t
    rule: cython.int
    top: cython.longlong = TOP
    first: cython.longlong
    last: cython.longlong
    epoch: cython.longlong
    none: cython.longlong = NONE
    at_base: cython.Py_ssize_t = BASE_OFFSET * capacity
    at_last: cython.Py_ssize_t = LAST_OFFSET * capacity
    at_epoch: cython.Py_ssize_t = LEADER_EPOCH * capacity
    if stop_row > capacity or len(heads) < capacity * len(BATCH_COLUMNS) or len(state) < 7:
        raise IndexError
    for i in range(row, stop_row):
        rule = 0
        first = heads[at_base + i]
        last = heads[at_last + i]
        epoch = heads[at_epoch + i]
        if first == none:
            first = last  # of a wrapper of magic 0 or 1 only the last is known
        elif state[0] != none and first > state[0] and add64(first, -1) != state[0]:
            state[4] += 1
            state[5] = add64(state[5], add64(add64(first, -1), -state[0]))
            if state[5] < 0:  # more than can be counted
                state[5] = top
            if state[4] == 1:
                state[6] = heads[i]
        if state[0] != none and first <= state[0]:
            rule = 1
        elif first < state[2] or last > state[3]:
            rule = 3
        elif epoch < state[1] and epoch >= 0:
            rule = 2
        state[0] = last
        if epoch >= 0:
            state[1] = epoch
        if rule:
            return i, rule
    return stop_row, 0


def markers(
    buf: cython.const[cython.uchar][::1],
    heads: cython.const[cython.longlong][::1],
    capacity: cython.Py_ssize_t,
    count: cython.Py_ssize_t,
    types: cython.longlong[::1],
    coordinator_epochs: cython.longlong[::1],
) -> int:
    """Read the transaction markers among `count` batches: 0 abort, 1 commit, -1 no marker, -2 one that can't be read.

    A control batch without records, as cleaning leaves it, is no marker. Answers how many are of magic 0 or 1.
    """
    row: cython.Py_ssize_t
    p: cython.Py_ssize_t
    q: cython.Py_ssize_t
    stop: cython.Py_ssize_t
    end: cython.Py_ssize_t
    legacy: cython.Py_ssize_t = 0
    size: cython.longlong
    value: cython.longlong
    kind: cython.longlong
    epoch: cython.longlong
    at_attributes: cython.Py_ssize_t = ATTRIBUTES * capacity
    at_magic: cython.Py_ssize_t = MAGIC * capacity
    at_count: cython.Py_ssize_t = COUNT * capacity
    at_start: cython.Py_ssize_t = SECTION_START * capacity
    at_stop: cython.Py_ssize_t = SECTION_STOP * capacity
    if count > min(capacity, len(types), len(coordinator_epochs)) or len(heads) < capacity * len(BATCH_COLUMNS):
        raise IndexError
    for row in range(count):
        types[row] = -1
        coordinator_epochs[row] = -1
        if heads[at_magic + row] < 2:
            legacy += 1
            continue
        if heads[at_attributes + row] & 48 != 48 or heads[at_count + row] == 0:
            continue
        p = heads[at_start + row]
        stop = heads[at_stop + row]
        kind = -2
        epoch = -1
        if p >= 0 and stop <= len(buf) and not heads[at_attributes + row] & 7:
            size, q = varint(buf, p, stop)
            if q > 0 and size >= 6 and size <= stop - q:
                end = q + size
                value, q = varlong(buf, q + 1, end)
                if q > 0:
                    value, q = varint(buf, q, end)
                if q > 0:
                    size, q = varint(buf, q, end)
                    if q > 0 and size >= 4 and size <= end - q:
                        value = int16(buf, q)
                        kind = int16(buf, q + 2)
                        size, q = varint(buf, q + size, end)
                        if (
                            value < 0
                            or kind < 0
                            or kind > 1
                            or q < 0
                            or size < 6
                            or size > end - q
                            or int16(buf, q) < 0
                        ):
                            kind = -2
                        else:
                            epoch = int32(buf, q + 2)
        types[row] = kind
        coordinator_epochs[row] = epoch
    return legacy


def headers(
    buf: cython.const[cython.uchar][::1],
    start: cython.Py_ssize_t,
    stop: cython.Py_ssize_t,
    position: cython.longlong,
    heads: cython.longlong[::1],
    capacity: cython.Py_ssize_t,
    row: cython.Py_ssize_t,
) -> tuple[int, int, int]:
    """Read the batches that lie whole in ``buf[start:stop]`` into `heads`, from `row` on, checksums included.

    `position` is that of ``buf[0]`` in the file. Answers (rows, where the next batch starts, why it stopped): ``END``
    where the next batch is not whole, ``FULL``, or ``BAD`` where its length, magic or checksum cannot be believed; the
    columns of such a batch stand in the next row, which does not count.
    """
    i: cython.Py_ssize_t = start
    k: cython.Py_ssize_t
    size: cython.longlong
    magic: cython.longlong
    base: cython.longlong
    delta: cython.longlong
    crc: cython.longlong
    attributes: cython.longlong
    sequence: cython.longlong
    timestamp: cython.longlong
    none: cython.longlong = NONE
    valid: cython.bint
    stop = min(stop, len(buf))
    if len(heads) < capacity * len(BATCH_COLUMNS) or start < 0 or row < 0:
        raise IndexError
    while row < capacity:
        if stop - i < 17:
            return row, i, END
        size = int32(buf, i + 8) + 12
        magic = buf[i + 16]
        if magic >= 2:
            if size < 61:
                return row, i, BAD
            if size > stop - i:
                return row, i, END
            base = int64(buf, i)
            crc = unsigned32(int32(buf, i + 17))
            valid = crc32c(buf, i + 21, i + size) == crc
            attributes = int16(buf, i + 21)
            delta = int32(buf, i + 23)
            sequence = int32(buf, i + 53)
            k = row
            heads[k] = position + i
            k += capacity
            heads[k] = size
            k += capacity
            heads[k] = base
            k += capacity
            heads[k] = add64(base, delta)
            k += capacity
            heads[k] = int32(buf, i + 12)
            k += capacity
            heads[k] = magic
            k += capacity
            heads[k] = crc
            k += capacity
            heads[k] = valid
            k += capacity
            heads[k] = attributes
            k += capacity
            heads[k] = int64(buf, i + 27)
            k += capacity
            heads[k] = int64(buf, i + 35)
            k += capacity
            heads[k] = int64(buf, i + 43)
            k += capacity
            heads[k] = int16(buf, i + 51)
            k += capacity
            heads[k] = sequence
            k += capacity
            heads[k] = add_sequence(sequence, delta)
            k += capacity
            heads[k] = int32(buf, i + 57)
            k += capacity
            heads[k] = i + 61
        else:
            if size < 26 or (magic == 1 and size < 34):
                return row, i, BAD
            if size > stop - i:
                return row, i, END
            base = int64(buf, i)
            crc = unsigned32(int32(buf, i + 12))
            valid = crc32(buf, i + 16, i + size) == crc
            attributes = buf[i + 17]
            timestamp = int64(buf, i + 18) if magic == 1 else -1
            k = row
            heads[k] = position + i
            k += capacity
            heads[k] = size
            k += capacity
            heads[k] = none if attributes & 7 else base
            k += capacity
            heads[k] = base
            k += capacity
            heads[k] = -1
            k += capacity
            heads[k] = magic
            k += capacity
            heads[k] = crc
            k += capacity
            heads[k] = valid
            k += capacity
            heads[k] = attributes
            k += capacity
            heads[k] = none
            k += capacity
            heads[k] = timestamp
            k += capacity
            heads[k] = -1
            k += capacity
            heads[k] = -1
            k += capacity
            heads[k] = -1
            k += capacity
            heads[k] = -1
            k += capacity
            heads[k] = none if attributes & 7 else 1
            k += capacity
            heads[k] = i + 18 + 8 * magic
        k += capacity
        heads[k] = i + size
        k += capacity
        heads[k] = 0
        k += capacity
        heads[k] = 0
        k += capacity
        heads[k] = 0
        if not valid or magic > 2:
            return row, i, BAD
        row += 1
        i += size
    return row, i, FULL


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
@cython.returns((cython.longlong, cython.Py_ssize_t))
def varint(buf: cython.const[cython.uchar][::1], p: cython.Py_ssize_t, end: cython.Py_ssize_t):
    """Read a zigzag varint at `p`: (value, what follows), (0, -1) where there is none."""
    v: cython.longlong
    b: cython.longlong
    shift: cython.int
    if p >= end:
        return 0, -1
    v = buf[p]
    p += 1
    if v >= 128:
        v &= 127
        shift = 7
        while True:
            if p >= end or shift > 28:
                return 0, -1
            b = buf[p]
            p += 1
            v |= (b & 127) << shift
            if b < 128:
                break
            shift += 7
        v = wrap32(v)
    return ((v >> 1) & 2147483647) ^ -(v & 1), p


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
@cython.returns((cython.longlong, cython.Py_ssize_t))
def varlong(buf: cython.const[cython.uchar][::1], p: cython.Py_ssize_t, end: cython.Py_ssize_t):
    """Read a zigzag varlong at `p`: (value, what follows), (0, -1) where there is none."""
    v: cython.longlong
    b: cython.longlong
    shift: cython.int
    if p >= end:
        return 0, -1
    v = buf[p]
    p += 1
    if v >= 128:
        v &= 127
        shift = 7
        while True:
            if p >= end or shift > 63:
                return 0, -1
            b = buf[p]
            p += 1
            v |= (b & 127) << shift
            if b < 128:
                break
            shift += 7
    return zigzag64(v), p


def records(
    buf: cython.const[cython.uchar][::1],
    heads: cython.longlong[::1],
    capacity: cython.Py_ssize_t,
    row: cython.Py_ssize_t,
    stop_row: cython.Py_ssize_t,
    unpacked: cython.bint,
    recs: cython.longlong[::1],
    room: cython.Py_ssize_t,
) -> tuple[int, int, int, int]:
    """Decode the records of the batches in rows [`row`, `stop_row`) of `heads` into `recs`.

    Answers (records, row, why it stopped, rows with an error): ``DONE``; ``NO_ROOM``: call again with the same row to
    go on; ``PACKED``: the row's records are compressed: call again for that row alone with the decompressed bytes as
    `buf`, the row's section set to them, and `unpacked`. A row whose section starts below 0 is passed over. A malformed
    record ends its batch and is told in the row's ``error`` and ``error_position``; those before it stand.
    """
    n: cython.Py_ssize_t = 0
    errors: cython.Py_ssize_t = 0
    k: cython.Py_ssize_t
    p: cython.Py_ssize_t
    q: cython.Py_ssize_t
    stop: cython.Py_ssize_t
    end: cython.Py_ssize_t
    start: cython.Py_ssize_t
    key_start: cython.Py_ssize_t
    value_start: cython.Py_ssize_t
    headers_start: cython.Py_ssize_t
    decoded: cython.longlong
    count: cython.longlong
    length: cython.longlong
    timestamp: cython.longlong
    delta: cython.longlong
    key_size: cython.longlong
    value_size: cython.longlong
    headers_count: cython.longlong
    h: cython.longlong
    attributes: cython.longlong
    base_offset: cython.longlong
    base_timestamp: cython.longlong
    log_append_time: cython.bint
    base_sequence: cython.longlong
    error: cython.int
    at_size: cython.Py_ssize_t = SIZE * capacity
    at_magic: cython.Py_ssize_t = MAGIC * capacity
    at_attributes: cython.Py_ssize_t = ATTRIBUTES * capacity
    at_start: cython.Py_ssize_t = SECTION_START * capacity
    at_stop: cython.Py_ssize_t = SECTION_STOP * capacity
    at_decoded: cython.Py_ssize_t = DECODED * capacity
    at_count: cython.Py_ssize_t = COUNT * capacity
    at_base: cython.Py_ssize_t = BASE_OFFSET * capacity
    at_base_timestamp: cython.Py_ssize_t = BASE_TIMESTAMP * capacity
    at_max_timestamp: cython.Py_ssize_t = MAX_TIMESTAMP * capacity
    at_sequence: cython.Py_ssize_t = BASE_SEQUENCE * capacity
    at_error: cython.Py_ssize_t = ERROR * capacity
    at_position: cython.Py_ssize_t = ERROR_POSITION * capacity
    if len(heads) < capacity * len(BATCH_COLUMNS) or len(recs) < room * len(RECORD_COLUMNS) or stop_row > capacity:
        raise IndexError
    while row < stop_row:
        p = heads[at_start + row]
        if p < 0 or heads[at_error + row]:
            row += 1
            continue
        attributes = heads[at_attributes + row]
        if attributes & 7 and not unpacked:
            return n, row, PACKED, errors
        stop = heads[at_stop + row]
        stop = min(stop, len(buf))
        count = heads[at_count + row]
        decoded = heads[at_decoded + row]
        base_offset = heads[at_base + row]
        error = 0
        if heads[at_magic + row] < 2:
            if decoded < count:
                if n >= room:
                    return n, row, NO_ROOM, errors
                start = p
                if stop - p < 8:
                    error = 23
                else:
                    key_size = int32(buf, p)
                    key_start = p + 4
                    if key_size > stop - key_start - 4:
                        error = 24
                    else:
                        p = key_start + (key_size if key_size > 0 else 0)
                        value_size = int32(buf, p)
                        value_start = p + 4
                        if value_size > stop - value_start:
                            error = 25
                        else:
                            p = value_start + (value_size if value_size > 0 else 0)
                            if p != stop:
                                error = 26
                            k = n
                            recs[k] = row
                            k += room
                            recs[k] = base_offset
                            k += room
                            recs[k] = heads[at_max_timestamp + row]
                            k += room
                            recs[k] = -1
                            k += room
                            recs[k] = key_start
                            k += room
                            recs[k] = key_size if key_size >= 0 else -1
                            k += room
                            recs[k] = value_start
                            k += room
                            recs[k] = value_size if value_size >= 0 else -1
                            k += room
                            recs[k] = p
                            k += room
                            recs[k] = 0
                            k += room
                            recs[k] = heads[at_size + row]
                            n += 1
                            heads[at_decoded + row] = 1
                if error:
                    heads[at_error + row] = error
                    heads[at_position + row] = p
                    errors += 1
            row += 1
            continue
        log_append_time = attributes & 8 != 0
        base_timestamp = heads[at_max_timestamp + row] if log_append_time else heads[at_base_timestamp + row]
        base_sequence = heads[at_sequence + row]
        if count < 0:
            error = 22
        while decoded < count:
            if n >= room:
                heads[at_start + row] = p
                heads[at_decoded + row] = decoded
                return n, row, NO_ROOM, errors
            start = p
            if p >= stop:
                error = 20
                break
            length, q = varint(buf, p, stop)
            if q < 0:
                error = 1
                break
            if length < 6 or length > stop - q:
                error = 9 if length < 0 else 10 if length < 6 else 11
                break
            end = q + length
            timestamp, q = varlong(buf, q + 1, end)
            if q < 0:
                error = 2
                break
            delta, q = varint(buf, q, end)
            if q < 0:
                error = 3
                break
            key_size, q = varint(buf, q, end)
            if q < 0:
                error = 4
                break
            if key_size > end - q:
                error = 12
                break
            key_start = q
            if key_size > 0:
                q += key_size
            value_size, q = varint(buf, q, end)
            if q < 0:
                error = 5
                break
            if value_size > end - q:
                error = 13
                break
            value_start = q
            if value_size > 0:
                q += value_size
            headers_count, q = varint(buf, q, end)
            if q < 0:
                error = 6
                break
            if headers_count < 0 or headers_count > end - q:
                error = 14 if headers_count < 0 else 15
                break
            headers_start = q
            h = headers_count
            while h > 0:
                length, q = varint(buf, q, end)
                if q < 0:
                    error = 7
                    break
                if length < 0 or length > end - q:
                    error = 16 if length < 0 else 17
                    break
                length, q = varint(buf, q + length, end)
                if q < 0:
                    error = 8
                    break
                if length > end - q:
                    error = 18
                    break
                if length > 0:
                    q += length
                h -= 1
            if error:
                break
            if q != end:
                error = 19
                break
            k = n
            recs[k] = row
            k += room
            recs[k] = add64(base_offset, delta)
            k += room
            recs[k] = base_timestamp if log_append_time else add64(base_timestamp, timestamp)
            k += room
            recs[k] = add_sequence(base_sequence, delta)
            k += room
            recs[k] = key_start
            k += room
            recs[k] = key_size if key_size >= 0 else -1
            k += room
            recs[k] = value_start
            k += room
            recs[k] = value_size if value_size >= 0 else -1
            k += room
            recs[k] = headers_start
            k += room
            recs[k] = headers_count
            k += room
            recs[k] = end - start
            n += 1
            decoded += 1
            p = end
        if not error and p != stop:
            error = 21
        heads[at_start + row] = p
        heads[at_decoded + row] = decoded
        if error:
            heads[at_error + row] = error
            heads[at_position + row] = p
            errors += 1
        row += 1
    return n, row, DONE, errors


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def odd_number(
    buf: cython.const[cython.uchar][::1], p: cython.Py_ssize_t, q: cython.Py_ssize_t, most: cython.int, last: cython.int
) -> cython.int:
    """Say what is odd about the number in [`p`, `q`): more bytes than it needs, or bits that Kafka drops.

    A number has at most `most` bytes, the last of which at most the value `last`.
    """
    if q - p > 1 and buf[q - 1] == 0:
        return OVERLONG
    if q - p == most and buf[q - 1] > last:
        return DROPPED
    return 0


def oddities(
    buf: cython.const[cython.uchar][::1],
    start: cython.Py_ssize_t,
    stop: cython.Py_ssize_t,
    count: cython.longlong,
    found: cython.longlong[::1],
) -> int:
    """Look at the records of a magic 2 batch in ``buf[start:stop]`` for what is odd although Kafka reads it.

    Answers flags; `found` gets the number of whole records, the smallest and largest offset delta and the largest
    timestamp delta, the latter ones only where there is a record. It stops at the first record that is malformed.
    """
    flags: cython.int = 0
    n: cython.longlong = 0
    p: cython.Py_ssize_t = start
    q: cython.Py_ssize_t
    end: cython.Py_ssize_t
    length: cython.longlong
    timestamp: cython.longlong
    delta: cython.longlong
    before: cython.longlong = 0
    h: cython.longlong
    stop = min(stop, len(buf))
    if len(found) < 4 or start < 0:
        raise IndexError
    found[0] = 0
    while n < count:
        length, q = varint(buf, p, stop)
        if q < 0 or length < 6 or length > stop - q:
            break
        flags |= odd_number(buf, p, q, 5, 15)
        end = q + length
        if buf[q] != 0:
            flags |= ATTRIBUTES_SET
        p = q + 1
        timestamp, q = varlong(buf, p, end)
        if q < 0:
            break
        flags |= odd_number(buf, p, q, 10, 1)
        p = q
        delta, q = varint(buf, p, end)
        if q < 0:
            break
        flags |= odd_number(buf, p, q, 5, 15)
        for _ in range(2):
            p = q
            length, q = varint(buf, p, end)
            if q < 0 or length > end - q:
                return flags
            flags |= odd_number(buf, p, q, 5, 15)
            if length < -1:
                flags |= BELOW_NULL
            if length > 0:
                q += length
        p = q
        h, q = varint(buf, p, end)
        if q < 0 or h < 0 or h > end - q:
            break
        flags |= odd_number(buf, p, q, 5, 15)
        h *= 2
        while h > 0:
            p = q
            length, q = varint(buf, p, end)
            if q < 0 or length > end - q or (length < 0 and h & 1 == 0):
                return flags
            flags |= odd_number(buf, p, q, 5, 15)
            if length < -1:
                flags |= BELOW_NULL
            if length > 0:
                q += length
            h -= 1
        if q != end:
            break
        if n == 0:
            found[1] = delta
            found[2] = delta
            found[3] = timestamp
        else:
            if delta == before:
                flags |= REPEATED
            elif delta < before:
                flags |= FALLING
            found[1] = min(found[1], delta)
            found[2] = max(found[2], delta)
            found[3] = max(found[3], timestamp)
        before = delta
        n += 1
        found[0] = n
        p = end
    return flags

"""Rules for the records of a batch whose CRC matches: a producer may send anything.

Rules that Kafka does not check when it reads are notes and warnings, those at which it throws are errors.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from typing import Final

from kafkalog.format import checksums, kernel, record_oddities
from kafkalog.format.batch import CODEC_MASK, LOG_APPEND_TIME, TRANSACTIONAL, CellTable
from kafkalog.format.batch_start import checked_from, size_of, smallest_size
from kafkalog.format.control import END_TYPES, control_record
from kafkalog.format.layout import CONTROL_RECORD_KEY, END_TXN_MARKER, MESSAGE_V0, MESSAGE_V1
from kafkalog.format.message import MalformedError

__all__ = ["RECORD_CODES", "control_words", "message_words", "record_words", "wrapper_words"]

Words = tuple[str, str]  # a finding's code, and what is wrong with the batch


_ODD: Final = (
    (record_oddities.OVERLONG, "number-overlong", "a number in its records has more bytes than it needs"),
    (record_oddities.DROPPED, "number-bits-dropped", "a number in its records has bits that no number of its kind has"),
    (record_oddities.ATTRIBUTES_SET, "record-attributes-set", "a record's attributes are not 0"),
    (record_oddities.BELOW_NULL, "size-below-null", "a key's or value's length is below -1"),
    (record_oddities.REPEATED, "offset-delta-repeated", "two consecutive records have the same offset"),
    (record_oddities.FALLING, "offset-delta-falling", "a record's offset is below that of the record before it"),
)
RECORD_CODES: Final = tuple(code for _, code, _ in _ODD)
_found: Final = array("q", bytes(8 * record_oddities.FOUND))


def record_words(
    heads: CellTable, row: int, buf: bytes | bytearray | memoryview, start: int, stop: int
) -> Iterator[Words]:
    """Say what is odd about a magic 2 batch's records in ``buf[start:stop]``, uncompressed."""
    count = heads.cell(kernel.COUNT, row)
    flags = record_oddities.find(buf, start, stop, count, _found)
    whole, smallest, largest, newest, *_ = _found
    base, last = heads.cell(kernel.BASE_OFFSET, row), heads.cell(kernel.LAST_OFFSET, row)
    said = [(code, words) for flag, code, words in _ODD if flags & flag]
    if whole and smallest < 0:
        said.append(("offset-delta-negative", f"a record's offset delta is {smallest}"))
    if whole and base + largest > last >= base:
        said.append(
            ("offset-delta-above-last", f"a record's offset is {base + largest}, but the batch's last offset is {last}")
        )
    declared = heads.cell(kernel.MAX_TIMESTAMP, row)
    newest += heads.cell(kernel.BASE_TIMESTAMP, row)
    if whole == count and whole and not heads.cell(kernel.ATTRIBUTES, row) & LOG_APPEND_TIME and newest != declared:
        said.append(
            (
                "max-timestamp-wrong",
                f"the newest timestamp in its header is {declared}, that of its records is {newest}",
            )
        )
    return iter(said)


def control_words(heads: CellTable, row: int, key: bytes | None, value: bytes | None) -> Iterator[Words]:
    """Say what is wrong with a control record."""
    attributes = heads.cell(kernel.ATTRIBUTES, row)
    try:
        record = control_record(key, value)
    except MalformedError as error:
        yield error.code, str(error)
        return
    ends = record.type in END_TYPES
    if record.version > 0:
        yield "control-version-newer", f"a control record has version {record.version}, and is read as version 0"
    if len(key or b"") > CONTROL_RECORD_KEY.size:
        yield "control-key-long", f"a control record's key has {len(key or b'')} bytes, and only 4 are read"
    if record.name == "unknown":
        yield "control-type-unknown", f"a control record's type is {record.type}"
    if ends and len(value or b"") > END_TXN_MARKER.size:
        yield "marker-value-long", f"a marker's value has {len(value or b'')} bytes, and only 6 are read"
    if ends and END_TXN_MARKER.read("version", value or b"") > 0:
        yield "marker-version-newer", "a marker's version is above 0, and is read as version 0"
    if ends and not attributes & TRANSACTIONAL:
        yield "marker-not-transactional", "it ends a transaction, but its batch is not transactional"
    if not ends and attributes & TRANSACTIONAL:
        yield "control-type-transactional", f"a control record of type {record.type} is in a transactional batch"


def message_words(heads: CellTable, row: int, buf: bytes | bytearray | memoryview) -> Iterator[Words]:
    """Say what is odd about a message of magic 0 or 1."""
    cell = heads.cell
    codec = cell(kernel.ATTRIBUTES, row) & CODEC_MASK
    start = cell(kernel.SECTION_START, row)
    key = int.from_bytes(buf[start : start + 4], "big", signed=True) if start >= 0 else -1
    if codec and key >= 0:
        yield "wrapper-key-set", f"a wrapper has a key of {key} bytes"
    if key < -1:
        yield "size-below-null", f"the key's length is {key}"


def wrapper_words(heads: CellTable, row: int, data: bytes | bytearray) -> Iterator[Words]:
    """Say what is odd about the messages inside a wrapper of magic 0 or 1, uncompressed."""
    magic, offset = heads.cell(kernel.MAGIC, row), heads.cell(kernel.LAST_OFFSET, row)
    at, last, newest = 0, -1, -1
    smallest = smallest_size(0)
    while at + smallest <= len(data):
        inner, _, crc, inner_magic, _ = MESSAGE_V0.packed.unpack_from(data, at)
        end = at + size_of(data, at)
        if not at + smallest <= end <= len(data):
            break
        if inner_magic != magic:
            yield (
                "wrapper-magic-mixed",
                f"a message inside the wrapper has magic {inner_magic}, the wrapper has {magic}",
            )
        if inner <= last:
            yield "wrapper-offsets-falling", f"offset {inner} follows {last} inside the wrapper"
        if checksums.crc32(data, at + checked_from(0), end) != crc:
            yield "message-crc-mismatch", f"the message at offset {inner} inside the wrapper has a wrong CRC"
        if inner_magic == 1:
            newest = max(newest, MESSAGE_V1.read("timestamp", data, at))
        at, last = end, inner
    declared = heads.cell(kernel.MAX_TIMESTAMP, row)
    if magic == 1 and at and not heads.cell(kernel.ATTRIBUTES, row) & LOG_APPEND_TIME and newest != declared:
        yield "max-timestamp-wrong", f"its timestamp is {declared}, the newest one inside is {newest}"
    if magic == 1 and 0 < offset < last:
        yield "wrapper-offset-too-small", f"its offset is {offset}, that of the last message inside is {last}"
    if magic == 0 and at and offset != last:
        yield "wrapper-offset-wrong", f"its offset is {offset}, that of the last message inside is {last}"

"""What a batch's header and records must agree in although the checksum holds: a producer may send anything.

Rules that Kafka itself does not look at when it reads are notes and warnings, those at which it throws are errors.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from kafkalog.format import kernel
from kafkalog.format.batch import CODEC_MASK, DELETE_HORIZON, LOG_APPEND_TIME, TRANSACTIONAL, Batch, Block
from kafkalog.format.control import ControlType, control_record
from kafkalog.format.layout import CONTROL_RECORD_KEY, END_TXN_MARKER, MESSAGE_V0, RECORD_BATCH
from kafkalog.format.message import MalformedError

__all__ = ["control_words", "header_words", "message_words", "record_words", "wrapper_words"]

_USED_BITS: Final = 0x7F  # of a magic 2 batch's attributes
_INT64_END: Final = 2**63
_ZSTD: Final = 4
_MESSAGE: Final = 26  # bytes of the shortest message

Words = tuple[str, str]  # a finding's code, and what it says of the batch


class _Rule(NamedTuple):
    """A rule of headers: what breaks it, and what is said then."""

    code: str
    broken: Callable[[Batch], bool]
    words: Callable[[Batch], str]


def _delta(batch: Batch) -> int:
    """Return the header's last_offset_delta; the sum of offsets may have wrapped."""
    delta = batch.last_offset - (batch.base_offset or 0)
    return (delta + _INT64_END) % (2 * _INT64_END) - _INT64_END


def _count(batch: Batch) -> int:
    return batch.records_count or 0


_RULES: Final = (
    _Rule("last-offset-delta-negative", lambda b: _delta(b) < 0, lambda b: f"its last offset delta is {_delta(b)}"),
    _Rule(
        "offset-overflow", lambda b: b.last_offset < (b.base_offset or 0) and _delta(b) >= 0,
        lambda b: f"offset {b.base_offset} and {_delta(b)} more pass the largest offset",
    ),
    _Rule(
        "records-count-above-offsets", lambda b: _count(b) > max(_delta(b), -1) + 1,
        lambda b: f"it counts {b.records_count} records and has {_delta(b) + 1} offsets",
    ),
    _Rule(
        "empty-batch-odd", lambda b: not _count(b) and b.size == RECORD_BATCH.size and b.attributes & CODEC_MASK != 0,
        lambda b: f"it is empty and names the codec {b.codec}",
    ),
    _Rule(
        "attribute-bits-unused", lambda b: b.attributes & ~_USED_BITS != 0,
        lambda b: f"its attributes are {b.attributes & 0xFFFF:#06x}: {b.attributes & 0xFF80:#06x} means nothing",
    ),
    _Rule(
        "delete-horizon-odd", lambda b: b.attributes & DELETE_HORIZON != 0 and (b.base_timestamp or 0) <= 0,
        lambda b: f"it has a delete horizon, which is {b.base_timestamp}",
    ),
    _Rule(
        "timestamp-below-none", lambda b: b.max_timestamp < -1, lambda b: f"its largest timestamp is {b.max_timestamp}"
    ),
    _Rule(
        "leader-epoch-below-none", lambda b: b.partition_leader_epoch < -1,
        lambda b: f"its leader epoch is {b.partition_leader_epoch}",
    ),
    _Rule("producer-id-below-none", lambda b: b.producer_id < -1, lambda b: f"its producer id is {b.producer_id}"),
    _Rule(
        "producer-epoch-missing", lambda b: b.producer_id >= 0 and b.producer_epoch < 0,
        lambda b: f"producer {b.producer_id} has the epoch {b.producer_epoch}",
    ),
    _Rule(
        "producer-id-missing", lambda b: b.producer_id == -1 and b.producer_epoch >= 0,
        lambda b: f"it has no producer id and the producer epoch {b.producer_epoch}",
    ),
    _Rule(
        "sequence-missing", lambda b: b.producer_id >= 0 and not b.is_control and b.base_sequence < 0,
        lambda b: f"producer {b.producer_id}'s data has the sequence {b.base_sequence}",
    ),
    _Rule(
        "transaction-without-producer", lambda b: b.is_transactional and b.producer_id < 0,
        lambda b: f"it is of a transaction and has the producer id {b.producer_id}",
    ),
    _Rule(
        "control-batch-sequence", lambda b: b.is_control and b.base_sequence >= 0,
        lambda b: f"it holds control records and has the sequence {b.base_sequence}",
    ),
    _Rule(
        "control-batch-compressed", lambda b: b.is_control and b.attributes & CODEC_MASK != 0,
        lambda b: f"it holds control records and is compressed with {b.codec}",
    ),
    _Rule(
        "marker-count", lambda b: b.is_control and b.is_transactional and _count(b) > 1,
        lambda b: f"it holds a transaction's end and counts {b.records_count} records",
    ),
)  # fmt: skip


def header_words(heads: Block, row: int) -> Iterator[Words]:
    """Say what a magic 2 batch's header has that no header should."""
    if not _suspect(heads, row):
        return
    batch = Batch.of(heads, row)
    for rule in _RULES:
        if rule.broken(batch):
            yield rule.code, rule.words(batch)


def _suspect(heads: Block, row: int) -> bool:
    """Say whether a header may break a rule: a quick look, since nearly none does."""
    cells, at = heads.cells, heads.capacity
    attributes = cells[kernel.ATTRIBUTES * at + row]
    if attributes & ~(CODEC_MASK | LOG_APPEND_TIME | TRANSACTIONAL):
        return True
    count = cells[kernel.COUNT * at + row]
    offsets = cells[kernel.LAST_OFFSET * at + row] - cells[kernel.BASE_OFFSET * at + row] + 1
    producer, epoch = cells[kernel.PRODUCER_ID * at + row], cells[kernel.PRODUCER_EPOCH * at + row]
    if not 0 < count <= offsets or producer < -1 or cells[kernel.LEADER_EPOCH * at + row] < -1:
        return True
    if cells[kernel.MAX_TIMESTAMP * at + row] < -1:
        return True
    if producer < 0:
        return bool(attributes & TRANSACTIONAL) or epoch >= 0
    return epoch < 0 or cells[kernel.BASE_SEQUENCE * at + row] < 0


_ODD: Final = (
    (kernel.OVERLONG, "number-overlong", "a number in its records has more bytes than it needs"),
    (kernel.DROPPED, "number-bits-dropped", "a number in its records has bits that no number of its kind has"),
    (kernel.ATTRIBUTES_SET, "record-attributes-set", "a record's attributes are not 0"),
    (kernel.BELOW_NULL, "size-below-null", "a key's or value's length is below -1"),
    (kernel.REPEATED, "offset-delta-repeated", "two records behind one another have the same offset"),
    (kernel.FALLING, "offset-delta-falling", "a record's offset is below that of the record before it"),
)
_found: Final = array("q", bytes(32))


def record_words(heads: Block, row: int, buf: bytes | bytearray | memoryview, start: int, stop: int) -> Iterator[Words]:
    """Say what is odd about a magic 2 batch's records in ``buf[start:stop]``, compressed no more."""
    count = heads.cell(kernel.COUNT, row)
    flags = kernel.oddities(buf, start, stop, count, _found)
    whole, smallest, largest, newest = _found
    base, last = heads.cell(kernel.BASE_OFFSET, row), heads.cell(kernel.LAST_OFFSET, row)
    said = [(code, words) for flag, code, words in _ODD if flags & flag]
    if whole and smallest < 0:
        said.append(("offset-delta-negative", f"a record's offset delta is {smallest}"))
    if whole and base + largest > last >= base:
        said.append(("offset-delta-above-last", f"a record's offset is {base + largest}, behind the batch's last"))
    declared = heads.cell(kernel.MAX_TIMESTAMP, row)
    newest += heads.cell(kernel.BASE_TIMESTAMP, row)
    if whole == count and whole and not heads.cell(kernel.ATTRIBUTES, row) & LOG_APPEND_TIME and newest != declared:
        said.append(("max-timestamp-wrong", f"its header's largest timestamp is {declared}, its records' {newest}"))
    return iter(said)


def control_words(heads: Block, row: int, key: bytes | None, value: bytes | None) -> Iterator[Words]:
    """Say what is wrong with a control record."""
    attributes = heads.cell(kernel.ATTRIBUTES, row)
    try:
        record = control_record(key, value)
    except MalformedError as error:
        yield error.code, str(error)
        return
    ends = record.type in (ControlType.ABORT, ControlType.COMMIT)
    if record.version > 0:
        yield "control-version-newer", f"a control record's version is {record.version}, read as 0"
    if len(key or b"") > CONTROL_RECORD_KEY.size:
        yield "control-key-long", f"a control record's key has {len(key or b'')} bytes, of which 4 are read"
    if record.name == "unknown":
        yield "control-type-unknown", f"a control record's type is {record.type}"
    if ends and len(value or b"") > END_TXN_MARKER.size:
        yield "marker-value-long", f"a marker's value has {len(value or b'')} bytes, of which 6 are read"
    if ends and int.from_bytes((value or b"")[:2], "big") > 0:
        yield "marker-version-newer", "a marker's version is above 0, read as 0"
    if ends and not attributes & TRANSACTIONAL:
        yield "marker-not-transactional", "it ends a transaction and is not marked as one's"
    if not ends and attributes & TRANSACTIONAL:
        yield "control-type-transactional", f"a control record of type {record.type} stands in a transaction's batch"


def message_words(heads: Block, row: int, buf: memoryview) -> Iterator[Words]:
    """Say what a message of magic 0 or 1 has that none should."""
    cell = heads.cell
    attributes, magic = cell(kernel.ATTRIBUTES, row), cell(kernel.MAGIC, row)
    codec = attributes & CODEC_MASK
    used = CODEC_MASK | LOG_APPEND_TIME if magic else CODEC_MASK
    if attributes & ~used:
        yield (
            "attribute-bits-unused",
            f"its attributes are {attributes:#04x}, of which {attributes & ~used:#04x} mean nothing",
        )
    if codec == _ZSTD:
        yield "codec-not-of-magic", f"a message of magic {magic} is compressed with zstd"
    if cell(kernel.MAX_TIMESTAMP, row) < -1:
        yield "timestamp-below-none", f"its timestamp is {cell(kernel.MAX_TIMESTAMP, row)}"
    start = cell(kernel.SECTION_START, row)
    key = int.from_bytes(buf[start : start + 4], "big", signed=True) if start >= 0 else -1
    if codec and key >= 0:
        yield "wrapper-key-set", f"a wrapper has a key of {key} bytes"
    if key < -1:
        yield "size-below-null", f"the key's length is {key}"


def wrapper_words(heads: Block, row: int, data: bytes | bytearray) -> Iterator[Words]:
    """Say what is odd about the messages inside a wrapper of magic 0 or 1, compressed no more."""
    magic, offset = heads.cell(kernel.MAGIC, row), heads.cell(kernel.LAST_OFFSET, row)
    at, last = 0, -1
    while at + _MESSAGE <= len(data):
        inner, size, crc, inner_magic = MESSAGE_V0.packed.unpack_from(data, at)[:4]
        end = at + 12 + size
        if not at + _MESSAGE <= end <= len(data):
            break
        if inner_magic != magic:
            yield "wrapper-magic-mixed", f"a message inside has magic {inner_magic}, the wrapper {magic}"
        if inner <= last:
            yield "wrapper-offsets-falling", f"offset {inner} follows {last} inside the wrapper"
        if kernel.crc32(data, at + 16, end) != crc:
            yield "wrapper-inner-checksum", f"the message at {inner} inside the wrapper has a wrong checksum"
        at, last = end, inner
    if magic == 1 and 0 < offset < last:
        yield "wrapper-offset-too-small", f"its offset is {offset}, its last message's inside is {last}"
    if magic == 0 and at and offset != last:
        yield "wrapper-offset-wrong", f"its offset is {offset}, its last message's {last}"

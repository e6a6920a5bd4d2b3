"""Segments and side files taken apart, changed by their structure, and put together with checksums that hold again.

Bytes changed at random almost never pass a checksum: what is behind it is reached only by who makes it right again.
"""

from __future__ import annotations

import random
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

import snappy
import zstandard
from crc32c import crc32c

import build  # the tests' helpers
from hostile import HOSTILE
from kafkalog.kafka.layout import (
    ABORTED_TXN,
    CONTROL_RECORD_KEY,
    END_TXN_MARKER,
    MESSAGE_V0,
    OFFSET_INDEX_ENTRY,
    PRODUCER_SNAPSHOT,
    PRODUCER_STATE_ENTRY,
    RECORD_BATCH,
    TIME_INDEX_ENTRY,
    Layout,
)

__all__ = ["changed_checkpoint", "changed_entries", "changed_properties", "changed_segment", "changed_snapshot", "edge"]

_EDGES: Final = (0, 1, 2, 7, 63, 64, 127, 128, 255, 2**15 - 1, 2**15, 2**16, 2**31 - 1, 2**31, 2**32 - 1, 2**48, 2**62, 2**63 - 2, 2**63 - 1)  # fmt: skip
_CRC_FROM: Final = RECORD_BATCH.position("attributes")
_HEAD: Final = RECORD_BATCH.size
_MOST: Final = 60  # batches of a segment: each run must be short
_LIES: Final = (
    b"\xff" * 5,
    b"\x80" * 10,
    b"\xfe\xff\xff\xff\x0f",
    b"\x01",
    b"\x03",
    b"\xff\xff\xff\xff\x0f",
)  # varints


def edge(chance: random.Random, old: int, bits: int) -> int:
    """Return another number for a field of so many bits: an extreme, near the old one, or any."""
    match chance.randrange(5):
        case 0:
            number = old + chance.choice((-2, -1, 1, 2))
        case 1:
            number = old ^ 1 << chance.randrange(bits)
        case 2:
            number = chance.getrandbits(bits)
        case _:
            number = chance.choice(_EDGES) * chance.choice((1, -1))
    return (number + (1 << bits - 1)) % (1 << bits) - (1 << bits - 1)


@dataclass
class _Record:
    """A record of magic 2 in its parts; `lie` stands in for one of its sizes."""

    attributes: int
    time: int
    delta: int
    key: bytes | None
    value: bytes | None
    headers: list[tuple[bytes | None, bytes | None]] = field(default_factory=list)
    lie: tuple[int, bytes] | None = None

    def packed(self) -> bytes:
        parts = [
            bytes([self.attributes & 255]),
            _varint(self.time),
            _varint(self.delta),
            *_sized(self.key),
            *_sized(self.value),
        ]
        parts.append(_varint(len(self.headers)))
        for name, value in self.headers:
            parts += [*_sized(name), *_sized(value)]
        if self.lie is not None:
            parts[self.lie[0] % len(parts)] = self.lie[1]
        body = b"".join(parts)
        return _varint(len(body)) + body


def _sized(data: bytes | None) -> tuple[bytes, bytes]:
    return (_varint(-1), b"") if data is None else (_varint(len(data)), data)


def _varint(number: int) -> bytes:
    number = (number << 1 ^ number >> 63) & 0xFFFFFFFFFFFFFFFF
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes([*out, number])


class _Reader:
    """Reads varints and bytes one after the other."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def varint(self) -> int:
        number = shift = 0
        while True:
            byte = self.data[self.at]
            self.at += 1
            number |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return number >> 1 ^ -(number & 1)

    def sized(self) -> bytes | None:
        size = self.varint()
        if size < 0:
            return None
        self.at += size
        return self.data[self.at - size : self.at]


def _records(data: bytes, count: int) -> list[_Record]:
    reader, found = _Reader(data), []
    for _ in range(min(count, 500)):
        reader.varint()
        reader.at += 1
        record = _Record(data[reader.at - 1], reader.varint(), reader.varint(), reader.sized(), reader.sized())
        record.headers = [(reader.sized(), reader.sized()) for _ in range(reader.varint())]
        found.append(record)
    return found


# Broken streams, codecs that are not unpacked here, records that run past their end.
_NOT_READ: Final = (zlib.error, zstandard.ZstdError, snappy.UncompressError, KeyError, IndexError)
_UNPACK: Final[dict[int, Callable[[bytes], bytes]]] = {
    0: bytes,
    1: lambda data: zlib.decompress(data, 31),
    4: lambda data: zstandard.ZstdDecompressor().decompress(data, max_output_size=1 << 22),
}


def _batches(data: bytes) -> list[bytes]:
    """Cut a segment at its batches; what follows the last whole one is the last part."""
    parts, at = [], 0
    while at + 17 <= len(data) and len(parts) < _MOST:
        end = at + 12 + int.from_bytes(data[at + 8 : at + 12], "big", signed=True)
        if not at + 14 < end <= len(data):
            break
        parts.append(data[at:end])
        at = end
    rest = data[at : at + 5000]
    return [*parts, rest] if rest else parts


def changed_segment(data: bytes, chance: random.Random, others: list[bytes]) -> bytes:
    """Change a segment in some places: whole batches, fields of headers and records, then perhaps bytes."""
    parts = _batches(data)
    for _ in range(chance.randint(1, 6)):
        at = chance.randrange(len(parts) + 1)
        here = parts[at] if at < len(parts) else b""
        match chance.randrange(14):
            case 0:
                del parts[at : at + chance.randint(1, 3)]
            case 1:
                parts[at:at] = parts[at : at + chance.randint(1, 3)]
            case 2:
                parts[at:at] = chance.sample(found, 1) if (found := _batches(chance.choice(others))) else []
            case 3:
                chance.shuffle(parts)
            case 4:
                parts.insert(at, _marker(chance))
            case 12:
                parts.insert(at, _wrapper(chance))
            case 5:
                parts.insert(at, bytes(chance.choice((1, 16, 61, 4096))))
            case 6 if here:
                parts[at] = here[: chance.randrange(len(here))]
            case 7 if here:
                parts[at] = build.flipped(here, chance.randrange(8 * len(here)))
            case _ if len(here) >= _HEAD and here[16] == 2:
                parts[at] = _changed_batch(here, chance)
            case _ if len(here) >= MESSAGE_V0.size:
                parts[at] = _changed_message(here, chance)
    return b"".join(parts)


def _marker(chance: random.Random) -> bytes:
    """Write a control batch: a marker, or with a type, version and size that none has."""
    key = CONTROL_RECORD_KEY.packed.pack(
        edge(chance, 0, 16) if chance.random() < 0.3 else 0, chance.choice((0, 1, 2, 3, 4, 5, 6, 7, -1, 99))
    )
    value = END_TXN_MARKER.packed.pack(chance.choice((0, 0, 1, -1, 32767)), edge(chance, 0, 32))
    cut = chance.choice((None, None, None, 0, 1, 5))
    record = build.record(
        chance.choice((value, value, None, value[:cut])), chance.choice((key, key, key, None, key[:cut]))
    )
    return build.batch(
        record, attributes=chance.choice((0x30, 0x30, 0x20)), base_offset=chance.choice((0, 1, 5, 50, edge(chance, 9, 64))),
        producer_id=chance.choice((0, 1, 2, 3, 1000, edge(chance, 0, 64))), producer_epoch=chance.choice((0, 1, edge(chance, 0, 16))),
    )  # fmt: skip


def _wrapper(chance: random.Random) -> bytes:
    """Write a compressed message of magic 0 or 1 around others, of which one is changed or cut."""
    magic = chance.randrange(2)
    offsets = chance.choice(((0, 1, 2), (5, 6, 7), (2, 1, 0), (0, 0), (), (2**62, -1)))
    inner = [build.message(chance.choice((b"v", None, b"")), offset=o, magic=magic) for o in offsets]
    if inner:
        inner[0] = chance.choice((inner[0], _changed_message(inner[0], chance), inner[0][: chance.randrange(40)]))
    whole = build.wrapper(
        *inner, codec=chance.randint(1, 3), offset=chance.choice((2, 7, edge(chance, 2, 64))), magic=magic
    )
    return _changed_message(whole, chance) if chance.random() < 0.3 else whole


def _changed_batch(batch: bytes, chance: random.Random) -> bytes:
    """Change fields of a batch of magic 2, or its records and their codec; the CRC and the length hold again."""
    head, payload = bytearray(batch[:_HEAD]), batch[_HEAD:]
    if chance.random() < 0.6:
        payload = _changed_records(head, payload, chance)
    if chance.random() < 0.6:
        for name in chance.sample(RECORD_BATCH.names, chance.randint(1, 2)):
            _change(RECORD_BATCH, name, head, chance)
        head[16] = 2 if chance.random() < 0.9 else head[16]
    RECORD_BATCH.write_field("batch_length", head, len(head) - 12 + len(payload)) if chance.random() < 0.95 else None
    RECORD_BATCH.write_field("crc", head, crc32c(bytes(head[_CRC_FROM:]) + payload))
    return bytes(head) + payload


def _change(layout: Layout, name: str, data: bytearray, chance: random.Random) -> None:
    at = layout.names.index(name)
    end = layout.size if at == len(layout.names) - 1 else layout.position(layout.names[at + 1])
    old, bits = layout.read_field(name, data), 8 * (end - layout.position(name))
    new = edge(chance, old, bits)
    layout.write_field(name, data, new % (1 << 32) if name == "crc" else new)


def _changed_records(head: bytearray, payload: bytes, chance: random.Random) -> bytes:
    codec = RECORD_BATCH.read_field("attributes", head) & 7
    try:
        data = snappy.uncompress(payload) if codec == 2 and payload[:1] != b"\x82" else _UNPACK[codec](payload)
        records = _records(data, RECORD_BATCH.read_field("records_count", head))
    except _NOT_READ:  # what can't be taken apart is left as it is
        return payload
    for _ in range(chance.randint(1, 3)):
        if records:
            _change_record(chance.choice(records), chance, records)
    match chance.randrange(8):
        case 0:
            records = records[: chance.randrange(len(records) + 1)]
        case 1:
            records += records[: chance.randint(1, 20)]
    if chance.random() < 0.7:
        RECORD_BATCH.write_field("records_count", head, len(records))
    packed = b"".join(record.packed() for record in records)
    if chance.random() < 0.3:
        codec = chance.randrange(5)
        RECORD_BATCH.write_field("attributes", head, RECORD_BATCH.read_field("attributes", head) & ~7 | codec)
    elif codec == 2:
        return bytes(snappy.compress(packed))
    packed = build.PACK[codec](packed) if codec < 5 else packed
    return packed[: chance.randrange(len(packed) + 1)] if chance.random() < 0.05 else packed


def _change_record(record: _Record, chance: random.Random, records: list[_Record]) -> None:
    other = chance.choice(records)
    match chance.randrange(10):
        case 0:
            record.delta = edge(chance, record.delta, 32)
        case 1:
            record.time = edge(chance, record.time, 64)
        case 2:
            record.key = chance.choice((None, b"", other.key, other.value))
        case 3:
            record.value = chance.choice((None, b"", other.value, other.key))
        case 4:
            record.headers = [(chance.choice(_TEXTS), chance.choice((None, *_TEXTS)))] * chance.choice((0, 1, 3, 200))
        case 5:
            record.lie = (chance.randrange(20), chance.choice(_LIES))
        case 6:
            record.attributes = chance.randrange(256)
        case 7:
            record.key = _changed_message_bytes(record.key, chance)
        case _:
            record.value = _changed_message_bytes(record.value, chance)


_TEXTS: Final = tuple(HOSTILE.values())


def _changed_message_bytes(data: bytes | None, chance: random.Random) -> bytes:
    """Change what a coordinator or a controller wrote: its version, a length in it, a text in it, some bits."""
    out = bytearray(data or b"\0\0")
    at = chance.randrange(len(out) + 1)
    match chance.randrange(6):
        case 0:
            out[:2] = chance.choice((0, 1, 2, 3, 5, 99, 32767, 65535)).to_bytes(2, "big")
        case 1:
            out[at : at + 4] = edge(chance, 0, 32).to_bytes(4, "big", signed=True)
        case 2:
            text = chance.choice(_TEXTS)
            out[at:at] = len(text).to_bytes(2, "big") + text
        case 3:
            out[at : at + 1] = chance.choice(_LIES)
        case 4:
            del out[at:]
        case _:
            return build.flipped(bytes(out), chance.randrange(8 * len(out)))
    return bytes(out[:5000])


def _changed_message(message: bytes, chance: random.Random) -> bytes:
    """Change a field of a message of magic 0 or 1, or bytes of its content; the CRC and the size hold again."""
    data = bytearray(message)
    if chance.random() < 0.5:
        _change(MESSAGE_V0, chance.choice(("offset", "attributes", "magic")), data, chance)
    else:
        at = chance.randrange(17, len(data)) if len(data) > 17 else 0
        data[at : at + 4] = edge(chance, 0, 32).to_bytes(4, "big", signed=True)
    MESSAGE_V0.write_field("message_size", data, len(data) - 12)
    MESSAGE_V0.write_field("crc", data, zlib.crc32(bytes(data[16:])))
    return bytes(data)


def changed_entries(data: bytes, suffix: str, chance: random.Random) -> bytes:
    """Change an entry of an index or a transaction index, repeat some, or cut the file."""
    layout = {".index": OFFSET_INDEX_ENTRY, ".timeindex": TIME_INDEX_ENTRY}.get(suffix, ABORTED_TXN)
    entries = [bytearray(data[at : at + layout.size]) for at in range(0, min(len(data), 4000), layout.size)]
    entries = [entry for entry in entries if len(entry) == layout.size] or [bytearray(layout.size)]
    for _ in range(chance.randint(1, 3)):
        entry = chance.choice(entries)
        _change(layout, chance.choice(layout.names), entry, chance)
        if chance.random() < 0.3:
            entries.insert(chance.randrange(len(entries)), bytearray(entry))
    return b"".join(entries)[: None if chance.random() < 0.8 else -chance.randint(1, layout.size)]


def changed_snapshot(data: bytes, chance: random.Random) -> bytes:
    """Change entries of a producer snapshot; its CRC holds again."""
    size = PRODUCER_STATE_ENTRY.size
    body = data[PRODUCER_SNAPSHOT.size :]
    entries = [bytearray(body[at : at + size]) for at in range(0, len(body) - size + 1, size)][:100]
    entries = entries or [bytearray(size)]
    for _ in range(chance.randint(1, 3)):
        entry = chance.choice(entries)
        _change(PRODUCER_STATE_ENTRY, chance.choice(PRODUCER_STATE_ENTRY.names), entry, chance)
        if chance.random() < 0.3:
            entries.append(bytearray(entry))
    count = len(entries) if chance.random() < 0.8 else edge(chance, len(entries), 32)
    covered = count.to_bytes(4, "big", signed=True) + b"".join(entries)
    version = 1 if chance.random() < 0.8 else edge(chance, 1, 16)
    return version.to_bytes(2, "big", signed=True) + crc32c(covered).to_bytes(4, "big") + covered


_NUMBERS: Final = (*(str(number * sign) for number in _EDGES for sign in (1, -1)), "9" * 30, "x", "", "٣", "1e3", "+1")


def changed_checkpoint(data: bytes, chance: random.Random) -> bytes:
    """Change the lines of a checkpoint and the numbers in them."""
    lines = [line.split(b" ") for line in data[:20_000].split(b"\n")]
    for _ in range(chance.randint(1, 3)):
        line = chance.choice(lines)
        match chance.randrange(5):
            case 0:
                lines.insert(chance.randrange(len(lines) + 1), list(line))
            case 1 if len(lines) > 1:
                lines.remove(line)
            case _:
                line[chance.randrange(len(line))] = chance.choice((*(n.encode() for n in _NUMBERS), *_TEXTS))
    return b"\n".join(b" ".join(line) for line in lines)


def changed_properties(data: bytes, chance: random.Random) -> bytes:
    """Change the values of a file of properties, or of the JSON of the quorum state."""
    at = chance.randrange(len(data) + 1)
    new = chance.choice((*(n.encode() for n in _NUMBERS), *_TEXTS, b"null", b"[[[[", b'{"a":', b"\n\n", b"="))
    return data[:at] + new + data[at + chance.choice((0, len(new), 3)) :]

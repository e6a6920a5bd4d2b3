"""Keys and values of records of internal topics, drawn for hypothesis, and as a kernel's table or a segment."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from hypothesis import strategies as st

import build
from kafkalog.kafka.batch import CellTable
from kafkalog.kafka.internal_block import MEMBER_FIELDS
from kafkalog.kafka.internal_topics import Internal
from kafkalog.kafka.message_definitions import message
from kafkalog.kafka.message_schema import Message
from kafkalog.kafka.message_writer import encode, encode_uvarint
from kafkalog.kernel import buffers
from kafkalog.segments.internal_blocks import TOPICS
from messages import KINDS, messages

Pair = tuple[bytes | None, bytes | None]

NAMES: Final = {internal: name for name, internal in TOPICS.items()}


def block_of(pairs: list[Pair]) -> tuple[bytes, CellTable]:
    """Put keys and values into a buffer, with the kernel's table of them."""
    recs, buf = CellTable(len(buffers.RECORD_COLUMNS), len(pairs) + 3), b""
    recs.count = len(pairs)
    for row, pair in enumerate(pairs):
        for data, start, size in zip(
            pair, (buffers.KEY_START, buffers.VALUE_START), (buffers.KEY_SIZE, buffers.VALUE_SIZE), strict=True
        ):
            recs.set(start, row, len(buf))
            recs.set(size, row, -1 if data is None else len(data))
            buf += data or b""
    return buf, recs


def written(root: Path, internal: Internal, pairs: list[Pair], number: int) -> Path:
    """Write a segment of an internal topic, some records a batch, one of them transactional, and a control batch."""
    folder = root / f"{NAMES[internal]}-{number}"
    folder.mkdir(parents=True)
    data, offset = b"", 0
    for at in range(0, len(pairs), 3):
        records = [build.record(value, key, delta=delta) for delta, (key, value) in enumerate(pairs[at : at + 3])]
        about = {"attributes": build.TRANSACTIONAL, "producer_id": 7} if at % 2 else {}
        data += build.batch(*records, base_offset=offset, **about)
        offset += len(records)
    data += build.marker(1, base_offset=offset, producer_id=7)
    path = folder / f"{0:020}.log"
    path.write_bytes(data)
    return path


@st.composite
def inside(draw: st.DrawFn, schema: Message) -> bytes:
    """Draw a message of the consumer protocol, of a version that is known or not, sometimes cut."""
    version = draw(st.integers(0, schema.newest))
    data = encode(schema, version, draw(messages(schema, version)))
    said = draw(st.sampled_from([version] * 3 + [-1, 0, schema.newest + 1, 32767]))
    return said.to_bytes(2, "big", signed=True) + data[: draw(st.sampled_from([len(data)] * 3 + [1]))]


@st.composite
def drawn(draw: st.DrawFn, internal: Internal) -> Pair:
    """Draw a record of a topic, often with a byte changed, or anything."""
    _, kind, version = draw(st.sampled_from([one for one in KINDS if one[0] is internal]))
    fields = draw(messages(kind.value, version))
    if kind.name == "GroupMetadata" and draw(st.booleans()):
        fields["protocolType"] = "consumer"
        for member in fields["members"]:
            for name, schema in MEMBER_FIELDS.items():
                member[name] = draw(inside(message("consumer_protocol", schema)))
    value = encode(kind.value, version, fields)
    key = (
        None if kind.key is None else kind.number.to_bytes(2, "big") + encode(kind.key, 0, draw(messages(kind.key, 0)))
    )
    said = draw(st.sampled_from([version] * 5 + [-1, 0, 1, 99, 300, 32767]))
    if key is None:
        frame = encode_uvarint(draw(st.sampled_from([1] * 8 + [0, 2, 128])))
        value = (
            frame
            + encode_uvarint(draw(st.sampled_from([kind.number] * 8 + [200, 5000])))
            + encode_uvarint(max(said, 0))
            + value
        )
    else:
        value = said.to_bytes(2, "big", signed=True) + value
    match draw(st.sampled_from(["whole"] * 3 + ["key", "value", "cut", "none", "any", "longer"])):
        case "key" if key:
            at = draw(st.integers(0, len(key) - 1))
            key = key[:at] + draw(st.binary(max_size=2)) + key[at + 1 :]
        case "value":
            at = draw(st.integers(0, len(value) - 1))
            value = value[:at] + draw(st.binary(max_size=2)) + value[at + 1 :]
        case "cut":
            value = value[: draw(st.integers(0, len(value)))]
        case "longer":
            value += b"\0"
        case "none":
            return key, None
        case "any":
            return draw(st.none() | st.binary(max_size=6)), draw(st.none() | st.binary(max_size=6))
    return key, value

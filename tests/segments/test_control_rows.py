"""The table ``control``: from columns, what each control record alone says."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from typing import Any, Final

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import build
import kafkalog as library
from invoke import kafkalog
from kafkalog.findings import Finding
from kafkalog.kafka.batch import Batch
from kafkalog.kafka.control import CONTROL_MESSAGES, control_record
from kafkalog.kafka.layout import CONTROL_RECORD_KEY
from kafkalog.kafka.message import MalformedError
from kafkalog.kafka.message_definitions import message
from kafkalog.kafka.message_json import plain
from kafkalog.kafka.message_writer import encode
from kafkalog.kernel import headers, interpreted
from kafkalog.segments import blocks
from kafkalog.segments.blocks import Rows
from kafkalog.segments.file_rows import BlockShape, segment_rows
from kafkalog.segments.readers import control_finding
from kafkalog.segments.selection import Selection
from kafkalog.tables import SCHEMA_VERSION
from kafkalog.tables.arrow import arrow_batches, arrow_schema
from kafkalog.tables.dump_tables import CONTROL
from messages import messages

FORMS: Final = pytest.mark.parametrize("compiled", [True, False] if headers.COMPILED else [False])
PLAIN: Final = interpreted("records", "tests_control_interpreted_selecting")
Pair = tuple[bytes | None, bytes | None]
int16s = st.integers(-(2**15), 2**15 - 1)


@st.composite
def controls(draw: st.DrawFn) -> Pair:
    """Draw a control record: the end of a transaction, a message of KRaft's, of a type nobody knows, or spoiled."""
    kind = draw(st.sampled_from([0, 1, *CONTROL_MESSAGES]) | int16s)
    key: bytes | None = bytes(CONTROL_RECORD_KEY.construct.build({"version": draw(st.just(0) | int16s), "type": kind}))
    value: bytes | None = draw(st.binary(max_size=8)) if kind not in (0, 1) else bytes(2) + draw(st.binary(max_size=4))
    if kind in CONTROL_MESSAGES:
        schema = message("control_records", CONTROL_MESSAGES[kind])
        value = encode(schema, 0, draw(messages(schema, 0)))
    match draw(st.sampled_from(["whole"] * 5 + ["key", "value", "cut", "none", "longer"])):
        case "key":
            key = draw(st.none() | st.binary(max_size=5))
        case "value" if value:
            at = draw(st.integers(0, len(value) - 1))
            value = value[:at] + draw(st.binary(max_size=2)) + value[at + 1 :]
        case "cut" if value:
            value = value[: draw(st.integers(0, len(value)))]
        case "none":
            value = None
        case "longer":
            value = (value or b"") + b"\0"
    return key, value


def written(pairs: list[Pair]) -> bytes:
    """Put control records into batches of three, among other records."""
    data = b""
    for at in range(0, len(pairs), 3):
        some = [build.record(value, key, delta=delta) for delta, (key, value) in enumerate(pairs[at : at + 3])]
        data += build.batch(build.record(), base_offset=at // 3 * 4, partition_leader_epoch=at)
        data += build.batch(*some, base_offset=at // 3 * 4 + 1, attributes=build.CONTROL, partition_leader_epoch=at)
    return data


def alone(data: bytes) -> Iterator[tuple[Any, ...] | Finding]:
    """Yield the row of each control record by itself, or what is wrong with it."""
    for chunk in library.scan(data):
        for block in chunk.records():
            for number, row in enumerate(block.recs.column(0)):
                batch, record = Batch.of(chunk.heads, row), block.record(number)
                if not batch.is_control:
                    continue
                try:
                    control = control_record(record.key, record.value)
                except MalformedError as error:
                    yield control_finding("f", batch, record, error)
                    continue
                yield CONTROL.of(
                    file="f", offset=record.offset, timestamp_ms=record.timestamp, type=control.name,
                    type_number=control.type, version=control.version, coordinator_epoch=control.coordinator_epoch,
                    data=plain(control.data), producer_id=batch.producer_id, producer_epoch=batch.producer_epoch,
                    partition_leader_epoch=batch.partition_leader_epoch, batch_position=batch.position,
                )  # fmt: skip


@FORMS
@given(pairs=st.lists(controls(), max_size=9), most=st.sampled_from([0, 30, 1 << 21]))
def test_rows_of_any_control_records_are_those_of_each_alone(compiled: bool, pairs: list[Pair], most: int) -> None:
    """In both dialects of JSON, with findings at their places, however much text is made at once."""
    data = written(pairs)
    wanted = list(alone(data))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blocks, "MOST_TEXT", most)
        if not compiled:
            patch.setattr(blocks, "kernel_records", PLAIN)
        for spaced in (False, True):
            found: list[Any] = []
            for item in segment_rows(
                "f", library.scan(data), {"control": CONTROL.names}, Selection(), shape=BlockShape(spaced=spaced)
            ):
                found += item.block.rows(item.start, item.stop) if isinstance(item, Rows) else [item]
            assert repr(found) == repr(wanted)


@given(pairs=st.lists(controls(), max_size=6))
@settings(max_examples=20, deadline=None)
def test_all_formats_have_the_same_control_records(pairs: list[Pair]) -> None:
    """ndjson and Arrow are byte for byte what the rows alone would be."""
    data = written(pairs)
    rows = [one for one in alone(data) if not isinstance(one, Finding)]
    rows = [("-", *row[1:]) for row in rows]
    lines = kafkalog("dump", "--format", "ndjson", "--table", "control", "-", stdin=data).text.splitlines()
    head = {"table": "control", "schema_version": SCHEMA_VERSION}
    texts = [json.dumps(head | dict(zip(CONTROL.names, row, strict=True)), separators=(",", ":")) for row in rows]
    assert [line for line in lines if line.startswith('{"table":"control"')] == texts

    made = kafkalog("dump", "--format", "arrow", "--table", "control", "-", stdin=data).out
    found = pa.ipc.open_file(io.BytesIO(made)).read_all().to_pylist()
    assert found == [row for one in arrow_batches(rows, arrow_schema(CONTROL)) for row in one.to_pylist()]

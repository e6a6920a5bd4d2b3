"""The table ``internal`` of a dump: from columns, byte for byte what each record alone gives."""

from __future__ import annotations

import contextlib
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final
from unittest import mock

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from internal_pairs import NAMES, drawn, written
from invoke import kafkalog
from kafkalog.files.limits import Limits
from kafkalog.findings import Finding
from kafkalog.kafka import internal_block, message_json
from kafkalog.kafka.batch import Batch
from kafkalog.kafka.internal_topics import Internal
from kafkalog.kernel import headers, interpreted, messages
from kafkalog.segments.blocks import Rows
from kafkalog.segments.file_rows import BlockShape, segment_rows
from kafkalog.segments.internal_blocks import internal_row, read_internal
from kafkalog.segments.segment import segment_chunks
from kafkalog.segments.selection import Selection
from kafkalog.tables import SCHEMA_VERSION
from kafkalog.tables.arrow import arrow_batches, arrow_schema
from kafkalog.tables.internal_tables import INTERNAL

FORMS: Final = pytest.mark.parametrize("compiled", [True, False] if headers.COMPILED else [False])
PLAIN = interpreted("messages", "tests_rows_interpreted_messages")


@contextlib.contextmanager
def form(compiled: bool) -> Iterator[None]:
    """Run with one of both forms of the loops."""
    loops = messages if compiled else PLAIN
    patch = mock.patch.object
    with patch(message_json, "kernel_messages", loops), patch(internal_block, "kernel_messages", loops):
        yield


def alone(path: Path, internal: Internal) -> list[tuple[Any, ...] | Finding]:
    """Return rows and findings of one record after the other."""
    log = str(path.parent)
    found: list[tuple[Any, ...] | Finding] = []
    for chunk in segment_chunks(str(path), limits=Limits()):
        for block in chunk.records():
            for record, batch in zip(map(block.record, range(block.recs.count)), block.recs.column(0), strict=True):
                head = Batch.of(chunk.heads, batch)
                if head.is_control:
                    continue
                for item in read_internal(str(path), head, record, internal):
                    number = int(log.rpartition("-")[2])
                    found.append(
                        item if isinstance(item, Finding) else internal_row(item, NAMES[internal], log, number)
                    )
    return found


@pytest.mark.some(every=3)
@pytest.mark.parametrize("internal", list(Internal))
@FORMS
@given(data=st.data())
@settings(max_examples=15, deadline=None)
def test_rows_of_any_records_are_those_of_each_alone(
    tmp_path_factory: pytest.TempPathFactory, internal: Internal, compiled: bool, data: st.DataObject
) -> None:
    """As values in both dialects, and as ndjson and Arrow byte for byte, with findings at their places."""
    pairs = data.draw(st.lists(drawn(internal), max_size=8))
    path = written(tmp_path_factory.mktemp("log"), internal, pairs, 3)
    wanted = alone(path, internal)
    with form(compiled):
        for spaced in (False, True):
            chunks = segment_chunks(str(path), limits=Limits())
            found: list[Any] = []
            for item in segment_rows(
                str(path), chunks, {"internal": INTERNAL.names}, Selection(), internal, shape=BlockShape(spaced=spaced)
            ):
                found += item.block.rows(item.start, item.stop) if isinstance(item, Rows) else [item]
            assert repr(found) == repr(wanted)
        decoder = f"--{internal}-decoder"
        lines = kafkalog("dump", decoder, "--format", "ndjson", "--table", "internal", path).out
        table = kafkalog("dump", decoder, "--format", "arrow", "--table", "internal", path).out
    head = {"table": "internal", "schema_version": SCHEMA_VERSION}
    said = [json.loads(line)["table"] for line in lines.splitlines()]
    assert said == ["findings" if isinstance(one, Finding) else "internal" for one in wanted]
    rows = [one for one in wanted if not isinstance(one, Finding)]
    texts = [json.dumps(head | dict(zip(INTERNAL.names, row, strict=True)), separators=(",", ":")) for row in rows]
    assert [line for line in lines.decode().splitlines() if line.startswith('{"table":"internal"')] == texts
    batches = list(arrow_batches(rows, arrow_schema(INTERNAL)))
    read = pa.ipc.open_file(io.BytesIO(table)).read_all().to_pylist()
    assert read == [row for batch in batches for row in batch.to_pylist()]


def test_files_of_two_partitions_keep_their_names_in_arrow(tmp_path: Path) -> None:
    """The column ``log`` has each file's own directory, also where rows of both make one batch."""
    pair = (b"\0\1\0\1g\0\1t\0\0\0\0", None)
    paths = [written(tmp_path, Internal.OFFSETS, [pair], number) for number in (1, 2)]
    made = kafkalog("dump", "--offsets-decoder", "--format", "arrow", "--table", "internal", *paths).out
    rows = pa.ipc.open_file(io.BytesIO(made)).read_all().to_pylist()

    assert [(row["log"], row["partition"]) for row in rows] == [
        (str(path.parent), number) for path, number in zip(paths, (1, 2), strict=True)
    ]


@pytest.mark.parametrize("form_of_rows", ["ndjson", "csv"])
def test_a_big_record_is_written_in_pieces(tmp_path: Path, form_of_rows: str) -> None:
    """Text of some megabytes is the same as that of one record alone."""
    member = b"\0\1m" + b"\0\0" + b"\0\1c" + b"\0\1h" + bytes(8) + b"\0\x0a\0\0" + b'x"\xff,' * (5 << 15) + bytes(4)
    value = b"\0\3" + b"\0\1p" + bytes(4) + b"\xff\xff" * 2 + bytes(8) + b"\0\0\0\1" + member
    path = written(tmp_path, Internal.OFFSETS, [(b"\0\2\0\1g", value)] * 2, 1)
    made = kafkalog("dump", "--offsets-decoder", "--format", form_of_rows, "--table", "internal", path)
    rows = [one for one in alone(path, Internal.OFFSETS) if not isinstance(one, Finding)]
    assert len(rows) == 2
    text = json.dumps(rows[0][INTERNAL.names.index("value")], separators=(",", ":"))
    if form_of_rows == "csv":
        text = '"' + text.replace('"', '""') + '"'

    assert len(text) > 1 << 19
    assert made.out.count(text.encode()) == 2

"""Arrow's batches carry the values of the rows: however they are cut, compiled and interpreted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import ModuleType
from typing import Any
from unittest import mock

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from test_row_lines import FORMS, segments

import build
import kafkalog as library
from dumped import dumped
from kafkalog.errors import UnsupportedError
from kafkalog.segments import blocks
from kafkalog.segments import segment_arrow as arrow
from kafkalog.segments.segment_arrow import segment_as_arrow
from kafkalog.segments.selection import Selection
from kafkalog.tables import TABLES, Table
from kafkalog.tables.arrow import chosen_schema

MANY = b"".join(
    build.batch(*[build.record(b"v" * 7, bytes([at]), [(b"h", b"\xff")] * (at % 3), delta=d) for d in range(9)],
                base_offset=9 * at, producer_id=at // 4)
    for at in range(12)
)  # fmt: skip


def batches(data: bytes, table: Table, selection: Selection, names: Sequence[str] = ()) -> Iterator[pa.RecordBatch]:
    schema = chosen_schema(table, names or table.usual, coded=True, files=True)
    return segment_as_arrow("f", library.scan(data), table, schema, selection, lambda _: None)


def forms(form: dict[str, ModuleType]) -> Any:
    """Make everything use the loops of one form."""
    columns = form["columns"]
    return (
        mock.patch.multiple(blocks, Filling=columns.Filling, fill=columns.fill, bytes_kinds=columns.bytes_kinds),
        mock.patch.multiple(arrow, Filling=columns.Filling, fill=columns.fill, kernel_columns=columns),
    )


def forget() -> None:
    """Drop the buffers that were made for another number of rows."""
    for kept in (arrow.constant, arrow.all_null, arrow.all_same):
        kept.cache_clear()


@pytest.fixture(autouse=True)
def _forgotten() -> Iterator[None]:
    """Leave no buffers of another number of rows to the tests after this one."""
    yield
    forget()


def same(data: bytes, table: Table, selection: Selection) -> None:
    """Hold Arrow's rows to those that are made one by one."""
    found = [row for batch in batches(data, table, selection) for row in batch.to_pylist()]
    rows = [item[1] for item in dumped("f", library.scan(data), [table.name], selection) if item[0] is table]
    assert found == [_narrowed(dict(zip(table.usual, row, strict=True)), table) for row in rows]


def _narrowed(row: dict[str, Any], table: Table) -> dict[str, Any]:
    """Make null what is too large for its column's type, as Arrow has it."""
    for column in table.columns:
        bits = {"int32": 31, "int16": 15, "int8": 7}.get(column.type)
        if bits is not None and row.get(column.name) is not None and not -(2**bits) <= row[column.name] < 2**bits:
            row[column.name] = None
    return row


@FORMS
@pytest.mark.parametrize("table", ["batches", "records"])
@given(segments, st.sampled_from([Selection(), Selection(first_offset=2), Selection(since_ms=0), Selection(key=b"")]))
@example(MANY, Selection(first_offset=5, last_offset=60))
@example(MANY, Selection(key=b"\x05"))
def test_values_are_those_of_the_rows(
    form: dict[str, ModuleType], table: str, data: bytes, selection: Selection
) -> None:
    """Extremes, null, bytes that are not UTF-8, empty, headers whose keys repeat; selected or not."""
    one, two = forms(form)
    with one, two:
        same(data, TABLES[table], selection)


@FORMS
@pytest.mark.parametrize(("room", "size"), [(1, 1 << 20), (5, 1 << 20), (64, 1), (64, 200)])
def test_a_batch_may_end_anywhere(form: dict[str, ModuleType], room: int, size: int) -> None:
    """By its rows or by its bytes: the same rows, and no batch has more, but for a row that is larger alone."""
    one, two = forms(form)
    limits = mock.patch.multiple(arrow, ROOM=room, BATCH_BYTES=size)
    forget()
    try:
        with one, two, limits:
            same(MANY, TABLES["records"], Selection())
            counts = [batch.num_rows for batch in batches(MANY, TABLES["records"], Selection())]
    finally:
        forget()
    assert sum(counts) == 108
    assert max(counts) <= room
    assert size > 1 or max(counts) == 1


def test_columns_of_one_value_share_a_buffer() -> None:
    """They take no memory of their own, whatever the number of batches."""
    names = ["file", "magic", "is_control", "message_crc"]
    with mock.patch.multiple(arrow, ROOM=50):
        made = list(batches(MANY, TABLES["records"], Selection(), names))
    assert len(made) == 3
    for name in names:
        column = [batch.column(name) for batch in made]
        arrays = [one.indices if pa.types.is_dictionary(one.type) else one for one in column]
        assert len({one.buffers()[1].address for one in arrays}) == 1, name


def test_a_row_too_large_for_a_column_of_strings_is_refused() -> None:
    """Arrow's offsets end at 2 GiB; a number that wraps would be another row's text."""
    data = build.batch(build.record(b"\xff" * 100))
    with mock.patch.object(arrow, "MOST_BYTES", 120), pytest.raises(UnsupportedError, match="at most 120 bytes"):
        list(batches(data, TABLES["records"], Selection(), ["value_base64"]))

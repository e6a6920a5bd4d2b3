"""Lines of JSON and CSV that the kernel writes of columns, held to Python's own writers; compiled and interpreted."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, Final
from unittest import mock

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import build
import kafkalog
import kafkalog as library
from build import batch, record
from dumped import dumped
from kafkalog.kernel import columns, interpreted
from kafkalog.kernel import text as kernel_text
from kafkalog.segments import blocks
from kafkalog.segments.selection import Selection
from kafkalog.tables.dump_tables import BATCHES, RECORDS
from kafkalog.writing import row_formats
from kafkalog.writing.row_formats import CsvSink, JsonSink, NdjsonSink, as_json

NAMES: Final = ("columns", "text")
IN_USE: Final = {"columns": columns, "text": kernel_text}
PLAIN: Final = {name: interpreted(name, f"tests_plain_{name}") for name in NAMES}
FORMS: Final = pytest.mark.parametrize("form", [IN_USE, PLAIN], ids=["in use", "interpreted"])
# What a writer of JSON or CSV, of UTF-8 or base64 may get wrong; runs longer than the words that it moves at once.
PIECES: Final = (
    *(b'"', b"\\", b",", b"\r\n", b"\t", b" ", b"\0", b"\x1f", b"\x7f", b"\x80", b"\xff", b"\xc3\xa9", b"\xc2\xa0"),
    *(b"\xe2\x80\x83", b"\xe2\x80\xa8", b"\xed\xa0\x80", b"\xf0\x9f\x98\x80", b"\xf4\x90\x80\x80", b"\xc0\x80"),
    *(b"plain", b"p" * 15, b"p" * 16, b"p" * 33, b'{"a":"b"}' * 5, b"\xe3\x80\x80", b"\xc2\x85"),
)
contents = st.none() | st.lists(st.sampled_from(PIECES), max_size=5).map(b"".join) | st.binary(max_size=40)
int64s = st.sampled_from([0, -1, 9, 10, -(2**63), 2**63 - 1, 10**18]) | st.integers(-(2**63), 2**63 - 1)
records = st.builds(
    build.record,
    contents,
    contents,
    st.lists(st.tuples(contents.filter(lambda data: data is not None), contents), max_size=3),
    delta=st.integers(0, 2**31 - 1),
    later=int64s,
)
segments = st.lists(
    st.builds(
        lambda records, **fields: build.batch(*records, **fields),
        st.lists(records, max_size=4),
        base_offset=int64s,
        attributes=st.sampled_from([0, 8, 16, 64, 0x7FF8, -8]),
        base_timestamp=int64s,
        producer_id=int64s,
        codec=st.sampled_from([0, 0, 1]),
    )
    | st.builds(build.message, contents, contents, offset=int64s, magic=st.integers(0, 1), timestamp=int64s),
    max_size=3,
).map(b"".join)


def _forms(form: dict[str, ModuleType]) -> Any:
    """Make everything use the loops of one form."""
    return mock.patch.multiple(
        blocks, **{name: getattr(form["columns"], name) for name in ("Filling", "fill", "bytes_kinds")}
    )


def written(make: Callable[[Any], Any], data: bytes, table: str, form: dict[str, ModuleType], room: int) -> bytes:
    out = io.BytesIO()
    with _forms(form), mock.patch.multiple(row_formats, kernel_text=form["text"], OUT_BYTES=room):
        sink = make(out)
        wanted = {table: library_tables[table].usual}
        for item in _items(data, wanted):
            if isinstance(item, blocks.Rows):
                sink.block(item)
        sink.close()
    return out.getvalue()


def _items(data: bytes, wanted: dict[str, Any]) -> Iterator[Any]:
    from kafkalog.segments.file_rows import segment_rows

    return segment_rows("f\udc80", library.scan(data), wanted, Selection())


library_tables: Final = {"batches": BATCHES, "records": RECORDS}
EXAMPLE: Final = build.batch(
    build.record(b'"' * 300, b"\xff" * 300, [(b"\x01" * 200, b"\xc3\xa9" * 100), (b"", None), (b"\x80", b"")]),
    build.record(None, b"", []),
)


@FORMS
@pytest.mark.parametrize("room", [2500, 1 << 16], ids=["in pieces", "whole"])
@pytest.mark.parametrize("table", [BATCHES, RECORDS], ids=lambda table: table.name)
@given(segments)
@example(EXAMPLE)
def test_json_is_what_python_writes(form: dict[str, ModuleType], room: int, table: Any, data: bytes) -> None:
    """Each line is json.dumps of the row, in ASCII, whether the row fits the buffer or is written in pieces."""
    rows = [item[1] for item in dumped("f\udc80", library.scan(data), [table.name], Selection()) if item[0] == table]
    head = {"table": table.name, "schema_version": 2}
    wanted = [as_json({**head, **dict(zip(table.usual, row, strict=True))}) for row in rows]
    text = written(lambda out: NdjsonSink(out, ()), data, table.name, form, room).decode()
    assert text.splitlines() == wanted
    whole = json.loads(written(lambda out: JsonSink(out, (), [table.name]), data, table.name, form, room))
    assert whole[table.name] == [dict(zip(table.usual, row, strict=True)) for row in rows]


@FORMS
@pytest.mark.parametrize("room", [2500, 1 << 16], ids=["in pieces", "whole"])
@given(segments)
@example(EXAMPLE)
def test_csv_is_what_the_rows_are(form: dict[str, ModuleType], room: int, data: bytes) -> None:
    """Python's own reader finds every value, and the lines are those of the rows one by one."""
    rows = [item[1] for item in dumped("f\udc80", library.scan(data), ["records"], Selection()) if item[0] == RECORDS]
    one_by_one = io.BytesIO()
    text = written(lambda out: CsvSink(out, (), RECORDS, escaped=False), data, "records", form, room)
    sink = CsvSink(one_by_one, (), RECORDS, escaped=False)
    for row in rows:
        sink.row(RECORDS, row)
    sink.close()

    assert text == one_by_one.getvalue()
    read = list(csv.reader(io.StringIO(text.decode("utf-8", "surrogateescape"), newline=""), strict=True))[1:]
    assert [line[RECORDS.usual.index("value")] for line in read] == [
        row[RECORDS.usual.index("value")] or "" for row in rows
    ]


def test_a_big_row_is_written_before_it_is_whole(tmp_path: Path) -> None:
    """A value of megabytes goes out in pieces that are no larger than the buffer."""
    sizes: list[int] = []

    class Out(io.BytesIO):
        def write(self, data: Any) -> int:
            sizes.append(len(data))
            return super().write(data)

    value, header = b'a"\n' * 700_000, b"\xff" * 500_000
    data = build.batch(build.record(value, b"k", [(b"h", header), (b"", None)] + [(b"", b"")] * 20_000))
    out = Out()
    sink = NdjsonSink(out, ())
    (rows,) = (item for item in _items(data, {"records": RECORDS.usual}) if isinstance(item, blocks.Rows))
    sink.block(rows)
    sink.close()

    assert max(sizes) <= row_formats.OUT_BYTES
    row = json.loads(out.getvalue())
    assert row["value"] == value.decode()
    assert len(row["headers"]) == 20_002


# --csv-safe: the kernel writes the marks.


STARTS = st.sampled_from(
    ["", "=", "+", "-", "@", "'", "\t", "\r", "\t ", "\t　", "　=", "＝", " ", "\n", '="', "=\n", "-,"]
)
TEXTS = st.builds(lambda start, rest: (start + rest).encode("utf-8", "replace"), STARTS, st.text(max_size=8))
VALUES = TEXTS | st.binary(max_size=12) | st.binary(min_size=1, max_size=8).map(lambda data: b"\xfb" + data)


@FORMS
@pytest.mark.parametrize("room", [2500, 1 << 16], ids=["in pieces", "whole"])
@given(st.lists(st.tuples(VALUES, VALUES), min_size=1, max_size=8))
@example([(b"\xfb\xff", b"\t x"), (b"=1", b"\t"), (b"-1", b"\tx ")])
def test_lines_are_those_of_the_rows(form: dict[str, ModuleType], room: int, pairs: list[tuple[bytes, bytes]]) -> None:
    """Blocks are written as rows one by one are, whether a row fits the buffer or is written in pieces."""
    data = batch(
        *(record(key, value * (1 if room > 2500 else 40), [], delta=n) for n, (key, value) in enumerate(pairs))
    )
    found = dumped("f\udc80", kafkalog.scan(data), ["records"], Selection())
    wanted = io.BytesIO()
    sink = CsvSink(wanted, (), RECORDS, escaped=False, safe=True)
    for table, row in (item for item in found if item[0] == RECORDS):
        sink.row(table, row)
    sink.close()

    made = written(lambda out: CsvSink(out, (), RECORDS, escaped=False, safe=True), data, "records", form, room)
    assert made == wanted.getvalue()

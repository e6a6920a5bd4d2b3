"""``--csv-safe`` of rows of blocks: the kernel writes the marks."""

from __future__ import annotations

import io
from types import ModuleType

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import kafkalog
from build import batch, record
from dumped import dumped
from kafkalog.segments.selection import Selection
from kafkalog.tables.dump_tables import RECORDS
from kafkalog_cli.render.row_formats import CsvSink
from test_row_lines import FORMS, written

STARTS = st.sampled_from(["", "=", "+", "-", "@", "'", "\t", "\r", "\t ", "\t　", "　=", '="', "=\n", "-,"])
TEXTS = st.builds(lambda start, rest: (start + rest).encode("utf-8", "replace"), STARTS, st.text(max_size=8))
VALUES = TEXTS | st.binary(max_size=12) | st.binary(min_size=1, max_size=8).map(lambda data: b"\xfb" + data)


@FORMS
@pytest.mark.parametrize("room", [2500, 1 << 16], ids=["in pieces", "whole"])
@settings(max_examples=80)
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

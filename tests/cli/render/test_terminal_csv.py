"""A CSV on a terminal: nothing in it acts on the terminal, and a value of megabytes takes no memory."""

from __future__ import annotations

import io
import tracemalloc
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import build
import kafkalog as library
from kafkalog.escape import escape
from kafkalog.segments.blocks import Rows
from kafkalog.segments.file_rows import segment_rows
from kafkalog.segments.selection import Selection
from kafkalog.tables.dump_tables import RECORDS
from kafkalog.writing.row_formats import CsvSink, EscapedCsv, as_csv
from kafkalog_cli.render.text_table import TableSink

ODD = ["", "plain", "é", "\x1b[31m", 'a"b', "a,b", "a\r\nb", "\0", "\\", "\u202e", "\U000e0001", " x ", "\udc80"]


def unquoted(line: str) -> str:
    return line[1:-1].replace('""', '"') if line.startswith('"') else line


@given(st.lists(st.sampled_from(ODD), min_size=1, max_size=4), st.integers(1, 7))
def test_every_field_is_escaped_wherever_the_text_is_cut(fields: list[str], size: int) -> None:
    """Line ends inside of quotes, too; those of lines stay."""
    line = (",".join(map(as_csv, fields)) + "\r\n").encode("utf-8", "surrogateescape")
    out = io.BytesIO()
    filtered = EscapedCsv(out)
    for start in range(0, len(line), size):
        filtered.write(line[start : start + size])

    wanted = ",".join(
        f'"{escape(field).replace(chr(34), chr(34) * 2)}"' if as_csv(field)[:1] == '"' else escape(field)
        for field in fields
    )
    assert out.getvalue().decode() == wanted + "\r\n"


@pytest.mark.some(every=4)
@pytest.mark.parametrize("form", ["csv", "table"])
@pytest.mark.parametrize("what", ["value", "headers"])
def test_a_huge_row_is_shown_in_pieces(form: str, what: str) -> None:
    """A value of 0.6 MB with what must be escaped, or 70,000 headers: the text would take a hundred times that."""
    record = build.record(b"\x1b,v" * 200_000) if what == "value" else build.record(b"v", None, [(b"", None)] * 70_000)
    data = build.batch(record)
    written = 0

    class Out(io.BytesIO):
        def write(self, data: Any) -> int:
            nonlocal written
            written += len(data)
            return len(data)

    out = Out()
    sink = CsvSink(out, (), RECORDS, escaped=True) if form == "csv" else TableSink(out, (), color=False, width=80)
    tracemalloc.start()
    for item in segment_rows("f", library.scan(data), {"records": RECORDS.usual}, Selection()):
        if isinstance(item, Rows):
            sink.block(item)
    sink.close()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert peak < 3 * len(data) + (8 << 20)  # the batch itself is read into a window
    assert written > (1_200_000 if form == "csv" and what == "value" else 100)

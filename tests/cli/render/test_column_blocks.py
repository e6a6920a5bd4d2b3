"""Rows that are given as columns: in every format of lines the same bytes as one row after the other."""

from __future__ import annotations

import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from json_columns import json_column
from kafkalog.auditing.pipeline.run import audit
from kafkalog.auditing.transactions import COLUMN_TABLES, AuditOptions, audit_columns, audit_rows
from kafkalog.columns.table import NONE, Columns
from kafkalog.columns.texts import TextColumn
from kafkalog.tables import TABLES
from kafkalog.tables.audit_tables import COORDINATOR
from kafkalog_cli.output import Target
from kafkalog_cli.render.forms import FORMS
from kafkalog_cli.render.showing import Showing
from kafkalog_cli.render.sinks import write_columns
from official import FIXTURES

LINES = ("ndjson", "json", "csv")
texts = st.none() | st.text(max_size=4) | st.sampled_from(["", "a,b", '"', "é", "\udcff", "=1", " "])
numbers = st.sampled_from([NONE, -1, 0, 2**63 - 1]) | st.integers(-(2**63), 2**63 - 1)


def written(form: str, name: str, columns: tuple[str, ...], parts: list, *, by_row: bool, safe: bool = False) -> bytes:
    """Return what a sink writes of columns, at once or row by row."""
    stream = io.BytesIO()
    sink = Showing(FORMS[form], Target(csv_safe=safe), columns=columns).sink(stream, (name,))
    if by_row:
        for part in parts:
            for row in part.rows():
                sink.row(TABLES[name], row)
    else:
        write_columns(sink, TABLES[name], parts)
    sink.close()
    return stream.getvalue()


@given(st.lists(st.tuples(texts, numbers, st.none() | st.lists(texts.filter(bool), max_size=2)), max_size=5), st.data())
def test_any_columns_are_written_as_their_rows(rows: list, data: st.DataObject) -> None:
    """Texts of any kind, numbers and none of them, lists; all columns or some; formulas marked or not."""
    part = {}
    for column in COORDINATOR.columns:
        number = {"string": 0, "json": 2}.get(column.type, 1)
        cells = [row[number] for row in rows]
        part[column.name] = (
            np.array(cells, np.int64) if number == 1 else (TextColumn.of, None, json_column)[number](cells)
        )
    chosen = tuple(data.draw(st.lists(st.sampled_from(COORDINATOR.names), unique=True, max_size=3)))
    for form in LINES:
        for safe in (False, True):
            ways = [
                written(form, COORDINATOR.name, chosen, [Columns(part)], by_row=one, safe=safe) for one in (False, True)
            ]
            assert ways[0] == ways[1]


@pytest.mark.some(every=4)
@pytest.mark.parametrize("name", sorted(COLUMN_TABLES))
def test_tables_of_an_audit_are_the_same_by_column_and_by_row(name: str) -> None:
    """Of every fixture of a broker, in every format."""
    roots = sorted({path.parents[1] for path in FIXTURES.glob("*/data*/*-0") if path.is_dir()})
    seen = 0
    for root in roots:
        found = audit([root], AuditOptions(jobs=1))
        parts = list(audit_columns(found, name))
        rows = list(audit_rows(found, name))
        assert [row for part in parts for row in part.rows()] == rows
        seen += len(rows)
        for form in LINES:
            assert written(form, name, (), parts, by_row=False) == written(form, name, (), parts, by_row=True)
    assert seen > 10

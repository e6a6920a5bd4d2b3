"""The table type: rows of numbers, words and texts, in one block or many, packed or not."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from json_columns import json_column
from kafkalog.columns.table import FEW, NONE, Columns
from kafkalog.columns.texts import TextColumn
from kafkalog.tables.arrow import Numbers

WORDS = ("a", "b")
NAMES = ("number", "time", "word", "text", "list")
Row = tuple[int | None, int | None, str | None, str | None, list[str] | None]

rows = st.lists(
    st.tuples(
        st.none() | st.integers(-5, 300),
        st.none() | st.just(-(2**63)) | st.integers(0, 9),  # the number that elsewhere stands for none
        st.sampled_from([None, *WORDS]),
        st.none() | st.text(max_size=3) | st.just("\udcff"),
        st.none() | st.lists(st.sampled_from(["", "é"]), max_size=2),
    ),
    max_size=5,
)
parts_of_rows = st.lists(st.tuples(rows, st.sampled_from([1, FEW])), max_size=3)


def table(some: list[Row]) -> Columns:
    """Return rows as a table."""
    number, time, word, text, values = zip(*some, strict=True) if some else ((),) * 5
    return Columns({
        "number": np.array([NONE if one is None else one for one in number], np.int64),
        "time": Numbers(np.array([one or 0 for one in time]), np.array([one is not None for one in time], bool)),
        "word": Numbers.worded(np.array([-1 if one is None else WORDS.index(one) for one in word]), WORDS),
        "text": TextColumn.of(text),
        "list": json_column(values),
    })  # fmt: skip


def tables(parts: list[tuple[list[Row], int]]) -> tuple[Columns, list[Row]]:
    """Return a table of a block for each part, packed where it has many rows, and its rows."""
    found, every = Columns.empty(NAMES), []
    for some, times in parts:
        found, every = found + table(some * times).packed(), every + some * times
    return found, every


@given(st.lists(st.integers(1, 200), min_size=1, max_size=4), st.data())
def test_rows_come_in_the_order_that_is_asked_for(sizes: list[int], drawn: st.DataObject) -> None:
    """Places may be of several blocks, in any order, and more than once."""
    rows = Columns.empty(("number",))
    numbers = np.arange(sum(sizes)) * 7
    for part in np.split(numbers, np.cumsum(sizes)[:-1]):
        rows += Columns({"number": part}).packed()
    places = drawn.draw(st.lists(st.integers(0, sum(sizes) - 1), max_size=20))

    assert rows.take(np.array(places, np.intp))["number"].tolist() == [7 * place for place in places]


@given(parts_of_rows, st.data())
def test_rows_of_any_kind_are_those_that_were_given(parts: list[tuple[list[Row], int]], drawn: st.DataObject) -> None:
    """Whole, taken, cut out, filtered, and with other columns: in the order of the rows, None where there is none."""
    found, every = tables(parts)
    places = drawn.draw(st.lists(st.integers(0, len(every) - 1), max_size=9)) if every else []
    chosen = np.array([row[0] is not None for row in every], bool)

    assert list(found.rows()) == every
    assert list(found.take(np.array(places, np.intp)).rows()) == [every[place] for place in places]
    assert list(found.take(slice(1, 3)).rows()) == every[1:3]
    assert [found.row(place, "text", "number") for place in places] == [
        {"text": every[place][3], "number": every[place][0]} for place in places
    ]
    assert list(found.where(chosen).rows()) == [row for row in every if row[0] is not None]
    assert list(found.with_columns({"more": np.arange(len(every))}).rows()) == [
        (*row, number) for number, row in enumerate(every)
    ]


@given(parts_of_rows)
def test_a_table_is_itself_in_another_process_and_in_arrow(parts: list[tuple[list[Row], int]]) -> None:
    """Its blocks do not matter; Arrow has lists as JSON and escapes what is not UTF-8."""
    found, every = tables(parts)
    schema = pa.schema([
        ("number", pa.int64()), ("time", pa.int64()), ("word", pa.string()), ("list", pa.string()),
    ])  # fmt: skip
    listed: list[dict[str, Any]] = [dict(zip(NAMES, row, strict=True)) for row in every]
    for row in listed:
        del row["text"]
        if row["list"] is not None:
            row["list"] = str(row["list"]).replace("'", '"')

    assert pickle.loads(pickle.dumps(found)) == found == Columns.concat([found], NAMES) == table(every)
    batch = found.to_arrow(schema)
    assert batch.to_pylist() == listed
    kept = ["number", "word", "list"]  # Arrow alone tells the lowest number from none
    assert [list(row) for row in Columns.from_arrow(batch.slice(1).select(kept)).rows()] == [
        [row[name] for name in kept] for row in listed[1:]
    ]


def test_a_column_of_arrow_is_numbers_or_texts() -> None:
    """Of small numbers, truths and texts each is a column; anything else is refused."""
    columns = {"small": pa.array([1, None], pa.int8()), "true": pa.array([None, True]), "text": pa.array(["é", None])}
    found = Columns.from_arrow(pa.RecordBatch.from_arrays([*columns.values()], names=[*columns]))

    assert list(found.rows()) == [(1, None, "é"), (None, True, None)]
    with pytest.raises(TypeError, match="double"):
        Columns.from_arrow(pa.RecordBatch.from_arrays([pa.array([0.5])], names=["x"]))


@pytest.mark.parametrize("count", [0, 1, FEW])
def test_a_table_is_made_again_by_a_function_that_has_a_name(count: int) -> None:
    """Spark's pickle copies what is no module's own name, with the tables that it refers to, which it then lacks."""
    made_by = Columns({"number": np.arange(count)}).packed().__reduce__()[0]

    assert getattr(sys.modules[made_by.__module__], made_by.__name__) is made_by


@pytest.mark.parametrize(
    "without_rows",
    [
        lambda rows: rows.take(np.empty(0, np.intp)),
        lambda rows: rows.take(slice(0), "text", "flag"),
        lambda rows: (rows + rows).take(slice(0)),
        lambda rows: rows.where(np.zeros(2, np.bool_)),
        lambda rows: rows.where(np.zeros(2, np.bool_)) + rows.take(slice(0)),
        lambda rows: rows.where(np.zeros(2, np.bool_)).packed().columns("flag", "text"),
        lambda rows: rows.split("number", 3)[2],
        lambda rows: pickle.loads(pickle.dumps(rows.take(slice(0)))),
        lambda rows: Columns.moved([rows.take(slice(0))], {"flag": "?"}).with_columns({"text": TextColumn()}),
    ],
)
def test_columns_without_rows_keep_their_types(without_rows: Callable[[Columns], Columns]) -> None:
    """Texts stay texts and masks stay masks, so that code for some rows is right for none; no block has no row."""
    rows = Columns({"number": np.array([0, 1]), "flag": np.array([True, False]), "text": TextColumn.of(["a", "b"])})
    empty = without_rows(rows)

    assert len(empty) == 0
    assert (empty["flag"].dtype, type(empty.column("text"))) == (np.bool_, TextColumn)
    assert [*empty.blocks(), *empty.pieces(1), *empty.rows()] == []
    assert (empty + empty)["flag"].dtype == np.bool_

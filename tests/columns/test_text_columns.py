"""Texts as columns: sentences of columns are those that Python formats, one by one."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from json_columns import json_column
from kafkalog.columns.table import Columns
from kafkalog.columns.texts import TextColumn, sentences
from kafkalog.tables.arrow import Numbers

numbers = st.sampled_from([0, 9, 10, -1, 2**63 - 1, -(2**63), 10**18, 10**19 - 1 - 10**19 // 2]).filter(
    lambda one: -(2**63) <= one < 2**63
) | st.integers(-(2**63), 2**63 - 1)
texts = st.text(max_size=40) | st.sampled_from(["", "\udcff", '"', "é\n", "x" * 100])


@given(st.lists(st.tuples(numbers, texts, texts), max_size=9), texts, texts)
def test_a_sentence_is_what_python_formats(rows: list[tuple[int, str, str]], before: str, after: str) -> None:
    """Literals, numbers of any size, texts of two columns, bytes that are no UTF-8."""
    number = np.array([row[0] for row in rows], np.int64)
    first, second = (TextColumn.of([row[at] for row in rows]) for at in (1, 2))
    told = sentences(len(rows), before, number, first, ", ", second, number, after)

    assert told.tolist() == [f"{before}{one}{a}, {b}{one}{after}" for one, a, b in rows]


@given(st.lists(st.lists(st.none() | st.sampled_from(["", "a", "ba", "\udcff"]), max_size=60), max_size=3))
def test_a_few_words_are_numbers(parts: list[list[str | None]]) -> None:
    """Each text is that of its number, none for -1; where the words have more bytes than there are rows, it is not said."""
    every = [text for part in parts for text in part]
    columns = [TextColumn.of(words).take(np.array([words.index(text) for text in part], np.intp))
               for part in parts for words in [sorted(set(part), key=str)]]  # fmt: skip
    ends = np.cumsum([0, *map(len, columns)]).tolist()
    texts = TextColumn.joined(len(every), [(slice(*at), one) for at, one in zip(pairwise(ends), columns, strict=True)])
    few = texts.few()

    assert texts.tolist() == every
    assert texts.objects().tolist() == every
    if few is not None:
        words = [*few[1].tolist(), None]
        assert [words[number] for number in few[0]] == every
        assert None not in words[:-1]
    elif "" not in every:  # an empty text has the place of its neighbour
        assert len(texts.data) >= len(texts)


@given(st.lists(st.none() | texts, max_size=9), st.data())
def test_texts_are_taken_and_joined_as_lists_are(some: list[str | None], data: st.DataObject) -> None:
    """A row that no part covers has no text; packed ids become texts by their numbers, and -1 becomes no text."""
    column = TextColumn.of(some)
    rows = np.array(data.draw(st.lists(st.integers(0, len(some) - 1), max_size=9) if some else st.just([])), np.intp)
    places = np.arange(len(rows)) * 2
    spread = TextColumn.joined(2 * len(rows), [(places, column.take(rows))]).tolist()

    assert column.tolist() == some
    assert column[1:3].tolist() == some[1:3]
    assert spread == [cell for row in rows.tolist() for cell in (some[row], None)]
    ids = [text.encode("utf-8", "backslashreplace").decode() for text in some if text is not None]
    numbers = np.array(data.draw(st.lists(st.integers(-1, len(ids) - 1), max_size=9)), np.int64)
    assert TextColumn.of(ids).gather(numbers).tolist() == [
        None if number < 0 else ids[number] for number in numbers.tolist()
    ]


@given(st.lists(st.none() | st.lists(texts, max_size=3), max_size=5))
def test_json_comes_back(values: list[list[str] | None]) -> None:
    """As values, whatever is in their texts."""
    assert json_column(values).tolist() == values


@given(st.lists(st.sampled_from(["a", "ab", "b", "", None, "aborted", "administrator-abort"])), st.booleans())
def test_the_texts_that_are_some_words(texts: list[str | None], many: bool) -> None:
    """Whether the column is short or long; a word within another one is another word."""
    column = TextColumn.of([*texts, "x" * 2000] if many else texts)
    wanted = ("ab", "aborted", "abort")

    assert column.among(wanted).tolist()[: len(texts)] == [text in wanted for text in texts]


def test_small_tables_go_together() -> None:
    """Some thousand rows at a time, in their order, with texts and words; tables without rows are none."""
    words = ("committed", "aborted")
    parts = [
        Columns(
            {
                "offset": np.arange(first, first + rows),
                "log": TextColumn.same(f"log-{first}", rows),
                "state": Numbers(np.arange(rows) % 2, None, words),
            }
        )
        for first, rows in ((0, 3), (3, 0), (3, 4), (7, 1), (8, 9), (17, 2))
    ]
    found = list(Columns.gathered(iter(parts), 5))

    assert [len(one) for one in found] == [7, 10, 2]
    assert [row for one in found for row in one.rows()] == [row for one in parts for row in one.rows()]
    assert list(Columns.gathered(iter(parts[1:2]), 5)) == []

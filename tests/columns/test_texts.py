"""TextColumn kept as their UTF-8: what went in comes out, by number, in order, and however it is asked for."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kafkalog.columns.texts import Numbered, TextColumn

texts = st.lists(st.text(max_size=5) | st.text("ab", max_size=3) | st.just("x" * 100))


def numbered(strings: list[bytes]) -> Numbered:
    """Number strings of bytes."""
    found = Numbered()
    for one in strings:
        found.numbers(one, memoryview(np.zeros(1, np.int64)), memoryview(np.array([len(one)], np.int64)))
    return found


@given(texts)
def test_texts_are_what_they_were_made_of(some: list[str]) -> None:
    """All in order, each by its number, and any of them in any order."""
    found = TextColumn.of(some)
    back = np.arange(len(some))[::-1]

    assert [*found] == some == [found[number] for number in range(len(some))]
    assert [*found.take(back)] == some[::-1]
    assert found.take(back).take(back) == found


def test_thousands_of_texts_come_out_in_order() -> None:
    """More than are made together, of one byte a character and of several."""
    for letter in ("x", "é"):
        some = [f"{letter}{number}" for number in range(10_000)]

        assert [*TextColumn.of(some)] == some
        assert [*TextColumn.of(some).take(np.arange(9_999, -1, -3))] == some[::-3]


@given(texts)
def test_ranks_are_those_of_sorted_texts(some: list[str]) -> None:
    """UTF-8 sorts as text does; equal ones and those that end with zeros may have any order among themselves."""
    ranks = TextColumn.of(some).ranks()

    assert sorted(ranks.tolist()) == list(range(len(some)))
    plain = [text.rstrip("\0") for text in some] if max(map(len, map(str.encode, some)), default=0) <= 64 else some
    assert [plain[number] for number in np.argsort(ranks)] == sorted(plain)


@given(st.lists(st.text(max_size=3), unique=True), st.lists(st.text(max_size=3)))
def test_texts_are_found_by_what_they_say(known: list[str], asked: list[str]) -> None:
    """The number of each, -1 for one that is not there."""
    wanted = [known.index(one) if one in known else -1 for one in asked]

    assert TextColumn.of(known).find_texts(asked).tolist() == wanted


@given(st.lists(st.binary(max_size=3) | st.text(max_size=2).map(str.encode), unique=True))
def test_bytes_that_are_no_text_are_escaped(strings: list[bytes]) -> None:
    """Each string is read on its own: two halves of a character are not one."""
    found = TextColumn.of_numbered(numbered(strings))

    assert [*found] == [one.decode("utf-8", "backslashreplace") for one in strings]

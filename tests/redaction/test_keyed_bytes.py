"""Other bytes of the same length: equal stays equal, unlike stays unlike."""

from __future__ import annotations

from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from kafkalog.redaction.keyed_bytes import KeyedBytes

SALT = bytes(range(32))
KEYS = KeyedBytes(SALT, "key")


@given(st.binary(max_size=200), st.binary(max_size=200))
def test_length_equality_and_inequality_hold(one: bytes, other: bytes) -> None:
    """What compaction, counts and `find --key` rest on."""
    assert len(KEYS.like(one)) == len(one)
    assert (KEYS.like(one) == KEYS.like(other)) == (one == other)


def test_short_ones_are_permuted() -> None:
    """No two keys of one or two bytes become one, and as many as there are come out."""
    ones = [bytes((number,)) for number in range(256)]
    twos = [bytes(pair) for pair in product(range(256), range(4))]

    assert {KEYS.like(one) for one in ones} == set(ones)
    assert len({KEYS.like(two) for two in twos}) == len(twos)
    assert KEYS.like(b"") == b""


@given(st.binary(min_size=8, max_size=80))
def test_they_depend_on_salt_and_purpose(data: bytes) -> None:
    """Who has another redaction, or the keys, learns nothing of this one's values."""
    made = {KEYS.like(data), KeyedBytes(SALT, "value").like(data), KeyedBytes(bytes(32), "key").like(data), data}

    assert len(made) == 4


@given(st.binary(min_size=1, max_size=80))
def test_texts_are_letters_and_digits(data: bytes) -> None:
    """A field that Kafka reads as UTF-8 stays one."""
    text = KEYS.text_like(data)

    assert len(text) == len(data)
    assert text.isalnum()
    assert text.isascii()

"""New names have the length of the old ones and, where a coordinator's topic asks for it, their partition."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafkalog.errors import UnsupportedError
from kafkalog.kafka.internal_topics import coordinator_partition
from kafkalog.redaction.new_names import NameChoice, NameKind, NewNames

SALT = bytes(range(32))


def names(how: NameChoice = NameChoice.HASH, partitions: int = 50) -> NewNames:
    return NewNames(how, SALT, {NameKind.GROUP: (partitions,)})


@settings(max_examples=50, deadline=None)
@given(
    st.sets(
        st.text(st.characters(min_codepoint=33, max_codepoint=900), min_size=3, max_size=40), min_size=2, max_size=6
    )
)
def test_length_partition_and_difference_hold(given_names: set[str]) -> None:
    """No two become one; an old name never comes out as itself."""
    new = names()
    made = {one: new.of(NameKind.GROUP, one.encode()) for one in given_names}

    assert len(set(made.values())) == len(made)
    for old, now in made.items():
        assert len(now) == len(old.encode())
        assert now != old.encode()
        assert coordinator_partition(now.decode(), 50) == coordinator_partition(old, 50)


def test_internal_topics_and_kept_names_stay() -> None:
    """A name that a broker gives is no secret; with `keep` none is."""
    assert names().of(NameKind.TOPIC, b"__consumer_offsets") == b"__consumer_offsets"
    assert names().of(NameKind.TOPIC, b"orders") != b"orders"
    assert names(NameChoice.KEEP).of(NameKind.TOPIC, b"orders") == b"orders"


def test_a_name_without_another_one_is_refused() -> None:
    """Among 94 characters no second one has the partition of this one: it does not leave as it is."""
    with pytest.raises(UnsupportedError, match="no other name of 1 bytes is left for a group"):
        names(partitions=1000).of(NameKind.GROUP, b"g")

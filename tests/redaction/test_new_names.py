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


def given_names(**kinds: dict[str, str]) -> NewNames:
    return NewNames(NameChoice.MAP, SALT, {NameKind.GROUP: (50,)}, kinds)


@settings(max_examples=50, deadline=None)
@given(
    st.sets(
        st.text(st.characters(min_codepoint=33, max_codepoint=900), min_size=3, max_size=40), min_size=2, max_size=6
    )
)
def test_length_partition_and_difference_hold(several: set[str]) -> None:
    """No two become one; an old name never comes out as itself."""
    new = names()
    made = {one: new.of(NameKind.GROUP, one.encode()) for one in several}

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


def test_a_map_says_what_a_name_becomes() -> None:
    """As many bytes as the old one has; what is not in the map is made anew, and no name is given twice."""
    new = given_names(topic={"orders": "sales1", "cash": "none"})

    assert new.of(NameKind.TOPIC, b"orders") == b"sales1"
    assert new.of(NameKind.TOPIC, b"cash") == b"none"
    assert new.of(NameKind.CLIENT, b"orders") not in (b"orders", b"sales1")
    assert new.of(NameKind.TOPIC, b"ledger") not in (b"ledger", b"sales1")


@pytest.mark.parametrize("start", ["", "g", "group-1"])
def test_a_shorter_name_of_a_map_goes_on_with_letters(start: str) -> None:
    """So that it has the old one's length, and the partition that Kafka's hash gives it."""
    made = given_names(group={"billing-workers": start}).of(NameKind.GROUP, b"billing-workers").decode()

    assert made.startswith(start)
    assert len(made) == len("billing-workers")
    assert coordinator_partition(made, 50) == coordinator_partition("billing-workers", 50)


@pytest.mark.parametrize(
    ("kind", "map_of", "why"),
    [
        ("group", {"workers": "bankers"}, "would be in partition 24 of __consumer_offsets by Kafka's hash"),
        ("group", {"workers": "all-workers"}, "has 11 bytes, and the old one 7"),
        ("topic", {"orders": "or/ers"}, "is none that a topic of yours may have"),
        ("topic", {"..": ".."}, "is none that a topic of yours may have"),
        ("topic", {"__consumer_offsets": "__consumer_offsetx"}, "is none that a topic of yours may have"),
        ("topic", {"orders": "sales1", "offers": "sales1"}, "two names would be 'sales1'"),
        ("topics", {"orders": "sales1"}, "'topics' is no kind of name: topic, group,"),
    ],
)
def test_names_of_a_map_that_can_not_be_written_are_refused(kind: str, map_of: dict[str, str], why: str) -> None:
    """Before anything is read: the sentence has the name."""
    with pytest.raises(UnsupportedError, match=why):
        given_names(**{kind: map_of})

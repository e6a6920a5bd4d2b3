"""What an incident takes: the table of stories names findings that exist, and takes each of them once."""

from __future__ import annotations

from itertools import chain
from types import SimpleNamespace
from typing import Any

import pytest

from kafkalog.auditing.incidents.incident import Row
from kafkalog.auditing.incidents.takes import (
    MIXED,
    STORIES,
    commit_lost_with_records,
    held_back,
    opened_by_loss,
    take,
)
from kafkalog.catalogue import CATALOGUE, codes_of_story
from kafkalog.certainty import DAMAGE_BETWEEN
from kafkalog.few_of_many import grouped
from kafkalog.kafka.topic_partition import TopicPartition


def test_each_code_of_the_table_is_one_of_the_catalogue() -> None:
    """A code that no finding has would never be taken, and nobody would see it."""
    codes = {*MIXED, *chain.from_iterable((*codes_of_story(story.name), *story.follow) for story in STORIES)}

    assert codes - CATALOGUE.keys() == set()


def test_what_is_taken_is_not_left_and_the_order_stays() -> None:
    """Of each code the findings that meet its condition go; the others stay for later stories, as they were."""
    rows: list[Row] = [
        {"code": code, "offset": offset} for offset in range(4) for code in ("log-missing", "crc-mismatch")
    ]
    left = grouped(rows, lambda row: str(row["code"]))

    taken = take(left, {"crc-mismatch": lambda row: row["offset"] % 2 == 1, "segment-missing": lambda _: True})

    assert taken == [{"code": "crc-mismatch", "offset": 1}, {"code": "crc-mismatch", "offset": 3}]
    assert [row["offset"] for row in left["crc-mismatch"]] == [0, 2]
    assert [row["offset"] for row in left["log-missing"]] == [0, 1, 2, 3]


HERE: TopicPartition = TopicPartition("t", 0)
NO_TABLES: Any = SimpleNamespace()


@pytest.mark.parametrize(
    ("partition", "found", "expected"), [(0, "no marker", True), (0, "aborted", False), (1, "no marker", False)]
)
def test_lost_records_explain_a_marker_that_is_not_there(partition: int, found: str, expected: bool) -> None:
    """In their own partition; a marker that says the contrary was written, and was not lost."""
    row = {"topic": "t", "partition": partition, "found": found}

    assert commit_lost_with_records(NO_TABLES, {HERE: []}, row) is expected


@pytest.mark.parametrize(
    ("causes", "expected"),
    [(("missing-offsets",), False), (("missing-offsets", "unreadable-bytes"), True), ((), False)],
)
def test_damage_may_hide_the_marker_of_what_is_open(causes: tuple[str, ...], expected: bool) -> None:
    """Where nothing but offsets is missing, no bytes are there that a marker could be in."""
    row = {"topic": "t", "partition": 0, "certainty": DAMAGE_BETWEEN}
    losses: Any = [SimpleNamespace(cause=cause) for cause in causes]

    assert opened_by_loss(NO_TABLES, {HERE: losses}, row) is expected


def test_an_open_transaction_takes_the_commits_that_it_holds() -> None:
    """No other transaction's."""
    row = {"topic": "__consumer_offsets", "partition": 0, "producer_id": 7}
    mine, other = (SimpleNamespace(holds=lambda _, answer=answer: answer) for answer in (True, False))
    both: Any = [other, mine]

    assert held_back(NO_TABLES, both, row)
    assert not held_back(NO_TABLES, both[:1], row)

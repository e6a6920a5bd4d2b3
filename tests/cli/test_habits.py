"""What people type out of habit works, and who mistypes a name is told the one that is near."""

from __future__ import annotations

from pathlib import Path

import pytest

from invoke import kafkalog
from kafkalog.narrowing import nothing_matches
from official import FIXTURES

DATA = FIXTURES / "k4-f-hanging-late-produce-tv0" / "data"


def test_a_word_before_the_paths_is_looked_for() -> None:
    """As other searches have it: in keys and values; an option that says what to look for makes it a path."""
    found = kafkalog("find", "late1", DATA)

    assert found.status == 0
    assert found.text == kafkalog("find", "--key", "late1", DATA).text
    assert kafkalog("find", "no-such-word", DATA).status == 1
    assert "late1: no such file or directory" in kafkalog("find", "--key", "late1", "late1", DATA).err


def test_a_word_that_is_a_path_is_a_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file of this name is meant, as without a word."""
    (tmp_path / "late1").mkdir()
    monkeypatch.chdir(tmp_path)

    assert kafkalog("find", "--count", "late1", DATA).text == kafkalog("find", "--count", DATA).text


def test_words_that_others_use_are_known() -> None:
    """Lines of JSON are json where no other format has the name; open is every state without a marker."""
    rows = kafkalog("find", "--format", "json", "--key", "late1", DATA)
    shown = kafkalog("txn-audit", "--format", "csv", "--table", "transactions", "--state", "open", DATA).text

    assert rows.text == kafkalog("find", "--format", "ndjson", "--key", "late1", DATA).text
    assert shown.count(",hanging,") == len(shown.splitlines()) - 1 == 3
    assert kafkalog("find", "--outcome", "open", DATA).text == kafkalog("find", "--outcome", "hanging", DATA).text


@pytest.mark.parametrize(
    ("wanted", "hint"),
    [
        ("payment-1", " (did you mean 'payments-1'?)"),
        ("payments", " (a pattern matches whole names: try 'payments*')"),
        ("xyz", ""),
    ],
)
def test_a_name_that_is_near_is_offered(wanted: str, hint: str) -> None:
    said = str(nothing_matches("group", [wanted], ["payments-1", "orders"]))

    assert said == f"no group matches {wanted!r}{hint}; 2 groups: orders, payments-1"


def test_a_search_of_an_id_that_is_not_there_says_so() -> None:
    """Not only that nothing matches."""
    said = kafkalog("find", "--transactional-id", "stock-trades.56-9", DATA).err

    assert "no transactional id matches 'stock-trades.56-9' (did you mean 'stock-trades.56-1'?)" in said


def test_an_incident_has_the_number_of_the_screen_in_each_command() -> None:
    """Who reads a screen types what stands before the line."""
    (second,) = [line for line in kafkalog("txn-audit", DATA).text.splitlines() if line.startswith(" 2 ERROR   ")]
    (place,) = {place for place in ("clicks-coupons.10-1", "tickets-tickets.26-0") if f" {place} " in second}
    topic, _, partition = place.rpartition("-")
    rows = kafkalog("extract", "--incident", "2", "--format", "ndjson", DATA).table("records")

    assert {(row["topic"], str(row["partition"])) for row in rows} == {(topic, partition)}
    assert kafkalog("timeline", "--incident", "2", DATA).text.startswith(place)
    assert "no incident matches '9'" in kafkalog("timeline", "--incident", "9", DATA).err


def test_an_id_of_a_timeline_has_a_lane() -> None:
    """It is never passed over: lanes of partitions have no ids."""
    shown = kafkalog("timeline", "--transactional-id", "stock*", DATA).text

    assert shown == kafkalog("timeline", "--lanes", "transactional-id", "--transactional-id", "stock*", DATA).text
    assert "stock-trades.56-1 │" in shown
    assert (
        "did you mean 'stock-trades.56-1'" in kafkalog("timeline", "--transactional-id", "stock-trades.56-9", DATA).err
    )
    assert kafkalog("timeline", "--lanes", "partition", "--transactional-id", "stock*", DATA).status == 2

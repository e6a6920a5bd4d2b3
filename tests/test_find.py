"""Where a record is: against a plain look at every record, and the exit statuses that scripts rely on."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

import kafkalog as library
from handmade import damaged
from invoke import kafkalog
from official import FIXTURES

HANGING = FIXTURES / "k4-f-hanging-late-produce-tv0" / "data"
CODECS = FIXTURES / "k4-b-codecs" / "data"


@pytest.fixture(scope="module", params=[HANGING, CODECS], ids=["hanging", "codecs"])
def case(request: pytest.FixtureRequest) -> Path:
    return Path(request.param)


@pytest.fixture(scope="module")
def records(case: Path) -> list[library.Record]:
    """Return all data records."""
    return [one for one in library.records(case) if not (one.outcome and one.visible is False and one.value == b"")]


def found(case: Path, *words: str) -> set[tuple[str, int, int]]:
    ended = kafkalog("find", "--format", "ndjson", *words, case)
    assert ended.status in (0, 1), ended.err
    assert (ended.status == 0) == bool(ended.rows)
    return {(row["topic"], row["partition"], row["offset"]) for row in ended.rows}


def places(records: list[library.Record]) -> set[tuple[str | None, int | None, int]]:
    return {(one.topic, one.partition, one.offset) for one in records}


def is_data(case: Path) -> set[tuple[str, int, int]]:
    return found(case)


def test_it_finds_what_a_plain_look_finds(case: Path, records: list[library.Record]) -> None:
    """Keys whole, values in part, patterns, headers, nulls; in compressed batches, too."""
    data = is_data(case)
    some = [one for one in records if one.value and one.key and (one.topic, one.partition, one.offset) in data][::17]
    for one in some:
        assert one.key is not None
        assert one.value is not None
        if all(c < 128 and c >= 32 for c in one.key):
            wanted = places([other for other in records if other.key == one.key]) & data
            assert found(case, "--key", one.key.decode()) == wanted
        part = one.value[:5]
        if all(c < 128 and c >= 32 for c in part):
            wanted = places([other for other in records if other.value and part in other.value]) & data
            assert found(case, "--value", part.decode()) == wanted
    pattern = re.compile(rb"[0-9]{3}")
    assert found(case, "--value-regex", "[0-9]{3}") == (
        places([one for one in records if one.value and pattern.search(one.value)]) & data
    )
    assert found(case, "--null-value") == places([one for one in records if one.value is None]) & data
    for name, value in {header for one in records for header in one.headers if header[1]}:
        try:
            text = name.decode("ascii"), (value or b"").decode("ascii")
        except UnicodeDecodeError:
            continue
        if "\0" in "".join(text):
            continue
        assert found(case, "--header", "=".join(text)) == (
            places([one for one in records if (name, value) in one.headers]) & data
        )


def test_statuses(tmp_path: Path) -> None:
    """0 for some, 1 for none where all was read, 3 where something could not be read, also if some were found."""
    assert kafkalog("find", "--key", "late0", HANGING).status == 0
    assert kafkalog("find", "--key", "no such key", HANGING).status == 1
    assert kafkalog("find", "--key", "late0", HANGING, tmp_path / "nowhere").status == 3
    assert kafkalog("find", "--value-regex", "(", HANGING).status == 2
    assert kafkalog("find", "--key", "late0", damaged(tmp_path)).status == 3


def test_counts_files_and_the_most() -> None:
    """What grep's users expect."""
    lines = kafkalog("find", "--key", "late0", HANGING).text.splitlines()
    assert len(lines) == 2
    assert "hanging of payments-trades.85-0" in lines[0]
    assert kafkalog("find", "--key", "late0", "--max-count", "1", HANGING).text.splitlines() == lines[:1]
    counted = kafkalog("find", "--key", "late0", "--count", HANGING).text
    assert counted == "tickets-tickets.26-0  1 hanging\ntickets-tickets.26-1  1 hanging\n"
    files = kafkalog("find", "--key", "late0", "--files-with-matches", HANGING).text.splitlines()
    assert [Path(one).parent.name for one in files] == ["tickets-tickets.26-0", "tickets-tickets.26-1"]


def test_a_hostile_key_writes_no_escape_sequences(tmp_path: Path) -> None:
    """A line of text holds what was written as text."""
    shutil.copytree(CODECS, tmp_path / "data")
    ended = kafkalog("find", tmp_path / "data")
    assert ended.status == 0
    assert "\x1b" not in ended.text

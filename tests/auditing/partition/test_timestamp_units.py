"""Timestamps in another unit than milliseconds: which are told, and what retention makes of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from invoke import kafkalog
from kafkalog.auditing.partition.timestamp_units import misread
from kafkalog.auditing.pipeline.run import audit
from plain import Batch, table, write_mark, write_segments

NOW_MS = 1_795_000_000_000  # 2026


@pytest.mark.parametrize(
    ("timestamp", "unit", "is_past"),
    [
        (NOW_MS // 1_000, "seconds", True),
        (0, "", True),
        (NOW_MS * 1_000, "microseconds", False),
        (NOW_MS * 1_000_000, "nanoseconds", False),
    ],
)
def test_another_unit_is_known_by_its_number(timestamp: int, unit: str, is_past: bool) -> None:
    """As a time in the other unit the number is one of these years."""
    found = misread(timestamp)

    assert found is not None
    assert (found.unit, found.is_past) == (unit, is_past)
    assert found.meant == (NOW_MS if timestamp else -1)


@pytest.mark.parametrize(
    "timestamp", [-1, 1, 86_400_000, 1_000_000_000_000, NOW_MS, NOW_MS + 31_557_600_000, 4_102_444_800_000 * 2]
)
def test_a_time_that_is_only_old_or_ahead_is_none(timestamp: int) -> None:
    """No time, one of the first days of 1970, of 2001, of now, of next year and of 2230: they are what they say."""
    assert misread(timestamp) is None


def _stamped(root: Path, *times: int) -> list[tuple[str, int, int, str]]:
    """The findings of a log whose segments have these times: code, offsets and message."""
    batches = ([Batch(0, at, at, "plain", timestamp=time)] for at, time in enumerate(times))
    write_segments(root / "t-0", *batches)
    found = (row for row in table(audit([root]), "findings") if row["code"].startswith("timestamps-"))
    return [(row["code"], row["offset"], row["last_offset"], row["message"]) for row in found]


def test_segments_in_seconds_are_counted(tmp_path: Path) -> None:
    """The closed ones and the active one; one with right times between is not among them."""
    (found,) = _stamped(tmp_path, NOW_MS // 1_000, NOW_MS, NOW_MS // 1_000 + 60, NOW_MS // 1_000 + 30)

    assert found[:3] == ("timestamps-too-old", 0, 3)
    assert "2 closed segments and the active segment are in seconds" in found[3]
    assert "1970-01-21T18:36:40.060Z where 2026-11-18T11:07:40.000Z was meant" in found[3]


def test_both_directions_are_told(tmp_path: Path) -> None:
    """What is thousands of years ahead and what is of 1970 are two things."""
    found = _stamped(tmp_path, NOW_MS * 1_000, 0, NOW_MS)

    assert [row[:3] for row in found] == [("timestamps-too-old", 1, 1), ("timestamps-too-new", 0, 0)]
    assert found[0][3].startswith("the timestamps of 1 closed segment are 0: brokers read 1970-01-01T00:00:00.000Z: ")
    assert "some 56,000 years ahead" in found[1][3]


def test_one_right_record_excuses_its_segment(tmp_path: Path) -> None:
    """Retention goes by the largest timestamp of a segment: one that is right is enough."""
    batches = [Batch(0, 0, 0, "plain", timestamp=NOW_MS // 1_000), Batch(0, 1, 1, "plain", timestamp=NOW_MS)]
    write_segments(tmp_path / "t-0", batches)

    assert not [row for row in table(audit([tmp_path]), "findings") if row["code"].startswith("timestamps-")]


def _space(root: Path, time: int, **settings: str) -> str:
    batches = ([Batch(0, at, at, "plain", timestamp=time)] for at in range(3))
    write_segments(root / "data/t-0", *batches)
    write_mark(root / "data")
    (root / "topics.json").write_text(json.dumps({"t": {"cleanup.policy": "delete", **settings}}))
    return kafkalog("space", "data", "--topic-configs", "topics.json", cwd=root).text


@pytest.mark.parametrize(
    ("time", "cause", "words"),
    [
        (NOW_MS // 1_000, "past-timestamp", "retention.ms deletes them at its next run, however new they are"),
        (NOW_MS * 1_000, "future-timestamp", "retention.ms never deletes them until the clock is corrected"),
    ],
)
def test_space_says_what_retention_makes_of_them(tmp_path: Path, time: int, cause: str, words: str) -> None:
    """The tree ends with it, beside what the topic's retention is."""
    told = _space(tmp_path, time, **{"retention.ms": "86400000"})

    assert f"t-0: {cause}\n" in told
    assert words in told
    assert "retention.ms=86400000" in told


def test_space_says_nothing_where_time_deletes_nothing(tmp_path: Path) -> None:
    """Without retention by time nobody counts from these."""
    assert "timestamp" not in _space(tmp_path, NOW_MS // 1_000, **{"retention.ms": "-1", "retention.bytes": "1000000"})


def test_the_table_of_clocks_names_the_unit(tmp_path: Path) -> None:
    """A row for each segment says what brokers read, and what was meant."""
    _space(tmp_path, NOW_MS // 1_000, **{"retention.ms": "86400000"})
    told = kafkalog("space", "data", "--clocks", "--format", "ndjson", cwd=tmp_path).table("clocks")

    assert [(row["kind"], row["offset"], row["clock_ms"]) for row in told] == [
        ("segment", at, NOW_MS // 1_000) for at in range(3)
    ]
    assert "in seconds: brokers read 1970-01-21T18:36:40.000Z where 2026-11-18T11:06:40.000Z" in told[0]["evidence"]

"""How the times in topics lie to the brokers', and what follows."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

import kafkalog
from build import LOG_APPEND_TIME, TIME, TRANSACTIONAL, batch, marker, record

NOW = 1_795_000_000_000


def _rows(root: Path, partitions: dict[str, list[bytes]], modified: int | None = None) -> list[dict[str, Any]]:
    """The rows of a directory of these segments, whose files have a time (ms)."""
    for name, segments in partitions.items():
        (root / name).mkdir(parents=True)
        for base, data in enumerate(segments):
            file = root / name / f"{10 * base:020}.log"
            file.write_bytes(data)
            if modified is not None:
                os.utime(file, (modified / 1000, modified / 1000))
    (root / "meta.properties").write_text("version=1\ncluster.id=c\nnode.id=1\n")
    return list(kafkalog.open(root).space(now=NOW).topic_clocks)


def _at(time: int, base: int = 0) -> bytes:
    return batch(record(b"v"), base_offset=base, base_timestamp=time, max_timestamp=time)


def _ended(first: int, time: int, marked: int) -> bytes:
    """A transaction of one record, and its marker."""
    about = {"producer_id": 7, "producer_epoch": 0}
    data = batch(
        record(b"v"), base_offset=first, base_timestamp=time, max_timestamp=time, attributes=TRANSACTIONAL,
        base_sequence=first // 2, **about,
    )  # fmt: skip
    return data + marker(base_offset=first + 1, base_timestamp=marked, max_timestamp=marked, **about)


@pytest.mark.parametrize(
    ("time", "clock", "ahead", "retention"),
    [
        (NOW // 1000, "seconds", NOW // 1000 - NOW, "deletes closed segments at its next run, however new they are"),
        (0, "zero", None, "deletes closed segments at its next run, however new they are"),
        (NOW * 1000, "microseconds", NOW * 1000 - NOW, "keeps them until the clock is corrected and they are gone"),
        (NOW * 10**6, "nanoseconds", NOW * 10**6 - NOW, "keeps them until the clock is corrected and they are gone"),
    ],
)
def test_a_topic_in_another_unit_is_told(
    tmp_path: Path, time: int, clock: str, ahead: int | None, retention: str
) -> None:
    """Its partitions together; the segments whose times are right have a row of their own."""
    odd, right = _rows(tmp_path, {"t-0": [_at(time), _at(NOW, 10)], "t-1": [_at(time)]}, NOW)

    assert (odd["topic"], odd["clock"], odd["compared_with"]) == ("t", clock, "unit")
    assert (odd["partitions"], odd["segments"], odd["ahead_ms"], odd["newest_ms"]) == (2, 2, ahead, time)
    assert odd["retention"].startswith(retention)
    assert (right["clock"], right["segments"], right["ahead_ms"]) == ("in-time", 1, None)


def test_a_time_after_that_of_the_file_is_ahead(tmp_path: Path) -> None:
    """The file was written last before it; a file that was copied later says nothing."""
    [ahead] = _rows(tmp_path / "a", {"t-0": [_at(NOW)]}, NOW - 90_000)
    [copied] = _rows(tmp_path / "b", {"t-0": [_at(NOW)]}, NOW + 10**9)

    assert (ahead["clock"], ahead["compared_with"], ahead["ahead_ms"]) == ("ahead", "file-times", 90_000)
    assert ahead["searches"] == "--until leaves them out up to that time"
    assert (copied["clock"], copied["ahead_ms"]) == ("in-time", None)


def test_times_are_held_against_markers(tmp_path: Path) -> None:
    """One record after its marker is ahead; ten transactions that are all long before theirs are behind, nine are not."""
    [ahead] = _rows(tmp_path / "a", {"t-0": [_ended(0, TIME + 5_000, TIME)]})
    [behind] = _rows(tmp_path / "b", {"t-0": [b"".join(_ended(2 * n, TIME - 61_000, TIME + n) for n in range(10))]})
    [slow] = _rows(tmp_path / "c", {"t-0": [b"".join(_ended(2 * n, TIME - 61_000, TIME + n) for n in range(9))]})

    assert (ahead["clock"], ahead["compared_with"], ahead["ahead_ms"]) == ("ahead", "markers", 5_000)
    assert (behind["clock"], behind["ahead_ms"]) == ("behind", -61_000)
    assert slow["clock"] == "in-time"


def test_records_after_the_last_marker_are_not_ahead_of_it(tmp_path: Path) -> None:
    """They were written later; and internal topics have no row, whose times brokers write."""
    data = _ended(0, TIME, TIME) + _at(TIME + 60_000, 2)
    [row] = _rows(tmp_path, {"t-0": [data], "__consumer_offsets-0": [_at(0)]}, TIME + 60_000)

    assert (row["topic"], row["clock"]) == ("t", "in-time")


def _appended(time: int, base: int) -> bytes:
    return batch(
        record(b"v"), base_offset=base, base_timestamp=time, max_timestamp=time, attributes=LOG_APPEND_TIME
    )  # fmt: skip


def test_times_that_brokers_wrote_at_the_append_are_theirs(tmp_path: Path) -> None:
    """A topic with LogAppendTime has brokers' times, wherever producers' clocks are."""
    [row] = _rows(tmp_path, {"t-0": [_appended(NOW, 0) + _appended(NOW, 1)]}, NOW + 5)

    assert (row["clock"], row["compared_with"], row["ahead_ms"]) == ("append-time", "append-times", None)
    assert "producers' do not matter" in row["retention"]


def test_producers_times_are_held_against_appends_beside_them(tmp_path: Path) -> None:
    """One that is after a later append is ahead; ten that are long before the append before them are behind."""
    late = _appended(NOW, 0) + b"".join(_at(NOW - 61_000 + n, 1 + n) for n in range(10))
    few = _appended(NOW, 0) + b"".join(_at(NOW - 61_000 + n, 1 + n) for n in range(9))
    one = late + _at(NOW - 59_000, 11)
    [ahead] = _rows(tmp_path / "a", {"t-0": [_at(NOW + 9_000) + _appended(NOW, 1)]})
    [behind] = _rows(tmp_path / "b", {"t-0": [late]})
    others = [_rows(tmp_path / name, {"t-0": [data]})[0] for name, data in (("c", few), ("d", one))]
    [after] = _rows(tmp_path / "e", {"t-0": [_appended(NOW, 0) + _at(NOW + 9_000, 1)]})

    assert (ahead["clock"], ahead["compared_with"], ahead["ahead_ms"]) == ("ahead", "append-times", 9_000)
    assert (behind["clock"], behind["compared_with"], behind["ahead_ms"]) == ("behind", "append-times", -60_991)
    assert [row["clock"] for row in (*others, after)] == ["in-time"] * 3

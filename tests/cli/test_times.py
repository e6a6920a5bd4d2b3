"""Times in options: one way to write them everywhere; what is relative is meant by the newest time, and said."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from invoke import SEGMENT, in_full, kafkalog, rows_of
from kafkalog.quantities import Ago, at_newest, iso, ms_of, time_of
from official import FIXTURES

DATA = FIXTURES / "k4-c-group-offsets-tv0" / "data"
LONGER = FIXTURES / "k4-m-expired-ids" / "data"  # its clients ran for a minute
NOON = 1795262400000  # 2026-11-21T12:00:00Z


@pytest.mark.parametrize(
    ("text", "ago"),
    [
        ("now", 0), ("-1h", 3_600_000), ("-30m", 1_800_000), ("-30min", 1_800_000), ("-45s", 45_000), ("-2d", 172_800_000),
        ("-500ms", 500), ("+5m", -300_000), ("now-1h", 3_600_000), ("NOW", 0), ("-1H", 3_600_000),
    ],
)  # fmt: skip
def test_a_time_may_be_relative(text: str, ago: int) -> None:
    """To the newest one."""
    assert time_of(text) == Ago(ago)
    assert at_newest(time_of(text), NOON) == NOON - ago


@pytest.mark.parametrize("text", ["-1", "-1w", "1h", "-h", "now+", "-1.5h", "tomorrow"])
def test_nothing_else_is(text: str) -> None:
    """A number is ms since 1970, everything else an error."""
    if text == "-1":
        assert time_of(text) == -1
        return
    with pytest.raises(ValueError, match="is not a time"):
        time_of(text)


@pytest.mark.parametrize(
    ("text", "unit"),
    [("1795262400", "seconds"), ("1795262400000000", "microseconds"), ("1795262400000000000", "nanoseconds")],
)
@pytest.mark.parametrize(
    "command",
    [("txn-audit", "--now"), ("groups", "--at"), ("dump", "--since"), ("dump", "--until"), ("metadata", "--at")],
)
def test_another_unit_is_refused_with_the_right_value(text: str, unit: str, command: tuple[str, str]) -> None:
    """In the message is what should have been written. Of --at a number of ten digits is an offset, seen by the logs."""
    ended = kafkalog(*command, text, SEGMENT if command[0] == "dump" else DATA)

    assert ended.status == 2, ended.err
    assert str(NOON) in re.sub(r"\s+", " ", ended.err)
    assert "2026-11-21T12:00:00" in ended.err
    assert unit in ended.err


def test_offsets_are_still_offsets() -> None:
    """A number that could be seconds is only refused where no log reaches it."""
    assert kafkalog("groups", "--at", "1", DATA).status in (0, 1)
    assert kafkalog("groups", "--at", "offset:77", DATA).status in (0, 1)
    assert kafkalog("groups", "--at", "10000000000", DATA).status in (0, 1)  # 2286 as seconds


@pytest.mark.parametrize("command", ["groups", "transactions", "metadata"])
def test_a_moment_before_the_first_record_is_answered_with_when_records_begin(command: str) -> None:
    """Nothing matches, so the exit status is 3; a millisecond later there is something."""
    ended = kafkalog(command, "--at", "2020-01-01T00:00:00Z", DATA)
    said = re.search(r"nothing matches: records begin at (\S+), after 2020-01-01T00:00:00.000Z", ended.err)

    assert ended.status == 3
    assert said is not None, ended.err
    there = kafkalog(command, "--format", "ndjson", "--at", said[1], DATA)
    assert there.status in (0, 1)
    assert there.rows


def test_a_topic_s_end_is_not_taken_for_that_of_the_files() -> None:
    """The log of groups ends before the other files do; what is after its end is said to be of that topic."""
    data = FIXTURES / "k4-c-group-offsets-tv0" / "data"
    ended = kafkalog("groups", "--at", "now", data)

    assert "files end 2026-11-21T08:58:04.825Z" in in_full("txn-audit", data).text
    assert (
        "the state is that of 2026-11-21T08:58:03.065Z (UTC); __consumer_offsets ends at 2026-11-21T08:58:03.065Z"
        in (ended.err)
    )


@pytest.mark.parametrize(("command", "data"), [("groups", LONGER), ("transactions", LONGER), ("metadata", DATA)])
def test_a_relative_moment_is_that_before_the_newest_record(command: str, data: Path) -> None:
    """And is said; it gives what the same time gives that is written out."""
    ended = kafkalog(command, "--format", "ndjson", "--at", "-2s", data)
    said = re.search(r"the state is that of (\S+)", ended.err)

    assert ended.status in (0, 1), ended.err
    assert said
    assert kafkalog(command, "--format", "ndjson", "--at", said[1], data).out == ended.out
    assert kafkalog(command, "--format", "ndjson", "--at", "now", data).status in (0, 1)


def test_a_relative_present_is_that_before_the_newest_time() -> None:
    """Of an audit; it says which it is."""
    ended = kafkalog("txn-audit", "--now", "+1h", DATA)
    said = re.search(r"the present is (\S+)", ended.err)

    assert said
    assert kafkalog("txn-audit", "--now", said[1], DATA).out == ended.out
    now = re.search(r"the present is (\S+)", kafkalog("txn-audit", "--now", "now", DATA).err)
    assert now
    assert ms_of(said[1]) - ms_of(now[1]) == 3_600_000


def test_a_dump_s_times_are_relative_to_its_files() -> None:
    """The newest time that a broker wrote: a marker's."""
    newest = max(row["max_timestamp_ms"] for row in rows_of(SEGMENT) if row["table"] == "batches" and row["is_control"])
    ended = kafkalog("dump", "--since", "-100ms", "--format", "ndjson", SEGMENT)

    assert f"--since is {iso(newest - 100)}" in ended.err
    assert ended.out == kafkalog("dump", "--since", str(newest - 100), "--format", "ndjson", SEGMENT).out
    assert kafkalog("dump", "--since", "-1h", "-", stdin=SEGMENT.read_bytes()).status == 2


def test_a_day_is_its_beginning(tmp_path: Path) -> None:
    """With a zone or without."""
    assert ms_of("2026-11-21") == NOON - 12 * 3_600_000
    assert ms_of("2026-11-21T13:00:00+01:00") == NOON
    assert ms_of("2026-11-21T12:00:00") == NOON


def test_a_wrong_clock_is_marked_and_measures_nothing(tmp_path: Path) -> None:
    """Times outside of 2010 to 2040: no duration is made of them, no deadline passes by them, people see it."""
    from kafkalog.auditing.pipeline import Clock
    from kafkalog.auditing.topics import transition_rows
    from kafkalog.findings import Finding
    from kafkalog.quantities import iso_marked
    from kafkalog.segments.file_rows import one_by_one
    from kafkalog.tables.internal_tables import TRANSITIONS
    from state_topic import value, write_state

    wrong = ms_of("2106-02-07T06:28:15Z")
    assert iso_marked(NOON) == iso(NOON)
    assert iso_marked(wrong) == "2106-02-07T06:28:15.000Z (a wrong clock: not between 2010 and 2040)"
    assert "wrong clock" in iso_marked(0)
    log = write_state(tmp_path, *(("id", value(0, update=at)) for at in (NOON, NOON + 5, 0, NOON, wrong)))
    steps = (item for item in one_by_one(transition_rows([log])) if not isinstance(item, Finding))
    assert [row[TRANSITIONS.names.index("duration_ms")] for _, row in steps] == [5, None, None, None, None]
    assert Clock().with_scan(NOON, NOON).with_scan(wrong, wrong) == Clock(NOON, NOON)

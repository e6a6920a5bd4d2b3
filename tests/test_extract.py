"""Records written out again: which ones, in which form, what is said of them; nothing twice and nothing made up."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any, Final

import pytest

import kafkalog as library
from invoke import kafkalog
from kafkalog.queries.reading import SelectedBlock
from official import FIXTURES

HANGING = FIXTURES / "k4-f-hanging-late-produce-tv0" / "data"
ELECTION = sorted((FIXTURES / "k4-k-unclean-election").glob("data-*"))
CODECS = FIXTURES / "k4-b-codecs" / "data"
GROUPS = FIXTURES / "k4-c-group-offsets-tv0" / "data"
TOPIC = "tickets-tickets.26"


def offsets(rows: list[dict[str, object]]) -> list[tuple[object, object]]:
    return [(row["partition"], row["offset"]) for row in rows]


def test_by_default_it_is_what_read_committed_consumers_are_given() -> None:
    """As the audit's table of visible offsets says, which is made without reading a record."""
    for case in (HANGING, CODECS, GROUPS):
        found = kafkalog("extract", "--columns", "*", case).rows
        given = {(row["topic"], row["partition"], row["offset"]) for row in found}
        visible = library.audit(case).rows("visible")
        ranges = {
            (row["topic"], row["partition"], offset)
            for row in visible
            for offset in range(row["first_offset"], row["last_offset"] + 1)
        }
        assert len(given) == len(found)
        assert given <= ranges
        assert {row["outcome"] for row in found} <= {"committed", "not-transactional"}
        assert not any(row["is_control"] for row in found)


def test_read_uncommitted_is_all_data() -> None:
    """Each data record of the topic, whatever became of it."""
    found = kafkalog("extract", "--view", "read-uncommitted", "--topic", TOPIC, HANGING).rows
    every = [one for one in library.records(HANGING, topic=TOPIC) if one.outcome is not None]
    data = [one for one in every if (one.partition, one.offset) in set(offsets(found))]

    assert len(found) == len(data) > len(kafkalog("extract", "--topic", TOPIC, HANGING).rows)


def test_an_incident_has_its_records() -> None:
    """Of hanging transactions exactly their records; the id is that of the table of incidents."""
    incidents = [row for row in library.audit(HANGING).rows("incidents") if row["kind"] == "consumers-stopped"]
    found = [row for one in incidents for row in kafkalog("extract", "--incident", one["id"], HANGING).rows]

    assert found
    assert {row["outcome"] for row in found} == {"hanging"}
    assert len(found) == sum(one["records"] for one in incidents)
    assert kafkalog("extract", "--incident", "nothing", HANGING).status == 3


def test_lost_records_are_those_that_the_leader_does_not_have() -> None:
    """Of the old leader's copy what consumers were given, and nothing that was aborted there."""
    ended = kafkalog("extract", "--lost", *ELECTION)
    lost = next(row for row in library.audit(ELECTION).rows("incidents") if row["kept_in"])
    kept = {
        (one["log"], offset) for one in lost["kept_in"] for offset in range(one["first_offset"], one["last_offset"] + 1)
    }

    assert ended.rows
    assert {(row["log"], row["offset"]) for row in ended.rows} <= kept
    assert {row["outcome"] for row in ended.rows} <= {"committed", "not-transactional"}
    by_incident = kafkalog("extract", "--incident", lost["id"], *ELECTION).rows
    assert offsets(by_incident) == offsets(ended.rows)


def test_at_a_time_later_markers_do_not_count() -> None:
    """What was decided later was open then: the records after it were not given yet."""
    now = kafkalog("extract", "--topic", TOPIC, HANGING).rows
    middle = sorted(row["timestamp_ms"] for row in now)[len(now) // 2]
    then = kafkalog("extract", "--topic", TOPIC, "--at", str(middle), HANGING).rows

    assert 0 < len(then) < len(now)
    assert set(offsets(then)) < set(offsets(now))
    assert all(row["timestamp_ms"] <= middle for row in then)


@pytest.mark.parametrize("words", [["--view", "read-committed"], ["--at", "2026-11-21"]])
@pytest.mark.parametrize("which", [["--lost"], ["--incident", "x"], ["--outcome", "aborted"]])
def test_a_view_does_not_go_with_what_says_which(words: list[str], which: list[str]) -> None:
    """Together they are wrong usage."""
    assert kafkalog("extract", *words, *which, HANGING).status == 2


def test_segments_have_whole_batches(tmp_path: Path) -> None:
    """The copies have each selected record, and it is said how many others are with them."""
    ended = kafkalog("extract", "--format", "segment", "--outcome", "hanging", "-o", tmp_path / "out", HANGING)
    wanted = kafkalog("extract", "--outcome", "hanging", HANGING).rows
    copied = [
        (int(path.parent.name.rpartition("-")[2]), record.offset)
        for path in sorted((tmp_path / "out").rglob("*.log"))
        for record in library.records(path)
    ]

    assert ended.status == 0, ended.err
    assert set(offsets(wanted)) <= set(copied)


def test_lines_for_the_console_producer(tmp_path: Path) -> None:
    """Headers, key and value with tabs between, and the command that reads them."""
    out = tmp_path / "lines.txt"
    ended = kafkalog("extract", "--format", "console", "--topic", TOPIC, "-o", out, HANGING)
    rows = kafkalog("extract", "--topic", TOPIC, HANGING).rows

    assert ended.status == 0, ended.err
    assert f"kafka-console-producer.sh --bootstrap-server HOST:PORT --topic {TOPIC} " in ended.err
    lines = [line.split("\t", 2) for line in out.read_text().splitlines()]
    assert [line[1:] for line in lines] == [[row["key"] or "\\N", row["value"] or "\\N"] for row in rows]


FITTING: Final = next(iter(library.records(HANGING, topic=TOPIC)))


@pytest.mark.parametrize(
    "fields",
    [
        {"value": b"\xff"},
        {"value": b"two\nlines"},
        {"value": b"\r"},
        {"key": b"a\tb"},
        {"key": b"\\N"},
        {"headers": ((b"a:b", b""),)},
        {"headers": ((b"a", b"b,c"),)},
    ],
)
def test_what_no_line_can_hold_is_refused(
    fields: dict[str, Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """How many records, and the first of them; nothing is written."""
    monkeypatch.setattr(SelectedBlock, "record", lambda *_: FITTING._replace(**fields))
    ended = kafkalog("extract", "--format", "console", "--topic", TOPIC, "-o", tmp_path / "x.txt", HANGING)

    assert ended.status == 2
    assert f"can't be lines of kafka-console-producer, the first {TOPIC}-0 offset 0: " in ended.err
    assert not (tmp_path / "x.txt").exists()


def test_it_says_which_groups_had_read_past_or_not_reached() -> None:
    """By their commits, where these are among the inputs."""
    ended = kafkalog("extract", GROUPS)
    assert "records of " in ended.err
    assert "group g-stock-sensors.25 had read past them in fares-refunds.18-1" in ended.err


def test_parquet_and_ndjson_have_the_same_records(tmp_path: Path) -> None:
    """All columns, those of the log among them."""
    parquet = pytest.importorskip("pyarrow.parquet")
    kafkalog("extract", "-o", tmp_path / "x.parquet", HANGING)
    kafkalog("extract", "-o", tmp_path / "x.ndjson", HANGING)
    rows = [json.loads(line) for line in (tmp_path / "x.ndjson").read_text().splitlines()]
    found = parquet.read_table(tmp_path / "x.parquet").to_pylist()

    assert [{name: row[name] for name in found[0]} for row in rows] == found


@pytest.mark.parametrize("command", ["find", "extract", "dump"])
def test_a_second_copy_of_a_broker_is_left_out_and_said(command: str, tmp_path: Path) -> None:
    """Two copies of one directory are of different times: the first is read, with a sentence about the other."""
    again = shutil.copytree(FIXTURES / "k4-c-group-offsets-tv0" / "data", tmp_path / "again")
    alone, both = (
        kafkalog(command, "--format", "ndjson", *paths)
        for paths in ([tmp_path / "again"], [tmp_path / "again", shutil.copytree(again, tmp_path / "more")])
    )

    assert (both.rows, both.status) == (alone.rows, alone.status)
    assert "directory-twice" in both.err
    assert str(tmp_path / "more") in both.err

"""A second reading of what an audit could not prove."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

import build
import plain
from invoke import kafkalog
from kafkalog.findings import Finding
from kafkalog.log_dirs.moving import lost_directories
from kafkalog.segments.readers import batches
from official import FIXTURES
from plain import Batch
from state_topic import T, key, value, write_state

_LATER: Final = 1_795_260_000_000  # ms: after all that the fixture has


def _end(segment: Path) -> int:
    return max(batch.last_offset for batch in batches(segment)) + 1


def _append(segment: Path, data: bytes) -> None:
    with segment.open("ab") as file:
        file.write(data)


def test_a_second_reading_tells_what_ended_from_what_hangs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One ended meanwhile; the others stayed while the broker wrote: two hang, and one is known to the coordinator."""
    root = tmp_path / "data"
    shutil.copytree(FIXTURES / "v2.8-hanging" / "data", root)
    for mark in root.rglob(".kafka_cleanshutdown"):
        mark.unlink()
    segments = [root / f"ledger-{number}" / f"{0:020}.log" for number in range(3)]
    waited: list[float] = []

    def meanwhile(seconds: float) -> None:
        waited.append(seconds)
        times = {"base_timestamp": _LATER, "max_timestamp": _LATER}
        ended = build.marker(0, base_offset=_end(segments[0]), producer_id=0, producer_epoch=0, **times)
        _append(segments[0], ended)
        _append(segments[1], build.batch(build.record(b"more"), base_offset=_end(segments[1]), **times))
        for state in root.glob("__transaction_state-*/*.log"):
            record = build.record(value(0, producer=99, update=_LATER, start=-1), key("another"))
            at = _end(state) if state.stat().st_size else 0
            _append(state, build.batch(record, base_offset=at, **times))

    before = kafkalog("txn-audit", "--format", "ndjson", root).table("transactions")
    monkeypatch.setattr("kafkalog.auditing.pipeline.confirm.time.sleep", meanwhile)
    ended = kafkalog("txn-audit", "--format", "ndjson", "--confirm", "7", root)
    unproved = {(row["topic"], row["partition"]) for row in before if row["certainty"] != "proved"}
    now = {
        row["partition"]: (row["state"], row["certainty"])
        for row in ended.table("transactions")
        if row["marker_offset"] is None
    }

    assert unproved == {("ledger", number) for number in range(3)}
    assert waited == [7.0]
    assert now == {1: ("hanging", "proved"), 2: ("hanging", "proved"), 3: ("ongoing", "proved")}
    remedies = {
        row["partition"]: row["remedy"] for row in ended.table("findings") if row["code"] == "transaction-hanging"
    }
    assert "--partition 1 --start-offset 13" in remedies[1]


def test_a_coordinator_that_is_quiet_leaves_no_doubt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its records end before the open transaction begins, in both readings: none of it is missing in the second one."""
    ended = [
        Batch(0, 0, 0, "data", 1000, 0, 0, timestamp=T),
        Batch(0, 1, 1, "commit", 1000, 0, coordinator_epoch=0, timestamp=T + 2500),
    ]
    plain.write_segments(tmp_path / "t-0", [*ended, Batch(0, 2, 2, "data", 1000, 0, 1, timestamp=T + 60_000)])
    listed = [("t", [0])]
    steps = (value(1, partitions=listed), value(2, partitions=listed, update=T + 2000), value(4, partitions=[]))
    write_state(tmp_path, *(("tx-1", step) for step in steps))
    log = tmp_path / "t-0" / f"{0:020}.log"
    more = build.batch(build.record(b"more"), base_offset=3, base_timestamp=T + 61_000, max_timestamp=T + 61_000)
    monkeypatch.setattr("kafkalog.auditing.pipeline.confirm.time.sleep", lambda _: _append(log, more))
    rows = kafkalog("txn-audit", "--format", "ndjson", "--confirm", "7", tmp_path).table("transactions")

    assert [(row["state"], row["certainty"]) for row in rows if row["marker_offset"] is None] == [("hanging", "proved")]


def test_nothing_is_read_again_where_all_is_proved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A snapshot changes no more."""
    monkeypatch.setattr("kafkalog.auditing.pipeline.confirm.time.sleep", lambda _: pytest.fail("it waited"))

    case = FIXTURES / "v2.8-hanging" / "data"
    found = kafkalog("txn-audit", "--format", "ndjson", "--snapshot", "--confirm", "5", case)

    assert {row["certainty"] for row in found.table("transactions")} == {"proved"}


def test_a_copy_stays_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nothing grows between the readings, the second one proves nothing."""
    root = tmp_path / "data"
    shutil.copytree(FIXTURES / "v2.8-hanging" / "data", root)
    for mark in root.rglob(".kafka_cleanshutdown"):
        mark.unlink()
    monkeypatch.setattr("kafkalog.auditing.pipeline.confirm.time.sleep", lambda _: None)

    once = kafkalog("txn-audit", "--format", "ndjson", "--all", root)
    assert kafkalog("txn-audit", "--format", "ndjson", "--all", "--confirm", "1", root).out == once.out


def test_a_directory_that_is_lost_during_the_second_reading_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    """What the first reading could read whole, and the second one could not, makes the audit incomplete."""
    root = tmp_path / "data"
    shutil.copytree(FIXTURES / "v2.8-hanging" / "data", root)
    for mark in root.rglob(".kafka_cleanshutdown"):
        mark.unlink()
    monkeypatch.setattr("kafkalog.auditing.pipeline.confirm.time.sleep", lambda _: root.rename(tmp_path / "unmounted"))
    ended = kafkalog("txn-audit", "--format", "ndjson", "--confirm", "7", root)
    assert ended.status == 3
    assert ended.table("summary")[0]["complete"] is False


def test_a_directory_that_is_lost_while_the_second_reading_reads_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    """Its files were all read, but perhaps not of one directory: it is one finding of the whole audit."""
    root = tmp_path / "data"
    shutil.copytree(FIXTURES / "v2.8-hanging" / "data", root)
    for mark in root.rglob(".kafka_cleanshutdown"):
        mark.unlink()
    readings: list[int] = []

    def lost(nodes: Any) -> Iterator[Finding]:
        readings.append(1)
        if len(readings) == 2:
            root.rename(tmp_path / "unmounted")
        return lost_directories(nodes)

    monkeypatch.setattr("kafkalog.auditing.pipeline.confirm.time.sleep", lambda _: None)
    monkeypatch.setattr("kafkalog.auditing.pipeline.run.lost_directories", lost)
    ended = kafkalog("txn-audit", "--format", "ndjson", "--confirm", "7", root)
    assert ended.status == 3
    assert [row["file"] for row in ended.table("findings") if row["code"] == "file-unreadable"] == [str(root)]

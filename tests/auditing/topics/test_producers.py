"""``kafkalog producers``: who wrote how much and when, held to a plain sum over batches and to what clients did."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest

import build
import kafkalog as library
from invoke import kafkalog
from official import CORPUS, FIXTURES

T = build.TIME
CASES = [path for path in sorted(FIXTURES.glob("*/data")) if any(path.glob("*-0/*.log"))]


def write(root: Path, topic: str, *batches: bytes, number: int = 0) -> None:
    """Write a partition with one segment."""
    folder = root / f"{topic}-{number}"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{0:020}.log").write_bytes(b"".join(batches))


def batch(offset: int, count: int, time: int, producer: int = -1) -> bytes:
    """Make a batch of so many records at a time."""
    records = [build.record(b"v", delta=at) for at in range(count)]
    about = {"base_offset": offset, "base_timestamp": time, "max_timestamp": time, "producer_id": producer}
    return build.batch(*records, producer_epoch=-1 if producer < 0 else 0, **about)


def plain(data: Path) -> tuple[dict[tuple[int, str], list[int]], set[str]]:
    """Sum batches, records and bytes by producer and topic, one batch after the other; also topics with wrappers."""
    wrapped: set[str] = set()
    sums: defaultdict[tuple[int, str], list[int]] = defaultdict(lambda: [0, 0, 0])
    starts = Counter[str]()
    for line in (data / "log-start-offset-checkpoint").read_text().splitlines()[2:]:
        topic, number, start = line.rsplit(" ", 2)
        starts[f"{topic}-{number}"] = int(start)
    for path in sorted(data.glob("*-*/*.log")):
        topic = path.parent.name.rpartition("-")[0]
        if topic.startswith("__") or "-delete" in path.parent.name or "-stray" in path.parent.name:
            continue
        for one in library.batches(path, on_finding=lambda _: None):
            if one.records_count is None:  # a wrapper's messages are counted, not its header
                wrapped.add(topic)
                continue
            is_data = not one.is_control and one.crc_holds and one.records_count > 0
            if is_data and (one.base_offset or 0) >= 0 and one.last_offset >= starts[path.parent.name]:
                of = sums[one.producer_id, topic]
                of[:] = [of[0] + 1, of[1] + one.records_count, of[2] + one.size]
    return {(producer, topic): of for (producer, topic), of in sums.items() if topic not in wrapped}, wrapped


@pytest.mark.parametrize("data", CASES, ids=lambda path: path.parent.name)
def test_rates_add_up_to_the_batches(data: Path) -> None:
    """All times of a producer and topic together are its batches, however they were written."""
    if not (data / "log-start-offset-checkpoint").is_file():
        pytest.skip("no log directory")
    found = library.open(data).producers()
    rates: defaultdict[tuple[int, str], list[int]] = defaultdict(lambda: [0, 0, 0])
    for row in found.rates:
        of = rates[row["producer_id"], row["topic"]]
        of[:] = [of[0] + row["batches"], of[1] + row["records"], of[2] + row["size_bytes"]]
    writers = Counter[int]()
    for row in found.writers:
        writers[row["producer_id"]] += row["records"]
        assert row["producer_id"] >= 0 or row["topics_total"] == 1

    expected, wrapped = plain(data)
    assert {who: sums for who, sums in rates.items() if who[1] not in wrapped} == expected
    by_producer = Counter[int]()
    for (producer, _), sums in rates.items():
        by_producer[producer] += sums[1]
    assert writers == by_producer


@pytest.mark.corpus
def test_producers_are_those_of_the_clients() -> None:
    """Each transaction that clients were told of is of a writer with its transactional id."""
    case = CORPUS / "k4-a-interleaved-tv2"
    truth = json.loads((case / "truth.json").read_text())
    told: Counter[tuple[int, str]] = Counter()
    for one in truth["transactions"]:
        told[one["producer_id"], one["transactional_id"]] += sum(part["count"] for part in one["partitions"].values())
    rows = library.open(case / "data").producers().writers

    assert told
    assert told == {
        (row["producer_id"], row["transactional_id"]): row["records"] for row in rows if row["transactional_id"]
    }


def test_those_without_an_id_are_one_row_for_each_topic(tmp_path: Path) -> None:
    """Nobody knows whether they are one."""
    write(tmp_path, "a", batch(0, 2, T), batch(2, 1, T, producer=7))
    write(tmp_path, "a", batch(0, 3, T + 5), number=1)
    write(tmp_path, "b", batch(0, 4, T), batch(4, 5, T + 60_000, producer=7))
    rows = list(library.open(tmp_path).producers().writers)

    assert [(r["producer_id"], r["topics"], r["partitions"], r["records"], r["last_timestamp_ms"]) for r in rows] == [
        (7, ["a", "b"], 2, 6, T + 60_000), (-1, ["a"], 2, 5, T + 5), (-1, ["b"], 1, 4, T)
    ]  # fmt: skip


def test_a_batch_is_counted_at_its_newest_timestamp(tmp_path: Path) -> None:
    """By the minute, the hour and the day; what has no time is on a row of its own."""
    write(tmp_path, "t", batch(0, 1, T), batch(1, 2, T + 60_000), batch(3, 4, T + 61_000), batch(7, 8, -1))

    def rates(by: Any) -> list[tuple[int | None, int]]:
        rows = library.open(tmp_path).producers(by=by).rates
        return [(row["start_ms"], row["records"]) for row in rows]

    minute, hour, day = T // 60_000 * 60_000, T // 3_600_000 * 3_600_000, T // 86_400_000 * 86_400_000
    assert rates("minute") == [(None, 8), (minute, 1), (minute + 60_000, 6)]
    assert rates("hour") == [(None, 8), (hour, 7)]
    assert rates("day") == [(None, 8), (day, 7)]


def test_replicas_are_counted_once(tmp_path: Path) -> None:
    """The longest of those whose leader epochs reach as far."""
    for node, batches in (("1", [batch(0, 2, T)]), ("2", [batch(0, 2, T), batch(2, 1, T)])):
        write(tmp_path / node, "t", *batches)
        (tmp_path / node / "meta.properties").write_text(f"version=1\ncluster.id=c\nnode.id={node}\n")
    (row,) = library.open([tmp_path / "1", tmp_path / "2"]).producers().writers

    assert (row["cluster_id"], row["records"], row["partitions"]) == ("c", 3, 1)


def test_a_terminal_gets_a_line_of_signs_for_each_producer(tmp_path: Path) -> None:
    """Its height is relative to the producer's own most."""
    write(tmp_path, "t", *(batch(10 * at, count, T + 60_000 * at) for at, count in enumerate((8, 4, 1))))
    write(tmp_path, "t", batch(0, 2, T + 120_000, producer=3), batch(2, 9, 2**62, producer=3), number=1)
    ended = kafkalog("producers", "--by", "minute", "--format", "table", tmp_path)

    assert ended.out.decode().splitlines() == [
        "2023-11-14T22:13:00.000Z to 2023-11-14T22:16:00.000Z, a character is 1 minute",
        "",
        "no producer id, to t  13 records, at most 8 a minute, at 2023-11-14T22:13:00.000Z",
        "█▄▁",
        "",
        "producer 3            11 records, at most 2 a minute, at 2023-11-14T22:15:00.000Z;"
        " 9 without a time between 2010 and 2040",
        "  █",
    ]


def test_machines_get_the_table_of_rates(tmp_path: Path) -> None:
    """With --by, without a table of their own choice."""
    write(tmp_path, "t", batch(0, 1, T))
    ended = kafkalog("producers", "--by", "day", "--format", "ndjson", tmp_path)

    assert [(row["table"], row["topic"], row["records"]) for row in ended.rows] == [("rates", "t", 1)]
    assert kafkalog("producers", "--by", "day", "--topic", "u*", tmp_path).status == 3


def test_several_processes_count_the_same() -> None:
    """Logs are read in processes, and put together here."""
    data = FIXTURES / "k4-a-interleaved-tv2" / "data"
    tables = ("writers", "rates")
    one, two = (library.open(data, jobs=jobs).producers() for jobs in (1, 2))

    assert all(list(getattr(one, table)) == list(getattr(two, table)) for table in tables)


def test_damage_is_reported_and_the_rest_is_counted(tmp_path: Path) -> None:
    """As an audit reports it."""
    bad = bytearray(batch(1, 1, T))
    bad[-1] ^= 1
    write(tmp_path, "t", batch(0, 1, T), bytes(bad), batch(2, 1, T))
    found = library.open(tmp_path).producers()

    assert [finding.code for finding in found.outcome.findings if finding.severity > library.Severity.NOTE] == [
        "crc-mismatch"
    ]
    assert [row["records"] for row in found.writers] == [2]

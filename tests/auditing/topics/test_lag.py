"""How far groups are behind: held to what brokers and read_committed consumers were told, and to logs made by hand."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import build
import kafkalog as library
from invoke import Row, kafkalog
from kafkalog.auditing.partition import read_log, visible_records
from kafkalog.log_dirs.log_directory import open_log_directory
from official import CORPUS, FIXTURES, of_corpus
from offsets_topic import T, Write, commit_key, commit_value, write_offsets

TRUTHS = [path for path in sorted(CORPUS.glob("*/truth.json")) if json.loads(path.read_text()).get("group_offsets")]


def committed(*arguments: str | Path) -> list[Row]:
    """Return the rows of the table ``committed``."""
    ended = kafkalog("groups", "--format", "ndjson", "--table", "committed", *arguments)
    assert ended.status in (0, 1), ended.err
    return ended.table("committed")


def write_log(root: Path, *batches: bytes, topic: str = "t", base: int = 0) -> Path:
    """Write a partition with one segment."""
    folder = root / f"{topic}-0"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{base:020}.log").write_bytes(b"".join(batches))
    return folder


def data(offset: int, count: int = 1, producer: int = -1, **fields: int) -> bytes:
    """Make a batch of so many records, in a transaction if there is a producer."""
    records = [build.record(b"v", b"k", delta=at) for at in range(count)]
    bits = 0 if producer < 0 else build.TRANSACTIONAL
    about = {"producer_id": producer, "producer_epoch": -1 if producer < 0 else 0, "base_timestamp": T} | fields
    return build.batch(*records, base_offset=offset, attributes=bits, **about)


def marker(offset: int, producer: int, *, commit: bool) -> bytes:
    """Make the end of a producer's transaction."""
    return build.marker(int(commit), base_offset=offset, producer_id=producer, producer_epoch=0)


def group_at(root: Path, *offsets: int, epoch: int = -1) -> None:
    """Commit an offset for each of some groups: g0, g1, ..."""
    write_offsets(
        root, *(Write(commit_key(f"g{number}"), commit_value(at, epoch=epoch)) for number, at in enumerate(offsets))
    )


@pytest.mark.corpus
@pytest.mark.parametrize("path", of_corpus(TRUTHS), ids=lambda path: path.parent.name)
def test_lag_is_what_brokers_and_consumers_were_told(path: Path) -> None:
    """Start, end and last stable offset are the broker's; a read_committed consumer was given `visible_lag` records."""
    truth = json.loads(path.read_text())
    found = list(library.open(sorted(path.parent.glob("data*"))).groups().committed)
    compared = 0
    for row in found:
        name = f"{row['topic']}-{row['partition']}"
        answer = truth["partitions"].get(name)
        if row["offset"] is None or row["partition_log"] is None or answer is None:
            continue
        bounds = row["log_start_offset"], row["log_end_offset"], row["last_stable_offset"]
        assert bounds == (answer["earliest"], answer["latest"], answer["last_stable_offset"]), name
        if name in truth["read_committed"]:
            given = [offset for offset, *_ in truth["read_committed"][name]["records"]]
            assert row["visible_lag"] == sum(offset >= row["offset"] for offset in given), row
            compared += 1

    assert compared or not any(row["partition_log"] for row in found)


def test_some_cases_of_the_corpus_have_lags() -> None:
    """Of the fixtures, a group waits for a transaction that is open, and is given nothing before it."""
    (waits,) = [row for row in committed(FIXTURES / "k4-c-group-offsets-tv0" / "data") if row["stuck_by"] is not None]

    assert waits["stuck_by"] == {
        "transactional_id": "payments-coupons.47", "producer_id": 2, "producer_epoch": 0, "first_offset": 3
    }  # fmt: skip
    assert (waits["offset"], waits["lag"], waits["visible_lag"]) == (2, 2, 0)


def test_aborted_and_control_records_are_not_given(tmp_path: Path) -> None:
    """Of ten offsets four are given: plain ones and committed ones below the open transaction."""
    batches = [data(0, 2), data(2, 2, producer=7), marker(4, 7, commit=False), data(5, 2, producer=8),
               marker(7, 8, commit=True), data(8, producer=9), data(9)]  # fmt: skip
    write_log(tmp_path, *batches)
    group_at(tmp_path, 0, 1, 3, 6, 7, 8, 9, 10)
    rows = committed(tmp_path)

    assert [(row["offset"], row["lag"], row["visible_lag"]) for row in rows] == [
        (0, 10, 4), (1, 9, 3), (3, 7, 2), (6, 4, 1), (7, 3, 0), (8, 2, 0), (9, 1, 0), (10, 0, 0)
    ]  # fmt: skip
    assert [row["stuck_by"] is not None for row in rows] == [False] * 4 + [True] * 3 + [False]
    assert {row["last_stable_offset"] for row in rows} == {8}


def test_an_offset_inside_of_a_cleaned_batch_counts_the_records_that_are_left(tmp_path: Path) -> None:
    """The batch is decoded: its header has how many are left, not which."""
    left = [build.record(b"v", b"k", delta=at) for at in (0, 3, 7)]
    folder = write_log(tmp_path, build.batch(*left, base_offset=0, last_offset_delta=9, base_timestamp=T), data(10))
    (directory,) = open_log_directory(str(folder)).partitions
    offsets = np.arange(12)

    found = visible_records(read_log(directory, ()).partition, offsets)

    assert found.tolist() == [sum(at >= offset for at in (0, 3, 7, 10)) for offset in offsets.tolist()]


@pytest.mark.parametrize("seed", range(25))
def test_visible_records_are_those_of_a_plain_reading(seed: int, tmp_path: Path) -> None:
    """Of random logs with open, committed and aborted transactions, and batches that a cleaner thinned out."""
    chance = random.Random(seed)
    batches: list[bytes] = []
    given: dict[int, int | None] = {}  # data records, with the producer whose transaction they are in
    fates: dict[int, list[int]] = {}  # producers with an open transaction, and its records
    hidden: set[int] = set()
    first_of: dict[int, int] = {}
    end = 0
    for _ in range(chance.randint(1, 40)):
        producer = chance.choice([-1, 1, 2, 3])
        if producer in fates and chance.random() < 0.4:
            commit = chance.random() < 0.5
            batches.append(marker(end, producer, commit=commit))
            hidden.update(() if commit else fates[producer])
            del fates[producer], first_of[producer]
            end += 1
            continue
        size = chance.randint(1, 9)
        left = sorted(chance.sample(range(size), chance.randint(1, size)))
        bits = 0 if producer < 0 else build.TRANSACTIONAL
        records = [build.record(b"v", delta=at) for at in left]
        about = {"producer_id": producer, "producer_epoch": -1 if producer < 0 else 0, "attributes": bits}
        batches.append(build.batch(*records, base_offset=end, last_offset_delta=size - 1, **about))
        given |= dict.fromkeys((end + at for at in left), producer)
        if producer >= 0:
            fates.setdefault(producer, []).extend(end + at for at in left)
            first_of.setdefault(producer, end)
        end += size
    stable = min(first_of.values(), default=end)
    cut = chance.randint(0, len(batches))
    folder = write_log(tmp_path, *batches[:cut])
    base = sum(_size_of(one) for one in batches[:cut])
    (folder / f"{base:020}.log").write_bytes(b"".join(batches[cut:]))
    (directory,) = open_log_directory(str(folder)).partitions
    facts = read_log(directory, ()).partition
    offsets = np.arange(end + 1)

    assert facts.last_stable_offset == stable
    assert visible_records(facts, offsets).tolist() == [
        sum(offset <= at < stable and at not in hidden for at in given) for offset in range(end + 1)
    ]


def _size_of(one: bytes) -> int:
    """Return how many offsets a batch has."""
    return int.from_bytes(one[23:27], "big") + 1


def test_an_offset_out_of_the_log_is_flagged(tmp_path: Path) -> None:
    """A consumer that starts there is sent to where auto.offset.reset says, and its lag is that of the log's bounds."""
    write_log(tmp_path, data(5, 3), base=5)
    group_at(tmp_path, 4, 5, 8, 9)
    rows = committed(tmp_path)

    assert [(row["offset"], row["out_of_range"], row["lag"]) for row in rows] == [
        (4, "before-start", 3), (5, None, 3), (8, None, 0), (9, "beyond-end", 0)
    ]  # fmt: skip


def test_groups_that_cannot_go_on_are_findings(tmp_path: Path) -> None:
    """One for each partition and reason: beyond the end a warning, before the start a note."""
    write_log(tmp_path, data(5, 3), base=5)
    group_at(tmp_path, 1, 2, 5, 8, 9, 10, 11, 12)
    ended = kafkalog("groups", "--format", "ndjson", tmp_path)
    found = {row["code"]: row for row in ended.table("findings")}

    assert ended.status == 1
    assert {code: (row["severity"], row["offset"], row["found"]) for code, row in found.items()} == {
        "offset-before-start": ("note", 1, "2"), "offset-beyond-end": ("warning", 9, "4")
    }  # fmt: skip
    assert "g4 at 9, g5 at 10, g6 at 11 and 1 more" in found["offset-beyond-end"]["message"]


def test_in_a_copy_of_a_running_broker_the_log_may_be_older(tmp_path: Path) -> None:
    """It is a note there."""
    write_log(tmp_path, data(0))
    group_at(tmp_path, 7)
    (tmp_path / "meta.properties").write_text("version=1\ncluster.id=c\nnode.id=1\n")
    (tmp_path / ".lock").touch()
    (found,) = (one for one in library.open(tmp_path).groups().outcome.findings if one.code == "offset-beyond-end")

    assert (found.severity, found.certainty) == (library.Severity.NOTE, "unless-copied-while-running")


def test_a_commit_of_truncated_records_is_of_another_history(tmp_path: Path) -> None:
    """The leader epoch of the commit ended before its offset: other records are there since."""
    write_log(tmp_path, data(0, 3, partition_leader_epoch=0), data(3, 5, partition_leader_epoch=2))
    group_at(tmp_path, 3, 4, epoch=0)
    rows = committed(tmp_path)

    assert [row["out_of_range"] for row in rows] == [None, "other-history"]


@pytest.mark.corpus
def test_the_election_says_since_when(tmp_path: Path) -> None:
    """With the metadata log, the unclean election of the case is when a commit of the old leader went out of range."""
    case = CORPUS / "k4-k-unclean-election"
    nodes = sorted(case.glob("data-*"))
    elected = next(row for row in library.open(nodes).metadata().leadership if row["change"] == "unclean-election")
    topic, partition = elected["topic"], elected["partition"]
    answer = json.loads((case / "truth.json").read_text())["partitions"][f"{topic}-{partition}"]
    write = Write(commit_key("late", topic, partition), commit_value(answer["latest"] + 9, epoch=0))
    write_offsets(tmp_path, write, number=99)
    (tmp_path / "meta.properties").write_bytes(
        (nodes[0] / "meta.properties").read_bytes().replace(b"node.id=1", b"node.id=77").replace(b"directory.id", b"#")
    )
    (row,) = (row for row in committed(tmp_path, *nodes) if row["group"] == "late")

    assert (row["out_of_range"], row["out_of_range_since_ms"]) == ("beyond-end", elected["since_ms"])


def test_without_the_logs_nothing_is_said_of_them(tmp_path: Path) -> None:
    """Each column about the log is null, also with --no-lag, and with --at: no file says where a log ended then."""
    group_at(tmp_path / "alone", 4)
    write_log(tmp_path / "both", data(0, 9))
    group_at(tmp_path / "both", 4)
    names = ("lag", "visible_lag", "stuck_by", "out_of_range", "log_end_offset", "last_stable_offset", "partition_log")

    def known(*arguments: str | Path) -> set[Any]:
        return {row[name] for row in committed(*arguments) for name in names}

    assert known(tmp_path / "alone") == known("--no-lag", tmp_path / "both") == {None}
    assert known("--at", str(T + 5000), tmp_path / "both") == {None}
    assert len(known(tmp_path / "both")) > 1


def test_at_says_the_zone_and_where_the_files_end(tmp_path: Path) -> None:
    """A time without a zone is UTC, and whoever asks about a time after the last record sees that."""
    group_at(tmp_path, 4)
    ended = kafkalog("groups", "--at", "2030-01-01T00:00:00", tmp_path)

    assert "the state is that of 2030-01-01T00:00:00.000Z (UTC)" in ended.err


@pytest.mark.process
def test_several_processes_say_the_same(tmp_path: Path) -> None:
    """Logs are read in processes, each counted alone."""
    case = FIXTURES / "k4-c-group-offsets-tv0" / "data"
    assert committed("--jobs", "2", case) == committed(case)

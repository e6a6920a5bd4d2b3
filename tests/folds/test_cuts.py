"""Logs cut into segments elsewhere, and logs whose first segments are gone: the same transactions."""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import pytest

import plain
from kafkalog.api import open as opened
from kafkalog.auditing.pipeline.run import audit
from kafkalog.auditing.transactions.surroundings import AuditOptions
from kafkalog.log_dirs.log_directory import PartitionDirectory, open_log_directory
from kafkalog.segments.readers import batches as read_batches
from official import FIXTURES, cases, materialize
from plain import Batch, Broker, Row, table

TABLES: Final = ("transactions", "producers", "coordinator", "visible", "gaps")
ELSEWHERE: Final = (
    "file",
    "position",
    "kind",
    "cause",
)  # of gaps: they name segments, and the cleaner's reach ends with one
OPTIONS: Final = AuditOptions(snapshot=True)

CASES = cases(FIXTURES)
SAMPLE = [
    "k4-a-interleaved-tv2-killed", "k4-c-group-offsets-tv0", "k4-d-fencing-tv2-400", "k4-f-hanging-late-produce-tv0",
    "k4-f-marker-leaderless", "k4-f-misattributed-epoch", "k4-g-foreign-markers", "k4-i-compacted-markers-gone",
    "k4-i-retention-delete-records", "k4-j-non-ascii-digits", "k4-j-preallocated", "k4-k-unclean-election",
    "k4-l-idempotent", "v0.9-magic0", "v0.11-mixed-magic", "v2.3-txn-java-clean", "v2.8-hanging", "v3.9-compact-txn",
    "v3.9-txn-rdk",
]  # fmt: skip


def said(folder: Path) -> dict[str, list[Row]]:
    """The tables of an audit of a case's data directories, in an order that does not hang on files."""
    found = audit(sorted(folder.glob("data*")), OPTIONS)
    tables = {name: table(found, name) for name in TABLES}
    tables["gaps"] = [{key: row[key] for key in row if key not in ELSEWHERE} for row in tables["gaps"]]
    return tables


def partitions(folder: Path) -> list[PartitionDirectory]:
    """The partitions of a case's data directories that have a log."""
    return [
        found
        for data in sorted(folder.glob("data*"))
        for found in open_log_directory(data).partitions
        if found.segments and not found.suffix
    ]


def boundaries(partition: PartitionDirectory) -> list[tuple[str, int, int]]:
    """Where a partition's log may be cut: file, position and first offset of each batch but a segment's first."""
    found = []
    for segment in partition.segments:
        whole = [batch for batch in read_batches(segment.path, on_finding=lambda _: None) if batch.crc_holds]
        inner = {
            record.position: record.offset
            for record in reversed(list(opened(segment.path, on_finding=lambda _: None).records()))
        }
        for before, batch in pairwise(whole):
            first = inner.get(batch.position, batch.last_offset) if batch.base_offset is None else batch.base_offset
            if first > max(before.last_offset, segment.base_offset):
                found.append((segment.path, batch.position, first))
    return found


def cut(folder: Path, places: Iterable[tuple[str, int, int]]) -> None:
    """Cut segments in two or more: each piece is named by its first batch. Index files go."""
    by_file: dict[str, list[tuple[int, int]]] = {}
    for path, position, first in places:
        by_file.setdefault(path, []).append((position, first))
    for path, its in by_file.items():
        data = Path(path).read_bytes()
        its.sort()
        ends = [position for position, _ in its[1:]] + [len(data)]
        for (position, first), end in zip(its, ends, strict=True):
            with (Path(path).parent / f"{first:020}.log").open("xb") as file:
                file.write(data[position:end])
        Path(path).write_bytes(data[: its[0][0]])
    for suffix in ("index", "timeindex"):
        for index in folder.rglob(f"*.{suffix}"):
            index.unlink()


def recut(case: str, to: Path, chosen: list[tuple[str, int, int]], whole: Path) -> dict[str, list[Row]]:
    """Copy a case, cut it, and say what an audit of the copy says; `chosen` are places in the case at `whole`."""
    folder = to / case
    shutil.copytree(whole, folder, ignore=shutil.ignore_patterns("*.index", "*.timeindex"))
    places = [(path.replace(str(whole), str(folder)), position, first) for path, position, first in chosen]
    cut(folder, places)
    tables = said(folder)
    shutil.rmtree(folder)
    for rows in tables.values():
        for row in rows:
            if "log" in row:
                row["log"] = row["log"].replace(str(folder), str(whole))
    return tables


@pytest.mark.some(every=3)
@pytest.mark.parametrize("case", SAMPLE)
def test_a_log_may_be_cut_anywhere(tmp_path: Path, case: str) -> None:
    """Every batch in a segment of its own, and a few cuts at random places: the same tables as the whole log's."""
    whole = materialize(FIXTURES / case, tmp_path / "whole")
    expected = said(whole)
    every = [place for partition in partitions(whole) for place in boundaries(partition)]
    assert every
    rng = random.Random(case)
    samples = [every, *(rng.sample(every, min(len(every), number)) for number in (1, 2, 5))]
    for number, chosen in enumerate(samples):
        found = recut(case, tmp_path / str(number), chosen, whole)
        for name in TABLES:
            assert found[name] == expected[name], (name, chosen)


@pytest.mark.exhaustive
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_log_may_be_cut_at_every_batch(tmp_path: Path, case: Path) -> None:
    """Cut once, at each batch in turn, every partition at its next one at a time: the same tables."""
    whole = materialize(case, tmp_path / "whole")
    expected = said(whole)
    places = [boundaries(partition) for partition in partitions(whole)]
    for number in range(max((len(its) for its in places), default=0)):
        chosen = [its[number] for its in places if number < len(its)]
        found = recut(case.name, tmp_path / "cut", chosen, whole)
        for name in TABLES:
            assert found[name] == expected[name], (name, chosen)


def test_cuts_are_cuts(tmp_path: Path) -> None:
    """What these tests do leaves all bytes of a log, in more files, whose names are the offsets that they begin with."""
    whole = materialize(FIXTURES / "v2.3-txn-java-clean", tmp_path)
    (partition,) = partitions(whole)
    before = b"".join(Path(segment.path).read_bytes() for segment in partition.segments)
    count = sum(1 for segment in partition.segments for _ in read_batches(segment.path))
    cut(whole, boundaries(partition))
    (after,) = partitions(whole)

    assert len(partition.segments) == 2
    assert len(after.segments) == count
    assert b"".join(Path(segment.path).read_bytes() for segment in after.segments) == before
    assert all(next(iter(read_batches(segment.path))).base_offset == segment.base_offset for segment in after.segments)
    assert not list(whole.rglob("*.index"))


# A log whose first segments are gone.


def outcomes(rows: Iterable[Row], start: int) -> set[tuple[Any, ...]]:
    """What became of the transactions that did not end below an offset."""
    names = (
        "producer_id",
        "state",
        "first_offset",
        "last_offset",
        "marker_offset",
        "marker_epoch",
        "coordinator_epoch",
    )
    return {
        tuple(row[name] for name in names)
        for row in rows
        if row["marker_offset"] is None or row["marker_offset"] >= start
    }


def transactions(folder: Path, log: str) -> list[Row]:
    """The transactions of one partition directory of a case, given by its path in it."""
    found = audit(sorted(folder.glob("data*")), OPTIONS)
    return [row for row in table(found, "transactions") if row["log"] == str(folder / log)]


@pytest.mark.parametrize(
    ("case", "log", "start"),
    [
        ("k4-a-interleaved-tv2-killed", "data/parcels-parcels.91-0", 13),
        ("k4-a-interleaved-tv2-killed", "data/parcels-parcels.91-0", 25),
        ("k4-j-preallocated", "data/orders-ledger.27-0", 40),
        ("k4-j-preallocated", "data/orders-ledger.27-0", 83),
        ("k4-j-preallocated", "data/orders-ledger.27-0", 133),
        ("v1.1-txn-java-running", "data/orders-1", 46),
        ("v2.3-txn-java-clean", "data/orders-0", 49),
        ("v3.6-txn-java-clean", "data/orders-2", 52),
        ("v3.9-txn-rdk", "data/orders-0", 16),
        ("v3.9-txn-rdk", "data/orders-0", 36),
    ],
)
def test_a_brokers_snapshot_stands_for_removed_segments(tmp_path: Path, case: str, log: str, start: int) -> None:
    """With the snapshot at its new begin, a log keeps the outcome of what its removed segments began."""
    folder = materialize(FIXTURES / case, tmp_path)
    whole = transactions(folder, log)
    for path in (folder / log).iterdir():
        if path.suffix != ".snapshot" and path.stem.isdecimal() and int(path.stem) < start:
            path.unlink()
    rest = transactions(folder, log)

    assert (folder / log / f"{start:020}.snapshot").is_file()
    assert outcomes(rest, start) == outcomes(whole, start)
    assert len(rest) == len(outcomes(rest, start))


def test_some_of_these_cross_the_begin(tmp_path: Path) -> None:
    """The fixtures above hold a transaction that was open where the log now begins."""
    folder = materialize(FIXTURES / "k4-a-interleaved-tv2-killed", tmp_path)
    rows = transactions(folder, "data/parcels-parcels.91-0")

    assert [row for row in rows if row["first_offset"] < 25 <= (row["marker_offset"] or 99)]


def as_plain(path: str) -> list[Batch]:
    """A segment's batches for the plain broker; a marker's type and epoch are read from its record here."""
    by_offset = {record.offset: record for record in opened(path).records()}
    found = []
    for batch in read_batches(path):
        assert batch.base_offset is not None
        assert batch.records_count is not None
        kind = "data" if batch.is_transactional else "plain"
        coordinator_epoch = -1
        if batch.is_control:
            kind = "emptied"
            record = by_offset.get(batch.base_offset)
            if record is not None and record.key is not None and record.value is not None:
                kind = {0: "abort", 1: "commit"}[int.from_bytes(record.key[2:4], "big")]
                coordinator_epoch = int.from_bytes(record.value[2:6], "big", signed=True)
        found.append(
            Batch(
                0, batch.base_offset, batch.last_offset, kind, batch.producer_id, batch.producer_epoch,
                batch.base_sequence, batch.records_count, coordinator_epoch, batch.max_timestamp, batch.position,
            )
        )  # fmt: skip
    return found


CROSSED = [
    ("k4-a-interleaved-tv2", "data/parcels-riders.94-0"),
    ("k4-f-misattributed-epoch", None),
    ("k4-g-foreign-markers", None),
    ("v2.3-txn-java-clean", "data/orders-0"),
    ("v3.9-txn-rdk", "data/orders-0"),
]


def _log_of(folder: Path, log: str | None) -> str:
    if log is not None:
        return log
    mine = [found for found in partitions(folder) if not found.topic.startswith("__")]
    return str(Path(max(mine, key=lambda found: found.size).log).relative_to(folder))


@pytest.mark.parametrize(("case", "log"), CROSSED)
def test_a_log_may_begin_at_any_batch(tmp_path: Path, case: str, log: str | None) -> None:
    """Wherever a log begins, with the snapshot that a plain broker takes there: the same outcomes, and why they lack data."""
    folder = materialize(FIXTURES / case, tmp_path)
    log = _log_of(folder, log)
    whole = transactions(folder, log)
    files = [Path(segment.path) for segment in open_log_directory(folder / log).partitions[0].segments]
    batches = [batch for path in files for batch in as_plain(str(path))]
    data = b"".join(path.read_bytes() for path in files)
    for path in (folder / log).glob("[0-9]*"):
        path.unlink()
    broker, position, crossed = Broker(), 0, 0
    for before, batch in pairwise(batches):
        broker.append(before)
        position += next_position(before, data, position)
        files = [folder / log / f"{batch.offset:020}{suffix}" for suffix in (".log", ".snapshot")]
        files[0].write_bytes(data[position:])
        files[1].write_bytes(broker.snapshot)
        rest = transactions(folder, log)
        for path in files:
            path.unlink()

        assert outcomes(rest, batch.offset) == outcomes(whole, batch.offset), batch.offset
        left = {
            other.producer: other
            for other in reversed(batches)
            if other.kind == "data" and other.offset >= batch.offset
        }
        for row in rest:
            if row["first_offset"] is None or row["first_offset"] >= batch.offset:
                continue
            crossed += 1
            end = row["marker_offset"] or broker.end + 10**6
            bare = row["producer_id"] not in left or left[row["producer_id"]].offset > end
            assert bare == (row["batches"] == 0)
            if bare and row["state"] in ("committed", "aborted") and row["cause"] != "administrator-abort":
                assert row["cause"] == "begins-before-log"
    assert crossed


def next_position(batch: Batch, data: bytes, position: int) -> int:
    """The size on disk of the batch at a position, by its length field; the offset there must be the batch's."""
    assert int.from_bytes(data[position : position + 8], "big") == batch.offset
    return 12 + int.from_bytes(data[position + 8 : position + 12], "big")


def small(tmp_path: Path, *batches: Batch) -> tuple[Path, Broker]:
    """A log whose first batch is gone; what is left stands in a file with the plain broker's snapshot beside it."""
    broker = Broker()
    broker.append(batches[0])
    folder = plain.write_segments(tmp_path / "t-0", batches[1:])
    (folder / f"{batches[1].offset:020}.snapshot").write_bytes(broker.snapshot)
    return folder, broker


DATA = Batch(0, 0, 0, "data", 1000, 0, 0)


def test_a_transaction_of_which_only_the_marker_is_left_begins_before_the_log(tmp_path: Path) -> None:
    """By the snapshot it had data: it is no bare marker, and its cause says where that was."""
    folder, _ = small(tmp_path, DATA, Batch(0, 1, 1, "commit", 1000, 0, coordinator_epoch=0))
    (row,) = table(audit([folder]), "transactions")

    assert (row["state"], row["first_offset"], row["marker_offset"]) == ("committed", 0, 1)
    assert (row["batches"], row["records"], row["cause"]) == (0, 0, "begins-before-log")


def test_a_transaction_with_data_left_begins_at_its_first_offset(tmp_path: Path) -> None:
    """Data on both sides of the log's begin is one transaction; what is left of it is counted."""
    batches = (DATA, Batch(0, 1, 1, "data", 1000, 0, 1), Batch(0, 2, 2, "abort", 1000, 0, coordinator_epoch=0))
    folder, _ = small(tmp_path, *batches)
    (row,) = table(audit([folder]), "transactions")

    assert (row["state"], row["first_offset"], row["last_offset"]) == ("aborted", 0, 1)
    assert (row["batches"], row["cause"]) == (1, None)


def test_an_open_transaction_from_before_the_log_holds_its_start(tmp_path: Path) -> None:
    """The last stable offset is the log's start where a transaction from before it is open."""
    folder, _ = small(tmp_path, DATA, Batch(0, 1, 1, "plain"))
    found = audit([folder])
    (row,) = table(found, "transactions")

    assert (row["first_offset"], row["marker_offset"], row["batches"]) == (0, None, 0)
    assert [row["last_stable_offset"] for row in table(found, "partitions")] == [1]


def test_without_the_snapshot_only_a_bare_marker_is_left(tmp_path: Path) -> None:
    """A log that begins behind a transaction's data, without a snapshot, knows of a marker alone."""
    folder, _ = small(tmp_path, DATA, Batch(0, 1, 1, "commit", 1000, 0, coordinator_epoch=0))
    (folder / f"{1:020}.snapshot").unlink()
    (row,) = table(audit([folder]), "transactions")

    assert (row["first_offset"], row["cause"]) == (None, "marker-without-data")


def test_a_snapshot_elsewhere_is_not_taken(tmp_path: Path) -> None:
    """Only the snapshot at the log's begin says what was open there; a later one speaks of what the log tells itself."""
    folder, broker = small(tmp_path, DATA, Batch(0, 1, 1, "commit", 1000, 0, coordinator_epoch=0))
    (folder / f"{1:020}.snapshot").rename(folder / f"{2:020}.snapshot")
    (row,) = table(audit([folder]), "transactions")

    assert row["first_offset"] is None
    assert broker.open


def test_an_unreadable_snapshot_is_told_and_the_rest_goes_on(tmp_path: Path) -> None:
    """A snapshot that is no such file is a finding; the log is audited without it."""
    folder, _ = small(tmp_path, DATA, Batch(0, 1, 1, "commit", 1000, 0, coordinator_epoch=0))
    (folder / f"{1:020}.snapshot").write_bytes(b"\0\1")
    found = audit([folder])

    assert [row["marker_offset"] for row in table(found, "transactions")] == [1]
    assert [row for row in table(found, "findings") if str(row["file"]).endswith(".snapshot")]


def test_what_a_snapshot_with_a_wrong_checksum_says_is_not_believed(tmp_path: Path) -> None:
    """A broker throws away a snapshot whose checksum fails: no transaction is made up from it."""
    folder, _ = small(tmp_path, DATA, Batch(0, 1, 1, "plain"))
    path = folder / f"{1:020}.snapshot"
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)

    assert table(audit([folder]), "transactions") == []


# What lies between a transaction and its marker may be lost.


def hanging(tmp_path: Path, *segments: list[Batch]) -> Path:
    """A log directory that was stopped cleanly, with one data log and the only state partition, which is empty."""
    plain.write_segments(tmp_path / "t-0", *segments)
    plain.write_segments(tmp_path / "__transaction_state-0", [])
    (tmp_path / ".kafka_cleanshutdown").write_text('{"version":0,"brokerEpoch":1}')
    return tmp_path


SPLIT = (
    [DATA, Batch(0, 1, 1, "plain")],
    [Batch(0, 2, 2, "commit", 1000, 0, coordinator_epoch=0), Batch(0, 3, 3, "plain")],
    [Batch(0, 4, 4, "plain")],
)


def certainties(root: Path) -> list[tuple[Any, Any, Any]]:
    """Of the transactions: first offset, marker offset, certainty."""
    return [
        (row["first_offset"], row["marker_offset"], row["certainty"]) for row in table(audit([root]), "transactions")
    ]


@pytest.mark.parametrize("number", [0, 1, 2], ids=["in the midst of a file", "at its begin", "all of it"])
def test_damage_behind_open_data_is_said(tmp_path: Path, number: int) -> None:
    """A transaction whose marker may have stood in unreadable bytes is not proved open, wherever these begin in a file."""
    root = hanging(tmp_path, *SPLIT)
    path = root / "t-0" / f"{2:020}.log"
    whole = path.read_bytes()
    if number == 0:  # as one segment, the damage in its midst
        first = root / "t-0" / f"{0:020}.log"
        first.write_bytes(first.read_bytes() + bytes(78) + whole[78:])
        path.unlink()
    elif number == 1:
        path.write_bytes(bytes(78) + whole[78:])
    else:
        path.write_bytes(bytes(len(whole)))

    assert certainties(root) == [(0, None, "damage-between")]


def test_a_lost_segment_behind_open_data_is_said(tmp_path: Path) -> None:
    """A transaction whose marker may have stood in a lost segment is not proved open."""
    root = hanging(tmp_path, *SPLIT)
    (root / "t-0" / f"{2:020}.log").unlink()
    (found,) = certainties(root)

    assert found[:2] == (0, None)
    assert found[2] != "proved"


def test_damage_in_front_of_the_data_says_nothing(tmp_path: Path) -> None:
    """Unreadable bytes below a transaction, or behind its marker, take nothing from it."""
    root = hanging(
        tmp_path,
        [Batch(0, 0, 0, "plain"), Batch(0, 1, 1, "plain"), Batch(0, 2, 2, "data", 1000, 0, 0)],
        [Batch(0, 3, 3, "commit", 1000, 0, coordinator_epoch=0), Batch(0, 4, 4, "plain"), Batch(0, 5, 5, "plain")],
    )
    first, second = (root / "t-0" / f"{base:020}.log" for base in (0, 3))
    data = first.read_bytes()
    first.write_bytes(data[:69] + bytes(69) + data[138:])
    data = second.read_bytes()
    second.write_bytes(data[:78] + bytes(69) + data[147:])

    assert certainties(root) == [(2, 3, "proved")]

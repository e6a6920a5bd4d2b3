"""The first screen of every case of the corpora has what its clients know: names, places and numbers of the truth."""

from __future__ import annotations

import json
import re
import shutil
from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pytest

import official
from compare import show
from first_words import Fact, deleted_by_request, facts
from invoke import in_full, kafkalog
from kafkalog.auditing.pipeline import audit
from kafkalog.kafka.topic_partition import TopicPartition
from kafkalog.reports import screen_of, source_of
from kafkalog.reports.also import _open
from kafkalog.reports.counted import OpenData, OpenTransaction

OTHERS = [official.CORPUS.with_name(name) for name in ("corpus-space", "corpus-tiered")]


def true(*roots: Path) -> list[Path]:
    """List the cases whose clients and brokers said what they did."""
    return [case for root in roots for case in official.cases(root) if (case / "truth.json").exists()]


def healthy(root: Path) -> list[Path]:
    """List the copies of clusters in which nothing was wrong."""
    return [
        case
        for case in official.cases(root)
        if (case / "expect.json").exists()
        and "healthy" in json.loads((case / "expect.json").read_text()).get("cluster", "")
    ]


TRUE = official.with_corpus(true(official.FIXTURES), true(official.CORPUS, *OTHERS))
MOVING = official.CORPUS.with_name("corpus-moving")


@pytest.fixture(scope="module")
def tally(request: pytest.FixtureRequest) -> Iterator[Counter[str]]:
    """Count what is asked, and print the counts behind the module's tests."""
    counts: Counter[str] = Counter()
    yield counts
    show(request.config, counts)


def screen(case: Path, folder: Path) -> str:
    """What a user gets of all incidents, and of what else happened."""
    copy = official.materialize(case, folder)
    return in_full("txn-audit", *sorted(copy.glob("data*"))).text


def is_told(fact: Fact, shown: str) -> bool:
    """Say whether one line has the words beside the label; a fact without a label may stand anywhere."""
    lines = shown.splitlines() if fact.label else [shown]
    return any(fact.label in line and any(words in line for words in fact.words) for line in lines)


@pytest.mark.parametrize("case", TRUE, ids=lambda case: case.name)
def test_what_clients_know_is_on_the_first_screen(case: Path, tmp_path: Path, tally: Counter[str]) -> None:
    """Every id that was fenced, timed out or is open, who waits, what was deleted, how many transactions began."""
    asked, shown = list(facts(case)), screen(case, tmp_path)
    tally.update(fact.label or "places" for fact in asked)

    assert [fact for fact in asked if not is_told(fact, shown)] == []
    if {fact.label for fact in asked} - {"", "transactions", "new id"}:  # all is not well beside one of these
        assert not shown.startswith("OK") or "nothing" not in shown.splitlines()[0]


@pytest.mark.parametrize("case", [official.FIXTURES / "k4-i-retention-delete-records"], ids=lambda case: case.name)
def test_records_were_deleted_after_the_time_that_is_said(case: Path, tmp_path: Path) -> None:
    """It is the time of a marker that was still kept, less than a second before the client's request here."""
    places, then = deleted_by_request(json.loads((case / "truth.json").read_text()))
    times = re.findall(r"by DeleteRecords after (\S+)$", screen(case, tmp_path), re.MULTILINE)
    said = [round(datetime.fromisoformat(time).timestamp() * 1000) for time in times]

    assert len(said) == len(places) > 0
    assert all(then - 1000 < time <= then for time in said)


@pytest.mark.corpus
def test_a_cleaning_is_told_with_its_checkpoint(tmp_path: Path) -> None:
    """How far the cleaner says that it is, as the broker wrote it."""
    case = official.CORPUS / "k4-i-cleaner-failed"
    rows = (case / "data" / "cleaner-offset-checkpoint").read_text().splitlines()[2:]
    (shown,) = [line for line in screen(case, tmp_path).splitlines() if line.lstrip().startswith("cleaning ")]

    assert len(rows) == 2
    for topic, partition, offset in map(str.split, rows):
        assert f"{topic}-{partition} at offset {offset} of " in shown


TIERED = (case for case in official.cases(official.CORPUS.with_name("corpus-tiered")) if (case / "data").is_dir())


@pytest.mark.corpus
@pytest.mark.parametrize("case", official.of_corpus(TIERED), ids=lambda case: case.name)
def test_what_is_in_remote_storage_is_not_called_deleted(case: Path, tmp_path: Path) -> None:
    """A log that is local from an offset on begins where the broker says, not there."""
    expected = json.loads((case / "expect-tiered.json").read_text())
    shown = screen(case, tmp_path)
    remote = {name: one for name, one in expected.items() if one["log_start"] < one["local"][0]}

    for name, one in remote.items():
        assert f"{name}: offsets {one['log_start']}-{one['local'][0] - 1} are in remote storage" in shown
        assert f"{name} begins at" not in shown
    assert remote or "remote storage" not in shown


@pytest.mark.parametrize(
    "case", official.with_corpus(healthy(official.COPIES), healthy(MOVING)), ids=lambda case: case.name
)
def test_a_copy_of_a_healthy_cluster_has_lost_nothing(case: Path, tmp_path: Path) -> None:
    """Nothing was lost, damaged or blocked in it, however its files moved while they were copied."""
    assert screen(case, tmp_path).split()[0].strip(",:") in ("OK", "SUSPICIOUS", "INCOMPLETE")


def test_what_is_proved_and_what_may_be_are_counted_apart(tmp_path: Path) -> None:
    """One of five transactions hangs for certain in this copy of a running broker; the total is that of the verdict."""
    shown = screen(official.COPIES / "remedy-tv0-1-rem-tv0", tmp_path)

    assert shown.startswith("BLOCKED  1 hanging transaction holds back read_committed consumers of t.x_y-z-1 since ")
    assert "; 4 more may." in shown
    assert (
        "1 aborted, 1 hanging, 4 that may hang (6 by the coordinator's records; 5 more without one, in 5 partitions)"
        in shown
    )


_OPEN = "a newer one of claims-claims.48-1 in coupons-claims.5-0, coupons-claims.5-1"


@pytest.mark.parametrize(
    ("case", "counted", "shortly"),
    [
        (
            "k4-f-marker-leaderless", "6 transactions: 4 committed, 1 aborted, 1 open; 2 lack a marker",
            "claims-claims.0-10 in quotes-orders.76-0, quotes-orders.76-1 (24 s old, timeout 1 min: normal)",
        ),
        (
            "k4-f-marker-pending", "6 transactions: 4 committed, 1 aborted, 1 open; 2 lack a marker",
            "trades-riders.53-12 in coupons-meters.71-0, coupons-meters.71-1 (14 s old, can't end before"
            " coupons-meters.71-1 has a leader, and stops read_committed consumers of coupons-meters.71-0 until then)",
        ),
        (
            "copies/k4-j-copied-under-load",
            "68 transactions: 45 committed, 21 aborted, 2 open",
            f"{_OPEN} (428 ms old, timeout 1 min: normal; ending its older one does not touch it)",
        ),
        ("copies/confirm-marker-lost", "36 transactions: 36 committed", ""),
        ("v2.8-hanging", "9 committed, 2 aborted, 1 open, 3 that may hang",
         "tx-e in ledger-3 (89 ms old, timeout 13 min 20 s: normal)"),
        ("v3.3-hanging-operator", "8 committed, 4 aborted, 1 open, 2 hanging",
         "tx-a at 2026-11-21T09:00:18.372Z: somebody aborted 5 records in ledger-0 at offsets 9-13; no commit was undone"),
    ],
)  # fmt: skip
def test_each_count_says_which_are_meant(case: str, counted: str, shortly: str) -> None:
    """What was decided without a marker is among the decided ones, and what is open is a line for each id."""
    found = screen_of(source_of(audit(sorted(map(str, (official.FIXTURES / case).glob("data*"))))))

    assert any(counted in said for said in (*found.verdict.parts, *found.brief))
    assert [line.short for line in found.also][:1] == [shortly] * bool(shortly)


def test_groups_are_not_known_where_no_file_has_their_offsets() -> None:
    """And an incident may have some: of what is healthy nobody asks."""
    for case, is_said in (
        ("k4-f-hanging-late-produce-tv0", True),
        ("k4-m-expired-ids", False),
        ("v1.1-txn-java", False),
    ):
        found = screen_of(source_of(audit([official.FIXTURES / case / "data"])))
        assert ("groups not known" in found.brief) is ("groups not known" in found.facts) is is_said


def test_what_an_incident_calls_overdue_is_not_normal() -> None:
    """It is as old as the files where they end, and older at the moment that was asked for."""
    data = official.FIXTURES / "k4-c-group-offsets-tv0" / "data"
    (line,) = re.findall("   open  .*", in_full("txn-audit", "--now", "2026-11-22T00:00:00Z", data).text)

    assert line.endswith(", 1 s old where the files end, timeout 1 min")


def test_one_line_says_what_is_to_be_done_of_all_that_was_aborted() -> None:
    """The line of a timeout below Kafka's default names that default."""
    found = screen_of(source_of(audit([str(official.FIXTURES / "k4-d-fencing-tv2-400" / "data")])))

    assert [line.label for line in found.also] == ["fenced", "fenced", "to do"]
    assert found.also[-1].text.startswith("nothing in the cluster: ")


def test_what_was_aborted_by_hand_is_counted_beside_the_decision_with_its_epoch(tmp_path: Path) -> None:
    """Before Kafka 4.0 epochs don't rise: of two transactions of a log one has the only decision."""
    assert screen(official.COPIES / "remedy-tv0-2-rem-tv0", tmp_path).startswith(
        "OK  12 transactions: 5 committed, 7 aborted; "
    )


def test_two_equal_directories_of_one_partition_do_not_differ(tmp_path: Path) -> None:
    """One broker has a partition on two of its disks: it refuses to start, whatever is in them."""
    first = shutil.copytree(official.FIXTURES / "k4-a-interleaved-tv2" / "data", tmp_path / "1")
    second = tmp_path / "2"
    shutil.copytree(first / "parcels-riders.94-0", second / "parcels-riders.94-0")
    properties = (first / "meta.properties").read_text()
    (second / "meta.properties").write_text(
        re.sub("directory.id=.*", "directory.id=3g7RZ4YxQ0mWl5vGk2cT1A", properties)
    )

    for command in ("txn-audit", "verify"):
        ended = kafkalog(command, first, second)
        assert ended.text.startswith(
            "DAMAGED  one broker has two directories of the same partition in parcels-riders.94-0"
        )


@pytest.mark.parametrize(("partition", "is_apart"), [(1, True), (0, False)])
def test_an_abort_ends_all_that_is_open_in_a_partition(partition: int, is_apart: bool) -> None:
    """A newer transaction of the id there goes with the older one; one in another partition does not."""
    data = OpenData(TopicPartition("t", partition), 1, 3, 4, 2, 1000)
    line = _open(OpenTransaction("x", 7, 1, 1000, 60_000, [data]), 2000, {}, {"x": {"committed"}}, {"x": {"t-0"}}, ())

    assert ("ending its older one does not touch it" in line.text) is is_apart

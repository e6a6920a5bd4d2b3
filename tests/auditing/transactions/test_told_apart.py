"""What looks alike in a log and is not: each kind of odd transaction is told by its own words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import kafkalog
import plain
from kafkalog.auditing.pipeline.run import audit
from kafkalog.auditing.transactions.audit_result import Audit
from kafkalog.auditing.transactions.surroundings import AuditOptions
from kafkalog.findings import Finding, Severity
from official import FIXTURES
from plain import Batch, table
from state_topic import T, value, write_state

PLAN = ["save", "check", "check-too", "end", "again"]  # the kinds of the steps that end a hanging transaction


def audited(name: str) -> Audit:
    """Audit a fixture, all its brokers together."""
    return audit(sorted((FIXTURES / name).glob("data*")))


def odd(found: Audit, *columns: str) -> list[tuple[Any, ...]]:
    """Of the transactions with a cause, bare markers left out: state, cause and more columns."""
    rows = [row for row in table(found, "transactions") if row["cause"] not in (None, "marker-without-data")]
    return [tuple(row[name] for name in ("state", "cause", *columns)) for row in rows]


def outcomes(found: Audit, log: str) -> list[tuple[str, int, int | None]]:
    """The transactions with data of the log whose path ends so: state, first offset, marker's offset."""
    rows = [row for row in table(found, "transactions") if row["log"].endswith(log) and row["first_offset"] is not None]
    return [(row["state"], row["first_offset"], row["marker_offset"]) for row in rows]


def serious(found: Audit) -> list[Finding]:
    """What is above a note."""
    return [finding for finding in found.findings() if finding.severity > Severity.NOTE]


def test_late_data_adopted_by_the_next_transaction() -> None:
    """Data of an older epoch under a later marker is one row with the marker's fate, and a warning says so."""
    found = audited("k4-f-misattributed-epoch")
    [finding] = serious(found)

    assert odd(found, "first_offset", "last_offset", "marker_offset", "marker_epoch") == [
        ("committed", "late-data-adopted", 4, 7, 8, 1)
    ]
    assert (finding.code, finding.severity, finding.offset) == ("late-data-adopted", Severity.WARNING, 4)


def test_only_the_records_of_the_older_epoch_had_a_wrong_fate() -> None:
    """The others are the next transaction's own: an incident counts those that a foreign marker ended."""
    found = kafkalog.open(FIXTURES / "k4-f-misattributed-epoch" / "data").audit()
    (row,) = (one for one in found.incidents if one["kind"] == "wrong-fate")

    assert row["records"] == 2
    assert row["title"].startswith("2 records of an older epoch of coupons-seats.22 (producer 0) in")
    assert " at offsets 4-5 were committed" in row["title"]
    assert row["events"][0]["what"].startswith("2 records of an older epoch begin here; 2 records of epoch 1 follow.")


def test_a_marker_cut_through_a_running_transaction() -> None:
    """A foreign ABORT in its midst makes two rows of a transaction; the one against the coordinator's word is told."""
    found = audited("k4-g-foreign-markers")
    broken = {(finding.partition, finding.offset, finding.needed, finding.found) for finding in serious(found)}

    assert outcomes(found, "invoices-parcels.28-1") == [("aborted", 0, 2), ("committed", 3, 5)]
    assert odd(found, "partition", "marker_offset") == [("aborted", "administrator-abort", 1, 2)]
    assert broken == {(1, 0, "committed", "aborted"), (2, 0, "aborted", "committed")}
    assert {finding.code for finding in serious(found)} == {"atomicity-broken"}


def test_an_administrators_abort() -> None:
    """The ABORT that ended a hanging transaction was decided by no coordinator, and broke nothing."""
    found = audited("v3.3-hanging-operator")

    assert odd(found, "partition", "first_offset", "marker_offset")[0] == ("aborted", "administrator-abort", 0, 9, 14)
    assert {finding.code for finding in serious(found)} == {"transaction-hanging"}


def test_a_clients_abort_is_no_administrators(tmp_path: Path) -> None:
    """The same bytes in the log with the coordinator's decision in its own: an abort like others."""
    listed = [("t", [0])]
    plain.write_segments(
        tmp_path / "t-0",
        [
            Batch(0, 0, 0, "data", 1000, 0, 0, timestamp=T + 500),
            Batch(0, 1, 1, "abort", 1000, 0, coordinator_epoch=0, timestamp=T + 2500),
        ],
    )
    ongoing = value(1, partitions=listed)
    decided = [value(3, partitions=listed, update=T + 2000), value(5, partitions=[], update=T + 3000)]
    causes = []
    for records in ([ongoing], [ongoing, *decided]):
        write_state(tmp_path, *(("tx-1", record) for record in records))
        rows = table(audit([tmp_path], AuditOptions(snapshot=True)), "transactions")
        causes.append([(row["state"], row["cause"]) for row in rows])

    assert causes == [[("aborted", "administrator-abort")], [("aborted", None)]]


def test_a_pending_marker_is_not_hanging() -> None:
    """Decided transactions whose marker is missing are pending while the coordinator is at Prepare: it still sends it."""
    found = audited("k4-f-marker-pending")

    assert [state for state in outcomes(found, "-1") if "pending" in state[0]] == [
        ("commit-pending", 9, None),
        ("abort-pending", 11, None),
    ]
    assert {finding.code for finding in serious(found)} == {"partition-leaderless"}
    assert {finding.code for finding in serious(found)} == {"partition-leaderless"}
    assert [finding.remedy for finding in found.findings() if finding.code == "transaction-pending"] == [None, None]


def test_a_partition_that_had_no_leader_hangs() -> None:
    """Where the coordinator completed without this partition nobody sends the marker; aborting a committed one loses data."""
    found = audited("k4-f-marker-leaderless")
    messages = [finding.message for finding in found.findings() if finding.remedy]

    assert odd(found, "partition", "first_offset") == [
        ("hanging", "marker-missing", 1, 9),
        ("hanging", "marker-missing", 1, 10),
    ]
    assert ["Aborting it now loses data" in message for message in messages] == [True, False]


def test_a_fork_after_an_unclean_election() -> None:
    """A transaction is committed in the old leader's log and open in the new one's: the replicas fork behind its begin."""
    found = audited("k4-k-unclean-election")
    [fork] = [finding for finding in serious(found) if finding.code == "replicas-fork"]

    assert (fork.offset, fork.needed, fork.found) == (6, 2, 0)
    assert ("committed", 4, 8) in outcomes(found, "data-2/trades-coupons.95-0")
    assert [row for row in outcomes(found, "data-3/trades-coupons.95-0") if row[2] is None] == [("undecided", 4, None)]


def hanging(tmp_path: Path, *states: bytes | None) -> list[tuple[Any, ...]]:
    """The odd transactions of a stopped broker's log with one open one, beside its transactional id's records."""
    plain.write_segments(tmp_path / "t-0", [Batch(0, 0, 0, "data", 1000, 0, 0)])
    write_state(tmp_path, *(("tx-1", state) for state in states))
    plain.write_mark(tmp_path)
    return odd(audit([tmp_path]), "transactional_id")


@pytest.mark.parametrize("later", [None, value(0, producer=99), value(1, epoch=2, partitions=[("t", [1])])])
def test_a_commit_is_not_hidden_by_what_came_later(tmp_path: Path, later: bytes | None) -> None:
    """An id that expired, got another producer or went on: the commit of the data is what counts, it is saved first."""
    listed = [("t", [0])]
    steps = value(1, partitions=listed), value(2, epoch=1, partitions=listed), value(4, epoch=1, partitions=[]), later

    assert hanging(tmp_path, *steps) == [("hanging", "marker-missing", "tx-1")]
    (row,) = (one for one in kafkalog.open([tmp_path]).audit().incidents if one["cause"] == "marker-missing")
    assert "save its records before the abort" in row["title"]
    assert [step["kind"] for step in row["next_steps"]] == PLAN
    assert (
        row["next_steps"][-1]["text"]
        == "Send again what was ended? tx-1 (1 record): yes, from its saved file: it was committed. Who reads uncommitted gets it twice."
    )


def test_a_commit_whose_partitions_the_cleaner_took_is_saved_first(tmp_path: Path) -> None:
    """Only the end of the decision is left: it may have had the partition."""
    hanging(tmp_path, value(4, epoch=1, partitions=[]), None)
    (row,) = (one for one in kafkalog.open([tmp_path]).audit().incidents if "hanging" in one["title"])

    assert "may have committed it" in row["title"]
    assert [step["kind"] for step in row["next_steps"]] == PLAN
    assert row["next_steps"][-1]["text"].endswith("ask its owner, as it was most likely committed.")


def test_data_after_the_marker_of_a_commit_was_not_committed(tmp_path: Path) -> None:
    """The log has the marker of the decision, so what came later is none of its records, whatever was forgotten."""
    listed = [("t", [0])]
    steps = value(1, partitions=listed), value(2, epoch=1, partitions=listed), value(4, epoch=1, partitions=[]), None
    write_state(tmp_path, *(("tx-1", step) for step in steps))
    marker = Batch(0, 1, 1, "commit", 1000, 1, coordinator_epoch=0, timestamp=T + 60_000)
    late = Batch(0, 2, 2, "data", 1000, 1, 0, timestamp=T + 60_001)
    plain.write_segments(tmp_path / "t-0", [Batch(0, 0, 0, "data", 1000, 0, 0, timestamp=T), marker, late])
    (row,) = (one for one in kafkalog.open([tmp_path]).audit(snapshot=True).incidents if "hanging" in one["title"])

    assert (row["cause"], row["first_offset"]) == ("id-expired", 2)
    assert "committed it" not in row["title"]
    assert [step["kind"] for step in row["next_steps"]] == PLAN
    assert "came after the commit" in row["next_steps"][-1]["text"]
    assert "discards" not in row["next_steps"][0]["text"]


def test_an_expired_id(tmp_path: Path) -> None:
    """A tombstone says that the coordinator forgot the id; it is named all the same."""
    assert hanging(tmp_path, value(0), None) == [("hanging", "id-expired", "tx-1")]


def test_an_id_that_goes_on_under_another_producer_is_not_expired(tmp_path: Path) -> None:
    """An id that came back took a new producer: the old one's transaction hangs for another reason."""
    assert hanging(tmp_path, value(0), None, value(0, producer=2000)) == [("hanging", "producer-replaced", "tx-1")]


def test_data_before_the_logs_start() -> None:
    """A transaction whose data was trimmed away keeps its outcome, by the snapshot at the log's start."""
    found = audited("k4-i-retention-delete-records")

    assert odd(found, "partition", "first_offset", "marker_offset", "batches") == [
        ("committed", "begins-before-log", 0, 69, 73, 0),
        ("committed", "begins-before-log", 0, 70, 80, 0),
        ("aborted", "begins-before-log", 2, 92, 103, 0),
    ]
    assert serious(found) == []

"""The verdict of a healthy directory says what consumers wait for all the same."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from invoke import in_full, kafkalog
from official import FIXTURES


def test_what_consumers_wait_for_is_in_an_ok() -> None:
    """A transaction that may have gone on after the copy: exit 0, and the first line names it."""
    ended = in_full("txn-audit", FIXTURES / "k4-j-preallocated" / "data")

    assert ended.status == 0
    assert ended.text.splitlines()[0] == (
        "OK  11 transactions: 8 committed, 2 aborted, 1 of unknown end; 1 undecided transaction may hold back read_committed"
        " consumers of orders-ledger.27-0."
    )


def test_an_outage_is_said_with_what_waits_for_it() -> None:
    """Two decided transactions wait for a leader: nobody reads the partition, and two have no coordinator."""
    data = sorted((FIXTURES / "k4-f-marker-pending").glob("data*"))
    ended = in_full("txn-audit", *data)

    assert ended.status == 1
    assert ended.text.splitlines()[0] == (
        "BLOCKED  3 partitions have had no leader since 2026-11-21T09:04:14.102Z;"
        " 2 decided transactions wait there for the marker."
    )


def test_who_was_fenced_is_said() -> None:
    """It harms nobody but the one who was fenced, who asks."""
    ended = kafkalog("txn-audit", FIXTURES / "k4-d-fencing-tv2-400" / "data")

    first, *others = ended.text.splitlines()
    assert first == "OK  7 transactions: 4 committed, 3 aborted; 2 fenced."
    assert [line.split()[:2] for line in others if line.startswith("   fenced")] == [
        ["fenced", "parcels-trades.10"], ["fenced", "seats-ledger.96"]
    ]  # fmt: skip


def test_what_could_not_be_read_never_hides_what_is_wrong() -> None:
    """A mistyped input beside a directory with lost records: the worst leads, the rest stands beside it, exit 3."""
    ended = in_full("txn-audit", FIXTURES / "made-damaged" / "data", "/no/such/directory")

    assert ended.status == 3
    first, *others = ended.text.splitlines()
    assert first.startswith(
        "DAMAGED and incomplete  6 records (all committed) cannot be read in tickets-tickets.26-2, where consumers fail at"
    )
    assert first.endswith("; 1 input could not be read.")
    assert any(" ERROR  " in line for line in others)  # the incidents are reported in any case
    metrics = kafkalog("txn-audit", "--format", "prometheus", FIXTURES / "made-damaged" / "data", "/no/such/directory")
    verdicts = [line for line in metrics.text.splitlines() if line.startswith("kafkalog_verdict{")]
    assert sorted(line.split('"')[1] for line in verdicts if line.endswith(" 1")) == ["damaged", "incomplete"]


def test_a_healthy_input_beside_an_unreadable_one_is_incomplete() -> None:
    """Nothing is wrong with what was read; that is not all."""
    ended = kafkalog("txn-audit", FIXTURES / "k4-d-fencing-tv2-400" / "data", "/no/such/directory")

    assert ended.status == 3
    assert ended.text.splitlines()[0] == "INCOMPLETE  1 input could not be read."


@pytest.mark.parametrize("command", ["txn-audit", "verify", "space", "groups", "transactions", "metadata"])
def test_a_log_directory_s_own_files_are_read_with_it(command: str) -> None:
    """``data/*`` catches checkpoints and meta.properties: these are no inputs that could not be read."""
    data = FIXTURES / "k4-c-group-offsets-tv0" / "data"
    names = sorted(path for path in data.iterdir() if not path.name.startswith("."))
    assert [path for path in names if path.is_file()]

    assert kafkalog(command, *names).status == 0


def test_other_files_stay_unreadable_inputs(tmp_path: Path) -> None:
    """A file that no broker keeps in a log directory is named, and so is a checkpoint of a directory not read."""
    data = shutil.copytree(FIXTURES / "k4-c-group-offsets-tv0" / "data", tmp_path / "data")
    (data / "notes.txt").write_text("a")
    (tmp_path / "meta.properties").write_text("version=1\n")
    for other in (data / "notes.txt", tmp_path / "meta.properties"):
        assert kafkalog("txn-audit", data, other).status == 3


def test_a_torn_transaction_is_one_in_however_many_partitions() -> None:
    """The verdict says how each ended, where and when, and what its coordinator had decided."""
    first = in_full("txn-audit", FIXTURES / "k4-g-foreign-markers" / "data").text.splitlines()[0]

    assert first.startswith(
        "TORN  1 transaction was aborted in invoices-parcels.28-1 at 2026-11-21T09:02:44.627Z, although the "
    )
    assert ", although the coordinator committed it: consumers miss 2 committed records; 1 transaction was " in first
    assert "; 1 transaction was committed in invoices-parcels.28-2 at " in first
    assert first.endswith(", although the coordinator aborted it: consumers get 2 aborted records.")


def test_a_version_that_is_written_again_is_no_upgrade() -> None:
    """The metadata log has transaction.version 2 twice; it became 2 once."""
    shown = kafkalog("txn-audit", FIXTURES / "k4-m-metadata-groups-44" / "data").text

    assert shown.count("transaction.version became 2 at ") == 1

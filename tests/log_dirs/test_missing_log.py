"""A partition without any segment is told, whatever its broker did when it was copied."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import build
from invoke import Ended, in_full, kafkalog
from official import FIXTURES, materialize
from verified import serious, verified

CASE = "k4-f-hanging-late-produce-tv0"
LOG = "tickets-tickets.26-0"
CHECKPOINTS = "k4-m-metadata-groups-44"
METADATA = "__cluster_metadata-0"


def without_log(folder: Path, case: str, log: str, *suffixes: str) -> Path:
    """A case's directory in which a partition has no segment, nor the files with these suffixes."""
    root = materialize(FIXTURES / case, folder) / "data"
    for path in (root / log).iterdir():
        if path.suffix in (".log", *suffixes):
            path.unlink()
    return root


def killed(root: Path) -> Path:
    (root / ".kafka_cleanshutdown").unlink(missing_ok=True)
    (root / ".lock").touch()
    return root


@pytest.mark.some(every=3)
@pytest.mark.parametrize("suffixes", [(), (".index", ".timeindex", ".txnindex"), (".index", ".snapshot")], ids=str)
@pytest.mark.parametrize("stopped", [True, False])
def test_a_log_that_is_not_there_is_not_ok(suffixes: tuple[str, ...], stopped: bool, tmp_path: Path) -> None:
    """Its snapshot and its checkpoints know its end; a running broker always keeps a segment."""
    root = without_log(tmp_path, CASE, LOG, *suffixes)
    if not stopped:
        killed(root)
    (finding,) = serious(verified(root))
    assert (finding.code, finding.severity.name, finding.offset, finding.needed) == ("log-missing", "ERROR", 0, 14)

    told = f"The log of {LOG} has no .log file in this copy"
    if stopped:
        told = f"Offsets 0-13 of {LOG} are lost: there is no .log file"
    for command in (["verify"], ["txn-audit"], ["txn-audit", "--snapshot"]):
        said = kafkalog(*command, "--full", root)
        assert said.status == 1
        assert told in said.text
        assert "cut off" not in said.text


def test_a_segment_that_is_deleted_just_now_is_followed_by_another(tmp_path: Path) -> None:
    """A broker that empties a log renames its segments and creates the next one."""
    root = killed(materialize(FIXTURES / CASE, tmp_path) / "data")
    segment = root / LOG / f"{0:020}.log"
    segment.rename(f"{segment}.deleted")

    assert serious(verified(root)) == []


def test_an_end_before_the_recovery_point_is_told_of_files_of_one_moment(tmp_path: Path) -> None:
    """All below the recovery point was flushed; a copy of a running broker may have an older end."""
    root = killed(materialize(FIXTURES / CASE, tmp_path) / "data")
    segment = root / "clicks-coupons.10-0" / f"{0:020}.log"
    segment.write_bytes(b"")
    assert "cut-short" in in_full("txn-audit", root).text  # its own snapshot knows what was in it
    for own in (*segment.parent.glob("*.snapshot"), *segment.parent.glob("*.*index")):
        own.unlink()

    assert "cut-short" not in kafkalog("txn-audit", root).text
    ended = kafkalog("txn-audit", "--snapshot", "--format", "ndjson", root)
    assert "snapshot-contradicted" in {row["code"] for row in ended.table("findings")}
    assert ended.status == 1


def test_an_empty_partition_loses_nothing(tmp_path: Path) -> None:
    """Its recovery point is 0, and no other file knows an offset."""
    root = without_log(tmp_path, CASE, "__transaction_state-2", ".index", ".timeindex")

    assert serious(verified(root)) == []


# The metadata log.


def metadata(root: Path, *options: str) -> Ended:
    return kafkalog("metadata", *options, root)


def test_the_newest_checkpoint_is_what_a_broker_loads(tmp_path: Path) -> None:
    """Without a segment it is the present; one cause is one finding, which proves no loss of what it covers."""
    root = materialize(FIXTURES / CHECKPOINTS, tmp_path) / "data"
    before = metadata(root, "--table", "topics", "--at", "117", "--format", "csv").text
    healthy = {(finding.code, Path(finding.file).name) for finding in serious(verified(root))}
    root = without_log(tmp_path / "two", CHECKPOINTS, METADATA, ".index", ".timeindex", ".snapshot")
    found = serious(verified(root))
    (finding,) = [one for one in found if (one.code, Path(one.file).name) not in healthy]
    assert (finding.code, finding.severity.name) == ("log-missing", "WARNING")
    said = kafkalog("txn-audit", root).text
    assert f"of {METADATA} may be lost: there is no .log file" in said
    assert not [word for word in ("invoices-meters", "topic-id-differs", "clusters-mixed") if word in said]

    after = metadata(root, "--table", "topics", "--format", "csv")
    assert [line.split(",")[1:3] for line in after.text.splitlines()] == [
        line.split(",")[1:3] for line in before.splitlines()
    ]
    assert "there is no .log file; what is shown is the state of the newest .checkpoint, of offset 117" in after.err


@pytest.mark.parametrize("size", [0, 2000])
def test_a_log_that_ends_before_the_newest_checkpoint_is_no_present(size: int, tmp_path: Path) -> None:
    """A broker that was stopped begins anew with the checkpoint."""
    root = materialize(FIXTURES / CHECKPOINTS, tmp_path) / "data"
    whole = metadata(root, "--table", "topics", "--at", "117", "--format", "csv").text
    os.truncate(root / METADATA / f"{0:020}.log", size)
    cut = metadata(root, "--table", "topics", "--format", "csv").text

    assert sorted(line.split(",")[1:3] for line in cut.splitlines()) == sorted(
        line.split(",")[1:3] for line in whole.splitlines()
    )


def test_offsets_after_the_newest_checkpoint_are_lost(tmp_path: Path) -> None:
    """The producers' snapshot of a clean stop has the log's end."""
    root = without_log(tmp_path, CHECKPOINTS, METADATA)
    (root / METADATA / f"{500:020}.snapshot").write_bytes(b"")
    (finding,) = [one for one in serious(verified(root)) if one.code == "log-missing"]

    assert (finding.code, finding.severity.name, finding.needed) == ("log-missing", "ERROR", 500)
    assert (finding.offset, finding.last_offset) == (117, 500)  # what is before has its state in the checkpoint
    said = kafkalog("txn-audit", root).text
    assert f"Offsets 117-499 of {METADATA} are lost: there is no .log file" in said
    assert "lost to consumers" not in said


def test_metadata_says_that_it_has_nothing_to_read(tmp_path: Path) -> None:
    """Without a segment and without a checkpoint."""
    root = without_log(tmp_path, CASE, METADATA, ".checkpoint")
    said = metadata(root)

    assert said.status == 1
    assert "there is nothing to read" in said.err


@pytest.mark.parametrize(("newest", "severity", "certainty"), [(5, "WARNING", "possible"), (1, "ERROR", "proved")])
def test_a_gap_below_a_newer_checkpoint_is_no_proved_loss(
    newest: int, severity: str, certainty: str, tmp_path: Path
) -> None:
    """A broker loads the checkpoint: only the history is gone."""
    home = tmp_path / METADATA
    home.mkdir()
    batches = build.log(*range(10, 16))
    for at in (0, 3):
        (home / f"{at:020}.log").write_bytes(b"".join(batches[at : at + 2]))
    (home / f"{newest:020}-0000000001.checkpoint").write_bytes(b"")
    found = kafkalog("txn-audit", "--format", "ndjson", home)
    (gap,) = [row for row in found.table("findings") if row["code"] == "offset-gap-lost"]
    (lost,) = [row for row in found.table("incidents") if row["kind"] == "records-lost"]

    assert (gap["severity"], lost["certainty"]) == (severity.lower(), certainty)
    assert lost["consumers"]["read_committed"].startswith("Brokers and controllers read it: ")

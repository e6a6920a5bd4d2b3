"""Whether brokers can go on from a directory: yes or no, with reasons; ``test_restorable_live`` has real starts."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from build import flipped
from invoke import Ended, in_full, kafkalog
from kafkalog.auditing.starting.restorable import CanGoOn, _Foreseen, _gaps
from kafkalog.findings import Finding, Severity
from metadata_topic import add_values, metadata_value
from official import FIXTURES

WHOLE = FIXTURES / "k4-c-group-offsets-tv0" / "data"  # stopped cleanly; an open transaction has commits of a group
HANGING = FIXTURES / "k4-f-hanging-late-produce-tv0" / "data"
KILLED = FIXTURES / "k4-l-idempotent" / "data"
LOG = "fares-refunds.18-1"


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A whole directory that may be changed."""
    return Path(shutil.copytree(WHOLE, tmp_path / "data"))


def asked(*paths: Path, options: tuple[str, ...] = ()) -> Ended:
    """Ask for the rows."""
    return kafkalog("verify", "--restorable", *options, *paths, "--format", "ndjson", "--table", "restorable")


def told(ended: Ended, subject: str) -> dict[str, list[Any]]:
    """The rows about a subject, by what becomes of it."""
    found: dict[str, list[Any]] = {}
    for row in ended.rows:
        if row["subject"] == subject:
            found.setdefault(row["what"], []).append(row)
    return found


def test_a_whole_directory_is_restorable() -> None:
    """Yes, status 0: the broker starts, no log is changed, and it is said what becomes of what was open."""
    ended = asked(WHOLE)

    assert ended.status == 0
    assert set(told(ended, "broker")) == {"starts"}
    assert set(told(ended, "partition")) == {"loads", "recovers"}  # the metadata log is always recovered
    assert all(row["log_end_offset"] == row["next_log_end_offset"] for row in ended.rows if row["log_end_offset"])
    assert set(told(ended, "cluster")) == {"one-moment"}
    assert {what: len(rows) for what, rows in told(ended, "transaction").items()} == {"times-out": 2}
    assert "waits" in told(ended, "group")
    assert kafkalog("verify", "--restorable", WHOLE).text.startswith("YES  1 broker starts; 11 logs keep all ")


def test_a_transaction_that_hangs_after_the_start_is_a_but() -> None:
    """Status 1: no broker ends it, and consumers stop there, although no record is lost."""
    ended = in_full("verify", "--restorable", HANGING)
    wanted = "YES, BUT  3 transactions hang: read_committed consumers stop there; 1 broker starts; 10 logs keep all "
    assert (ended.status, ended.text.startswith(wanted)) == (1, True)
    assert kafkalog("verify", "--restorable", "--exit-zero", HANGING).status == 0
    assert [row["severity"] for row in told(asked(HANGING), "transaction")["hangs"]] == ["warning"] * 3


def test_the_answer_is_in_the_machine_formats(tmp_path: Path) -> None:
    """The summary's verdict, and ``verdict.json``."""
    rows = kafkalog("verify", "--restorable", WHOLE, "--format", "ndjson")
    assert [row["verdict"][:5] for row in rows.table("summary")] == ["YES: "]
    assert kafkalog("verify", "--restorable", WHOLE, "-o", tmp_path / "out").status == 0
    assert json.loads((tmp_path / "out" / "verdict.json").read_text())["verdict"].startswith("YES: ")


def _rows_of(home: Path, name: str) -> list[Path]:
    return sorted((home / LOG).glob(name))


def _gone(name: str) -> Callable[[Path], None]:
    def change(home: Path) -> None:
        place = home / name
        shutil.rmtree(place) if place.is_dir() else place.unlink()

    return change


def _rubbish(name: str) -> Callable[[Path], None]:
    return lambda home: (home / name).write_text("rubbish\n") and None


def _flip(home: Path) -> None:
    [path] = _rows_of(home, "*.log")
    path.write_bytes(flipped(path.read_bytes(), 8 * 70))


@pytest.mark.some(every=2)
@pytest.mark.parametrize(
    ("change", "subject", "what", "said"),
    [
        (_gone("meta.properties"), "broker", "refuses", "has no meta.properties"),
        (lambda home: (home / "lost+found").mkdir(), "broker", "refuses", "lost+found: its name is no partition's"),
        (_rubbish("replication-offset-checkpoint"), "broker", "refuses", "replication-offset-checkpoint"),
        (_gone("__cluster_metadata-0"), "cluster", "no-metadata", "no metadata log is here"),
        (_gone(LOG), "partition", "absent", "has no directory on broker 1"),
        (_gone(f"{LOG}/partition.metadata"), "partition", "stray", "its partition.metadata is missing"),
        (_flip, "partition", "damaged", "can't be read"),
    ],
)
def test_what_makes_it_no(change: Callable[[Path], None], subject: str, what: str, said: str, copy: Path) -> None:
    """Status 1, a row that says it, and the same in the first sentence."""
    change(copy)
    ended = asked(copy)

    assert ended.status == 1
    assert any(said in row["message"] for row in told(ended, subject)[what])
    assert set(told(ended, "broker")) == {"refuses" if subject == "broker" else "starts"}
    text = re.sub(r"\s+", " ", kafkalog("verify", "--restorable", copy).text)
    assert text.startswith("NO ")
    assert said in text.partition(". ")[0]


def test_a_start_that_cuts_whole_batches_off_is_no(tmp_path: Path) -> None:
    """Without a clean stop and without recovery points, all after the first damage is lost, and counted."""
    home = Path(shutil.copytree(KILLED, tmp_path / "data"))
    log = max(home.glob("*/*.log"), key=lambda path: path.stat().st_size * (not path.parent.name.startswith("__")))
    log.write_bytes(flipped(log.read_bytes(), 8 * 70))
    (home / "recovery-point-offset-checkpoint").unlink(missing_ok=True)
    [row] = told(asked(home), "partition")["truncated"]

    assert (row["severity"], row["next_log_end_offset"], row["truncated_bytes"]) == ("error", 0, log.stat().st_size)
    assert row["lost_records"] > 0


def test_a_log_that_starts_after_its_end_is_emptied(copy: Path) -> None:
    """As LogLoader does it, also after a clean stop."""
    (copy / "log-start-offset-checkpoint").write_text(f"0\n1\n{LOG[:-2]} 1 5000\n")
    ended = asked(copy)

    [row] = told(ended, "partition")["emptied"]
    assert (row["topic"], row["next_log_end_offset"], ended.status) == (LOG[:-2], 5000, 1)


@pytest.mark.parametrize(("release", "status"), [("4.1.2", 0), ("4.4", 0), ("5.1.0", 0), ("4.0.1", 1), ("3.9.1", 1)])
def test_a_release_must_know_the_metadata(release: str, status: int) -> None:
    """The directory has metadata.version 27, which is that of 4.1."""
    ended = asked(WHOLE, options=("--kafka-version", release))

    assert ended.status == status
    refused = told(ended, "broker").get("refuses", [])
    assert ["metadata.version has level 27" in row["message"] for row in refused] == [True] * status


def test_a_release_is_asked_for_rightly() -> None:
    """A word that is none, and the option alone, are wrong usage."""
    assert kafkalog("verify", "--restorable", "--kafka-version", "new", WHOLE).status == 2
    assert kafkalog("verify", "--kafka-version", "4.3.1", WHOLE).status == 2


def test_what_was_not_read_is_never_yes(copy: Path, tmp_path: Path) -> None:
    """An input that is not there, or a directory without partitions."""
    ended = kafkalog("verify", "--restorable", copy, tmp_path / "nothing")
    assert (ended.status, ended.text.startswith("INCOMPLETE  ")) == (3, True)

    empty = tmp_path / "empty"
    empty.mkdir()
    shutil.copy(copy / "meta.properties", empty)
    ended = kafkalog("verify", "--restorable", empty)
    assert (ended.status, ended.text.startswith("NO  ")) == (1, True)


def test_metadata_in_zookeeper_can_not_be_judged() -> None:
    """Nothing says which topics there should be: status 3, and with a release without ZooKeeper no."""
    home = FIXTURES / "v2.8-hanging" / "data"
    assert [kafkalog("verify", "--restorable", home).status, asked(home, options=("--kafka-version", "4.0")).status] == [
        3, 1,
    ]  # fmt: skip


def test_brokers_that_are_not_given_are_named() -> None:
    """Partitions whose replicas are all on another broker are absent; together with it nothing is."""
    homes = [FIXTURES / "k4-f-marker-leaderless" / name for name in ("data-1", "data-2")]
    one = asked(homes[0])

    assert one.status == 1
    assert [row["node_id"] for row in told(one, "broker")["absent"]] == ["2"]
    absent = {f"{row['topic']}-{row['partition']}" for row in told(one, "partition")["absent"]}
    assert absent == {"__transaction_state-0", "__transaction_state-2", "quotes-orders.76-1"}
    both = asked(*homes)
    assert "absent" not in told(both, "broker") | told(both, "partition")
    assert told(asked(homes[1]), "cluster")["no-quorum"]  # the controller is the other one


@pytest.mark.parametrize(("controllers", "said"), [(1, set()), (2, {"no-quorum"}), (3, {"no-quorum"})])
def test_a_half_of_the_controllers_elects_none(tmp_path: Path, controllers: int, said: set[str]) -> None:
    """More than half of them are needed, and one is here."""
    (tmp_path / "meta.properties").write_text("version=1\ncluster.id=c\nnode.id=1\n")
    fields = {"incarnationId": "incarnationAAAAAAAAAAA", "zkMigrationReady": False, "endPoints": [], "features": []}
    numbers = range(1, controllers + 1)
    add_values(
        tmp_path, [metadata_value("RegisterControllerRecord", {"controllerId": one, **fields}) for one in numbers]
    )

    assert {"no-quorum"} & told(asked(tmp_path), "cluster").keys() == said


def test_partitions_of_which_the_same_is_said_are_counted(copy: Path) -> None:
    """The first sentence names one of them, and each is counted once."""
    gone = [one for one in copy.iterdir() if one.is_dir() and not one.name.startswith("__")]
    for home in gone:
        shutil.rmtree(home)
    text = re.sub(r"\s+", " ", kafkalog("verify", "--restorable", copy).text)

    assert re.match(
        rf"NO each of {len(gone)} partitions, such as \S+, has no directory on broker 1, and begins empty there", text
    )


@pytest.mark.parametrize("kept", [True, False])
def test_a_loss_in_the_metadata_log_after_its_snapshot_is_no_reason_for_a_no(kept: bool, tmp_path: Path) -> None:
    """The start goes on from the snapshot, and what came after it is not known; without one no topic is."""
    home = Path(shutil.copytree(FIXTURES / "k4-m-metadata-groups-44" / "data", tmp_path / "data"))
    [log] = (home / "__cluster_metadata-0").glob("*.log")
    log.write_bytes(b"")
    for path in () if kept else (home / "__cluster_metadata-0").glob("*.checkpoint"):
        path.unlink()
    damaged = told(asked(home), "partition").get("damaged", [])

    assert bool([row for row in damaged if row["topic"] == "__cluster_metadata"]) is not kept


def test_what_is_not_known_is_a_but() -> None:
    """With logs that end before other files know, and what became of the metadata after a snapshot."""
    foreseen = _Foreseen(unsure=["what came after offset 7 is not known"], ends_open={"data/t-0", "data/t-1"})
    foreseen.add("partition", "loads", "t-0 loads", topic="t", partition=0)
    word, reasons = foreseen.answer()

    assert word is CanGoOn.BUT
    assert reasons.startswith("t-0, t-1 end before offsets that other files know: the newest records are lost, or")
    assert "; what came after offset 7 is not known; " in reasons


@pytest.mark.parametrize(("what", "expected"), [("loads", CanGoOn.YES), ("damaged", CanGoOn.NO)])
def test_a_damaged_partition_is_a_no_however_severe_it_is(what: str, expected: CanGoOn) -> None:
    """Where a copy may explain it, its incident is a warning; brokers would go on without the records."""
    foreseen = _Foreseen()
    foreseen.add("partition", what, "t-0 has lost records", Severity.WARNING, topic="t", partition=0)

    assert foreseen.answer().word is expected


@pytest.mark.parametrize("code", ["copy-skewed", "index-insane"])
def test_a_transaction_index_that_a_copy_may_lack_is_a_but(code: str) -> None:
    """Where files of different moments are one of two explanations, aborted records may be given."""
    of = {"log": "t-0", "topic": "t", "partition": 0, "offset": 63}
    note = Finding.of("txn-index-mismatch", "t-0/0.txnindex", "no entry")._replace(severity=Severity.NOTE, **of)
    foreseen = _Foreseen()
    _gaps([note, Finding.of(code, "t-0", "")._replace(**of)], foreseen)
    assert any("aborted records before offset 63" in said for said in foreseen.unsure) is (code == "copy-skewed")

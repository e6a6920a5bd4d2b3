"""``kafkalog diff``: what happened between two copies is said, each thing once, and nothing else."""

from __future__ import annotations

import json
import re
import shutil
from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import pytest

from build import batch, record
from invoke import in_full, kafkalog
from kafkalog.auditing.transactions import AuditOptions
from kafkalog.over_time.changes import Changes, incident_changes
from kafkalog.over_time.log_facts import facts_of
from kafkalog.tables.change_tables import CHANGES
from kafkalog.tables.incident_tables import INCIDENTS
from metadata_topic import add_values, metadata_value
from official import FIXTURES

STATES: Final = [FIXTURES / "moving" / f"state-{number}" for number in (1, 2, 3)]
BEFORE: Final = STATES[2]
RET: Final = "ret-0"
UNCLEAN: Final = FIXTURES / "k4-k-unclean-election"
TRADES: Final = "trades-coupons.95-0"
Row = dict[str, Any]


@pytest.fixture
def copies(tmp_path: Path) -> tuple[Path, Path]:
    """Give two copies of one moment of a running broker."""
    for name in ("old", "new"):
        shutil.copytree(BEFORE, tmp_path / name)
    return tmp_path / "old", tmp_path / "new"


def compared(old: Path, new: Path) -> tuple[int, list[Row], list[Row]]:
    """Return the exit status, the rows of ``changes`` and the incidents that got worse."""
    ended = kafkalog("diff", "--format", "ndjson", old, new)
    assert ended.status in (0, 1), ended.err
    return ended.status, ended.table("changes"), ended.table("incidents")


def audited(*folders: Path) -> list[Path]:
    """Write an audit of each directory, with checksums."""
    outputs = [folder.with_name(f"{folder.name}-audit") for folder in folders]
    for folder, output in zip(folders, outputs, strict=True):
        assert kafkalog("txn-audit", "--hash", folder, "-o", output).status in (0, 1)
    return outputs


def said(rows: list[Row]) -> Counter[tuple[str, str]]:
    """Count what happened to which log, without what is as it was."""
    told = [row for row in rows if row["what"] not in ("still-there", "still-open")]
    return Counter((row["what"], f"{row['topic']}-{row['partition']}") for row in told)


def segments(folder: Path, log: str = RET) -> list[Path]:
    return sorted((folder / log).glob("*.log"))


def remove(segment: Path) -> None:
    """Remove a segment with its side files."""
    for path in segment.parent.glob(f"{segment.stem}.*"):
        path.unlink()


def flip(path: Path, position: int) -> None:
    data = bytearray(path.read_bytes())
    data[position] ^= 1
    path.write_bytes(data)


@pytest.mark.parametrize(("old", "new"), list(pairwise(STATES)), ids=lambda path: path.name)
@pytest.mark.parametrize("written", [False, True], ids=["directories", "outputs"])
def test_a_healthy_broker_gets_no_worse(old: Path, new: Path, written: bool, tmp_path: Path) -> None:
    """Of copies of a running broker, one after the other, only what brokers do is said."""
    for name, state in (("old", old), ("new", new)):
        shutil.copytree(state, tmp_path / name)
    old, new = tmp_path / "old", tmp_path / "new"
    status, rows, worse = compared(*(audited(old, new) if written else (old, new)))

    assert (status, worse) == (0, [])
    assert {row["severity"] for row in rows} == {None}
    whats = {row["what"] for row in rows if row["subject"] == "log"}
    assert {"appended", "rolled"} <= whats <= {"appended", "rolled", "deleted-by-retention", "cleaned"}
    begun = {(row["count"], row["message"]) for row in rows if row["what"] == "rolled"}
    assert begun <= {(1, "1 segment was begun."), (2, "2 segments were begun."), (3, "3 segments were begun.")}
    [grown] = [row for row in rows if (row["what"], row["topic"]) == ("appended", "ret")]
    assert grown["count"] == grown["new_log_end_offset"] - grown["old_log_end_offset"] > 0


def test_a_copy_and_itself_differ_in_nothing(copies: tuple[Path, Path]) -> None:
    """No row says that something changed, and the report says so."""
    status, rows, worse = compared(*copies)
    text = kafkalog("diff", *copies).text

    assert (status, said(rows), worse) == (0, Counter(), [])
    assert text.startswith("OK  nothing got worse in 0 ms: no log changed.\n3 logs in both, ")
    assert text.endswith("\nNot compared: groups, as not both have commits.\n")


def retention(new: Path) -> None:
    remove(segments(new)[0])


def delete_records(new: Path) -> None:
    base = int(segments(new)[1].stem)
    remove(segments(new)[0])
    (new / "log-start-offset-checkpoint").write_text(f"0\n1\nret 0 {base + 5}\n")


def lose_segment(new: Path) -> None:
    remove(segments(new)[2])


def flip_bit(new: Path) -> None:
    flip(segments(new)[1], 5000)


def rewrite(new: Path) -> None:
    """Write other bytes with a matching CRC in the place of the last batch."""
    path = segments(new)[-1]
    ended = kafkalog("dump", "--format", "ndjson", path)
    last = [row for row in ended.rows if row["table"] == "batches"][-1]
    data = bytearray(path.read_bytes())
    at, size = last["position"], last["size_bytes"]
    body = batch(
        *(record(b"x", delta=delta) for delta in range(last["last_offset"] - last["base_offset"] + 1)),
        base_offset=last["base_offset"], partition_leader_epoch=last["partition_leader_epoch"],
        base_timestamp=last["max_timestamp_ms"], max_timestamp=last["max_timestamp_ms"],
    )  # fmt: skip
    path.write_bytes(bytes(data[:at]) + body + bytes(data[at + size :]))


def cut(new: Path) -> None:
    """Cut the log before its last batch, as if it had never been written."""
    path = segments(new)[-1]
    last = [row for row in kafkalog("dump", "--format", "ndjson", path).rows if row["table"] == "batches"][-1]
    path.write_bytes(path.read_bytes()[: last["position"]])


def recreate(new: Path) -> None:
    """Delete the topic and create it again: another id, and a log from the beginning."""
    for path in (new / RET).iterdir():
        path.unlink()
    (new / RET / "partition.metadata").write_text("version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAZQ\n")
    (new / RET / f"{0:020}.log").write_bytes(batch(record(b"first")))


Fault = Callable[[Path], None]

# What is done, the exit status, what is said of the log, the kinds of incidents; what is said of two outputs.
FAULTS: Final[list[tuple[Fault, int, set[str], set[str], set[str]]]] = [
    (retention, 0, {"deleted-by-retention"}, set(), {"deleted-by-retention"}),
    (delete_records, 0, {"deleted-records"}, set(), {"deleted-records"}),
    (recreate, 1, {"replaced", "new"}, {"start-goes-wrong"}, {"replaced", "new"}),
    (lose_segment, 1, {"lacking", "new"}, {"records-lost"}, {"new"}),
    (flip_bit, 1, {"damaged", "new"}, {"records-unreadable"}, {"rewritten", "new"}),
    (rewrite, 1, {"rewritten"}, {"records-lost"}, {"rewritten"}),
    (cut, 1, {"end-lower"}, {"records-lost"}, {"end-lower"}),
]


@pytest.mark.parametrize(
    ("fault", "status", "what", "kinds", "of_outputs"), FAULTS, ids=[one[0].__name__ for one in FAULTS]
)
def test_what_was_done_to_a_log_is_said_and_nothing_else(
    fault: Fault, status: int, what: set[str], kinds: set[str], of_outputs: set[str], copies: tuple[Path, Path]
) -> None:
    """By the bytes of two directories, and by the tables of two audits that were written."""
    old, new = copies
    fault(new)

    got, rows, worse = compared(old, new)
    assert (got, said(rows), {row["kind"] for row in worse}) == (status, Counter((one, RET) for one in what), kinds)
    got, rows, worse = compared(*audited(old, new))
    assert (got, said(rows)) == (status, Counter((one, RET) for one in of_outputs))
    assert {row["kind"] for row in worse} <= kinds | {"copy-skewed"}  # without bytes it may be a copy's fault
    assert bool(worse) == bool(kinds)


@pytest.mark.parametrize("fault", [cut, rewrite, flip_bit, lose_segment], ids=lambda fault: fault.__name__)
@pytest.mark.parametrize("written", [False, True], ids=["directories", "outputs"])
def test_a_change_is_as_severe_as_the_finding_that_says_the_same(
    fault: Fault, written: bool, copies: tuple[Path, Path]
) -> None:
    """A finding is less severe where the cleaner may have worked, or where an incident says the same: so is its row."""
    fault(copies[1])
    ended = kafkalog("diff", "--format", "ndjson", *(audited(*copies) if written else copies))
    of_finding = {_CODES[row["code"]]: row["severity"] for row in ended.table("findings") if row["code"] in _CODES}
    rows = {row["what"]: row["severity"] for row in ended.table("changes") if row["what"] in _CODES.values()}

    assert rows == of_finding


@pytest.mark.parametrize(("fault", "severity"), [(recreate, "note"), (flip_bit, "error"), (retention, None)])
def test_a_change_that_no_finding_says_is_as_severe_as_its_word(
    fault: Fault, severity: str | None, copies: tuple[Path, Path]
) -> None:
    """A topic that was made anew is worth a note, damage is an error, and retention is healthy."""
    fault(copies[1])
    _, rows, _ = compared(*copies)

    assert [row["severity"] for row in rows if row["subject"] == "log"] == [severity]


def test_what_only_the_older_copy_has_was_not_compared(copies: tuple[Path, Path]) -> None:
    """The last lines name the offsets of a segment that was deleted between others."""
    lose_segment(copies[1])
    findings = kafkalog("diff", "--format", "ndjson", *copies).table("findings")
    [lacking] = [row for row in findings if row["code"] == "log-lacks-offsets"]
    told = kafkalog("diff", *copies).text.partition("Not compared: ")[2]

    place = f"{lacking['topic']}-{lacking['partition']}"
    assert f"offsets {lacking['offset']}-{lacking['last_offset']} of {place}, as only the older copy has them" in told


_CODES: Final = {"log-end-lower": "end-lower", "log-rewritten": "rewritten", "log-lacks-offsets": "lacking"}


def place(folder: Path, *brokers: str, log_of: dict[str, str]) -> Path:
    """Lay out brokers of the unclean election; `log_of` says whose log a broker has, if it has one."""
    for broker in brokers:
        shutil.copytree(UNCLEAN / broker, folder / broker, ignore=shutil.ignore_patterns(TRADES))
        if broker in log_of:
            shutil.copytree(UNCLEAN / log_of[broker] / TRADES, folder / broker / TRADES)
    return folder


@pytest.mark.parametrize("written", [False, True], ids=["directories", "outputs"])
def test_what_an_unclean_election_truncated_is_said_with_what_was_committed(written: bool, tmp_path: Path) -> None:
    """The old leader takes the new one's history: what was below its high watermark is lost, the rest is its story."""
    old = place(tmp_path / "old", "data-2", "data-3", log_of={"data-2": "data-2", "data-3": "data-3"})
    new = place(tmp_path / "new", "data-2", "data-3", log_of={"data-2": "data-3", "data-3": "data-3"})
    status, rows, worse = compared(*(audited(old, new) if written else (old, new)))

    assert status == 1
    assert [(row["kind"], row["first_offset"], row["last_offset"]) for row in worse] == [("records-lost", 6, 15)]
    assert said(rows) == Counter((what, TRADES) for what in ("truncated", "appended", "led-by-another", "over"))
    [cut_off] = [row for row in rows if row["what"] == "truncated"]
    assert (cut_off["first_offset"], cut_off["last_offset"], cut_off["count"]) == (6, 15, 10)
    assert cut_off["node_id"] == "2"


def test_what_an_unclean_election_truncated_may_be_lost_without_a_high_watermark(tmp_path: Path) -> None:
    """Its checkpoint lags by seconds, and may not be there: then the metadata log's election makes it a warning."""
    old = place(tmp_path / "old", "data-2", "data-3", log_of={"data-2": "data-2", "data-3": "data-3"})
    new = place(tmp_path / "new", "data-2", "data-3", log_of={"data-2": "data-3", "data-3": "data-3"})
    (old / "data-2" / "replication-offset-checkpoint").unlink()
    name, topic_id = "trades-coupons.95", (UNCLEAN / "data-3" / TRADES / "partition.metadata").read_text().split()[-1]
    of = {"topicId": topic_id, "partitionId": 0}
    first = {"replicas": [2, 3], "isr": [2], "removingReplicas": [], "addingReplicas": [], "leader": 2,
             "leaderEpoch": 0, "partitionEpoch": 0}  # fmt: skip
    add_values(new / "data-3", [
        metadata_value("TopicRecord", {"name": name, "topicId": topic_id}),
        metadata_value("PartitionRecord", of | first),
        metadata_value("PartitionChangeRecord", of | {"leader": -1}),
        metadata_value("PartitionChangeRecord", of | {"leader": 3, "isr": [3], "leaderRecoveryState": 1}),
    ])  # fmt: skip
    status, _, worse = compared(old, new)

    assert status == 1
    assert [(row["kind"], row["severity"], row["certainty"]) for row in worse] == [
        ("records-lost", "warning", "possible")
    ]
    assert (worse[0]["first_offset"], worse[0]["last_offset"]) == (6, 15)


def test_a_log_that_moved_to_another_broker(tmp_path: Path) -> None:
    """It is one change, and no log is gone or new."""
    old = place(tmp_path / "old", "data-2", "data-3", log_of={"data-3": "data-3"})
    new = place(tmp_path / "new", "data-2", "data-3", log_of={"data-2": "data-3"})
    status, rows, _ = compared(old, new)

    assert status == 0
    [moved] = [row for row in rows if row["subject"] == "log"]
    assert (moved["what"], moved["message"]) == ("moved", "From broker 3 to broker 2.")


def test_a_log_that_moved_to_another_disk_of_its_broker(tmp_path: Path) -> None:
    """By the ids of its log directories, wherever these were copied to; a directory of another path alone is the same."""
    for name, disk in (("old", "a"), ("new", "b")):
        for other in "ab":
            home = tmp_path / name / f"{name}-{other}"
            home.mkdir(parents=True)
            text = (UNCLEAN / "data-2" / "meta.properties").read_text()
            text = re.sub(r"(?m)^directory\.id=.*", f"directory.id={'A' * 20}{other}A", text)
            (home / "meta.properties").write_text(text)
            if other == disk:
                shutil.copytree(UNCLEAN / "data-2" / TRADES, home / TRADES)
            state = UNCLEAN / "data-2" / "__transaction_state-0"
            if other == "a" and state.exists():
                shutil.copytree(state, home / state.name)
    status, rows, _ = compared(tmp_path / "old", tmp_path / "new")

    assert status == 0
    [moved] = [row for row in rows if row["subject"] == "log"]
    assert (moved["what"], moved["topic"]) == ("moved", TRADES[:-2])
    assert moved["message"].endswith(f"/new-b/{TRADES}.")


def test_only_one_cluster_and_the_same_brokers_are_compared(copies: tuple[Path, Path], tmp_path: Path) -> None:
    """Other clusters and other brokers are refused with the reason and the command that compares them."""
    old, new = copies
    meta = (new / "meta.properties").read_text()
    other = re.sub("directory.id=.*", "directory.id=AAAAAAAAAAAAAAAAAAAAZQ", re.sub("node.id=.*", "node.id=77", meta))
    (new / "meta.properties").write_text(other)
    other_broker = kafkalog("diff", old, new)
    (new / "meta.properties").write_text(re.sub("cluster.id=.*", "cluster.id=AAAAAAAAAAAAAAAAAAAAZQ", meta))
    other_cluster = kafkalog("diff", old, new)

    assert other_broker.status == other_cluster.status == 2
    assert "verify --replicas compares brokers" in other_broker.err
    assert "diff compares one cluster at two times" in other_cluster.err


def test_the_other_order_is_noticed() -> None:
    """What goes back from NEW to OLD is said to be so, and that the order may be wrong."""
    ended = in_full("diff", STATES[1], STATES[0])

    assert ended.status == 1
    assert "NEW ends 2 s before OLD: the other order, or an older copy was restored" in ended.text


def test_a_transaction_that_was_open_and_how_it_ended(tmp_path: Path) -> None:
    """It is certain now, by the marker that came: OLD ends before it."""
    for name in ("old", "new"):
        shutil.copytree(FIXTURES / "k4-a-interleaved-tv2" / "data", tmp_path / name)
    [path] = segments(tmp_path / "old", "parcels-riders.94-0")
    rows = [row for row in kafkalog("dump", "--format", "ndjson", path).rows if row["table"] == "batches"]
    last = [row for row in rows if row["is_control"]][-1]
    path.write_bytes(path.read_bytes()[: last["position"]])
    status, changed, _ = compared(tmp_path / "old", tmp_path / "new")

    [ended] = [row for row in changed if row["subject"] == "transaction"]
    assert status == 0
    assert (ended["what"], ended["new_value"]) in {("committed", "committed"), ("aborted", "aborted")}
    assert ended["first_offset"] < last["base_offset"]


def _incident(id_: str, **cells: Any) -> Row:
    row: Row = dict.fromkeys(INCIDENTS.names) | {
        "id": id_, "kind": "consumers-stopped", "cause": "overdue", "severity": "error", "title": f"{id_}.",
        "partitions": [f"{id_}-0"], "partitions_total": 1, "producer_ids": [7], "transactions": 1,
    }  # fmt: skip
    return row | cells


def test_incidents_are_new_grown_still_there_or_over() -> None:
    """By their ids; one whose cause became another one is the same, with both."""
    facts = facts_of("x", [str(BEFORE)], AuditOptions())
    changes = Changes(facts, facts)
    old = [_incident("same"), _incident("more"), _incident("over"), _incident("cause", partitions=["t-1"])]
    new = [
        _incident("same"), _incident("more", transactions=2), _incident("new"),
        _incident("other-id", cause="decided", partitions=["t-1"]),
    ]  # fmt: skip
    worse = incident_changes(changes, old, new)

    assert [row["id"] for row in worse] == ["more", "new"]
    rows = [dict(zip(CHANGES.names, row, strict=True)) for row in changes.rows()]
    assert [(row["what"], row["name"], row["old_value"], row["new_value"]) for row in rows] == [
        ("still-there", "same", "overdue", "overdue"), ("grown", "more", "overdue", "overdue"),
        ("new", "new", None, "overdue"), ("still-there", "other-id", "overdue", "decided"),
        ("over", "over", "overdue", None),
    ]  # fmt: skip


@pytest.mark.parametrize("form", ["json", "csv", "markdown", "html"])
def test_each_format(form: str, copies: tuple[Path, Path], tmp_path: Path) -> None:
    """A page, a ticket and files for programs say the same as the report."""
    flip_bit(copies[1])
    table = ["--table", "changes"] if form == "csv" else []
    ended = kafkalog("diff", *copies, "--format", form, *table, "-o", tmp_path / "out")

    assert ended.status == 1
    assert ended.text.startswith("DAMAGED: 31 offsets (at most 31 records) cannot be read in ret-0")
    written = (tmp_path / "out").read_text()
    assert "DAMAGED: 31 offsets " in written or form in ("csv", "json")
    assert "damaged" in written
    if form == "json":
        assert {row["what"] for row in json.loads(written)["changes"]} >= {"damaged", "new"}


def test_a_directory_of_tables(copies: tuple[Path, Path], tmp_path: Path) -> None:
    """``-o NAME`` has a file for each table, and is replaced only if asked for."""
    ended = kafkalog("diff", *copies, "-o", tmp_path / "out")

    assert ended.status == 0
    assert {path.name for path in (tmp_path / "out").iterdir()} >= {"changes", "incidents", "findings"}
    assert kafkalog("diff", *copies, "-o", tmp_path / "out").status == 2
    assert kafkalog("diff", *copies, "-o", tmp_path / "out", "--overwrite").status == 0


@pytest.fixture
def lived(tmp_path: Path) -> tuple[Path, Path]:
    """Verify a directory of a running broker, and let it go on; return the directory and the checksums."""
    folder = tmp_path / "DIR"
    shutil.copytree(STATES[1], folder)
    kafkalog("verify", "--hash", "sha256", folder, "-o", tmp_path / "before")
    shutil.rmtree(folder)
    shutil.copytree(STATES[2], folder)
    return folder, tmp_path / "before" / "provenance.json"


def test_verify_says_first_that_a_broker_went_on_and_points_to_diff(lived: tuple[Path, Path]) -> None:
    """What it appended, deleted and cleaned are notes."""
    folder, before = lived
    ended = in_full("verify", "--against", before, folder)
    rows = kafkalog("verify", "--against", before, "--format", "ndjson", "--table", "findings", folder).rows

    assert ended.status == 1
    assert ended.text.splitlines()[0].endswith("kafkalog diff OLD NEW says what it did, of two copies or two audits.")
    assert [row["code"] for row in rows if row["severity"] != "note"] == ["broker-went-on"]
    gone = {(row["topic"], row["partition"]) for row in rows if row["code"] == "file-gone"}
    assert ("ret", 0) in gone


@pytest.mark.parametrize("fault", [flip_bit, lose_segment, rewrite])
def test_what_no_broker_does_is_not_hidden_because_it_went_on(fault: Fault, lived: tuple[Path, Path]) -> None:
    """A closed segment that changed, or is gone between others, stays a finding with its partition."""
    folder, before = lived
    if fault is rewrite:
        flip(segments(folder)[0], 40)  # of a closed segment
    else:
        fault(folder)
    rows = kafkalog("verify", "--against", before, "--format", "ndjson", "--table", "findings", folder).rows
    code = "file-gone" if fault is lose_segment else "file-content-changed"

    assert ("ret", 0) in {
        (row["topic"], row["partition"]) for row in rows if row["code"] == code and row["severity"] != "note"
    }


def test_two_copies_of_a_broker_are_no_replicas(copies: tuple[Path, Path]) -> None:
    """They are refused before anything is read, with the command that compares copies."""
    ended = kafkalog("verify", "--replicas", *copies)

    assert (ended.status, ended.out) == (2, b"")
    assert "are two copies of broker 1's directory, and no replicas: kafkalog diff OLD NEW compares copies" in ended.err
    assert "kafkalog diff OLD NEW" in kafkalog("txn-audit", "--format", "ndjson", *copies).text


def test_what_had_ended_is_not_said_once_more() -> None:
    """Ordinary aborts and fenced writers of both copies are no news; what goes on is."""
    ended = FIXTURES / "k4-d-fencing-tv2-400" / "data"
    kinds = {row["kind"] for row in kafkalog("txn-audit", "--format", "ndjson", ended).table("incidents")}
    hanging = FIXTURES / "v2.8-hanging" / "data"

    assert kinds & {"writer-fenced", "transactions-aborted"}
    assert "still there" not in kafkalog("diff", ended, ended).text
    twice = " ".join(kafkalog("diff", hanging, hanging).text.split())
    assert twice.count("still there A transaction of tx-a ") == 1
    assert re.findall("transaction of (tx-.) that was open", twice) == ["tx-e"]  # an incident tells what hangs

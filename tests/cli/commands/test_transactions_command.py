"""``kafkalog transactions``: the coordinator's records as steps, held to what the brokers answered."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

import official
import state_topic
from invoke import Row, kafkalog
from official import CORPUS, FIXTURES, of_corpus
from state_topic import T, value

TOLD = sorted(path.parent for path in FIXTURES.glob("k4-*/told.json"))
# The brokers of one case were asked behind the copy, not before.
CASES = of_corpus(
    sorted({path.parent for path in CORPUS.glob("k4-*/truth.json")} - {CORPUS / "k4-j-copied-under-load"})
)


def transitions(*arguments: str | Path) -> list[Row]:
    """Return the rows of ``kafkalog transactions ARGUMENTS``."""
    ended = kafkalog("transactions", "--format", "ndjson", *arguments)
    assert ended.status in (0, 1), ended.err
    return ended.table("transitions")


def steps(*arguments: str | Path) -> list[tuple[str, str | None, int | None]]:
    """Return of each row what happened, whose decision it was and which epoch it fenced."""
    return [(row["step"], row["decided_by"], row["fenced_epoch"]) for row in transitions(*arguments)]


def differences(case: Path, told: dict[str, Row]) -> list[str]:
    """Hold the last step of each id to what DescribeTransactions answered.

    Two things live in a broker's memory alone: which markers of a decision were written, whose partitions it names no
    more, and in the state Empty the start of the transaction before.
    """
    rows = transitions(*sorted(case.glob("data*")))
    last = {row["transactional_id"]: row for row in rows}
    wrong = []
    for name, said in told.items():
        row = last.get(name)
        found = row and (
            row["state"].replace("_", ""), row["producer_id"], row["producer_epoch"], sorted(row["partitions"] or []),
            row["timeout_ms"], None if row["state"] == "empty" else row["start_timestamp_ms"],
        )  # fmt: skip
        needed = (
            said["state"].lower(), said["producer_id"], said["producer_epoch"], sorted(said["topic_partitions"]),
            said["transaction_timeout_ms"], None if said["state"] == "Empty" else said["transaction_start_time_ms"],
        )  # fmt: skip
        if row and said["state"].startswith("Prepare") and set(row["partitions"]) >= set(said["topic_partitions"]):
            needed = (*needed[:3], found[3], *needed[4:])
        if found != needed:
            wrong.append(f"{case.name} {name}: {found} is not {needed}")
    return wrong


@pytest.mark.parametrize("case", TOLD, ids=lambda case: case.name)
def test_the_last_steps_are_what_the_broker_described(case: Path) -> None:
    """State, producer id, epoch, partitions, timeout and start of every id equal DescribeTransactions' answer."""
    told = json.loads((case / "told.json").read_text()).get("describe_transactions", {})

    assert not differences(case, told)


def test_some_cases_tell_what_a_broker_described() -> None:
    """The test above has something to compare."""
    assert sum(len(json.loads((case / "told.json").read_text()).get("describe_transactions", {})) for case in TOLD) > 10


@pytest.mark.corpus
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_last_steps_of_the_corpus_are_what_the_brokers_described(case: Path, tmp_path: Path) -> None:
    """As above, over every case whose brokers were asked."""
    told = json.loads((case / "truth.json").read_text()).get("describe_transactions", {})

    assert not differences(official.materialize(case, tmp_path), told)


def test_a_takeover_is_told_from_an_abort(tmp_path: Path) -> None:
    """Without transaction.version 2 an abort under a raised epoch is a takeover's, one under the same the producer's."""
    listed = [("t", [0])]
    told = steps(
        state_topic.write_state(
            tmp_path,
            ("x", value(0)),
            ("x", value(1, partitions=listed)),
            ("x", value(3, epoch=1, partitions=listed)),
            ("x", value(5, epoch=1, partitions=[])),
            ("x", value(0, epoch=2)),
            ("x", value(1, epoch=2, partitions=listed)),
            ("x", value(3, epoch=2, partitions=listed)),
        )
    )

    assert told == [
        ("created", None, None),
        ("begun", None, None),
        ("abort-decided", "takeover", 0),
        ("aborted", None, None),
        ("initialized", None, 1),
        ("begun", None, None),
        ("abort-decided", "producer", None),
    ]


def test_an_abort_behind_the_timeout_is_the_coordinators(tmp_path: Path) -> None:
    """It is the timeout's from the moment on at which it has passed."""
    listed = [("t", [0])]
    for late, decided_by in ((0, "timeout"), (-1, "takeover")):
        folder = state_topic.write_state(
            tmp_path / str(late),
            ("x", value(1, partitions=listed)),
            ("x", value(3, epoch=1, partitions=listed, update=T + 60_000 + late)),
        )

        assert steps(folder)[1] == ("abort-decided", decided_by, 0)


def test_a_decision_that_was_written_again_is_the_same_decision(tmp_path: Path) -> None:
    """A coordinator that could not replicate its abort in time writes it again, under the same epoch."""
    listed = [("t", [0])]
    folder = state_topic.write_state(
        tmp_path,
        ("x", value(1, partitions=listed)),
        ("x", value(3, epoch=1, partitions=listed, update=T + 60_000)),
        ("x", value(3, epoch=1, partitions=listed, update=T + 66_000)),
        ("x", value(5, epoch=1, partitions=[], update=T + 66_100)),
        ("x", value(5, epoch=1, partitions=[], update=T + 66_200)),
    )

    assert steps(folder)[1:] == [("abort-decided", "timeout", 0)] * 2 + [("aborted", None, None)] * 2


def test_a_brokers_fencing_is_told() -> None:
    """In files of a broker each takeover shows where the epoch was raised."""
    rows = transitions(FIXTURES / "k4-d-fencing-tv2-400" / "data")

    assert [row["fenced_epoch"] for row in rows if row["step"] == "initialized"] == [3, 5, 3]
    assert [row["decided_by"] for row in rows if row["step"] == "abort-decided"] == ["takeover", "producer", "takeover"]


DECIDERS = {
    "committed": {"producer"},
    "aborted": {"producer", "producer-or-takeover"},
    "fenced": {"takeover", "producer-or-takeover"},
    "timed_out": {"timeout"},
}


@pytest.mark.corpus
def test_whose_decision_it_was_is_what_the_clients_saw() -> None:
    """Over the corpus: a commit or an abort is the producer's, a fenced one's a takeover, a late one's the timeout."""
    compared: Counter[str] = Counter()
    for case in CASES:
        rows = transitions(*sorted(case.glob("data*")))
        decisions = [row for row in rows if row["decided_by"]]
        of_id: dict[str, list[Row]] = {}
        for said in json.loads((case / "truth.json").read_text())["transactions"]:
            if "begin_ms" in said:
                of_id.setdefault(said["transactional_id"], []).append(said)
        for name, all_said in of_id.items():
            begins = [*(said["begin_ms"] for said in all_said), 2**63]
            assert begins == sorted(begins)
            for number, said in enumerate(all_said):
                for row in decisions:
                    low, high = begins[number : number + 2]
                    if row["transactional_id"] == name and low <= row["start_timestamp_ms"] < high:
                        wanted = DECIDERS.get(said["outcome"])
                        assert wanted is None or row["decided_by"] in wanted, (case.name, said, row)
                        compared[f"{said['outcome']}: {row['decided_by']}"] += 1

    assert compared.total() > 200
    assert compared["timed_out: timeout"] > 3
    assert compared["fenced: takeover"] > 3


def test_a_replaced_producer_id_is_told(tmp_path: Path) -> None:
    """The step that goes on under a new producer id names the old one, and nothing before or behind it does."""
    listed = [("t", [0])]
    folder = state_topic.write_state(
        tmp_path,
        ("x", value(1, epoch=32766, partitions=listed)),
        ("x", value(2, epoch=32767, partitions=listed)),
        ("x", value(4, producer=1001, partitions=[])),
        ("x", value(1, producer=1001, partitions=listed)),
    )

    assert [row["previous_producer_id"] for row in transitions(folder)] == [None, None, 1000, None]


@pytest.mark.corpus
def test_a_broker_replaces_a_producer_id_at_the_end_of_its_epochs() -> None:
    """With transaction.version 2 this is the step that completes the transaction of the last epoch."""
    rows = transitions(CORPUS / "k4-h-epoch-exhausted" / "data")
    replaced = [row for row in rows if row["previous_producer_id"] is not None]

    assert [
        (row["step"], row["previous_producer_id"], row["producer_id"], row["producer_epoch"]) for row in replaced
    ] == [("committed", 0, 1, 0)]


def test_a_duration_reaches_to_the_next_step_or_the_moment(tmp_path: Path) -> None:
    """The last step's is open, but for a time that was asked for."""
    folder = state_topic.write_state(tmp_path, ("x", value(0)), ("x", value(1, update=T + 700)))

    assert [row["duration_ms"] for row in transitions(folder)] == [700, None]
    assert [row["duration_ms"] for row in transitions(folder, "--at", str(T + 5000))] == [4300]
    assert [row["duration_ms"] for row in transitions(folder, "--at", "1")] == [None]


def test_a_moment_is_an_offset_or_a_time(tmp_path: Path) -> None:
    """Each id is shown in the step that it was in then, and not at all before its first."""
    folder = state_topic.write_state(tmp_path, ("x", value(0)), ("y", value(0)), ("x", None), ("y", value(1)))

    def at(moment: str) -> list[tuple[str, str]]:
        return [(row["transactional_id"], row["state"]) for row in transitions(folder, "--at", moment)]

    assert at("0") == at("1700000000999") == [("x", "empty")]
    assert at("1") == at("1700000001000") == [("x", "empty"), ("y", "empty")]
    assert at("offset:2") == at("2023-11-14T22:13:22Z") == [("x", "tombstone"), ("y", "empty")]
    before = kafkalog("transactions", "--at", "100000000000", folder)  # a time: as an offset it would be behind all
    assert (before.status, "records begin at 2023-11-14T22:13:20" in before.err) == (3, True)


def test_rows_are_chosen_by_id_and_state(tmp_path: Path) -> None:
    """--transactional-id and --state may be put together."""
    folder = state_topic.write_state(tmp_path, ("x", value(0)), ("y", value(0)), ("x", value(1)), ("x", None))
    chosen = transitions(folder, "--transactional-id", "x", "--state", "ongoing", "--state", "tombstone")

    assert [(row["transactional_id"], row["offset"]) for row in chosen] == [("x", 2), ("x", 3)]
    ended = kafkalog("transactions", "--format", "ndjson", "--table", "internal", "--transactional-id", "x", folder)
    assert [(row["offset"], row["tombstone"]) for row in ended.table("internal")] == [(0, False), (2, False), (3, True)]


def test_open_is_every_state_in_which_a_transaction_is_under_way() -> None:
    """As the audit calls it: one that is ongoing, and two that are decided and have not all of their markers."""
    data = sorted((FIXTURES / "k4-f-marker-pending").glob("data-*"))
    rows = kafkalog("transactions", "--at", "now", "--state", "open", "--format", "ndjson", *data).rows

    assert Counter(row["state"] for row in rows) == {"ongoing": 1, "prepare_commit": 1, "prepare_abort": 1}


def test_an_id_that_was_forgotten_is_created_again(tmp_path: Path) -> None:
    """Behind a tombstone nothing is left to fence."""
    folder = state_topic.write_state(tmp_path, ("x", value(0)), ("x", None), ("x", value(0, producer=7)))

    assert steps(folder) == [("created", None, None), ("forgotten", None, None), ("created", None, None)]
    assert [row["previous_producer_id"] for row in transitions(folder)] == [None, None, None]


def test_the_replica_that_leads_is_taken(tmp_path: Path) -> None:
    """Of two brokers' replicas the one whose leader epoch is higher tells, though it is shorter."""
    for node, rows, epoch in (("1", [("x", value(0)), ("x", value(1))], 3), ("2", [("x", value(0, producer=5))], 4)):
        state_topic.write_state(tmp_path / node, *rows, epoch=epoch)
        (tmp_path / node / "meta.properties").write_text(f"version=1\ncluster.id=c\nnode.id={node}\n")

    assert [row["producer_id"] for row in transitions(tmp_path / "1", tmp_path / "2")] == [5]


def test_clusters_are_kept_apart(tmp_path: Path) -> None:
    """The same id in two clusters is two ids."""
    for node in ("1", "2"):
        state_topic.write_state(tmp_path / node, ("x", value(0)))

    assert [row["step"] for row in transitions(tmp_path / "1", tmp_path / "2")] == ["created", "created"]


def test_a_record_that_cannot_be_read_is_a_finding(tmp_path: Path) -> None:
    """The others are shown; the exit status tells."""
    folder = state_topic.write_state(tmp_path, ("x", value(0)), ("x", b"\0\x09"), ("x", value(1)))
    ended = kafkalog("transactions", "--format", "ndjson", folder)

    assert [row["step"] for row in ended.table("transitions")] == ["created", "begun"]
    assert [(row["code"], row["offset"]) for row in ended.table("findings")] == [("state-record-malformed", 1)]
    assert ended.status == 1


def test_a_directory_without_the_topic_says_so(tmp_path: Path) -> None:
    """It is no error of the user's to name one broker's directory of several, and still worth a word."""
    (tmp_path / "meta.properties").touch()
    ended = kafkalog("transactions", tmp_path)

    assert ended.status == 1
    assert "topic-missing" in ended.err


def test_what_cannot_be_read_makes_it_incomplete(tmp_path: Path) -> None:
    """The other inputs are read."""
    state_topic.write_state(tmp_path / "a", ("x", value(0)))
    ended = kafkalog("transactions", "--format", "ndjson", tmp_path / "a", tmp_path / "none")

    assert len(ended.table("transitions")) == 1
    assert ended.status == 3


@pytest.mark.parametrize("form", ["table", "ndjson", "json", "csv"])
def test_every_format_has_the_steps_and_nothing_acts_on_a_terminal(form: str, tmp_path: Path) -> None:
    """An id with an escape sequence is written so that no terminal obeys it, but in a csv that goes to a program."""
    folder = state_topic.write_state(tmp_path, ("\x1b[2Jx", value(0)))
    ended = kafkalog("transactions", "--format", form, folder)

    assert ended.status == 0
    assert b"created" in ended.out
    assert (b"\x1b" in ended.out) == (form == "csv")


@pytest.mark.parametrize("command", ["transactions", "groups", "metadata"])
def test_nothing_is_written_below_an_input(command: str, tmp_path: Path) -> None:
    """Whether it is named as a path or as a URI; beside it a file is whole, in the format of its suffix."""
    evidence = Path(shutil.copytree(FIXTURES / "k4-c-group-offsets-tv0" / "data", tmp_path / "data"))
    before = sorted(evidence.rglob("*"))
    for name in (evidence, f"file://{evidence}"):
        assert kafkalog(command, "-o", evidence / "out.json", name).status == 2
    ended = kafkalog(command, "-o", tmp_path / "out.json", evidence)

    assert ended.status == 0
    assert "findings" in json.loads((tmp_path / "out.json").read_text())
    assert sorted(evidence.rglob("*")) == before


@pytest.mark.process
@pytest.mark.parametrize("command", ["transactions", "groups", "metadata"])
def test_help_needs_no_numpy(command: str) -> None:
    """A command is loaded lazily, and reads files only when it is run."""
    program = f"import sys; from kafkalog_cli.group import cli; cli.get_command(None, {command!r}); print('numpy' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", program], capture_output=True, check=True).stdout == b"False\n"


def test_a_csv_holds_one_table() -> None:
    """Groups have several: one must be chosen."""
    folder = FIXTURES / "k4-c-group-offsets-tv0" / "data"

    assert kafkalog("groups", "--format", "csv", folder).status == 2
    assert kafkalog("groups", "--format", "csv", "--table", "committed", folder).status == 0

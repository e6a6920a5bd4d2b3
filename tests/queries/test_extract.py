"""Records written out again: which ones, in which form, what is said of them; nothing twice and nothing made up."""

from __future__ import annotations

import json
import runpy
import shutil
import sys
import types
from collections import Counter
from pathlib import Path
from typing import Any, Final

import pytest

import kafkalog as library
import plain
from invoke import PARTITION, SEGMENT, kafkalog
from kafkalog.queries.reading import SelectedBlock
from metadata_topic import write_leader
from official import FIXTURES, ROOT
from plain import Batch

HANGING = FIXTURES / "k4-f-hanging-late-produce-tv0" / "data"
ELECTION = sorted((FIXTURES / "k4-k-unclean-election").glob("data-*"))
CODECS = FIXTURES / "k4-b-codecs" / "data"
GROUPS = FIXTURES / "k4-c-group-offsets-tv0" / "data"
TOPIC = "tickets-tickets.26"


def offsets(rows: list[dict[str, object]]) -> list[tuple[object, object]]:
    return [(row["partition"], row["offset"]) for row in rows]


def test_by_default_it_is_what_read_committed_consumers_are_given() -> None:
    """As the audit's table of visible offsets says, which is made without reading a record."""
    for case in (HANGING, CODECS, GROUPS):
        found = kafkalog("extract", "--columns", "*", case).rows
        given = {(row["topic"], row["partition"], row["offset"]) for row in found}
        visible = library.open(case).audit().visible
        ranges = {
            (row["topic"], row["partition"], offset)
            for row in visible
            for offset in range(row["first_offset"], row["last_offset"] + 1)
        }
        assert len(given) == len(found)
        assert given <= ranges
        assert {row["outcome"] for row in found} <= {"committed", "not-transactional"}
        assert not any(row["is_control"] for row in found)


def test_read_uncommitted_is_all_data() -> None:
    """Each data record of the topic, whatever became of it."""
    found = kafkalog("extract", "--view", "read-uncommitted", "--topic", TOPIC, HANGING).rows
    every = [one for one in library.open(HANGING, topics=TOPIC).records() if one.outcome is not None]
    data = [one for one in every if (one.partition, one.offset) in set(offsets(found))]

    assert len(found) == len(data) > len(kafkalog("extract", "--topic", TOPIC, HANGING).rows)


def test_read_uncommitted_begins_where_the_log_does(tmp_path: Path) -> None:
    """Records before the log's start are deleted, though their segment is there: no consumer is given them."""
    plain.write_segments(tmp_path / "t-0", [Batch(0, 0, 4, "plain", records=5)])
    plain.write_checkpoint(tmp_path, "log-start-offset-checkpoint", ("t", 0, 3))

    for view in ("read-committed", "read-uncommitted"):
        assert offsets(kafkalog("extract", "--view", view, tmp_path).rows) == [(0, 3), (0, 4)]


def test_an_incident_has_its_records() -> None:
    """Of hanging transactions exactly their records; the id is that of the table of incidents."""
    incidents = [row for row in library.open(HANGING).audit().incidents if row["kind"] == "consumers-stopped"]
    found = [row for one in incidents for row in kafkalog("extract", "--incident", one["id"], HANGING).rows]

    assert found
    assert {row["outcome"] for row in found} == {"hanging"}
    assert len(found) == sum(one["records"] for one in incidents)
    assert kafkalog("extract", "--incident", "nothing", HANGING).status == 3


def test_several_incidents_have_each_record_once() -> None:
    """Transactions of one log are joined; where of one log offsets are meant, too, nothing is passed over."""
    forked = sorted((FIXTURES / "remedies" / "fork-after-abort").glob("data-*"))
    ids = [row["id"] for row in library.open(HANGING).audit().incidents]
    each = [row for one in ids for row in kafkalog("extract", "--incident", one, HANGING).rows]
    both = kafkalog("extract", "--incident", "1-2", *forked)

    several = kafkalog("extract", "--incident", ",".join([*ids, *ids]), HANGING).rows
    assert sorted(offsets(several)) == sorted(offsets(each))
    assert both.status == 2
    assert "about transactions in it, others about offsets: take one at a time" in both.err


def test_lost_records_are_those_that_the_leader_does_not_have() -> None:
    """Of the old leader's copy what consumers were given, and nothing that was aborted there."""
    ended = kafkalog("extract", "--lost", *ELECTION)
    lost = next(row for row in library.open(ELECTION).audit().incidents if row["kept_in"])
    kept = {
        (one["log"], offset) for one in lost["kept_in"] for offset in range(one["first_offset"], one["last_offset"] + 1)
    }

    assert ended.rows
    assert {(row["log"], row["offset"]) for row in ended.rows} <= kept
    assert {row["outcome"] for row in ended.rows} <= {"committed", "not-transactional"}
    by_incident = kafkalog("extract", "--incident", lost["id"], *ELECTION).rows
    assert offsets(by_incident) == offsets(ended.rows)


def write_replicas(root: Path, *replicas: list[Batch]) -> list[Path]:
    """Write brokers 1, 2, … with a replica of ``t-0`` each; the last one leads."""
    homes = []
    for node, batches in enumerate(replicas, 1):
        home = root / f"node-{node}"
        plain.write_segments(home / "t-0", batches)
        (home / "meta.properties").write_text(f"version=1\ncluster.id=c\nnode.id={node}\n")
        homes.append(home)
    write_leader(homes[-1], "t", list(range(1, len(homes) + 1)), len(homes))
    return homes


def lines_written(offset: int, epoch: int, count: int) -> list[Batch]:
    """Batches of one record of no transaction."""
    return [Batch(0, offset + at, offset + at, "plain", leader_epoch=epoch) for at in range(count)]


def test_what_several_copies_have_comes_once(tmp_path: Path) -> None:
    """Of two replicas of the lost history the longer one is written; a replay would write it twice otherwise."""
    old = lines_written(0, 0, 8)
    homes = write_replicas(tmp_path, old[:6], old, [*old[:3], *lines_written(3, 2, 2)])
    ended = kafkalog("extract", "--lost", *homes)
    lost = next(row for row in library.open(homes).audit().incidents if row["kept_in"])

    assert [(Path(row["log"]).parent.name, row["offset"]) for row in ended.rows] == [
        ("node-2", offset) for offset in range(3, 8)
    ]
    assert offsets(kafkalog("extract", "--incident", lost["id"], *homes).rows) == offsets(ended.rows)


def test_copies_that_fork_are_both_written(tmp_path: Path) -> None:
    """Two old leaders have other records at the same offsets; whole batches of each go to a directory of their own."""
    common = lines_written(0, 0, 3)
    first, second = lines_written(3, 0, 3), lines_written(4, 1, 2)
    homes = write_replicas(
        tmp_path, [*common, *first], [*common, first[0], *second], [*common, *lines_written(3, 2, 1)]
    )
    found = Counter((Path(row["log"]).parent.name, row["offset"]) for row in kafkalog("extract", "--lost", *homes).rows)
    ended = kafkalog("extract", "--lost", "--format", "segment", "-o", tmp_path / "out", *homes)
    copied = sorted(
        [record.offset for record in library.open(file).records()] for file in (tmp_path / "out").rglob("*.log")
    )

    assert found == Counter([("node-2", 3), ("node-2", 4), ("node-2", 5), ("node-1", 4), ("node-1", 5)])
    assert copied == [[3, 4, 5], [4, 5]]
    assert "5 records of 1 partition: 5 not-transactional" in ended.err


def test_at_a_time_later_markers_do_not_count() -> None:
    """What was decided later was open then: the records after it were not given yet."""
    now = kafkalog("extract", "--topic", TOPIC, HANGING).rows
    middle = sorted(row["timestamp_ms"] for row in now)[len(now) // 2]
    then = kafkalog("extract", "--topic", TOPIC, "--at", str(middle), HANGING).rows

    assert 0 < len(then) < len(now)
    assert set(offsets(then)) < set(offsets(now))
    assert all(row["timestamp_ms"] <= middle for row in then)


@pytest.mark.parametrize("words", [["--view", "read-committed"], ["--at", "2026-11-21"]])
@pytest.mark.parametrize("which", [["--lost"], ["--incident", "x"], ["--outcome", "aborted"]])
def test_a_view_does_not_go_with_what_says_which(words: list[str], which: list[str]) -> None:
    """Together they are wrong usage."""
    assert kafkalog("extract", *words, *which, HANGING).status == 2


@pytest.mark.parametrize("name", ["notes.txt", "nowhere", "nowhere.log"])
def test_what_is_no_segment_was_not_read(tmp_path: Path, name: str) -> None:
    """A text, or a name that is not there, is no empty extract."""
    (tmp_path / "notes.txt").write_text("text")

    assert kafkalog("extract", tmp_path / name).status == 3
    assert kafkalog("extract", "-").status == 2


def test_a_file_of_no_log_says_what_is_left_out(tmp_path: Path) -> None:
    """Nobody can say which of its records consumers were given."""
    file = plain.write_segments(tmp_path, [Batch(0, 0, 0, "data", 1, 0, 0), Batch(0, 1, 1, "plain")]) / f"{0:020}.log"
    ended = kafkalog("extract", file)

    assert (ended.status, ended.rows) == (3, [])
    assert f"{file}: in no partition's directory" in ended.err
    assert "records are left out; the view read-uncommitted has them" in ended.err
    assert len(kafkalog("extract", "--view", "read-uncommitted", file).rows) == 2


@pytest.mark.parametrize("command", ["extract", "groups", "producers"])
def test_without_pyarrow_one_line_says_so(command: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Before anything is read."""
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    table = ("--table", "committed") if command == "groups" else ()
    ended = kafkalog(command, *table, "-o", tmp_path / "x.parquet", GROUPS)

    assert ended.status == 4
    assert ended.err == "kafkalog: error: Parquet needs pyarrow: pip install pyarrow\n"


def test_segments_have_whole_batches(tmp_path: Path) -> None:
    """The copies have each selected record, and it is said how many others are with them."""
    ended = kafkalog("extract", "--format", "segment", "--outcome", "hanging", "-o", tmp_path / "out", HANGING)
    wanted = kafkalog("extract", "--outcome", "hanging", HANGING).rows
    copied = [
        (int(path.parent.name.rpartition("-")[2]), record.offset)
        for path in sorted((tmp_path / "out").rglob("*.log"))
        for record in library.open(path).records()
    ]

    assert ended.status == 0, ended.err
    assert set(offsets(wanted)) <= set(copied)
    assert f"{len(wanted)} records of 3 partitions: {len(wanted)} hanging" in ended.err


def test_each_log_has_a_directory_of_its_own(tmp_path: Path) -> None:
    """Logs of one name, of two clusters or two files, are not joined, and an input's name leads nowhere else."""
    out, homes = tmp_path / "out", []
    for cluster in ("a", "b"):
        homes.append(Path(shutil.copytree(PARTITION, tmp_path / cluster / PARTITION.name)))
        (homes[-1].parent / "meta.properties").write_text(f"cluster.id={cluster}\nnode.id=1\nversion=1\n")
    (homes[0] / "within").mkdir()
    names = {PARTITION.name, f"2/{PARTITION.name}"}

    def copied(*inputs: str | Path, cwd: Path | None = None) -> dict[str, bytes]:
        ended = kafkalog("extract", "--format", "segment", "--overwrite", "-o", out / "new", *inputs, cwd=cwd)
        assert ended.status == 0, ended.err
        assert [path.name for path in out.iterdir()] == ["new"]
        home = out / "new"
        return {path.parent.relative_to(home).as_posix(): path.read_bytes() for path in home.rglob("*.log")}

    out.mkdir()
    one = copied(homes[0])
    assert set(copied("..", cwd=homes[0] / "within").items()) == set(one.items())
    for inputs in ([home.parent for home in homes], [home / SEGMENT.name for home in homes]):
        both = copied(*inputs)
        assert set(both) == names
        assert set(both.values()) == set(one.values())


def test_lines_for_the_console_producer(tmp_path: Path) -> None:
    """Headers, key and value with tabs between, and the command that reads them."""
    out = tmp_path / "lines.txt"
    ended = kafkalog("extract", "--format", "console", "--topic", TOPIC, "-o", out, HANGING)
    rows = kafkalog("extract", "--topic", TOPIC, HANGING).rows

    assert ended.status == 0, ended.err
    assert f"kafka-console-producer.sh --bootstrap-server HOST:PORT --topic {TOPIC} " in ended.err
    lines = [line.split("\t", 2) for line in out.read_text().splitlines()]
    assert [line[1:] for line in lines] == [[row["key"] or "\\N", row["value"] or "\\N"] for row in rows]


@pytest.mark.parametrize("form", ["ndjson", "json", "csv", "arrow", "parquet", "segment", "console"])
def test_what_matches_nothing_writes_nothing(form: str, tmp_path: Path) -> None:
    """No file or directory, none of those above it, and what an earlier run wrote stays: status 3 and a sentence."""
    out, more = tmp_path / "new" / "out", ("--topic", TOPIC) if form == "console" else ()
    arguments = ("extract", "--format", form, *more, HANGING, "-o", out)
    ended = kafkalog(*arguments, "--offset", "99999")
    assert (ended.status, list(tmp_path.iterdir())) == (3, [])
    assert f"{out} was not written: there is nothing to write" in ended.err

    assert kafkalog(*arguments).status == 0
    before = {path: path.stat().st_ino for path in tmp_path.rglob("*")}
    assert kafkalog(*arguments, "--offset", "99999", "--overwrite").status == 3
    assert {path: path.stat().st_ino for path in tmp_path.rglob("*")} == before


def test_segments_of_internal_topics_are_listed_and_replaced(tmp_path: Path) -> None:
    """A log whose name begins with an underscore is part of the output as any other."""
    out = tmp_path / "out"
    arguments = ("extract", "--view", "read-uncommitted", "--format", "segment", HANGING, "-o", out, "--overwrite")
    assert kafkalog(*arguments).status == 0
    files = {path.relative_to(out).as_posix() for path in out.rglob("*") if path.is_file()}
    said = json.loads((out / "manifest.json").read_text())
    listed = {file["file"] for files in (*said["tables"].values(), said["others"]) for file in files}
    assert files - listed == {"manifest.json"}
    assert any(name.startswith("__transaction_state-") and name.endswith(".log") for name in listed)

    (out / "mine").touch()
    again = kafkalog(*arguments)
    assert again.status == 0, again.err
    assert {path.relative_to(out).as_posix() for path in out.rglob("*") if path.is_file()} == {*files, "mine"}


class Broker:
    """What ``confluent_kafka.Producer`` is to the script: it holds few messages until it is polled for longer."""

    most = 3

    def __init__(self, options: dict[str, Any]) -> None:
        assert options["bootstrap.servers"] == "HOST:1"
        self.held: list[tuple[Any, ...]] = []

    def produce(
        self, topic: str, value: bytes | None, key: bytes | None, *, partition: int, timestamp: int,
        headers: list[tuple[str, bytes | None]], on_delivery: Any,
    ) -> None:  # fmt: skip
        """Take a message, or raise BufferError."""
        if len(self.held) == self.most:
            raise BufferError
        self.held.append((topic, partition, timestamp, key, value, tuple((k.encode(), v) for k, v in headers)))
        on_delivery(None, None)

    def poll(self, seconds: float) -> None:
        """Write what is held."""
        if seconds:
            WRITTEN.extend(self.held)
            self.held.clear()

    def flush(self) -> None:
        """Write the rest."""
        self.poll(1)


WRITTEN: Final[list[tuple[Any, ...]]] = []


def test_the_replay_script_writes_each_record_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Partition, time, key, value, headers and nulls, in order, also where the producer's queue is full."""
    data = FIXTURES / "v2.8-codecs" / "data"
    kafkalog("extract", "-o", tmp_path / "saved.ndjson", data)
    wanted = [
        (one.topic, one.partition, one.timestamp, one.key, one.value, one.headers)
        for one in library.open(data, on_finding=lambda _: None).records()
        if one.visible
    ]
    module = types.ModuleType("confluent_kafka")
    module.__dict__["Producer"] = Broker
    monkeypatch.setitem(sys.modules, "confluent_kafka", module)
    script = ROOT / "docs" / "replay.py"
    monkeypatch.setattr(sys, "argv", [str(script), str(tmp_path / "saved.ndjson"), "HOST:1"])
    WRITTEN.clear()
    runpy.run_path(str(script), run_name="__main__")

    assert wanted == WRITTEN
    assert any(one[3] is None for one in WRITTEN)
    assert any(value is None for one in WRITTEN for _, value in one[5])


FITTING: Final = next(iter(library.open(HANGING, topics=TOPIC).records()))


@pytest.mark.parametrize(
    "fields",
    [
        {"value": b"\xff"},
        {"value": b"two\nlines"},
        {"value": b"\r"},
        {"key": b"a\tb"},
        {"key": b"\\N"},
        {"headers": ((b"a:b", b""),)},
        {"headers": ((b"a", b"b,c"),)},
    ],
)
def test_what_no_line_can_hold_is_refused(
    fields: dict[str, Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """How many records, and the first of them; nothing is written."""
    monkeypatch.setattr(SelectedBlock, "record", lambda *_: FITTING._replace(**fields))
    ended = kafkalog("extract", "--format", "console", "--topic", TOPIC, "-o", tmp_path / "x.txt", HANGING)

    assert ended.status == 2
    assert f"can't be lines of kafka-console-producer, the first {TOPIC}-0 offset 0: " in ended.err
    assert not (tmp_path / "x.txt").exists()


def test_it_says_which_groups_had_read_past_or_not_reached() -> None:
    """By their commits, where these are among the inputs."""
    ended = kafkalog("extract", GROUPS)
    assert "records of " in ended.err
    assert "group g-stock-sensors.25 had read past them in fares-refunds.18-1" in ended.err
    assert "group g-meters-parcels.19 had read part of them in fares-refunds.18-0" in ended.err


def test_what_is_said_does_not_follow_from_the_columns() -> None:
    """Of an extract without offsets and outcomes, too."""
    said = kafkalog("extract", GROUPS).err

    assert "101 records of 8 partitions: 6 committed, 95 not-transactional" in said
    assert kafkalog("extract", "--columns", "key", GROUPS).err == said


def test_parquet_and_ndjson_have_the_same_records(tmp_path: Path) -> None:
    """All columns, those of the log among them."""
    parquet = pytest.importorskip("pyarrow.parquet")
    kafkalog("extract", "-o", tmp_path / "x.parquet", HANGING)
    kafkalog("extract", "-o", tmp_path / "x.ndjson", HANGING)
    rows = [json.loads(line) for line in (tmp_path / "x.ndjson").read_text().splitlines()]
    found = parquet.read_table(tmp_path / "x.parquet").to_pylist()

    assert [{name: row[name] for name in found[0]} for row in rows] == found


@pytest.mark.parametrize("command", ["find", "extract", "dump"])
def test_a_second_copy_of_a_broker_is_left_out_and_said(command: str, tmp_path: Path) -> None:
    """Two copies of one directory are of different times: the first is read, with a sentence about the other."""
    again, more = (shutil.copytree(GROUPS, tmp_path / name) for name in ("again", "more"))
    alone, both = (kafkalog(command, "--format", "ndjson", *paths) for paths in ([again], [again, more]))

    assert (both.rows, both.status) == (alone.rows, alone.status)
    assert "directory-twice" in both.err
    assert str(more) in both.err

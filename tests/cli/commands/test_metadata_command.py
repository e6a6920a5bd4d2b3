"""``kafkalog metadata``: the controller's records, held to what brokers and clients were told, and to the snapshots."""

from __future__ import annotations

import json
import os
import shutil
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import kafkalog as kafkalog_library
from invoke import Row, kafkalog
from kafkalog.auditing.topics.internal import split
from kafkalog.auditing.topics.metadata import Metadata
from kafkalog.auditing.topics.metadata_log import metadata_of, snapshots
from kafkalog.log_dirs.log_directory import PartitionDirectory, open_log_directory
from kafkalog.segments.moment import Moment
from official import CORPUS, FIXTURES, of_corpus
from one_by_one import written

TOLD = [
    path for path in sorted(FIXTURES.glob("k4-*/told.json")) if list(path.parent.glob("data*/__cluster_metadata-0"))
]
CASES = of_corpus(sorted(CORPUS.glob("k4-*/truth.json")))
SNAPSHOTS = FIXTURES / "k4-m-metadata-groups-44" / "data"


def table(name: str, *arguments: str | Path) -> list[Row]:
    """Return the rows of one table of ``kafkalog metadata ARGUMENTS``."""
    ended = kafkalog("metadata", "--format", "ndjson", "--table", name, *arguments)
    assert ended.status in (0, 1), ended.err
    return ended.table(name)


def differences(path: Path) -> list[str]:
    """Hold a case to what an admin client was told of topics and features at the copy."""
    said: dict[str, Any] = json.loads(path.read_text())
    observed = said.get("observed_ms") or said["copy"]["observed_ms"]
    folders = [*sorted(path.parent.glob("data*")), "--at", str(observed)]
    topics = {row["topic"]: row for row in table("topics", *folders)}
    leaders = {(row["topic"], row["partition"]): row for row in table("leadership", *folders)}
    wrong = []
    for name, topic in said["topics"].items():
        row = topics.pop(name, {})
        needed = (topic["topic_id"], len(topic["partitions"]))
        if (row.get("topic_id"), row.get("partitions")) != needed:
            wrong.append(f"{name}: {row} is not {needed}")
        for partition in topic["partitions"]:
            found = leaders.pop((name, partition["partition"]), {})
            leader = None if partition["leader"] in (None, -1) else partition["leader"]
            if (found.get("leader"), found.get("replicas")) != (leader, partition["replicas"]) or sorted(
                found.get("isr", [])
            ) != sorted(partition["isr"]):
                wrong.append(f"{name}: {found} is not {partition}")
    wrong += [f"{name} was not told" for name in (*topics, *leaders)]
    for name, about in said["topic_configs"].items():
        for key, value in about["config"].items():
            held = [row for row in table("configs", "--topic", name, *folders) if row["name"] == key]
            if name in said["topics"] and [row["value"] for row in held] != [value]:
                wrong.append(f"{name}: {key} is {held}, not {value}")
    levels = {row["name"]: row["level"] for row in table("features", *folders)}
    wrong += [f"{name} is {levels.get(name)}" for name, level in said["features"].items() if levels.get(name) != level]
    return wrong


@pytest.mark.parametrize("path", TOLD, ids=lambda path: path.parent.name)
def test_the_metadata_is_what_a_client_was_told(path: Path) -> None:
    """Topics, their ids, leaders, replicas, replicas in sync, settings and features at the time of the copy."""
    assert not differences(path)


def test_some_fixtures_tell_of_topics() -> None:
    """The test above has something to compare."""
    assert len(TOLD) > 8


@pytest.mark.corpus
@pytest.mark.parametrize("path", CASES, ids=lambda path: path.parent.name)
def test_the_metadata_of_the_corpus_is_what_clients_were_told(path: Path) -> None:
    """As above, over every case whose brokers were asked."""
    assert not differences(path)


def metadata_log(folder: Path) -> PartitionDirectory:
    """Return the directory of the metadata log."""
    return next(one for one in open_log_directory(folder).partitions if one.topic == "__cluster_metadata")


def held(metadata: Metadata, moment: Moment) -> dict[str, Any]:
    """Return what held at a moment, without when it began and by what."""
    tables = {
        "topics": metadata.topics,
        "partitions": metadata.partitions,
        "configs": metadata.configs,
        "brokers": metadata.brokers,
        "features": metadata.features,
    }
    found: dict[str, Any] = {}
    for name, table in tables.items():
        for key, spans in table.items():
            for span in spans:
                if span.held_at(moment):
                    value = span.value._replace(change="") if name == "partitions" else span.value
                    assert (name, key) not in found
                    found[name, key] = value
    return found


def snapshots_agree(folder: Path) -> int:
    """Hold each snapshot to the log's records up to its offset; returns how many there were."""
    directory = metadata_log(folder)
    whole = metadata_of(directory)
    compared = 0
    for snapshot in snapshots(directory):
        if snapshot.offset <= directory.segments[0].base_offset:
            continue
        alone = Metadata()
        for record in split(written(snapshot.path, directory.topic), []):
            alone.apply(record)
        at = Moment(snapshot.offset - 1)
        whole.features.pop("kraft.version", None)  # stands in control records
        mine = {key: value for key, value in held(whole, at).items() if getattr(value, "state", "") != "unregistered"}
        assert held(alone, Moment()) == mine
        compared += 1
    return compared


def test_a_snapshot_says_what_the_log_says_up_to_it() -> None:
    """Replaying the log's records gives what the controller itself wrote down, at every snapshot."""
    assert snapshots_agree(SNAPSHOTS) == 5


@pytest.mark.corpus
def test_snapshots_of_the_corpus_say_what_the_logs_say() -> None:
    """As above, over all snapshots that are at hand."""
    folders = [path.parent for path in sorted(CORPUS.glob("k4-*/data*/__cluster_metadata-0"))]

    assert sum(snapshots_agree(folder) for folder in folders) >= 10


@pytest.fixture
def trimmed(tmp_path: Path) -> PartitionDirectory:
    """Copy the metadata log as retention leaves it: from a snapshot's offset on, with that snapshot and the later ones."""
    old = metadata_log(SNAPSHOTS)
    base = snapshots(old)[2]
    folder = tmp_path / "__cluster_metadata-0"
    folder.mkdir()
    for snapshot in snapshots(old)[2:]:
        shutil.copy(snapshot.path, folder)
    segment = Path(old.segments[0].path)
    start = next(batch.position for batch in kafkalog_library.batches(segment) if batch.base_offset == base.offset)
    (folder / f"{base.offset:020}.log").write_bytes(segment.read_bytes()[start:])
    return metadata_log(folder)


def test_a_log_that_begins_at_a_snapshot_goes_on_from_it(trimmed: PartitionDirectory) -> None:
    """At the end the same holds as where the whole log is at hand; what was before is told as the snapshot's."""
    cut = metadata_of(trimmed)
    whole = held(metadata_of(metadata_log(SNAPSHOTS)), Moment())

    assert held(cut, Moment()) == {
        key: value for key, value in whole.items() if getattr(value, "state", "") != "unregistered"
    }
    spans = next(iter(cut.partitions.values()))
    assert (spans[0].value.change, spans[0].offset) == ("snapshot", trimmed.segments[0].base_offset - 1)


def test_a_snapshot_without_its_end_is_told_and_not_used(trimmed: PartitionDirectory) -> None:
    """The next one is taken, and the log's records that it holds are passed over."""
    first, second, *_ = snapshots(trimmed)
    batches = list(kafkalog_library.batches(first.path))
    os.truncate(first.path, batches[-1].position)
    ended = kafkalog("metadata", "--format", "ndjson", "--table", "topics", trimmed.log)

    assert [row["code"] for row in ended.table("findings")] == ["metadata-snapshot-incomplete"]
    assert min(row["offset"] for row in ended.table("topics")) == second.offset - 1
    assert ended.status == 1


def test_a_topic_may_be_chosen_and_a_moment() -> None:
    """--topic leaves out what is not about it; before its creation nothing is told."""
    folder = FIXTURES / "k4-f-marker-leaderless" / "data-1"
    created = min(row["offset"] for row in table("topics", folder))
    name = next(row["topic"] for row in table("topics", folder) if row["offset"] == created)
    ended = kafkalog("metadata", "--format", "ndjson", "--topic", name, folder)

    assert {row["table"] for row in ended.rows} >= {"topics", "leadership"}
    assert {row["topic"] for row in ended.table("leadership")} == {name}
    assert not ended.table("brokers")
    assert table("topics", "--at", str(created - 1), folder) == []
    assert [row["topic"] for row in table("topics", "--at", str(created), folder)] == [name]


def test_lost_leaders_are_told_with_their_epochs() -> None:
    """In what a broker wrote a leader goes, and every election raises the epoch by one."""
    rows = table("leadership", FIXTURES / "k4-f-marker-leaderless" / "data-1")
    of_one: dict[tuple[str, int], list[Row]] = {}
    for row in rows:
        of_one.setdefault((row["topic"], row["partition"]), []).append(row)

    assert any(row["change"] == "leader-lost" and row["leader"] is None for row in rows)
    for changes in of_one.values():
        assert [row["partition_epoch"] for row in changes] == list(range(len(changes)))
        raised = [after["leader_epoch"] - before["leader_epoch"] for before, after in pairwise(changes)]
        assert raised == [int(row["change"] in ("elected", "unclean-election", "leader-lost")) for row in changes[1:]]


def test_the_records_are_rows_too() -> None:
    """The table metadata has what is asked for most in columns of its own, the table internal the fields alone."""
    rows = table("metadata", SNAPSHOTS)
    kinds = {row["kind"]: row for row in rows}

    assert kinds["TopicRecord"]["topic"] == kinds["TopicRecord"]["fields"]["name"]
    assert kinds["FeatureLevelRecord"]["value"] == str(kinds["FeatureLevelRecord"]["fields"]["featureLevel"])
    assert kinds["PartitionRecord"]["isr"] == [1]
    assert [row["offset"] for row in rows] == [row["offset"] for row in table("internal", SNAPSHOTS)]


@pytest.mark.parametrize("form", ["table", "json", "csv"])
def test_every_format_shows_the_topics(form: str) -> None:
    """As the other commands' do."""
    ended = kafkalog("metadata", "--format", form, "--table", "topics", SNAPSHOTS)

    assert ended.status == 0
    assert b"stock-clicks.24" in ended.out

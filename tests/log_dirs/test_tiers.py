"""A log in two tiers: joined by its metadata, in any layout, from a disk and from an object store."""

from __future__ import annotations

import json
import os
import pickle
import re
import shutil
from collections.abc import Iterator
from dataclasses import replace
from itertools import accumulate
from pathlib import Path
from typing import Any, Final

import pytest

from invoke import kafkalog
from kafkalog.api import open as opened
from kafkalog.auditing.partition.scan import scan_segment
from kafkalog.auditing.pipeline import kept_scans
from kafkalog.auditing.pipeline.places import logs_of
from kafkalog.auditing.pipeline.run import audit
from kafkalog.auditing.verification import remote_copies
from kafkalog.files import object_stores
from kafkalog.files.object_stores import requests_made
from kafkalog.files.packed_segments import INDEX_PARTS
from kafkalog.findings import Finding, Severity
from kafkalog.kafka.batch import CONTROL
from kafkalog.kafka.remote_log_metadata import RemoteLogMetadata, metadata_partition
from kafkalog.kernel import buffers
from kafkalog.log_dirs import moving
from kafkalog.log_dirs.clusters import open_clusters
from kafkalog.log_dirs.log_directory import Segment
from kafkalog.log_dirs.remote_segments import RemoteSegment, Tier
from kafkalog.log_dirs.remote_store import (
    LOCAL_TIERED_STORAGE,
    PartitionKey,
    Remote,
    RemoteLayout,
    RemoteObject,
    remote_given,
)
from kafkalog.log_dirs.tiers import TierMetadata, join_tiers, read_remote_log_metadata
from kafkalog.segments.segment import segment_chunks
from object_store import ObjectStore, object_store
from official import FIXTURES
from tiered import facts_of

CASE: Final = FIXTURES / "tiered-missing"
DATA: Final = CASE / "data"
STORE: Final = CASE / "remote"
FACTS: Final[dict[str, dict[str, Any]]] = json.loads((CASE / "expect-tiered.json").read_text())
OFFICIAL: Final = STORE / "kafka-tiered-storage"


def facts(remote: str, layout: str | None = None) -> dict[str, dict[str, Any]]:
    """Return what an audit with a store says, of what expect-tiered.json has."""
    with remote_given(Remote(remote, None if layout is None else RemoteLayout.of(layout))):
        found = facts_of(audit([DATA]))
    return {name: {key: found[name][key] for key in fact if key in found[name]} for name, fact in FACTS.items()}


def expected() -> dict[str, dict[str, Any]]:
    return {name: {k: v for k, v in fact.items() if k not in _OF_CLIENTS} for name, fact in FACTS.items()}


_OF_CLIENTS: Final = ("role", "records_read_uncommitted")

# The commands that read log objects, as one line after the data each.
READERS: Final = (
    ("txn-audit",), ("verify",), ("dump",), ("extract", "--format", "ndjson", "-o", "-"), ("find", "--outcome", "aborted"),
    ("producers",), ("timeline",),
)  # fmt: skip
SEARCHES: Final = ("dump", "extract", "find")


def test_both_tiers_are_one_log() -> None:
    """Offsets, states and objects are those of the official tools, of a store at its root and one above."""
    assert facts(str(STORE)) == expected()
    assert facts(str(OFFICIAL)) == expected()


def laid_out(to: Path, pattern: str) -> Path:
    """Write the fixture's objects under other names."""
    for folder in OFFICIAL.iterdir():
        topic, partition, topic_id = folder.name[:-25], folder.name[-24], folder.name[-22:]
        for file in folder.iterdir():
            start, rest = file.name.split("-", 1)
            segment_id, kind = rest.split(".")
            place = to / pattern.format(
                topic=topic, partition=partition, topic_id=topic_id, segment_id=segment_id, start_offset=int(start),
                type=kind,
            )  # fmt: skip
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(file, place)
    return to


@pytest.mark.parametrize(
    "pattern",
    [
        "{topic}/{partition}/{start_offset:020}-{segment_id}.{type}",
        "{topic_id}-{partition}/{segment_id}/{type}",
        "t={topic}/p={partition}/{type}/{start_offset:020}_{segment_id}",
    ],
)
def test_a_store_of_another_layout_gives_the_same(pattern: str, tmp_path: Path) -> None:
    """A pattern says where the topic, the segment and the type are, also as directories."""
    assert facts(str(laid_out(tmp_path, pattern)), pattern) == expected()


@pytest.mark.parametrize(
    "pattern",
    [
        "{topic}/{partition}/{offset}", "{topic}/{partition}", "{segment_id}", "{topic}-{partition}-{start_offset:019}",
        "{topic}-{partition}-{segment_id!r}", "{topic", "/{topic}/{partition}/{segment_id}",
        "{topic}/../{partition}/{segment_id}", "",
    ],
)  # fmt: skip
def test_a_pattern_that_is_none_is_wrong_usage(pattern: str) -> None:
    """The exit status is 2, and the message names the fields."""
    ended = kafkalog("txn-audit", "--remote", STORE, "--remote-layout", pattern, DATA)

    assert ended.status == 2
    assert "--remote-layout" in ended.err


def test_a_layout_without_a_store_is_wrong_usage() -> None:
    """It describes nothing."""
    assert kafkalog("txn-audit", "--remote-layout", LOCAL_TIERED_STORAGE, DATA).status == 2


@pytest.mark.parametrize("command", ["txn-audit", "verify", "extract", "space"])
def test_a_store_that_is_none_was_not_read(command: str, tmp_path: Path) -> None:
    """A directory without partitions' objects, and one that is not there: exit status 3, and the reason."""
    (tmp_path / "else").mkdir()
    for store in (tmp_path, tmp_path / "gone"):
        ended = kafkalog(command, "--remote", store, DATA)
        assert ended.status == 3, ended.err
        assert str(store) in ended.err


def test_nothing_is_written_into_the_store(tmp_path: Path) -> None:
    """It is evidence like the log directories."""
    store = shutil.copytree(STORE, tmp_path / "store")
    ended = kafkalog("txn-audit", "--remote", store, "-o", store / "audit.json", DATA)

    assert ended.status == 2
    assert not (store / "audit.json").exists()


def test_the_store_may_lack_the_metadata(tmp_path: Path) -> None:
    """Then each object with a log is a whole copy, the log is read all the same, and a note says so."""
    data = shutil.copytree(DATA, tmp_path / "data", ignore=shutil.ignore_patterns("__remote_log_metadata*"))
    with remote_given(Remote(str(STORE))):
        found = audit([data])
    codes = {one.code for one in found.findings()}
    log = next(one for one in found.clusters[0].logs if one.partition.directory.topic == "audit.refunds53")

    assert "remote-metadata-missing" in codes
    assert log.partition.log_start_offset == 0
    assert log.partition.gaps


# The join of ranges.


def segment(name: str, start: int, end: int, *states: str, has_log: bool = True) -> RemoteSegment:
    objects = (RemoteObject("log", f"{name}.log", 100),) if has_log else ()
    named = tuple((state, at) for at, state in enumerate(states or ("COPY_SEGMENT_STARTED", "COPY_SEGMENT_FINISHED")))
    return RemoteSegment(name, start, end, 100, named, objects)


def tier(*segments: RemoteSegment) -> Tier:
    layout = RemoteLayout(LOCAL_TIERED_STORAGE)
    return Tier(PartitionKey("t", 0, None), Remote("r", layout), "r/t", segments, has_metadata=True, newest="")


def chained(found: Tier, start: int, stop: int) -> list[tuple[str, int]]:
    return [(one.segment_id, until) for one, until in found.chain(start, stop)]


def test_each_offset_of_a_chain_counts_once() -> None:
    """Of segments that share offsets, as two leaders cut them, the first is read up to where the next one begins."""
    found = tier(segment("a", 0, 9), segment("b", 5, 14), segment("c", 6, 8), segment("d", 15, 30))

    assert chained(found, 0, 25) == [("a", 5), ("b", 15), ("d", 25)]
    assert chained(found, 12, 15) == [("b", 15)]
    assert found.holes(0, 25) == []


def test_what_is_not_a_whole_copy_is_no_part_of_the_log() -> None:
    """Of a copy that did not end, a deletion that began, and an object that is gone: their offsets are missing."""
    found = tier(
        segment("a", 0, 9), segment("b", 10, 19, "COPY_SEGMENT_STARTED"), segment("c", 20, 29, has_log=False),
        segment("d", 30, 39),
    )  # fmt: skip

    assert chained(found, 0, 50) == [("a", 10), ("d", 40)]
    assert found.holes(0, 50) == [(10, 29), (40, 49)]
    assert found.highest_remote_offset == 39


def test_retention_moves_the_log_start_before_the_checkpoint_says_so() -> None:
    """A broker writes the checkpoint once a minute, the deletion at once: what it deleted is not lost."""
    states = ("COPY_SEGMENT_STARTED", "COPY_SEGMENT_FINISHED", "DELETE_SEGMENT_STARTED")
    found = tier(segment("a", 0, 9, *states), segment("b", 10, 19, *states, "DELETE_SEGMENT_FINISHED"),
                 segment("c", 20, 29))  # fmt: skip

    assert found.log_start(0, 30) == 20
    assert found.log_start(25, 30) == 25
    assert found.log_start(None, 30) == 20


# Partitions that only the store has.


def without(to: Path, *patterns: str) -> Path:
    """Copy the fixture's log directory without what patterns name."""
    return shutil.copytree(DATA, to, ignore=shutil.ignore_patterns(*patterns))


def test_a_partition_that_only_the_store_has_is_a_log(tmp_path: Path) -> None:
    """Its transactions and records are those that the store has of it; the note says that what was not copied is not here."""
    data = without(tmp_path / "data", "coupons*")
    with remote_given(Remote(str(STORE))):
        whole, alone = audit([DATA]), audit([data])
    [log] = (log for log in alone.clusters[0].logs if log.partition.directory.topic.startswith("coupons"))
    told = [one for one in alone.findings() if one.topic == log.partition.directory.topic]
    [fact] = (fact for name, fact in FACTS.items() if name.startswith("coupons"))

    assert log.partition.log_end_offset == fact["latest_tiered"] + 1 == log.partition.last_stable_offset
    assert log.partition.directory.log.startswith(str(OFFICIAL))
    assert {one.code for one in told if one.severity > Severity.NOTE} <= {"partition-absent"}
    assert "remote-log-alone" in {one.code for one in told}
    assert (
        facts_of(alone).items()
        >= {name: fact for name, fact in facts_of(whole).items() if not name.startswith("coupons")}.items()
    )


def test_an_open_end_of_a_partition_that_only_the_store_has_blocks_nobody(tmp_path: Path) -> None:
    """A marker after the last copied segment is not here: the transaction is undecided, and no consumer waits for it."""
    data = without(tmp_path / "data", "audit.refunds53-0", "__remote_log_metadata*")
    store = shutil.copytree(OFFICIAL, tmp_path / "store")
    for log in sorted(store.glob("audit.refunds53-0-*/*.log"), reverse=True):
        markers = [
            chunk.heads.cell(buffers.POSITION, row)
            for chunk in segment_chunks(log)
            for row in range(chunk.heads.count)
            if chunk.heads.cell(buffers.ATTRIBUTES, row) & CONTROL
        ]
        log.chmod(0o644)
        log.write_bytes(log.read_bytes()[: markers[-1] if markers else 0])
        if markers:
            break
        log.unlink()
    with remote_given(Remote(str(store))):
        found = audit([data])
    [of] = (one for one in found.clusters[0].logs if one.partition.directory.log.startswith(str(store)))

    assert {one.code for one in of.findings if one.code.startswith("transaction-")} == {"transaction-undecided"}
    assert of.partition.last_stable_offset == of.partition.log_end_offset


@pytest.mark.parametrize("command", [*READERS, ("space",)], ids=lambda command: command[0])
def test_commands_read_what_only_the_store_has(command: tuple[str, ...], tmp_path: Path) -> None:
    """Without any partition on a disk: the layout is found by the names there, and the partitions are named."""
    data = tmp_path / "data"
    data.mkdir()
    shutil.copy(DATA / "meta.properties", data)
    arguments = {"space": ("--table", "space_tiers"), "verify": ("--table", "files")}.get(command[0], command[1:])
    full = ("--full",) * (command[0] == "txn-audit")
    ended = kafkalog(command[0], "--remote", STORE, data, *arguments, *full)

    assert ended.status == (3 if command[0] in SEARCHES else 1)  # lost offsets
    assert "coupons.quotes51" in f"{ended.text}{ended.err}"


def test_a_partition_of_no_given_cluster_could_not_be_read(tmp_path: Path) -> None:
    """Of two clusters' directories and a store nothing says whose it is: exit status 3, and its name."""
    data = without(tmp_path / "data", "coupons*", "__remote_log_metadata*")
    ended = kafkalog("txn-audit", "--remote", STORE, data, FIXTURES / "v2.8-hanging" / "data")

    assert ended.status == 3
    assert "coupons.quotes51-0" in ended.err


def test_what_is_left_of_a_deleted_partition_is_an_orphan() -> None:
    """The metadata says that the partition was deleted: no offset of it is lost, and nothing is read."""
    found = TierMetadata(RemoteLogMetadata(), {}, [])
    for state in (0, 1):
        found.said.apply(record(state, **WHOLE), None)
    found.said.apply(
        {"remotePartitionDeleteState": 1, "topicIdPartition": record(0)["remoteLogSegmentId"]["topicIdPartition"]}, None
    )
    node = open_clusters([DATA])[0][0].nodes[0]
    alone = list(join_tiers([node], Remote(str(STORE), RemoteLayout(LOCAL_TIERED_STORAGE)), found, []))

    assert alone == []
    assert not [one for one in node.findings if one.topic == "t"]


# The metadata's records.


def record(state: int, name: str = "segment", **more: Any) -> dict[str, Any]:
    place = {"name": "t", "id": "topic", "partition": 3}
    return {
        "remoteLogSegmentId": {"topicIdPartition": place, "id": name}, "remoteLogSegmentState": state,
        "eventTimestampMs": 10 + state, "brokerId": 1, **more,
    }  # fmt: skip


WHOLE: Final = {"startOffset": 5, "endOffset": 9, "segmentSizeInBytes": 70, "segmentLeaderEpochs": []}
KEY: Final = b"topic:t:3:9:0"


def test_states_of_a_segment_are_kept_over_time() -> None:
    """The first record has its offsets, later ones its states; the newest record's segment is known."""
    found = RemoteLogMetadata()
    found.apply(record(0, **WHOLE), None)
    found.apply(record(1), None)
    one = found.partitions["topic", 3]["segment"]

    assert (one.start_offset, one.end_offset, one.size, one.state) == (5, 9, 70, "COPY_SEGMENT_FINISHED")
    assert one.states == [("COPY_SEGMENT_STARTED", 10), ("COPY_SEGMENT_FINISHED", 11)]
    assert found.newest == {("topic", 3): "segment"}


def test_a_compacted_topic_has_keys_and_tombstones() -> None:
    """Of a segment whose first record was compacted away the key says the end; a tombstone ends what has its key."""
    found = RemoteLogMetadata()
    found.apply(record(1), KEY)
    found.apply(record(1, "other"), b"topic:t:3:19:0")
    assert [one.end_offset for one in found.partitions["topic", 3].values()] == [9, 19]

    found.apply(None, KEY)
    found.apply(None, b"no key of this topic")
    assert list(found.partitions["topic", 3]) == ["other"]


def test_a_partitions_records_are_where_kafka_puts_them() -> None:
    """Each segment's records are in the partition of the topic that Kafka's partitioner says."""
    logs = {}
    for number in (0, 1):
        log = DATA / f"__remote_log_metadata-{number}" / f"{0:020}.log"
        logs[number] = read_remote_log_metadata([[Segment(str(log), 0, log.stat().st_size)]], [])
    known = {path.name: (path / "partition.metadata").read_text().split("topic_id: ")[1].strip()
             for path in DATA.glob("[a-z]*-*") if path.is_dir()}  # fmt: skip
    for name, topic_id in known.items():
        number = name.rpartition("-")[2]
        at = metadata_partition(topic_id, int(number), 2)
        assert (topic_id, int(number)) in logs[at].partitions
        assert (topic_id, int(number)) not in logs[1 - at].partitions


# How long a copy may wait.


@pytest.mark.parametrize(
    ("configs", "word"),
    [
        ({}, "copy-task"),
        ({"remote.copy.lag.ms": "600000"}, "copy-lag"),
        ({"remote.copy.lag.ms": "1"}, "copy-task"),
        ({"remote.copy.lag.ms": "-1", "local.retention.ms": "600000"}, "copy-lag"),
        ({"remote.copy.lag.ms": "-1", "local.retention.ms": "1"}, "copy-task"),
        ({"remote.copy.lag.ms": "600000", "remote.copy.lag.bytes": "100"}, "copy-task"),
        ({"remote.copy.lag.ms": "600000", "remote.copy.lag.bytes": "1000000"}, "copy-lag"),
        ({"remote.copy.lag.ms": "600000", "retention.bytes": "100"}, "copy-task"),
        ({"remote.copy.lag.ms": "600000", "remote.log.copy.disable": "true"}, "copy-disabled"),
    ],
)
def test_a_copy_that_the_settings_delay_is_not_late(
    configs: dict[str, str], word: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    """A segment is copied once it is old enough, or enough bytes are after it; -1 stands for local retention."""
    store = shutil.copytree(OFFICIAL, tmp_path / "store")
    newest = sorted(store.glob("coupons*/*.log"))[-1]
    for path in store.glob(f"coupons*/{newest.stem}.*"):
        path.unlink()
    apply = RemoteLogMetadata.apply

    def apply_others(found: RemoteLogMetadata, value: Any, key: bytes | None) -> None:
        if value["remoteLogSegmentId"]["id"] != newest.stem[21:]:
            apply(found, value, key)

    monkeypatch.setattr(RemoteLogMetadata, "apply", apply_others)
    settings = tmp_path / "topics.json"
    settings.write_text(json.dumps({"coupons.quotes51": configs}))
    with remote_given(Remote(str(store))):
        found = list(opened(DATA).space(topic_configs=settings).space_tiers)
    [row] = (row for row in found if row["topic"] == "coupons.quotes51")

    assert row["to_copy_segments"] == 1
    assert row["copy_waits_for"] == word, row["evidence"]


# In an object store.


@pytest.fixture(scope="module")
def server() -> Iterator[ObjectStore]:
    pytest.importorskip("moto", reason="an object store to test with needs moto[server]")
    with object_store() as store:
        yield store


@pytest.fixture(scope="module")
def official_objects(server: ObjectStore) -> str:
    return server.upload(OFFICIAL, "official")


@pytest.fixture
def store(server: ObjectStore, monkeypatch: pytest.MonkeyPatch) -> ObjectStore:
    server.name_to(monkeypatch)
    return server


@pytest.fixture
def official_uri(store: ObjectStore, official_objects: str) -> str:
    """The official store's objects, which no test changes, in a store that is named."""
    return official_objects


def test_a_store_by_its_uri_gives_the_same_with_one_listing_a_partition(store: ObjectStore) -> None:
    """One LIST finds the partitions, one each lists their objects, and no log is read twice."""
    uri = store.upload(OFFICIAL, "tiers")
    with store.counting() as counts:
        assert facts(uri) == expected()
    read = [one.key for one in store.asked if one.kind == "GET" and one.key.endswith(".log")]

    assert counts["LIST"] <= 2 + 2 * len(FACTS)
    assert len(read) == len(set(read)) == sum(
        one["log_object"] and one["end"] < fact["local"][0] for fact in FACTS.values() for one in fact["remote"]
    )  # fmt: skip


def test_an_object_of_another_size_than_the_metadata_says_is_not_ok(store: ObjectStore) -> None:
    """It was cut: not all of it could be read, and the finding names it."""
    uri = store.upload(OFFICIAL, "cut")
    log = sorted(OFFICIAL.glob("audit.refunds53-0-*/*.log"))[0]
    store.put(f"cut/{log.parent.name}/{log.name}", log.read_bytes()[:-50])
    ended = kafkalog("txn-audit", "--remote", uri, DATA, "--table", "findings", "--format", "ndjson")

    assert ended.status == 3
    assert any(row["code"] == "remote-object-size" and os.path.basename(log) in row["file"] for row in ended.rows)


@pytest.mark.parametrize("command", READERS, ids=lambda command: command[0])
def test_an_object_of_another_size_than_its_listing_was_not_read(
    command: tuple[str, ...], official_uri: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A store whose answers contradict each other: exit status 3 and the object's name, whatever the command."""
    log = sorted(OFFICIAL.glob("audit.refunds53-0-*/*.log"))[0]
    key = f"official/{log.parent.name}/{log.name}"
    listed = object_stores.RemoteTree._add

    def add(tree: Any, name: str, size: int, mtime_ns: int, *, is_directory: bool) -> None:
        listed(tree, name, size - 50 * name.endswith(key), mtime_ns, is_directory=is_directory)

    monkeypatch.setattr(object_stores.RemoteTree, "_add", add)
    ended = kafkalog(command[0], "--remote", official_uri, DATA, *command[1:])

    assert ended.status == 3
    assert not ended.text.startswith("OK")


@pytest.mark.parametrize("command", [*READERS, ("groups",), ("space",)], ids=lambda command: command[0])
def test_a_partition_whose_listing_fails_was_not_read(
    command: tuple[str, ...], official_uri: str, store: ObjectStore
) -> None:
    """Its tier could not be read: exit status 3, whatever the command."""
    with store.refusing("LIST", "official/audit.refunds53-0"):
        assert kafkalog(command[0], "--remote", official_uri, DATA, *command[1:]).status == 3


def test_of_a_partition_whose_listing_fails_nothing_is_lost(official_uri: str, store: ObjectStore) -> None:
    """No offset of it is said to be lost, and the other tiers are read."""
    with store.refusing("LIST", "official/audit.refunds53-0"):
        told = kafkalog("txn-audit", "--remote", official_uri, DATA, "--table", "findings", "--format", "ndjson")

    about = {row["code"] for row in told.rows if row["topic"] == "audit.refunds53" and row["partition"] == 0}
    assert {"file-unreadable", "log-partly-remote"} <= about
    assert not {"remote-offsets-lost", "remote-object-missing"} & about
    assert any(row["code"] == "remote-offsets-lost" and row["partition"] == 1 for row in told.rows)


def test_the_words_of_a_store_that_fails_are_the_stores(store: ObjectStore) -> None:
    """One that answers its listing with an error is not called a directory that is none."""
    uri = store.upload(OFFICIAL, "failing")
    with store.refusing("LIST", "failing"):
        ended = kafkalog("txn-audit", "--remote", uri, DATA)

    assert ended.status == 3
    assert "check the credentials" in ended.err


@pytest.fixture
def damaged(tmp_path: Path) -> Path:
    return shutil.copytree(OFFICIAL, tmp_path / "store")


def verified(store: Path) -> list[dict[str, Any]]:
    """Return the findings of a verification above a note that the fixture itself does not give."""
    ended = kafkalog("verify", "--remote", store, DATA, "--table", "findings", "--format", "ndjson")
    assert ended.status == 1
    return [row for row in ended.rows if row["severity"] != "note" and not row["code"].startswith("remote-")]


def test_verify_accounts_for_every_object() -> None:
    """Of each partition all objects are rows of files, also those of copies that are local, too, and nothing is wrong."""
    ended = kafkalog("verify", "--remote", STORE, DATA, "--table", "files", "--format", "ndjson")
    read = {Path(row["file"]).resolve() for row in ended.rows}

    assert verified(STORE) == []
    assert {path.resolve() for path in OFFICIAL.glob("*/*")} <= read
    assert all(row["state"] == "whole" for row in ended.rows)


@pytest.mark.parametrize(
    ("pattern", "damage", "code"),
    [
        ("audit*-0-*/*030-*.log", lambda data: data[:200] + b"\xff" + data[201:], "crc-mismatch"),
        ("coupons*/*054-*.log", lambda data: data[:200] + b"\xff" + data[201:], "crc-mismatch"),
        ("audit*-0-*/*030-*.txnindex", lambda data: data[:10] + bytes(8) + data[18:], "txn-index-mismatch"),
        ("audit*-0-*/*030-*.snapshot", lambda data: data[:8] + b"\xff" + data[9:], "snapshot-corrupt"),
        ("coupons*/*054-*.snapshot", lambda data: data[:8] + b"\xff" + data[9:], "snapshot-corrupt"),
        ("audit*-0-*/*030-*.leader_epoch_checkpoint", lambda data: data.replace(b"\n0 ", b"\n7 "), "leader-epochs-mismatch"),
        ("audit*-0-*/*030-*.leader_epoch_checkpoint", lambda data: data.replace(b"\n1\n", b"\n2\n", 1) + b"1 9999\n",
         "leader-epochs-mismatch"),  # a later segment's
    ],
)  # fmt: skip
def test_verify_finds_damage_in_an_object(pattern: str, damage: Any, code: str, damaged: Path) -> None:
    """Of segments that are remote alone and of copies of local ones; the finding names the object."""
    [path] = damaged.glob(pattern)
    path.chmod(0o644)
    path.write_bytes(damage(path.read_bytes()))
    found = verified(damaged)

    assert code in {row["code"] for row in found}
    assert any(Path(row["file"]) == path for row in found if row["code"] == code)


@pytest.mark.parametrize(
    "command", ["find --key x", "find --value-regex x", "extract", "dump", "txn-audit --table findings"]
)
def test_leader_epochs_of_another_segment_are_said_where_they_are_meant(command: str, damaged: Path) -> None:
    """One line, and exit status 3 of a search that has the segment in its range."""
    [path] = damaged.glob("audit*-0-*/*030-*.leader_epoch_checkpoint")
    path.chmod(0o644)
    path.write_text("0\n2\n0 0\n1 9999\n")
    is_audit = command.startswith("txn-audit")
    asked = [*command.split(), "--remote", damaged, DATA, *(() if is_audit else ("--topic", "audit.refunds53"))]
    ended = kafkalog(*asked)
    assert (ended.text if is_audit else ended.err).count("epoch 1 begins at offset 9999") == 1
    assert ended.status == (1 if is_audit else 3)
    for offsets, statuses in () if is_audit else (("30..40", {3}), ("0..29", {0, 1})):
        assert kafkalog(*asked, "--partition", "0", "--offset", offsets).status in statuses, offsets


def test_what_retention_deletes_while_it_is_read_is_not_lost(damaged: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An object that went after it was listed is looked for in the metadata again, which says that it is deleted."""
    [gone] = damaged.glob("audit*-0-*/*000-*.log")

    def newer(old: Tier, _report: list[Finding]) -> Tier:
        first, *others = old.segments
        states = (*first.states, ("DELETE_SEGMENT_STARTED", 1))
        return replace(old, segments=(replace(first, states=states, objects=()), *others))

    def scan(log: Any, segment: Segment, *more: Any) -> Any:
        if segment.path == str(gone):
            gone.unlink(missing_ok=True)
        return scan_segment(log, segment, *more)

    monkeypatch.setattr(moving, "tier_again", newer)
    monkeypatch.setattr(kept_scans, "scan_segment", scan)
    with remote_given(Remote(str(damaged))):
        found = audit([DATA])
    log = next(one for one in found.clusters[0].logs if one.partition.directory.topic.startswith("audit"))
    codes = {one.code for one in log.findings}

    assert not gone.exists()
    assert log.partition.log_start_offset == 30
    assert "partition-moving" in codes
    assert not codes & {"file-unreadable", "offset-gap-lost", "remote-offsets-lost"}


@pytest.mark.parametrize("is_deleted", [True, False])
def test_what_is_deleted_while_verify_reads_the_copies_is_not_damage(
    is_deleted: bool, damaged: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Objects that went are looked for in the metadata again: only where it still has them they could not be read."""
    account = remote_copies.account_side_file

    def accounted(facts: Any, hashed: Any) -> Any:
        for path in damaged.glob("coupons*/*000-*"):
            path.unlink()
        return account(facts, hashed)

    def newer(old: Tier, _report: list[Finding]) -> Tier:
        return replace(old, segments=old.segments[1:]) if is_deleted else old

    monkeypatch.setattr(remote_copies, "account_side_file", accounted)
    monkeypatch.setattr(remote_copies, "tier_again", newer)
    with remote_given(Remote(str(damaged))):
        found = opened(DATA).verify().outcome.findings
    codes = {one.code for one in found if one.topic == "coupons.quotes51"}

    assert ("file-unreadable" in codes) == (not is_deleted)
    assert ("partition-moving" in codes) == is_deleted


def test_a_place_crosses_to_another_task_with_its_tier() -> None:
    """What a task on Spark receives of a log has its remote segments, objects and states, or no tier at all; devices and inodes are each machine's own."""
    with remote_given(Remote(str(STORE))):
        clusters, _ = open_clusters([DATA])
    for log in logs_of(clusters, share_bytes=None):
        crossed = pickle.loads(pickle.dumps(log.elsewhere()))
        again = crossed.directory
        assert (crossed.node.identity.device, crossed.node.identity.inode) == (0, 0)
        assert again == log.directory
        assert again.tier == log.directory.tier
        assert [one.beside for one in again.segments] == [one.beside for one in log.directory.segments]


# As Aiven's plugin stores segments: made here from its documentation.


def packed(to: Path, *, compressed: bool, encryption: object = None, cut: int = 0) -> Path:
    """Write the fixture's logs as the plugin names and packs them, with their manifests."""
    import zstandard

    for file in OFFICIAL.glob("*/*.log"):
        folder = file.parent.name
        place = to / f"{folder[:-25]}-{folder[-22:]}" / folder[-24]
        place.mkdir(parents=True, exist_ok=True)
        data = file.read_bytes()
        chunks = [data[at : at + 1000] for at in range(0, len(data), 1000)]
        made = b"".join(zstandard.ZstdCompressor().compress(one) for one in chunks) if compressed else data
        (place / file.name).write_bytes(made[: len(made) - cut])
        index = {"type": "variable", "originalChunkSize": 1000, "originalFileSize": len(data), "transformedChunks": "…"}
        parts = {name: file.with_suffix(f".{suffix}") for suffix, name in INDEX_PARTS.items()}
        there = {name: path.read_bytes() for name, path in parts.items() if path.exists()}
        ends = list(accumulate(map(len, there.values()), initial=0))
        indexes = {
            name: {"position": at, "size": len(part)} for at, (name, part) in zip(ends, there.items(), strict=False)
        }
        manifest = {"version": "1", "chunkIndex": index, "segmentIndexes": indexes, "compression": compressed,
                    "encryption": encryption}  # fmt: skip
        (place / f"{file.stem}.rsm-manifest").write_text(json.dumps(manifest))
        (place / f"{file.stem}.indexes").write_bytes(b"".join(there.values()))
    return to


def rows(store: Path, table: str) -> list[dict[str, Any]]:
    ended = kafkalog("txn-audit", "--remote", store, "--table", table, "--format", "ndjson", DATA)
    return [{key: value for key, value in row.items() if key not in ("file", "findings")} for row in ended.rows]


@pytest.mark.parametrize("compressed", [True, False])
def test_segments_as_the_plugin_packs_them_are_read(compressed: bool, tmp_path: Path) -> None:
    """Chunks of zstd frames and plain ones give the transactions of the segments; the layout is found by the names."""
    store = packed(tmp_path, compressed=compressed)

    for table in ("transactions", "partitions", "gaps"):
        assert rows(store, table) == rows(STORE, table), table


def test_indexes_in_one_object_are_checked_like_separate_ones(tmp_path: Path) -> None:
    """Whole ones give no finding; damage in each part gives the finding of a separate object, and names the part."""
    store = packed(tmp_path, compressed=True)
    assert verified(store) == []

    codes = {"snapshot": "snapshot-corrupt", "txnindex": "txn-index-mismatch", "leader_epoch_checkpoint":
             "leader-epochs-mismatch", "timeindex": "time-index-mismatch"}  # fmt: skip
    [path] = store.glob("audit*/0/*030-*.indexes")
    whole = path.read_bytes()
    manifest = json.loads(path.with_suffix(".rsm-manifest").read_text())["segmentIndexes"]
    for suffix, code in codes.items():
        at = manifest[INDEX_PARTS[suffix]]["position"]
        wrong = bytearray(whole)
        if suffix == "leader_epoch_checkpoint":
            wrong[at:] = wrong[at:].replace(b"\n0 ", b"\n7 ")
        else:
            wrong[at + 8 : at + 16] = b"\xff" * 8 if suffix == "snapshot" else bytes(8)  # or the offset of a time
        path.write_bytes(wrong)
        assert (code, f"{path}#{suffix}") in {(row["code"], row["file"]) for row in verified(store)}, suffix


def test_an_object_of_indexes_that_was_cut_is_a_finding(tmp_path: Path) -> None:
    """What is not there could not be read: exit status 3."""
    store = packed(tmp_path, compressed=False)
    [path] = store.glob("audit*/0/*030-*.indexes")
    path.write_bytes(path.read_bytes()[:-1])
    ended = kafkalog("verify", "--remote", store, DATA, "--table", "findings", "--format", "ndjson")

    assert ended.status == 3
    assert any(row["code"] == "file-unreadable" and str(path) in row["file"] for row in ended.rows)


def test_an_encrypted_segment_could_not_be_read(tmp_path: Path) -> None:
    """The finding says why, and the exit status is 3."""
    store = packed(tmp_path, compressed=True, encryption={"dataKey": "…", "aad": "…"})
    ended = kafkalog("txn-audit", "--remote", store, "--table", "findings", "--format", "ndjson", DATA)

    assert ended.status == 3
    assert any(row["code"] == "file-unreadable" and "encrypted" in row["message"] for row in ended.rows)


@pytest.mark.parametrize("data", [b"", b"[]", b"{", b'{"chunkIndex":{"originalFileSize":-1},"compression":true}'])
def test_a_manifest_that_is_none_and_a_torn_object_are_findings(data: bytes, tmp_path: Path) -> None:
    """They cost their segment, nothing else."""
    store = packed(tmp_path, compressed=True, cut=20)
    for manifest in store.glob("audit*/1/*.rsm-manifest"):
        manifest.write_bytes(data)
    ended = kafkalog("txn-audit", "--remote", store, "--table", "findings", "--format", "ndjson", DATA)
    unread = [row["message"] for row in ended.rows if row["code"] == "file-unreadable"]

    assert ended.status == 3
    assert any("no manifest" in one for one in unread)
    assert any("decompress" in one or "its chunks have" in one for one in unread)


def test_provenance_counts_what_the_store_was_asked(store: ObjectStore, tmp_path: Path) -> None:
    """Listings, looks and ranged reads with their bytes; several processes count together."""
    uri = store.upload(OFFICIAL, "counted")
    before = requests_made().get("read", 0)
    with store.counting() as counts:
        ended = kafkalog("txn-audit", "--remote", uri, "--jobs", "2", "-o", tmp_path / "out", DATA)
    asked = json.loads((tmp_path / "out" / "provenance.json").read_text())["object_stores"]

    assert ended.status == 1
    assert asked["read"] - before == counts["GET"]
    assert asked["read_bytes"] > 20_000


def test_a_store_that_answers_with_errors_was_not_read(store: ObjectStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that can't be reached: exit status 3, with its name; never OK."""
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    monkeypatch.setattr(object_stores, "known_systems", {})
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    ended = kafkalog("txn-audit", "--remote", store.uri("tiers"), DATA)

    assert ended.status == 3
    assert not ended.text.startswith("OK")
    assert store.uri("tiers") in ended.err


def test_what_two_replicas_have_in_the_store_is_read_once(store: ObjectStore, tmp_path: Path) -> None:
    """Two brokers' directories, one store: each log object is asked for once, and both logs are whole."""
    uri = store.upload(OFFICIAL, "shared")
    other = shutil.copytree(DATA, tmp_path / "other")
    about = other / "meta.properties"
    about.write_text(re.sub(r"(node\.id|broker\.id)=\d+", r"\1=2", re.sub("directory.id=.*", "", about.read_text())))
    with store.counting(), remote_given(Remote(uri)):
        found = audit([DATA, other])
    read = [one.key for one in store.asked if one.kind == "GET" and one.key.endswith(".log")]
    of_log: dict[tuple[str, int], list[int]] = {}
    for log in found.clusters[0].logs:
        of_log.setdefault((log.partition.directory.topic, log.partition.directory.partition), []).append(
            log.partition.batches
        )

    assert read
    assert len(read) == len(set(read))
    assert [len(some) for some in of_log.values()] == [2] * len(of_log)
    assert all(len(set(some)) == 1 for some in of_log.values())


def test_one_store_may_be_of_one_cluster_among_several() -> None:
    """The other cluster's partitions have nothing there: what is said is what is said of each alone."""
    other = FIXTURES / "v2.8-hanging" / "data"
    with remote_given(Remote(str(STORE))):
        both, alone = audit([DATA, other]), audit([DATA])

    assert both.refused == []
    assert facts_of(alone).items() <= facts_of(both).items()

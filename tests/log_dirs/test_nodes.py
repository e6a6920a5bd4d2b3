"""A node is all of its log directories: one that is missing, of another cluster, cloned, offline, or has moves left."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from build import TIME, batch, record
from invoke import Ended, in_full, kafkalog, unwrapped
from kafkalog.log_dirs.clusters import open_clusters
from kafkalog.segments.readers import batches
from metadata_topic import append_values, metadata_value
from official import FIXTURES

WHOLE = FIXTURES / "k4-c-group-offsets-tv0" / "data"  # stopped cleanly, with directory ids
LOG = "fares-refunds.18-1"
MARK, LOCK = ".kafka_cleanshutdown", ".lock"
COMMANDS = ("txn-audit", "verify")


@pytest.fixture
def disks(tmp_path: Path) -> tuple[Path, Path]:
    """The directory that the metadata log has for all partitions, with one of them, and another with the others."""
    rest = Path(shutil.copytree(WHOLE, tmp_path / "rest", copy_function=shutil.copyfile))
    one = tmp_path / "one"
    one.mkdir()
    for name in ("meta.properties", MARK):
        shutil.copyfile(rest / name, one / name)
    (rest / LOG).rename(one / LOG)
    changed(rest, "directory.id", "B" * 21 + "A")
    return one, rest


def changed(home: Path, key: str, value: str) -> None:
    """Write another value into meta.properties."""
    path = home / "meta.properties"
    text = re.sub(rf"(?m)^{re.escape(key)}=.*$", f"{key}={value}", path.read_text())
    assert text != path.read_text()
    path.write_text(text)


def first_line(ended: Ended) -> str:
    """Return the verdict on one line."""
    return " ".join(ended.text.partition("\n")[0].split())


@pytest.mark.parametrize("command", COMMANDS)
def test_a_log_directory_that_was_not_given_is_incomplete(command: str, disks: tuple[Path, Path]) -> None:
    """With the partitions that the metadata log has in it; given both, nothing is missing."""
    one, rest = disks
    ended = kafkalog(command, rest)

    assert ended.status == 3
    assert first_line(ended).startswith("INCOMPLETE 1 partition of broker 1 is not in this copy")
    assert LOG in ended.text
    assert kafkalog(command, rest, one).status == 0


@pytest.mark.parametrize(
    "command",
    ["groups", "metadata", "transactions", "producers", "space", "timeline", "dump", "extract", "find --key x"],
)
def test_every_command_is_incomplete_without_it(command: str, disks: tuple[Path, Path]) -> None:
    """What it prints holds for what was given, and it says so."""
    one, rest = disks

    assert kafkalog(*command.split(), rest).status == 3
    assert kafkalog(*command.split(), rest, one).status == (1 if command.startswith("find") else 0)


def test_a_search_elsewhere_is_whole(disks: tuple[Path, Path]) -> None:
    """A question about partitions that are all here is answered."""
    _, rest = disks

    assert kafkalog("dump", "--topic", "__transaction_state", rest).status == 0


def test_nobody_says_whether_brokers_go_on_without_it(disks: tuple[Path, Path]) -> None:
    """The answer is neither yes nor no."""
    one, rest = disks
    ended = kafkalog("verify", "--restorable", rest)

    assert ended.status == 3
    assert first_line(ended).startswith("INCOMPLETE The log directory ")
    assert kafkalog("verify", "--restorable", rest, one).text.startswith("YES")


def test_brokers_that_were_not_given_are_not_missed() -> None:
    """Their directories are elsewhere, and nobody asked for them."""
    ended = kafkalog("txn-audit", FIXTURES / "k4-f-marker-leaderless" / "data-1", "--format", "ndjson")

    assert [row for row in ended.table("findings") if row["code"] == "directory-not-given"] == []


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("cluster.id", "another", "cluster.id is another"),
        ("node.id", "2", "node.id is 2, but the metadata log has its directory.id"),
    ],
)
def test_one_wrong_line_is_no_other_cluster_or_node(
    command: str, key: str, value: str, said: str, disks: tuple[Path, Path]
) -> None:
    """The topics have the same ids, or the metadata log has the directory: all is read together, and the line named."""
    one, rest = disks
    changed(one, key, value)
    ended = in_full(command, rest, one)

    assert ended.status == 1
    assert said in first_line(ended)
    assert "directory-not-given" not in ended.text
    assert kafkalog("verify", "--restorable", rest, one).text.startswith("NO  Broker")


@pytest.mark.parametrize("command", COMMANDS)
def test_a_directory_id_that_was_copied_is_no_copy_of_the_directory(command: str, disks: tuple[Path, Path]) -> None:
    """Both have other logs: both are read."""
    one, rest = disks
    shutil.copyfile(one / "meta.properties", rest / "meta.properties")
    ended = in_full(command, rest, one)

    assert ended.status == 1
    assert "directory.id is " in first_line(ended)
    assert "another copy" not in ended.text


def test_a_cluster_that_was_cloned_is_another_one(tmp_path: Path) -> None:
    """Its directories are copies, with the same topic ids and another cluster.id."""
    for name in ("one", "other"):
        shutil.copytree(WHOLE, tmp_path / name, copy_function=shutil.copyfile)
    changed(tmp_path / "other", "cluster.id", "cloned")
    clusters, _ = open_clusters([tmp_path / "one", tmp_path / "other"])

    assert [len(cluster.nodes) for cluster in clusters] == [1, 1]


def begin_batch(log: Path) -> None:
    """Write the first 70 bytes of the batch that would follow."""
    (segment,) = log.glob("*.log")
    end = list(batches(segment))[-1].last_offset + 1
    whole = batch(record(b"v" * 50), base_offset=end, base_timestamp=TIME, max_timestamp=TIME)
    segment.write_bytes(segment.read_bytes() + whole[:70])


def without_leader(home: Path, log: Path, dirs: list[str] | None = None) -> None:
    """Write into the metadata log that a partition has no leader any more, while its broker is up with `dirs`."""
    (topic_id,) = re.findall(r"topic_id: (.*)", (log / "partition.metadata").read_text())
    partition = {"topicId": topic_id, "partitionId": int(log.name[-1]), "leader": -1}
    up: dict[str, object] = {"brokerId": 1, "brokerEpoch": 1, "fenced": -1, "inControlledShutdown": 0}
    if dirs is not None:
        up["logDirs"] = dirs
    records = [("BrokerRegistrationChangeRecord", up), ("PartitionChangeRecord", partition)]
    append_values(home, [metadata_value(*one) for one in records])


def test_a_directory_that_its_broker_took_offline_is_an_outage(disks: tuple[Path, Path]) -> None:
    """Neither mark is in it, and the broker had the others: what it was writing then was never acknowledged."""
    one, rest = disks
    without_leader(rest, one / LOG)
    (one / MARK).unlink()
    (rest / MARK).rename(rest / LOCK)
    begin_batch(one / LOG)
    ended = in_full("txn-audit", rest, one)

    assert ended.status == 1
    assert first_line(ended).startswith("BLOCKED")
    said = " ".join(ended.text.split())
    assert f"Its log directory {one}" in said
    assert "was never acknowledged: the next start cuts 70 bytes, and nothing is lost" in said
    assert "salvage" not in said
    assert "start broker 1, which led" not in said
    assert first_line(kafkalog("verify", rest, one)).startswith("OK")  # a copy may lack its .lock


def test_a_directory_that_is_offline_by_the_metadata_is_told_by_each_command(disks: tuple[Path, Path]) -> None:
    """The broker's registration lacks it; where the outage says it, it is no second incident."""
    one, rest = disks
    without_leader(rest, one / LOG, ["B" * 21 + "A"])
    (one / MARK).unlink()
    (rest / MARK).rename(rest / LOCK)
    verified, audited = (unwrapped(command, rest, one) for command in ("verify", "txn-audit"))

    assert first_line(verified).startswith(f"SUSPICIOUS A broker works without {one}: broker 1 took the log directory")
    assert first_line(audited).startswith("BLOCKED")
    assert "works without" not in audited.text
    answer = " ".join(kafkalog("verify", "--restorable", rest, one).text.split())
    assert answer.startswith("YES")


@pytest.mark.parametrize(("mark", "expected"), [(MARK, 1), (LOCK, 0)])
def test_a_torn_batch_is_wrong_in_a_directory_that_was_stopped(
    mark: str, expected: int, disks: tuple[Path, Path]
) -> None:
    """The marks of the directory itself count where it has one."""
    one, rest = disks
    (one / MARK).rename(one / mark)
    begin_batch(one / LOG)

    assert kafkalog("verify", rest, one).status == expected


@pytest.mark.parametrize(("suffix", "other"), [("delete", "future"), ("delete", None), ("stray", None)])
def test_whole_replicas_that_are_only_put_aside_are_saved_first(
    suffix: str, other: str | None, disks: tuple[Path, Path]
) -> None:
    """The next start begins an empty log: the step before it is to rename the whole one."""
    one, rest = disks
    kept = one / f"{LOG}.{'0' * 32}-{suffix}"
    if other is not None:
        shutil.copytree(one / LOG, rest / f"{LOG}.{'0' * 32}-{other}")
    (one / LOG).rename(kept)
    for command in COMMANDS:
        ended = in_full(command, rest, one)
        assert ended.status == 1
        assert f"Broker 1 has {LOG} only in {kept}" in first_line(ended)
        assert f"mv -T {kept} {one / LOG}" in " ".join(ended.text.split())
    answer = first_line(in_full("verify", "--restorable", rest, one))
    assert answer.startswith("NO ")
    assert f"rename that to {one / LOG} before" in answer


@pytest.mark.parametrize("suffix", ["delete", "future"])
def test_a_move_under_way_or_ended_is_quiet(suffix: str, disks: tuple[Path, Path]) -> None:
    """One directory has the partition's name: the other one is the copy, or what was moved."""
    one, rest = disks
    shutil.copytree(one / LOG, rest / f"{LOG}.{'0' * 32}-{suffix}")

    assert [kafkalog(command, rest, one).status for command in COMMANDS] == [0, 0]


def test_a_topic_that_was_deleted_is_quiet(disks: tuple[Path, Path]) -> None:
    """Its directory has another topic id than the one that the metadata log has for the name."""
    one, rest = disks
    shutil.copytree(one / LOG, rest / LOG)
    about = one / LOG / "partition.metadata"
    about.write_text(re.sub(r"topic_id: .*", "topic_id: AAAAAAAAAAAAAAAAAAAAaA", about.read_text()))
    (one / LOG).rename(one / f"{LOG}.{'0' * 32}-delete")

    assert [kafkalog(command, rest, one).status for command in COMMANDS] == [0, 0]


@pytest.mark.parametrize("mark", [MARK, LOCK])
def test_the_cleaners_offsets_of_all_directories_count(mark: str, disks: tuple[Path, Path]) -> None:
    """As brokers read them: after a move a log's offset may stand in the file of its old directory."""
    one, rest = disks
    topic, _, partition = LOG.rpartition("-")
    (rest / "cleaner-offset-checkpoint").write_text(f"0\n1\n{topic} {partition} 7\n")
    for home in disks:
        (home / MARK).rename(home / mark)
    ((cluster,), _) = open_clusters([rest, one])
    (log,) = [directory for node in cluster.nodes for directory in node.partitions if directory.log == str(one / LOG)]

    assert log.checkpoints["cleaner"] == 7

"""What ``verify --restorable`` says before real brokers start, held to what they then do: ``make live``."""

from __future__ import annotations

import os
import re
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pytest

import kafkalog
from build import flipped
from live_cluster import LIVE, PORT, RELEASE, rig_module

pytestmark = [
    *LIVE,
    pytest.mark.timeout(1200),
]

STARTED: Final = "Kafka Server started"
LOADED: Final = re.compile(r"Completed load of Log\(dir=([^,]*), .*?logEndOffset=(\d+)\)")
STRAY: Final = re.compile(r"\.[0-9a-f]{32}-stray")
TORN: Final = bytes(6) + b"\x13\x88" + b"\x00\x00\x10\x00" + b"x" * 40  # a batch that does not end
SMALL: Final = {"internal.segment.bytes": "20000"}


def segments(data: Path, partition: str) -> list[Path]:
    """The segments of a partition, oldest first."""
    return sorted((data / partition).glob("*.log"))


@dataclass
class Copies:
    """Directories of one broker: stopped cleanly, killed, before a topic was made, and after one was deleted."""

    folder: Path
    cluster_id: str = ""
    names: list[str] = field(default_factory=list)

    def take(self, name: str, data: Path) -> None:
        """Copy a directory whose broker does not run."""
        shutil.copytree(data, self.folder / name)
        self.names.append(name)


def _write(driver: Any, topic: str, count: int, number: int) -> None:
    for partition in range(count):
        rows = [{"topic": topic, "partition": partition, "key": f"k{row}", "value": "v" * 300} for row in range(120)]
        driver.must("send", name="p", records=rows)
    driver.must("init" if number == 0 else "pid", name="x")
    driver.must("begin", name="x")
    driver.must("send", name="x", records=[{"topic": topic, "partition": 0, "key": "x", "value": "t"}])
    driver.must("commit", name="x")
    driver.must("alterGroupOffsets", name="g", offsets={f"{topic}-0": 5, f"{topic}-1": 7})


def _begun(rig: Any, broker: Any) -> Any:
    driver = rig.Driver(RELEASE, broker.bootstrap)
    driver.must("producer", name="p", props={"acks": "all", "enable.idempotence": "true"})
    driver.must("producer", name="x", props={"transactional.id": "x", "transaction.timeout.ms": "600000"})
    return driver


@pytest.fixture(scope="module")
def copies(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Copies]:
    """The directories that all cases begin with."""
    home = tmp_path_factory.mktemp("restorable")
    found, rig = Copies(home), rig_module("rig")
    properties = {"metadata.log.max.record.bytes.between.snapshots": "3000"}
    broker = rig.Broker(RELEASE, home / "broker", port=PORT, properties=properties, heap="256m")
    broker.start()
    try:
        driver = _begun(rig, broker)
        driver.must("createTopics", topics=[{"name": name, "partitions": 3, "rf": 1, "config": SMALL} for name in "tz"])
        _write(driver, "t", 3, 0)
        driver.kill()
        broker.stop()
        found.take("early", broker.data)
        broker.start()
        driver = _begun(rig, broker)
        driver.must("createTopics", topics=[{"name": "u", "partitions": 2, "rf": 1, "config": SMALL}])
        driver.must("deleteTopics", topics=["z"])
        _write(driver, "u", 2, 0)
        driver.must("begin", name="x")
        driver.must("send", name="x", records=[{"topic": "t", "partition": 1, "key": "x", "value": "open"}])
        driver.kill()
        broker.kill()
        found.take("killed", broker.data)
        broker.start()
        broker.stop()
        found.take("clean", broker.data)
        yield found
    finally:
        if broker.process is not None:
            broker.kill()
        shutil.rmtree(home, ignore_errors=True)


Case = Callable[[Path, Copies], None]
CASES: Final[dict[str, tuple[str, Case]]] = {}


def case(of: str) -> Callable[[Case], Case]:
    """Register what is done to one of the copies."""

    def register(change: Case) -> Case:
        CASES[change.__name__] = (of, change)
        return change

    return register


@case("clean")
def whole(data: Path, copies: Copies) -> None:
    """Nothing."""


@case("killed")
def whole_after_a_kill(data: Path, copies: Copies) -> None:
    """Nothing."""


@case("clean")
def a_torn_tail_after_a_clean_stop(data: Path, copies: Copies) -> None:
    with segments(data, "t-0")[-1].open("ab") as file:
        file.write(TORN)


@case("killed")
def a_torn_tail(data: Path, copies: Copies) -> None:
    with segments(data, "t-0")[-1].open("ab") as file:
        file.write(TORN)


@case("killed")
def the_last_segment_is_cut(data: Path, copies: Copies) -> None:
    last = segments(data, "u-0")[-1]
    os.truncate(last, last.stat().st_size * 2 // 3)


@case("killed")
def a_flip_in_the_last_segment(data: Path, copies: Copies) -> None:
    last = segments(data, "u-1")[-1]
    last.write_bytes(flipped(last.read_bytes(), 8 * 70))


@case("killed")
def a_flip_below_the_recovery_point(data: Path, copies: Copies) -> None:
    first = segments(data, "t-0")[0]
    first.write_bytes(flipped(first.read_bytes(), 8 * 70))


@case("killed")
def a_flip_in_the_first_segment_without_recovery_points(data: Path, copies: Copies) -> None:
    (data / "recovery-point-offset-checkpoint").unlink()
    first = segments(data, "u-0")[0]
    first.write_bytes(flipped(first.read_bytes(), 8 * 70))


@case("clean")
def a_segment_in_the_middle_is_gone(data: Path, copies: Copies) -> None:
    segments(data, "t-0")[1].unlink()


@case("clean")
def a_partition_is_gone(data: Path, copies: Copies) -> None:
    shutil.rmtree(data / "t-2")


@case("clean")
def the_metadata_log_is_gone(data: Path, copies: Copies) -> None:
    shutil.rmtree(data / "__cluster_metadata-0")


@case("clean")
def meta_properties_is_gone(data: Path, copies: Copies) -> None:
    (data / "meta.properties").unlink()


@case("clean")
def a_directory_of_the_file_system(data: Path, copies: Copies) -> None:
    (data / "lost+found").mkdir()


@case("clean")
def a_directory_of_somebody(data: Path, copies: Copies) -> None:
    (data / "old-copies").mkdir()


@case("clean")
def a_topic_id_is_gone(data: Path, copies: Copies) -> None:
    (data / "t-1" / "partition.metadata").unlink()


@case("clean")
def a_topic_id_is_no_id(data: Path, copies: Copies) -> None:
    (data / "t-1" / "partition.metadata").write_text("rubbish\n")


@case("clean")
def the_high_watermarks_are_rubbish(data: Path, copies: Copies) -> None:
    (data / "replication-offset-checkpoint").write_text("rubbish\n")


@case("killed")
def the_recovery_points_are_rubbish(data: Path, copies: Copies) -> None:
    (data / "recovery-point-offset-checkpoint").write_text("rubbish\n")


@case("clean")
def leader_epochs_are_rubbish(data: Path, copies: Copies) -> None:
    (data / "t-0" / "leader-epoch-checkpoint").write_text("rubbish\n")


@case("clean")
def the_quorum_state_is_rubbish(data: Path, copies: Copies) -> None:
    (data / "__cluster_metadata-0" / "quorum-state").write_text("rubbish\n")


@case("clean")
def the_quorum_state_is_gone(data: Path, copies: Copies) -> None:
    (data / "__cluster_metadata-0" / "quorum-state").unlink()


@case("clean")
def the_quorum_state_is_of_an_earlier_epoch(data: Path, copies: Copies) -> None:
    path = data / "__cluster_metadata-0" / "quorum-state"
    path.write_text(re.sub(r'"leaderEpoch":\d+', '"leaderEpoch":0', path.read_text()))


@case("clean")
def the_log_starts_are_rubbish(data: Path, copies: Copies) -> None:
    (data / "log-start-offset-checkpoint").write_text("rubbish\n")


@case("clean")
def the_cleaner_s_offsets_are_rubbish(data: Path, copies: Copies) -> None:
    (data / "cleaner-offset-checkpoint").write_text("rubbish\n")


@case("clean")
def all_checkpoints_are_empty(data: Path, copies: Copies) -> None:
    for path in data.glob("*-offset-checkpoint"):
        path.write_text("")


@case("killed")
def all_checkpoints_are_gone(data: Path, copies: Copies) -> None:
    for path in data.glob("*-offset-checkpoint"):
        path.unlink()


@case("clean")
def a_clean_stop_that_was_none(data: Path, copies: Copies) -> None:
    last = segments(data, "t-1")[-1]
    last.write_bytes(flipped(last.read_bytes(), 8 * 70))


@case("clean")
def the_mark_of_the_clean_stop_is_left_out(data: Path, copies: Copies) -> None:
    (data / ".kafka_cleanshutdown").unlink()


@case("clean")
def only_segments_were_copied(data: Path, copies: Copies) -> None:
    for path in [path for path in data.glob("*/*") if path.suffix != ".log" and path.name != "partition.metadata"]:
        path.unlink()


@case("clean")
def the_producers_snapshots_are_gone(data: Path, copies: Copies) -> None:
    for path in data.glob("*/*.snapshot"):
        path.unlink()


@case("clean")
def the_last_segment_is_gone(data: Path, copies: Copies) -> None:
    segments(data, "t-0")[-1].unlink()


@case("clean")
def a_copy_of_another_topic_s_partition(data: Path, copies: Copies) -> None:
    shutil.copytree(data / "t-0", data / "v-0")


@case("early")
def logs_newer_than_their_metadata_and_groups(data: Path, copies: Copies) -> None:
    for name in ("t-0", "t-1", "t-2"):
        shutil.rmtree(data / name)
        shutil.copytree(copies.folder / "clean" / name, data / name)


@case("clean")
def half_of_the_partitions_were_copied(data: Path, copies: Copies) -> None:
    for name in ("t-0", "u-1", "__consumer_offsets-1", "__transaction_state-2"):
        shutil.rmtree(data / name)


@case("clean")
def the_metadata_is_older_than_a_topic(data: Path, copies: Copies) -> None:
    shutil.rmtree(data / "__cluster_metadata-0")
    shutil.copytree(copies.folder / "early" / "__cluster_metadata-0", data / "__cluster_metadata-0")


@case("early")
def the_metadata_is_newer_than_the_logs(data: Path, copies: Copies) -> None:
    shutil.rmtree(data / "__cluster_metadata-0")
    shutil.copytree(copies.folder / "clean" / "__cluster_metadata-0", data / "__cluster_metadata-0")


@case("killed")
def a_log_starts_after_its_end(data: Path, copies: Copies) -> None:
    (data / "log-start-offset-checkpoint").write_text("0\n1\nt 0 100000\n")


@case("clean")
def all_segments_of_a_partition_are_gone(data: Path, copies: Copies) -> None:
    for path in (data / "t-2").glob("*.log"):
        path.unlink()


@case("clean")
def all_indexes_are_gone(data: Path, copies: Copies) -> None:
    for path in [*data.glob("*/*.index"), *data.glob("*/*.timeindex"), *data.glob("t-*/*.snapshot")]:
        path.unlink()


@case("killed")
def what_a_cleaning_left(data: Path, copies: Copies) -> None:
    first = segments(data, "t-0")[0]
    shutil.copy(first, first.with_name(f"{first.name}.cleaned"))
    other = segments(data, "t-1")[0]
    shutil.copy(other, other.with_name(f"{other.name}.swap"))
    third = segments(data, "t-2")[0]
    shutil.copy(third, third.with_name(f"{99:020}.log.deleted"))


@case("clean")
def a_snapshot_of_the_metadata_is_damaged(data: Path, copies: Copies) -> None:
    newest = max((data / "__cluster_metadata-0").glob("*.checkpoint"))
    newest.write_bytes(flipped(newest.read_bytes(), 8 * 200))


@case("clean")
def the_metadata_log_is_damaged(data: Path, copies: Copies) -> None:
    log = segments(data, "__cluster_metadata-0")[-1]
    log.write_bytes(flipped(log.read_bytes(), 8 * (log.stat().st_size // 2)))


def _other_disk(data: Path, partition: str) -> Path:
    """Move a partition to a second log directory."""
    other = data.with_name("other")
    other.mkdir()
    shutil.move(data / partition, other / partition)
    text = (data / "meta.properties").read_text()
    (other / "meta.properties").write_text(re.sub(r"directory\.id=\S+", "directory.id=AAAAAAAAAAAAAAAAAAABEQ", text))
    return other


@case("clean")
def a_partition_on_another_disk(data: Path, copies: Copies) -> None:
    _other_disk(data, "t-2")


@case("clean")
def a_disk_that_is_not_used(data: Path, copies: Copies) -> None:
    other = _other_disk(data, "t-2")
    (other / "t-2" / "leader-epoch-checkpoint").write_text("rubbish\n")


@case("clean")
def a_disk_without_meta_properties(data: Path, copies: Copies) -> None:
    (_other_disk(data, "t-2") / "meta.properties").unlink()


@case("clean")
def one_partition_in_two_directories(data: Path, copies: Copies) -> None:
    other = data.with_name("other")
    shutil.copytree(data / "t-0", other / "t-0")
    text = (data / "meta.properties").read_text()
    (other / "meta.properties").write_text(re.sub(r"directory\.id=\S+", "directory.id=AAAAAAAAAAAAAAAAAAABEQ", text))


def _start(rig: Any, home: Path, homes: list[Path]) -> tuple[bool, str]:
    """Start a broker on directories; whether it started, and what it logged. It is killed afterwards."""
    properties = {"log.dirs": ",".join(map(str, homes)), "metadata.log.dir": str(homes[0])}
    broker = rig.Broker(RELEASE, home, port=PORT, properties=properties, heap="256m")
    (home / "server.properties").write_text("".join(f"{name}={value}\n" for name, value in broker.config().items()))
    log, text, is_up = home / "broker.log", "", False
    broker.launch()
    try:
        for _ in range(300):
            time.sleep(0.2)
            text = log.read_text(errors="replace") if log.exists() else ""
            is_up = STARTED in text
            if is_up or broker.process.poll() is not None:
                break
        time.sleep(1)
        is_up = is_up and broker.process.poll() is None
    finally:
        if broker.process.poll() is None:
            broker.signal(signal.SIGKILL)
    return is_up, log.read_text(errors="replace")


@pytest.mark.parametrize("name", CASES)
def test_brokers_do_what_was_said(name: str, copies: Copies, tmp_path: Path) -> None:
    """Whether one starts, where each log then ends, what becomes of directories that the metadata does not have."""
    of, change = CASES[name]
    data = tmp_path / "data"
    shutil.copytree(copies.folder / of, data)
    change(data, copies)
    homes = [data, *(path for path in (data.with_name("other"),) if path.exists())]
    before = {path.name for home in homes for path in home.iterdir() if path.is_dir()}
    said = kafkalog.open(homes).restorable(kafka_version=RELEASE)
    rows = list(said)
    is_up, text = _start(rig_module("rig"), tmp_path, homes)
    if folder := os.environ.get("KAFKALOG_LIVE_LOGS"):
        Path(folder, f"{name}.log").write_text(f"{said.verdict.headline}\n{text}")
    assert any(row["what"] == "refuses" for row in rows) == (not is_up), said.verdict.headline
    if not is_up:
        return
    ends = {Path(folder).name: int(end) for folder, end in LOADED.findall(text)}
    told = {Path(row["log"]).name: row for row in rows if row["subject"] == "partition" and row["log"] is not None}
    after = {path.name for home in homes for path in home.iterdir() if path.is_dir()}
    for log, row in told.items():
        if log in ends:
            assert row["next_log_end_offset"] == ends[log], (log, row["message"])
    stray = {log for log, row in told.items() if row["what"] == "stray"}
    assert stray == {STRAY.sub("", one) for one in after - before if STRAY.search(one)}
    absent = {f"{row['topic']}-{row['partition']}" for row in rows if row["what"] == "absent"}
    assert {one for one in after - before if not STRAY.search(one)} - {"__cluster_metadata-0"} == absent - stray

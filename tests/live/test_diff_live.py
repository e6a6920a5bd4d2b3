"""What ``kafkalog diff`` says of copies of a broker under load, with faults between them: ``make live``."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest

from build import flipped
from invoke import kafkalog
from live_cluster import LIVE, PORT, RELEASE, Copier, broker_under_load, rig_module

pytestmark = [
    *LIVE,
    pytest.mark.timeout(3600),
]

Said = set[tuple[str, str]]  # a partition, and what is wrong with it
MINE: Final = {"internal.segment.bytes": "20000", "cleanup.policy": "delete"}


class Moment(NamedTuple):
    """What is done between two copies: to the broker, and to the newer copy; what is then wrong, and what is right."""

    name: str
    live: Callable[[Any], None] | None = None
    offline: Callable[[Path], None] | None = None
    wrong: frozenset[tuple[str, str]] = frozenset()
    right: frozenset[tuple[str, str]] = frozenset()


def _segments(data: Path, partition: str) -> list[Path]:
    return sorted((data / partition).glob("*.log"))


def _write(driver: Any, count: int = 300) -> None:
    for partition in range(4):
        for _ in range(4):
            rows = [
                {"topic": "mine", "partition": partition, "key": f"{row}", "value": "v" * 200}
                for row in range(count // 4)
            ]
            driver.must("send", name="p", records=rows)


def _flip(copy: Path) -> None:
    closed = _segments(copy, "mine-0")[0]
    closed.write_bytes(flipped(closed.read_bytes(), 8 * 70))


def _remove(copy: Path) -> None:
    closed = _segments(copy, "mine-1")[1]
    for path in closed.parent.glob(f"{closed.stem}.*"):
        path.unlink()


def _replace(copy: Path) -> None:
    for path in (copy / "mine-2").glob("0*"):
        path.unlink()
    for path in (copy / "mine-3").glob("0*"):
        shutil.copy(path, copy / "mine-2" / path.name)


def _cut(copy: Path) -> None:
    for last in _segments(copy, "mine-3")[-2:]:
        for path in last.parent.glob(f"{last.stem}.*"):
            path.unlink()


def _delete_records(driver: Any) -> None:
    driver.must("deleteRecords", offsets={"mine-0": 30})


def _make_anew(driver: Any) -> None:
    driver.must("deleteTopics", topics=["mine"])
    time.sleep(3)
    driver.must("createTopics", topics=[{"name": "mine", "partitions": 4, "rf": 1, "config": MINE}])
    _write(driver)


def _of(word: str, *partitions: int) -> frozenset[tuple[str, str]]:
    return frozenset((f"mine-{number}", word) for number in partitions)


MOMENTS: Final = (
    Moment("load alone", _write, right=_of("appended", 0, 1, 2, 3)),
    Moment("a bit flipped", _write, _flip, _of("damaged", 0)),
    Moment("load after it"),
    Moment("a segment deleted", _write, _remove, _of("lacking", 1)),
    Moment("a log replaced", _write, _replace, _of("rewritten", 2)),
    Moment("an end cut off", None, _cut, _of("end-lower", 3)),
    Moment("DeleteRecords", _delete_records, right=_of("deleted-records", 0)),
    Moment("a topic deleted and made anew", _make_anew, right=_of("replaced", 0, 1, 2, 3)),
    Moment("load at the end", _write, right=_of("appended", 0, 1, 2, 3)),
)


class Copied(NamedTuple):
    """A moment with the copy before it and the one after it."""

    moment: Moment
    old: Path
    new: Path


@pytest.fixture(scope="module")
def copied(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Copied]]:
    """Ten copies of a broker under load; faults of copies are in the newer one of their pair alone."""
    home = tmp_path_factory.mktemp("diff")
    rig, found = rig_module("rig"), dict[str, Copied]()
    with broker_under_load(home / "broker") as data:
        driver = rig.Driver(RELEASE, f"127.0.0.1:{PORT}")
        driver.must("producer", name="p", props={"acks": "all", "enable.idempotence": "true"})
        driver.must("createTopics", topics=[{"name": "mine", "partitions": 4, "rf": 1, "config": MINE}])
        _write(driver)
        copier = Copier(data, home / "copies")
        old = copier.fast(0)
        for number, moment in enumerate(MOMENTS, 1):
            if moment.live is not None:
                moment.live(driver)
            time.sleep(2)
            new = copier.fast(number)
            changed = new
            if moment.offline is not None:
                changed = Path(shutil.copytree(new, home / "changed" / str(number)))
                moment.offline(changed)
            found[moment.name] = Copied(moment, old, changed)
            old = new
        driver.kill()
    yield found
    shutil.rmtree(home, ignore_errors=True)


@pytest.mark.parametrize("name", [moment.name for moment in MOMENTS])
def test_each_fault_is_told_and_nothing_else(name: str, copied: dict[str, Copied]) -> None:
    """What is wrong is of the partition that was changed; what the broker did is as it did it, and wrong nowhere."""
    moment, old, new = copied[name]
    ended = kafkalog("diff", old, new, "--format", "ndjson")
    rows = [row for row in ended.table("changes") if row["subject"] == "log"]
    print(kafkalog("diff", old, new).text)

    worse = {
        (f"{row['topic']}-{row['partition']}", row["what"]) for row in rows if row["severity"] not in (None, "note")
    }
    assert worse == moment.wrong
    assert moment.right <= {(f"{row['topic']}-{row['partition']}", row["what"]) for row in rows}
    named = {one for row in ended.table("incidents") if row["severity"] != "note" for one in row["partitions"] or ()}
    assert named == {partition for partition, _ in moment.wrong}
    assert ended.status == bool(moment.wrong)


THREE: Final = {
    "offsets.topic.replication.factor": "3", "transaction.state.log.replication.factor": "3",
    "broker.session.timeout.ms": "3000", "broker.heartbeat.interval.ms": "500", "replica.lag.time.max.ms": "3000",
    "replica.high.watermark.checkpoint.interval.ms": "1000", "auto.leader.rebalance.enable": "false",
}  # fmt: skip


def _wait(what: Callable[[], object]) -> None:
    for _ in range(150):
        if what():
            return
        time.sleep(0.4)
    raise TimeoutError("the cluster did not get there")


class Three:
    """Three brokers, of which the first has the controller and two disks; copies of all their directories."""

    def __init__(self, home: Path) -> None:
        rig, self.home, self.copies = rig_module("rig"), home, 0
        cluster, voters = "MkU3OEVBNTcwNTJENDM2Qg", f"1@127.0.0.1:{PORT + 1}"
        self.disks = [home / "n1" / "data", home / "n1" / "disk"]
        one = THREE | {"log.dirs": ",".join(map(str, self.disks)), "metadata.log.dir": str(self.disks[0])}
        self.brokers = [
            rig.Broker(RELEASE, home / f"n{number}", port=PORT + 10 * number - 10, node_id=number, voters=voters,
                       cluster_id=cluster, controller=number == 1, heap="256m", properties=one if number == 1 else THREE)
            for number in (1, 2, 3)
        ]  # fmt: skip
        for broker in self.brokers:
            broker.format()
            broker.launch()
        for broker in self.brokers:
            broker.wait(120)
        self.driver = rig.Driver(RELEASE, ",".join(broker.bootstrap for broker in self.brokers))

    def state(self, topic: str) -> dict[str, Any]:
        """A topic's only partition, as brokers describe it."""
        found: dict[str, Any] = self.driver.must("topics")[topic]["partitions"][0]
        return found

    def send(self, topic: str, count: int) -> None:
        """Write records, each a batch."""
        for row in range(count):
            self.driver.must(
                "send", name="p", records=[{"topic": topic, "partition": 0, "key": "k", "value": f"{row}"}]
            )

    def copy(self) -> Path:
        """Copy all directories, one after the other."""
        self.copies += 1
        target = self.home / "copies" / str(self.copies)
        for path in (*self.disks, *(broker.data for broker in self.brokers[1:])):
            shutil.copytree(path, target / path.parent.name / path.name)
        return target

    def end(self) -> None:
        """Kill what runs."""
        self.driver.kill()
        for broker in self.brokers:
            if broker.process is not None:
                broker.kill()


@pytest.fixture
def three(tmp_path: Path) -> Iterator[Three]:
    """A cluster of three."""
    found = Three(tmp_path)
    yield found
    found.end()
    shutil.rmtree(tmp_path, ignore_errors=True)


def _logs(old: Path, new: Path) -> list[dict[str, Any]]:
    print(kafkalog("diff", old, new).text)
    rows = kafkalog("diff", old, new, "--format", "ndjson").table("changes")
    return [row for row in rows if row["subject"] == "log" and not row["topic"].startswith("__")]


def test_moves_and_an_unclean_election_are_told(three: Three) -> None:
    """A replica on another disk, one on another broker, and a leader that lost its end to one that was not in sync."""
    driver, (_, leader, follower) = three.driver, three.brokers
    driver.must("createTopics", topics=[
        {"name": "disk", "assignment": [[1]]}, {"name": "moved", "assignment": [[2]]},
        {"name": "lost", "assignment": [[2, 3]], "config": {"min.insync.replicas": "1"}},
    ])  # fmt: skip
    driver.must("producer", name="p", props={"acks": "1", "linger.ms": "0"})
    for topic in ("disk", "moved", "lost"):
        three.send(topic, 20)
    first = three.copy()

    place = next(disk for disk in three.disks if not (disk / "disk-0").exists())
    driver.must("alterLogDirs", dirs={"disk-0": str(place)})
    _wait((place / "disk-0").exists)
    driver.must("reassign", replicas={"moved-0": [3]})
    _wait(lambda: three.state("moved")["replicas"] == [3] and not (leader.data / "moved-0").exists())
    second = three.copy()
    rows = _logs(first, second)
    assert {(row["topic"], row["what"]) for row in rows if row["topic"] != "lost"} == {
        ("disk", "moved"), ("moved", "moved"),
    }  # fmt: skip
    assert not [row for row in rows if row["severity"] not in (None, "note")]

    follower.kill()
    _wait(lambda: three.state("lost")["isr"] == [2])
    three.send("lost", 10)
    time.sleep(3)  # until the high watermark is in its checkpoint: by it the records are known to be committed
    third = three.copy()
    leader.kill()
    follower.launch().wait(120)
    _wait(lambda: three.state("lost")["leader"] == -1)
    _wait(lambda: "error" not in driver.call("electLeaders", partitions=["lost-0"], unclean=True)
          and three.state("lost")["leader"] == 3)  # fmt: skip
    three.send("lost", 3)
    leader.launch().wait(120)
    _wait(lambda: len(three.state("lost")["isr"]) == 2)
    fourth = three.copy()
    rows = _logs(third, fourth)
    truncated = [(row["topic"], row["node_id"], row["count"]) for row in rows if row["what"] == "truncated"]
    assert truncated == [("lost", "2", 10)]
    assert kafkalog("diff", third, fourth).text.startswith("LOST  ")

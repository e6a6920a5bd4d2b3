"""Replicas of a compacted topic that real brokers made, and what consumers get from each as leader: ``make live``.

A follower is away longer than delete.retention.ms: the leader's cleaner removes a tombstone, or an ABORT marker, that
the follower never gets, and both are in sync afterwards. Replicas whose follower was away for a moment only, or never,
stay alike for consumers, however often they are cleaned and restarted: nothing is said of these.

The soak goes on for KAFKALOG_LIVE_MINUTES, by default two; KAFKALOG_LIVE_KEPT names a folder for its directories and
rounds, so that a run goes on where the last one ended, and judges the rounds that are there once more.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

import pytest

import kafkalog
from kafkalog.catalogue import codes_of_story
from live_cluster import LIVE, PORT, RELEASE, rig_module

pytestmark = [
    *LIVE,
    pytest.mark.timeout(600),
]

RELEASES: Final = ("4.3.1", "3.9.1")
SEEDS: Final = (1, 2, 3)
CODES: Final = frozenset(codes_of_story("surviving records")) | {"replica-records-differ", "replicas-differ"}
PROPERTIES: Final = {
    "log.cleaner.backoff.ms": "200", "log.initial.task.delay.ms": "500", "replica.lag.time.max.ms": "3000",
    "broker.session.timeout.ms": "3000", "broker.heartbeat.interval.ms": "500", "log.cleaner.min.cleanable.ratio": "0.0001",
    "log.index.interval.bytes": "200",
}  # fmt: skip
CONFIG: Final = {
    "cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.0001", "delete.retention.ms": "500",
    "min.insync.replicas": "1", "segment.ms": "1000", "min.compaction.lag.ms": "0",
}  # fmt: skip
PLACE: Final = "users-0"
MINUTES: Final = float(os.environ.get("KAFKALOG_LIVE_MINUTES", "2"))


class Pair:
    """Two brokers, of which the first is the controller, too, and the clients of both."""

    def __init__(self, release: str, home: Path) -> None:
        self.rig, port = rig_module("rig"), PORT + 700
        features = {"transaction.version": "0"} if release >= "4" else {}
        first = self.rig.Broker(
            release, home / "1", port, 1, f"1@{self.rig.HOST}:{port + 1}", PROPERTIES, features, heap="256m"
        )
        second = self.rig.Broker(
            release, home / "2", port + 10, 2, f"1@{self.rig.HOST}:{port + 1}", PROPERTIES, features,
            cluster_id=first.cluster_id, heap="256m", controller=False,
        )  # fmt: skip
        self.brokers = {1: first, 2: second}
        first.format()
        first.launch().wait(90)
        self.driver: Any = self.rig.Driver(RELEASE, f"{first.bootstrap},{second.bootstrap}")
        self.driver.must("producer", name="x", props={"transactional.id": "bill-1", "transaction.timeout.ms": "600000"})
        self.driver.must("init", name="x")  # while this is the only broker, so that it has all coordinators
        second.format()
        second.launch().wait(90)

    def stop(self, *numbers: int) -> None:
        """Stop brokers cleanly; the controller last."""
        for number in numbers:
            self.brokers[number].stop()

    def start(self, number: int) -> None:
        """Start a broker again, and wait until its replica is in sync."""
        self.brokers[number].launch().wait(90)
        self.wait_for(lambda one: len(one["isr"]) == 2)

    def wait_for(self, holds: Any) -> None:
        """Wait until something holds of the partition."""
        for _ in range(300):
            known = self.driver.call("topics").get("result") or {}
            if "users" in known and holds(known["users"]["partitions"][0]):
                return
            time.sleep(0.2)
        raise AssertionError(f"{PLACE} is never so")

    def send(self, key: str, value: str | None, name: str = "p") -> None:
        """Write a record."""
        self.driver.must("send", name=name, records=[{"topic": "users", "partition": 0, "key": key, "value": value}])

    def given_by(self, number: int) -> dict[str, tuple[int, str | None]]:
        """Let a broker lead, and return what a read_committed consumer gets last of each key: its offset and value."""
        self.driver.must("reassign", replicas={PLACE: [number, 3 - number]})
        self.driver.call("electLeaders", partitions=[PLACE])
        self.wait_for(lambda one: one["leader"] == number)
        rows = self.driver.must("consume", isolation="read_committed", partitions=[PLACE])[PLACE]
        return {row[2]: (row[0], row[3]) for row in rows}

    def has(self, number: int, words: str) -> bool:
        """Say whether a replica's segments have a text."""
        return any(words.encode() in path.read_bytes() for path in (self.brokers[number].data / PLACE).glob("*.log"))

    def clean_until(self, gone: Any, chance: random.Random) -> None:
        """Write until the cleaner of the leader has removed something."""
        for _ in range(60):
            for key in range(3):
                self.send(f"filler{key}", "f" * chance.randrange(100, 200))
            time.sleep(1)
            if gone():
                return
        raise AssertionError("the cleaner does not remove it")


@contextmanager
def _pair(release: str, home: Path) -> Iterator[Pair]:
    pair = Pair(release, home)
    try:
        driver = pair.driver
        driver.must("createTopics", topics=[{"name": "users", "assignment": [[1, 2]], "config": CONFIG}])
        pair.wait_for(lambda one: one["leader"] == 1 and len(one["isr"]) == 2)
        driver.must("producer", name="p", props={"acks": "all", "linger.ms": "0"})
        yield pair
    finally:
        pair.driver.kill()
        for broker in pair.brokers.values():
            if broker.process is not None:
                broker.kill()


def _tombstone(pair: Pair, chance: random.Random) -> None:
    """Delete a key while the follower is away, until the leader has neither the record nor the tombstone."""
    key = f"gone{chance.randrange(1000)}"
    pair.send(key, "value of it")
    pair.stop(2)
    pair.send(key, None)
    pair.clean_until(lambda: not pair.has(1, key), chance)


def _marker(pair: Pair, chance: random.Random) -> None:
    """Abort a transaction while the follower is away, until the leader has neither its record nor the marker."""
    key = f"aborted{chance.randrange(1000)}"
    pair.driver.must("begin", name="x")
    pair.send(key, "value of it", "x")
    pair.stop(2)
    pair.driver.must("abort", name="x")
    pair.driver.must("begin", name="x")  # the cleaner keeps the last batch of a producer, and with it its marker
    pair.send(f"committed{chance.randrange(1000)}", "value", "x")
    pair.driver.must("commit", name="x")
    log = pair.brokers[1].data / PLACE
    pair.clean_until(lambda: not pair.has(1, key) and _markers(log) == 1, chance)


def _markers(log: Path) -> int:
    return sum(
        one.is_control for path in log.glob("*.log") for one in kafkalog.batches(path, on_finding=lambda _: None)
    )


MAKERS: Final = {"tombstone": _tombstone, "marker": _marker}


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize("release", RELEASES)
def test_what_differs_for_consumers_is_said(release: str, maker: str, seed: int, tmp_path: Path) -> None:
    """The keys, and the offsets, are those that consumers get from one leader alone."""
    chance = random.Random(f"{maker} {seed}")
    with _pair(release, tmp_path) as pair:
        for number in range(chance.randrange(1, 6)):
            pair.send(f"k{number}", "v")
        MAKERS[maker](pair, chance)
        pair.start(2)
        given = {number: pair.given_by(number) for number in (1, 2)}
        homes = _stopped(pair, tmp_path)
    differ = {key for key in given[1] | given[2] if given[1].get(key) != given[2].get(key)}
    assert differ, "the brokers made no difference"
    for answer in (kafkalog.open(homes).audit(), kafkalog.open(homes).verify()):
        found = [row for row in answer.findings if row["code"] in CODES and row["severity"] != "note"]
        assert found, answer.verdict.sentence
        said = " ".join(row["message"] for row in found)
        for key in differ:
            assert key in said, (key, said)
        assert {row["offset"] for row in found} <= {given[2][key][0] for key in differ if key in given[2]}


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("release", RELEASES)
def test_nothing_is_said_of_replicas_that_give_the_same(release: str, seed: int, tmp_path: Path) -> None:
    """Cleaned each on its own, restarted one after the other, with tombstones, commits and aborts."""
    chance = random.Random(f"healthy {seed}")
    with _pair(release, tmp_path) as pair:
        for turn in range(4):
            for _ in range(20):
                key = f"k{chance.randrange(8)}"
                if chance.random() < 0.4:
                    pair.driver.must("begin", name="x")
                    pair.send(key, f"v{turn}", "x")
                    pair.driver.must(chance.choice(["commit", "abort"]), name="x")
                else:
                    pair.send(key, chance.choice([None, f"v{turn}"]))
            time.sleep(2)
            if turn == 1:
                pair.stop(2)
                pair.start(2)
        given = {number: pair.given_by(number) for number in (1, 2)}
        homes = _stopped(pair, tmp_path)
    assert given[1] == given[2]
    for answer in (kafkalog.open(homes).audit(), kafkalog.open(homes).verify()):
        found = [row["message"] for row in answer.findings if row["code"] in CODES and row["severity"] != "note"]
        assert not found
        assert answer.verdict.word == "OK", answer.verdict.sentence


def _stopped(pair: Pair, home: Path) -> list[Path]:
    """Stop both brokers, and return copies of their log directories."""
    pair.stop(2, 1)
    return [shutil.copytree(broker.data, home / f"broker-{number}") for number, broker in pair.brokers.items()]


SOAKED: Final = {"c": 3, "d": 2}  # topics: partitions
AWAY: Final = 60_000  # ms: the delete.retention.ms of what is soaked, longer than a broker is away


class Soaked:
    """Three brokers with two disks each, of which two have each partition, in a folder that is kept."""

    def __init__(self, home: Path) -> None:
        self.rig, self.home, port = rig_module("rig"), home, PORT + 750
        self.chance = random.Random(f"soak {len(list(home.glob('round-*')))}")
        self.brokers: dict[int, Any] = {}
        for number in (1, 2, 3):
            disks = [home / f"{number}" / name for name in ("data", "data2")]
            properties = {**PROPERTIES, "log.dirs": ",".join(map(str, disks)), "metadata.log.dir": str(disks[0])}
            self.brokers[number] = self.rig.Broker(
                RELEASE, home / str(number), port + 10 * number, number, f"1@{self.rig.HOST}:{port + 11}", properties,
                cluster_id="soakedReplicasOfLog00w", heap="256m", controller=number == 1,
            )  # fmt: skip
        self.driver: Any = None

    def start(self) -> None:
        """Start the brokers and clients, and make the topics that are not there."""
        for broker in self.brokers.values():
            broker.format()
            broker.launch().wait(120)
        self.driver = self.rig.Driver(RELEASE, ",".join(one.bootstrap for one in self.brokers.values()))
        while "error" in (answer := self.driver.call("topics")):
            time.sleep(1)
        known = answer["result"]
        for topic, count in SOAKED.items():
            assigned = [[at % 3 + 1, (at + 1) % 3 + 1] for at in range(count)]
            policy = {"cleanup.policy": "compact" if topic == "c" else "compact,delete"}
            config = {**CONFIG, **policy, "delete.retention.ms": str(AWAY)}
            if topic not in known:
                self.driver.must("createTopics", topics=[{"name": topic, "assignment": assigned, "config": config}])
        self.settled()
        for name in ("x", "y"):
            props = {"transactional.id": name, "transaction.timeout.ms": "120000", "acks": "all", "linger.ms": "0"}
            self.driver.must("producer", name=name, props=props)
            self.driver.must("init", name=name)
        self.driver.must("producer", name="p", props={"acks": "all", "linger.ms": "0"})

    def replicas(self) -> dict[str, dict[str, Any]]:
        """Return the partitions as the controller has them."""
        known = self.driver.call("topics").get("result") or {}
        return {
            f"{topic}-{one['partition']}": one for topic in SOAKED for one in known.get(topic, {}).get("partitions", [])
        }

    def settled(self) -> dict[str, dict[str, Any]]:
        """Wait until all replicas are in sync and no move is under way."""
        for _ in range(600):
            every = self.replicas()
            if len(every) == sum(SOAKED.values()) and all(
                len(one["isr"]) == len(one["replicas"]) == 2 for one in every.values()
            ):
                return every
            time.sleep(0.2)
        raise AssertionError(f"replicas never come together: {self.replicas()}")

    def write(self, name: str) -> None:
        """Write some records of few keys, a third of them tombstones."""
        for _ in range(self.chance.randrange(1, 5)):
            topic = self.chance.choice([*SOAKED])
            record = {
                "topic": topic, "partition": self.chance.randrange(SOAKED[topic]), "key": f"k{self.chance.randrange(30)}",
                "value": self.chance.choice([None, *(f"v{time.time()} " + "v" * self.chance.randrange(200) for _ in "12")]),
            }  # fmt: skip
            self.driver.call("send", name=name, records=[record])

    def load(self, seconds: float) -> None:
        """Write, in transactions of two producers that overlap, and outside of any."""
        until, opened = time.monotonic() + seconds, set[str]()
        while time.monotonic() < until:
            name = self.chance.choice("pxy")
            if name == "p":
                self.write(name)
            elif name in opened:
                self.end(name)
                opened.remove(name)
            else:
                if "error" in self.driver.call("begin", name=name):
                    self.driver.call("abort", name=name)
                    continue
                opened.add(name)
                self.write(name)
        for name in opened:
            self.end(name)

    def end(self, name: str) -> None:
        """Commit or abort; what could not be written while a leader was away is aborted."""
        if "error" in self.driver.call(self.chance.choice(["commit", "abort"]), name=name):
            self.driver.call("abort", name=name)

    def disturb(self) -> str:
        """Restart a broker, or move a replica to another broker or disk, under load; return what was done."""
        what = self.chance.choice(["restart", "kill", "move", "disk"])
        number = self.chance.choice([2, 3])
        place = self.chance.choice([*self.replicas()])
        if what in ("restart", "kill"):
            broker = self.brokers[number]
            broker.stop() if what == "restart" else broker.kill()
            self.load(5)
            broker.launch().wait(120)
        elif what == "move":
            self.driver.must("reassign", replicas={place: self.chance.sample([1, 2, 3], 2)})
        else:
            number = self.replicas()[place]["replicas"][0]
            disk = self.home / str(number) / self.chance.choice(["data", "data2"])
            self.driver.call("alterLogDirs", broker=number, dirs={place: str(disk)})
        self.load(5)
        self.settled()
        return f"{what} {number} {place}"

    def given(self) -> dict[str, dict[str, Any]]:
        """Return what read_committed consumers get last of each key, from each replica as leader; no deleted keys."""
        found: dict[str, dict[str, Any]] = {}
        for place, one in self.settled().items():
            for leader in one["replicas"]:
                self.driver.must("reassign", replicas={place: [leader, *(x for x in one["replicas"] if x != leader)]})
                self.settled()
                self.driver.call("electLeaders", partitions=[place])
                while self.replicas()[place]["leader"] != leader:
                    time.sleep(0.2)
                rows = self.driver.must("consume", isolation="read_committed", partitions=[place], timeout_ms=60000)[
                    place
                ]
                newest = {row[2]: [row[0], row[3]] for row in rows}
                found.setdefault(place, {})[str(leader)] = {
                    key: row for key, row in newest.items() if row[1] is not None
                }
        return found

    def take(self, folder: Path) -> None:
        """Copy all directories; what a running broker deletes meanwhile is not in the copy."""

        def copy(source: str, target: str) -> None:
            with suppress(FileNotFoundError):
                shutil.copyfile(source, target)

        for number in self.brokers:
            for name in ("data", "data2"):
                target = folder / f"broker-{number}" / name
                shutil.copytree(self.home / str(number) / name, target, copy_function=copy)

    def round(self, folder: Path) -> None:
        """Write, disturb, and keep copies of running and of stopped brokers with what consumers get."""
        shutil.rmtree(folder, ignore_errors=True)
        done = []
        for _ in range(3):
            self.load(5)
            done.append(self.disturb())
        given = self.given()
        self.take(folder / "running")
        for number in (3, 2, 1):
            self.brokers[number].stop()
        self.take(folder / "stopped")
        (folder / "given.json").write_text(json.dumps({"done": done, "given": given}))

    def kill(self) -> None:
        """End all processes."""
        if self.driver is not None:
            self.driver.kill()
        for broker in self.brokers.values():
            if broker.process is not None and broker.process.poll() is None:
                broker.kill()


@pytest.mark.timeout(0)
def test_a_soak_says_nothing_of_healthy_replicas(tmp_path: Path) -> None:
    """Rounds with cleaner, restarts and moves: what each leader gives is the same, and no finding says otherwise."""
    home = Path(os.environ.get("KAFKALOG_LIVE_KEPT", tmp_path))
    until, number = time.monotonic() + 60 * MINUTES, len(list(home.glob("round-*/given.json")))
    while time.monotonic() < until:
        soaked = Soaked(home)
        try:
            soaked.start()
            soaked.round(home / f"round-{number}")
        finally:
            soaked.kill()
        number += 1
    for folder in sorted(home.glob("round-*")):
        if (folder / "given.json").exists():
            _nothing_said(folder)


def _nothing_said(folder: Path) -> None:
    told = json.loads((folder / "given.json").read_text())
    for place, by_leader in told["given"].items():
        one, other = by_leader.values()
        assert one == other, f"{folder}: brokers made a difference in {place}: {told['done']}"
    for state in ("running", "stopped"):
        homes = sorted((folder / state).glob("broker-*/*"))
        for answer in (kafkalog.open(homes).audit(), kafkalog.open(homes).verify()):
            found = [row["message"] for row in answer.findings if row["code"] in CODES and row["severity"] != "note"]
            assert not found, (folder, state, told["done"])

"""Incidents of the corpus walked to their ends on real brokers, by the lines that they print: ``make live``.

Save, repair, write again, and the consumer goes on: nothing twice, nothing missing.
"""

from __future__ import annotations

import hashlib
import json
import shlex
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pytest

import kafkalog as library
from invoke import kafkalog
from live_cluster import LIVE, PORT, RELEASE, rig_module
from official import CORPUS, FIXTURES, materialize

pytestmark = [
    *LIVE,
    pytest.mark.timeout(600),
]
TOOLS: Final = {
    "kafka-transactions.sh": "org.apache.kafka.tools.TransactionsCommand",
    "kafka-consumer-groups.sh": "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand",
    "kafka-topics.sh": "org.apache.kafka.tools.TopicCommand",
}
OF_SEVERAL: Final = {
    "offsets.topic.replication.factor": "1", "transaction.state.log.replication.factor": "3",
    "transaction.state.log.min.isr": "1", "replica.lag.time.max.ms": "3000", "broker.session.timeout.ms": "3000",
    "broker.heartbeat.interval.ms": "500", "group.initial.rebalance.delay.ms": "0",
}  # fmt: skip
Given = Counter[tuple[str | None, str | None]]  # keys, and the hashes of values


class Brokers:
    """The brokers that a case's directories are of, started again on copies of these."""

    def __init__(self, case: str, home: Path) -> None:
        self.rig = rig_module("rig")
        found = sorted(materialize(CORPUS / case, home / "case").glob("data*"))
        several, port = len(found) > 1, PORT + 60
        voters = f"1@{self.rig.HOST}:{port + (11 if several else 1)}"
        self.nodes = {}
        for number, data in enumerate(found, 1):
            (home / f"node-{number}").mkdir()
            data.rename(home / f"node-{number}" / "data")
            self.nodes[number] = self.rig.Broker(
                RELEASE, home / f"node-{number}", port + 10 * number * several, number, voters,
                {**OF_SEVERAL} if several else {}, controller=number == 1,
            )  # fmt: skip
        self.running: list[int] = []
        self.driver: Any = None

    @property
    def directories(self) -> list[str]:
        """Return all log directories."""
        return [str(node.data) for node in self.nodes.values()]

    def start(self, *numbers: int) -> None:
        """Start these brokers; the clients then know all that run."""
        for number in numbers:
            self.nodes[number].format()
            self.nodes[number].launch()
        for number in numbers:
            self.nodes[number].wait()
        self.running += numbers
        if self.driver is not None:
            self.driver.close()
        self.driver = self.rig.Driver(RELEASE, self.bootstrap)

    @property
    def bootstrap(self) -> str:
        """Return the addresses of the brokers that run."""
        return ",".join(self.nodes[number].bootstrap for number in self.running)

    def stop(self) -> None:
        """Stop all that run."""
        if self.driver is not None:
            self.driver.close()
        for number in reversed(self.running):
            self.nodes[number].kill()
        self.running.clear()

    def run(self, line: str, folder: Path) -> str:
        """Run a line of an incident in a folder, as an operator does; return what a tool of Kafka's prints."""
        program, *words = shlex.split(line.replace("HOST:PORT", self.bootstrap))
        if program == "kafkalog":
            ended = subprocess.run([_PROGRAM, *words], cwd=folder, check=False)
            assert ended.returncode in (0, 1), line  # 1: a salvage says what was damaged
        elif program in TOOLS:
            command = self.rig.tool_command(RELEASE, TOOLS[program], *words)
            ended = subprocess.run(command, cwd=folder, check=True, timeout=120, capture_output=True, encoding="utf-8")
            return ended.stdout.strip()
        else:
            assert program == "mkdir"
            subprocess.run(["sh", "-c", line], cwd=folder, check=True)
        return ""

    def hanging(self, line: str, folder: Path) -> set[tuple[str, int, int]]:
        """Return the topic, partition and StartOffset of what a line that asks for it lists."""
        header, *lines = [[cell.strip() for cell in row.split("\t")] for row in self.run(line, folder).splitlines()]
        rows = [dict(zip(header, row, strict=False)) for row in lines]
        return {(row["Topic"], int(row["Partition"]), int(row["StartOffset"])) for row in rows}

    def given(self, *places: str, isolation: str = "read_committed") -> Given:
        """Return what a consumer from the beginning is given."""
        rows = self.driver.must("consume", isolation=isolation, partitions=list(places), timeout_ms=20000)
        return Counter((row[2], row[3]) for of_place in rows.values() for row in of_place)

    def waits(self, *places: str) -> bool:
        """Say whether a read_committed consumer stops before the end of a partition."""
        ends = self.driver.must("listOffsets", partitions=list(places))
        return any(one["last_stable_offset"] < one["latest"] for one in ends.values())

    def write(self, file: Path) -> Given:
        """Write what was saved again, and return it."""
        self.driver.must("producer", name=file.name, props={"enable.idempotence": "true"})
        saved = [json.loads(line) for line in file.read_text().splitlines()]
        records = [
            {"topic": row["topic"], "partition": row["partition"], "key": row["key"], "value": row["value"],
             "timestamp": row["timestamp_ms"]}
            for row in saved
        ]  # fmt: skip
        offsets = self.driver.must("send", name=file.name, records=records)
        assert all(isinstance(offset, int) for offset in offsets), offsets
        return Counter(
            (row["key"], None if row["value"] is None else hashlib.sha1(row["value"].encode()).hexdigest())
            for row in saved
        )


_PROGRAM: Final = str(Path(sys.executable).with_name("kafkalog"))


@contextmanager
def brokers_of(case: str, home: Path) -> Iterator[Brokers]:
    """Have the brokers of a case stopped in the end."""
    brokers = Brokers(case, home)
    try:
        yield brokers
    finally:
        brokers.stop()


def wait_for(what: Callable[[], bool]) -> None:
    """Wait until something is so, a minute at most."""
    end = time.monotonic() + 60
    while not what():
        assert time.monotonic() < end
        time.sleep(0.3)


def incidents(directories: list[str], kind: str) -> list[dict[str, Any]]:
    """Return the incidents of a kind, above a note."""
    return [
        one for one in library.open(directories).audit().incidents if one["kind"] == kind and one["severity"] != "note"
    ]


def test_hanging_transactions_are_saved_ended_and_written_again(tmp_path: Path) -> None:
    """A consumer that stood still is given all that follows, and what the aborts discarded once, as it was saved."""
    with brokers_of("k4-f-hanging-late-produce-tv0", tmp_path) as brokers:
        brokers.start(1)
        found = incidents(brokers.directories, "consumers-stopped")
        places = sorted({place for one in found for place in one["partitions"]})
        before, waited = brokers.given(*places), brokers.waits(*places)
        everything = brokers.given(*places, isolation="read_uncommitted")
        files = []
        for one in found:
            files.append(tmp_path / f"{one['id']}.ndjson")
            ended = kafkalog("extract", "--incident", one["id"], "-o", files[-1], *brokers.directories)
            assert ended.status == 0, ended.err
            by_kind = {step["kind"]: step["command"] for step in one["next_steps"]}
            (part,) = one["parts"]
            its = {(part["topic"], part["partition"], part["first_offset"])}
            assert brokers.run(by_kind["check"], tmp_path) == ""
            assert brokers.hanging(by_kind["check-too"], tmp_path) == its
            brokers.run(by_kind["end"], tmp_path)
            assert brokers.hanging(by_kind["check-too"], tmp_path) == set()
        after, waits = brokers.given(*places), brokers.waits(*places)
        written = sum((brokers.write(file) for file in files), Counter())
        last = brokers.given(*places)
        left = incidents(brokers.directories, "consumers-stopped")

    assert waited
    assert not waits
    assert before < after
    assert written
    assert written + after <= everything  # no record that was aborted is written again, none twice
    assert last == after + written
    assert left == []


def test_without_coordinators_healthy_transactions_are_listed(tmp_path: Path) -> None:
    """What the plans ask first says that coordinators are missing. With them nothing is listed."""
    hanging = [FIXTURES / "v2.8-hanging" / "data"]
    asked = {
        step["kind"]: step["command"] for one in library.open(hanging).audit().incidents for step in one["next_steps"]
    }
    with brokers_of("k4-f-marker-pending", tmp_path) as brokers:
        brokers.start(1, 2)
        led = (
            (topic, number, one["leader"])
            for topic, about in brokers.driver.must("topics").items()
            for number, one in enumerate(about["partitions"])
            if not about["internal"]
        )
        topic, number = next((topic, number) for topic, number, leader in led if leader == 1)
        for name in map("id-{}".format, range(6)):  # the state partitions of some are on the broker that goes
            brokers.driver.must(
                "producer", name=name, props={"transactional.id": name, "transaction.timeout.ms": "600000"}
            )
            brokers.driver.must("init", name=name)
            brokers.driver.must("begin", name=name)
            brokers.driver.must(
                "send", name=name, records=[{"topic": topic, "partition": number, "key": "k", "value": "v"}]
            )
        listing = f"{asked['ask-too'].partition(' --topic ')[0]} --topic {topic} --partition {number}"
        listing += " --max-transaction-timeout 0"
        healthy = brokers.run(asked["ask"], tmp_path), brokers.hanging(listing, tmp_path)
        brokers.nodes[2].kill()
        brokers.running.remove(2)
        wait_for(lambda: brokers.run(asked["ask"], tmp_path) != "")
        wrong = brokers.hanging(listing, tmp_path)

    assert healthy == ("", set())
    assert wrong


def test_what_an_unclean_election_lost_is_saved_and_written_again(tmp_path: Path) -> None:
    """The old leader truncates what only it had; it was saved first, the committed records of it alone."""
    with brokers_of("k4-k-unclean-election", tmp_path) as brokers:
        [one] = [row for row in library.open(brokers.directories).audit().incidents if row["kept_in"]]
        (place,) = one["partitions"]
        lines = list(filter(None, (step["command"] for step in one["next_steps"])))
        saving = [line for line in lines if line.startswith(("mkdir", "kafkalog"))]
        for line in saving:
            brokers.run(line, tmp_path)
        brokers.start(1, 3)
        topic, _, number = place.rpartition("-")
        wait_for(lambda: brokers.driver.must("topics")[topic]["partitions"][int(number)]["leader"] == 3)
        before, waited = brokers.given(place), brokers.waits(place)
        brokers.driver.must("alterGroupOffsets", name="past", offsets={place: one["last_offset"] + 1})
        for line in lines:
            if " abort " in line or "--reset-offsets" in line:  # the group before anything is sent again
                brokers.run(line.replace("GROUP", "past"), tmp_path)
        brokers.start(2)
        wait_for(lambda: len(brokers.driver.must("topics")[topic]["partitions"][int(number)]["isr"]) == 2)
        after, waits = brokers.given(place), brokers.waits(place)
        files = sorted(tmp_path.glob("*.ndjson"))
        written = sum((brokers.write(file) for file in files), Counter())
        last = brokers.given(place)
        brokers.driver.must("subscribe", name="past", topics=[topic], props={"group.id": "past"})
        from_fork = brokers.driver.must("poll", name="past", count=1000, timeout_ms=6000)["count"]

    assert from_fork > written.total()  # what the new leader wrote from the fork on, too
    assert any(" && cp -a " in line for line in saving)
    assert waited
    assert not waits
    assert before < after
    assert last == after + written
    assert written


def test_a_damaged_segment_is_salvaged(tmp_path: Path) -> None:
    """The broker takes the salvaged file for the damaged one: a consumer is given all records but those of the batch."""
    place = "tickets-tickets.26-2"
    with brokers_of("k4-f-hanging-late-produce-tv0", tmp_path) as brokers:
        brokers.start(1)
        before = brokers.given(place)
        brokers.stop()
        segment = Path(brokers.directories[0]) / place / f"{0:020}.log"
        damaged = [one for one in library.batches(segment) if not one.is_transactional][-1]
        lost = [
            one for one in library.open(segment).records() if damaged.base_offset <= one.offset <= damaged.last_offset
        ]
        data = bytearray(segment.read_bytes())
        data[damaged.position + damaged.size - 3] ^= 1
        segment.write_bytes(bytes(data))
        [one] = incidents(brokers.directories, "records-unreadable")
        for step in one["next_steps"]:
            if (step["command"] or "").startswith("kafkalog salvage"):
                brokers.run(step["command"], tmp_path)
        shutil.copyfile(tmp_path / "SALVAGED.log", segment)
        for index in segment.parent.glob("*index"):
            index.unlink()
        brokers.start(1)
        after = brokers.given(place)
        left = incidents(brokers.directories, "records-unreadable")

    of_batch = Counter(
        (
            None if one.key is None else one.key.decode(),
            None if one.value is None else hashlib.sha1(one.value).hexdigest(),
        )
        for one in lost
    )
    assert of_batch <= before
    assert after == before - of_batch
    assert left == []

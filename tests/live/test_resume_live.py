"""Groups moved by the lines that incidents print, on a real broker: ``make live``."""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

import kafkalog as library
from live_cluster import LIVE, PORT, RELEASE, rig_module

pytestmark = [
    *LIVE,
    pytest.mark.timeout(600),
]
TOPIC: Final = "orders"


class Clients:
    """A broker, and Kafka's clients on it."""

    def __init__(self, home: Path) -> None:
        self._rig = rig_module("rig")
        self.broker = self._rig.Broker(
            RELEASE, home, port=PORT + 20, properties={"group.initial.rebalance.delay.ms": "0"}
        )
        self.start()

    def start(self) -> None:
        """Start the broker and the clients."""
        self.broker.start()
        self.driver = self._rig.Driver(RELEASE, self.broker.bootstrap)

    def stop(self) -> None:
        """Stop both."""
        self.driver.close()
        self.broker.stop()

    def send(self, name: str, count: int) -> None:
        """Write a batch of so many records."""
        self.driver.must(
            "send", name=name, records=[{"topic": TOPIC, "partition": 0, "key": "k", "value": "v" * 40}] * count
        )

    def given(self, group: str, **props: str) -> int | str:
        """Return how many records a consumer of a group is given within some seconds, or the error that it gets."""
        about = {"group.id": group, "isolation.level": "read_committed", "max.partition.fetch.bytes": "500", **props}
        self.driver.must("subscribe", name=group, topics=[TOPIC], props=about)
        answer = self.driver.call("poll", name=group, count=1_000_000, timeout_ms=6000)
        self.driver.must("closeConsumer", name=group)
        return str(answer["error"]) if "error" in answer else int(answer["result"]["count"])

    def run(self, line: str) -> str:
        """Run a line of kafka-consumer-groups.sh."""
        _, *arguments = shlex.split(line.replace("HOST:PORT", self.broker.bootstrap))
        command = self._rig.tool_command(
            RELEASE, "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand", *arguments
        )
        return subprocess.run(command, capture_output=True, encoding="utf-8", check=True, timeout=120).stdout

    def incident(self, kind: str) -> dict[str, Any]:
        """Return the one incident of a kind in the broker's directory."""
        (found,) = [one for one in library.open(self.broker.data).audit().incidents if one["kind"] == kind]
        return found


@pytest.fixture
def clients(tmp_path: Path) -> Iterator[Clients]:
    """Start a broker with a topic of one partition and five batches of ten records."""
    found = Clients(tmp_path / "broker")
    try:
        found.driver.must("createTopics", topics=[{"name": TOPIC, "partitions": 1, "config": {}}])
        found.driver.must("producer", name="p", props={})
        for _ in range(5):
            found.send("p", 10)
        yield found
    finally:
        found.stop()


def test_a_group_goes_on_after_damage(clients: Clients) -> None:
    """It fails there every time; after its line it gets all that follows, and a group before it was not moved."""
    for group, at in (("stuck", 20), ("early", 5)):
        clients.driver.must("alterGroupOffsets", name=group, offsets={f"{TOPIC}-0": at})
    clients.stop()
    log = clients.broker.data / f"{TOPIC}-0" / f"{0:020}.log"
    batches = list(library.batches(log))
    data = bytearray(log.read_bytes())
    damaged = next(one for one in batches if one.base_offset == 20)
    data[damaged.position + damaged.size - 3] ^= 1
    log.write_bytes(bytes(data))
    clients.start()

    assert isinstance(clients.given("stuck"), str)
    steps = clients.incident("records-unreadable")["next_steps"]
    (line,) = [step["command"] for step in steps if "--group stuck " in (step["command"] or "")]
    assert not any("--group early " in (step["command"] or "") for step in steps)
    assert "30" in clients.run(line)
    assert clients.given("stuck") == 20


def test_a_group_past_a_cut_end_goes_back_and_misses_nothing(clients: Clients) -> None:
    """Its offset would be that of a new record, behind others that it never got."""
    clients.driver.must("alterGroupOffsets", name="past", offsets={f"{TOPIC}-0": 45})
    clients.stop()
    log = clients.broker.data / f"{TOPIC}-0" / f"{0:020}.log"
    cut = next(one for one in library.batches(log) if one.base_offset == 30)
    with log.open("r+b") as file:
        file.truncate(cut.position)
    steps = clients.incident("records-lost")["next_steps"]
    (line,) = [step["command"] for step in steps if "--group past " in (step["command"] or "")]
    clients.start()
    clients.driver.must("producer", name="p2", props={})
    for _ in range(2):
        clients.send("p2", 10)

    assert clients.given("past") == 5
    assert "30" in clients.run(line)
    assert clients.given("past") == 20


def test_a_reset_past_an_open_transaction_gives_nothing(clients: Clients) -> None:
    """As the step says: a read_committed consumer waits wherever it stands; after the end it goes on by itself."""
    clients.driver.must("producer", name="t", props={"transactional.id": "billing-7"})
    clients.driver.must("init", name="t")
    clients.driver.must("begin", name="t")
    clients.send("t", 3)
    clients.send("p", 10)
    clients.driver.must("alterGroupOffsets", name="waits", offsets={f"{TOPIC}-0": 50})
    clients.driver.must("alterGroupOffsets", name="moved", offsets={f"{TOPIC}-0": 53})

    assert [clients.given(group) for group in ("waits", "moved")] == [0, 0]
    rows = {row["group"]: row for row in library.open(clients.broker.data).groups().committed if row["topic"] == TOPIC}
    assert [(rows[group]["lag"], rows[group]["visible_lag"]) for group in ("waits", "moved")] == [(13, 0), (10, 0)]
    assert all(row["stuck_by"]["transactional_id"] == "billing-7" for row in rows.values())
    clients.driver.must("abort", name="t")
    assert [clients.given(group) for group in ("waits", "moved")] == [10, 10]

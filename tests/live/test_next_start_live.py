"""What ``space --next-start`` says before a start, held to what the broker then logs: ``make live``."""

from __future__ import annotations

import os
import random
import re
import time
from pathlib import Path
from typing import Any, Final

import pytest

import kafkalog
from live_cluster import LIVE, PORT, RELEASE, rig_module

pytestmark = [
    *LIVE,
    pytest.mark.timeout(1200),
]

STARTS: Final = int(os.environ.get("KAFKALOG_LIVE_STARTS", "12"))
TORN: Final = bytes(6) + b"\x13\x88" + b"\x00\x00\x10\x00" + b"x" * 40  # a batch that does not end
RECOVERED: Final = re.compile(r"\[LogLoader partition=(\S+), dir=[^\]]*\] Recovering unflushed segment (\d+)\.")


def _write(driver: Any, chance: random.Random) -> None:
    """Send records to some partitions, with pauses in which recovery points are flushed or not."""
    for _ in range(3):
        for partition in range(4):
            if chance.random() < 0.7:
                rows = [
                    {"topic": "t", "partition": partition, "key": f"k{number}", "value": "v" * 300}
                    for number in range(chance.randrange(5, 60))
                ]
                driver.must("send", name="p", records=rows)
        time.sleep(chance.random() * 1.5)


def _recovered(home: Path) -> dict[str, list[int]]:
    """Wait until a broker has loaded its logs; the segments that it recovered, by partition."""
    log = home / "broker.log"
    for _ in range(300):
        if log.exists() and b"LogManager - Loaded " in log.read_bytes():
            break
        time.sleep(0.2)
    found: dict[str, list[int]] = {}
    for partition, base in RECOVERED.findall(log.read_text(errors="replace")):
        found.setdefault(partition, []).append(int(base))
    return found


def test_brokers_recover_what_was_said(tmp_path: Path) -> None:
    """After kills, torn tails and clean stops, each partition's segments are recovered as said before the start."""
    rig = rig_module("rig")
    broker = rig.Broker(
        RELEASE, tmp_path / "broker", port=PORT, properties={"log.flush.offset.checkpoint.interval.ms": "3000"}
    )
    chance, compared, wrong = random.Random(1), 0, []
    broker.start()
    try:
        driver = rig.Driver(RELEASE, broker.bootstrap)
        small = {"internal.segment.bytes": "20000"}
        driver.must("createTopics", topics=[{"name": "t", "partitions": 4, "rf": 1, "config": small}])
        for number in range(STARTS):
            driver.must("producer", name="p", props={"acks": "all", "enable.idempotence": "true"})
            _write(driver, chance)
            driver.kill()
            if number % 3 == 2:
                broker.stop()
            else:
                broker.kill()
                with max((broker.data / "t-0").glob("*.log")).open("ab") as file:
                    file.write(TORN)
            rows = list(kafkalog.open(broker.data).space().next_start)
            (broker.home / "broker.log").unlink()
            broker.launch().wait(90)
            seen = _recovered(broker.home)
            for row in rows:
                name = f"{row['topic']}-{row['partition']}"
                bases = seen.get(name, [])
                compared += row["topic"] == "t"
                first = bases[0] if bases else None
                if row["topic"] == "t" and (row["recovered_segments"], row["first_recovered_offset"]) != (
                    len(bases),
                    first,
                ):
                    wrong.append((number, name, bases, row["does"]))
            torn = {row["partition"]: row["truncated_bytes"] for row in rows if row["topic"] == "t"}
            assert torn == {0: 0 if number % 3 == 2 else len(TORN), 1: 0, 2: 0, 3: 0}
            driver = rig.Driver(RELEASE, broker.bootstrap)
        driver.kill()
    finally:
        broker.kill()
    assert wrong == []
    assert compared == 4 * STARTS

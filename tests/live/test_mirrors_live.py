"""A mirror that a script writes to a real broker, held to what ``verify --mirror`` says of it: ``make live``."""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from invoke import kafkalog
from live_cluster import LIVE, PORT, RELEASE, rig_module

pytestmark = [
    *LIVE,
    pytest.mark.timeout(1200),
]

COUNT: Final = 600
Record = dict[str, Any]


def _whole(records: list[Record]) -> list[Record]:
    return records


def _removed(records: list[Record]) -> list[Record]:
    return [record for number, record in enumerate(records) if number not in (100, 101, 350)]


def _doubled(records: list[Record]) -> list[Record]:
    return [*records[:200], records[199], records[198], *records[200:]]


def _reordered(records: list[Record]) -> list[Record]:
    return [*records[:50], *records[51:300], records[50], *records[300:]]


def _changed(records: list[Record]) -> list[Record]:
    return [*records[:77], records[77] | {"value": "other"}, *records[78:]]


def _behind(records: list[Record]) -> list[Record]:
    return records[:-40]


MIRRORS: Final = {
    "whole": (_whole, {"state": "same"}),
    "removed": (_removed, {"state": "differs", "missing_records": 3}),
    "doubled": (_doubled, {"state": "differs", "extra_records": 2}),
    "reordered": (_reordered, {"state": "differs", "reordered_records": 1}),
    "changed": (_changed, {"state": "differs", "changed_records": 1}),
    "behind": (_behind, {"state": "partial", "after_records": 40}),
}


def _send(driver: Any, topic: str, records: list[Record], together: int) -> None:
    for at in range(0, len(records), together):
        driver.must("send", name="p", records=[record | {"topic": topic} for record in records[at : at + together]])


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A broker's directory: a source with committed and aborted transactions, and mirrors of what was committed."""
    home = tmp_path_factory.mktemp("mirrors")
    rig, chance = rig_module("rig"), random.Random(3)
    broker = rig.Broker(RELEASE, home, port=PORT, heap="256m")
    broker.start()
    try:
        driver = rig.Driver(RELEASE, broker.bootstrap)
        driver.must("createTopics", topics=[{"name": name, "partitions": 1, "rf": 1} for name in ("source", *MIRRORS)])
        driver.must("producer", name="x", props={"transactional.id": "x"})
        driver.must("producer", name="p", props={"acks": "all", "compression.type": "zstd", "batch.size": "4000"})
        driver.must("init", name="x")
        records: list[Record] = []
        while len(records) < COUNT:
            some = [
                {"partition": 0, "key": f"k{chance.randrange(50)}", "value": f"v{len(records) + number}"}
                for number in range(chance.randrange(1, 30))
            ][: COUNT - len(records)]
            driver.must("begin", name="x")
            driver.must("send", name="x", records=[record | {"topic": "source"} for record in some])
            is_committed = chance.random() < 0.7
            driver.must("commit" if is_committed else "abort", name="x")
            records += some if is_committed else []
        for name, (change, _) in MIRRORS.items():
            _send(driver, name, change(records), 37)
        driver.kill()
        broker.stop()
        yield broker.data
    finally:
        if broker.process is not None:
            broker.kill()
        shutil.rmtree(home, ignore_errors=True)


@pytest.mark.parametrize("name", MIRRORS)
def test_a_mirror_that_a_script_wrote(name: str, data: Path) -> None:
    """Each difference is counted as what it is, and nothing else is."""
    ended = kafkalog(
        "verify", "--mirror", "--topics", f"source={name}", data, "--format", "ndjson", "--table", "mirrors"
    )  # fmt: skip
    [row] = ended.rows
    expected = MIRRORS[name][1]
    counts = ("missing_records", "extra_records", "changed_records", "reordered_records", "after_records",
              "before_records", "cleaned_records")  # fmt: skip

    assert row["records"] == COUNT
    assert {word: row[word] for word in counts if row[word]} == {
        word: number for word, number in expected.items() if word != "state"
    }
    assert (row["state"], ended.status) == (expected["state"], expected["state"] == "differs")

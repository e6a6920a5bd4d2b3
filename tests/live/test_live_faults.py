"""Faults in the directory of a broker that runs: what is really wrong is reported while everything moves."""

from __future__ import annotations

import os
import shutil
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from build import flipped
from invoke import kafkalog
from live_cluster import LIVE, PORT, broker_under_load, rig_module

pytestmark = [
    *LIVE,
    pytest.mark.timeout(3600),
]

FAULTS: Final = int(os.environ.get("KAFKALOG_LIVE_FAULTS", "20"))
COMMANDS: Final = ("txn-audit", "verify")


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The log directory of a broker under load, which takes data that no coordinator knows of."""
    properties = {"transaction.partition.verification.enable": "false"}
    with broker_under_load(tmp_path_factory.mktemp("broker"), properties) as found:
        yield found


def closed(data: Path) -> list[Path]:
    """The closed segments in the middle of partitions that nothing is deleted from; waits until there are some."""
    for _ in range(120):
        found = [path for home in data.glob("tx-*") for path in sorted(home.glob("*.log"))[1:-1]]
        if found:
            return found
        time.sleep(1)
    raise TimeoutError("no segment was closed")


def said(command: str, data: Path) -> list[dict[str, Any]]:
    """The findings about a live directory."""
    rows: list[dict[str, Any]] = kafkalog(command, "--format", "ndjson", "--table", "findings", data).table("findings")
    return rows


def test_a_flipped_bit_in_a_closed_segment(data: Path) -> None:
    """Both commands report the CRC of its batch as an error, each time."""
    found: Counter[str] = Counter()
    for number in range(FAULTS):
        segment = closed(data)[number % len(closed(data))]
        whole = segment.read_bytes()
        segment.write_bytes(flipped(whole, 8 * 66 + number % 8))
        for command in COMMANDS:
            rows = said(command, data)
            found[command] += any(
                (row["code"], row["severity"], row["file"]) == ("crc-mismatch", "error", str(segment)) for row in rows
            )
        segment.write_bytes(whole)

    assert found == dict.fromkeys(COMMANDS, FAULTS)


def test_a_closed_segment_that_is_gone(data: Path, tmp_path: Path) -> None:
    """It is above a note, each time: the broker deletes no segments of this topic."""
    found: Counter[str] = Counter()
    for number in range(FAULTS):
        segment = closed(data)[number % len(closed(data))]
        gone = list(segment.parent.glob(f"{segment.stem}.*"))
        for path in gone:
            shutil.move(path, tmp_path / path.name)
        for command in COMMANDS:
            rows = [row for row in said(command, data) if row["severity"] != "note"]
            found[command] += any(f"{row['topic']}-{row['partition']}" == segment.parent.name for row in rows)
        for path in gone:
            shutil.move(tmp_path / path.name, path)

    assert found == dict.fromkeys(COMMANDS, FAULTS)


def test_transactions_that_no_coordinator_knows(data: Path) -> None:
    """Each of them is reported by its producer, and a second reading proves that it hangs."""
    raw = rig_module("rawproduce")
    producers = set()
    for number in range(FAULTS):
        error, producer, epoch = raw.init_producer_id("127.0.0.1", PORT)
        assert error == 0
        batch = raw.batch(
            [(b"ghost", b"x")], producer_id=producer, producer_epoch=epoch, base_sequence=0, transactional=True,
            timestamp=int(time.time() * 1000),
        )  # fmt: skip
        error, _ = raw.produce("127.0.0.1", PORT, "tx", number % 6, batch, "ghost")
        assert error == 0
        producers.add(producer)
    codes = ("transaction-hanging", "transaction-undecided")
    once = {row["producer_id"] for row in said("txn-audit", data) if row["code"] in codes}
    again = kafkalog("txn-audit", "--confirm", "5", "--format", "ndjson", "--table", "findings", data).table("findings")
    proved = {row["producer_id"] for row in again if row["code"] == codes[0] and row["certainty"] == "proved"}

    assert producers <= once
    assert producers <= proved

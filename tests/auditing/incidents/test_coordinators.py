"""Damage in internal topics: what is said is what coordinators and controllers do with it, not applications."""

from __future__ import annotations

import shutil
import tracemalloc
from pathlib import Path

import pytest

from invoke import Ended, kafkalog
from kafkalog.auditing.topics import is_loaded
from kafkalog.kafka.layout import RECORD_BATCH
from kafkalog.segments.readers import batches
from official import FIXTURES

WHOLE = FIXTURES / "k4-c-group-offsets-tv0" / "data"  # stopped cleanly
OFFSETS = "__consumer_offsets"
RECORDS = RECORD_BATCH.size + 1  # inside the first record


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A log directory that may be changed."""
    return Path(shutil.copytree(WHOLE, tmp_path / "data", copy_function=shutil.copyfile))


def changed(home: Path, topic: str, at: int) -> Path:
    """Change bits of the byte at a place in the second batch of a topic's first log that has three; return the log."""
    for log in sorted(home.glob(f"{topic}-*")):
        for segment in log.glob("*.log"):
            found = list(batches(segment))
            if len(found) > 2:
                data = bytearray(segment.read_bytes())
                data[found[1].position + at] ^= 0xFF
                segment.write_bytes(data)
                return log
    raise AssertionError(topic)


def said(ended: Ended) -> str:
    """Return all that is said on one line."""
    return " ".join(ended.text.split())


@pytest.mark.parametrize("command", ["txn-audit", "verify"])
def test_a_batch_that_its_coordinator_can_read_is_loaded(command: str, copy: Path) -> None:
    """A wrong byte in the header: nothing is lost, and no group is reset on the internal topic."""
    log = changed(copy, OFFSETS, RECORD_BATCH.position("max_timestamp") + 7)
    ended = kafkalog(command, copy)

    assert ended.status == 1
    assert "loaded by their coordinator all the same" in said(ended) or "loads them all the same" in said(ended)
    assert f"The CRC of a batch of {log.name} does not match" in said(ended)
    assert "No consumer of applications reads there. Its groups" in said(ended)
    assert "--reset-offsets" not in said(ended)
    assert "salvage" not in said(ended)
    assert kafkalog("verify", "--restorable", copy).text.startswith("YES")


@pytest.mark.parametrize(
    ("topic", "does"),
    [
        (OFFSETS, "Loading the partition fails there"),
        ("__transaction_state", "The coordinator stops loading there"),
        ("__cluster_metadata", "a node cuts its metadata log at the damage"),
    ],
)
def test_a_batch_that_can_not_be_read_stops_its_coordinator(topic: str, does: str, copy: Path) -> None:
    """The records themselves are damaged: each topic has its own consequence."""
    changed(copy, topic, RECORDS)
    ended = kafkalog("txn-audit", copy)

    assert ended.status == 1
    assert does in said(ended)
    assert "all the same" not in said(ended)
    assert "--reset-offsets" not in said(ended)
    assert kafkalog("verify", "--restorable", copy).text.startswith("NO ")


def remove(log: Path) -> None:
    """Leave the log empty, although its other files know its offsets."""
    for segment in log.glob("*.log"):
        segment.write_bytes(b"")


def test_what_is_missing_is_said_as_what_the_coordinator_loads(copy: Path) -> None:
    """Groups go on from older offsets; no consumer waits there."""
    remove(max(copy.glob(f"{OFFSETS}-*"), key=lambda log: sum(one.stat().st_size for one in log.glob("*.log"))))
    ended = kafkalog("txn-audit", copy)

    assert ended.text.startswith("LOST")
    assert "go on from older offsets, or as auto.offset.reset says" in said(ended)
    assert "kafkalog groups" in said(ended)
    assert "--reset-offsets --topic __consumer" not in said(ended)


@pytest.mark.parametrize("at", [RECORD_BATCH.position("max_timestamp") + 7, RECORDS])
def test_a_topic_of_applications_keeps_its_advice(at: int, copy: Path) -> None:
    """Its consumers fail at the damage, whatever byte of the batch it is."""
    changed(copy, "fares-refunds.18", at)
    ended = kafkalog("txn-audit", copy)

    assert "can't be read" in said(ended)
    assert "kafkalog salvage" in said(ended)
    assert "No consumer of applications" not in said(ended)
    assert "all the same" not in said(ended)


def test_whole_internal_topics_are_quiet(copy: Path) -> None:
    """Nothing is said of coordinators."""
    assert kafkalog("verify", copy).status == 0


def test_a_batch_longer_than_any_coordinator_loads_is_not_read(tmp_path: Path) -> None:
    """A length is what the bytes say: a sparse file of GiB must not come into memory for a sentence."""
    file = tmp_path / f"{0:020}.log"
    with file.open("wb") as sparse:
        sparse.truncate(2 << 30)
    tracemalloc.start()
    try:
        assert not is_loaded(OFFSETS, str(file), 0, (2 << 30) - 1)
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()

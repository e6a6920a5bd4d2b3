"""The table leaders against what brokers wrote: their checkpoints of leader epochs, and the metadata log."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import pytest

import kafkalog
from kafkalog.segments.readers import batches
from official import CORPUS, FIXTURES

HOMES: Final = sorted(path for path in FIXTURES.glob("[kv]*/data*") if path.is_dir())
CORPUS_HOMES: Final = sorted(path for path in CORPUS.glob("k4-*/data*") if path.is_dir())
TIME_OF_CHANGE: Final = ("leader", "leader_epoch", "since_ms", "change")


def told(home: Path) -> list[dict[str, Any]]:
    """Return the rows of a log directory."""
    return list(kafkalog.open([home]).audit().leaders)


def checkpoint(log: str) -> dict[int, int]:
    """Return the first offset of each leader epoch, as the broker wrote it; the oldest one's moves with the log start."""
    lines = (Path(log) / "leader-epoch-checkpoint").read_text().splitlines()[2:]
    found = {int(epoch): int(offset) for epoch, offset in (line.split() for line in lines)}
    oldest = next((batch for path in sorted(Path(log).glob("*.log")) for batch in batches(path)), None)
    moved = -(2**63) if oldest is None or oldest.magic == 2 else found.get(min(found, default=0), 0)
    return found | dict.fromkeys(list(found)[:1], moved)


def first_from(log: str, offset: int) -> int:
    """Return the first offset of a log from an offset on: that one, unless a cleaner took what began there."""
    found = (batch for path in sorted(Path(log).glob("*.log")) for batch in batches(path))
    return next((one.base_offset for one in found if (one.base_offset or 0) >= max(offset, 0)), max(offset, 0))


def held(homes: list[Path]) -> tuple[int, int]:
    """Hold all rows of some directories against both; return how many epochs and how many changes were compared."""
    epochs = changes = 0
    for home in homes:
        rows = told(home)
        for row in rows:
            if (Path(row["log"]) / "leader-epoch-checkpoint").is_file():
                broker = checkpoint(row["log"])
                if row["leader_epoch"] in broker:
                    assert row["first_offset"] == first_from(row["log"], broker[row["leader_epoch"]]), row
                    epochs += 1
        by_metadata = {
            (one["topic"], one["partition"], *(one[name] for name in TIME_OF_CHANGE))
            for one in kafkalog.open(home).metadata().leadership
        }
        for row in rows:
            if row["change"] is not None:
                assert (row["topic"], row["partition"], *(row[name] for name in TIME_OF_CHANGE)) in by_metadata, row
                changes += 1
    return epochs, changes


def test_epochs_begin_where_the_broker_says() -> None:
    """Of every fixture: the offset of its checkpoint, the leader and the time of its metadata log."""
    epochs, changes = held(HOMES)

    assert epochs > 100
    assert changes > 50


@pytest.mark.corpus
def test_epochs_of_the_corpus_begin_where_the_broker_says() -> None:
    """The same of every directory of KRaft brokers, among them one with an unclean election."""
    assert CORPUS_HOMES, "there are no cases: nothing was compared"
    epochs, changes = held(CORPUS_HOMES)

    assert epochs > 300
    assert changes > 300


@pytest.mark.corpus
def test_an_unclean_election_is_told_from_its_first_offset_on() -> None:
    """Broker 3 had six records when it was elected; broker 2, which had led, has none of the new epoch."""
    homes = sorted((CORPUS / "k4-k-unclean-election").glob("data-*"))
    rows = [row for row in kafkalog.open(homes).audit().leaders if row["change"] == "unclean-election"]

    assert {(Path(row["log"]).parent.name, row["leader"], row["first_offset"]) for row in rows} == {
        ("data-2", 3, 16), ("data-3", 3, 6),
    }  # fmt: skip

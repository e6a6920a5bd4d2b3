"""A case of each code at which a start of a broker stops, or drops what is here, beside one that it goes on with."""

from __future__ import annotations

import os
import shutil
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Final

import build
from cases_of_side_files import DATA, OF_SMALL, SMALL, damaged, edited, running
from code_evidence import CodeCase, Maker, case_of, copied, partition
from kafkalog import batches
from side_damage import segments

__all__ = [
    "HEADLESS",
    "OF_STARTS",
    "SNAPSHOTS",
    "bootstrap_of",
    "falling_back",
    "future_of",
    "made_again",
    "without_id",
    "zeroed",
]

SNAPSHOTS: Final = "k4-m-metadata-groups-44"
FUTURE: Final = f"{'0123456789abcdef' * 2}-future"
PRODUCER: Final = {"producer_id": 7, "producer_epoch": 0}


def bootstrap_of(size: Callable[[int], int]) -> Maker:
    """Cut bootstrap.checkpoint to a size, made of its own."""

    def make(folder: Path) -> None:
        path = folder / "data" / "bootstrap.checkpoint"
        os.truncate(path, size(path.stat().st_size))

    return copied(SMALL, make)


def _headless(*, from_snapshot: bool) -> Maker:
    """Take the first batches of a metadata log away, and the snapshots that have them where there are to be none."""

    def make(folder: Path) -> None:
        home = folder / "data" / "__cluster_metadata-0"
        (segment,) = segments(home)
        for path in () if from_snapshot else home.glob("*.checkpoint"):
            path.unlink()
        first = next(one for one in batches(segment) if one.base_offset >= 55)
        (home / f"{first.base_offset:020}.log").write_bytes(segment.read_bytes()[first.position :])
        segment.unlink()

    return copied(SNAPSHOTS, make)


HEADLESS: Final = _headless(from_snapshot=False)


def future_of(change: Callable[[Path], object] = lambda folder: None) -> Maker:
    """Copy a partition's directory to a future replica in the same log directory."""

    def make(folder: Path) -> None:
        shutil.copytree(folder / "data" / OF_SMALL, folder / "data" / f"{OF_SMALL}.{FUTURE}")
        change(folder)

    return copied(SMALL, make)


def _assigned_elsewhere(folder: Path) -> None:
    edited("data/meta.properties", r"directory\.id=.*", f"directory.id={'B' * 21}A")(folder)


def zeroed(count: int) -> Callable[[Path], object]:
    """Write zeros behind the last batch."""

    def change(folder: Path) -> None:
        with segments(folder)[-1].open("ab") as file:
            file.write(bytes(count))

    return change


def falling_back(*, entry: bool) -> Callable[[Path], object]:
    """Tear the last batch; with the `entry` the newest index points to it, else to the one before."""

    def change(folder: Path) -> None:
        log = segments(folder)[-1]
        *_, before, last = batches(log)
        os.truncate(log, last.position + last.size - 5)
        to = last if entry else before
        base = int(log.name[:20])
        log.with_suffix(".index").write_bytes(struct.pack(">ii", to.last_offset - base, to.position))

    return change


def without_id(folder: Path) -> None:
    """Remove a partition's topic id."""
    (folder / "data" / OF_SMALL / "partition.metadata").unlink()


def made_again(folder: Path) -> None:
    """Give a partition the id of a topic that the metadata does not have."""
    edited(f"data/{OF_SMALL}/partition.metadata", "topic_id: .*", f"topic_id: {'B' * 21}A")(folder)


def _mixed(*, attributes: int) -> Maker:
    """Three batches of a producer before its COMMIT; only the attributes of the second one are not fixed."""
    kinds = (build.TRANSACTIONAL, attributes, build.TRANSACTIONAL)
    data = [
        build.batch(build.record(), base_offset=number, base_sequence=number, attributes=kind, **PRODUCER)
        for number, kind in enumerate(kinds)
    ]
    return partition(*data, build.marker(1, base_offset=3, **PRODUCER))


OF_STARTS: Final[dict[str, CodeCase]] = {
    "bootstrap-wrong": case_of(
        "an empty bootstrap.checkpoint", bootstrap_of(lambda size: 0), "one without the end of its footer",
        bootstrap_of(lambda size: size - 20), *DATA,
    ),
    "metadata-head-missing": case_of(
        "a metadata log from 55 on, and no snapshot", HEADLESS, "the same with its snapshots",
        _headless(from_snapshot=True), *DATA,
    ),
    "future-beside-current": case_of(
        "a future replica beside the current one", future_of(),
        "the metadata assigns the partition to another directory", future_of(_assigned_elsewhere), *DATA,
    ),
    "partition-metadata-missing": case_of(
        "a partition without its topic id", copied(SMALL, without_id), "the same without the metadata log",
        copied(SMALL, without_id, lambda folder: shutil.rmtree(folder / "data" / "__cluster_metadata-0")), *DATA,
    ),
    "topic-made-again": case_of(
        "a topic id that is not the one in the metadata", copied(SMALL, made_again), "the one in the metadata",
        copied(SMALL), *DATA,
    ),
    "log-end-unreadable": case_of(
        "zeros behind the last batch after a clean stop", damaged(zeroed(4096)), "the same of a broker that ran",
        damaged(zeroed(4096), running), *DATA,
    ),
    "log-end-falls-back": case_of(
        "a torn batch to which the newest index points", damaged(falling_back(entry=True)),
        "one to which it does not point", damaged(falling_back(entry=False)), *DATA,
    ),
    "data-outside-transaction": case_of(
        "a plain batch between two of a transaction", _mixed(attributes=0), "all three of the transaction",
        _mixed(attributes=build.TRANSACTIONAL),
    ),
}  # fmt: skip

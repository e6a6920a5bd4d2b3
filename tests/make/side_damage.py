"""Damages of a log directory, each one thing, with the one code above a note that ``verify`` tells it by."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Final

from kafkalog.kafka.layout import PRODUCER_SNAPSHOT, PRODUCER_STATE_ENTRY
from kafkalog.kernel import headers
from kafkalog.segments.readers import batches

__all__ = ["CASE", "DAMAGE", "LOG", "ahead"]

# Two partitions of four and five segments, stopped cleanly.
CASE: Final = "k4-j-non-ascii-digits"
LOG: Final = "trades-sensors.68-1"
OTHER: Final = "trades-sensors.68-0"


def segments(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.log"))


def beside(segment: Path, suffix: str) -> Path:
    return segment.with_name(segment.name.removesuffix(".log") + suffix)


def removed(number: int) -> Callable[[Path], object]:
    return lambda folder: segments(folder)[number].unlink()


def removed_with_indexes(number: int) -> Callable[[Path], object]:
    def change(folder: Path) -> None:
        segment = segments(folder)[number]
        for suffix in (".index", ".timeindex", ".txnindex", ".snapshot"):
            beside(segment, suffix).unlink(missing_ok=True)
        segment.unlink()

    return change


def retained(folder: Path) -> None:
    """Retention had deleted the first segment, and raised the first leader epoch."""
    removed_with_indexes(0)(folder)
    (folder / "leader-epoch-checkpoint").write_text(f"0\n1\n0 {int(segments(folder)[0].stem)}\n")


def foreign(number: int) -> Callable[[Path], object]:
    """Another partition's segment in the place of one."""
    return lambda folder: shutil.copy(segments(folder.parent / OTHER)[number], segments(folder)[number])


def other_index(suffix: str, number: int, other: int) -> Callable[[Path], object]:
    """The index of another segment."""

    def change(folder: Path) -> None:
        here, there = segments(folder)[number], segments(folder)[other]
        shutil.copy(beside(there, suffix), beside(here, suffix))

    return change


def cut(number: int) -> Callable[[Path], object]:
    """The last batch is gone."""

    def change(folder: Path) -> None:
        segment = segments(folder)[number]
        os.truncate(segment, list(batches(segment))[-1].position)

    return change


def torn(number: int) -> Callable[[Path], object]:
    def change(folder: Path) -> None:
        segment = segments(folder)[number]
        os.truncate(segment, segment.stat().st_size - 5)

    return change


def overwritten(number: int) -> Callable[[Path], object]:
    """Other bytes in the place of the second batch."""

    def change(folder: Path) -> None:
        segment = segments(folder)[number]
        second = list(batches(segment))[1]
        data = segment.read_bytes()
        segment.write_bytes(data[: second.position] + b"x" * second.size + data[second.position + second.size :])

    return change


def snapshot_entry(field: str, more: int = 1, number: int = 1) -> Callable[[Path], object]:
    """One field of a snapshot's first entry is another number; the checksum is made anew."""

    def change(folder: Path) -> None:
        path = sorted(folder.glob("*.snapshot"))[number]
        at = PRODUCER_SNAPSHOT.size + PRODUCER_STATE_ENTRY.position(field)
        width = int(PRODUCER_STATE_ENTRY.fields[field].construct[3:5]) // 8
        data = bytearray(path.read_bytes())
        value = int.from_bytes(data[at : at + width], "big", signed=True) + more
        data[at : at + width] = value.to_bytes(width, "big", signed=True)
        data[2:6] = headers.crc32c(bytes(data), 6, len(data)).to_bytes(4, "big")
        path.write_bytes(data)

    return change


def ahead(name: str, more: int = 5) -> Callable[[Path], object]:
    """A checkpoint's offset of the partition is higher."""

    def change(folder: Path) -> None:
        path = folder.parent / name
        topic, _, number = folder.name.rpartition("-")
        lines = path.read_text().split("\n")
        changed = [
            f"{topic} {number} {int(line.split()[2]) + more}" if line.startswith(f"{topic} {number} ") else line
            for line in lines
        ]
        assert changed != lines
        path.write_text("\n".join(changed))

    return change


def edited(name: str, old: str, new: str) -> Callable[[Path], object]:
    def change(folder: Path) -> None:
        path = folder / name
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new, 1))

    return change


def gone(suffix: str, number: int) -> Callable[[Path], object]:
    return lambda folder: beside(segments(folder)[number], suffix).unlink()


# The one code above a note; none where the scan of the log itself tells it: a gap, a torn batch.
DAMAGE: Final[dict[str, tuple[Callable[[Path], object], list[str]]]] = {
    "first segment removed": (removed(0), ["segment-missing"]),
    "first segment removed with all beside it": (removed_with_indexes(0), ["leader-epochs-mismatch"]),
    "inner segment removed": (removed(2), []),
    "last segment removed": (removed(-1), ["log-cut-short"]),
    "last segment removed with all beside it": (removed_with_indexes(-1), ["log-cut-short"]),
    "foreign first segment": (foreign(0), ["segment-foreign"]),
    "foreign inner segment": (foreign(1), ["segment-foreign"]),
    "another segment's index": (other_index(".index", 1, 2), ["index-mismatch"]),
    "another segment's time index": (other_index(".timeindex", 1, 2), ["time-index-mismatch"]),
    "another segment's transaction index": (other_index(".txnindex", 2, 4), ["txn-index-mismatch"]),
    "no transaction index": (gone(".txnindex", 2), ["txn-index-mismatch"]),
    "no index": (gone(".index", 2), []),
    "last batch of the log cut off": (cut(-1), ["log-cut-short", "log-end-falls-back"]),
    "last batch of an inner segment cut off": (cut(1), ["log-cut-short"]),
    "last batch of the log torn": (torn(-1), ["log-end-falls-back"]),  # the index points to it
    "last batch of an inner segment torn": (torn(2), []),
    "a batch of the log overwritten": (overwritten(-1), []),
    "a batch of an inner segment overwritten": (overwritten(1), []),
    "a snapshot's producer": (snapshot_entry("producer_id", 40), ["snapshot-mismatch"]),
    "a snapshot's epoch": (snapshot_entry("producer_epoch"), ["snapshot-mismatch"]),
    "a snapshot's sequence": (snapshot_entry("last_sequence"), ["snapshot-mismatch"]),
    "a snapshot's offset": (snapshot_entry("last_offset", -1), ["snapshot-mismatch"]),
    "a snapshot's batch size": (snapshot_entry("offset_delta"), ["snapshot-mismatch"]),
    "a snapshot's time": (snapshot_entry("timestamp"), ["snapshot-mismatch"]),
    "a snapshot's coordinator epoch": (snapshot_entry("coordinator_epoch"), ["snapshot-mismatch"]),
    "a snapshot's transaction": (snapshot_entry("current_txn_first_offset"), ["snapshot-mismatch"]),
    "recovery point ahead": (ahead("recovery-point-offset-checkpoint"), ["checkpoint-ahead"]),
    "high watermark ahead": (ahead("replication-offset-checkpoint"), ["checkpoint-ahead"]),
    "recovery point behind": (ahead("recovery-point-offset-checkpoint", -5), ["checkpoint-wrong"]),
    "epoch not the batches'": (edited("leader-epoch-checkpoint", "0 0", "1 0"), ["leader-epochs-mismatch"]),
    "epoch from another offset": (edited("leader-epoch-checkpoint", "0 0", "0 7"), ["leader-epochs-mismatch"]),
    "an id that is none": (edited("partition.metadata", "topic_id: ", "topic_id: x"), ["partition-metadata-wrong"]),
}

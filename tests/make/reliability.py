"""Golden files of brokers, damaged in every small way, and what a verification says: counted by class.

A mutant is flagged where the verification of its directory says something that it does not say of the whole one, silent
where it says the same. A segment is scanned first, which is what a verification does with it and much quicker: only
what a scan leaves silent is verified among its side files.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import build
from kafkalog.auditing.verification.verifying import verify
from kafkalog.kafka.layout import (
    ABORTED_TXN,
    OFFSET_INDEX_ENTRY,
    PRODUCER_SNAPSHOT,
    PRODUCER_STATE_ENTRY,
    TIME_INDEX_ENTRY,
    Layout,
)
from official import FIXTURES

__all__ = ["NUMBERS", "SIDE_FILES", "STEP", "Copied", "Tally", "cuts", "field_at", "flips", "kind_of", "publish"]

STEP: Final = int(os.environ.get("KAFKALOG_EVERY", "1"))  # 1: every damage there is
NUMBERS: Final = FIXTURES.parent / "reliability.json"
HANG_SECONDS: Final = 5  # of a core, for a file of some hundred bytes

# Side files, each with a log beside it that says otherwise: name below the fixtures.
SIDE_FILES: Final = (
    "k4-a-interleaved-tv2-killed/data/parcels-parcels.91-0/00000000000000000000.index",
    "k4-b-foreign-encodings/data/refunds-invoices.11-0/00000000000000000000.index",
    "k4-b-codecs/data/refunds-trades.67-1/00000000000000000000.index",
    "k4-a-interleaved-tv2/data/parcels-riders.94-0/00000000000000000000.index",
    "k4-a-interleaved-tv2/data/parcels-riders.94-0/00000000000000000000.timeindex",
    "k4-b-codecs/data/refunds-trades.67-1/00000000000000000000.timeindex",
    "k4-a-interleaved-tv2-killed/data/parcels-parcels.91-0/00000000000000000000.timeindex",
    "k4-a-interleaved-tv2/data/parcels-riders.94-0/00000000000000000000.txnindex",
    "k4-b-codecs/data/refunds-trades.67-1/00000000000000000000.txnindex",
    "k4-d-fencing-tv2-400/data/riders-orders.94-0/00000000000000000000.txnindex",
    "k4-c-group-offsets-tv0/data/__consumer_offsets-3/00000000000000000000.txnindex",
    "k4-a-interleaved-tv2-killed/data/parcels-parcels.91-0/00000000000000000013.snapshot",
    "k4-b-codecs/data/refunds-trades.67-1/00000000000000000043.snapshot",
    "k4-b-codecs/data/refunds-trades.67-1/leader-epoch-checkpoint",
    "k4-k-unclean-election/data-3/trades-coupons.95-0/leader-epoch-checkpoint",
    "k4-b-codecs/data/refunds-trades.67-1/partition.metadata",
    "k4-b-foreign-encodings/data/refunds-invoices.11-0/partition.metadata",
    "k4-b-foreign-encodings/data/meta.properties",
    "k4-b-foreign-encodings/data/recovery-point-offset-checkpoint",
    "k4-b-foreign-encodings/data/replication-offset-checkpoint",
    "k4-b-foreign-encodings/data/log-start-offset-checkpoint",
    "k4-i-compacted-markers-gone/data/cleaner-offset-checkpoint",
    "k4-a-interleaved-tv2-killed/data/__cluster_metadata-0/00000000000000000000-0000000000.checkpoint",
    "k4-m-metadata-groups-44/data/__cluster_metadata-0/quorum-state",
)


@dataclass
class Tally:
    """What became of a class's mutants; `silent` counts those of the list of what nothing can witness, by field."""

    files: int = 0
    inputs: int = 0
    flagged: int = 0
    uncaught: int = 0
    hangs: int = 0
    silent: Counter[str] = field(default_factory=Counter)

    def as_json(self) -> dict[str, object]:
        """Return the numbers."""
        return {
            "files": self.files, "inputs": self.inputs, "flagged": self.flagged, "silent": sum(self.silent.values()),
            "uncaught": self.uncaught, "hangs": self.hangs, "silent_by_field": dict(sorted(self.silent.items())),
        }  # fmt: skip


def publish(name: str, tally: Tally) -> None:
    """Put a class's numbers into the file that the docs show."""
    with NUMBERS.open("a+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        numbers = json.loads(file.read() or "{}")
        numbers[name] = {"every": STEP, **tally.as_json()}
        file.seek(0)
        file.truncate()
        file.write(json.dumps(dict(sorted(numbers.items())), indent=1) + "\n")


class Copied:
    """A golden file in a copy of its log directory: what lies beside it, and the root's own files, but no other log."""

    def __init__(self, name: str, folder: Path) -> None:
        source = FIXTURES / name
        self.name = name
        data = next(parent for parent in source.parents if parent.name.startswith("data"))
        self.root = folder / "data"
        self.root.mkdir()
        for path in data.iterdir():
            if path.is_file():
                shutil.copyfile(path, self.root / path.name)
        if source.parent != data:
            shutil.copytree(source.parent, self.root / source.parent.name, copy_function=shutil.copyfile)
        else:
            for path in (path for path in data.iterdir() if path.is_dir()):
                shutil.copytree(path, self.root / path.name, copy_function=shutil.copyfile)
        self.path = self.root / source.relative_to(data)
        self.whole = source.read_bytes()
        self.healthy = self.said()

    def said(self) -> Counter[tuple[object, ...]]:
        """Return what a verification of the directory says, comparable."""
        found = verify([self.root])
        rows = [(f.code, f.file, f.position, f.offset, f.message) for f in found.findings()]
        return Counter(rows)

    def try_one(self, data: bytes, tally: Tally) -> bool:
        """Verify the directory with `data` in the file's place; say whether that was silent."""
        self.path.write_bytes(data)
        begun = time.process_time()
        tally.inputs += 1
        try:
            said = self.said()
        except Exception:  # any that escapes is what is counted
            tally.uncaught += 1
            return False
        finally:
            self.path.write_bytes(self.whole)
        tally.hangs += time.process_time() - begun > HANG_SECONDS
        silent = said == self.healthy
        tally.flagged += not silent
        return silent


def kind_of(name: str) -> str:
    """Return the kind of side file that a name says."""
    last = name.rpartition("/")[2]
    return last.rpartition(".")[2] if last[0].isdigit() or last == "partition.metadata" else last


_ENTRIES: Final[dict[str, tuple[Layout | None, Layout]]] = {
    "index": (None, OFFSET_INDEX_ENTRY),
    "timeindex": (None, TIME_INDEX_ENTRY),
    "txnindex": (None, ABORTED_TXN),
    "snapshot": (PRODUCER_SNAPSHOT, PRODUCER_STATE_ENTRY),
}


def field_at(name: str, data: bytes, position: int) -> str:
    """Say which field of a side file a byte belongs to: ``kind: field``, of a text file by line."""
    kind = kind_of(name)
    if kind not in _ENTRIES:
        line = data[:position].count(b"\n")
        if kind.endswith("checkpoint"):
            return f"{kind}: {('version', 'count')[line] if line < 2 else 'entry'}"
        text = data.split(b"\n")[line].decode("utf-8", "replace")
        return f"{kind}: {'comment' if text.startswith('#') else text.partition('=')[0].partition(':')[0].strip()}"
    head, entry = _ENTRIES[kind]
    skipped = head.size if head else 0
    if head and position < skipped:
        return f"{kind}: {_named(head, position)}"
    return f"{kind}: {_named(entry, (position - skipped) % entry.size)}"


def _named(layout: Layout, position: int) -> str:
    return [name for name in layout.names if layout.position(name) <= position][-1]


def flips(data: bytes, step: int = 1) -> Iterator[tuple[int, bytes]]:
    """Yield each single-bit flip, or every `step`-th, with the byte's position."""
    for bit in range(0, 8 * len(data), step):
        yield bit >> 3, build.flipped(data, bit)


def cuts(data: bytes, step: int = 1) -> Iterable[tuple[int, bytes]]:
    """Yield each truncation, or every `step`-th, with its length."""
    return ((size, data[:size]) for size in range(0, len(data), step))

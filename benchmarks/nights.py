"""Measure what keeping scans costs an audit, and what the next night's audit costs that takes them.

    python benchmarks/nights.py --size 1GiB

CPU seconds of one process, without its start, medians of the rounds; each night's audit is of the same tree with one
segment more. The audits write no tables: these cost the same on both nights.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
import time
from pathlib import Path
from statistics import median

from generate import write_log_directory
from kafkalog.auditing.pipeline import Keeping, KeptScans, LocalFolder, audit
from kafkalog.auditing.transactions import AuditOptions
from shapes import parse_size

__all__ = ["nights"]

_OPTIONS = AuditOptions(jobs=1)
_SEGMENT = 64 << 20
_SMALL = 257 << 10  # segments of it are a little smaller, and of one below 256 KiB no scan is kept


def _seconds(root: Path, folder: Path | None, earlier: Path | None) -> float:
    """Audit a tree; return the CPU seconds."""
    if folder is not None:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
    keeping = Keeping(None if folder is None else LocalFolder(str(folder)))
    kept = KeptScans(keeping, () if earlier is None else (str(earlier),), 2**62)
    started = time.process_time()
    audit([root], _OPTIONS, kept=kept)
    return time.process_time() - started


def nights(name: str, root: Path, scratch: Path, rounds: int) -> str:
    """Measure a tree, whose partition ``topic-0`` loses its last segment for the first night; return a line."""
    last = max((root / "topic-0").glob("*.log"))
    first, second, aside = scratch / "first", scratch / "second", scratch / last.name
    plain, keeping, night, fresh = [], [], [], []
    for _ in range(rounds):
        last.rename(aside)
        plain.append(_seconds(root, None, None))
        keeping.append(_seconds(root, first, None))
        aside.rename(last)
        fresh.append(_seconds(root, None, None))
        night.append(_seconds(root, second, first))
    size = sum(path.stat().st_size for path in first.iterdir())
    cost = median(one / other for one, other in zip(keeping, plain, strict=True))
    share = median(one / other for one, other in zip(night, fresh, strict=True))
    return f"| {name} | {median(plain):.2f} s | {cost:.3f} | {share:.3f} | {size / 2**20:.1f} MiB |"


def _tree(folder: Path, partitions: int, each: int, segment_size: int = _SEGMENT) -> Path:
    """Write one partition of `each` bytes, and link it as often as there are to be partitions."""
    write_log_directory(folder, 1, "155B", size=each, segment_size=segment_size)
    for number in range(1, partitions):
        (folder / f"topic-{number}").mkdir()
        for path in (folder / "topic-0").iterdir():
            (folder / f"topic-{number}" / path.name).hardlink_to(path)
    return folder


def main() -> None:
    """Measure one partition of many segments, and many partitions of one or some."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=parse_size, default="1GiB", help="of the partition (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=3)
    asked = parser.parse_args()
    print("| tree | audited | keeping scans, x that | the next night, x a fresh audit | the scans |")
    print("|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as scratch:
        here = Path(scratch)
        for name, *shape in (
            (f"one partition in segments of {_SEGMENT >> 20} MiB", 1, asked.size),
            ("1,000 partitions of 1 MiB", 1_000, 1 << 20),
            ("1,500 partitions of five segments of 257 KiB", 1_500, 5 * _SMALL, _SMALL),
            ("5,000 partitions of 16 KiB", 5_000, 16 << 10),
        ):
            tree = _tree(here / "-".join(map(str, shape)), *shape)
            print(nights(name, tree, here, asked.rounds), flush=True)


if __name__ == "__main__":
    main()

"""Make the trees that bulk audits are measured on, and write the page of what they cost.

    python benchmarks/bulk_results.py --data benchmarks/data/bulk
    python benchmarks/bulk_results.py --data benchmarks/data/bulk -o benchmarks/RESULTS-bulk.md

Without ``-o`` only the trees are made (20 GB, some minutes). Measuring takes some ten minutes of a quiet machine. What
the page has from ``## Measured once`` on stays.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

from bulk_nights import Nights
from bulk_nights import measured as nights
from bulk_skew import Skew
from bulk_skew import measured as skew
from bulk_trees import Tree
from bulk_trees import measured as trees
from generate import write_log_directory
from report import facts, table
from transactions import Transactions, write_transactions

__all__ = ["made", "page"]

_MIB = 1 << 20
_ONCE = "## Measured once"


def _nothing(path: Path, _: int) -> None:
    write_log_directory(path, 1, "155B", size=64 << 10)


def _one_partition(path: Path, scale: int) -> None:
    write_log_directory(path, 1, "155B", size=2048 * _MIB // scale, segment_size=64 * _MIB, producers=10)


def _big_batches(path: Path, scale: int) -> None:
    write_log_directory(path, 1, "16KiB", size=2048 * _MIB // scale, segment_size=64 * _MIB, producers=10)


def _large_partition(path: Path, scale: int) -> None:
    write_log_directory(path, 1, "155B", size=8192 * _MIB // scale, segment_size=256 * _MIB, producers=40)


def _partitions(path: Path, scale: int) -> None:
    write_log_directory(path, 5000 // scale, "155B", size=5000 // scale * _MIB // 4)


def _with_states(path: Path, scale: int) -> None:
    number = 1_000_000 // scale // 3  # each transaction has three records
    write_transactions(path, Transactions(number, 1000, 5000 // scale, state_partitions=10))


def _small_segments(path: Path, scale: int) -> None:
    write_log_directory(path, 10, "155B", size=80 * _MIB // scale, segment_size=16 << 10, producers=10)


# What each tree is at full size, and what makes it so many times smaller.
_TREES: dict[str, tuple[str, Callable[[Path, int], None]]] = {
    "nothing": ("one log of 64 KiB: what a job costs", _nothing),
    "one partition": ("one log of 2 GiB in segments of 64 MiB, batches of 155 bytes, 10 producers", _one_partition),
    "big batches": ("the same in batches of 16 KiB", _big_batches),
    "large partition": (
        "one log of 8 GiB in segments of 256 MiB, batches of 155 bytes, 40 producers", _large_partition
    ),
    "partitions": ("5,000 logs of 256 KiB, batches of 155 bytes", _partitions),
    "with states": ("333,333 transactions in 5,000 logs, and their million records in 10 of the coordinator",
                    _with_states),
    "small segments": ("10 logs of 8 MiB in segments of 16 KiB, batches of 155 bytes", _small_segments),
}  # fmt: skip


def made(data: Path, scale: int) -> dict[str, Path]:
    """Make the trees that are missing, `scale` times smaller than on the page; return them by their names."""
    found = {name: data / name.replace(" ", "-") for name in _TREES}
    for name, path in found.items():
        if path.exists():
            continue
        started, making = time.perf_counter(), path.with_suffix(".making")
        _TREES[name][1](making, scale)
        making.rename(path)
        print(f"{path}: made in {time.perf_counter() - started:.0f} s", file=sys.stderr, flush=True)
    return found


def page(paths: dict[str, Path], against: Path | None, rounds: int) -> str:
    """Measure the trees and return the page. Raises CandidateError."""
    measured_on = f"{time.strftime('%d %B %Y', time.gmtime())}, load {os.getloadavg()[2]:.1f} before"
    of_trees = [Tree(path) for path in paths.values()]
    trees(of_trees, against, rounds)
    of_skew = [Skew(paths[name]) for name in ("large partition", "one partition", "partitions")]
    skew(of_skew, 1)
    of_nights = [Nights(paths[name]) for name in ("large partition", "one partition", "big batches")]
    nights(of_nights, rounds)
    machine = [*facts(None), ("Spark", _spark()), ("measured on", measured_on)]
    head_of_trees = ("tree", "local before", "local now", "bulk audit", "its seconds", "bulk audit / local")
    return "\n".join(
        (
            "# What a bulk audit costs\n",
            table(("", ""), machine),
            "Core seconds are user and system time of all processes: the driver, the JVM, the Python workers. Sessions"
            "\nare warm, and their start is not counted. All audits write all tables, keep the scans of segments from"
            "\n256 KiB on, and tell incidents. `python benchmarks/bulk_results.py` made this page.\n",
            table(("tree", "what it is"), ((paths[name].name, what) for name, (what, _) in _TREES.items())),
            "## Beside the local engine\n\nCore seconds of the local engine with two jobs, and of a bulk audit on"
            f" `local[2]`; medians of {rounds} rounds.\n",
            table(head_of_trees, map(_cells, of_trees)),
            "## One core and two, and the longest task\n\nCore seconds on `local[1]` and on `local[2]`. The goals: a"
            " second core costs at most 20 % more,\nand no task of the judge takes a tenth of the seconds of all"
            " tasks.\n",
            table(("tree", "one core", "two cores", "two / one", "the longest tasks"), map(_cells, of_skew)),
            "## The next night\n\nCore seconds. One segment came after the first night; the rows of all tables are"
            " written anew.\n",
            table(
                ("tree", "a job of next to nothing", "first night", "second night", "second of the first"),
                map(_cells, of_nights),
            ),
        )
    )


def _cells(measured: Tree | Skew | Nights) -> list[str]:
    return [cell.strip() for cell in measured.line().strip("|").split("|")]


def _spark() -> str:
    import pyspark

    return str(pyspark.__version__)


def main() -> None:
    """Make what is missing; measure it if the page is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, metavar="DIR", help="where the trees are")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE")
    parser.add_argument("--against", type=Path, metavar="CHECKOUT", help="whose local engine is compared, too")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--scale", type=int, default=1, metavar="N", help="make trees N times smaller")
    asked = parser.parse_args()
    asked.data.mkdir(parents=True, exist_ok=True)
    paths = made(asked.data, asked.scale)
    if asked.output is None:
        return
    before = asked.output.read_text(encoding="utf-8") if asked.output.exists() else ""
    text = page(paths, asked.against, asked.rounds)
    once = before[before.index(_ONCE) :] if _ONCE in before else ""
    asked.output.write_text(text + (f"\n{once}" if once else ""), encoding="utf-8")


if __name__ == "__main__":
    main()

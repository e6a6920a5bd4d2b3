"""Write a log directory of many partitions, each of three small files, and time an audit of it.

    python benchmarks/many.py --partitions 10000 -o many

A partition has one segment of a few batches and ended transactions, a leader-epoch-checkpoint and a partition.metadata:
what a broker keeps of a topic that is hardly used.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import time
from pathlib import Path

from generate import write_log_directory

__all__ = ["write_many"]

EACH = 2000  # bytes of a segment, about
METADATA = "version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAQ\n"
EPOCHS = "0\n1\n0 0\n"


def write_many(directory: Path, partitions: int) -> None:
    """Write `partitions` partitions; what is there already is written again."""
    write_log_directory(directory, partitions, "155B", size=EACH * partitions, producers=1)
    for number in range(partitions):
        partition = directory / f"topic-{number}"
        (partition / "leader-epoch-checkpoint").write_text(EPOCHS, encoding="utf-8")
        (partition / "partition.metadata").write_text(METADATA, encoding="utf-8")


def main() -> None:
    """Write what the arguments ask for, audit it as a command, and print its seconds and those for each partition."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--partitions", type=int, default=10_000, metavar="N")
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="DIR", help="kept for the next run")
    asked = parser.parse_args()
    directory = asked.output / f"many-{asked.partitions}"
    if not directory.exists():
        write_many(directory, asked.partitions)
    argv = [sys.executable, "-m", "kafkalog_cli", "txn-audit", "--jobs", "1", directory]
    started = time.perf_counter()
    subprocess.run(argv, stdout=subprocess.DEVNULL, check=True)
    seconds = time.perf_counter() - started
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    busy = usage.ru_utime + usage.ru_stime
    each = 1000 * busy / asked.partitions
    print(f"{asked.partitions} partitions: {seconds:.2f} s, {busy:.2f} s of CPU, {each:.3f} ms each")


if __name__ == "__main__":
    main()

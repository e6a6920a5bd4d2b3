"""Write big segments of magic 2 batches, or log directories of them, quickly and the same for the same seed.

    python benchmarks/generate.py --shape 16KiB --codec zstd --size 1GiB -o 00000000000000000000.log
    python benchmarks/generate.py --shape 155B --size 1GiB --partitions 4 --producers 100 -o data

Offsets are contiguous, every producer's sequences follow one another (the first producer's wrap early on), timestamps
rise, and every CRC is right. A transactional log ends with the markers of what is still open. What was written is
counted on standard output, as JSON.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from dataclasses import asdict, replace
from pathlib import Path

from batches import Log, Written
from shapes import CODECS, MARKER_EVERY, SEGMENT_SIZE, SHAPES, parse_size

__all__ = ["write_log_directory", "write_segment"]

FIRST_PRODUCER_ID = 1000
DEFAULT_PRODUCERS = 5
META_PROPERTIES = "version=1\ncluster.id=benchmark-of-kafkalog-0\nnode.id=1\n"


def write_segment(
    path: Path,
    shape: str,
    codec: str = "none",
    size: int = 64 << 20,
    *,
    producers: int = DEFAULT_PRODUCERS,
    seed: int = 1,
) -> Written:
    """Write one segment of `size` bytes: at most one batch less, but at least one batch, and the last markers.

    `shape` and `codec` are names of `SHAPES` and `CODECS`. Raises OSError; a file cut short by it stays.
    """
    log = Log(SHAPES[shape], codec, producers, seed, FIRST_PRODUCER_ID)
    _fill(path, log, size)
    _append(path, log.last_markers())
    return log.written


def write_log_directory(
    directory: Path,
    partitions: int,
    shape: str,
    codec: str = "none",
    size: int = 64 << 20,
    *,
    segment_size: int = SEGMENT_SIZE,
    producers: int = DEFAULT_PRODUCERS,
    seed: int = 1,
    topic: str = "topic",
    marker_every: int = MARKER_EVERY,
) -> Written:
    """Write a broker's log directory of `size` bytes: partitions ``topic-0``, ``topic-1`` and so on, all transactional.

    A segment of `segment_size` bytes is rolled. Each partition has `producers` of its own, so no transaction spans
    partitions.
    """
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "meta.properties").write_text(META_PROPERTIES, encoding="utf-8")
    written = Written()
    for number in range(partitions):
        partition = directory / f"{topic}-{number}"
        partition.mkdir(exist_ok=True)
        first = FIRST_PRODUCER_ID + number * producers
        log = Log(replace(SHAPES[shape], marker_every=marker_every), codec, producers, seed, first)
        _write_partition(partition, log, size // partitions, segment_size)
        written += log.written
    return written


def _write_partition(partition: Path, log: Log, size: int, segment_size: int) -> None:
    left = size
    while left == size or left >= log.largest:
        path = partition / f"{log.offset:020}.log"
        left -= _fill(path, log, min(segment_size, left))
    _append(path, log.last_markers())


def _fill(path: Path, log: Log, size: int) -> int:
    """Write batches to a new file, at least one, as many as fit into `size` bytes; return how many bytes they take."""
    room = size = max(size, log.largest)
    with path.open("wb", buffering=0) as file:
        while data := log.next_batches(room):
            room -= _write(file.fileno(), data)
    return size - room


def _append(path: Path, data: bytearray) -> None:
    with path.open("ab", buffering=0) as file:
        _write(file.fileno(), data)


def _write(descriptor: int, data: bytearray) -> int:
    """Write all of `data`; a raw file may accept only a part at a time."""
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]
    return len(data)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shape", choices=SHAPES, default="16KiB", help="size of the batches (default: %(default)s)")
    parser.add_argument("--codec", choices=CODECS, default="none")
    parser.add_argument("--size", type=parse_size, default="64MiB", help="of all files (default: %(default)s)")
    parser.add_argument("--producers", type=int, default=DEFAULT_PRODUCERS, metavar="N", help="of each partition")
    parser.add_argument(
        "--partitions",
        type=int,
        metavar="N",
        help="write a log directory OUT with topic-0 to topic-(N-1), transactional",
    )
    parser.add_argument("--segment-size", type=parse_size, default="128MiB", help="in a log directory (%(default)s)")
    every = "data batches of a producer's transaction in a log directory (%(default)s)"
    parser.add_argument("--marker-every", type=int, default=MARKER_EVERY, metavar="N", help=every)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="OUT", help="a file, or see --partitions")
    arguments = parser.parse_args()
    if arguments.producers < 1 or (arguments.partitions is not None and arguments.partitions < 1):
        parser.error("--producers and --partitions must be 1 or more")
    return arguments


def main() -> None:
    """Write what the arguments ask for and print its counts, and on standard error how fast that was."""
    asked = _arguments()
    started = time.perf_counter()
    what = (asked.shape, asked.codec, asked.size)
    if asked.partitions is None:
        done = write_segment(asked.output, *what, producers=asked.producers, seed=asked.seed)
    else:
        done = write_log_directory(
            asked.output,
            asked.partitions,
            *what,
            segment_size=asked.segment_size,
            producers=asked.producers,
            seed=asked.seed,
            marker_every=asked.marker_every,
        )
    seconds = time.perf_counter() - started
    print(json.dumps(asdict(done)))
    print(f"{seconds:.2f} s: {done.size_bytes / seconds / 1e6:.0f} MB/s", file=sys.stderr)


if __name__ == "__main__":
    main()

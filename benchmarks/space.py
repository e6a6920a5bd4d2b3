"""What ``kafkalog space`` costs: beside ``txn-audit`` without keys, and by the bytes of dirty records with them.

    python benchmarks/space.py --rounds 3 -o data

CPU time of whole processes, for rates that of a warm library in this process. Log directories are written once.
"""

from __future__ import annotations

import argparse
import random
import resource
import statistics
import struct
import subprocess
import sys
import time
from pathlib import Path
from typing import Final

from crc32c import crc32c

from batches import CRC_AT, CRC_FROM, HEADER
from candidates import RSS_UNIT
from generate import META_PROPERTIES, write_log_directory
from kafkalog.auditing.space import SpaceOptions, measure
from shapes import parse_size
from templates import varint

KAFKALOG: Final = str(Path(sys.executable).with_name("kafkalog"))
AUDITED: Final = (("155B", 1, 10), ("16KiB", 1, 10), ("16KiB", 1000, 10))  # shape, partitions, producers of each
KEYED: Final = ((20, "16-byte keys, 20-byte values"), (100, "100-byte values"), (1000, "1000-byte values"))
EACH: Final = 100  # records of a batch
DIFFERENT: Final = 200_000  # keys
SEGMENT: Final = 128 << 20


def write_keyed(directory: Path, value: int, size: int) -> None:
    """Write one partition of dirty records whose keys come again and again; the last segment has one record."""
    partition = directory / "t-0"
    partition.mkdir(parents=True)
    (directory / "meta.properties").write_text(META_PROPERTIES, encoding="utf-8")
    rng = random.Random(1)
    different = [_batch([(b"%016x" % rng.getrandbits(64), rng.randbytes(value)) for _ in range(EACH)])
                 for _ in range(DIFFERENT // EACH)]  # fmt: skip
    offset = number = 0
    while size > 0:
        with (partition / f"{offset:020}.log").open("wb") as file:
            while file.tell() < min(SEGMENT, size):
                data = different[number % len(different)]
                struct.pack_into(">q", data, 0, offset)
                file.write(data)
                offset, number = offset + EACH, number + 1
            size -= file.tell()
    data = _batch([(b"own", b"v")])
    struct.pack_into(">q", data, 0, offset)
    (partition / f"{offset:020}.log").write_bytes(data)


def _batch(records: list[tuple[bytes, bytes]]) -> bytearray:
    body = bytearray()
    for number, (key, value) in enumerate(records):
        record = b"\0" + varint(0) + varint(number) + varint(len(key)) + key + varint(len(value)) + value + varint(0)
        body += varint(len(record)) + record
    header = bytearray(HEADER.itemsize)
    struct.pack_into(">qiibIhiqqqhii", header, 0, 0, len(header) - 12 + len(body), 0, 2, 0, 0, len(records) - 1,
                     1_795_251_278_420, 1_795_251_278_420, -1, -1, -1, len(records))  # fmt: skip
    data = header + body
    struct.pack_into(">I", data, CRC_AT, crc32c(bytes(data[CRC_FROM:])))
    return data


def _cpu(*arguments: str | Path) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([KAFKALOG, *map(str, arguments)], stdout=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _rate(directory: Path, topic: str, rounds: int) -> tuple[float, float]:
    """Return bytes a second of CPU with keys, and the bytes."""
    options = SpaceOptions(keys=True, topics={topic: {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "1.0"}})
    size = sum(path.stat().st_size for path in directory.glob("*/*.log"))
    seconds = []
    for _ in range(rounds + 1):
        started = time.process_time()
        measure([directory], options)
        seconds.append(time.process_time() - started)
    return size / statistics.median(seconds[1:]), size


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=parse_size, default="256MiB")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="DIR")
    given = parser.parse_args()
    print("| what | measured | goal |  |\n| --- | --- | --- | --- |")
    for shape, partitions, producers in AUDITED:
        home = given.output / f"space-{shape}-{partitions}"
        if not home.exists():
            write_log_directory(home, partitions, shape, "none", given.size, producers=producers)
        ratio = statistics.median(
            _cpu("space", home) / _cpu("txn-audit", "--jobs", "1", home) for _ in range(given.rounds)
        )
        about = f"{shape}, {producers} producers in each of {partitions:,} partitions"
        print(f"| without keys: {about} | {ratio:.2f} x txn-audit | <= 1.1 | {_met(ratio <= 1.1)} |")
    for value, about in KEYED:
        home = given.output / f"space-keyed-{value}"
        if not home.exists():
            write_keyed(home, value, given.size)
        _print_rate(about, _rate(home, "t", given.rounds)[0])
    for shape, partitions, _ in AUDITED[:2]:
        rate, _ = _rate(given.output / f"space-{shape}-{partitions}", "topic", given.rounds)
        _print_rate(f"{shape} batches of transactions", rate)
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * RSS_UNIT >> 20
    print(f"| peak RSS of these, {DIFFERENT:,} keys | {most} MiB |  |  |")


def _print_rate(about: str, rate: float) -> None:
    print(f"| with keys: {about} | {rate / 1e6:.0f} MB/s | >= 300 MB/s | {_met(rate >= 300e6)} |")


def _met(met: bool) -> str:
    return "met" if met else "**short**"


if __name__ == "__main__":
    main()

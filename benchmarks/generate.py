"""Write big segments of magic 2 batches, quickly and the same for the same seed.

    python benchmarks/generate.py --shape 16KiB --codec zstd --size 1GiB -o 00000000000000000000.log
    python benchmarks/generate.py --shape 155B --size 256MiB --partitions 4 -o data

Offsets are contiguous, every producer's sequences follow one another (the first producer's wrap early on), timestamps
rise, and every CRC is right. A transactional segment ends with the markers of what is still open.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
from crc32c import crc32c

from shapes import CODECS, SEGMENT_NAME, SHAPES, Shape, parse_size
from templates import COMMIT_MARKER, HEADER_SIZE, templates

__all__ = ["Written", "write_partitions", "write_segment"]

_FIELDS = [
    ("base_offset", ">i8"),
    ("batch_length", ">i4"),
    ("leader_epoch", ">i4"),
    ("magic", "i1"),
    ("crc", ">u4"),
    ("attributes", ">i2"),
    ("last_offset_delta", ">i4"),
    ("base_timestamp", ">i8"),
    ("max_timestamp", ">i8"),
    ("producer_id", ">i8"),
    ("producer_epoch", ">i2"),
    ("base_sequence", ">i4"),
    ("record_count", ">i4"),
]
HEADER = np.dtype(_FIELDS)
LENGTH_END = 12  # batch_length counts what follows it
CRC_AT = 17
CRC_FROM = 21
TRANSACTIONAL = 0x10
CONTROL = 0x20
SEQUENCES = 1 << 31  # the number after 2147483647 is 0

CHUNK_BYTES = 2 << 20  # stays in the cache between being put together, summed and written
FIRST_TIMESTAMP = 1_700_000_000_000
FIRST_PRODUCER_ID = 1000
DEFAULT_PRODUCERS = 5

Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Written:
    """What a segment holds."""

    bytes: int
    batches: int
    records: int  # control records too


class _Log:
    """What the next batch of a log goes on from: offset, time, turn, sequences and open transactions.

    Producers take turns. With markers, each producer's turns are `marker_every` batches and a marker, and the
    producers are at different places of that cycle, so transactions overlap.
    """

    def __init__(self, shape: Shape, codec: str, producers: int, seed: int, first_producer_id: int) -> None:
        kinds = templates(shape, codec, seed)
        self.sections = [kind.section for kind in kinds] + [COMMIT_MARKER.section]
        self.marker = len(kinds)  # the last of the kinds
        self._sizes = np.array([HEADER_SIZE + len(section) for section in self.sections])
        self._records = np.array([kind.records for kind in kinds] + [COMMIT_MARKER.records])
        self._spans = np.array([kind.last_timestamp_delta for kind in kinds] + [0])
        self._attributes = np.full(len(self.sections), CODECS[codec] | (TRANSACTIONAL if shape.marker_every else 0))
        self._attributes[self.marker] = TRANSACTIONAL | CONTROL
        self._cycle = shape.marker_every
        self._phase = np.arange(producers) * shape.marker_every // producers
        self._producers = producers
        self._first_producer_id = first_producer_id
        self._rng = np.random.default_rng(seed)
        self._turn = 0
        self._offset = 0
        self._timestamp = FIRST_TIMESTAMP
        self._sequences = np.zeros(producers, np.int64)
        self._sequences[0] = SEQUENCES - 1000
        self._open = np.zeros(producers, np.bool_)
        self.chunk = max(1, CHUNK_BYTES // int(self._sizes[: self.marker].mean()))

    def next_chunk(self, room: int) -> tuple[Integers, npt.NDArray[np.void]]:
        """Return kind and header of the next batches, no more than `room` bytes of them."""
        turns = self._turn + np.arange(self.chunk)
        kinds = self._rng.integers(0, self.marker, self.chunk)
        if self._cycle:
            kinds[
                (turns // self._producers + self._phase[turns % self._producers]) % (self._cycle + 1) == self._cycle
            ] = self.marker
        fits = int(np.searchsorted(np.cumsum(self._sizes[kinds]), room, side="right"))
        kinds, turns = kinds[:fits], turns[:fits]
        headers = self._headers(kinds, turns % self._producers, self._base_sequences(kinds))
        self._turn += fits
        return kinds, headers

    def last_markers(self) -> tuple[Integers, npt.NDArray[np.void]]:
        """Return the markers that end what is still open, if the log is transactional at all."""
        producers = np.flatnonzero(self._open) if self._cycle else np.empty(0, np.int64)
        kinds = np.full(len(producers), self.marker)
        return kinds, self._headers(kinds, producers, kinds * 0)

    def _base_sequences(self, kinds: Integers) -> Integers:
        """Number the batches of each producer on: a table of turns, one column a producer, summed down."""
        lead = self._turn % self._producers
        rounds = -(-(lead + len(kinds)) // self._producers)
        records = np.zeros(rounds * self._producers, np.int64)
        records[lead : lead + len(kinds)] = np.where(kinds == self.marker, 0, self._records[kinds])
        table = records.reshape(rounds, self._producers)
        before = np.cumsum(table, axis=0) - table + self._sequences
        self._sequences = (self._sequences + table.sum(axis=0)) % SEQUENCES
        return before.ravel()[lead : lead + len(kinds)] % SEQUENCES

    def _headers(self, kinds: Integers, producers: Integers, sequences: Integers) -> npt.NDArray[np.void]:
        """Fill in the headers, all but their CRCs, and step on by what they hold."""
        records, steps = self._records[kinds], self._spans[kinds] + 1
        is_marker = kinds == self.marker
        headers = np.zeros(len(kinds), HEADER)
        headers["base_offset"] = self._offset + np.cumsum(records) - records
        headers["batch_length"] = self._sizes[kinds] - LENGTH_END
        headers["magic"] = 2
        headers["attributes"] = self._attributes[kinds]
        headers["last_offset_delta"] = records - 1
        headers["base_timestamp"] = self._timestamp + np.cumsum(steps) - steps
        headers["max_timestamp"] = headers["base_timestamp"] + self._spans[kinds]
        headers["producer_id"] = self._first_producer_id + producers
        headers["base_sequence"] = np.where(is_marker, -1, sequences)
        headers["record_count"] = records
        self._offset += int(records.sum())
        self._timestamp += int(steps.sum())
        self._open[producers] = ~is_marker  # a producer's last turn stays
        return headers


def write_segment(
    path: Path,
    shape: str,
    codec: str = "none",
    size: int = 64 << 20,
    *,
    producers: int = DEFAULT_PRODUCERS,
    seed: int = 1,
    first_producer_id: int = FIRST_PRODUCER_ID,
) -> Written:
    """Write one segment of `size` bytes on disk: a batch less at most, but one batch at least, and the last markers.

    `shape` and `codec` are names of `SHAPES` and `CODECS`. Raises OSError; a file cut short by it stays.
    """
    log = _Log(SHAPES[shape], codec, producers, seed, first_producer_id)
    size = max(size, HEADER_SIZE + max(map(len, log.sections)))
    written = batches = records = 0
    with path.open("wb", buffering=0) as file:
        kinds, headers = log.next_chunk(size)
        while len(kinds):
            written += _write(file.fileno(), _assemble(headers, [log.sections[kind] for kind in kinds.tolist()]))
            batches += len(kinds)
            records += int(headers["record_count"].sum())
            kinds, headers = log.next_chunk(size - written)
        kinds, headers = log.last_markers()
        written += _write(file.fileno(), _assemble(headers, [log.sections[log.marker]] * len(kinds)))
    return Written(written, batches + len(kinds), records + len(kinds))


def write_partitions(
    directory: Path,
    partitions: int,
    shape: str,
    codec: str = "none",
    size: int = 64 << 20,
    *,
    producers: int = DEFAULT_PRODUCERS,
    seed: int = 1,
    topic: str = "topic",
) -> list[Written]:
    """Write partition directories ``topic-0``, ``topic-1`` and so on, each with one segment of `size` bytes.

    No producer writes to two partitions, so no transaction spans them.
    """
    done = []
    for number in range(partitions):
        partition = directory / f"{topic}-{number}"
        partition.mkdir(parents=True, exist_ok=True)
        first = FIRST_PRODUCER_ID + number * producers
        segment = partition / SEGMENT_NAME
        done.append(write_segment(segment, shape, codec, size, producers=producers, seed=seed, first_producer_id=first))
    return done


def _assemble(headers: npt.NDArray[np.void], sections: list[bytes]) -> bytearray:
    """Put headers and record sections together and set the CRCs."""
    packed = headers.tobytes()
    parts = [b""] * (2 * len(sections))
    parts[::2] = [packed[at : at + HEADER_SIZE] for at in range(0, len(packed), HEADER_SIZE)]
    parts[1::2] = sections
    out = bytearray().join(parts)
    sizes = headers["batch_length"].astype(np.int64) + LENGTH_END
    ends = np.cumsum(sizes)
    starts = ends - sizes
    view = memoryview(out)
    covered = zip((starts + CRC_FROM).tolist(), ends.tolist(), strict=True)
    crcs = np.array([crc32c(view[start:end]) for start, end in covered], ">u4")
    octets = np.frombuffer(out, np.uint8)
    octets[starts[:, np.newaxis] + np.arange(CRC_AT, CRC_FROM)] = crcs.view(np.uint8).reshape(-1, 4)
    return out


def _write(descriptor: int, data: bytearray) -> int:
    """Write all of `data`; a raw file may take a part at a time."""
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]
    return len(data)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shape", choices=SHAPES, default="16KiB", help="size of the batches (default: %(default)s)")
    parser.add_argument("--codec", choices=CODECS, default="none")
    parser.add_argument("--size", type=parse_size, default="64MiB", help="of each file on disk (default: %(default)s)")
    parser.add_argument("--producers", type=int, default=DEFAULT_PRODUCERS, metavar="N")
    parser.add_argument("--partitions", type=int, metavar="N", help="write OUT/topic-0 to OUT/topic-(N-1)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="OUT", help="a file, or see --partitions")
    arguments = parser.parse_args()
    if arguments.producers < 1 or (arguments.partitions is not None and arguments.partitions < 1):
        parser.error("--producers and --partitions must be 1 or more")
    return arguments


def main() -> None:
    """Write what the arguments ask for and say on standard error what it holds."""
    asked = _arguments()
    started = time.perf_counter()
    if asked.partitions is None:
        options = {"producers": asked.producers, "seed": asked.seed}
        done = [write_segment(asked.output, asked.shape, asked.codec, asked.size, **options)]
    else:
        done = write_partitions(
            asked.output,
            asked.partitions,
            asked.shape,
            asked.codec,
            asked.size,
            producers=asked.producers,
            seed=asked.seed,
        )
    seconds = time.perf_counter() - started
    size, batches = sum(one.bytes for one in done), sum(one.batches for one in done)
    print(
        f"{size} bytes, {batches} batches, {sum(one.records for one in done)} records in {seconds:.2f} s:"
        f" {size / seconds / 1e6:.0f} MB/s, {batches / seconds / 1e6:.2f} M batches/s",
        file=sys.stderr,
    )


if __name__ == "__main__":
    main()

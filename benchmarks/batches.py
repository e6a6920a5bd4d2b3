"""The batches of a generated log: each continues from the one before, and every CRC is right."""

from __future__ import annotations

from dataclasses import astuple, dataclass
from operator import add

import numpy as np
import numpy.typing as npt
from crc32c import crc32c

from shapes import CODECS, Shape
from templates import HEADER_SIZE, MARKERS, templates

__all__ = ["Log", "Written"]

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

CHUNK_BYTES = 2 << 20  # small enough to stay in the cache while it is built, summed and written
FIRST_TIMESTAMP = 1_700_000_000_000
ABORTED = 16  # one transaction in 16 is aborted

Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Written:
    """A log's counts; each of its transactions is ended by one marker."""

    size_bytes: int = 0
    batches: int = 0  # of data
    records: int = 0  # of data
    committed: int = 0
    aborted: int = 0

    def __add__(self, other: Written) -> Written:
        """Count both together."""
        return Written(*map(add, astuple(self), astuple(other)))


class Log:
    """What the next batch of a log continues from: offset, time, turn, sequences and open transactions.

    Producers take turns. With markers, each producer's turns are `marker_every` batches and a marker, and the
    producers are at different places of that cycle, so transactions overlap.
    """

    def __init__(self, shape: Shape, codec: str, producers: int, seed: int, first_producer_id: int) -> None:
        kinds = list(templates(shape, codec, seed))
        self._commit, self._abort = len(kinds), len(kinds) + 1
        kinds += MARKERS
        self._sections = [kind.section for kind in kinds]
        self._sizes = np.array([HEADER_SIZE + len(section) for section in self._sections])
        self._records = np.array([kind.records for kind in kinds])
        self._spans = np.array([kind.last_timestamp_delta for kind in kinds])
        self._attributes = np.full(len(kinds), CODECS[codec] | (TRANSACTIONAL if shape.marker_every else 0))
        self._attributes[self._commit :] = TRANSACTIONAL | CONTROL
        self._cycle = shape.marker_every
        self._phase = np.arange(producers) * shape.marker_every // producers
        self._producers = producers
        self._first_producer_id = first_producer_id
        self._rng = np.random.default_rng(seed)
        self._turn = 0
        self.offset = 0
        self.largest = int(self._sizes.max())
        self.written = Written()
        self._timestamp = FIRST_TIMESTAMP
        self._sequences = np.zeros(producers, np.int64)
        self._sequences[0] = SEQUENCES - 1000
        self._open = np.zeros(producers, np.bool_)
        self._chunk = max(1, CHUNK_BYTES // int(self._sizes[: self._commit].mean()))

    def next_batches(self, room: int) -> bytearray:
        """Return some of the next batches, at most `room` bytes; nothing if the next does not fit."""
        turns = self._turn + np.arange(self._chunk)
        kinds = self._rng.integers(0, self._commit, self._chunk)
        if self._cycle:
            place = (turns // self._producers + self._phase[turns % self._producers]) % (self._cycle + 1)
            kinds = np.where(place == self._cycle, np.where(kinds % ABORTED, self._commit, self._abort), kinds)
        fits = int(np.searchsorted(np.cumsum(self._sizes[kinds]), room, side="right"))
        kinds, turns = kinds[:fits], turns[:fits]
        sequences = self._base_sequences(kinds)
        self._turn += fits
        return self._batches(kinds, turns % self._producers, sequences)

    def last_markers(self) -> bytearray:
        """Return the markers that end what is still open, if the log is transactional at all."""
        producers = np.flatnonzero(self._open) if self._cycle else np.empty(0, np.int64)
        kinds = np.full(len(producers), self._commit)
        return self._batches(kinds, producers, kinds * 0)

    def _base_sequences(self, kinds: Integers) -> Integers:
        """Number the batches of each producer on: a table of turns, one column a producer, summed down."""
        lead = self._turn % self._producers
        rounds = -(-(lead + len(kinds)) // self._producers)
        records = np.zeros(rounds * self._producers, np.int64)
        records[lead : lead + len(kinds)] = np.where(kinds >= self._commit, 0, self._records[kinds])
        table = records.reshape(rounds, self._producers)
        before = np.cumsum(table, axis=0) - table + self._sequences
        self._sequences = (self._sequences + table.sum(axis=0)) % SEQUENCES
        return before.ravel()[lead : lead + len(kinds)] % SEQUENCES

    def _batches(self, kinds: Integers, producers: Integers, sequences: Integers) -> bytearray:
        """Put batches together, count them and advance by what they contain."""
        records, steps = self._records[kinds], self._spans[kinds] + 1
        is_marker = kinds >= self._commit
        headers = np.zeros(len(kinds), HEADER)
        headers["base_offset"] = self.offset + np.cumsum(records) - records
        headers["batch_length"] = self._sizes[kinds] - LENGTH_END
        headers["magic"] = 2
        headers["attributes"] = self._attributes[kinds]
        headers["last_offset_delta"] = records - 1
        headers["base_timestamp"] = self._timestamp + np.cumsum(steps) - steps
        headers["max_timestamp"] = headers["base_timestamp"] + self._spans[kinds]
        headers["producer_id"] = self._first_producer_id + producers
        headers["base_sequence"] = np.where(is_marker, -1, sequences)
        headers["record_count"] = records
        self.offset += int(records.sum())
        self._timestamp += int(steps.sum())
        self._open[producers] = ~is_marker  # a producer's last turn stays
        out = _assemble(headers, [self._sections[kind] for kind in kinds.tolist()])
        self.written += Written(
            len(out),
            int((~is_marker).sum()),
            int(records[~is_marker].sum()),
            int((kinds == self._commit).sum()),
            int((kinds == self._abort).sum()),
        )
        return out


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

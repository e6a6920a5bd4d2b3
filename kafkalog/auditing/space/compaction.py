"""What a pass of the cleaner would leave, without writing anything: bytes, records, tombstones, markers.

As Kafka's Cleaner does it: the keys of the dirty part go into a map of their newest offsets, up to its capacity; then
all batches below are filtered and those that lose records are written again. Batches are known by columns; no record
is a Python object.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from kafkalog.auditing.space.rewritten import Rewriter, Squeezed
from kafkalog.format import compaction, kernel
from kafkalog.format.batch import CODEC_MASK, CONTROL, DELETE_HORIZON, TRANSACTIONAL
from kafkalog.format.secret import secret_bits
from kafkalog.log.chunk import Chunk, Limits
from kafkalog.log.records import ROOM, RecordBlock
from kafkalog.log.segment import possible_chunks
from kafkalog.txn.columns import NONE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from kafkalog.auditing.partition import PartitionAudit
    from kafkalog.log.logdir import Segment

__all__ = ["Left", "Pass", "run_pass"]

_ABORT: Final = 0  # a marker's type
_NEVER: Final = 2**63 - 1
_EMPTY_BATCH: Final = 61  # bytes of a batch without records
_FIRST_SLOTS: Final = 1 << 12
_KEPT, _TOMBSTONES, _PLAIN, _DATED = (compaction.SUMS.index(name) for name in ("kept", "tombstones", "plain", "dated"))


@dataclass(frozen=True, slots=True)
class Pass:
    """A pass of the cleaner: its dirty part [`dirty_from`, `until`), its clock, and what it may take.

    Delete horizons up to `at_ms` have passed; new ones are `horizon_ms`. Tombstones below `old_below` that have no
    horizon in their batch go too (brokers before 3.1 go by the times of files). `aborts_open` drops what open
    transactions wrote.
    """

    dirty_from: int
    until: int
    at_ms: int
    horizon_ms: int
    map_entries: int
    old_below: int = -1
    aborts_open: bool = False


@dataclass(slots=True)
class Left:
    """What a pass leaves of the `before` bytes that it reads. It ends before offset `until`: the map may be full."""

    before: int = 0
    bytes: int = 0
    records: int = 0
    tombstones: int = 0
    markers: int = 0
    keys: int = 0
    until: int = 0
    is_full: bool = False
    unreadable: int = 0  # bytes of batches that can't be read

    @property
    def gain(self) -> int:
        """Return the bytes that go; of batches that can't be read, the share that goes of the others."""
        readable = self.before - self.unreadable
        gone = max(0, readable - (self.bytes - self.unreadable))
        return gone + (self.unreadable * gone // readable if readable > 0 else 0)


class _Transactions:
    """Which batches and markers of a log's transactions a pass drops; aborted ones by producer, in log order."""

    def __init__(self, facts: PartitionAudit, oldest_producer_ms: int, *, aborts_open: bool) -> None:
        empty: list[NDArray[np.int64]] = [np.empty(0, np.int64)]
        spans: list[NDArray[np.int64]] = [np.empty((3, 0), np.int64)]
        for rows in facts.transactions.blocks("producer_id", "first_offset", "marker_type", "marker_offset", "batches"):
            ended = rows["marker_offset"] != NONE
            empty.append(rows["marker_offset"][ended & (rows["batches"] == 0)])
            dropped = (rows["batches"] > 0) & (ended & (rows["marker_type"] == _ABORT) | aborts_open & ~ended)
            until = np.where(ended, rows["marker_offset"], _NEVER)
            spans.append(np.stack([rows["producer_id"], rows["first_offset"], until])[:, dropped])
        self.empty_markers = np.sort(np.concatenate(empty))
        joined = np.concatenate(spans, axis=1)
        self.producers, firsts, self.markers = joined[:, np.lexsort((joined[1], joined[0]))]
        # (producer, first offset) as one number that sorts alike: both by their ranks.
        self.known = np.unique(self.producers)
        self.firsts = np.sort(firsts)
        self.ranks = self._ranks(np.searchsorted(self.known, self.producers), firsts)
        producers = facts.producers
        active = producers["last_timestamp"] >= oldest_producer_ms
        self.last_offsets = np.sort(producers["last_offset"][active & (producers["last_offset"] != NONE)])

    def drops(self, heads: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Say which data batches an ABORT marker drops."""
        dropped = np.zeros(heads.shape[1], np.bool_)
        if not len(self.producers):
            return dropped
        attributes = heads[kernel.ATTRIBUTES]
        rows = np.flatnonzero((attributes & (TRANSACTIONAL | CONTROL) == TRANSACTIONAL) & (heads[kernel.MAGIC] >= 2))
        producers = heads[kernel.PRODUCER_ID][rows]
        ranks = np.minimum(np.searchsorted(self.known, producers), len(self.known) - 1)
        is_known = self.known[ranks] == producers
        rows, producers, ranks = rows[is_known], producers[is_known], ranks[is_known]
        offsets = heads[kernel.LAST_OFFSET][rows]
        at = np.searchsorted(self.ranks, self._ranks(ranks, offsets), "right") - 1
        begun = (at >= 0) & (self.producers[np.maximum(at, 0)] == producers)
        dropped[rows] = begun & (offsets < self.markers[np.maximum(at, 0)])
        return dropped

    def _ranks(self, producers: NDArray[Any], offsets: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return numbers that sort by producer, then by how many aborted transactions begin up to an offset."""
        ranks: NDArray[np.int64] = producers * (len(self.firsts) + 1) + np.searchsorted(self.firsts, offsets, "right")
        return ranks


class _OffsetMap:
    """Hashes of keys with the newest offset of each."""

    def __init__(self, most: int, dirty_from: int) -> None:
        self.hashes = array("q", bytes(8 * _FIRST_SLOTS))
        self.newest = array("q", bytes(8 * _FIRST_SLOTS))
        self.secret = secret_bits(61) * 2 + 1
        self.state = array("q", [0, most, self.secret, dirty_from])

    def put(self, block: RecordBlock) -> int | None:
        """Put a block's keys into the map; the number of the first record without room, None if all have it."""
        recs, at = block.recs, 0
        while True:
            at = compaction.put(
                block.buf, recs.cells, recs.capacity, at, recs.count, self.hashes, self.newest, self.state
            )
            if at >= recs.count:
                return None
            if self.state[0] >= self.state[1]:
                return at
            size = 2 * len(self.hashes)
            hashes, newest = array("q", bytes(8 * size)), array("q", bytes(8 * size))
            compaction.move(self.hashes, self.newest, hashes, newest)
            self.hashes, self.newest = hashes, newest


def run_pass(
    segments: Sequence[Segment], facts: PartitionAudit, wanted: Pass, limits: Limits, oldest_producer_ms: int
) -> Left:  # fmt: skip
    """Say what a pass over the `segments` below `wanted.until` leaves; their offsets rise.

    Raises UnreadableError if a segment can't be read.
    """
    about = _Transactions(facts, oldest_producer_ms, aborts_open=wanted.aborts_open)
    left = Left(until=wanted.until)
    offsets = _OffsetMap(wanted.map_entries, wanted.dirty_from)
    ends = [segment.base_offset for segment in segments[1:]] + [wanted.until]
    for segment, end in zip(segments, ends, strict=True):
        if end <= wanted.dirty_from or left.is_full or segment.base_offset >= wanted.until:
            continue
        _map(segment, offsets, about, wanted, limits, left)
    left.keys = offsets.state[0]
    rest = _Filter(offsets, about, wanted, limits, left)
    for segment in segments:
        if segment.base_offset >= wanted.until:
            break
        rest.segment(segment)
    return left


def _map(
    segment: Segment, offsets: _OffsetMap, about: _Transactions, wanted: Pass, limits: Limits, left: Left
) -> None:  # fmt: skip
    """Put the keys of a dirty segment into the map, until it is full."""
    for chunk in possible_chunks(segment.path, limits=limits, max_bytes=segment.size):
        heads = chunk.heads.numpy()
        if not heads.shape[1]:
            continue
        unwanted = about.drops(heads) | (heads[kernel.LAST_OFFSET] < wanted.dirty_from) | _control(heads)
        heads[kernel.SECTION_START][unwanted] = -1
        for block in chunk.records():
            stopped = offsets.put(block)
            if stopped is not None:
                left.is_full = True
                row = block.recs.cell(kernel.BATCH, stopped)
                base = block.heads.cell(kernel.BASE_OFFSET, row)
                left.until = max(wanted.dirty_from, base)
                return


class _Filter:
    """The batches of a segment as the cleaner writes them."""

    def __init__(
        self, offsets: _OffsetMap, about: _Transactions, wanted: Pass, limits: Limits, left: Left
    ) -> None:  # fmt: skip
        self.offsets = offsets
        self.about = about
        self.wanted = wanted
        self.limits = limits
        self.left = left
        numbers = (offsets.secret, wanted.at_ms, wanted.horizon_ms, wanted.old_below, left.until)
        self.conditions = array("q", [min(number, _NEVER) for number in numbers])
        self.kept = bytearray(ROOM)
        self.share = Squeezed()

    def segment(self, segment: Segment) -> None:
        """Add what is left of a segment."""
        self.left.before += segment.size
        read = 0
        for chunk in possible_chunks(segment.path, limits=self.limits, max_bytes=segment.size):
            heads = chunk.heads.numpy()
            if heads.shape[1]:
                read += int(heads[kernel.SIZE].sum())
                self.chunk(chunk, heads)
        self.left.bytes += max(0, segment.size - read)
        self.left.unreadable += max(0, segment.size - read)

    def chunk(self, chunk: Chunk, heads: NDArray[np.int64]) -> None:
        """Add what is left of a chunk's batches."""
        left, sizes = self.left, heads[kernel.SIZE].copy()
        counts, attributes, magics = (heads[n].copy() for n in (kernel.COUNT, kernel.ATTRIBUTES, kernel.MAGIC))
        modern = magics >= 2
        last = heads[kernel.LAST_OFFSET]
        beyond = last >= left.until
        control = _control(heads)
        bare = control & np.isin(last, self.about.empty_markers)  # markers whose transactions have no data any more
        dated = attributes & DELETE_HORIZON != 0
        horizon_passed = dated & (heads[kernel.BASE_TIMESTAMP] <= self.wanted.at_ms)
        horizon_passed |= ~dated & (last < self.wanted.old_below)
        emptied = control & (counts == 0)
        gone = (self.about.drops(heads) | (bare & horizon_passed) | emptied) & ~beyond
        whole = beyond | (control & ~gone)
        unread = heads[kernel.SECTION_START] < 0  # damage, or too large
        heads[kernel.SECTION_START][gone | whole] = -1
        skipped = heads[kernel.SECTION_START] < 0
        sums = np.zeros((len(compaction.SUMS), heads.shape[1]), np.int64)
        flat = memoryview(sums.reshape(-1))  # type: ignore[arg-type]  # a buffer; its type does not say so
        rewriter = Rewriter(heads.shape[1], self.share)
        for block in chunk.records():
            self.block(block, flat, heads.shape[1])
            rewriter.take(block, self.kept)
        wrong = (heads[kernel.DECODED] < counts) & modern & ~skipped
        kept, tombstones = sums[_KEPT].copy(), sums[_TOMBSTONES]
        unchanged = whole | unread | wrong | (~skipped & (kept == counts) & (counts > 0))
        left.unreadable += int(sizes[wrong | unread].sum())
        redated = modern & ~dated & ((tombstones > 0) | (bare & ~gone & ~beyond))
        sizes_after = np.where(redated, sums[_DATED], sums[_PLAIN]) + _EMPTY_BATCH
        sizes_after[~modern] -= _EMPTY_BATCH
        packed = (attributes & CODEC_MASK != 0) & modern
        rewritten = ~unchanged & (kept > 0)
        rewriter.finish()
        np.copyto(sizes_after, rewriter.sizes(sizes, sums[_PLAIN]) + _EMPTY_BATCH, where=packed & rewritten)
        np.copyto(sizes_after, sizes, where=unchanged & ~(redated & ~packed & ~control))
        stays = unchanged | (kept > 0)
        last_of_producer = modern & (heads[kernel.PRODUCER_ID] >= 0) & np.isin(last, self.about.last_offsets)
        sizes_after[~stays] = np.where(last_of_producer, _EMPTY_BATCH, 0)[~stays]
        left.bytes += int(sizes_after.sum())
        left.records += int(np.where(whole & ~control, counts, kept)[~gone].sum())
        left.tombstones += int(tombstones.sum())
        left.markers += int((control & ~gone).sum())

    def block(self, block: RecordBlock, sums: memoryview, rows: int) -> None:
        """Add what is kept of a block's records to the sums of their batches."""
        recs = block.recs
        compaction.keep(
            block.buf, block.heads.cells, block.heads.capacity, -1 if block.outer is None else block.outer,
            recs.cells, recs.capacity, recs.count, self.offsets.hashes, self.offsets.newest,
            sums, rows, self.conditions, self.kept,
        )  # fmt: skip


def _control(heads: NDArray[np.int64]) -> NDArray[np.bool_]:
    found: NDArray[np.bool_] = (heads[kernel.MAGIC] >= 2) & (heads[kernel.ATTRIBUTES] & CONTROL != 0)
    return found

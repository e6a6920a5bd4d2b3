"""How far the cleaner may go in a log, and what a pass would leave, without writing anything.

How far, and whether it would go: LogCleanerManager's rule, the same since Kafka 2.3. What is left: bytes, records,
tombstones, markers.

As Kafka's Cleaner does it: the keys of the dirty part go into a map of their newest offsets, up to its capacity; then
all batches below are filtered and those that lose records are written again. Batches are known by columns; no record
is a Python object.
"""

from __future__ import annotations

import gzip
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from kafkalog.auditing.space.log_space import LogSpace
from kafkalog.columns.sorted_rows import Spans, groups, joined_ranges
from kafkalog.columns.table import AFTER_ALL, NONE
from kafkalog.files.limits import Limits
from kafkalog.folds import fold
from kafkalog.kafka.batch import CODEC_MASK, CONTROL, DELETE_HORIZON, TRANSACTIONAL
from kafkalog.kernel import buffers
from kafkalog.kernel import records as kernel_records
from kafkalog.segments.chunk import Chunk
from kafkalog.segments.decoded import ROOM, RecordBlock
from kafkalog.segments.newest_offsets import NewestOffsets
from kafkalog.segments.segment import possible_chunks

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from kafkalog.auditing.partition import PartitionAudit
    from kafkalog.log_dirs.log_directory import Segment

__all__ = ["Cleanable", "Left", "Pass", "cleanable", "run_pass"]


class Cleanable(NamedTuple):
    """The dirty part [`first_dirty`, `limit`) of a log, what ends it, and whether the cleaner would take it.

    `limit` is the base offset of the first segment that can't be cleaned, of which `held_by` says why: ``active``,
    ``transaction``, ``lag``. `ratio` is the share of the dirty bytes.
    """

    first_dirty: int
    limit: int
    held_by: str
    active_base: int
    clean_bytes: int
    dirty_bytes: int
    ratio: float
    is_due: bool


def cleanable(log: LogSpace, now: int) -> Cleanable:
    """Say what of a log the cleaner may clean at a time.

    Follows LogCleanerManager.cleanableOffsets.
    """
    facts, settings = log.facts, log.settings
    start, end = facts.log_start_offset, facts.log_end_offset
    checkpoint = log.directory.checkpoints.get("cleaner", start)
    first_dirty = checkpoint if start <= checkpoint <= end else start
    active_base = log.active.segment.base_offset if log.active is not None else end
    limits = [(active_base, "active"), (facts.last_stable_offset, "transaction")]
    if settings.min_compaction_lag_ms > 0:
        for one, stop in zip(log.closed, _stops(log), strict=True):
            if stop > first_dirty and _newest(one.largest, one.modified) > now - settings.min_compaction_lag_ms:
                limits.append((one.segment.base_offset, "lag"))
                break
    offset, held_by = min(limits, key=lambda limit: limit[0])
    offset = max(first_dirty, offset)
    limit = active_base
    for one, stop in zip(log.closed, _stops(log), strict=True):
        if one.segment.base_offset <= offset < stop:
            limit = one.segment.base_offset
            break
    held_by = "active" if limit == active_base else held_by
    clean = sum(one.segment.size for one in log.closed if one.segment.base_offset < first_dirty)
    dirty = sum(
        one.segment.size
        for one, stop in zip(log.closed, _stops(log), strict=True)
        if stop > first_dirty and one.segment.base_offset < limit
    )
    clean -= sum(  # the segment that the dirty part begins in counts as dirty, too
        one.segment.size
        for one, stop in zip(log.closed, _stops(log), strict=True)
        if one.segment.base_offset < first_dirty < stop
    )
    ratio = dirty / (clean + dirty) if clean + dirty else 0.0
    return Cleanable(
        first_dirty,
        limit,
        held_by,
        active_base,
        clean,
        dirty,
        ratio,
        dirty > 0 and _is_due(log, first_dirty, ratio, now),
    )


def _is_due(log: LogSpace, first_dirty: int, ratio: float, now: int) -> bool:
    """Say whether enough is dirty, or something is dirty for longer than max.compaction.lag.ms."""
    settings = log.settings
    if ratio > settings.min_dirty_ratio:
        return True
    times = [
        one.first_timestamp
        for one, stop in zip(log.closed, _stops(log), strict=True)
        if stop > first_dirty and one.first_timestamp > 0
    ]
    return bool(times) and min(times) < now - max(0, settings.max_compaction_lag_ms)


def _stops(log: LogSpace) -> list[int]:
    """Return where each closed segment ends: the next one's first offset."""
    return [one.segment.base_offset for one in log.segments[1:]]


def _newest(largest: int, modified: int) -> int:
    return largest if largest >= 0 else modified


# How large compressed batches become when the cleaner writes what it keeps of them: compressed again, in part.
#
# The first megabytes that are kept are compressed with the batch's own codec; of the rest, the same share is assumed.


_XERIAL_CHUNK: Final = 32 << 10

_MEASURED: Final = 8 << 20  # bytes that are compressed; of the rest the share is assumed


@dataclass(slots=True)
class Squeezed:
    """How many bytes were compressed, and to how many."""

    raw: int = 0
    packed: int = 0


class Rewriter:
    """The compressed batches of one chunk that lose records."""

    def __init__(self, rows: int, share: Squeezed) -> None:
        self._share = share
        self._sizes = np.full(rows, -1, np.int64)
        self._row = -1
        self._codec = 0
        self._raw = bytearray()
        self._lost = False

    def add(self, block: RecordBlock, kept: bytearray) -> None:
        """Take in which of a block's records are kept."""
        recs, heads = block.recs, block.heads
        if block.outer is not None or not recs.count or self._share.raw >= _MEASURED:
            return
        batches, sizes = recs.column(buffers.BATCH), recs.column(buffers.RECORD_SIZE)
        row = batches[0]
        if not heads.cell(buffers.ATTRIBUTES, row) & CODEC_MASK:
            return
        rows = np.frombuffer(batches, np.int64)
        widths = np.frombuffer(sizes, np.int64)
        chosen = np.frombuffer(kept, np.uint8)[: recs.count] != 0
        for mine in groups(rows):
            row = int(rows[mine[0]])
            if row != self._row:
                self.finish()
                self._row, self._codec = row, heads.cell(buffers.ATTRIBUTES, row) & CODEC_MASK
            picked = chosen[mine]
            self._lost = self._lost or not picked.all()
            stops = heads.cell(buffers.SECTION_START, row) - widths[mine].sum() + np.cumsum(widths[mine])
            starts = stops - widths[mine]
            view = memoryview(block.buf)
            for start, stop in zip(*joined_ranges(starts[picked], stops[picked]), strict=True):
                self._raw += view[start:stop]

    def finish(self) -> None:
        """Compress what is kept of the batch before."""
        if self._row >= 0 and self._lost and self._raw:
            self._sizes[self._row] = size = _packed_size(self._codec, bytes(self._raw))
            self._share.raw += len(self._raw)
            self._share.packed += size
        self._row, self._lost, self._raw = -1, False, bytearray()

    def sizes(self, before: NDArray[np.int64], plain: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the sizes of the records of each batch, compressed: measured, or by the share of those before.

        `before` are the sizes of the batches as they are, `plain` those of the records that are kept, not compressed.
        """
        share = self._share.packed / self._share.raw if self._share.raw else 1.0
        assumed = np.minimum(before, (plain * share).astype(np.int64))
        return np.where(self._sizes >= 0, self._sizes, assumed)


def _packed_size(codec: int, raw: bytes) -> int:
    """Return the size of bytes as Kafka compresses them."""
    if codec == 1:
        return len(gzip.compress(raw, 6))
    if codec == 2:
        import snappy

        size = 16
        for at in range(0, len(raw), _XERIAL_CHUNK):
            size += 4 + len(snappy.compress(raw[at : at + _XERIAL_CHUNK]))
        return size
    if codec == 3:
        import lz4.frame

        return len(lz4.frame.compress(raw, block_linked=False, store_size=False))
    if codec == 4:
        import zstandard

        return len(zstandard.ZstdCompressor(level=3).compress(raw))
    return len(raw)


_EMPTY_BATCH: Final = buffers.BATCH_OVERHEAD


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
        spans: list[NDArray[np.int64]] = [np.empty((3, 0), np.int64)]  # producers, first and last offsets
        for rows in facts.transactions.blocks("producer_id", "first_offset", "marker_type", "marker_offset", "batches"):
            ended = ~fold.is_open(rows)
            empty.append(rows["marker_offset"][ended & (rows["batches"] == 0)])
            dropped = (rows["batches"] > 0) & (ended & (rows["marker_type"] == fold.ABORT) | aborts_open & ~ended)
            spans.append(np.stack([rows["producer_id"], rows["first_offset"], fold.ends(rows) - 1])[:, dropped])
        self.empty_markers = np.sort(np.concatenate(empty))
        self.spans = Spans(*np.concatenate(spans, axis=1))
        producers = facts.producers
        active = producers["last_timestamp"] >= oldest_producer_ms
        self.last_offsets = np.sort(producers["last_offset"][active & (producers["last_offset"] != NONE)])

    def drops(self, heads: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Say which data batches an ABORT marker drops."""
        dropped = np.zeros(heads.shape[1], np.bool_)
        if not len(self.spans):
            return dropped
        attributes = heads[buffers.ATTRIBUTES]
        rows = np.flatnonzero((attributes & (TRANSACTIONAL | CONTROL) == TRANSACTIONAL) & (heads[buffers.MAGIC] >= 2))
        offsets = heads[buffers.LAST_OFFSET][rows]
        dropped[rows] = self.spans.find_rows(heads[buffers.PRODUCER_ID][rows], offsets) >= 0
        return dropped


def run_pass(
    segments: Sequence[Segment], facts: PartitionAudit, wanted: Pass, limits: Limits, oldest_producer_ms: int
) -> Left:  # fmt: skip
    """Say what a pass over the `segments` below `wanted.until` leaves; their offsets rise.

    The keys of the dirty part go into a map, until it is full. Of a key the newest record stays; older ones, records
    without a key, data of aborted transactions and tombstones past their horizon go. A marker goes when its transaction
    has no data any more and its horizon has passed. A batch that lost all records stays, empty, if it has its
    producer's last sequence (Cleaner.cleanInto).

    Raises UnreadableError if a segment can't be read.

    Markers are judged as by CleanedTransactionMetadata; the delete horizon is KIP-534's.
    """
    about = _Transactions(facts, oldest_producer_ms, aborts_open=wanted.aborts_open)
    left = Left(until=wanted.until)
    offsets = NewestOffsets(wanted.map_entries, wanted.dirty_from)
    ends = [segment.base_offset for segment in segments[1:]] + [wanted.until]
    for segment, end in zip(segments, ends, strict=True):
        if end <= wanted.dirty_from or left.is_full or segment.base_offset >= wanted.until:
            continue
        _map(segment, offsets, about, wanted, limits, left)
    left.keys = offsets.state[buffers.MAP_ENTRIES]
    rest = _Filter(offsets, about, wanted, limits, left)
    for segment in segments:
        if segment.base_offset >= wanted.until:
            break
        rest.segment(segment)
    return left


def _map(
    segment: Segment, offsets: NewestOffsets, about: _Transactions, wanted: Pass, limits: Limits, left: Left
) -> None:  # fmt: skip
    """Put the keys of a dirty segment into the map, until it is full."""
    for chunk in possible_chunks(segment.path, limits=limits, max_bytes=segment.size):
        heads = chunk.heads.numpy()
        if not heads.shape[1]:
            continue
        unwanted = about.drops(heads) | (heads[buffers.LAST_OFFSET] < wanted.dirty_from) | _control(heads)
        heads[buffers.SECTION_START][unwanted] = -1
        for block in chunk.records():
            stopped = offsets.put(block)
            if stopped is not None:
                left.is_full = True
                row = block.recs.cell(buffers.BATCH, stopped)
                base = block.heads.cell(buffers.BASE_OFFSET, row)
                left.until = max(wanted.dirty_from, base)
                return


class _Filter:
    """The batches of a segment as the cleaner writes them."""

    def __init__(
        self, offsets: NewestOffsets, about: _Transactions, wanted: Pass, limits: Limits, left: Left
    ) -> None:  # fmt: skip
        self.offsets = offsets
        self.about = about
        self.wanted = wanted
        self.limits = limits
        self.left = left
        numbers = (offsets.secret, wanted.horizon_ms, left.until)  # by PASS_…
        self.conditions = array("q", [min(number, AFTER_ALL) for number in numbers])
        self.kept = bytearray(ROOM)
        self.share = Squeezed()

    def segment(self, segment: Segment) -> None:
        """Add what is left of a segment."""
        self.left.before += segment.size
        read = 0
        for chunk in possible_chunks(segment.path, limits=self.limits, max_bytes=segment.size):
            heads = chunk.heads.numpy()
            if heads.shape[1]:
                read += int(heads[buffers.SIZE].sum())
                self.filter_chunk(chunk, heads)
        self.left.bytes += max(0, segment.size - read)
        self.left.unreadable += max(0, segment.size - read)

    def filter_chunk(self, chunk: Chunk, heads: NDArray[np.int64]) -> None:
        """Add what is left of a chunk's batches."""
        left, batches = self.left, CleanedBatches(heads, self.about, self.wanted, self.left.until)
        heads[buffers.SECTION_START][batches.goes | batches.stays_whole] = -1
        is_filtered = heads[buffers.SECTION_START] >= 0
        sums = np.zeros((buffers.KEPT_COLUMNS, heads.shape[1]), np.int64)
        rewriter, past_horizon = Rewriter(heads.shape[1], self.share), batches.past_horizon.tobytes()
        for block in chunk.records():
            self.block(block, memoryview(sums), past_horizon)  # type: ignore[arg-type]  # a buffer, as its type hides
            rewriter.add(block, self.kept)
        rewriter.finish()
        kept, tombstones = sums[buffers.KEPT], sums[buffers.TOMBSTONES]
        is_wrong = is_filtered & batches.is_modern & (heads[buffers.DECODED] < batches.counts)
        keeps_all = is_filtered & (kept == batches.counts) & (batches.counts > 0)
        as_it_is = batches.stays_whole | batches.is_unread | is_wrong | keeps_all
        left.unreadable += int(batches.sizes[batches.is_unread | is_wrong].sum())
        left.bytes += int(_sizes_after(batches, sums, rewriter, as_it_is).sum())
        left.records += int(np.where(batches.stays_whole & ~batches.is_control, batches.counts, kept).sum())
        left.tombstones += int(tombstones.sum())
        left.markers += int((batches.is_control & ~batches.goes).sum())

    def block(self, block: RecordBlock, sums: memoryview, past_horizon: bytes) -> None:
        """Add what is kept of a block's records to the sums of their batches."""
        kernel_records.keep(block, self.offsets, sums, past_horizon, self.conditions, self.kept)


class CleanedBatches:
    """What the cleaner does with the batches of a chunk, as far as their headers and transactions decide it.

    A batch `goes` if it is aborted data, a marker whose transaction has no data any more and whose delete horizon has
    passed, or a control batch without a record. Other markers stay whole, and what is not below the pass's end. Of all
    others, as far as they can be read, the records decide.
    """

    def __init__(self, heads: NDArray[np.int64], about: _Transactions, wanted: Pass, until: int) -> None:
        attributes, last_offset = heads[buffers.ATTRIBUTES], heads[buffers.LAST_OFFSET]
        self.sizes, self.counts = heads[buffers.SIZE].copy(), heads[buffers.COUNT].copy()
        self.is_modern = heads[buffers.MAGIC] >= 2
        self.is_control = _control(heads)
        self.is_compressed = self.is_modern & (attributes & CODEC_MASK != 0)
        self.is_unread = heads[buffers.SECTION_START] < 0  # damage, or too large
        self.has_horizon = self.is_modern & (attributes & DELETE_HORIZON != 0)
        self.past_horizon: NDArray[np.bool_] = np.where(
            self.has_horizon, heads[buffers.BASE_TIMESTAMP] <= wanted.at_ms, last_offset < wanted.old_below
        )
        has_last_sequence = np.isin(last_offset, about.last_offsets)
        self.is_last_of_producer = self.is_modern & (heads[buffers.PRODUCER_ID] >= 0) & has_last_sequence
        is_below_end = last_offset < until
        is_marker_without_data = self.is_control & np.isin(last_offset, about.empty_markers)
        is_control_without_record = self.is_control & (self.counts == 0)
        is_gone = about.drops(heads) | (is_marker_without_data & self.past_horizon) | is_control_without_record
        self.goes = is_below_end & is_gone
        self.stays_whole = ~is_below_end | (self.is_control & ~self.goes)


def _sizes_after(
    batches: CleanedBatches, sums: NDArray[np.int64], rewriter: Rewriter, as_it_is: NDArray[np.bool_]
) -> NDArray[np.int64]:
    """Return the sizes of batches after the pass.

    Data that keeps a tombstone without a delete horizon is written with one, even if nothing goes. An empty batch stays
    where it has its producer's last sequence.
    """
    gets_horizon = batches.is_modern & ~batches.has_horizon & (sums[buffers.TOMBSTONES] > 0)
    plain = np.where(gets_horizon, sums[buffers.DATED_SIZE], sums[buffers.PLAIN_SIZE])
    plain += np.where(batches.is_modern, _EMPTY_BATCH, 0)
    compressed = rewriter.sizes(batches.sizes, sums[buffers.PLAIN_SIZE]) + _EMPTY_BATCH
    keeps_size = as_it_is & (batches.is_compressed | batches.is_control | ~gets_horizon)
    stays = as_it_is | (sums[buffers.KEPT] > 0)
    return np.select(
        [keeps_size, stays, batches.is_last_of_producer],
        [batches.sizes, np.where(batches.is_compressed, compressed, plain), _EMPTY_BATCH],
        0,
    )


def _control(heads: NDArray[np.int64]) -> NDArray[np.bool_]:
    found: NDArray[np.bool_] = (heads[buffers.MAGIC] >= 2) & (heads[buffers.ATTRIBUTES] & CONTROL != 0)
    return found

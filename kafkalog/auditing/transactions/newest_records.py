"""The newest record of each key in replicas of a compacted log: which replicas give it, and which may lack it legally.

Each replica is cleaned on its own: a record that one of them has no more is legal where another record of its key is
newer, or where its transaction was aborted. Then the other replica has the newer record or the marker, too, unless it
ends before it. Where it does not, the two give different records for ever.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from kafkalog.auditing.partition import PartitionAudit
from kafkalog.columns.sorted_rows import Spans, among, any_between, distinct, place_of
from kafkalog.columns.table import NONE
from kafkalog.errors import UnreadableError
from kafkalog.folds import fold
from kafkalog.kafka.batch import CONTROL, TRANSACTIONAL
from kafkalog.kernel import buffers
from kafkalog.segments.newest_offsets import NewestOffsets, key_secret
from kafkalog.segments.segment import possible_chunks

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from kafkalog.files.limits import Limits
    from kafkalog.segments.chunk import Chunk
    from kafkalog.segments.decoded import RecordBlock

    _Offsets = NDArray[np.int64]
    _Mask = NDArray[np.bool_]

__all__ = [
    "DELETED",
    "GIVEN",
    "NOT_JUDGED",
    "OLDER",
    "KeyGroup",
    "KeyRecord",
    "are_alike",
    "compare_keys",
    "may_differ",
    "records_at",
]

MOST_KEYS: Final = 1 << 23  # of a replica: 256 MiB; logs with more are read several times, for some of the keys each
MOST_PASSES: Final = 64  # then logs are not compared

GIVEN, DELETED, OLDER, NOT_JUDGED = range(4)  # what a replica has of a key whose newest record another one gives


def may_differ(replicas: Sequence[PartitionAudit]) -> bool:
    """Say whether the cleaner was in one of some replicas, and their scans do not count the same: nothing is read."""
    return max(one.cleaned_to for one in replicas) >= 0 and not are_alike(replicas)


def are_alike(replicas: Sequence[PartitionAudit]) -> bool:
    """Say whether the scans of some replicas count the same batches, records, gaps and bytes."""
    return len(set(map(_counted, replicas))) == 1


def _counted(replica: PartitionAudit) -> tuple[object, ...]:
    gaps, sizes = replica.gaps, tuple(one.size for one in replica.directory.segments[:-1])
    numbers = replica.batches, replica.records, replica.log_start_offset, replica.log_end_offset, sizes
    return (*numbers, gaps.first.tobytes(), gaps.last.tobytes())


@dataclass(frozen=True, slots=True)
class _Newest:
    """The newest offset of each key's hash, in order, among what was not aborted.

    `tombstones` are offsets of records without a value, `unsettled` those of records in open transactions.
    """

    hashes: _Offsets
    offsets: _Offsets
    tombstones: _Offsets
    unsettled: _Offsets


@dataclass(frozen=True, slots=True)
class KeyGroup:
    """Keys of which each replica has the same: the offsets of their newest records, which `holder` gives.

    `has` says what each replica has: GIVEN, DELETED, OLDER or NOT_JUDGED. `deleted_at` is the offset of a tombstone
    that one of those that DELETED still has, -1 where all are cleaned.
    """

    holder: int
    has: tuple[int, ...]
    offsets: _Offsets
    deleted_at: int


class KeyRecord(NamedTuple):
    """A record by its place: its key, who wrote it and when (ms), and the marker after it of that producer."""

    offset: int
    key: bytes
    producer_id: int
    timestamp: int
    is_transactional: bool
    marker_offset: int = NONE
    marker_ms: int = NONE


def compare_keys(replicas: Sequence[PartitionAudit], limits: Limits) -> Iterator[KeyGroup] | None:
    """Yield the keys whose newest record some replicas give and others do not, and may not lack; None for too many.

    Costs a reading of all records of each replica, and 32 bytes for each key; past `MOST_KEYS` several readings.

    What the cleaner removes is the rule of Kafka's Cleaner (KIP-58, KIP-534), as in `cleaner_pass`.
    """
    secret, parts = key_secret(), 1
    while parts <= MOST_PASSES:
        found = _in_passes(replicas, limits, secret, parts)
        if found is not None:
            return _groups(*found)
        parts *= 2
    return None


def _in_passes(replicas: Sequence[PartitionAudit], limits: Limits, secret: int, parts: int) -> _Wrong | None:
    """Compare a part of the keys after the other; None where one has too many."""
    told: list[_Wrong] = []
    for part in range(parts):
        newest: list[_Newest] = []
        for one in replicas:
            of_part = _newest(one, limits, secret, part, parts)
            if of_part is None:
                return None
            newest.append(of_part)
        told.append(_wrong(replicas, newest))
    return _Wrong(*(np.concatenate(columns, axis=-1) for columns in zip(*told, strict=True)))


def _newest(replica: PartitionAudit, limits: Limits, secret: int, part: int, parts: int) -> _Newest | None:
    """Return what a replica has of a part of the keys, None where there is no room for it."""
    keys = NewestOffsets(MOST_KEYS, 0, secret)
    opened = _written_by(replica, fold.OPEN)
    tombstones, unsettled = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for block in _blocks(replica, limits, _written_by(replica, fold.ABORT)):
        at = keys.put(block)
        while at is not None:
            if parts == 1 or not keys.keep(part, parts):
                return None
            at = keys.put(block, at)
        recs = block.recs.numpy()
        is_tombstone = (recs[buffers.VALUE_SIZE] < 0) & (recs[buffers.KEY_SIZE] >= 0)
        tombstones.append(recs[buffers.OFFSET][is_tombstone])
        if len(opened):
            is_open = np.zeros(block.heads.numpy().shape[1], np.bool_)
            is_open[_batches_of(block.heads.numpy(), opened)] = True
            unsettled.append(recs[buffers.OFFSET][is_open[recs[buffers.BATCH]]])
    if parts > 1 and not keys.keep(part, parts):
        return None
    return _Newest(*keys.entries(), np.sort(np.concatenate(tombstones)), np.sort(np.concatenate(unsettled)))


def _written_by(replica: PartitionAudit, marker_type: int) -> Spans:
    """Return what transactions wrote that ended so, or are open, by producer and offset."""
    parts: list[NDArray[np.int64]] = [np.empty((3, 0), np.int64)]
    for rows in replica.transactions.blocks("producer_id", "first_offset", "marker_type", "marker_offset", "batches"):
        wanted = (rows["batches"] > 0) & (rows["marker_type"] == marker_type)
        parts.append(np.stack([rows["producer_id"], rows["first_offset"], fold.ends(rows) - 1])[:, wanted])
    return Spans(*np.concatenate(parts, axis=1))


def _batches_of(heads: NDArray[np.int64], written: Spans) -> NDArray[np.intp]:
    """Return the rows of the batches that some transactions wrote."""
    is_data = heads[buffers.ATTRIBUTES] & (TRANSACTIONAL | CONTROL) == TRANSACTIONAL
    rows = np.flatnonzero(is_data & (heads[buffers.MAGIC] >= 2))
    of = written.find_rows(heads[buffers.PRODUCER_ID][rows], heads[buffers.LAST_OFFSET][rows])
    return rows[of >= 0]


def _blocks(replica: PartitionAudit, limits: Limits, hidden: Spans) -> Iterator[RecordBlock]:
    """Yield the blocks of data records that are not `hidden`."""
    for chunk in _chunks(replica, limits):
        if len(hidden):
            heads = chunk.heads.numpy()
            heads[buffers.SECTION_START][_batches_of(heads, hidden)] = -1
        yield from chunk.records()


def _chunks(replica: PartitionAudit, limits: Limits) -> Iterator[Chunk]:
    """Yield the chunks of a log with batches; only data is decoded."""
    for segment in replica.directory.segments:
        try:
            for chunk in possible_chunks(segment.path, limits=limits, max_bytes=segment.size):
                heads = chunk.heads.numpy()
                if heads.shape[1]:
                    heads[buffers.SECTION_START][_is_control(heads) | (heads[buffers.VALID] == 0)] = -1
                    yield chunk
        except UnreadableError:  # it is reported where the segment is scanned
            continue


def _is_control(heads: NDArray[np.int64]) -> _Mask:
    is_control: _Mask = (heads[buffers.MAGIC] >= 2) & (heads[buffers.ATTRIBUTES] & CONTROL != 0)
    return is_control


class _Wrong(NamedTuple):
    """Keys that replicas do not give alike, a column for each.

    `newest` and `has` have a row for each replica: the newest offset there, and GIVEN, DELETED, OLDER or NOT_JUDGED;
    `holder` is the number of the replica that gives `top`, the newest of all.
    """

    newest: _Offsets
    has: _Offsets
    holder: _Offsets
    top: _Offsets


def _wrong(replicas: Sequence[PartitionAudit], found: Sequence[_Newest]) -> _Wrong:
    hashes = distinct(np.concatenate([one.hashes for one in found]))
    newest = np.full((len(found), len(hashes)), NONE, np.int64)
    for row, one in zip(newest, found, strict=True):
        row[place_of(hashes, one.hashes)] = one.offsets
    is_deleted = np.stack([among(row, one.tombstones) for row, one in zip(newest, found, strict=True)])
    is_settled = ~np.stack([among(row, one.unsettled) for row, one in zip(newest, found, strict=True)]).any(axis=0)
    gives = np.where(is_deleted, NONE, newest)
    top = gives.max(axis=0, initial=NONE)
    differs = np.flatnonzero(is_settled & (top != NONE) & (gives != top).any(axis=0))
    newest, gives, top = newest[:, differs], gives[:, differs], top[differs]
    ends = np.array([one.log_end_offset for one in replicas])[:, np.newaxis]
    holder = np.where(gives == top, ends, -1).argmax(axis=0)
    has = np.full(newest.shape, NOT_JUDGED, np.int64)
    for number, replica in enumerate(replicas):
        mine = has[number]
        mine[gives[number] == top] = GIVEN
        for which in np.unique(holder[mine == NOT_JUDGED]).tolist():
            rows = np.flatnonzero((mine == NOT_JUDGED) & (holder == which))
            wrong = rows[_disagree(replica, replicas[which], top[rows], newest[number][rows])]
            mine[wrong] = np.where(gives[number][wrong] == NONE, DELETED, OLDER)
    told = np.flatnonzero(((has == DELETED) | (has == OLDER)).any(axis=0))
    return _Wrong(newest[:, told], has[:, told], holder[told], top[told])


def _groups(newest: _Offsets, has: _Offsets, holder: _Offsets, top: _Offsets) -> Iterator[KeyGroup]:
    """Yield the keys by what each replica has of them."""
    kinds, of = np.unique(np.concatenate([has, holder[np.newaxis]]), axis=1, return_inverse=True)
    for number in range(kinds.shape[1]):
        rows = np.flatnonzero(of.reshape(-1) == number)
        *states, which = kinds[:, number].tolist()
        order = np.argsort(top[rows])
        deleted = newest[:, rows[order[:1]]][np.array(states) == DELETED]
        yield KeyGroup(which, tuple(states), top[rows[order]], int(deleted.max(initial=NONE)))


def _disagree(lacking: PartitionAudit, holder: PartitionAudit, given: _Offsets, newest: _Offsets) -> _Mask:
    """Say where a replica does not give a record that another one gives, and no end, start or damage explains it.

    `newest` are the newest offsets that it has of the keys, NONE for none: a later one is a tombstone.
    """
    is_deleted = newest > given
    # A tombstone that the holder should have: it goes on past it, and its cleaner was there.
    has_tombstone = is_deleted & (newest < holder.cleaned_to)
    in_reach = (given >= lacking.log_start_offset) & (given < lacking.cleaned_to)
    # What made it go is before the holder's end: the cleaner does not look at the active segment.
    was_removed = ~is_deleted & in_reach & (lacking.cleaned_to_active().cleaned_to <= holder.log_end_offset)
    return (has_tombstone | was_removed) & ~_may_be_lost(lacking, given) & (given > _last_lost(holder))


def _may_be_lost(replica: PartitionAudit, offsets: _Offsets) -> _Mask:
    """Say which offsets are in or before what a replica has lost: other findings are about that."""
    lost = replica.gaps.chosen(~replica.gaps.of_kind("legal"))
    found = np.zeros(len(offsets), np.bool_)
    for first, last in zip(lost.first.tolist(), lost.last.tolist(), strict=True):
        found |= (offsets >= first) & (offsets <= last)
    return found


def _last_lost(replica: PartitionAudit) -> int:
    """Return the last offset that a replica has lost, -1 for none: a newer record of any key may have been there."""
    lost = replica.gaps.chosen(~replica.gaps.of_kind("legal"))
    return int(lost.last.max(initial=-1)) if len(lost) else -1


def records_at(replica: PartitionAudit, offsets: _Offsets, limits: Limits) -> list[KeyRecord]:
    """Return the records of a replica at some offsets, which are in order.

    Their markers are looked for in the log: of one that is shared out no task has all transactions.
    """
    found: list[KeyRecord] = []
    opened: dict[int, list[int]] = {}  # places in `found`, by producer
    for chunk in _chunks(replica, limits):
        heads = chunk.heads.numpy()
        has_one = any_between(offsets, heads[buffers.BASE_OFFSET], heads[buffers.LAST_OFFSET] + 1)
        heads[buffers.SECTION_START][~has_one & (heads[buffers.MAGIC] >= 2)] = -1
        for block in chunk.records():
            for record in _named(block, offsets):
                if record.is_transactional:
                    opened.setdefault(record.producer_id, []).append(len(found))
                found.append(record)
        producers = np.fromiter(opened, np.int64, len(opened))
        for row in np.flatnonzero(_is_control(heads) & np.isin(heads[buffers.PRODUCER_ID], producers)).tolist():
            marker, producer = int(heads[buffers.BASE_OFFSET][row]), int(heads[buffers.PRODUCER_ID][row])
            ended = [at for at in opened[producer] if found[at].offset < marker]
            opened[producer] = [at for at in opened[producer] if found[at].offset > marker]
            for at in ended:
                found[at] = found[at]._replace(marker_offset=marker, marker_ms=int(heads[buffers.MAX_TIMESTAMP][row]))
    return found


def _named(block: RecordBlock, offsets: _Offsets) -> Iterator[KeyRecord]:
    heads, recs = block.heads.numpy(), block.recs.numpy()
    for row in np.flatnonzero(among(recs[buffers.OFFSET], offsets)).tolist():
        of = recs[buffers.BATCH][row]
        yield KeyRecord(
            int(recs[buffers.OFFSET][row]), block.key(row) or b"", int(heads[buffers.PRODUCER_ID][of]),
            int(recs[buffers.TIMESTAMP][row]), bool(heads[buffers.ATTRIBUTES][of] & TRANSACTIONAL),
        )  # fmt: skip

"""Which replicas of a partition have a record: what any of them has comes once, whichever was named first.

Brokers keep a record's bytes as they are: whole batches are compared by their CRC. A cleaner writes a batch again
without some of its records: these are compared by offset, time, key and value.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Final

import numpy as np

from kafkalog.columns.sorted_rows import among, distinct, place_of
from kafkalog.errors import UnreadableError
from kafkalog.kernel import buffers
from kafkalog.segments.segment import segment_chunks
from kafkalog.segments.selection import Met

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from kafkalog.files.limits import Limits
    from kafkalog.kafka.batch import CellTable
    from kafkalog.segments.chunk import Chunk
    from kafkalog.segments.decoded import RecordBlock
    from kafkalog.segments.selection import Selection

    _Numbers = NDArray[np.int64]

__all__ = ["ReplicaShare", "SharedRecords"]

_ODD: Final = np.uint64(0x9E3779B97F4A7C15)  # spreads offsets, so that a CRC beside one makes another number
_ALL: Final = 0  # the set of all replicas


@dataclass
class SharedRecords:
    """Replicas of a partition, those with the same together: their names, and the segments of one of each.

    Nothing is read until somebody asks: then the headers of all, and the records of batches that not all of them have,
    as far as a `selection` may mean them; 8 bytes for each of both. Where all have the same nothing is.
    """

    names: Sequence[Sequence[str]]
    segments: Sequence[Sequence[str]]
    selection: Selection
    limits: Limits

    @cached_property
    def _batches(self) -> list[_Numbers]:
        return [
            distinct(np.concatenate([_NONE, *(_of_batches(chunk.heads) for chunk in self._chunks(paths))]))
            for paths in self.segments
        ]

    @cached_property
    def _common(self) -> _Numbers:
        """Return the batches that all have."""
        first, *others = self._batches
        return first[np.logical_and.reduce([among(first, one) for one in others])] if others else first

    @cached_property
    def _sets(self) -> tuple[_Numbers, _Numbers, NDArray[np.bool_], _Numbers]:
        """Return batches and records that are known, and the sets of replicas, of each the number of its set.

        The first set is that of all.
        """
        records = [
            distinct(np.concatenate([_NONE, *self._records(paths)])) if len(self.segments) > 1 else _NONE
            for paths in self.segments
        ]
        every_batch, every_record = (
            distinct(np.concatenate(parts)) if len(parts) > 1 else _NONE for parts in (self._batches, records)
        )
        has = [np.stack([among(every, one) for one in parts]) for every, parts in
               ((every_batch, self._batches), (every_record, records))]  # fmt: skip
        of_all = np.ones((len(self.segments), 1), np.bool_)
        kinds, of = np.unique(~np.concatenate([of_all, *has], axis=1), axis=1, return_inverse=True)
        return every_batch, every_record, ~kinds, of.reshape(-1)[1:]

    @cached_property
    def words(self) -> tuple[str, ...]:
        """Return the names of the replicas of each set."""
        if len(self.segments) == 1:
            return (_listed(self.names),)
        return tuple(
            _listed([some for some, has in zip(self.names, of_set, strict=True) if has])
            for of_set in self._sets[2].T.tolist()
        )

    def of_batches(self, heads: CellTable) -> _Numbers:
        """Return the number of the set of each batch."""
        if len(self.segments) == 1:
            return np.full(heads.count, _ALL)
        known, _, _, of = self._sets
        return _numbers(known, of[: len(known)], _of_batches(heads))

    def of_records(self, block: RecordBlock) -> _Numbers:
        """Return the number of the set of each record; of those that not even its own replica was asked for, all."""
        found = np.full(block.recs.count, _ALL)
        if len(self.segments) == 1:
            return found
        batches, known, _, of = self._sets
        rows = np.arange(block.recs.count)
        if block.outer is None:
            is_common = among(_of_batches(block.heads), self._common)
            rows = np.flatnonzero(~is_common[block.recs.numpy()[buffers.BATCH]])
        found[rows] = _numbers(known, of[len(batches) :], _identities(block, rows))
        return found

    def first(self, sets: _Numbers) -> _Numbers:
        """Return the first replica of each set."""
        return sets if len(self.segments) == 1 else self._sets[2].argmax(axis=0)[sets]

    def _records(self, paths: Sequence[str]) -> Iterator[_Numbers]:
        """Yield the records that may be meant, of batches that not all have."""
        meant = replace(self.selection, value_pattern=None, met=Met())  # a pattern may take long, and is asked once
        for chunk in self._chunks(paths):
            if not chunk.heads.count or not meant.skip_without_literals(chunk):
                continue
            is_common = among(_of_batches(chunk.heads), self._common)
            picks = meant.batches(chunk.heads)
            unwanted = np.ones(chunk.heads.count, np.bool_)
            unwanted[np.asarray(picks.rows[: picks.count], np.intp)] = False
            chunk.heads.numpy()[buffers.SECTION_START][unwanted | is_common] = -1
            for block in chunk.records():
                found = meant.records(block)
                yield _identities(block, np.asarray(found.rows[: found.count], np.intp))

    def _chunks(self, paths: Sequence[str]) -> Iterator[Chunk]:
        for path in paths:
            try:
                yield from segment_chunks(path, limits=self.limits)
            except UnreadableError:  # it is said where its records are read
                continue


@dataclass(frozen=True)
class ReplicaShare:
    """One of the replicas, by its number: what one before it has was read there."""

    shared: SharedRecords
    number: int

    @property
    def words(self) -> tuple[str, ...]:
        """Return the names of the replicas of each set."""
        return self.shared.words

    @property
    def leaves_out(self) -> bool:
        """Say whether there is a replica before it."""
        return self.number > 0

    def of_batches(self, heads: CellTable) -> _Numbers:
        """Return the number of the set of replicas that have each batch."""
        return self.shared.of_batches(heads)

    def of_records(self, block: RecordBlock) -> _Numbers:
        """Return the number of the set of replicas that have each record."""
        return self.shared.of_records(block)

    def is_new(self, sets: _Numbers) -> NDArray[np.bool_]:
        """Say of sets whether no replica before this one is among them."""
        return self.shared.first(sets) >= self.number


_NONE: Final = np.empty(0, np.int64)


def _listed(names: Sequence[Sequence[str]]) -> str:
    every = (name for some in names for name in some)
    return ", ".join(sorted(every, key=lambda name: (int(name) if name.isdecimal() else 1 << 31, name)))


def _numbers(known: _Numbers, of: _Numbers, wanted: _Numbers) -> _Numbers:
    place = place_of(known, wanted)
    return np.where(place >= 0, of[np.maximum(place, 0)], _ALL) if len(known) else np.full(len(wanted), _ALL)


def _of_batches(heads: CellTable) -> _Numbers:
    """Return what tells batches apart: the last offset, which cleaning keeps, the CRC, and whether it holds."""
    last, crc, holds = (heads.numpy()[column].astype(np.uint64) for column in _TOLD_BY)
    found: _Numbers = (last * _ODD + crc * np.uint64(2) + holds).view(np.int64)
    return found


_TOLD_BY: Final = (buffers.LAST_OFFSET, buffers.CRC, buffers.VALID)


def _identities(block: RecordBlock, rows: NDArray[np.intp]) -> _Numbers:
    """Return what tells records apart."""
    cells = block.recs.numpy()[:, rows]
    placed = zip(cells[buffers.OFFSET].tolist(), cells[buffers.TIMESTAMP].tolist(), rows.tolist(), strict=True)
    return np.array([hash((offset, time, block.key(row), block.value(row))) for offset, time, row in placed], np.int64)

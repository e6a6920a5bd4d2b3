"""The records of the transaction state topic as typed columns: some 60 bytes a record, 8 a partition that one lists."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from kafkalog.columns.sorted_rows import ranges
from kafkalog.columns.table import Columns
from kafkalog.columns.texts import JsonColumn, Numbered, TextColumn
from kafkalog.findings import Finding
from kafkalog.kafka.message_json import JSON_ENCODERS
from kafkalog.kernel import message_ops as ops

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["LISTED_TYPES", "STATE_TYPES", "TOMBSTONE", "StateColumns", "listed_partitions"]

TOMBSTONE: Final = -1  # in the column of states
STATE_TYPES: Final = {
    "offset": "i8", "timestamp": "i8", "transactional_id": "i4", "state": "i1", "producer_id": "i8",
    "producer_epoch": "i2", "timeout_ms": "i4", "last_update_timestamp": "i8", "start_timestamp": "i8",
    "previous_producer_id": "i8", "next_producer_id": "i8", "client_transaction_version": "i2", "version": "i1",
    "partitions_count": "i4",
}  # fmt: skip
LISTED_TYPES: Final = {"topic": "i4", "partition": "i4"}
_AT_ONCE: Final = 1 << 20  # rows
_COMPARED: Final = tuple(name for name in STATE_TYPES if name not in ("offset", "timestamp", "transactional_id"))
_NO_RECORDS: Final = Columns.empty(tuple(STATE_TYPES))
_NONE_LISTED: Final = Columns.empty(tuple(LISTED_TYPES))


@dataclass(slots=True)
class StateColumns:
    """One row of `records` for each state record; -1 for none, as in StateRecord, and as the state of a tombstone.

    `transactional_id` is a number in `ids`. A record lists `partitions_count` partitions, which are rows of `listed`,
    those of a record after those of the record before, sorted by topic and partition; a count of -1 is no list. A topic
    is a number in `topics`. Names are distinct, and numbered in the order in which they first occur.
    """

    records: Columns = field(default_factory=lambda: _NO_RECORDS)
    listed: Columns = field(default_factory=lambda: _NONE_LISTED)
    ids: TextColumn = field(default_factory=TextColumn)
    topics: TextColumn = field(default_factory=TextColumn)
    findings: list[Finding] = field(default_factory=list)
    _listed_from: NDArray[Any] | None = field(default=None, init=False, repr=False, compare=False)

    def __len__(self) -> int:
        return len(self.records)

    def __getitem__(self, name: str) -> NDArray[Any]:
        """Return a column of the records."""
        return self.records[name]

    @classmethod
    def moved(
        cls, records: Sequence[Columns], listed: Sequence[Columns], ids: TextColumn, topics: TextColumn
    ) -> StateColumns:
        """Put rows together, which lose theirs, so that no row is kept twice."""
        return cls(Columns.moved(records, STATE_TYPES), Columns.moved(listed, LISTED_TYPES), ids, topics)

    @classmethod
    def concat(cls, parts: Sequence[StateColumns]) -> StateColumns:
        """Put records one after the other; the parts lose theirs. Equal names of several parts get one number."""
        if len(parts) > 1:
            ids, topics = Numbered(), Numbered()
            for part in parts:
                part._renumber(ids, topics)
            names = TextColumn.of_numbered(ids), TextColumn.of_numbered(topics)
        else:
            names = next(((part.ids, part.topics) for part in parts), (TextColumn(), TextColumn()))
        found = cls.moved([part.records for part in parts], [part.listed for part in parts], *names)
        for part in parts:
            found.findings += part.findings
            part.records, part.listed, part._listed_from = _NO_RECORDS, _NONE_LISTED, None
            part.ids, part.topics = TextColumn(), TextColumn()
        return found

    def distinguish(self) -> None:
        """Number the names anew, so that equal ones have one number."""
        ids, topics = Numbered(), Numbered()
        self._renumber(ids, topics)
        self.ids, self.topics = TextColumn.of_numbered(ids), TextColumn.of_numbered(topics)

    def _renumber(self, ids: Numbered, topics: Numbered) -> None:
        """Give names their numbers among others, to which new ones are added."""
        id_numbers, topic_numbers = (
            names.numbers_in(known).astype(np.int32) for names, known in ((self.ids, ids), (self.topics, topics))
        )
        self.records = self.records.with_columns({"transactional_id": id_numbers[self["transactional_id"]]})
        self.listed = self.listed.with_columns({"topic": topic_numbers[self.listed["topic"]]})

    def reorder(self, order: NDArray[np.intp]) -> None:
        """Put the rows into another order."""
        parts = [self._listed(order[at : at + _AT_ONCE]) for at in range(0, len(order), _AT_ONCE)]
        listed = np.concatenate(parts) if parts else order
        del parts
        self._listed_from = None
        self.records = Columns.moved([self.records], STATE_TYPES, order)
        self.listed = Columns.moved([self.listed], LISTED_TYPES, listed)

    def take(self, rows: NDArray[Any]) -> StateColumns:
        """Return some rows; names keep their numbers."""
        return StateColumns(self.records.take(rows), self.listed.take(self._listed(rows)), self.ids, self.topics)

    def listed_by(self, rows: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return all that some rows list: which of these rows it is, and the row of `listed`."""
        counts = np.maximum(self["partitions_count"][rows], 0)
        return np.repeat(np.arange(len(counts)), counts), self._listed(rows)

    def _listed(self, rows: NDArray[Any]) -> NDArray[Any]:
        return ranges(self._firsts[rows], np.maximum(self["partitions_count"][rows], 0))

    @property
    def _firsts(self) -> NDArray[Any]:
        """Return the first row of `listed` of each record, and their end."""
        if self._listed_from is None:
            kind = np.int32 if len(self.listed) < 2**31 else np.int64
            self._listed_from = np.zeros(len(self) + 1, kind)
            np.cumsum(np.maximum(self["partitions_count"], 0), out=self._listed_from[1:])
        return self._listed_from

    def differ(self, rows: NDArray[Any], other: StateColumns, places: NDArray[Any]) -> NDArray[np.bool_]:
        """Say which of some rows are other records than the rows at `places` of other columns, wherever they are."""
        ids, topics = _numbers_in(other.ids, self.ids), _numbers_in(other.topics, self.topics)
        found: NDArray[np.bool_] = ids[self["transactional_id"][rows]] != other["transactional_id"][places]
        for name in _COMPARED:
            found |= self[name][rows] != other[name][places]
        same = np.flatnonzero(~found)  # they list as many partitions
        owner, mine = self.listed_by(rows[same])
        theirs = other._listed(places[same])
        listed = topics[self.listed["topic"][mine]] != other.listed["topic"][theirs]
        listed |= self.listed["partition"][mine] != other.listed["partition"][theirs]
        found[same[owner[listed]]] = True
        return found


def _numbers_in(known: TextColumn, names: TextColumn) -> NDArray[np.int64]:
    """Return the number that each name has among others, -1 for none; the last one is that of no name."""
    return np.append(known.find_texts(names), -1)


def listed_partitions(states: StateColumns, *, spaced: bool = False) -> JsonColumn:
    """Return the partitions that each record lists, as topic-partition; most list one or none, which are written once.

    JSON has blanks and is not ASCII if it is `spaced`.
    """
    encode = JSON_ENCODERS[ops.SPACED_JSON if spaced else ops.ASCII_JSON]
    counts = np.maximum(states["partitions_count"], 0)
    ends = np.cumsum(counts)
    firsts = ends - counts
    is_list = (states["state"] != TOMBSTONE) & (states["partitions_count"] >= 0)
    all_topics, all_partitions = states.listed["topic"], states.listed["partition"]

    def names(topics: NDArray[Any], partitions: NDArray[Any]) -> list[str]:
        pairs = zip(topics.tolist(), partitions.tolist(), strict=True)
        return [f"{states.topics[topic]}-{partition}" for topic, partition in pairs]

    empty, single, many = (np.flatnonzero(is_list & some) for some in (counts == 0, counts == 1, counts > 1))
    topics, partitions = all_topics[firsts[single]], all_partitions[firsts[single]]
    places = topics.astype(np.int64) << 32 | partitions.astype(np.int64) & 0xFFFFFFFF
    _, one_of, which = np.unique(places, return_index=True, return_inverse=True)
    alone = JsonColumn.of([encode([name]) for name in names(topics[one_of], partitions[one_of])]).take(which)
    lists = [
        encode(names(all_topics[first:end], all_partitions[first:end]))
        for first, end in zip(firsts[many].tolist(), ends[many].tolist(), strict=True)
    ]
    parts = [(empty, JsonColumn.of([encode([])]).take(np.zeros(len(empty), np.intp))), (single, alone)]
    return JsonColumn.joined(len(states), [*parts, (many, JsonColumn.of(lists))])

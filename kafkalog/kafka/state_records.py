"""The records of the transaction state topic as typed columns: some 60 bytes a record, 8 a partition that one lists."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, SupportsIndex

import numpy as np

from kafkalog.columns.named import give_back, one_cell
from kafkalog.columns.texts import JsonColumn, Numbered, TextColumn
from kafkalog.findings import Finding
from kafkalog.kafka.message_json import JSON_ENCODERS
from kafkalog.kafka.transaction_state import StateRecord, TransactionState
from kafkalog.kernel import message_ops as ops

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["STATE_TYPES", "TOMBSTONE", "StateColumns", "listed_partitions"]

TOMBSTONE: Final = -1  # in the column of states
STATE_TYPES: Final = {
    "offset": "i8", "timestamp": "i8", "transactional_id": "i4", "state": "i1", "producer_id": "i8",
    "producer_epoch": "i2", "timeout_ms": "i4", "last_update_timestamp": "i8", "start_timestamp": "i8",
    "previous_producer_id": "i8", "next_producer_id": "i8", "client_transaction_version": "i2", "version": "i1",
    "partitions_count": "i4", "listed_topic": "i4", "listed_partition": "i4",
}  # fmt: skip
_MANY: Final = 1 << 20  # rows
_LISTED: Final = ("listed_topic", "listed_partition")
_COMPARED: Final = tuple(
    name for name in STATE_TYPES if name not in ("offset", "timestamp", "transactional_id", *_LISTED)
)
_APART: Final = ("transactional_id", "state", "partitions")


_NOTHING: Final = np.empty(0, np.int64)


def _none() -> NDArray[Any]:
    return _NOTHING


@dataclass(slots=True, eq=False)
class StateColumns:
    """One row for each state record; -1 for none, as in StateRecord, and as the state of a tombstone.

    `transactional_id` is a number in `ids`. A record lists `partitions_count` partitions, those of a row after those of
    the row before in the two `listed` columns, sorted by topic and partition; a count of -1 is no list. `listed_topic`
    is a number in `topics`. Names are
    distinct, and numbered in the order in which they first occur. A column of one value takes no
    room: its cells can't be written.
    """

    offset: NDArray[Any] = field(default_factory=_none)
    timestamp: NDArray[Any] = field(default_factory=_none)
    transactional_id: NDArray[Any] = field(default_factory=_none)
    state: NDArray[Any] = field(default_factory=_none)
    producer_id: NDArray[Any] = field(default_factory=_none)
    producer_epoch: NDArray[Any] = field(default_factory=_none)
    timeout_ms: NDArray[Any] = field(default_factory=_none)
    last_update_timestamp: NDArray[Any] = field(default_factory=_none)
    start_timestamp: NDArray[Any] = field(default_factory=_none)
    previous_producer_id: NDArray[Any] = field(default_factory=_none)
    next_producer_id: NDArray[Any] = field(default_factory=_none)
    client_transaction_version: NDArray[Any] = field(default_factory=_none)
    version: NDArray[Any] = field(default_factory=_none)
    partitions_count: NDArray[Any] = field(default_factory=_none)
    listed_topic: NDArray[Any] = field(default_factory=_none)
    listed_partition: NDArray[Any] = field(default_factory=_none)
    ids: TextColumn = field(default_factory=TextColumn)
    topics: TextColumn = field(default_factory=TextColumn)
    findings: list[Finding] = field(default_factory=list)
    _listed_from: NDArray[Any] | None = field(default=None, init=False, repr=False)

    def __len__(self) -> int:
        return len(self.offset)

    def __reduce_ex__(self, protocol: SupportsIndex) -> str | tuple[Any, ...]:
        """Cross to another process; most segments are not of the state topic and have nothing of this."""
        if not (len(self) or self.ids or self.topics or self.findings):
            return StateColumns, ()
        return object.__reduce_ex__(self, protocol)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, StateColumns):
            return NotImplemented
        names = (self.ids, self.topics, self.findings) == (other.ids, other.topics, other.findings)
        return names and all(np.array_equal(getattr(self, name), getattr(other, name)) for name in STATE_TYPES)

    __hash__ = None  # type: ignore[assignment]  # rows can't be keys

    @classmethod
    def of(cls, columns: dict[str, list[NDArray[Any]]], ids: TextColumn, topics: TextColumn) -> StateColumns:
        """Put the pieces of each column together, and forget them one column after the other."""
        rows, listed = (sum(map(len, columns.get(name, ()))) for name in ("offset", "listed_topic"))
        joined = cls(ids=ids, topics=topics)
        for name in STATE_TYPES:
            joined.put(name, columns.pop(name, []), listed if name in _LISTED else rows)
            if rows >= _MANY:
                give_back()  # else the pieces of all columns stay, twice the memory
        return joined

    def put(self, name: str, pieces: Iterable[NDArray[Any]], rows: int) -> None:
        """Set a column of so many rows to pieces, one after the other."""
        column, at = np.empty(rows, STATE_TYPES[name]), 0
        for piece in pieces:
            column[at : at + len(piece)] = piece
            at += len(piece)
        setattr(self, name, one_cell(column))

    @classmethod
    def concat(cls, parts: Sequence[StateColumns]) -> StateColumns:
        """Put columns one after the other; the parts lose theirs, so that no row is kept twice.

        The names of several parts are numbered anew, equal ones once.
        """
        if len(parts) == 1:
            joined = replace(parts[0])
            parts[0].clear()
            return joined
        ids, topics = Numbered(), Numbered()
        columns: dict[str, list[NDArray[Any]]] = {name: [] for name in STATE_TYPES}
        for part in parts:
            part.transactional_id = _renumbered(part.transactional_id, part.ids, ids)
            part.listed_topic = _renumbered(part.listed_topic, part.topics, topics)
            for name, found in columns.items():
                found.append(getattr(part, name))
            part.clear()
        joined = cls.of(columns, TextColumn.of_numbered(ids), TextColumn.of_numbered(topics))
        joined.findings = [one for part in parts for one in part.findings]
        return joined

    def distinguish(self) -> None:
        """Number the names anew, so that equal ones have one number."""
        ids, topics = Numbered(), Numbered()
        self.transactional_id = _renumbered(self.transactional_id, self.ids, ids)
        self.listed_topic = _renumbered(self.listed_topic, self.topics, topics)
        self.ids, self.topics = TextColumn.of_numbered(ids), TextColumn.of_numbered(topics)

    def clear(self) -> None:
        """Forget all rows and names."""
        for name in STATE_TYPES:
            setattr(self, name, _none())
        self.ids, self.topics, self._listed_from = TextColumn(), TextColumn(), None

    def reorder(self, order: NDArray[np.intp]) -> None:
        """Put the rows into another order, one column after the other."""
        parts = [self._listed(order[at : at + _MANY]) for at in range(0, len(order), _MANY)]
        listed = np.concatenate(parts) if parts else order
        del parts
        self._listed_from = None
        for name in STATE_TYPES:
            column = getattr(self, name)
            if len(column) and column.strides[0]:
                setattr(self, name, column[listed if name in _LISTED else order])
                del column
                if len(self) >= _MANY:
                    give_back()

    def take(self, rows: NDArray[Any]) -> StateColumns:
        """Return some rows; names keep their numbers."""
        listed = self._listed(rows)
        columns = {name: [getattr(self, name)[listed if name in _LISTED else rows]] for name in STATE_TYPES}
        return StateColumns.of(columns, self.ids, self.topics)

    def listed(self, rows: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return all that some rows list: which of these rows it is, and the row of the `listed` columns."""
        counts = np.maximum(self.partitions_count[rows], 0)
        return np.repeat(np.arange(len(counts)), counts), self._listed(rows)

    def _listed(self, rows: NDArray[Any]) -> NDArray[Any]:
        return _stretches(self._firsts[rows], np.maximum(self.partitions_count[rows], 0))

    @property
    def _firsts(self) -> NDArray[Any]:
        """Return the first row of the `listed` columns of each record, and their end."""
        if self._listed_from is None:
            kind = np.int32 if len(self.listed_topic) < 2**31 else np.int64
            self._listed_from = np.zeros(len(self) + 1, kind)
            np.cumsum(np.maximum(self.partitions_count, 0), out=self._listed_from[1:])
        return self._listed_from

    def differ(self, rows: NDArray[Any], other: StateColumns, places: NDArray[Any]) -> NDArray[np.bool_]:
        """Say which of some rows are other records than the rows at `places` of other columns, wherever they are."""
        ids, topics = _numbers_in(other.ids, self.ids), _numbers_in(other.topics, self.topics)
        found: NDArray[np.bool_] = ids[self.transactional_id[rows]] != other.transactional_id[places]
        for name in _COMPARED:
            found |= getattr(self, name)[rows] != getattr(other, name)[places]
        same = np.flatnonzero(~found)  # they list as many partitions
        owner, mine = self.listed(rows[same])
        theirs = other._listed(places[same])
        listed = topics[self.listed_topic[mine]] != other.listed_topic[theirs]
        listed |= self.listed_partition[mine] != other.listed_partition[theirs]
        found[same[owner[listed]]] = True
        return found

    def names(self, row: int) -> list[tuple[str, int]] | None:
        """Return the partitions that a record lists, None where it has no list."""
        if self.partitions_count[row] < 0:
            return None
        _, listed = self.listed(np.array([row]))
        topics, numbers = self.listed_topic[listed].tolist(), self.listed_partition[listed].tolist()
        return [(self.topics[topic], number) for topic, number in zip(topics, numbers, strict=True)]

    def records(self) -> Iterator[StateRecord]:
        """Yield all rows as records."""
        states = [*TransactionState, None]
        topics = [self.topics[number] for number in self.listed_topic.tolist()]
        listed = list(zip(topics, self.listed_partition.tolist(), strict=True))
        fields = (getattr(self, name).tolist() for name in StateRecord._fields if name not in _APART)
        names = map(self.ids.__getitem__, self.transactional_id.tolist())
        firsts, counts = self._firsts[:-1].tolist(), self.partitions_count.tolist()
        for name, state, first, count, *others in zip(names, self.state.tolist(), firsts, counts, *fields, strict=True):
            producer_id, producer_epoch, timeout_ms, *rest = others
            pairs = None if count < 0 else tuple(listed[first : first + count])
            yield StateRecord(name, states[state], producer_id, producer_epoch, timeout_ms, pairs, *rest)


def _stretches(firsts: NDArray[Any], counts: NDArray[Any]) -> NDArray[Any]:
    """Return the numbers of several stretches, each from its first one on, one after the other."""
    ends = np.cumsum(counts, dtype=firsts.dtype)
    total = int(ends[-1]) if len(ends) else 0
    return np.repeat(firsts - (ends - counts), counts) + np.arange(total, dtype=firsts.dtype)


def _numbers_in(known: TextColumn, names: TextColumn) -> NDArray[np.int64]:
    """Return the number that each name has among others, -1 for none; the last one is that of no name."""
    return np.append(known.find(names), -1)


def _renumbered(numbers: NDArray[Any], names: TextColumn, known: Numbered) -> NDArray[Any]:
    new = names.numbers_in(known).astype(np.int32)
    return new[numbers] if len(numbers) else numbers


def listed_partitions(states: StateColumns, *, spaced: bool = False) -> JsonColumn:
    """Return the partitions that each record lists, as topic-partition; most list one or none, which are written once.

    JSON has blanks and is not ASCII if it is `spaced`.
    """
    encode = JSON_ENCODERS[ops.SPACED_JSON if spaced else ops.ASCII_JSON]
    counts = np.maximum(states.partitions_count, 0)
    ends = np.cumsum(counts)
    firsts = ends - counts
    is_list = (states.state != TOMBSTONE) & (states.partitions_count >= 0)

    def names(topics: NDArray[Any], partitions: NDArray[Any]) -> list[str]:
        pairs = zip(topics.tolist(), partitions.tolist(), strict=True)
        return [f"{states.topics[topic]}-{partition}" for topic, partition in pairs]

    empty, single, many = (np.flatnonzero(is_list & some) for some in (counts == 0, counts == 1, counts > 1))
    topics, partitions = states.listed_topic[firsts[single]], states.listed_partition[firsts[single]]
    places = topics.astype(np.int64) << 32 | partitions.astype(np.int64) & 0xFFFFFFFF
    _, one_of, which = np.unique(places, return_index=True, return_inverse=True)
    alone = JsonColumn.of([encode([name]) for name in names(topics[one_of], partitions[one_of])]).take(which)
    lists = [
        encode(names(states.listed_topic[first:end], states.listed_partition[first:end]))
        for first, end in zip(firsts[many].tolist(), ends[many].tolist(), strict=True)
    ]
    parts = [(empty, JsonColumn.of([encode([])]).take(np.zeros(len(empty), np.intp))), (single, alone)]
    return JsonColumn.joined(len(states), [*parts, (many, JsonColumn.of(lists))])

"""What groups have committed: the last commit of each of their partitions that counts, and what waits."""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from kafkalog.columns.sorted_rows import Spans, groups, last_of_each
from kafkalog.columns.table import AnyColumn, Columns
from kafkalog.columns.texts import Numbered, TextColumn
from kafkalog.folds import fold
from kafkalog.kafka.message import escaped_text
from kafkalog.kafka.message_primitives import uuid_text
from kafkalog.kernel import buffers
from kafkalog.kernel.columns import bytes_kinds
from kafkalog.kernel.plans import BASE64
from kafkalog.narrowing import matches
from kafkalog.quantities import by_number, iso, many
from kafkalog.segments.blocks import BlockColumn, BlockLayout, Kind, Rows
from kafkalog.segments.internal_blocks import InternalRecords, Part
from kafkalog.segments.moment import Moment
from kafkalog.tables import internal_tables as tables
from kafkalog.tables.arrow import Numbers
from kafkalog.tables.internal_tables import OFFSETS

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "ABORTED",
    "COMMITTED",
    "COMMIT_TYPES",
    "MOST_STORED",
    "PENDING",
    "STATES",
    "UNKNOWN",
    "CommitFates",
    "CommitKeys",
    "Commits",
    "Committed",
    "GroupStep",
    "InForce",
    "Names",
    "OffsetBlocks",
    "WantedNames",
    "grown",
    "newest",
]


# Whether a transactional record was committed or aborted: the fold's transactions by producer and offset.


COMMITTED: Final = "committed"

ABORTED: Final = "aborted"

PENDING: Final = "pending"

STATES: Final = (COMMITTED, ABORTED, PENDING, None)  # by the numbers of `CommitFates.states`

UNKNOWN: Final = STATES.index(None)  # damage hides the transaction

_COLUMNS: Final = ("producer_id", "first_offset", "last_offset", "marker_type", "marker_offset", "marker_timestamp")

_NUMBERS: Final = {
    fold.COMMIT: STATES.index(COMMITTED),
    fold.ABORT: STATES.index(ABORTED),
    fold.OPEN: STATES.index(PENDING),
}


class CommitFates:
    """A log's transactions with data that ended in one of some states."""

    def __init__(self, transactions: Columns, states: Container[str] = (COMMITTED, ABORTED, PENDING)) -> None:
        kept = [kind for kind, number in _NUMBERS.items() if STATES[number] in states]
        parts = [
            rows.take(fold.has_data(rows) & np.isin(rows["marker_type"], kept))
            for rows in transactions.blocks(*_COLUMNS)
        ]
        rows = Columns.concat(parts, _COLUMNS)
        self.spans = Spans(rows["producer_id"], rows["first_offset"], rows["last_offset"])
        self._state = np.zeros(len(rows), np.int8)
        for kind, number in _NUMBERS.items():
            self._state[rows["marker_type"] == kind] = number
        self.marker_offset = rows["marker_offset"]
        self._marker_timestamp = rows["marker_timestamp"]

    def __len__(self) -> int:
        return len(self.spans)

    def states(self, rows: NDArray[np.intp], moment: Moment | None = None) -> NDArray[np.int8]:
        """Return the states of records in these transactions at a moment, as numbers of `STATES`.

        Before its marker a transaction is pending; where there is none, the state is unknown.
        """
        if not len(self):
            return np.full(len(rows), UNKNOWN, np.int8)
        states = self._state[rows]
        if moment is not None:
            is_later = np.zeros(len(rows), np.bool_)
            for limit, of in ((moment.offset, self.marker_offset), (moment.timestamp, self._marker_timestamp)):
                if limit is not None:
                    is_later |= of[rows] > limit
            states = np.where(is_later, np.int8(STATES.index(PENDING)), states)
        found: NDArray[Any] = np.where(rows < 0, np.int8(UNKNOWN), states)
        return found


# What offset commits are for: groups, topics and partitions, numbered in the order in which they first occur.


COMMIT_TYPES: Final = (0, 1)

_ROOM: Final = 256  # rows at first

_TYPE_BYTES: Final = 2  # that a key begins with


def grown(column: NDArray[Any], rows: int, missing: int) -> NDArray[Any]:
    """Return a column with room for so many rows, twice its own at least; new rows are `missing`."""
    if rows <= len(column):
        return column
    room = max(rows, 2 * len(column), _ROOM)
    return np.concatenate([column, np.full((room - len(column), *column.shape[1:]), missing, column.dtype)])


class Names:
    """Texts numbered from 0 on. Bytes that are not UTF-8 may be escaped to the text of others: then they are equal."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self._bytes = Numbered()
        self._of_bytes = np.empty(0, np.int32)
        self._of_text: dict[str, int] = {}

    def number(self, text: str) -> int:
        """Return a text's number."""
        number = self._of_text.setdefault(text, len(self.texts))
        if number == len(self.texts):
            self.texts.append(text)
        return number

    def numbers(self, records: InternalRecords, starts: NDArray[np.int64], sizes: NDArray[np.int64]) -> NDArray[Any]:
        """Return the numbers of texts in a block's bytes."""
        known = len(self._bytes)
        found = np.frombuffer(self._bytes.numbers(records.buf, starts.data, sizes.data), np.int64)
        self._of_bytes = grown(self._of_bytes, len(self._bytes), 0)
        for number in range(known, len(self._bytes)):
            self._of_bytes[number] = self.number(escaped_text(self._bytes[number]))
        return self._of_bytes[found]

    def forget_bytes(self) -> None:
        """Keep only the texts and their numbers: no more bytes are numbered."""
        self._bytes, self._of_bytes = Numbered(), np.empty(0, np.int32)
        self._of_text.clear()


class WantedNames:
    """Which of numbered names are meant by names or patterns; without any, all are."""

    def __init__(self, names: Names, patterns: Collection[str]) -> None:
        self.narrow = bool(patterns)
        self._names = names
        self._patterns = patterns
        self._is_wanted = np.empty(0, np.bool_)

    def of(self, numbers: NDArray[Any]) -> NDArray[np.bool_]:
        """Say which of these numbers stand for names that are meant."""
        new = [matches(name, self._patterns) for name in self._names.texts[len(self._is_wanted) :]]
        self._is_wanted = np.concatenate([self._is_wanted, np.array(new, np.bool_)])
        found: NDArray[np.bool_] = self._is_wanted[numbers]
        return found


class CommitKeys:
    """The partitions of groups that commits are for; `groups` may have more names than commits are for."""

    def __init__(self, groups: Names, topics: Names) -> None:
        self.groups = groups
        self.topics = topics
        self._columns = np.empty((0, 3), np.int32)
        self._bytes = Numbered()
        self._of_bytes = np.empty(0, np.int32)
        self._triples = Numbered()
        self._count = 0

    @property
    def group(self) -> NDArray[np.int32]:
        """Return the keys' groups, as numbers of `groups`."""
        return self._columns[: len(self), 0]

    @property
    def topic(self) -> NDArray[np.int32]:
        """Return the keys' topics, as numbers of `topics`."""
        return self._columns[: len(self), 1]

    @property
    def partition(self) -> NDArray[np.int32]:
        """Return the keys' partitions."""
        return self._columns[: len(self), 2]

    def __len__(self) -> int:
        return self._count

    def numbers(self, records: InternalRecords, rows: NDArray[Any]) -> NDArray[Any]:
        """Return the numbers of these rows of a block, which are commits with keys that could be read."""
        known = len(self._bytes)
        starts, sizes = records.key_start[rows] + _TYPE_BYTES, records.key_size[rows] - _TYPE_BYTES
        found = np.frombuffer(self._bytes.numbers(records.buf, starts.data, sizes.data), np.int64)
        if len(self._bytes) > known:
            numbers, first = np.unique(found, return_index=True)
            self._of_bytes = grown(self._of_bytes, len(self._bytes), 0)
            self._of_bytes[known : len(self._bytes)] = self._new(records, rows[first[numbers >= known]])
        return self._of_bytes[found]

    def _new(self, records: InternalRecords, rows: NDArray[Any]) -> NDArray[Any]:
        """Number keys whose bytes were not there before; equal names may have different bytes."""
        parts = records.keys(COMMIT_TYPES, rows)
        group, topic = (_names(names, records, parts, field, rows) for names, field in
                        ((self.groups, "group"), (self.topics, "topic")))  # fmt: skip
        partition = records.field(parts, "partition")[rows]
        triples = np.column_stack([group, topic, partition]).astype(np.int32)
        size = triples.itemsize * triples.shape[1]
        starts, sizes = np.arange(len(triples)) * size, np.full(len(triples), size)
        known = len(self._triples)
        found = np.frombuffer(self._triples.numbers(triples.tobytes(), starts.data, sizes.data), np.int64)
        numbers, first = np.unique(found, return_index=True)
        self._columns = grown(self._columns, len(self._triples), 0)
        self._columns[known : len(self._triples)] = triples[first[numbers >= known]]
        self._count = len(self._triples)
        return found

    def forget_bytes(self) -> None:
        """Keep only the keys: no more bytes are numbered."""
        self._bytes, self._triples, self._of_bytes = Numbered(), Numbered(), np.empty(0, np.int32)
        self.topics.forget_bytes()


def _names(
    names: Names, records: InternalRecords, parts: Collection[Part], field: str, rows: NDArray[Any]
) -> NDArray[Any]:
    starts, sizes = (records.field(parts, field, number)[rows] for number in (0, 1))
    return names.numbers(records, starts, sizes)


# Offset commits: what each group committed, in which transaction, and whether that counts.


_COMMITTED_STATE: Final = STATES.index(COMMITTED)


@dataclass(frozen=True, slots=True)
class Commits:
    """The offset commits of a block, tombstones among them.

    Of the columns `record` is the number of the block's record, `key` one of the log's ``CommitKeys``, `state` one of
    ``STATES``, `fate` a transaction or -1. `offset` is ``NONE`` in a tombstone.
    """

    records: InternalRecords
    columns: Columns

    @classmethod
    def of(
        cls, records: InternalRecords, rows: NDArray[Any], keys: NDArray[Any], fates: CommitFates, moment: Moment
    ) -> Commits:
        """Read the commits in these rows, which ascend and could be read; states are those at the moment."""
        is_transactional = records.is_transactional[rows]
        producer_id = records.of_batches(buffers.PRODUCER_ID)[rows]
        fate = np.full(len(rows), -1)
        state = np.full(len(rows), _COMMITTED_STATE, np.int8)
        if is_transactional.any():
            of = np.flatnonzero(is_transactional)
            fate[of] = fates.spans.find_rows(producer_id[of], records.offset[rows][of])
            state[of] = fates.states(fate[of], moment)
        parts = records.values(COMMIT_TYPES, rows)
        fields = {name: records.field(parts, *column)[rows] for name, column in _FIELDS.items()}
        columns = {
            "record": rows, "key": keys, "producer_id": producer_id, "is_transactional": is_transactional,
            "is_tombstone": records.is_tombstone[rows], "fate": fate, "state": state,
        }  # fmt: skip
        return cls(records, Columns(columns | fields))

    def __len__(self) -> int:
        return len(self.columns)

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self.columns[name]

    def part(self, first: int, stop: int) -> Commits:
        """Return only some of them."""
        return Commits(self.records, self.columns.take(slice(first, stop)))


# Fields of the values: their names in Kafka's words, and which of the columns.
_FIELDS: Final = {
    "offset": ("offset", 0),
    "leader_epoch": ("leaderEpoch", 0),
    "metadata": ("metadata", 0),
    "metadata_size": ("metadata", 1),
    "commit_timestamp": ("commitTimestamp", 0),
    "expire_timestamp": ("expireTimestamp", 0),
    "topic_id": ("topicId", 0),
}


_COMMITTED, _ABORTED, _PENDING = map(STATES.index, (COMMITTED, ABORTED, PENDING))

_AT_ONCE: Final = 4096  # rows

_STATES: Final = next(column.words for column in tables.COMMITTED.columns if column.name == "state")

_ROOM_OF_METADATA: Final = 1 << 20  # bytes before what is no longer in force is forgotten


class InForce(NamedTuple):
    """The committed offsets in force of one partition of ``__consumer_offsets``.

    The columns of `rows` are the number of the `key`, the `offset`, the `leader_epoch` and the `commit_timestamp`.
    """

    keys: CommitKeys
    rows: Columns

    def by_partition(self) -> Iterator[tuple[str, int, Columns]]:
        """Yield each partition with the rows that are for it."""
        topic, partition = self.keys.topic[self.rows["key"]], self.keys.partition[self.rows["key"]]
        for rows in groups(topic, partition):
            yield self.keys.topics.texts[topic[rows[0]]], int(partition[rows[0]]), self.rows.take(rows)


_RETENTION_MS: Final = 7 * 86_400_000  # offsets.retention.minutes where nobody set it


class GroupStep(NamedTuple):
    """A commit that went back to an `offset`, or a deletion, without one.

    It was written at `time` (ms) in the record at `record_offset`, after a commit of `was` at `since` (ms).
    """

    group: str
    topic: str
    partition: int
    was: int
    offset: int | None
    since: int
    time: int
    record_offset: int

    @property
    def code(self) -> str:
        """Return the code of its finding."""
        return "offset-deleted" if self.offset is None else "offset-went-back"

    @property
    def has_expired(self) -> bool:
        """Say whether a deletion is as late as one by Kafka's default of offsets.retention.minutes."""
        return self.time - self.since >= _RETENTION_MS

    @property
    def words(self) -> str:
        """Say what it was, and what follows."""
        where, when = f"{self.topic}-{self.partition}", iso(self.time)
        if self.offset is not None:
            by = many(self.was - self.offset, "offset")
            return (
                f"{self.group} went back by {by} in {where} at {when}, from {self.was} to {self.offset}: these are read"
                " twice"
            )
        why = "it was old enough to expire" if self.has_expired else "sooner than offsets expire by default"
        return (
            f"{self.group} lost its committed offset {self.was} in {where} at {when}, {why}: it starts where"
            " auto.offset.reset says"
        )


class Committed:
    """What groups have for each partition: the record in force, the newest one that waits, and how many were discarded.

    A commit counts from its marker on, and stays in the order of its own place in the log: a later one wins, whichever
    transaction ended first. A tombstone takes back what is committed and what waits.
    """

    def __init__(self, keys: CommitKeys) -> None:
        self.keys = keys
        self._taken = 0  # records of all blocks: the order of the log
        self._columns = {name: np.empty(0, np.int64) for name in _KEPT}
        self._metadata = Numbered()
        self._metadata_room = _ROOM_OF_METADATA

    def apply(self, commits: Commits) -> None:
        """Take in the next commits of the log, in its order."""
        for name, column in self._columns.items():
            self._columns[name] = grown(column, len(self.keys), _KEPT[name])
        kept = self._columns
        kept["is_known"][commits["key"]] = 1
        order = self._taken + np.arange(len(commits))
        self._taken += len(commits)
        is_committed = commits["state"] == _COMMITTED
        self._note_steps(commits, np.flatnonzero(is_committed))
        at, key = newest(commits["key"], is_committed)
        kept["order"][key] = order[at]
        kept["record_offset"][key] = commits.records.offset[commits["record"][at]]
        kept["is_transactional"][key] = commits["is_transactional"][at]
        kept["is_tombstone"][key] = commits["is_tombstone"][at]
        for name in ("offset", "leader_epoch", "commit_timestamp"):
            kept[name][key] = commits[name][at]
        starts, sizes = commits["metadata"][at], commits["metadata_size"][at]
        numbers = self._metadata.numbers(commits.records.buf, starts.data, sizes.data)
        kept["metadata"][key] = np.frombuffer(numbers, np.int64)
        if commits["is_tombstone"].any():
            at, key = newest(commits["key"], is_committed & commits["is_tombstone"])
            kept["deleted"][key] = order[at]
        if not is_committed.all():
            at, key = newest(commits["key"], commits["state"] == _PENDING)
            kept["waiting"][key] = order[at]
            kept["waiting_producer_id"][key] = commits["producer_id"][at]
            kept["waiting_offset"][key] = np.where(commits["is_tombstone"][at], buffers.NONE, commits["offset"][at])
            key, count = np.unique(commits["key"][commits["state"] == _ABORTED], return_counts=True)
            kept["aborted"][key] += count
        if self._metadata.size > self._metadata_room:
            self._forget()

    def _note_steps(self, commits: Commits, rows: NDArray[np.intp]) -> None:
        """Note the last commit of each key that went back, and the last deletion, with what was committed before.

        `rows` are those that count; each is held against the one before of its key, in this block or before it.
        """
        kept, order = self._columns, rows[np.argsort(commits["key"][rows], kind="stable")]
        key, offset, gone = (commits[name][order] for name in ("key", "offset", "is_tombstone"))
        about = {
            "ms": commits.records.timestamp[commits["record"][order]],
            "record": commits.records.offset[commits["record"][order]],
        }
        first = np.ones(len(order), np.bool_)
        first[1:] = key[1:] != key[:-1]
        was, was_ms = (
            np.append(buffers.NONE, column[:-1]) for column in (offset, commits["commit_timestamp"][order])
        )  # what the record before has
        was[1:][gone[:-1]] = buffers.NONE
        there = (kept["order"][key] >= 0) & (kept["is_tombstone"][key] == 0)
        was = np.where(first, np.where(there, kept["offset"][key], buffers.NONE), was)
        about["from"], about["since_ms"] = was, np.where(first, kept["commit_timestamp"][key], was_ms)
        had = was >= 0  # what is below 0 is no offset
        for is_step, value, name in (
            (had & ~gone & (offset >= 0) & (offset < was), was - offset, "went_back"),
            (had & gone, was, "deleted_offset"),
        ):
            at = np.flatnonzero(is_step)
            found, last = last_of_each(key[at])
            kept[name][found] = value[at[last]]
            for of, column in about.items():
                kept[f"{name}_{of}"][found] = column[at[last]]

    def steps(self) -> Iterator[GroupStep]:
        """Yield the last commit of each key that went back, then the deletions that no commit followed."""
        keys = self.keys
        kept = {name: column[: len(keys)] for name, column in self._columns.items()}
        is_gone = (kept["deleted_offset"] != buffers.NONE) & (kept["is_tombstone"] != 0)
        for name, is_one in (("went_back", kept["went_back"] != buffers.NONE), ("deleted_offset", is_gone)):
            for key in np.flatnonzero(is_one).tolist():
                about = ("from", "since_ms", "ms", "record")
                was, since, time, record = (int(kept[f"{name}_{of}"][key]) for of in about)
                offset = was - int(kept[name][key]) if name == "went_back" else None
                group, topic = keys.groups.texts[keys.group[key]], keys.topics.texts[keys.topic[key]]
                yield GroupStep(group, topic, int(keys.partition[key]), was, offset, since, time, record)

    def _forget(self) -> None:
        """Forget metadata that is no longer in force."""
        numbers, found = np.unique(self._columns["metadata"], return_inverse=True)
        is_none = len(numbers) > 0 and numbers[0] < 0
        self._metadata = self._metadata.only(numbers[int(is_none) :].tolist())
        self._columns["metadata"] = found - int(is_none)
        self._metadata_room = max(self._metadata_room, 2 * self._metadata.size)

    def counts(self, groups: int) -> tuple[list[int], list[int]]:
        """Return how many partitions each of so many groups has with a committed offset, and with one that waits."""
        size = len(self.keys)
        is_there = (self._columns["order"] >= 0) & (self._columns["is_tombstone"] == 0)
        committed, pending = (
            np.bincount(self.keys.group, weights=of[:size], minlength=groups).astype(np.int64).tolist()
            for of in (is_there, self._is_waiting)
        )
        return committed, pending

    @property
    def _is_waiting(self) -> NDArray[np.bool_]:
        return self._columns["waiting"] > self._columns["deleted"]

    def in_force(self) -> InForce:
        """Return the committed offsets that a consumer would start at."""
        is_there = (self._columns["order"] >= 0) & (self._columns["is_tombstone"] == 0)
        key = np.flatnonzero(is_there & (self._columns["offset"] >= 0))
        about = {name: self._columns[name][key] for name in ("offset", "leader_epoch", "commit_timestamp")}
        return InForce(self.keys, Columns({"key": key, **about}))

    def columns(self, log: str, lag: Callable[[NDArray[np.intp]], Mapping[str, AnyColumn]]) -> Iterator[Columns]:
        """Yield the table ``committed``, by group, topic and partition.

        `lag` gives the columns that the partitions' logs fill, by the numbers of the keys.
        """
        keys = self.keys
        group, topic = (_ranks(names.texts) for names in (keys.groups, keys.topics))
        order = np.lexsort((keys.partition, topic[keys.topic], group[keys.group]))
        order = order[self._columns["is_known"][order] != 0]
        waiting = self._is_waiting
        for start in range(0, len(order), _AT_ONCE):
            at = order[start : start + _AT_ONCE]
            found = {name: column[at] for name, column in self._columns.items()}
            values = {
                "group": _texts(keys.group[at], keys.groups.texts.__getitem__),
                "topic": _texts(keys.topic[at], keys.topics.texts.__getitem__),
                "partition": Numbers(keys.partition[at]),
                **self._state(found, waiting[at]),
                **lag(at),
                "log": TextColumn.same(log, len(at)),
            }
            yield Columns({name: values[name] for name in tables.COMMITTED.names})

    def _state(self, found: dict[str, NDArray[np.int64]], is_waiting: NDArray[np.bool_]) -> dict[str, AnyColumn]:
        is_here = found["order"] >= 0
        there = is_here & (found["is_tombstone"] == 0)
        states = [_STATES.index(word) for word in ("committed", "deleted", "pending", "aborted")]
        return {
            "offset": Numbers(found["offset"], there),
            "leader_epoch": Numbers(found["leader_epoch"], found["leader_epoch"] != -1),
            "metadata": _texts(found["metadata"], lambda number: escaped_text(self._metadata[number])),
            "commit_timestamp_ms": Numbers(found["commit_timestamp"], there),
            "transactional": found["is_transactional"] != 0,
            "record_offset": Numbers(found["record_offset"], is_here),
            "state": Numbers.worded(np.select([there, is_here, is_waiting], states[:3], states[3]), _STATES),
            "pending_offset": Numbers(found["waiting_offset"], is_waiting & (found["waiting_offset"] != buffers.NONE)),
            "pending_producer_id": Numbers(found["waiting_producer_id"], is_waiting),
            "aborted": found["aborted"],
            "went_back_by": found["went_back"],
            "went_back_ms": found["went_back_ms"],
            "deleted_offset": found["deleted_offset"],
            "deleted_ms": found["deleted_offset_ms"],
        }


def _texts(numbers: NDArray[Any], text_of: Callable[[int], str]) -> TextColumn:
    """Return the texts of these numbers, none for those below 0; equal ones are made once."""
    different, of = np.unique(numbers, return_inverse=True)
    return TextColumn.of([None if number < 0 else text_of(number) for number in different.tolist()]).take(of)


# What is kept of each partition of a group, and what it has before its first record.
_KEPT: Final = {
    "is_known": 0,
    "order": -1,
    "offset": -1,
    "leader_epoch": -1,
    "commit_timestamp": -1,
    "metadata": -1,
    "record_offset": -1,
    "is_transactional": 0,
    "is_tombstone": 0,
    "deleted": -1,
    "waiting": -1,
    "waiting_offset": -1,
    "waiting_producer_id": -1,
    "aborted": 0,
    "went_back": buffers.NONE,
    "went_back_ms": buffers.NONE,
    "went_back_record": buffers.NONE,
    "went_back_from": buffers.NONE,
    "went_back_since_ms": buffers.NONE,
    "deleted_offset": buffers.NONE,
    "deleted_offset_ms": buffers.NONE,
    "deleted_offset_record": buffers.NONE,
    "deleted_offset_from": buffers.NONE,
    "deleted_offset_since_ms": buffers.NONE,
}


def newest(keys: NDArray[Any], is_one: NDArray[np.bool_]) -> tuple[NDArray[np.intp], NDArray[Any]]:
    """Return the place of each key's last row among those of a kind, and the keys."""
    at = np.flatnonzero(is_one)
    found, last = last_of_each(keys[at])
    return at[last], found


def _ranks(texts: list[str]) -> NDArray[np.int64]:
    """Return each name's place in their order, as people count."""
    found = np.empty(len(texts), np.int64)
    found[sorted(range(len(texts)), key=lambda number: by_number(texts[number]))] = np.arange(len(texts))
    return found


# Offset commits as columns of the table ``offsets``.


_DECIDED: Final = [STATES.index(COMMITTED), STATES.index(ABORTED)]

_UUID: Final = 16

MOST_STORED: Final = 1 << 21  # bytes that clients stored, in a block

_TEXTS: Final = ("group", "topic", "metadata", "topic_id")

_NULLABLE: Final = frozenset({
    "offset", "leader_epoch", "commit_timestamp_ms", "expire_timestamp_ms", "producer_id", "state", "marker_offset",
})  # fmt: skip


class OffsetBlocks:
    """Makes blocks of at most `room` commits in one log, a multiple of 8, with the named columns."""

    def __init__(self, log: str, names: Sequence[str], room: int) -> None:
        layout = BlockLayout(OFFSETS, log, room)
        words = {"log": (log,), "state": tuple(word for word in STATES if word is not None)}
        for name in OFFSETS.names:
            if name in _TEXTS:
                layout.columns[name] = BlockColumn(name, Kind.TEXT, layout.run(3))
            else:
                layout.number(name, words.get(name, ()), is_nullable=name in _NULLABLE)
        weight = layout.run(2)
        self._columns = layout.columns
        self._block = layout.block(OFFSETS.names)
        self._block.columns = tuple(layout.columns[name] for name in names)
        self._block.weight = weight
        self._cells = np.frombuffer(self._block.cells, np.int64)
        self._valid = np.frombuffer(self._block.valid, np.uint8)

    def of(self, commits: Commits, keys: CommitKeys, fates: CommitFates) -> Iterator[Rows]:
        """Yield the rows of these commits, all at once unless clients stored much; the next ones use the same cells."""
        sizes = np.cumsum(np.maximum(commits["metadata_size"], 0))
        first = 0
        while first < len(commits):
            before = int(sizes[first - 1]) if first else 0
            stop = max(int(np.searchsorted(sizes, before + MOST_STORED, "right")), first + 1)
            is_all = not first and stop == len(commits)
            yield self._rows(commits if is_all else commits.part(first, stop), keys, fates)
            first = stop

    def _rows(self, commits: Commits, keys: CommitKeys, fates: CommitFates) -> Rows:
        block, count = self._block, len(commits)
        block.count = count
        there = ~commits["is_tombstone"]
        self._put("record_offset", commits.records.offset[commits["record"]])
        self._put("timestamp_ms", commits.records.timestamp[commits["record"]])
        self._put("partition", keys.partition[commits["key"]])
        self._put("offset", commits["offset"], there)
        self._put("leader_epoch", commits["leader_epoch"], commits["leader_epoch"] != -1)
        self._put("commit_timestamp_ms", commits["commit_timestamp"], there)
        self._put("expire_timestamp_ms", commits["expire_timestamp"], commits["expire_timestamp"] != -1)
        self._put("transactional", commits["is_transactional"])
        self._put("producer_id", commits["producer_id"], commits["is_transactional"])
        self._put("state", np.where(commits["state"] == UNKNOWN, 0, commits["state"]), commits["state"] != UNKNOWN)
        markers = fates.marker_offset[commits["fate"]] if len(fates) else commits["fate"]
        self._put("marker_offset", markers, (commits["fate"] >= 0) & np.isin(commits["state"], _DECIDED))
        self._put("tombstone", commits["is_tombstone"])
        self._cells[block.weight : block.weight + count] = 0
        data = bytearray()
        self._names("group", keys.groups.texts, keys.group[commits["key"]], data)
        self._names("topic", keys.topics.texts, keys.topic[commits["key"]], data)
        self._metadata(commits, data)
        self._topic_ids(commits, data)
        block.buf = data
        return Rows(block, 0, count)

    def _put(self, name: str, values: NDArray[Any], there: NDArray[np.bool_] | None = None) -> None:
        column, count = self._columns[name], len(values)
        self._cells[column.at : column.at + count] = values
        if there is not None:
            bits = np.packbits(there, bitorder="little")
            self._valid[column.bit // 8 : column.bit // 8 + len(bits)] = bits

    def _text(self, name: str, starts: NDArray[Any], sizes: NDArray[Any], data: bytearray) -> NDArray[np.int64]:
        """Write where the texts of a column are in `data`, a size of -1 for none; return what they are."""
        block, at, count = self._block, self._columns[name].at, len(starts)
        cells, room = self._cells, block.room
        cells[at : at + count] = np.where(sizes > 0, starts, 0)
        cells[at + room : at + room + count] = sizes
        bytes_kinds(data, block.cells, at, at + room, at + 2 * room, count)
        cells[block.weight : block.weight + count] += np.maximum(sizes, 0)
        return cells[at + 2 * room : at + 2 * room + count]

    def _names(self, name: str, texts: Sequence[str], numbers: NDArray[Any], data: bytearray) -> None:
        """Write names, those that are equal once."""
        different, of = np.unique(numbers, return_inverse=True)
        starts, sizes = _added([texts[number].encode() for number in different.tolist()], data)
        self._text(name, starts[of], sizes[of], data)

    def _metadata(self, commits: Commits, data: bytearray) -> None:
        """Copy what clients stored; bytes that are not UTF-8 are escaped with backslashes."""
        starts, sizes = commits["metadata"], commits["metadata_size"]
        first = int(starts[sizes > 0].min(initial=np.iinfo(np.int64).max))
        last = int((starts + sizes)[sizes > 0].max(initial=0))
        base = len(data) - first
        data += commits.records.buf[first:last]
        odd = np.flatnonzero(self._text("metadata", base + starts, sizes, data) == BASE64)
        if len(odd):
            at, size = starts[odd].tolist(), sizes[odd].tolist()
            buf = commits.records.buf
            texts = [
                escaped_text(bytes(buf[start : start + long])).encode() for start, long in zip(at, size, strict=True)
            ]
            starts, sizes = base + starts, sizes.copy()
            starts[odd], sizes[odd] = _added(texts, data)
            self._cells[self._block.weight : self._block.weight + len(starts)] -= np.maximum(
                commits["metadata_size"], 0
            )
            self._text("metadata", starts, sizes, data)

    def _topic_ids(self, commits: Commits, data: bytearray) -> None:
        positions = commits["topic_id"]
        starts, sizes = np.zeros(len(positions), np.int64), np.full(len(positions), -1)
        some = np.flatnonzero(positions >= 0)
        if len(some):
            every = np.frombuffer(commits.records.buf, np.uint8)
            ids = every[positions[some][:, np.newaxis] + np.arange(_UUID)]
            some, ids = some[ids.any(axis=1)], ids[ids.any(axis=1)]
            different, of = np.unique(ids, axis=0, return_inverse=True)
            if len(some):
                where, size = _added([uuid_text(one.tobytes()).encode() for one in different], data)
                starts[some], sizes[some] = where[of.reshape(-1)], size[of.reshape(-1)]
        self._text("topic_id", starts, sizes, data)


def _added(texts: Sequence[bytes], data: bytearray) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Add texts to `data`; return where each begins, and its size."""
    sizes = np.fromiter(map(len, texts), np.int64, len(texts))
    starts = len(data) + np.cumsum(sizes) - sizes
    data += b"".join(texts)
    return starts, sizes

"""What groups have committed: the last commit of each of their partitions that counts, and what waits."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from kafkalog.auditing.topics.commit_keys import CommitKeys, grown
from kafkalog.auditing.topics.fates import ABORTED, COMMITTED, PENDING, STATES
from kafkalog.auditing.topics.offsets import Commits
from kafkalog.format import kernel
from kafkalog.format.message import escaped_text
from kafkalog.format.numbered import Numbered
from kafkalog.format.text_columns import TextColumn
from kafkalog.log.column_blocks import AnyColumns, Marked, Worded
from kafkalog.tables import internal as tables

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Committed", "newest", "ranks"]

_COMMITTED, _ABORTED, _PENDING = map(STATES.index, (COMMITTED, ABORTED, PENDING))
_AT_ONCE: Final = 4096  # rows
_STATES: Final = next(column.words for column in tables.COMMITTED.columns if column.name == "state")
_ROOM_OF_METADATA: Final = 1 << 20  # bytes before what is no longer in force is forgotten


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

    def take(self, commits: Commits) -> None:
        """Take in the next commits of the log, in its order."""
        for name, column in self._columns.items():
            self._columns[name] = grown(column, len(self.keys), _KEPT[name])
        kept = self._columns
        kept["is_known"][commits.key] = 1
        order = self._taken + np.arange(len(commits.rows))
        self._taken += len(commits.rows)
        is_committed = commits.state == _COMMITTED
        at, key = newest(commits.key, is_committed)
        kept["order"][key] = order[at]
        kept["record_offset"][key] = commits.records.offset[commits.rows[at]]
        kept["is_transactional"][key] = commits.is_transactional[at]
        kept["is_tombstone"][key] = commits.is_tombstone[at]
        for name in ("offset", "leader_epoch", "commit_timestamp"):
            kept[name][key] = commits.fields[name][at]
        starts, sizes = commits.fields["metadata"][at], commits.fields["metadata_size"][at]
        numbers = self._metadata.numbers(commits.records.buf, starts.data, sizes.data)
        kept["metadata"][key] = np.frombuffer(numbers, np.int64)
        if commits.is_tombstone.any():
            at, key = newest(commits.key, is_committed & commits.is_tombstone)
            kept["deleted"][key] = order[at]
        if not is_committed.all():
            at, key = newest(commits.key, commits.state == _PENDING)
            kept["waiting"][key] = order[at]
            kept["waiting_producer_id"][key] = commits.producer_id[at]
            kept["waiting_offset"][key] = np.where(commits.is_tombstone[at], kernel.NONE, commits.fields["offset"][at])
            key, count = np.unique(commits.key[commits.state == _ABORTED], return_counts=True)
            kept["aborted"][key] += count
        if self._metadata.size > self._metadata_room:
            self._forget()

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

    def columns(self, log: str) -> Iterator[AnyColumns]:
        """Yield the table ``committed``, by group, topic and partition."""
        keys = self.keys
        group, topic = (ranks(names.texts) for names in (keys.groups, keys.topics))
        order = np.lexsort((keys.partition, topic[keys.topic], group[keys.group]))
        order = order[self._columns["is_known"][order] != 0]
        waiting = self._is_waiting
        for start in range(0, len(order), _AT_ONCE):
            at = order[start : start + _AT_ONCE]
            found = {name: column[at] for name, column in self._columns.items()}
            yield {
                "group": _texts(keys.group[at], keys.groups.texts.__getitem__),
                "topic": _texts(keys.topic[at], keys.topics.texts.__getitem__),
                "partition": Marked(keys.partition[at]),
                **self._state(found, waiting[at]),
                "log": TextColumn.same(log, len(at)),
            }

    def _state(self, found: dict[str, NDArray[np.int64]], is_waiting: NDArray[np.bool_]) -> AnyColumns:
        is_here = found["order"] >= 0
        there = is_here & (found["is_tombstone"] == 0)
        states = [_STATES.index(word) for word in ("committed", "deleted", "pending", "aborted")]
        return {
            "offset": Marked(found["offset"], there),
            "leader_epoch": Marked(found["leader_epoch"], found["leader_epoch"] != -1),
            "metadata": _texts(found["metadata"], lambda number: escaped_text(self._metadata[number])),
            "commit_timestamp_ms": Marked(found["commit_timestamp"], there),
            "transactional": found["is_transactional"] != 0,
            "record_offset": Marked(found["record_offset"], is_here),
            "state": Worded(np.select([there, is_here, is_waiting], states[:3], states[3]), _STATES),
            "pending_offset": Marked(found["waiting_offset"], is_waiting & (found["waiting_offset"] != kernel.NONE)),
            "pending_producer_id": Marked(found["waiting_producer_id"], is_waiting),
            "aborted": found["aborted"],
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
}


def newest(keys: NDArray[Any], is_one: NDArray[np.bool_]) -> tuple[NDArray[np.intp], NDArray[Any]]:
    """Return the place of each key's last row among those of a kind, and the keys."""
    at = np.flatnonzero(is_one)
    order = np.argsort(keys[at], kind="stable")
    ordered = keys[at][order]
    is_last = np.append(ordered[1:] != ordered[:-1], True)[: len(ordered)]
    return at[order[is_last]], ordered[is_last]


def ranks(texts: list[str]) -> NDArray[np.int64]:
    """Return each text's place in their order."""
    found = np.empty(len(texts), np.int64)
    found[sorted(range(len(texts)), key=texts.__getitem__)] = np.arange(len(texts))
    return found

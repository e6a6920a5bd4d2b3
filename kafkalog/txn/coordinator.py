"""The coordinator's records: the timeline of each transactional id, and what was decided for a transaction."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

from kafkalog.format.records.transaction_state import StateRecord, TransactionState, legal_before

__all__ = ["Coordinator", "Decision", "Entry", "illegal_transitions"]

_PREPARE = {TransactionState.PREPARE_COMMIT: True, TransactionState.PREPARE_ABORT: False}
_COMPLETE = (TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT)


class Entry(NamedTuple):
    """A record of the state topic: its position, when it was written (ms), and what it says."""

    log: str
    partition: int
    offset: int
    timestamp: int
    record: StateRecord


class Decision(NamedTuple):
    """A transaction that the coordinator decided: its id, decision, time and partitions.

    `data_epoch` is the epoch of the Ongoing record before, None if that is gone; `until` is the time of the next
    transaction's start, None if there is none; `complete` says whether a Complete record follows,
    `completed` when it was written, -1 for never. The state partition has no records from after `known_until`.
    """

    transactional_id: str
    producer_id: int
    data_epoch: int | None
    epoch: int
    committed: bool
    started: int
    decided: int
    until: int | None
    partitions: tuple[tuple[str, int], ...]
    complete: bool
    offset: int
    known_until: int
    completed: int


@dataclass(slots=True)
class Coordinator:
    """All available timelines. `known` are the state partitions read, `total` is their number in the cluster."""

    timelines: dict[str, list[Entry]] = field(default_factory=dict)
    by_producer: dict[int, dict[str, None]] = field(default_factory=dict)  # ids in the order of their first records
    known: set[int] = field(default_factory=set)
    total: int | None = None
    newest: dict[int, int] = field(default_factory=dict)  # by state partition: the time of its newest record
    _current: dict[int, Entry] | None = None  # the newest last record by producer id

    def add(self, entries: Iterable[Entry]) -> None:
        """Add a state partition's records, in the order of their offsets."""
        self._current = None
        for entry in entries:
            record = entry.record
            self.timelines.setdefault(record.transactional_id, []).append(entry)
            self.newest[entry.partition] = max(self.newest.get(entry.partition, -1), entry.timestamp)
            for producer_id in {record.producer_id, record.previous_producer_id} - {-1}:
                self.by_producer.setdefault(producer_id, {})[record.transactional_id] = None

    def goes_on_past(self, name: str | None, timestamp: int) -> bool:
        """Say whether the state partition of an id has a newer record; without an id, whether all partitions have."""
        if name is not None and name in self.timelines:
            return self.newest[self.timelines[name][0].partition] > timestamp
        return bool(self.newest) and all(newest > timestamp for newest in self.newest.values())

    def read_until(self, name: str | None) -> int:
        """Return the time (ms) of the newest record in an id's state partition.

        Without an id it is the earliest of all partitions': -1 where one of them has no record, or is not here.
        """
        if name is not None and name in self.timelines:
            return self.newest[self.timelines[name][0].partition]
        if self.total is None or len(self.newest) < self.total:
            return -1
        return min((self.newest.get(number, -1) for number in range(self.total)), default=-1)

    @property
    def complete(self) -> bool:
        """Say whether every state partition of the cluster is available."""
        return self.total is not None and len(self.known) >= self.total and self.known >= set(range(self.total))

    def name_of(self, producer_id: int) -> str | None:
        """Return the transactional id that first named a producer id, None where no record names it."""
        return next(iter(self.by_producer.get(producer_id, ())), None)

    def last(self, producer_id: int) -> Entry | None:
        """Return the newest last record of an id that names the producer id as its own now."""
        if self._current is None:
            self._current = {}
            for name in self.timelines:
                entry = self.timelines[name][-1]
                other = self._current.setdefault(entry.record.producer_id, entry)
                if other.record.last_update_timestamp < entry.record.last_update_timestamp:
                    self._current[entry.record.producer_id] = entry
        return self._current.get(producer_id)

    def decisions(self) -> Iterator[Decision]:
        """Yield each decided transaction that a surviving record shows."""
        for name, entries in self.timelines.items():
            yield from reversed(list(self._decided(name, entries)))

    def _decided(self, name: str, entries: list[Entry]) -> Iterator[Decision]:
        """Yield the decisions of an id, the newest first, so that what follows each one is known."""
        until: int | None = None
        for number in range(len(entries) - 1, -1, -1):
            entry = entries[number]
            record = entry.record
            if record.state not in _PREPARE:
                until = until if record.state in _COMPLETE else _time_of(entry)
                continue
            before = entries[number - 1].record if number else None
            after = entries[number + 1] if number + 1 < len(entries) else None
            complete = after is not None and after.record.state in _COMPLETE
            yield Decision(
                name,
                record.producer_id,
                before.producer_epoch if before is not None and before.state is TransactionState.ONGOING else None,
                record.producer_epoch,
                _PREPARE[record.state],
                record.start_timestamp,
                record.last_update_timestamp,
                until,
                record.partitions or (),
                complete,
                entry.offset,
                self.newest[entry.partition],
                after.timestamp if after is not None and complete else -1,
            )


def _time_of(entry: Entry) -> int:
    """Return when a transition was made; a tombstone has only its record's time."""
    return entry.timestamp if entry.record.state is None else entry.record.last_update_timestamp


def illegal_transitions(entries: list[Entry], clean_from: int) -> Iterator[tuple[Entry, Entry]]:
    """Yield pairs of neighbouring records of one id where the second may not follow the first.

    Below offset `clean_from` the topic was cleaned and records between may be gone: nothing is judged there.
    """
    for before, after in pairwise(entries):
        old, new = before.record.state, after.record.state
        if before.offset < clean_from:
            continue
        if new is None:
            legal = old in (None, TransactionState.EMPTY, *_COMPLETE)
        else:
            legal = new is TransactionState.EMPTY if old is None else old in legal_before(new)
        if not legal:
            yield before, after

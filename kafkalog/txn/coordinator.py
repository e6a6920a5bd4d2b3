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
    by_producer: dict[int, list[str]] = field(default_factory=dict)
    known: set[int] = field(default_factory=set)
    total: int | None = None
    newest: dict[int, int] = field(default_factory=dict)  # by state partition: the time of its newest record

    def add(self, entries: Iterable[Entry]) -> None:
        """Add a state partition's records, in the order of their offsets."""
        for entry in entries:
            record = entry.record
            self.timelines.setdefault(record.transactional_id, []).append(entry)
            self.newest[entry.partition] = max(self.newest.get(entry.partition, -1), entry.timestamp)
            for producer_id in {record.producer_id, record.previous_producer_id} - {-1}:
                ids = self.by_producer.setdefault(producer_id, [])
                if record.transactional_id not in ids:
                    ids.append(record.transactional_id)

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
        return min((self.newest.get(number, -1) for number in range(self.total or 0)), default=-1)

    @property
    def complete(self) -> bool:
        """Say whether every state partition of the cluster is available."""
        return self.total is not None and self.known >= set(range(self.total))

    def names(self, producer_id: int) -> list[str]:
        """Return the transactional ids whose records name a producer id."""
        return self.by_producer.get(producer_id, [])

    def last(self, producer_id: int) -> Entry | None:
        """Return the newest last record of an id that names the producer id as its own now."""
        found = [self.timelines[name][-1] for name in self.names(producer_id)]
        found = [entry for entry in found if entry.record.producer_id == producer_id]
        return max(found, key=lambda entry: entry.record.last_update_timestamp, default=None)

    def decisions(self) -> Iterator[Decision]:
        """Yield each decided transaction that a surviving record shows."""
        for name, entries in self.timelines.items():
            for number, entry in enumerate(entries):
                record = entry.record
                if record.state not in _PREPARE:
                    continue
                before = entries[number - 1].record if number else None
                ongoing = before is not None and before.state is TransactionState.ONGOING
                after = entries[number + 1 :]
                complete = bool(after) and after[0].record.state in _COMPLETE
                following = next((later for later in after if later.record.state not in (*_PREPARE, *_COMPLETE)), None)
                yield Decision(
                    name,
                    record.producer_id,
                    before.producer_epoch if ongoing and before is not None else None,
                    record.producer_epoch,
                    _PREPARE[record.state],
                    record.start_timestamp,
                    record.last_update_timestamp,
                    None if following is None else _time_of(following),
                    record.partitions or (),
                    complete,
                    entry.offset,
                    self.newest[entry.partition],
                    after[0].timestamp if complete else -1,
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

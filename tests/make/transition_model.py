"""The model of the table ``transitions``: steps of one id after the other, from the records' values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby, islice
from typing import Any, Final, NamedTuple

import numpy as np

from kafkalog.columns.table import Columns
from kafkalog.columns.texts import TextColumn
from kafkalog.folds.coordinator import Coordinator
from kafkalog.kafka.state_records import LISTED_TYPES, STATE_TYPES, StateColumns
from kafkalog.kafka.transaction_state import StateRecord, TransactionState
from kafkalog.quantities import plausible
from kafkalog.segments.moment import Moment
from kafkalog.tables.internal_tables import TRANSITIONS

__all__ = ["modelled_transitions"]

_S = TransactionState
_NAMES: Final = {
    _S.PREPARE_COMMIT: "commit-decided",
    _S.PREPARE_ABORT: "abort-decided",
    _S.COMPLETE_COMMIT: "committed",
    _S.COMPLETE_ABORT: "aborted",
}


class Entry(NamedTuple):
    """A record of the state topic: its position, when it was written (ms), and what it says."""

    log: str
    partition: int
    offset: int
    timestamp: int
    record: StateRecord


class Transition(NamedTuple):
    """A record of an id, and what the records before and after it show; see the table ``transitions``."""

    entry: Entry
    name: str
    duration: int | None
    previous_producer_id: int | None
    decided_by: str | None
    fenced_epoch: int | None


def state_columns(
    cells: Mapping[str, Sequence[int]], listed: Sequence[tuple[int, int]], ids: Iterable[str], topics: Iterable[str]
) -> StateColumns:
    """Return records of these cells, 0 in columns that are missing; `listed` are numbers of topics, and partitions."""
    rows = len(cells["offset"])
    records = {name: np.array(cells.get(name, [0] * rows), np.int64) for name in STATE_TYPES}
    both = Columns.of_table(tuple(LISTED_TYPES), np.array(listed, np.int64).reshape(-1, 2).T)
    return StateColumns.moved([Columns(records)], [both], TextColumn.of(ids), TextColumn.of(topics))


def state_records(columns: StateColumns) -> Iterator[StateRecord]:
    """Yield all rows as records."""
    states = [*TransactionState, None]
    listed = iter([(columns.topics[topic], number) for topic, number in columns.listed.rows()])
    for row in columns.records:
        count = row["partitions_count"]
        about = {name: row[name] for name in StateRecord._fields if name in row}
        yield StateRecord(**about | {
            "transactional_id": columns.ids[row["transactional_id"]],
            "state": states[row["state"]],
            "partitions": None if count < 0 else tuple(islice(listed, count)),
        })  # fmt: skip


def modelled_transitions(coordinator: Coordinator, moment: Moment | None) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of all steps, or of those at a moment."""
    for _, of_id in groupby(_entries(coordinator), key=lambda entry: entry.record.transactional_id):
        yield from map(_row, _chosen(of_id, moment))


def _entries(coordinator: Coordinator) -> Iterator[Entry]:
    """Yield all records, ids in order."""
    for rows, states in coordinator.by_name():
        logs = [(coordinator.logs[log], coordinator.partitions[log]) for log in coordinator.of_log[rows].tolist()]
        about = zip(logs, states["offset"].tolist(), states["timestamp"].tolist(), state_records(states), strict=True)
        yield from (Entry(*log, *one) for log, *one in about)


def _chosen(entries: Iterable[Entry], moment: Moment | None) -> Iterator[Transition]:
    """Yield all steps, or the one that the id was in at a moment."""
    if moment is None:
        yield from steps(entries)
        return
    last: Transition | None = None
    for step in steps(entries):
        if moment.holds(step.entry.offset, step.entry.timestamp):
            last = step
    if last is not None:
        until = moment.timestamp
        yield last if not isinstance(until, int) else last._replace(duration=_between(_time_of(last.entry), until))


def steps(entries: Iterable[Entry]) -> Iterator[Transition]:
    """Yield the step of each record of one transactional id, in log order.

    Records that only say again what the one before them said show what the first of them shows.
    """
    every = list(entries)
    said = [list(alike) for _, alike in groupby(range(len(every)), key=_numbered(every))]
    for number, alike in enumerate(said):
        before = every[alike[0] - 1].record if alike[0] else None
        record, after = every[alike[0]].record, [every[later[0]].record for later in said[number + 1 : number + 3]]
        decided_by = _decided_by(before, record, after)
        for at in alike:
            yield Transition(
                every[at],
                _name(before, record),
                _between(_time_of(every[at]), _time_of(every[at + 1])) if at + 1 < len(every) else None,
                _replaced(before, record),
                decided_by,
                _fenced(before, record, decided_by),
            )


def _numbered(entries: Sequence[Entry]) -> Callable[[int], int]:
    """Return what numbers records: a decision, or its end, that was written again has the number of the first."""
    numbers: list[int] = []
    for at, entry in enumerate(entries):
        again = at > 0 and entry.record.state in _NAMES and _same(entries[at - 1].record) == _same(entry.record)
        numbers.append(numbers[-1] if again else at)
    return numbers.__getitem__


def _same(record: StateRecord) -> tuple[object, ...]:
    return record.state, record.producer_id, record.producer_epoch, record.start_timestamp


def _between(start: int, end: int) -> int | None:
    """Return how long it was, None where a clock was wrong."""
    return end - start if plausible(start) and plausible(end) else None


def _time_of(entry: Entry) -> int:
    """Return when a step was made; a tombstone has only its record's time."""
    return entry.timestamp if entry.record.state is None else entry.record.last_update_timestamp


def _name(before: StateRecord | None, record: StateRecord) -> str:
    known = before is not None and before.state is not None
    match record.state:
        case None:
            return "forgotten"
        case _S.EMPTY:
            # Without a record before, an epoch above 0 shows that there was one once.
            return "initialized" if known or record.producer_epoch > 0 else "created"
        case _S.ONGOING:
            goes_on = before is not None and before.state is _S.ONGOING
            return "partitions-added" if goes_on else "begun"
        case _:
            return _NAMES.get(record.state, "never-written")


def _decided_by(before: StateRecord | None, record: StateRecord, after: Sequence[StateRecord]) -> str | None:
    """Say who decided a Prepare record; None for all others, and where the record before is gone."""
    if record.state is _S.PREPARE_COMMIT:
        return "producer"  # nobody else commits
    if record.state is not _S.PREPARE_ABORT or before is None or before.state is None:
        return None
    if before.state is not _S.ONGOING or record.producer_epoch == before.producer_epoch:
        return "producer"
    if record.last_update_timestamp >= record.start_timestamp + record.timeout_ms:
        return "timeout"
    if len(after) == 2 and after[1].state is _S.ONGOING and after[1].producer_epoch == record.producer_epoch:
        return "producer"  # it continues with its new epoch, which a fenced producer can't
    if record.client_transaction_version < 2 or record.producer_epoch > before.producer_epoch + 1:
        return "takeover"
    return "producer-or-takeover"


def _fenced(before: StateRecord | None, record: StateRecord, decided_by: str | None) -> int | None:
    if before is None or before.state is None:
        return None
    if record.state is _S.EMPTY or decided_by in ("timeout", "takeover"):
        return before.producer_epoch
    return None


def _replaced(before: StateRecord | None, record: StateRecord) -> int | None:
    """Return the producer id that this record replaces with another one; None where it stays."""
    if record.state is None:
        return None
    if before is not None and before.state is not None and before.producer_id != record.producer_id:
        return before.producer_id
    if record.previous_producer_id not in (-1, record.producer_id):
        return record.previous_producer_id
    return None


def _row(step: Transition) -> tuple[Any, ...]:
    entry, record = step.entry, step.entry.record
    is_there = record.state is not None
    partitions = None if record.partitions is None else [f"{topic}-{number}" for topic, number in record.partitions]
    return TRANSITIONS.of(
        transactional_id=record.transactional_id,
        timestamp_ms=_time_of(entry),
        state="tombstone" if record.state is None else record.state.word,
        step=step.name,
        duration_ms=step.duration,
        producer_id=record.producer_id if is_there else None,
        producer_epoch=record.producer_epoch if is_there else None,
        previous_producer_id=step.previous_producer_id,
        next_producer_id=None if record.next_producer_id == -1 else record.next_producer_id,
        decided_by=step.decided_by,
        fenced_epoch=step.fenced_epoch,
        transaction_version=record.client_transaction_version if is_there else None,
        partitions=partitions,
        start_timestamp_ms=record.start_timestamp if is_there else None,
        timeout_ms=record.timeout_ms if is_there else None,
        log=entry.log,
        partition=entry.partition,
        offset=entry.offset,
    )

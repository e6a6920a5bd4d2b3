"""The life of each transactional id, step by step, from the transaction coordinator's records."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Collection, Container, Iterable, Iterator, Sequence
from itertools import groupby, islice
from typing import Any, Final, NamedTuple

import numpy as np

from kafkalog.auditing.topics.commit_keys import Names, WantedNames
from kafkalog.auditing.topics.internal import WHOLE, InternalView, RowForm, blocks_of_directory, until
from kafkalog.auditing.topics.topic_logs import clusters_of, moment_among, places_of, topic_logs
from kafkalog.findings import Finding
from kafkalog.format.records.transaction_state import StateRecord, TransactionState
from kafkalog.format.state_columns import StateColumns
from kafkalog.log.blocks import Rows
from kafkalog.log.chunk import Limits
from kafkalog.log.logdir import PartitionDirectory
from kafkalog.log.moment import Moment
from kafkalog.log.names import STATE_TOPIC
from kafkalog.log.processes import each_of, job_count
from kafkalog.narrowing import matches, nothing_matches
from kafkalog.quantities import plausible
from kafkalog.tables.column import Table
from kafkalog.tables.internal import INTERNAL, TRANSITIONS
from kafkalog.txn.coordinator import Coordinator, StateRows

__all__ = ["Entry", "Transition", "steps", "transition_rows"]

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


def transition_rows(
    paths: Sequence[str | os.PathLike[str]], moment: Moment | None = None, limits: Limits | None = None,
    tables: Container[str] = (TRANSITIONS.name,), ids: Collection[str] = (), jobs: int | None = 1,
    form: RowForm = WHOLE,
) -> Iterator[tuple[Table, tuple[Any, ...]] | Rows | Finding]:  # fmt: skip
    """Yield each step of each transactional id as a row, ids in order, and every finding.

    With a moment, only the step that each id was in then. `tables` may name ``internal``, too: the records, many at
    once, in their `form`. `ids` are names or patterns of those that are wanted. `jobs` processes read, as in
    ``job_count``. Raises NothingMatchesError after the findings if no id of those is known.
    """
    findings: list[Finding] = []
    report = findings.append
    clusters: dict[int, list[StateRows]] = {}
    limits = limits or Limits()
    found = clusters_of(paths, report)
    size = sum(directory.size for *_, directory in places_of(found, STATE_TOPIC))
    with each_of(job_count(jobs, size)) as each:
        logs = topic_logs(found, STATE_TOPIC, limits, report, each=each)
    moment = None if moment is None else moment_among(moment, logs)
    for log in logs:
        directory = log.partition.directory
        rows = StateColumns.concat([scan.states for scan in log.scans])
        clusters.setdefault(log.cluster, []).append(StateRows(directory.log, directory.partition, rows))
    yield from findings
    coordinators = [Coordinator(rows_of_logs) for rows_of_logs in clusters.values()]
    known = [name for coordinator in coordinators for name in coordinator.states.ids]
    if logs and ids and not any(matches(name, ids) for name in known):
        raise nothing_matches("transactional id", ids, known)
    for directory in (log.partition.directory for log in logs if INTERNAL.name in tables):
        yield from _records(directory, limits, moment, ids, form)
    for coordinator in coordinators:
        for name, of_id in groupby(_entries(coordinator), key=lambda entry: entry.record.transactional_id):
            if matches(name, ids):
                yield from ((TRANSITIONS, _row(step)) for step in _chosen(of_id, moment))


def _records(
    directory: PartitionDirectory, limits: Limits, moment: Moment | None, ids: Collection[str], form: RowForm
) -> Iterator[Rows]:
    """Yield the records of a log as rows; their findings are reported with the steps."""
    view, names = InternalView(directory, form), Names()
    wanted = WantedNames(names, ids)
    for records in blocks_of_directory(directory, limits, lambda _: None):
        rows = np.flatnonzero(until(moment, records) & (records.is_read | (not wanted.narrow)))
        if wanted.narrow:
            parts = records.keys(set(records.type[rows].tolist()), rows)
            starts, sizes = (records.field(parts, "transactionalId", number)[rows] for number in range(2))
            rows = rows[wanted.of(names.numbers(records, starts, sizes))]
        yield from (some for some, _ in view.of(records, rows))


def _entries(coordinator: Coordinator) -> Iterator[Entry]:
    """Yield all records, ids in order."""
    for rows, states in coordinator.by_name():
        logs = [(coordinator.logs[log], coordinator.partitions[log]) for log in coordinator.of_log[rows].tolist()]
        about = zip(logs, states.offset.tolist(), states.timestamp.tolist(), states.records(), strict=True)
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
    """Yield the step of each record of one transactional id, in log order."""
    entries = iter(entries)
    before: StateRecord | None = None
    ahead = deque(islice(entries, 3))
    while ahead:
        entry = ahead.popleft()
        record, after = entry.record, [later.record for later in ahead]
        decided_by = _decided_by(before, record, after)
        yield Transition(
            entry,
            _name(before, record),
            _between(_time_of(entry), _time_of(ahead[0])) if ahead else None,
            _replaced(before, record),
            decided_by,
            _fenced(before, record, decided_by),
        )
        before = record
        ahead.extend(islice(entries, 1))


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
    if len(after) == 2 and after[1].state is _S.ONGOING and after[1].producer_epoch == record.producer_epoch:
        return "producer"  # it continues with its new epoch, which a fenced producer can't
    if record.last_update_timestamp >= record.start_timestamp + record.timeout_ms:
        return "timeout"
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

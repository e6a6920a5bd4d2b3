"""The life of each transactional id, step by step, from the transaction coordinator's records."""

from __future__ import annotations

import os
from collections.abc import Collection, Container, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from kafkalog.auditing.topics.commit_keys import Names, WantedNames
from kafkalog.auditing.topics.internal import WHOLE, InternalView, RowForm, blocks_again, until
from kafkalog.auditing.topics.topic_logs import clusters_of, lost_inputs, moment_among, places_of, topic_logs
from kafkalog.auditing.topics.transition_columns import last_steps, state_number, transition_columns
from kafkalog.findings import Finding
from kafkalog.format.state_columns import StateColumns
from kafkalog.log.blocks import Rows
from kafkalog.log.chunk import Limits
from kafkalog.log.column_blocks import ColumnBlock
from kafkalog.log.forked import each_of
from kafkalog.log.logdir import PartitionDirectory
from kafkalog.log.moment import Moment
from kafkalog.log.names import STATE_TOPIC
from kafkalog.log.processes import job_count
from kafkalog.narrowing import matches, nothing_matches
from kafkalog.tables.column import Table
from kafkalog.tables.internal import INTERNAL, TRANSITIONS
from kafkalog.txn.coordinator import Coordinator, StateRows

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["transition_rows"]


def transition_rows(
    paths: Sequence[str | os.PathLike[str]], moment: Moment | None = None, limits: Limits | None = None,
    tables: Container[str] = (TRANSITIONS.name,), ids: Collection[str] = (), jobs: int | None = 1,
    form: RowForm = WHOLE, states: Collection[str] = (),
) -> Iterator[tuple[Table, tuple[Any, ...]] | Rows | Finding]:  # fmt: skip
    """Yield each step of each transactional id as a row, ids in order, and every finding.

    With a moment, only the step that each id was in then; with `states`, words of the table, only steps that lead to
    these. `tables` may name ``internal``, too: the records. Rows come many at once, in their `form`. `ids` are names or
    patterns of those that are wanted. `jobs` processes read, as in ``job_count``. Raises NothingMatchesError after the
    findings if no id of those is known.
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
    if logs and ids:
        known = [name for coordinator in coordinators for name in coordinator.states.ids]
        if not any(matches(name, ids) for name in known):
            raise nothing_matches("transactional id", ids, known)
    for directory in (log.partition.directory for log in logs if INTERNAL.name in tables):
        yield from _records(directory, limits, moment, ids, form)
    yield from lost_inputs(found)
    if TRANSITIONS.name not in tables:
        return
    block = ColumnBlock(TRANSITIONS, form.names_of(TRANSITIONS))
    until = moment.timestamp if moment is not None and isinstance(moment.timestamp, int) else None
    for coordinator in coordinators:
        wanted = _wanted(coordinator, moment, ids, states)
        for columns in transition_columns(coordinator, wanted, until, spaced=form.spaced):
            yield from block.items(columns)


def _wanted(
    coordinator: Coordinator, moment: Moment | None, ids: Collection[str], states: Collection[str]
) -> NDArray[np.bool_]:
    """Say which records have a step that is wanted."""
    rows = coordinator.states
    found = np.ones(len(rows), np.bool_) if moment is None else last_steps(coordinator, moment)
    if ids:
        found &= np.array([matches(name, ids) for name in rows.ids], np.bool_)[rows.transactional_id]
    if states:
        found &= np.isin(rows.state, [state_number(word) for word in states])
    return found


def _records(
    directory: PartitionDirectory, limits: Limits, moment: Moment | None, ids: Collection[str], form: RowForm
) -> Iterator[Rows | Finding]:
    """Yield the records of a log as rows; their findings are reported with the steps."""
    view, names = InternalView(directory, form), Names()
    wanted = WantedNames(names, ids)
    unreadable: list[Finding] = []
    for records in blocks_again(directory, limits, unreadable):
        rows = np.flatnonzero(until(moment, records) & (records.is_read | (not wanted.narrow)))
        if wanted.narrow:
            parts = records.keys(set(records.type[rows].tolist()), rows)
            starts, sizes = (records.field(parts, "transactionalId", number)[rows] for number in range(2))
            rows = rows[wanted.of(names.numbers(records, starts, sizes))]
        yield from (some for some, _ in view.of(records, rows))
    yield from unreadable

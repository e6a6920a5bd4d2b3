"""The groups and their committed offsets at a moment: the rows of ``kafkalog groups``."""

from __future__ import annotations

import os
from collections.abc import Collection, Container, Iterator, Sequence
from functools import partial
from typing import Final

import numpy as np

from kafkalog.auditing.topics.group_logs import ChosenGroups, GroupLog, Item, read_groups
from kafkalog.auditing.topics.internal import WHOLE, InternalView, RowForm, blocks_of_directory
from kafkalog.auditing.topics.share_offsets import ShareOffsets
from kafkalog.auditing.topics.topic_logs import (
    TopicLog,
    clusters_of,
    lost_inputs,
    moment_among,
    places_of,
    topic_logs,
)
from kafkalog.findings import Finding
from kafkalog.log.chunk import Limits
from kafkalog.log.forked import each_of
from kafkalog.log.moment import Moment
from kafkalog.log.names import OFFSETS_TOPIC, SHARE_TOPIC
from kafkalog.log.processes import job_count
from kafkalog.narrowing import matches, nothing_matches
from kafkalog.tables.internal import COMMITTED, GROUPS, INTERNAL, OFFSETS, SHARE_OFFSETS

__all__ = ["GROUP_TABLES", "group_rows", "offsets_rows"]

GROUP_TABLES: Final = tuple(table.name for table in (GROUPS, COMMITTED, SHARE_OFFSETS, OFFSETS, INTERNAL))


def group_rows(
    paths: Sequence[str | os.PathLike[str]], moment: Moment | None = None, limits: Limits | None = None,
    groups: Collection[str] = (), tables: Container[str] = GROUP_TABLES, jobs: int | None = 1, form: RowForm = WHOLE,
) -> Iterator[Item]:  # fmt: skip
    """Yield the rows of the wanted tables of `GROUP_TABLES`, and every finding.

    Only what was written up to the moment counts; `groups` are names or patterns of those that are wanted. `jobs` is
    as in ``job_count``; tables with a row for each record are made in one process. Rows of ``internal``, ``offsets``
    and ``committed`` come many at once, in their `form`. Raises NothingMatchesError after the findings if no
    group matches.
    """
    limits = limits or Limits()
    findings: list[Finding] = []
    clusters = clusters_of(paths, findings.append)
    is_streamed = any(table.name in tables for table in (OFFSETS, INTERNAL))
    size = sum(directory.size for *_, directory in places_of(clusters, OFFSETS_TOPIC))
    with each_of(1 if is_streamed else job_count(jobs, size)) as each:
        offsets_logs = topic_logs(clusters, OFFSETS_TOPIC, limits, findings.append, each=each)
        share_logs = topic_logs(clusters, SHARE_TOPIC, limits, findings.append, optional=True)
        chosen = ChosenGroups(moment_among(moment, [*offsets_logs, *share_logs]), groups, tables)
        yield from findings
        topics: dict[str, str] = {}
        seen: set[str] = set()
        if is_streamed:
            for log in offsets_logs:
                of_log = GroupLog(log.partition.directory, chosen, form)
                yield from of_log.read(log.partition.transactions, limits)
                topics |= of_log.topics
                seen.update(of_log.names)
                yield from of_log.rows(form)
        else:
            for of_log, found in each(partial(read_groups, chosen=chosen, limits=limits), offsets_logs):
                yield from found
                topics |= of_log.topics
                seen.update(of_log.names)
                yield from of_log.rows(form)
    for log in share_logs:
        yield from _share_log(log, chosen, limits, topics, seen, form)
    yield from lost_inputs(clusters)
    if groups and (offsets_logs or share_logs) and not any(matches(name, groups) for name in seen):
        raise nothing_matches("group", groups, seen)


def offsets_rows(path: str | os.PathLike[str], limits: Limits | None = None) -> Iterator[Item]:
    """Yield the rows of the table ``offsets`` of one partition's directory, and every finding.

    A segment alone is not enough: the marker that decides may be in another one.
    """
    return group_rows([path], limits=limits, tables=(OFFSETS.name,))


def _share_log(
    log: TopicLog, chosen: ChosenGroups, limits: Limits, topics: dict[str, str], seen: set[str], form: RowForm
) -> Iterator[Item]:
    directory = log.partition.directory
    offsets, view = ShareOffsets(), InternalView(directory, form)
    findings: list[Finding] = []
    for records in blocks_of_directory(directory, limits, findings.append):
        rows = []
        for number, record in records.numbered(np.arange(records.count)):
            if isinstance(record, Finding):
                findings.append(record)
            elif chosen.has(record, seen):
                offsets.take(record)
                rows.append(number)
        if INTERNAL.name in chosen.tables:
            yield from (some for some, _ in view.of(records, np.array(rows, np.int64)))
    yield from findings
    if SHARE_OFFSETS.name in chosen.tables:
        for row in offsets.rows(topics, directory.log):
            yield SHARE_OFFSETS, row

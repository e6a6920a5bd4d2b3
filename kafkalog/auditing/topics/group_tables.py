"""The groups and their committed offsets at a moment: the rows of ``kafkalog groups``."""

from __future__ import annotations

import os
from collections.abc import Collection, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from kafkalog.auditing.topics.fates import Fates
from kafkalog.auditing.topics.group_states import GroupRecords
from kafkalog.auditing.topics.internal import Written, internal_row, of_directory, split
from kafkalog.auditing.topics.offsets import Commit, Committed, commit_of, offset_row
from kafkalog.auditing.topics.share_offsets import ShareOffsets
from kafkalog.auditing.topics.topic_logs import TopicLog, clusters_of, moment_among, topic_logs
from kafkalog.findings import Finding
from kafkalog.log.chunk import Limits
from kafkalog.log.moment import Moment
from kafkalog.log.names import OFFSETS_TOPIC, SHARE_TOPIC
from kafkalog.narrowing import matches, nothing_matches
from kafkalog.tables.column import Table
from kafkalog.tables.internal import COMMITTED, GROUPS, INTERNAL, OFFSETS, SHARE_OFFSETS

__all__ = ["GROUP_TABLES", "group_rows", "offsets_rows"]

GROUP_TABLES: Final = tuple(table.name for table in (GROUPS, COMMITTED, SHARE_OFFSETS, OFFSETS, INTERNAL))

Item = tuple[Table, tuple[Any, ...]] | Finding


@dataclass(slots=True)
class _Group:
    """One group's records in one partition of ``__consumer_offsets``."""

    records: GroupRecords = field(default_factory=GroupRecords)
    committed: dict[tuple[str, int], Committed] = field(default_factory=dict)
    newest_commit: Written | None = None

    def commit(self, commit: Commit, moment: Moment) -> None:
        self.committed.setdefault((commit.topic, commit.partition), Committed()).take(commit, moment)
        self.newest_commit = commit.record

    def row(self, name: str, log: str) -> tuple[Any, ...]:
        counts = (
            sum(found.state == "committed" for found in self.committed.values()),
            sum(bool(found.pending) for found in self.committed.values()),
        )
        return self.records.row(name, log, counts, self.newest_commit)


class _Chosen(NamedTuple):
    """Which records count, and which tables are wanted; `seen` are the groups of all records."""

    moment: Moment
    groups: Collection[str]
    tables: Container[str]
    seen: set[str]

    def of(self, records: Iterable[Written]) -> Iterator[Written]:
        """Yield the records that count."""
        for record in records:
            name = _group_of(record)
            if name is not None:
                self.seen.add(name)
            if self.moment.holds(record.offset, record.timestamp) and matches(name, self.groups):
                yield record


def group_rows(
    paths: Sequence[str | os.PathLike[str]], moment: Moment | None = None, limits: Limits | None = None,
    groups: Collection[str] = (), tables: Container[str] = GROUP_TABLES,
) -> Iterator[Item]:  # fmt: skip
    """Yield the rows of the wanted tables of `GROUP_TABLES`, and every finding.

    Only what was written up to the moment counts; `groups` are names or patterns of those that are wanted. Raises
    NothingMatchesError after the findings if there is none of them.
    """
    limits = limits or Limits()
    findings: list[Finding] = []
    clusters = clusters_of(paths, findings.append)
    offsets_logs = topic_logs(clusters, OFFSETS_TOPIC, limits, findings.append)
    share_logs = topic_logs(clusters, SHARE_TOPIC, limits, findings.append, optional=True)
    chosen = _Chosen(moment_among(moment, [*offsets_logs, *share_logs]), groups, tables, set())
    yield from findings
    topics: dict[str, str] = {}
    for log in offsets_logs:
        yield from _offsets_log(log, chosen, limits, topics)
    for log in share_logs:
        yield from _share_log(log, chosen, limits, topics)
    if (offsets_logs or share_logs) and not any(matches(name, groups) for name in chosen.seen) and groups:
        raise nothing_matches("group", groups, chosen.seen)


def offsets_rows(path: str | os.PathLike[str], limits: Limits | None = None) -> Iterator[Item]:
    """Yield the rows of the table ``offsets`` of one partition's directory, and every finding.

    A segment alone is not enough: the marker that decides may be in another one.
    """
    return group_rows([path], limits=limits, tables=(OFFSETS.name,))


def _offsets_log(log: TopicLog, chosen: _Chosen, limits: Limits, topics: dict[str, str]) -> Iterator[Item]:
    directory = log.partition.directory
    fates = Fates(log.partition.transactions)
    groups: dict[str, _Group] = {}
    findings: list[Finding] = []
    for record in chosen.of(split(of_directory(directory, limits), findings)):
        if INTERNAL.name in chosen.tables:
            yield INTERNAL, internal_row(record, directory.topic, directory.log, directory.partition)
        name = _group_of(record)
        if name is None:
            continue
        group = groups.setdefault(name, _Group())
        commit = commit_of(record, directory.log, fates)
        if commit is None:
            group.records.take(record)
            topics.update(_names(record))
        else:
            group.commit(commit, chosen.moment)
            if OFFSETS.name in chosen.tables:
                yield OFFSETS, offset_row(commit, chosen.moment)
    yield from findings
    if GROUPS.name in chosen.tables:
        for name, group in sorted(groups.items()):
            yield GROUPS, group.row(name, directory.log)
    if COMMITTED.name in chosen.tables:
        for name, group in sorted(groups.items()):
            for (topic, partition), found in sorted(group.committed.items()):
                yield COMMITTED, found.row(name, topic, partition, directory.log)


def _share_log(log: TopicLog, chosen: _Chosen, limits: Limits, topics: dict[str, str]) -> Iterator[Item]:
    directory = log.partition.directory
    offsets = ShareOffsets()
    findings: list[Finding] = []
    for record in chosen.of(split(of_directory(directory, limits), findings)):
        offsets.take(record)
        if INTERNAL.name in chosen.tables:
            yield INTERNAL, internal_row(record, directory.topic, directory.log, directory.partition)
    yield from findings
    if SHARE_OFFSETS.name in chosen.tables:
        for row in offsets.rows(topics, directory.log):
            yield SHARE_OFFSETS, row


def _group_of(record: Written) -> str | None:
    """Return the group that a record is about; None where its key names none."""
    key = record.content.key if record.content is not None else None
    name: str | None = (key or {}).get("group", (key or {}).get("groupId"))
    return name


def _names(record: Written) -> Iterator[tuple[str, str]]:
    """Yield ids and names of the topics that a share group's record names."""
    value = (record.content.value if record.content is not None else None) or {}
    for listed in ("initializingTopics", "initializedTopics"):
        for topic in value.get(listed) or ():
            yield topic["topicId"], topic["topicName"]

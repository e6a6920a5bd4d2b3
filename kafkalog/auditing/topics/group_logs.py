"""One partition of ``__consumer_offsets``: its groups and their commits, as rows."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Container, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from kafkalog.auditing.topics.commit_keys import COMMIT_TYPES, CommitKeys, Names, WantedNames
from kafkalog.auditing.topics.committed import Committed
from kafkalog.auditing.topics.fates import Fates
from kafkalog.auditing.topics.group_records import GroupRecords, NewestOfGroups
from kafkalog.auditing.topics.internal import (
    WHOLE,
    InternalView,
    RowForm,
    Written,
    blocks_of_directory,
    split,
    until,
)
from kafkalog.auditing.topics.offset_blocks import OffsetBlocks
from kafkalog.auditing.topics.offsets import Commits
from kafkalog.auditing.topics.topic_logs import TopicLog
from kafkalog.findings import Finding
from kafkalog.log.blocks import Rows
from kafkalog.log.chunk import Limits
from kafkalog.log.column_blocks import ColumnBlock
from kafkalog.log.internal_blocks import InternalRecords
from kafkalog.log.logdir import PartitionDirectory
from kafkalog.log.moment import Moment
from kafkalog.narrowing import matches
from kafkalog.tables.column import Table
from kafkalog.tables.internal import COMMITTED, GROUPS, INTERNAL, OFFSETS
from kafkalog.txn.columns import Packed

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["ChosenGroups", "GroupLog", "Item", "group_of", "read_groups"]

_SHARE_PARTITIONS: Final = 15  # ShareGroupStatePartitionMetadata: the type that has topics' names by their ids

_NO_COMMIT: Final[tuple[int, Rows | None]] = (0, None)

Item = tuple[Table, tuple[Any, ...]] | Rows | Finding


class ChosenGroups(NamedTuple):
    """Which records count, and which tables are wanted."""

    moment: Moment
    groups: Collection[str]
    tables: Container[str]

    def has(self, record: Written, seen: set[str]) -> bool:
        """Say whether a record counts; `seen` gets its group."""
        name = group_of(record)
        if name is not None:
            seen.add(name)
        return self.moment.holds(record.offset, record.timestamp) and matches(name, self.groups)


class GroupLog:
    """The groups of one partition of ``__consumer_offsets``."""

    def __init__(self, directory: PartitionDirectory, chosen: ChosenGroups, form: RowForm = WHOLE) -> None:
        self._form = form
        self._view = InternalView(directory, form)
        self._offsets: OffsetBlocks | None = None
        self._directory = directory
        self._chosen = chosen
        self._names = Names()
        self._keys = CommitKeys(self._names, Names())
        self._committed = Committed(self._keys)
        self._newest = NewestOfGroups()
        self._records = GroupRecords(self._names)
        self._wanted = WantedNames(self._names, chosen.groups)
        self.topics: dict[str, str] = {}

    @property
    def names(self) -> list[str]:
        """Return the names of all groups that records are about."""
        return self._names.texts

    def read(self, transactions: Packed, limits: Limits) -> Iterator[Item]:
        """Read all records; yield the rows of the tables that have one for each, then the findings.

        `transactions` are those of the log.
        """
        fates = Fates(transactions)
        findings: list[Finding] = []
        for records in blocks_of_directory(self._directory, limits, findings.append):
            findings += records.findings()
            yield from self._take(records, fates)
        yield from findings
        for numbered in (self._names, self._keys, self._records):
            numbered.forget_bytes()

    def _take(self, records: InternalRecords, fates: Fates) -> Iterator[Item]:
        chosen, is_held = self._chosen, until(self._chosen.moment, records)
        is_read = records.is_read & is_held
        is_commit = is_read & np.isin(records.type, COMMIT_TYPES)
        commits = self._commits(records, np.flatnonzero(is_commit), fates)
        self._committed.take(commits)
        self._newest.take(records, commits.rows, self._keys.group[commits.key])
        others = np.flatnonzero(is_read & ~is_commit)
        taken = self._records.take(records, others, self._wanted)
        self._name_topics(records, others)
        offsets: Iterator[Rows] = iter(())
        if OFFSETS.name in chosen.tables:
            if self._offsets is None:
                names, room = self._form.names_of(OFFSETS), records.block.recs.capacity
                self._offsets = OffsetBlocks(self._directory.log, names, room)
            offsets = self._offsets.of(commits, self._keys, fates)
        if INTERNAL.name not in chosen.tables:
            yield from offsets
            return
        rows = np.union1d(commits.rows, taken) if self._wanted.narrow else np.flatnonzero(is_held)
        of_commits = zip(commits.rows.tolist(), _one_by_one(offsets), strict=False)
        number, row = next(of_commits, _NO_COMMIT)
        for some, numbers in self._view.of(records, rows):
            done = 0
            while row is not None and number <= numbers[-1]:
                stop = bisect_right(numbers, number, done)
                yield Rows(some.block, some.start + done, some.start + stop)
                done = stop
                yield row
                number, row = next(of_commits, _NO_COMMIT)
            if done < len(numbers):
                yield Rows(some.block, some.start + done, some.stop)

    def _commits(self, records: InternalRecords, rows: NDArray[Any], fates: Fates) -> Commits:
        keys = self._keys.numbers(records, rows)
        if self._wanted.narrow:
            is_one = self._wanted.of(self._keys.group[keys])
            rows, keys = rows[is_one], keys[is_one]
        return Commits.of(records, rows, keys, fates, self._chosen.moment)

    def _name_topics(self, records: InternalRecords, rows: NDArray[Any]) -> None:
        """Note the ids and names of the topics that share groups' records name."""
        named = rows[records.type[rows] == _SHARE_PARTITIONS]
        for record in split(records.written(named) if len(named) else (), []):
            if matches(group_of(record), self._chosen.groups):
                self.topics.update(_topics_of(record))

    def rows(self, form: RowForm) -> Iterator[Item]:
        """Yield the rows of the groups and of what they have committed, the second many at once."""
        log = self._directory.log
        if GROUPS.name in self._chosen.tables:
            names = self._names.texts
            keys = self._records.keys()
            committed, pending = self._committed.counts(len(names))
            for group in sorted(self._newest.groups | keys.keys(), key=names.__getitem__):
                state = self._records.state(group, keys.get(group, ()))
                counts = committed[group], pending[group]
                yield GROUPS, state.row(names[group], log, counts, self._newest.of(group))
        if COMMITTED.name in self._chosen.tables:
            block = ColumnBlock(COMMITTED, form.names_of(COMMITTED))
            for columns in self._committed.columns(log):
                yield from block.items(columns)


def read_groups(log: TopicLog, chosen: ChosenGroups, limits: Limits) -> tuple[GroupLog, list[Finding]]:
    """Read a log of which no table has a row for each record; return its groups and what is wrong with records."""
    groups = GroupLog(log.partition.directory, chosen)
    findings = [item for item in groups.read(log.partition.transactions, limits) if isinstance(item, Finding)]
    return groups, findings


def _one_by_one(parts: Iterable[Rows]) -> Iterator[Rows]:
    return (Rows(some.block, row, row + 1) for some in parts for row in range(some.start, some.stop))


def group_of(record: Written) -> str | None:
    """Return the group that a record is about; None where its key names none."""
    key = record.content.key if record.content is not None else None
    name: str | None = (key or {}).get("group", (key or {}).get("groupId"))
    return name


def _topics_of(record: Written) -> Iterator[tuple[str, str]]:
    """Yield ids and names of the topics that a share group's record names."""
    value = (record.content.value if record.content is not None else None) or {}
    for listed in ("initializingTopics", "initializedTopics"):
        for topic in value.get(listed) or ():
            yield topic["topicId"], topic["topicName"]

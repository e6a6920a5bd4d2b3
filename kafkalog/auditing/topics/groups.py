"""The groups and their committed offsets at a moment: the rows of ``kafkalog groups``, and where groups stand.

An audit asks where they stand in a partition: ``__consumer_offsets`` is read when it asks.
"""

from __future__ import annotations

import os
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Container, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import pairwise
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from kafkalog.auditing.topics.commit_history import CommitHistory
from kafkalog.auditing.topics.commits import (
    COMMIT_TYPES,
    CommitFates,
    CommitKeys,
    Commits,
    Committed,
    GroupStep,
    InForce,
    Names,
    OffsetBlocks,
    WantedNames,
)
from kafkalog.auditing.topics.group_records import GroupRecords, NewestOfGroups
from kafkalog.auditing.topics.internal import (
    WHOLE,
    InternalView,
    RowForm,
    Written,
    blocks_of_directory,
    held_by,
    split,
    until,
)
from kafkalog.auditing.topics.lag import LagColumns, beyond_log, lags_of, log_ends, no_lag
from kafkalog.auditing.topics.topic_logs import (
    TopicLog,
    clusters_of,
    lost_inputs,
    moment_among,
    places_of,
    topic_logs,
)
from kafkalog.columns.table import Columns
from kafkalog.errors import UnreadableError
from kafkalog.few_of_many import grouped
from kafkalog.files.limits import Limits
from kafkalog.files.names import OFFSETS_TOPIC, SHARE_TOPIC
from kafkalog.files.processes import Each, each_of, job_count
from kafkalog.findings import Finding
from kafkalog.kafka.snapshot import ProducerState
from kafkalog.kafka.topic_partition import TopicPartition
from kafkalog.kernel import buffers
from kafkalog.log_dirs.clusters import Cluster
from kafkalog.log_dirs.log_directory import LogDirectory, PartitionDirectory
from kafkalog.narrowing import matches, nothing_matches
from kafkalog.quantities import by_number
from kafkalog.segments.blocks import Rows
from kafkalog.segments.column_blocks import ColumnBlock
from kafkalog.segments.internal_blocks import InternalRecords
from kafkalog.segments.moment import Moment
from kafkalog.segments.readers import read_snapshot
from kafkalog.segments.repeated_findings import counted
from kafkalog.segments.segment import possible_chunks
from kafkalog.tables.declared import Table
from kafkalog.tables.internal_tables import (
    COMMIT_EVENTS,
    COMMIT_LINES,
    COMMITTED,
    GROUPS,
    INTERNAL,
    OFFSETS,
    SHARE_OFFSETS,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from kafkalog.auditing.partition import LogReach, PartitionAudit

__all__ = [
    "GROUP_TABLES",
    "READ_UNASKED",
    "CommittedGroups",
    "GroupAt",
    "Item",
    "ShareOffsets",
    "group_of",
    "group_rows",
    "offsets_rows",
]

# One partition of ``__consumer_offsets``: its groups and their commits, as rows.


_SHARE_PARTITIONS: Final = 15  # ShareGroupStatePartitionMetadata: the type that has topics' names by their ids

_NO_COMMIT: Final[tuple[int, Rows | None]] = (0, None)

Item = tuple[Table, tuple[Any, ...]] | Rows | Finding


class ChosenGroups(NamedTuple):
    """Which records count, and which tables are wanted."""

    moment: Moment
    groups: Collection[str]
    tables: Container[str]

    def wants(self, *tables: Table) -> bool:
        """Say whether one of some tables is wanted."""
        return any(table.name in self.tables for table in tables)

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
        self._commits_of, self._deletions_of = NewestOfGroups(), NewestOfGroups()
        self._records = GroupRecords(self._names)
        self._wanted = WantedNames(self._names, chosen.groups)
        self._history = CommitHistory(self._keys) if chosen.wants(COMMIT_LINES, COMMIT_EVENTS) else None
        self.topics: dict[str, str] = {}

    @property
    def names(self) -> list[str]:
        """Return the names of all groups that records are about."""
        return self._names.texts

    def read_records(self, transactions: Columns, limits: Limits) -> Iterator[Item]:
        """Read all records; yield the rows of the tables that have one for each, then the findings.

        `transactions` are those of the log.
        """
        fates = CommitFates(transactions)
        findings: list[Finding] = []
        for records in blocks_of_directory(self._directory, limits, findings.append):
            findings += records.findings()
            yield from self._take(records, fates)
        yield from findings
        for numbered in (self._names, self._keys, self._records):
            numbered.forget_bytes()

    def _take(self, records: InternalRecords, fates: CommitFates) -> Iterator[Item]:
        chosen, is_held = self._chosen, until(self._chosen.moment, records)
        is_read = records.is_read & is_held
        is_commit = is_read & np.isin(records.type, COMMIT_TYPES)
        commits = self._commits(records, np.flatnonzero(is_commit), fates)
        self._committed.apply(commits)
        if self._history is not None:
            self._history.take(commits)
        is_deletion, of = commits["is_tombstone"], self._keys.group[commits["key"]]
        for newest, is_one in ((self._commits_of, ~is_deletion), (self._deletions_of, is_deletion)):
            if is_one.any():
                newest.apply(records, commits["record"][is_one], of[is_one])
        others = np.flatnonzero(is_read & ~is_commit)
        taken = self._records.apply(records, others, self._wanted)
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
        rows = np.union1d(commits["record"], taken) if self._wanted.narrow else np.flatnonzero(is_held)
        of_commits = zip(commits["record"].tolist(), _one_by_one(offsets), strict=False)
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

    def _commits(self, records: InternalRecords, rows: NDArray[Any], fates: CommitFates) -> Commits:
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

    def in_force(self) -> InForce:
        """Return the committed offsets that consumers would start at."""
        return self._committed.in_force()

    def rows(self, form: RowForm, lag: LagColumns = no_lag) -> Iterator[Item]:
        """Yield the rows of the groups and of what they have committed, the second many at once.

        `lag` gives the columns that the partitions' logs fill.
        """
        log = self._directory.log
        if GROUPS.name in self._chosen.tables:
            names = self._names.texts
            keys = self._records.keys()
            committed, pending = self._committed.counts(len(names))
            known = self._commits_of.groups | self._deletions_of.groups | keys.keys()
            for group in sorted(known, key=lambda group: by_number(names[group])):
                state = self._records.state(group, keys.get(group, ()))
                counts = committed[group], pending[group]
                newest = self._commits_of.of(group), self._deletions_of.of(group)
                yield GROUPS, state.row(names[group], log, counts, *newest)
        if COMMITTED.name in self._chosen.tables:
            block = ColumnBlock(COMMITTED, form.names_of(COMMITTED))
            for columns in self._committed.columns(log, lag):
                yield from block.items(columns)
            yield from self.told_steps()
        if self._history is not None:
            yield from self._history.rows(log, lag)

    def steps(self) -> Iterator[GroupStep]:
        """Yield which groups went back, and which lost what they had committed."""
        return self._committed.steps()

    def told_steps(self) -> Iterator[Finding]:
        """Yield the findings about these."""
        yield from counted(map(self._told, self.steps()))

    @property
    def log(self) -> str:
        """Return the directory that has their records."""
        return self._directory.log

    def _told(self, step: GroupStep) -> Finding:
        log = self.log
        return Finding.of(
            step.code, log, step.words, log=log, topic=step.topic, partition=step.partition, offset=step.record_offset
        )


def read_groups(log: TopicLog, chosen: ChosenGroups, limits: Limits) -> tuple[GroupLog, list[Finding]]:
    """Read a log of which no table has a row for each record; return its groups and what is wrong with records."""
    groups = GroupLog(log.partition.directory, chosen)
    findings = [item for item in groups.read_records(log.partition.transactions, limits) if isinstance(item, Finding)]
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


# The offsets of share groups: snapshots and updates of ``__share_group_state``.


_SNAPSHOT: Final = 0

_SAME: Final = -1  # a start offset in an update that does not change it


# RecordState: what consumers have acknowledged, and what is archived, or about to be.
_DELIVERY: Final = ("available", "acquired", "acknowledged", "archiving", "archived")
_ACKNOWLEDGED: Final = (2,)
_GIVEN_UP: Final = (3, 4)

_STATE_BATCH: Final = ("firstOffset", "lastOffset", "deliveryState", "deliveryCount")

_MOST: Final = 2**63 - 1  # that a column holds: offsets come from files


class _StateBatch(NamedTuple):
    """Offsets of a share partition that are in one state."""

    first: int
    last: int
    state: int
    deliveries: int

    def said(self) -> dict[str, int | str]:
        """Return it by the names of Kafka's fields, with the word for its state."""
        word = _DELIVERY[self.state] if 0 <= self.state < len(_DELIVERY) else self.state
        return dict(zip(_STATE_BATCH, (self.first, self.last, word, self.deliveries), strict=True))


def _put(batches: list[_StateBatch], new: _StateBatch) -> None:
    """Put a batch among others, in the order of offsets: of those that it overlaps the rest is left."""
    if new.last < new.first:
        return
    start = bisect_left(batches, new.first, key=lambda one: one.last)
    stop = bisect_right(batches, new.last, start, key=lambda one: one.first)
    rest = [new]
    if start < stop:
        before, after = batches[start], batches[stop - 1]
        rest = [before._replace(last=new.first - 1)] * (before.first < new.first) + rest
        rest += [after._replace(first=new.last + 1)] * (after.last > new.last)
    batches[start:stop] = rest


def _records_in(batches: Iterable[_StateBatch], start: int, states: Container[int]) -> int:
    """Return how many offsets from the start on are in one of some states."""
    return min(_MOST, sum(one.last + 1 - max(one.first, start) for one in batches if one.state in states))


@dataclass(slots=True)
class _State:
    """A share partition after its records so far."""

    start_offset: int = -1
    state_epoch: int | None = None
    leader_epoch: int | None = None
    batches: list[_StateBatch] = field(default_factory=list)
    newest: Written | None = None
    deleted: bool = False


class ShareOffsets:
    """The share partitions of one log, in the order of its records."""

    def __init__(self) -> None:
        self._states: dict[tuple[str, str, int], _State] = {}

    def apply(self, record: Written) -> None:
        """Take in the next record."""
        content = record.content
        if content is None or content.key is None:
            return
        state = self._states.setdefault(
            (content.key["groupId"], content.key["topicId"], content.key["partition"]), _State()
        )
        state.newest = record
        state.deleted = content.value is None
        if content.value is None:
            return
        value = content.value
        state.leader_epoch = value["leaderEpoch"]
        if content.type == _SNAPSHOT:
            state.state_epoch = value["stateEpoch"]
            state.batches = []
        for batch in value["stateBatches"]:
            _put(state.batches, _StateBatch(*(batch[name] for name in _STATE_BATCH)))
        if content.type == _SNAPSHOT or value["startOffset"] != _SAME:
            state.start_offset = value["startOffset"]

    def places(self, topics: Mapping[str, str]) -> set[tuple[str, int]]:
        """Return the topics and partitions whose logs say how far groups are behind."""
        return {
            (topics[topic_id], partition)
            for (_, topic_id, partition), state in self._states.items()
            if topic_id in topics and state.start_offset >= 0
        }

    def rows(
        self, topics: Mapping[str, str], log: str, ends: Mapping[tuple[str, int], int] = MappingProxyType({})
    ) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of the table ``share_offsets``; `topics` are names by id, `ends` where logs end."""
        for (group, topic_id, partition), state in sorted(self._states.items()):
            assert state.newest is not None  # a state begins with a record
            batches = [one for one in state.batches if one.last >= state.start_offset]
            done = [_records_in(batches, state.start_offset, states) for states in (_ACKNOWLEDGED, _GIVEN_UP)]
            end = ends.get((topics.get(topic_id, ""), partition)) if state.start_offset >= 0 else None
            yield SHARE_OFFSETS.of(
                group=group,
                topic_id=topic_id,
                topic=topics.get(topic_id),
                partition=partition,
                start_offset=state.start_offset,
                state_epoch=state.state_epoch,
                leader_epoch=state.leader_epoch,
                in_flight=[one.said() for one in batches],
                acknowledged=done[0],
                given_up=done[1],
                lag=None if end is None or state.deleted else max(0, end - state.start_offset - sum(done)),
                timestamp_ms=state.newest.timestamp,
                offset=state.newest.offset,
                deleted=state.deleted,
                log=log,
            )


GROUP_TABLES: Final = tuple(
    table.name for table in (GROUPS, COMMITTED, COMMIT_LINES, COMMIT_EVENTS, SHARE_OFFSETS, OFFSETS, INTERNAL)
)


def group_rows(
    paths: Sequence[str | os.PathLike[str]], moment: Moment | None = None, limits: Limits | None = None,
    groups: Collection[str] = (), tables: Container[str] = GROUP_TABLES, jobs: int | None = 1, form: RowForm = WHOLE,
    lag: bool = True,
) -> Iterator[Item]:  # fmt: skip
    """Yield the rows of the wanted tables of `GROUP_TABLES`, and every finding.

    Only what was written up to the moment counts; `groups` are names or patterns of those that are wanted. `jobs` is
    as in ``job_count``; tables with a row for each record are made in one process. Rows of ``internal``, ``offsets``
    and ``committed`` come many at once, in their `form`. With `lag` the logs of partitions with committed offsets are
    read, unless there is a moment: no file says where a log ended then. Raises NothingMatchesError after the findings
    if no group matches.
    """
    limits = limits or Limits()
    findings: list[Finding] = []
    clusters = clusters_of(paths, findings.append, limits)
    is_streamed = any(table.name in tables for table in (OFFSETS, INTERNAL))
    of_commits = (COMMITTED, COMMIT_LINES, COMMIT_EVENTS)
    is_compared = lag and moment is None and any(table.name in tables for table in of_commits)
    size = sum(directory.size for *_, directory in places_of(clusters, OFFSETS_TOPIC))
    topics: dict[str, str] = {}
    seen: set[str] = set()
    compared: list[tuple[int, GroupLog]] = []
    with each_of(1 if is_streamed else job_count(jobs, size)) as each:
        offsets_logs = topic_logs(clusters, OFFSETS_TOPIC, limits, findings.append, each=each)
        share_logs = topic_logs(clusters, SHARE_TOPIC, limits, findings.append, optional=True)
        chosen = ChosenGroups(moment_among(moment, [*offsets_logs, *share_logs]), groups, tables)
        yield from findings
        for log, of_log in zip(offsets_logs, _group_logs(offsets_logs, chosen, limits, form, each), strict=True):
            groups_of_log = yield from of_log
            topics |= groups_of_log.topics
            seen.update(groups_of_log.names)
            if is_compared:
                compared.append((log.cluster, groups_of_log))
            else:
                yield from groups_of_log.rows(form)
    yield from _compared(clusters, compared, limits, jobs, form)
    for log in share_logs:
        of_cluster = clusters[log.cluster] if lag and moment is None else None
        yield from _share_log(log, chosen, limits, topics, seen, form, of_cluster)
    yield from lost_inputs(clusters)
    if groups and not any(matches(name, groups) for name in seen):
        raise nothing_matches("group", groups, seen)
    held_by(chosen.moment, (log.partition.directory for log in (*offsets_logs, *share_logs)), limits)


def _group_logs(
    logs: Sequence[TopicLog], chosen: ChosenGroups, limits: Limits, form: RowForm, each: Each
) -> Iterator[Generator[Item, None, GroupLog]]:
    """Yield for each log what yields the items of reading it, and returns its groups."""

    def streamed(log: TopicLog) -> Generator[Item, None, GroupLog]:
        of_log = GroupLog(log.partition.directory, chosen, form)
        yield from of_log.read_records(log.partition.transactions, limits)
        return of_log

    def read(of_log: GroupLog, found: list[Finding]) -> Generator[Item, None, GroupLog]:
        yield from found
        return of_log

    if chosen.wants(OFFSETS, INTERNAL):
        yield from map(streamed, logs)
    else:
        yield from (read(*one) for one in each(partial(read_groups, chosen=chosen, limits=limits), logs))


def _compared(
    clusters: Sequence[Cluster], logs: Sequence[tuple[int, GroupLog]], limits: Limits, jobs: int | None, form: RowForm
) -> Iterator[Item]:
    """Yield the rows of groups whose commits are compared with the logs of the partitions."""
    findings: list[Finding] = []
    in_force = [(cluster, of_log.in_force()) for cluster, of_log in logs]
    lags = lags_of(clusters, in_force, limits, jobs, findings.append)
    yield from findings
    for (_, of_log), lag in zip(logs, lags, strict=True):
        yield from of_log.rows(form, lag.columns)


def offsets_rows(path: str | os.PathLike[str], limits: Limits | None = None) -> Iterator[Item]:
    """Yield the rows of the table ``offsets`` of one partition's directory, and every finding.

    A segment alone is not enough: the marker that decides may be in another one.
    """
    return group_rows([path], limits=limits, tables=(OFFSETS.name,))


def _share_log(
    log: TopicLog,
    chosen: ChosenGroups,
    limits: Limits,
    topics: dict[str, str],
    seen: set[str],
    form: RowForm,
    cluster: Cluster | None,
) -> Iterator[Item]:
    """Yield the rows of a log of share groups' states, compared with the logs of a `cluster`, if one is given."""
    directory = log.partition.directory
    offsets, view = ShareOffsets(), InternalView(directory, form)
    findings: list[Finding] = []
    for records in blocks_of_directory(directory, limits, findings.append):
        rows = []
        for number, record in records.numbered():
            if isinstance(record, Finding):
                findings.append(record)
            elif chosen.has(record, seen):
                offsets.apply(record)
                rows.append(number)
        if INTERNAL.name in chosen.tables:
            yield from (some for some, _ in view.of(records, np.array(rows, np.int64)))
    is_asked = SHARE_OFFSETS.name in chosen.tables
    ends: Mapping[tuple[str, int], int] = {}
    if is_asked and cluster is not None:
        ends = log_ends(cluster, offsets.places(topics), limits, findings.append)
    yield from findings
    if is_asked:
        for row in offsets.rows(topics, directory.log, ends):
            yield SHARE_OFFSETS, row


READ_UNASKED: Final = 16 << 20  # bytes of __consumer_offsets that an audit reads for it


class GroupAt(NamedTuple):
    """A group's committed offset in a partition, with the leader epoch of the last record read; -1 for none."""

    offset: int
    group: str
    leader_epoch: int


class Beside(NamedTuple):
    """What is beside some offsets of a log: the newest times (ms) of the whole batches before and after them.

    `producers` wrote the last data before them and the first after, as far as a chunk of the log has it.
    """

    before_ms: int | None = None
    after_ms: int | None = None
    producers: tuple[int, ...] = ()


class CommittedGroups:
    """The groups of one cluster that have committed offsets, and what became of these.

    Few audits need them: the topic is read when the first group is asked for, once. What is wrong with it is reported
    with its log.
    """

    def __init__(self, nodes: Sequence[LogDirectory] = (), limits: Limits | None = None) -> None:
        self._nodes = nodes
        self._limits = limits or Limits()

    def of(self, place: TopicPartition) -> Sequence[GroupAt]:
        """Return the groups in a partition, in the order of their offsets."""
        found = [
            GroupAt(offset, commits.keys.groups.texts[commits.keys.group[key]], epoch)
            for commits, rows in self._found.get(place, ())
            for key, offset, epoch in rows.tuples("key", "offset", "leader_epoch")
        ]
        return sorted(found)

    def steps(self, place: TopicPartition) -> Sequence[tuple[str, GroupStep]]:
        """Return which groups went back in a partition, or lost what they had there, with the log that has it."""
        return self._steps.get(place, ())

    def told(self, logs: Collection[PartitionAudit | LogReach]) -> list[Finding]:
        """Return which groups went back or lost offsets, and which stand where the logs of an audit do not have them.

        Without a second leader epoch nothing was truncated; of a large topic ``kafkalog groups`` says all that.
        """
        every = (one for node in self._nodes for one in node.partitions)
        size = sum(one.size for one in every if one.topic == OFFSETS_TOPIC and not one.suffix)
        if not 0 < size <= READ_UNASKED:
            return []
        found = [finding for _, groups in self._logs for finding in groups.told_steps()]
        if any(len(facts.epochs) > 1 for facts in logs):
            found += beyond_log([groups.in_force() for _, groups in self._logs], logs, self._limits)
        return found

    def epoch_before(self, log: str, first: int) -> int | None:
        """Return the leader epoch that ends at an offset of a log, by its leader-epoch-checkpoint; None for none."""
        directory = self._directory(log)
        epochs = () if directory is None else directory.leader_epochs
        return max((epoch for (epoch, _), (_, end) in pairwise(epochs) if end <= first), default=None)

    def is_of_stopped_broker(self, log: str) -> bool:
        """Say whether a log was copied after its broker had stopped cleanly."""
        directory = self._directory(log)
        return directory is not None and directory.clean_shutdown

    def last_written(self, log: str, first: int, last: int) -> list[ProducerState]:
        """Return the producers whose last batch lies among some offsets, by the producer snapshot taken after these."""
        directory, wrong = self._directory(log), list[Finding]()
        path = None if directory is None else directory.snapshots.get(last + 1)
        try:
            states = [] if path is None else read_snapshot(path, on_finding=wrong.append)
        except UnreadableError:
            return []
        whole = [] if wrong else states  # else a broker throws it away
        return [one for one in whole if first <= one.last_offset - one.offset_delta <= one.last_offset <= last]

    def beside(self, log: str, first: int, last: int) -> Beside:
        """Return what is beside some offsets of a log."""
        directory = self._directory(log)
        segments = () if directory is None else directory.segments
        at = max(0, bisect_left([segment.base_offset for segment in segments], first) - 1)
        found = Beside()
        for segment in segments[at:]:
            try:
                for chunk in possible_chunks(segment.path, limits=self._limits, max_bytes=segment.size):
                    cells = chunk.heads.numpy()
                    times = cells[:, (cells[buffers.VALID] != 0) & (cells[buffers.MAX_TIMESTAMP] >= 0)]
                    earlier = times[:, times[buffers.LAST_OFFSET] < first]
                    later = times[:, times[buffers.LAST_OFFSET] > last]
                    if earlier.size:
                        found = Beside(int(earlier[buffers.MAX_TIMESTAMP][-1]), None, _writers(earlier[:, ::-1]))
                    if later.size:
                        wrote = dict.fromkeys((*found.producers, *_writers(later)))
                        return Beside(found.before_ms, int(later[buffers.MAX_TIMESTAMP][0]), tuple(wrote))
            except UnreadableError:
                continue
        return found

    def _directory(self, log: str) -> PartitionDirectory | None:
        return next((one for node in self._nodes for one in node.partitions if one.log == log), None)

    def coordinated(self, partition: int) -> Sequence[str]:
        """Return the groups that a partition of ``__consumer_offsets`` has records of."""
        return list(dict.fromkeys(name for number, one in self._logs if number == partition for name in one.names))

    @cached_property
    def _logs(self) -> list[tuple[int, GroupLog]]:
        cluster = Cluster(None, list(self._nodes))
        chosen = ChosenGroups(Moment(), (), ())
        logs = topic_logs([cluster], OFFSETS_TOPIC, self._limits, lambda _: None, optional=True)
        return [(log.partition.directory.partition, read_groups(log, chosen, self._limits)[0]) for log in logs]

    @cached_property
    def _found(self) -> Mapping[TopicPartition, list[tuple[InForce, Columns]]]:
        found: dict[TopicPartition, list[tuple[InForce, Columns]]] = {}
        for _, groups in self._logs:
            commits = groups.in_force()
            for topic, partition, rows in commits.by_partition():
                found.setdefault(TopicPartition(topic, partition), []).append((commits, rows))
        return found

    @cached_property
    def _steps(self) -> Mapping[TopicPartition, list[tuple[str, GroupStep]]]:
        every = ((groups.log, step) for _, groups in self._logs for step in groups.steps())
        return grouped(every, lambda one: TopicPartition(one[1].topic, one[1].partition))


def _writers(cells: NDArray[np.int64]) -> tuple[int, ...]:
    """Return who wrote the first batches of data of a table of headers."""
    data = (cells[buffers.ATTRIBUTES] & buffers.CONTROL_BIT == 0) & (cells[buffers.PRODUCER_ID] >= 0)
    return tuple(dict.fromkeys(cells[buffers.PRODUCER_ID][data][:_NEAR].tolist()))


_NEAR: Final = 3  # batches on each side of some offsets, whose producers may have written these, too

"""A whole answer: log directories to rows, each segment read once, keys again where they are asked for."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from kafkalog.auditing.space.causes import judge_broker, judge_space
from kafkalog.auditing.space.clocks import Present, clock_rows, moment_of
from kafkalog.auditing.space.log_space import LogSpace, SpaceCause, next_start_of, read_space
from kafkalog.auditing.space.settings import Settings
from kafkalog.auditing.space.space_rows import blocker_rows, folder_of, segment_rows, space_rows, tier_rows
from kafkalog.auditing.space.state_topic import one_replica, read_state_topic
from kafkalog.auditing.space.topic_clocks import clocks_of_log, topic_clock_rows
from kafkalog.auditing.space.transaction_costs import producer_group_rows, transaction_cost_rows
from kafkalog.auditing.topics import Metadata, cluster_metadata, disks_not_given
from kafkalog.errors import UnreadableError
from kafkalog.files.limits import Limits
from kafkalog.files.names import FileKind, parse_name
from kafkalog.files.watch import watch
from kafkalog.findings import Finding
from kafkalog.log_dirs.clusters import Cluster, open_clusters
from kafkalog.log_dirs.moving import lost_directories
from kafkalog.quantities import When
from kafkalog.tables import Table
from kafkalog.tables.space_tables import (
    BLOCKERS,
    CLOCKS,
    NEXT_START,
    PRODUCER_GROUPS,
    SPACE,
    SPACE_SEGMENTS,
    SPACE_TIERS,
    TOPIC_CLOCKS,
    TRANSACTION_COSTS,
)
from kafkalog.unread import NOT_READ

__all__ = [
    "SMALL_BYTES",
    "Held",
    "Space",
    "SpaceOptions",
    "Weighed",
    "judge_brokers",
    "judge_directory",
    "judged_items",
    "measure",
]

_KINDS: Final = {
    FileKind.LOG: "segments",
    FileKind.OFFSET_INDEX: "indexes",
    FileKind.TIME_INDEX: "indexes",
    FileKind.TXN_INDEX: "indexes",
    FileKind.PRODUCER_SNAPSHOT: "producer snapshots",
    FileKind.KRAFT_SNAPSHOT: "metadata snapshots",
}
SMALL_BYTES: Final = 64 << 20  # bytes of a partition whose keys are read unasked


@dataclass(frozen=True, slots=True)
class SpaceOptions:
    """How space is measured. `now` is in ms; `keys` reads the keys of all partitions, not of small ones alone."""

    limits: Limits = field(default_factory=Limits)
    now: When | None = None
    keys: bool = False
    properties: Mapping[str, str] = field(default_factory=dict)
    topics: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


class Held(NamedTuple):
    """A partition's directory with what holds its bytes; `home` is its log directory."""

    home: str
    topic: str
    folder: str
    all_bytes: int
    found: SpaceCause


class Weighed(NamedTuple):
    """A partition's directory and all that holds its bytes, the most first."""

    log: LogSpace
    verdicts: list[SpaceCause]
    now: int


@dataclass(frozen=True, slots=True)
class ClusterSpace:
    """The directories of one cluster, for what is only asked for by name."""

    logs: list[Weighed]
    metadata: Metadata | None
    limits: Limits

    def sections(self, tables: Collection[str]) -> Iterator[tuple[Table, tuple[Any, ...]] | Finding]:
        """Yield the rows of the tables about the next start, transactions, producers and clocks."""
        logs = [one.log for one in self.logs]
        if NEXT_START.name in tables:
            for log in logs:
                yield NEXT_START, next_start_of(log, self.metadata, self.limits).row()
        logs = one_replica(logs)
        now = self.logs[0].now if self.logs else 0
        if {TRANSACTION_COSTS.name, PRODUCER_GROUPS.name}.intersection(tables):
            state = read_state_topic(logs, self.limits)
            if TRANSACTION_COSTS.name in tables:
                yield from ((TRANSACTION_COSTS, row) for row in transaction_cost_rows(logs, state))
            if PRODUCER_GROUPS.name in tables:
                yield from ((PRODUCER_GROUPS, row) for row in producer_group_rows(logs, state, now))
        if TOPIC_CLOCKS.name in tables:
            clocks = (clock for log in logs for clock in clocks_of_log(log))
            yield from ((TOPIC_CLOCKS, row) for row in topic_clock_rows(clocks))
        if CLOCKS.name in tables:
            for log in logs:
                rows, counted = clock_rows(log, now)
                yield from ((CLOCKS, row) for row in rows)
                yield from counted


@dataclass(slots=True)
class Space:
    """Partitions' directories with what holds their bytes, biggest first."""

    logs: list[Weighed] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    moments: list[tuple[int, str]] = field(default_factory=list)
    clusters: list[ClusterSpace] = field(default_factory=list)
    paths: Sequence[str | os.PathLike[str]] = ()
    options: SpaceOptions = field(default_factory=SpaceOptions)

    def items(self, tables: Collection[str]) -> Iterator[tuple[Table, tuple[Any, ...]] | Finding]:
        """Yield the rows of these tables, and findings; what holds bytes is a note."""
        yield from self.findings
        yield from judged_items(self.logs, tables)
        for cluster in self.clusters:
            yield from cluster.sections(tables)

    def held(self) -> Iterator[Held]:
        """Yield what a tree shows of each partition's directory, biggest first."""
        for log, found, _ in self.logs:
            yield Held(log.node.home, log.directory.topic, folder_of(log), log.all_bytes, found[0])

    def kinds(self, home: str) -> list[tuple[str, int]]:
        """Return the bytes in each kind of file of a log directory, most first."""
        sizes: Counter[str] = Counter()
        for log, _, _ in self.logs:
            if log.node.home == home:
                for name, identity in log.directory.files.items():
                    sizes[_kind(name, log.directory.suffix)] += 0 if identity is None else identity.size
        return sizes.most_common()


def measure(paths: Sequence[str | os.PathLike[str]], options: SpaceOptions | None = None) -> Space:
    """Say where the bytes of log directories are, and what holds them."""
    options = options or SpaceOptions()
    clusters, refused = open_clusters(paths)
    space = Space(findings=refused, paths=paths, options=options)
    for cluster in clusters:
        _cluster(cluster, options, space)
    for cluster in clusters:
        space.findings += lost_directories(cluster.nodes)
    space.logs.sort(key=lambda one: -one.log.all_bytes)
    return space


def _cluster(cluster: Cluster, options: SpaceOptions, space: Space) -> None:
    """Measure the directories of one cluster, broker by broker."""
    metadata = cluster_metadata(cluster.nodes, options.limits, space.findings.append)
    space.findings += disks_not_given(cluster.nodes, metadata)
    settings = Settings(metadata, options.properties, options.topics)
    for directory in (directory for node in cluster.nodes for directory in node.partitions):
        watch().begin(directory.size, len(directory.segments))
    logs = [
        read_space(node, directory, settings, options.limits)
        for node in cluster.nodes
        for directory in node.partitions
    ]  # fmt: skip
    newest = max((log.facts.newest_broker for log in logs), default=-1)
    moment = moment_of(cluster, max(newest, metadata.newest if metadata is not None else -1), options.now)
    space.moments.append((moment.now, moment.source))
    for node in cluster.nodes:
        space.findings += node.findings
    judged = []
    for log in logs:
        verdicts, findings = judge_directory(log, moment, options.limits, keys=options.keys)
        space.findings += findings
        judged.append(Weighed(log, verdicts, moment.now))
    judge_brokers(judged)
    space.logs += judged
    space.clusters.append(ClusterSpace(judged, metadata, options.limits))


def judge_brokers(judged: Sequence[Weighed]) -> None:
    """Decide what can only be said of a broker's directories together, and put what holds most first."""
    brokers: dict[str, list[Weighed]] = {}
    for one in judged:
        brokers.setdefault(one.log.node.node_id or one.log.node.home, []).append(one)
    for of_broker in brokers.values():
        judge_broker([(one.log, one.verdicts) for one in of_broker], of_broker[0].now)
    for one in judged:
        one.verdicts.sort(key=lambda found: -found.weight)


def judge_directory(
    log: LogSpace, moment: Present, limits: Limits, *, keys: bool
) -> tuple[list[SpaceCause], list[Finding]]:  # fmt: skip
    """Judge one directory, without its keys where its records can't be read any more; what can't be is a finding.

    Without `keys` those of a small partition are read all the same.
    """
    now, doubt = moment.now, moment.doubt_ms
    try:
        return judge_space(
            log, now, limits, is_keyed=keys or log.log_bytes < SMALL_BYTES, doubt_ms=doubt
        ), log.unreadable
    except UnreadableError as error:
        directory = log.directory
        finding = directory.finding(NOT_READ, directory.log, str(error))
        return judge_space(log, now, limits, is_keyed=False, doubt_ms=doubt), [*log.unreadable, finding]


def judged_items(logs: Sequence[Weighed], tables: Collection[str]) -> Iterator[tuple[Table, tuple[Any, ...]] | Finding]:
    """Yield what holds bytes, as notes, and the rows of these tables that are about single directories."""
    for one in logs:
        if (note := _held_note(one)) is not None:
            yield note
    for table, rows in ((SPACE, space_rows), (SPACE_SEGMENTS, segment_rows), (BLOCKERS, blocker_rows)):
        if table.name in tables:
            for one in logs:
                for row in rows(one.log, one.verdicts, one.now):
                    yield table, row
    if SPACE_TIERS.name in tables:
        yield from ((SPACE_TIERS, row) for one in logs for row in tier_rows(one.log, one.now))


def _held_note(one: Weighed) -> Finding | None:
    """Return the note of a directory whose bytes are held."""
    log, found = one.log, one.verdicts[0]
    if found.cause == "none":
        return None
    size = "" if found.bytes is None else f", {found.bytes} of {log.all_bytes} bytes would be freed without it"
    message = f"{found.cause}{size}: {found.evidence}"
    return log.directory.finding("space-held", log.directory.log, message, offset=found.since_offset)


def _kind(name: str, suffix: str) -> str:
    """Say what kind of bytes a file has."""
    parsed = parse_name(name)
    return "left over" if suffix or parsed.removed else _KINDS.get(parsed.kind, "other files")

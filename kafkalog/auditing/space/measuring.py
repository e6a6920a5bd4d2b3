"""A whole answer: log directories to rows, each segment read once, keys again where they are asked for."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from kafkalog.auditing.space.causes import judge, settle_broker
from kafkalog.auditing.space.log_space import LogSpace, read_space
from kafkalog.auditing.space.settings import Settings
from kafkalog.auditing.space.verdict import Verdict
from kafkalog.auditing.topics import cluster_metadata
from kafkalog.findings import Finding
from kafkalog.log.chunk import Limits
from kafkalog.log.clusters import Cluster, open_clusters
from kafkalog.log.names import FileKind, parse_name
from kafkalog.tables import Table
from kafkalog.tables.space import SPACE

__all__ = ["Held", "Space", "SpaceOptions", "measure"]

_KINDS: Final = {
    FileKind.LOG: "segments",
    FileKind.OFFSET_INDEX: "indexes",
    FileKind.TIME_INDEX: "indexes",
    FileKind.TXN_INDEX: "indexes",
    FileKind.PRODUCER_SNAPSHOT: "producer snapshots",
    FileKind.KRAFT_SNAPSHOT: "metadata snapshots",
}
_SMALL: Final = 64 << 20  # bytes of a partition whose keys are read unasked


@dataclass(frozen=True, slots=True)
class SpaceOptions:
    """How space is measured. `now` is ms; `keys` reads the keys of all partitions, not of small ones alone."""

    limits: Limits = field(default_factory=Limits)
    now: int | None = None
    keys: bool = False
    properties: Mapping[str, str] = field(default_factory=dict)
    topics: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


class Held(NamedTuple):
    """A partition's directory with what holds its bytes; `home` is its log directory."""

    home: str
    topic: str
    folder: str
    all_bytes: int
    found: Verdict


@dataclass(slots=True)
class Space:
    """Partitions' directories with what holds their bytes, biggest first, and what could not be read."""

    logs: list[tuple[LogSpace, Verdict]] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    unreadable: list[str] = field(default_factory=list)
    moments: list[tuple[int, str]] = field(default_factory=list)
    _now: dict[str, int] = field(default_factory=dict)

    def items(self, tables: Collection[str]) -> Iterator[tuple[Table, tuple[Any, ...]] | Finding]:
        """Yield the rows of these tables, and findings; what holds bytes is a note."""
        yield from self.findings
        for log, found in self.logs:
            if found.cause != "none":
                yield _note(log, found)
        if SPACE.name in tables:
            for row in self.rows():
                yield SPACE, row

    def held(self) -> Iterator[Held]:
        """Yield what a tree shows of each partition's directory, biggest first."""
        for log, found in self.logs:
            yield Held(log.node.home, log.directory.topic, _folder(log), log.all_bytes, found)

    def kinds(self, home: str) -> list[tuple[str, int]]:
        """Return the bytes in each kind of file of a log directory, most first."""
        sizes: Counter[str] = Counter()
        for log, _ in self.logs:
            if log.node.home == home:
                for name, identity in log.directory.files.items():
                    sizes[_kind(name, log.directory.suffix)] += 0 if identity is None else identity.size
        return sizes.most_common()

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of the table ``space``."""
        for log, found in self.logs:
            directory = log.directory
            yield SPACE.of(
                log=directory.log,
                folder=_folder(log),
                topic=directory.topic,
                partition=directory.partition,
                node_id=log.node.node_id,
                cause=found.cause,
                certainty=found.certainty,
                since_ms=found.since_ms,
                since_offset=found.since_offset,
                log_bytes=log.log_bytes,
                all_bytes=log.all_bytes,
                reclaimable_bytes=found.bytes,
                evidence=found.evidence,
                next_step=found.next_step,
                settings_from=", ".join(log.settings.sources),
                now_ms=self._now[directory.log],
            )


def measure(paths: Sequence[str | os.PathLike[str]], options: SpaceOptions | None = None) -> Space:
    """Say where the bytes of log directories are, and what holds them."""
    options = options or SpaceOptions()
    clusters, unreadable = open_clusters(paths)
    space = Space(unreadable=unreadable)
    for cluster in clusters:
        _cluster(cluster, options, space)
    space.logs.sort(key=lambda pair: -pair[0].all_bytes)
    return space


def _cluster(cluster: Cluster, options: SpaceOptions, space: Space) -> None:
    """Measure the directories of one cluster, broker by broker."""
    metadata = cluster_metadata(cluster.nodes, options.limits, space.findings.append)
    settings = Settings(metadata, options.properties, options.topics)
    logs = [
        read_space(
            node, directory, settings.of_topic(directory.topic, node.node_id), settings.of_broker(node.node_id),
            options.limits,
        )
        for node in cluster.nodes
        for directory in node.partitions
    ]  # fmt: skip
    now, source = _now(cluster, logs, metadata.newest if metadata is not None else -1, options)
    space.moments.append((now, source))
    for node in cluster.nodes:
        space.findings += node.findings
    judged = [(log, judge(log, now, options.limits, is_keyed=options.keys or log.log_bytes < _SMALL)) for log in logs]
    brokers: dict[str, list[tuple[LogSpace, Verdict]]] = {}
    for log, verdict in judged:
        brokers.setdefault(log.node.node_id or log.node.home, []).append((log, verdict))
        space._now[log.directory.log] = now
    for of_broker in brokers.values():
        settle_broker(of_broker, now)
    space.logs += judged


def _folder(log: LogSpace) -> str:
    return os.path.basename(log.directory.log.rstrip("/"))


def _kind(name: str, suffix: str) -> str:
    """Say what kind of bytes a file has."""
    parsed = parse_name(name)
    return "left over" if suffix or parsed.removed else _KINDS.get(parsed.kind, "other files")


def _note(log: LogSpace, found: Verdict) -> Finding:
    size = "" if found.bytes is None else f", {found.bytes} of {log.all_bytes} bytes would go without it"
    message = f"{found.cause}{size}: {found.evidence}"
    return Finding.of(
        "space-held", log.directory.log, message, log=log.directory.log, topic=log.directory.topic,
        partition=log.directory.partition, offset=found.since_offset,
    )  # fmt: skip


def _now(cluster: Cluster, logs: Sequence[LogSpace], newest_metadata: int, options: SpaceOptions) -> tuple[int, str]:
    """Choose the moment of the question, and say where it is from."""
    if options.now is not None:
        return options.now, "--now"
    if any(node.running for node in cluster.nodes):
        return time.time_ns() // 1_000_000, "this computer's clock, as the broker is running"
    newest = max([newest_metadata, *(log.facts.newest_broker for log in logs)], default=-1)
    if newest >= 0:
        return newest, "the newest time that a broker wrote"
    times = [
        identity.mtime_ns // 1_000_000
        for log in logs
        for identity in log.directory.files.values()
        if identity is not None
    ]
    return max(times, default=time.time_ns() // 1_000_000), "the newest file"

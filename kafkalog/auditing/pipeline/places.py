"""Which logs an audit is about, numbered, and which task scans which segments: small ones together, big ones first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from types import MappingProxyType
from typing import Final

from kafkalog.files.names import STATE_TOPIC
from kafkalog.files.processes import packed_tasks
from kafkalog.files.tree import FileIdentity
from kafkalog.log_dirs.clusters import Cluster
from kafkalog.log_dirs.log_directory import LogDirectory, PartitionDirectory, Segment

__all__ = [
    "LEAST_SHARES",
    "SHARE_BYTES",
    "SPLIT_BYTES",
    "KnownSegment",
    "LogPlace",
    "SegmentPlace",
    "groups_of",
    "logs_of",
    "segments_of",
]

SPLIT_BYTES: Final = 128 << 20
SHARE_BYTES: Final = 4 << 30  # the producers of a log of so much are shared out: that costs a third of a job of 2 GiB
LEAST_SHARES: Final = 16  # many, so that no task has two of a few busy producers


@dataclass(frozen=True, slots=True)
class LogPlace:
    """A log: its number in the audit, its cluster's, its partition's (which replicas share), and where it is.

    `shares` is how many tasks its producers are shared out to (``shares_of``); the replicas of a partition have the
    same.
    """

    number: int
    cluster: int
    group: int
    shares: int
    node: LogDirectory
    directory: PartitionDirectory

    def elsewhere(self) -> LogPlace:
        """Return the place as it is sent to another process, whose machine may have other devices and inodes."""
        return replace(self, node=replace(self.node, identity=self.node.identity.elsewhere()))

    def by_size_and_time(self) -> LogPlace:
        """Return the place as another machine can compare it: its files by size and time, without their inodes."""
        files = {name: None if one is None else one._replace(inode=0) for name, one in self.directory.files.items()}
        return replace(self, directory=replace(self.directory, files=files, itself=None))


@dataclass(frozen=True, slots=True)
class KnownSegment:
    """What identifies a segment when it is listed, for scans that are kept.

    `key` is a digest, `file` the segment's file. With `by_inode` only the same inode or ETag is the same segment.
    `candidate` is the path of a kept scan that may be this segment's. `work` is what scanning costs, or taking that
    scan, in bytes of a segment.
    """

    key: str
    file: FileIdentity
    by_inode: bool
    candidate: str | None
    work: int


@dataclass(frozen=True, slots=True)
class SegmentPlace:
    """A segment to scan: its task, the number of its log, its place in the log, and the log's name.

    `known` is None where its scan is neither kept nor taken.
    """

    task: int
    log_number: int
    cluster: int
    group: int
    shares: int
    split_no: int
    log: str
    topic: str
    partition: int
    segment: Segment
    known: KnownSegment | None = None


def logs_of(clusters: Sequence[Cluster], share_bytes: int | None) -> list[LogPlace]:
    """Number the logs of all clusters, in the order of an audit.

    The producers of a log of `share_bytes` or more are shared out, to shares of some `share_bytes` at most; None keeps
    them together. Those of the state topic, which have no transactions, are never shared out.
    """
    groups: dict[tuple[int, str, int], int] = {}
    sizes: dict[int, int] = {}
    found: list[tuple[int, int, LogDirectory, PartitionDirectory]] = []
    for number, cluster in enumerate(clusters):
        bare = {id(node): replace(node, partitions=[], findings=[], all_checkpoints={}) for node in cluster.nodes}
        for node, directory in cluster.wanted():
            group = groups.setdefault((number, directory.topic, directory.partition), len(groups))
            size = 0 if directory.topic == STATE_TOPIC else directory.size
            sizes[group] = max(sizes.get(group, 0), size)
            found.append((number, group, bare[id(node)], directory))
    return [
        LogPlace(at, number, group, 1 if share_bytes is None else _shares(sizes[group], share_bytes), node, directory)
        for at, (number, group, node, directory) in enumerate(found)
    ]


def _shares(size: int, share_bytes: int) -> int:
    return 1 if size < share_bytes else max(LEAST_SHARES, -(-size // share_bytes))


def groups_of(logs: Sequence[LogPlace]) -> Iterator[list[LogPlace]]:
    """Yield the logs of each partition, which are its replicas, in the order of their first ones."""
    for _, of_one in groupby(sorted(logs, key=lambda log: log.group), key=lambda log: log.group):
        yield list(of_one)


def segments_of(
    logs: Sequence[LogPlace], split_bytes: int, known: Mapping[tuple[int, int], KnownSegment] = MappingProxyType({})
) -> list[SegmentPlace]:
    """Share segments out to tasks of some `split_bytes`: the biggest first, each to the task that has least so far.

    `known` are by the number of the log and the place in it.
    """
    wanted = [(log, at, segment) for log in logs for at, segment in enumerate(log.directory.segments)]
    sizes = {}
    for number, (log, at, segment) in enumerate(wanted):
        kept = known.get((log.number, at))
        sizes[number] = segment.size if kept is None else kept.work
    tasks = packed_tasks(sizes, split_bytes)
    places = []
    for number, task in tasks.items():
        log, at, segment = wanted[number]
        of_log = log.directory
        places.append(
            SegmentPlace(
                task, log.number, log.cluster, log.group, log.shares, at, of_log.log, of_log.topic, of_log.partition,
                segment, known.get((log.number, at)),
            )
        )  # fmt: skip
    return places

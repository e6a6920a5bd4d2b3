"""Which task reads which segments: a split is a task's share, small segments together, the biggest first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from heapq import heappop, heappush
from typing import Final

from kafkalog.log.clusters import Cluster
from kafkalog.log.logdir import LogDirectory, PartitionDirectory, Segment
from kafkalog.log.names import STATE_TOPIC

__all__ = ["SHARE_BYTES", "SPLIT_BYTES", "Log", "Piece", "logs_of", "packed_tasks", "pieces_of"]

SPLIT_BYTES: Final = 128 << 20
_OPEN_COST: Final = 256 << 10  # bytes that could be read while a file is opened
SHARE_BYTES: Final = 4 << 30  # a bigger log's producers are shared out to several tasks


@dataclass(frozen=True, slots=True)
class Log:
    """A log: its number in the job, its cluster's, its partition's (which replicas share), and where it lies.

    `shares` is how many tasks its producers are shared out to; the replicas of a partition have the same.
    """

    number: int
    cluster: int
    group: int
    shares: int
    node: LogDirectory
    directory: PartitionDirectory


@dataclass(frozen=True, slots=True)
class Piece:
    """A segment to read: the task that reads it, its log, and its place there."""

    task: int
    log: int
    cluster: int
    group: int
    shares: int
    split_no: int
    directory: PartitionDirectory
    segment: Segment


def logs_of(clusters: Sequence[Cluster], share_bytes: int | None = SHARE_BYTES) -> list[Log]:
    """Number the logs of all clusters, in the order in which a local audit goes through them.

    The producers of a log are shared out by `share_bytes` of it; None keeps them together. Those of the state topic,
    which have no transactions, are never shared out.
    """
    groups: dict[tuple[int, str, int], int] = {}
    sizes: dict[int, int] = {}
    found: list[tuple[int, int, LogDirectory, PartitionDirectory]] = []
    for number, cluster in enumerate(clusters):
        for node, directory in cluster.wanted():
            group = groups.setdefault((number, directory.topic, directory.partition), len(groups))
            size = 0 if directory.topic == STATE_TOPIC else directory.size
            sizes[group] = max(sizes.get(group, 0), size)
            found.append((number, group, replace(node, partitions=[], findings=[], all_checkpoints={}), directory))
    return [
        Log(at, number, group, 1 if share_bytes is None else 1 + sizes[group] // share_bytes, node, directory)
        for at, (number, group, node, directory) in enumerate(found)
    ]


def packed_tasks(sizes: Mapping[int, int], split_bytes: int) -> dict[int, int]:
    """Give each of some numbered things a task by its size: to the one that has least so far, the biggest first."""
    total = sum(size + _OPEN_COST for size in sizes.values())
    tasks = max(1, min(len(sizes), -(-total // max(1, split_bytes))))
    heap = [(0, task) for task in range(tasks)]
    found = {}
    for number, size in sorted(sizes.items(), key=lambda one: -one[1]):
        load, found[number] = heappop(heap)
        heappush(heap, (load + size + _OPEN_COST, found[number]))
    return found


def pieces_of(logs: Sequence[Log], split_bytes: int) -> list[Piece]:
    """Share segments out to tasks of some `split_bytes`, each to the one that has least so far, the biggest first."""
    wanted = [(log, at, segment) for log in logs for at, segment in enumerate(log.directory.segments)]
    tasks = packed_tasks({at: segment.size for at, (_, _, segment) in enumerate(wanted)}, split_bytes)
    pieces = []
    for number, task in tasks.items():
        log, at, segment = wanted[number]
        alone = replace(log.directory, segments=(), snapshots={}, left_over=(), orphans=(), leader_epochs=())
        pieces.append(Piece(task, log.number, log.cluster, log.group, log.shares, at, alone, segment))
    return pieces

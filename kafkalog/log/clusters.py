"""The inputs of a command: log directories, by the cluster that their meta.properties names."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

from kafkalog.errors import UnreadableError
from kafkalog.log.left_over import put_aside
from kafkalog.log.logdir import LogDirectory, PartitionDirectory, open_log_directory
from kafkalog.log.names import local_path

__all__ = ["Cluster", "open_clusters"]


@dataclass(frozen=True, slots=True)
class Cluster:
    """The log directories of one cluster; `cluster_id` is None where no meta.properties names it."""

    cluster_id: str | None
    nodes: list[LogDirectory]

    def wanted(self) -> list[tuple[LogDirectory, PartitionDirectory]]:
        """Return the logs that are audited, node by node."""
        return [(node, directory) for node in self.nodes for directory in node.partitions if not directory.suffix]


def open_clusters(paths: Sequence[str | os.PathLike[str]]) -> tuple[list[Cluster], list[str]]:
    """List log directories, or partitions' directories alone, by cluster; and what could not be read.

    Directories of one node are one broker, those of other nodes of the cluster hold replicas. One named twice is read
    once.
    """
    unreadable = []
    by_cluster: dict[str, Cluster] = {}
    met: set[str] = set()
    for path in paths:
        place = os.path.realpath(local_path(os.fspath(path)))
        if place in met:
            continue
        met.add(place)
        try:
            node = open_log_directory(path)
        except UnreadableError as error:
            unreadable.append(str(error))
            continue
        key = node.cluster_id or f"\0{node.path}"
        by_cluster.setdefault(key, Cluster(node.cluster_id, [])).nodes.append(node)
        for directory in node.partitions:
            if directory.suffix:
                node.findings.append(put_aside(directory))
    return list(by_cluster.values()), unreadable

"""The inputs of a command: log directories, by the cluster in their meta.properties."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

from kafkalog.errors import UnreadableError
from kafkalog.log.left_over import put_aside
from kafkalog.log.logdir import LogDirectory, PartitionDirectory, open_log_directory
from kafkalog.log.names import local_path
from kafkalog.log.search import search
from kafkalog.log.storage import open_tree

__all__ = ["Cluster", "open_clusters"]


@dataclass(frozen=True, slots=True)
class Cluster:
    """The log directories of one cluster; `cluster_id` is None if no meta.properties names it."""

    cluster_id: str | None
    nodes: list[LogDirectory]

    def wanted(self) -> list[tuple[LogDirectory, PartitionDirectory]]:
        """Return the logs that are audited, node by node."""
        return [(node, directory) for node in self.nodes for directory in node.partitions if not directory.suffix]


def open_clusters(paths: Sequence[str | os.PathLike[str]]) -> tuple[list[Cluster], list[str]]:
    """List log directories, or partitions' directories, by cluster; and what could not be read.

    Any other path means the log directories below it (`kafkalog.log.search`). Directories with the same node id belong
    to one broker; other nodes of the cluster have replicas. A directory that is given twice is read once.
    """
    unreadable = []
    by_cluster: dict[str, Cluster] = {}
    met: set[str] = set()
    for path in paths:
        try:
            nodes = _log_directories(os.fspath(path), met)
        except UnreadableError as error:
            unreadable.append(str(error))
            continue
        for node in nodes:
            key = node.cluster_id or f"\0{node.path}"
            by_cluster.setdefault(key, Cluster(node.cluster_id, [])).nodes.append(node)
            for directory in node.partitions:
                if directory.suffix:
                    node.findings.append(put_aside(directory))
    return list(by_cluster.values()), unreadable


def _log_directories(path: str, met: set[str]) -> list[LogDirectory]:
    """List the log directories at or below a path, without those that were read before.

    Raises UnreadableError if there is none, or the path can't be listed.
    """
    if _is_met(path, met):
        return []
    tree = open_tree(path)
    found = search(tree, path)
    if not found.places:
        raise UnreadableError(found.message)
    nodes = [open_log_directory(place, tree) for place in found.places if place == path or not _is_met(place, met)]
    if nodes:
        nodes[0].findings[:0] = found.findings
    return nodes


def _is_met(path: str, met: set[str]) -> bool:
    """Say whether a directory was met before, under any name, and remember it."""
    place = os.path.realpath(local_path(path))
    if place in met:
        return True
    met.add(place)
    return False

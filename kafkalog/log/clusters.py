"""The inputs of a command: log directories, by the cluster in their meta.properties."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from kafkalog.errors import UnreadableError
from kafkalog.findings import Finding, Severity
from kafkalog.log.left_over import put_aside
from kafkalog.log.logdir import LogDirectory, PartitionDirectory, open_log_directory
from kafkalog.log.names import METADATA_TOPIC, OFFSETS_TOPIC, SHARE_TOPIC, STATE_TOPIC, local_path
from kafkalog.log.search import search
from kafkalog.log.storage import open_tree

__all__ = ["Cluster", "open_clusters"]

_SHOWN: Final = 5  # clusters that a message names
_NEVER_RECREATED: Final = frozenset({OFFSETS_TOPIC, SHARE_TOPIC, STATE_TOPIC})


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
    to one broker; other nodes of the cluster have replicas. A directory that is given twice is read once. Directories
    with one cluster id whose topics have other ids are of several clusters, too: people make clusters from one example.
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
    clusters = [one for cluster in by_cluster.values() for one in _apart(cluster)]
    _tell_mixed(clusters)
    return clusters, unreadable


def _apart(cluster: Cluster) -> list[Cluster]:
    """Put nodes whose topics of the same names all have other ids into clusters of their own."""
    parts: list[tuple[Cluster, dict[str, set[str]]]] = []
    for node in cluster.nodes:
        ids: dict[str, set[str]] = {}
        for one in node.partitions:
            if one.topic_id is not None and one.topic != METADATA_TOPIC and not one.suffix:
                ids.setdefault(one.topic, set()).add(one.topic_id)
        fitting = next((part for part in parts if not _contradict(part[1], ids)), None)
        if fitting is None:
            fitting = Cluster(cluster.cluster_id, []), {}
            parts.append(fitting)
        fitting[0].nodes.append(node)
        for topic, of_topic in ids.items():
            fitting[1].setdefault(topic, set()).update(of_topic)
    return [part for part, _ in parts]


def _contradict(known: Mapping[str, set[str]], ids: Mapping[str, set[str]]) -> bool:
    """Say whether topic ids are another cluster's: no common topic has a common id.

    One topic alone may have been deleted and created again while a broker was down, but for the internal ones.
    """
    common = [topic for topic in ids if topic in known]
    if any(known[topic] & ids[topic] for topic in common):
        return False
    return len(common) > 1 or any(topic in _NEVER_RECREATED for topic in common)


def _tell_mixed(clusters: Sequence[Cluster]) -> None:
    """Report once that directories are of several clusters: normal if several were given on purpose."""
    named = [cluster for cluster in clusters if cluster.cluster_id is not None]
    ids = {cluster.cluster_id for cluster in named}
    if len(named) < 2:
        return
    first = named[0].nodes[0]
    shown = "; ".join(f"{cluster.cluster_id}: {cluster.nodes[0].path}" for cluster in named[:_SHOWN])
    more = f" and {len(named) - _SHOWN} more" if len(named) > _SHOWN else ""
    why = "their cluster ids differ" if len(ids) == len(named) else "their topics have other ids under the same names"
    finding = Finding.of(
        "clusters-mixed",
        first.path,
        f"These directories are of {len(named)} clusters: {why}. Each was read alone: {shown}{more}.",
        needed="one cluster",
        found=len(named),
    )
    first.findings.append(finding._replace(severity=Severity.NOTE) if len(ids) == len(named) else finding)


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

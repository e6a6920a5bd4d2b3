"""Nodes: brokers and controllers, each with all of its log directories that were given.

The meta.properties of a log directory says which cluster, node and directory it is. A broker refuses to start where one
line of it contradicts its other directories. Topic ids show that directories are of one cluster although one line says
otherwise, and logs that are not in both show that a directory.id was copied, and not the directory.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from kafkalog.files.names import METADATA_TOPIC
from kafkalog.findings import Finding
from kafkalog.log_dirs.log_directory import LogDirectory
from kafkalog.quantities import many

__all__ = [
    "Node",
    "cloned",
    "is_copy",
    "join_misfits",
    "misfit",
    "node_number",
    "share_cleaner_offsets",
    "with_offline",
]


@dataclass(frozen=True, slots=True)
class Node:
    """A node with the log directories that its meta.properties files give it.

    A directory without a node's id is a node of its own. Follows MetaPropertiesEnsemble.
    """

    node_id: str | None
    disks: list[LogDirectory] = field(default_factory=list)

    @property
    def name(self) -> str:
        return f"Broker {self.node_id}" if self.node_id is not None else self.disks[0].home

    @classmethod
    def of_directories(cls, directories: Iterable[LogDirectory]) -> list[Node]:
        """Put the log directories of each node of one cluster together."""
        found: dict[str, Node] = {}
        for one in directories:
            found.setdefault(one.node_id or one.home, cls(one.node_id)).disks.append(one)
        return list(found.values())


def with_offline(directories: Sequence[LogDirectory]) -> list[LogDirectory]:
    """Return log directories of a cluster; those that their broker had taken offline are as after a kill.

    A broker that runs holds the lock of each of its directories, and marks each when it stops: one with neither beside
    others that have either is one that it could not write to, as on a full or broken disk.
    """
    found = {id(one): one for one in directories}
    for node in Node.of_directories(directories):
        disks = [one for one in node.disks if not one.alone and one.cluster_id is not None]
        if any(one.locked or one.clean_shutdown for one in disks):
            for one in disks:
                if not (one.locked or one.clean_shutdown):
                    partitions = [replace(directory, running=True) for directory in one.partitions]
                    found[id(one)] = replace(one, locked=True, offline=True, partitions=partitions)
    return list(found.values())


def share_cleaner_offsets(directories: Sequence[LogDirectory]) -> None:
    """Give logs the cleaner's offsets that another directory of their node has of them, as after a move between both.

    Follows LogCleanerManager, which reads the checkpoints of all directories as one.
    """
    for node in Node.of_directories(directories):
        every = {place: at for disk in node.disks for place, at in disk.all_checkpoints.get("cleaner", {}).items()}
        for one in (one for disk in node.disks if len(node.disks) > 1 for one in disk.partitions):
            if (at := every.get((one.topic, one.partition))) is not None:
                one.checkpoints.setdefault("cleaner", at)


def node_number(node_id: str | None) -> int | None:
    """Return the number of a node, None where meta.properties has none."""
    return int(node_id) if node_id is not None and node_id.isdecimal() else None


def is_copy(one: LogDirectory, other: LogDirectory) -> bool:
    """Say whether two log directories of one node are copies of one, at the same time or at two.

    They have most of their logs in common, or the same directory.id and any log. A directory without logs has nothing
    that could tell.
    """
    if one.home == other.home:
        return False
    mine, theirs = _logs(one), _logs(other)
    if one.directory_id is not None and one.directory_id == other.directory_id:
        return bool(mine & theirs) or not ((mine and theirs) or one.alone or other.alone)
    return len(mine & theirs) > max(1, min(len(mine), len(theirs)) // 2)


def cloned(nodes: Sequence[LogDirectory]) -> Iterator[tuple[LogDirectory, LogDirectory]]:
    """Yield log directories of one node that have another one's directory.id, and other logs, each with that one."""
    for node in Node.of_directories(nodes):
        first: dict[str, LogDirectory] = {}
        for disk in node.disks:
            if disk.directory_id is None or node.node_id is None or disk.alone:
                continue
            of = first.setdefault(disk.directory_id, disk)
            if of.home != disk.home and not is_copy(disk, of):
                yield disk, of


def _logs(directory: LogDirectory) -> set[tuple[str, int]]:
    return {(one.topic, one.partition) for one in directory.partitions if not one.suffix}


def join_misfits(clusters: Sequence[list[LogDirectory]]) -> list[list[LogDirectory]]:
    """Join directories of several cluster ids whose topics have ids in common: one cluster, and one line is wrong.

    The line of those with the metadata log is taken for the right one, then that of most directories. A cluster that
    was cloned has logs that the other one's node has, too, and stays another one.
    """
    if len(clusters) < 2:
        return list(clusters)
    kept: list[list[LogDirectory]] = []
    for some in sorted(clusters, key=lambda some: (not _has_metadata(some), -len(some))):
        of = next((one for one in kept if _is_one(one, some)), None)
        if of is None:
            kept.append(some)
            continue
        for directory in some:
            directory.findings.append(_other_cluster(directory, of))
        of.extend([replace(directory, cluster_id=of[0].cluster_id) for directory in some])
    return [some for some in clusters if any(some is one for one in kept)]


def _is_one(of: Sequence[LogDirectory], some: Sequence[LogDirectory]) -> bool:
    if None in (of[0].cluster_id, some[0].cluster_id) or _topic_ids(of).isdisjoint(_topic_ids(some)):
        return False
    return not any(_logs(one) & _logs(other) for one in of for other in some if one.node_id == other.node_id)


def _has_metadata(directories: Iterable[LogDirectory]) -> bool:
    return any(one.topic == METADATA_TOPIC for directory in directories for one in directory.partitions)


def _topic_ids(directories: Iterable[LogDirectory]) -> set[str]:
    """Return the ids of topics, which are another cluster's only where its directories were copied."""
    return {
        one.topic_id
        for directory in directories
        for one in directory.partitions
        if one.topic_id is not None and one.topic != METADATA_TOPIC and not one.suffix
    }


def _other_cluster(directory: LogDirectory, of: Sequence[LogDirectory]) -> Finding:
    same = len(_topic_ids([directory]) & _topic_ids(of))
    beside = next((one for one in of if one.node_id == directory.node_id), of[0])
    with_log = ", with the metadata log," if _has_metadata([beside]) else ""
    number = directory.node_id
    whose = f"node {number} has one directory of each" if beside.node_id == number else f"it is node {beside.node_id}'s"
    message = (
        f"cluster.id is {directory.cluster_id}, but {beside.home}{with_log} has {beside.cluster_id}: {whose}, and"
        f" {many(same, 'topic')} {'has' if same == 1 else 'have'} the same id in both"
    )
    return misfit(directory, message, directory.cluster_id, beside.cluster_id)


def misfit(directory: LogDirectory, message: str, found: str | None, needed: str | None) -> Finding:
    """Report the one line of a meta.properties that is not that of its directory."""
    path = os.path.join(directory.home, "meta.properties")
    return Finding.of("directory-misfit", path, message, needed=needed, found=found)

"""The inputs of a command: log directories, by the cluster in their meta.properties."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Final

from kafkalog.errors import UnreadableError
from kafkalog.escape import command_line
from kafkalog.findings import Finding
from kafkalog.log.left_over import put_aside
from kafkalog.log.logdir import LogDirectory, PartitionDirectory, open_log_directory
from kafkalog.log.mixed import apart, copies, copy_finding, tell_mixed
from kafkalog.log.names import FileKind, is_remote, is_virtual, local_path, parse_name
from kafkalog.log.recognition import DirectoryKind, recognized
from kafkalog.log.search import search
from kafkalog.log.storage import open_tree
from kafkalog.log.unpacked import is_archive
from kafkalog.log.watch import watch

__all__ = ["Cluster", "open_clusters"]


_OWN: Final = frozenset({".kafka_cleanshutdown", ".lock"})
_KEPT_IN_HOMES: Final = (FileKind.META_PROPERTIES, FileKind.OFFSET_CHECKPOINT, FileKind.KRAFT_SNAPSHOT)
_OTHER_ARCHIVES: Final = (".xz", ".bz2", ".7z", ".rar", ".Z", ".br")


@dataclass(frozen=True, slots=True)
class Cluster:
    """The log directories of one cluster; `cluster_id` is None if no meta.properties names it."""

    cluster_id: str | None
    nodes: list[LogDirectory]

    def wanted(self) -> list[tuple[LogDirectory, PartitionDirectory]]:
        """Return the logs that are audited, node by node."""
        return [(node, directory) for node in self.nodes for directory in node.partitions if not directory.suffix]


def open_clusters(
    paths: Sequence[str | os.PathLike[str]], *, every_copy: bool = False
) -> tuple[list[Cluster], list[str]]:  # fmt: skip
    """List log directories, or partitions' directories, by cluster; and what could not be read.

    Any other path means the log directories below it (`kafkalog.log.search`). Directories with the same node id belong
    to one broker; other nodes of the cluster have replicas. A directory that is given twice is read once. Directories
    with one cluster id whose topics have other ids are of several clusters, too: people make clusters from one example.
    Of several copies of one broker's directory only the first is read, and a finding says so, unless each is wanted.
    A log directory's own files, which a pattern of a shell catches, were read with it.
    """
    refused: list[tuple[str, str]] = []
    by_cluster: dict[str, Cluster] = {}
    met: set[str] = set()
    for path in paths:
        try:
            nodes = _log_directories(os.fspath(path), met)
        except UnreadableError as error:
            refused.append((os.fspath(path), str(error)))
            continue
        for node in nodes:
            key = node.cluster_id or f"\0{node.path}"
            by_cluster.setdefault(key, Cluster(node.cluster_id, [])).nodes.append(node)
            for directory in node.partitions:
                if directory.suffix:
                    node.findings.append(put_aside(directory))
    clusters = [Cluster(cluster.cluster_id, nodes) for cluster in by_cluster.values() for nodes in apart(cluster.nodes)]
    tell_mixed([cluster.nodes for cluster in clusters])
    if not every_copy:
        clusters = [replace(cluster, nodes=_first_copies(cluster.nodes)) for cluster in clusters]
    read = [node.home for cluster in clusters for node in cluster.nodes if not is_remote(node.home)]
    homes = {os.path.realpath(local_path(home)) for home in read}
    return clusters, [message for path, message in refused if not _is_read_with(homes, path)]


def _first_copies(nodes: list[LogDirectory]) -> list[LogDirectory]:
    again = copies(nodes)
    for node, of in again:
        finding = copy_finding(node, of)
        of.findings.append(finding._replace(message=f"{finding.message} Only {of.path} was read now."))
    dropped = {id(node) for node, _ in again}
    return [node for node in nodes if id(node) not in dropped]


def _is_read_with(homes: Collection[str], path: str) -> bool:
    """Say whether a path is one of the files that a broker keeps in a log directory, and this one of those read."""
    above, name = os.path.split(local_path(path))
    is_own = name in _OWN or parse_name(name).kind in _KEPT_IN_HOMES
    return is_own and os.path.realpath(above) in homes and os.path.isfile(local_path(path))


def _log_directories(path: str, met: set[str]) -> list[LogDirectory]:
    """List the log directories at or below a path, without those that were read before.

    Raises UnreadableError if there is none, or the path can't be listed.
    """
    if not is_remote(path) and os.path.isfile(local_path(path)):
        home, finding = _home_of_file(path)
        nodes = _log_directories(home, met)
        if nodes:
            nodes[0].findings.insert(0, finding)
            watch().tell(f"{path}: {finding.message}")
        return nodes
    if _is_met(path, met):
        return []
    tree = open_tree(path)
    found = search(tree, path)
    if not found.places:
        raise UnreadableError(found.message)
    if found.places != [path]:
        which = "log directory" if len(found.places) == 1 else f"{len(found.places)} log directories"
        watch().tell(f"{path}: the {which} below it: {', '.join(found.places)}")
    nodes = [open_log_directory(place, tree) for place in found.places if place == path or not _is_met(place, met)]
    for node in nodes:
        if not node.partitions:
            watch().tell(f"{node.path}: a log directory without partitions, as on an empty disk or a new broker")
    if nodes:
        nodes[0].findings[:0] = found.findings
    return nodes


def _home_of_file(path: str) -> tuple[str, Finding]:
    """Return the partition's directory of a file, and the note that says so.

    Raises UnreadableError, with what to do, for any other file.
    """
    home, name = os.path.split(path)
    home = home or os.curdir
    if parse_name(name).kind is FileKind.UNKNOWN:
        if is_archive(path) or name.endswith(_OTHER_ARCHIVES):
            raise UnreadableError(f"{path}: an archive or a compressed file: unpack it first")
        raise UnreadableError(f"{path}: not a directory, and not a file of Kafka's by its name")
    tree = open_tree(home)
    own_name = os.path.basename(home if is_virtual(home) else os.path.abspath(local_path(home)))
    if recognized(tree, own_name, tree.entries(home)) is not DirectoryKind.PARTITION:
        file = path.partition("!/")[0] if is_virtual(path) else path
        lines = [command_line(f"kafkalog {name}", file) or f"kafkalog {name} FILE" for name in ("dump", "verify")]
        raise UnreadableError(
            f"{path}: a file in no partition's directory, which is named TOPIC-PARTITION: read it alone with"
            f" `{lines[0]}` or `{lines[1]}`"
        )
    return home, Finding.of("partition-of-file", path, f"the whole partition in {home} was read")


def _is_met(path: str, met: set[str]) -> bool:
    """Say whether a directory was met before, under any name, and remember it."""
    place = os.path.realpath(local_path(path))
    if place in met:
        return True
    met.add(place)
    return False

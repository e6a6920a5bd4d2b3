"""The inputs of a command: log directories, by the cluster in their meta.properties."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from kafkalog.bundles.bundle_inputs import bundle_remote
from kafkalog.errors import UnreadableError
from kafkalog.escape import command_line
from kafkalog.files.directories import open_tree
from kafkalog.files.names import (
    METADATA_TOPIC,
    OFFSETS_TOPIC,
    SHARE_TOPIC,
    STATE_TOPIC,
    FileKind,
    is_remote,
    is_virtual,
    local_path,
    parse_name,
)
from kafkalog.files.recognition import DirectoryKind, recognized
from kafkalog.files.watch import watch
from kafkalog.findings import Finding
from kafkalog.log_dirs.archives import is_archive
from kafkalog.log_dirs.left_over import put_aside
from kafkalog.log_dirs.log_directory import LogDirectory, PartitionDirectory, open_log_directory
from kafkalog.log_dirs.nodes import is_copy, join_misfits, share_cleaner_offsets, with_offline
from kafkalog.log_dirs.remote_store import LayoutError, Remote, given_remote, remote_of
from kafkalog.log_dirs.tiers import TierMetadata, join_tiers, partitions_of
from kafkalog.log_dirs.walk import search
from kafkalog.settle import Reason, lowered
from kafkalog.unread import refused_input

__all__ = ["Cluster", "apart", "copies", "copy_finding", "open_clusters"]


# Directories among the inputs that are not one cluster at one time: of several clusters, or two copies of a broker.


_SHOWN: Final = 5  # clusters that a message names

_NEVER_RECREATED: Final = frozenset({OFFSETS_TOPIC, SHARE_TOPIC, STATE_TOPIC})


def apart(nodes: Sequence[LogDirectory]) -> list[list[LogDirectory]]:
    """Put nodes of one cluster id whose topics of the same names all have other ids apart."""
    parts: list[tuple[list[LogDirectory], dict[str, set[str]]]] = []
    for node in nodes:
        ids: dict[str, set[str]] = {}
        for one in node.partitions:
            if one.topic_id is not None and one.topic != METADATA_TOPIC and not one.suffix:
                ids.setdefault(one.topic, set()).add(one.topic_id)
        fitting = next((part for part in parts if not _contradict(part[1], ids)), None)
        if fitting is None:
            fitting = [], {}
            parts.append(fitting)
        fitting[0].append(node)
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


def copies(nodes: Sequence[LogDirectory]) -> list[tuple[LogDirectory, LogDirectory]]:
    """Return the nodes of a cluster that are another copy of an earlier one, each with that one.

    They are of one broker, in two places: the disks of one broker have other ids and other logs, at most one of which
    was on its way from one to the other.
    """
    found: list[tuple[LogDirectory, LogDirectory]] = []
    earlier: dict[str, list[LogDirectory]] = {}
    for node in nodes:
        if node.cluster_id is None or node.node_id is None:
            continue
        of_broker = earlier.setdefault(node.node_id, [])
        of = next((other for other in of_broker if is_copy(node, other)), None)
        if of is None:
            of_broker.append(node)
        else:
            found.append((node, of))
    return found


def copy_finding(node: LogDirectory, of: LogDirectory) -> Finding:
    """Report a second copy of a broker's directory."""
    same = f"directory.id {node.directory_id}" if node.directory_id == of.directory_id else "logs"
    message = (
        f"{node.path} is another copy of {of.path}: the same cluster, node {node.node_id} and {same}. What differs"
        " between copies of different times says nothing about the cluster: read each alone. What changed between them:"
        " kafkalog diff OLD NEW."
    )
    return Finding.of("directory-twice", node.path, message, found=node.directory_id)


def tell_mixed(clusters: Sequence[Sequence[LogDirectory]]) -> None:
    """Report once that directories are of several clusters: normal if several were given on purpose."""
    named = [nodes[0] for nodes in clusters if nodes[0].cluster_id is not None]
    ids = {node.cluster_id for node in named}
    if len(named) < 2:
        return
    first = named[0]
    shown = "; ".join(f"{node.cluster_id}: {node.path}" for node in named[:_SHOWN])
    more = f" and {len(named) - _SHOWN} more" if len(named) > _SHOWN else ""
    why = "their cluster ids differ" if len(ids) == len(named) else "their topics have other ids under the same names"
    finding = Finding.of(
        "clusters-mixed",
        first.path,
        f"These directories are of {len(named)} clusters: {why}. Each was read alone: {shown}{more}.",
        needed="one cluster",
        found=len(named),
    )
    first.findings.append(lowered(finding, Reason.ON_PURPOSE) if len(ids) == len(named) else finding)


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
) -> tuple[list[Cluster], list[Finding]]:  # fmt: skip
    """List log directories, or partitions' directories, by cluster; and which inputs could not be read at all.

    Any other path means the log directories below it (`kafkalog.log_dirs.walk`). Directories with the same node
    id belong to one broker; other nodes of the cluster have replicas. A directory that is given twice is read once.
    Directories with one cluster id whose topics have other ids are of several clusters, too: people make clusters
    from one example; and those of two ids with the same topic ids are of one.
    Of several copies of one broker's directory only the first is read, and a finding says so, unless each is wanted.
    Nodes come in the order of their ids, whichever was named first.
    A log directory's own files, which a pattern of a shell catches, were read with it. What partitions have in the
    remote store that is given with the inputs is joined before what they have locally.
    """
    refused: list[Finding] = []
    by_cluster: dict[str, Cluster] = {}
    met: set[str] = set()
    for path in paths:
        try:
            nodes = _log_directories(os.fspath(path), met)
        except UnreadableError as error:
            refused.append(refused_input(os.fspath(path), error))
            continue
        for node in nodes:
            key = node.cluster_id or f"\0{node.path}"
            by_cluster.setdefault(key, Cluster(node.cluster_id, [])).nodes.append(node)
            for directory in node.partitions:
                if directory.suffix:
                    node.findings.append(put_aside(directory))
    of_one = join_misfits([cluster.nodes for cluster in by_cluster.values()])
    clusters = [Cluster(nodes[0].cluster_id, with_offline(nodes)) for some in of_one for nodes in apart(some)]
    for cluster in clusters:
        share_cleaner_offsets(cluster.nodes)
    tell_mixed([cluster.nodes for cluster in clusters])
    if not every_copy:
        clusters = [replace(cluster, nodes=_first_copies(cluster.nodes)) for cluster in clusters]
    clusters = [replace(cluster, nodes=sorted(cluster.nodes, key=_by_id)) for cluster in clusters]
    read = [node.home for cluster in clusters for node in cluster.nodes if not is_remote(node.home)]
    homes = {os.path.realpath(local_path(home)) for home in read}
    refused = [one for one in refused if not _is_read_with(homes, one.file)]
    if (remote := given_remote() or _bundled_remote(paths)) is not None:
        refused += _with_tiers(clusters, remote)
    return clusters, refused


def _bundled_remote(paths: Sequence[str | os.PathLike[str]]) -> Remote | None:
    """Return the remote store in a bundle among the inputs, if there is one."""
    found = next((one for path in paths if (one := bundle_remote(os.fspath(path))) is not None), None)
    try:
        return None if found is None else remote_of(*found)
    except LayoutError:  # somebody changed the manifest
        return None


def _by_id(node: LogDirectory) -> tuple[bool, int, str, str]:
    """Return what orders nodes whichever was named first: their ids, then their paths."""
    name = node.node_id or ""
    return not name, int(name) if name.isdecimal() else 0, name, node.path


def _with_tiers(clusters: Sequence[Cluster], remote: Remote) -> Iterator[Finding]:
    """Join what each cluster has in a remote store, and yield why that could not be read."""
    metadata = [TierMetadata.of(cluster.nodes) for cluster in clusters]
    keys = [
        {*partitions_of(cluster.nodes), *said.keys} for cluster, said in zip(clusters, metadata, strict=True)
    ]  # fmt: skip
    try:
        found = remote.found([key for some in keys for key in some])
        stored = list(found.partitions())
    except UnreadableError as error:
        yield refused_input(remote.path, error)
        return
    for number, (cluster, said) in enumerate(zip(clusters, metadata, strict=True)):
        ids = {key.topic_id for key in keys[number]}
        mine = [key for key in stored if len(clusters) == 1 or key.topic_id in ids]
        cluster.nodes.extend(list(join_tiers(cluster.nodes, found, said, mine)))
    known = {key.topic_id or key.topic for some in keys for key in some}
    for key in stored if len(clusters) > 1 else ():
        if (key.topic_id or key.topic) not in known:
            why = f"{found.path}: no cluster among the inputs is known to have {key.topic}-{key.partition}: not read"
            yield refused_input(found.path, why)


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
        watch().tell(f"{path}: the {which} below it: {found.named}")
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

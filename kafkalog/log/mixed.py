"""Directories among the inputs that are not one cluster at one time: of several clusters, or two copies of a broker."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from kafkalog.findings import Finding, Severity
from kafkalog.log.logdir import LogDirectory
from kafkalog.log.names import METADATA_TOPIC, OFFSETS_TOPIC, SHARE_TOPIC, STATE_TOPIC

__all__ = ["apart", "copies", "copy_finding", "tell_mixed"]

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

    They are of one broker, in two places, and have the same directory.id or most of their logs in common: the disks of
    one broker have other ids and other logs, at most one of which was on its way from one to the other.
    """
    found: list[tuple[LogDirectory, LogDirectory]] = []
    earlier: dict[str, list[LogDirectory]] = {}
    for node in nodes:
        if node.cluster_id is None or node.node_id is None:
            continue
        of_broker = earlier.setdefault(node.node_id, [])
        of = next((other for other in of_broker if _is_copy(node, other)), None)
        if of is None:
            of_broker.append(node)
        else:
            found.append((node, of))
    return found


def _is_copy(one: LogDirectory, other: LogDirectory) -> bool:
    if one.home == other.home:
        return False
    mine, theirs = ({(p.topic, p.partition) for p in node.partitions if not p.suffix} for node in (one, other))
    if one.directory_id is not None and one.directory_id == other.directory_id:
        return bool(mine & theirs) or not (one.alone or other.alone)
    return len(mine & theirs) > max(1, min(len(mine), len(theirs)) // 2)


def copy_finding(node: LogDirectory, of: LogDirectory) -> Finding:
    """Report a second copy of a broker's directory."""
    same = f"directory.id {node.directory_id}" if node.directory_id == of.directory_id else "logs"
    message = (
        f"{node.path} is another copy of {of.path}: the same cluster, node {node.node_id} and {same}. What differs"
        " between copies of different times says nothing about the cluster: read each of them alone."
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
    first.findings.append(finding._replace(severity=Severity.NOTE) if len(ids) == len(named) else finding)

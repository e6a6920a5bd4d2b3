"""Where the metadata places partitions, compared with the log directories that were given.

A node is all of its log directories. One that the metadata names for a node that was given, and that is not here, has
whatever partitions the metadata places in it: nothing is known of these. A partition that is placed in a directory that
is here, or in none, and is not in it, is missing there. Nodes of which no log directory was given are never missed.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from kafkalog.auditing.topics.metadata import Metadata
from kafkalog.auditing.topics.partition_history import Partition, Span
from kafkalog.files.recognition import partition_name
from kafkalog.findings import Finding
from kafkalog.kafka.topic_partition import TopicPartition
from kafkalog.log_dirs.left_over import end_of_segment
from kafkalog.log_dirs.log_directory import LogDirectory, PartitionDirectory
from kafkalog.log_dirs.nodes import Node, cloned, misfit, node_number
from kafkalog.quantities import iso, listed, many
from kafkalog.settle import Reason, lowered

__all__ = [
    "COPY_MS",
    "NOT_GIVEN",
    "assigned_to",
    "disks_not_given",
    "known_as",
    "not_given",
    "placed",
    "placement_findings",
    "settle_misfits",
]

COPY_MS: Final = 600_000  # how long a copy takes if no option says it

NOT_GIVEN: Final = "directory-not-given"

# Ids that mean no directory: not yet moved to directory ids, unassigned, lost.
_NO_DIRECTORY: Final = frozenset({"AAAAAAAAAAAAAAAAAAAAAA", "AAAAAAAAAAAAAAAAAAAAAQ", "AAAAAAAAAAAAAAAAAAAAAg"})


class Assigned(NamedTuple):
    """A partition that a node should have, its directory if that is known, and since when."""

    topic: str
    partition: int
    topic_id: str
    directory: str | None
    since: int


def placed(metadata: Metadata) -> Iterator[tuple[TopicPartition, str, Partition]]:
    """Yield the partitions that the metadata has at its end: each with its topic's id, and where it is placed."""
    for topic_id, number in sorted(metadata.partitions):
        span, topic = metadata.partitions[topic_id, number][-1], metadata.topic_of(topic_id)
        if span.until is None and topic is not None:
            yield TopicPartition(topic.name, number), topic_id, span.value


def assigned_to(
    metadata: Metadata, node: int, present: Collection[tuple[str, int]] = ()
) -> Iterator[Assigned]:  # fmt: skip
    """Yield the partitions that the metadata assigns to a node at its end, without those that are `present`."""
    for place, topic_id, now in placed(metadata):
        if node not in now.replicas or place in present:
            continue
        at = now.replicas.index(node)
        directory = now.directories[at] if at < len(now.directories) else None
        directory = None if directory in _NO_DIRECTORY else directory
        since = _assigned_since(metadata.partitions[topic_id, place.partition], node)
        yield Assigned(*place, topic_id, directory, since)


def _is_elsewhere(one: Assigned, directories: Collection[str]) -> bool:
    """Say whether a partition is in a log directory of the node that was not given."""
    return one.directory is not None and bool(directories) and one.directory not in directories


def _assigned_since(spans: list[Span], node: int) -> int:
    """Return from when on the node was among the replicas without a break."""
    since = spans[-1].since
    for span in reversed(spans):
        if node not in span.value.replicas:
            break
        since = span.since
    return since


def settle_misfits(nodes: list[LogDirectory], metadata: Metadata | None) -> None:
    """Report directories with another node's number, or another directory's id, and give the former the right one.

    A directory whose number can't be read gets the right one, too.

    The metadata log has the ids of the directories that each broker registered, and of each partition its directory's.
    """
    owners: dict[str, int] = {}
    for (role, number), spans in () if metadata is None else metadata.brokers.items():
        if role == "broker" and spans[-1].value.state != "unregistered":
            owners |= dict.fromkeys(spans[-1].value.log_directories, number)
    for at, node in enumerate(nodes):
        owner, said = owners.get(node.directory_id or ""), node_number(node.node_id)
        if owner is None or owner == said:
            continue
        if said is not None:  # else the line has a finding of its own: it is malformed
            message = (
                f"node.id is {node.node_id}, but the metadata log has its directory.id {node.directory_id} for broker"
                f" {owner}"
            )
            node.findings.append(misfit(node, message, node.node_id, str(owner)))
        nodes[at] = replace(node, node_id=str(owner))
    for node, of in cloned(nodes):
        here = Counter[str]() if metadata is None else _directories_of(node, metadata)
        of_placed = Counter[str]() if metadata is None else _directories_of(of, metadata)
        wrong, other, right = (of, node, of_placed) if here[node.directory_id or ""] else (node, of, here)
        right.pop(wrong.directory_id or "", None)
        needed = max(right, key=right.__getitem__, default=None)
        message = (
            f"directory.id is {wrong.directory_id}, and that of {other.home}, which has other logs, is the same"
            + (f": the metadata log has the logs here in {needed}" if needed else "")
        )
        wrong.findings.append(misfit(wrong, message, wrong.directory_id, needed))


def _directories_of(node: LogDirectory, metadata: Metadata) -> Counter[str]:
    """Count the partitions of a log directory by the directory in which the metadata has them on its node."""
    here = {(one.topic, one.partition) for one in node.partitions if not one.suffix}
    number = node_number(node.node_id)
    every = () if number is None else assigned_to(metadata, number)
    return Counter(one.directory for one in every if one.directory is not None and (one.topic, one.partition) in here)


def known_as(home: LogDirectory, metadata: Metadata) -> tuple[str | None, int]:
    """Return the directory in which the metadata has the partitions of a log directory, and how many there are.

    None where that directory has others, too, which are not in this one: then it is another directory.
    """
    directories = _directories_of(home, metadata)
    known = max(directories, key=directories.__getitem__, default=None)
    here = {(one.topic, one.partition) for one in home.partitions}
    number = node_number(home.node_id)
    others = () if known is None or number is None else assigned_to(metadata, number, here)
    return (None, 0) if known is None or any(one.directory == known for one in others) else (known, directories[known])


def placement_findings(nodes: Sequence[LogDirectory], metadata: Metadata, late: int) -> Iterator[Finding]:
    """Yield a finding for each partition of a given node that is not in the directories that were given.

    One that is missing is a note where nothing can be lost: the checkpoints say that the partition is empty, or it was
    assigned after the time `late` (ms; -1 where the inputs are of one moment), so that a copy of a running broker may
    have missed it. Nothing can be missed where only directories of single partitions were given.
    """
    for node in Node.of_directories(nodes):
        number = node_number(node.node_id)
        homes = [home for home in node.disks if not home.alone]
        if number is None or not homes:
            continue
        present = {(one.topic, one.partition) for home in node.disks for one in home.partitions if not one.suffix}
        present |= {place for home in node.disks for place in _left_out(home)}
        aside = _put_aside(node)
        directories = {home.directory_id for home in homes if home.directory_id is not None}
        running = not all(home.clean_shutdown for home in homes)
        for found in assigned_to(metadata, number, present):
            if _is_elsewhere(found, directories):
                yield _not_given(homes, number, found)
                continue
            copies = [one for one in aside.get((found.topic, found.partition), ()) if one.topic_id == found.topic_id]
            if (future := _becomes_current(copies, homes, found)) is not None:
                yield future
                continue
            if any(one.size for one in copies):
                yield _emptied_by_start(number, copies, homes, found)
                continue
            if any(one.suffix != "-stray" for one in copies):
                continue  # it is empty, and being moved or deleted
            offset = _offset(homes, (found.topic, found.partition))
            is_note = offset == 0 or (running and 0 <= late < found.since)
            finding = _absent(homes[0].path, number, found, offset)
            yield lowered(finding, Reason.EMPTY_OR_NEWER) if is_note else finding


def _left_out(home: LogDirectory) -> Iterator[tuple[str, int]]:
    """Yield the partitions that were left out of a bundle on purpose: they are missed by nobody."""
    for name in home.bundle.left_out:
        if (found := partition_name(name)) is not None and not found.suffix:
            yield found.topic, found.partition


def _put_aside(node: Node) -> dict[tuple[str, int], list[PartitionDirectory]]:
    """Return the directories with a suffix of each partition: of moves, of deleted topics, strays."""
    found: dict[tuple[str, int], list[PartitionDirectory]] = {}
    for disk in node.disks:
        for one in disk.partitions:
            if one.suffix:
                found.setdefault((one.topic, one.partition), []).append(one)
    return found


def _becomes_current(
    copies: Sequence[PartitionDirectory], homes: Sequence[LogDirectory], found: Assigned
) -> Finding | None:  # fmt: skip
    """Note a -future replica in the log directory that the metadata assigns: the next start gives it its name.

    Follows LogManager.recoverAbandonedFutureLogs, since 3.7.
    """
    at_home = {home.path for home in homes if found.directory is not None and home.directory_id == found.directory}
    for one in copies:
        if one.suffix == "-future" and os.path.dirname(one.log) in at_home:
            name = f"{found.topic}-{found.partition}"
            message = (
                f"{name} is only in {one.log}, in the log directory that the metadata log assigns: the next start makes"
                f" it {name}"
            )
            finding = Finding.of(
                "replica-only-aside", one.log, message, found=found.directory, topic=found.topic,
                partition=found.partition,
            )  # fmt: skip
            return lowered(finding, Reason.NO_CONSUMER_SEES)
    return None


def _emptied_by_start(
    node: int, copies: Sequence[PartitionDirectory], homes: Sequence[LogDirectory], found: Assigned
) -> Finding:
    """Report a partition of which only directories with a suffix are left: the next start begins an empty one.

    A broker that ran may have been deleting or renaming them while they were copied.
    """
    ends = {
        one.log: end_of_segment(one.segments[-1].path, one.segments[-1].base_offset) for one in copies if one.segments
    }
    at_home = {home.path for home in homes if home.directory_id == found.directory}
    best = max(copies, key=lambda one: (ends.get(one.log, 0), os.path.dirname(one.log) in at_home))
    first, end = best.local_start_offset, ends.get(best.log, 0)
    name = f"{found.topic}-{found.partition}"
    there = " and ".join(sorted(one.log for one in copies))
    are_same = len(copies) > 1 and all(ends.get(one.log) == end for one in copies)
    reach = f"which {'both' if len(copies) == 2 else 'all'} reach" if are_same else f"{best.log} reaches"
    reach = "which reaches" if len(copies) == 1 else reach
    moved = any(one.suffix == "-future" for one in copies)
    finding = Finding.of(
        "replica-only-aside",
        best.log,
        f"Broker {node} has {name} only in {there}, {reach} offset {end}: the next start makes an empty {name}"
        f"{', cuts the -future replica to it' * moved}, and loses {many(end - first, 'record')} that are whole now",
        offset=first,
        last_offset=end - 1,
        needed=os.path.join(os.path.dirname(best.log), name),
        found=node,
        topic=found.topic,
        partition=found.partition,
    )
    if all(home.clean_shutdown for home in homes):
        return finding
    return lowered(finding, Reason.COPY_MAY_EXPLAIN if moved else Reason.MAY_BE_THERE)


def not_given(nodes: list[LogDirectory], metadata: Metadata | None) -> Iterator[Finding]:
    """Yield a finding for each partition in a log directory of a given node that was not given."""
    if metadata is not None:
        settle_misfits(nodes, metadata)
        yield from (one for one in placement_findings(nodes, metadata, -1) if one.code == NOT_GIVEN)


def disks_not_given(nodes: list[LogDirectory], metadata: Metadata | None) -> Iterator[Finding]:
    """Yield what a command must say that reads log directories and audits nothing: what of their nodes is not here.

    There is one finding for each log directory that was not given, with its partitions.
    """
    of_directory: dict[tuple[int | str | None, int | str | None], list[Finding]] = {}
    for finding in not_given(nodes, metadata):
        of_directory.setdefault((finding.found, finding.needed), []).append(finding)
    for (broker, directory), some in of_directory.items():
        names = listed(f"{one.topic}-{one.partition}" for one in some)
        message = (
            f"the log directory {directory} of broker {broker} was not given, which has"
            f" {many(len(some), 'partition')} by the metadata log: {names}"
        )
        yield Finding.of(NOT_GIVEN, some[0].file, message, needed=directory, found=broker)


def _offset(homes: Sequence[LogDirectory], partition: tuple[str, int]) -> int | None:
    """Return the highest offset that a checkpoint has for a partition; None where none names it."""
    offsets = [rows[partition] for home in homes for rows in home.all_checkpoints.values() if partition in rows]
    return max(offsets, default=None)


def _not_given(homes: Sequence[LogDirectory], node: int, absent: Assigned) -> Finding:
    return Finding.of(
        NOT_GIVEN,
        homes[0].path,
        f"{absent.topic}-{absent.partition} is in the log directory {absent.directory} of broker {node} by the metadata"
        " log, and that directory was not given",
        topic=absent.topic,
        partition=absent.partition,
        needed=absent.directory,
        found=node,
    )


def _absent(place: str, node: int, absent: Assigned, offset: int | None) -> Finding:
    reached = "No checkpoint names it." if offset is None else f"Its checkpoint last recorded offset {offset}."
    return Finding.of(
        "partition-absent",
        os.path.join(place, f"{absent.topic}-{absent.partition}"),
        f"{absent.topic}-{absent.partition} (topic id {absent.topic_id}) has been assigned to node {node} since"
        f" {iso(absent.since)}, and is missing here. {reached}",
        topic=absent.topic,
        partition=absent.partition,
        offset=offset,
        found=node,
    )

"""Partitions that the metadata assigns to a node and that are not in its directories."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Final

from kafkalog.auditing.topics.metadata import Metadata
from kafkalog.auditing.topics.metadata_joins import Assigned, absent_partitions
from kafkalog.findings import Finding, Severity
from kafkalog.format.times import iso
from kafkalog.log.logdir import LogDirectory

__all__ = ["COPY_MS", "absent_findings"]


COPY_MS: Final = 600_000  # how long a copy takes if no option says it


def absent_findings(nodes: Sequence[LogDirectory], metadata: Metadata, late: int) -> Iterator[Finding]:
    """Yield a finding for each partition that is missing on a node whose log directories were given.

    It is a note where nothing can be lost: the checkpoints say that the partition is empty, or it was assigned after
    the time `late` (ms; -1 where the inputs are of one moment), so that a copy of a running broker may have missed it.
    Nothing can be missed where only directories of single partitions were given.
    """
    of_node: dict[int, list[LogDirectory]] = {}
    for node in nodes:
        if node.node_id is not None and node.node_id.isdecimal():
            of_node.setdefault(int(node.node_id), []).append(node)
    for number, named in sorted(of_node.items()):
        present = {(one.topic, one.partition) for node in named for one in node.partitions if one.suffix != "-stray"}
        homes = [node for node in named if not node.alone]
        if not homes:
            continue
        directories = {home.directory_id for home in homes if home.directory_id is not None}
        running = not all(home.clean_shutdown for home in homes)
        for found in absent_partitions(metadata, number, present, directories):
            offset = _offset(homes, (found.topic, found.partition))
            finding = _finding(homes[0].path, number, found, offset)
            is_note = offset == 0 or (running and 0 <= late < found.since)
            yield finding._replace(severity=Severity.NOTE) if is_note else finding


def _offset(homes: Sequence[LogDirectory], partition: tuple[str, int]) -> int | None:
    """Return the highest offset that a checkpoint has for a partition; None where none names it."""
    offsets = [rows[partition] for home in homes for rows in home.all_checkpoints.values() if partition in rows]
    return max(offsets, default=None)


def _finding(place: str, node: int, absent: Assigned, offset: int | None) -> Finding:
    reached = "No checkpoint names it." if offset is None else f"Its checkpoint last recorded offset {offset}."
    return Finding.of(
        "partition-absent",
        os.path.join(place, f"{absent.topic}-{absent.partition}"),
        f"{absent.topic}-{absent.partition} (topic id {absent.topic_id}) has been assigned to node {node} since"
        f" {iso(absent.since)}, and is missing here. {reached}",
        topic=absent.topic,
        partition=absent.partition,
    )

"""What the side files of log directories say that the logs do not: all comparisons, as functions."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from kafkalog.auditing.partition.facts import PartitionAudit
from kafkalog.auditing.partition.steady_log import read_log
from kafkalog.auditing.side_files.of_node import compare_cluster, compare_node
from kafkalog.auditing.side_files.of_partition import compare_partition
from kafkalog.auditing.side_files.rebuilt import SideFiles
from kafkalog.auditing.topics.metadata_log import cluster_metadata
from kafkalog.findings import Finding, Severity
from kafkalog.log_dirs.left_over import left_over
from kafkalog.log_dirs.log_directory import PartitionDirectory, Segment, open_log_directory
from kafkalog.segments.segment import segment_chunks


def read(directory: PartitionDirectory, segment: Segment) -> SideFiles:
    """Read a segment once, for its side files."""
    side = SideFiles(directory, segment)
    for chunk in segment_chunks(segment.path, max_bytes=segment.size):
        side.take_chunk(chunk)
    return side


def of_partition(directory: PartitionDirectory) -> tuple[PartitionAudit, list[Finding]]:
    """The audit of a partition, and what its side files say otherwise."""
    sides = [read(directory, segment) for segment in directory.segments]
    found = [finding for side in sides for finding in side.finish()]
    audit = read_log(directory, ()).partition
    found += [finding for finding in audit.findings if not finding.file.endswith(".log")]
    return audit, [*found, *compare_partition(audit, [side.rebuilt for side in sides])]


def told(*roots: Path) -> list[Finding]:
    """Everything that the side files of log directories give, with what was found when these were listed."""
    return list(_told(roots))


def _told(roots: tuple[Path, ...]) -> Iterator[Finding]:
    nodes = [open_log_directory(root) for root in roots]
    newest = -1
    for node in nodes:
        audits = []
        for directory in node.partitions:
            audit, found = of_partition(directory)
            newest = max(newest, audit.newest)
            yield from found
            if not directory.suffix:
                audits.append(audit)
        yield from node.findings
        yield from compare_node(node, audits)
        yield from left_over(node)
    names = [node.cluster_id or node.path for node in nodes]
    for cluster in dict.fromkeys(names):
        of_one = [node for node, name in zip(nodes, names, strict=True) if name == cluster]
        yield from compare_cluster(of_one, cluster_metadata(of_one), newest)


def above_note(*roots: Path) -> list[str]:
    """The codes of what is no note."""
    return [finding.code for finding in told(*roots) if finding.severity > Severity.NOTE]

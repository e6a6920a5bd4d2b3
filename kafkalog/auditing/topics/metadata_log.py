"""The metadata log of a node with its snapshots, joined to the metadata over time."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from typing import Final, NamedTuple

import numpy as np

from kafkalog.auditing.topics.internal import TOPICS, blocks_of_directory
from kafkalog.auditing.topics.metadata import CHANGING, Metadata, PartitionChange, PartitionChanges
from kafkalog.errors import UnreadableError
from kafkalog.files.limits import Limits
from kafkalog.files.names import METADATA_TOPIC, FileKind, is_remote, parse_name
from kafkalog.findings import Finding
from kafkalog.kafka.control import ControlType
from kafkalog.log_dirs.left_over import end_of_segment
from kafkalog.log_dirs.log_directory import LogDirectory, PartitionDirectory
from kafkalog.log_dirs.moving import READINGS, list_again, movement
from kafkalog.segments.internal_blocks import InternalRecords, internal_blocks
from kafkalog.segments.readers import control_records
from kafkalog.unread import is_not_read, not_read

__all__ = ["Snapshot", "check_records", "cluster_metadata", "metadata_of", "snapshots"]

Report = Callable[[Finding], object]
_NO_STEP: Final[tuple[int, PartitionChange | None]] = (0, None)


class Snapshot(NamedTuple):
    """A KRaft snapshot: the state before `offset`, up to the epoch."""

    offset: int
    epoch: int
    path: str


def snapshots(directory: PartitionDirectory) -> list[Snapshot]:
    """List a metadata log's snapshots, oldest first."""
    found = []
    for name in directory.files:
        parsed = parse_name(name)
        if parsed.kind is not FileKind.KRAFT_SNAPSHOT or parsed.removed or name.endswith(".part"):
            continue
        if parsed.offset is not None and parsed.epoch is not None:
            found.append(Snapshot(parsed.offset, parsed.epoch, os.path.join(directory.log, name)))
    return sorted(found)


def cluster_metadata(
    nodes: Iterable[LogDirectory], limits: Limits | None = None, report: Report | None = None
) -> Metadata | None:
    """Return the metadata of a cluster, from the node whose metadata log reaches furthest; None without one.

    A segment that can't be read is reported by whoever scans the log.
    """
    logs = [(node, one) for node in nodes for one in node.partitions if one.topic == METADATA_TOPIC and not one.suffix]
    if not logs:
        return None
    node, directory = max(logs, key=_reach)
    for _ in range(READINGS):
        findings: list[Finding] = []
        metadata = metadata_of(directory, limits, findings.append)
        segments = {segment.path for segment in directory.segments}
        is_whole = not any(is_not_read(finding) for finding in findings)
        try:
            if is_whole and (is_remote(directory.log) or movement(node, directory) is None):
                break
        except UnreadableError as error:
            findings.append(not_read(directory.log, error))
            break
        directory = list_again(node, directory)  # retention deletes segments and snapshots, new snapshots come
    for finding in findings:
        if report is not None and (not is_not_read(finding) or finding.file not in segments):
            report(finding)
    return metadata


def _reach(log: tuple[LogDirectory, PartitionDirectory]) -> tuple[int, int, int]:
    _, directory = log
    last = directory.segments[-1] if directory.segments else None
    epochs = (epoch for epoch, _ in directory.leader_epochs)
    return (max(epochs, default=-1), *((-1, 0) if last is None else (last.base_offset, last.size)))


def metadata_of(directory: PartitionDirectory, limits: Limits | None = None, report: Report | None = None) -> Metadata:
    """Return the metadata over time: from the log's start on, or from the snapshot there."""
    findings: list[Finding] = []
    metadata, changes = Metadata(), PartitionChanges()
    base = _base(directory, findings)
    for block, first, last in _blocks(directory, base, limits, findings):
        _take(metadata, changes, block, findings, first=first, last=last)
    for offset, timestamp, level in _kraft_versions(directory, base):
        metadata.set_kraft_version(offset, timestamp, level)
    if report is not None:
        for finding in findings:
            report(finding)
    return metadata


def check_records(directory: PartitionDirectory, limits: Limits | None, report: Report) -> None:
    """Report what is wrong with the records of a metadata log, as ``metadata_of`` does, where no table joins them."""
    findings: list[Finding] = []
    for block, _, _ in _blocks(directory, _base(directory, findings), limits, findings):
        findings += block.findings()
    for finding in findings:
        report(finding)


def _blocks(
    directory: PartitionDirectory, base: Snapshot | None, limits: Limits | None, findings: list[Finding]
) -> Iterator[tuple[InternalRecords, int | None, int | None]]:
    """Yield the records of the snapshot and of the log, with the first and the last offset that count, None for any."""
    if base is not None:
        yield from ((block, None, base.offset - 1) for block in _of_snapshot(base, limits, findings))
    first = None if base is None else base.offset
    yield from ((block, first, None) for block in blocks_of_directory(directory, limits or Limits(), findings.append))


def _base(directory: PartitionDirectory, findings: list[Finding]) -> Snapshot | None:
    """Return the snapshot at the log's start, else the next one; None where the log begins at 0.

    Where the log ends before the newest one it is that, with which a broker begins anew; a log that a running broker
    wrote on may only have been copied before it.
    """
    whole = [one for one in snapshots(directory) if _is_whole(one, findings)]
    last = directory.segments[-1] if directory.segments else None
    if whole and (last is None or whole[-1].offset > last.base_offset):
        end = 0 if last is None else end_of_segment(last.path, last.base_offset)
        if whole[-1].offset > end and (directory.clean_shutdown or not directory.size):
            return whole[-1]
    begin = directory.segments[0].base_offset if directory.segments else 0
    older = [one for one in whole if one.offset <= begin]
    newer = [one for one in whole if one.offset > begin]
    return older[-1] if older else newer[0] if newer and begin > 0 else None


def _take(
    metadata: Metadata,
    changes: PartitionChanges,
    block: InternalRecords,
    findings: list[Finding],
    *,
    first: int | None = None,
    last: int | None = None,
) -> None:
    """Take in the records of a block from an offset on; those of a snapshot get the last offset that it contains.

    Only records that may change something are made values; most of a log changes nothing, or partitions.
    """
    is_wanted = np.ones(block.count, np.bool_) if first is None else block.offset >= first
    is_known = ~block.is_doubtful & ~np.isin(block.type, list(CHANGING))
    rows, of_partitions = changes.of(block, is_wanted)
    is_known[rows] = True
    times = block.timestamp[is_known & is_wanted]
    if len(times):
        metadata.newest = max(metadata.newest, int(times.max()))
    steps = zip(rows.tolist(), of_partitions, strict=True)
    row, step = next(steps, _NO_STEP)
    for number, item in block.numbered(np.flatnonzero(~is_known)):
        while step is not None and row < number:
            metadata.apply_step(step if last is None else step._replace(offset=last))
            row, step = next(steps, _NO_STEP)
        if isinstance(item, Finding):
            findings.append(item)
        elif is_wanted[number]:
            metadata.apply(item if last is None else item._replace(offset=last))
    while step is not None:
        metadata.apply_step(step if last is None else step._replace(offset=last))
        row, step = next(steps, _NO_STEP)


def _kraft_versions(directory: PartitionDirectory, base: Snapshot | None) -> Iterator[tuple[int, int, int]]:
    """Yield (offset, time, level) of the feature ``kraft.version``, which is in control records."""
    files = [(base.path, base.offset - 1)] if base is not None else []
    for path, offset in [*files, *((segment.path, -1) for segment in directory.segments)]:
        try:
            for _, record, control in control_records(path, on_finding=lambda _: None):  # reported elsewhere
                if control.type == ControlType.KRAFT_VERSION and control.data is not None:
                    yield max(offset, record.offset), record.timestamp, control.data["kRaftVersion"]
        except UnreadableError:
            continue


def _of_snapshot(snapshot: Snapshot, limits: Limits | None, findings: list[Finding]) -> Iterator[InternalRecords]:
    try:
        for item in internal_blocks(snapshot.path, TOPICS[METADATA_TOPIC], limits):
            if isinstance(item, InternalRecords):
                yield item
            else:
                findings.append(item)
    except UnreadableError as error:
        findings.append(_unreadable(snapshot, error))


def _unreadable(snapshot: Snapshot, error: UnreadableError) -> Finding:
    log = os.path.dirname(snapshot.path)
    return not_read(snapshot.path, error, log=log, topic=METADATA_TOPIC, partition=0)


def _is_whole(snapshot: Snapshot, findings: list[Finding]) -> bool:
    """Say whether a snapshot has its footer, which is written last."""
    try:
        if any(
            control.type == ControlType.SNAPSHOT_FOOTER
            for _, _, control in control_records(snapshot.path, on_finding=findings.append)
        ):
            return True
    except UnreadableError as error:
        findings.append(_unreadable(snapshot, error))
        return False
    findings.append(
        Finding.of("metadata-snapshot-incomplete", snapshot.path, "the snapshot has no footer: its end is missing")
    )
    return False

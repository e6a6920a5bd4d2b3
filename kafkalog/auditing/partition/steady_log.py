"""A partition of one moment: its scans joined, and read again while its files move.

Segments are scanned first, perhaps long before they are joined, and elsewhere. Here the directory is compared with its
listing after all of its files were read. Where files moved, it is listed again: segments that are the same file, byte
for byte, keep their scans, the others are scanned again. The newest state counts.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from kafkalog.auditing.partition.facts import PartitionAudit
from kafkalog.auditing.partition.joined import join
from kafkalog.auditing.partition.scan import SegmentScan, scan_segment
from kafkalog.errors import UnreadableError
from kafkalog.files.directories import exists
from kafkalog.files.limits import Limits
from kafkalog.files.names import is_remote
from kafkalog.files.watch import watch
from kafkalog.findings import Finding, Severity
from kafkalog.folds.shares import Share
from kafkalog.log_dirs.log_directory import LogDirectory, PartitionDirectory
from kafkalog.log_dirs.moving import PAUSES, READINGS, Movement, is_unsettled, list_again, movement, stays, with_gone
from kafkalog.quantities import listed
from kafkalog.unread import is_not_read, not_read

__all__ = [
    "ReadAgain",
    "ReadLog",
    "gone_finding",
    "moving_finding",
    "of_one_moment",
    "read_log",
    "steady_findings",
    "unreadable_while_moving",
    "with_note",
]


# What may be said of a partition whose files moved during each reading: what all readings show, the rest is a note.


_SHOWN = 5


def steady_findings(
    newest: Sequence[Finding], earlier: Sequence[Sequence[Finding]], directory: PartitionDirectory, moved: Movement
) -> list[Finding]:  # fmt: skip
    """Return the newest reading's findings that the `earlier` ones also have, notes, and one note about the others.

    A file that is there and could not be read did not move: that is kept, too.
    """
    if moved.is_gone:
        return [moving_finding(directory, moved, ())]
    known = [{_key(finding) for finding in findings} for findings in earlier]
    kept: list[Finding] = []
    once: list[Finding] = []
    for finding in newest:
        is_steady = finding.severity is Severity.NOTE or all(_key(finding) in keys for keys in known)
        is_steady |= is_not_read(finding) and exists(finding.file)
        (kept if is_steady else once).append(finding)
    return [*kept, moving_finding(directory, moved, once)] if once else kept


def _key(finding: Finding) -> tuple[object, ...]:
    return (finding.code, finding.file, finding.position, finding.offset, finding.last_offset, finding.producer_id)


def gone_finding(directory: PartitionDirectory, error: UnreadableError) -> Finding:
    """Report a partition that can't be listed again, though no broker deleted it: what was read may not be all."""
    name = f"{directory.topic}-{directory.partition}"
    return not_read(directory.log, f"{name} could not be listed again after it was read: {error}",
        log=directory.log, topic=directory.topic, partition=directory.partition,
    )  # fmt: skip


def moving_finding(directory: PartitionDirectory, moved: Movement, once: Sequence[Finding]) -> Finding:
    """Make the note about a partition that moved; `once` are the findings that not every reading has."""
    name = f"{directory.topic}-{directory.partition}"
    if moved.is_gone:
        message = f"{name} was deleted while it was read"
    elif not once:
        message = f"{_few(moved)} went while {name} was read; it was read again without"
    else:
        codes = ", ".join(f"{count} {code}" for code, count in sorted(Counter(f.code for f in once).items()))
        message = (
            f"files of {name} moved during each of {READINGS} readings, the last time {_few(moved)}; not every reading"
            f" shows these findings, so they are not reported: {codes}"
        )
    return Finding.of(
        "partition-moving", directory.log, message, found=len(moved.files),
        log=directory.log, topic=directory.topic, partition=directory.partition,
    )  # fmt: skip


def _few(moved: Movement) -> str:
    return listed(sorted(moved.files), _SHOWN)


def unreadable_while_moving(directory: PartitionDirectory, movements: Sequence[Movement]) -> list[Finding]:
    """Report the closed segments that were replaced or written to during every one of all readings."""
    if len(movements) < READINGS:
        return []
    always = frozenset.intersection(*(moved.files for moved in movements))
    return [
        not_read(segment.path,
            f"{segment.path}: it was replaced or written to during each of {READINGS} readings",
        )
        for segment in directory.segments[:-1]
        if os.path.basename(segment.path) in always
    ]  # fmt: skip


@dataclass(slots=True)
class ReadAgain:
    """A partition's newest reading, with its scans; if files moved during all readings, the `earlier` ones."""

    partition: PartitionAudit
    scans: Sequence[SegmentScan]
    earlier: list[PartitionAudit] = field(default_factory=list)
    moved: Movement | None = None


def of_one_moment(
    node: LogDirectory, directory: PartitionDirectory, scans: Sequence[SegmentScan], policies: Collection[str | None],
    limits: Limits, share: Share = Share(),  # noqa: B008  # it is frozen
) -> ReadAgain:  # fmt: skip
    """Join the scans of a partition; again, with scans of what is new, while files of its directory move.

    `share` says which producers' transactions the scans have, as ``SegmentScan.shares`` gives them.
    """
    readings: list[PartitionAudit] = []
    movements: list[Movement] = []
    for pause in PAUSES:
        if readings:
            time.sleep(pause)
            newer = list_again(node, directory)
            known = {scan.segment: scan for scan in scans}
            scans = [
                known[segment]
                if segment in known and stays(segment, directory, newer)
                else list(scan_segment(newer, segment, limits).shares(share.of))[share.number]
                for segment in newer.segments
            ]
            directory = newer
        partition = join(directory, scans, policies, share)
        readings.append(partition)
        if is_remote(directory.log) and not _is_odd(partition):
            return ReadAgain(with_note(partition, movements), scans)
        try:
            moved = with_gone(movement(node, directory), directory, partition.findings)
        except UnreadableError as error:
            return ReadAgain(with_note(partition, movements).with_findings(gone_finding(directory, error)), scans)
        if moved is not None and moved.is_gone:
            return ReadAgain(join(_emptied(directory), (), policies), (), moved=moved)
        if moved is None and not (len(readings) < READINGS and is_unsettled(directory)):
            return ReadAgain(with_note(partition, movements), scans)
        movements += [moved] if moved is not None else []
    unread = unreadable_while_moving(directory, movements)
    earlier = [one.with_findings(*unread) for one in readings[:-1]]
    return ReadAgain(partition.with_findings(*unread), scans, earlier, moved)


def with_note(partition: PartitionAudit, movements: Sequence[Movement]) -> PartitionAudit:
    """Return a partition's newest reading with a note about the segments that went while older ones were made."""
    if not movements:
        return partition
    went = frozenset(name for moved in movements for name in moved.files if name.endswith(".log"))
    known = {os.path.basename(segment.path): segment for segment in partition.directory.segments}
    gone = Movement(frozenset(name for name in went if name not in known))
    if not gone.files:
        return partition
    return partition.with_findings(moving_finding(partition.directory, gone, ()))


def _is_odd(partition: PartitionAudit) -> bool:
    """Say whether something in a log may be there because it moved: an object store is not listed again for nothing."""
    return bool(partition.gaps) or any(finding.severity > Severity.NOTE for finding in partition.findings)


def _emptied(directory: PartitionDirectory) -> PartitionDirectory:
    return replace(
        directory, segments=(), snapshots={}, left_over=(), orphans=(), leader_epochs=(), checkpoints={},
        txn_indexes=frozenset(), files={},
    )  # fmt: skip


# One log read by itself: its segments scanned, the scans joined.


class ReadLog(NamedTuple):
    """A log's facts, and the scans of its segments that were joined to them."""

    partition: PartitionAudit
    scans: list[SegmentScan]


def read_log(directory: PartitionDirectory, policies: Collection[str | None], limits: Limits | None = None) -> ReadLog:
    """Scan a partition's segments one after the other and join them; `policies` as in ``join``."""
    watch().begin(directory.size, len(directory.segments))
    scans = []
    for segment in directory.segments:
        scans.append(scan_segment(directory, segment, limits))
        watch().found(scans[-1].findings)
    return ReadLog(join(directory, scans, policies), scans)

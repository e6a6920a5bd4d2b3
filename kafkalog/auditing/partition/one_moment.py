"""A partition of one moment: its scans joined, and read again while its files move.

Segments are scanned first, perhaps long before they are joined, and elsewhere. Here the directory is compared with its
listing after all of its files were read. Where files moved, it is listed again: segments that are the same file, byte
for byte, keep their scans, the others are scanned again. The newest state counts.
"""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace

from kafkalog.auditing.partition.facts import PartitionAudit
from kafkalog.auditing.partition.joined import join
from kafkalog.auditing.partition.scan import SegmentScan, scan_segment
from kafkalog.auditing.partition.steady import gone_finding, moving_finding, unreadable_while_moving
from kafkalog.errors import UnreadableError
from kafkalog.findings import Severity
from kafkalog.log.chunk import Limits
from kafkalog.log.logdir import LogDirectory, PartitionDirectory, list_again
from kafkalog.log.moving import PAUSES, READINGS, Movement, is_unsettled, movement, stays
from kafkalog.log.names import is_remote
from kafkalog.txn.shares import Share

__all__ = ["Settled", "settled", "with_note"]


@dataclass(slots=True)
class Settled:
    """A partition's newest reading, with its scans; if files moved during all readings, the `earlier` ones."""

    partition: PartitionAudit
    scans: Sequence[SegmentScan]
    earlier: list[PartitionAudit] = field(default_factory=list)
    moved: Movement | None = None


def settled(
    node: LogDirectory, directory: PartitionDirectory, scans: Sequence[SegmentScan], policies: Collection[str | None],
    limits: Limits, share: Share = Share(),  # noqa: B008  # it is frozen
) -> Settled:  # fmt: skip
    """Join the scans of a partition; again, with scans of what is new, while files of its directory move.

    `share` says which producers' transactions the scans have, as in ``SegmentScan.share``.
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
                else scan_segment(newer, segment, limits).share(share)
                for segment in newer.segments
            ]
            directory = newer
        partition = join(directory, scans, policies, share)
        readings.append(partition)
        if is_remote(directory.log) and not _is_odd(partition):
            return Settled(with_note(partition, movements), scans)
        try:
            moved = movement(node, directory)
        except UnreadableError as error:
            return Settled(with_note(partition, movements).with_findings(gone_finding(directory, error)), scans)
        if moved is not None and moved.is_gone:
            return Settled(join(_emptied(directory), (), policies), (), moved=moved)
        if moved is None and not (len(readings) < READINGS and is_unsettled(directory)):
            return Settled(with_note(partition, movements), scans)
        movements += [moved] if moved is not None else []
    unread = unreadable_while_moving(directory, movements)
    earlier = [one.with_findings(*unread) for one in readings[:-1]]
    return Settled(partition.with_findings(*unread), scans, earlier, moved)


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

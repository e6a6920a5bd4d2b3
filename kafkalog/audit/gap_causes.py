"""Why offsets are missing: every gap gets a cause, and whether that is legal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from kafkalog.audit.partition import PartitionAudit

__all__ = ["Gap", "classify"]


class Gap(NamedTuple):
    """Offsets `first_offset` to `last_offset` are missing in front of the batch at `position` of `file`."""

    first_offset: int
    last_offset: int
    kind: str
    cause: str
    file: str
    position: int


def classify(
    audit: PartitionAudit, first: int, last: int, file: str, position: int, aborted: Sequence[tuple[int, int]]
) -> Gap:
    """Find a gap's cause, trying in this order: log start, damaged bytes, cleaning, a lost segment."""

    def gap(kind: str, cause: str) -> Gap:
        return Gap(first, last, kind, cause, file, position)

    if last < audit.log_start_offset:
        return gap("legal", "below-log-start")
    if any(_between(extent, first, file, position) for extent in audit.damaged):
        return gap("damage", "unreadable-bytes")
    if last < audit.cleaned_to:
        if any(low <= last and first <= high for low, high in aborted):
            return gap("legal", "cleaned-aborted-data")
        return gap("legal", "removed-marker" if first == last else "compaction")
    directory = audit.directory
    starts = [start for _, start in directory.leader_epochs]
    at_seam = position == 0
    missing = any(first <= base <= last for base in (*directory.orphans, *directory.snapshots))
    if at_seam and (missing or any(first <= start <= last for start in starts) or not _compacted(audit)):
        return gap("damage", "lost-segment")
    return gap("unexplained", "missing-batches")


def _compacted(audit: PartitionAudit) -> bool:
    return audit.cleaned_to >= 0


def _between(extent: tuple[str, int, int, int | None], first: int, file: str, position: int) -> bool:
    """Say whether damaged bytes lie where the missing offsets would be."""
    path, start, length, last_before = extent
    if path == file and start + length <= position and (last_before is None or last_before < first):
        return last_before is None or last_before == first - 1 or start + length == position
    return path != file and position == 0 and last_before is not None and last_before == first - 1

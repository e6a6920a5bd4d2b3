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
    audit: PartitionAudit, first: int, last: int, file: str, position: int, aborted: Sequence[tuple[int, int]],
    *, at_seam: bool,
) -> Gap:  # fmt: skip
    """Find a gap's cause: log start, damaged bytes, a segment whose index is left, cleaning, a lost segment.

    The gap lies in front of the batch at `position` of `file`; `at_seam` says that this is the file's first batch.
    """

    def gap(kind: str, cause: str) -> Gap:
        return Gap(first, last, kind, cause, file, position)

    if last < audit.log_start_offset:
        return gap("legal", "below-log-start")
    if _damaged(audit, first, file, position, at_seam=at_seam):
        return gap("damage", "unreadable-bytes")
    directory = audit.directory
    if at_seam and any(first <= base <= last for base in directory.orphans):
        return gap("damage", "lost-segment")
    if last < audit.cleaned_to:
        if any(low <= last and first <= high for low, high in aborted):
            return gap("legal", "cleaned-aborted-data")
        return gap("legal", "removed-marker" if first == last and audit.has_transactions else "compaction")
    starts = [start for _, start in directory.leader_epochs]
    witnessed = any(first <= offset <= last for offset in (*directory.snapshots, *starts))
    if at_seam and (witnessed or audit.cleaned_to < 0):
        return gap("damage", "lost-segment")
    return gap("unexplained", "missing-batches")


def _damaged(audit: PartitionAudit, first: int, file: str, position: int, *, at_seam: bool) -> bool:
    """Say whether damaged bytes lie where the missing offsets would be."""
    for path, start, length, last_before in audit.damaged:
        if last_before == first - 1 and (path != file or start + length <= position):
            return True
        if last_before is None and at_seam and (path != file or start + length <= position):
            return True  # in front of the log's first batch
    return False

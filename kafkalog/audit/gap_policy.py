"""What a topic's cleanup.policy says about its gaps: whether the cleaner may have been at work at all."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Final

from kafkalog.audit.gap_causes import Gap

if TYPE_CHECKING:
    from kafkalog.audit.partition import PartitionAudit

__all__ = ["by_policy"]

_BY_CLEANER: Final = frozenset({"compaction", "removed-marker", "cleaned-aborted-data"})
_NOT_SEEN: Final = frozenset({"lost-segment", "missing-batches"})  # what it is where no sign of the cleaner is left


def by_policy(audit: PartitionAudit, policies: Collection[str | None]) -> list[Gap]:
    """Return a log's gaps with the causes that the policies of the topic's whole life leave.

    A topic that was never compacted has none by the cleaner. One that is compacted may have them although nothing else
    tells of the cleaner, but in the last segment, which it never touches. Where no policy was set the brokers' default
    holds, which is not known: then nothing changes.
    """
    if not policies or None in policies:
        return audit.gaps
    compacted = any("compact" in (policy or "") for policy in policies)
    return [_judged(audit, gap, compacted=compacted) for gap in audit.gaps]


def _judged(audit: PartitionAudit, gap: Gap, *, compacted: bool) -> Gap:
    if not compacted:
        if gap.cause in _BY_CLEANER or gap.kind == "unexplained":
            return gap._replace(kind="damage", cause="lost-segment" if gap.position == 0 else "missing-batches")
        return gap
    last = audit.directory.segments[-1].path
    reachable = gap.file != last or gap.position == 0
    if gap.cause in _NOT_SEEN and audit.cleaned_to < 0 and reachable and not _orphaned(audit, gap):
        return gap._replace(kind="legal", cause="compaction")
    return gap


def _orphaned(audit: PartitionAudit, gap: Gap) -> bool:
    """Say whether the index of a segment is left that is missing there."""
    return any(gap.first_offset <= base <= gap.last_offset for base in audit.directory.orphans)

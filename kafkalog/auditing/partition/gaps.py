"""Which offsets are missing in a log, why, and whether that is legal: the one place that says so.

The log's files are the first witnesses. The topic's cleanup.policy, where the metadata log knows it, is the second: it
says whether the cleaner may have removed anything at all.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from kafkalog.auditing.partition.scan import DamagedBytes, SegmentScan
from kafkalog.log.logdir import PartitionDirectory

__all__ = ["Evidence", "Gap", "MissingOffsets", "classify", "holes"]

_BY_CLEANER: Final = frozenset({"compaction", "removed-marker", "cleaned-aborted-data"})
_NOT_SEEN: Final = frozenset({"lost-segment", "missing-batches"})  # the causes where no sign of the cleaner is left


class MissingOffsets(NamedTuple):
    """Offsets `first_offset` to `last_offset` are missing before the batch at `position` of `file`.

    `at_seam` says that this is the file's first batch.
    """

    first_offset: int
    last_offset: int
    file: str
    position: int
    at_seam: bool


class Gap(NamedTuple):
    """A hole with its cause. `kind` is ``legal``, ``damage`` or ``unexplained``."""

    first_offset: int
    last_offset: int
    kind: str
    cause: str
    file: str
    position: int


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a log's files say that bears on its gaps.

    `cleaned_to` is the offset below which the cleaner may have been, -1 where no file shows that it was there;
    `aborted` are first and last offsets of aborted transactions by the ``.txnindex`` files.
    """

    directory: PartitionDirectory
    log_start_offset: int
    cleaned_to: int
    has_transactions: bool
    damaged: Sequence[DamagedBytes]
    aborted: Sequence[tuple[int, int]]


def holes(scans: Sequence[SegmentScan]) -> Iterator[MissingOffsets]:
    """Yield where offsets are missing in a partition's segments, in the order of the log."""
    last: int | None = None
    for scan in scans:
        path, stretch = scan.segment.path, scan.stretch
        if stretch.first_offset is not None:
            if last is not None:
                missing = (last + 1, stretch.first_offset - 1)
            elif any(extent.position < stretch.first_position for extent in scan.damaged):
                missing = (scan.segment.base_offset, stretch.first_offset - 1)
            else:
                missing = (0, -1)
            if missing[0] <= missing[1]:
                yield MissingOffsets(*missing, path, stretch.first_position, at_seam=True)
            last = stretch.last_offset
        for row in stretch.gaps:
            yield MissingOffsets(row["first_offset"], row["last_offset"], path, row["position"], at_seam=False)


def classify(hole: MissingOffsets, evidence: Evidence, policies: Collection[str | None]) -> Gap:
    """Return a hole with its cause: log start, damaged bytes, a lost segment, the cleaner.

    `policies` are the values of cleanup.policy in the topic's whole life. A topic that was never compacted has no gap
    by the cleaner. One that is compacted may have gaps although no other file shows the cleaner, but not in the last
    segment, which the cleaner never reads. Where the set is empty, or None is in it (the brokers' default applied,
    which is not known), the files alone decide.
    """
    kind, cause = _by_files(hole, evidence)
    if policies and None not in policies:
        compacted = any("compact" in (policy or "") for policy in policies)
        kind, cause = _by_policy(hole, kind, cause, evidence, compacted=compacted)
    return Gap(hole.first_offset, hole.last_offset, kind, cause, hole.file, hole.position)


def _by_files(hole: MissingOffsets, evidence: Evidence) -> tuple[str, str]:
    first, last = hole.first_offset, hole.last_offset
    if last < evidence.log_start_offset:
        return "legal", "below-log-start"
    if _is_damaged(hole, evidence.damaged):
        return "damage", "unreadable-bytes"
    directory = evidence.directory
    if hole.at_seam and _has_orphan(hole, directory):
        return "damage", "lost-segment"
    if last < evidence.cleaned_to:
        if any(low <= last and first <= high for low, high in evidence.aborted):
            return "legal", "cleaned-aborted-data"
        return "legal", "removed-marker" if first == last and evidence.has_transactions else "compaction"
    starts = [start for _, start in directory.leader_epochs]
    witnessed = any(first <= offset <= last for offset in (*directory.snapshots, *starts))
    if hole.at_seam and (witnessed or evidence.cleaned_to < 0):
        return "damage", "lost-segment"
    return "unexplained", "missing-batches"


def _by_policy(hole: MissingOffsets, kind: str, cause: str, evidence: Evidence, *, compacted: bool) -> tuple[str, str]:
    if not compacted:
        if cause in _BY_CLEANER or kind == "unexplained":
            return ("damage", "lost-segment") if hole.position == 0 else ("damage", "missing-batches")
        return kind, cause
    reachable = hole.file != evidence.directory.segments[-1].path or hole.position == 0
    if cause in _NOT_SEEN and evidence.cleaned_to < 0 and reachable and not _has_orphan(hole, evidence.directory):
        return "legal", "compaction"
    return kind, cause


def _is_damaged(hole: MissingOffsets, damaged: Sequence[DamagedBytes]) -> bool:
    """Say whether damaged bytes are where the missing offsets would be."""
    for extent in damaged:
        is_before = extent.file != hole.file or extent.position + extent.length <= hole.position
        if is_before and extent.last_offset == hole.first_offset - 1:
            return True
        if is_before and extent.last_offset is None and hole.at_seam:
            return True  # before the log's first batch
    return False


def _has_orphan(hole: MissingOffsets, directory: PartitionDirectory) -> bool:
    """Say whether an index of a missing segment is left whose base offset is in the hole."""
    return any(hole.first_offset <= base <= hole.last_offset for base in directory.orphans)

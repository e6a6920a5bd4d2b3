"""Which offsets are missing in a log, why, and whether that is legal: the one place that says so.

The log's files are the first witnesses. The topic's cleanup.policy, where the metadata log knows it, is the second: it
says whether the cleaner may have removed anything at all.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Final, NamedTuple

from kafkalog.auditing.partition.scan import DamagedBytes, SegmentScan
from kafkalog.log.logdir import PartitionDirectory

__all__ = ["DamagedEnds", "Evidence", "Gap", "MissingOffsets", "Spans", "classify", "holes"]

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
    `aborted` are first and last offsets of aborted transactions by the ``.txnindex`` files, `starts` offsets at which a
    snapshot was taken or a leader epoch begins.
    """

    directory: PartitionDirectory
    log_start_offset: int
    cleaned_to: int
    has_transactions: bool
    damaged: DamagedEnds
    aborted: Spans
    starts: Sequence[int]

    @classmethod
    def of(
        cls,
        directory: PartitionDirectory,
        log_start_offset: int,
        cleaned_to: int,
        damaged: Iterable[DamagedBytes],
        aborted: Iterable[tuple[int, int]],
        *,
        has_transactions: bool,
    ) -> Evidence:
        """Sort what is asked for each gap."""
        starts = sorted([*directory.snapshots, *(start for _, start in directory.leader_epochs)])
        return cls(
            directory, log_start_offset, cleaned_to, has_transactions, DamagedEnds(damaged), Spans(aborted), starts
        )


class DamagedEnds:
    """Where damaged bytes end, by the last offset before them."""

    def __init__(self, damaged: Iterable[DamagedBytes]) -> None:
        self._ends: dict[int | None, dict[str, int]] = {}
        for extent in damaged:
            ends, end = self._ends.setdefault(extent.last_offset, {}), extent.position + extent.length
            ends[extent.file] = min(end, ends.get(extent.file, end))

    def are_before(self, hole: MissingOffsets) -> bool:
        """Say whether damaged bytes are where the missing offsets would be."""
        befores = (hole.first_offset - 1, None) if hole.at_seam else (hole.first_offset - 1,)  # None: before any batch
        found = (self._ends.get(before, {}) for before in befores)
        return any(
            len(ends) > (hole.file in ends) or ends.get(hole.file, hole.position + 1) <= hole.position for ends in found
        )


class Spans:
    """Ranges of offsets, to be asked many times."""

    def __init__(self, spans: Iterable[tuple[int, int]]) -> None:
        ordered = sorted(spans)
        self._firsts = [first for first, _ in ordered]
        self._reach = list(accumulate((last for _, last in ordered), max))

    def meet(self, first: int, last: int) -> bool:
        """Say whether one of them has an offset from `first` to `last`."""
        at = bisect_right(self._firsts, last) - 1
        return at >= 0 and self._reach[at] >= first


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
    if evidence.damaged.are_before(hole):
        return "damage", "unreadable-bytes"
    directory = evidence.directory
    if hole.at_seam and _has_orphan(hole, directory):
        return "damage", "lost-segment"
    if last < evidence.cleaned_to:
        if evidence.aborted.meet(first, last):
            return "legal", "cleaned-aborted-data"
        return "legal", "removed-marker" if first == last and evidence.has_transactions else "compaction"
    witnessed = bisect_left(evidence.starts, first) < bisect_right(evidence.starts, last)
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


def _has_orphan(hole: MissingOffsets, directory: PartitionDirectory) -> bool:
    """Say whether an index of a missing segment is left whose base offset is in the hole."""
    return any(hole.first_offset <= base <= hole.last_offset for base in directory.orphans)

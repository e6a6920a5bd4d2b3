"""Which offsets are missing in a log, why, and whether that is legal: the one place that says so.

The log's files are the first witnesses. The topic's cleanup.policy, where the metadata log knows it, is the second: it
says whether the cleaner may have removed anything at all. A compacted log may have a gap for each of its batches: all
are judged together, in columns.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple, overload

import numpy as np

from kafkalog.auditing.partition.damaged_bytes import DamagedBytes, DamagedExtents
from kafkalog.auditing.partition.scan import SegmentScan
from kafkalog.columns.named import NONE
from kafkalog.log_dirs.log_directory import PartitionDirectory
from kafkalog.tables.audit_tables import GAP_CAUSES, GAP_KINDS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    _Offsets = NDArray[np.int64]
    _Mask = NDArray[np.bool_]

__all__ = ["NO_GAPS", "Evidence", "Gap", "Gaps", "MissingOffsets", "classify", "missing_offsets"]

_KIND: Final = {kind: number for number, kind in enumerate(GAP_KINDS)}
_CAUSE: Final = {cause: number for number, cause in enumerate(GAP_CAUSES)}
_BY_CLEANER: Final = [_CAUSE[cause] for cause in ("compaction", "removed-marker", "cleaned-aborted-data")]
_NOT_SEEN: Final = [_CAUSE[cause] for cause in ("lost-segment", "missing-batches")]  # no sign of the cleaner is left
_AT_ONCE: Final = 4096


@dataclass(frozen=True, slots=True)
class MissingOffsets:
    """Offsets `first` to `last` are missing before the batch at `position` of a file, as columns.

    `number` is that of the file in `files`; `at_seam` says that the batch is the file's first.
    """

    first: _Offsets
    last: _Offsets
    position: _Offsets
    number: NDArray[np.int32]
    at_seam: _Mask
    files: Sequence[str]

    def __len__(self) -> int:
        return len(self.first)

    def apart_from(self, places: Collection[tuple[str, int | None]]) -> MissingOffsets:
        """Return those that are not missing before a batch at one of some places, each a file and a position."""
        numbers = {file: number for number, file in enumerate(self.files)}
        at = [numbers[file] << 32 | (position or 0) for file, position in places if file in numbers]
        kept = ~np.isin(self.number.astype(np.int64) << 32 | self.position, at)
        return MissingOffsets(
            self.first[kept], self.last[kept], self.position[kept], self.number[kept], self.at_seam[kept], self.files
        )


_NOTHING: Final = MissingOffsets(
    np.empty(0, np.int64),
    np.empty(0, np.int64),
    np.empty(0, np.int64),
    np.empty(0, np.int32),
    np.empty(0, np.bool_),
    (),
)


class Gap(NamedTuple):
    """Missing offsets with their cause. `kind` is ``legal``, ``damage`` or ``unexplained``."""

    first_offset: int
    last_offset: int
    kind: str
    cause: str
    file: str
    position: int


class Gaps(Sequence[Gap]):
    """The gaps of a log in its order: `first` and `last` offsets, and what `of_kind` and `of_cause` say, as columns."""

    __slots__ = ("_cause", "_files", "_kind", "_number", "_position", "first", "last")

    def __init__(self, missing: MissingOffsets, kind: NDArray[np.int8], cause: NDArray[np.int8]) -> None:
        self.first, self.last, self._position = missing.first, missing.last, missing.position
        self._number, self._files = missing.number, missing.files
        self._kind, self._cause = kind, cause

    def __len__(self) -> int:
        return len(self.first)

    def __iter__(self) -> Iterator[Gap]:
        for start in range(0, len(self), _AT_ONCE):
            yield from self._some(slice(start, start + _AT_ONCE))

    @overload
    def __getitem__(self, place: int) -> Gap: ...
    @overload
    def __getitem__(self, place: slice) -> list[Gap]: ...
    def __getitem__(self, place: int | slice) -> Gap | list[Gap]:
        """Return one, or some."""
        if isinstance(place, slice):
            return list(self._some(place))
        (gap,) = self._some(slice(place, place + 1 or None))
        return gap

    def _some(self, some: slice) -> Iterator[Gap]:
        columns = (self.first, self.last, self._kind, self._cause, self._number, self._position)
        for first, last, kind, cause, number, position in zip(*(c[some].tolist() for c in columns), strict=True):
            yield Gap(first, last, GAP_KINDS[kind], GAP_CAUSES[cause], self._files[number], position)

    def of_kind(self, kind: str) -> _Mask:
        """Say which are of a kind."""
        found: _Mask = self._kind == _KIND[kind]
        return found

    def of_cause(self, cause: str) -> _Mask:
        """Say which have a cause."""
        found: _Mask = self._cause == _CAUSE[cause]
        return found

    def at_starts(self, which: _Mask) -> bool:
        """Say whether all of some are before the first batch of a file."""
        return not self._position[which].any()

    def chosen(self, which: _Mask) -> Gaps:
        """Return some of them."""
        if not self:
            return self
        missing = MissingOffsets(
            self.first[which], self.last[which], self._position[which], self._number[which], which[which], self._files
        )
        return Gaps(missing, self._kind[which], self._cause[which])

    def counts(self) -> Counter[str]:
        """Count them by kind."""
        if not self:
            return Counter()
        numbers = np.bincount(self._kind, minlength=len(GAP_KINDS)).tolist()
        return Counter({kind: number for kind, number in zip(GAP_KINDS, numbers, strict=True) if number})


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
    aborted: Iterable[tuple[int, int]]

    def starts(self) -> _Offsets:
        """Return the offsets at which a snapshot was taken or a leader epoch begins, in order."""
        starts = [*self.directory.snapshots, *(start for _, start in self.directory.leader_epochs)]
        return np.array(sorted(starts), np.int64)


def missing_offsets(scans: Sequence[SegmentScan]) -> MissingOffsets:
    """Return where offsets are missing in a partition's segments, in the order of the log."""
    last: int | None = None
    parts: list[tuple[_Offsets, _Offsets, _Offsets]] = []
    numbers: list[int] = []
    seams: list[bool] = []
    for number, scan in enumerate(scans):
        stretch = scan.stretch
        if stretch.first_offset is not None:
            if last is not None:
                missing = (last + 1, stretch.first_offset - 1)
            elif any(extent.position < stretch.first_position for extent in scan.damaged):
                missing = (scan.segment.base_offset, stretch.first_offset - 1)
            else:
                missing = (0, -1)
            if missing[0] <= missing[1]:
                first, end, position = np.array([[missing[0]], [missing[1]], [stretch.first_position]], np.int64)
                parts.append((first, end, position))
                numbers.append(number)
                seams.append(True)
            last = stretch.last_offset
        if len(stretch.gaps):
            parts.append((stretch.gaps["first_offset"], stretch.gaps["last_offset"], stretch.gaps["position"]))
            numbers.append(number)
            seams.append(False)
    if not parts:
        return _NOTHING
    sizes = [len(first) for first, *_ in parts]
    first, end, position = (np.concatenate([part[column] for part in parts]) for column in range(3))
    return MissingOffsets(
        first.astype(np.int64), end.astype(np.int64), position.astype(np.int64),
        np.repeat(np.array(numbers, np.int32), sizes), np.repeat(np.array(seams, np.bool_), sizes),
        [scan.segment.path for scan in scans],
    )  # fmt: skip


def classify(missing: MissingOffsets, evidence: Evidence, policies: Collection[str | None]) -> Gaps:
    """Return the gaps with their causes: log start, damaged bytes, a lost segment, the cleaner.

    `policies` are the values of cleanup.policy in the topic's whole life. A topic that was never compacted has no gap
    by the cleaner. One that is compacted may have gaps although no other file shows the cleaner, but not in the last
    segment, which the cleaner never reads. Where the set is empty, or None is in it (the brokers' default applied,
    which is not known), the files alone decide.
    """
    orphans = _within(np.array(evidence.directory.orphans, np.int64), missing)
    kind, cause = _by_files(missing, evidence, orphans)
    if policies and None not in policies:
        compacted = any("compact" in (policy or "") for policy in policies)
        kind, cause = _by_policy(missing, kind, cause, evidence, orphans, compacted=compacted)
    return Gaps(missing, kind, cause)


def _by_files(
    missing: MissingOffsets, evidence: Evidence, orphans: _Mask
) -> tuple[NDArray[np.int8], NDArray[np.int8]]:  # fmt: skip
    cleaned = missing.last < evidence.cleaned_to
    one_marker = (missing.first == missing.last) & evidence.has_transactions
    lost = missing.at_seam & (_within(evidence.starts(), missing) | (evidence.cleaned_to < 0))
    rules = [
        (missing.last < evidence.log_start_offset, "legal", "below-log-start"),
        (_damaged_before(missing, evidence.damaged), "damage", "unreadable-bytes"),
        (missing.at_seam & orphans, "damage", "lost-segment"),
        (cleaned & _meet(missing, evidence.aborted), "legal", "cleaned-aborted-data"),
        (cleaned & one_marker, "legal", "removed-marker"),
        (cleaned, "legal", "compaction"),
        (lost, "damage", "lost-segment"),
    ]
    which = [mask for mask, *_ in rules]
    kinds = np.select(which, [_KIND[kind] for _, kind, _ in rules], _KIND["unexplained"])
    causes = np.select(which, [_CAUSE[cause] for *_, cause in rules], _CAUSE["missing-batches"])
    return kinds.astype(np.int8), causes.astype(np.int8)


def _by_policy(
    missing: MissingOffsets, kind: NDArray[np.int8], cause: NDArray[np.int8], evidence: Evidence, orphans: _Mask,
    *, compacted: bool,
) -> tuple[NDArray[np.int8], NDArray[np.int8]]:  # fmt: skip
    at_start = missing.position == 0
    if not compacted:
        wrong = np.isin(cause, _BY_CLEANER) | (kind == _KIND["unexplained"])
        lost = np.where(at_start, _CAUSE["lost-segment"], _CAUSE["missing-batches"])
        return np.where(wrong, _KIND["damage"], kind).astype(np.int8), np.where(wrong, lost, cause).astype(np.int8)
    if evidence.cleaned_to >= 0:
        return kind, cause
    last = evidence.directory.segments[-1].path
    in_last = np.array([file == last for file in missing.files], np.bool_)[missing.number]
    legal = np.isin(cause, _NOT_SEEN) & (~in_last | at_start) & ~orphans
    kinds, causes = np.where(legal, _KIND["legal"], kind), np.where(legal, _CAUSE["compaction"], cause)
    return kinds.astype(np.int8), causes.astype(np.int8)


def _within(offsets: _Offsets, missing: MissingOffsets) -> _Mask:
    """Say where one of some offsets, which are in order, is among the missing ones."""
    found: _Mask = np.searchsorted(offsets, missing.first) < np.searchsorted(offsets, missing.last, "right")
    return found


def _meet(missing: MissingOffsets, spans: Iterable[tuple[int, int]]) -> _Mask:
    """Say where one of some ranges of offsets has a missing one."""
    ordered = np.array(sorted(spans), np.int64).reshape(-1, 2)
    reach = np.append(NONE, np.maximum.accumulate(ordered[:, 1]))
    found: _Mask = reach[np.searchsorted(ordered[:, 0], missing.last, "right")] >= missing.first
    return found


def _damaged_before(missing: MissingOffsets, damaged: Sequence[DamagedBytes]) -> _Mask:
    """Say where damaged bytes are where the missing offsets would be."""
    if not damaged:
        return np.zeros(len(missing), np.bool_)
    ends = _DamagedEnds(damaged, missing.files)
    found = ends.are_before(missing.first - 1, missing)
    if missing.at_seam.any():
        found |= missing.at_seam & ends.are_before(np.full(len(missing), NONE), missing)  # before any batch
    return found


class _DamagedEnds:
    """Where damaged bytes first end in each file, by the last offset before them."""

    def __init__(self, damaged: Sequence[DamagedBytes], files: Sequence[str]) -> None:
        extents = DamagedExtents.of(damaged)
        numbers = {file: number for number, file in enumerate(files)}
        self._files = len(files) + len(extents.files)
        number = np.array([numbers.setdefault(file, len(numbers)) for file in extents.files])[extents.numbers()]
        position, length, before = extents.spans().T
        self._before, rank = np.unique(before, return_inverse=True)
        key = rank * self._files + number
        order = np.lexsort((position + length, key))
        self._keys, first = np.unique(key[order], return_index=True)
        self._ends = (position + length)[order][first]

    def are_before(self, before: _Offsets, missing: MissingOffsets) -> _Mask:
        """Say where damage after these offsets is in another file, or ends before the batch after the missing ones."""
        rank = np.searchsorted(self._before, before)
        known = self._before[np.minimum(rank, len(self._before) - 1)] == before
        of_all = np.searchsorted(self._keys, (rank + 1) * self._files) - np.searchsorted(self._keys, rank * self._files)
        key = rank * self._files + missing.number
        at = np.minimum(np.searchsorted(self._keys, key), len(self._keys) - 1)
        own = self._keys[at] == key
        found: _Mask = known & ((of_all > own) | (own & (self._ends[at] <= missing.position)))
        return found


NO_GAPS: Final = Gaps(_NOTHING, np.empty(0, np.int8), np.empty(0, np.int8))

"""Which offsets are missing in a log, why, and whether that is legal: the one place that says so.

The log's files are the first witnesses. The topic's cleanup.policy, where the metadata log knows it, is the second: it
says whether the cleaner may have removed anything at all. A compacted log may have a gap for each of its batches: all
are judged together, in columns.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from kafkalog.auditing.partition.cleaning import are_all_known, compacts
from kafkalog.auditing.partition.scan import DamagedBytes, SegmentScan
from kafkalog.columns.sorted_rows import any_between, place_of
from kafkalog.columns.table import NONE, Columns
from kafkalog.log_dirs.log_directory import PartitionDirectory
from kafkalog.tables.audit_tables import GAP_CAUSES, GAP_KINDS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    _Offsets = NDArray[np.int64]
    _Numbers = NDArray[np.int_]
    _Mask = NDArray[np.bool_]

__all__ = ["NO_GAPS", "Evidence", "Gap", "Gaps", "LostOffsets", "classify", "missing_offsets"]

_KIND: Final = {kind: number for number, kind in enumerate(GAP_KINDS)}
_CAUSE: Final = {cause: number for number, cause in enumerate(GAP_CAUSES)}
_BY_CLEANER: Final = [_CAUSE[cause] for cause in ("compaction", "removed-marker", "cleaned-aborted-data")]
_NOT_SEEN: Final = [_CAUSE[cause] for cause in ("lost-segment", "missing-batches")]  # no sign of the cleaner is left
_MISSING: Final = ("first_offset", "last_offset", "position", "file", "at_seam")
_JUDGED: Final = (*_MISSING, "kind", "cause")


class Gap(NamedTuple):
    """Missing offsets with their cause. `kind` is ``legal``, ``damage`` or ``unexplained``."""

    first_offset: int
    last_offset: int
    kind: str
    cause: str
    file: str
    position: int


@dataclass(frozen=True, slots=True)
class Gaps:
    """Offsets that are missing in a log, in its order, before the batch at `position` of a file, a number in `files`.

    `at_seam` says that the batch is the file's first. Those that were judged have a `kind` and a `cause`, too.
    """

    rows: Columns
    files: Sequence[str] = ()

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Gap]:
        rows = self.rows.tuples("first_offset", "last_offset", "kind", "cause", "file", "position")
        for first, last, kind, cause, file, position in rows:
            yield Gap(first, last, GAP_KINDS[kind], GAP_CAUSES[cause], self.files[file], position)

    @property
    def first(self) -> _Offsets:
        """Return the first offset of each."""
        return self.rows["first_offset"]

    @property
    def last(self) -> _Offsets:
        """Return the last offset of each."""
        return self.rows["last_offset"]

    def of_kind(self, kind: str) -> _Mask:
        """Say which are of a kind."""
        found: _Mask = self.rows["kind"] == _KIND[kind]
        return found

    def of_cause(self, cause: str) -> _Mask:
        """Say which have a cause."""
        found: _Mask = self.rows["cause"] == _CAUSE[cause]
        return found

    def cleaned_from(self, offset: int) -> bool:
        """Say whether the cleaner made one that ends at an offset or after it."""
        return bool((np.isin(self.rows["cause"], _BY_CLEANER) & (self.last >= offset)).any())

    def at_starts(self, which: _Mask) -> bool:
        """Say whether all of some are before the first batch of a file."""
        return not self.rows["position"][which].any()

    def chosen(self, which: _Mask) -> Gaps:
        """Return some of them."""
        return Gaps(self.rows.take(which), self.files)

    def apart_from(self, places: Collection[tuple[str, int | None]]) -> Gaps:
        """Return those that are not before a batch at one of some places, each a file and a position."""
        numbers = {file: number for number, file in enumerate(self.files)}
        at = [numbers[file] << 32 | (position or 0) for file, position in places if file in numbers]
        return self.chosen(~np.isin(self.rows["file"] << 32 | self.rows["position"], at))

    def counts(self) -> Counter[str]:
        """Count them by kind."""
        numbers = np.bincount(self.rows["kind"], minlength=len(GAP_KINDS)).tolist()
        return Counter({kind: number for kind, number in zip(GAP_KINDS, numbers, strict=True) if number})


NO_GAPS: Final = Gaps(Columns.empty(_JUDGED))


class LostOffsets:
    """The ranges of offsets that are missing in a log, to be asked many times."""

    def __init__(self, gaps: Gaps) -> None:
        order = np.argsort(gaps.first, kind="stable")
        last = gaps.last[order]
        self._firsts = array("q", gaps.first[order].tobytes())
        self._ends = array("q", np.maximum.accumulate(last + 1).tobytes())
        self._lowest = array("q", np.minimum.accumulate(last[::-1])[::-1].tobytes())  # last offset from each on

    def __contains__(self, offset: int) -> bool:
        at = bisect_right(self._firsts, offset) - 1
        return at >= 0 and offset < self._ends[at]

    def end_before(self, offset: int) -> int:
        """Return the end of the last range that begins before an offset, 0 where there is none."""
        at = bisect_left(self._firsts, offset) - 1
        return self._ends[at] if at >= 0 else 0

    def between(self, before: int, after: int) -> bool:
        """Say whether a whole range is between two offsets."""
        at = bisect_right(self._firsts, before)
        return at < len(self._firsts) and self._lowest[at] < after


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


def missing_offsets(scans: Sequence[SegmentScan]) -> Gaps:
    """Return where offsets are missing in a partition's segments, in the order of the log."""
    due: int | None = None  # the next offset: after a batch, or from the start of a segment that begins with damage
    parts: list[Columns] = []
    for number, scan in enumerate(scans):
        folded = scan.folded
        if due is None and _begins_damaged(scan):
            due = scan.segment.base_offset
        if folded.first_offset is not None and folded.last_offset is not None:
            if due is not None and due < folded.first_offset:
                row = np.array([[due, folded.first_offset - 1, folded.first_position, number, True]], np.int64)
                parts.append(Columns.of_table(_MISSING, row.T))
            due = folded.last_offset + 1
        if count := len(folded.gaps):
            same = {"file": np.full(count, number), "at_seam": np.zeros(count, np.int64)}
            parts.append(folded.gaps.with_columns(same))
    return Gaps(Columns.concat(parts, _MISSING), [scan.segment.path for scan in scans])


def _begins_damaged(scan: SegmentScan) -> bool:
    """Say whether a segment has damaged bytes and no whole batch before them."""
    has_batch = scan.folded.first_offset is not None
    return any(not has_batch or extent.position < scan.folded.first_position for extent in scan.damaged)


def classify(missing: Gaps, evidence: Evidence, policies: Collection[str | None]) -> Gaps:
    """Return the gaps with their causes: log start, damaged bytes, a lost segment, the cleaner.

    By the files, the first of these counts (`_by_files`): legal below the log start; damage where bytes are damaged, or
    where the side files of a lost segment are still there; legal below the offset that the cleaner may have reached;
    damage between two segments, where a snapshot or a leader epoch begins in the gap, or no file shows the cleaner. Any
    other is unexplained.

    `policies` are the values of cleanup.policy in the topic's whole life (`_by_policy`). In a topic that was never
    compacted, no gap is the cleaner's and none unexplained: those are damage. One that is compacted may have gaps
    although no checkpoint shows how far the cleaner came, but not in the last segment, which the cleaner never reads.
    Where the set is empty, or None is in it (the brokers' default applied, which is not known), the files alone decide.
    """
    rows = missing.rows
    orphans = _within(np.array(evidence.directory.orphans, np.int64), rows)
    kind, cause = _by_files(missing, evidence, orphans)
    if are_all_known(policies):
        kind, cause = _by_policy(missing, kind, cause, evidence, orphans, compacted=compacts(policies))
    return Gaps(rows.with_columns({"kind": kind, "cause": cause}).packed(), missing.files)


def _by_files(missing: Gaps, evidence: Evidence, orphans: _Mask) -> tuple[_Numbers, _Numbers]:
    rows, at_seam = missing.rows, missing.rows["at_seam"] > 0
    cleaned = rows["last_offset"] < evidence.cleaned_to
    one_marker = (rows["first_offset"] == rows["last_offset"]) & evidence.has_transactions
    lost = at_seam & (_within(evidence.starts(), rows) | (evidence.cleaned_to < 0))
    rules = [
        (rows["last_offset"] < evidence.log_start_offset, "legal", "below-log-start"),
        (_damaged_before(missing, evidence.damaged), "damage", "unreadable-bytes"),
        (at_seam & orphans, "damage", "lost-segment"),
        (cleaned & _meet(rows, evidence.aborted), "legal", "cleaned-aborted-data"),
        (cleaned & one_marker, "legal", "removed-marker"),
        (cleaned, "legal", "compaction"),
        (lost, "damage", "lost-segment"),
    ]
    which = [mask for mask, *_ in rules]
    kinds = np.select(which, [_KIND[kind] for _, kind, _ in rules], _KIND["unexplained"])
    causes = np.select(which, [_CAUSE[cause] for *_, cause in rules], _CAUSE["missing-batches"])
    return kinds, causes


def _by_policy(
    missing: Gaps, kind: _Numbers, cause: _Numbers, evidence: Evidence, orphans: _Mask, *, compacted: bool
) -> tuple[_Numbers, _Numbers]:
    at_start = missing.rows["position"] == 0
    if not compacted:
        wrong = np.isin(cause, _BY_CLEANER) | (kind == _KIND["unexplained"])
        lost = np.where(at_start, _CAUSE["lost-segment"], _CAUSE["missing-batches"])
        return np.where(wrong, _KIND["damage"], kind), np.where(wrong, lost, cause)
    if "cleaner" in evidence.directory.checkpoints:
        return kind, cause
    last = evidence.directory.segments[-1].path
    in_last = np.array([file == last for file in missing.files], np.bool_)[missing.rows["file"]]
    legal = np.isin(cause, _NOT_SEEN) & (~in_last | at_start) & ~orphans
    return np.where(legal, _KIND["legal"], kind), np.where(legal, _CAUSE["compaction"], cause)


def _within(offsets: _Offsets, missing: Columns) -> _Mask:
    """Say where one of some offsets, which are in order, is among the missing ones."""
    return any_between(offsets, missing["first_offset"], missing["last_offset"] + 1)


def _meet(missing: Columns, spans: Iterable[tuple[int, int]]) -> _Mask:
    """Say where one of some ranges of offsets has a missing one."""
    ordered = np.array(sorted(spans), np.int64).reshape(-1, 2)
    reach = np.append(NONE, np.maximum.accumulate(ordered[:, 1]))
    met = reach[np.searchsorted(ordered[:, 0], missing["last_offset"], "right")]
    found: _Mask = met >= missing["first_offset"]
    return found


def _damaged_before(missing: Gaps, damaged: Sequence[DamagedBytes]) -> _Mask:
    """Say where damaged bytes are where the missing offsets would be."""
    rows, at_seam = missing.rows, missing.rows["at_seam"] > 0
    if not damaged:
        return np.zeros(len(rows), np.bool_)
    ends = _DamagedEnds(damaged, missing.files)
    found = ends.are_before(rows["first_offset"] - 1, rows)
    if at_seam.any():
        found |= at_seam & ends.are_before(np.full(len(rows), NONE), rows)  # before any batch
    return found


class _DamagedEnds:
    """Where damaged bytes first end in each file, by the last offset before them."""

    def __init__(self, damaged: Sequence[DamagedBytes], files: Sequence[str]) -> None:
        numbers = {file: number for number, file in enumerate(files)}
        number, position, length, before = np.array(
            [
                (numbers.setdefault(file, len(numbers)), position, length, NONE if before is None else before)
                for file, position, length, before in damaged
            ],
            np.int64,
        ).T
        self._files = len(numbers)
        self._before, rank = np.unique(before, return_inverse=True)
        key = rank * self._files + number
        order = np.lexsort((position + length, key))
        self._keys, first = np.unique(key[order], return_index=True)
        self._ends = (position + length)[order][first]

    def are_before(self, before: _Offsets, missing: Columns) -> _Mask:
        """Say where damage after these offsets is in another file, or ends before the batch after the missing ones."""
        rank = place_of(self._before, before)
        of_all = np.searchsorted(self._keys, (rank + 1) * self._files) - np.searchsorted(self._keys, rank * self._files)
        at = place_of(self._keys, rank * self._files + missing["file"])
        own = at >= 0
        found: _Mask = (rank >= 0) & ((of_all > own) | (own & (self._ends[at] <= missing["position"])))
        return found

"""Gaps judged together, in columns, have the causes that the rules give each of them alone."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from typing import Final

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkalog.auditing.partition.gaps import Evidence, Gap, Gaps, classify
from kafkalog.auditing.partition.scan import DamagedBytes
from kafkalog.auditing.verification.segment_check import segment_tasks
from kafkalog.columns.table import Columns
from kafkalog.log_dirs.log_directory import PartitionDirectory, Segment, open_log_directory
from official import FIXTURES

_FILES: Final = ("a.log", "b.log", "c.log")
_OFFSETS: Final = st.integers(0, 30)
_BY_CLEANER: Final = ("compaction", "removed-marker", "cleaned-aborted-data")


class Hole:
    """One range of missing offsets."""

    def __init__(self, first: int, size: int, file: str, position: int, seam: bool) -> None:
        self.first, self.last, self.file, self.position, self.seam = first, first + size, file, position, seam


_HOLES: Final = st.builds(
    Hole, _OFFSETS, st.integers(0, 4), st.sampled_from(_FILES), st.sampled_from((0, 7)), st.booleans()
)
_DAMAGE: Final = st.builds(
    DamagedBytes, st.sampled_from(_FILES), st.integers(0, 9), st.integers(1, 4), st.none() | _OFFSETS
)


def _alone(hole: Hole, evidence: Evidence, policies: Collection[str | None]) -> tuple[str, str]:
    """Judge one gap by the rules as they are written down."""
    kind, cause = _by_files(hole, evidence)
    if not policies or None in policies:
        return kind, cause
    if not any("compact" in (policy or "") for policy in policies):
        if cause in _BY_CLEANER or kind == "unexplained":
            return "damage", "lost-segment" if hole.position == 0 else "missing-batches"
        return kind, cause
    orphan = any(hole.first <= base <= hole.last for base in evidence.directory.orphans)
    reachable = hole.file != evidence.directory.segments[-1].path or hole.position == 0
    is_unseen = "cleaner" not in evidence.directory.checkpoints
    if cause in ("lost-segment", "missing-batches") and is_unseen and reachable and not orphan:
        return "legal", "compaction"
    return kind, cause


def _by_files(hole: Hole, evidence: Evidence) -> tuple[str, str]:
    if hole.last < evidence.log_start_offset:
        return "legal", "below-log-start"
    for extent in evidence.damaged:
        fits = extent.last_offset == hole.first - 1 or (hole.seam and extent.last_offset is None)
        if fits and (extent.file != hole.file or extent.position + extent.length <= hole.position):
            return "damage", "unreadable-bytes"
    if hole.seam and any(hole.first <= base <= hole.last for base in evidence.directory.orphans):
        return "damage", "lost-segment"
    if hole.last < evidence.cleaned_to:
        if any(first <= hole.last and last >= hole.first for first, last in evidence.aborted):
            return "legal", "cleaned-aborted-data"
        return "legal", "removed-marker" if hole.first == hole.last and evidence.has_transactions else "compaction"
    starts = [*evidence.directory.snapshots, *(start for _, start in evidence.directory.leader_epochs)]
    if hole.seam and (any(hole.first <= start <= hole.last for start in starts) or evidence.cleaned_to < 0):
        return "damage", "lost-segment"
    return "unexplained", "missing-batches"


def _directory(
    orphans: Sequence[int], snapshots: Sequence[int], epochs: Sequence[int], checkpoints: dict[str, int]
) -> PartitionDirectory:
    return PartitionDirectory(
        "t-0", "t", 0, "", tuple(Segment(file, at, 99) for at, file in enumerate(_FILES)),
        dict.fromkeys(snapshots, "s"), (), tuple(sorted(orphans)), None, tuple(enumerate(epochs)), checkpoints, False,
        False, frozenset(),
    )  # fmt: skip


@given(
    st.lists(_HOLES, min_size=1, max_size=12), st.lists(_DAMAGE, max_size=6), st.lists(_OFFSETS, max_size=3),
    st.lists(_OFFSETS, max_size=3), st.lists(_OFFSETS, max_size=2), st.lists(st.tuples(_OFFSETS, _OFFSETS), max_size=3),
    st.integers(0, 9), st.integers(-1, 30), st.booleans(), st.booleans(),
    st.sampled_from([(), (None,), ("delete",), ("compact",), ("compact", "delete")]),
)  # fmt: skip
def test_many_gaps_are_judged_as_each_alone(
    holes: list[Hole], damaged: list[DamagedBytes], orphans: list[int], snapshots: list[int], epochs: list[int],
    aborted: list[tuple[int, int]], start: int, cleaned_to: int, has_checkpoint: bool, transactions: bool,
    policies: tuple[str | None, ...],
) -> None:  # fmt: skip
    """Whatever the files say: the columns hold what the rules give for each gap."""
    spans = [(min(span), max(span)) for span in aborted]
    checkpoints = {"cleaner": cleaned_to} if has_checkpoint else {}
    directory = _directory(orphans, snapshots, epochs, checkpoints)
    evidence = Evidence(directory, start, cleaned_to, transactions, damaged, spans)
    names = ("first_offset", "last_offset", "position", "file", "at_seam")
    cells = [(hole.first, hole.last, hole.position, _FILES.index(hole.file), hole.seam) for hole in holes]
    missing = Gaps(Columns.of_table(names, np.array(cells, np.int64).T), _FILES)
    gaps = classify(missing, evidence, policies)

    wanted = [Gap(h.first, h.last, *_alone(h, evidence, policies), h.file, h.position) for h in holes]
    assert list(gaps) == wanted
    assert sum(gaps.counts().values()) == len(holes)


@pytest.mark.parametrize("clean", [True, False])
def test_a_segment_task_has_what_bears_on_its_segment(clean: bool) -> None:
    """Of the files of a directory, the task of a segment has the next segment and the snapshots inside it and last."""
    segments = tuple(Segment(f"{n}.log", base, 9) for n, base in enumerate((0, 10, 10, 20, 30)))
    directory = PartitionDirectory(
        "t-0", "t", 0, "", segments, {at: f"{at}.snapshot" for at in (0, 5, 10, 25, 40, 35)}, (), (), None, (), {},
        False, clean, frozenset(),
    )  # fmt: skip
    tasks = {number: task.directory for number, task in enumerate(segment_tasks(directory))}

    assert [sorted(one.snapshots) for one in tasks.values()] == [[5, 10, 40], [40], [40], [25, 40], [35, 40]]
    assert [[s.base_offset for s in one.segments] for one in tasks.values()] == [
        [0, 10], [10, 10, 20], [10, 20], [20, 30], [30],
    ]  # fmt: skip


def test_tasks_of_real_directories_are_of_all_segments() -> None:
    """No segment of a log is left out, and the last one is known to be it."""
    seen = 0
    for root in sorted({path.parent for path in FIXTURES.glob("*/data*/*-*") if path.is_dir()}):
        for directory in open_log_directory(os.fspath(root)).partitions:
            tasks = list(segment_tasks(directory))
            assert tuple(task.segment for task in tasks) == directory.segments
            ends = [task.segment == task.directory.segments[-1] for task in tasks]
            assert ends == [False] * (len(ends) - 1) + [True] * bool(ends)
            seen += len(ends)
    assert seen

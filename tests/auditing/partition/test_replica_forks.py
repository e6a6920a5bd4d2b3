"""Where replicas of a partition fork: at offsets at which both have batches, whatever a cleaner took of either."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given
from hypothesis import strategies as st

import plain
from kafkalog.auditing.partition import PartitionAudit, fork_of, read_log
from kafkalog.log_dirs.log_directory import open_log_directory
from plain import Batch


def replica(root: Path, batches: Sequence[Batch], *bases: int) -> PartitionAudit:
    """One replica of t-0, cleaned up to its last segment."""
    folder = root / "t-0"
    ends = [*bases[1:], 2**40]
    segments = [[one for one in batches if base <= one.offset < end] for base, end in zip(bases, ends, strict=True)]
    plain.write_segments(folder, *segments, bases=dict(enumerate(bases)))
    plain.write_checkpoint(root, "cleaner-offset-checkpoint", ("t", 0, bases[-1]))
    [directory] = open_log_directory(root).partitions
    return read_log(directory, (), None).partition


def batches(*epochs: int) -> list[Batch]:
    """A batch of two offsets for each leader epoch."""
    return [Batch(0, 2 * at, 2 * at + 1, "plain", leader_epoch=epoch) for at, epoch in enumerate(epochs)]


def test_a_cleaned_start_of_an_epoch_is_no_fork(tmp_path: Path) -> None:
    """The leader's cleaner took the first batches of an epoch, the replica that was down still has them."""
    log = batches(0, 0, 1, 1, 1, 2)
    down = replica(tmp_path / "down", log, 0)
    cleaned = replica(tmp_path / "cleaned", [log[0], log[1], log[4], log[5]], 0, 10)

    assert fork_of(down, cleaned) is None
    assert fork_of(cleaned, down) is None


def test_an_empty_newest_segment_says_nothing_of_the_end_before_it(tmp_path: Path) -> None:
    """The cleaner took all of the last epoch, whose offsets the newest segment's name still counts."""
    log = batches(0, 0, 1, 2)
    cleaned = replica(tmp_path / "cleaned", [log[0], log[2]], 0, 8)

    assert fork_of(replica(tmp_path / "down", log, 0), cleaned) is None


def test_other_epochs_at_an_offset_of_both_are_a_fork_of_compacted_replicas(tmp_path: Path) -> None:
    """A cleaner hides no fork at offsets that it left in both."""
    old = replica(tmp_path / "old", batches(0, 0, 1, 1, 1), 0)
    new = replica(tmp_path / "new", [one for one in batches(0, 0, 1, 2, 2, 2) if one.offset != 6], 0, 10)

    assert fork_of(old, new) == (8, 1, 2)


steps = st.lists(st.integers(0, 1), max_size=12).map(lambda rises: [sum(rises[: at + 1]) for at in range(len(rises))])


@given(steps, steps, st.integers(0, 12), st.sets(st.integers(0, 24)), st.sets(st.integers(0, 24)))
def test_a_fork_is_the_first_offset_of_both_with_other_epochs(
    mine: list[int], theirs: list[int], common: int, gone: set[int], lost: set[int]
) -> None:
    """Two histories that part somewhere, each with some batches taken: one history alone never forks."""
    shared = mine[:common]
    other = [*shared, *(epoch + max(shared, default=0) for epoch in theirs)]
    logs = [
        [one for at, one in enumerate(batches(*epochs)) if at not in taken]
        for epochs, taken in ((mine, gone), (other, lost))
    ]
    with TemporaryDirectory() as root:
        made = [replica(Path(root, str(number)), log, 0) for number, log in enumerate(logs)]
        found = fork_of(*made)
    here, there = ({one.offset: one.leader_epoch for one in log} for log in logs)
    differ = sorted(offset for offset in here.keys() & there.keys() if here[offset] != there[offset])

    if mine == other[: len(mine)] or other == mine[: len(other)]:
        assert found is None
    if differ:
        assert found is not None
        assert found[0] <= differ[0]

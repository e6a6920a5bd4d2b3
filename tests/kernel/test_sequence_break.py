"""What breaks between two batches of a producer: a hole is up to half of all sequences wide."""

from __future__ import annotations

import pytest

from kafkalog.kernel import buffers
from kafkalog.kernel.fold import sequence_break

HALF = 2**30


@pytest.mark.parametrize(
    ("epoch", "first", "expected"),
    [
        (0, 10, buffers.CONTINUES),
        (0, 11, buffers.HOLE),
        (0, 10 + HALF - 1, buffers.HOLE),
        (0, 10 + HALF, buffers.OVERLAP),
        (0, 9, buffers.OVERLAP),
        (1, 0, buffers.CONTINUES),
        (1, 10, buffers.EPOCH_NOT_FROM_ZERO),
        (-1, 10, buffers.EPOCH_DECREASING),
    ],
)
def test_what_follows_sequence_9_of_epoch_0(epoch: int, first: int, expected: int) -> None:
    """The next sequence, or 0 of a higher epoch, continues it; what is far ahead is behind."""
    assert sequence_break(0, 9, epoch, first) == expected


def test_after_the_highest_sequence_comes_0() -> None:
    """Sequences have 31 bits."""
    assert sequence_break(0, 2**31 - 1, 0, 0) == buffers.CONTINUES

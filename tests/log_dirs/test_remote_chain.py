"""Which remote segments are part of a log: at the offsets where one ends and the next one begins."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from kafkalog.log_dirs.remote_segments import COPIED, RemoteSegment, Tier
from kafkalog.log_dirs.remote_store import PartitionKey, RemoteObject
from kafkalog.log_dirs.tiers import tier_findings


def tier(*ranges: tuple[int, int]) -> Tier:
    """A tier of whole copies of these offsets."""
    segments = tuple(
        RemoteSegment(f"s{first}", first, last, 100, ((COPIED, 1),), (RemoteObject("log", f"{first}.log", 100),))
        for first, last in ranges
    )
    remote: Any = SimpleNamespace(layout=SimpleNamespace(pattern="", is_packed=False))  # nothing is read
    return Tier(PartitionKey("t", 0, None), remote, "store", segments, has_metadata=True, newest="")


def test_a_segment_is_read_as_long_as_it_has_one_offset_of_the_log() -> None:
    """Its last offset may be the log's first one; from the local start on, the local segments are read."""
    both = tier((0, 4), (5, 9))

    assert [(one.start_offset, until) for one, until in both.chain(4, 10)] == [(0, 5), (5, 10)]
    assert [(one.start_offset, until) for one, until in both.chain(5, 10)] == [(5, 10)]
    assert [(one.start_offset, until) for one, until in both.chain(0, 5)] == [(0, 5)]
    assert both.holes(4, 10) == []


def test_a_segment_is_expired_when_all_its_offsets_are_before_the_log() -> None:
    """With one offset in it, it is still read."""
    both = tier((0, 4), (5, 9))

    assert (both.holds(both.segments[0], 4, 10), both.holds(both.segments[0], 5, 10)) == ("remote", "expired")
    assert (both.holds(both.segments[1], 0, 6), both.holds(both.segments[1], 0, 5)) == ("remote", "both")


def test_segments_overlap_from_one_common_offset_on() -> None:
    """That one offset is the last of the one and the first of the other."""
    directory: Any = SimpleNamespace(segments=(), checkpoints={}, remote_holes=(), leader_epochs=())

    def told(*ranges: tuple[int, int]) -> list[tuple[int | None, int | None]]:
        found = tier_findings(tier(*ranges), directory)
        return [(one.offset, one.last_offset) for one in found if one.code == "remote-segments-overlap"]

    assert told((0, 4), (5, 9)) == []
    assert told((0, 5), (5, 9)) == [(5, 5)]
    assert told((0, 9), (3, 4)) == [(3, 4)]

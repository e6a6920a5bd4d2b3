"""One segment's part of a verification: the segment, and what of its partition's directory bears on it.

A directory may have a hundred thousand files. A task has those that its segment is compared with: looking through all
of them for each segment, or sending all to another process with each, would be quadratic.
"""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import replace
from operator import attrgetter
from typing import Final, NamedTuple

from kafkalog.files.names import local_path
from kafkalog.log_dirs.log_directory import PartitionDirectory, Segment

__all__ = ["SegmentTask", "segment_tasks"]

_CLEANER: Final = "cleaner-offset-checkpoint"
_BASE: Final = attrgetter("base_offset")


class SegmentTask(NamedTuple):
    """A segment to check.

    Of its partition's files `directory` has the segment, the next ones, and the snapshots that were taken inside it and
    last. `never_cleaned` says that the broker's cleaner has worked, and never in this partition.
    """

    directory: PartitionDirectory
    segment: Segment
    never_cleaned: bool


def segment_tasks(directory: PartitionDirectory) -> Iterator[SegmentTask]:
    """Yield the tasks of a partition, in the order of its segments."""
    segments, stops = directory.segments, sorted(directory.snapshots)
    never_cleaned = _never_cleaned(directory)
    for number, segment in enumerate(segments):
        following = bisect_right(segments, segment.base_offset, number, key=_BASE)
        near = dict.fromkeys((segment, *segments[number + 1 : number + 2], *segments[following : following + 1]))
        end = bisect_right(stops, segments[following].base_offset) if following < len(segments) else len(stops)
        inside = dict.fromkeys((*stops[bisect_right(stops, segment.base_offset) : end], *stops[-1:]))
        of_segment = replace(
            directory, segments=tuple(near), snapshots={offset: directory.snapshots[offset] for offset in inside},
            left_over=(), orphans=(), leader_epochs=(), txn_indexes=frozenset(), files={},
        )  # fmt: skip
        yield SegmentTask(of_segment, segment, never_cleaned)


def _never_cleaned(directory: PartitionDirectory) -> bool:
    """Say whether the cleaner has worked in this broker and never in this partition."""
    home = os.path.dirname(os.path.abspath(local_path(directory.log)))
    if "cleaner" in directory.checkpoints or not os.path.exists(os.path.join(home, _CLEANER)):
        return False
    # It writes its checkpoint last: until then the files that it has replaced tell.
    deleted = {name.removesuffix(".deleted") for name in directory.left_over if name.endswith(".log.deleted")}
    return not any(os.path.basename(segment.path) in deleted for segment in directory.segments if deleted)

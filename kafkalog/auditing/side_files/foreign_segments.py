"""How many things show that a segment belongs to another log: its indexes, its neighbours, its ``.txnindex``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from kafkalog.auditing.side_files.rebuilt import RebuiltSegment
from kafkalog.log_dirs.log_directory import Segment

__all__ = ["ForeignSegments"]

_ENOUGH = 2  # independent votes


@dataclass(frozen=True, slots=True)
class ForeignSegments:
    """The votes against a partition's segments, by their paths."""

    votes: Mapping[str, int]

    @classmethod
    def against(cls, segments: Sequence[RebuiltSegment], by_txn_index: Collection[Segment]) -> ForeignSegments:
        """Count the votes; `by_txn_index` are the segments whose ``.txnindex`` does not list their markers."""
        votes = Counter({rebuilt.segment.path: rebuilt.votes for rebuilt in segments})
        votes.update({segment.path: _ENOUGH for segment in _out_of_order(segments)})
        votes.update(segment.path for segment in by_txn_index)
        return cls(votes)

    def votes_against(self, segment: Segment) -> int:
        """Return the number of votes against a segment."""
        return self.votes.get(segment.path, 0)

    def is_foreign(self, segment: Segment) -> bool:
        """Say whether several votes show that a segment belongs to another log."""
        return self.votes_against(segment) >= _ENOUGH

    @property
    def any_foreign(self) -> bool:
        """Say whether several votes show that one of the segments belongs to another log."""
        return any(votes >= _ENOUGH for votes in self.votes.values())


def _out_of_order(segments: Sequence[RebuiltSegment]) -> Iterator[Segment]:
    """Yield the segments whose offsets do not fit between their neighbours: that counts as several votes."""
    last = -1
    for rebuilt in segments:
        if rebuilt.first_offset is None or rebuilt.last_offset is None:
            continue
        if 0 <= rebuilt.first_offset <= last or 0 <= rebuilt.last_offset < rebuilt.segment.base_offset:
            yield rebuilt.segment
        last = max(last, rebuilt.last_offset)

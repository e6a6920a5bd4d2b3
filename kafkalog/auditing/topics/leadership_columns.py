"""What partitions were over time, as columns of the table ``leadership``."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any, Final

import numpy as np

from kafkalog.auditing.topics.partition_history import Key, Numbers, PartitionHistory, PartitionSpans
from kafkalog.format import message_ops as ops
from kafkalog.format.message_json import JSON_ENCODERS
from kafkalog.format.text_columns import JsonColumn, TextColumn
from kafkalog.log.column_blocks import AnyColumns, Marked, Worded
from kafkalog.log.moment import Moment
from kafkalog.tables.metadata import CHANGES

__all__ = ["leadership_columns"]

_AT_ONCE: Final = 4096  # rows
_PLACES: Final = 256  # partitions at once, which may have many rows
_LISTS: Final = ("isr", "replicas", "adding", "removing", "eligible")


def leadership_columns(
    history: PartitionHistory, places: Sequence[tuple[str | None, Key]], log: str, moment: Moment | None = None,
    *, spaced: bool = False,
) -> Iterator[AnyColumns]:  # fmt: skip
    """Yield the rows of these partitions, each with its topic's name, in this order; with a moment those of then.

    JSON has blanks if it is `spaced`.
    """
    encode = JSON_ENCODERS[ops.SPACED_JSON if spaced else ops.ASCII_JSON]

    @lru_cache(maxsize=_AT_ONCE)
    def listed(numbers: Numbers) -> str:
        return encode(list(numbers))

    for first in range(0, len(places), _PLACES):
        some = places[first : first + _PLACES]
        spans = history.spans_of([key for _, key in some])
        if moment is not None:
            spans = spans.take(np.flatnonzero(spans.held_at(moment)))
        names = TextColumn.of([name for name, _ in some])
        ids = TextColumn.of([topic_id for _, (topic_id, _) in some])
        numbers = np.array([number for _, (_, number) in some], np.int64)
        for start in range(0, len(spans.of), _AT_ONCE):
            part = spans.take(slice(start, start + _AT_ONCE))
            yield {
                "topic": names.take(part.of),
                "topic_id": ids.take(part.of),
                "partition": numbers[part.of],
                **_state(history, part, listed),
                "since_ms": Marked(part.since),
                "until_ms": Marked(part.until, part.has_ended),
                "offset": Marked(part.offset),
                "log": TextColumn.same(log, len(part.of)),
            }


def _state(history: PartitionHistory, spans: PartitionSpans, listed: Callable[[Numbers], str]) -> AnyColumns:
    """Return what the partitions were: a state that occurs many times is looked at once."""
    numbers, of = np.unique(spans.state, return_inverse=True)
    states = [history.state(number) for number in numbers.tolist()]
    leaders = np.array([state.leader for state in states], np.int64)[of]
    lists: dict[str, Any] = {
        name: JsonColumn.of([listed(getattr(state, name)) for state in states]).take(of) for name in _LISTS
    }
    words = np.array([CHANGES.index(word) for word in history.words] or [0])
    return {
        "leader": Marked(leaders, leaders != -1),
        "leader_epoch": Marked(spans.leader_epoch),
        "partition_epoch": Marked(spans.partition_epoch),
        **lists,
        "recovering": np.array([state.recovering for state in states], np.bool_)[of],
        "change": Worded(words[spans.word], CHANGES),
    }

"""The partitions that records of the transaction state topic list, as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from kafkalog.columns.sentences import joined
from kafkalog.columns.texts import JsonColumn
from kafkalog.kafka.message_json import JSON_ENCODERS
from kafkalog.kafka.state_records import TOMBSTONE, StateColumns
from kafkalog.kernel import message_ops as ops

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["listed_partitions"]


def listed_partitions(states: StateColumns, *, spaced: bool = False) -> JsonColumn:
    """Return the partitions that each record lists, as topic-partition; most list one or none, which are written once.

    JSON has blanks and is not ASCII if it is `spaced`.
    """
    encode = JSON_ENCODERS[ops.SPACED_JSON if spaced else ops.ASCII_JSON]
    counts = np.maximum(states.partitions_count, 0)
    ends = np.cumsum(counts)
    firsts = ends - counts
    is_list = (states.state != TOMBSTONE) & (states.partitions_count >= 0)

    def names(topics: NDArray[Any], partitions: NDArray[Any]) -> list[str]:
        pairs = zip(topics.tolist(), partitions.tolist(), strict=True)
        return [f"{states.topics[topic]}-{partition}" for topic, partition in pairs]

    empty, single, many = (np.flatnonzero(is_list & some) for some in (counts == 0, counts == 1, counts > 1))
    topics, partitions = states.listed_topic[firsts[single]], states.listed_partition[firsts[single]]
    places = topics.astype(np.int64) << 32 | partitions.astype(np.int64) & 0xFFFFFFFF
    _, one_of, which = np.unique(places, return_index=True, return_inverse=True)
    alone = JsonColumn.of([encode([name]) for name in names(topics[one_of], partitions[one_of])]).take(which)
    lists = [
        encode(names(states.listed_topic[first:end], states.listed_partition[first:end]))
        for first, end in zip(firsts[many].tolist(), ends[many].tolist(), strict=True)
    ]
    parts = [(empty, JsonColumn.of([encode([])]).take(np.zeros(len(empty), np.intp))), (single, alone)]
    found = joined(len(states), [*parts, (many, JsonColumn.of(lists))])
    return JsonColumn(found.data, found.starts, found.sizes)

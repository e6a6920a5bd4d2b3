"""What a task that judges one partition gets of the coordinator says the same as the whole."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kafkalog.folds.coordinator import Coordinator, StateRows
from kafkalog.kafka.state_records import STATE_TYPES
from kafkalog.kafka.transaction_state import TransactionState
from transition_model import state_columns

TOPICS = ["t", "u"]
IDS = ["a", "b", "c"]
records = st.tuples(
    st.integers(0, 2),  # id
    st.sampled_from([*TransactionState, -1]),
    st.integers(1, 4),  # producer
    st.sampled_from([-1, -1, 1, 5]),  # previous producer
    st.integers(0, 2),  # epoch
    st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1)), max_size=2, unique=True),
    st.integers(0, 30),  # time
)


def coordinator(rows: list[Any]) -> Coordinator:
    """Two logs, of the ids by turns."""
    logs = []
    for log in (0, 1):
        some = [row for row in rows if row[0] % 2 == log]
        tombstone = [row[1] == -1 for row in some]
        cells: dict[str, list[int]] = {
            "offset": list(range(len(some))),
            "timestamp": [row[6] + 1 for row in some],
            "transactional_id": [row[0] for row in some],
            "state": [row[1] for row in some],
            "producer_id": [-1 if gone else row[2] for row, gone in zip(some, tombstone, strict=True)],
            "previous_producer_id": [-1 if gone else row[3] for row, gone in zip(some, tombstone, strict=True)],
            "producer_epoch": [row[4] for row in some],
            "last_update_timestamp": [-1 if gone else row[6] for row, gone in zip(some, tombstone, strict=True)],
            "partitions_count": [len(row[5]) for row in some],
        }
        cells = dict.fromkeys(STATE_TYPES, [-1] * len(some)) | cells
        used = [name for number, name in enumerate(IDS) if number in cells["transactional_id"]]
        cells["transactional_id"] = [used.index(IDS[one]) for one in cells["transactional_id"]]
        states = state_columns(cells, [pair for row in some for pair in sorted(row[5])], used, TOPICS)
        logs.append(StateRows(f"log-{log}", log, states))
    return Coordinator(logs, 2)


def said(one: Coordinator, topic: str, partition: int, producers: list[int]) -> list[Any]:
    """All that a judge asks about a partition and its producers, without the numbers of ids and records."""
    wanted = np.array(producers, np.int64)
    ids = [*one.states.ids, None]
    names, last = one.names_of(wanted), one.last_of(wanted)
    known = np.flatnonzero(names >= 0)
    entries = np.where(last >= 0, last, 0)
    there = np.flatnonzero(last >= 0)
    last_of_names = one.last_records(names[known])
    return [
        [
            decision | {"transactional_id": ids[decision["transactional_id"]]}
            for decision in one.decisions(one.listing(topic, partition))
        ],
        [ids[number] for number in names.tolist()],
        (last >= 0).tolist(),
        one.states["offset"][entries[there]].tolist(),
        one.list_partition(entries[there], topic, partition).tolist(),
        one.newest_of(entries[there]).tolist(),
        one.states["state"][last_of_names].tolist(),
        one.read_until(names).tolist(),
        one.go_on_past(names, np.full(len(names), 12)).tolist(),
    ]


@given(
    st.lists(records, max_size=25), st.sampled_from(TOPICS), st.integers(0, 1), st.lists(st.integers(1, 6), max_size=4)
)
def test_a_slice_for_a_partition_says_the_same(
    rows: list[Any], topic: str, partition: int, producers: list[int]
) -> None:
    """Decisions that list it and the last word on the producers in it: whatever the records, also sent elsewhere."""
    whole = coordinator(rows)
    some = whole.for_partition(topic, partition, np.array(producers, np.int64))
    again = Coordinator.of_parts(pickle.loads(pickle.dumps(part)) for part in some.parts())

    assert said(some, topic, partition, producers) == said(whole, topic, partition, producers)
    assert said(again, topic, partition, producers) == said(whole, topic, partition, producers)
    assert len(some.states) <= len(whole.states)

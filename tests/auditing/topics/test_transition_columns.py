"""The table ``transitions``: made of columns, what the records one after the other give."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kafkalog.auditing.topics.transaction_steps import last_steps, transition_columns
from kafkalog.folds.coordinator import Coordinator, StateRows
from kafkalog.kafka.state_records import STATE_TYPES, TOMBSTONE, StateColumns
from kafkalog.kafka.transaction_state import TransactionState
from kafkalog.segments.moment import Moment
from transition_model import modelled_transitions, state_columns

NOON: Final = 1_800_000_000_000
TIMES: Final = st.sampled_from([-1, 0, NOON, NOON + 1, NOON + 60_000, 2**63 - 1, -(2**63)]) | st.integers(
    NOON, NOON + 90
)
IDS: Final = ("a", "bé", "", "\\udc80".encode("utf-8", "backslashreplace").decode())
EPOCHS: Final = st.sampled_from([-1, 0, 1, 2, 3, 2**15 - 1])
PRODUCERS: Final = st.sampled_from([-1, 7, 8, 9, 2**63 - 1, -(2**63)])
RECORDS: Final = st.fixed_dictionaries({
    "timestamp": TIMES, "transactional_id": st.integers(0, len(IDS) - 1),
    "state": st.sampled_from([TOMBSTONE, *map(int, TransactionState), 1, 1, 3, 3]), "producer_id": PRODUCERS,
    "producer_epoch": EPOCHS, "timeout_ms": st.sampled_from([-(2**31), -1, 0, 1, 60_000, 2**31 - 1]),
    "last_update_timestamp": TIMES, "start_timestamp": TIMES, "previous_producer_id": PRODUCERS,
    "next_producer_id": PRODUCERS, "client_transaction_version": st.integers(0, 3), "version": st.integers(0, 1),
    "listed": st.none() | st.lists(st.tuples(st.integers(0, 1), st.integers(0, 2)), max_size=3, unique=True).map(sorted),
})  # fmt: skip


def _states(records: list[dict[str, Any]]) -> StateColumns:
    gone = {"next_producer_id": -1, "listed": None}
    records = [{**one, **gone} if one["state"] == TOMBSTONE else one for one in records]
    names = list(dict.fromkeys(one["transactional_id"] for one in records))
    of_topics = [topic for one in records for topic, _ in one["listed"] or ()]
    topics = list(dict.fromkeys(of_topics))
    cells: dict[str, list[int]] = {
        **{name: [one.get(name, 0) for one in records] for name in STATE_TYPES},
        "offset": list(range(len(records))),
        "transactional_id": [names.index(one["transactional_id"]) for one in records],
        "partitions_count": [-1 if one["listed"] is None else len(one["listed"]) for one in records],
    }
    listed = [(topics.index(topic), number) for one in records for topic, number in one["listed"] or ()]
    return state_columns(cells, listed, [IDS[one] for one in names], [f"t{topic}" for topic in topics])


@given(
    st.lists(st.lists(RECORDS, max_size=12), min_size=1, max_size=2),
    st.none() | st.builds(Moment, st.none() | st.integers(-1, 12), st.none() | TIMES),
)
def test_steps_are_those_of_the_records_one_after_the_other(
    logs: list[list[dict[str, Any]]], moment: Moment | None
) -> None:
    """Any states, epochs and times, also such as no broker writes; all steps, or those at a moment."""

    def coordinator() -> Coordinator:
        return Coordinator([StateRows(f"log-{at}", at, _states(records)) for at, records in enumerate(logs)])

    wanted = list(modelled_transitions(coordinator(), moment))
    made = coordinator()
    until = None if moment is None else moment.timestamp
    assert until is None or isinstance(until, int)
    chosen = np.ones(len(made.states), np.bool_) if moment is None else last_steps(made, moment)
    for spaced in (False, True):
        columns = transition_columns(made, chosen, until, spaced=spaced)
        assert [row for some in columns for row in some.rows()] == wanted

"""The loops of producers' states: compiled and interpreted they answer the same, and pieces join to the whole."""

from __future__ import annotations

from array import array
from types import SimpleNamespace
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

import plain
from kafkalog.columns.table import Columns
from kafkalog.folds import producer_states, state_table
from kafkalog.folds.producer_states import ProducerStates, collapse
from kafkalog.kafka.batch import CellTable
from kafkalog.kernel import buffers, headers, interpreted
from kafkalog.kernel import fold as kernel_fold
from kafkalog.kernel.buffers import STATE_COLUMNS

PLAIN = interpreted("fold", "tests_interpreted_state_loops")
HEADS = (
    buffers.BASE_OFFSET, buffers.LAST_OFFSET, buffers.MAGIC, buffers.VALID, buffers.ATTRIBUTES, buffers.MAX_TIMESTAMP,
    buffers.PRODUCER_ID, buffers.PRODUCER_EPOCH, buffers.LAST_SEQUENCE,
)  # fmt: skip
EDGES = (0, 1, -1, 2**31 - 1, 2**63 - 1, -(2**63) + 1, -(2**63))

offsets = st.integers(0, 40) | st.sampled_from(EDGES)
_heads = st.lists(
    st.tuples(
        offsets,  # first offset
        offsets,  # last offset
        st.integers(0, 3),  # magic
        st.sampled_from([1, 1, 1, 0]),  # valid
        st.sampled_from([0, 16, 16, 48, 48, 32, 64]),  # attributes
        st.sampled_from(EDGES),  # newest time
        st.integers(-1, 30),  # producer
        st.integers(-1, 2),  # epoch
        st.sampled_from(EDGES),  # sequence
        st.integers(-2, 1),  # marker type
        st.integers(-1, 3),  # coordinator epoch
    ),
    max_size=60,
)
_stops = st.lists(st.integers(-5, 45), max_size=4, unique=True).map(sorted)


def folded(rows: list[tuple[int, ...]], stops: list[int]) -> list[Columns]:
    heads = CellTable(len(buffers.BATCH_COLUMNS), max(1, len(rows)))
    heads.count = len(rows)
    for row, cells in enumerate(rows):
        for column, cell in zip(HEADS, cells, strict=False):
            heads.set(column, row, cell)
    types, epochs = (array("q", [cells[at] for cells in rows] or [0]) for at in (-2, -1))
    states = ProducerStates(stops)
    states.batches(heads, types, epochs)
    return states.result()


@pytest.mark.skipif(not headers.COMPILED, reason="there is no compiled form to compare with")
@given(_heads, _stops)
def test_both_forms_keep_the_same_states(rows: list[tuple[int, ...]], stops: list[int]) -> None:
    """Batches of any numbers, in any order, with tables that must grow: equal rows in equal pieces."""
    answers = []
    for form in (kernel_fold, PLAIN):
        with (
            mock.patch.multiple(producer_states, kernel_fold=form, FIRST_BITS=2),
            mock.patch.object(state_table, "kernel_fold", form),
        ):
            pieces = folded(rows, stops)
            answers.append([*pieces, collapse(Columns.concat(pieces, STATE_COLUMNS))])
    assert answers[0] == answers[1]


@given(plain.logs(count=1), _stops)
def test_pieces_of_a_log_join_to_the_whole(log: list[plain.Batch], stops: list[int]) -> None:
    """A piece has what is below its stop, and nothing else: cut there by hand, the log gives the same."""
    states = ProducerStates(stops)
    states.batches(*plain.as_heads(log))
    pieces = states.result()
    low = -(2**63)
    for stop, piece in zip([*stops, 2**63 - 1], pieces, strict=True):
        alone = ProducerStates()
        alone.batches(*plain.as_heads([batch for batch in log if low <= batch.last_offset < stop]))
        assert piece == alone.result()[0]
        low = stop
    whole = ProducerStates()
    whole.batches(*plain.as_heads(log))

    assert collapse(Columns.concat(pieces, STATE_COLUMNS)) == whole.result()[0]


def test_a_short_buffer_is_refused() -> None:
    """The loops check no bounds: what they rely on is checked before."""
    short = array("q", [0])
    table = SimpleNamespace(width=buffers.STATE_CELLS, slots=short, cells=short, part=short)
    for form in (kernel_fold, PLAIN):
        with pytest.raises(IndexError):
            form.snapshot_rows(table, CellTable(buffers.STATE_CELLS - 1, 1).cells, 0)
        with pytest.raises(IndexError):
            form.rehash(table)

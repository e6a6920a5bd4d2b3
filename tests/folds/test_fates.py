"""What became of a log's batches, and which of their records consumers are given."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

import build
import kafkalog
from kafkalog.columns.sorted_rows import Spans
from kafkalog.columns.table import AFTER_ALL, NONE, Columns
from kafkalog.folds.fates import Fates
from kafkalog.tables.dump_tables import OUTCOME_CAUSES, OUTCOMES

PRODUCER = {"producer_id": 7, "producer_epoch": 0}


def data(offset: int, bits: int = build.TRANSACTIONAL) -> bytes:
    """A batch of one record."""
    return build.batch(build.record(), base_offset=offset, attributes=bits, **PRODUCER)


LOG = data(0) + build.marker(1, base_offset=1, **PRODUCER) + data(2) + data(3, bits=0)
FATES = Fates(
    "t",
    0,
    "t-0",
    Spans(np.array([7, 7]), np.array([0, 2]), np.array([1, AFTER_ALL])),  # a committed transaction, and an open one
    Columns({
        "outcome": np.array([OUTCOMES.index("committed"), OUTCOMES.index("ongoing")]),
        "cause": np.array([NONE, NONE]),
        "name": np.array([0, 0]),
    }),
    ("tx",),
    last_stable_offset=2,
)  # fmt: skip


def test_a_batch_has_the_outcome_of_the_transaction_that_it_is_in() -> None:
    """From its first batch to its marker, both included; what is in none has no outcome of its own."""
    heads = next(kafkalog.scan(LOG)).heads
    found = FATES.of(heads)

    assert [FATES.outcome_of(found, row) for row in range(4)] == [
        "committed",
        "committed",
        "ongoing",
        "not-transactional",
    ]
    assert [FATES.id_of(found, row) for row in range(4)] == ["tx", "tx", "tx", None]


def test_nothing_is_known_of_a_damaged_batch() -> None:
    """Its header may name another producer: its transaction is not told, whatever the header says."""
    heads = next(kafkalog.scan(build.flipped(LOG, 8 * len(data(0)) - 1))).heads
    found = FATES.of(heads)

    assert FATES.outcome_of(found, 0) == "unknown"
    assert found.cause[0] == OUTCOME_CAUSES.index("damaged-batch")
    assert FATES.id_of(found, 0) is None


def test_records_are_given_below_the_last_stable_offset() -> None:
    """The record at that offset is the open transaction's, and waits; so does what comes after it."""
    shown = np.ones(4, np.int64)

    assert FATES.visible(shown, np.arange(4)).tolist() == [1, 1, 0, 0]
    assert replace(FATES, log_start_offset=1).visible(shown, np.arange(4)).tolist() == [0, 1, 0, 0]

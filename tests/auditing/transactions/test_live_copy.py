"""What copied files can know of an open transaction: how far its log and its coordinator's log go on."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from kafkalog.auditing.transactions.live_copy import Moments, Read
from kafkalog.certainty import PROVED, Doubt, Inputs, certainty_of, marker_missed
from kafkalog.columns.table import NONE, Columns
from kafkalog.folds.fold import MARKER_COLUMNS

T = 1_700_000_000_000
COPY, TIMEOUT = 600_000, 900_000
SKEWED = "unless-copied-while-running"


def moments(*markers: tuple[int, int], newest_broker: int = -1, newest: int = -1) -> Moments:
    """A log with markers at (offset, time), and an open transaction, which has none."""
    offsets, times = zip(*markers, (NONE, NONE), strict=True)
    rows = Columns.empty(MARKER_COLUMNS)
    rows += Columns({"marker_offset": np.array(offsets), "marker_timestamp": np.array(times)}).packed()
    others = Columns.empty(MARKER_COLUMNS)
    audit: Any = SimpleNamespace(transactions=rows, others=others, newest_broker=newest_broker, newest=newest)
    return Moments(audit)


def row(offset: int, timestamp: int) -> Columns:
    """An open transaction of one batch."""
    cells = {"first_offset": offset, "min_timestamp": timestamp, "max_timestamp": timestamp}
    return Columns({name: np.array([cell]) for name, cell in cells.items()})


def read(newest: int, state: int, said: int = -1, due: int = -1, decided: int = -1) -> Read:
    """How far the inputs go for one transaction."""
    cells = {"state": state, "said": said, "due": due, "decided": decided, "never_comes": False}
    return Read(newest, COPY, TIMEOUT, Columns({name: np.array([cell]) for name, cell in cells.items()}))


def known(log: Moments, rows: Columns, how_far: Read, inputs: Inputs = Inputs.COPIED) -> tuple[str, bool, bool]:
    """Return how certain it is that the transaction hangs, whether a log ends too early, whether it is young."""
    (seen,) = log.seen(rows, how_far)
    found = marker_missed(inputs, seen, seen)
    return certainty_of(found.doubt), found.doubt is Doubt.COPIED_TOO_EARLY, found.is_recent


def test_both_logs_go_on_past_the_transaction() -> None:
    """The state partition is newer than the marker after the first batch, the log newer than the coordinator's word."""
    log = moments((3, T), (9, T + 20), newest_broker=T + 20)

    assert known(log, row(5, T + 10), read(T + 30, T + 30, said=T + 15)) == (PROVED, False, True)


def test_a_state_partition_as_old_as_the_next_marker_proves_nothing() -> None:
    """The registration may have come in the same millisecond, after the copy: only a newer record rules that out."""
    log = moments((3, T), (9, T + 20), newest_broker=T + 20)

    assert known(log, row(5, T + 10), read(T + 30, T + 20, said=T + 15)) == (SKEWED, False, True)


def test_what_the_remote_store_alone_has_proves_nothing_open() -> None:
    """Its closed segments end before the log does: a marker may follow in what is not there."""
    log = moments((3, T), (9, T + 20), newest_broker=T + 20)

    assert known(log, row(5, T + 10), read(T + 30, T + 30, said=T + 15), Inputs.REMOTE) == (SKEWED, True, True)


@pytest.mark.parametrize("clock", [-7_200_000, 7_200_000])
def test_a_producers_clock_is_off(clock: int) -> None:
    """Brokers' times prove it, whatever the producer's own times are."""
    log = moments((3, T), (9, T + 20), newest_broker=T + 20)

    assert known(log, row(5, T + 10 + clock), read(T + 30, T + 30, said=T + 15)) == (PROVED, False, True)


def test_the_state_partition_was_copied_before_the_transaction_began() -> None:
    """A registration may be missing in the copy: nothing can be said."""
    log = moments((3, T), newest_broker=T)

    assert known(log, row(5, T + 10), read(T + 30, T + 5)) == (SKEWED, True, True)


def test_the_state_partition_ends_before_the_marker_that_precedes_the_transaction() -> None:
    """The producer's clock is behind, but a broker's time shows that the state partition is older."""
    log = moments((3, T + 8), newest_broker=T + 8)

    assert known(log, row(5, T - 7_200_000), read(T + 30, T + 5)) == (SKEWED, True, True)


def test_the_log_was_copied_before_its_marker_came() -> None:
    """A marker follows from the coordinator's word, and the log ends before that."""
    log = moments((3, T), newest_broker=T)

    assert known(log, row(5, T + 10), read(T + 30, T + 30, said=T + 20, due=T + 20)) == (SKEWED, True, True)


def test_a_word_from_which_no_marker_follows() -> None:
    """The coordinator went on with other partitions: that the log is quiet says nothing."""
    log = moments((3, T), newest_broker=T)

    assert known(log, row(5, T + 10), read(T + 30, T + 30, said=T + 20)) == (SKEWED, False, True)


@pytest.mark.parametrize(("age", "recent"), [(COPY + TIMEOUT, True), (COPY + TIMEOUT + 1, False)])
def test_when_a_transaction_is_too_old_for_a_copy(age: int, recent: bool) -> None:
    """A transaction that is older than the longest timeout and the copy together is no matter of the copy."""
    log = moments((3, T - 10), newest_broker=T - 10)

    assert known(log, row(5, T), read(T + age, T - 5)) == (SKEWED, recent, recent)


@pytest.mark.parametrize(("age", "certainty"), [(COPY + TIMEOUT + 1, PROVED), (COPY + TIMEOUT, SKEWED)])
def test_a_quiet_state_partition_was_copied_after_an_old_transaction(age: int, certainty: str) -> None:
    """Nothing newer is in the state partition, but no copy takes so long; the log shows when the first batch came."""
    log = moments((3, T - 10), (9, T), newest_broker=T)

    assert known(log, row(5, T), read(T + age, T - 5, said=T - 5))[0] == certainty


def test_a_decision_makes_a_transaction_young_again() -> None:
    """The marker of a decision may come until the copy ends, however long ago the transaction began."""
    log = moments((3, T - 10), newest_broker=T - 10)
    old = T + COPY + TIMEOUT + 5

    assert known(log, row(5, T), read(old, old, said=old - 3, due=old - 3, decided=old - 3)) == (SKEWED, True, True)


def test_a_log_without_markers_goes_on_by_producers_times() -> None:
    """They count where they are all there is, once the transaction is older than the copy."""
    log = moments(newest_broker=-1, newest=T + COPY + 10)

    assert known(log, row(5, T), read(T + COPY + 20, T + COPY))[0] == PROVED
    assert known(log, row(5, T), read(T + COPY, T + COPY))[0] == SKEWED

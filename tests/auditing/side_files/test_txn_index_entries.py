"""What a ``.txnindex`` entry that differs from the log does to consumers, by a plain broker and a plain consumer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from kafkalog.auditing.side_files.txn_indexes import Aborts, EntryFaults, Reach
from kafkalog.columns.table import NONE, Columns
from kafkalog.folds.fold import ABORT, COMMIT, OPEN
from kafkalog.kafka.index import AbortedTransaction
from kafkalog.kernel.buffers import EXTENT_COLUMNS

Log = Sequence[tuple[str, int]]  # at each offset a record, a commit or an abort of a producer
WORDS = st.sampled_from(["record", "record", "commit", "abort"])


def transactions(log: Log) -> list[dict[str, int]]:
    """The log's transactions by their markers, also such without data; those that are open last."""
    found, begun = [], {}
    for offset, (word, producer) in enumerate(log):
        if word == "record":
            begun.setdefault(producer, []).append(offset)
        else:
            kind = COMMIT if word == "commit" else ABORT
            found.append(row(producer, begun.pop(producer, [NONE]), kind, offset))
    return [*found, *(row(producer, offsets, OPEN, NONE) for producer, offsets in begun.items())]


def row(producer: int, offsets: list[int], kind: int, marker: int) -> dict[str, int]:
    return {
        "producer_id": producer, "first_offset": offsets[0], "last_offset": offsets[-1], "marker_type": kind,
        "marker_offset": marker,
    }  # fmt: skip


def entries(log: Log, appends: int | None = None) -> list[AbortedTransaction]:
    """The entries that a leader writes; with `appends` those of a follower whose second append begins there."""
    every = transactions(log)
    found = []
    for one in every:
        if one["marker_type"] == ABORT and one["first_offset"] != NONE:
            end = one["marker_offset"]
            if appends is not None:
                end = appends if end < appends else len(log)
            left = [
                other["first_offset"]
                for other in every
                if other["producer_id"] != one["producer_id"]
                and other["first_offset"] != NONE
                and not NONE < other["marker_offset"] <= one["marker_offset"]
                and other["first_offset"] < end
            ]
            stable = min(left, default=one["marker_offset"] + 1)
            found.append(AbortedTransaction(0, one["producer_id"], one["first_offset"], one["marker_offset"], stable))
    return found


def witness(log: Log) -> Aborts:
    rows = Columns.empty(EXTENT_COLUMNS)
    every = transactions(log)
    cells = {name: np.array([one.get(name, 0) for one in every], np.int64) for name in EXTENT_COLUMNS}
    rows += Columns(cells).packed()
    return Aborts(rows)


def faults(log: Log, listed: list[AbortedTransaction]) -> EntryFaults | None:
    whole = Reach(lambda offset: offset >= len(log), 0, 0)
    return witness(log).faults(listed, 0, 2**63 - 1, whole)


def delivered(log: Log, listed: Sequence[AbortedTransaction], start: int, end: int) -> set[int]:
    """What a read_committed consumer gets of a fetch: TransactionIndex.collectAbortedTxns and CompletedFetch."""
    told = []
    for entry in listed:
        if entry.last_offset >= start and entry.first_offset < end:
            told.append((entry.first_offset, entry.producer_id))
        if entry.last_stable_offset >= end:
            break
    told.sort()
    aborted, got = set(), set()
    for offset in range(start, end):
        while told and told[0][0] <= offset:
            aborted.add(told.pop(0)[1])
        word, producer = log[offset]
        if word == "abort":
            aborted.discard(producer)
        elif word == "record" and producer not in aborted:
            got.add(offset)
    return got


def fetches(log: Log) -> Iterator[tuple[int, int]]:
    """All fetches up to the last stable offset."""
    stable = min((one["first_offset"] for one in transactions(log) if one["marker_type"] == OPEN), default=len(log))
    return ((start, end) for start in range(stable) for end in range(start + 1, stable + 1))


@settings(suppress_health_check=[HealthCheck.filter_too_much])
@given(
    st.lists(st.tuples(WORDS, st.integers(1, 3)), min_size=2, max_size=12), st.integers(0, 11),
    st.sampled_from(["first_offset", "last_stable_offset"]), st.integers(0, 14),
)  # fmt: skip
def test_an_entry_harms_consumers_or_not(log: Log, number: int, field: str, wrong: int) -> None:
    """A wrong offset is said to do harm where some fetch gets other records by it, and only there."""
    right = entries(log)
    assume(right)
    number %= len(right)
    listed = [*right]
    listed[number] = listed[number]._replace(**{field: wrong})
    found = faults(log, listed)
    differs = any(delivered(log, listed, *fetch) != delivered(log, right, *fetch) for fetch in fetches(log))

    if found is None:
        assert listed[number] in (right[number], entries(log, 0)[number]) or not differs
    elif all(one["marker_type"] != OPEN for one in transactions(log)):  # else no fetch ends in what it holds back
        assert bool(found.first.harm) == differs


@given(st.lists(st.tuples(WORDS, st.integers(1, 3)), max_size=16), st.integers(0, 16))
def test_what_leaders_and_followers_write_is_right(log: Log, cut: int) -> None:
    """A follower that appends some batches at once writes other last stable offsets than the leader: both are legal."""
    assert faults(log, entries(log)) is None
    assert faults(log, entries(log, cut)) is None


SKIPPED = [("record", 1), ("commit", 1), ("record", 1), ("record", 1), ("abort", 1), ("record", 2), ("abort", 2)]


@pytest.mark.parametrize(
    ("change", "harm"),
    [
        ({"first_offset": 0}, "read_committed consumers may skip the committed offset 0"),
        ({"first_offset": 1}, ""),
        ({"first_offset": 3}, "read_committed consumers may get aborted records at offset 2"),
        ({"producer_id": 3}, "read_committed consumers may get aborted records at offsets 2-3"),
        ({"last_stable_offset": 7}, "read_committed consumers may get aborted records at offsets 5-6"),
        ({"last_stable_offset": 4}, ""),
    ],
)
def test_a_finding_says_which_offsets(change: dict[str, int], harm: str) -> None:
    """The offsets that consumers get, or miss, are named; what they do not see is only a note."""
    first, *others = entries(SKIPPED)
    found = faults(SKIPPED, [first._replace(**change), *others])

    assert found is not None
    assert found.first.harm == harm

"""Transactions as extents: the laws of the fold, and a plain broker that it must agree with."""

from __future__ import annotations

import pickle
import tempfile
from pathlib import Path
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkalog.auditing.pipeline.run import audit
from kafkalog.columns import table as table_type
from kafkalog.columns.table import Columns
from kafkalog.folds.fold import COLUMNS, collapse
from kafkalog.segments import cursor
from plain import (
    LEGAL,
    Batch,
    Step,
    as_extents,
    brokers,
    cut,
    cuts,
    joined,
    logs,
    part_of_log,
    played,
    table,
    transaction_rows,
    tree,
    visible,
    write_segments,
)

choices = st.lists(st.integers(0, 5), max_size=6)
int64s = st.integers(-(2**63), 2**63 - 1)
EMPTY = Columns.empty(COLUMNS)


def data(offset: int, epoch: int = 0, producer: int = 1000, log: int = 0, **more: int) -> Batch:
    """A transactional batch of one record, whose offset is its sequence too."""
    return Batch(log, offset, offset, "data", producer, epoch, more.pop("sequence", offset), **more)


def marker(offset: int, epoch: int = 0, producer: int = 1000, kind: str = "commit", log: int = 0) -> Batch:
    """A marker."""
    return Batch(log, offset, offset, kind, producer, epoch, coordinator_epoch=3)


def folded(*batches: Batch) -> list[dict[str, int]]:
    """The final rows of batches."""
    return list(collapse(as_extents(batches)))


def brief(*batches: Batch) -> list[tuple[int, int, int, int]]:
    """Of the final rows: batches, first and last offset of the data, and the marker's."""
    return [(row["batches"], row["first_offset"], row["last_offset"], row["marker_offset"]) for row in folded(*batches)]


NO = -(2**63)


@given(logs(), cuts, choices)
def test_stretches_join_in_any_grouping(batches: list[Batch], places: list[int], turns: list[int]) -> None:
    """However a log is cut and whichever neighbours are joined first, the rows are the same."""
    whole = collapse(as_extents(batches))
    parts = [as_extents(batches[start:stop]) for start, stop in cut(places, len(batches))]

    assert tree([*parts, EMPTY], lambda a, b: collapse(a + b), turns) == whole
    assert tree([*map(collapse, parts), EMPTY], lambda a, b: collapse(a + b), turns) == whole


@given(logs(), st.integers(0, 1000), st.integers(0, 1000))
def test_three_stretches_join_from_either_side(batches: list[Batch], one: int, other: int) -> None:
    """collapse(a + b + c) is collapse(collapse(a + b) + c) and collapse(a + collapse(b + c))."""
    (i, j), (_, k), _ = cut([one, other], len(batches))
    a, b, c = (as_extents(part) for part in (batches[i:j], batches[j:k], batches[k:]))

    assert collapse(a + b + c) == collapse(collapse(a + b) + c) == collapse(a + collapse(b + c))


@given(logs())
def test_what_is_collapsed_stays(batches: list[Batch]) -> None:
    """Collapsing twice gives what collapsing once gives."""
    once = collapse(as_extents(batches))

    assert collapse(once) == once


@given(logs())
def test_nothing_is_neutral(batches: list[Batch]) -> None:
    """Empty stretches before or behind change nothing, and nothing collapses to nothing."""
    rows = as_extents(batches)

    assert collapse(EMPTY + rows) == collapse(rows) == collapse(rows + EMPTY)
    assert collapse(EMPTY) == EMPTY


@given(logs())
def test_rows_come_out_by_log_and_producer(batches: list[Batch]) -> None:
    """Collapsed rows are sorted by log and producer, and within these by offset."""
    keys = [
        (row["log_id"], row["producer_id"], max(row["first_offset"], row["marker_offset"]))
        for row in collapse(as_extents(batches))
    ]

    assert keys == sorted(keys)


def test_stretches_do_not_join_in_another_order() -> None:
    """The fold is not commutative: a marker ends what came before it, not what comes behind."""
    before, behind = as_extents([data(0)]), as_extents([marker(1)])

    assert len(collapse(before + behind)) == 1
    assert len(collapse(behind + before)) == 2


@given(logs())
def test_the_fold_agrees_with_a_broker(batches: list[Batch]) -> None:
    """Collapsed rows are the broker's transactions: those ended, bare markers, and those open."""
    assert list(collapse(as_extents(batches))) == transaction_rows(batches)


@given(logs(count=1), cuts, choices)
def test_batches_fold_to_what_their_extents_collapse_to(
    batches: list[Batch], places: list[int], turns: list[int]
) -> None:
    """A fold of headers, cut anywhere and joined in any grouping, gives the broker's transactions too."""
    parts = [part_of_log(batches[start:stop]) for start, stop in cut(places, len(batches))]
    whole = tree(parts, joined, turns)

    assert list(collapse(whole.extents.columns(*COLUMNS))) == transaction_rows(batches)
    assert len(whole.extents) == len(transaction_rows(batches))


@given(logs(count=1), cuts, choices)
def test_producers_join_in_any_grouping(batches: list[Batch], places: list[int], turns: list[int]) -> None:
    """What each producer wrote is counted alike however the log was cut, and as a plain count does."""
    parts = [part_of_log(batches[start:stop]) for start, stop in cut(places, len(batches))]
    found = tree(parts, joined, turns).producers
    own: dict[int, list[Batch]] = {}
    for batch in batches:
        if batch.has_data and batch.producer >= 0:
            own.setdefault(batch.producer, []).append(batch)
    wanted = [
        {
            "log_id": 0,
            "producer_id": number,
            "batches": len(its),
            "records": sum(batch.records for batch in its),
            "first_epoch": its[0].epoch,
            "last_epoch": its[-1].epoch,
            "last_sequence": its[-1].last_sequence,
            "first_offset": its[0].offset,
            "last_offset": its[-1].last_offset,
            "first_timestamp": min(batch.timestamp for batch in its),
            "last_timestamp": max(batch.timestamp for batch in its),
        }
        for number, its in sorted(own.items())
    ]

    assert [{name: row[name] for name in wanted[0]} for row in found] == wanted


cells = int64s | st.sampled_from([0, 7, 254, 255, 256, 65_535, 2**32, 2**62, NO])


@given(
    st.lists(st.tuples(cells, cells, st.sampled_from([5, NO])), max_size=20),
    st.integers(1, 7),
    st.sampled_from([0, 100]),
)
def test_packed_rows_are_the_same_rows(rows: list[tuple[int, int, int]], size: int, few: int) -> None:
    """Columns packed in blocks of any size come out as they went in: whole, by column, by block and by place."""
    names = ("a", "b", "c")
    whole = Columns({name: np.array([row[i] for row in rows], np.int64) for i, name in enumerate(names)})
    with mock.patch.object(table_type, "FEW", few):
        packed = Columns.empty(names)
        for start in range(0, len(rows), size):
            packed += whole.take(slice(start, start + size)).packed()
    places = np.arange(len(rows))[::-1]

    assert len(packed) == len(rows)
    assert packed.columns(*names) == whole
    assert [packed[name].tolist() for name in names] == [whole[name].tolist() for name in names]
    assert packed.take(places) == whole.take(places)
    assert pickle.loads(pickle.dumps(packed))["b"].tolist() == whole["b"].tolist()


def test_a_packed_transaction_is_small() -> None:
    """Finished transactions of many producers take less than half of what plain columns would."""
    rows = collapse(
        as_extents([batch for n in range(500) for batch in (data(2 * n, producer=n), marker(2 * n + 1, producer=n))])
    )
    packed = Columns.empty(COLUMNS)
    packed += rows.packed()

    sent = pickle.dumps(packed)

    assert len(sent) < 64 * len(rows) < 8 * len(COLUMNS) * len(rows)
    assert pickle.loads(sent).columns(*COLUMNS) == rows


@given(logs(count=1, max_size=30), cuts)
def test_files_agree_with_a_broker(batches: list[Batch], places: list[int]) -> None:
    """Segments on disk, cut anywhere and read two batches at a time, give the broker's transactions and offsets."""
    pieces = [batches[start:stop] for start, stop in cut(places, len(batches)) if start < stop]
    if not pieces:
        return
    with tempfile.TemporaryDirectory() as folder, mock.patch.object(cursor, "CHUNK_ROOM", 2):
        found = audit([write_segments(Path(folder) / "t-0", *pieces)])
        rows = table(found, "transactions")
        seen = {
            offset for row in table(found, "visible") for offset in range(row["first_offset"], row["last_offset"] + 1)
        }
    (log,) = found.clusters[0].logs
    (broker,) = brokers(batches)

    kept = [name for name in COLUMNS if name != "position"]
    found_rows = collapse(log.partition.transactions.columns(*COLUMNS))
    assert [{name: row[name] for name in kept} for row in found_rows] == [
        {name: row[name] for name in kept} for row in transaction_rows(batches)
    ]
    assert log.partition.last_stable_offset == max(broker.last_stable_offset, batches[0].offset)
    assert log.partition.log_end_offset == broker.end
    assert seen == visible(batches)
    assert sorted(
        (row["producer_id"], row["first_offset"], row["marker_offset"])
        for row in rows
        if row["state"] == "aborted" and row["first_offset"] is not None
    ) == sorted(broker.aborted)


def test_a_marker_ends_the_data_before_it() -> None:
    """A transaction reaches from its first data batch to its marker."""
    assert brief(data(0), data(1), marker(2)) == [(2, 0, 1, 2)]


def test_data_behind_a_marker_begins_another() -> None:
    """What comes behind a marker is the next transaction, open where no marker follows."""
    assert brief(data(0), marker(1), data(2)) == [(1, 0, 0, 1), (1, 2, 2, NO)]


def test_a_marker_of_any_epoch_ends_it() -> None:
    """The first marker of a producer ends its transaction, whichever epoch it has."""
    assert brief(data(0, epoch=4), marker(1, epoch=2)) == [(1, 0, 0, 1)]


def test_a_bare_marker_is_a_row_of_no_batches() -> None:
    """A marker without data ends nothing, before or behind a transaction."""
    assert brief(marker(0), marker(1), data(2), marker(3), marker(4)) == [
        (0, NO, NO, 0),
        (0, NO, NO, 1),
        (1, 2, 2, 3),
        (0, NO, NO, 4),
    ]


def test_what_a_bare_marker_lacks_does_not_overwrite_data() -> None:
    """The last epoch and times of a transaction are those of its data, not the marker's."""
    (row,) = folded(data(0, epoch=7, timestamp=500), marker(1, epoch=8))

    names = ("last_epoch", "marker_epoch", "min_timestamp", "max_timestamp")
    assert [row[name] for name in names] == [7, 8, 500, 500]


def test_a_marker_ends_nobody_elses() -> None:
    """Transactions of other producers and logs go on."""
    assert brief(data(0), data(1, producer=1001), data(0, log=1), marker(2)) == [
        (1, 0, 0, 2),
        (1, 1, 1, NO),
        (1, 0, 0, NO),
    ]


def test_data_of_two_epochs_before_a_marker_is_one_transaction() -> None:
    """Late data is ended by the next transaction's marker: one row, which tells how many records of it are late."""
    (row,) = folded(data(0, epoch=1), data(1, epoch=2), marker(2, epoch=2, kind="abort"))

    assert (row["older_records"], row["first_epoch"], row["last_epoch"]) == (1, 1, 2)
    assert (row["first_offset"], row["marker_offset"], row["batches"], row["marker_type"]) == (0, 2, 2, 0)


def test_data_of_two_epochs_without_a_marker_is_one_open_transaction() -> None:
    """A broker's transaction stays open over a change of epoch: it begins at the late data."""
    assert brief(data(0, epoch=1), data(1, epoch=2)) == [(2, 0, 1, NO)]


@pytest.mark.parametrize("records", [(1, 1, 1), (1, 0, 1), (0, 0, 1)])
def test_records_before_the_last_change_of_epoch_are_older(records: tuple[int, int, int]) -> None:
    """So it is where an epoch comes back and where the cleaner left a batch without records, joined in any grouping."""
    steps = zip((0, 1, 2), (1, 2, 1), records, strict=True)
    a, b, c = (as_extents([data(offset, epoch=epoch, records=count)]) for offset, epoch, count in steps)

    assert [row["older_records"] for row in collapse(a + b + c)] == [sum(records[:2])]
    assert collapse(a + b + c) == collapse(collapse(a + b) + c) == collapse(a + collapse(b + c))


def test_data_of_one_epoch_has_no_older_records() -> None:
    """A plain transaction and an open one of one epoch tell of none, whatever their marker's epoch."""
    assert [row["older_records"] for row in folded(data(0), marker(1), data(2))] == [NO, NO]


def test_what_is_not_transactional_does_not_enter() -> None:
    """Idempotent data, plain data and control batches without records begin, extend and end nothing."""
    steps = [
        Step(0, 0, what, 2, 0) for what in ("plain", "idempotent", "data", "emptied", "idempotent", "commit", "plain")
    ]
    with tempfile.TemporaryDirectory() as folder:
        found = audit([write_segments(Path(folder) / "t-0", played(steps))])
        rows = table(found, "transactions")

    assert [(row["first_offset"], row["last_offset"], row["marker_offset"]) for row in rows] == [(4, 5, 9)]


@given(logs(LEGAL))
def test_legal_logs_hold_every_kind_of_row(batches: list[Batch]) -> None:
    """What is drawn as legal has no two data batches of decreasing epochs: the strategy is what it says."""
    last: dict[tuple[int, int], int] = {}
    for batch in batches:
        if batch.producer >= 0:
            assert batch.epoch >= last.get((batch.log, batch.producer), 0)
            last[batch.log, batch.producer] = batch.epoch


@pytest.mark.parametrize("size", [1, 2, 5000])
def test_many_rows_fold_in_one_pass(size: int) -> None:
    """A long transaction is one row with all of its batches, records and bytes."""
    rows = as_extents([data(0)])
    many = rows.take(np.zeros(size, np.intp))
    (row,) = collapse(many + as_extents([marker(1)]))

    assert (row["batches"], row["records"], row["size"]) == (size, size, 69 * size)

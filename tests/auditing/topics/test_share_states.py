"""What a share partition's records say of its offsets: a snapshot, and the updates after it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import kafkalog as library
from kafkalog.auditing.topics.groups import ShareOffsets, _put, _StateBatch
from kafkalog.kafka.internal_records import InternalRecord
from kafkalog.segments.internal_blocks import Written
from kafkalog.tables.internal_tables import SHARE_OFFSETS
from official import FIXTURES
from plain import Batch, write_segments

SNAPSHOT, UPDATE = 0, 1
AVAILABLE, ACKNOWLEDGED, ARCHIVED = 0, 2, 4


def _record(kind: int, start: int, *batches: tuple[int, int, int]) -> Written:
    names = ("firstOffset", "lastOffset", "deliveryState")
    value = {
        "leaderEpoch": 0, "stateEpoch": 1, "startOffset": start,
        "stateBatches": [{**dict(zip(names, one, strict=True)), "deliveryCount": 1} for one in batches],
    }  # fmt: skip
    key = {"groupId": "g", "topicId": "x", "partition": 0}
    return Written("f", 0, 0, 0, False, -1, kind, InternalRecord(kind, "ShareSnapshot", key, 0, value))  # type: ignore[arg-type]


def _row(*records: Any, end: int | None = None) -> dict[str, Any]:
    offsets = ShareOffsets()
    for record in records:
        offsets.apply(record)
    (row,) = offsets.rows({"x": "t"}, "log", {} if end is None else {("t", 0): end})
    return dict(zip(SHARE_OFFSETS.names, row, strict=True))


def test_updates_change_a_snapshot() -> None:
    """A later state takes the place of the earlier one where both are; the rest stays."""
    row = _row(
        _record(SNAPSHOT, 10, (10, 19, AVAILABLE), (20, 29, ACKNOWLEDGED)), _record(UPDATE, -1, (15, 22, ARCHIVED))
    )

    assert [(one["firstOffset"], one["lastOffset"], one["deliveryState"]) for one in row["in_flight"]] == [
        (10, 14, "available"), (15, 22, "archived"), (23, 29, "acknowledged"),
    ]  # fmt: skip
    assert (row["acknowledged"], row["given_up"]) == (7, 8)


def test_a_snapshot_begins_anew() -> None:
    """What updates before it said is in it, or is over."""
    row = _row(_record(UPDATE, 0, (0, 9, ACKNOWLEDGED)), _record(SNAPSHOT, 5, (5, 6, ARCHIVED)))

    assert (len(row["in_flight"]), row["acknowledged"], row["given_up"]) == (1, 0, 2)


def test_what_is_before_the_start_is_done() -> None:
    """The start moved over a part of the batches."""
    row = _row(_record(SNAPSHOT, 0, (0, 4, ACKNOWLEDGED), (5, 9, ACKNOWLEDGED)), _record(UPDATE, 7))

    assert (row["start_offset"], row["acknowledged"]) == (7, 3)
    assert [one["firstOffset"] for one in row["in_flight"]] == [5]


@pytest.mark.parametrize(("start", "end", "lag"), [(10, 50, 25), (10, 20, 0), (-1, 50, None), (10, None, None)])
def test_the_lag_is_what_is_neither_acknowledged_nor_given_up(start: int, end: int | None, lag: int | None) -> None:
    """Up to the log's end, of what is from the start on; none without a log, or where the start is not known."""
    row = _row(_record(SNAPSHOT, start, (10, 19, ACKNOWLEDGED), (20, 24, ARCHIVED), (25, 29, AVAILABLE)), end=end)

    assert row["lag"] == lag


def test_a_deleted_share_partition_has_no_lag() -> None:
    """Nobody reads there any more. A state that Kafka does not have is its number."""
    row = _row(_record(SNAPSHOT, 0, (0, 9, 9)), end=20)
    gone = _record(SNAPSHOT, 0)
    assert gone.content is not None
    deleted = _row(_record(SNAPSHOT, 0), gone._replace(content=gone.content._replace(value=None)), end=20)

    assert (row["lag"], row["in_flight"][0]["deliveryState"]) == (20, 9)
    assert (deleted["lag"], deleted["deleted"]) == (None, True)


def test_the_lag_of_a_share_group_is_against_its_log(tmp_path: Path) -> None:
    """A broker's share group that acknowledged 10 records from 60 on, in a log of 80; not at another moment."""
    case = FIXTURES / "k4-m-metadata-groups-44" / "data"
    write_segments(tmp_path / "stock-clicks.24-0", [Batch(0, at, at + 39, "plain", records=40) for at in (0, 40)])
    node = (case / "meta.properties").read_bytes()
    (tmp_path / "meta.properties").write_bytes(node.replace(b"node.id=1", b"node.id=77").replace(b"directory.id", b"#"))

    def lag(**moment: int) -> list[int | None]:
        return [row["lag"] for row in library.open([case, tmp_path]).groups(**moment).share_offsets]

    assert lag() == [80 - 60 - 10]
    assert lag(offset=10**6) == [None]


@pytest.mark.parametrize("last", [-5, 2**63 - 1])
def test_odd_ranges_harm_nothing(last: int) -> None:
    """One that ends before it begins, and one that has all offsets."""
    row = _row(_record(SNAPSHOT, 0, (0, last, ACKNOWLEDGED)))

    assert 0 <= row["acknowledged"] <= 2**63 - 1


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 8), st.integers(0, 4)), max_size=12))
def test_batches_are_those_of_a_plain_loop(ranges: list[tuple[int, int, int]]) -> None:
    """Offset by offset the last one that has it counts; batches are in order and do not overlap."""
    batches: list[_StateBatch] = []
    known: dict[int, int] = {}
    for first, more, state in ranges:
        _put(batches, _StateBatch(first, first + more, state, 1))
        known.update(dict.fromkeys(range(first, first + more + 1), state))

    found = [(offset, one.state) for one in batches for offset in range(one.first, one.last + 1)]
    assert found == sorted(known.items())

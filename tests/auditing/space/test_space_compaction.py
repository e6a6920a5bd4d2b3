"""What a compaction keeps: the kernel's offset map and its sums, held to a dictionary, compiled and interpreted."""

from __future__ import annotations

from array import array
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import kafkalog
from build import batch, record
from kafkalog.kafka.batch import DELETE_HORIZON, CellTable
from kafkalog.kernel import buffers, interpreted
from kafkalog.kernel import records as kernel_records
from kafkalog.segments.chunk import Chunk

PLAIN: ModuleType = interpreted("records", "tests_interpreted_compaction")
FORMS = pytest.mark.parametrize("form", [kernel_records, PLAIN], ids=["compiled", "interpreted"])
SLOTS = 256

keys = st.none() | st.binary(max_size=9)
values = st.none() | st.binary(max_size=70)
batches = st.lists(st.lists(st.tuples(keys, values), min_size=1, max_size=6), min_size=1, max_size=6)


def written(rows: list[list[tuple[bytes | None, bytes | None]]], **fields: int) -> bytes:
    """A log of these batches, each record with a time of its own."""
    data, offset = b"", 0
    for records in rows:
        some = [record(v, k, delta=i, later=i * 100) for i, (k, v) in enumerate(records)]
        data += batch(*some, base_offset=offset, **fields)
        offset += len(records)
    return data


def run(form: ModuleType, data: bytes, *, entries: int = SLOTS // 2, past: bool = False, until: int = 2**62) -> Any:
    """Put all keys into the map, then filter: (entries, sums by batch, which records stay)."""
    hashes, newest = array("q", bytes(8 * SLOTS)), array("q", bytes(8 * SLOTS))
    state = array("q", [0, entries, 12345678901234567, 0])
    chunks: list[Chunk] = []
    for chunk in kafkalog.scan(data):
        for block in chunk.records():
            recs = block.recs
            form.put(block.buf, recs.cells, 0, recs.count, hashes, newest, state)
        chunks.append(chunk)
    offsets, sums, kept = SimpleNamespace(hashes=hashes, newest=newest), [], []
    for chunk in kafkalog.scan(data):
        rows = chunk.heads.count
        table = CellTable(buffers.KEPT_COLUMNS, rows)
        for block in chunk.records():
            stays = bytearray(block.recs.capacity)
            conditions = array("q", [state[2], 0, until])
            form.keep(block, offsets, table.cells, bytes([past]) * rows, conditions, stays)
            kept += stays[: block.recs.count]
        sums += [table.row(row) for row in range(rows)]
    return state[0], sums, kept


@FORMS
@given(rows=batches)
def test_the_newest_record_of_each_key_stays(
    form: ModuleType, rows: list[list[tuple[bytes | None, bytes | None]]]
) -> None:
    """No other one does, and none without a key; tombstones stay while no horizon is set."""
    flat = [one for records in rows for one in records]
    last = {key: number for number, (key, _) in enumerate(flat)}
    entries, _, kept = run(form, written(rows))

    assert entries == len({key for key, _ in flat if key is not None})
    assert [bool(stay) for stay in kept] == [
        key is not None and last[key] == number for number, (key, _) in enumerate(flat)
    ]


@FORMS
@given(rows=batches)
def test_a_batch_written_again_has_the_bytes_of_its_records(
    form: ModuleType, rows: list[list[tuple[bytes | None, bytes | None]]]
) -> None:
    """The sum of a batch's kept records is what a writer makes of them, with the first one's time as base."""
    _, sums, kept = run(form, written(rows))
    stays = iter(kept)
    expected = []
    for records in rows:
        mine = [(i, k, v) for i, (k, v) in enumerate(records) if next(stays)]
        first = mine[0][0] if mine else 0
        expected.append(sum(len(record(v, k, delta=i, later=(i - first) * 100)) for i, k, v in mine))

    assert [row[2] for row in sums] == expected
    assert [row[0] for row in sums] == [
        sum(kept[start : start + len(records)])
        for start, records in zip([sum(map(len, rows[:n])) for n in range(len(rows))], rows, strict=True)
    ]


@FORMS
def test_a_tombstone_goes_when_its_horizon_has_passed(form: ModuleType) -> None:
    """Records with values stay."""
    data = written([[(b"a", None), (b"b", b"v")]], attributes=DELETE_HORIZON, base_timestamp=5000)

    assert run(form, data, past=False)[2] == [1, 1]
    assert run(form, data, past=True)[2] == [0, 1]


@FORMS
def test_an_empty_value_is_no_tombstone(form: ModuleType) -> None:
    """Only a record without a value is one."""
    data = written([[(b"a", b""), (b"b", None)]], attributes=DELETE_HORIZON, base_timestamp=5000)

    assert run(form, data, past=True)[2] == [1, 0]


@FORMS
def test_a_full_map_says_where_it_stopped(form: ModuleType) -> None:
    """The first key without room is answered; what is known already has room."""
    chunk = next(kafkalog.scan(written([[(b"a", b""), (b"b", b""), (b"a", b""), (b"c", b"")]])))
    block = next(iter(chunk.records()))
    hashes, newest, state = array("q", bytes(8 * 16)), array("q", bytes(8 * 16)), array("q", [0, 2, 77777, 0])

    assert form.put(block.buf, block.recs.cells, 0, 4, hashes, newest, state) == 3
    assert sorted(newest) == [0] * 14 + [1, 2]


@FORMS
def test_a_map_that_grows_keeps_its_entries(form: ModuleType) -> None:
    """Each key has its offset in the larger map, too."""
    chunk = next(kafkalog.scan(written([[(bytes([65 + n]), b"") for n in range(8)]])))
    block = next(iter(chunk.records()))
    hashes, newest, state = array("q", bytes(8 * 16)), array("q", bytes(8 * 16)), array("q", [0, 9, 77777, 0])
    assert form.put(block.buf, block.recs.cells, 0, 8, hashes, newest, state) == 8
    more, offsets = array("q", bytes(8 * 64)), array("q", bytes(8 * 64))
    form.move(hashes, newest, more, offsets)

    assert {(h, o) for h, o in zip(more, offsets, strict=True) if h} == {
        (h, o) for h, o in zip(hashes, newest, strict=True) if h
    }


@FORMS
def test_buffers_that_are_too_small_are_refused(form: ModuleType) -> None:
    """No cell beyond a buffer is read or written."""
    chunk = next(kafkalog.scan(written([[(b"a", b"")]])))
    block = next(iter(chunk.records()))
    recs, few = block.recs, array("q", bytes(8 * 4))
    with pytest.raises(IndexError):
        form.put(block.buf, recs.cells, 0, recs.count, few[:3], few, array("q", [0, 9, 7, 0]))
    with pytest.raises(IndexError):
        form.keep(
            block, SimpleNamespace(hashes=few, newest=few),
            CellTable(1, 1).cells, bytes(1), array("q", [7, 0, 9]), bytearray(recs.capacity),
        )  # fmt: skip

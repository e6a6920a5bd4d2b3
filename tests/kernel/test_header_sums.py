"""Sums, copies and neighbours of headers by the kernel, held to plain Python and to its other form."""

from __future__ import annotations

from array import array
from random import Random
from types import ModuleType

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import build
from kafkalog.auditing.partition.neighbours import KEPT_COLUMNS, Neighbours
from kafkalog.kafka.batch import CellTable
from kafkalog.kernel import buffers, headers, interpreted, numbers
from kafkalog.kernel import records as kernel_records

PLAIN = interpreted("headers", "tests_interpreted_header_sums")
PLAIN_ODDITIES = interpreted("records", "tests_interpreted_odd_records")
FORMS = [
    pytest.param(headers, id="in-use"),
    pytest.param(
        PLAIN,
        id="interpreted",
        marks=pytest.mark.skipif(not headers.COMPILED, reason="it is the form in use"),
    ),
]
EDGES = (0, -1, 2**31, 2**63 - 1, -(2**63) + 1, buffers.NONE)
offsets = st.integers(0, 12) | st.sampled_from(EDGES)
_rows = st.lists(
    st.tuples(
        st.integers(0, 3),  # position
        st.integers(0, 3),  # size
        offsets,
        offsets,
        st.integers(-1, 2),  # leader epoch
        st.integers(0, 2),  # magic
        st.sampled_from([1, 1, 1, 0]),  # valid
        st.integers(-1, 5) | st.just(buffers.NONE),  # records
    ),
    max_size=9,
)
COLUMNS = (
    buffers.POSITION, buffers.SIZE, buffers.BASE_OFFSET, buffers.LAST_OFFSET, buffers.LEADER_EPOCH, buffers.MAGIC,
    buffers.VALID, buffers.COUNT,
)  # fmt: skip


def table_of(rows: list[tuple[int, ...]]) -> CellTable:
    heads = CellTable(len(buffers.BATCH_COLUMNS), max(1, len(rows)))
    heads.count = len(rows)
    for row, cells in enumerate(rows):
        for column, cell in zip(COLUMNS, cells, strict=True):
            heads.set(column, row, cell)
    return heads


@pytest.mark.parametrize("form", FORMS)
@given(_rows)
def test_sums_are_those_of_whole_batches(form: ModuleType, rows: list[tuple[int, ...]]) -> None:
    """Damaged headers count for nothing, counts that can't be true for no records."""
    heads, found = table_of(rows), array("q", bytes(8 * buffers.SUM_CELLS))
    form.sums(heads.cells, heads.count, CellTable(6, 2).cells, 0, found)
    whole = [(number, row) for number, row in enumerate(rows) if row[6]]
    short = sum(row[5] > 1 and 0 <= row[7] <= numbers.add64(row[3], -row[2]) for _, row in whole)

    assert found[:6].tolist() == [
        len(whole), sum(max(0, PLAIN.believed(heads.cells, at)) for at, _ in whole), sum(row[1] for _, row in whole),
        whole[0][0] if whole else -1, whole[-1][0] if whole else -1, short,
    ]  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
@given(_rows, st.integers(0, 3))
def test_whole_batches_are_kept_after_those_before(
    form: ModuleType, rows: list[tuple[int, ...]], before: int
) -> None:  # fmt: skip
    """The columns that are asked for, without the damaged rows; nothing else of the table is touched."""
    heads, room = table_of(rows), before + len(rows) + 1
    wanted = array("q", [buffers.LAST_OFFSET, buffers.SIZE])
    kept = CellTable(2, room)
    kept.flat[:] = array("q", [7]) * (2 * room)
    n = kept.count = form.keep(heads.cells, heads.count, wanted, kept.cells, before)
    whole = [row for row in rows if row[6]]

    assert n == before + len(whole)
    for column, of_row in enumerate((3, 1)):
        cells = kept.column(column).tolist()
        assert cells == [7] * before + [row[of_row] for row in whole]


class _Any(Neighbours):
    """Neighbours that look at every row, whatever the kernel says."""

    def __init__(self, before: np.ndarray) -> None:
        self._file = ""
        self.before = before

    def wrong(self, rows: np.ndarray) -> list[str]:
        return [finding.code for finding in self._wrong(np.concatenate([self.before, rows], axis=1))]


@pytest.mark.parametrize("form", FORMS)
@given(_rows, st.lists(_rows.filter(bool).map(lambda rows: rows[0]), max_size=2))
def test_what_contradicts_its_neighbours_is_never_passed_over(
    form: ModuleType, rows: list[tuple[int, ...]], earlier: list[tuple[int, ...]]
) -> None:
    """Where the kernel says that all rows agree, the rules find nothing."""
    heads = table_of(rows)
    before = np.zeros((len(KEPT_COLUMNS), 2), np.int64)
    if earlier:
        before[:, -len(earlier) :] = table_of(earlier).numpy()[list(KEPT_COLUMNS)]
    told = form.disagree(heads.cells, heads.count, memoryview(before), len(earlier))
    if len(rows) + len(earlier) > 2 and not told:
        with np.errstate(over="ignore"):
            assert _Any(before[:, 2 - len(earlier) :]).wrong(heads.numpy()[list(KEPT_COLUMNS)]) == []


def test_a_healthy_log_has_no_disagreement() -> None:
    """Batches in order need nothing more, across the chunks' seams as within them."""
    rows = [(61 * number, 61, 3 * number, 3 * number + 2, 4, 2, 1, 3) for number in range(9)]
    heads = table_of(rows[2:])
    before = table_of(rows[:2]).numpy()[list(KEPT_COLUMNS)].copy()

    assert not headers.disagree(heads.cells, heads.count, before, 2)
    heads.set(buffers.BASE_OFFSET, 0, 5)
    assert headers.disagree(heads.cells, heads.count, before, 2)


@pytest.mark.parametrize("form", FORMS)
def test_short_tables_are_refused(form: ModuleType) -> None:
    """The loops check no bounds: what they rely on is checked before."""
    short, long = array("q", [0]), array("q", bytes(8 * buffers.BATCH_CELLS))
    table, narrow = CellTable(buffers.BATCH_CELLS, 1).cells, CellTable(1, 1).cells
    wide = CellTable(buffers.BATCH_CELLS, 2).cells
    for call in (
        lambda: form.sums(table, 1, wide, 0, short),
        lambda: form.sums(table, 2, wide, 0, long),
        lambda: form.sums(table, 1, narrow, 0, long),
        lambda: form.sums(narrow, 1, wide, 0, long),
        lambda: form.last_two(table, 1, narrow),
        lambda: form.at_offsets(table, 1, long, short, long, long, long, long, long),
        lambda: form.at_times(table, 0, 0, 0, short, short, short, short),
        lambda: form.keep(table, 1, short, narrow, 1),
        lambda: form.keep(table, 1, array("q", [21]), wide, 0),
        lambda: form.disagree(table, 2, wide, 0),
        lambda: form.disagree(table, 1, wide, 3),
        lambda: form.disagree(table, 1, narrow, 0),
    ):
        with pytest.raises(IndexError):
            call()


def test_records_in_order_are_those_that_nothing_is_said_about() -> None:
    """The quick question and the search for odd batches agree, compiled and interpreted, on damaged records too."""
    random = Random(5)
    answers = set()
    for _ in range(400):
        records = [build.record(b"k", b"v" * random.choice([1, 80]), delta=at, later=at) for at in range(3)]
        data = bytearray(build.batch(*records, attributes=random.choice([0, 0, 8, 16])))
        for _ in range(random.randrange(3)):
            data[random.randrange(61, len(data))] = random.choice([0, 1, 2, 128, 255])
        data = bytearray(
            build.batch(
                pack=lambda _, body=bytes(data[61:]): body,
                records_count=3,
                last_offset_delta=2,
                base_timestamp=0,
                max_timestamp=2,
            )
        )
        heads = CellTable(len(buffers.BATCH_COLUMNS), 2)
        heads.count, *_ = headers.read_headers(data, 0, len(data), 0, heads.cells, 0)
        found = array("q", bytes(8 * buffers.FOUND_CELLS))
        said = [form.in_order(data, heads.cells, heads.count, found) for form in (kernel_records, PLAIN_ODDITIES)]
        odd = kernel_records.next_odd(data, heads.cells, 0, heads.count, False, found)
        assert said == [odd == heads.count] * 2
        answers.add(said[0])
    assert answers == {True, False}

"""Keys and values as bytes, all of a block at once: the kernel's loop, compiled and interpreted."""

from __future__ import annotations

from array import array
from types import ModuleType
from typing import Final

import pytest

from kafkalog.kernel import buffers, interpreted
from kafkalog.kernel import records as kernel_records
from kafkalog.segments.decoded import record_cells

DATA: Final = bytes(range(100))
FORMS = pytest.mark.parametrize(
    "form", [kernel_records, interpreted("records", "tests_interpreted_copies")], ids=["compiled", "interpreted"]
)


def copied(form: ModuleType, spans: list[tuple[int, int]], picks: list[int], count: int | None = None) -> list[bytes]:
    """Copy the picked ones of some spans, each a start and a size."""
    recs = record_cells(len(spans))
    for row, (start, size) in enumerate(spans):
        recs.set(buffers.VALUE_START, row, start)
        recs.set(buffers.VALUE_SIZE, row, size)
    number = len(picks) if count is None else count
    found: list[bytes] = form.copies(
        DATA, recs.cells, buffers.VALUE_START, buffers.VALUE_SIZE, array("q", picks), number
    )
    return found


@FORMS
def test_pieces_are_copied_in_the_order_of_the_picks(form: ModuleType) -> None:
    """Null is None, empty is empty, also at the end of the bytes; the first so many count."""
    spans = [(3, 4), (0, -1), (100, 0), (99, 1)]

    assert copied(form, spans, [3, 0, 1, 2, 0]) == [DATA[99:], DATA[3:7], None, b"", DATA[3:7]]
    assert copied(form, spans, [0, 1, 2], 1) == [DATA[3:7]]
    assert copied(form, spans, []) == []


@FORMS
@pytest.mark.parametrize(
    ("span", "picks", "count"),
    [
        ((-1, 1), [0], 1), ((99, 2), [0], 1), ((1 << 62, 1 << 62), [0], 1), ((0, 1), [-1], 1), ((0, 1), [1], 1),
        ((0, 1), [0], 2),
    ],
)  # fmt: skip
def test_nothing_outside_of_the_bytes_is_read(
    form: ModuleType, span: tuple[int, int], picks: list[int], count: int
) -> None:
    """Whatever the cells say."""
    with pytest.raises(IndexError):
        copied(form, [span], picks, count)


def varint(number: int) -> bytes:
    """Write a number below 64 as Kafka's varints are."""
    return bytes([number * 2 if number >= 0 else -number * 2 - 1])


@FORMS
def test_headers_are_copied_record_by_record(form: ModuleType) -> None:
    """None, one whose value is null, two; what runs past the bytes is refused."""
    one = varint(1) + b"k" + varint(-1)
    two = varint(2) + b"ab" + varint(3) + b"xyz" + varint(0) + varint(0)
    recs = record_cells(3)
    for row, (start, count) in enumerate([(0, 0), (0, 1), (len(one), 2)]):
        recs.set(buffers.HEADERS_START, row, start)
        recs.set(buffers.HEADERS_COUNT, row, count)

    found = form.copies_of_headers(one + two, recs.cells, array("q", [2, 0, 1]), 3)

    assert found == [((b"ab", b"xyz"), (b"", b"")), (), ((b"k", None),)]
    for data in (one + two[:-1], one + two[:4], one):
        with pytest.raises(IndexError):
            form.copies_of_headers(data, recs.cells, array("q", [2]), 1)
    for row, start in ((-1, 0), (3, 0), (1, -1)):
        recs.set(buffers.HEADERS_START, 1, start)
        with pytest.raises(IndexError):
            form.copies_of_headers(one, recs.cells, array("q", [row]), 1)

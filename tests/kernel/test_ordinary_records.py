"""The records that the compiled kernel looks at by a shorter way are the same as by the longer one."""

from __future__ import annotations

from array import array
from typing import Any, Final

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import build
from kafkalog.kafka.batch import CellTable
from kafkalog.kernel import buffers, interpreted
from kafkalog.kernel import headers as kernel_headers
from kafkalog.kernel import records as kernel_records

LONGER: Final = interpreted("records", "tests_interpreted_ordinary_records")
LONGER_LOOK: Final = interpreted("records", "tests_interpreted_ordinary_oddities")
pytestmark = pytest.mark.skipif(not kernel_headers.COMPILED, reason="there is no compiled form to compare with")

# Sizes and deltas on both sides of where a number takes another byte.
sizes = st.sampled_from([0, 1, 2, 62, 63, 64, 65, 8191, 8192, 8193])
contents = st.none() | sizes.map(bytes)
deltas = st.sampled_from([-1, -64, -65, 0, 1, 63, 64, 8191, 8192, 2**20 - 1, 2**20, 2**27 - 1, 2**27, 2**31 - 1])
headers = st.lists(st.tuples(st.sampled_from([b"", b"k", b"h" * 63, b"h" * 64]), contents), max_size=3)
records = st.builds(build.record, contents, contents, st.just([]) | headers, delta=deltas, later=deltas)
batches = st.builds(
    lambda records, **fields: build.batch(*records, **fields),
    st.lists(records, min_size=1, max_size=6),
    base_offset=st.sampled_from([0, 2**63 - 2]),
    base_timestamp=st.sampled_from([0, 2**63 - 2, -(2**63)]),
    base_sequence=st.sampled_from([-1, -7, 0, 5, 2**31 - 2**27, 2**31 - 2**27 - 1, 2**31 - 1]),
    attributes=st.sampled_from([0, 8]),
    last_offset_delta=st.just(9),
)


def _read(form: Any, data: bytes, stop: int, room: int) -> list[Any]:
    """Return all that a form answers and writes for the one batch in `data`, whose records end at `stop`."""
    heads = CellTable(len(buffers.BATCH_COLUMNS), 1)
    heads.count, _, _ = kernel_headers.read_headers(data, 0, len(data), 0, heads.cells, 0)
    if not heads.count and heads.cell(buffers.SIZE, 0) != len(data):
        return []
    heads.set(buffers.SECTION_STOP, 0, stop)
    answers: list[Any] = []
    row = 0
    while row < 1:
        recs = CellTable(len(buffers.RECORD_COLUMNS), room)
        answer = form.read_records(data, heads.cells, row, 1, False, recs.cells)
        answers.append((answer, recs.cells.tolist(), heads.cells.tolist()))
        row = answer[1]
    return answers


def _in_order(form: Any, data: bytes, stop: int, **cells: int) -> bool | None:
    """Say what a form says of the one batch in `data`, whose records end at `stop`; `cells` replace the header's."""
    heads = CellTable(len(buffers.BATCH_COLUMNS), 1)
    heads.count, _, _ = kernel_headers.read_headers(data, 0, len(data), 0, heads.cells, 0)
    if heads.cell(buffers.SIZE, 0) == 0:
        return None
    heads.set(buffers.SECTION_STOP, 0, stop)
    heads.set(buffers.VALID, 0, 1)
    for name, value in cells.items():
        heads.set(getattr(buffers, name), 0, value)
    answer: bool = form.in_order(data, heads.cells, 1, array("q", bytes(8 * buffers.FOUND_CELLS)))
    return answer


@given(batches, st.integers(1, 7))
def test_whole_batches_are_read_alike(data: bytes, room: int) -> None:
    """Numbers of one to five bytes, nulls, headers, sequences that wrap: equal columns, however many rows have room."""
    assert _read(kernel_records, data, len(data), room) == _read(LONGER, data, len(data), room)


@given(batches, st.data())
@example(build.batch(*[build.record(b"k", b"v" * 40)] * 3), None)
def test_changed_batches_are_read_alike(data: bytes, draw: st.DataObject | None) -> None:
    """A byte among the numbers changed, or the records cut anywhere: the same error at the same place."""
    changed, stop = bytearray(data), len(data)
    if draw is not None:
        numbers = [at for at in range(61, len(data)) if data[at] or data[at - 1]]  # contents are zeros
        changed[draw.draw(st.sampled_from(numbers or [61]))] = draw.draw(
            st.sampled_from([0, 1, 2, 63, 126, 127, 128, 129, 254, 255])
        )
        stop = draw.draw(st.integers(61, len(data)) | st.just(len(data)))
    data = bytes(changed)

    assert _read(kernel_records, data, stop, 7) == _read(LONGER, data, stop, 7)


rising = st.lists(st.tuples(contents, contents, st.just([]) | headers, st.integers(1, 99), deltas), min_size=1)


@given(
    rising, st.sampled_from([0, 1, 5, 16, 32, 48]), st.sampled_from([0, 0, 8]), st.sampled_from([0, 2**62]), st.data()
)
@example([(b"\0\0\0\1", b"\0\0\0\0\0\5", [], 1, 0)], 48, 0, 0, None)
@example([(b"\0\0\0\2", b"\0\0\0\0\0\5", [], 1, 0)], 48, 0, 0, None)
@example([(b"\0\1\0\1", b"\0\0\0\0\0\5", [], 1, 0)], 48, 0, 0, None)
@example([(b"\0\0\0\1", b"\0\1\0\0\0\5", [], 1, 0)], 48, 0, 0, None)
@example([(b"k", b"v", [], 1, 0), (b"k", b"v", [], 0, 0)], 0, 0, 0, None)
@example([(b"k", b"v", [], 9, 0), (b"k", b"v", [], -1, 0)], 0, 0, 0, None)
def test_the_same_batches_are_in_order(
    parts: list[Any], kind: int, times: int, base: int, draw: st.DataObject | None
) -> None:
    """Records of rising offsets, markers, and what one changed byte or header field makes of them: the same answer."""
    delta, records = -1, []
    for key, value, some, step, later in parts:
        delta += step
        records.append(build.record(value, key, some, delta=delta, later=later))
    newest = base + max(part[-1] for part in parts)
    data = bytearray(
        build.batch(
            *records, base_offset=7, base_timestamp=base, max_timestamp=newest, last_offset_delta=delta,
            attributes=kind & 48 | times,
        )
    )  # fmt: skip
    spare = bytes(40)  # else the last batch of a buffer never goes the shorter way
    cells = {"LAST_OFFSET": 7 + delta, "MAX_TIMESTAMP": newest}
    if draw is not None:
        if draw.draw(st.booleans()):
            numbers = [at for at in range(61, len(data)) if data[at] or data[at - 1]]
            data[draw.draw(st.sampled_from(numbers))] = draw.draw(st.sampled_from([0, 1, 2, 3, 126, 128, 129, 255]))
        name = draw.draw(st.sampled_from(list(cells)))
        cells[name] += draw.draw(st.sampled_from([0, 0, 1, -1, -8]))
    for end in (b"", spare):
        said = [_in_order(form, bytes(data) + end, len(data), **cells) for form in (kernel_records, LONGER_LOOK)]
        assert said[0] is said[1] is not None


@pytest.mark.parametrize(("at", "byte"), [(-2, 3), (-2, 0x81), (1, 1), (1, 128), (4, 3)])
def test_one_odd_byte_is_not_in_order(at: int, byte: int) -> None:
    """A size below null, attributes, a number with bytes it does not need: never in order, by either way."""
    record = bytearray(build.record(None, None, delta=0))
    record[at] = byte
    data = build.batch(pack=lambda _: bytes(record), records_count=1, base_timestamp=0, max_timestamp=0)
    for form in (kernel_records, LONGER_LOOK):
        assert _in_order(form, data + bytes(40), len(data)) is False

    data = build.batch(build.record(None, None), base_timestamp=0, max_timestamp=0)
    assert _in_order(kernel_records, data + bytes(40), len(data)) is True

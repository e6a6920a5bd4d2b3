"""The kernel runs compiled and interpreted: one answer, whatever the bytes."""

from __future__ import annotations

import re
import struct
import sys
from array import array
from collections.abc import Callable, Iterator
from copy import deepcopy
from importlib import import_module
from random import Random
from types import ModuleType, SimpleNamespace
from typing import Any, Final
from unittest import mock

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import build
from kafkalog import kernel
from kafkalog.folds import fold, state_table
from kafkalog.kafka.batch import CellTable
from kafkalog.kafka.control import control_record
from kafkalog.kafka.layout import MESSAGE_V0, MESSAGE_V1, RECORD_BATCH
from kafkalog.kafka.message import MalformedError
from kafkalog.kernel import buffers, interpreted, plans
from kafkalog.kernel import fold as kernel_fold
from kafkalog.kernel import headers as kernel_headers
from kafkalog.kernel import records as kernel_records
from kafkalog.kernel import text as kernel_text
from kafkalog_cli.render.kafka.segment_lines import line_template

Form = SimpleNamespace  # the modules that have both forms, by their names
_LOOPS: Final = ("headers", "records")
IN_USE: Final = Form(**{name: import_module(f"kafkalog.kernel.{name}") for name in _LOOPS})
PLAIN: Final = Form(**{name: interpreted(name, f"tests_interpreted_{name}") for name in _LOOPS})
PLAIN_LINES = interpreted("text", "tests_interpreted_lines")
PLAIN_LOOPS = interpreted("fold", "tests_interpreted_loops")
TEMPLATE: Final = line_template("4.3")
EDGES: Final = (0, 1, -1, 2**31 - 1, -(2**31), 2**31, 2**63 - 1, -(2**63) + 1, -(2**63), 2**62, -(2**62))
needs_compiled = pytest.mark.skipif(not kernel_headers.COMPILED, reason="there is no compiled form to compare with")

int64s = st.sampled_from(EDGES) | st.integers(-(2**63), 2**63 - 1)
int32s = st.sampled_from([e for e in EDGES if -(2**31) <= e < 2**31]) | st.integers(-(2**31), 2**31 - 1)
contents = st.none() | st.binary(max_size=12) | st.text(max_size=4).map(str.encode)
records = st.builds(
    build.record,
    contents,
    contents,
    st.lists(st.tuples(st.binary(max_size=4), contents), max_size=3),
    delta=int32s,
    later=int64s,
)
batches = st.builds(
    lambda records, **fields: build.batch(*records, **fields),
    st.lists(records, max_size=4),
    base_offset=int64s,
    attributes=st.sampled_from([0, 8, 16, 32, 48, 64, 0x7FF8, -8]),
    base_timestamp=int64s,
    base_sequence=int32s,
    last_offset_delta=int32s,
)
odd_batches = st.builds(
    lambda record, count, codec: build.batch(record, records_count=count, codec=codec),
    records,
    int32s,
    st.integers(0, 4),
)
# Record bytes that no writer makes: numbers of too many bytes, lengths that lie, under a checksum that holds.
crumbs = st.sampled_from(
    [b"\0", b"\x01", b"\x02", b"\x0c", b"\x7f", b"\x80", b"\xff", b"\x80" * 4, b"\xff" * 5, b"\x80" * 9]
)
raw_records = (
    st.lists(crumbs, min_size=5, max_size=14)
    .map(b"".join)
    .map(lambda body: bytes(build.VARINT.build(len(body) + 1)) + b"\0" + body)
)
raw_batches = st.builds(
    lambda pieces, count: build.batch(pack=lambda _: b"".join(pieces), records_count=count, last_offset_delta=9),
    st.lists(raw_records | records | crumbs, min_size=1, max_size=4),
    st.integers(1, 3),
)
messages = st.builds(build.message, contents, contents, offset=int64s, magic=st.integers(0, 1), timestamp=int64s)
markers = st.builds(build.marker, st.integers(0, 6), coordinator_epoch=int32s, base_offset=int64s)
windows = st.lists(batches | odd_batches | raw_batches | messages | markers, max_size=5).map(b"".join)


@st.composite
def damaged_windows(draw: st.DrawFn) -> bytes:
    """Draw whole batches, then change single bytes, put numbers where lengths may be, cut and repeat."""
    data = bytearray(draw(windows))
    for _ in range(draw(st.integers(0, 4))):
        at = draw(st.integers(0, max(len(data) - 1, 0)))
        match draw(st.sampled_from(["byte", "byte", "number", "cut", "repeat"])):
            case "byte":
                data[at : at + 1] = bytes([draw(st.integers(0, 255))])
            case "number":
                data[at : at + 4] = struct.pack(">i", draw(int32s))
            case "cut":
                del data[at:]
            case "repeat":
                data += data[at:]
    return bytes(data)


def _tables(form: Form, data: bytes, capacity: int, room: int) -> Iterator[Any]:
    """Yield all that the two loops of a form answer and write for `data`; it goes on behind a bad batch by its size."""
    at, why = 0, form.headers.FULL
    while why == form.headers.FULL or (why == form.headers.BAD and at < len(data)):
        heads = CellTable(len(buffers.BATCH_COLUMNS), capacity)
        rows, at, why = form.headers.read_headers(data, at, len(data), 1000, heads.cells, 0)
        yield rows, at, why, heads.cells.tolist()
        rows += why == form.headers.BAD and rows < capacity and heads.cell(buffers.SIZE, rows) > 0
        yield from _records(form, data, heads, rows, room)
        if why == form.headers.BAD:
            at += max(heads.cell(buffers.SIZE, rows - 1) if rows else 0, 1)


def _records(form: Form, data: bytes, heads: CellTable, rows: int, room: int) -> Iterator[Any]:
    types, epochs = array("q", bytes(8 * heads.capacity)), array("q", bytes(8 * heads.capacity))
    odd = array("q", bytes(8 * buffers.FOUND_CELLS))
    for row in range(rows):
        start, stop, count = (
            heads.cell(column, row) for column in (buffers.SECTION_START, buffers.SECTION_STOP, buffers.COUNT)
        )
        if start >= 0 and count != buffers.NONE:
            yield form.records.find_oddities(data, start, stop, count, odd), odd.tolist()
    for options in range(4):
        broken = array("q", bytes(8 * rows))
        yield form.headers.broken_rules(heads.cells, rows, options & 1, options & 2, broken), broken
    for unpacked in (False, True):
        row = 0
        looked = CellTable(len(buffers.BATCH_COLUMNS), heads.capacity)
        looked.flat[:] = heads.flat
        while row < rows:
            row = form.records.next_odd(data, looked.cells, row, rows, unpacked, odd)
            yield row, looked.cells.tolist()
            row += 1
    yield form.headers.markers(data, heads.cells, rows, types, epochs), types, epochs
    row, unpacked = 0, False
    for _ in range(1000):
        recs = CellTable(len(buffers.RECORD_COLUMNS), room)
        count, row, why, errors = form.records.read_records(
            data, heads.cells, row, row + 1 if unpacked else rows, unpacked, recs.cells
        )
        yield count, row, why, errors, recs.cells.tolist(), heads.cells.tolist()
        unpacked = why == form.records.PACKED  # read the packed bytes as if they were records: any bytes may be
        if why == form.records.DONE and row >= rows:
            return


@needs_compiled
@given(damaged_windows(), st.integers(1, 4), st.integers(1, 5))
def test_both_forms_read_the_same(data: bytes, capacity: int, room: int) -> None:
    """Headers, checksums, records and markers: equal columns, counts, positions and error codes."""
    assert list(_tables(IN_USE, data, capacity, room)) == list(_tables(PLAIN, data, capacity, room))


@needs_compiled
@given(st.binary(max_size=200), st.integers(0, 220), st.integers(0, 220), st.integers(0, 2**32 - 1))
def test_both_forms_sum_the_same(data: bytes, start: int, stop: int, crc: int) -> None:
    """Checksums of any stretch, also of one that is none, and their shift, which is what makes sums linear."""
    for name in ("crc32c", "crc32"):
        in_use, plain = (getattr(form.headers, name) for form in (IN_USE, PLAIN))
        assert in_use(data, start, stop, crc) == plain(data, start, stop, crc)
    assert kernel_headers.shift(crc, stop) == PLAIN.headers.shift(crc, stop)
    whole = kernel_headers.crc32c(data, 0, len(data))
    cut = min(start, len(data))
    rest = kernel_headers.crc32c(data, cut, len(data))
    assert kernel_headers.shift(kernel_headers.crc32c(data, 0, cut), len(data) - cut) ^ rest == whole


_beginnings = st.sampled_from(
    [b"", b"\0\0\0\0", b"\0\0\0\x01", b"\0\x01\0\x01", b"\0\0\x01\0", b"\xff\xff\0\0", b"\0\0\0\x03"]
)


@given(_beginnings, st.binary(max_size=2), st.none() | _beginnings, st.binary(max_size=3))
def test_one_rule_says_what_a_marker_is(key: bytes, rest: bytes, value: bytes | None, more: bytes) -> None:
    """What the audit's loop takes for a marker is what the reader of control records does, epoch included."""
    key, value = key + rest, None if value is None else value + more
    data = build.batch(build.record(value, key), attributes=0x30)
    heads, kinds, epochs = CellTable(len(buffers.BATCH_COLUMNS), 1), array("q", [0]), array("q", [0])
    kernel_headers.read_headers(data, 0, len(data), 0, heads.cells, 0)
    IN_USE.headers.markers(data, heads.cells, 1, kinds, epochs)
    try:
        control = control_record(key, value)
    except MalformedError:
        control = None

    is_end = control is not None and control.coordinator_epoch is not None
    assert (kinds[0], epochs[0]) == ((control.type, control.coordinator_epoch) if is_end else (-2, -1))


@needs_compiled
@given(st.lists(st.tuples(int64s, int64s, int32s), min_size=1, max_size=6), int64s, int32s, int64s, int64s)
@example([(-(2**62), -(2**62), 0), (2**62, 2**62, 0)] * 3, buffers.NONE, -1, EDGES[8], EDGES[6])
def test_both_forms_judge_order_the_same(
    rows: list[tuple[int, int, int]], last: int, epoch: int, low: int, high: int
) -> None:
    """What breaks the order of offsets and epochs, and what both remember of it, at the ends of int64 too."""
    answers = []
    for form in (IN_USE, PLAIN):
        heads = CellTable(len(buffers.BATCH_COLUMNS), len(rows))
        for row, cells in enumerate(rows):
            for column, cell in zip(
                (buffers.BASE_OFFSET, buffers.LAST_OFFSET, buffers.LEADER_EPOCH), cells, strict=True
            ):
                heads.set(column, row, cell)
        state = array("q", [last, epoch, low, high, 0, 0, 0])
        row, answer = 0, []
        while row < len(rows):
            row, rule = form.headers.order(heads.cells, row, len(rows), state)
            answer.append((row, rule, state.tolist()))
            row += 1
        answers.append(answer)
    assert answers[0] == answers[1]


def _written(form: ModuleType, data: bytes, room: int, metadata: bool, contents: bool) -> Iterator[Any]:
    """Yield the lines that a form of the formatter writes for the whole batches at the front of `data`."""
    heads = CellTable(len(buffers.BATCH_COLUMNS), 8)
    heads.count, _, _ = kernel_headers.read_headers(data, 0, len(data), 0, heads.cells, 0)
    out, row, text = bytearray(room), 0, b""
    while row < heads.count:
        row, used = form.batch_lines(heads.cells, row, heads.count, TEMPLATE, out, 0)
        text += out[:used]
    yield text  # the interpreted form may write fewer rows a call
    recs = CellTable(len(buffers.RECORD_COLUMNS), 32)
    recs.count, stop, why, _ = kernel_records.read_records(data, heads.cells, 0, heads.count, False, recs.cells)
    block = SimpleNamespace(buf=data, heads=heads, recs=recs)
    number = row = used = 0
    while number < recs.count:
        number, used, row, why = form.record_lines(
            block, number, row, plans.WITH_METADATA * metadata + plans.WITH_CONTENTS * contents, TEMPLATE, out, used,
            b"", CellTable(1, 1).cells,
        )  # fmt: skip
        yield number, row, why, bytes(out[:used])
        number += why == form.SPECIAL
        used = 0 if why == form.NO_ROOM else used


@needs_compiled
@given(windows | damaged_windows(), st.integers(plans.LINE_ROOM + 64, 4000), st.booleans(), st.booleans())
def test_both_forms_write_the_same(data: bytes, room: int, metadata: bool, contents: bool) -> None:
    """Lines of batches and of records, with any options, into buffers of any size."""
    assert list(_written(kernel_text, data, room, metadata, contents)) == list(
        _written(PLAIN_LINES, data, room, metadata, contents)
    )


@needs_compiled
@given(st.lists(int64s, max_size=6), int64s)
@example([2**63 - 1, -(2**63)], 0)
def test_both_forms_find_the_same_breaks(offsets: list[int], previous: int) -> None:
    """Records whose offset is not the one before plus one, as Java counts: behind 2**63 - 1 comes -2**63."""
    answers = []
    for form in (kernel_text, PLAIN_LINES):
        recs, found = CellTable(len(buffers.RECORD_COLUMNS), 8), array("q", bytes(64))
        for row, offset in enumerate(offsets):
            recs.set(buffers.OFFSET, row, offset)
        answers.append((form.breaks(recs.cells, len(offsets), previous, found), found))
    assert answers[0] == answers[1]


_LEAD: Final = re.compile(
    rb"[\x00-\x7f]|[\xc2-\xdf][\x80-\xbf]|\xe0[\xa0-\xbf][\x80-\xbf]|[\xe1-\xec\xee\xef][\x80-\xbf]{2}"
    rb"|\xed[\x80-\x9f][\x80-\xbf]|\xf0[\x90-\xbf][\x80-\xbf]{2}|[\xf1-\xf3][\x80-\xbf]{3}|\xf4[\x80-\x8f][\x80-\xbf]{2}"
)
# What Java's decoder takes for one malformed sequence: the longest start of a character, a surrogate as a whole.
_BROKEN: Final = re.compile(
    rb"\xe0[\xa0-\xbf]|[\xe1-\xef][\x80-\xbf]{1,2}|\xf0[\x90-\xbf][\x80-\xbf]?|[\xf1-\xf3][\x80-\xbf]{1,2}"
    rb"|\xf4[\x80-\x8f][\x80-\xbf]?|."
    , re.DOTALL,
)  # fmt: skip


def _java(data: bytes) -> str:
    """Decode as ``java.lang.String`` does, by its rules one at a time."""
    text, at = "", 0
    while at < len(data):
        whole = _LEAD.match(data, at)
        match = whole or _BROKEN.match(data, at)
        assert match is not None
        text += match[0].decode() if whole else "\ufffd"
        at = match.end()
    return text


pieces = st.sampled_from([bytes([byte]) for byte in (0x41, 0x80, 0x9F, 0xA0, 0xBF, 0xC0, 0xC2, 0xE0, 0xED, 0xEF, 0xF0)])
more_pieces = st.sampled_from(
    [b"\xf4", b"\x8f", b"\x90", b"\xf5", b"\xff", b"\xed\xa0\x80", "é€😀".encode(), b"12345678"]
)


@pytest.mark.parametrize("decode", [kernel_text.java_text, PLAIN_LINES.java_text], ids=["in use", "interpreted"])
@given(st.lists(pieces | more_pieces, max_size=12).map(b"".join) | st.binary(max_size=40))
@example(b"\xed\xa0\x80")
@example(b"\xed\xbf\xbf!\xed\xa0")
@example(b"\xe1\xed\xa0\x80")
def test_text_is_java_s(decode: Callable[[bytes], str], data: bytes) -> None:
    """Malformed bytes become as many U+FFFD as Java makes of them: one for ED A0..BF xx, where Python gives three."""
    assert decode(data) == _java(data)


@given(st.binary(min_size=61, max_size=61), st.binary(max_size=9), st.integers(0, 2))
def test_positions_are_those_of_the_layouts(head: bytes, rest: bytes, magic: int) -> None:
    """The kernel spells the layouts' positions out: every column is the field of its name."""
    data = bytearray(head + rest)
    data[16] = magic
    data[8:12] = struct.pack(">i", len(data) - 12)
    heads = CellTable(len(buffers.BATCH_COLUMNS), 1)
    kernel_headers.read_headers(data, 0, len(data), 0, heads.cells, 0)
    layout = (MESSAGE_V0, MESSAGE_V1, RECORD_BATCH)[magic]
    fields = dict(zip(layout.names, layout.packed.unpack_from(data), strict=True))
    if magic == 2:
        names = {"base_timestamp", "max_timestamp", "producer_id", "producer_epoch", "base_sequence", "magic", "crc"}
        names |= {"attributes", "partition_leader_epoch", "base_offset"}
        columns = {name: name for name in names} | {"count": "records_count"}
    else:
        columns = {"magic": "magic", "crc": "crc", "last_offset": "offset"}
        columns |= {"max_timestamp": "timestamp"} if magic == 1 else {}
        fields["attributes"] &= 0xFF
        columns["attributes"] = "attributes"
    row = dict(zip(buffers.BATCH_COLUMNS, heads.row(0), strict=True))

    assert {name: row[name] for name in columns} == {name: fields[field] for name, field in columns.items()}
    assert (row["size"], row["section_start"]) == (len(data), layout.size)


@given(windows)
def test_records_are_those_of_the_specification(data: bytes) -> None:
    """What construct reads of a record is what the kernel reads."""
    heads = CellTable(len(buffers.BATCH_COLUMNS), 8)
    heads.count, _, _ = kernel_headers.read_headers(data, 0, len(data), 0, heads.cells, 0)
    for row in range(heads.count):
        start, size = heads.cell(buffers.POSITION, row), heads.cell(buffers.SIZE, row)
        if heads.cell(buffers.MAGIC, row) < 2 or heads.cell(buffers.ATTRIBUTES, row) & 7:
            continue
        recs = CellTable(len(buffers.RECORD_COLUMNS), 8)
        recs.count, _, _, _ = kernel_records.read_records(data, heads.cells, row, row + 1, False, recs.cells)
        expected = build.BATCH.parse(data[start : start + size]).records
        for number in range(recs.count):
            _, _, _, _, key, key_size, value, value_size, _, headers, _ = recs.row(number)
            wanted = expected[number]
            assert (data[key : key + key_size] if key_size >= 0 else None) == wanted.key
            assert (data[value : value + value_size] if value_size >= 0 else None) == wanted.value
            assert headers == len(wanted.headers)


ONE_RECORD: Final = b"\0%(time)s%(offset)s\x01\x01\0"  # attributes, no key, no value, no headers


@pytest.mark.parametrize("form", [IN_USE, PLAIN], ids=["in use", "interpreted"])
@pytest.mark.parametrize(
    ("time", "offset", "read"),
    [
        (b"\x02", b"\x04", (1, 2)),
        (b"\x03", b"\x05", (-2, -3)),
        (b"\x82\x00", b"\x84\x80\x80\x80\x00", (1, 2)),  # longer than need be
        (b"\x82" + b"\x80" * 8 + b"\x7e", b"\x84\x80\x80\x80\x70", (1, 2)),  # bits above the highest are dropped
        (b"\xff" * 9 + b"\x01", b"\xff\xff\xff\xff\x0f", (-(2**63), -(2**31))),
        (b"\xfe" + b"\xff" * 8 + b"\x01", b"\xfe\xff\xff\xff\x0f", (2**63 - 1, 2**31 - 1)),
        (b"\x02", b"\x84\x80\x80\x80\x80\x00", None),  # a byte too many
        (b"\x82" + b"\x80" * 9 + b"\x00", b"\x04", None),
        (b"\x82" + b"\x80" * 8, b"", None),
    ],
)
def test_numbers_are_read_as_kafka_reads_them(
    form: Form, time: bytes, offset: bytes, read: tuple[int, int] | None
) -> None:
    """Five bytes at most, ten for a long; the last may say that another follows in neither (ByteUtils)."""
    body = ONE_RECORD % {b"time": time, b"offset": offset}
    data = build.batch(
        pack=lambda _: build.VARINT.build(len(body)) + body, records_count=1, base_timestamp=0, last_offset_delta=0
    )
    heads, recs = CellTable(len(buffers.BATCH_COLUMNS), 1), CellTable(len(buffers.RECORD_COLUMNS), 1)
    assert form.headers.read_headers(data, 0, len(data), 0, heads.cells, 0) == (1, len(data), form.headers.FULL)
    count, _, _, errors = form.records.read_records(data, heads.cells, 0, 1, False, recs.cells)

    assert (count, errors) == ((0, 1) if read is None else (1, 0))
    if read is not None:
        assert (recs.cell(buffers.TIMESTAMP, 0), recs.cell(buffers.OFFSET, 0)) == read


def test_the_interpreted_form_needs_no_cython(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where Cython is not installed, its stand-in has every name that the kernel uses."""
    monkeypatch.setitem(sys.modules, "cython", None)
    form = Form(**{name: interpreted(name, f"tests_{name}_without_cython") for name in _LOOPS})
    plain = interpreted("text", "tests_lines_without_cython")

    data = build.batch(build.record())
    assert list(_tables(form, data, 2, 2)) == list(_tables(PLAIN, data, 2, 2))
    assert plain.java_text(b"\xed\xa0\x80") == "\ufffd"


_COLUMNS: Final = (
    buffers.POSITION, buffers.SIZE, buffers.BASE_OFFSET, buffers.LAST_OFFSET, buffers.LEADER_EPOCH, buffers.MAGIC,
    buffers.VALID, buffers.ATTRIBUTES, buffers.BASE_TIMESTAMP, buffers.MAX_TIMESTAMP, buffers.PRODUCER_ID,
    buffers.PRODUCER_EPOCH, buffers.BASE_SEQUENCE, buffers.LAST_SEQUENCE, buffers.COUNT,
)  # fmt: skip
_heads = st.lists(
    st.tuples(
        *[int64s] * 4,  # position, size, first and last offset
        int32s,  # leader epoch
        st.integers(0, 3),  # magic
        st.sampled_from([1, 1, 1, 0]),  # valid
        st.sampled_from([0, 16, 16, 48, 48, 8, 64, 112]),  # attributes
        *[int64s] * 2,  # timestamps
        st.integers(-1, 3) | int64s,  # producer
        st.integers(-1, 2),  # epoch
        *[st.integers(-1, 4) | int32s] * 2,  # sequences
        st.integers(0, 3) | st.just(buffers.NONE),  # records
        st.integers(-2, 1),  # marker type
        int32s,  # coordinator epoch
    ),
    max_size=12,
)


@needs_compiled
@given(_heads, _heads)
def test_both_forms_fold_the_same(first: list[tuple[int, ...]], later: list[tuple[int, ...]]) -> None:
    """Batches of any numbers, and what two folds of them give to a third: equal rows, events and sums."""
    answers = []
    for form in (kernel_fold, PLAIN_LOOPS):
        with (
            mock.patch.multiple(fold, kernel_fold=form, FIRST_ROWS=3, EVENT_ROWS=8, FIRST_BITS=2, spare=[]),
            mock.patch.object(state_table, "kernel_fold", form),
        ):
            stretches = [_folded(rows) for rows in (first, later)]
            whole = fold.Fold()
            for stretch in stretches:
                whole.follow(deepcopy(stretch))
            answers.append([_plain(stretch) for stretch in (*stretches, whole.result())])
    assert answers[0] == answers[1]


def _folded(rows: list[tuple[int, ...]]) -> fold.FoldedLog:
    heads = CellTable(len(buffers.BATCH_COLUMNS), max(1, len(rows)))
    heads.count = len(rows)
    for row, cells in enumerate(rows):
        for column, cell in zip(_COLUMNS, cells, strict=False):
            heads.set(column, row, cell)
    types, epochs = (array("q", [cells[at] for cells in rows] or [0]) for at in (-2, -1))
    folded = fold.Fold()
    folded.batches(heads, types, epochs)
    return folded.result()


def _plain(stretch: fold.FoldedLog) -> dict[str, Any]:
    found = {name: getattr(stretch, name) for name in fold.FoldedLog.__slots__}
    return {**found, "finished": [row for rows in stretch.finished.blocks() for row in rows]}


def test_both_forms_find_the_same_candidates() -> None:
    """Whole batches, those that reach too far, and how many were passed over: of every magic, damaged or not."""
    random = Random(3)
    pieces = [
        *build.log(5, 300, 5000, 9),
        build.message(b"v"),
        build.message(b"v" * 5000, magic=0),
        b"!" * 50,
        bytes(30),
    ]
    found = set()
    for _ in range(150):
        data = bytearray(b"".join(random.choice(pieces) for _ in range(6)))
        for _ in range(random.randrange(4)):
            data[random.randrange(len(data))] ^= 1 << random.randrange(8)
        legacy = random.random() < 0.6
        answers = []
        for form in (IN_USE, PLAIN):
            state, at, said = array("q", bytes(8 * buffers.SEEK_CELLS)), 0, []
            state[buffers.SEEK_TAIL_BLOCK], state[buffers.SEEK_LEFT] = -1, 3
            state[buffers.SEEK_ROOM], state[buffers.SEEK_LIMIT] = len(data), 1 << 27
            state[buffers.SEEK_LEGACY] = legacy
            while at < len(data):
                at, what = form.headers.find_whole(data, at, len(data), array("Q", [0]), b"", state)
                said.append((at, what))
                at += 1
            answers.append((said, state.tolist()))
            found |= {what for _, what in said}
        assert answers[0] == answers[1]
    assert found == {kernel_headers.NOTHING, kernel_headers.WHOLE, kernel_headers.FAR}


def test_what_finds_the_source_needs_nothing_that_it_finds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing has imported importlib.util in a plain install: the finder is then asked for it, by its own import."""
    monkeypatch.delitem(sys.modules, "importlib.util", raising=False)
    monkeypatch.setattr(sys, "meta_path", [kernel._Interpreted, *sys.meta_path])

    assert kernel._Interpreted.find_spec("importlib.util") is None
    found = kernel._Interpreted.find_spec("kafkalog.kernel.records")
    assert found is not None
    assert str(found.origin).endswith("kafkalog/kernel/records.py")

"""What a scan is when it crosses to another process: the same scan, and nothing else is taken for one."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkalog.auditing.partition import read_extents, read_scan, scan_messages, scan_segment
from kafkalog.columns.table import NONE, Columns
from kafkalog.columns.wire import Schema, WireError, WireTable, read_message, write_message
from kafkalog.findings import Finding
from kafkalog.log_dirs.log_directory import open_log_directory
from official import FIXTURES

CASES = sorted(path.parent for path in FIXTURES.glob("*/expect.json")) or sorted(FIXTURES.glob("*/"))
SCHEMA = Schema("test", 3, (WireTable("rows", ("a", "b"), ("t",)), WireTable("many", ("a", "b"))))


def scans_of(root: Path):
    for directory in open_log_directory(root).partitions:
        for segment in directory.segments:
            yield scan_segment(directory, segment)


def test_a_scan_crosses_unchanged() -> None:
    """Every segment of every fixture: what is read from the messages is what was written."""
    seen = 0
    for root in sorted({path.parent for path in FIXTURES.glob("*/data*/*-*") if path.is_dir()}):
        for scan in scans_of(root):
            head, *more = scan_messages(scan, 2)
            found = read_scan(head)
            for message in more:
                found.folded.finished += read_extents(message)
            for rows in ("finished", "opened", "producers"):
                whole, again = getattr(scan.folded, rows), getattr(found.folded, rows)
                assert all(np.array_equal(whole[name], again[name]) for name in whole.names)
                setattr(found.folded, rows, whole)
            assert found == scan
            seen += bool(scan.findings) + bool(len(scan.states)) + bool(len(scan.folded.finished)) + bool(scan.damaged)
    assert seen > 100


def test_what_a_finding_needed_and_found_keeps_its_type() -> None:
    """Numbers stay numbers, text stays text, and a number beyond 64 bits becomes text."""
    [scan] = scans_of(next(path for path in sorted(FIXTURES.glob("*/data/*-0")) if any(path.glob("*.log"))))
    scan.findings = [
        Finding.of("crc-mismatch", "f\udcff", "m", needed=needed, found=found, offset=2**62, position=0)
        for needed, found in ((1, "one"), ("1", 1), (None, 0), (-1, ""))
    ]
    again = read_scan(next(iter(scan_messages(scan, 1))))
    assert again.findings == scan.findings

    scan.findings = [Finding.of("crc-mismatch", "f", "m", needed=2**70)]
    assert read_scan(next(iter(scan_messages(scan, 1)))).findings[0].needed == str(2**70)


cells = st.integers(-(2**63) + 1, 2**63 - 1)


@given(
    st.lists(st.tuples(st.none() | cells, cells, st.none() | st.text())),
    st.lists(st.tuples(cells | st.just(NONE), st.integers(-3, 300)), max_size=250),
)
def test_any_rows_cross_unchanged(rows: list[tuple], many: list[tuple[int, int]]) -> None:
    """Rows with values missing, and packed rows of any width."""
    packed = Columns.empty(("a", "b"))
    columns = Columns({name: np.array([row[at] for row in many], np.int64) for at, name in enumerate("ab")})
    packed += columns.packed()
    message = read_message(SCHEMA, write_message(SCHEMA, {"rows": rows, "many": packed}))

    assert list(message.columns("rows").rows()) == rows
    again = message.columns("many")
    assert [again[name].tolist() for name in "ab"] == [columns[name].tolist() for name in "ab"]


@given(st.data())
def test_bytes_that_are_no_message_are_refused(data: st.DataObject) -> None:
    """A cut message, another version or any flipped byte gives other rows or a WireError, never anything else."""
    packed = Columns.empty(("a", "b"))
    packed += Columns({"a": np.arange(200), "b": np.arange(200) * 7}).packed()
    whole = bytearray(write_message(SCHEMA, {"rows": [(1, 2, "three"), (4, None, None)], "many": packed}))
    cut = data.draw(st.integers(0, len(whole)))
    at = data.draw(st.integers(0, len(whole) - 1))
    whole[at] ^= data.draw(st.integers(0, 255))
    try:
        message = read_message(SCHEMA, bytes(whole[:cut]))
        list(message.columns("rows").rows())
        message.columns("many")
    except WireError:
        pass


def test_another_version_is_refused() -> None:
    """The message says which version was needed and which one is there."""
    data = write_message(SCHEMA, {"rows": [], "many": Columns.empty(("a", "b"))})
    older = data[:6] + struct.pack("<H", 2) + data[8:]

    with pytest.raises(WireError, match="needed version 3, found test version 2"):
        read_message(SCHEMA, older)
    with pytest.raises(WireError, match="the next table is rows, not many"):
        read_message(SCHEMA, data).columns("many")


@pytest.mark.parametrize("length", [-1, 1 << 40])
def test_a_block_of_one_value_cannot_claim_any_length(length: int) -> None:
    """Its columns take no bytes, so the end of the message does not limit it."""
    schema = Schema("test", 1, (WireTable("many", ("a",)),))
    empty = write_message(schema, {"many": Columns.empty(("a",))})
    data = empty[:-8] + struct.pack("<4q", 1, length, 7, 0)

    with pytest.raises(WireError, match=f"can't have {length} rows"):
        read_message(schema, data).columns("many")

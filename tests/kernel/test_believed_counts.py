"""How many records a header may count: no more than its offsets, no more than its bytes hold, never below 0."""

from __future__ import annotations

from array import array
from pathlib import Path

import pytest

import build
from invoke import kafkalog
from kafkalog.kafka.batch import CellTable
from kafkalog.kernel import buffers, headers, interpreted
from kafkalog.kernel.buffers import NONE

FORMS = [
    pytest.param(headers, id="in-use"),
    pytest.param(interpreted("headers", "tests_interpreted_counts"), id="interpreted"),
]
MOST = 2**31 - 1
ROOM = buffers.BATCH_OVERHEAD + buffers.SMALLEST_RECORD  # of one record


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("magic", "count", "last_offset", "size", "codec", "believed"),
    [
        (2, 1, 10, ROOM, 0, 1),
        (2, 2, 11, ROOM, 0, 0),  # more than its bytes can hold
        (2, 2, 11, ROOM + 7, 0, 2),
        (2, 2, 10, ROOM + 7, 0, 0),  # more than its offsets
        (2, 1, 9, ROOM, 0, 0),
        (2, 0, 19, buffers.BATCH_OVERHEAD, 0, 0),  # the cleaner's
        (2, -1, 10, ROOM, 0, 0),
        (2, 32768, 32777, ROOM, build.ZSTD, 32768),  # few bytes may be many records
        (2, 32769, 32778, ROOM, build.ZSTD, 0),
        (2, MOST, MOST + 9, ROOM, build.ZSTD, 0),
        (2, MOST, NONE, 2**31, 0, 0),
        (1, 5, 10, 40, build.GZIP, 5),  # of a wrapper that was opened: counted, not read
        (1, NONE, 10, 40, build.GZIP, NONE),
    ],
)  # fmt: skip
def test_a_count_is_believed_where_it_can_be_true(
    form: object, magic: int, count: int, last_offset: int, size: int, codec: int, believed: int
) -> None:
    """Of a batch whose base offset is 10."""
    heads, counts = CellTable(buffers.BATCH_CELLS, 1), array("q", [-5])
    heads.count = 1
    for column, cell in (
        (buffers.MAGIC, magic), (buffers.COUNT, count), (buffers.BASE_OFFSET, 10), (buffers.LAST_OFFSET, last_offset),
        (buffers.SIZE, size), (buffers.ATTRIBUTES, codec),
    ):  # fmt: skip
        heads.set(column, 0, cell)
    form.believe(heads.cells, counts)  # type: ignore[attr-defined]  # a module

    assert counts[0] == believed


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """A log of records that are there, most of them in one small batch, and three counts that can't be true."""
    many = build.batch(
        *(build.record(delta=delta, value=None) for delta in range(3000)), base_offset=4, codec=build.ZSTD
    )
    batches = [
        build.batch(build.record(), build.record(delta=1)),
        build.batch(build.record(), base_offset=2, records_count=MOST),
        build.batch(build.record(), base_offset=3, records_count=-1),
        many,
        build.batch(build.record(), base_offset=3004),
        build.batch(build.record(), base_offset=3005, records_count=MOST, last_offset_delta=MOST - 1),
    ]
    folder = tmp_path / "data" / "orders-0"
    folder.mkdir(parents=True)
    (folder / f"{0:020}.log").write_bytes(b"".join(batches))
    return folder


def test_no_total_counts_records_that_cannot_be_there(log: Path) -> None:
    """Anybody can write a false count of records: no total includes it."""
    there = 3003
    [partition] = kafkalog("txn-audit", "--format", "ndjson", log).table("partitions")
    [file] = [row for row in kafkalog("verify", "--format", "ndjson", log).table("files") if row["kind"] == "log"]
    [written] = kafkalog("producers", "--format", "ndjson", log).table("writers")
    taken = kafkalog("salvage", "-o", log.parents[1] / "whole.log", "--format", "ndjson", log / f"{0:020}.log")
    stretches = taken.table("stretches")

    assert partition["records"] == file["records"] == written["records"] == there
    assert sum(row["records"] for row in stretches) == there


def test_a_count_that_cannot_be_true_is_told(log: Path) -> None:
    """By headers alone as by the records."""
    for depth in ("frame", "records"):
        findings = kafkalog("verify", "--depth", depth, "--format", "ndjson", log).table("findings")
        codes = {row["offset"]: row["code"] for row in findings if row["code"].startswith("records-")}

        assert codes[2] in ("records-count-above-offsets", "records-end-early")
        assert codes[3] == "records-count-negative"
        assert codes[3005 if depth == "frame" else 3005 + MOST - 1] == "records-end-early"
        assert len(codes) == 3

"""Offsets past the last one that there can be, in entries of an index and in batches: as Kafka's long they wrap."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Final

import pytest

import build
from invoke import kafkalog
from kafkalog.auditing.verification.replica_compare import ReplicaBatches
from kafkalog.log_dirs.left_over import end_of_segment
from kafkalog.log_dirs.log_directory import open_log_directory
from kafkalog.segments.segment import scan

LAST = 2**63 - 1
CONTENT = {".index": struct.pack(">ii", 5, 70), ".timeindex": struct.pack(">qi", 1000, 5)}


@pytest.mark.parametrize("form", ["kafka", "table", "ndjson", "csv", "arrow", "parquet"])
@pytest.mark.parametrize("suffix", CONTENT)
def test_every_format_has_such_an_entry(suffix: str, form: str, tmp_path: Path) -> None:
    """No format fails on it; its offset is what Kafka's sum of two numbers gives."""
    path = tmp_path / "in" / "t-0" / f"{LAST:020}{suffix}"
    path.parent.mkdir(parents=True)
    path.write_bytes(CONTENT[suffix])
    ended = kafkalog(
        "dump", "--format", form, *(("-o", tmp_path / "out") if form in ("arrow", "parquet") else ()), path
    )

    assert ended.status in (0, 1), ended.err
    if form == "ndjson":
        [row] = [row for row in ended.rows if row["table"] != "findings"]
        assert row["offset"] == -(2**63) + 4


NOWHERE: Final = (-(2**63), -1, 2**63 - 1)  # base offsets of a batch that no log has: 2**63 - 1 has no next one


def with_such_a_batch(path: Path, offset: int) -> bytes:
    """Write two whole batches, then one with this base offset, which its CRC does not cover; answer the two."""
    whole = b"".join(build.log(5, 5))
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(whole + build.with_field(build.log(5)[0], 0, offset, 8))
    return whole


@pytest.mark.parametrize("offset", NOWHERE)
def test_a_file_of_any_name_has_no_such_batch(offset: int, tmp_path: Path) -> None:
    """Also where no name says at which offset a segment begins; what is salvaged of it is the rest."""
    whole = with_such_a_batch(tmp_path / "in" / "renamed.log", offset)
    [found] = [
        finding for chunk in scan(tmp_path / "in" / "renamed.log") for finding in chunk.findings if finding.length
    ]
    kafkalog("salvage", tmp_path / "in" / "renamed.log", "-o", tmp_path / "out.log")

    assert (found.code, found.position) == ("offset-outside-segment", len(whole))
    assert found.needed == f"0..{2**63 - 2}"
    assert (tmp_path / "out.log").read_bytes() == whole


@pytest.mark.parametrize("offset", NOWHERE)
def test_what_replicas_and_swap_files_are_compared_by_is_without_it(offset: int, tmp_path: Path) -> None:
    """A segment's end and a replica's batches are those that a log can have."""
    with_such_a_batch(tmp_path / "t-0" / f"{0:020}.log", offset)
    [partition] = open_log_directory(tmp_path).partitions
    batches = ReplicaBatches(partition, -(2**63))

    assert end_of_segment(str(tmp_path / "t-0" / f"{0:020}.log"), 0) == 2
    assert len(batches) == 2

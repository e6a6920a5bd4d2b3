"""Entries of an index whose offsets would be past the last one that there can be: as Kafka's long they wrap."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from invoke import kafkalog

LAST = 2**63 - 1
CONTENT = {".index": struct.pack(">ii", 5, 70), ".timeindex": struct.pack(">qi", 1000, 5)}


@pytest.mark.parametrize("form", ["kafka", "table", "ndjson", "csv", "arrow", "parquet"])
@pytest.mark.parametrize("suffix", CONTENT)
def test_every_format_has_such_an_entry(suffix: str, form: str, tmp_path: Path) -> None:
    """No format fails on it; its offset is what Kafka's sum of two numbers gives."""
    path = tmp_path / "t-0" / f"{LAST:020}{suffix}"
    path.parent.mkdir()
    path.write_bytes(CONTENT[suffix])
    ended = kafkalog(
        "dump", "--format", form, *(("-o", tmp_path / "out") if form in ("arrow", "parquet") else ()), path
    )

    assert ended.status in (0, 1), ended.err
    if form == "ndjson":
        [row] = [row for row in ended.rows if row["table"] != "findings"]
        assert row["offset"] == -(2**63) + 4

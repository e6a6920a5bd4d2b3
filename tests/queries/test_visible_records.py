"""Which records of a batch a consumer is given, whatever their offsets are."""

from __future__ import annotations

from pathlib import Path

import pytest

import build
import kafkalog as library
from invoke import kafkalog

DELTAS: list[int] = [0, 2, 1, 3, 3, 4]  # 1 and the second 3 are below where a consumer is when it comes to them


@pytest.mark.parametrize("many", [0, 2000])
def test_records_that_a_consumer_has_passed_are_not_visible(many: int, tmp_path: Path) -> None:
    """Offsets that go back inside a batch: CompletedFetch skips them, in a batch of several blocks, too."""
    folder = tmp_path / "t-0"
    folder.mkdir()
    deltas = [*range(many), *(many + delta for delta in DELTAS)]
    records = [build.record(b"v", delta=delta) for delta in deltas]
    last = build.batch(build.record(b"v"), base_offset=max(deltas) + 1)  # begins anew: it has nothing that was passed
    (folder / f"{0:020}.log").write_bytes(build.batch(*records, last_offset_delta=max(deltas)) + last)
    visible = [one.visible for one in library.open(tmp_path).records()]
    columns = library.record_columns(tmp_path)["visible"].tolist()
    dumped = [row["visible"] for row in kafkalog("dump", "--format", "ndjson", tmp_path).rows]

    assert visible == [*[True] * (many + 2), False, True, False, True, True]
    assert columns == visible == dumped
    assert len(kafkalog("extract", tmp_path).rows) == visible.count(True)

"""What a digest of a segment's rows stands for: nothing that is not kept, no order of memory, no other version."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from kafkalog.auditing.partition import facts
from kafkalog.auditing.partition.scan_message import kept_scan
from kafkalog.auditing.pipeline import kept_scans
from kafkalog.auditing.transactions import table_batches
from kafkalog.columns.named import Columns
from kafkalog.kernel.fold import EXTENT_COLUMNS
from kept import audited, broker
from row_nights import Night, fresh


@pytest.fixture(autouse=True)
def small_segments(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the scans of small segments and their rows, too."""
    monkeypatch.setattr(kept_scans, "LEAST_BYTES", 1)
    monkeypatch.setattr(facts, "LEAST_ROWS", 1)


def test_a_scan_that_is_not_kept_has_no_rows_that_are(tmp_path: Path) -> None:
    """Without a digest two scans would have the same rows, whatever is in them."""
    audited(broker(tmp_path), tmp_path / "first")
    scans = [kept_scan(path.read_bytes()) for path in sorted((tmp_path / "first").iterdir())]
    some = [scan for scan in scans if len(scan.stretch.finished)]
    assert some
    for scan in some:
        assert facts.is_cut(scan)
        assert not facts.is_cut(replace(scan, digest=b""))


def test_the_order_of_open_transactions_is_no_part_of_a_digest(tmp_path: Path) -> None:
    """It is that of a table of hashes, which differs from run to run; also where two begin before the log."""
    audited(broker(tmp_path), tmp_path / "first")
    scan = kept_scan(next((tmp_path / "first").iterdir()).read_bytes())
    cells = np.zeros((len(EXTENT_COLUMNS), 3), np.int64)
    cells[EXTENT_COLUMNS.index("producer_id")] = [7, 8, 9]
    rows = Columns(dict(zip(EXTENT_COLUMNS, cells, strict=True)))
    digest = facts.cut_of(scan, rows).inputs
    assert facts.cut_of(scan, rows.take(np.array([2, 0, 1]))).inputs == digest
    assert facts.cut_of(scan, rows.take(np.array([0, 1]))).inputs != digest


@pytest.mark.parametrize("what", ["VERSION", "SCHEMA_VERSION"])
def test_rows_of_another_version_are_no_rows(what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the program or of the tables: the same transactions may be other rows."""
    root = broker(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(table_batches, what, "0.0.1" if what == "VERSION" else 1)
        Night(root, tmp_path / "first")
    found = Night(root, tmp_path / "second", tmp_path / "first")
    assert not found.taken
    assert found.found.reused.taken
    assert found.rows == fresh(root)

"""Offsets that a new leader's history took, by the high watermark of the older copy."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafkalog.auditing.transactions import AuditOptions
from kafkalog.over_time.diff import diff
from plain import Batch, write_checkpoint, write_segments


def directory(root: Path, *epochs: int) -> Path:
    """A log directory with a batch of one record in each of these leader epochs, from offset 0 on."""
    write_segments(root / "t-0", [Batch(0, at, at, "plain", leader_epoch=epoch) for at, epoch in enumerate(epochs)])
    (root / "meta.properties").write_text("version=1\ncluster.id=c\nnode.id=1\n")
    return root


@pytest.mark.parametrize(("high_watermark", "lost"), [(2, []), (3, [(2, 2)]), (4, [(2, 3)])])
def test_only_what_was_below_the_high_watermark_was_committed(
    tmp_path: Path, high_watermark: int, lost: list[tuple[int, int]]
) -> None:
    """Of four offsets the last two were truncated: what no other replica had yet is no loss."""
    old, new = directory(tmp_path / "old", 0, 0, 0, 0), directory(tmp_path / "new", 0, 0, 1)
    write_checkpoint(old, "replication-offset-checkpoint", ("t", 0, high_watermark))
    findings = diff([str(old)], [str(new)], AuditOptions()).rows("findings")

    assert [
        (row["offset"], row["last_offset"]) for row in findings if row["code"] == "committed-offsets-truncated"
    ] == lost

"""What an audit does for each partition is bounded: counted in calls, because seconds depend on the machine."""

from __future__ import annotations

from pathlib import Path

import pytest

import build
import plain
from counted import counted
from kafkalog.auditing.pipeline import audit
from kafkalog.auditing.transactions import AuditOptions
from kafkalog.auditing.verification import VerifyOptions, verify

EACH = 1300  # calls of Python and C functions for a small partition that is in order
EACH_VERIFIED = 2250  # the same in a verification, which also reads every other file


def log_directory(root: Path, partitions: int) -> Path:
    """Partitions of three small files: a segment with an ended transaction, leader epochs, the topic's id."""
    root.mkdir()
    segment = build.batch(
        build.record(b"k", b"v"), attributes=build.TRANSACTIONAL, producer_id=7, producer_epoch=0, base_sequence=0
    ) + build.marker(1, base_offset=1, producer_id=7, producer_epoch=0)
    for number in range(partitions):
        directory = root / f"t-{number}"
        directory.mkdir()
        (directory / f"{0:020}.log").write_bytes(segment)
        (directory / "partition.metadata").write_text("version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAZQ\n")
        plain.write_epochs(directory, (0, 0))
    (root / "meta.properties").write_text("version=1\ncluster.id=c\nnode.id=1\n")
    return root


def calls_of(root: Path) -> int:
    """Count the calls of an audit in this process."""
    found, count = counted(lambda: audit([root], AuditOptions(jobs=1)))
    (cluster,) = found.clusters
    assert cluster.findings == []
    assert [list(log.findings) for log in cluster.logs] == [[]] * len(cluster.logs)
    return count


def test_calls_grow_with_the_partitions(tmp_path: Path) -> None:
    """Four times the partitions need at most 4.2 times the calls, and each one a bounded number."""
    few, many = log_directory(tmp_path / "few", 50), log_directory(tmp_path / "many", 200)
    calls_of(few)  # imports
    before, after = calls_of(few), calls_of(many)

    assert after <= 4.2 * before
    assert (after - before) / 150 <= EACH


@pytest.mark.sweep
def test_a_verifications_calls_grow_with_the_partitions(tmp_path: Path) -> None:
    """The same of a verification."""
    few, many = log_directory(tmp_path / "few", 50), log_directory(tmp_path / "many", 200)
    verify([few], VerifyOptions(jobs=1))  # imports
    before, after = (counted(lambda root=root: verify([root], VerifyOptions(jobs=1)))[1] for root in (few, many))

    assert after <= 4.2 * before
    assert (after - before) / 150 <= EACH_VERIFIED

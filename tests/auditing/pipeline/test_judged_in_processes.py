"""Partitions that several processes judge: the same rows as from one, and the first process does its part alone."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

import build
from kafkalog.auditing.incidents import rows_of_audit
from kafkalog.auditing.pipeline import audit, executors, judge_partition
from kafkalog.auditing.transactions import Audit, AuditOptions, Summary
from kafkalog.findings import Finding
from kafkalog.tables.audit_tables import AUDIT_TABLES
from official import FIXTURES

CASES = sorted({path.parent for path in FIXTURES.glob("*/data*") if path.is_dir()})


def partitions(root: Path, number: int) -> Path:
    """Make partitions of a segment with an ended transaction."""
    data = build.batch(
        build.record(b"k", b"v"), attributes=build.TRANSACTIONAL, producer_id=7, producer_epoch=0, base_sequence=0
    ) + build.marker(1, base_offset=1, producer_id=7, producer_epoch=0)
    for partition in range(number):
        (root / f"t-{partition}").mkdir(parents=True)
        (root / f"t-{partition}" / f"{0:020}.log").write_bytes(data)
    return root


def told(found: Audit) -> tuple[dict[str, list[Any]], list[Finding], str]:
    """Return all that an audit says: its tables, its findings, its summary."""
    tables = {table.name: list(rows_of_audit(found, table.name)) for table in AUDIT_TABLES}
    return tables, list(found.findings()), repr(Summary.of(found))


@pytest.mark.some(every=4)
@pytest.mark.process
@pytest.mark.parametrize(
    "case",
    [pytest.param(case, marks=[pytest.mark.exhaustive] * (number % 5 > 0)) for number, case in enumerate(CASES)],
    ids=lambda case: case.name,
)
def test_judging_in_processes_says_the_same(case: Path) -> None:
    """Some fixtures, or each, its logs judged by this process and two others: each row, finding and count is as from one."""
    roots = sorted(str(data) for data in case.glob("data*"))
    alone = audit(roots, AuditOptions(jobs=1))
    with mock.patch.object(executors, "WORTH_A_FORK", 0), mock.patch.object(executors, "TASK_BYTES", 1 << 14):
        found = audit(roots, AuditOptions(jobs=3))

    assert told(found) == told(alone)


@pytest.mark.process
def test_who_is_busy_judges_little(tmp_path: Path) -> None:
    """Of 300 small partitions this process judges those alone that no other has taken, and has each one's audit."""
    root, mine = partitions(tmp_path / "d", 300), os.getpid()

    seen: list[tuple[Any, ...]] = []

    def slow(*given: Any) -> Any:
        if os.getpid() == mine:
            seen.append(given)
            time.sleep(0.02)
        return judge_partition(*given)

    with mock.patch.object(executors, "judge_partition", slow):
        (cluster,) = audit([root], AuditOptions(jobs=2)).clusters

    assert len(seen) <= 150
    assert [log.partition.directory.partition for log in cluster.logs] == list(range(300))
    assert {log.partition.log_end_offset for log in cluster.logs} == {2}


@pytest.mark.process
def test_what_both_processes_have_is_not_sent(tmp_path: Path) -> None:
    """An audit from another process has this one's listings, coordinator and nodes, not copies."""
    root = partitions(tmp_path / "d", 300)
    (cluster,) = audit([root], AuditOptions(jobs=2)).clusters

    assert len({id(log.node) for log in cluster.logs}) == 1
    assert {id(log.verdicts.coordinator) for log in cluster.logs} == {id(cluster.coordinator)}

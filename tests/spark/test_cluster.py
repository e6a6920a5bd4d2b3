"""Executors that are processes of their own, and are killed: the tables are those of a local audit."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from coordinated import RECORDS
from held import held
from kafkalog.auditing.pipeline.run import audit
from official import FIXTURES
from on_cluster import TABLES, Report

pytestmark = pytest.mark.exhaustive

CASES: Final = ("k4-f-marker-leaderless", "made-damaged", "v2.3-txn-java-clean", "v2.8-hanging")
CHOSEN: Final = sorted(str(data) for case in CASES for data in (FIXTURES / case).glob("data*"))


def _ran(folder: Path, *jobs: str) -> Path:
    """Run jobs in one process; return the folder with what they gave."""
    script = Path(__file__).with_name("on_cluster.py")
    argv = [sys.executable, script, folder, ",".join(jobs), *CHOSEN]
    ended = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=500, cwd=folder)
    assert ended.returncode == 0, ended.stderr[-4000:]
    return folder


@pytest.fixture(scope="module")
def cluster(needs_spark: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _ran(tmp_path_factory.mktemp("cluster"), "judge", "coordinated")


def test_an_executor_is_lost_in_the_middle_of_judging(cluster: Path) -> None:
    """What it had scanned and judged is done again by another; files that it left are no rows."""
    report: Report = pickle.loads((cluster / "judge.pickle").read_bytes())

    held(report.done, cluster / "judge", audit(CHOSEN), TABLES)
    assert len(report.killed) == 1
    assert max(report.judges.values()) > 1  # as another attempt, or as the first one of a stage that was run again


def test_executors_are_lost(needs_spark: None, tmp_path: Path) -> None:
    """What an executor had scanned and kept on its disk is scanned again by others; what it had judged is written."""
    folder = _ran(tmp_path, "none", "map", "behind")
    whole, middle, behind = (
        pickle.loads((folder / f"{fault}.pickle").read_bytes()) for fault in ("none", "map", "behind")
    )

    for fault, report in (("none", whole), ("map", middle), ("behind", behind)):
        held(report.done, folder / fault, audit(CHOSEN), TABLES)
    assert [len(whole.killed), len(middle.killed)] == [0, 1]
    assert len(behind.killed) in {2, 3, 4}  # executors with all rows
    assert whole.scans.total() > 2
    assert min(middle.scans.total(), behind.scans.total()) > whole.scans.total()
    assert behind.judges == whole.judges  # the files that it wrote are no executor's


def test_the_coordinator_is_in_no_message(cluster: Path) -> None:
    """100,000 state records, and messages between processes of at most 1 MiB: all tables are those of a local audit."""
    report: Report = pickle.loads((cluster / "coordinated.pickle").read_bytes())
    found = audit([str(cluster / "made")])

    assert sum(len(one.coordinator.states) for one in found.clusters) == RECORDS
    assert {log.states["committed"] for log in report.done.summary.logs} == {0, 48, 60}
    held(report.done, cluster / "coordinated", found, TABLES)

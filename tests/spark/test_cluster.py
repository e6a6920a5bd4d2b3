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
from on_cluster import TABLES, Report

from kafkalog.auditing.pipeline.run import audit
from official import FIXTURES

CASES: Final = ("k4-f-marker-leaderless", "made-damaged", "v2.3-txn-java-clean", "v2.8-hanging")
CHOSEN: Final = sorted(str(data) for case in CASES for data in (FIXTURES / case).glob("data*"))


@pytest.fixture(scope="module")
def cluster(needs_spark: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Run all jobs in one process; return the folder with what they gave."""
    folder = tmp_path_factory.mktemp("cluster")
    script = Path(__file__).with_name("on_cluster.py")
    ended = subprocess.run(
        [sys.executable, script, folder, *CHOSEN], capture_output=True, text=True, check=False, timeout=500, cwd=folder
    )
    assert ended.returncode == 0, ended.stderr[-4000:]
    return folder


@pytest.mark.parametrize(
    ("fault", "killed"),
    [("none", {0}), ("map", {1}), ("behind", {2, 3, 4})],
    ids=["nothing is lost", "an executor is killed in the middle of the map", "executors with all rows are killed"],
)
def test_executors_are_lost(cluster: Path, fault: str, killed: set[int]) -> None:
    """What an executor had scanned and kept on its disk is scanned again by others; what it had judged is written."""
    report: Report = pickle.loads((cluster / f"{fault}.pickle").read_bytes())
    whole: Report = pickle.loads((cluster / "none.pickle").read_bytes())

    held(report.done, cluster / fault, audit(CHOSEN), TABLES)
    assert len(report.killed) in killed
    assert whole.scans > 2
    if fault != "none":
        assert report.scans > whole.scans
    if fault == "behind":
        assert report.judges == whole.judges  # the files that it wrote are no executor's


def test_the_coordinator_is_in_no_message(cluster: Path) -> None:
    """100,000 state records, and messages between processes of at most 1 MiB: all tables are those of a local audit."""
    report: Report = pickle.loads((cluster / "coordinated.pickle").read_bytes())
    found = audit([str(cluster / "made")])

    assert sum(len(one.coordinator.states) for one in found.clusters) == RECORDS
    assert {log.states["committed"] for log in report.done.summary.logs} == {0, 48, 60}
    held(report.done, cluster / "coordinated", found, TABLES)

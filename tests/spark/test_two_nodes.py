"""Nodes that see other files under the driver's paths: copies with other inodes, nothing, what can't be read."""

from __future__ import annotations

import pickle
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from held import held
from kafkalog.auditing.pipeline.run import audit
from kafkalog.exit_status import Exit
from kafkalog.findings import Severity
from official import FIXTURES
from on_nodes import OnNodes
from transactions import Transactions, write_transactions

pytestmark = pytest.mark.exhaustive

NODES = ("node-0", "node-1")


@pytest.fixture(scope="module")
def nodes(needs_spark: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write the inputs, and what each node sees of them; run the jobs."""
    folder = tmp_path_factory.mktemp("nodes")
    if subprocess.run(["unshare", "--mount", "--uts", "true"], capture_output=True, check=False).returncode:
        pytest.skip("only the superuser may give a process mounts of its own")
    write_transactions(folder / "copies", Transactions(20_000, 50, partitions=1))
    for name in ("one", "none"):
        shutil.copytree(FIXTURES / "v2.8-hanging" / "data", folder / name)
    for node in NODES:
        seen = folder / node.replace("node", "seen")
        shutil.copytree(folder / "copies", seen / "copies")  # with the same times
        shutil.copytree(folder / "none", seen / "none")
        for log in (seen / "none").rglob("*.log"):
            log.chmod(0)
    (folder / "seen-1" / "one").mkdir()
    argv = [sys.executable, Path(__file__).with_name("on_nodes.py"), folder]
    ended = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=500, cwd=folder)
    assert ended.returncode == 0, ended.stderr[-4000:]
    return folder


def test_files_of_other_inodes_are_not_read_again(nodes: Path) -> None:
    """A log whose producers are shared out to 17 judges: none reads it again, its scans are kept, and it is said how."""
    report: OnNodes = pickle.loads((nodes / "copies.pickle").read_bytes())
    copies = nodes / "copies"
    size = sum(path.stat().st_size for path in copies.glob("t-0/*.log"))

    held(report.done, nodes / "copies.out", audit([copies]))
    assert set(report.done.reading["hosts"]) == set(NODES)
    assert report.done.reading["files_known_by"].startswith("size and time")
    assert report.done.reading["tried_again"] == 0
    assert report.judges_read < 8 * size
    scans = list((nodes / "copies.out" / "_work" / "scans").glob("*.scan"))
    assert len(scans) == len(list(copies.rglob("*.log")))


def test_what_a_node_without_the_mount_can_not_read_is_tried_again(nodes: Path) -> None:
    """What the other node then reads is no finding; the audit says that a node did not see the directory."""
    report: OnNodes = pickle.loads((nodes / "one.pickle").read_bytes())

    assert report.done.reading["tried_again"] > 0
    assert report.done.verdict.status(Severity.WARNING) is Exit.INCOMPLETE


def test_a_finding_names_both_nodes(nodes: Path) -> None:
    """Each segment that none can read has one, and names who tried."""
    report: OnNodes = pickle.loads((nodes / "none.pickle").read_bytes())
    logs = [str(path) for path in (nodes / "none").rglob("*.log")]
    told = [row for row in pq.read_table(nodes / "none.out" / "findings").to_pylist() if row["file"] in logs]
    tried = [re.search(r"\(tried (.*)\)$", row["message"]) for row in told if row["code"] == "file-unreadable"]
    assert sorted(row["file"] for row in told if row["code"] == "file-unreadable") == sorted(logs)
    assert all(tried)
    assert any(one and {*re.findall(r"node-\d", one[1])} == set(NODES) for one in tried)
    assert report.done.verdict.status(Severity.WARNING) is Exit.INCOMPLETE

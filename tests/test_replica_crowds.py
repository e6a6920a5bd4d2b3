"""Very many open transactions in several replicas of a partition: reported once, and no call for each of them."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import numpy as np

from counted import counted
from kafkalog.auditing.pipeline.run import audit
from kafkalog.auditing.transactions import AuditOptions, LogAudit, TransactionFindings
from kafkalog.auditing.transactions.transaction_findings import Unread

sys.path.append(str(Path(__file__).parents[1] / "benchmarks"))
from transactions import Transactions, write_transactions  # the benchmarks are no package

FEW, MANY = 2000, 8000


def replicas(root: Path, number: int) -> list[Path]:
    """Write two brokers' directories with the same logs."""
    write_transactions(root / "1", Transactions(number, number, partitions=1, outcome="hanging"))
    shutil.copytree(root / "1", root / "2")
    properties = root / "2" / "meta.properties"
    properties.write_text(properties.read_text().replace("node.id=1", "node.id=2"))
    return [root / "1", root / "2"]


def data_logs(paths: list[Path]) -> tuple[list[LogAudit], int]:
    """Audit directories; return the logs with data, and how many calls that took."""
    found, calls = counted(lambda: audit(paths, AuditOptions(jobs=1, snapshot=True)))
    return [log for one in found.clusters for log in one.logs if log.partition.directory.topic == "t"], calls


def test_what_all_replicas_show_is_reported_once(tmp_path: Path) -> None:
    """The replica that speaks for the partition has all findings, the other one none."""
    logs, _ = data_logs(replicas(tmp_path, 50))

    assert sorted(sum(log.findings.counts().values()) for log in logs) == [0, 50]


def test_no_transaction_of_a_replica_costs_a_call(tmp_path: Path) -> None:
    """What is called is called for some hundred of them, not for each: an object for each would take twenty calls."""
    few, many = (data_logs(replicas(tmp_path / str(number), number))[1] for number in (FEW, MANY))

    assert many - few < 2 * (MANY - FEW)


def test_a_replica_that_nobody_reads_says_so(tmp_path: Path) -> None:
    """Every finding is a note that ends with the reason, without a remedy; its columns are those of its objects."""
    (log, *_), _ = data_logs(replicas(tmp_path, 5)[:1])
    (whole,) = (part for part in log.findings.parts() if isinstance(part, TransactionFindings))
    unread = Unread(7, "/b/t-0")
    found = whole.without_consumers(unread)

    assert [one.message for one in found] == [one.message + unread.words for one in whole]
    assert {(one.severity.word, one.remedy) for one in found} == {("note", None)}
    assert found.facts().tolist() == whole.facts().tolist()
    (columns,) = found.columns("1")
    assert columns["message"].tolist() == [one.message for one in found]
    assert columns["id"].tolist() == [one.id_in("1") for one in found]
    assert columns["file"].tolist() == [one.file for one in found]
    assert np.array_equal(columns["offset"], [one.offset for one in found])

"""Partitions are compared with each other in as many shares of the producers as the bytes ask for."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest
from pyspark.sql import functions as F  # noqa: N812  # as the documentation of Spark has it

import build
from held import held, run
from kafkalog.auditing.pipeline import logs_of
from kafkalog.auditing.pipeline.run import audit
from kafkalog.log_dirs.clusters import open_clusters
from kafkalog_spark import executor
from kafkalog_spark.between_tasks import Seal

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PRODUCERS = 40


def made(root: Path) -> Path:
    """Write two partitions with the same transactions; every fifth is committed in one and aborted in the other."""
    for partition in range(2):
        data, offset = b"", 0
        for producer in range(1000, 1000 + PRODUCERS):
            at = {"base_timestamp": build.TIME, "max_timestamp": build.TIME, "producer_id": producer}
            data += build.batch(
                build.record(b"v"), base_offset=offset, attributes=16, base_sequence=0, producer_epoch=0, **at
            )
            is_commit = partition == 0 or producer % 5 != 0
            data += build.marker(int(is_commit), base_offset=offset + 1, producer_epoch=1, **at)
            offset += 2
        (root / f"t-{partition}").mkdir(parents=True)
        (root / f"t-{partition}" / f"{0:020}.log").write_bytes(data)
    return root


@pytest.mark.parametrize(
    "share_bytes",
    [pytest.param(1 << 28, marks=pytest.mark.exhaustive), 1000, pytest.param(1, marks=pytest.mark.exhaustive)],
    ids=["one share", "some", "thousands"],
)
def test_transactions_that_ended_differently(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, share_bytes: int
) -> None:
    """Each is found once, whatever the shares."""
    monkeypatch.setattr(executor, "KEY_SHARE_BYTES", share_bytes)
    monkeypatch.setattr(executor, "KEY_BYTES", 1000)
    data = str(made(tmp_path / "data"))
    done = run(spark, [data], tmp_path / "out", tables=("findings", "transactions"))

    held(done, tmp_path / "out", audit([data]), ("findings", "transactions"))
    broken = sum(n for (code, _), n in done.summary.findings.items() if code == "atomicity-broken")
    assert broken == PRODUCERS // 5


def test_each_share_of_a_log_has_a_task_of_its_own(spark: SparkSession) -> None:
    """Shares go to tasks in turn: none waits for another one's task. Before 4.1 Spark chooses tasks by hash."""
    rows = spark.range(8).selectExpr("3 AS group", "int(id) AS share")
    tasks = {row[0] for row in executor._in_turn(rows, 8).select(F.spark_partition_id()).collect()}

    assert len(tasks) == 8 or not hasattr(rows, "repartitionById")


def test_a_place_goes_to_executors_without_device_and_inode(tmp_path: Path) -> None:
    """They are each machine's own: a directory would never be the same on another one."""
    clusters, _ = open_clusters([str(made(tmp_path))])
    logs = list(logs_of(clusters, share_bytes=None))
    seal = Seal()
    rows = executor.SparkExecutor._places(SimpleNamespace(seal=seal), logs)
    identities = [seal.unpacked(row[-1]).node.identity for row in rows]

    assert all(log.node.identity.inode for log in logs)
    assert [(one.device, one.inode) for one in identities] == [(0, 0)] * len(logs)

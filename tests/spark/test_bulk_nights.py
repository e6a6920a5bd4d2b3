"""Bulk audits that take kept scans: their tables are a local audit's, and what was scanned once is not scanned again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import kept
import misbehaving
from held import ALL_TABLES, held, rows_in
from invoke import kafkalog
from kafkalog.auditing.pipeline import kept_scans, scans_of_audit
from kafkalog.auditing.pipeline.run import audit
from kafkalog.auditing.transactions import AuditOptions
from kafkalog_spark import scan_tasks
from kafkalog_spark.bulk_audit import BulkAudit, bulk_audit
from kafkalog_spark.job_output import Output
from kafkalog_spark.session import JobPlan
from kept import SEGMENTS, broker
from transactions import Transactions, write_transactions

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ARGUMENTS = ("--input", "some")


@pytest.fixture(autouse=True)
def small_segments() -> Iterator[None]:
    """Keep the scans of small segments, too."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kept_scans, "LEAST_BYTES", 1)
        yield


def run(
    spark: SparkSession, paths: Sequence[str], folder: Path, *previous: Path, hashed: bool = False, **options: Any
) -> BulkAudit:  # fmt: skip
    """Run a bulk audit that keeps its scans, as the command does."""
    output = Output(str(folder))
    output.make_directory(overwrite=False, arguments=ARGUMENTS)
    kept_here = output.kept([scans_of_audit(str(one)) for one in previous], hashed=hashed)
    of_audit = options.pop("options", None)
    done = bulk_audit(spark, paths, output, of_audit, tables=ALL_TABLES, kept=kept_here, plan=JobPlan(**options))
    output.write_text("_SUCCESS", "")
    return done


def alike(done: BulkAudit, folder: Path, root: Path) -> None:
    """Hold a bulk audit's tables against those of a local audit that reads everything."""
    held(done, folder, audit([root]))


def test_nights_of_bulk_and_local_audits(spark: SparkSession, tmp_path: Path) -> None:
    """Each takes what the one before has, whichever engine made it: after a night with all that happens to segments."""
    root = broker(tmp_path)
    first = run(spark, [str(root)], tmp_path / "first", share_bytes=1000)
    assert (first.summary.reused.taken, first.verdict.word) == (0, "OK")
    for change in (kept.delete, kept.compact, kept.append, kept.roll):
        change(root)

    second = run(spark, [str(root)], tmp_path / "second", tmp_path / "first", share_bytes=1000)
    assert second.summary.reused.taken == SEGMENTS - 3
    assert "5 of 16 segments were scanned; damage since " in second.verdict.headline
    alike(second, tmp_path / "second", root)
    assert [path.name for path in (tmp_path / "second" / "_work").iterdir() if path.name != "begun.json"] == ["scans"]

    ended = kafkalog("txn-audit", root, "-o", tmp_path / "third", "--since-audit", tmp_path / "second")
    assert "(2 of 16 segments were scanned" in ended.text
    for table in ALL_TABLES:
        if table != "visible":
            assert rows_in(tmp_path / "third", table) == rows_in(tmp_path / "second", table)

    kept.recreate(root)
    fourth = run(spark, [str(root)], tmp_path / "fourth", tmp_path / "third")
    assert fourth.summary.reused.taken < SEGMENTS
    alike(fourth, tmp_path / "fourth", root)


def test_inputs_of_one_moment_may_have_many_transactions(spark: SparkSession, tmp_path: Path) -> None:
    """What checks that they are of one moment reads the scan that a task kept of them, as judges do."""
    root, options = tmp_path / "d", AuditOptions(snapshot=True)
    write_transactions(root, Transactions(scan_tasks.MANY_ROWS + 1, 10, partitions=1))
    done = run(spark, [str(root)], tmp_path / "out", options=options)

    held(done, tmp_path / "out", audit([root], options))


def test_a_job_that_died_is_gone_on_with(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    """What its tasks had scanned is not scanned again; a file of it that is damaged is."""
    root, out = broker(tmp_path), tmp_path / "an output, 100% quoted"
    with monkeypatch.context() as patch:
        patch.setattr(scan_tasks, "scan", misbehaving.ScanOfSome(SEGMENTS // 2))
        with pytest.raises(Exception, match="enough was scanned"):
            run(spark, [str(root)], out)
    assert not (out / "_SUCCESS").exists()
    scans = sorted((out / "_work" / "scans").glob("*.scan"))
    assert 0 < len(scans) < SEGMENTS
    damaged = scans[0].read_bytes()
    scans[0].write_bytes(damaged[:-1] + bytes([damaged[-1] ^ 1]))

    done = run(spark, [str(root)], out)
    assert done.summary.reused.resumed == len(scans) - 1
    assert done.summary.reused.taken == 0
    alike(done, out, root)
    assert len(list((out / "_work" / "scans").iterdir())) == SEGMENTS

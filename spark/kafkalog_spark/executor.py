"""Runs an audit's stages on Spark: tasks scan segments, and one task for each partition judges it.

A stage's rows are kept on the executors' disks, so that nothing is read twice; counts come from rows.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

import pyarrow as pa
from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  # as Spark's own documentation has it
from pyspark.sql.pandas.types import from_arrow_schema

from kafkalog.auditing.partition import SegmentScan
from kafkalog.auditing.pipeline import (
    Clock,
    LogPlace,
    read_conflict,
    read_counts,
    read_summary,
    segments_of,
    write_place,
)
from kafkalog.auditing.transactions import LogSummary, Surroundings, conflict_finding
from kafkalog.findings import Finding, Severity
from kafkalog.log.chunk import Limits
from kafkalog.log.storage_options import StorageOptions
from kafkalog.txn.shares import shares_of
from kafkalog_spark import tasks

__all__ = ["JudgedFrame", "ScannedFrame", "SparkExecutor"]

_JUDGE_BYTES: Final = 256 << 20


@dataclass(frozen=True, slots=True)
class ScannedFrame:
    """The scans as rows of ``tasks.SCANNED``; `files` are the segments that were read."""

    frame: DataFrame
    clocks: dict[int, Clock]
    files: list[dict[str, Any]]

    def clock(self, cluster: int) -> Clock:
        return self.clocks.get(cluster, Clock())

    def of_logs(self, logs: Sequence[LogPlace]) -> Iterator[tuple[LogPlace, list[SegmentScan]]]:
        """Fetch the scans of some logs."""
        if not logs:
            return
        rows = self.frame.where(F.col("log").isin(*(log.number for log in logs)))
        by_log: dict[int, list[tuple[int, int, str, bytes]]] = {}
        for row in rows.select("log", "split_no", "row_no", "kind", "content").toArrow().to_pylist():
            place = (row["split_no"], row["row_no"], row["kind"], row["content"])
            by_log.setdefault(row["log"], []).append(place)
        for log in logs:
            yield log, tasks.joined((kind, content) for _, _, kind, content in sorted(by_log.get(log.number, ())))


@dataclass(frozen=True, slots=True)
class JudgedFrame:
    """The result of judging: rows of ``tasks.JUDGED``, and their totals.

    `logs` are in the order of the logs' numbers, `codes` count the findings about logs, `findings` are those about no
    single log, by the clusters' numbers. `content_bytes` are the bytes of each table as tasks packed them, `files` the
    segments that were read.
    """

    frame: DataFrame
    logs: list[LogSummary]
    codes: Counter[tuple[str, Severity]]
    findings: dict[int, list[Finding]]
    content_bytes: Counter[str]
    files: list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class SparkExecutor:
    """Runs scans and judging as tasks of a session.

    `tables` are those whose rows the judging tasks make, `report` gets a line for each stage that is done.
    """

    session: SparkSession
    limits: Limits
    storage: StorageOptions
    tables: tuple[str, ...]
    split_bytes: int
    hashed: bool
    report: Callable[[str], object]

    @contextmanager
    def scan(self, logs: Sequence[LogPlace]) -> Iterator[ScannedFrame]:
        started = time.monotonic()
        places = segments_of(logs, self.split_bytes)
        number = max((place.task for place in places), default=0) + 1
        rows = self._frame((tasks.place_row(place) for place in places), tasks.PLACES)
        scan = partial(tasks.scan, limits=self.limits, storage=self.storage, hashed=self.hashed)
        with _kept(_mapped(rows.repartitionById(number, "task"), scan, tasks.SCANNED)) as frame:
            heads = frame.where("kind = 'scan' and share = 0")
            names = ("log", "split_no", "size", "newest", "newest_broker", "findings", "sha256")
            findings = 0
            scanned = ScannedFrame(frame, {}, [])
            for row in heads.select(*names).toArrow().to_pylist():
                log = logs[row["log"]]
                clock = scanned.clock(log.cluster)
                scanned.clocks[log.cluster] = clock.with_scan(row["newest"], row["newest_broker"])
                findings += row["findings"]
                about = {"file": log.directory.segments[row["split_no"]].path, "size_bytes": row["size"]}
                scanned.files.append(about | {"sha256": row["sha256"]} if self.hashed else about)
            scanned.files.sort(key=lambda about: about["file"])
            self._tell("scanned", started, f"{number} tasks, {findings} findings", scanned.files)
            yield scanned

    @contextmanager
    def judge(
        self, logs: Sequence[LogPlace], scanned: ScannedFrame, around: Mapping[int, Surroundings]
    ) -> Iterator[JudgedFrame]:
        started = time.monotonic()
        where = [
            (log.group, share, log.number, -1, -1, "log", 0, -1, -1, 0, None, write_place(log))
            for log in logs
            for share, _ in shares_of(log.shares)
        ]
        rows = scanned.frame.unionByName(self._frame(where, tasks.SCANNED))
        groups = len({(log.group, share) for log in logs for share in shares_of(log.shares)})
        size = sum(log.directory.size for log in logs)
        number = max(1, min(groups, max(8, size // _JUDGE_BYTES)))
        keys = ("group", "share", "log", "split_no", "row_no")
        in_order = rows.repartition(number, "group", "share").sortWithinPartitions(*keys)
        known = {cluster: replace(one, findings=[]) for cluster, one in around.items()}
        judge = tasks.Judge(known, self.tables, self.storage)
        with _kept(_mapped(in_order, judge, tasks.JUDGED)) as frame:
            judged = self._judged(frame, logs, scanned.files)
            found = judged.codes.total() + sum(map(len, judged.findings.values()))
            self._tell("judged", started, f"{number} tasks, {groups} partitions, {found} findings", scanned.files)
            yield judged

    def _judged(self, frame: DataFrame, logs: Sequence[LogPlace], files: list[dict[str, Any]]) -> JudgedFrame:
        """Collect the logs' totals, and compare partitions with each other."""
        summaries: dict[int, LogSummary] = {}
        codes: Counter[tuple[str, Severity]] = Counter()
        sizes: Counter[str] = Counter()
        rows = frame.where("kind in ('summary', 'counts')").select("kind", "share", "rows", "content")
        for row in sorted(rows.toArrow().to_pylist(), key=lambda row: (row["kind"], row["rows"], row["share"])):
            if row["kind"] == "counts":
                of_task, of_tables = read_counts(row["content"])
                codes.update(of_task)
                sizes.update(of_tables)
            else:
                log, summary = row["rows"], read_summary(row["content"])
                summaries[log] = summaries[log].with_share(summary) if log in summaries else summary
        findings: dict[int, list[Finding]] = {}
        if sizes["keys"]:
            directories = [log.directory for log in logs]
            keys = frame.where("kind = 'keys'").select("cluster", "share", "content")
            number = max(1, min(64, sizes["keys"] // (8 << 20)))
            in_order = keys.repartition(number, "cluster", "share").sortWithinPartitions("cluster", "share")
            for row in _mapped(in_order, tasks.conflict, tasks.CONFLICTS).toArrow().to_pylist():
                finding = conflict_finding(*read_conflict(row["content"]), directories)
                findings.setdefault(row["cluster"], []).append(finding)
        return JudgedFrame(frame, [summaries[log.number] for log in logs], codes, findings, sizes, files)

    def _frame(self, rows: Iterable[tuple[Any, ...]], schema: pa.Schema) -> DataFrame:
        content = list(zip(*rows, strict=True)) or [()] * len(schema)
        arrays = [pa.array(column, kind) for column, kind in zip(content, schema.types, strict=True)]
        return self.session.createDataFrame(pa.Table.from_arrays(arrays, schema=schema), from_arrow_schema(schema))

    def _tell(self, what: str, started: float, parts: str, files: Sequence[Mapping[str, Any]]) -> None:
        seconds, size = time.monotonic() - started, sum(about["size_bytes"] for about in files)
        self.report(f"{what} {len(files)} files, {size / 2**20:.1f} MiB ({parts}) in {seconds:.1f} s")


@contextmanager
def _kept(frame: DataFrame) -> Iterator[DataFrame]:
    """Keep a stage's rows on the executors' disks while they are needed."""
    kept = frame.persist(StorageLevel.DISK_ONLY)
    try:
        yield kept
    finally:
        kept.unpersist()


def _mapped(
    frame: DataFrame, task: Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]], schema: pa.Schema
) -> DataFrame:
    return frame.mapInArrow(task, from_arrow_schema(schema))

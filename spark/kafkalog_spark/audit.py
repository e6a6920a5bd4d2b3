"""The bulk audit: a local audit's stages as a Spark job.

Segments are scanned where tasks are, what a scan gives goes to the task that judges its partition, rows go to Parquet.
What surrounds all logs (the coordinator's word, the newest times) is put together by the driver between the two. A
stage's rows are kept on the executors' disks, so that nothing is read twice; counts come from rows.
"""

from __future__ import annotations

import pickle
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

import pyarrow as pa
from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  # as Spark's own documentation has it
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from kafkalog.audit.atomicity import conflict_finding
from kafkalog.audit.partition import join
from kafkalog.audit.rows import coordinator_rows, partition_row
from kafkalog.audit.run import Cluster, Options, open_clusters
from kafkalog.audit.scan import DAMAGE, STATE_TOPIC
from kafkalog.audit.summary import LogSummary, Summary
from kafkalog.audit.surroundings import StateLog, Surroundings
from kafkalog.errors import KafkaLogError
from kafkalog.findings import Finding, Severity
from kafkalog.log.rows import finding_rows
from kafkalog.log.storage_options import StorageOptions, set_storage_options
from kafkalog.tables import TABLES
from kafkalog.tables.arrow import arrow_batches, arrow_schema, spark_schema
from kafkalog_spark import tasks
from kafkalog_spark.output import Output
from kafkalog_spark.session import at_work
from kafkalog_spark.splits import SHARE_BYTES, SPLIT_BYTES, Log, logs_of, pieces_of

__all__ = ["BulkAudit", "CorruptInputError", "bulk_audit"]

_JUDGE_BYTES: Final = 256 << 20
_FILE_BYTES: Final = 64 << 20  # of rows as tasks pack them; a file has a fifth of it
_WRITERS: Final = 4
_BY_LOG: Final = frozenset({"transactions", "gaps", "producers", "visible", "findings"})


class CorruptInputError(KafkaLogError):
    """Bytes are damaged, and the job was told not to go on then."""


@dataclass(slots=True)
class BulkAudit:
    """What a job found: `summary` is what a local audit's would be; `files` are the segments that were read."""

    summary: Summary
    files: list[dict[str, Any]] = field(default_factory=list)


def bulk_audit(
    session: SparkSession, paths: Sequence[str], output: Output, options: Options | None = None, *,
    tables: Sequence[str], split_bytes: int = SPLIT_BYTES, share_bytes: int = SHARE_BYTES, hashed: bool = False,
    fail_on_corrupt: bool = False, storage: StorageOptions | None = None,
    progress: Callable[[str], object] = lambda _: None,
) -> BulkAudit:  # fmt: skip
    """Audit log directories and write `tables` to `output`, which is there and empty.

    The rows are those of ``kafkalog.audit.run.audit`` with the same options; `jobs` of these means nothing here.
    `storage` says how object stores are reached, where the environment of driver and executors does not.
    Raises CorruptInputError before anything is written where `fail_on_corrupt` is set and bytes are damaged.
    """
    with at_work(session):
        job = _Job(session, output, options or Options(), tuple(tables), storage or StorageOptions(), progress)
        job.open(paths, None if "visible" in tables else share_bytes)
        with job.scanned(split_bytes, hashed=hashed) as scanned:
            job.surround(scanned)
            with job.judged(scanned) as judged:
                if fail_on_corrupt and (damaged := job.damaged()):
                    raise CorruptInputError(f"{damaged} damaged places; nothing was written (--on-corrupt fail)")
                job.write(judged)
    return BulkAudit(job.summary, job.files)


class _Job:
    """One run: what its stages hand on."""

    def __init__(
        self, session: SparkSession, output: Output, options: Options, tables: tuple[str, ...],
        storage: StorageOptions, progress: Callable[[str], object],
    ) -> None:  # fmt: skip
        self.session = session
        self.output = output
        self.options = options
        self.tables = tables
        self.storage = storage
        self.progress = progress
        self.clusters: list[Cluster] = []
        self.logs: list[Log] = []
        self.clocks: dict[int, tuple[int, int]] = {}  # of clusters: the newest time, and the newest of a broker's
        self.around: dict[int, Surroundings] = {}
        self.findings: dict[int, list[Finding]] = {}  # of clusters, by their numbers
        self.summary = Summary()
        self.files: list[dict[str, Any]] = []
        self.content_bytes: Counter[str] = Counter()

    def open(self, paths: Sequence[str], share_bytes: int | None) -> None:
        """List what lies there."""
        started = time.monotonic()
        set_storage_options(self.storage)
        self.clusters, self.summary.unreadable = open_clusters(paths)
        self.logs = logs_of(self.clusters, share_bytes)
        nodes = [node for cluster in self.clusters for node in cluster.nodes]
        segments = sum(len(log.directory.segments) for log in self.logs)
        size = sum(log.directory.size for log in self.logs)
        self._tell("listed", started, f"{len(nodes)} directories, {len(self.logs)} logs", segments, size)

    @contextmanager
    def scanned(self, split_bytes: int, *, hashed: bool) -> Iterator[DataFrame]:
        """Scan every segment."""
        started = time.monotonic()
        pieces = pieces_of(self.logs, split_bytes)
        number = max((piece.task for piece in pieces), default=0) + 1
        rows = self._frame(((piece.task, tasks.packed(piece)) for piece in pieces), tasks.PIECES)
        scan = partial(tasks.scan, limits=self.options.limits, storage=self.storage, hashed=hashed)
        with _kept(_mapped(rows.repartitionById(number, "task"), scan, tasks.SCANNED)) as scanned:
            heads = scanned.where("kind = 'scan' and share = 0")
            names = ("log", "split_no", "size", "newest", "newest_broker", "findings", "sha256")
            findings = 0
            for row in heads.select(*names).toArrow().to_pylist():
                log = self.logs[row["log"]]
                newest, newest_broker = self.clocks.get(log.cluster, (-1, -1))
                self.clocks[log.cluster] = (max(newest, row["newest"]), max(newest_broker, row["newest_broker"]))
                findings += row["findings"]
                about = {"file": log.directory.segments[row["split_no"]].path, "size_bytes": row["size"]}
                self.files.append(about | {"sha256": row["sha256"]} if hashed else about)
            self.files.sort(key=lambda about: about["file"])
            size = sum(about["size_bytes"] for about in self.files)
            self._tell("scanned", started, f"{number} tasks, {findings} findings", len(self.files), size)
            yield scanned

    def surround(self, scanned: DataFrame) -> None:
        """Put together what surrounds the logs of each cluster."""
        state_groups = {log.group for log in self.logs if log.directory.topic == STATE_TOPIC}
        by_log: dict[int, list[tuple[int, int, str, bytes]]] = {}
        if state_groups:
            rows = scanned.where(F.col("group").isin(*state_groups))
            for row in rows.select("log", "split_no", "row_no", "kind", "content").toArrow().to_pylist():
                place = (row["split_no"], row["row_no"], row["kind"], row["content"])
                by_log.setdefault(row["log"], []).append(place)
        states: dict[int, list[StateLog]] = {}
        for log in self.logs:
            if log.directory.topic == STATE_TOPIC:
                content = [(kind, content) for _, _, kind, content in sorted(by_log.get(log.number, ()))]
                _, scans = tasks.joined([("log", tasks.packed(log)), *content])
                state = StateLog.of(log.node, join(log.directory, scans), scans)
                states.setdefault(log.cluster, []).append(state)
        for number, cluster in enumerate(self.clusters):
            clocks = self.clocks.get(number, (-1, -1))
            around = Surroundings.of(cluster.nodes, states.get(number, ()), *clocks, self.options)
            self.findings[number] = around.findings
            around.findings = []
            self.around[number] = around

    def damaged(self) -> int:
        """Count the places that hold no whole batch, but for those that a note excuses: a broker was writing there."""
        codes = {*DAMAGE, "file-unreadable"}
        return sum(n for (code, how), n in self.summary.findings.items() if code in codes and how > Severity.NOTE)

    @contextmanager
    def judged(self, scanned: DataFrame) -> Iterator[DataFrame]:
        """Judge every partition, and sum up."""
        started = time.monotonic()
        where = [
            (log.group, share, log.number, -1, -1, "log", 0, -1, -1, 0, None, tasks.packed(log))
            for log in self.logs
            for share in range(log.shares)
        ]
        rows = scanned.unionByName(self._frame(where, tasks.SCANNED))
        groups = len({(log.group, share) for log in self.logs for share in range(log.shares)})
        size = sum(log.directory.size for log in self.logs)
        number = max(1, min(groups, max(8, size // _JUDGE_BYTES)))
        keys = ("group", "share", "log", "split_no", "row_no")
        in_order = rows.repartition(number, "group", "share").sortWithinPartitions(*keys)
        wanted = tuple(table for table in self.tables if table in _BY_LOG)
        around = tasks.Judge(self.around, wanted, self.storage)
        with _kept(_mapped(in_order, around, tasks.JUDGED)) as judged:
            self._sum_up(judged)
            findings = self.summary.findings.total()
            parts = f"{number} tasks, {groups} partitions, {findings} findings"
            self._tell("judged", started, parts, len(self.files), size)
            yield judged

    def _sum_up(self, judged: DataFrame) -> None:
        """Collect what the logs come to, and hold partitions against one another."""
        logs: dict[int, LogSummary] = {}
        rows = judged.where("kind in ('summary', 'counts')").select("kind", "share", "rows", "content")
        for row in sorted(rows.toArrow().to_pylist(), key=lambda row: (row["kind"], row["rows"], row["share"])):
            content = pickle.loads(row["content"])
            if row["kind"] == "counts":
                codes, sizes = content
                self.summary.findings.update(codes)
                self.content_bytes.update(sizes)
            else:
                log = row["rows"]
                logs[log] = logs[log].with_share(content) if log in logs else content
        self.summary.logs = [logs[log.number] for log in self.logs]
        directories = [log.directory for log in self.logs]
        if self.content_bytes["keys"]:
            keys = judged.where("kind = 'keys'").select("cluster", "share", "content")
            number = max(1, min(64, self.content_bytes["keys"] // (8 << 20)))
            in_order = keys.repartition(number, "cluster", "share").sortWithinPartitions("cluster", "share")
            for row in _mapped(in_order, tasks.conflict, tasks.CONFLICTS).toArrow().to_pylist():
                one, other = pickle.loads(row["content"])
                self.findings[row["cluster"]].append(conflict_finding(one, other, directories))
        for number, cluster in enumerate(self.clusters):
            self.summary.count(self.findings[number])
            for node in cluster.nodes:
                self.summary.count(node.findings)

    def write(self, judged: DataFrame) -> None:
        """Write the tables."""
        started = time.monotonic()
        driver: dict[str, Iterable[tuple[Any, ...]]] = {
            "partitions": (partition_row(log) for log in self.summary.logs),
            "coordinator": (row for around in self.around.values() for row in coordinator_rows(around.coordinator)),
            "findings": self._finding_rows(),
        }
        with ThreadPoolExecutor(_WRITERS) as pool:  # most are small: what they take is what a job takes to start
            for done in [pool.submit(self._write, table, judged, driver.get(table)) for table in self.tables]:
                done.result()
        seconds = time.monotonic() - started
        self.progress(f"wrote {len(self.tables)} tables in {seconds:.1f} s")

    def _finding_rows(self) -> Iterator[tuple[Any, ...]]:
        """Yield what is said of brokers and clusters; the tasks tell what is said of logs."""
        for number, cluster in enumerate(self.clusters):
            for node in cluster.nodes:
                yield from finding_rows(node.findings, node.node_id)
            yield from finding_rows(self.findings[number])

    def _write(self, table: str, judged: DataFrame, of_driver: Iterable[tuple[Any, ...]] | None) -> None:
        schema = StructType.fromJson(spark_schema(TABLES[table]))
        frames = []
        if of_driver is not None:
            frames.append(self._table(of_driver, table, schema))
        if table in _BY_LOG:
            files = max(1, self.content_bytes[table] // _FILE_BYTES)
            rows = judged.where(F.col("kind") == table).select("content").coalesce(files)
            frames.append(rows.mapInArrow(tasks.unpack, schema))
        frame = frames[0] if len(frames) == 1 else frames[0].unionByName(frames[1]).coalesce(1)
        writer = frame.write.mode("append").option("compression", "zstd")
        writer = writer.option("mapreduce.fileoutputcommitter.marksuccessfuljobs", "false")
        writer.parquet(self.output.of_table(table))

    def _table(self, rows: Iterable[tuple[Any, ...]], table: str, schema: StructType) -> DataFrame:
        content = pa.Table.from_batches(arrow_batches(rows, arrow_schema(TABLES[table])), arrow_schema(TABLES[table]))
        return self.session.createDataFrame(content.replace_schema_metadata(None), schema).coalesce(1)

    def _frame(self, rows: Iterable[tuple[Any, ...]], schema: pa.Schema) -> DataFrame:
        content = list(zip(*rows, strict=True)) or [()] * len(schema)
        arrays = [pa.array(column, kind) for column, kind in zip(content, schema.types, strict=True)]
        return self.session.createDataFrame(pa.Table.from_arrays(arrays, schema=schema), from_arrow_schema(schema))

    def _tell(self, what: str, started: float, parts: str, files: int, size: int) -> None:
        seconds = time.monotonic() - started
        self.progress(f"{what} {files} files, {size / 2**20:.1f} MiB ({parts}) in {seconds:.1f} s")


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

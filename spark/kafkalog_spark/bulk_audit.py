"""The bulk audit: a local audit's stages as a Spark job, and its tables as Parquet.

Between scanning and judging the driver puts together what surrounds all logs: the coordinator's records and the newest
times.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

from kafkalog.auditing.incidents import ClusterRows, Verdict, incidents_of, tables_of_rows
from kafkalog.auditing.partition import LogReach
from kafkalog.auditing.pipeline import KeptScans, LogPlace, logs_of, run_of, run_stages
from kafkalog.auditing.topics import CommittedGroups
from kafkalog.auditing.transactions import (
    AuditOptions,
    LogSummary,
    Summary,
    Surroundings,
    concerns,
    coordinator_batches,
    coordinator_of,
    partition_row,
)
from kafkalog.catalogue import CATALOGUE
from kafkalog.errors import KafkaLogError
from kafkalog.files.names import STATE_TOPIC
from kafkalog.findings import Bytes, Finding, Severity
from kafkalog.folds.shares import shares_of
from kafkalog.log_dirs.clusters import Cluster, open_clusters
from kafkalog.log_dirs.moving import lost_directories, unseen
from kafkalog.narrowing import Narrowing
from kafkalog.reports import ClusterRead, WrittenAudit, about_cluster, first_screen
from kafkalog.reports.page.elements import element, html
from kafkalog.segments.file_rows import finding_rows
from kafkalog.tables import TABLES
from kafkalog.tables.arrow import arrow_batches, arrow_schema
from kafkalog.tables.audit_tables import COORDINATOR, NOTABLE
from kafkalog.tables.incident_tables import INCIDENTS
from kafkalog.tables.manifest import Run
from kafkalog_spark.between_tasks import FileAccess
from kafkalog_spark.executor import JudgedFrame, SparkExecutor
from kafkalog_spark.frames import cores_of, most_results
from kafkalog_spark.job_output import Output
from kafkalog_spark.job_sizes import JobSizes, share_bytes_of
from kafkalog_spark.judge_tasks import EXPLAINED, LOST
from kafkalog_spark.parts import PartFile
from kafkalog_spark.session import JobPlan, at_work

__all__ = ["OF_TASKS", "BulkAudit", "CorruptInputError", "WorkAudit", "bulk_audit", "incident_rows"]

OF_TASKS: Final = (NOTABLE.name, EXPLAINED, LOST)  # the few rows that incidents are made of, which tasks send

Row = tuple[Any, ...]


def incident_rows(
    judged: JudgedFrame, clusters: Sequence[Cluster], logs: Sequence[LogPlace], around: Mapping[int, Surroundings],
    findings: Mapping[int, list[Finding]], refused: Iterable[Finding] = (),
) -> list[Row]:  # fmt: skip
    """Return the rows of the table ``incidents`` of all clusters, made as a local audit makes them."""
    collected: dict[tuple[str, int], list[Row]] = {}
    for key, contents in judged.kinds.items():
        rows = collected.setdefault(key, [])
        for content in contents:
            with pa.ipc.open_stream(content) as reader:
                for batch in reader:
                    rows += zip(*(column.to_pylist() for column in batch.columns), strict=True)
    known = []
    for number, cluster in enumerate(clusters):
        reported = [*_finding_rows(cluster, findings[number]), *collected.get((EXPLAINED, number), ())]
        of_cluster = [partition_row(one) for log, one in zip(logs, judged.logs, strict=True) if log.cluster == number]
        notable = collected.get((NOTABLE.name, number), ())
        one = around[number]
        of_tables = ClusterRows(reported, of_cluster, notable, collected.get((LOST, number), ()))
        known.append(
            tables_of_rows(cluster.cluster_id, of_tables, one.coordinator, one.metadata, cluster.nodes, one.now)
        )
    return [incident.row() for incident in incidents_of(known, refused)]


def _finding_rows(cluster: Cluster, findings: Iterable[Finding]) -> Iterator[Row]:
    """Yield the findings about a cluster and its brokers; the tasks yield those about logs."""
    for node in cluster.nodes:
        yield from finding_rows(node.findings, node.node_id)
    yield from finding_rows(findings)


_SHOWN: Final = 10  # incidents in a notebook
_BY_LOG: Final = frozenset({"transactions", "gaps", "producers", "leaders", "remote_segments", "visible", "findings"})


class CorruptInputError(KafkaLogError):
    """Bytes are damaged, and the job has to stop in that case."""


@dataclass(slots=True)
class BulkAudit:
    """A job's result: `summary` is the same as a local audit's; `files` are the segments that were read.

    `verdict` is what each face of the audit says first, and `incidents` are what it is about, worst first, as rows of
    their table. `about` says what was read of each cluster, `reading` how. The tables are files in `output`; `session`
    reads them.
    """

    session: SparkSession = field(repr=False)
    output: Output = field(repr=False)
    tables: tuple[str, ...]
    summary: Summary = field(repr=False)
    files: list[dict[str, Any]] = field(repr=False)
    verdict: Verdict
    incidents: list[dict[str, Any]] = field(repr=False)
    about: list[dict[str, Any]] = field(default_factory=list, repr=False)
    reading: dict[str, Any] = field(default_factory=dict, repr=False)
    run: Run | None = field(default=None, repr=False)

    def table(self, name: str) -> DataFrame:
        """Return a table as a DataFrame of its files. Raises KeyError for one that was not written."""
        if name not in self.tables:
            raise KeyError(f"this audit has no table {name!r}: it has {', '.join(self.tables)}")
        return self.session.read.parquet(f"{self.output.uri}/{name}")

    def _repr_html_(self) -> str:
        """Return the verdict and the worst incidents, as a notebook shows them."""
        rows = [[one["severity"], one["title"]] for one in self.incidents[:_SHOWN]]
        more = len(self.incidents) - len(rows)
        shown = element(
            "div",
            element("p", element("b", self.verdict.words), f": {self.verdict.sentence}"),
            element("table", (element("tr", (element("td", cell) for cell in row)) for row in rows)) if rows else None,
            element("p", f"{more} more in the table incidents") if more else None,
            element("p", self.output.name),
        )
        return html(shown)


def bulk_audit(
    session: SparkSession, paths: Sequence[str], output: Output, options: AuditOptions | None = None, *,
    tables: Sequence[str], kept: KeptScans | None = None, plan: JobPlan | None = None,
    said: Callable[[BulkAudit], Mapping[str, str]] = lambda _: {},
) -> BulkAudit:  # fmt: skip
    """Audit log directories and write `tables` to `output`, which was made.

    The rows are those of a local audit with the same options; the option `jobs` has no effect here.
    `kept` says which scans are kept and taken, `plan` how the job works. `said` are the texts of further files, which
    are written when the tables count.
    Raises CorruptInputError before anything is written if the plan's `fail_on_corrupt` is set and bytes are damaged.
    """
    options, plan = options or AuditOptions(), plan or JobPlan()
    progress = plan.progress
    with at_work(session, plan) as mine:
        started = time.monotonic()
        clusters, refused = open_clusters(paths)
        every = logs_of(clusters, _share_bytes(clusters, mine, plan, tables))
        logs, of_whom = _chosen(every, plan.narrowing)
        sizes = _sizes(logs, tables, hashed=plan.hashed)
        sizes.check(most_results(mine))
        nodes = sum(len(cluster.nodes) for cluster in clusters)
        segments, size = (sum(len(log.directory.segments) for log in logs), sum(log.directory.size for log in logs))
        seconds = time.monotonic() - started
        listed = f"{nodes} directories, {len(logs)} logs"
        progress(f"listed {segments} files, {size / 2**20:.1f} MiB ({listed}) in {seconds:.1f} s")
        by_log = tuple(table for table in tables if table in _BY_LOG)
        output.run = run_of(
            time.time() if plan.begun is None else plan.begun, (cluster.cluster_id for cluster in clusters)
        )
        executor = SparkExecutor(
            mine, options.limits, FileAccess.of(plan.storage, clusters), by_log, OF_TASKS, output.work,
            plan.split_bytes, sizes, kept or KeptScans(), progress, of_whom, output.run,
        )  # fmt: skip
        with output.working(), run_stages(clusters, logs, executor, options) as (surroundings, judged):
            around = surroundings
            findings = {number: [*one.findings, *judged.findings.get(number, ())] for number, one in around.items()}
            logs = logs[:of_whom]
            for log, read in zip(logs, judged.logs, strict=True):
                if log.directory.segments and not read.segments:
                    findings[log.cluster] += unseen(log.directory)
            for number, cluster in enumerate(clusters):
                pairs = zip(logs, judged.logs, strict=True)
                reaches = [_reach_of(log, one) for log, one in pairs if log.cluster == number]
                findings[number] += CommittedGroups(cluster.nodes, options.limits).told(reaches)
                findings[number] += lost_directories(cluster.nodes)  # once all is read
            if plan.narrowing:
                clusters, around, findings = _narrowed(plan.narrowing, clusters, around, findings, judged, logs)
            summary = _summary(clusters, refused, judged, findings)
            summary.narrowing = plan.narrowing
            if plan.fail_on_corrupt and (damaged := _damaged(summary)):
                raise CorruptInputError(f"{damaged} damaged places; nothing was written (--on-corrupt fail)")
            incidents = incident_rows(judged, clusters, logs, around, findings, refused)
            started = time.monotonic()
            _write(output, judged, tables, clusters, around, findings, summary, incidents)
            about = [
                about_cluster(one.cluster_id, one.nodes, around[number].metadata, around[number].newest_broker)
                for number, one in enumerate(clusters)
            ]
            told = [dict(zip(INCIDENTS.names, row, strict=True)) for row in incidents]
            verdict = first_screen(WorkAudit(output, judged.parts, summary, about), told).verdict
            done = BulkAudit(
                session, output, tuple(tables), summary, judged.files, verdict, told, [one._asdict() for one in about],
                judged.reading, output.run,
            )  # fmt: skip
            output.commit(judged.parts, said(done))
            progress(f"wrote {len(tables)} tables in {time.monotonic() - started:.1f} s")
    return done


def _reach_of(log: LogPlace, summary: LogSummary) -> LogReach:
    return LogReach(
        log.directory, summary.epochs, summary.log_start_offset, summary.log_end_offset, summary.last_stable_offset
    )


def _chosen(every: Sequence[LogPlace], narrowing: Narrowing) -> tuple[list[LogPlace], int]:
    """Return the logs that are read, those that are meant first, and how many these are.

    Raises NothingMatchesError for none.
    """
    if not narrowing or not every:
        return list(every), len(every)
    narrowing.refuse_nothing({(log.directory.topic, log.directory.partition) for log in every})
    meant = [log for log in every if narrowing.log(log.directory.topic, log.directory.partition)]
    numbers = {log.number for log in meant}
    others = [log for log in every if log.directory.topic == STATE_TOPIC and log.number not in numbers]
    return [replace(log, number=number) for number, log in enumerate([*meant, *others])], len(meant)


def _narrowed(
    narrowing: Narrowing, clusters: Sequence[Cluster], around: Mapping[int, Surroundings],
    findings: Mapping[int, list[Finding]], judged: JudgedFrame, logs: Sequence[LogPlace],
) -> tuple[list[Cluster], dict[int, Surroundings], dict[int, list[Finding]]]:  # fmt: skip
    """Return of clusters what is about the chosen logs: the findings, and the records of the ids that wrote there."""
    meant = partial(concerns, narrowing)
    of_clusters = [
        replace(one, nodes=[replace(node, findings=[*filter(meant, node.findings)]) for node in one.nodes])
        for one in clusters
    ]
    surroundings = {}
    for number, one in around.items():
        groups = {log.group for log in logs if log.cluster == number}
        wrote = [ids for group, ids in judged.producers.items() if group in groups]
        here = np.unique(np.concatenate([np.empty(0, np.int64), *wrote]))
        surroundings[number] = replace(one, coordinator=coordinator_of(one.coordinator, narrowing, None, here))
    return of_clusters, surroundings, {number: [*filter(meant, some)] for number, some in findings.items()}


def _share_bytes(
    clusters: Sequence[Cluster], session: SparkSession, plan: JobPlan, tables: Sequence[str]
) -> int | None:  # fmt: skip
    """Return from how many bytes on the producers of a log are shared out, None where never."""
    if "visible" in tables:
        return None
    if plan.share_bytes is not None:
        return plan.share_bytes
    every = (one for cluster in clusters for _, one in cluster.wanted())
    meant = (one.size for one in every if plan.narrowing.log(one.topic, one.partition))
    return share_bytes_of(sum(meant), cores_of(session))


def _sizes(logs: Sequence[LogPlace], tables: Sequence[str], *, hashed: bool) -> JobSizes:
    shares = {log.group: len(shares_of(log.shares)) for log in logs}
    return JobSizes(
        sum(len(log.directory.segments) for log in logs), len(logs), sum(shares.values()),
        sum(log.directory.size for log in logs), len(_BY_LOG.intersection(tables)),
        max(shares.values(), default=1), hashed,
    )  # fmt: skip


def _summary(
    clusters: Sequence[Cluster], refused: Sequence[Finding], judged: JudgedFrame, findings: Mapping[int, list[Finding]]
) -> Summary:
    summary = Summary(judged.logs, judged.codes, reused=judged.reused)
    summary.refuse(refused)
    for number, cluster in enumerate(clusters):
        summary.count(findings[number])
        for node in cluster.nodes:
            summary.count(node.findings)
    return summary


def _damaged(summary: Summary) -> int:
    """Count the places without a whole batch, except those with only a note: a broker was writing there."""
    lost = {name for name, code in CATALOGUE.items() if code.bytes in (Bytes.LOST, Bytes.SUSPECT)}
    return sum(n for (code, how), n in summary.findings.items() if code in lost and how > Severity.NOTE)


def _write(
    output: Output, judged: JudgedFrame, tables: Sequence[str], clusters: Sequence[Cluster],
    around: Mapping[int, Surroundings], findings: Mapping[int, list[Finding]], summary: Summary,
    incidents: Iterable[tuple[Any, ...]],
) -> None:  # fmt: skip
    """Write the driver's rows."""
    of_tasks = {part.table for part in judged.parts}
    of_driver: dict[str, Iterable[tuple[Any, ...]]] = {
        "partitions": (partition_row(log) for log in summary.logs),
        "findings": chain(
            finding_rows(summary.refused),
            *(_finding_rows(one, findings[number]) for number, one in enumerate(clusters)),
        ),
        INCIDENTS.name: incidents,
    }
    for table in tables:
        if table == COORDINATOR.name:
            coordinators = (one.coordinator for one in around.values())
            output.write_table(COORDINATOR, chain.from_iterable(map(coordinator_batches, coordinators)))
        elif table in of_driver or table not in of_tasks:  # a table without rows has a file with its columns
            rows = of_driver.get(table, ())
            output.write_table(TABLES[table], arrow_batches(rows, arrow_schema(TABLES[table])))


class WorkAudit(WrittenAudit):
    """An audit whose files are in an output's work: they are this job's own, so nothing is checked."""

    def __init__(
        self, output: Output, parts: Iterable[PartFile], summary: Summary, about: list[ClusterRead]
    ) -> None:  # fmt: skip
        """Name the files of all tables; `parts` are those of the tasks."""
        self._filesystem, self._paths = output.filesystem, dict[str, list[str]]()
        for table, file in (*output.written, *parts):
            self._paths.setdefault(table, []).append(f"{output.work_path}/{file.name}")
        self.tables = frozenset(self._paths)
        self.answer, self.fine, self.totals = None, "", summary.totals()
        self.unread, self.noted = summary.unread, bool(summary.findings)
        self.scope, self._about = summary.scope(), about

    def batches(self, table: str, columns: Sequence[str] | None = None) -> Iterator[Any]:
        """Yield a table's batches."""
        for path in self._paths.get(table, ()):
            with self._filesystem.open_input_file(path) as stream, pq.ParquetFile(stream) as parquet:
                yield from parquet.iter_batches(columns=columns)

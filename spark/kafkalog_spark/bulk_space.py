"""What holds the bytes of whole clusters, as a Spark job: tasks read and judge directories, the driver settles brokers.

The rows are those of a local run with the same options; tables are written as Parquet.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from operator import itemgetter
from typing import Any, Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  # as Spark's own documentation has it

from kafkalog.auditing.incidents import items_of_judged
from kafkalog.auditing.space import (
    LogSpace,
    Settings,
    SpaceOptions,
    StateTopic,
    TopicClock,
    Weighed,
    judge_brokers,
    known_space,
    moment_of,
    replicas,
    topic_clock_rows,
)
from kafkalog.auditing.topics import cluster_metadata, disks_not_given
from kafkalog.files.names import STATE_TOPIC
from kafkalog.findings import Finding
from kafkalog.log_dirs.clusters import Cluster, open_clusters
from kafkalog.log_dirs.moving import lost_directories, unseen
from kafkalog.segments.file_rows import finding_rows
from kafkalog.tables import TABLES
from kafkalog.tables.arrow import arrow_batches, arrow_schema
from kafkalog.tables.audit_tables import FINDINGS
from kafkalog.tables.incident_tables import INCIDENTS
from kafkalog.tables.space_tables import BLOCKERS, PRODUCER_GROUPS, SPACE, TOPIC_CLOCKS, TRANSACTION_COSTS
from kafkalog_spark import space_tasks
from kafkalog_spark.between_tasks import FileAccess, Seal, rows_of
from kafkalog_spark.frames import fetched, kept, mapped, sent, spread
from kafkalog_spark.job_output import Output
from kafkalog_spark.parts import PART, PartFile, read_part
from kafkalog_spark.session import JobPlan, at_work

__all__ = ["BulkSpace", "bulk_space"]

_OF_DRIVER: Final = (SPACE.name, BLOCKERS.name, TOPIC_CLOCKS.name, INCIDENTS.name, FINDINGS.name)
_JOINED: Final = {TRANSACTION_COSTS.name: "cost", PRODUCER_GROUPS.name: "group"}


@dataclass(slots=True)
class BulkSpace:
    """A job's result: what was found, in how many directories."""

    findings: list[Finding] = field(default_factory=list)
    directories: int = 0


def bulk_space(
    session: SparkSession, paths: Sequence[str], output: Output, options: SpaceOptions | None = None, *,
    tables: Sequence[str], plan: JobPlan | None = None,
    said: Callable[[BulkSpace], Mapping[str, str]] = lambda _: {},
) -> BulkSpace:  # fmt: skip
    """Measure log directories and write `tables` to `output`, which was made.

    `plan` says how the job works; `said` are the texts of further files, which are written when the tables count.
    An open transaction's incident is not looked up: ``txn-audit`` has it.
    """
    options, plan = options or SpaceOptions(), plan or JobPlan()
    with at_work(session, plan) as mine:
        clusters, refused = open_clusters(paths)
        done = BulkSpace(findings=list(refused))
        run = _Run(
            mine, clusters, options, FileAccess.of(plan.storage, clusters), frozenset(tables), done, plan.progress
        )
        with (
            output.working(),
            run.read_directories(plan.split_bytes, output.work) as read,
            run.judge(read, output.work) as made,
        ):
            run.write_tables(made, output, said)
    return done


@dataclass(slots=True)
class _Run:
    """One job over some clusters; directories are known by their numbers."""

    session: SparkSession
    clusters: Sequence[Cluster]
    options: SpaceOptions
    reach: FileAccess
    tables: frozenset[str]
    done: BulkSpace
    progress: Callable[[str], object]
    logs: list[tuple[int, LogSpace]] = field(default_factory=list)
    about: dict[int, space_tasks.About] = field(default_factory=dict)
    first: frozenset[int] = frozenset()
    seal: Seal = field(default_factory=Seal)

    @contextmanager
    def read_directories(self, split_bytes: int, work: str) -> Iterator[DataFrame]:
        """Read all directories."""
        settings: dict[int, Settings] = {}
        rows, task, size = [], 0, 0
        for number, cluster in enumerate(self.clusters):
            metadata = cluster_metadata(cluster.nodes, self.options.limits, self.done.findings.append)
            self.done.findings += disks_not_given(cluster.nodes, metadata)
            settings[number] = Settings(metadata, self.options.properties, self.options.topics)
            for node in cluster.nodes:
                self.done.findings += node.findings
                bare = replace(node, partitions=[], findings=[], all_checkpoints={}, identity=node.identity.elsewhere())
                for directory in node.partitions:
                    content = self.seal.packed((number, bare, directory))
                    rows.append((task, len(self.logs), content))
                    self.logs.append((number, known_space(node, directory, settings[number])))
                    size += directory.size
                    if size >= split_bytes:
                        task, size = task + 1, 0
        self.done.directories = len(self.logs)
        directories = sent(
            self.session, f"{work}/directories", rows_of(rows, space_tasks.DIRECTORIES), space_tasks.DIRECTORIES,
            self.reach,
        )  # fmt: skip
        reading = space_tasks.ReadSpace(settings, self.options.limits, self.reach, self.seal)
        with kept(mapped(spread(directories, task + 1, "task"), reading, space_tasks.READ)) as read:
            newest: dict[int, int] = {}
            ends: dict[int, int] = {}
            what = f"read {self.done.directories:,} directories"
            for row in fetched(read.drop("content"), what, self.progress).to_pylist():
                cluster_number = row["cluster"]
                newest[cluster_number] = max(newest.get(cluster_number, -1), row["newest_broker"])
                ends[row["number"]] = row["log_end"]
            for number, cluster in enumerate(self.clusters):
                metadata = settings[number].metadata
                latest = max(newest.get(number, -1), -1 if metadata is None else metadata.newest)
                moment = moment_of(cluster, latest, self.options.now)
                self.about[number] = space_tasks.About(settings[number], moment)
            self._first(ends)
            yield read

    def _first(self, ends: Mapping[int, int]) -> None:
        """Choose the replica of each partition in which transactions and producers are counted."""
        self.first = frozenset(
            number
            for cluster in range(len(self.clusters))
            for number in replicas((at, self.logs[at][1], ends[at]) for at in ends if self.logs[at][0] == cluster)
        )

    @contextmanager
    def judge(self, read: DataFrame, work: str) -> Iterator[DataFrame]:
        """Judge all directories; the state topics first."""
        if self.tables.intersection(_JOINED):
            of_states = [number for number in self.first if self.logs[number][1].directory.topic == STATE_TOPIC]
            rows = read.where(F.col("number").isin(of_states)).repartition("cluster").sortWithinPartitions("cluster")
            task = partial(space_tasks.states, limits=self.options.limits, reach=self.reach, seal=self.seal)
            found = mapped(rows, task, space_tasks.MADE)
            for row in fetched(found, "read the state topics", self.progress).to_pylist():
                about = self.about[row["cluster"]]
                self.about[row["cluster"]] = replace(about, state=self.seal.unpacked(row["content"]))
        judging = space_tasks.JudgeSpace(
            self.reach, self.seal, work, self.about, self.tables, self.first, self.options.limits, self.options.keys
        )
        with kept(mapped(read, judging, space_tasks.MADE)) as made:
            yield made

    def write_tables(self, made: DataFrame, output: Output, said: Callable[[BulkSpace], Mapping[str, str]]) -> None:
        """Write the driver's tables, and let all count."""
        parts = _parts(made, f"judge {self.done.directories:,} directories", self.progress)
        kinds = [kind for table, kind in _JOINED.items() if table in self.tables]
        if kinds:
            states: dict[int, StateTopic] = {number: about.state for number, about in self.about.items()}
            rows = made.where(F.col("kind").isin(kinds)).repartition("kind", "cluster", "key")
            join = space_tasks.JoinSpace(self.reach, self.seal, output.work, states)
            joined = mapped(rows.sortWithinPartitions("kind", "cluster", "key"), join, space_tasks.MADE)
            with kept(joined) as made_of_all:
                parts += _parts(made_of_all, "join what directories cost", self.progress)
        mine, of_tasks = self._of_driver(made), {part.table for part in parts}
        for table in sorted(self.tables):
            if table in _OF_DRIVER or table not in of_tasks:  # a table without rows has a file with its columns
                output.write_table(TABLES[table], arrow_batches(mine.get(table, ()), arrow_schema(TABLES[table])))
        output.commit(parts, said(self.done))

    def _of_driver(self, made: DataFrame) -> dict[str, list[tuple[Any, ...]]]:
        """Settle what can only be said of a broker's directories together; return the rows of these tables."""
        judged: dict[int, list[Weighed]] = {}
        clocks: list[tuple[int, TopicClock]] = []
        for row in fetched(
            made.where("kind = 'judged'").select("content"), "collect verdicts", self.progress
        ).to_pylist():
            number, verdicts, findings, suffix, of_log = self.seal.unpacked(row["content"])
            clocks += [(number, clock) for clock in of_log]
            cluster, log = self.logs[number]
            if suffix and not log.directory.suffix:
                self.done.findings += unseen(log.directory)
            judged.setdefault(cluster, []).append(Weighed(log, verdicts, self.about[cluster].moment.now))
            self.done.findings += findings
        for one in self.clusters:
            self.done.findings += lost_directories(one.nodes)
        rows: dict[str, list[tuple[Any, ...]]] = {}
        for of_cluster in judged.values():
            judge_brokers(of_cluster)
        every = sorted((one for some in judged.values() for one in some), key=lambda one: -one.log.all_bytes)
        for item in items_of_judged(every, self.tables.intersection(_OF_DRIVER)):
            if isinstance(item, Finding):
                self.done.findings.append(item)
            else:
                rows.setdefault(item[0].name, []).append(item[1])
        for cluster in judged:
            own = (clock for number, clock in sorted(clocks, key=itemgetter(0)) if self.logs[number][0] == cluster)
            rows.setdefault(TOPIC_CLOCKS.name, []).extend(topic_clock_rows(own))
        rows[FINDINGS.name] = list(finding_rows(self.done.findings))
        return rows


def _parts(made: DataFrame, what: str, tell: Callable[[str], object]) -> list[PartFile]:
    """Return the files of tables that tasks wrote, in one order for one input."""
    rows = fetched(made.where(F.col("kind") == PART).select("content"), what, tell)
    return sorted(map(read_part, rows["content"].to_pylist()), key=lambda part: (part.table, part.file.sha256))

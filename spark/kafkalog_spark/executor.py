"""Runs an audit's stages on Spark: tasks scan segments, and one task for each partition judges it.

A stage's rows are kept on the executors' disks, so that nothing is read twice; counts come from rows.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  # as Spark's own documentation has it

from kafkalog import few_of_many
from kafkalog.auditing.partition import SegmentScan, open_at_start
from kafkalog.auditing.pipeline import (
    Clock,
    KeptScans,
    KnownSegment,
    LogPlace,
    SegmentPlace,
    groups_of,
    segments_of,
)
from kafkalog.auditing.transactions import Contradictions, LogSummary, Reused, Surroundings, conflict_finding
from kafkalog.files.limits import Limits
from kafkalog.files.object_stores import add_requests
from kafkalog.findings import Finding, Severity
from kafkalog.folds.coordinator import Coordinator
from kafkalog.tables.manifest import Run
from kafkalog_spark import judge_tasks, scan_tasks
from kafkalog_spark.between_tasks import FileAccess, Row, Seal, rows_of
from kafkalog_spark.frames import fetched, kept, mapped, sent, spread
from kafkalog_spark.job_sizes import MOST_TASKS, TABLE_FILE_BYTES, JobSizes, batched
from kafkalog_spark.parts import PART, PARTS, PartFile, PutTogether, read_part, write_part

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["KEY_BYTES", "KEY_SHARE_BYTES", "MANY_FILES", "JudgedFrame", "ScannedFrame", "SparkExecutor"]

MANY_FILES: Final = 64  # of a table: more are put together, where they are small

_BY_INODE: Final = "inode, size and time"
_BY_TIME: Final = "size and time, and by checksums of headers where a scan was kept"  # on other machines

_IN_ORDER: Final = ("group", "share", "log", "split_no", "row_no")  # of the rows that come together

_SPLITS: Final = pa.schema([("log", pa.int32()), ("split_no", pa.int32())])

_AGAIN: Final = 64  # tasks that try again what could not be read, if that is little

KEY_BYTES: Final = 8 << 20  # of keys that one task compares

KEY_SHARE_BYTES: Final = 256 << 20  # of logs; at most a sixth of them are keys

_MOST_KEY_SHARES: Final = 4096  # each is a row of each log


@dataclass(frozen=True, slots=True)
class ScannedFrame:
    """The scans as rows of ``scan_tasks.SCANNED``; `files` are the segments that were read.

    `producers` are the producer ids in the logs of each partition, by its number, `in_segments` counts the transactions
    that are open at the ends of a log's segments. `reused` says which segments were scanned, `reading` how it went.
    """

    executor: SparkExecutor
    frame: DataFrame
    clocks: dict[int, Clock]
    files: list[dict[str, Any]]
    producers: dict[int, NDArray[np.int64]]
    in_segments: Counter[int] = field(default_factory=Counter)
    reused: Reused = field(default_factory=Reused)
    reading: dict[str, Any] = field(default_factory=dict)

    def clock(self, cluster: int) -> Clock:
        return self.clocks.get(cluster, Clock())

    def opened(self) -> Counter[int]:
        return self.in_segments

    def contradictions(
        self, logs: Sequence[LogPlace], found_by: Mapping[int, Contradictions]
    ) -> Iterator[tuple[int, Finding, int]]:
        """Look at the scans in tasks, one job for all logs; of each log the driver gets the first finding."""
        what = f"look for what {len(logs):,} logs contradict"
        rows = fetched(self.executor.contradictions(logs, self, found_by), what, self.executor.report).to_pylist()
        told = [(row, self.executor.seal.unpacked(row["finding"])) for row in rows]
        for row, found in sorted(told, key=lambda one: (one[0]["log"], not one[0]["of_log"], one[1].offset)):
            yield row["cluster"], found, row["count"]

    def open_offsets(self, logs: Sequence[LogPlace]) -> Iterator[tuple[str, int, NDArray[np.int64]]]:
        """Find the open transactions in tasks, which send the first of each log."""
        count: Counter[int] = Counter()
        offsets: dict[int, list[bytes]] = {}
        what = f"count the open transactions of {len(logs):,} logs"
        for row in fetched(self.executor.open_offsets(logs, self), what, self.executor.report).to_pylist():
            count[row["log"]] += row["count"]
            offsets.setdefault(row["log"], []).append(row["offsets"])
        for log in logs:
            first = np.sort(np.frombuffer(b"".join(offsets[log.number]), np.int64))
            yield log.directory.log, count[log.number], first

    def of_logs(self, logs: Sequence[LogPlace]) -> Iterator[tuple[LogPlace, list[SegmentScan]]]:
        """Fetch the scans of some logs."""
        if not logs:
            return
        rows = self.frame.where(F.col("log").isin(*(log.number for log in logs)))
        by_log: dict[int, list[tuple[int, int, str, pa.RecordBatch, int]]] = {}
        what = f"fetch the scans of {len(logs):,} logs"
        some = rows.select("log", "split_no", "row_no", "kind", "content")
        batches = fetched(some, what, self.executor.report).to_batches()
        while batches:  # of the coordinator's many records each is either still a message, or in columns
            batch = batches.pop()
            places = zip(*(column.to_pylist() for column in batch.columns[:-1]), strict=True)
            for at, (number, *place) in enumerate(places):
                by_log.setdefault(number, []).append((*place, batch, at))
        for log in logs:
            again = partial(judge_tasks.kept_scan, self.executor.kept, log)
            yield log, judge_tasks.joined(_contents(by_log.pop(log.number, [])), again)


@dataclass(frozen=True, slots=True)
class JudgedFrame:
    """The result of judging: what tasks sent of each kind and cluster, as Arrow's streams, and the totals.

    `logs` are in the order of the logs' numbers, `codes` count the findings about logs, `findings` are those about no
    single log, by the clusters' numbers. `parts` are the files of tables that tasks wrote, `files` the segments that
    were read, of which `reused` says which were scanned, and `reading` how; `producers` are as in the scans.
    """

    kinds: dict[tuple[str, int], list[bytes]]
    logs: list[LogSummary]
    codes: Counter[tuple[str, Severity]]
    findings: dict[int, list[Finding]]
    parts: list[PartFile]
    files: list[dict[str, Any]]
    reused: Reused
    reading: dict[str, Any]
    producers: dict[int, NDArray[np.int64]]


@dataclass(slots=True)
class _Heads:
    """What the driver gets of the scans: what the segments of each log have together.

    `failed` are the machines on which segments could not be read, by the log's number and the place in it.
    """

    logs: Sequence[LogPlace]
    reused: Reused
    listed_on: str
    clocks: dict[int, Clock] = field(default_factory=dict)
    producers: dict[int, NDArray[np.int64]] = field(default_factory=dict)
    opened: Counter[int] = field(default_factory=Counter)
    findings: int = 0
    failed: dict[tuple[int, int], str] = field(default_factory=dict)
    sha256: dict[tuple[int, int], str] = field(default_factory=dict)
    hosts: set[str] = field(default_factory=set)

    def add(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Add rows of ``scan_tasks.HEADS``."""
        for row in rows:
            log, about = self.logs[row["log"]], json.loads(row["about"])
            clock = self.clocks.get(log.cluster, Clock())
            self.clocks[log.cluster] = clock.with_scan(row["newest"], row["newest_broker"])
            self.findings += row["findings"]
            self.opened[log.number] += row["opened"]
            self.reused = self.reused.joined(Reused(row["scanned"], row["resumed"], row["taken"], row["oldest_ms"]))
            here = np.frombuffer(row["producers"], np.int64)
            self.producers[log.group] = np.union1d(self.producers.get(log.group, here), here)
            add_requests(about["asked"])
            self.failed |= {(log.number, at): host for host, places in about["failed"].items() for at in places}
            self.sha256 |= {(log.number, at): checksum for at, checksum in about["sha256"]}
            self.hosts.update(about["hosts"])

    def files(self) -> list[dict[str, Any]]:
        """Return the files that were read, by their names."""
        found = []
        for log in self.logs:
            for at, segment in enumerate(log.directory.segments):
                about: dict[str, Any] = {"file": segment.path, "size_bytes": segment.size}
                if self.reused.hashed:
                    about["sha256"] = self.sha256.get((log.number, at))
                found.append(about)
        return sorted(found, key=itemgetter("file"))

    def reading(self) -> dict[str, Any]:
        """Return how the reading went, as the output says it."""
        return {
            "files": self.reused.segments, "bytes": sum(log.directory.size for log in self.logs),
            "tried_again": len(self.failed), "findings": self.findings, "listed_on": self.listed_on,
            "hosts": sorted(self.hosts),
            "files_known_by": _BY_TIME if self.hosts - {self.listed_on} else _BY_INODE,
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class SparkExecutor:
    """Runs scans and judging as tasks of a session.

    `tables` are those whose rows the judging tasks write to files in `work`, `kinds` those that they send to the
    driver; `report` gets a line for each stage that is done.
    """

    session: SparkSession
    limits: Limits
    reach: FileAccess
    tables: tuple[str, ...]
    kinds: tuple[str, ...]
    work: str
    split_bytes: int
    sizes: JobSizes
    kept: KeptScans
    report: Callable[[str], object]
    judged: int  # of the logs, the first ones; the others are read for what they say of these
    run: Run | None = None  # said in the files that tasks write
    seal: Seal = field(default_factory=Seal)

    @contextmanager
    def scan(self, logs: Sequence[LogPlace], known: Mapping[tuple[int, int], KnownSegment]) -> Iterator[ScannedFrame]:
        started = time.monotonic()
        places = segments_of(logs, self.sizes.split_bytes(self.split_bytes), known)
        number = max((place.task for place in places), default=0) + 1
        scan = partial(scan_tasks.scan, limits=self.limits, reach=self.reach, keeping=self.kept.keeping)
        directories = len({log.node.path for log in logs})
        what = f"scan {len(places):,} segments of {directories:,} directories"
        with ExitStack() as frames:

            def scanned_of(name: str, rows: Iterable[Row], tasks: int) -> DataFrame:
                given = spread(self._frame(name, rows, scan_tasks.PLACES), tasks, "task")
                return frames.enter_context(kept(mapped(given, scan, scan_tasks.SCANNED)))

            frame = scanned_of("places", map(scan_tasks.place_row, places), number)
            joining = _Heads(logs, Reused(hashed=self.kept.keeping.hashed), self.kept.keeping.listed_on)
            joining.add(self._heads(frame, what))
            if joining.failed:
                # Another machine may be able to read what one could not. Spark chooses which one tries.
                again = [place for place in places if (place.log_number, place.split_no) in joining.failed]
                tried = [joining.failed[place.log_number, place.split_no] for place in again]
                tasks = _tasks_again(again, self.sizes.split_bytes(self.split_bytes))
                in_turn = (replace(place, task=at % tasks) for at, place in enumerate(again))
                other = scanned_of("failed", map(scan_tasks.place_row, in_turn, tried), tasks)
                joining.add(self._heads(other, f"try {len(again):,} segments again that could not be read"))
                # By their names: rows of a lost machine are made again, and what failed may not fail then. They come
                # by a file: of a machine without the mount they may be most of all segments.
                cells = (pa.array(numbers, pa.int32()) for numbers in zip(*joining.failed, strict=True))
                batch = pa.RecordBatch.from_arrays([*cells], schema=_SPLITS)
                names = sent(self.session, f"{self.work}/names", [batch], _SPLITS, self.reach)
                frame = frame.join(F.broadcast(names), _SPLITS.names, "left_anti").unionByName(other)
            scanned = ScannedFrame(
                self, frame, joining.clocks, joining.files(), joining.producers, joining.opened, joining.reused,
                joining.reading(),
            )  # fmt: skip
            reused = joining.reused
            before = f", {reused.segments - reused.scanned} scanned before" if reused.scanned < reused.segments else ""
            self._tell("scanned", started, f"{number} tasks, {joining.findings} findings{before}", scanned.files)
            yield scanned

    def _heads(self, frame: DataFrame, what: str) -> list[dict[str, Any]]:
        """Join the heads of each log's segments in tasks, and fetch these."""
        first = frame.where("row_no = 0 and share = 0").drop("group", "share", "row_no", "kind", "content")
        in_order = first.repartition(self.sizes.heads, "log").sortWithinPartitions("log", "split_no")
        joined = mapped(in_order, partial(scan_tasks.heads, begun_ms=self.kept.begun_ms), scan_tasks.HEADS)
        rows: list[dict[str, Any]] = fetched(joined, what, self.report).to_pylist()
        return rows

    def open_offsets(self, logs: Sequence[LogPlace], scanned: ScannedFrame) -> DataFrame:
        """Return rows of ``judge_tasks.OPENED``."""
        rows = scanned.frame.unionByName(self._to_judges("counted", self._places(logs)))
        number = min(self.sizes.judges, max(1, len(logs)))
        in_order = rows.repartition(number, "log", "share").sortWithinPartitions("log", "share", "split_no", "row_no")
        task = judge_tasks.OpenOffsets(self.reach, self.kept, self.seal, few_of_many.IN_A_LOG + 1)
        return mapped(in_order, task, judge_tasks.OPENED)

    def contradictions(
        self, logs: Sequence[LogPlace], scanned: ScannedFrame, found_by: Mapping[int, Contradictions]
    ) -> DataFrame:
        """Return rows of ``judge_tasks.CONTRADICTED``."""
        coordinators = {cluster: one.coordinator for cluster, one in found_by.items()}
        in_order = self._in_order(scanned.frame, "of-one-moment", self._routed(logs, scanned, coordinators, {}))
        bare = {cluster: one.by(Coordinator()) for cluster, one in found_by.items()}
        return mapped(
            in_order, judge_tasks.Contradicted(bare, self.reach, self.kept, self.seal), judge_tasks.CONTRADICTED
        )

    def _in_order(self, rows: DataFrame, name: str, routed: Iterable[Row]) -> DataFrame:
        """Give the rows of scans to judges, with those that the driver sends, partition by partition."""
        every = _in_turn(rows.unionByName(self._to_judges(name, routed)), self.sizes.judges)
        return every.sortWithinPartitions(*_IN_ORDER)

    @contextmanager
    def judge(
        self, logs: Sequence[LogPlace], scanned: ScannedFrame, around: Mapping[int, Surroundings]
    ) -> Iterator[JudgedFrame]:
        started, others = time.monotonic(), [log.number for log in logs[self.judged :]]
        logs = logs[: self.judged]
        of_logs = scanned.frame.where(~F.col("log").isin(others)) if others else scanned.frame
        coordinators = {cluster: one.coordinator for cluster, one in around.items()}
        # A partition's part of the coordinator comes among its rows: what each task gets does not grow with it.
        known = {cluster: replace(one, findings=[], coordinator=Coordinator()) for cluster, one in around.items()}
        of_keys = self._of_keys(logs, scanned, around, known)
        in_order = self._in_order(of_logs, "routed", self._routed(logs, scanned, coordinators, of_keys))
        for coordinator in coordinators.values():
            coordinator.forget()
        judge = judge_tasks.Judge(
            known, self.tables, self.kinds, self.work, self.reach, _key_shares(logs), self.kept, self.seal, self.run
        )  # fmt: skip
        with kept(mapped(in_order, judge, judge_tasks.JUDGED)) as frame:
            judged = self._judged(frame, logs, scanned)
            found = judged.codes.total() + sum(map(len, judged.findings.values()))
            self._tell(
                "judged",
                started,
                f"{self.sizes.judges} tasks, {self.sizes.parts} partitions, {found} findings",
                scanned.files,
            )
            yield judged

    def _of_keys(
        self, logs: Sequence[LogPlace], scanned: ScannedFrame, around: Mapping[int, Surroundings],
        known: Mapping[int, Surroundings],
    ) -> dict[int, bytes]:  # fmt: skip
        """Return what the newest records of replicas say that are shared out, by partition, for all of their shares."""
        asked = [one for one in groups_of(logs) if one[0].shares > 1 and len(one) > 1]
        shared = [log for one in asked for log in one if around[log.cluster].options.compare_keys]
        if not shared:
            return {}
        groups = {log.group: log.shares for log in shared}
        coordinators = {cluster: one.coordinator for cluster, one in around.items()}
        routed = self._to_judges("compared", self._routed(shared, scanned, coordinators, {}))
        of_logs = ", ".join(str(group << 32 | shares) for group, shares in groups.items())
        rows = scanned.frame.unionByName(routed).where(f"shiftleft(bigint(group), 32) + share in ({of_logs})")
        number = min(self.sizes.judges, len(groups))
        in_order = _in_turn(rows, number).sortWithinPartitions(*_IN_ORDER)
        task = judge_tasks.CompareKeys(known, self.reach, self.kept, self.seal)
        what = f"compare the newest records of {len(groups):,} partitions"
        told = fetched(mapped(in_order, task, judge_tasks.COMPARED), what, self.report).to_pylist()
        return {row["group"]: row["content"] for row in told}

    def _judged(self, frame: DataFrame, logs: Sequence[LogPlace], scanned: ScannedFrame) -> JudgedFrame:
        """Collect the logs' totals, and compare partitions with each other."""
        summaries: dict[int, LogSummary] = {}
        codes: Counter[tuple[str, Severity]] = Counter()
        sizes: Counter[str] = Counter()
        parts: list[PartFile] = []
        # Files count by the rows of one job: what is judged again later has files of other names.
        what = f"judge {len({log.group for log in logs}):,} partitions"
        rows = fetched(frame.where("kind != 'keys'"), what, self.report).to_pylist()
        kinds: dict[tuple[str, int], list[bytes]] = {}
        for row in rows:
            if row["kind"] in self.kinds:
                kinds.setdefault((row["kind"], row["cluster"]), []).append(row["content"])
        for row in sorted(rows, key=lambda row: (row["kind"], row["rows"], row["share"])):
            if row["kind"] in self.kinds:
                continue
            if row["kind"] == "counts":
                of_task, of_tables = self.seal.unpacked(row["content"])
                codes.update(of_task)
                sizes.update(of_tables)
            elif row["kind"] == PART:
                parts.append(read_part(row["content"]))
            else:
                log, summary = row["rows"], self.seal.unpacked(row["content"])
                summaries[log] = summaries[log].with_share(summary) if log in summaries else summary
        add_requests({name: sizes[of_task] for name, of_task in judge_tasks.ASKED.items()})
        findings: dict[int, list[Finding]] = {}
        if sizes["keys"]:
            directories = [log.directory for log in logs]
            keys = frame.where("kind = 'keys'").select("cluster", "share", "content")
            number = max(1, min(_key_shares(logs), sizes["keys"] // KEY_BYTES))
            in_order = keys.repartition(number, "cluster", "share").sortWithinPartitions("cluster", "share")
            found = mapped(in_order, partial(judge_tasks.conflict, seal=self.seal), judge_tasks.CONFLICTS)
            for row in fetched(found, "compare partitions by their producers", self.report).to_pylist():
                one, other = self.seal.unpacked(row["content"])
                finding = conflict_finding(one, other, directories)
                findings.setdefault(row["cluster"], []).append(finding)
        parts = self._together(parts)
        return JudgedFrame(
            kinds, [summaries[log.number] for log in logs], codes, findings, parts, scanned.files, scanned.reused,
            scanned.reading, scanned.producers,
        )  # fmt: skip

    def _together(self, parts: Sequence[PartFile]) -> list[PartFile]:
        """Put the small files of each table that has many together, in tasks; return the files that there are then."""
        tables: dict[str, list[PartFile]] = {}
        for part in parts:
            tables.setdefault(part.table, []).append(part)
        many = [some for some in tables.values() if len(some) > MANY_FILES]
        batches = [
            one for some in many for one in batched([(part, part.file.size_bytes) for part in some], TABLE_FILE_BYTES)
        ]
        small = [one for one in batches if len(one) > 1]
        if not small:
            return list(parts)
        rows = ((task, write_part(part)) for task, one in enumerate(small) for part in one)
        written = mapped(spread(self._frame("files", rows, PARTS), len(small), "task"),
                         PutTogether(self.work, self.reach, self.run), PARTS)  # fmt: skip
        gone = {part.file.name for one in small for part in one}
        made = fetched(written.select("content"), f"put {len(gone):,} small files together", self.report)
        return [part for part in parts if part.file.name not in gone] + list(
            map(read_part, made["content"].to_pylist())
        )

    def _places(self, logs: Iterable[LogPlace]) -> Iterator[Row]:
        """Yield where each log is, once for all of its shares."""
        for log in logs:
            content = self.seal.packed(log.elsewhere())
            yield scan_tasks.routed(log.group, log.shares, log.number, 0, "log", content)

    def _routed(
        self, logs: Sequence[LogPlace], scanned: ScannedFrame, coordinators: Mapping[int, Coordinator],
        of_keys: Mapping[int, bytes],
    ) -> Iterator[Row]:  # fmt: skip
        """Yield what the judges of partitions need besides the scans: where each log is, the coordinator's word."""
        yield from self._places(logs)
        for of_one in groups_of(logs):
            first = of_one[0]
            if first.group in of_keys:
                content = of_keys[first.group]
                yield scan_tasks.routed(first.group, first.shares, judge_tasks.OF_KEYS, 0, "keys", content)
            if coordinators[first.cluster].is_nothing:  # as a judge takes it to be
                continue
            said = _coordinator_for(of_one, scanned.producers.get(first.group), coordinators[first.cluster])
            for number, part in enumerate(said.parts()):
                content = self.seal.packed(part)
                yield scan_tasks.routed(
                    first.group, first.shares, judge_tasks.COORDINATOR, number, "coordinator", content
                )

    def _frame(self, name: str, rows: Iterable[Row], schema: pa.Schema) -> DataFrame:
        return sent(self.session, f"{self.work}/{name}", rows_of(rows, schema), schema, self.reach)

    def _to_judges(self, name: str, rows: Iterable[Row]) -> DataFrame:
        schema = scan_tasks.SCANNED
        made = scan_tasks.to_each_share
        return sent(self.session, f"{self.work}/{name}", rows_of(rows, schema), schema, self.reach, made)

    def _tell(self, what: str, started: float, parts: str, files: Sequence[Mapping[str, Any]]) -> None:
        seconds, size = time.monotonic() - started, sum(about["size_bytes"] for about in files)
        self.report(f"{what} {len(files)} files, {size / 2**20:.1f} MiB ({parts}) in {seconds:.1f} s")


def _coordinator_for(
    logs: Sequence[LogPlace], producers: NDArray[np.int64] | None, coordinator: Coordinator
) -> Coordinator:  # fmt: skip
    """Return what concerns one partition, given as its replicas' logs and the producer ids in their segments.

    Producers of transactions that were open before the logs begin are only in their snapshots.
    """
    directory = logs[0].directory
    ids = [np.empty(0, np.int64) if producers is None else producers]
    if len(coordinator.states):
        ids += [open_at_start(log.directory, lambda _: None)["producer_id"] for log in logs]
    return coordinator.for_partition(directory.topic, directory.partition, np.unique(np.concatenate(ids)))


def _contents(rows: list[tuple[int, int, str, pa.RecordBatch, int]]) -> Iterator[tuple[str, bytes]]:
    """Yield the kinds and contents of rows in their order, and forget each batch after its last row."""
    rows.sort(key=itemgetter(0, 1), reverse=True)
    while rows:
        _, _, kind, batch, at = rows.pop()
        yield kind, batch["content"][at].as_py()


def _in_turn(rows: DataFrame, number: int) -> DataFrame:
    """Give groups and shares to tasks in turn: the shares of one log are about as big, and each has its own task."""
    return spread(rows.withColumn("task", (F.col("group") + F.col("share")) % number), number, "task").drop("task")


def _tasks_again(places: Sequence[SegmentPlace], split_bytes: int) -> int:
    """Say how many tasks try segments again: a few, unless a machine without the mount left many to the others."""
    wanted = max(_AGAIN, sum(place.segment.size for place in places) // split_bytes)
    return min(len(places), wanted, MOST_TASKS)


def _key_shares(logs: Sequence[LogPlace]) -> int:
    """Say to how many shares the producers are given when partitions are compared; as few as keep each one small."""
    return max(1, min(_MOST_KEY_SHARES, sum(log.directory.size for log in logs) // KEY_SHARE_BYTES))

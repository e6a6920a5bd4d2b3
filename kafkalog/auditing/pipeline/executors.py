"""Executors of the stages: this process, or this one with a pool that scans. Spark's is in ``kafkalog_spark``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from itertools import groupby
from typing import Final, Protocol, TypeVar

from kafkalog.auditing.partition import SegmentScan, read_extents, read_scan, scan_messages
from kafkalog.auditing.pipeline.places import LogPlace, SegmentPlace, groups_of, segments_of
from kafkalog.auditing.pipeline.stages import Clock, judge_partition, scan_place
from kafkalog.auditing.transactions import AtomicityCheck, LogAudit, Surroundings, across_partitions
from kafkalog.findings import Finding
from kafkalog.log.chunk import Limits
from kafkalog.log.processes import job_count, worker_pool
from kafkalog.log.watch import watch

__all__ = ["Executor", "InProcess", "JudgedLogs", "ProcessPool", "Scanned", "executor_for"]

_TASK_BYTES: Final = 32 << 20
_MESSAGE_ROWS: Final = 1 << 16  # transactions, some 30 bytes each


class Scanned(Protocol):
    """The results of the scans, wherever they are kept."""

    def clock(self, cluster: int) -> Clock:
        """Return the newest times in a cluster's logs."""

    def of_logs(self, logs: Sequence[LogPlace]) -> Iterable[tuple[LogPlace, Sequence[SegmentScan]]]:
        """Fetch the scans of some logs, in the order of their segments."""


ScannedT = TypeVar("ScannedT", bound=Scanned)
JudgedT_co = TypeVar("JudgedT_co", covariant=True)


class Executor(Protocol[ScannedT, JudgedT_co]):
    """Runs the stages that are many tasks. Its results last as long as its context."""

    def scan(self, logs: Sequence[LogPlace]) -> AbstractContextManager[ScannedT]:
        """Scan the segments of all logs."""

    def judge(
        self, logs: Sequence[LogPlace], scanned: ScannedT, around: Mapping[int, Surroundings]
    ) -> AbstractContextManager[JudgedT_co]:
        """Judge every partition, then compare partitions with each other; `around` is by the clusters' numbers."""


class ScansHere:
    """Scans in this process. `give` hands a log's scans out once, to be judged, and forgets them."""

    def __init__(self, scans: dict[int, dict[int, SegmentScan]], clocks: dict[int, Clock]) -> None:
        self._scans = scans
        self._clocks = clocks

    def clock(self, cluster: int) -> Clock:
        return self._clocks.get(cluster, Clock())

    def of_logs(self, logs: Sequence[LogPlace]) -> Iterable[tuple[LogPlace, list[SegmentScan]]]:
        return [(log, self._of(self._scans.get(log.number, {}))) for log in logs]

    def give(self, logs: Sequence[LogPlace]) -> dict[int, list[SegmentScan]]:
        return {log.number: self._of(self._scans.pop(log.number, {})) for log in logs}

    @staticmethod
    def _of(scans: dict[int, SegmentScan]) -> list[SegmentScan]:
        return [scans[split_no] for split_no in sorted(scans)]


class JudgedLogs:
    """The audits of all logs by their numbers, and each cluster's findings that are about no single log."""

    def __init__(self) -> None:
        self.logs: dict[int, LogAudit] = {}
        self.findings: dict[int, list[Finding]] = {}


class InProcess:
    """Runs all stages in this process."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits

    @contextmanager
    def scan(self, logs: Sequence[LogPlace]) -> Iterator[ScansHere]:
        scans: dict[int, dict[int, SegmentScan]] = {}
        clocks: dict[int, Clock] = {}
        watch().begin(sum(log.directory.size for log in logs), sum(len(log.directory.segments) for log in logs))
        for place, scan in self._scans(logs):
            watch().found(scan.findings)
            scans.setdefault(place.log_number, {})[place.split_no] = scan
            clock = clocks.get(place.cluster, Clock())
            clocks[place.cluster] = clock.with_scan(scan.stretch.newest, scan.stretch.newest_broker)
        yield ScansHere(scans, clocks)

    def _scans(self, logs: Sequence[LogPlace]) -> Iterator[tuple[SegmentPlace, SegmentScan]]:
        for place in segments_of(logs, _TASK_BYTES):
            yield place, scan_place(place, self.limits)

    @contextmanager
    def judge(
        self, logs: Sequence[LogPlace], scanned: ScansHere, around: Mapping[int, Surroundings]
    ) -> Iterator[JudgedLogs]:
        judged = JudgedLogs()
        for of_one in groups_of(logs):
            cluster = of_one[0].cluster
            found = judge_partition(of_one, scanned.give(of_one), around[cluster])
            judged.findings.setdefault(cluster, []).extend(found.findings)
            judged.logs |= {log.number: audit for log, audit in zip(of_one, found.logs, strict=True)}
        in_cluster: dict[int, list[AtomicityCheck]] = {cluster: [] for cluster in around}
        for log in logs:
            in_cluster[log.cluster].append(judged.logs[log.number].judged)
        for cluster, checks in in_cluster.items():
            judged.findings.setdefault(cluster, []).extend(across_partitions(checks))
        yield judged


class ProcessPool(InProcess):
    """Scans in a pool of processes, which send back messages; judges in this one."""

    def __init__(self, limits: Limits, jobs: int) -> None:
        super().__init__(limits)
        self.jobs = jobs

    def _scans(self, logs: Sequence[LogPlace]) -> Iterator[tuple[SegmentPlace, SegmentScan]]:
        places = sorted(segments_of(logs, _TASK_BYTES), key=lambda place: place.task)
        tasks = [list(of_one) for _, of_one in groupby(places, key=lambda place: place.task)]
        tasks.sort(key=lambda task: -sum(place.segment.size for place in task))
        with worker_pool(self.jobs) as pool:
            for task, scans in zip(tasks, pool.map(_scanned, tasks, [self.limits] * len(tasks)), strict=True):
                for place, messages in zip(task, scans, strict=True):
                    watch().done(place.segment.path, place.segment.size)
                    yield place, _received(messages)


def _scanned(task: list[SegmentPlace], limits: Limits) -> list[list[bytes]]:
    return [list(scan_messages(scan_place(place, limits), _MESSAGE_ROWS)) for place in task]


def _received(messages: list[bytes]) -> SegmentScan:
    scan = read_scan(messages[0])
    for message in messages[1:]:
        scan.stretch.finished.extend(read_extents(message))
    return scan


def executor_for(logs: Sequence[LogPlace], limits: Limits, jobs: int | None) -> InProcess:
    """Return the executor of an audit on this machine; `jobs` as in ``job_count``."""
    count = job_count(jobs, sum(log.directory.size for log in logs))
    return InProcess(limits) if count == 1 else ProcessPool(limits, count)

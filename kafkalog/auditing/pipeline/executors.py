"""Executors of the stages: this process, or this one with a pool that scans. Spark's is in ``kafkalog_spark``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from functools import partial
from itertools import accumulate, groupby, repeat
from operator import itemgetter
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol, TypeVar

from kafkalog.auditing.partition import SegmentScan, open_offsets
from kafkalog.auditing.pipeline.kept_scans import Keeping, KeptScans, PlaceScan
from kafkalog.auditing.pipeline.places import KnownSegment, LogPlace, SegmentPlace, groups_of, segments_of
from kafkalog.auditing.pipeline.stages import Clock, judge_partition
from kafkalog.auditing.transactions import (
    AtomicityCheck,
    Contradictions,
    Judgement,
    LogAudit,
    Reused,
    Surroundings,
    across_partitions,
)
from kafkalog.files.limits import Limits
from kafkalog.files.names import STATE_TOPIC, is_remote
from kafkalog.files.processes import POOL_BYTES, in_processes, job_count
from kafkalog.files.watch import watch
from kafkalog.findings import Finding
from kafkalog.log_dirs.log_directory import Segment

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["TASK_BYTES", "WORTH_A_FORK", "Executor", "InProcess", "Scanned", "executor_for"]

TASK_BYTES: Final = 32 << 20
_ROWS_OF_WORK: Final = 512  # that are joined while a partition of few is judged
WORTH_A_FORK: Final = 64  # such partitions, which take some 10 ms
_BUNDLES: Final = 8  # that each process judges
_AT_ONCE: Final = 16  # segments of an object store that are looked at


class Scanned(Protocol):
    """The results of the scans, wherever they are kept."""

    def clock(self, cluster: int) -> Clock:
        """Return the newest times in a cluster's logs."""

    def of_logs(self, logs: Sequence[LogPlace]) -> Iterable[tuple[LogPlace, Sequence[SegmentScan]]]:
        """Fetch the scans of some logs, in the order of their segments."""

    def contradictions(
        self, logs: Sequence[LogPlace], found_by: Mapping[int, Contradictions]
    ) -> Iterable[tuple[int, Finding, int]]:
        """Yield the cluster of each log that contradicts the word of one moment, what does so first, and how many do.

        `found_by` is by the clusters' numbers; the nodes of the logs have their checkpoints.
        """

    def opened(self) -> Counter[int]:
        """Return how many transactions are open at the ends of each log's segments: no fewer are so in the log."""

    def open_offsets(self, logs: Sequence[LogPlace]) -> Iterable[tuple[str, int, NDArray[np.int64]]]:
        """Yield these logs, how many transactions are open in each, and the first offsets of the first ones.

        These are one more than the limit of a log at least, if there are as many.
        """


ScannedT = TypeVar("ScannedT", bound=Scanned)
JudgedT_co = TypeVar("JudgedT_co", covariant=True)


class Executor(Protocol[ScannedT, JudgedT_co]):
    """Runs the stages that are many tasks. Its results last as long as its context."""

    @property
    def kept(self) -> KeptScans: ...

    def scan(
        self, logs: Sequence[LogPlace], known: Mapping[tuple[int, int], KnownSegment]
    ) -> AbstractContextManager[ScannedT]:  # fmt: skip
        """Scan the segments of all logs; `known` as ``KeptScans.known`` gives them."""

    def judge(
        self, logs: Sequence[LogPlace], scanned: ScannedT, around: Mapping[int, Surroundings]
    ) -> AbstractContextManager[JudgedT_co]:
        """Judge every partition, then compare partitions with each other; `around` is by the clusters' numbers."""


class ScannedSegments(NamedTuple):
    """Which segments were scanned, and the checksums of those whose bytes were all read."""

    reused: Reused
    sha256: dict[Segment, str | None]


class ScansHere:
    """Scans in this process. `give` hands a log's scans out once, to be judged, and forgets them."""

    def __init__(
        self, scans: dict[int, dict[int, SegmentScan]], clocks: dict[int, Clock], about: ScannedSegments
    ) -> None:  # fmt: skip
        self._scans = scans
        self._clocks = clocks
        self.about = about

    def clock(self, cluster: int) -> Clock:
        return self._clocks.get(cluster, Clock())

    def of_logs(self, logs: Sequence[LogPlace]) -> Iterable[tuple[LogPlace, list[SegmentScan]]]:
        return [(log, self._of(self._scans.get(log.number, {}))) for log in logs]

    def contradictions(
        self, logs: Sequence[LogPlace], found_by: Mapping[int, Contradictions]
    ) -> Iterator[tuple[int, Finding, int]]:
        for log, scans in self.of_logs(logs):
            found = list(found_by[log.cluster].of_log(log.node, log.directory, scans))
            if found:
                yield log.cluster, found[0], len(found)

    def opened(self) -> Counter[int]:
        return Counter(
            {log: sum(len(scan.folded.opened) for scan in scans.values()) for log, scans in self._scans.items()}
        )

    def open_offsets(self, logs: Sequence[LogPlace]) -> Iterator[tuple[str, int, NDArray[np.int64]]]:
        for log, scans in self.of_logs(logs):
            offsets = open_offsets(log.directory, scans)
            yield log.directory.log, len(offsets), offsets

    def give(self, logs: Sequence[LogPlace]) -> dict[int, list[SegmentScan]]:
        return {log.number: self._of(self._scans.pop(log.number, {})) for log in logs}

    def work(self, logs: Sequence[LogPlace]) -> int:
        """Return what judging the logs of one partition costs: 1 stands for some 0.15 ms."""
        parts = [scan.folded for log in logs for scan in self._scans.get(log.number, {}).values()]
        return 1 + sum(len(folded.producers) + len(folded.opened) for folded in parts) // _ROWS_OF_WORK

    def holders(self) -> list[object]:
        """Return the objects that hold the rows of the scans."""
        parts = [scan.folded for scans in self._scans.values() for scan in scans.values()]
        return [
            holder
            for folded in parts
            for rows in (folded.finished, folded.opened, folded.producers)
            for holder in (rows, *rows.holders())
        ]

    @staticmethod
    def _of(scans: dict[int, SegmentScan]) -> list[SegmentScan]:
        return [scans[split_no] for split_no in sorted(scans)]


class JudgedLogs:
    """The audits of all logs by their numbers, and each cluster's findings that are about no single log."""

    def __init__(self, scanned: ScannedSegments) -> None:
        self.scanned = scanned
        self.logs: dict[int, LogAudit] = {}
        self.findings: dict[int, list[Finding]] = {}


def _each_once(
    places: Sequence[SegmentPlace],
) -> tuple[list[SegmentPlace], dict[Segment, list[SegmentPlace]]]:
    """Return the places to scan, and by their segments those of other replicas that have a remote segment, too."""
    once: list[SegmentPlace] = []
    met: dict[Segment, list[SegmentPlace]] = {}
    for place in places:
        if place.segment.is_remote and place.segment in met:
            met[place.segment].append(place)
        else:
            once.append(place)
            if place.segment.is_remote:
                met[place.segment] = []
    return once, met


class InProcess:
    """Runs all stages in this process."""

    def __init__(self, limits: Limits, kept: KeptScans) -> None:
        self.limits = limits
        self.kept = kept

    @contextmanager
    def scan(self, logs: Sequence[LogPlace], known: Mapping[tuple[int, int], KnownSegment]) -> Iterator[ScansHere]:
        scans: dict[int, dict[int, SegmentScan]] = {}
        clocks: dict[int, Clock] = {}
        reused = Reused(hashed=self.kept.keeping.hashed)
        sha256: dict[Segment, str | None] = {}
        watch().begin(sum(log.directory.size for log in logs), sum(len(log.directory.segments) for log in logs))
        places, again = _each_once(segments_of(logs, TASK_BYTES, known))
        for place, found in self._scans(places):
            scan = found.scan
            reused = reused.with_scan(found.scanned_ms, self.kept.begun_ms)
            if found.sha256 is not None:
                sha256[place.segment] = found.sha256
            watch().found(scan.findings)
            scans.setdefault(place.log_number, {})[place.split_no] = scan
            for other in again.get(place.segment, ()):
                scans.setdefault(other.log_number, {})[other.split_no] = replace(scan)
            clock = clocks.get(place.cluster, Clock())
            clocks[place.cluster] = clock.with_scan(scan.folded.newest, scan.folded.newest_broker)
        yield ScansHere(scans, clocks, ScannedSegments(reused, sha256))

    def _scans(self, places: Sequence[SegmentPlace]) -> Iterator[tuple[SegmentPlace, PlaceScan]]:
        # The coordinator's records last: they stay as they are read, and folding producers takes more than it leaves.
        for place in sorted(places, key=lambda place: place.topic == STATE_TOPIC):
            yield place, self.kept.keeping.scan(place, self.limits)

    @contextmanager
    def judge(
        self, logs: Sequence[LogPlace], scanned: ScansHere, around: Mapping[int, Surroundings]
    ) -> Iterator[JudgedLogs]:
        judged = JudgedLogs(scanned.about)
        groups = list(groups_of(logs))
        for of_one, found in zip(groups, self._judged(groups, scanned, around), strict=True):
            cluster = of_one[0].cluster
            judged.findings.setdefault(cluster, []).extend(found.findings)
            judged.logs |= {log.number: audit for log, audit in zip(of_one, found.logs, strict=True)}
        in_cluster: dict[int, list[AtomicityCheck]] = {cluster: [] for cluster in around}
        for log in logs:
            in_cluster[log.cluster].append(judged.logs[log.number].judged)
        for cluster, checks in in_cluster.items():
            judged.findings.setdefault(cluster, []).extend(across_partitions(checks))
        yield judged

    def _judged(
        self, groups: Sequence[Sequence[LogPlace]], scanned: ScansHere, around: Mapping[int, Surroundings]
    ) -> Iterator[Judgement]:  # fmt: skip
        return (judge_partition(of_one, scanned.give(of_one), around[of_one[0].cluster]) for of_one in groups)


class ProcessPool(InProcess):
    """Scans and judges in several processes, which send back columns."""

    def __init__(self, limits: Limits, kept: KeptScans, jobs: int) -> None:
        super().__init__(limits, kept)
        self.jobs = jobs

    def _scans(self, places: Sequence[SegmentPlace]) -> Iterator[tuple[SegmentPlace, PlaceScan]]:
        left = []
        for place, found in zip(places, self._taken(places), strict=True):
            if found is None:
                left.append(place)
            else:
                watch().done(place.segment.path, place.segment.size)
                yield place, found
        few = len(left) < len(places) and sum(place.segment.size for place in left) < POOL_BYTES
        yield from super()._scans(left) if few else self._pooled(left)

    def _taken(self, places: Sequence[SegmentPlace]) -> Iterator[PlaceScan | None]:
        """Take scans that were kept: what need not be read is no work for another process."""
        taken = self.kept.keeping.taken
        if self.kept.keeping.hashed:
            return repeat(None, len(places))
        if not any(place.known and is_remote(place.segment.path) for place in places):
            return map(taken, places)
        from kafkalog.files.object_stores import threads

        with threads(_AT_ONCE) as pool:  # requests take their time
            return iter(list(pool.map(taken, places)))

    def _pooled(self, places: Sequence[SegmentPlace]) -> Iterator[tuple[SegmentPlace, PlaceScan]]:
        in_order = sorted(places, key=lambda place: place.task)
        tasks = [list(of_one) for _, of_one in groupby(in_order, key=lambda place: place.task)]
        tasks.sort(key=lambda task: -sum(place.segment.size for place in task))
        scanned = partial(_scanned, limits=self.limits, keeping=self.kept.keeping)
        with in_processes(scanned, tasks, self.jobs) as results:
            for task, scans in zip(tasks, results, strict=True):
                for place, found in zip(task, scans, strict=True):
                    watch().done(place.segment.path, place.segment.size)
                    yield place, found

    def _judged(
        self, groups: Sequence[Sequence[LogPlace]], scanned: ScansHere, around: Mapping[int, Surroundings]
    ) -> Iterator[Judgement]:  # fmt: skip
        here = super()._judged
        sizes = [scanned.work(of_one) for of_one in groups]
        total = sum(sizes)
        if total - max(sizes, default=0) < WORTH_A_FORK:
            yield from here(groups, scanned, around)
            return
        ends = (done * _BUNDLES * self.jobs // total for done in accumulate(sizes))
        tasks = [[one for _, one in some] for _, some in groupby(zip(ends, groups, strict=True), key=itemgetter(0))]

        def judged(task: list[Sequence[LogPlace]]) -> list[Judgement]:
            return list(here(task, scanned, around))

        known = scanned.holders()
        known += (one for some in around.values() for one in (some.coordinator, some.metadata) if one is not None)
        known += (one for of_one in groups for log in of_one for one in (log.node, log.directory))
        with in_processes(judged, tasks, self.jobs, known) as results:
            for task, found in zip(tasks, results, strict=True):
                for of_one in task:
                    scanned.give(of_one)  # another process may have been the one that used them
                yield from found


def _scanned(task: list[SegmentPlace], *, limits: Limits, keeping: Keeping) -> list[PlaceScan]:
    return [keeping.scan(place, limits).bare() for place in task]


def executor_for(logs: Sequence[LogPlace], limits: Limits, jobs: int | None, kept: KeptScans) -> InProcess:
    """Return the executor of an audit on this machine; `jobs` as in ``job_count``."""
    count = job_count(jobs, sum(log.directory.size for log in logs))
    return InProcess(limits, kept) if count == 1 else ProcessPool(limits, kept, count)

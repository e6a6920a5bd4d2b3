"""Who wrote to topics, and how much of it when: counted by batches, whose headers have records, sizes and times.

A batch is counted at the newest timestamp that it has. Of several replicas one is counted, that of an audit.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Collection, Container, Iterator, Sequence
from functools import partial
from typing import Any, Final, NamedTuple

import numpy as np

from kafkalog.auditing.partition import join, reach, scan_segment
from kafkalog.auditing.topics.topic_logs import clusters_of, lost_inputs, transactional_ids
from kafkalog.columns.sorted_rows import group_begins, groups
from kafkalog.columns.table import AFTER_ALL, NONE, Columns
from kafkalog.files.limits import Limits
from kafkalog.files.processes import each_of, job_count
from kafkalog.files.watch import watch
from kafkalog.findings import Finding
from kafkalog.kafka.batch import CONTROL, believed_counts
from kafkalog.kernel import buffers
from kafkalog.log_dirs.clusters import Cluster
from kafkalog.log_dirs.log_directory import PartitionDirectory
from kafkalog.narrowing import matches, nothing_matches
from kafkalog.segments.chunk import Chunk
from kafkalog.tables.declared import Table
from kafkalog.tables.writer_tables import LISTED_TOPICS, RATES, WRITERS

__all__ = ["SPANS", "writer_rows"]

SPANS: Final = {"minute": 60_000, "hour": 3_600_000, "day": 86_400_000}

_NO_PRODUCER: Final = -1

_INTERNAL: Final = "__"  # names of Kafka's own topics begin with it


# What was written to one log, as columns: by producer, and by the time in which it was written.


_TOGETHER: Final = 64  # parts that are summed up at once


_COUNTS: Final = ("batches", "records", "bytes")
_SUMS: Final = (*_COUNTS, "first", "last")


class _Written:
    """Sums of batches by columns that are `keys`: batches, records and bytes, first and last time."""

    def __init__(self, keys: tuple[str, ...]) -> None:
        self._keys = keys
        self._parts: list[Columns] = []

    def add(self, rows: Columns) -> None:
        """Take in rows."""
        self._parts.append(rows)
        if len(self._parts) >= _TOGETHER:
            self._parts = [self.rows()]

    def rows(self) -> Columns:
        """Return one row for each key, sorted by the keys."""
        rows = Columns.concat(self._parts, (*self._keys, *_SUMS))
        if not len(rows):
            return rows
        rows = rows.take(np.lexsort([rows[key] for key in reversed(self._keys)]))
        at = np.flatnonzero(group_begins(*(rows[key] for key in self._keys)))
        first = np.minimum.reduceat(np.where(rows["first"] < 0, AFTER_ALL, rows["first"]), at)
        sums = {name: np.add.reduceat(rows[name], at) for name in _COUNTS}
        sums |= {"first": np.where(first == AFTER_ALL, -1, first), "last": np.maximum.reduceat(rows["last"], at)}
        return rows.take(at).with_columns(sums)


class _OfLog(NamedTuple):
    """What is written in a log, by producer and time; how far the log goes; what is wrong with it."""

    rows: Columns
    reach: tuple[int, int]
    findings: tuple[Finding, ...]


_OF_LOG: Final = ("producer", "start")


def _read(directory: PartitionDirectory, span: int, limits: Limits) -> _OfLog:
    written = _Written(_OF_LOG)
    start = directory.checkpoints.get("log_start", 0)

    def take(chunk: Chunk) -> None:
        chunk.open_wrappers()
        cells = chunk.heads.numpy()
        is_data = (cells[buffers.ATTRIBUTES] & CONTROL == 0) | (cells[buffers.MAGIC] < 2)
        is_data &= (cells[buffers.VALID] != 0) & (cells[buffers.COUNT] > 0) & (cells[buffers.LAST_OFFSET] >= start)
        rows = cells[:, is_data]
        time = np.maximum(rows[buffers.MAX_TIMESTAMP], -1)
        begins = np.where(time < 0, NONE, time - time % span) if span else np.zeros_like(time)
        producers = np.maximum(rows[buffers.PRODUCER_ID], _NO_PRODUCER)
        part = _Written(_OF_LOG)
        part.add(Columns({
            "producer": producers, "start": begins, "batches": np.ones_like(time), "records": believed_counts(rows),
            "bytes": rows[buffers.SIZE], "first": time, "last": time,
        }))  # fmt: skip
        written.add(part.rows())

    watch().begin(directory.size, len(directory.segments))
    scans = [scan_segment(directory, segment, limits, look=take) for segment in directory.segments]
    facts = join(directory, scans, ())
    watch().found(facts.findings)
    return _OfLog(written.rows(), reach(facts), facts.findings)


# All logs together: by producer over its topics.


class _Writers:
    """What was written to all logs, in numbers of topics and partitions."""

    def __init__(self) -> None:
        self.topics: dict[str, int] = {}
        self._written = _Written(("cluster", "producer", "topic", "start"))
        self._places = _Written(("cluster", "producer", "topic", "partition"))

    def add(self, cluster: int, topic: str, partition: int, rows: Columns) -> None:
        """Take in a log's rows."""
        about = {"cluster": cluster, "topic": self.topics.setdefault(topic, len(self.topics)), "partition": partition}
        rows = rows.with_columns({name: np.full(len(rows), number) for name, number in about.items()})
        self._written.add(rows)
        self._places.add(rows)

    def rates(self) -> Iterator[tuple[int, ...]]:
        """Yield cluster, producer, topic, time, batches, records and bytes."""
        return self._written.rows().tuples("cluster", "producer", "topic", "start", *_COUNTS)

    def writers(self) -> Iterator[tuple[int, int, list[str], int, list[int]]]:
        """Yield cluster, producer, topics, the number of partitions, and sums; each topic alone without a producer."""
        rows = self._places.rows()
        names = list(self.topics)
        alone = np.where(rows["producer"] == _NO_PRODUCER, rows["topic"], -1)
        for at in groups(rows["cluster"], alone, rows["producer"]):
            one = rows.take(at)
            times = one["first"][one["first"] >= 0]
            first = int(times.min()) if len(times) else -1
            sums = [*(int(one[name].sum()) for name in _COUNTS), first, int(one["last"].max())]
            topics = sorted(names[number] for number in np.unique(one["topic"]).tolist())
            yield int(one["cluster"][0]), int(one["producer"][0]), topics, len(one), sums


Item = tuple[Table, tuple[Any, ...]] | Finding


def writer_rows(
    paths: Sequence[str | os.PathLike[str]], topics: Collection[str] = (), by: str | None = None,
    limits: Limits | None = None, tables: Container[str] = (WRITERS.name,), jobs: int | None = 1,
) -> Iterator[Item]:  # fmt: skip
    """Yield the rows of the tables ``writers`` and ``rates``, and every finding.

    `topics` are names or patterns of those that are wanted; without any, internal ones are left out. `by` is one of
    `SPANS`, that of ``rates``: by default ``minute``. `jobs` is as in ``job_count``. Raises NothingMatchesError after
    the findings if no topic matches.
    """
    limits = limits or Limits()
    findings: list[Finding] = []
    clusters = clusters_of(paths, findings.append, limits)
    span = SPANS[by or "minute"] if RATES.name in tables else 0
    places = [
        (number, directory)
        for number, cluster in enumerate(clusters)
        for _, directory in cluster.wanted()
        if (matches(directory.topic, topics) if topics else not directory.topic.startswith(_INTERNAL))
    ]
    replicas: defaultdict[tuple[int, str, int], list[_OfLog]] = defaultdict(list)
    left = defaultdict[tuple[int, str, int], int](int)
    for number, directory in places:
        left[number, directory.topic, directory.partition] += 1
    found = _Writers()
    with each_of(job_count(jobs, sum(directory.size for _, directory in places))) as each:
        read = each(partial(_read, span=span, limits=limits), [directory for _, directory in places])
        for (number, directory), log in zip(places, read, strict=True):
            place = number, directory.topic, directory.partition
            replicas[place].append(log)
            if len(replicas[place]) == left[place]:
                best = max(replicas.pop(place), key=lambda one: one.reach)
                findings += best.findings
                found.add(*place, best.rows)
    names = transactional_ids(clusters, limits, findings.append) if places else {}
    yield from findings
    yield from _rows(clusters, found, names, tables)
    yield from lost_inputs(clusters)
    if topics and not places:
        known = {directory.topic for cluster in clusters for _, directory in cluster.wanted()}
        raise nothing_matches("topic", topics, known)


def _rows(
    clusters: Sequence[Cluster], found: _Writers, names: dict[tuple[int, int], str], tables: Container[str]
) -> Iterator[Item]:
    if WRITERS.name in tables:
        for cluster, producer, topics, partitions, sums in found.writers():
            batches, records, size, first, last = sums
            yield (
                WRITERS,
                WRITERS.of(
                    cluster_id=clusters[cluster].cluster_id,
                    producer_id=producer,
                    transactional_id=names.get((cluster, producer)),
                    topics=topics[:LISTED_TOPICS],
                    topics_total=len(topics),
                    partitions=partitions,
                    batches=batches,
                    records=records,
                    size_bytes=size,
                    first_timestamp_ms=None if first < 0 else first,
                    last_timestamp_ms=None if last < 0 else last,
                ),
            )
    if RATES.name in tables:
        topics = list(found.topics)
        for cluster, producer, topic, start, batches, records, size in found.rates():
            yield (
                RATES,
                RATES.of(
                    cluster_id=clusters[cluster].cluster_id,
                    producer_id=producer,
                    transactional_id=names.get((cluster, producer)),
                    topic=topics[topic],
                    start_ms=None if start == NONE else start,
                    batches=batches,
                    records=records,
                    size_bytes=size,
                ),
            )

"""The moment that a question is about, and clocks that differ.

The moment is the clock's for a broker that runs, else the newest time in the files. Clocks of producers, of brokers at
changes of the leader, and of files are held against times that brokers wrote.
"""

from __future__ import annotations

import os
import time
from bisect import bisect_right
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import numpy as np

from kafkalog.auditing.partition import misread
from kafkalog.auditing.space.log_space import LogSpace
from kafkalog.columns.sorted_rows import groups
from kafkalog.columns.table import Columns
from kafkalog.files.names import is_remote, local_path
from kafkalog.files.recognition import CHECKPOINTS
from kafkalog.findings import Finding
from kafkalog.folds.fold import is_open
from kafkalog.log_dirs.clusters import Cluster
from kafkalog.log_dirs.log_directory import LogDirectory
from kafkalog.quantities import When, at_newest, iso
from kafkalog.tables.space_tables import CLOCKS

__all__ = ["LEAST_MS", "Present", "ahead_of_markers", "ahead_where_told", "clock_rows", "moment_of"]

LEAST_MS: Final = 1_000  # a difference that is reported
_BEHIND_MS: Final = 60_000  # transactions take time: a clock is behind where the fastest of many seems to take this
_MANY: Final = 10
_MOST: Final = 1_000  # rows of a partition


def clock_rows(log: LogSpace, now: int) -> tuple[list[tuple[Any, ...]], list[Finding]]:
    """Return what shows clocks that differ in a log, and the finding that counts the rows past the limit."""
    rows: list[tuple[Any, ...]] = [*_producers(log), *_leaders(log), *_segments(log, now), *_files(log, now)]
    others = rows[_MOST:]
    if not others:
        return rows, []
    directory = log.directory
    message = f"{len(others):,} more clocks differ in this log, and are only counted: the first {_MOST:,} are listed."
    return rows[:_MOST], [directory.finding("not-all-judged", directory.log, message, found=len(others))]


def _row(
    log: LogSpace, kind: str, offset: int | None, clock: int, broker: int, text: str, producer: int | None = None
) -> tuple[Any, ...]:  # fmt: skip
    directory = log.directory
    return CLOCKS.of(
        log=directory.log, topic=directory.topic, partition=directory.partition, kind=kind, producer_id=producer,
        offset=offset, clock_ms=clock, broker_ms=broker, ahead_ms=clock - broker, evidence=text,
    )  # fmt: skip


_MARKERS: Final = ("producer_id", "max_timestamp", "marker_offset", "marker_timestamp")


def _markers(log: LogSpace) -> Columns:
    """Return the ended transactions with data, in the order of their markers."""
    parts = [
        block.take(~is_open(block) & (block["batches"] > 0), *_MARKERS)
        for block in log.facts.transactions.blocks(*_MARKERS, "batches", "marker_type")
    ]
    rows = Columns.concat(parts, _MARKERS)
    return rows.take(np.argsort(rows["marker_offset"], kind="stable"))


def _producers(log: LogSpace) -> Iterator[tuple[Any, ...]]:
    """Compare a producer's newest record with its marker, which a broker wrote later."""
    every = _markers(log)
    producers, data, offsets, markers = (every[name] for name in _MARKERS)
    for rows in groups(producers):
        ahead = data[rows] - markers[rows]
        worst = rows[int(ahead.argmax())]
        most = int(ahead.max())
        who = int(producers[worst])
        if most > LEAST_MS:
            text = f"the newest record of its transaction is {most} ms after the marker that ended it"
        elif most < -_BEHIND_MS and len(rows) >= _MANY:
            text = f"all {len(rows)} transactions seem to end at least {-most} ms after their newest record"
        else:
            continue
        yield _row(log, "producer", int(offsets[worst]), int(data[worst]), int(markers[worst]), text, who)


def ahead_of_markers(log: LogSpace) -> int | None:
    """Return how far producers' clocks are ahead at most, below 0 behind where many transactions show it, else None."""
    rows = _markers(log)
    most = int((rows["max_timestamp"] - rows["marker_timestamp"]).max(initial=-_MOST_MS))
    return ahead_where_told(most, len(rows))


def ahead_where_told(most: int, count: int) -> int | None:
    """Return how far the clock is ahead that so many times differ by at `most`; None where that shows nothing."""
    return most if most > LEAST_MS or (count >= _MANY and most < -_BEHIND_MS) else None


def _leaders(log: LogSpace) -> Iterator[tuple[Any, ...]]:
    """Look for markers that are older than the one before them: written by brokers whose clocks differ."""
    rows = _markers(log)
    offsets, markers = rows["marker_offset"], rows["marker_timestamp"]
    firsts = [first for _, first in log.facts.epochs]
    for at in np.flatnonzero(np.diff(markers) < -LEAST_MS).tolist():
        before, after = int(offsets[at]), int(offsets[at + 1])
        changed = bisect_right(firsts, before) != bisect_right(firsts, after)
        where = "after a change of the leader" if changed else "with the same leader"
        text = f"the marker at offset {after} is older than that at offset {before}, {where}"
        yield _row(log, "leader-change", after, int(markers[at + 1]), int(markers[at]), text)


def _segments(log: LogSpace, now: int) -> Iterator[tuple[Any, ...]]:
    """List segments whose largest timestamp is no milliseconds, or in the future: retention.ms counts from it."""
    for one in log.segments:
        if (odd := misread(one.largest)) is not None:
            text = f"its timestamps {odd.reads}: retention.ms counts from that"
            yield _row(log, "segment", one.segment.base_offset, one.largest, now, text)
        elif one.largest > now:
            text = f"its largest timestamp {iso(one.largest)} is after now: retention.ms counts from it"
            yield _row(log, "segment", one.segment.base_offset, one.largest, now, text)


def _files(log: LogSpace, now: int) -> Iterator[tuple[Any, ...]]:
    """List segments whose file is older than what a broker wrote into it: another clock, or a copy's."""
    for one in log.segments:
        newest = one.scan.folded.newest_broker
        if 0 <= one.modified < newest - LEAST_MS and one.modified <= now:
            text = f"the file's time {iso(one.modified)} is before the newest marker in it, {iso(newest)}"
            yield _row(log, "file", one.segment.base_offset, one.modified, newest, text)


_MOST_MS: Final = 2**62 - 1  # of what hostile bytes may say
_LIVE_S: Final = 600
_DOUBT_MS: Final = 3_600_000  # by which the newest time that a broker wrote may be older than the copy


class Present(NamedTuple):
    """A time (ms), where it is from, and by how much it may be too early."""

    now: int
    source: str
    doubt_ms: int = 0


def moment_of(cluster: Cluster, newest_broker: int, wanted: When | None) -> Present:
    """Choose the moment of a question about a cluster, in whose logs a broker wrote `newest_broker` (-1: none)."""
    default = _present(cluster, newest_broker)
    if wanted is not None:
        default = Present(at_newest(wanted, default.now), "--now")
    return default._replace(now=max(-_MOST_MS, min(_MOST_MS, default.now)))


def _present(cluster: Cluster, newest_broker: int) -> Present:
    clock = time.time_ns() // 1_000_000
    if abs(clock - newest_broker) < _DOUBT_MS and any(_is_live(node) for node in cluster.nodes):
        return Present(clock, "this computer's clock, as the broker is running")
    if newest_broker >= 0:
        return Present(newest_broker, "the newest time that a broker wrote", _DOUBT_MS)
    times = [
        identity.mtime_ns // 1_000_000
        for node in cluster.nodes
        for directory in node.partitions
        for identity in directory.files.values()
        if identity is not None
    ]
    return Present(max(times, default=clock), "the newest file")


def _is_live(node: LogDirectory) -> bool:
    """Say whether a broker may run on a directory now: it writes the checkpoint of high watermarks every few seconds.

    So does who copies the directory, which is why the newest time in it counts, too.
    """
    if not node.running or is_remote(node.home):
        return False
    try:
        written = os.stat(os.path.join(local_path(node.home), CHECKPOINTS["high_watermark"])).st_mtime
    except OSError:
        return False
    return abs(time.time() - written) < _LIVE_S

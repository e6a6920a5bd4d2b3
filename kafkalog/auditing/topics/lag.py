"""How far groups are behind: what they committed, against the logs of the partitions that are among the inputs."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from kafkalog.auditing.partition import LogReach, PartitionAudit, reach, read_log, visible_records
from kafkalog.auditing.topics.commits import CommitKeys, InForce
from kafkalog.auditing.topics.metadata_at import leadership_rows
from kafkalog.auditing.topics.metadata_log import cluster_metadata
from kafkalog.auditing.topics.topic_logs import Report, transactional_ids
from kafkalog.columns.table import NONE, AnyColumn, Columns
from kafkalog.errors import UnreadableError
from kafkalog.files.limits import Limits
from kafkalog.files.processes import each_of, job_count
from kafkalog.findings import Finding, Severity
from kafkalog.kernel import buffers
from kafkalog.log_dirs.clusters import Cluster
from kafkalog.log_dirs.log_directory import PartitionDirectory
from kafkalog.quantities import listed_of, many, offset_range, plausible
from kafkalog.segments.segment import possible_chunks
from kafkalog.settle import Reason, lowered
from kafkalog.tables.arrow import Numbers
from kafkalog.tables.internal_tables import OUT_OF_RANGE
from kafkalog.tables.metadata_tables import LEADERSHIP
from kafkalog.unread import leaves_complete, not_read

if TYPE_CHECKING:
    from numpy.typing import NDArray


__all__ = ["LagColumns", "beyond_log", "lags_of", "log_ends", "no_lag"]

LagColumns = Callable[["NDArray[np.intp]"], "Mapping[str, AnyColumn]"]  # by numbers of keys
Place = tuple[int, str, int]  # the number of the cluster, topic and partition

_BEFORE, _BEYOND, _OTHER = map(OUT_OF_RANGE.index, ("before-start", "beyond-end", "other-history"))


# One partition's log, read for the offsets that groups committed for it.


class _Asked(NamedTuple):
    """A partition's replicas, and the offsets in question, which ascend."""

    replicas: tuple[PartitionDirectory, ...]
    offsets: NDArray[np.int64]
    undated: int  # the highest of those that were committed without a leader epoch, -1 without any


@dataclass(slots=True)
class _Read:
    """What the replica that counts says of the `offsets` that were asked; `held_by` is what holds it back.

    `begun` are the times (ms) of the first batches of its leader epochs, where a commit without an epoch asks.

    Where they were asked, `led` says who led the partition when, oldest first, and `stuck_by` names what holds it back.
    """

    log: str
    start: int
    end: int
    stable: int
    epochs: tuple[tuple[int, int], ...]
    offsets: NDArray[np.int64]
    visible: NDArray[np.int64]
    held_by: dict[str, int] | None
    is_running: bool
    findings: list[Finding]
    begun: list[int] = field(default_factory=list)
    led: list[dict[str, Any]] = field(default_factory=list)
    stuck_by: str | None = None

    def flags(self, commits: Columns) -> NDArray[np.int64]:
        """Say which offsets are out of the log's range, or after the end that their leader epoch has in it."""
        offset = commits["offset"]
        is_other = offset > self.ends(commits)
        return np.select([offset < self.start, offset > self.end, is_other], [_BEFORE, _BEYOND, _OTHER], -1)

    def ends(self, commits: Columns) -> NDArray[np.int64]:
        """Return where the log ends for the leader epoch of each commit: what is after it was truncated since.

        That is what brokers answer to OffsetsForLeaderEpoch. A commit without an epoch is of the last epoch that had
        begun when it was committed, as far as times show that.
        """
        epoch = commits["leader_epoch"]
        epochs = np.array([epoch for epoch, _ in self.epochs], np.int64)
        firsts = np.array([*(first for _, first in self.epochs), self.end], np.int64)
        at = np.searchsorted(np.maximum.accumulate(epochs) if len(epochs) else epochs, epoch, "right")
        ends: NDArray[np.int64] = firsts[at]
        if not self.begun:
            return np.where(epoch >= 0, ends, _FAR)
        later = np.searchsorted(np.maximum.accumulate(self.begun), commits["commit_timestamp"], "right")
        return np.where(epoch >= 0, ends, np.where(later < len(self.begun), firsts[np.maximum(later, 1)], _FAR))

    def since(self, flag: int, epoch: int) -> int:
        """Return since when an offset is out of range: the first leader epoch after the commit's, by the metadata."""
        if flag == _BEFORE or epoch < 0:
            return NONE
        newer = (row for row in self.led if row["leader"] is not None and row["leader_epoch"] > epoch)
        return next((int(row["since_ms"]) for row in newer), NONE)


def _read(asked: _Asked, limits: Limits) -> _Read:
    """Read all replicas, and count in the one whose leader epochs reach furthest, then the longest."""
    facts = max((read_log(one, (), limits).partition for one in asked.replicas), key=reach)
    start, end = facts.log_start_offset, facts.log_end_offset
    serious = [finding for finding in facts.findings if finding.severity > Severity.NOTE]
    try:
        visible = visible_records(facts, np.clip(asked.offsets, start, end), limits)
    except UnreadableError as error:
        visible = np.full(len(asked.offsets), NONE)
        serious.append(not_read(facts.directory.log, error))
    return _Read(
        facts.directory.log,
        start,
        end,
        facts.last_stable_offset,
        facts.epochs,
        asked.offsets,
        visible,
        facts.holder(),
        facts.directory.running,
        serious,
        _begun(facts, limits) if len(facts.epochs) > 1 and asked.undated > facts.epochs[1][1] else [],
    )


def log_ends(
    cluster: Cluster, places: Container[tuple[str, int]], limits: Limits, report: Report
) -> dict[tuple[str, int], int]:  # fmt: skip
    """Return where the logs of some topics and partitions end, of several replicas the one that reaches furthest."""
    best: dict[tuple[str, int], PartitionAudit] = {}
    for _, directory in cluster.wanted():
        place = (directory.topic, directory.partition)
        if place in places:
            facts = read_log(directory, (), limits).partition
            best[place] = max(best.get(place, facts), facts, key=reach)
    for facts in best.values():
        for finding in facts.findings:
            if finding.severity > Severity.NOTE:
                report(finding)
    return {place: facts.log_end_offset for place, facts in best.items()}


_FAR: Final = 2**62


def _begun(facts: PartitionAudit | LogReach, limits: Limits) -> list[int]:
    """Return the newest time in the first batch of each leader epoch of a log."""
    wanted = {first for _, first in facts.epochs}
    found = dict.fromkeys(wanted, NONE)
    for segment in facts.directory.segments:
        with suppress(UnreadableError):  # then its epochs have no times
            for chunk in possible_chunks(segment.path, limits=limits, max_bytes=segment.size):
                cells = chunk.heads.numpy()
                firsts = cells[buffers.BASE_OFFSET]
                for row in np.flatnonzero(np.isin(firsts, list(wanted)) & (cells[buffers.VALID] != 0)).tolist():
                    found[int(firsts[row])] = int(cells[buffers.MAX_TIMESTAMP, row])
    return [found[first] if plausible(found[first]) else NONE for _, first in facts.epochs]


def beyond_log(
    commits: Sequence[InForce], logs: Iterable[PartitionAudit | LogReach], limits: Limits
) -> Iterator[Finding]:
    """Yield the groups whose committed offsets the logs of an audit do not have any more; the leader's replica counts.

    What is before a log's start was deleted: nobody lost it.
    """
    best: dict[Place, PartitionAudit | LogReach] = {}
    for facts in logs:
        place = (0, facts.directory.topic, facts.directory.partition)
        best[place] = max(best.get(place, facts), facts, key=reach)
    for of_log in commits:
        for place, rows in _places(0, of_log):
            if (found := best.get(place)) is None:
                continue
            read = _positions(found, rows, limits)
            flags = read.flags(rows)
            for flag in (_BEYOND, _OTHER):
                if (flags == flag).any():
                    yield _out_of_range(flag, place, of_log.keys, rows.take(flags == flag), read)


def _positions(facts: PartitionAudit | LogReach, commits: Columns, limits: Limits) -> _Read:
    """Return what a log says of offsets alone: no record is read."""
    nothing, undated = np.empty(0, np.int64), commits["offset"][commits["leader_epoch"] < 0]
    asks = len(facts.epochs) > 1 and int(undated.max(initial=-1)) > facts.epochs[1][1]
    return _Read(
        facts.directory.log, facts.log_start_offset, facts.log_end_offset, facts.last_stable_offset, facts.epochs,
        nothing, nothing, None, facts.directory.running, [], _begun(facts, limits) if asks else [],
    )  # fmt: skip


# All of them: the columns of the table ``committed`` that only the partitions' logs give.


class Lag:
    """The columns of the commits of one partition of ``__consumer_offsets``, by the numbers of their keys."""

    def __init__(self, keys: int) -> None:
        self._logs: list[tuple[int | str | None, ...]] = []
        self._of = np.full(keys, -1)  # numbers of logs
        self._columns = {name: np.full(keys, NONE) for name in _OF_COMMITS}
        self._range = np.full(keys, -1)
        self._stuck = np.full(keys, -1)

    def add(self, commits: Columns, read: _Read) -> None:
        """Take what a partition's log says of the offsets that were committed for it."""
        key, offset, epoch = (commits[name] for name in ("key", "offset", "leader_epoch"))
        number = len(self._logs)
        self._logs.append((read.start, read.end, read.stable, read.log, read.stuck_by))
        lag = read.end - np.clip(offset, read.start, read.end)
        visible = read.visible[np.searchsorted(read.offsets, offset)]
        self._of[key] = number
        self._columns["lag"][key] = lag
        self._columns["visible_lag"][key] = visible
        if read.held_by is not None:
            self._stuck[key[(visible == 0) & (lag > 0)]] = number
        self._range[key] = flags = read.flags(commits)
        for row in np.flatnonzero(flags >= 0).tolist():
            self._columns["out_of_range_since_ms"][key[row]] = read.since(int(flags[row]), int(epoch[row]))
        ends = np.minimum(read.ends(commits), read.end)
        self._columns["history_end_offset"][key] = np.where(flags > _BEFORE, ends, NONE)

    def columns(self, at: NDArray[np.intp]) -> dict[str, AnyColumn]:
        """Return the columns of the commits with these keys."""
        logs = Columns.of_rows(
            [*self._logs, (None,) * len(_OF_LOG)], _OF_LOG, _OF_LOG[-2:]
        )  # the last row is of no log
        of = logs.take(self._of[at])
        return {
            **{name: of[name] for name in _OF_LOG[:-2]},
            **{name: column[at] for name, column in self._columns.items()},
            "out_of_range": Numbers.worded(self._range[at], OUT_OF_RANGE),
            "stuck_by": logs.texts("stuck_by").take(self._stuck[at]),
            "partition_log": of.texts("partition_log"),
        }


_OF_COMMITS: Final = ("lag", "visible_lag", "out_of_range_since_ms", "history_end_offset")
_OF_LOG: Final = ("log_start_offset", "log_end_offset", "last_stable_offset", "partition_log", "stuck_by")


def no_lag(at: NDArray[np.intp]) -> dict[str, AnyColumn]:
    """Return the columns of so many commits where no partition's log was read."""
    return Lag(len(at)).columns(np.arange(len(at)))


def lags_of(
    clusters: Sequence[Cluster], groups: Sequence[tuple[int, InForce]], limits: Limits, jobs: int | None,
    report: Report,
) -> list[Lag]:  # fmt: skip
    """Read the partitions' logs that are among the inputs; return the columns of each log of commits.

    `groups` are the commits with the numbers of their clusters. Raises nothing: what can't be read is reported.
    """
    asked = _asked(clusters, groups)
    size = sum(one.size for about in asked.values() for one in about.replicas)
    found: dict[Place, _Read] = {}
    with each_of(job_count(jobs, size)) as each:
        for place, read in zip(asked, each(partial(_read, limits=limits), list(asked.values())), strict=True):
            for finding in read.findings:
                report(finding)
            found[place] = read
    _name_holders(clusters, found, limits, report)
    lags = []
    for cluster, commits in groups:
        lags.append(lag := Lag(len(commits.keys)))
        for place, rows in _places(cluster, commits):
            if (read := found.get(place)) is None:
                continue
            flags = read.flags(rows)
            if not read.led and (flags > _BEFORE).any():
                read.led = _led(clusters[cluster], *place[1:], limits)
            lag.add(rows, read)
            for flag in np.unique(flags[flags >= 0]).tolist():
                report(_out_of_range(flag, place, commits.keys, rows.take(flags == flag), read))
    return lags


_SHOWN: Final = 3  # groups that a finding names


def _out_of_range(flag: int, place: Place, keys: CommitKeys, rows: Columns, read: _Read) -> Finding:
    """Make the finding about the groups that can't go on in a partition for one reason."""
    _, topic, partition = place
    names = keys.groups.texts
    shown = rows.take(slice(0, _SHOWN))
    groups = [
        f"{names[keys.group[key]]} at {offset}{_what_went(offset, epoch, end, read.end)}"
        for (key, offset, epoch), end in zip(
            shown.tuples("key", "offset", "leader_epoch"), read.ends(shown).tolist(), strict=True
        )
    ]
    where = f"{topic}-{partition}"
    said = {
        _BEFORE: f"before the start of {where} at {read.start}: auto.offset.reset decides where a consumer starts",
        _BEYOND: f"beyond the end of {where} at {read.end}: auto.offset.reset decides where a consumer starts",
        _OTHER: f"after records of {where} that were truncated: the log has others there since",
    }[flag]
    code = "offset-before-start" if flag == _BEFORE else "offset-beyond-end"
    lowest = int(rows["offset"].min())
    back_to = None if flag == _BEFORE else int(min(read.ends(rows).min(), read.end))
    finding = Finding.of(
        code, read.log, f"committed offsets are {said}: {listed_of(len(rows), groups)}", offset=lowest,
        needed=back_to, found=len(rows), log=read.log, topic=topic, partition=partition,
    )  # fmt: skip
    return lowered(finding, Reason.MAY_BE_THERE) if read.is_running else finding


def _what_went(offset: int, epoch: int, end: int, log_end: int) -> str:
    """Say what a group had read that is gone, and where it should go on; nothing where no epoch ends before."""
    if offset <= end or end == _FAR:
        return ""
    gone, since = many(offset - end, "record"), offset_range(end, min(offset, log_end) - 1)
    if epoch >= 0:
        are = "is" if offset - end == 1 else "are"
        return f" (leader epoch {epoch} ends at {end} now: {gone} that it read {are} gone, it should go on at {end})"
    return (
        f" (committed without a leader epoch, before what is there from {end} on: no client notices; it never reads the"
        f" new {since})"
    )


def _places(cluster: int, commits: InForce) -> Iterator[tuple[Place, Columns]]:
    return (((cluster, topic, partition), rows) for topic, partition, rows in commits.by_partition())


def _asked(clusters: Sequence[Cluster], groups: Sequence[tuple[int, InForce]]) -> dict[Place, _Asked]:
    """Return the partitions with commits whose logs are among the inputs, with all their offsets."""
    wanted: defaultdict[Place, list[NDArray[np.int64]]] = defaultdict(list)
    undated: defaultdict[Place, int] = defaultdict(lambda: -1)
    for cluster, commits in groups:
        for place, rows in _places(cluster, commits):
            wanted[place].append(rows["offset"])
            without = rows["offset"][rows["leader_epoch"] < 0]
            undated[place] = max(undated[place], int(without.max(initial=-1)))
    replicas: defaultdict[Place, list[PartitionDirectory]] = defaultdict(list)
    for number, one in enumerate(clusters):
        for _, directory in one.wanted():
            place = (number, directory.topic, directory.partition)
            if place in wanted:
                replicas[place].append(directory)
    return {
        place: _Asked(tuple(some), np.unique(np.concatenate(wanted[place])), undated[place])
        for place, some in replicas.items()
    }


def _led(cluster: Cluster, topic: str, partition: int, limits: Limits) -> list[dict[str, Any]]:
    """Return who led a partition when, by the metadata log, if there is one."""
    metadata = cluster_metadata(cluster.nodes, limits)
    if metadata is None:
        return []
    return [dict(zip(LEADERSHIP.names, row, strict=True)) for row in leadership_rows(metadata, "", topic, partition)]


def _name_holders(clusters: Sequence[Cluster], found: dict[Place, _Read], limits: Limits, report: Report) -> None:
    """Say which transactions hold logs back, with their transactional ids where the coordinator's records name them."""
    held = {place: one.held_by for place, one in found.items() if one.held_by is not None}
    of_state: list[Finding] = []
    names = transactional_ids(clusters, limits, of_state.append) if held else {}
    for finding in of_state:
        if not leaves_complete(finding.code):
            report(finding)
    for place, by in held.items():
        named = {
            "transactional_id": names.get((place[0], by["producer_id"])), "producer_id": by["producer_id"],
            "producer_epoch": by["last_epoch"], "first_offset": by["first_offset"],
        }  # fmt: skip
        found[place].stuck_by = json.dumps(named)

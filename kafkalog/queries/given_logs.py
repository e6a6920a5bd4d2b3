"""The segments that inputs mean, in the order of topics, partitions and offsets, with what became of their records."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Final

import numpy as np

from kafkalog.columns.table import AFTER_ALL, NONE, Columns
from kafkalog.errors import UnreadableError
from kafkalog.files.directories import is_directory
from kafkalog.files.names import METADATA_TOPIC, STATE_TOPIC, FileKind, parse_name
from kafkalog.folds.fates import Fates
from kafkalog.folds.fold import is_open, spans
from kafkalog.log_dirs.clusters import Cluster, open_clusters
from kafkalog.log_dirs.log_directory import remote_part
from kafkalog.narrowing import Narrowing, nothing_matches
from kafkalog.queries.given_file import GivenFile, GivenLogs
from kafkalog.queries.shared_records import ReplicaShare, SharedRecords
from kafkalog.segments.selection import ReplicaChoice
from kafkalog.tables.audit_tables import CAUSES, STATES
from kafkalog.tables.dump_tables import OUTCOME_CAUSES
from kafkalog.unread import leaves_complete

if TYPE_CHECKING:
    from kafkalog.auditing.partition import PartitionAudit
    from kafkalog.auditing.transactions import Audit, ClusterAudit, LogAudit
    from kafkalog.files.limits import Limits
    from kafkalog.findings import Finding
    from kafkalog.log_dirs.log_directory import LogDirectory, PartitionDirectory, Segment
    from kafkalog.segments.selection import Selection

__all__ = ["fates_of", "given_logs", "segments_with"]

_NOT_IN_TIERS: Final = ("remote-offsets-lost", "remote-log-alone")
_OF_ALL: Final = (None, STATE_TOPIC, METADATA_TOPIC)  # topics that decide about the records of all


def given_logs(
    paths: Sequence[str], narrowing: Narrowing, selection: Selection, limits: Limits, *,
    with_fates: bool, jobs: int | None = 1, at: int | None = None,
    replicas: ReplicaChoice = ReplicaChoice(),  # noqa: B008  # it is frozen
) -> GivenLogs:  # fmt: skip
    """Return the segments below directories, and files as they were given.

    Of several replicas of a partition that is read which consumers read (``judging.speaker_of``), unless `replicas`
    chooses, which needs `with_fates`: of what several have the first one gives it. Segments without an offset that is
    selected are left out. With a time `at` (ms) the fates are those of then. Raises NothingMatchesError if no log is of
    such a topic, partition or node.
    """
    folders = [path for path in paths if is_directory(path)]
    files = [path for path in paths if path not in folders]
    found = GivenLogs([])
    logs = _logs_below(folders, found, limits, with_fates=with_fates, jobs=jobs, node=replicas.node)
    wanted = [log for log in logs if narrowing.log(log.directory.topic, log.directory.partition)]
    if logs and not wanted and not files:
        raise _none_of(narrowing, logs)
    found.unread = [
        one
        for one in found.unread
        if one.topic in _OF_ALL or (narrowing.log(one.topic, one.partition) and _may_have_had(one, selection))
    ]
    ids: dict[int, tuple[str, ...]] = {}
    for log in wanted:
        found.unread += (one for one in remote_part(log.directory) if _may_have_had(one, selection))
        fates = None if log.audited is None else fates_of(log.audited, ids, at)
        of_one = list(_files(log.directory, selection, fates))
        if replicas.every and found.audit is not None and log.audited is not None:
            beside = _replicas(found.audit, log.audited)
            of_one = list(_of_replicas(beside, of_one, selection, limits, lambda other: fates_of(other, ids, at)))
        found.files += of_one
    found.suspects = {
        log.directory.log for log in wanted if log.directory.tier and _odd_epochs(log.directory, selection)
    }
    if folders:
        found.missing = partial(
            _missing, found, folders, {log.directory.log for log in wanted}, selection, limits, jobs
        )
    for path in files:
        found.files += _alone(path, narrowing, limits, with_fates=with_fates)
    return found


def _odd_epochs(directory: PartitionDirectory, selection: Selection) -> bool:
    from kafkalog.auditing.side_files import odd_epochs  # most logs have no tier

    last = selection.last_offset
    return odd_epochs(directory, selection.first_offset or 0, AFTER_ALL if last is None else last)


def _replicas(audited: Audit, read: LogAudit) -> list[list[LogAudit]]:
    """Return the replicas of a partition, those that have the same together, first those of the one that is read."""
    from kafkalog.auditing.partition import fork_of
    from kafkalog.auditing.transactions import are_alike

    found: list[list[LogAudit]] = [[read]]
    [its] = (cluster for cluster in audited.clusters if any(log is read for log in cluster.logs))
    place = _place(read.partition.directory)
    for other in (log for log in its.logs if log is not read and _place(log.partition.directory) == place):
        for some in found:
            first = some[0].partition
            if are_alike([other.partition, first]) and fork_of(other.partition, first) is None:
                some.append(other)
                break
        else:
            found.append([other])
    return found


def _of_replicas(
    replicas: Sequence[Sequence[LogAudit]], files: Sequence[GivenFile], selection: Selection, limits: Limits,
    fates: Callable[[LogAudit], Fates],
) -> Iterator[GivenFile]:  # fmt: skip
    """Yield the `files` of the first replica, and those of each that has not the same, as far as it alone has it."""
    of_each = [files]
    met = {one.path for one in files}
    for other, *_ in replicas[1:]:
        its = _files(other.partition.directory, selection, fates(other))
        of_each.append([replace(one, is_other=True) for one in its if one.path not in met])
        met.update(one.path for one in of_each[-1])
    names = [[one.node.node_id or one.partition.directory.log for one in some] for some in replicas]
    shared = SharedRecords(names, [[one.path for one in some] for some in of_each], selection, limits)
    for number, some in enumerate(of_each):
        yield from (replace(one, share=ReplicaShare(shared, number)) for one in some)


def _place(directory: PartitionDirectory) -> tuple[str, int]:
    return directory.topic, directory.partition


def _files(directory: PartitionDirectory, selection: Selection, fates: Fates | None) -> Iterator[GivenFile]:
    """Yield the files of a log that may have a selected offset; a remote object has no offsets but its segment's."""
    ends = dict(pairwise(segment.base_offset for segment in directory.segments))
    for one in segments_with(directory, selection):
        end = ends.get(one.base_offset)
        spans = ((one.base_offset, AFTER_ALL if end is None else end - 1),) if one.is_remote else None
        yield GivenFile(one.path, fates, spans=spans, log=directory.log, end=end)


def _missing(
    found: GivenLogs, folders: Sequence[str], logs: Collection[str], selection: Selection, limits: Limits,
    jobs: int | None, with_gaps: Collection[str] | None, in_any: bool,
) -> Iterator[Finding]:  # fmt: skip
    """Yield which offsets of some logs are missing, as an audit finds them: if need be one of those `with_gaps`.

    With `in_any` they are missing in all replicas.
    """
    logs = logs if with_gaps is None else set(logs) & set(with_gaps)
    from kafkalog import few_of_many  # few searches miss something
    from kafkalog.auditing.partition import absent_offsets

    audited = found.audit
    if audited is None:
        from kafkalog.auditing.pipeline import audit
        from kafkalog.auditing.transactions import AuditOptions

        audited = audit(folders, AuditOptions(limits, jobs, compare_keys=False), lambda one: one.log in logs)
    for cluster in audited.clusters:
        for log in cluster.logs:
            if log.partition.directory.log in logs:
                others = [one.partition for group in _replicas(audited, log)[1:] for one in group] if in_any else []
                yield from few_of_many.first_findings(
                    one
                    for one in absent_offsets(log.partition, log.findings)
                    if _may_have_had(one, selection) and not any(_has(other, one) for other in others)
                )


def _has(replica: PartitionAudit, absent: Finding) -> bool:
    """Say whether a replica has what is absent in another one."""
    if absent.offset is None or absent.last_offset is None:
        return False
    lost = replica.gaps.chosen(~replica.gaps.of_kind("legal"))
    is_within = replica.log_start_offset <= absent.offset and absent.last_offset < replica.log_end_offset
    return is_within and not bool(((lost.first <= absent.last_offset) & (lost.last >= absent.offset)).any())


@dataclass(frozen=True, slots=True)
class _Log:
    directory: PartitionDirectory
    audited: LogAudit | None = None


def _logs_below(
    folders: Sequence[str], found: GivenLogs, limits: Limits, *, with_fates: bool, jobs: int | None,
    node: str | None,
) -> list[_Log]:  # fmt: skip
    if not folders:
        return []
    if not with_fates:
        clusters, refused = open_clusters(folders)
        logs = [_Log(directory) for cluster in clusters for directory in _of_one_node(cluster)]
        if len(logs) == sum(len(cluster.wanted()) for cluster in clusters):
            found.refused += refused
            found.unread += [*_not_listed(clusters), *_not_given(clusters, limits)]
            found.nodes = [node for cluster in clusters for node in cluster.nodes]
            return _in_order(logs)
    from kafkalog.auditing.pipeline import audit  # reads all logs
    from kafkalog.auditing.transactions import AuditOptions

    audited = found.audit = audit(folders, AuditOptions(limits, jobs))
    found.refused += audited.refused
    found.unread += [*_not_listed(audited.clusters), *_not_read(audited)]
    found.nodes = [node for cluster in audited.clusters for node in cluster.nodes]
    every = [log for cluster in audited.clusters for log in cluster.logs]
    read = [log for log in every if (not log.judged.spoken_for if node is None else _is_of(log.node, node))]
    if every and not read and node is not None:
        raise nothing_matches("node", [node], {log.node.node_id or log.node.path for log in every})
    return _in_order(_Log(log.partition.directory, log) for log in read)


def _is_of(home: LogDirectory, node: str) -> bool:
    return node == home.node_id or os.path.normpath(node) == os.path.normpath(home.path)


def _not_listed(clusters: Iterable[Cluster | ClusterAudit]) -> Iterator[Finding]:
    """Yield what could not be listed, or is in no tier; what is listed says itself whether it can be read."""
    nodes = (node for cluster in clusters for node in cluster.nodes)
    every = (finding for node in nodes for finding in node.findings)
    return (one for one in every if not leaves_complete(one.code) or one.code in _NOT_IN_TIERS)


def _not_given(clusters: Iterable[Cluster], limits: Limits) -> Iterator[Finding]:
    """Yield the partitions in log directories that were not given; an audit reports them itself."""
    from kafkalog.auditing.topics import cluster_metadata, not_given

    for cluster in clusters:
        yield from not_given(cluster.nodes, cluster_metadata(cluster.nodes, limits))


def _not_read(audited: Audit) -> Iterator[Finding]:
    """Yield what an audit could not read: it says what became of records."""
    for cluster in audited.clusters:
        found = chain(cluster.findings, *(log.findings for log in cluster.logs))
        yield from (one for one in found if not leaves_complete(one.code))


def _may_have_had(part: Finding, selection: Selection) -> bool:
    """Say whether a part of a log that is not here may have had a selected offset."""
    first, last = selection.first_offset, selection.last_offset
    begins_after = last is not None and part.offset is not None and part.offset > last
    ends_before = first is not None and part.last_offset is not None and part.last_offset < first
    return not begins_after and not ends_before


def _of_one_node(cluster: Cluster) -> Iterable[PartitionDirectory]:
    return {(directory.topic, directory.partition): directory for _, directory in cluster.wanted()}.values()


def _in_order(logs: Iterable[_Log]) -> list[_Log]:
    return sorted(logs, key=lambda log: _place(log.directory))


def _none_of(narrowing: Narrowing, logs: Sequence[_Log]) -> Exception:
    topics = {log.directory.topic for log in logs}
    if not any(narrowing.log(topic, None) for topic in topics) and not narrowing.partitions:
        return nothing_matches("topic", narrowing.topics, topics)
    of_topics = [log.directory for log in logs if replace(narrowing, partitions=()).log(log.directory.topic, None)]
    if not of_topics:
        return nothing_matches("topic", narrowing.topics, topics)
    asked = [str(one[0]) if len(one) == 1 else f"{one[0]}-{one[-1]}" for one in narrowing.partitions]
    return nothing_matches("partition", asked, {one.partition for one in of_topics})


def segments_with(directory: PartitionDirectory, selection: Selection) -> Iterator[Segment]:
    """Yield the segments of a log that may have a selected offset."""
    first, last = selection.first_offset, selection.last_offset
    segments = directory.segments
    for number, segment in enumerate(segments):
        after = segments[number + 1].base_offset if number + 1 < len(segments) else AFTER_ALL
        if (last is None or segment.base_offset <= last) and (first is None or first < after):
            yield segment


def _alone(path: str, narrowing: Narrowing, limits: Limits, *, with_fates: bool) -> Iterator[GivenFile]:
    """Yield a file that was named itself, if it is of a log that is wanted."""
    kind = parse_name(os.path.basename(path)).kind
    if kind is FileKind.KRAFT_SNAPSHOT and with_fates:  # its offsets are no log's
        yield GivenFile(path, Fates.unknown())
        return
    if kind is not FileKind.LOG or not (with_fates or narrowing.of_logs):
        yield GivenFile(path)
        return
    from kafkalog.auditing.pipeline import audit
    from kafkalog.auditing.transactions import AuditOptions

    try:
        audited = audit([path], AuditOptions(limits, 1))
        [log] = (log for cluster in audited.clusters for log in cluster.logs)
    except (UnreadableError, ValueError):  # in no partition's directory
        if not narrowing.of_logs:
            yield GivenFile(path, Fates.unknown())
        return
    directory = log.partition.directory
    if narrowing.log(directory.topic, directory.partition):
        yield GivenFile(path, fates_of(log, {}) if with_fates else None)


def fates_of(log: LogAudit, ids: dict[int, tuple[str, ...]], at: int | None = None) -> Fates:
    """Return what became of the batches of a log; `ids` has the transactional ids of each coordinator met before.

    At a time `at` (ms) a transaction was open whose marker is of a later time.
    """
    verdicts, partition = log.verdicts, log.partition
    known = verdicts.coordinator.states.ids
    if id(known) not in ids:
        ids[id(known)] = tuple(known.tolist())
    rows, numbers = verdicts.rows, verdicts.numbers()
    extents = spans(rows)
    outcomes, causes = numbers["state"].astype(np.int64), _OF_CAUSE[numbers["cause"]]
    stop = partition.last_stable_offset
    if at is not None:
        first = rows["first_offset"]
        later = ~is_open(rows) & (rows["marker_timestamp"] > at)
        outcomes[later], causes[later] = STATES.index("ongoing"), NONE
        stop = min([stop, *first[later & (first != NONE)].tolist()])
    names = np.where(numbers["name"] < 0, NONE, numbers["name"])
    return Fates(
        partition.directory.topic, partition.directory.partition, partition.directory.log, extents,
        Columns({"outcome": outcomes, "cause": causes, "name": names}), ids[id(known)], partition.log_start_offset,
        stop,
    )  # fmt: skip


# The number of a cause's word among ``OUTCOME_CAUSES``; among the verdicts' words the first is none.
_OF_CAUSE: Final = np.array([NONE, *(OUTCOME_CAUSES.index(word) for word in CAUSES)], np.int64)

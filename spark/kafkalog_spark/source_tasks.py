"""A read of a view, whoever runs it: which tasks there are, and the rows that each makes.

Paths are listed and the coordinator's records read where it is planned; a task knows all else.
"""

from __future__ import annotations

import hashlib
import json
import pickle
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from kafkalog.auditing.partition import PartitionAudit, read_log, scan_segment
from kafkalog.auditing.pipeline import LogPlace, SegmentPlace, logs_of, segments_of
from kafkalog.auditing.topics import cluster_metadata, policies
from kafkalog.auditing.transactions import StateLog, Surroundings
from kafkalog.errors import OutputError, UnreadableError
from kafkalog.files.directories import expand
from kafkalog.files.names import METADATA_TOPIC, STATE_TOPIC, is_remote, local_path
from kafkalog.files.object_stores import set_storage_options
from kafkalog.files.off_limits import refuse_evidence
from kafkalog.files.processes import packed_tasks
from kafkalog.findings import Finding
from kafkalog.folds.fold import FoldedLog
from kafkalog.kernel.slots import secret_bits
from kafkalog.log_dirs.clusters import Cluster, open_clusters
from kafkalog.log_dirs.log_directory import LogDirectory
from kafkalog.log_dirs.remote_store import remote_given
from kafkalog.queries.given_logs import segments_with
from kafkalog.segments.file_rows import finding_rows
from kafkalog_spark.between_tasks import FileAccess, begin_task
from kafkalog_spark.parts import STORE_ERRORS, filesystem_of
from kafkalog_spark.request import Request

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["Task", "log_tasks", "open_all", "planned", "read_view", "rows_of_task", "segment_tasks"]


class AroundFile(NamedTuple):
    """A file of a cluster's surroundings in a folder that all tasks see; its name is the SHA-256 of its content."""

    folder: str
    name: str

    @classmethod
    def written(cls, folder: str, content: bytes) -> AroundFile:
        """Write it, unless a query before did. Raises OutputError."""
        home = folder if is_remote(folder) else Path(local_path(folder)).resolve().as_uri()
        found = cls(home, hashlib.sha256(content).hexdigest())
        try:
            filesystem, path = filesystem_of(home)
            filesystem.create_dir(path)
            if filesystem.get_file_info(f"{path}/{found.name}").size != len(content):
                unfinished = f"{path}/.{found.name}.{secret_bits(32):08x}"
                with filesystem.open_output_stream(unfinished) as stream:
                    stream.write(content)
                filesystem.move(unfinished, f"{path}/{found.name}")
        except STORE_ERRORS as error:
            raise OutputError(f"workFolder {folder}: {error}") from error
        return found

    def read_content(self) -> bytes:
        """Return its content. Raises UnreadableError if the file is missing or was changed."""
        try:
            filesystem, path = filesystem_of(self.folder)
            with filesystem.open_input_stream(f"{path}/{self.name}") as stream:
                content: bytes = stream.read()
        except OSError as error:
            raise UnreadableError(f"workFolder {self.folder}: {error}") from error
        if hashlib.sha256(content).hexdigest() != self.name:
            raise UnreadableError(f"workFolder {self.folder}: {self.name} was changed since the query was planned")
        return content


@dataclass
class Task:
    """A task's share: segments, or partitions with all their logs; `rows` are given.

    What its clusters' surroundings are is in `around`, packed, or the file that has it, by the clusters' numbers.

    `roots` are the log directories out of which no link is followed.
    """

    pieces: list[SegmentPlace] = field(default_factory=list)
    groups: list[list[LogPlace]] = field(default_factory=list)
    around: dict[int, bytes | AroundFile] = field(default_factory=dict)
    rows: list[tuple[Any, ...]] = field(default_factory=list)
    roots: tuple[str, ...] = ()


def planned(request: Request) -> list[Task]:
    """List the paths and distribute what is requested.

    Raises UnreadableError as ``open_all``, OutputError for a work folder that can't be written, UnsupportedError for
    one that is in an input.
    """
    from kafkalog_spark.source_views import VIEWS

    if request.work_folder is not None:
        refuse_evidence(request.work_folder, request.paths)
    clusters, refused = open_all(request, strict=request.view != "findings")
    view, roots = VIEWS[request.view], FileAccess.of(request.storage, clusters).roots
    is_of_logs = view.reads_logs(request.names(view))
    tasks = log_tasks(request, clusters, refused) if is_of_logs else segment_tasks(request, clusters)
    return [replace(task, roots=roots) for task in tasks]


def open_all(request: Request, *, strict: bool) -> tuple[list[Cluster], list[Finding]]:
    """List the paths, patterns expanded, without the partitions that are not requested.

    Raises UnreadableError if `strict` is set and a path can't be listed, or none where these are to be ignored.
    """
    set_storage_options(request.storage)
    paths = [path for pattern in request.paths for path in expand(pattern)]
    with remote_given(request.remote):
        clusters, refused = open_clusters(paths)
    if strict and refused and not (request.ignore_missing and clusters):
        hint = " (the option ignoreMissing leaves out such paths)" if clusters else ""
        raise UnreadableError("; ".join(f"{one.file}: {one.message}" for one in refused) + hint)
    return clusters, refused


def segment_tasks(request: Request, clusters: Sequence[Cluster]) -> list[Task]:
    """Distribute segments to tasks, except segments without any requested offset."""
    wanted = ((log, segments_with(log.directory, request.selection)) for log in _wanted(request, clusters))
    logs = [replace(log, directory=replace(log.directory, segments=tuple(segments))) for log, segments in wanted]
    tasks: dict[int, Task] = {}
    for piece in segments_of(logs, request.split_bytes):
        tasks.setdefault(piece.task, Task()).pieces.append(piece)
    return list(tasks.values())


def log_tasks(request: Request, clusters: Sequence[Cluster], refused: Iterable[Finding]) -> list[Task]:
    """Distribute partitions to tasks, each with all its replicas; the first task has the findings of the planning."""
    around: dict[int, Surroundings] = {}
    rows = list(finding_rows(refused))
    for number, cluster in enumerate(clusters):
        around[number] = _surroundings(cluster, request)
        for node in cluster.nodes:
            rows += finding_rows(node.findings, node.node_id)
        rows += finding_rows(around[number].findings)
        around[number].findings = []
    packed: dict[int, bytes | AroundFile] = {}
    for number, one in around.items():
        content = zlib.compress(pickle.dumps(one), 1)
        packed[number] = content if request.work_folder is None else AroundFile.written(request.work_folder, content)
    groups: dict[int, list[LogPlace]] = {}
    for log in _wanted(request, clusters):
        groups.setdefault(log.group, []).append(log)
    sizes = {group: sum(log.directory.size for log in logs) for group, logs in groups.items()}
    tasks: dict[int, Task] = {}
    for group, number in packed_tasks(sizes, request.split_bytes).items():
        task = tasks.setdefault(number, Task())
        task.groups.append([log.elsewhere() for log in groups[group]])
        for log in groups[group]:
            task.around[log.cluster] = packed[log.cluster]
    return [Task(rows=rows), *tasks.values()]


def _wanted(request: Request, clusters: Sequence[Cluster]) -> Iterator[LogPlace]:
    return (log for log in logs_of(clusters, None) if request.wants(log.directory))


def _surroundings(cluster: Cluster, request: Request) -> Surroundings:
    """Read the records of the coordinator and of the metadata log, within the limit."""
    states = [(node, directory) for node, directory in cluster.wanted() if directory.topic == STATE_TOPIC]
    others = [directory for _, directory in cluster.wanted() if directory.topic == METADATA_TOPIC]
    told: list[Finding] = []
    left = request.state_bytes - sum(directory.size for _, directory in states)
    if left < 0:
        told.append(_not_read(cluster, STATE_TOPIC, request))
        states, left = [], request.state_bytes
    nodes: list[LogDirectory] = cluster.nodes
    if sum(directory.size for directory in others) > left:
        told.append(_not_read(cluster, METADATA_TOPIC, request))
        nodes, others = [_without_metadata(node) for node in nodes], []
    logs: list[StateLog] = []
    metadata = cluster_metadata(nodes, request.options.limits)
    for node, directory in states:
        read = read_log(directory, policies(metadata, directory.topic), request.options.limits)
        logs.append(StateLog.of(node, *read))
    # A controller writes to the metadata log all the time, so its newest time shows when the copy was made.
    clocks: list[PartitionAudit | FoldedLog] = [log.partition for log in logs]
    limits = request.options.limits
    clocks += [
        scan_segment(directory, segment, limits).folded for directory in others for segment in directory.segments
    ]
    newest = max((clock.newest for clock in clocks), default=-1)
    newest_broker = max((clock.newest_broker for clock in clocks), default=-1)
    around = Surroundings.of(nodes, metadata, logs, newest, newest_broker, request.options)
    around.findings += told
    return around


def _without_metadata(node: LogDirectory) -> LogDirectory:
    return replace(node, partitions=[one for one in node.partitions if one.topic != METADATA_TOPIC])


def _not_read(cluster: Cluster, topic: str, request: Request) -> Finding:
    sizes = sum(directory.size for _, directory in cluster.wanted() if directory.topic == topic)
    message = f"{topic} has {sizes} bytes, more than stateBytes ({request.state_bytes}): it was not read"
    return Finding.of("state-not-read", cluster.nodes[0].path, message, needed=request.state_bytes, found=sizes)


def rows_of_task(task: Task, request: Request) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a task, of the requested columns."""
    from kafkalog.tables.arrow import gathered
    from kafkalog_spark.source_views import VIEWS, log_batches, segment_batches, told_batches

    begin_task(FileAccess(request.storage, task.roots))
    view = VIEWS[request.view]
    names = request.names(view)
    if request.view == "findings":
        yield from told_batches(view, task.rows, names)
    yield from gathered(batch for piece in task.pieces for batch in segment_batches(view, piece, names, request))
    around = {number: _around(packed) for number, packed in task.around.items()}
    yield from gathered(
        batch for logs in task.groups for batch in log_batches(view, logs, around[logs[0].cluster], names, request)
    )


@lru_cache(maxsize=1)
def _around(packed: bytes | AroundFile) -> Surroundings:
    """Return what the driver packed: inside of the task, which Spark pickled, too, or as the file that the task names.

    A worker that does several tasks keeps it.
    """
    content = packed.read_content() if isinstance(packed, AroundFile) else packed
    found: Surroundings = pickle.loads(zlib.decompress(content))
    return found


def read_view(session: SparkSession, paths: str | Sequence[str], options: Mapping[str, object]) -> DataFrame:
    """Return a view of log directories as a DataFrame: what ``spark.read.format("kafkalog")`` gives from Spark 4.0 on.

    `options` are those of the data source. Below 4.0 tasks are planned here, and filters are not pushed down.
    Raises UnsupportedError for wrong options, UnreadableError for a path that can't be listed.
    """
    from kafkalog_spark.frames import has_data_sources, sealed_tasks
    from kafkalog_spark.source_views import VIEWS, spark_fields

    paths = [paths] if isinstance(paths, str) else list(paths)
    texts = {name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in options.items()}
    if has_data_sources():
        return session.read.format("kafkalog").options(**texts).load(paths)
    request = Request.of({**texts, "paths": json.dumps(paths)}, tuple(VIEWS))
    names = request.names(VIEWS[request.view])
    whole = replace(request, columns=names)
    return sealed_tasks(
        session, planned(whole), partial(rows_of_task, request=whole), spark_fields(VIEWS[request.view], names)
    )

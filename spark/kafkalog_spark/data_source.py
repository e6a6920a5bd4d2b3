"""The data source: ``spark.read.format("kafkalog")``.

Spark calls it in separate processes: one makes the schema, one plans, one for each task reads. They share only what is
pickled here.
"""

from __future__ import annotations

import os
import pickle
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NoReturn

from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, Filter, InputPartition
from pyspark.sql.types import DataType, StructType

from kafkalog.auditing.partition import PartitionAudit, read_log, scan_segment
from kafkalog.auditing.pipeline import LogPlace, SegmentPlace, logs_of, segments_of
from kafkalog.auditing.topics import cluster_metadata, policies
from kafkalog.auditing.transactions import StateLog, Surroundings
from kafkalog.errors import KafkaLogError, UnreadableError, UnsupportedError
from kafkalog.files.directories import expand
from kafkalog.files.names import METADATA_TOPIC, STATE_TOPIC
from kafkalog.files.object_stores import set_storage_options
from kafkalog.files.processes import packed_tasks
from kafkalog.findings import Finding
from kafkalog.folds.fold import FoldedLog
from kafkalog.log_dirs.clusters import Cluster, open_clusters
from kafkalog.log_dirs.log_directory import LogDirectory
from kafkalog.log_dirs.remote_store import remote_given
from kafkalog.queries.given_logs import segments_with
from kafkalog.segments.file_rows import finding_rows
from kafkalog_spark.request import Request

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["KafkalogSource", "Task", "log_tasks", "open_all", "segment_tasks"]


# Plans a read of the data source: lists paths, reads the coordinator's records, packs tasks.


@dataclass
class Task(InputPartition):
    """A task's share: segments, or partitions with all their logs; `around` is by cluster, packed. `rows` are given."""

    pieces: list[SegmentPlace] = field(default_factory=list)
    groups: list[list[LogPlace]] = field(default_factory=list)
    around: dict[int, bytes] = field(default_factory=dict)
    rows: list[tuple[Any, ...]] = field(default_factory=list)


def open_all(request: Request, *, strict: bool) -> tuple[list[Cluster], list[str]]:
    """List the paths, patterns expanded, without the partitions that are not requested.

    Raises UnreadableError if `strict` is set and a path can't be listed, or none where these are to be ignored.
    """
    set_storage_options(request.storage)
    paths = [path for pattern in request.paths for path in expand(pattern)]
    with remote_given(request.remote):
        clusters, unreadable = open_clusters(paths)
    if strict and unreadable and not (request.ignore_missing and clusters):
        hint = " (the option ignoreMissing leaves out such paths)" if clusters else ""
        raise UnreadableError("; ".join(unreadable) + hint)
    return clusters, unreadable


def segment_tasks(request: Request, clusters: Sequence[Cluster]) -> list[Task]:
    """Distribute segments to tasks, except segments without any requested offset."""
    wanted = ((log, segments_with(log.directory, request.selection)) for log in _wanted(request, clusters))
    logs = [replace(log, directory=replace(log.directory, segments=tuple(segments))) for log, segments in wanted]
    tasks: dict[int, Task] = {}
    for piece in segments_of(logs, request.split_bytes):
        tasks.setdefault(piece.task, Task()).pieces.append(piece)
    return list(tasks.values())


def log_tasks(request: Request, clusters: Sequence[Cluster], unreadable: Iterable[str]) -> list[Task]:
    """Distribute partitions to tasks, each with all its replicas; the first task has the findings of the planning."""
    around: dict[int, Surroundings] = {}
    told: list[Finding] = [Finding.of("file-unreadable", _path_of(line), line) for line in unreadable]
    rows = list(finding_rows(told))
    for number, cluster in enumerate(clusters):
        around[number] = _surroundings(cluster, request)
        for node in cluster.nodes:
            rows += finding_rows(node.findings, node.node_id)
        rows += finding_rows(around[number].findings)
        around[number].findings = []
    packed = {number: zlib.compress(pickle.dumps(one), 1) for number, one in around.items()}
    groups: dict[int, list[LogPlace]] = {}
    for log in _wanted(request, clusters):
        groups.setdefault(log.group, []).append(log)
    sizes = {group: sum(log.directory.size for log in logs) for group, logs in groups.items()}
    tasks: dict[int, Task] = {}
    for group, number in packed_tasks(sizes, request.split_bytes).items():
        task = tasks.setdefault(number, Task())
        task.groups.append(
            [replace(log, node=replace(log.node, identity=log.node.identity.elsewhere())) for log in groups[group]]
        )
        for log in groups[group]:
            task.around[log.cluster] = packed[log.cluster]
    return [Task(rows=rows), *tasks.values()]


def _path_of(line: str) -> str:
    return line.partition(": ")[0]


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


class KafkalogSource(DataSource):
    """Views of log directories; ``docs/spark-source.md`` lists them."""

    @classmethod
    def name(cls) -> str:
        return "kafkalog"

    def schema(self) -> StructType:
        from kafkalog.tables.arrow import spark_schema
        from kafkalog_spark.source_views import VIEWS

        with _in_words():
            request = Request.of(self.options, tuple(VIEWS))
            table = VIEWS[request.view].table
            fields = {field["name"]: field for field in spark_schema(table)["fields"]}
            chosen = [fields[name] for name in request.names(table)]
        return StructType.fromJson({"type": "struct", "fields": chosen})

    def reader(self, schema: StructType) -> DataSourceReader:
        from kafkalog.tables.arrow import spark_schema
        from kafkalog_spark.source_views import VIEWS

        with _in_words():
            request = replace(Request.of(self.options, tuple(VIEWS)), columns=tuple(schema.fieldNames()))
            names = request.names(VIEWS[request.view].table)
            if len(names) < len(request.columns):
                raise UnsupportedError("the schema names a column twice")
            types = {field["name"]: field["type"] for field in spark_schema(VIEWS[request.view].table)["fields"]}
            for name, field in zip(names, schema.fields, strict=True):
                needed, given = (kind.simpleString() for kind in (_type_of(types[name]), field.dataType))
                if needed != given:
                    raise UnsupportedError(
                        f"column {name} of {request.view} is {needed}, the schema says {given}: "
                        "leave the schema out and cast the column"
                    )
        # A session that does not allow filters refuses a reader that accepts them, so that one is used only on request.
        return _PushingReader(request) if request.pushdown else _Reader(request)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: ARG002, N802  # Spark's names
        return _NoStream()


def _type_of(about: Any) -> DataType:
    """Return a column's type, as ``spark_schema`` says it."""
    return StructType.fromJson({"fields": [{"name": "c", "type": about, "nullable": True, "metadata": {}}]})[
        "c"
    ].dataType


@contextmanager
def _in_words() -> Iterator[None]:
    """Let Spark show an error that says what is wrong without Python's trace. The process ends with the error."""
    try:
        yield
    except KafkaLogError:
        os.environ["SPARK_HIDE_TRACEBACK"] = "1"
        raise


class _NoStream(DataSourceStreamReader):
    """Refuses to be read as a stream: Spark reports only what a reader that exists raises."""

    def initialOffset(self) -> NoReturn:  # noqa: N802  # Spark's name
        with _in_words():
            raise UnsupportedError("kafkalog reads directories as they are: spark.read, not spark.readStream")

    def latestOffset(self, *_: Any) -> NoReturn:  # noqa: N802  # ditto
        self.initialOffset()

    def partitions(self, *_: Any) -> NoReturn:
        self.initialOffset()

    def read(self, *_: Any) -> NoReturn:
        self.initialOffset()


class _Reader(DataSourceReader):
    """Plans and reads; only `request` is passed between the two."""

    def __init__(self, request: Request) -> None:
        self.request = request

    def partitions(self) -> list[InputPartition]:
        pass
        from kafkalog_spark.source_views import VIEWS

        request = self.request
        with _in_words():
            clusters, unreadable = open_all(request, strict=request.view != "findings")
            view = VIEWS[request.view]
            if view.reads_logs(request.names(view.table)):
                return [*log_tasks(request, clusters, unreadable)]
            return [*segment_tasks(request, clusters)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        pass

        if isinstance(partition, Task):  # if there are no tasks, Spark makes one of its own
            with _in_words():
                for batch in _read(partition, self.request):
                    # Spark compares them with the names of the schema that it was given, whose case may differ.
                    yield batch.rename_columns(list(self.request.columns))


def _read(task: Task, request: Request) -> Iterator[pa.RecordBatch]:
    from kafkalog.files.object_stores import set_storage_options
    from kafkalog.tables.arrow import gathered
    from kafkalog_spark.source_views import VIEWS, log_batches, schema_of, segment_batches, told_batches

    set_storage_options(request.storage)
    view = VIEWS[request.view]
    schema = schema_of(view, request.names(view.table))
    if request.view == "findings":
        yield from told_batches(view, task.rows, schema)
    yield from gathered(batch for piece in task.pieces for batch in segment_batches(view, piece, schema, request))
    # The driver pickled it, and it comes inside of the task, which Spark pickled and unpickled: it is in no directory.
    around = {number: pickle.loads(zlib.decompress(packed)) for number, packed in task.around.items()}
    yield from gathered(
        batch for logs in task.groups for batch in log_batches(view, logs, around[logs[0].cluster], schema, request)
    )


class _PushingReader(_Reader):
    """Leaves out what the filters certainly exclude; Spark still applies them all."""

    def pushFilters(self, filters: list[Filter]) -> Iterator[Filter]:  # noqa: N802  # Spark's name
        for one in filters:
            self.request = _narrowed(self.request, one)
            yield one


def _narrowed(request: Request, one: Filter) -> Request:
    """Take one filter into account if it limits a topic, a partition, a producer or an offset."""
    kind = type(one).__name__
    (column, *inner), value = getattr(one, "attribute", ("",)), getattr(one, "value", None)
    if inner or value is None:
        return request
    values = value if kind == "In" else (value,)
    if column == "partition" and kind in ("EqualTo", "In"):
        known = frozenset(values)
        return replace(request, partitions=known if request.partitions is None else request.partitions & known)
    if column == "topic" and kind in ("EqualTo", "In"):
        known = frozenset(values)
        return replace(request, topics=known if request.topics is None else request.topics & known)
    selection = request.selection
    if column == "producer_id" and kind == "EqualTo":
        return replace(request, selection=replace(selection, producer_id=value))
    low, high = selection.first_offset, selection.last_offset
    if column in _LAST_OFFSETS.get(request.view, ()) and kind in ("EqualTo", "GreaterThan", "GreaterThanOrEqual"):
        low = value if low is None else max(low, value)
    if column in _FIRST_OFFSETS.get(request.view, ()) and kind in ("EqualTo", "LessThan", "LessThanOrEqual"):
        high = value if high is None else min(high, value)
    return replace(request, selection=replace(selection, first_offset=low, last_offset=high))


# By view: the columns by which a filter limits offsets from below, and from above.
_LAST_OFFSETS: Mapping[str, tuple[str, ...]] = {
    "batches": ("last_offset",), "records": ("offset",), "control": ("offset",),
}  # fmt: skip

_FIRST_OFFSETS: Mapping[str, tuple[str, ...]] = {
    "batches": ("base_offset",), "records": ("offset",), "control": ("offset",),
}  # fmt: skip

"""The data source: ``spark.read.format("kafkalog")``.

Spark calls it in separate processes: one makes the schema, one plans, one for each task reads. They share only what is
pickled here.
"""

from __future__ import annotations

import os
import pickle
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NoReturn

from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, Filter, InputPartition
from pyspark.sql.types import DataType, StructType

from kafkalog.errors import KafkaLogError, UnsupportedError
from kafkalog_spark.request import Request

if TYPE_CHECKING:
    import pyarrow as pa

    from kafkalog_spark.planning import Task

__all__ = ["KafkalogSource"]


class KafkalogSource(DataSource):
    """Views of log directories; ``docs/spark-source.md`` lists them."""

    @classmethod
    def name(cls) -> str:
        return "kafkalog"

    def schema(self) -> StructType:
        from kafkalog.tables.arrow import spark_schema
        from kafkalog_spark.views import VIEWS

        with _in_words():
            request = Request.of(self.options, tuple(VIEWS))
            table = VIEWS[request.view].table
            fields = {field["name"]: field for field in spark_schema(table)["fields"]}
            chosen = [fields[name] for name in request.names(table)]
        return StructType.fromJson({"type": "struct", "fields": chosen})

    def reader(self, schema: StructType) -> DataSourceReader:
        from kafkalog.tables.arrow import spark_schema
        from kafkalog_spark.views import VIEWS

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
        from kafkalog_spark.planning import log_tasks, open_all, segment_tasks
        from kafkalog_spark.views import VIEWS

        request = self.request
        with _in_words():
            clusters, unreadable = open_all(request, strict=request.view != "findings")
            if VIEWS[request.view].of_logs is None:
                return [*segment_tasks(request, clusters)]
            return [*log_tasks(request, clusters, unreadable)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        from kafkalog_spark.planning import Task

        if isinstance(partition, Task):  # if there are no tasks, Spark makes one of its own
            with _in_words():
                for batch in _read(partition, self.request):
                    # Spark compares them with the names of the schema that it was given, whose case may differ.
                    yield batch.rename_columns(list(self.request.columns))


def _read(task: Task, request: Request) -> Iterator[pa.RecordBatch]:
    from kafkalog.log.storage_options import set_storage_options
    from kafkalog.tables.arrow import gathered
    from kafkalog_spark.views import VIEWS, log_batches, schema_of, segment_batches, told_batches

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

"""The data source: ``spark.read.format("kafkalog")``.

Spark calls it in separate processes: one makes the schema, one plans, one for each task reads. They share only what is
pickled here.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, NoReturn

from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.types import StructType

from kafkalog.errors import KafkaLogError, UnsupportedError
from kafkalog_spark.request import Request
from kafkalog_spark.source_tasks import Task, planned, rows_of_task

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.datasource import Filter  # from 4.1 on

__all__ = ["KafkalogSource"]


# Spark gives the options of a catalogue's table to who makes its schema, and none to who reads it: they come with the
# schema, which the catalogue keeps.
_PROVIDER: Final = "provider"  # a property that every such table has

_OPTIONS: Final = "kafkalog.options"


class KafkalogSource(DataSource):
    """Views of log directories; ``docs/spark-source.md`` lists them."""

    @classmethod
    def name(cls) -> str:
        return "kafkalog"

    def schema(self) -> StructType:
        from kafkalog_spark.source_views import VIEWS, spark_fields

        with _in_words():
            request = Request.of(self.options, tuple(VIEWS))
            schema = spark_fields(VIEWS[request.view], request.names(VIEWS[request.view]))
        if _PROVIDER in self.options:
            first, *others = schema["fields"]
            kept = {**first["metadata"], _OPTIONS: json.dumps(dict(self.options))}
            schema["fields"] = [{**first, "metadata": kept}, *others]
        return StructType.fromJson(schema)

    def reader(self, schema: StructType) -> DataSourceReader:
        from kafkalog_spark.source_views import VIEWS, spark_fields

        with _in_words():
            kept = next((field.metadata[_OPTIONS] for field in schema.fields if _OPTIONS in field.metadata), "{}")
            options = json.loads(kept) | dict(self.options)
            request = replace(Request.of(options, tuple(VIEWS)), columns=tuple(schema.fieldNames()))
            names = request.names(VIEWS[request.view])
            if len(names) < len(request.columns):
                raise UnsupportedError("the schema names a column twice")
            own = StructType.fromJson(spark_fields(VIEWS[request.view], names))
            for mine, field in zip(own.fields, schema.fields, strict=True):
                needed, given = (kind.dataType.simpleString() for kind in (mine, field))
                if needed != given:
                    raise UnsupportedError(
                        f"column {mine.name} of {request.view} is {needed}, the schema says {given}: "
                        "leave the schema out and cast the column"
                    )
        # A session that does not allow filters refuses a reader that accepts them, so that one is used only on request.
        return _PushingReader(request) if request.pushdown else _Reader(request)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: ARG002, N802  # Spark's names
        return _NoStream()


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
        with _in_words():
            return [InputPartition(task) for task in planned(self.request)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        task = None if partition is None else partition.value  # if there are no tasks, Spark makes one of its own
        if isinstance(task, Task):
            with _in_words():
                for batch in rows_of_task(task, self.request):
                    # Spark compares them with the names of the schema that it was given, whose case may differ.
                    yield batch.rename_columns(list(self.request.columns))


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
    if column in _SETS and kind in ("EqualTo", "In"):
        before = getattr(request, _SETS[column])
        both: dict[str, Any] = {_SETS[column]: frozenset(values).intersection(values if before is None else before)}
        return replace(request, **both)
    selection = request.selection
    if column == "producer_id" and kind == "EqualTo":
        return replace(request, selection=replace(selection, producer_id=value))
    low, high = selection.first_offset, selection.last_offset
    first, last = _OFFSETS.get(request.view, ("", ""))
    if column == last and kind in ("EqualTo", "GreaterThan", "GreaterThanOrEqual"):
        low = value if low is None else max(low, value)
    if column == first and kind in ("EqualTo", "LessThan", "LessThanOrEqual"):
        high = value if high is None else min(high, value)
    return replace(request, selection=replace(selection, first_offset=low, last_offset=high))


# Columns of which only some values are wanted, and what a request calls these.
_SETS: Final = {"partition": "partitions", "topic": "topics", "log": "logs"}

# By view: the columns with a row's first and last offset.
_OFFSETS: Final = {
    "batches": ("base_offset", "last_offset"), "records": ("offset", "offset"), "control": ("offset", "offset"),
}  # fmt: skip

"""A task makes the columns that are asked for and no others: counting records by one number touches no key or value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from unittest import mock

import pytest

from invoke import PARTITION, SEGMENT, rows_of
from kafkalog.kernel import columns
from kafkalog.segments import segment_arrow as arrow

pytest.importorskip("pyspark.sql.datasource", reason="the data source needs Spark 4.0")

from pyspark.sql.types import LongType, StructField, StructType

from kafkalog_spark.data_source import KafkalogSource

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def counted(schema: StructType | None = None, **options: str) -> tuple[int, int, int]:
    """Count a partition's records as a task does; return how many, how many texts were copied and numbers written."""
    source = KafkalogSource({"path": str(PARTITION), "view": "records", **options})
    reader = source.reader(schema or source.schema())
    plans = []

    def filling(plan: memoryview, *others: Any) -> columns.Filling:
        plans.append(len(plan))
        return columns.Filling(plan, *others)

    with (
        mock.patch.object(columns, "gather", wraps=columns.gather) as gather,
        mock.patch.object(columns, "headers", wraps=columns.headers) as headers,
        mock.patch.object(arrow, "Filling", filling),
    ):
        rows = sum(batch.num_rows for task in reader.partitions() for batch in reader.read(task))
    return rows, gather.call_count + headers.call_count, max(plans, default=0)


def test_one_number_is_asked_for() -> None:
    """By the option, or by a schema of one's own: only its cells are written."""
    records = len([row for row in rows_of("--table", "records", SEGMENT) if row["table"] == "records"])
    schema = StructType([StructField("offset", LongType())])

    assert counted(columns="offset") == (records, 0, 1)
    assert counted(schema) == (records, 0, 1)


def test_all_are_asked_for() -> None:
    """What the test above leaves out is seen here."""
    _, texts, numbers = counted()

    assert texts > 0
    assert numbers > 10


def test_spark_counts_by_one_column(spark: SparkSession) -> None:
    """``count()`` of a frame that has one column is the number of records."""
    records = len([row for row in rows_of("--table", "records", SEGMENT) if row["table"] == "records"])
    frame = spark.read.format("kafkalog").option("view", "records").option("columns", "offset").load(str(PARTITION))

    assert frame.count() == records

"""kafkalog on Spark: the library's functions over thousands of partitions.

Spark supplies grouping, order and machines; no rule is written here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from kafkalog.auditing.transactions import AuditOptions as AuditOptions
    from kafkalog.files.object_stores import StorageOptions as StorageOptions
    from kafkalog.narrowing import Narrowing as Narrowing
    from kafkalog_spark.audit_job import audit as audit
    from kafkalog_spark.bulk_audit import BulkAudit as BulkAudit
    from kafkalog_spark.session import JobPlan as JobPlan

__all__ = ["AuditOptions", "BulkAudit", "JobPlan", "Narrowing", "StorageOptions", "audit", "read"]


def __getattr__(name: str) -> Any:
    """Import what an audit needs when it is asked for: executors import this package without it."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from kafkalog_spark import audit_job, session

    return getattr(audit_job if hasattr(audit_job, name) else session, name)


def read(
    spark: SparkSession, paths: str | Sequence[str], options: Mapping[str, object] = MappingProxyType({})
) -> DataFrame:
    """Return a view of log directories as a DataFrame, on any Spark from 3.5 on.

        kafkalog.spark.read(spark, "/backups/broker-1", {"view": "records", "topic": "orders"}).show()

    From Spark 4.0 on it is what ``spark.read.format("kafkalog")`` gives. `options` are the data source's, which
    ``docs/spark-source.md`` lists. Raises UnsupportedError for wrong ones, UnreadableError for a path that can't be
    listed, where no data source raises Spark's own error with the same words.
    """
    from kafkalog_spark.source_tasks import read_view as reading  # executors import this package without it

    return reading(spark, paths, options)

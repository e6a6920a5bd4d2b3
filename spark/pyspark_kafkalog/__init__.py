"""Spark finds data sources in modules whose names begin with ``pyspark_``: ``format("kafkalog")`` needs no more."""

from kafkalog_spark.data_source import KafkalogSource

__all__ = ["DefaultSource"]


class DefaultSource(KafkalogSource):
    """Found by its name."""

"""The tables of who wrote to topics, and how much in a minute, an hour or a day."""

from __future__ import annotations

from typing import Final

from kafkalog.tables.declared import Column, Table

__all__ = ["LISTED_TOPICS", "RATES", "WRITERS"]

LISTED_TOPICS: Final = 100

_PRODUCER: Final = Column("producer_id", "int64", "the producer; -1: producers without an id, one row for each topic")
_ID: Final = Column("transactional_id", "string", "its transactional id, by __transaction_state; null if none is known")
_WRITTEN: Final = (
    Column("batches", "int64", "the number of data batches"),
    Column("records", "int64", "the number of data records"),
    Column("size_bytes", "int64", "the bytes of these batches in the log, compressed as they are", "bytes"),
)

WRITERS: Final = Table(
    "writers",
    "a producer over all its topics: what it wrote of what the logs still have",
    (
        Column("cluster_id", "string", "the cluster, from meta.properties; null if that file is missing"),
        _PRODUCER,
        _ID,
        Column("topics", "json", f"the topics that it wrote to, sorted; the first {LISTED_TOPICS}"),
        Column("topics_total", "int64", "how many topics it wrote to"),
        Column("partitions", "int64", "how many partitions it wrote to"),
        *_WRITTEN,
        Column("first_timestamp_ms", "int64", "the earliest of its batches' newest timestamps; null without any", "ms"),
        Column("last_timestamp_ms", "int64", "the latest of its batches' newest timestamps; null without any", "ms"),
    ),
    answers=("producer_id", "transactional_id", "topics", "records", "size_bytes", "first_timestamp_ms",
             "last_timestamp_ms"),
)  # fmt: skip
RATES: Final = Table(
    "rates",
    "what a producer wrote to a topic in a minute, an hour or a day",
    (
        Column("cluster_id", "string", "the cluster, from meta.properties; null if that file is missing"),
        _PRODUCER,
        _ID,
        Column("topic", "string", "the topic"),
        Column("start_ms", "int64", "when the time begins; null: the batches have no timestamp", "ms"),
        *_WRITTEN,
    ),
    answers=("start_ms", "topic", "producer_id", "transactional_id", "records", "size_bytes"),
)

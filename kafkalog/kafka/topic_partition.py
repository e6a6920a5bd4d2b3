"""A partition's name, as Kafka's tools write it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

__all__ = ["TopicPartition"]


class TopicPartition(NamedTuple):
    """A topic and the number of a partition, written ``orders-0``."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> TopicPartition:
        """Return the partition that a row of a table is about."""
        return cls(row["topic"], row["partition"])

    @classmethod
    def named(cls, name: str) -> TopicPartition:
        """Return the partition of a name; its number is -1 where the name has none."""
        topic, _, number = name.rpartition("-")
        return cls(topic, int(number) if number.isdecimal() else -1)

    @classmethod
    def of_log(cls, log: str) -> TopicPartition:
        """Return the partition of a directory, by its name."""
        return cls.named(log.rstrip("/").rpartition("/")[2])

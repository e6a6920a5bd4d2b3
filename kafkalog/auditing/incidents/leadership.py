"""The rows of ``leadership`` of some partitions, made when they are asked for, as controllers change them often."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from kafkalog.auditing.topics import Metadata, leadership_rows
from kafkalog.tables.metadata import LEADERSHIP

__all__ = ["Leadership"]

Row = dict[str, Any]
Place = tuple[str, int]


class Leadership(Mapping[Place, list[Row]]):
    """The rows of these partitions, oldest first, by topic and number; `log` is the metadata log's directory."""

    def __init__(self, metadata: Metadata, log: str, places: Collection[Place]) -> None:
        self._metadata = metadata
        self._log = log
        topics = ((metadata.topic_of(topic_id), number) for topic_id, number in metadata.partitions)
        known = ((topic.name, number) for topic, number in topics if topic is not None)
        self._places = dict.fromkeys(place for place in known if place in places)

    def __getitem__(self, place: Place) -> list[Row]:
        if place not in self._places:
            raise KeyError(place)
        rows = leadership_rows(self._metadata, self._log, *place)
        return [dict(zip(LEADERSHIP.names, row, strict=True)) for row in rows]

    def __iter__(self) -> Iterator[Place]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)

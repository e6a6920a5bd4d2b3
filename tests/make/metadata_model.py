"""The model of the table ``metadata``: its row of one record, from the record's values."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kafkalog.auditing.topics.internal import Written
from kafkalog.files.names import METADATA_TOPIC
from kafkalog.findings import Finding
from kafkalog.kafka.message_json import plain
from kafkalog.tables.metadata_tables import METADATA
from one_by_one import written

__all__ = ["metadata_row", "modelled_metadata"]


def modelled_metadata(path: Path) -> Iterator[tuple[Any, ...] | Finding]:
    """Yield rows and findings of a segment, one record after the other."""
    for item in written(str(path), METADATA_TOPIC):
        yield item if isinstance(item, Finding) else metadata_row(item, str(path.parent))


def metadata_row(record: Written, log: str) -> tuple[Any, ...]:
    """Return the row of a record."""
    content = record.content
    value = {} if content is None else content.value or {}
    is_topic = record.kind == "TopicRecord"
    setting = str(value["featureLevel"]) if "featureLevel" in value else value.get("value")
    broker = value.get("id") if record.kind in ("FenceBrokerRecord", "UnfenceBrokerRecord") else None
    return METADATA.of(
        log=log,
        file=record.file,
        offset=record.offset,
        timestamp_ms=record.timestamp,
        controller_epoch=record.leader_epoch,
        type=record.type,
        kind=record.kind,
        version=record.version,
        topic=value.get("name") if is_topic else None,
        topic_id=value.get("topicId"),
        partition=value.get("partitionId"),
        broker_id=value.get("brokerId", broker),
        leader=value.get("leader"),
        isr=value.get("isr"),
        name=None if is_topic else value.get("name"),
        value=setting if isinstance(setting, str) else None,
        fields=None if content is None else plain(value),
        unknown=content is None,
    )

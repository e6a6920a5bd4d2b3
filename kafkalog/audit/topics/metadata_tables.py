"""The rows of ``kafkalog metadata``: the metadata over time, or as it was at a moment."""

from __future__ import annotations

import os
from collections.abc import Container, Iterable, Iterator, Sequence
from typing import Any, Final

from kafkalog.audit.topics.internal import Written, internal_row, of_directory, split, written
from kafkalog.audit.topics.metadata import Metadata, Partition, Span
from kafkalog.audit.topics.metadata_log import metadata_of
from kafkalog.audit.topics.topic_logs import clusters_of, topic_logs
from kafkalog.findings import Finding
from kafkalog.format.message_json import plain
from kafkalog.log.chunk import Limits
from kafkalog.log.logdir import PartitionDirectory
from kafkalog.log.moment import Moment
from kafkalog.log.names import METADATA_TOPIC
from kafkalog.tables.column import Table
from kafkalog.tables.internal import INTERNAL
from kafkalog.tables.metadata import BROKERS, CONFIGS, FEATURES, LEADERSHIP, METADATA, RESOURCES, TOPICS

__all__ = ["METADATA_TABLES", "metadata_rows", "metadata_view"]

METADATA_TABLES: Final = tuple(
    table.name for table in (BROKERS, FEATURES, TOPICS, CONFIGS, LEADERSHIP, METADATA, INTERNAL)
)
_TOPIC: Final = 2  # type of a resource with settings

Row = tuple[Any, ...]


def metadata_view(
    paths: Sequence[str | os.PathLike[str]], moment: Moment | None = None, limits: Limits | None = None,
    topic: str | None = None, tables: Container[str] = METADATA_TABLES,
) -> Iterator[tuple[Table, Row] | Finding]:  # fmt: skip
    """Yield the rows of the wanted tables, and every finding.

    Without a moment they are all that ever held, with one what held then; with a `topic` those about it alone.
    """
    limits = limits or Limits()
    findings: list[Finding] = []
    logs = topic_logs(clusters_of(paths, findings.append), METADATA_TOPIC, limits, findings.append)
    for log in logs:
        directory = log.partition.directory
        metadata = metadata_of(directory, limits, findings.append)
        yield from findings
        findings.clear()
        rows: dict[Table, Iterable[Row]] = {
            BROKERS: _brokers(metadata, directory.log, moment) if topic is None else (),
            FEATURES: _features(metadata, directory.log, moment) if topic is None else (),
            TOPICS: _topics(metadata, directory.log, moment, topic),
            CONFIGS: _configs(metadata, directory.log, moment, topic),
            LEADERSHIP: _leadership(metadata, directory.log, moment, topic),
            METADATA: _records(directory, limits, moment, METADATA),
            INTERNAL: _records(directory, limits, moment, INTERNAL),
        }
        for table, found in rows.items():
            if table.name in tables:
                yield from ((table, row) for row in found)
    yield from findings


def metadata_rows(
    path: str, log: str, limits: Limits | None = None, max_bytes: int | None = None
) -> Iterator[tuple[Table, Row] | Finding]:
    """Yield the rows of the table ``metadata`` of one segment or snapshot, and every finding.

    `max_bytes` makes the file end there. Raises UnreadableError where the file can't be opened or read.
    """
    for item in written(path, METADATA_TOPIC, limits, max_bytes):
        yield item if isinstance(item, Finding) else (METADATA, _record_row(item, log))


def _held(spans: Iterable[Span], moment: Moment | None) -> Iterator[Span]:
    return (span for span in spans if moment is None or span.held_at(moment))


def _since(span: Span, log: str) -> Row:
    return (span.since, span.until, span.offset, log)


def _brokers(metadata: Metadata, log: str, moment: Moment | None) -> Iterator[Row]:
    for _, spans in sorted(metadata.brokers.items()):
        for span in _held(spans, moment):
            broker = span.value
            yield (
                broker.number, broker.role, broker.state, broker.epoch, broker.rack, list(broker.endpoints),
                list(broker.log_directories), *_since(span, log),
            )  # fmt: skip


def _features(metadata: Metadata, log: str, moment: Moment | None) -> Iterator[Row]:
    for name, spans in sorted(metadata.features.items()):
        yield from ((name, span.value, *_since(span, log)) for span in _held(spans, moment))


def _configs(metadata: Metadata, log: str, moment: Moment | None, topic: str | None) -> Iterator[Row]:
    for (kind, resource, name), spans in sorted(metadata.configs.items()):
        if topic is None or (kind, resource) == (_TOPIC, topic):
            for span in _held(spans, moment):
                yield (RESOURCES.get(kind, str(kind)), resource, name, span.value, *_since(span, log))


def _topics(metadata: Metadata, log: str, moment: Moment | None, wanted: str | None) -> Iterator[Row]:
    for span in sorted((span for spans in metadata.topics.values() for span in spans), key=lambda span: span.value):
        topic = span.value
        if (wanted is not None and topic.name != wanted) or (moment is not None and not span.held_at(moment)):
            continue
        # What it was at the moment, or when it was last there.
        then = moment or Moment(span.until_offset - 1 if span.until_offset is not None else None)
        partitions = {
            number: held.value
            for (topic_id, number), spans in metadata.partitions.items()
            if topic_id == topic.topic_id
            for held in _held(spans, then)
        }
        configs = {
            name: held.value
            for (kind, resource, name), spans in sorted(metadata.configs.items())
            if (kind, resource) == (_TOPIC, topic.name)
            for held in _held(spans, then)
        }
        replicas = len(partitions[0].replicas) if 0 in partitions else None
        yield (topic.name, topic.topic_id, len(partitions), replicas, configs, *_since(span, log))


def _leadership(metadata: Metadata, log: str, moment: Moment | None, wanted: str | None) -> Iterator[Row]:
    def place(key: tuple[str, int]) -> tuple[str, str, int]:
        topic = metadata.topic_of(key[0])
        return ("" if topic is None else topic.name, *key)

    for key in sorted(metadata.partitions, key=place):
        topic = metadata.topic_of(key[0])
        if wanted is not None and (topic is None or topic.name != wanted):
            continue
        for span in _held(metadata.partitions[key], moment):
            now: Partition = span.value
            yield (
                None if topic is None else topic.name, *key, None if now.leader == -1 else now.leader,
                now.leader_epoch, now.partition_epoch, list(now.isr), list(now.replicas), list(now.adding),
                list(now.removing), list(now.eligible), now.recovering, now.change, *_since(span, log),
            )  # fmt: skip


def _records(directory: PartitionDirectory, limits: Limits, moment: Moment | None, table: Table) -> Iterator[Row]:
    """Yield the log's records as rows; its findings are told by who made the metadata of it."""
    for record in split(of_directory(directory, limits), []):
        if moment is None or moment.holds(record.offset, record.timestamp):
            if table is METADATA:
                yield _record_row(record, directory.log)
            else:
                yield internal_row(record, directory.topic, directory.log, directory.partition)


def _record_row(record: Written, log: str) -> Row:
    content = record.content
    where = (log, record.file, record.offset, record.timestamp, record.leader_epoch, record.type)
    if content is None:
        return (*where, record.kind, record.version, *(None,) * 9, True)
    value = content.value or {}
    partition = value.get("partitionId")
    name, setting = value.get("name"), value.get("value")
    is_topic = content.name == "TopicRecord"
    if "featureLevel" in value:
        setting = str(value["featureLevel"])
    leader = value.get("leader")
    return (
        *where, content.name, content.version, name if is_topic else None, value.get("topicId"), partition,
        value.get("brokerId", value.get("id") if content.name.endswith("enceBrokerRecord") else None), leader,
        value.get("isr"), None if is_topic else name, setting if isinstance(setting, str) else None, plain(value),
        False,
    )  # fmt: skip

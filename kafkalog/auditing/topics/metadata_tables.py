"""The rows of ``kafkalog metadata``: the metadata over time, or as it was at a moment."""

from __future__ import annotations

import os
from collections.abc import Collection, Container, Iterable, Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from kafkalog.auditing.topics.internal import (
    WHOLE,
    InternalView,
    RowForm,
    Written,
    blocks_again,
    until,
)
from kafkalog.auditing.topics.leadership_columns import leadership_columns
from kafkalog.auditing.topics.metadata import Metadata
from kafkalog.auditing.topics.metadata_blocks import MetadataBlocks
from kafkalog.auditing.topics.metadata_log import check_records, metadata_of
from kafkalog.auditing.topics.spans import Span, SpanTimes
from kafkalog.auditing.topics.topic_logs import clusters_of, lost_inputs, moment_among, topic_logs
from kafkalog.findings import Finding, Severity
from kafkalog.format.internal_topics import Internal
from kafkalog.log.blocks import Rows
from kafkalog.log.chunk import Limits
from kafkalog.log.column_blocks import ColumnBlock, rows_of
from kafkalog.log.internal_blocks import InternalRecords, internal_blocks
from kafkalog.log.logdir import PartitionDirectory
from kafkalog.log.moment import Moment
from kafkalog.log.names import METADATA_TOPIC
from kafkalog.narrowing import matches, nothing_matches
from kafkalog.tables.column import Table
from kafkalog.tables.internal import INTERNAL
from kafkalog.tables.metadata import BROKERS, CONFIGS, FEATURES, LEADERSHIP, METADATA, RESOURCES, TOPICS

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["METADATA_TABLES", "leadership_rows", "metadata_rows", "metadata_view"]

METADATA_TABLES: Final = tuple(
    table.name for table in (BROKERS, FEATURES, TOPICS, CONFIGS, LEADERSHIP, METADATA, INTERNAL)
)
_TOPIC: Final = 2  # type of a resource with settings

Row = tuple[Any, ...]


def metadata_view(
    paths: Sequence[str | os.PathLike[str]], moment: Moment | None = None, limits: Limits | None = None,
    topics: Collection[str] = (), tables: Container[str] = METADATA_TABLES, form: RowForm = WHOLE,
) -> Iterator[tuple[Table, Row] | Rows | Finding]:  # fmt: skip
    """Yield the rows of the wanted tables, and every finding.

    Without a moment they are all values that ever applied, with one those of then; with `topics`, names or patterns,
    only those about them. Rows of ``leadership``, ``metadata`` and ``internal`` come many at once, in their `form`.
    Raises NothingMatchesError after the findings if there was never one of them.
    """
    limits = limits or Limits()
    findings: list[Finding] = []
    clusters = clusters_of(paths, findings.append)
    logs = topic_logs(clusters, METADATA_TOPIC, limits, findings.append)
    moment = None if moment is None else moment_among(moment, logs)
    seen: set[str] = set()
    is_joined = bool(topics) or any(table.name in tables for table in (BROKERS, FEATURES, TOPICS, CONFIGS, LEADERSHIP))
    for log in logs:
        directory = log.partition.directory
        metadata = Metadata()
        if is_joined:
            metadata = metadata_of(directory, limits, findings.append)
        else:
            check_records(directory, limits, findings.append)
        yield from (*findings, *_without_log(directory))
        findings.clear()
        seen |= {span.value.name for spans in metadata.topics.values() for span in spans}
        about = _About.of(metadata, topics)
        rows: dict[Table, Iterable[Row]] = {
            BROKERS: _brokers(metadata, directory.log, moment) if not topics else (),
            FEATURES: _features(metadata, directory.log, moment) if not topics else (),
            TOPICS: _topics(metadata, directory.log, moment, topics),
            CONFIGS: _configs(metadata, directory.log, moment, topics),
        }
        for table, found in rows.items():
            if table.name in tables:
                yield from ((table, row) for row in found)
        if LEADERSHIP.name in tables:
            yield from _leadership(metadata, directory.log, moment, topics, form)
        if METADATA.name in tables:
            yield from _records(directory, limits, moment, about, form)
        if INTERNAL.name in tables:
            yield from _internal(directory, limits, moment, about, form)
    yield from findings
    yield from lost_inputs(clusters)
    if logs and topics and not any(matches(name, topics) for name in seen):
        raise nothing_matches("topic", topics, seen)


def _without_log(directory: PartitionDirectory) -> Iterator[Finding]:
    """Say what is shown of a metadata log without a segment."""
    if directory.segments:
        return
    if directory.covered_to < 0:
        message = f"there is nothing to read: {directory.log} has no .log file and no .checkpoint"
        yield Finding.of("topic-missing", directory.log, message, log=directory.log, topic=METADATA_TOPIC)
        return
    message = (
        "there is no .log file; what is shown is the state of the newest .checkpoint, of offset"
        f" {directory.covered_to}, without its changes before and after"
    )
    finding = Finding.of("log-missing", directory.log, message, log=directory.log, topic=METADATA_TOPIC)
    yield finding._replace(severity=Severity.WARNING)


class _About(NamedTuple):
    """The topics that are wanted: names or patterns, and the ids that such topics ever had."""

    topics: Collection[str]
    ids: frozenset[str]

    @classmethod
    def of(cls, metadata: Metadata, topics: Collection[str]) -> _About:
        """Look the ids up in the metadata."""
        spans = (span for spans in metadata.topics.values() for span in spans)
        return cls(topics, frozenset(span.value.topic_id for span in spans if matches(span.value.name, topics)))

    def has(self, record: Written) -> bool:
        """Say whether a record of the metadata log is about one of them."""
        value = (None if record.content is None else record.content.value) or {}
        if not self.topics or value.get("topicId") in self.ids:
            return True
        named = (
            "resourceName" if value.get("resourceType") == _TOPIC else "name" if record.kind == "TopicRecord" else ""
        )
        return named in value and matches(value[named], self.topics)


def metadata_rows(
    path: str, log: str, limits: Limits | None = None, max_bytes: int | None = None, form: RowForm = WHOLE
) -> Iterator[tuple[Table, Row] | Rows | Finding]:
    """Yield the rows of the table ``metadata`` of one segment or snapshot, and every finding.

    `max_bytes` makes the file end there. Raises UnreadableError where the file can't be opened or read.
    """
    blocks: MetadataBlocks | None = None
    for item in internal_blocks(path, Internal.CLUSTER_METADATA, limits, max_bytes):
        if isinstance(item, Finding):
            yield item
            continue
        if blocks is None:
            blocks = MetadataBlocks(log, form, item.block.recs.capacity)
        yield from blocks.of(item, np.arange(item.count))
        yield from item.findings()


def _held(spans: Iterable[Span], moment: Moment | None) -> Iterator[Span]:
    return (span for span in spans if moment is None or span.held_at(moment))


def _since(span: Span, log: str) -> dict[str, Any]:
    return {"since_ms": span.since, "until_ms": span.until, "offset": span.offset, "log": log}


def _brokers(metadata: Metadata, log: str, moment: Moment | None) -> Iterator[Row]:
    for _, spans in sorted(metadata.brokers.items()):
        for span in _held(spans, moment):
            broker = span.value
            yield BROKERS.of(
                **_since(span, log),
                broker_id=broker.number,
                role=broker.role,
                state=broker.state,
                epoch=broker.epoch,
                rack=broker.rack,
                endpoints=list(broker.endpoints),
                log_directories=list(broker.log_directories),
            )


def _features(metadata: Metadata, log: str, moment: Moment | None) -> Iterator[Row]:
    for name, spans in sorted(metadata.features.items()):
        for span in _held(spans, moment):
            yield FEATURES.of(name=name, level=span.value, **_since(span, log))


def _configs(metadata: Metadata, log: str, moment: Moment | None, topics: Collection[str]) -> Iterator[Row]:
    for (kind, resource, name), spans in sorted(metadata.configs.items()):
        if not topics or (kind == _TOPIC and matches(resource, topics)):
            for span in _held(spans, moment):
                yield CONFIGS.of(
                    **_since(span, log),
                    resource_type=RESOURCES.get(kind, str(kind)),
                    resource=resource,
                    name=name,
                    value=span.value,
                )


def _topics(metadata: Metadata, log: str, moment: Moment | None, wanted: Collection[str]) -> Iterator[Row]:
    history, known, named = metadata.partitions, None, None
    for span in sorted((span for spans in metadata.topics.values() for span in spans), key=lambda span: span.value):
        topic = span.value
        if not matches(topic.name, wanted) or (moment is not None and not span.held_at(moment)):
            continue
        # Its state at the moment, or when it last existed.
        then = moment or Moment(span.until_offset - 1 if span.until_offset is not None else None)
        if known != topic.topic_id:
            known, numbers = topic.topic_id, np.array(history.numbers(topic.topic_id), np.int64)
            of_topic = history.spans_of([(known, number) for number in numbers.tolist()])
        if named != topic.name:
            named = topic.name
            every = sorted(metadata.settings_of(_TOPIC, named))
            settings = [(name, spans, SpanTimes.of(spans)) for name, spans in every]
        there = of_topic.take(np.flatnonzero(of_topic.held_at(then)))
        first = there.state[numbers[there.of] == 0]
        configs = {
            name: spans[held[-1]].value
            for name, spans, times in settings
            if len(held := np.flatnonzero(times.held_at(then)))
        }
        yield TOPICS.of(
            **_since(span, log),
            topic=topic.name,
            topic_id=topic.topic_id,
            partitions=len(np.unique(there.of)),
            replicas=len(history.state(int(first[-1])).replicas) if len(first) else None,
            configs=configs,
        )


def leadership_rows(metadata: Metadata, log: str, topic: str, partition: int) -> Iterator[Row]:
    """Yield the table ``leadership`` of a partition of all topics of a name, over all time."""
    keys = ((topic_id, partition) for topic_id in metadata.ids.get(topic, ()))
    places = [(topic, key) for key in keys if key in metadata.partitions]
    return chain.from_iterable(map(rows_of, leadership_columns(metadata.partitions, places, log)))


def _leadership(
    metadata: Metadata, log: str, moment: Moment | None, wanted: Collection[str], form: RowForm = WHOLE
) -> Iterator[tuple[Table, Row] | Rows]:
    def named(key: tuple[str, int]) -> tuple[str | None, tuple[str, int]]:
        topic = metadata.topic_of(key[0])
        return None if topic is None else topic.name, key

    places = sorted(map(named, metadata.partitions), key=lambda place: (place[0] or "", place[1]))
    places = [place for place in places if matches(place[0], wanted)]
    block = ColumnBlock(LEADERSHIP, form.names_of(LEADERSHIP))
    for columns in leadership_columns(metadata.partitions, places, log, moment, spaced=form.spaced):
        yield from block.items(columns)


def _records(
    directory: PartitionDirectory, limits: Limits, moment: Moment | None, about: _About, form: RowForm
) -> Iterator[tuple[Table, Row] | Rows | Finding]:
    """Yield the log's records as rows; their findings are reported with the metadata."""
    blocks: MetadataBlocks | None = None
    unreadable: list[Finding] = []
    for records in blocks_again(directory, limits, unreadable):
        if blocks is None:
            blocks = MetadataBlocks(directory.log, form, records.block.recs.capacity)
        yield from blocks.of(records, _chosen(records, moment, about))
    yield from unreadable


def _internal(
    directory: PartitionDirectory, limits: Limits, moment: Moment | None, about: _About, form: RowForm
) -> Iterator[Rows | Finding]:
    """Yield the same as rows of the table ``internal``."""
    view = InternalView(directory, form)
    unreadable: list[Finding] = []
    for records in blocks_again(directory, limits, unreadable):
        yield from (some for some, _ in view.of(records, _chosen(records, moment, about)))
    yield from unreadable


def _chosen(records: InternalRecords, moment: Moment | None, about: _About) -> NDArray[Any]:
    """Return the rows of a block that are wanted; only for some topics must records become values."""
    rows = np.flatnonzero(until(moment, records))
    if about.topics:
        found = (one for one, item in records.numbered(rows) if not isinstance(item, Finding) and about.has(item))
        rows = np.fromiter(found, np.int64)
    return rows

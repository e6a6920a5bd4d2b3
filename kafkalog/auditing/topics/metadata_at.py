"""The rows of ``kafkalog metadata``: the metadata over time, or as it was at a moment."""

from __future__ import annotations

import os
from array import array
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from kafkalog.auditing.topics.internal import (
    WHOLE,
    InternalView,
    RowForm,
    Written,
    blocks_again,
    held_by,
    until,
)
from kafkalog.auditing.topics.metadata import Metadata
from kafkalog.auditing.topics.metadata_log import check_records, metadata_of
from kafkalog.auditing.topics.partition_history import Brokers, Key, PartitionHistory, Span, held_at, span_times
from kafkalog.auditing.topics.topic_logs import clusters_of, lost_inputs, moment_among, topic_logs
from kafkalog.columns.table import AnyColumn, Columns
from kafkalog.columns.texts import JsonColumn, Numbered, TextColumn
from kafkalog.files.limits import Limits
from kafkalog.files.names import METADATA_TOPIC
from kafkalog.findings import Finding
from kafkalog.kafka.internal_records import record_types
from kafkalog.kafka.internal_topics import Internal
from kafkalog.kafka.message import escaped_text
from kafkalog.kafka.message_json import JSON_ENCODERS
from kafkalog.kafka.message_primitives import uuid_text
from kafkalog.kafka.message_program import ReadField
from kafkalog.kafka.message_schema import ZERO_UUID
from kafkalog.kernel import message_ops as ops
from kafkalog.kernel.buffers import LEADER_EPOCH, NONE
from kafkalog.log_dirs.log_directory import PartitionDirectory
from kafkalog.narrowing import matches, nothing_matches
from kafkalog.quantities import by_number
from kafkalog.segments.blocks import Rows
from kafkalog.segments.column_blocks import ColumnBlock
from kafkalog.segments.internal_blocks import InternalRecords, Part, internal_blocks
from kafkalog.segments.internal_rows import InternalBlocks
from kafkalog.segments.moment import Moment
from kafkalog.segments.selection import Picks
from kafkalog.settle import Reason, lowered
from kafkalog.tables.arrow import Numbers
from kafkalog.tables.declared import Table
from kafkalog.tables.internal_tables import INTERNAL
from kafkalog.tables.metadata_tables import BROKERS, CHANGES, CONFIGS, FEATURES, LEADERSHIP, METADATA, RESOURCES, TOPICS

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["METADATA_TABLES", "Named", "leadership_columns", "leadership_rows", "metadata_rows", "metadata_view"]


# What records of the metadata log name: a topic, a partition, a broker, a setting; as columns.


_TEXTS: Final = ("topic", "topic_id", "isr", "name", "value")

_NUMBERS: Final = ("partition", "broker_id", "leader")

NAMED: Final = (*_TEXTS, *_NUMBERS)

_UUID: Final = 16

_CELL: Final = 8

# Fields by their names; those of a name that several kinds of records have for different things are not here.
_OF_BROKERS: Final = ("FenceBrokerRecord", "UnfenceBrokerRecord")  # whose `id` is a broker's

_COLUMNS: Final = {
    "topicId": "topic_id", "partitionId": "partition", "brokerId": "broker_id", "leader": "leader", "isr": "isr",
    "featureLevel": "value",
}  # fmt: skip


class Named:
    """The columns `NAMED` of some records of one block; `encode` writes lists as JSON."""

    def __init__(self, count: int, encode: Callable[[Any], str]) -> None:
        self._count = count
        self._encode = encode
        self._numbers = {name: np.full(count, NONE, np.int64) for name in _NUMBERS}
        self._texts: dict[str, list[tuple[NDArray[Any], TextColumn]]] = {name: [] for name in _TEXTS}

    def columns(self) -> dict[str, AnyColumn]:
        """Return the columns."""
        texts = {
            name: (JsonColumn if name == "isr" else TextColumn).joined(self._count, parts)
            for name, parts in self._texts.items()
        }
        return {**self._numbers, **texts}

    def fill(self, records: InternalRecords, part: Part, rows: NDArray[Any], kind: str) -> None:
        """Take the fields of records of one kind, which are these rows here."""
        for field in part.program.structure.fields:
            column = _column_of(kind, field.name)
            if column in _NUMBERS:
                cells = records.cells(part, field)
                is_there = (cells != field.default) | (not field.is_tagged)
                self._numbers[column][rows] = np.where(is_there, cells, NONE)
            elif column is not None and (field.name != "value" or field.kind == "string"):
                numbers, words = self._words(records, part, field)
                shown = [None if field.is_tagged and word == field.default else self._text(word) for word in words]
                self._texts[column].append((rows, TextColumn.of(shown).take(numbers)))

    def fill_one(self, row: int, record: Written) -> None:
        """Take the fields of one record."""
        value = (None if record.content is None else record.content.value) or {}
        for name, cell in value.items():
            column = _column_of(record.kind or "", name)
            if column in _NUMBERS:
                self._numbers[column][row] = cell
            elif column is not None and (name != "value" or isinstance(cell, str)):
                self._texts[column].append((np.array([row]), TextColumn.of([self._text(cell)])))

    def _text(self, word: Any) -> str | None:
        if word is None or isinstance(word, str):
            return word
        return self._encode(word) if isinstance(word, list) else str(word)

    @staticmethod
    def _words(records: InternalRecords, part: Part, field: ReadField) -> tuple[NDArray[np.int64], Sequence[Any]]:
        """Return the different values of a field, and the number of each record's: -1 for the last one."""
        first = records.cells(part, field)
        numbered = Numbered()

        def numbers(buf: Any, starts: NDArray[np.int64], sizes: NDArray[np.int64]) -> NDArray[np.int64]:
            return np.frombuffer(numbered.numbers(buf, starts.data, sizes.data), np.int64)

        if field.kind == "array":
            count = records.cells(part, field, 1)
            cells = records.elements(field).cast("B")
            found = numbers(cells, first * _CELL, np.where(count < 0, -1, count * _CELL))
            return found, [*(np.frombuffer(one, np.int64).tolist() for one in numbered), None]
        if field.kind == "uuid":
            found = numbers(records.buf, first, np.where(first < 0, -1, _UUID))
            return found, [*(uuid_text(one) for one in numbered), ZERO_UUID]
        if field.kind == "string":
            sizes = records.cells(part, field, 1)  # below -1: missing, with its default
            return numbers(records.buf, first, sizes), [*map(escaped_text, numbered), None]
        different, found = np.unique(first, return_inverse=True)
        return found.astype(np.int64), different.tolist()


def _column_of(kind: str, field: str) -> str | None:
    """Return the column that a field of a kind of record is in."""
    if field == "name":
        return "topic" if kind == "TopicRecord" else "name"
    if field == "id":
        return "broker_id" if kind in _OF_BROKERS else None
    return "value" if field == "value" else _COLUMNS.get(field)


# Records of the metadata log as columns of the table ``metadata``.


_DECODED: Final = ("type", "kind", "version", "value", "unknown")  # columns of the table ``internal``


class MetadataBlocks:
    """Makes records of a metadata log rows of the table ``metadata``, at most `room` at once."""

    def __init__(self, log: str, form: RowForm, room: int) -> None:
        self._log = TextColumn.of([log])
        self._encode = JSON_ENCODERS[ops.SPACED_JSON if form.spaced else ops.ASCII_JSON]
        types = record_types(Internal.CLUSTER_METADATA)
        self._kinds = [types[number].name if number in types else None for number in range(max(types) + 1)]
        self._words = TextColumn.of([*self._kinds, None])
        self._decoded = InternalBlocks(
            log, Internal.CLUSTER_METADATA, _DECODED, room, spaced=form.spaced, log=log, partition=0
        )
        self._block = ColumnBlock(METADATA, form.names_of(METADATA))

    def of(self, records: InternalRecords, rows: NDArray[Any]) -> Iterator[Rows | tuple[Table, tuple[Any, ...]]]:
        """Yield these rows of a block, which ascend, but for unreadable records; the next rows use the same cells."""
        numbers = array("q", rows.astype(np.int64).tobytes())
        for item in self._decoded.of(records.heads, records.block, Picks(numbers, len(numbers))):
            if isinstance(item, Rows):
                of = np.array(self._decoded.numbers[item.start : item.stop], np.int64)
                yield from self._block.items(self._columns(records, of, item))

    def _columns(self, records: InternalRecords, rows: NDArray[np.int64], decoded: Rows) -> Columns:
        """Return the columns of records; those that are in `decoded`, too, are taken from there."""
        block, places = decoded.block, slice(decoded.start, decoded.stop)
        types, kinds, versions, fields, unknown = block.columns
        every, bits = np.frombuffer(block.cells, np.int64), np.frombuffer(block.valid, np.uint8)

        def cells(at: int) -> NDArray[np.int64]:
            return every[at : at + block.room][places]

        def present(column_cells: NDArray[np.int64], bit: int, absent: int) -> NDArray[np.int64]:
            valid = np.unpackbits(bits[bit // 8 :], bitorder="little")[bit % 8 :][places]
            return np.where(valid, column_cells, absent)

        starts, sizes = cells(fields.at), cells(fields.at + block.room)
        end = int((starts + sizes)[sizes > 0].max(initial=0))
        same, named = np.zeros(len(rows), np.int64), self._named(records, rows)
        return Columns(
            {
                "log": self._log.take(same),
                "file": TextColumn.of([records.file]).take(same),
                "offset": Numbers(records.offset[rows]),
                "timestamp_ms": Numbers(records.timestamp[rows]),
                "controller_epoch": records.of_batches(LEADER_EPOCH)[rows],
                "type": cells(types.at),
                "kind": self._words.take(present(cells(kinds.at), kinds.bit, len(self._words) - 1)),
                "version": present(cells(versions.at), versions.bit, NONE),
                **{name: named[name] for name in METADATA.names if name in NAMED},
                "fields": JsonColumn(bytes(memoryview(block.buf)[:end]), starts, sizes),
                "unknown": cells(unknown.at) != 0,
            }
        )

    def _named(self, records: InternalRecords, rows: NDArray[np.int64]) -> dict[str, AnyColumn]:
        named = Named(len(rows), self._encode)
        is_certain = ~records.is_doubtful[rows]
        certain = rows[is_certain]
        for part in records.values(np.unique(records.type[certain]).tolist(), certain):
            kind = self._kinds[int(records.type[part.of[0]])]
            assert kind is not None  # it was read
            named.fill(records, part, np.searchsorted(rows, part.of), kind)
        for row in np.flatnonzero(~is_certain).tolist():
            for item in records.written(rows[row : row + 1]):
                if isinstance(item, Written):
                    named.fill_one(row, item)
        return named.columns()


# What partitions were over time, as columns of the table ``leadership``.


_AT_ONCE: Final = 4096  # rows

_PLACES: Final = 256  # partitions at once, which may have many rows

_LISTS: Final = ("isr", "replicas", "adding", "removing", "eligible")


def leadership_columns(
    history: PartitionHistory, places: Sequence[tuple[str | None, Key]], log: str, moment: Moment | None = None,
    *, spaced: bool = False,
) -> Iterator[Columns]:  # fmt: skip
    """Yield the rows of these partitions, each with its topic's name, in this order; with a moment those of then.

    JSON has blanks if it is `spaced`.
    """
    encode = JSON_ENCODERS[ops.SPACED_JSON if spaced else ops.ASCII_JSON]

    @lru_cache(maxsize=_AT_ONCE)
    def listed(numbers: Brokers) -> str:
        return encode(list(numbers))

    for first in range(0, len(places), _PLACES):
        some = places[first : first + _PLACES]
        spans = history.spans_of([key for _, key in some])
        if moment is not None:
            spans = spans.take(held_at(spans, moment))
        names = TextColumn.of([name for name, _ in some])
        ids = TextColumn.of([topic_id for _, (topic_id, _) in some])
        numbers = np.array([number for _, (_, number) in some], np.int64)
        for start in range(0, len(spans), _AT_ONCE):
            part = spans.take(slice(start, start + _AT_ONCE))
            yield Columns(
                {
                    "topic": names.take(part["of"]),
                    "topic_id": ids.take(part["of"]),
                    "partition": numbers[part["of"]],
                    **_state(history, part, listed),
                    "since_ms": Numbers(part["since"]),
                    "until_ms": Numbers(part["until"], part["has_ended"]),
                    "offset": Numbers(part["offset"]),
                    "log": TextColumn.same(log, len(part)),
                }
            )


def _state(history: PartitionHistory, spans: Columns, listed: Callable[[Brokers], str]) -> dict[str, AnyColumn]:
    """Return what the partitions were: a state that occurs many times is looked at once."""
    numbers, of = np.unique(spans["state"], return_inverse=True)
    states = [history.state(number) for number in numbers.tolist()]
    leaders = np.array([state.leader for state in states], np.int64)[of]
    lists: dict[str, Any] = {
        name: JsonColumn.of([listed(getattr(state, name)) for state in states]).take(of) for name in _LISTS
    }
    words = np.array([CHANGES.index(word) for word in history.words] or [0])
    return {
        "leader": Numbers(leaders, leaders != -1),
        "leader_epoch": Numbers(spans["leader_epoch"]),
        "partition_epoch": Numbers(spans["partition_epoch"]),
        **lists,
        "recovering": np.array([state.recovering for state in states], np.bool_)[of],
        "change": Numbers.worded(words[spans["word"]], CHANGES),
    }


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
    clusters = clusters_of(paths, findings.append, limits)
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
    directories = [log.partition.directory for log in logs]
    if moment is not None and all(one.segments and one.segments[0].base_offset == 0 for one in directories):
        held_by(moment, directories, limits)  # a .checkpoint has the state before a log that begins later


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
    yield lowered(finding, Reason.IN_CHECKPOINT)


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
    for span in sorted(
        (span for spans in metadata.topics.values() for span in spans),
        key=lambda span: (by_number(span.value.name), span.value.topic_id),
    ):
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
            settings = [(name, spans, span_times(spans)) for name, spans in every]
        there = of_topic.take(held_at(of_topic, then))
        first = there["state"][numbers[there["of"]] == 0]
        configs = {
            name: spans[held[-1]].value
            for name, spans, times in settings
            if len(held := np.flatnonzero(held_at(times, then)))
        }
        yield TOPICS.of(
            **_since(span, log),
            topic=topic.name,
            topic_id=topic.topic_id,
            partitions=len(np.unique(there["of"])),
            replicas=len(history.state(int(first[-1])).replicas) if len(first) else None,
            configs=configs,
        )


def leadership_rows(metadata: Metadata, log: str, topic: str, partition: int) -> Iterator[Row]:
    """Yield the table ``leadership`` of a partition of all topics of a name, over all time."""
    keys = ((topic_id, partition) for topic_id in metadata.ids.get(topic, ()))
    places = [(topic, key) for key in keys if key in metadata.partitions]
    return chain.from_iterable(map(Columns.rows, leadership_columns(metadata.partitions, places, log)))


def _leadership(
    metadata: Metadata, log: str, moment: Moment | None, wanted: Collection[str], form: RowForm = WHOLE
) -> Iterator[tuple[Table, Row] | Rows]:
    def named(key: tuple[str, int]) -> tuple[str | None, tuple[str, int]]:
        topic = metadata.topic_of(key[0])
        return None if topic is None else topic.name, key

    places = sorted(map(named, metadata.partitions), key=lambda place: (by_number(place[0] or ""), place[1]))
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

"""The cluster's metadata over time: brokers, topics, partitions, settings, as the controller's records change them.

Records are taken in one by one, as a broker replays them; nothing here reads a file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from kafkalog.auditing.topics.internal import Written
from kafkalog.auditing.topics.partition_history import Change, Key, PartitionHistory, Span, State
from kafkalog.kafka.message_primitives import uuid_text
from kafkalog.segments.internal_blocks import InternalRecords

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["CHANGING", "Broker", "Metadata", "PartitionChange", "PartitionChanges", "Topic"]


# Changes of partitions in a block of the metadata log: most records of a busy cluster, and many change the same.


PARTITION_CHANGE: Final = 5

_UUID: Final = 16

_NAMES: Final = ["partitionId", "topicId"]  # the fields that a record begins with; all others follow

_MOST_KEPT: Final = 1 << 16

_MOST_BYTES: Final = 256  # of a change that is kept


class PartitionChange(NamedTuple):
    """A PartitionChangeRecord: the partition by topic id and number, what changes, time and offset."""

    key: Key
    change: Change
    timestamp: int
    offset: int


class PartitionChanges:
    """Reads the PartitionChangeRecords of blocks; what follows a partition's name is read once for equal bytes."""

    def __init__(self) -> None:
        self._changes: dict[bytes, Change] = {}
        self._topics: dict[bytes, str] = {}

    def of(self, records: InternalRecords, wanted: NDArray[np.bool_]) -> tuple[NDArray[Any], Iterator[PartitionChange]]:
        """Return the rows of such records among those wanted, in order, and what each of them says."""
        rows = np.flatnonzero(wanted & (records.type == PARTITION_CHANGE) & ~records.is_doubtful)
        parts = [
            part
            for part in records.values((PARTITION_CHANGE,), rows)
            if [one.name for one in part.program.structure.fields[:2]] == _NAMES
        ]
        topics = records.field(parts, "topicId")
        rows = rows[topics[rows] >= 0]
        return rows, self._read(records, rows, topics[rows], records.field(parts, "partitionId")[rows])

    def _read(
        self, records: InternalRecords, rows: NDArray[Any], topics: NDArray[np.int64], numbers: NDArray[np.int64]
    ) -> Iterator[PartitionChange]:
        ends = records.value_start[rows] + records.value_size[rows]
        columns = (rows, topics, ends, numbers, records.version[rows], records.timestamp[rows], records.offset[rows])
        buf = records.buf
        for row, at, end, number, version, timestamp, offset in zip(*(one.tolist() for one in columns), strict=True):
            rest = bytes((version, *buf[at + _UUID : end]))
            change = self._changes.get(rest)
            if change is None:
                change = self._new(records, row, rest)
            topic = bytes(buf[at : at + _UUID])
            name = self._topics.get(topic)
            if name is None:
                if len(self._topics) >= _MOST_KEPT:
                    self._topics.clear()
                name = self._topics[topic] = uuid_text(topic)
            yield PartitionChange((name, number), change, timestamp, offset)

    def _new(self, records: InternalRecords, row: int, rest: bytes) -> Change:
        (record,) = records.written(np.array([row]))
        assert isinstance(record, Written)  # it is in no doubt
        assert record.content is not None
        assert record.content.value is not None
        change = Change.of(record.content.value)
        if len(rest) <= _MOST_BYTES:
            if len(self._changes) >= _MOST_KEPT:
                self._changes.clear()
            self._changes[rest] = change
        return change


Fields = dict[str, Any]

_TOPIC: Final = 2  # type of a resource with settings

_BEGIN, _END, _ABORT = 23, 24, 25


class Topic(NamedTuple):
    """A topic's name and id."""

    name: str
    topic_id: str


class Broker(NamedTuple):
    """A broker or a controller after its newest record; `state` is a word of the table ``brokers``."""

    number: int
    role: str
    state: str
    epoch: int
    rack: str | None
    endpoints: tuple[str, ...]
    log_directories: tuple[str, ...]


@dataclass(slots=True)
class Metadata:
    """Every value that a key had, in the order of the log.

    `partitions` are by topic id and number, `configs` by type and name of the resource and name of the setting.
    """

    brokers: dict[tuple[str, int], list[Span]] = field(default_factory=dict)
    topics: dict[str, list[Span]] = field(default_factory=dict)  # by id
    ids: dict[str, list[str]] = field(default_factory=dict)  # of topics by name, oldest first
    partitions: PartitionHistory = field(default_factory=PartitionHistory)
    configs: dict[tuple[int, str, str], list[Span]] = field(default_factory=dict)
    features: dict[str, list[Span]] = field(default_factory=dict)
    producer_ids: list[Span] = field(default_factory=list)  # the first one that is not allocated
    newest: int = -1  # the time of the newest record
    _settings: dict[tuple[int, str], list[str]] = field(default_factory=dict)  # by type and name of the resource
    # Records of a metadata transaction that has not ended.
    _held_back: list[Written | PartitionChange] | None = field(default=None, compare=False)

    def apply(self, record: Written) -> None:
        """Take in the next record; those of a metadata transaction when it ends, or not at all."""
        self.newest = max(self.newest, record.timestamp)
        if record.type == _BEGIN:
            self._held_back = []
        elif record.type == _END:
            held, self._held_back = self._held_back or [], None
            for one in held:
                self.apply_step(one)
        elif record.type == _ABORT:
            self._held_back = None
        else:
            self.apply_step(record)

    def apply_step(self, record: Written | PartitionChange) -> None:
        """Take in a record that neither begins nor ends a metadata transaction, but for its time."""
        if self._held_back is not None:
            self._held_back.append(record)
        elif isinstance(record, PartitionChange):
            self.partitions.change(*record)
        else:
            self._apply_record(record)

    def set_kraft_version(self, offset: int, timestamp: int, level: int) -> None:
        """Take in the level of ``kraft.version``, which no metadata record has."""
        self._begin(self.features.setdefault("kraft.version", []), timestamp, offset, level)

    def topic_of(self, topic_id: str) -> Topic | None:
        """Return the topic with an id, deleted or not."""
        spans = self.topics.get(topic_id)
        topic: Topic | None = spans[0].value if spans else None
        return topic

    def spans_of(self, topic: str, partition: int) -> list[Span]:
        """Return all that a partition of the newest topic of a name was; none of one that is not known."""
        ids = self.ids.get(topic)
        return self.partitions.get((ids[-1], partition), []) if ids else []

    def settings_of(self, kind: int, resource: str) -> Iterator[tuple[str, list[Span]]]:
        """Yield the name and the values of each setting that a resource ever had."""
        return ((name, self.configs[kind, resource, name]) for name in self._settings.get((kind, resource), ()))

    def _apply_record(self, record: Written) -> None:
        if record.content is None or record.content.value is None:
            return
        apply = _APPLY.get(record.type)
        if apply is not None:
            apply(self, record, record.content.value)

    def _set(self, spans: list[Span], record: Written, value: Any) -> None:
        """Begin a new span at a record."""
        self._begin(spans, record.timestamp, record.offset, value)

    def _begin(self, spans: list[Span], since: int, offset: int, value: Any) -> None:
        """Begin a new span; None ends the one before without another."""
        if spans and spans[-1].until is None:
            spans[-1] = spans[-1]._replace(until=since, until_offset=offset)
        if value is not None:
            spans.append(Span(value, since, offset))

    def _register(self, record: Written, value: Fields) -> None:
        role, number = ("broker", value["brokerId"]) if "brokerId" in value else ("controller", value["controllerId"])
        state = "registered" if role == "controller" else _state(value.get("fenced"), value.get("inControlledShutdown"))
        endpoints = tuple(f"{one['name']}://{one['host']}:{one['port']}" for one in value["endPoints"])
        broker = Broker(
            number, role, state, value.get("brokerEpoch", -1), value.get("rack"), endpoints,
            tuple(value.get("logDirs") or ()),
        )  # fmt: skip
        self._set(self.brokers.setdefault((role, number), []), record, broker)

    def _unregister(self, record: Written, value: Fields) -> None:
        key = ("broker", value["brokerId"]) if "brokerId" in value else ("controller", value["controllerId"])
        if key in self.brokers:
            last = self.brokers[key][-1].value
            self._set(self.brokers[key], record, last._replace(state="unregistered"))

    def _broker(self, record: Written, number: int, **changed: Any) -> None:
        spans = self.brokers.get(("broker", number))
        if spans:
            self._set(spans, record, spans[-1].value._replace(**changed))

    def _fence(self, record: Written, value: Fields) -> None:
        self._broker(record, value["id"], state="fenced")

    def _unfence(self, record: Written, value: Fields) -> None:
        self._broker(record, value["id"], state="active")

    def _change_broker(self, record: Written, value: Fields) -> None:
        fenced, stopping = value.get("fenced", 0), value.get("inControlledShutdown", 0)
        changed: dict[str, Any] = {}
        if fenced or stopping:
            changed["state"] = _state(fenced > 0, stopping > 0)
        if value.get("logDirs"):
            changed["log_directories"] = tuple(value["logDirs"])
        self._broker(record, value["brokerId"], **changed)

    def _topic(self, record: Written, value: Fields) -> None:
        if value["topicId"] not in self.topics:
            self.ids.setdefault(value["name"], []).append(value["topicId"])
        self._set(self.topics.setdefault(value["topicId"], []), record, Topic(value["name"], value["topicId"]))

    def _remove_topic(self, record: Written, value: Fields) -> None:
        """End a topic with its partitions and its settings."""
        topic_id = value["topicId"]
        topic = self.topic_of(topic_id)
        self._set(self.topics.setdefault(topic_id, []), record, None)
        self.partitions.end(topic_id, record.timestamp, record.offset)
        for _, spans in () if topic is None else self.settings_of(_TOPIC, topic.name):
            self._set(spans, record, None)

    def _partition(self, record: Written, value: Fields) -> None:
        word = "snapshot" if record.file.endswith(".checkpoint") else "created"
        key, epochs = (value["topicId"], value["partitionId"]), (value["leaderEpoch"], value["partitionEpoch"])
        self.partitions.create(key, State.of(value), epochs, record.timestamp, record.offset, word)

    def _change_partition(self, record: Written, value: Fields) -> None:
        key = (value["topicId"], value["partitionId"])
        self.partitions.change(key, Change.of(value), record.timestamp, record.offset)

    def _clear_eligible(self, record: Written, value: Fields) -> None:
        name = value["topicName"]
        topic_ids = self.ids.get(name, []) if name else self.partitions.topic_ids
        self.partitions.clear_eligible(topic_ids, record.timestamp, record.offset)

    def _config(self, record: Written, value: Fields) -> None:
        key = (value["resourceType"], value["resourceName"], value["name"])
        if key not in self.configs:
            self.configs[key] = []
            self._settings.setdefault(key[:2], []).append(key[2])
        self._set(self.configs[key], record, value["value"])

    def _feature(self, record: Written, value: Fields) -> None:
        self._set(self.features.setdefault(value["name"], []), record, value["featureLevel"] or None)

    def _producer_ids(self, record: Written, value: Fields) -> None:
        self._set(self.producer_ids, record, value["nextProducerId"])


def _state(fenced: bool | None, stopping: bool | None) -> str:
    return "stopping" if stopping else "active" if fenced is False else "fenced"


_APPLY: Final[dict[int, Callable[[Metadata, Written, Fields], None]]] = {
    0: Metadata._register,
    1: Metadata._unregister,
    2: Metadata._topic,
    3: Metadata._partition,
    4: Metadata._config,
    5: Metadata._change_partition,
    7: Metadata._fence,
    8: Metadata._unfence,
    9: Metadata._remove_topic,
    12: Metadata._feature,
    15: Metadata._producer_ids,
    17: Metadata._change_broker,
    27: Metadata._register,
    28: Metadata._clear_eligible,
    29: Metadata._unregister,
}

# The types of the records that `take` needs. Of others, such as the one that a controller writes each half second, only
# the time counts.
CHANGING: Final = frozenset({_BEGIN, _END, _ABORT, *_APPLY})

"""What a broker does with a topic's bytes: the topic's overrides, else the broker's values, else Kafka's defaults."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from kafkalog.errors import UnreadableError
from kafkalog.files.names import OFFSETS_TOPIC, SHARE_TOPIC, STATE_TOPIC
from kafkalog.files.opening import open_source
from kafkalog.segments.readers import OnFinding, read_properties
from kafkalog.untrusted import untrusted_json

if TYPE_CHECKING:
    from kafkalog.auditing.topics import Metadata

__all__ = ["BrokerSettings", "Settings", "TopicSettings", "read_topic_configs"]

_TOPIC: Final = 2  # type of a resource with settings
_BROKER: Final = 4
_MOST_BYTES: Final = 64 << 20  # of a file of topics' settings
_DAY: Final = 86_400_000
_HIGHEST: Final = 2**62  # so that a sum with a time fits into 64 bits

# Each setting: the broker's names for it, the first one counts; the factor of each; Kafka's default.
_SETTINGS: Final[dict[str, tuple[tuple[tuple[str, int], ...], str]]] = {
    "cleanup.policy": ((("log.cleanup.policy", 1),), "delete"),
    "retention.ms": (
        (("log.retention.ms", 1), ("log.retention.minutes", 60_000), ("log.retention.hours", 3_600_000)),
        str(7 * _DAY),
    ),
    "retention.bytes": ((("log.retention.bytes", 1),), "-1"),
    "segment.ms": ((("log.roll.ms", 1), ("log.roll.hours", 3_600_000)), str(7 * _DAY)),
    "segment.bytes": ((("log.segment.bytes", 1),), str(1 << 30)),
    "min.cleanable.dirty.ratio": ((("log.cleaner.min.cleanable.ratio", 1),), "0.5"),
    "min.compaction.lag.ms": ((("log.cleaner.min.compaction.lag.ms", 1),), "0"),
    "max.compaction.lag.ms": ((("log.cleaner.max.compaction.lag.ms", 1),), str(_HIGHEST)),
    "delete.retention.ms": ((("log.cleaner.delete.retention.ms", 1),), str(_DAY)),
    "local.retention.ms": ((("log.local.retention.ms", 1),), "-2"),
    "local.retention.bytes": ((("log.local.retention.bytes", 1),), "-2"),
    "remote.storage.enable": ((), "false"),
    "remote.log.copy.disable": ((), "false"),
    "remote.copy.lag.ms": ((("log.remote.copy.lag.ms", 1),), "0"),
    "remote.copy.lag.bytes": ((("log.remote.copy.lag.bytes", 1),), "-1"),
}
_BROKERS_OWN: Final = {
    "log.cleaner.enable": "true",
    "log.cleaner.dedupe.buffer.size": str(128 << 20),
    "log.cleaner.io.buffer.load.factor": "0.9",
    "log.cleaner.threads": "1",
    "log.cleaner.backoff.ms": "15000",
    "producer.id.expiration.ms": str(_DAY),
}
_OF_INTERNAL: Final[dict[str, dict[str, str]]] = {  # as brokers create these topics
    OFFSETS_TOPIC: {"cleanup.policy": "compact", "segment.bytes": str(100 << 20)},
    STATE_TOPIC: {"cleanup.policy": "compact", "segment.bytes": str(100 << 20)},
    SHARE_TOPIC: {"cleanup.policy": "delete", "retention.ms": "-1", "segment.bytes": str(100 << 20)},
    "__remote_log_metadata": {"cleanup.policy": "delete", "retention.ms": "-1"},
}


@dataclass(frozen=True, slots=True)
class TopicSettings:
    """A topic's settings as its broker applies them, and where they are from.

    `policies` is empty where neither compaction nor retention happens. `own` are the names that the topic itself sets.
    A retention of -1 has no limit, a local one of -2 is that of the whole log, a lag of -1 is local retention.
    """

    policies: frozenset[str]
    retention_ms: int
    retention_bytes: int
    min_dirty_ratio: float
    min_compaction_lag_ms: int
    max_compaction_lag_ms: int
    delete_retention_ms: int
    local_retention_ms: int
    local_retention_bytes: int
    is_tiered: bool
    is_copied: bool
    copy_lag_ms: int
    copy_lag_bytes: int
    own: frozenset[str]
    sources: tuple[str, ...]

    @property
    def local_limits(self) -> tuple[int, int]:
        """Return what local retention keeps, in ms and in bytes; -1 for no limit."""
        return (
            self.retention_ms if self.local_retention_ms == -2 else self.local_retention_ms,
            self.retention_bytes if self.local_retention_bytes == -2 else self.local_retention_bytes,
        )

    @property
    def copy_lags(self) -> tuple[int, int]:
        """Return how old a segment has to be to be copied (ms), or how many bytes after it (KIP-1241).

        One of the two is enough; -1 stands for one that never is.
        """
        lags = zip((self.copy_lag_ms, self.copy_lag_bytes), self.local_limits, strict=True)
        of_ms, of_bytes = (limit if lag < 0 else lag for lag, limit in lags)
        return of_ms, of_bytes

    @property
    def compacts(self) -> bool:
        return "compact" in self.policies

    @property
    def deletes(self) -> bool:
        return "delete" in self.policies


@dataclass(frozen=True, slots=True)
class BrokerSettings:
    """What a broker's cleaner is set to; `map_entries` is how many keys its offset map takes in one pass."""

    cleans: bool
    map_entries: int
    backoff_ms: int
    producer_expiration_ms: int


@dataclass(frozen=True, slots=True)
class Settings:
    """Where settings are looked up: the metadata log, else files that were given, else Kafka's defaults."""

    metadata: Metadata | None = None
    properties: Mapping[str, str] = field(default_factory=dict)
    topics: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def of_topic(self, topic: str, node_id: str | None, *, was_cleaned: bool = False) -> TopicSettings:
        """Return the settings of a topic on a broker.

        Where nothing is known of the topic itself and it `was_cleaned`, by the cleaner's checkpoint, its policy is
        compact: a topic that is not compacted has no such checkpoint.
        """
        sources: dict[str, None] = {}
        own = self._own(topic, sources)
        if was_cleaned and not sources and "cleanup.policy" not in own:
            sources["cleaner-checkpoint"] = None
            own = {**own, "cleanup.policy": "compact"}
        values: dict[str, str] = {}
        for name, (synonyms, default) in _SETTINGS.items():
            known = own.get(name)
            if known is None:
                known = self._brokers(synonyms, node_id, sources)
            values[name] = default if known is None else known
        sources["defaults"] = None
        return TopicSettings(
            frozenset(part for part in (one.strip() for one in values["cleanup.policy"].split(",")) if part),
            _number(values, "retention.ms"), _number(values, "retention.bytes"),
            _ratio(values["min.cleanable.dirty.ratio"]),
            _number(values, "min.compaction.lag.ms"), _number(values, "max.compaction.lag.ms"),
            _number(values, "delete.retention.ms"),
            _number(values, "local.retention.ms"), _number(values, "local.retention.bytes"),
            values["remote.storage.enable"] == "true", values["remote.log.copy.disable"] != "true",
            _number(values, "remote.copy.lag.ms"), _number(values, "remote.copy.lag.bytes"), frozenset(own),
            tuple(sources),
        )  # fmt: skip

    def of_broker(self, node_id: str | None) -> BrokerSettings:
        """Return the settings of a broker's cleaner."""
        values = {}
        for name, default in _BROKERS_OWN.items():
            known = self._brokers(((name, 1),), node_id, {})
            values[name] = default if known is None else known
        threads = max(1, _plain(values["log.cleaner.threads"], 1))
        buffer = max(0, _plain(values["log.cleaner.dedupe.buffer.size"], 128 << 20))
        slots = min(buffer // threads, 2**31 - 1) // 24  # MD5 and an offset
        return BrokerSettings(
            values["log.cleaner.enable"] != "false",
            max(1, int(slots * min(1.0, max(0.0, _ratio(values["log.cleaner.io.buffer.load.factor"]))))),
            _plain(values["log.cleaner.backoff.ms"], 15_000),
            _plain(values["producer.id.expiration.ms"], _DAY),
        )

    def _own(self, topic: str, sources: dict[str, None]) -> Mapping[str, str]:
        """Return a topic's overrides."""
        if self.metadata is not None and self.metadata.ids.get(topic):
            sources["metadata-log"] = None
            return {
                name: str(spans[-1].value)
                for name, spans in self.metadata.settings_of(_TOPIC, topic)
                if spans[-1].until is None
            }
        if topic in self.topics:
            sources["topic-configs"] = None
            return self.topics[topic]
        return _OF_INTERNAL.get(topic, {})

    def _brokers(self, names: tuple[tuple[str, int], ...], node_id: str | None, sources: dict[str, None]) -> str | None:
        """Return a broker's value: its dynamic one, the cluster's dynamic one, the one in its file."""
        for resource in (node_id, ""):
            for name, factor in names:
                spans = self.metadata.configs.get((_BROKER, resource or "", name)) if self.metadata else None
                if spans and spans[-1].until is None:
                    sources["metadata-log"] = None
                    return _times(str(spans[-1].value), factor)
        for name, factor in names:
            if name in self.properties:
                sources["server-properties"] = None
                return _times(self.properties[name], factor)
        return None


def read_topic_configs(path: str) -> dict[str, dict[str, str]]:
    """Read settings of topics: a JSON object of topics, each an object of settings.

    Raises UnreadableError if it is not that.
    """
    source = open_source(path, max_bytes=_MOST_BYTES + 1)
    try:
        if source.size > _MOST_BYTES:
            raise UnreadableError(f"{path}: more than {_MOST_BYTES} bytes of settings")
        text = bytes(source.read_bytes(0, source.size))
    finally:
        source.close()
    try:
        found = untrusted_json(text)
    except ValueError as error:
        raise UnreadableError(f"{path}: no JSON of settings: {error}") from error
    if not isinstance(found, dict) or not all(isinstance(one, dict) for one in found.values()):
        raise UnreadableError(f"{path}: no JSON object of topics, each an object of settings")
    return {
        topic: {name: value if isinstance(value, str) else json.dumps(value) for name, value in of.items()}
        for topic, of in found.items()
    }


def read_broker_properties(path: str | os.PathLike[str], *, on_finding: OnFinding | None = None) -> dict[str, str]:
    """Read a broker's server.properties; without `on_finding`, lines that are no setting are Python warnings."""
    return read_properties(path, on_finding=on_finding)


def _times(value: str, factor: int) -> str:
    number = _plain(value, None)
    return value if factor == 1 or number is None or number < 0 else str(number * factor)


def _plain(value: str, default: Any) -> Any:
    try:
        return max(-_HIGHEST, min(_HIGHEST, int(value.strip())))
    except ValueError:
        return default


def _number(values: Mapping[str, str], name: str) -> int:
    """Return a setting as a number; Kafka's default if its text is no number."""
    return int(_plain(values[name], int(_SETTINGS[name][1])))


def _ratio(value: str) -> float:
    try:
        return float(value)
    except ValueError:
        return 0.5

"""What may pass of each text and each byte array in the records of internal topics, field by field.

Numbers, ids and the arrays around them pass; numbers that are times may be shifted. A text or a byte array passes as
its row here says; one without a row becomes other bytes, so that a field of a newer release never passes unseen.
"""

from __future__ import annotations

import re
from enum import Enum, auto
from typing import Final

from kafkalog.redaction.new_names import NameKind

__all__ = ["KNOWN_WORDS", "OF_RESOURCE", "TIMES", "Passing", "config_name_passes", "config_value_passes", "passing"]


class Passing(Enum):
    """What becomes of a field that is no name."""

    SECRET = auto()  # other bytes, or letters, of the same length
    WORD = auto()  # passes if it is one of Kafka's own words
    CONFIG = auto()  # the name of a setting: passes if kafkalog reads that setting
    SETTING = auto()  # its value: passes if kafkalog reads it, and it is a number or a word of Kafka's
    RESOURCE = auto()  # a name whose kind the field resourceType says
    SUBSCRIPTION = auto()  # a message of the consumer protocol, if the group's protocol is that
    ASSIGNMENT = auto()


_S, _W = Passing.SECRET, Passing.WORD
_TOPIC, _GROUP, _CLIENT, _HOST = NameKind.TOPIC, NameKind.GROUP, NameKind.CLIENT, NameKind.HOST

# By the field's path, without the message: a name means the same in each message that has it.
_BY_NAME: Final[dict[str, Passing | NameKind]] = {
    "group": _GROUP,
    "groupId": _GROUP,
    "memberId": _CLIENT,
    "instanceId": _CLIENT,
    "groupInstanceId": _CLIENT,
    "clientId": _CLIENT,
    "leader": _CLIENT,
    "processId": _CLIENT,
    "clientHost": _HOST,
    "host": _HOST,
    "rackId": _HOST,
    "rack": _HOST,
    "racks": _HOST,
    "topic": _TOPIC,
    "topics": _TOPIC,
    "topicName": _TOPIC,
    "subscribedTopicNames": _TOPIC,
    "sourceTopics": _TOPIC,
    "repartitionSinkTopics": _TOPIC,
    "transactionalId": NameKind.TRANSACTIONAL_ID,
    "protocolType": _W,
    "protocol": _W,
    "serverAssignor": _W,
    "entityType": _W,
    "subscription": Passing.SUBSCRIPTION,
    "assignment": Passing.ASSIGNMENT,
    "resourceName": Passing.RESOURCE,
    "subtopologyId": _W,
}
# By the message and the field's path in it, where the name alone does not say.
_FIELDS: Final[dict[tuple[str, str], Passing | NameKind]] = {
    ("ConsumerGroupMemberMetadataValue", "classicMemberMetadata.supportedProtocols.name"): _W,
    ("ConsumerGroupMemberMetadataValue", "classicMemberMetadata.supportedProtocols.metadata"): Passing.SUBSCRIPTION,
    ("StreamsGroupTopologyValue", "subtopologies.stateChangelogTopics.name"): _TOPIC,
    ("StreamsGroupTopologyValue", "subtopologies.repartitionSourceTopics.name"): _TOPIC,
    ("BeginTransactionRecord", "name"): _W,
    ("ClientQuotaRecord", "key"): _W,
    ("ConfigRecord", "name"): Passing.CONFIG,
    ("ConfigRecord", "value"): Passing.SETTING,
    ("FeatureLevelRecord", "name"): _W,
    ("RegisterBrokerRecord", "endPoints.name"): _W,
    ("RegisterBrokerRecord", "features.name"): _W,
    ("RegisterControllerRecord", "endPoints.name"): _W,
    ("RegisterControllerRecord", "features.name"): _W,
    ("VotersRecord", "voters.endpoints.name"): _W,
    ("TopicRecord", "name"): _TOPIC,
    ("RemoteLogSegmentMetadataRecord", "remoteLogSegmentId.topicIdPartition.name"): _TOPIC,
    ("RemoteLogSegmentMetadataUpdateRecord", "remoteLogSegmentId.topicIdPartition.name"): _TOPIC,
    ("RemotePartitionDeleteMetadataRecord", "topicIdPartition.name"): _TOPIC,
    ("ConsumerProtocolAssignment", "assignedPartitions.topic"): _TOPIC,
}

# Numbers that are a moment, in ms since 1970, by the field's name.
TIMES: Final = frozenset(
    (
        "assignmentTimestamp", "commitTimestamp", "createTimestamp", "currentStateTimestamp", "eventTimestampMs",
        "expirationTimestamp", "expireTimestamp", "issueTimestamp", "lastContainedLogTimestamp", "maxTimestamp",
        "maxTimestampMs", "timestamp", "transactionLastUpdateTimestampMs", "transactionStartTimestampMs",
        "writeTimestamp",
    )
)  # fmt: skip

KNOWN_WORDS: Final = frozenset(
    b"consumer connect share streams range roundrobin sticky cooperative-sticky stream default compatible sessioned"
    b" uniform simple user client-id ip producer_byte_rate consumer_byte_rate request_percentage"
    b" controller_mutation_rate connection_creation_rate metadata.version kraft.version transaction.version"
    b" group.version eligible.leader.replicas.version share.version streams.version PLAINTEXT SSL SASL_PLAINTEXT"
    b" SASL_SSL CONTROLLER INTERNAL EXTERNAL BROKER CLIENT REPLICATION kafka-cluster 0 1 2 3 4 5 6 7 8 9".split()
)

# Settings that an audit reads, and those that say how a log was written.
_SETTINGS: Final = frozenset(
    b"cleanup.policy compression.type delete.retention.ms file.delete.delay.ms flush.messages flush.ms"
    b" index.interval.bytes local.retention.bytes local.retention.ms max.compaction.lag.ms max.message.bytes"
    b" message.format.version message.timestamp.type min.cleanable.dirty.ratio min.compaction.lag.ms"
    b" min.insync.replicas preallocate remote.copy.lag.bytes remote.copy.lag.ms remote.log.copy.disable"
    b" remote.log.delete.on.disable remote.storage.enable retention.bytes retention.ms segment.bytes"
    b" segment.index.bytes segment.jitter.ms segment.ms unclean.leader.election.enable"
    b" message.timestamp.difference.max.ms message.timestamp.before.max.ms message.timestamp.after.max.ms"
    b" log.cleaner.backoff.ms log.cleaner.dedupe.buffer.size log.cleaner.delete.retention.ms log.cleaner.enable"
    b" log.cleaner.io.buffer.load.factor log.cleaner.max.compaction.lag.ms log.cleaner.min.cleanable.ratio"
    b" log.cleaner.min.compaction.lag.ms log.cleaner.threads log.cleanup.policy log.local.retention.bytes"
    b" log.local.retention.ms log.retention.bytes log.retention.hours log.retention.minutes log.retention.ms"
    b" log.roll.hours log.roll.ms log.segment.bytes producer.id.expiration.ms remote.log.copy.lag.bytes"
    b" remote.log.copy.lag.ms transaction.max.timeout.ms consumer.session.timeout.ms"
    b" consumer.heartbeat.interval.ms share.auto.offset.reset share.isolation.level".split()
)
_NUMBER: Final = re.compile(rb"-?\d{1,19}(?:\.\d{1,6})?")
_VALUES: Final = frozenset(
    b"true false compact delete compact,delete delete,compact CreateTime LogAppendTime producer uncompressed none gzip"
    b" snappy lz4 zstd earliest latest read_committed read_uncommitted".split()
)
OF_RESOURCE: Final[dict[str, dict[int, NameKind]]] = {
    "ConfigRecord": {2: _TOPIC, 32: _GROUP},
    "AccessControlEntryRecord": {2: _TOPIC, 3: _GROUP, 5: NameKind.TRANSACTIONAL_ID},
}


def passing(message: str, path: str) -> Passing | NameKind:
    """Return what becomes of a field: what its row says, otherwise it is a secret."""
    return _FIELDS.get((message, path)) or _BY_NAME.get(path.rpartition(".")[2], _S)


def config_name_passes(name: bytes) -> bool:
    """Say whether the name of a setting is one of Kafka's that kafkalog reads."""
    return name in _SETTINGS


def config_value_passes(name: bytes, value: bytes) -> bool:
    """Say whether a setting's value is a number or a word of Kafka's."""
    return name in _SETTINGS and (value in _VALUES or not value or _NUMBER.fullmatch(value) is not None)

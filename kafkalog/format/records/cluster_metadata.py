"""Records of ``__cluster_metadata``: what the controller knows of brokers, topics, partitions and their settings."""

from __future__ import annotations

from typing import Final

from kafkalog.format.records.record_type import RecordType
from kafkalog.format.schema import Array, Field, Message, Struct

__all__ = ["CLUSTER_METADATA"]

_ENDPOINT: Final = (
    Field("name", "string"),
    Field("host", "string"),
    Field("port", "uint16"),
    Field("securityProtocol", "int16"),
)
_FEATURE: Final = (
    Field("name", "string"),
    Field("minSupportedVersion", "int16"),
    Field("maxSupportedVersion", "int16"),
)
CLUSTER_METADATA: Final = (
    RecordType(
        0,
        "RegisterBrokerRecord",
        None,
        Message(
            "RegisterBrokerRecord",
            (
                Field("brokerId", "int32"),
                Field("isMigratingZkBroker", "bool", since=2),
                Field("incarnationId", "uuid"),
                Field("brokerEpoch", "int64"),
                Field("endPoints", Array(Struct("BrokerEndpoint", _ENDPOINT))),
                Field("features", Array(Struct("BrokerFeature", _FEATURE))),
                Field("rack", "string", nullable_since=0),
                Field("fenced", "bool", default=True),
                Field("inControlledShutdown", "bool", since=1),
                Field("logDirs", Array("uuid"), since=3, tag=0),
                Field("cordonedLogDirs", Array("uuid"), since=4, nullable_since=4, tag=1, default=None),
            ),
            newest=4,
            older=((4, 2), 3),
        ),
    ),
    RecordType(
        1,
        "UnregisterBrokerRecord",
        None,
        Message(
            "UnregisterBrokerRecord",
            (
                Field("brokerId", "int32"),
                Field("brokerEpoch", "int64"),
            ),
        ),
    ),
    RecordType(
        2,
        "TopicRecord",
        None,
        Message(
            "TopicRecord",
            (
                Field("name", "string"),
                Field("topicId", "uuid"),
            ),
        ),
    ),
    RecordType(
        3,
        "PartitionRecord",
        None,
        Message(
            "PartitionRecord",
            (
                Field("partitionId", "int32", default=-1),
                Field("topicId", "uuid"),
                Field("replicas", Array("int32")),
                Field("isr", Array("int32")),
                Field("removingReplicas", Array("int32")),
                Field("addingReplicas", Array("int32")),
                Field("leader", "int32", default=-1),
                Field("leaderRecoveryState", "int8", tag=0),
                Field("leaderEpoch", "int32", default=-1),
                Field("partitionEpoch", "int32", default=-1),
                Field("directories", Array("uuid"), since=1),
                Field("eligibleLeaderReplicas", Array("int32"), since=2, nullable_since=2, tag=1, default=None),
                Field("lastKnownElr", Array("int32"), since=2, nullable_since=2, tag=2, default=None),
            ),
            newest=2,
        ),
    ),
    RecordType(
        4,
        "ConfigRecord",
        None,
        Message(
            "ConfigRecord",
            (
                Field("resourceType", "int8"),
                Field("resourceName", "string"),
                Field("name", "string"),
                Field("value", "string", nullable_since=0),
            ),
        ),
    ),
    RecordType(
        5,
        "PartitionChangeRecord",
        None,
        Message(
            "PartitionChangeRecord",
            (
                Field("partitionId", "int32", default=-1),
                Field("topicId", "uuid"),
                Field("isr", Array("int32"), nullable_since=0, tag=0, default=None),
                Field("leader", "int32", tag=1, default=-2),
                Field("replicas", Array("int32"), nullable_since=0, tag=2, default=None),
                Field("removingReplicas", Array("int32"), nullable_since=0, tag=3, default=None),
                Field("addingReplicas", Array("int32"), nullable_since=0, tag=4, default=None),
                Field("leaderRecoveryState", "int8", tag=5, default=-1),
                Field("directories", Array("uuid"), since=1, nullable_since=1, tag=8, default=None),
                Field("eligibleLeaderReplicas", Array("int32"), since=2, nullable_since=2, tag=6, default=None),
                Field("lastKnownElr", Array("int32"), since=2, nullable_since=2, tag=7, default=None),
            ),
            newest=2,
        ),
    ),
    RecordType(
        7,
        "FenceBrokerRecord",
        None,
        Message(
            "FenceBrokerRecord",
            (
                Field("id", "int32"),
                Field("epoch", "int64"),
            ),
        ),
    ),
    RecordType(
        8,
        "UnfenceBrokerRecord",
        None,
        Message(
            "UnfenceBrokerRecord",
            (
                Field("id", "int32"),
                Field("epoch", "int64"),
            ),
        ),
    ),
    RecordType(9, "RemoveTopicRecord", None, Message("RemoveTopicRecord", (Field("topicId", "uuid"),))),
    RecordType(
        10,
        "DelegationTokenRecord",
        None,
        Message(
            "DelegationTokenRecord",
            (
                Field("owner", "string"),
                Field("requester", "string"),
                Field("renewers", Array("string")),
                Field("issueTimestamp", "int64"),
                Field("maxTimestamp", "int64"),
                Field("expirationTimestamp", "int64"),
                Field("tokenId", "string"),
            ),
        ),
    ),
    RecordType(
        11,
        "UserScramCredentialRecord",
        None,
        Message(
            "UserScramCredentialRecord",
            (
                Field("name", "string"),
                Field("mechanism", "int8"),
                Field("salt", "bytes"),
                Field("storedKey", "bytes"),
                Field("serverKey", "bytes"),
                Field("iterations", "int32"),
            ),
        ),
    ),
    RecordType(
        12,
        "FeatureLevelRecord",
        None,
        Message(
            "FeatureLevelRecord",
            (
                Field("name", "string"),
                Field("featureLevel", "int16"),
            ),
        ),
    ),
    RecordType(
        14,
        "ClientQuotaRecord",
        None,
        Message(
            "ClientQuotaRecord",
            (
                Field(
                    "entity",
                    Array(
                        Struct(
                            "EntityData",
                            (
                                Field("entityType", "string"),
                                Field("entityName", "string", nullable_since=0),
                            ),
                        )
                    ),
                ),
                Field("key", "string"),
                Field("value", "float64"),
                Field("remove", "bool"),
            ),
        ),
    ),
    RecordType(
        15,
        "ProducerIdsRecord",
        None,
        Message(
            "ProducerIdsRecord",
            (
                Field("brokerId", "int32"),
                Field("brokerEpoch", "int64", default=-1),
                Field("nextProducerId", "int64"),
            ),
        ),
    ),
    RecordType(
        17,
        "BrokerRegistrationChangeRecord",
        None,
        Message(
            "BrokerRegistrationChangeRecord",
            (
                Field("brokerId", "int32"),
                Field("brokerEpoch", "int64"),
                Field("fenced", "int8", tag=0),
                Field("inControlledShutdown", "int8", since=1, tag=1),
                Field("logDirs", Array("uuid"), since=2, tag=2),
                Field("cordonedLogDirs", Array("uuid"), since=3, nullable_since=3, tag=3, default=None),
            ),
            newest=3,
            older=((4, 2), 2),
        ),
    ),
    RecordType(
        18,
        "AccessControlEntryRecord",
        None,
        Message(
            "AccessControlEntryRecord",
            (
                Field("id", "uuid"),
                Field("resourceType", "int8"),
                Field("resourceName", "string"),
                Field("patternType", "int8"),
                Field("principal", "string"),
                Field("host", "string"),
                Field("operation", "int8"),
                Field("permissionType", "int8"),
            ),
        ),
    ),
    RecordType(
        19, "RemoveAccessControlEntryRecord", None, Message("RemoveAccessControlEntryRecord", (Field("id", "uuid"),))
    ),
    RecordType(20, "NoOpRecord", None, Message("NoOpRecord", ())),
    RecordType(
        21, "ZkMigrationStateRecord", None, Message("ZkMigrationStateRecord", (Field("zkMigrationState", "int8"),))
    ),
    RecordType(
        22,
        "RemoveUserScramCredentialRecord",
        None,
        Message(
            "RemoveUserScramCredentialRecord",
            (
                Field("name", "string"),
                Field("mechanism", "int8"),
            ),
        ),
    ),
    RecordType(
        23,
        "BeginTransactionRecord",
        None,
        Message("BeginTransactionRecord", (Field("name", "string", nullable_since=0, tag=0, default=None),)),
    ),
    RecordType(24, "EndTransactionRecord", None, Message("EndTransactionRecord", ())),
    RecordType(
        25,
        "AbortTransactionRecord",
        None,
        Message("AbortTransactionRecord", (Field("reason", "string", nullable_since=0, tag=0, default=None),)),
    ),
    RecordType(
        26, "RemoveDelegationTokenRecord", None, Message("RemoveDelegationTokenRecord", (Field("tokenId", "string"),))
    ),
    RecordType(
        27,
        "RegisterControllerRecord",
        None,
        Message(
            "RegisterControllerRecord",
            (
                Field("controllerId", "int32"),
                Field("incarnationId", "uuid"),
                Field("zkMigrationReady", "bool"),
                Field("endPoints", Array(Struct("ControllerEndpoint", _ENDPOINT))),
                Field("features", Array(Struct("ControllerFeature", _FEATURE))),
            ),
        ),
    ),
    RecordType(28, "ClearElrRecord", None, Message("ClearElrRecord", (Field("topicName", "string"),))),
    RecordType(
        29,
        "UnregisterControllerRecord",
        None,
        Message("UnregisterControllerRecord", (Field("controllerId", "int32"),)),
        first=(4, 4),
    ),
)

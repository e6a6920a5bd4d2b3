"""Records of ``__consumer_offsets`` about streams groups (KIP-1071)."""

from __future__ import annotations

from typing import Final

from kafkalog.format.records.record_type import GROUP, MEMBER, RecordType, keyed
from kafkalog.format.schema import Array, Field, Message, Struct

__all__ = ["STREAMS_GROUPS"]

_TASK_IDS: Final = Struct(
    "TaskIds",
    (
        Field("subtopologyId", "string"),
        Field("partitions", Array("int32")),
    ),
)
_TASK_IDS_SINCE: Final = Struct(
    "TaskIds",
    (
        Field("subtopologyId", "string"),
        Field("partitions", Array("int32")),
        Field("assignmentEpochs", Array("int32"), nullable_since=0, tag=0),
    ),
)
_TOPIC_INFO: Final = Struct(
    "TopicInfo",
    (
        Field("name", "string"),
        Field("partitions", "int32"),
        Field("replicationFactor", "int16"),
        Field(
            "topicConfigs",
            Array(
                Struct(
                    "TopicConfig",
                    (
                        Field("key", "string"),
                        Field("value", "string"),
                    ),
                )
            ),
        ),
    ),
)
STREAMS_GROUPS: Final = (
    RecordType(
        17,
        "StreamsGroupMetadata",
        keyed("StreamsGroupMetadataKey", *GROUP),
        Message(
            "StreamsGroupMetadataValue",
            (
                Field("epoch", "int32"),
                Field("metadataHash", "int64"),
                Field("validatedTopologyEpoch", "int32", tag=0, default=-1),
                Field(
                    "lastAssignmentConfigs",
                    Array(
                        Struct(
                            "LastAssignmentConfig",
                            (
                                Field("key", "string"),
                                Field("value", "string"),
                            ),
                        )
                    ),
                    nullable_since=0,
                    tag=1,
                ),
                Field("storedDescriptionTopologyEpoch", "int32", tag=2, default=-1, release=(4, 4)),
                Field("failedDescriptionTopologyEpoch", "int32", tag=3, default=-1, release=(4, 4)),
            ),
        ),
    ),
    RecordType(
        19,
        "StreamsGroupMemberMetadata",
        keyed("StreamsGroupMemberMetadataKey", *MEMBER),
        Message(
            "StreamsGroupMemberMetadataValue",
            (
                Field("instanceId", "string", nullable_since=0),
                Field("rackId", "string", nullable_since=0),
                Field("clientId", "string"),
                Field("clientHost", "string"),
                Field("rebalanceTimeoutMs", "int32", default=-1),
                Field("topologyEpoch", "int32"),
                Field("processId", "string"),
                Field(
                    "userEndpoint",
                    Struct(
                        "Endpoint",
                        (
                            Field("host", "string"),
                            Field("port", "uint16"),
                        ),
                    ),
                    nullable_since=0,
                    default=None,
                ),
                Field(
                    "clientTags",
                    Array(
                        Struct(
                            "KeyValue",
                            (
                                Field("key", "string"),
                                Field("value", "string"),
                            ),
                        )
                    ),
                ),
            ),
        ),
    ),
    RecordType(
        20,
        "StreamsGroupTargetAssignmentMetadata",
        keyed("StreamsGroupTargetAssignmentMetadataKey", *GROUP),
        Message(
            "StreamsGroupTargetAssignmentMetadataValue",
            (
                Field("assignmentEpoch", "int32"),
                Field("assignmentTimestamp", "int64", tag=0, release=(4, 3)),
            ),
        ),
    ),
    RecordType(
        21,
        "StreamsGroupTargetAssignmentMember",
        keyed("StreamsGroupTargetAssignmentMemberKey", *MEMBER),
        Message(
            "StreamsGroupTargetAssignmentMemberValue",
            (
                Field("activeTasks", Array(_TASK_IDS)),
                Field("standbyTasks", Array(_TASK_IDS)),
                Field("warmupTasks", Array(_TASK_IDS)),
            ),
        ),
    ),
    RecordType(
        22,
        "StreamsGroupCurrentMemberAssignment",
        keyed("StreamsGroupCurrentMemberAssignmentKey", *MEMBER),
        Message(
            "StreamsGroupCurrentMemberAssignmentValue",
            (
                Field("memberEpoch", "int32"),
                Field("previousMemberEpoch", "int32"),
                Field("state", "int8"),
                Field("activeTasks", Array(_TASK_IDS_SINCE)),
                Field("standbyTasks", Array(_TASK_IDS_SINCE)),
                Field("warmupTasks", Array(_TASK_IDS_SINCE)),
                Field("activeTasksPendingRevocation", Array(_TASK_IDS_SINCE)),
                Field("standbyTasksPendingRevocation", Array(_TASK_IDS_SINCE)),
                Field("warmupTasksPendingRevocation", Array(_TASK_IDS_SINCE)),
            ),
        ),
    ),
    RecordType(
        23,
        "StreamsGroupTopology",
        keyed("StreamsGroupTopologyKey", *GROUP),
        Message(
            "StreamsGroupTopologyValue",
            (
                Field("epoch", "int32"),
                Field(
                    "subtopologies",
                    Array(
                        Struct(
                            "Subtopology",
                            (
                                Field("subtopologyId", "string"),
                                Field("sourceTopics", Array("string")),
                                Field("sourceTopicRegex", Array("string")),
                                Field("stateChangelogTopics", Array(_TOPIC_INFO)),
                                Field("repartitionSinkTopics", Array("string")),
                                Field("repartitionSourceTopics", Array(_TOPIC_INFO)),
                                Field(
                                    "copartitionGroups",
                                    Array(
                                        Struct(
                                            "CopartitionGroup",
                                            (
                                                Field("sourceTopics", Array("int16")),
                                                Field("sourceTopicRegex", Array("int16")),
                                                Field("repartitionSourceTopics", Array("int16")),
                                            ),
                                        )
                                    ),
                                ),
                            ),
                        )
                    ),
                ),
            ),
        ),
    ),
)

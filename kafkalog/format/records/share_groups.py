"""Records of ``__consumer_offsets`` about share groups (KIP-932)."""

from __future__ import annotations

from typing import Final

from kafkalog.format.records.record_type import GROUP, MEMBER, RecordType, keyed
from kafkalog.format.schema import Array, Field, Message, Struct

__all__ = ["SHARE_GROUPS"]

_TOPIC_METADATA: Final = Struct(
    "TopicMetadata",
    (
        Field("topicId", "uuid"),
        Field("topicName", "string"),
        Field("numPartitions", "int32"),
        Field(
            "partitionMetadata",
            Array(
                Struct(
                    "PartitionMetadata",
                    (
                        Field("partition", "int32"),
                        Field("racks", Array("string")),
                    ),
                )
            ),
        ),
    ),
)
_TOPIC_PARTITIONS_INFO: Final = Struct(
    "TopicPartitionsInfo",
    (
        Field("topicId", "uuid"),
        Field("topicName", "string"),
        Field("partitions", Array("int32")),
    ),
)
SHARE_GROUPS: Final = (
    RecordType(
        9,
        "ShareGroupPartitionMetadata",
        keyed("ShareGroupPartitionMetadataKey", *GROUP),
        Message("ShareGroupPartitionMetadataValue", (Field("topics", Array(_TOPIC_METADATA)),)),
        last=(4, 0),
    ),
    RecordType(
        10,
        "ShareGroupMemberMetadata",
        keyed("ShareGroupMemberMetadataKey", *MEMBER),
        Message(
            "ShareGroupMemberMetadataValue",
            (
                Field("rackId", "string", nullable_since=0),
                Field("clientId", "string"),
                Field("clientHost", "string"),
                Field("subscribedTopicNames", Array("string")),
            ),
        ),
    ),
    RecordType(
        11,
        "ShareGroupMetadata",
        keyed("ShareGroupMetadataKey", *GROUP),
        Message(
            "ShareGroupMetadataValue",
            (
                Field("epoch", "int32"),
                Field("metadataHash", "int64"),
            ),
        ),
    ),
    RecordType(
        12,
        "ShareGroupTargetAssignmentMetadata",
        keyed("ShareGroupTargetAssignmentMetadataKey", *GROUP),
        Message(
            "ShareGroupTargetAssignmentMetadataValue",
            (
                Field("assignmentEpoch", "int32"),
                Field("assignmentTimestamp", "int64", tag=0, release=(4, 3)),
            ),
        ),
    ),
    RecordType(
        13,
        "ShareGroupTargetAssignmentMember",
        keyed("ShareGroupTargetAssignmentMemberKey", *MEMBER),
        Message(
            "ShareGroupTargetAssignmentMemberValue",
            (
                Field(
                    "topicPartitions",
                    Array(
                        Struct(
                            "TopicPartition",
                            (
                                Field("topicId", "uuid"),
                                Field("partitions", Array("int32")),
                            ),
                        )
                    ),
                ),
            ),
        ),
    ),
    RecordType(
        14,
        "ShareGroupCurrentMemberAssignment",
        keyed("ShareGroupCurrentMemberAssignmentKey", *MEMBER),
        Message(
            "ShareGroupCurrentMemberAssignmentValue",
            (
                Field("memberEpoch", "int32"),
                Field("previousMemberEpoch", "int32"),
                Field("state", "int8"),
                Field(
                    "assignedPartitions",
                    Array(
                        Struct(
                            "TopicPartitions",
                            (
                                Field("topicId", "uuid"),
                                Field("partitions", Array("int32")),
                            ),
                        )
                    ),
                ),
            ),
        ),
    ),
    RecordType(
        15,
        "ShareGroupStatePartitionMetadata",
        keyed("ShareGroupStatePartitionMetadataKey", *GROUP),
        Message(
            "ShareGroupStatePartitionMetadataValue",
            (
                Field("initializingTopics", Array(_TOPIC_PARTITIONS_INFO)),
                Field("initializedTopics", Array(_TOPIC_PARTITIONS_INFO)),
                Field(
                    "deletingTopics",
                    Array(
                        Struct(
                            "TopicInfo",
                            (
                                Field("topicId", "uuid"),
                                Field("topicName", "string"),
                            ),
                        )
                    ),
                ),
            ),
        ),
    ),
)

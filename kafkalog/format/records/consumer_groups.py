"""Records of ``__consumer_offsets`` about groups of the consumer protocol (KIP-848)."""

from __future__ import annotations

from typing import Final

from kafkalog.format.records.record_type import GROUP, MEMBER, RecordType, keyed
from kafkalog.format.schema import Array, Field, Message, Struct

__all__ = ["CONSUMER_GROUPS"]

_TOPIC_PARTITIONS: Final = Struct(
    "TopicPartitions",
    (
        Field("topicId", "uuid"),
        Field("partitions", Array("int32")),
        Field("assignmentEpochs", Array("int32"), nullable_since=0, tag=0, release=(4, 3)),
    ),
)
CONSUMER_GROUPS: Final = (
    RecordType(
        3,
        "ConsumerGroupMetadata",
        keyed("ConsumerGroupMetadataKey", *GROUP),
        Message(
            "ConsumerGroupMetadataValue",
            (
                Field("epoch", "int32"),
                Field("metadataHash", "int64", tag=0),
            ),
        ),
    ),
    RecordType(
        4,
        "ConsumerGroupPartitionMetadata",
        keyed("ConsumerGroupPartitionMetadataKey", *GROUP),
        Message(
            "ConsumerGroupPartitionMetadataValue",
            (
                Field(
                    "topics",
                    Array(
                        Struct(
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
                    ),
                ),
            ),
        ),
    ),
    RecordType(
        5,
        "ConsumerGroupMemberMetadata",
        keyed("ConsumerGroupMemberMetadataKey", *MEMBER),
        Message(
            "ConsumerGroupMemberMetadataValue",
            (
                Field("instanceId", "string", nullable_since=0),
                Field("rackId", "string", nullable_since=0),
                Field("clientId", "string"),
                Field("clientHost", "string"),
                Field("subscribedTopicNames", Array("string")),
                Field("subscribedTopicRegex", "string", nullable_since=0),
                Field("rebalanceTimeoutMs", "int32", default=-1),
                Field("serverAssignor", "string", nullable_since=0),
                Field(
                    "classicMemberMetadata",
                    Struct(
                        "ClassicMemberMetadata",
                        (
                            Field("sessionTimeoutMs", "int32"),
                            Field(
                                "supportedProtocols",
                                Array(
                                    Struct(
                                        "ClassicProtocol",
                                        (
                                            Field("name", "string"),
                                            Field("metadata", "bytes"),
                                        ),
                                    )
                                ),
                            ),
                        ),
                    ),
                    nullable_since=0,
                    tag=0,
                ),
            ),
        ),
    ),
    RecordType(
        6,
        "ConsumerGroupTargetAssignmentMetadata",
        keyed("ConsumerGroupTargetAssignmentMetadataKey", *GROUP),
        Message(
            "ConsumerGroupTargetAssignmentMetadataValue",
            (
                Field("assignmentEpoch", "int32"),
                Field("assignmentTimestamp", "int64", tag=0, release=(4, 3)),
            ),
        ),
    ),
    RecordType(
        7,
        "ConsumerGroupTargetAssignmentMember",
        keyed("ConsumerGroupTargetAssignmentMemberKey", *MEMBER),
        Message(
            "ConsumerGroupTargetAssignmentMemberValue",
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
        8,
        "ConsumerGroupCurrentMemberAssignment",
        keyed("ConsumerGroupCurrentMemberAssignmentKey", *MEMBER),
        Message(
            "ConsumerGroupCurrentMemberAssignmentValue",
            (
                Field("memberEpoch", "int32"),
                Field("previousMemberEpoch", "int32"),
                Field("state", "int8"),
                Field("assignedPartitions", Array(_TOPIC_PARTITIONS)),
                Field("partitionsPendingRevocation", Array(_TOPIC_PARTITIONS)),
            ),
        ),
    ),
    RecordType(
        16,
        "ConsumerGroupRegularExpression",
        keyed("ConsumerGroupRegularExpressionKey", Field("groupId", "string"), Field("regularExpression", "string")),
        Message(
            "ConsumerGroupRegularExpressionValue",
            (
                Field("topics", Array("string")),
                Field("version", "int64"),
                Field("timestamp", "int64"),
            ),
        ),
    ),
)

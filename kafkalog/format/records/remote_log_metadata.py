"""Records of ``__remote_log_metadata``: which segments lie in tiered storage (KIP-405)."""

from __future__ import annotations

from typing import Final

from kafkalog.format.records.record_type import RecordType
from kafkalog.format.schema import Array, Field, Message, Struct

__all__ = ["REMOTE_LOG_METADATA"]

_TOPIC_ID_PARTITION: Final = Struct(
    "TopicIdPartitionEntry",
    (
        Field("name", "string"),
        Field("id", "uuid"),
        Field("partition", "int32"),
    ),
)
_SEGMENT_ID: Final = Struct(
    "RemoteLogSegmentIdEntry",
    (
        Field("topicIdPartition", _TOPIC_ID_PARTITION),
        Field("id", "uuid"),
    ),
)
_LEADER_EPOCH: Final = Struct(
    "SegmentLeaderEpochEntry",
    (
        Field("leaderEpoch", "int32"),
        Field("offset", "int64"),
    ),
)
REMOTE_LOG_METADATA: Final = (
    RecordType(
        0,
        "RemoteLogSegmentMetadataRecord",
        None,
        Message(
            "RemoteLogSegmentMetadataRecord",
            (
                Field("remoteLogSegmentId", _SEGMENT_ID),
                Field("startOffset", "int64"),
                Field("endOffset", "int64"),
                Field("brokerId", "int32"),
                Field("maxTimestampMs", "int64"),
                Field("eventTimestampMs", "int64"),
                Field("segmentLeaderEpochs", Array(_LEADER_EPOCH)),
                Field("segmentSizeInBytes", "int32"),
                Field("customMetadata", "bytes", nullable_since=0, default=None),
                Field("remoteLogSegmentState", "int8"),
                Field("txnIndexEmpty", "bool", tag=0),
            ),
        ),
    ),
    RecordType(
        1,
        "RemoteLogSegmentMetadataUpdateRecord",
        None,
        Message(
            "RemoteLogSegmentMetadataUpdateRecord",
            (
                Field("remoteLogSegmentId", _SEGMENT_ID),
                Field("brokerId", "int32"),
                Field("eventTimestampMs", "int64"),
                Field("customMetadata", "bytes", nullable_since=0, default=None),
                Field("remoteLogSegmentState", "int8"),
            ),
        ),
    ),
    RecordType(
        2,
        "RemotePartitionDeleteMetadataRecord",
        None,
        Message(
            "RemotePartitionDeleteMetadataRecord",
            (
                Field("topicIdPartition", _TOPIC_ID_PARTITION),
                Field("brokerId", "int32"),
                Field("eventTimestampMs", "int64"),
                Field("remotePartitionDeleteState", "int8"),
            ),
        ),
    ),
    RecordType(
        3,
        "RemoteLogSegmentMetadataSnapshotRecord",
        None,
        Message(
            "RemoteLogSegmentMetadataSnapshotRecord",
            (
                Field("segmentId", "uuid"),
                Field("startOffset", "int64"),
                Field("endOffset", "int64"),
                Field("brokerId", "int32"),
                Field("maxTimestampMs", "int64"),
                Field("eventTimestampMs", "int64"),
                Field("segmentLeaderEpochs", Array(_LEADER_EPOCH)),
                Field("segmentSizeInBytes", "int32"),
                Field("customMetadata", "bytes", nullable_since=0, default=None),
                Field("remoteLogSegmentState", "int8"),
                Field("txnIndexEmpty", "bool", tag=0),
            ),
        ),
    ),
)

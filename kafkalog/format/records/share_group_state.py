"""Records of ``__share_group_state``: how far share groups have come, as snapshots and updates of them (KIP-932)."""

from __future__ import annotations

from typing import Final

from kafkalog.format.records.record_type import RecordType, keyed
from kafkalog.format.schema import Array, Field, Message, Struct

__all__ = ["SHARE_GROUP_STATE"]

_SHARE_PARTITION: Final = (
    Field("groupId", "string"),
    Field("topicId", "uuid"),
    Field("partition", "int32"),
)
_STATE_BATCH: Final = Struct(
    "StateBatch",
    (
        Field("firstOffset", "int64"),
        Field("lastOffset", "int64"),
        Field("deliveryState", "int8"),
        Field("deliveryCount", "int16"),
    ),
)
SHARE_GROUP_STATE: Final = (
    RecordType(
        0,
        "ShareSnapshot",
        keyed("ShareSnapshotKey", *_SHARE_PARTITION),
        Message(
            "ShareSnapshotValue",
            (
                Field("snapshotEpoch", "int32"),
                Field("stateEpoch", "int32"),
                Field("leaderEpoch", "int32"),
                Field("startOffset", "int64"),
                Field("deliveryCompleteCount", "int32", tag=0, default=-1),
                Field("createTimestamp", "int64"),
                Field("writeTimestamp", "int64"),
                Field("stateBatches", Array(_STATE_BATCH)),
            ),
        ),
    ),
    RecordType(
        1,
        "ShareUpdate",
        keyed("ShareUpdateKey", *_SHARE_PARTITION),
        Message(
            "ShareUpdateValue",
            (
                Field("snapshotEpoch", "int32"),
                Field("leaderEpoch", "int32"),
                Field("startOffset", "int64"),
                Field("deliveryCompleteCount", "int32", tag=0, default=-1),
                Field("stateBatches", Array(_STATE_BATCH)),
            ),
        ),
    ),
)

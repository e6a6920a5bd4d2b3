"""Records of ``__consumer_offsets``: offset commits, groups and their members, and the consumer protocol inside.

A coordinator keeps each group's state in them; a null value says that the key's state is gone.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from kafkalog.format.message import MalformedError, decode, escaped_text
from kafkalog.format.primitives import Text
from kafkalog.format.records.consumer_groups import CONSUMER_GROUPS
from kafkalog.format.records.record_type import RecordType, keyed
from kafkalog.format.records.share_groups import SHARE_GROUPS
from kafkalog.format.records.streams_groups import STREAMS_GROUPS
from kafkalog.format.schema import NEVER, Array, Field, Message, Struct, Value

__all__ = ["ASSIGNMENT", "CONSUMER_OFFSETS", "SUBSCRIPTION", "OffsetCommitKey", "offset_commit_key", "with_protocol"]

_GROUP_PARTITION: Final = (Field("group", "string"), Field("topic", "string"), Field("partition", "int32"))
_KEY: Final = keyed("OffsetCommitKey", *_GROUP_PARTITION)
_MEMBER: Final = Struct(
    "MemberMetadata",
    (
        Field("memberId", "string"),
        Field("groupInstanceId", "string", since=3, nullable_since=3, default=None),
        Field("clientId", "string"),
        Field("clientHost", "string"),
        Field("rebalanceTimeout", "int32", since=1, default=-1),
        Field("sessionTimeout", "int32"),
        Field("subscription", "bytes"),
        Field("assignment", "bytes"),
    ),
)
_COMMIT: Final = (
    Field("offset", "int64"),
    Field("leaderEpoch", "int32", since=3, default=-1),
    Field("metadata", "string"),
    Field("commitTimestamp", "int64"),
    Field("expireTimestamp", "int64", since=1, until=1, default=-1),
    Field("topicId", "uuid", since=4, tag=0),
)
_CLASSIC: Final = (
    RecordType(
        0,
        "LegacyOffsetCommit",
        keyed("LegacyOffsetCommitKey", *_GROUP_PARTITION),
        Message(
            "LegacyOffsetCommitValue",
            _COMMIT,
            flexible_since=4,
            newest=4,
            older=((98, 0), 0),  # every release from 4.1 on; before, any version of a commit's value came with this key
        ),
    ),
    RecordType(
        1,
        "OffsetCommit",
        _KEY,
        Message(
            "OffsetCommitValue",
            _COMMIT,
            flexible_since=4,
            newest=4,
        ),
    ),
    RecordType(
        2,
        "GroupMetadata",
        keyed("GroupMetadataKey", Field("group", "string")),
        Message(
            "GroupMetadataValue",
            (
                Field("protocolType", "string"),
                Field("generation", "int32"),
                Field("protocol", "string", nullable_since=0),
                Field("leader", "string", nullable_since=0),
                Field("currentStateTimestamp", "int64", since=2, default=-1),
                Field("members", Array(_MEMBER)),
            ),
            flexible_since=4,
            newest=4,
        ),
    ),
)
SUBSCRIPTION: Final = Message(
    "ConsumerProtocolSubscription",
    (
        Field("topics", Array("string")),
        Field("userData", "bytes", nullable_since=0, default=None),
        Field(
            "ownedPartitions",
            Array(
                Struct(
                    "TopicPartition",
                    (
                        Field("topic", "string", since=1),
                        Field("partitions", Array("int32"), since=1),
                    ),
                )
            ),
            since=1,
        ),
        Field("generationId", "int32", since=2, default=-1),
        Field("rackId", "string", since=3, nullable_since=3, default=None),
    ),
    flexible_since=NEVER,
    newest=3,
)
ASSIGNMENT: Final = Message(
    "ConsumerProtocolAssignment",
    (
        Field(
            "assignedPartitions",
            Array(
                Struct(
                    "TopicPartition",
                    (
                        Field("topic", "string"),
                        Field("partitions", Array("int32")),
                    ),
                )
            ),
        ),
        Field("userData", "bytes", nullable_since=0, default=None),
    ),
    flexible_since=NEVER,
    newest=3,
)

CONSUMER_OFFSETS: Final = (*_CLASSIC, *CONSUMER_GROUPS, *SHARE_GROUPS, *STREAMS_GROUPS)


class OffsetCommitKey(NamedTuple):
    """The group and the partition whose offset a record commits, or clears where its value is null."""

    group: str
    topic: str
    partition: int


def offset_commit_key(key: bytes | None) -> OffsetCommitKey | None:
    """Read a key; None where the record is none of an offset commit.

    Raises MalformedError where the bytes are no such key.
    """
    if key is None or len(key) < 2:
        raise MalformedError(f"the key needs 2 bytes for its type, {len(key or b'')} are there")
    number = int.from_bytes(key[:2], "big", signed=True)
    if number not in (0, 1):
        return None
    fields = decode(_KEY, 0, key[2:]).fields
    return OffsetCommitKey(fields["group"], fields["topic"], fields["partition"])


def with_protocol(fields: dict[str, Value], text: Text = escaped_text) -> dict[str, Value]:
    """Return a group's fields (GroupMetadataValue) with its members' subscriptions and assignments read.

    They are the consumer protocol's where the group's protocol type says so, opaque bytes else. What can't be read
    stays as it is.
    """
    if fields["protocolType"] != "consumer":
        return fields
    members = [
        {
            **member,
            "subscription": _embedded(SUBSCRIPTION, member["subscription"], text),
            "assignment": _embedded(ASSIGNMENT, member["assignment"], text),
        }
        for member in fields["members"]
    ]
    return {**fields, "members": members}


def _embedded(message: Message, data: bytes, text: Text) -> dict[str, Value] | bytes:
    if len(data) < 2:
        return data
    try:
        return decode(message, int.from_bytes(data[:2], "big", signed=True), data[2:], text=text).fields
    except MalformedError:
        return data

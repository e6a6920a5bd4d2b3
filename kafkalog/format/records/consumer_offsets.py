"""Records of ``__consumer_offsets``: offset commits, groups and their members, and the consumer protocol inside.

A coordinator keeps each group's state in them; a null value deletes the key's state.
"""

from __future__ import annotations

from typing import NamedTuple

from kafkalog.format.definitions import message
from kafkalog.format.message import MalformedError, decode, escaped_text
from kafkalog.format.primitives import Text
from kafkalog.format.schema import Value

__all__ = ["OffsetCommitKey", "offset_commit_key", "with_protocol"]


class OffsetCommitKey(NamedTuple):
    """The group and the partition whose offset a record commits, or deletes if its value is null."""

    group: str
    topic: str
    partition: int


def offset_commit_key(key: bytes | None) -> OffsetCommitKey | None:
    """Read a key; None if the record is not an offset commit.

    Raises MalformedError if the bytes are not such a key.
    """
    if key is None or len(key) < 2:
        raise MalformedError(f"the key needs 2 bytes for its type, found {len(key or b'')}")
    number = int.from_bytes(key[:2], "big", signed=True)
    if number not in (0, 1):
        return None
    fields = decode(message("consumer_offsets", "OffsetCommitKey"), 0, key[2:]).fields
    return OffsetCommitKey(fields["group"], fields["topic"], fields["partition"])


def with_protocol(fields: dict[str, Value], text: Text = escaped_text) -> dict[str, Value]:
    """Return a group's fields (GroupMetadataValue) with its members' subscriptions and assignments read.

    They are the consumer protocol's if the group's protocol type says so, otherwise opaque bytes. What can't be read
    stays as it is.
    """
    if fields["protocolType"] != "consumer":
        return fields
    members = [
        {
            **member,
            "subscription": _embedded("ConsumerProtocolSubscription", member["subscription"], text),
            "assignment": _embedded("ConsumerProtocolAssignment", member["assignment"], text),
        }
        for member in fields["members"]
    ]
    return {**fields, "members": members}


def _embedded(name: str, data: bytes, text: Text) -> dict[str, Value] | bytes:
    if len(data) < 2:
        return data
    schema = message("consumer_protocol", name)
    try:
        return decode(schema, int.from_bytes(data[:2], "big", signed=True), data[2:], text=text).fields
    except MalformedError:
        return data

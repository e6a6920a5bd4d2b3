"""Offset commits of ``__consumer_offsets`` (OffsetCommitKey): which group's offsets a record moves."""

from __future__ import annotations

from typing import Final, NamedTuple

from kafkalog.format.message import Field, MalformedError, Message, decode

__all__ = ["OffsetCommitKey", "offset_commit_key"]

_KEY: Final = Message(
    "OffsetCommitKey",
    (Field("group", "string"), Field("topic", "string"), Field("partition", "int32")),
    flexible_since=99,
)


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
    if int.from_bytes(key[:2], "big", signed=True) not in (0, 1):
        return None
    fields, _ = decode(_KEY, 0, key[2:])
    return OffsetCommitKey(fields["group"] or "", fields["topic"] or "", fields["partition"])

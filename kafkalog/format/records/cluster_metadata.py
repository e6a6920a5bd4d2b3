"""Records of ``__cluster_metadata`` that an audit needs: topics and their partitions (TopicRecord, PartitionRecord)."""

from __future__ import annotations

from typing import Final, NamedTuple

from kafkalog.format.message import Field, MalformedError, Message, decode

__all__ = ["PartitionRecord", "TopicRecord", "metadata_record"]

_FRAME_VERSION: Final = 1
_TOPIC: Final = Message("TopicRecord", (Field("name", "string"), Field("topicId", "uuid")))
# Only the fields before those that differ between versions; the rest is not looked at.
_PARTITION: Final = Message(
    "PartitionRecord", (Field("partitionId", "int32"), Field("topicId", "uuid")), flexible_since=99
)


class TopicRecord(NamedTuple):
    """A topic's name and id."""

    name: str
    topic_id: str


class PartitionRecord(NamedTuple):
    """A partition that was created."""

    partition: int
    topic_id: str


def metadata_record(value: bytes | None) -> TopicRecord | PartitionRecord | None:
    """Read a topic's or a partition's record; None for all other kinds.

    Raises MalformedError where the bytes are no metadata record of a known frame.
    """
    data = value or b""
    numbers = []
    position = 0
    for _ in range(3):  # frame version, type, version
        number = shift = 0
        while True:
            if position >= len(data) or shift > 28:
                raise MalformedError("the record's frame is cut short")
            byte = data[position]
            position += 1
            number |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                break
        numbers.append(number)
    frame, kind, _ = numbers
    if frame != _FRAME_VERSION:
        raise MalformedError(f"the frame's version is {frame}, not {_FRAME_VERSION}")
    if kind == 2:
        fields, _ = decode(_TOPIC, 0, data[position:])
        return TopicRecord(fields["name"] or "", fields["topicId"])
    if kind == 3:
        fields, _ = decode(_PARTITION, 0, data[position:])
        return PartitionRecord(fields["partitionId"], fields["topicId"])
    return None

"""What ``__remote_log_metadata`` says of remote segments: the states of each, over time.

A partition's records are all in one partition of the topic (``RemoteLogMetadataTopicPartitioner``). In its compacted
form (KIP-1266) a record has a key, ``topicId:topicName:partition:endOffset:brokerLeaderEpoch``; the newest of a key is
left, and a tombstone ends it.
"""

from __future__ import annotations

from base64 import urlsafe_b64decode
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

__all__ = ["DELETE_STATES", "SEGMENT_STATES", "RemoteLogMetadata", "SegmentStates", "metadata_partition"]

SEGMENT_STATES: Final = (
    "COPY_SEGMENT_STARTED", "COPY_SEGMENT_FINISHED", "DELETE_SEGMENT_STARTED", "DELETE_SEGMENT_FINISHED",
)  # fmt: skip
DELETE_STATES: Final = ("DELETE_PARTITION_MARKED", "DELETE_PARTITION_STARTED", "DELETE_PARTITION_FINISHED")
_KEY_PARTS: Final = 5
_MASK: Final = 0xFFFFFFFF


class SegmentKey(NamedTuple):
    """The key of a record of the compacted form."""

    topic_id: str
    topic: str
    partition: int
    end_offset: int
    broker_leader_epoch: int

    @classmethod
    def of(cls, key: bytes) -> SegmentKey | None:
        """Read a record's key; None if it is no such key."""
        parts = key.decode("utf-8", "replace").split(":")
        if len(parts) != _KEY_PARTS:
            return None
        try:
            return cls(parts[0], parts[1], *map(int, parts[2:]))
        except ValueError:
            return None


@dataclass(slots=True)
class SegmentStates:
    """A remote segment: its offsets and bytes, -1 where no record says them, and its states with their times (ms)."""

    segment_id: str
    start_offset: int = -1
    end_offset: int = -1
    size: int = -1
    states: list[tuple[str, int]] = field(default_factory=list)
    leader_epochs: tuple[tuple[int, int], ...] = ()
    txn_index_empty: bool = False
    key: SegmentKey | None = None

    @property
    def state(self) -> str:
        """Return the newest state, an empty string where no record says one."""
        return self.states[-1][0] if self.states else ""


@dataclass(slots=True)
class RemoteLogMetadata:
    """The remote segments of partitions, by topic id and number, then by segment id, in the order of their records.

    `newest` is the segment of each partition that its last record is about. `deleted` are the states of partitions
    whose topic is being deleted. `names` are the topics' names by their ids.
    """

    partitions: dict[tuple[str, int], dict[str, SegmentStates]] = field(default_factory=dict)
    newest: dict[tuple[str, int], str] = field(default_factory=dict)
    deleted: dict[tuple[str, int], str] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)

    def apply(self, value: Mapping[str, Any] | None, key: bytes | None) -> None:
        """Take in the next record of a partition of the topic: its value's fields, None in a tombstone."""
        known = None if key is None else SegmentKey.of(key)
        if value is None:
            self._forget(known)
        elif "remotePartitionDeleteState" in value:
            number = value["remotePartitionDeleteState"]
            place = value["topicIdPartition"]
            self.deleted[place["id"], place["partition"]] = _word(DELETE_STATES, number)
        elif "remoteLogSegmentId" in value:
            segment = value["remoteLogSegmentId"]
            place = segment["topicIdPartition"]
            self.names[place["id"]] = place["name"]
            self._segment((place["id"], place["partition"]), segment["id"], value, known)
        # RemoteLogSegmentMetadataSnapshotRecord is of a file that no release writes: it names no partition.

    def _segment(self, place: tuple[str, int], name: str, value: Mapping[str, Any], key: SegmentKey | None) -> None:
        one = self.partitions.setdefault(place, {}).setdefault(name, SegmentStates(name))
        self.newest[place] = name
        one.key = key or one.key
        if key is not None and one.end_offset < 0:
            one.end_offset = key.end_offset
        if "segmentSizeInBytes" in value:
            one.start_offset, one.end_offset = value["startOffset"], value["endOffset"]
            one.size = value["segmentSizeInBytes"]
            epochs = value["segmentLeaderEpochs"]
            one.leader_epochs = tuple((entry["leaderEpoch"], entry["offset"]) for entry in epochs)
            one.txn_index_empty = bool(value.get("txnIndexEmpty"))
        state = _word(SEGMENT_STATES, value["remoteLogSegmentState"])
        if not one.states or one.states[-1][0] != state:
            one.states.append((state, value["eventTimestampMs"]))

    def _forget(self, key: SegmentKey | None) -> None:
        """Forget the segments of a key: a tombstone says that the segment was deleted."""
        if key is not None:
            of_partition = self.partitions.get((key.topic_id, key.partition), {})
            for name in [name for name, one in of_partition.items() if one.key == key]:
                del of_partition[name]


def _word(words: tuple[str, ...], number: int) -> str:
    return words[number] if 0 <= number < len(words) else f"state {number}"


def metadata_partition(topic_id: str, partition: int, total: int) -> int:
    """Return the partition of ``__remote_log_metadata`` that has the records about a partition.

    It is ``toPositive(murmur2(hash)) % total`` of Java's ``Objects.hash`` of the topic id's halves, the lower one
    first, and the partition (``RemoteLogMetadataTopicPartitioner``; seen with 4.3.1). Raises ValueError for another id.
    """
    data = urlsafe_b64decode(f"{topic_id}==")
    if len(data) != 16:
        raise ValueError(f"{topic_id!r} is no topic id")
    high, low = (int.from_bytes(data[at : at + 8], "big") for at in (0, 8))
    found = 1
    for part in ((low ^ (low >> 32)) & _MASK, (high ^ (high >> 32)) & _MASK, partition):
        found = (31 * found + part) & _MASK
    return (_murmur2(found.to_bytes(4, "big")) & 0x7FFFFFFF) % total


def _murmur2(data: bytes) -> int:
    """Return Kafka's murmur2 of four bytes (``Utils.murmur2``)."""
    prime = 0x5BD1E995
    found = 0x9747B28C ^ len(data)
    word = int.from_bytes(data, "little") * prime & _MASK
    word = (word ^ (word >> 24)) * prime & _MASK
    found = (found * prime & _MASK) ^ word
    found = (found ^ (found >> 13)) * prime & _MASK
    return found ^ (found >> 15)

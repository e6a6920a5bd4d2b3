"""The offsets of share groups: snapshots and updates of ``__share_group_state``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from kafkalog.auditing.topics.internal import Written
from kafkalog.format.message_json import plain
from kafkalog.tables.internal import SHARE_OFFSETS

__all__ = ["ShareOffsets"]

_SNAPSHOT: Final = 0
_SAME: Final = -1  # a start offset in an update that does not change it


@dataclass(slots=True)
class _State:
    """A share partition after its records so far."""

    start_offset: int = -1
    state_epoch: int | None = None
    leader_epoch: int | None = None
    in_flight: Any = None
    newest: Written | None = None
    deleted: bool = False


class ShareOffsets:
    """The share partitions of one log, in the order of its records."""

    def __init__(self) -> None:
        self._states: dict[tuple[str, str, int], _State] = {}

    def take(self, record: Written) -> None:
        """Take in the next record."""
        content = record.content
        if content is None or content.key is None:
            return
        state = self._states.setdefault(
            (content.key["groupId"], content.key["topicId"], content.key["partition"]), _State()
        )
        state.newest = record
        state.deleted = content.value is None
        if content.value is None:
            return
        value = content.value
        state.leader_epoch = value["leaderEpoch"]
        state.in_flight = plain(value["stateBatches"])
        if content.type == _SNAPSHOT:
            state.state_epoch = value["stateEpoch"]
        if content.type == _SNAPSHOT or value["startOffset"] != _SAME:
            state.start_offset = value["startOffset"]

    def rows(self, topics: Mapping[str, str], log: str) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of the table ``share_offsets``; `topics` are names by id."""
        for (group, topic_id, partition), state in sorted(self._states.items()):
            assert state.newest is not None  # a state begins with a record
            yield SHARE_OFFSETS.of(
                group=group,
                topic_id=topic_id,
                topic=topics.get(topic_id),
                partition=partition,
                start_offset=state.start_offset,
                state_epoch=state.state_epoch,
                leader_epoch=state.leader_epoch,
                in_flight=state.in_flight,
                timestamp_ms=state.newest.timestamp,
                offset=state.newest.offset,
                deleted=state.deleted,
                log=log,
            )

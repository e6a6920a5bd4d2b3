"""Offset commits: what each group committed, in which transaction, and whether that counts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from kafkalog.auditing.topics.commit_keys import COMMIT_TYPES, CommitKeys
from kafkalog.auditing.topics.fates import ABORTED, COMMITTED, STATES, Fates
from kafkalog.format import kernel
from kafkalog.format.message import escaped_text
from kafkalog.format.primitives import uuid_text
from kafkalog.log.internal_blocks import InternalRecords
from kafkalog.log.moment import Moment
from kafkalog.tables import internal as tables

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Commits", "stated"]

_COMMITTED, _ABORTED = map(STATES.index, (COMMITTED, ABORTED))
_NO_UUID: Final = bytes(16)


class Commits(NamedTuple):
    """The offset commits of a block, tombstones among them: their rows, and columns of these rows.

    `key` is a number of the log's ``CommitKeys``, `state` one of ``STATES``, `fate` a transaction or -1. `offset` is
    ``NONE`` in a tombstone.
    """

    records: InternalRecords
    rows: NDArray[Any]
    key: NDArray[Any]
    producer_id: NDArray[np.int64]
    is_transactional: NDArray[np.bool_]
    is_tombstone: NDArray[np.bool_]
    fate: NDArray[np.intp]
    state: NDArray[np.int8]
    fields: dict[str, NDArray[np.int64]]

    @classmethod
    def of(
        cls, records: InternalRecords, rows: NDArray[Any], keys: NDArray[Any], fates: Fates, moment: Moment
    ) -> Commits:
        """Read the commits in these rows, which ascend and could be read; states are those at the moment."""
        is_transactional = records.is_transactional[rows]
        producer_id = records.of_batches(kernel.PRODUCER_ID)[rows]
        fate = np.full(len(rows), -1)
        state = np.full(len(rows), _COMMITTED, np.int8)
        if is_transactional.any():
            of = np.flatnonzero(is_transactional)
            fate[of] = fates.rows(producer_id[of], records.offset[rows][of])
            state[of] = fates.states(fate[of], moment)
        parts = records.values(COMMIT_TYPES, rows)
        fields = {name: records.field(parts, *column)[rows] for name, column in _FIELDS.items()}
        return cls(
            records, rows, keys, producer_id, is_transactional, records.is_tombstone[rows], fate, state, fields,
        )  # fmt: skip

    def offset_rows(self, log: str, keys: CommitKeys, fates: Fates) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of the table ``offsets``."""
        columns = {
            "record_offset": self.records.offset[self.rows],
            "timestamp_ms": self.records.timestamp[self.rows],
            "group": keys.group[self.key],
            "topic": keys.topic[self.key],
            "partition": keys.partition[self.key],
            "is_decided": (self.fate >= 0) & ((self.state == _COMMITTED) | (self.state == _ABORTED)),
            "marker_offset": fates.marker_offset[self.fate] if len(fates) else self.fate,
            "producer_id": self.producer_id,
            "transactional": self.is_transactional,
            "tombstone": self.is_tombstone,
            "state": self.state,
            **self.fields,
        }
        lists = {name: column.tolist() for name, column in columns.items()}
        for row in zip(*lists.values(), strict=True):
            found = dict(zip(lists, row, strict=True))
            there = not found["tombstone"]
            yield tables.OFFSETS.of(
                log=log,
                record_offset=found["record_offset"],
                timestamp_ms=found["timestamp_ms"],
                group=keys.groups.texts[found["group"]],
                topic=keys.topics.texts[found["topic"]],
                partition=found["partition"],
                offset=found["offset"] if there else None,
                leader_epoch=stated(found["leader_epoch"]),
                metadata=self._text(found["metadata"], found["metadata_size"]),
                commit_timestamp_ms=found["commit_timestamp"] if there else None,
                expire_timestamp_ms=stated(found["expire_timestamp"]),
                topic_id=self._uuid(found["topic_id"]),
                transactional=found["transactional"],
                producer_id=found["producer_id"] if found["transactional"] else None,
                state=STATES[found["state"]],
                marker_offset=found["marker_offset"] if found["is_decided"] else None,
                tombstone=found["tombstone"],
            )

    def _text(self, start: int, size: int) -> str | None:
        return None if size < 0 else escaped_text(bytes(self.records.buf[start : start + size]))

    def _uuid(self, start: int) -> str | None:
        data = _NO_UUID if start < 0 else bytes(self.records.buf[start : start + 16])
        return None if data == _NO_UUID else uuid_text(data)


# Fields of the values: their names in Kafka's words, and which of the columns.
_FIELDS: Final = {
    "offset": ("offset", 0),
    "leader_epoch": ("leaderEpoch", 0),
    "metadata": ("metadata", 0),
    "metadata_size": ("metadata", 1),
    "commit_timestamp": ("commitTimestamp", 0),
    "expire_timestamp": ("expireTimestamp", 0),
    "topic_id": ("topicId", 0),
}


def stated(number: int) -> int | None:
    """Return a number, None for -1."""
    return None if number == -1 else number

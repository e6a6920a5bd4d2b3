"""Offset commits: what each group committed, in which transaction, and whether that counts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from kafkalog.auditing.topics.commit_keys import COMMIT_TYPES
from kafkalog.auditing.topics.fates import COMMITTED, STATES, Fates
from kafkalog.format import kernel
from kafkalog.log.internal_blocks import InternalRecords
from kafkalog.log.moment import Moment

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Commits"]

_COMMITTED: Final = STATES.index(COMMITTED)


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

    def part(self, first: int, stop: int) -> Commits:
        """Return only some of them."""
        columns = {
            name: column[first:stop] for name, column in self._asdict().items() if name not in ("records", "fields")
        }
        return self._replace(fields={name: one[first:stop] for name, one in self.fields.items()}, **columns)


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

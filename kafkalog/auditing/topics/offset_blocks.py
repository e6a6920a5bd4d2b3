"""Offset commits as columns of the table ``offsets``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from kafkalog.auditing.topics.commit_keys import CommitKeys
from kafkalog.auditing.topics.fates import ABORTED, COMMITTED, STATES, UNKNOWN, Fates
from kafkalog.auditing.topics.offsets import Commits
from kafkalog.format.columns import BASE64, bytes_kinds
from kafkalog.format.message import escaped_text
from kafkalog.format.primitives import uuid_text
from kafkalog.log.block_makers import BlockLayout
from kafkalog.log.blocks import BlockColumn, Kind, Rows
from kafkalog.tables.internal import OFFSETS

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["OffsetBlocks"]

_DECIDED: Final = [STATES.index(COMMITTED), STATES.index(ABORTED)]
_UUID: Final = 16
_MOST: Final = 1 << 21  # bytes that clients stored, in a block
_TEXTS: Final = ("group", "topic", "metadata", "topic_id")
_NULLABLE: Final = frozenset({
    "offset", "leader_epoch", "commit_timestamp_ms", "expire_timestamp_ms", "producer_id", "state", "marker_offset",
})  # fmt: skip


class OffsetBlocks:
    """Makes blocks of at most `room` commits in one log, a multiple of 8, with the named columns."""

    def __init__(self, log: str, names: Sequence[str], room: int) -> None:
        layout = BlockLayout(OFFSETS, log, room)
        words = {"log": (log,), "state": tuple(word for word in STATES if word is not None)}
        for name in OFFSETS.names:
            if name in _TEXTS:
                layout.columns[name] = BlockColumn(name, Kind.TEXT, layout.run(3))
            else:
                layout.number(name, words.get(name, ()), is_nullable=name in _NULLABLE)
        weight = layout.run(2)
        self._columns = layout.columns
        self._block = layout.block(OFFSETS.names)
        self._block.columns = tuple(layout.columns[name] for name in names)
        self._block.weight = weight
        self._cells = np.frombuffer(self._block.cells, np.int64)
        self._valid = np.frombuffer(self._block.valid, np.uint8)

    def of(self, commits: Commits, keys: CommitKeys, fates: Fates) -> Iterator[Rows]:
        """Yield the rows of these commits, all at once unless clients stored much; the next ones use the same cells."""
        sizes = np.cumsum(np.maximum(commits.fields["metadata_size"], 0))
        first = 0
        while first < len(commits.rows):
            before = int(sizes[first - 1]) if first else 0
            stop = max(int(np.searchsorted(sizes, before + _MOST, "right")), first + 1)
            is_all = not first and stop == len(commits.rows)
            yield self._rows(commits if is_all else commits.part(first, stop), keys, fates)
            first = stop

    def _rows(self, commits: Commits, keys: CommitKeys, fates: Fates) -> Rows:
        block, count = self._block, len(commits.rows)
        block.count = count
        fields, there = commits.fields, ~commits.is_tombstone
        self._put("record_offset", commits.records.offset[commits.rows])
        self._put("timestamp_ms", commits.records.timestamp[commits.rows])
        self._put("partition", keys.partition[commits.key])
        self._put("offset", fields["offset"], there)
        self._put("leader_epoch", fields["leader_epoch"], fields["leader_epoch"] != -1)
        self._put("commit_timestamp_ms", fields["commit_timestamp"], there)
        self._put("expire_timestamp_ms", fields["expire_timestamp"], fields["expire_timestamp"] != -1)
        self._put("transactional", commits.is_transactional)
        self._put("producer_id", commits.producer_id, commits.is_transactional)
        self._put("state", np.where(commits.state == UNKNOWN, 0, commits.state), commits.state != UNKNOWN)
        markers = fates.marker_offset[commits.fate] if len(fates) else commits.fate
        self._put("marker_offset", markers, (commits.fate >= 0) & np.isin(commits.state, _DECIDED))
        self._put("tombstone", commits.is_tombstone)
        self._cells[block.weight : block.weight + count] = 0
        data = bytearray()
        self._names("group", keys.groups.texts, keys.group[commits.key], data)
        self._names("topic", keys.topics.texts, keys.topic[commits.key], data)
        self._metadata(commits, data)
        self._topic_ids(commits, data)
        block.buf = data
        return Rows(block, 0, count)

    def _put(self, name: str, values: NDArray[Any], there: NDArray[np.bool_] | None = None) -> None:
        column, count = self._columns[name], len(values)
        self._cells[column.at : column.at + count] = values
        if there is not None:
            bits = np.packbits(there, bitorder="little")
            self._valid[column.bit // 8 : column.bit // 8 + len(bits)] = bits

    def _text(self, name: str, starts: NDArray[Any], sizes: NDArray[Any], data: bytearray) -> NDArray[np.int64]:
        """Write where the texts of a column are in `data`, a size of -1 for none; return what they are."""
        block, at, count = self._block, self._columns[name].at, len(starts)
        cells, room = self._cells, block.room
        cells[at : at + count] = np.where(sizes > 0, starts, 0)
        cells[at + room : at + room + count] = sizes
        bytes_kinds(data, block.cells, at, at + room, at + 2 * room, count)
        cells[block.weight : block.weight + count] += np.maximum(sizes, 0)
        return cells[at + 2 * room : at + 2 * room + count]

    def _names(self, name: str, texts: Sequence[str], numbers: NDArray[Any], data: bytearray) -> None:
        """Write names, those that are equal once."""
        different, of = np.unique(numbers, return_inverse=True)
        starts, sizes = _added([texts[number].encode() for number in different.tolist()], data)
        self._text(name, starts[of], sizes[of], data)

    def _metadata(self, commits: Commits, data: bytearray) -> None:
        """Copy what clients stored; bytes that are not UTF-8 are escaped with backslashes."""
        starts, sizes = commits.fields["metadata"], commits.fields["metadata_size"]
        first = int(starts[sizes > 0].min(initial=np.iinfo(np.int64).max))
        last = int((starts + sizes)[sizes > 0].max(initial=0))
        base = len(data) - first
        data += commits.records.buf[first:last]
        odd = np.flatnonzero(self._text("metadata", base + starts, sizes, data) == BASE64)
        if len(odd):
            at, size = starts[odd].tolist(), sizes[odd].tolist()
            buf = commits.records.buf
            texts = [
                escaped_text(bytes(buf[start : start + long])).encode() for start, long in zip(at, size, strict=True)
            ]
            starts, sizes = base + starts, sizes.copy()
            starts[odd], sizes[odd] = _added(texts, data)
            self._cells[self._block.weight : self._block.weight + len(starts)] -= np.maximum(
                commits.fields["metadata_size"], 0
            )
            self._text("metadata", starts, sizes, data)

    def _topic_ids(self, commits: Commits, data: bytearray) -> None:
        positions = commits.fields["topic_id"]
        starts, sizes = np.zeros(len(positions), np.int64), np.full(len(positions), -1)
        some = np.flatnonzero(positions >= 0)
        if len(some):
            every = np.frombuffer(commits.records.buf, np.uint8)
            ids = every[positions[some][:, np.newaxis] + np.arange(_UUID)]
            some, ids = some[ids.any(axis=1)], ids[ids.any(axis=1)]
            different, of = np.unique(ids, axis=0, return_inverse=True)
            if len(some):
                where, size = _added([uuid_text(one.tobytes()).encode() for one in different], data)
                starts[some], sizes[some] = where[of.reshape(-1)], size[of.reshape(-1)]
        self._text("topic_id", starts, sizes, data)


def _added(texts: Sequence[bytes], data: bytearray) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Add texts to `data`; return where each begins, and its size."""
    sizes = np.fromiter(map(len, texts), np.int64, len(texts))
    starts = len(data) + np.cumsum(sizes) - sizes
    data += b"".join(texts)
    return starts, sizes

"""What offset commits are for: groups, topics and partitions, numbered in the order in which they first occur."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from kafkalog.format.message import escaped_text
from kafkalog.format.numbered import Numbered
from kafkalog.log.internal_blocks import InternalRecords, Part
from kafkalog.narrowing import matches

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["COMMIT_TYPES", "CommitKeys", "Names", "WantedNames", "grown"]

COMMIT_TYPES: Final = (0, 1)
_ROOM: Final = 256  # rows at first
_TYPE_BYTES: Final = 2  # that a key begins with


def grown(column: NDArray[Any], rows: int, missing: int) -> NDArray[Any]:
    """Return a column with room for so many rows, twice its own at least; new rows are `missing`."""
    if rows <= len(column):
        return column
    room = max(rows, 2 * len(column), _ROOM)
    return np.concatenate([column, np.full((room - len(column), *column.shape[1:]), missing, column.dtype)])


class Names:
    """Texts numbered from 0 on. Bytes that are not UTF-8 may be escaped to the text of others: then they are equal."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self._bytes = Numbered()
        self._of_bytes = np.empty(0, np.int32)
        self._of_text: dict[str, int] = {}

    def number(self, text: str) -> int:
        """Return a text's number."""
        number = self._of_text.setdefault(text, len(self.texts))
        if number == len(self.texts):
            self.texts.append(text)
        return number

    def numbers(self, records: InternalRecords, starts: NDArray[np.int64], sizes: NDArray[np.int64]) -> NDArray[Any]:
        """Return the numbers of texts in a block's bytes."""
        known = len(self._bytes)
        found = np.frombuffer(self._bytes.numbers(records.buf, starts.data, sizes.data), np.int64)
        self._of_bytes = grown(self._of_bytes, len(self._bytes), 0)
        for number in range(known, len(self._bytes)):
            self._of_bytes[number] = self.number(escaped_text(self._bytes[number]))
        return self._of_bytes[found]

    def forget_bytes(self) -> None:
        """Keep only the texts and their numbers: no more bytes are numbered."""
        self._bytes, self._of_bytes = Numbered(), np.empty(0, np.int32)
        self._of_text.clear()


class WantedNames:
    """Which of numbered names are meant by names or patterns; without any, all are."""

    def __init__(self, names: Names, patterns: Collection[str]) -> None:
        self.narrow = bool(patterns)
        self._names = names
        self._patterns = patterns
        self._is_wanted = np.empty(0, np.bool_)

    def of(self, numbers: NDArray[Any]) -> NDArray[np.bool_]:
        """Say which of these numbers stand for names that are meant."""
        new = [matches(name, self._patterns) for name in self._names.texts[len(self._is_wanted) :]]
        self._is_wanted = np.concatenate([self._is_wanted, np.array(new, np.bool_)])
        found: NDArray[np.bool_] = self._is_wanted[numbers]
        return found


class CommitKeys:
    """The partitions of groups that commits are for; `groups` may have more names than commits are for."""

    def __init__(self, groups: Names, topics: Names) -> None:
        self.groups = groups
        self.topics = topics
        self._columns = np.empty((0, 3), np.int32)
        self._bytes = Numbered()
        self._of_bytes = np.empty(0, np.int32)
        self._triples = Numbered()
        self._count = 0

    @property
    def group(self) -> NDArray[np.int32]:
        """Return the keys' groups, as numbers of `groups`."""
        return self._columns[: len(self), 0]

    @property
    def topic(self) -> NDArray[np.int32]:
        """Return the keys' topics, as numbers of `topics`."""
        return self._columns[: len(self), 1]

    @property
    def partition(self) -> NDArray[np.int32]:
        """Return the keys' partitions."""
        return self._columns[: len(self), 2]

    def __len__(self) -> int:
        return self._count

    def numbers(self, records: InternalRecords, rows: NDArray[Any]) -> NDArray[Any]:
        """Return the numbers of these rows of a block, which are commits with keys that could be read."""
        known = len(self._bytes)
        starts, sizes = records.key_start[rows] + _TYPE_BYTES, records.key_size[rows] - _TYPE_BYTES
        found = np.frombuffer(self._bytes.numbers(records.buf, starts.data, sizes.data), np.int64)
        if len(self._bytes) > known:
            numbers, first = np.unique(found, return_index=True)
            self._of_bytes = grown(self._of_bytes, len(self._bytes), 0)
            self._of_bytes[known : len(self._bytes)] = self._new(records, rows[first[numbers >= known]])
        return self._of_bytes[found]

    def _new(self, records: InternalRecords, rows: NDArray[Any]) -> NDArray[Any]:
        """Number keys whose bytes were not there before; equal names may have different bytes."""
        parts = records.keys(COMMIT_TYPES, rows)
        group, topic = (_names(names, records, parts, field, rows) for names, field in
                        ((self.groups, "group"), (self.topics, "topic")))  # fmt: skip
        partition = records.field(parts, "partition")[rows]
        triples = np.column_stack([group, topic, partition]).astype(np.int32)
        size = triples.itemsize * triples.shape[1]
        starts, sizes = np.arange(len(triples)) * size, np.full(len(triples), size)
        known = len(self._triples)
        found = np.frombuffer(self._triples.numbers(triples.tobytes(), starts.data, sizes.data), np.int64)
        numbers, first = np.unique(found, return_index=True)
        self._columns = grown(self._columns, len(self._triples), 0)
        self._columns[known : len(self._triples)] = triples[first[numbers >= known]]
        self._count = len(self._triples)
        return found

    def forget_bytes(self) -> None:
        """Keep only the keys: no more bytes are numbered."""
        self._bytes, self._triples, self._of_bytes = Numbered(), Numbered(), np.empty(0, np.int32)
        self.topics.forget_bytes()


def _names(
    names: Names, records: InternalRecords, parts: Collection[Part], field: str, rows: NDArray[Any]
) -> NDArray[Any]:
    starts, sizes = (records.field(parts, field, number)[rows] for number in (0, 1))
    return names.numbers(records, starts, sizes)

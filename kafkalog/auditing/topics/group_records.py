"""The records of groups and their members in one log: of each key the newest, kept as bytes until a row is made."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from kafkalog.auditing.topics.commit_keys import Names, WantedNames, grown
from kafkalog.auditing.topics.committed import newest
from kafkalog.auditing.topics.group_states import GroupState, Newest
from kafkalog.format.internal import internal_record
from kafkalog.format.internal_topics import Internal
from kafkalog.format.numbered import Numbered
from kafkalog.log.internal_blocks import InternalRecords

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["GroupRecords", "NewestOfGroups"]


class NewestOfGroups:
    """The last record of each group, by the groups' numbers."""

    def __init__(self) -> None:
        self._columns = np.empty((0, len(Newest._fields)), np.int64)
        self._is_there = np.empty(0, np.bool_)

    def take(self, records: InternalRecords, rows: NDArray[Any], groups: NDArray[Any]) -> None:
        """Take in the next records of the log, `groups` are those that they are about."""
        at, group = newest(groups, np.ones(len(groups), np.bool_))
        size = int(group.max(initial=-1)) + 1
        self._columns, self._is_there = grown(self._columns, size, 0), grown(self._is_there, size, 0)
        of = rows[at]
        self._columns[group] = np.column_stack([records.offset[of], records.timestamp[of], records.type[of]])
        self._is_there[group] = True

    def of(self, group: int) -> Newest | None:
        """Return the last record of a group; None without records."""
        if group >= len(self._is_there) or not self._is_there[group]:
            return None
        return Newest(*self._columns[group].tolist())

    @property
    def groups(self) -> set[int]:
        """Return the groups that have records."""
        return set(np.flatnonzero(self._is_there).tolist())


class _Key(NamedTuple):
    """A key: the group's number, the type with the key's fields, and its bytes."""

    group: int
    fields: tuple[Any, ...]
    data: bytes


class GroupRecords:
    """Takes in the records of groups in the order of the log; only the newest of each key is read."""

    def __init__(self, groups: Names) -> None:
        self.newest = NewestOfGroups()
        self._groups = groups
        self._bytes = Numbered()
        self._of_bytes = np.empty(0, np.int32)
        self._group = np.empty(0, np.int32)
        self._keys: dict[int, _Key] = {}
        self._count = 0
        self._of_fields: dict[tuple[Any, ...], int] = {}
        self._values: dict[int, bytes] = {}  # in the order of the newest records

    def take(self, records: InternalRecords, rows: NDArray[Any], wanted: WantedNames) -> NDArray[Any]:
        """Take in those of a block's records that could be read, of the groups that are `wanted`; return their rows."""
        if not len(rows):
            return rows
        keys = self._numbers(records, rows)
        if wanted.narrow:
            is_one = wanted.of(self._group[keys])
            rows, keys = rows[is_one], keys[is_one]
        self.newest.take(records, rows, self._group[keys])
        at, _ = newest(keys, np.ones(len(keys), np.bool_))
        at.sort()
        for key, number in zip(keys[at].tolist(), rows[at].tolist(), strict=True):
            self._values.pop(key, None)
            value = records.block.value(number)
            if value is not None:
                self._values[key] = value
        return rows

    def _numbers(self, records: InternalRecords, rows: NDArray[Any]) -> NDArray[Any]:
        """Return the numbers of the records' keys; names that are equal may have different bytes."""
        known = len(self._bytes)
        starts, sizes = records.key_start[rows], records.key_size[rows]
        found = np.frombuffer(self._bytes.numbers(records.buf, starts.data, sizes.data), np.int64)
        self._of_bytes = grown(self._of_bytes, len(self._bytes), 0)
        for number in range(known, len(self._bytes)):
            self._of_bytes[number] = self._key(self._bytes[number])
        return self._of_bytes[found]

    def _key(self, data: bytes) -> int:
        read = internal_record(Internal.OFFSETS, data, None)
        assert read.key is not None  # the topic's records have keys
        fields = (read.type, *read.key.values())
        number = self._of_fields.setdefault(fields, self._count)
        if number == self._count:
            group = self._groups.number(read.key["groupId"] if "groupId" in read.key else read.key["group"])
            self._keys[number] = _Key(group, fields, data)
            self._count += 1
            self._group = grown(self._group, self._count, 0)
            self._group[number] = group
        return number

    def forget_bytes(self) -> None:
        """Keep only the newest values and their keys: no more bytes are numbered."""
        self._bytes, self._of_bytes = Numbered(), np.empty(0, np.int32)
        self._of_fields.clear()
        self._keys = {key: self._keys[key] for key in self._values}

    def keys(self) -> dict[int, list[int]]:
        """Return the keys that have a value, by the groups that have records."""
        of_groups: dict[int, list[int]] = {group: [] for group in self.newest.groups}
        for key in self._values:
            of_groups[self._keys[key].group].append(key)
        return of_groups

    def state(self, group: int, keys: Iterable[int]) -> GroupState:
        """Return what a group is by the newest values of its keys, which are read here."""
        return GroupState(dict(map(self._read, keys)), self.newest.of(group))

    def _read(self, number: int) -> tuple[tuple[Any, ...], dict[str, Any]]:
        key = self._keys[number]
        read = internal_record(Internal.OFFSETS, key.data, self._values[number])
        assert read.value is not None  # tombstones are not kept
        return key.fields, read.value

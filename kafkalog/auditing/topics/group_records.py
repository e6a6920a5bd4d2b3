"""The records of groups and their members in one log: of each key the newest, kept as bytes until a row is made."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from kafkalog.auditing.topics.commits import Names, WantedNames, grown
from kafkalog.columns.sorted_rows import last_of_each
from kafkalog.columns.texts import Numbered
from kafkalog.kafka.internal_block import with_protocol
from kafkalog.kafka.internal_records import internal_record
from kafkalog.kafka.internal_topics import Internal
from kafkalog.kafka.message_json import plain
from kafkalog.segments.internal_blocks import InternalRecords
from kafkalog.tables.internal_tables import GROUPS

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["GroupRecords", "GroupState", "Newest", "NewestOfGroups"]


# Groups as a coordinator has them after it loads their records: kind, state, epoch and members.


Fields = dict[str, Any]

# By the numbers of the record types: the group itself, its members, the assignment as a whole, each member's state.
_KINDS: Final = {
    "classic": (2, None, None, None),
    "consumer": (3, 5, 6, 8),
    "share": (11, 10, 12, 14),
    "streams": (17, 19, 20, 22),
}

_KIND_OF: Final = {
    **dict.fromkeys((2,), "classic"),
    **dict.fromkeys((3, 4, 5, 6, 7, 8, 16), "consumer"),
    **dict.fromkeys(range(9, 16), "share"),
    **dict.fromkeys(range(17, 24), "streams"),
}

_TOPOLOGY: Final = 23  # of a streams group: what the topics are for; its group's record has the last one that fits them

_STABLE: Final = {"consumer": 0, "streams": 1}  # of a member's states, which the two kinds number apart


class Newest(NamedTuple):
    """The last record of a group in a log, of all its kinds or of its commits."""

    offset: int
    timestamp: int
    type: int


class GroupState(NamedTuple):
    """The newest value under each key of one group, tombstones left out, in the order of their records.

    A key is the type and the key's fields. `newest` is the last record of all, None where there are only commits.
    """

    values: dict[tuple[Any, ...], Fields]
    newest: Newest | None

    @property
    def kind(self) -> str:
        """Return the kind of the records that are left, else of the last record; ``simple`` where there was none."""
        numbers = list(self.values)
        number = numbers[-1][0] if numbers else self.newest.type if self.newest is not None else None
        return "simple" if number is None else _KIND_OF.get(number, "simple")

    def row(
        self, group: str, log: str, counts: tuple[int, int], commit: Newest | None, deletion: Newest | None = None
    ) -> tuple[Any, ...]:
        """Make a row of the table ``groups``; `counts` are its committed and pending partitions.

        `commit` is the last record that has an offset, `deletion` the last tombstone of one.
        """
        kind = self.kind
        about = self._one(_KINDS[kind][0]) if kind != "simple" else {}
        members = self._members(kind, about)
        epoch = about.get("generation", about.get("epoch"))
        assigned = self._one(_KINDS[kind][2]).get("assignmentEpoch") if kind != "simple" else None
        newest = max(
            (record for record in (self.newest, commit, deletion) if record is not None),
            key=lambda record: record.offset,
        )
        return GROUPS.of(
            group=group,
            kind=kind,
            state=self._state(kind, about, members, assigned) if self._is_there(commit) else "deleted",
            epoch=epoch,
            assignment_epoch=assigned,
            protocol_type=about.get("protocolType") or None,
            protocol=about.get("protocol"),
            leader=about.get("leader"),
            members=members,
            topics=_topics(members.values()),
            committed=counts[0],
            pending=counts[1],
            timestamp_ms=newest.timestamp,
            offset=newest.offset,
            log=log,
        )

    def _one(self, number: int | None) -> Fields:
        """Return the value of a type of which a group has one record."""
        return next((value for key, value in self.values.items() if key[0] == number), {})

    def _of_members(self, number: int | None) -> dict[str, Fields]:
        return {key[2]: value for key, value in self.values.items() if key[0] == number and len(key) > 2}

    def _members(self, kind: str, about: Fields) -> dict[str, Fields]:
        if kind == "classic":
            members = with_protocol(about)["members"] if about else ()
            return {member["memberId"]: plain(member) for member in members}
        if kind == "simple":
            return {}
        _, listed, _, current = _KINDS[kind]
        states = self._of_members(current)
        found = {name: {**value, **states.get(name, {})} for name, value in self._of_members(listed).items()}
        return {name: plain(fields) for name, fields in found.items()}

    def _is_there(self, commit: Newest | None) -> bool:
        """Say whether a coordinator has the group: a commit makes it, and of offsets alone it is not unmade."""
        if self.values or commit is None:
            return bool(self.values)
        return self.newest is None or self.newest.offset < commit.offset

    def _state(self, kind: str, about: Fields, members: dict[str, Fields], assigned: int | None) -> str:
        if not members:
            return "empty"
        if kind == "streams" and self._one(_TOPOLOGY).get("epoch") != about.get("validatedTopologyEpoch"):
            return "not-ready"
        if kind in ("consumer", "streams"):
            epoch = about.get("epoch")
            if assigned is None or (epoch is not None and epoch > assigned):
                return "assigning"
            if any(m.get("state") != _STABLE[kind] or m.get("memberEpoch") != assigned for m in members.values()):
                return "reconciling"
        return "stable"


def _topics(members: Iterable[Fields]) -> list[str]:
    """Return the names of the topics that members subscribe to."""
    found: set[str] = set()
    for member in members:
        subscription = member.get("subscription", member)
        if isinstance(subscription, dict):
            found.update(subscription.get("topics", subscription.get("subscribedTopicNames")) or ())
    return sorted(found)


class NewestOfGroups:
    """The last record of each group, by the groups' numbers."""

    def __init__(self) -> None:
        self._columns = np.empty((0, len(Newest._fields)), np.int64)
        self._is_there = np.empty(0, np.bool_)

    def apply(self, records: InternalRecords, rows: NDArray[Any], groups: NDArray[Any]) -> None:
        """Take in the next records of the log, `groups` are those that they are about."""
        group, at = last_of_each(groups)
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

    def apply(self, records: InternalRecords, rows: NDArray[Any], wanted: WantedNames) -> NDArray[Any]:
        """Take in those of a block's records that could be read, of the groups that are `wanted`; return their rows."""
        if not len(rows):
            return rows
        keys = self._numbers(records, rows)
        if wanted.narrow:
            is_one = wanted.of(self._group[keys])
            rows, keys = rows[is_one], keys[is_one]
        self.newest.apply(records, rows, self._group[keys])
        _, at = last_of_each(keys)
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

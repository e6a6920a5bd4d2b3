"""Groups as a coordinator has them after it loads their records: kind, state, epoch and members."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from kafkalog.format.message_json import plain
from kafkalog.format.records.consumer_offsets import with_protocol
from kafkalog.tables.internal import GROUPS

__all__ = ["GroupState", "Newest"]

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
_STABLE: Final = 0  # of a member's states


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

    def row(self, group: str, log: str, counts: tuple[int, int], commit: Newest | None) -> tuple[Any, ...]:
        """Make a row of the table ``groups``; `counts` are its committed and pending partitions.

        `commit` is the last record of its offsets.
        """
        kind = self.kind
        about = self._one(_KINDS[kind][0]) if kind != "simple" else {}
        members = self._members(kind, about)
        epoch = about.get("generation", about.get("epoch"))
        assigned = self._one(_KINDS[kind][2]).get("assignmentEpoch") if kind != "simple" else None
        newest = max(
            (record for record in (self.newest, commit) if record is not None), key=lambda record: record.offset
        )
        return GROUPS.of(
            group=group,
            kind=kind,
            state=self._state(kind, members, epoch, assigned, counts),
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

    def _state(
        self, kind: str, members: dict[str, Fields], epoch: int | None, assigned: int | None, counts: tuple[int, int]
    ) -> str:
        if not self.values and not any(counts):
            return "deleted"
        if not members:
            return "empty"
        if kind in ("consumer", "streams"):
            if assigned is None or (epoch is not None and epoch > assigned):
                return "assigning"
            if any(m.get("state") != _STABLE or m.get("memberEpoch") != assigned for m in members.values()):
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

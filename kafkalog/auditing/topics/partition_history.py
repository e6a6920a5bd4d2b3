"""Every value that the partitions of a cluster had, as columns: a controller changes one several times a second."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from kafkalog.columns.sorted_rows import group_ends, ranges
from kafkalog.columns.table import Columns
from kafkalog.segments.moment import Moment

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "Brokers",
    "Change",
    "Key",
    "Partition",
    "PartitionHistory",
    "Span",
    "State",
    "held_at",
    "span_times",
]


# A value of the metadata with the time for which it applied.


class Span(NamedTuple):
    """A value from one record up to another; `until` and `until_offset` are None while it applies."""

    value: Any
    since: int
    offset: int
    until: int | None = None
    until_offset: int | None = None

    def held_at(self, moment: Moment) -> bool:
        """Say whether it was in force at a moment."""
        if not moment.holds(self.offset, self.since):
            return False
        return self.until is None or self.until_offset is None or not moment.holds(self.until_offset, self.until)


_TIMES: Final = ("since", "offset", "until", "until_offset")


def span_times(spans: Sequence[Span]) -> Columns:
    """Return from when on values applied, and until when those did that have ended, as columns."""
    rows = ((one.since, one.offset, one.until or 0, one.until_offset or 0) for one in spans)
    has_ended = np.array([one.until is not None and one.until_offset is not None for one in spans], np.bool_)
    return Columns.of_rows(rows, _TIMES).with_columns({"has_ended": has_ended})


def held_at(spans: Columns, moment: Moment) -> NDArray[np.bool_]:
    """Say which of many values were in force at a moment."""
    is_over = spans["has_ended"].astype(bool) & moment.hold(spans["until_offset"], spans["until"])
    found: NDArray[np.bool_] = moment.hold(spans["offset"], spans["since"]) & ~is_over
    return found


Brokers = tuple[int, ...]

Key = tuple[str, int]

_SAME_LEADER: Final = -2

_NO_CHANGE: Final = -1

_ENDED: Final = -1

_MOST_KEPT: Final = 1 << 16  # changes of states that are remembered


class Partition(NamedTuple):
    """A partition after its newest record; `leader` -1 for none. `change` says what that record did."""

    topic_id: str
    number: int
    replicas: Brokers
    isr: Brokers
    leader: int
    leader_epoch: int
    partition_epoch: int
    adding: Brokers
    removing: Brokers
    eligible: Brokers
    recovering: bool
    directories: tuple[str, ...]
    change: str


class State(NamedTuple):
    """A partition without its name and its epochs: many partitions have the same."""

    replicas: Brokers
    isr: Brokers
    leader: int
    adding: Brokers
    removing: Brokers
    eligible: Brokers
    recovering: bool
    directories: tuple[str, ...]

    @classmethod
    def of(cls, value: Mapping[str, Any]) -> State:
        """Make it of a PartitionRecord."""
        return cls(
            tuple(value["replicas"] or ()), tuple(value["isr"] or ()), value["leader"],
            tuple(value["addingReplicas"] or ()), tuple(value["removingReplicas"] or ()),
            tuple(value.get("eligibleLeaderReplicas") or ()), value.get("leaderRecoveryState", 0) == 1,
            tuple(value.get("directories") or ()),
        )  # fmt: skip


class Change(NamedTuple):
    """What a PartitionChangeRecord changes: None, `leader` -2 and `recovery` -1 for what stays."""

    replicas: Brokers | None
    isr: Brokers | None
    leader: int
    adding: Brokers | None
    removing: Brokers | None
    eligible: Brokers | None
    recovery: int
    directories: tuple[str, ...] | None

    @classmethod
    def of(cls, value: Mapping[str, Any]) -> Change:
        """Make it of the record's fields."""

        def new(name: str) -> Any:
            return None if value.get(name) is None else tuple(value[name])

        return cls(
            new("replicas"), new("isr"), value.get("leader", _SAME_LEADER), new("addingReplicas"),
            new("removingReplicas"), new("eligibleLeaderReplicas"), value.get("leaderRecoveryState", _NO_CHANGE),
            new("directories"),
        )  # fmt: skip

    def after(self, before: State) -> State:
        """Apply it as a controller does."""
        return State(
            before.replicas if self.replicas is None else self.replicas,
            before.isr if self.isr is None else self.isr,
            before.leader if self.leader == _SAME_LEADER else self.leader,
            before.adding if self.adding is None else self.adding,
            before.removing if self.removing is None else self.removing,
            before.eligible if self.eligible is None else self.eligible,
            before.recovering if self.recovery == _NO_CHANGE else self.recovery == 1,
            before.directories if self.directories is None else self.directories,
        )


class PartitionHistory(Mapping[Key, list[Span]]):
    """The spans of each partition by topic id and number, in the order in which they were created.

    A change is a row of some 40 bytes; spans are made when a partition is asked for.
    """

    def __init__(self) -> None:
        self._keys: dict[Key, int] = {}
        self._of_topic: dict[str, list[int]] = {}  # numbers of partitions
        self._now: list[tuple[int, int, int, bool]] = []  # by key: state, both epochs, whether it is there
        self._states: list[State] = []
        self._numbers: dict[State, int] = {}
        self._words: list[str] = []
        self._kept: dict[tuple[int, Change], tuple[int, int, int]] = {}
        self._key, self._state = array("i"), array("i")
        self._since, self._offset = array("q"), array("q")
        self._leader_epoch, self._partition_epoch = array("q"), array("q")
        self._word = array("b")
        self._order: NDArray[np.int64] = np.empty(0, np.int64)
        self._bounds: NDArray[np.int64] = np.zeros(1, np.int64)
        self._last: tuple[int, int, list[Span]] = (-1, -1, [])

    def create(self, key: Key, state: State, epochs: tuple[int, int], since: int, offset: int, word: str) -> None:
        """Begin a partition's value, whatever it was; `epochs` are the leader's and the partition's."""
        number = self._keys.get(key)
        if number is None:
            number = self._keys[key] = len(self._keys)
            self._of_topic.setdefault(key[0], []).append(key[1])
            self._now.append((_ENDED, 0, 0, False))
        self._add(number, self._number(state), *epochs, since, offset, self._word_of(word))

    def change(self, key: Key, change: Change, since: int, offset: int) -> None:
        """Change a partition that was created.

        A leader that is named raises the leader epoch, even if it is the same.
        """
        number = self._keys.get(key)
        if number is None:
            return
        before, leader_epoch, partition_epoch, _ = self._now[number]
        kept = self._kept.get((before, change))
        if kept is None:
            kept = self._kept_of(before, change)
        after, word, elected = kept
        self._add(number, after, leader_epoch + elected, partition_epoch + 1, since, offset, word)

    def clear_eligible(self, topic_ids: Iterator[str] | list[str], since: int, offset: int) -> None:
        """Forget the eligible leader replicas of the partitions of topics."""
        for topic_id in topic_ids:
            for partition in self._of_topic.get(topic_id, ()):
                number = self._keys[topic_id, partition]
                before, leader_epoch, partition_epoch, is_there = self._now[number]
                if is_there and self._states[before].eligible:
                    after = self._number(self._states[before]._replace(eligible=()))
                    self._add(number, after, leader_epoch, partition_epoch, since, offset, self._word_of("other"))

    def end(self, topic_id: str, since: int, offset: int) -> None:
        """End the partitions of a topic, which was deleted."""
        for partition in self._of_topic.get(topic_id, ()):
            number = self._keys[topic_id, partition]
            state, leader_epoch, partition_epoch, is_there = self._now[number]
            if is_there:
                self._add(number, _ENDED, leader_epoch, partition_epoch, since, offset, 0)
                self._now[number] = (state, leader_epoch, partition_epoch, False)

    def numbers(self, topic_id: str) -> list[int]:
        """Return the numbers of the partitions that a topic ever had."""
        return self._of_topic.get(topic_id, [])

    @property
    def leaderless(self) -> Iterator[Key]:
        """Yield the partitions that have no leader now; those that were deleted are not there."""
        for key, number in self._keys.items():
            state, _, _, is_there = self._now[number]
            if is_there and self._states[state].leader < 0:
                yield key

    @property
    def topic_ids(self) -> list[str]:
        """Return the ids of topics that ever had a partition."""
        return list(self._of_topic)

    @property
    def words(self) -> Sequence[str]:
        """Return what changes did, by their numbers."""
        return self._words

    def state(self, number: int) -> State:
        """Return a state by its number."""
        return self._states[number]

    def spans_of(self, keys: Sequence[Key]) -> Columns:
        """Return all values of some partitions in the order of their keys; `of` is the number of a value's key.

        `state` and `word` are numbers in this history; `until` counts only where a value `has_ended`.
        """
        self._put_in_order()
        numbers = np.array([self._keys[key] for key in keys], np.int64)
        firsts, counts = self._bounds[numbers], np.diff(self._bounds)[numbers]
        of = np.repeat(np.arange(len(keys)), counts)
        rows = self._order[ranges(firsts, counts)]
        has_ended = ~group_ends(of)
        later = np.append(rows[1:], rows[:1])
        state, since, offset = (np.frombuffer(one, one.typecode) for one in (self._state, self._since, self._offset))
        leaders, partitions = (
            np.frombuffer(one, np.int64)[rows] for one in (self._leader_epoch, self._partition_epoch)
        )
        found = Columns({
            "of": of, "state": state[rows], "leader_epoch": leaders, "partition_epoch": partitions,
            "since": since[rows], "offset": offset[rows], "has_ended": has_ended, "until": since[later],
            "until_offset": offset[later], "word": np.frombuffer(self._word, np.int8)[rows],
        })  # fmt: skip
        return found.take(found["state"] != _ENDED)

    def __getitem__(self, key: Key) -> list[Span]:
        number = self._keys[key]
        if self._last[:2] != (number, len(self._key)):  # a partition is often asked for again
            self._last = (number, len(self._key), self._spans(key, number))
        return self._last[2]

    def __iter__(self) -> Iterator[Key]:
        return iter(self._keys)

    def __len__(self) -> int:
        return len(self._keys)

    def _add(
        self, number: int, state: int, leader_epoch: int, partition_epoch: int, since: int, offset: int, word: int
    ) -> None:
        self._now[number] = (state, leader_epoch, partition_epoch, True)
        self._key.append(number)
        self._state.append(state)
        self._leader_epoch.append(leader_epoch)
        self._partition_epoch.append(partition_epoch)
        self._since.append(since)
        self._offset.append(offset)
        self._word.append(word)

    def _number(self, state: State) -> int:
        number = self._numbers.setdefault(state, len(self._states))
        if number == len(self._states):
            self._states.append(state)
        return number

    def _word_of(self, word: str) -> int:
        if word not in self._words:
            self._words.append(word)
        return self._words.index(word)

    def _kept_of(self, before: int, change: Change) -> tuple[int, int, int]:
        """Return what a change makes of a state: the state after it, what it did, and whether a leader was named."""
        old = self._states[before]
        new = change.after(old)
        elected = change.leader != _SAME_LEADER
        if len(self._kept) >= _MOST_KEPT:
            self._kept.clear()
        kept = self._kept[before, change] = (
            self._number(new), self._word_of(_word(old, new, elected=elected)), int(elected),
        )  # fmt: skip
        return kept

    def _put_in_order(self) -> None:
        """Find the rows of each partition."""
        if len(self._order) != len(self._key):
            keys = np.frombuffer(self._key, np.int32)
            self._order = np.argsort(keys, kind="stable")
            self._bounds = np.concatenate([[0], np.cumsum(np.bincount(keys, minlength=len(self._keys)))])

    def _spans(self, key: Key, number: int) -> list[Span]:
        self._put_in_order()
        rows = self._order[self._bounds[number] : self._bounds[number + 1]].tolist()
        spans: list[Span] = []
        for place, row in enumerate(rows):
            if self._state[row] == _ENDED:
                continue
            state = self._states[self._state[row]]
            value = Partition(
                *key, state.replicas, state.isr, state.leader, self._leader_epoch[row], self._partition_epoch[row],
                state.adding, state.removing, state.eligible, state.recovering, state.directories,
                self._words[self._word[row]],
            )  # fmt: skip
            until: tuple[int, int] | tuple[()] = ()
            if place + 1 < len(rows):
                later = rows[place + 1]
                until = (self._since[later], self._offset[later])
            spans.append(Span(value, self._since[row], self._offset[row], *until))
        return spans


def _word(before: State, after: State, *, elected: bool) -> str:
    if elected and after.leader == -1:
        return "leader-lost"
    if elected:
        return "unclean-election" if after.recovering and not before.recovering else "elected"
    if set(after.isr) != set(before.isr):
        return "isr-shrunk" if set(after.isr) < set(before.isr) else "isr-grown"
    if (after.replicas, after.adding, after.removing) != (before.replicas, before.adding, before.removing):
        return "reassigned"
    return "recovered" if before.recovering and not after.recovering else "other"

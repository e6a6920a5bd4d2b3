"""Transactions counted as people count them: one decision of a transactional id, whatever its partitions and replicas.

What no record of the coordinator is about is counted in each of its partitions; the words say so.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from kafkalog.certainty import is_proved
from kafkalog.columns.sorted_rows import group_begins, groups, place_of
from kafkalog.columns.table import NONE, Columns
from kafkalog.few_of_many import grouped
from kafkalog.kafka.state_records import TOMBSTONE
from kafkalog.kafka.topic_partition import TopicPartition
from kafkalog.kafka.transaction_state import TransactionState
from kafkalog.quantities import CLOCKS_MS, many
from kafkalog.reports.source import AuditSource

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Counted", "OpenData", "OpenTransaction", "counted", "leading_logs"]


_ONGOING: Final = TransactionState.ONGOING
_DECIDES: Final = (TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT)
_ENDS: Final = (TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT)
_IDLE: Final = (TransactionState.EMPTY, TransactionState.DEAD, TOMBSTONE, *_ENDS)
_LAST_EPOCH: Final = 32766  # a producer id has 16 bits of epochs, and the last one is for fencing
_NOTHING: Final = -2  # before an id's first record
_DECIDED: Final = frozenset({"marker-missing"})  # why a transaction hangs whose decision is known
_PENDING: Final = frozenset({"commit-pending", "abort-pending"})


class OpenData(NamedTuple):
    """Where a log has an open transaction's data; of an `epoch` below its own it is of one that has ended since."""

    place: TopicPartition
    epoch: int
    first_offset: int
    last_offset: int
    records: int
    since_ms: int


@dataclass(slots=True)
class OpenTransaction:
    """An open transaction: whose, since when and how long it may last by the coordinator's records, and its data.

    One that began after these were copied has no `since_ms` in them.
    """

    name: str | None
    producer_id: int
    epoch: int
    since_ms: int | None
    timeout_ms: int | None
    data: list[OpenData] = field(default_factory=list)

    @property
    def began_ms(self) -> int:
        """Return when it began: without the coordinator's record by the producer's clock."""
        own = (part.since_ms for part in self.data if part.epoch == self.epoch)
        return self.since_ms if self.since_ms is not None else min(own, default=0)


@dataclass(slots=True)
class Counted:
    """The transactions of some clusters; `hanging` and `undecided` ones are open in their partitions alone.

    Of what ended without the coordinator's record, those that an administrator aborted are apart. Of what was decided,
    `unmarked` have no marker in some partition.
    """

    committed: int = 0
    aborted: int = 0
    opened: list[OpenTransaction] = field(default_factory=list)
    hanging: int = 0
    in_doubt: int = 0  # of the hanging ones
    undecided: int = 0
    unmarked: int = 0
    alone_committed: int = 0
    alone_aborted: int = 0
    by_administrator: int = 0
    places: set[TopicPartition] = field(default_factory=set)  # of those without the coordinator's record
    # Of the ids that are asked for: the timeouts of what was aborted by its time, and the new timeout (ms) of those
    # whose epoch was raised by somebody with another one, who wrote nothing.
    timeouts: dict[tuple[str, int], int] = field(default_factory=dict)
    raised: dict[str, int] = field(default_factory=dict)
    renewed: list[tuple[str, int, int]] = field(default_factory=list)  # ids with a new producer id, and when

    @property
    def recorded(self) -> int:
        """Return how many transactions the coordinator's records are about."""
        return self.committed + self.aborted + sum(one.since_ms is not None for one in self.opened)

    @property
    def total(self) -> int:
        """Return how many transactions there are."""
        alone = self.hanging + self.undecided + self.alone_committed + self.alone_aborted + self.by_administrator
        return self.committed + self.aborted + len(self.opened) + alone

    @property
    def brief(self) -> str:
        """Say how many there are, how they ended, and how many of these lack a marker."""
        if not self.unmarked or not self.decided:
            return self.ended
        return f"{self.ended}; {self.unmarked:,} {'lacks' if self.unmarked == 1 else 'lack'} a marker"

    @property
    def decided(self) -> list[str]:
        """Say how many were committed, and how many aborted."""
        numbers = (
            (self.committed + self.alone_committed, "committed"),
            (self.aborted + self.alone_aborted + self.by_administrator, "aborted"),
        )
        return [f"{number:,} {word}" for number, word in numbers if number]

    @property
    def ended(self) -> str:
        """Say how many there are, and how they ended."""
        others = (
            (len(self.opened), "open"),
            (self.hanging - self.in_doubt, "hanging"),
            (self.in_doubt, "that may hang"),
            (self.undecided, "of unknown end"),
        )
        parts = ", ".join([*self.decided, *(f"{number:,} {word}" for number, word in others if number)])
        return f"{many(self.total, 'transaction', grouped=True)}{f': {parts}' if parts else ''}"

    def words(self) -> str:
        """Say how many there are, how they ended, and which of them are only in their partitions."""
        said, alone = self.brief, self.total - self.recorded
        if not alone:
            return said
        where = f"{many(len(self.places), 'partition', grouped=True)}"
        if not self.recorded:
            return f"{said} (counted in {where}, without the coordinator's records)"
        return f"{said} ({self.recorded:,} by the coordinator's records; {alone:,} more without one, in {where})"


def leading_logs(partitions: Iterable[dict[str, Any]]) -> set[str]:
    """Return one log of each partition: of several replicas the longest, which has what the others have."""
    best: dict[tuple[Any, ...], tuple[int, str]] = {}
    for row in partitions:
        key = row["cluster_id"], row["topic"], row["partition"]
        found = -row["log_end_offset"], row["log"]
        best[key] = min(best.get(key, found), found)
    return {log for _, log in best.values()}


def counted(source: AuditSource, logs: set[str], asked: Collection[str] = ()) -> Counted:
    """Count the transactions of an audit; `logs` are those that speak for their partitions.

    More is noted of the transactional ids that are `asked` for.
    """
    found = Counted()
    ends = _Ends(asked)
    for steps in source.steps():
        ends.add(steps, found)
    ends.last(found)
    ended = _EndedAlone(found, ends, source)
    newer = _NewerMarkers(found.opened)
    known = {(one.producer_id, one.epoch): one for one in found.opened}
    alone: dict[tuple[int, int], OpenTransaction] = {}
    unended: dict[tuple[str, ...], list[NDArray[np.int64]]] = {}
    unmarked: list[NDArray[np.int64]] = []
    decided = _Few.of(row for row in source.notes(frozenset({"transaction-undecided"})) if row["found"] is not None)
    for columns in source.transactions():
        chosen = columns["first_offset"] != NONE
        chosen &= columns.texts("log").among(logs)
        states = columns.texts("state")
        ended.add(columns, chosen & states.among(("committed", "aborted")))
        newer.add(columns)
        causes = columns.texts("cause")
        no_marker = chosen & (causes.among(_DECIDED) | (states.among(_PENDING) & ~causes.among(("replica-behind",))))
        open_alone = chosen & states.among(("hanging", "undecided")) & ~no_marker
        without_end = open_alone.copy()
        decided.leave_out(columns, without_end)
        if len(rows := np.flatnonzero(no_marker | (open_alone & ~without_end))):
            unmarked.append(_key(columns["producer_id"][rows], columns["producer_epoch"][rows]))
        _add_unended(unended, columns.take(np.flatnonzero(without_end)), found)
        for row in _rows(columns, chosen & states.among(("ongoing",))):
            place = TopicPartition.of(row)
            which = row["producer_id"], row["producer_epoch"]
            opened = known.get(which)
            if opened is None:  # it began after the coordinator's records were copied
                opened = alone.setdefault(which, OpenTransaction(row["transactional_id"], *which, None, None))
                found.places.add(place)
            opened.data.append(
                OpenData(
                    place, which[1], row["first_offset"], row["last_offset"], row["records"], row["first_timestamp_ms"]
                )
            )
    ended.last()
    numbers = Counter[str]()
    for (state, _, certainty), keys in unended.items():
        number = len(np.unique(np.concatenate(keys)))
        numbers[state] += number
        found.in_doubt += number if state == "hanging" and not is_proved(certainty) else 0
    found.hanging, found.undecided = numbers["hanging"], numbers["undecided"]
    found.unmarked = len(np.unique(np.concatenate(unmarked))) if unmarked else 0
    _tell_timeouts(source, alone.values())
    found.opened = list(_newest_of_each([*newer.still_open(found.opened), *alone.values()]))
    return found


def _tell_timeouts(source: AuditSource, opened: Iterable[OpenTransaction]) -> None:
    """Let what began after the coordinator's records were copied have the timeout of its producer's newest record."""
    by_producer = grouped(opened, lambda one: one.producer_id)
    for steps in source.steps() if by_producer else ():
        rows = np.flatnonzero(np.isin(steps["producer_id"], list(by_producer)))
        for producer, timeout in zip(
            steps["producer_id"][rows].tolist(), steps["timeout_ms"][rows].tolist(), strict=True
        ):
            for one in by_producer[producer]:
                one.timeout_ms = timeout


def _newest_of_each(opened: Iterable[OpenTransaction]) -> Iterator[OpenTransaction]:
    """Yield the newest transaction of each producer, with the data of older ones, which had ended when it began."""
    for some in grouped(opened, lambda one: (one.name, one.producer_id)).values():
        *older, newest = sorted(some, key=lambda one: one.epoch)
        newest.data[:0] = [part for one in older for part in one.data]
        yield newest


def _add_unended(unended: dict[tuple[str, ...], list[NDArray[np.int64]]], columns: Columns, found: Counted) -> None:
    """Add transactions without an end, by state, cause and certainty.

    As in an incident, an epoch of a producer is one transaction, in however many partitions.
    """
    if not len(columns):
        return
    found.places |= _places(columns)
    keys = _key(columns["producer_id"], columns["producer_epoch"])
    words = [columns.texts(name) for name in ("state", "cause", "certainty")]
    for rows in groups(*(column.numbered()[0] for column in words)):
        unended.setdefault(tuple(column[int(rows[0])] for column in words), []).append(keys[rows])


def _places(columns: Columns) -> set[TopicPartition]:
    topics, partitions = columns["topic"], columns["partition"]
    firsts = group_begins(topics, partitions)
    return set(map(TopicPartition, topics[firsts].tolist(), partitions[firsts].tolist()))


class _EndedAlone:
    """What ended without the coordinator's record, taken from ``transactions`` some thousand rows at a time.

    A marker whose epoch is above its transaction's has it alone: rows that share one are one transaction. Parts of
    transactions that are torn, whose decisions are here, are no transactions of their own.
    """

    def __init__(self, found: Counted, ends: _Ends, source: AuditSource) -> None:
        self._found = found
        self._ends = ends
        self._torn = _Few.of(source.notes(frozenset({"atomicity-broken"})))
        self._of_own_epoch: list[Columns] = []  # the key of each marker, and whether it is a COMMIT

    def add(self, columns: Columns, ended: NDArray[np.bool_]) -> None:
        """Count some rows, those that `ended`."""
        found = self._found
        by_hand = ended & columns.texts("cause").among(("administrator-abort",))
        left = by_hand | (ended & ~self._ends.have(columns))
        self._torn.leave_out(columns, left)
        places = np.flatnonzero(left)
        if not len(places):
            return
        found.places |= _places(columns.take(places, "topic", "partition"))
        found.by_administrator += int(np.count_nonzero(by_hand & left))
        plain = places[~by_hand[places]]
        commits = columns.texts("state").among(("committed",))[plain]
        epochs = columns["marker_epoch"][plain]
        raised = epochs > columns["producer_epoch"][plain]
        keys = _key(columns["producer_id"][plain][raised], epochs[raised])
        self._of_own_epoch.append(Columns({"key": keys, "commits": commits[raised]}))
        found.alone_committed += int(np.count_nonzero(commits & ~raised))
        found.alone_aborted += int(np.count_nonzero(~commits & ~raised))

    def last(self) -> None:
        """Count the transactions whose markers have an epoch of their own."""
        rows = Columns.concat(self._of_own_epoch, ("key", "commits"))
        _, firsts = np.unique(rows["key"], return_index=True)
        commits = int(np.count_nonzero(rows["commits"][firsts]))
        self._found.alone_committed += commits
        self._found.alone_aborted += len(firsts) - commits


class _NewerMarkers:
    """The markers that end, in logs that were copied later, what the coordinator's records say is open.

    Their epoch is higher than that of their transaction (transaction.version 2).
    """

    def __init__(self, opened: Iterable[OpenTransaction]) -> None:
        self._producers = np.array(sorted({one.producer_id for one in opened}), np.int64)
        self._epochs = np.full(len(self._producers), NONE)

    def add(self, columns: Columns) -> None:
        """Take in some rows."""
        at = place_of(self._producers, columns["producer_id"])
        np.maximum.at(self._epochs, at[at >= 0], columns["marker_epoch"][at >= 0])

    def still_open(self, opened: Iterable[OpenTransaction]) -> Iterator[OpenTransaction]:
        """Yield those that no such marker ended."""
        for one in opened:
            if self._epochs[np.searchsorted(self._producers, one.producer_id)] <= one.epoch:
                yield one


class _Few(NamedTuple):
    """Transactions that findings are about: the log, the producer and the first offset of each, and all offsets."""

    known: set[tuple[Any, ...]]
    offsets: NDArray[np.int64]

    @classmethod
    def of(cls, findings: Iterable[Mapping[str, Any]]) -> _Few:
        """Return those of some findings."""
        known = {(row["log"], row["producer_id"], row["offset"]) for row in findings if row["offset"] is not None}
        return cls(known, np.array([offset for *_, offset in known], np.int64))

    def leave_out(self, columns: Columns, left: NDArray[np.bool_]) -> None:
        """Take them out of the rows that are `left`."""
        if not self.known:
            return
        places = np.flatnonzero(left & np.isin(columns["first_offset"], self.offsets))
        some = columns.take(places, "log", "producer_id", "first_offset")
        for place, row in zip(places.tolist(), some.rows(), strict=True):
            left[place] = row not in self.known


def _rows(columns: Columns, chosen: NDArray[np.bool_]) -> Iterator[dict[str, Any]]:
    places = np.flatnonzero(chosen)
    if not len(places):
        return
    some = columns.take(places)
    for cells in zip(*(some[name].tolist() for name in some.names), strict=True):
        yield dict(zip(some.names, cells, strict=True))


class _Ends:
    """The decisions that the coordinator's records show, taken in order; a chunk may end within an id."""

    def __init__(self, asked: Collection[str]) -> None:
        self._asked = asked
        self._state: int = _NOTHING
        self._last: OpenTransaction | None = None
        self._decided: list[Columns] = []
        self._in_order: Columns | None = None  # all that was decided, by key and time

    def add(self, steps: Columns, found: Counted) -> None:
        """Take in some records: count what they decide, and note what is open where an id's records end."""
        if not len(steps):
            return
        same, states, times = steps["is_same"], steps["state"], steps["last_update_timestamp_ms"]
        producers, epochs = steps["producer_id"], steps["producer_epoch"]
        before = np.append(self._state, states[:-1])
        before[~same] = _NOTHING
        decides = np.isin(states, _DECIDES) & ~np.isin(before, (*_DECIDES, *_IDLE))
        # Of some the decision was cleaned away, and only that it was carried out is here.
        decides |= np.isin(states, _ENDS) & ~np.isin(before, (*_DECIDES, *_ENDS))
        commits = np.isin(states, (_DECIDES[0], _ENDS[0]))
        found.committed += int(np.count_nonzero(decides & commits))
        found.aborted += int(np.count_nonzero(decides & ~commits))
        self._decided.append(Columns({"key": _key(producers[decides], epochs[decides]), "time": times[decides]}))
        if not same[0]:
            self.last(found)
        for number in np.flatnonzero(np.isin(states[:-1], (_ONGOING,)) & ~same[1:]).tolist():
            found.opened.append(_opened(steps, number))
        renewed = same[1:] & (producers[1:] != producers[:-1]) & (epochs[:-1] >= _LAST_EPOCH)
        for number in (np.flatnonzero(renewed) + 1).tolist():
            found.renewed.append((steps.texts("transactional_id")[number], int(producers[number]), int(times[number])))
        self._note(steps, same, before, found)
        self._state = int(states[-1])
        self._last = _opened(steps, len(steps) - 1)

    def _note(self, steps: Columns, same: NDArray[np.bool_], before: NDArray[Any], found: Counted) -> None:
        """Note the timeouts of what is aborted, and which id's newest record raises its epoch with another timeout."""
        if not self._asked:
            return
        names, states, timeouts = steps.texts("transactional_id"), steps["state"], steps["timeout_ms"]
        times = steps["last_update_timestamp_ms"]
        for number in np.flatnonzero(np.isin(states, _DECIDES[1:])).tolist():
            if (name := names[number]) in self._asked:
                found.timeouts[name, int(times[number])] = int(timeouts[number])
        other = np.append(False, timeouts[1:] != timeouts[:-1]) & same
        raises = (
            other & np.isin(states, (TransactionState.EMPTY,)) & np.isin(before, _ENDS) & np.append(~same[1:], True)
        )
        for number in np.flatnonzero(raises).tolist():
            if (name := names[number]) in self._asked:
                found.raised[name] = int(timeouts[number])

    def last(self, found: Counted) -> None:
        """Note what the newest id has open: its records are all taken."""
        if self._state == _ONGOING and self._last is not None:
            found.opened.append(self._last)
        self._state = _NOTHING

    def have(self, columns: Columns) -> NDArray[np.bool_]:
        """Say of which rows of ``transactions`` the decision is here: of its epoch, and not later than the marker.

        A decision ends one transaction of a log. Before Kafka 4.0 the next one has the same epoch.
        """
        if self._in_order is None:
            every = Columns.concat(self._decided, ("key", "time"))
            self._in_order = every.take(np.lexsort((every["time"], every["key"])))
        keys, times = self._in_order["key"], self._in_order["time"]
        wanted = _key(columns["producer_id"], columns["marker_epoch"])
        latest = columns["marker_timestamp_ms"] + CLOCKS_MS
        begin, end = np.searchsorted(keys, wanted), np.searchsorted(keys, wanted, "right")
        found = end > begin
        found[found] = times[begin[found]] <= latest[found]
        run = np.cumsum(group_begins(columns["log"]))
        for rows in groups(wanted, run, least=2):  # of one producer and epoch, in the order of their log
            decided = np.searchsorted(times[begin[rows[0]] : end[rows[0]]], latest[rows], "right")
            place = np.arange(len(rows))
            taken = np.minimum(np.minimum.accumulate(decided - place) + place, place + 1)
            found[rows] = np.diff(taken, prepend=0) > 0
        return found


def _opened(steps: Columns, number: int) -> OpenTransaction:
    producer_id, epoch, since, timeout = (
        int(steps[name][number]) for name in ("producer_id", "producer_epoch", "start_timestamp_ms", "timeout_ms")
    )
    return OpenTransaction(steps.texts("transactional_id")[number], producer_id, epoch, since, timeout)


def _key(producer_ids: NDArray[Any], epochs: NDArray[Any]) -> NDArray[np.int64]:
    found: NDArray[np.int64] = producer_ids.astype(np.int64) << 16 | epochs.astype(np.int64) & 0xFFFF
    return found

"""The coordinator's records: the timeline of each transactional id, and what was decided for a transaction.

All of it is columns, found by sorts and searches: a cluster has many millions of records, and a log asks about many
thousand producers at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from kafkalog.columns.sorted_rows import among, distinct, group_begins, group_ends, place_of, runs
from kafkalog.columns.table import NONE, Columns, give_back, one_cell
from kafkalog.kafka.state_records import TOMBSTONE, StateColumns
from kafkalog.kafka.transaction_state import NO_TIMEOUT, TransactionState, legal_before

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["DECISION_COLUMNS", "Coordinator", "StateRows"]

_S: Final = TransactionState
_PREPARE: Final = (_S.PREPARE_COMMIT, _S.PREPARE_ABORT)
_COMPLETE: Final = (_S.COMPLETE_COMMIT, _S.COMPLETE_ABORT)
_MANY: Final = 1 << 20
_AT_ONCE: Final = 4096  # records that are given together
_IN_A_PART: Final = 1 << 14  # records that are sent together
_INNER: Final = (*_PREPARE, *_COMPLETE)  # states that no next transaction begins with
# A transaction that the coordinator decided: what its Prepare record and the records around it say; times in ms.
# `data_epoch` is the epoch of the Ongoing record before, `until` the time of the next transaction's start; NONE if that
# record is gone. `completed` is when a Complete record followed, -1 for never. The state partition has no records from
# after `known_until`.
DECISION_COLUMNS: Final = (
    "transactional_id", "producer_id", "data_epoch", "epoch", "committed", "started", "decided", "until", "offset",
    "known_until", "completed",
)  # fmt: skip


def _legal() -> NDArray[np.bool_]:
    """Say which state may follow which; both are numbered from 1 on, a tombstone is 0."""
    legal = np.zeros((len(_S) + 1, len(_S) + 1), bool)
    for new in _S:
        for old in legal_before(new):
            legal[old + 1, new + 1] = True
    legal[[0, *(state + 1 for state in (_S.EMPTY, *_COMPLETE))], 0] = True
    legal[0, _S.EMPTY + 1] = True
    return legal


_LEGAL: Final = _legal()


class StateRows(NamedTuple):
    """The records of a log of the state topic: its directory's path, the number of its partition."""

    log: str
    partition: int
    rows: StateColumns


class Coordinator:
    """All available records, id by id in the order of the ids' first records, those of an id in log order.

    `known` are the state partitions read, `total` is their number in the cluster, `newest` the times (ms) of the newest
    records by state partition. Record N is row N of `states`, in the log `logs[of_log[N]]`. Ids are numbers in
    `states.ids`. `named` are all producer ids in order, and of each the id that named it first.
    """

    def __init__(self, logs: Iterable[StateRows] = (), total: int | None = None) -> None:
        """Take the records of these logs; they lose theirs."""
        taken = list(logs)
        self.total = total
        self.known = {log.partition for log in taken}
        self.logs = [log.log for log in taken]
        self.partitions = [log.partition for log in taken]
        self.newest: dict[int, int] = {}
        for log in taken:
            if len(log.rows):
                newest = max(self.newest.get(log.partition, -1), int(log.rows["timestamp"].max()))
                self.newest[log.partition] = newest
        counts = [len(log.rows) for log in taken]
        self.states = StateColumns.concat([log.rows for log in taken])
        order = np.argsort(self.states["transactional_id"], kind="stable")
        if (np.diff(order) != 1).any():
            self.states.reorder(order)
        self.of_log = one_cell(np.repeat(np.arange(len(taken), dtype=_narrow(len(taken))), counts)[order])
        self.named = self._first_named(order)
        if len(order) >= _MANY:
            del order
            give_back()

    @property
    def is_nothing(self) -> bool:
        """Say whether nothing is known: neither a state partition, nor how many there are."""
        return not self.logs and self.total is None

    @property
    def complete(self) -> bool:
        """Say whether every state partition of the cluster is available."""
        return self.total is not None and len(self.known) >= self.total and self.known >= set(range(self.total))

    def _first_named(self, order: NDArray[np.intp]) -> tuple[NDArray[np.int64], NDArray[Any]]:
        """Return all producer ids in order, and of each the id that named it first; `order` is that of the logs."""
        ids, begins = self.states["transactional_id"], group_begins(self.states["transactional_id"])
        parts = []
        for column in (self.states["producer_id"], self.states["previous_producer_id"]):
            rows = np.flatnonzero((column != -1) & (begins | group_begins(column)))
            parts.append((column[rows], order[rows], ids[rows]))
        producers, when, of = (np.concatenate(some) for some in zip(*parts, strict=True))
        by_time = np.lexsort((when, producers))
        firsts = by_time[group_begins(producers[by_time])]
        return producers[firsts], of[firsts]

    @cached_property
    def _bounds(self) -> NDArray[np.int64]:
        """Return where the records of each id begin, and where those of the last one end."""
        numbers = np.arange(len(self.states.ids) + 1)
        bounds: NDArray[np.int64] = np.searchsorted(self.states["transactional_id"], numbers)
        return bounds

    @cached_property
    def _newest_last(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the producer ids that an id has as its own now, in order, and the newest such record of each."""
        rows = self._bounds[1:] - 1
        producers, times = self.states["producer_id"][rows], self.states["last_update_timestamp"][rows]
        order = np.lexsort((-rows, times, producers))  # of equal times the first id's is the last
        lasts = order[group_ends(producers[order])]
        return producers[lasts], rows[lasts]

    def names_of(self, producer_ids: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the id that first named each producer id, -1 where no record names it."""
        return _beside(self.named, producer_ids)

    def last_of(self, producer_ids: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the newest last record of an id that names each producer id as its own now, -1 for none."""
        return _beside(self._newest_last, producer_ids)

    def last_records(self, ids: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the last record of each id."""
        last: NDArray[np.int64] = self._bounds[ids + 1] - 1
        return last

    def ids_in(self, partition: int) -> list[str]:
        """Return the transactional ids that a state partition knows, those that have expired left out."""
        last = self.last_records(np.arange(len(self.states.ids)))
        is_there = np.isin(self.of_log[last], [at for at, one in enumerate(self.partitions) if one == partition])
        is_there &= self.states["state"][last] != TOMBSTONE
        return [self.states.ids[at] for at in np.flatnonzero(is_there).tolist()]

    def by_name(self) -> Iterator[tuple[NDArray[np.int64], StateColumns]]:
        """Yield all records, ids in order, with their numbers; some thousand at a time."""
        if len(self.states) >= _MANY:
            give_back()
        ids = np.argsort(self.states.ids.ranks())
        firsts, counts = self._bounds[ids], np.diff(self._bounds)[ids]
        ends = np.cumsum(counts)
        for start in range(0, len(self.states), _AT_ONCE):  # an order of all records takes 200 MiB for 10 million
            places = np.arange(start, min(start + _AT_ONCE, len(self.states)))
            of = np.searchsorted(ends, places, side="right")
            rows = firsts[of] + places - (ends[of] - counts[of])
            yield rows, self.states.take(rows)

    def without_timeout(self) -> set[str]:
        """Return the ids whose newest record has no timeout: those of two-phase commits."""
        ids = self.states["transactional_id"]
        newest = np.flatnonzero(np.append(ids[1:] != ids[:-1], np.ones(min(len(ids), 1), bool)))
        endless = newest[self.states["timeout_ms"][newest] == NO_TIMEOUT]
        return set(self.states.ids.gather(ids[endless]))

    def forget(self) -> None:
        """Forget what was made of the records to answer questions; it is made again when it is needed."""
        for name in ("_bounds", "_newest_last", "_listing", "_outer", "_topics", "again"):
            self.__dict__.pop(name, None)
        if len(self.states) >= _MANY:
            give_back()

    def newest_of(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the time (ms) of the newest record in the state partition of each of some records."""
        newest = np.array([self.newest.get(partition, -1) for partition in self.partitions] or [-1], np.int64)
        times: NDArray[np.int64] = newest[self.of_log[rows]]
        return times

    def read_until(self, ids: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the time (ms) of the newest record in each id's state partition.

        Without an id (-1) it is the earliest of all partitions': -1 where one of them has no record, or is not here.
        """
        until = -1
        if self.total is not None and len(self.newest) >= self.total:
            until = min((self.newest.get(number, -1) for number in range(self.total)), default=-1)
        return self._of_ids(ids, until)

    def go_on_past(self, ids: NDArray[np.int64], timestamps: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Say whether the state partition of each id has a newer record; without an id (-1), whether all have."""
        goes_on: NDArray[np.bool_] = self._of_ids(ids, min(self.newest.values(), default=NONE)) > timestamps
        return goes_on

    def _of_ids(self, ids: NDArray[np.int64], unknown: int) -> NDArray[np.int64]:
        found = np.full(len(ids), unknown, np.int64)
        known = ids >= 0
        found[known] = self.newest_of(self._bounds[ids[known]])
        return found

    def list_partition(self, rows: NDArray[np.int64], topic: str, partition: int) -> NDArray[np.bool_]:
        """Say which records list a partition."""
        found = np.zeros(len(rows), bool)
        owner, listed = self.states.listed_by(rows)
        is_it = (self.states.listed["topic"][listed] == self._topics.get(topic, -1)) & (
            self.states.listed["partition"][listed] == partition
        )
        found[owner[is_it]] = True
        return found

    @cached_property
    def _topics(self) -> Mapping[str, int]:
        return {topic: number for number, topic in enumerate(self.states.topics)}

    @cached_property
    def _listing(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[Any]]:
        """Return the partitions that decisions list, in order, where each one's begin, and the Prepare records."""
        states = self.states
        if len(states) >= _MANY:
            give_back()
        prepared = np.setdiff1d(np.flatnonzero(np.isin(states["state"], _PREPARE)), self.again, assume_unique=True)
        prepared = prepared.astype(_narrow(len(states)))
        prepared = prepared[np.lexsort((states["last_update_timestamp"][prepared], states["producer_id"][prepared]))]
        owner, listed = states.listed_by(prepared)
        places = _place(states.listed["topic"][listed].astype(np.int64), states.listed["partition"][listed])
        by_place = np.argsort(places, kind="stable")
        rows = prepared[owner[by_place]]
        del owner, listed, prepared
        distinct, firsts = np.unique(places[by_place], return_index=True)
        if len(states) >= _MANY:
            give_back()
        return distinct, np.append(firsts, len(rows)), rows

    def listing(self, topic: str, partition: int) -> NDArray[np.int64]:
        """Return the Prepare records that list a partition, by producer id and time of the decision."""
        if topic not in self._topics:
            return np.empty(0, np.int64)
        distinct, firsts, rows = self._listing
        (wanted,) = _place(np.array([self._topics[topic]]), np.array([partition])).tolist()
        [at] = place_of(distinct, np.array([wanted])).tolist()
        if at < 0:
            return np.empty(0, np.int64)
        return rows[firsts[at] : firsts[at + 1]].astype(np.int64)

    @cached_property
    def again(self) -> NDArray[np.int64]:
        """Return the records that say again what the one before them said, which are few.

        A coordinator whose write was not replicated in time has it in its log all the same, and writes it again.
        """
        states = self.states
        same = (states["state"][1:] == states["state"][:-1]) & np.isin(states["state"][1:], _INNER)
        rows = np.flatnonzero(same) + 1
        for name in ("transactional_id", "producer_id", "producer_epoch", "start_timestamp"):
            column = states[name]
            rows = rows[column[rows] == column[rows - 1]]
        return rows

    def said_first(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return of each of some records the first that said the same."""
        firsts, _ = self._repeated
        at, found = place_of(self.again, rows), rows.copy()
        found[at >= 0] = firsts[at[at >= 0]]
        return found

    def after(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the record after each of some and those that say the same again; the last one where there is none."""
        _, ends = self._repeated
        found = rows + 1
        at = place_of(self.again, found)
        found[at >= 0] = ends[at[at >= 0]]
        return np.minimum(found, max(len(self.states) - 1, 0))

    @property
    def _repeated(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return for each of the records that say the same again the first that said so, and the record after all."""
        begins, stops = runs(group_begins(self.again - np.arange(len(self.again))))  # of records after one another
        counts = stops - begins
        return np.repeat(self.again[begins] - 1, counts), np.repeat(self.again[begins] + counts, counts)

    @cached_property
    def _outer(self) -> NDArray[Any]:
        """Return the records of states that a next transaction may begin with, and tombstones."""
        return np.flatnonzero(~np.isin(self.states["state"], _INNER)).astype(_narrow(len(self.states)))

    def decisions(self, rows: NDArray[np.int64]) -> Columns:
        """Return what Prepare records decided, by `DECISION_COLUMNS`."""
        if not len(rows):
            return Columns.empty(DECISION_COLUMNS)
        states, outer, most = self.states, self._outer, len(self.states) - 1
        ids = states["transactional_id"][rows]
        before, after = np.maximum(rows - 1, 0), self.after(rows)
        has_begun = (rows > 0) & (states["transactional_id"][before] == ids) & (states["state"][before] == _S.ONGOING)
        is_complete = (rows < most) & (states["transactional_id"][after] == ids)
        is_complete &= np.isin(states["state"][after], _COMPLETE)
        at = np.searchsorted(outer, rows)
        following = outer[np.minimum(at, len(outer) - 1)] if len(outer) else rows
        goes_on = (at < len(outer)) & (states["transactional_id"][following] == ids)
        columns = (
            ids, states["producer_id"][rows],
            np.where(has_begun, states["producer_epoch"][before].astype(np.int64), NONE),
            states["producer_epoch"][rows], states["state"][rows] == _S.PREPARE_COMMIT, states["start_timestamp"][rows],
            states["last_update_timestamp"][rows], np.where(goes_on, self.times(following), NONE),
            states["offset"][rows], self.newest_of(rows), np.where(is_complete, states["timestamp"][after], -1),
        )  # fmt: skip
        return Columns({name: column.astype(np.int64) for name, column in zip(DECISION_COLUMNS, columns, strict=True)})

    def times(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return when transitions were made (ms); a tombstone has only its record's time."""
        states = self.states
        is_there = states["state"][rows] != TOMBSTONE
        return np.where(is_there, states["last_update_timestamp"][rows], states["timestamp"][rows])

    def illegal(self, clean_from: Mapping[str, int]) -> NDArray[np.int64]:
        """Return the records that may not follow the record of the same id before them.

        `clean_from` has by state log the offset below which it was cleaned, so that records may be gone: there nothing
        is judged.
        """
        states, ids = self.states, self.states["transactional_id"]
        cleaned = np.array([clean_from[log] for log in self.logs] or [0], np.int64)
        bad = (ids[1:] == ids[:-1]) & ~_LEGAL[states["state"][:-1] + 1, states["state"][1:] + 1]
        rows = np.setdiff1d(np.flatnonzero(bad) + 1, self.again, assume_unique=True)
        begins = self._bounds[ids[rows]]
        judged: NDArray[np.int64] = rows[states["offset"][rows - 1] >= cleaned[self.of_log[begins]]]
        return judged

    def for_partition(self, topic: str, partition: int, producer_ids: NDArray[np.int64]) -> Coordinator:
        """Return what concerns one partition: the decisions that list it, and the last word on some producers."""
        producer_ids = distinct(producer_ids)
        named, last = self.names_of(producer_ids), self.last_of(producer_ids)
        listing, outer = self.listing(topic, partition), self._outer
        following = outer[np.minimum(np.searchsorted(outer, listing), len(outer) - 1)] if len(outer) else listing
        around = np.concatenate([listing - 1, listing, self.after(listing), following, last[last >= 0]])
        around = around[(around >= 0) & (around < len(self.states))]
        ids = distinct(np.concatenate([named[named >= 0], self.states["transactional_id"][around]]))
        rows = distinct(np.concatenate([around, self._bounds[ids], self._bounds[ids + 1] - 1]))
        return self._some(rows, (producer_ids[named >= 0], named[named >= 0]))

    def of_ids(self, numbers: NDArray[np.intp]) -> Coordinator:
        """Return the records of some ids."""
        chosen = np.zeros(len(self.states.ids), bool)
        chosen[numbers] = True
        return self.of_records(np.flatnonzero(chosen[self.states["transactional_id"]]))

    def of_records(self, rows: NDArray[np.int64]) -> Coordinator:
        """Return some records; what is last and what follows is right where it is among them."""
        producers, ids = self.named
        named = among(ids, self.states["transactional_id"][rows])
        return self._some(rows, (producers[named], ids[named]))

    def _some(self, rows: NDArray[np.int64], named: tuple[NDArray[np.int64], NDArray[Any]]) -> Coordinator:
        """Return some records with some of the producer ids that are `named`, all by ids of these records."""
        some = Coordinator(total=self.total)
        some.known, some.newest, some.logs, some.partitions = self.known, self.newest, self.logs, self.partitions
        some.states, some.of_log = self.states.take(rows), self.of_log[rows]
        kept, numbers = np.unique(some.states["transactional_id"], return_inverse=True)
        some.states.ids = self.states.ids.take(kept)
        some.states.records = some.states.records.with_columns({"transactional_id": numbers})
        producers, ids = named
        some.named = producers, np.searchsorted(kept, ids)
        return some

    def parts(self) -> Iterator[Any]:
        """Yield what ``of_parts`` puts together again: all but the records, then some thousand records each."""
        used = np.unique(self.states.listed["topic"])
        head = Coordinator(total=self.total)
        head.known, head.newest, head.logs, head.partitions = self.known, self.newest, self.logs, self.partitions
        head.states.ids, head.states.topics = self.states.ids, self.states.topics.take(used)
        head.named = self.named
        yield head
        for start in range(0, len(self.states), _IN_A_PART):
            rows = np.arange(start, min(start + _IN_A_PART, len(self.states)))
            some = self.states.take(rows)
            listed = some.listed.with_columns({"topic": np.searchsorted(used, some.listed["topic"])})
            yield some.records, listed, self.of_log[rows]

    @classmethod
    def of_parts(cls, parts: Iterable[Any]) -> Coordinator:
        """Put together what ``parts`` yielded."""
        found: Coordinator
        found, *rows = parts
        records, listed = [records for records, _, _ in rows], [listed for _, listed, _ in rows]
        found.states = StateColumns.moved(records, listed, found.states.ids, found.states.topics)
        found.of_log = np.concatenate([found.of_log, *(of_log for *_, of_log in rows)])
        return found


def _place(topic: NDArray[np.int64], partition: NDArray[Any]) -> NDArray[np.int64]:
    """Return a number for each partition of a topic."""
    return topic << 32 | partition.astype(np.int64) & 0xFFFFFFFF


def _narrow(rows: int) -> type[np.signedinteger[Any]]:
    return np.int32 if rows < 2**31 else np.int64


def _beside(known: tuple[NDArray[np.int64], NDArray[Any]], wanted: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the number beside each wanted value, which is looked for among sorted ones; -1 where it is not there."""
    values, numbers = known
    at = place_of(values, wanted)
    return np.where(at >= 0, numbers[at], -1).astype(np.int64) if len(values) else at

"""What transactions cost, for each partition, topic and transactional id, and who writes.

Writers are producers by the beginning of their transactional ids, and how many new ones come.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from kafkalog.auditing.space.log_space import LogSpace
from kafkalog.auditing.space.state_topic import StateTopic
from kafkalog.columns.sorted_rows import groups
from kafkalog.columns.table import NONE, Columns
from kafkalog.files.names import METADATA_TOPIC, STATE_TOPIC
from kafkalog.folds.fold import is_open
from kafkalog.tables.space_tables import PRODUCER_GROUPS, TRANSACTION_COSTS

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "Cost",
    "cost_row",
    "costs_of_log",
    "group_row",
    "producer_group_rows",
    "producers_of_log",
    "transaction_cost_rows",
]

_HOUR_MS: Final = 3_600_000
_MARKER_BYTES: Final = 78  # of a batch with one marker


class Scope(NamedTuple):
    """What a row is about: a partition, a topic, or a transactional id by its number in the state topic."""

    topic: str | None
    partition: int | None = None
    id: int | None = None


@dataclass(slots=True)
class Cost:
    """The sums of one row, and the durations of its transactions: parts are joined in any order."""

    transactions: int = 0
    empty: int = 0
    records: int = 0
    data_bytes: int = 0
    index_bytes: int = 0
    first: int = 2**62
    last: int = -1
    durations: list[NDArray[Any]] = field(default_factory=list)
    delays: list[NDArray[Any]] = field(default_factory=list)

    def join(self, other: Cost) -> None:
        """Add another part of the same row."""
        self.transactions += other.transactions
        self.empty += other.empty
        self.records += other.records
        self.data_bytes += other.data_bytes
        self.index_bytes += other.index_bytes
        self.first, self.last = min(self.first, other.first), max(self.last, other.last)
        self.durations += other.durations
        self.delays += other.delays

    def add(self, rows: Columns) -> None:
        """Add ended transactions."""
        with_data, decided = rows.take(rows["batches"] > 0), rows.take(rows["decision"] >= 0)
        self.transactions += len(rows)
        self.empty += len(rows) - len(with_data)
        self.records += int(with_data["records"].sum())
        self.data_bytes += int(with_data["size"].sum())
        if len(with_data):
            times = with_data["marker_timestamp"]
            self.first, self.last = min(self.first, int(times.min())), max(self.last, int(times.max()))
            self.durations.append(_narrow(np.maximum(times - with_data["min_timestamp"], 0)))
        self.delays.append(_narrow(np.maximum(decided["marker_timestamp"] - decided["decision"], 0)))

    def row(
        self, kind: str, scope: Scope, name: str | None = None, state: tuple[int, int, int] | None = None
    ) -> tuple[Any, ...]:  # fmt: skip
        """Make the row; `state` is (records, bytes, partitions of a transaction) of the state topic."""
        with_data = self.transactions - self.empty
        markers = self.transactions * _MARKER_BYTES
        every = self.data_bytes + markers + self.index_bytes + (state[1] if state else 0)
        offsets = self.records + self.transactions
        durations, delays = _percentiles(self.durations), _percentiles(self.delays)
        return TRANSACTION_COSTS.of(
            scope=kind,
            topic=scope.topic,
            partition=scope.partition,
            transactional_id=name,
            transactions=self.transactions,
            empty=self.empty,
            per_hour=None if self.last <= self.first else (with_data - 1) * _HOUR_MS // (self.last - self.first),
            records=self.records,
            data_bytes=self.data_bytes,
            marker_bytes=markers,
            marker_share_percent=100 * self.transactions // offsets if offsets else 0,
            state_records=state[0] if state else None,
            state_bytes=state[1] if state else None,
            partitions_each=state[2] if state else None,
            duration_p50_ms=durations[0],
            duration_p99_ms=durations[1],
            duration_max_ms=durations[2],
            marker_p50_ms=delays[0],
            marker_p99_ms=delays[1],
            marker_max_ms=delays[2],
            all_bytes=every,
            amplification_percent=100 * every // self.data_bytes if self.data_bytes else None,
        )


def transaction_cost_rows(logs: Sequence[LogSpace], state: StateTopic) -> Iterator[tuple[Any, ...]]:
    """Yield a row for each partition with transactions, each topic and each transactional id; one replica each."""
    every: dict[Scope, Cost] = {}
    for log in logs:
        for scope, cost in costs_of_log(log, state):
            if scope in every:
                every[scope].join(cost)
            else:
                every[scope] = cost
    for scope in sorted(every, key=lambda scope: _order(scope, state)):
        yield cost_row(scope, every[scope], state)


def costs_of_log(log: LogSpace, state: StateTopic) -> Iterator[tuple[Scope, Cost]]:
    """Yield what a log adds to the rows of its partition, of its topic, and of transactional ids."""
    directory = log.directory
    if not log.facts.has_transactions or directory.topic in (STATE_TOPIC, METADATA_TOPIC):
        return
    mine, names = Cost(), defaultdict[int, Cost](Cost)
    for rows in _transactions(log, state):
        mine.add(rows)
        of_row = state.names_of(rows["producer_id"])
        for at in groups(of_row):
            if (number := int(of_row[at[0]])) >= 0:
                names[number].add(rows.take(at))
    mine.index_bytes = _index_bytes(log, mine.data_bytes)
    if mine.transactions:
        yield Scope(directory.topic, directory.partition), mine
        yield Scope(directory.topic), replace(mine, durations=list(mine.durations), delays=list(mine.delays))
    yield from ((Scope(None, None, number), cost) for number, cost in names.items())


def cost_row(scope: Scope, cost: Cost, state: StateTopic) -> tuple[Any, ...]:
    """Make a row of all parts of it."""
    if scope.id is None:
        return cost.row("topic" if scope.partition is None else "partition", scope)
    counts = state.of_ids.row(scope.id)
    share = state.bytes * counts["records"] // max(1, int(state.of_ids["records"].sum()))
    about = (counts["records"], share, round(counts["listed"] / max(1, counts["decided"])))
    return cost.row("transactional_id", scope, state.ids[scope.id], about)


def _order(scope: Scope, state: StateTopic) -> tuple[int, str, int]:
    """Sort partitions, then topics, then transactional ids, each by name."""
    if scope.id is not None:
        return 2, state.ids[scope.id], 0
    return (1, scope.topic or "", 0) if scope.partition is None else (0, scope.topic or "", scope.partition)


def _transactions(log: LogSpace, state: StateTopic) -> Iterator[Columns]:
    """Yield a log's ended transactions, some thousand at a time, with the time of each one's decision."""
    columns = ("producer_id", "batches", "records", "size", "min_timestamp", "marker_offset", "marker_timestamp")
    for block in log.facts.transactions.blocks(*columns, "marker_type"):
        rows = block.take(~is_open(block), *columns)
        decided = state.decision_before(rows["producer_id"], rows["marker_timestamp"])
        yield rows.with_columns({"decision": decided})


def _index_bytes(log: LogSpace, data_bytes: int) -> int:
    """Return the transactions' share of the indexes of closed segments; the active one's are preallocated."""
    stems = {one.segment.path.rpartition("/")[2].removesuffix(".log") for one in log.closed}
    sizes = sum(
        identity.size
        for name, identity in log.directory.files.items()
        if identity is not None and name.partition(".")[0] in stems and name.endswith("index")
    )
    return sizes * min(data_bytes, log.log_bytes) // max(1, log.log_bytes)


def _narrow(times: NDArray[Any]) -> NDArray[Any]:
    narrow: NDArray[Any] = np.minimum(times, 2**31 - 1).astype(np.int32)
    return narrow


def _percentiles(parts: Sequence[NDArray[Any]]) -> tuple[int | None, int | None, int | None]:
    """Return what half, 99 of 100 and all of the values do not exceed."""
    every = np.sort(np.concatenate([np.empty(0, np.int32), *parts]))
    if not len(every):
        return None, None, None
    return int(every[(len(every) - 1) // 2]), int(every[(99 * len(every) + 99) // 100 - 1]), int(every[-1])


# Who writes.


_LAST_NUMBER: Final = re.compile(r"[-._]?[0-9]+$")
_IDS: Final = PRODUCER_GROUPS.names.index("producer_ids")
_COLUMNS: Final = ("producer_id", "records", "last_epoch", "first_timestamp", "last_timestamp")
# The number of the log, that of the transactional id, -1 for none, and whether brokers hold the producer's state.
_PRODUCERS: Final = (*_COLUMNS, "log", "name", "is_held")


def producer_group_rows(logs: Sequence[LogSpace], state: StateTopic, now: int) -> Iterator[tuple[Any, ...]]:
    """Yield a row for each group of producers, those with the most producer ids first; one replica of each log."""
    parts = defaultdict[str | None, list[Columns]](list)
    for number, log in enumerate(logs):
        for prefix, rows in producers_of_log(log, number, state, now):
            parts[prefix].append(rows)
    found = [group_row(prefix, of_group) for prefix, of_group in parts.items()]
    yield from sorted(found, key=lambda row: int(row[_IDS]), reverse=True)


def producers_of_log(
    log: LogSpace, number: int, state: StateTopic, now: int
) -> Iterator[tuple[str | None, Columns]]:  # fmt: skip
    """Yield a log's producers by the beginning of their transactional ids, as columns."""
    producers = log.facts.producers.columns(*_COLUMNS)
    rows = producers.take(producers["producer_id"] >= 0, *_COLUMNS)
    names = state.names_of(rows["producer_id"])
    held = rows["last_timestamp"] >= now - log.broker.producer_expiration_ms
    rows = rows.with_columns({"log": np.full(len(rows), number), "name": names, "is_held": held.astype(np.int64)})
    prefixes = {one: _LAST_NUMBER.sub("", state.ids[one]) for one in np.unique(names).tolist() if one >= 0}
    numbered = {prefix: at for at, prefix in enumerate(dict.fromkeys(prefixes.values()))}
    group = np.array([numbered[prefixes[one]] if one >= 0 else -1 for one in names.tolist()], np.int64)
    for some in groups(group):
        at = group[some[0]]
        yield None if at < 0 else list(numbered)[at], rows.take(some)


def group_row(prefix: str | None, of_logs: Iterable[Columns]) -> tuple[Any, ...]:
    """Make the row of a group of its producers in all logs."""
    rows = Columns.concat(of_logs, _PRODUCERS)
    epochs, firsts, lasts = (rows[name] for name in ("last_epoch", "first_timestamp", "last_timestamp"))
    ids, inverse = np.unique(rows["producer_id"], return_inverse=True)
    first_seen = np.full(len(ids), 2**62, np.int64)
    np.minimum.at(first_seen, inverse[firsts >= 0], firsts[firsts >= 0])
    logs, log = np.unique(rows["log"], return_inverse=True)
    entries = np.bincount(log[rows["is_held"] != 0], minlength=1)
    busiest, most = _busiest(first_seen)
    known = np.concatenate([firsts[firsts >= 0], lasts[lasts >= 0]])
    return PRODUCER_GROUPS.of(
        prefix=prefix,
        transactional_ids=0 if prefix is None else len(np.unique(rows["name"])),
        producer_ids=len(ids),
        new_per_hour=most,
        busiest_hour_ms=busiest,
        records=int(rows["records"].sum()),
        partitions=len(logs),
        state_entries=int(rows["is_held"].sum()),
        most_state_entries=int(entries.max()),
        highest_epoch=int(epochs[epochs != NONE].max(initial=-1)),
        first_ms=int(known.min()) if len(known) else None,
        last_ms=int(known.max()) if len(known) else None,
    )


def _busiest(times: NDArray[np.int64]) -> tuple[int | None, int]:
    """Return when the hour with the most new producer ids began, and how many came in it."""
    hours, counts = np.unique(times[times < 2**62] // _HOUR_MS, return_counts=True)
    if not len(hours):
        return None, 0
    at = int(counts.argmax())
    return int(hours[at]) * _HOUR_MS, int(counts[at])

"""What transactions cost: for each partition, topic and transactional id, by the audit's own fold."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from kafkalog.auditing.space.log_space import LogSpace
from kafkalog.auditing.space.state_topic import StateTopic
from kafkalog.log.names import METADATA_TOPIC, STATE_TOPIC
from kafkalog.tables.space import TRANSACTION_COSTS
from kafkalog.txn.columns import NONE

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["transaction_cost_rows"]

_HOUR_MS: Final = 3_600_000
_MARKER_BYTES: Final = 78  # of a batch with one marker


@dataclass(slots=True)
class _Cost:
    """The sums of one row, and the durations of its transactions."""

    transactions: int = 0
    empty: int = 0
    records: int = 0
    data_bytes: int = 0
    index_bytes: int = 0
    first: int = 2**62
    last: int = -1
    durations: list[NDArray[Any]] = field(default_factory=list)
    delays: list[NDArray[Any]] = field(default_factory=list)

    def add(self, rows: dict[str, NDArray[Any]], chosen: NDArray[Any], index_bytes: int = 0) -> None:
        """Add the chosen transactions."""
        has_data = chosen & (rows["batches"] > 0)
        self.transactions += int(chosen.sum())
        self.empty += int((chosen & (rows["batches"] == 0)).sum())
        self.records += int(rows["records"][has_data].sum())
        self.data_bytes += int(rows["size"][has_data].sum())
        self.index_bytes += index_bytes
        if has_data.any():
            times = rows["marker_timestamp"][has_data]
            self.first, self.last = min(self.first, int(times.min())), max(self.last, int(times.max()))
            self.durations.append(_narrow(np.maximum(times - rows["min_timestamp"][has_data], 0)))
        decided = chosen & (rows["decision"] >= 0)
        self.delays.append(_narrow(np.maximum(rows["marker_timestamp"] - rows["decision"], 0)[decided]))

    def row(self, scope: str, topic: str | None, partition: int | None, name: str | None = None,
            state: tuple[int, int, int] | None = None) -> tuple[Any, ...]:  # fmt: skip
        """Make the row; `state` is (records, bytes, partitions of a transaction) of the state topic."""
        with_data = self.transactions - self.empty
        markers = self.transactions * _MARKER_BYTES
        every = self.data_bytes + markers + self.index_bytes + (state[1] if state else 0)
        offsets = self.records + self.transactions
        durations, delays = _percentiles(self.durations), _percentiles(self.delays)
        return TRANSACTION_COSTS.of(
            scope=scope,
            topic=topic,
            partition=partition,
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
    topics: dict[str, _Cost] = {}
    names: dict[int, _Cost] = {}
    for log in sorted(logs, key=lambda one: (one.directory.topic, one.directory.partition)):
        if not log.facts.has_transactions or log.directory.topic in (STATE_TOPIC, METADATA_TOPIC):
            continue
        mine, topic = _Cost(), topics.setdefault(log.directory.topic, _Cost())
        for rows in _transactions(log, state):
            every = np.ones(len(rows["batches"]), np.bool_)
            mine.add(rows, every)
            topic.add(rows, every)
            ids, inverse = np.unique(rows["producer_id"], return_inverse=True)
            of_row = np.array([state.name_of.get(one, -1) for one in ids.tolist()], np.int64)[inverse]
            for number in np.unique(of_row).tolist():
                if number >= 0:
                    names.setdefault(number, _Cost()).add(rows, of_row == number)
        beside = _index_bytes(log, mine.data_bytes)
        mine.index_bytes += beside
        topic.index_bytes += beside
        if mine.transactions:
            yield mine.row("partition", log.directory.topic, log.directory.partition)
    for name, cost in topics.items():
        if cost.transactions:
            yield cost.row("topic", name, None)
    total = max(1, int(state.records.sum()))
    for number, cost in sorted(names.items(), key=lambda item: state.ids[item[0]]):
        records, decided = int(state.records[number]), int(state.decided[number])
        about = (records, state.bytes * records // total, round(int(state.listed[number]) / max(1, decided)))
        yield cost.row("transactional_id", None, None, state.ids[number], about)


def _transactions(log: LogSpace, state: StateTopic) -> Iterator[dict[str, NDArray[Any]]]:
    """Yield a log's ended transactions, some thousand at a time, with the time of each one's decision."""
    columns = ("producer_id", "batches", "records", "size", "min_timestamp", "marker_offset", "marker_timestamp")
    for block in log.facts.transactions.blocks(*columns):
        ended = block["marker_offset"] != NONE
        rows = {name: block[name][ended] for name in columns}
        rows["decision"] = state.decision_before(rows["producer_id"], rows["marker_timestamp"])
        yield rows


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

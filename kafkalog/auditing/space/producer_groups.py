"""Who writes: producers by the beginning of their transactional ids, and how many new ones come."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from kafkalog.auditing.space.log_space import LogSpace
from kafkalog.auditing.space.state_topic import StateTopic
from kafkalog.columns.sorted_rows import groups
from kafkalog.columns.table import NONE, Columns
from kafkalog.tables.space_tables import PRODUCER_GROUPS

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["group_row", "producer_group_rows", "producers_of_log"]

_HOUR_MS: Final = 3_600_000
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

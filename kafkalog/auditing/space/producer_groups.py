"""Who writes: producers by the beginning of their transactional ids, and how many new ones come."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from kafkalog.auditing.space.log_space import LogSpace
from kafkalog.auditing.space.state_topic import StateTopic
from kafkalog.columns.table import NONE
from kafkalog.tables.space_tables import PRODUCER_GROUPS

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["group_row", "producer_group_rows", "producers_of_log"]

_HOUR_MS: Final = 3_600_000
_LAST_NUMBER: Final = re.compile(r"[-._]?[0-9]+$")
_IDS: Final = PRODUCER_GROUPS.names.index("producer_ids")
_COLUMNS: Final = ("producer_id", "records", "last_epoch", "first_timestamp", "last_timestamp")


def producer_group_rows(logs: Sequence[LogSpace], state: StateTopic, now: int) -> Iterator[tuple[Any, ...]]:
    """Yield a row for each group of producers, those with the most producer ids first; one replica of each log."""
    parts = defaultdict[str | None, list["NDArray[np.int64]"]](list)
    for number, log in enumerate(logs):
        for prefix, rows in producers_of_log(log, number, state, now):
            parts[prefix].append(rows)
    found = [group_row(prefix, np.concatenate(of_group, axis=1)) for prefix, of_group in parts.items()]
    yield from sorted(found, key=lambda row: int(row[_IDS]), reverse=True)


def producers_of_log(
    log: LogSpace, number: int, state: StateTopic, now: int
) -> Iterator[tuple[str | None, NDArray[np.int64]]]:
    """Yield a log's producers by the beginning of their transactional ids, as columns.

    These are the producer id, records, last epoch, first and last timestamp, the log's number, the number of the
    transactional id, and whether brokers hold its state.
    """
    producers = log.facts.producers
    ids = producers["producer_id"]
    names = np.array([state.name_of.get(one, -1) for one in ids.tolist()], np.int64)
    held = producers["last_timestamp"] >= now - log.broker.producer_expiration_ms
    rows = np.stack([*(producers[name] for name in _COLUMNS), np.full(len(ids), number), names, held])
    prefixes = {one: _LAST_NUMBER.sub("", state.ids[one]) for one in np.unique(names).tolist() if one >= 0}
    numbered = {prefix: at for at, prefix in enumerate(dict.fromkeys(prefixes.values()))}
    group = np.array([numbered[prefixes[one]] if one >= 0 else -1 for one in names.tolist()], np.int64)
    for at in np.unique(group[ids >= 0]).tolist():
        yield None if at < 0 else list(numbered)[at], rows[:, (group == at) & (ids >= 0)]


def group_row(prefix: str | None, rows: NDArray[np.int64]) -> tuple[Any, ...]:
    """Make the row of a group of the columns of all its logs."""
    producers, records, epochs, firsts, lasts, logs, names, held = rows
    ids, inverse = np.unique(producers, return_inverse=True)
    first_seen = np.full(len(ids), 2**62, np.int64)
    np.minimum.at(first_seen, inverse[firsts >= 0], firsts[firsts >= 0])
    entries = np.bincount(np.unique(logs, return_inverse=True)[1][held != 0], minlength=1)
    busiest, most = _busiest(first_seen)
    known = np.concatenate([firsts[firsts >= 0], lasts[lasts >= 0]])
    return PRODUCER_GROUPS.of(
        prefix=prefix,
        transactional_ids=0 if prefix is None else len(np.unique(names)),
        producer_ids=len(ids),
        new_per_hour=most,
        busiest_hour_ms=busiest,
        records=int(records.sum()),
        partitions=len(np.unique(logs)),
        state_entries=int(held.sum()),
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

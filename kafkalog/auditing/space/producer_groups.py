"""Who writes: producers by the beginning of their transactional ids, and how many new ones come."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from kafkalog.auditing.space.log_space import LogSpace
from kafkalog.auditing.space.state_topic import StateTopic
from kafkalog.tables.space import PRODUCER_GROUPS
from kafkalog.txn.columns import NONE

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["producer_group_rows"]

_HOUR_MS: Final = 3_600_000
_LAST_NUMBER: Final = re.compile(r"[-._]?[0-9]+$")
_IDS: Final = PRODUCER_GROUPS.names.index("producer_ids")
_COLUMNS: Final = ("producer_id", "records", "last_epoch", "first_timestamp", "last_timestamp")


def producer_group_rows(logs: Sequence[LogSpace], state: StateTopic, now: int) -> Iterator[tuple[Any, ...]]:
    """Yield a row for each group of producers, those with the most producer ids first; one replica of each log."""
    parts = [
        np.stack([*(log.facts.producers[name] for name in _COLUMNS), np.full(len(log.facts.producers), number)])
        for number, log in enumerate(logs)
    ]
    expiry = np.array([log.broker.producer_expiration_ms for log in logs], np.int64)
    rows = np.concatenate([np.empty((len(_COLUMNS) + 1, 0), np.int64), *parts], axis=1)
    rows = rows[:, rows[0] >= 0]
    prefixes = {name: _LAST_NUMBER.sub("", name) for name in state.ids}
    numbered = {prefix: number for number, prefix in enumerate(dict.fromkeys(prefixes.values()))}
    ids, inverse = np.unique(rows[0], return_inverse=True)
    names = [state.name_of.get(one, -1) for one in ids.tolist()]
    group = np.array([-1 if name < 0 else numbered[prefixes[state.ids[name]]] for name in names], np.int64)
    name_of = np.array(names, np.int64)
    first_seen = np.full(len(ids), 2**62, np.int64)
    timed = rows[3] >= 0
    np.minimum.at(first_seen, inverse[timed], rows[3][timed])
    held = rows[4] >= now - expiry[rows[5]] if len(logs) else np.empty(0, np.bool_)
    found: list[tuple[Any, ...]] = []
    for number in np.unique(group).tolist():
        members = group == number
        mine = members[inverse]
        prefix = None if number < 0 else list(numbered)[number]
        entries = np.bincount(rows[5][mine & held], minlength=1)
        busiest, most = _busiest(first_seen[members])
        times = rows[3:5][:, mine]
        known = times[times >= 0]
        epochs = rows[2][mine]
        found.append(
            PRODUCER_GROUPS.of(
                prefix=prefix,
                transactional_ids=len(np.unique(name_of[members])) if number >= 0 else 0,
                producer_ids=int(members.sum()),
                new_per_hour=most,
                busiest_hour_ms=busiest,
                records=int(rows[1][mine].sum()),
                partitions=len(np.unique(rows[5][mine])),
                state_entries=int((mine & held).sum()),
                most_state_entries=int(entries.max()),
                highest_epoch=int(epochs[epochs != NONE].max(initial=-1)),
                first_ms=int(known.min()) if len(known) else None,
                last_ms=int(known.max()) if len(known) else None,
            )
        )
    yield from sorted(found, key=lambda row: int(row[_IDS]), reverse=True)


def _busiest(times: NDArray[np.int64]) -> tuple[int | None, int]:
    """Return when the hour with the most new producer ids began, and how many came in it."""
    hours, counts = np.unique(times[times < 2**62] // _HOUR_MS, return_counts=True)
    if not len(hours):
        return None, 0
    at = int(counts.argmax())
    return int(hours[at]) * _HOUR_MS, int(counts[at])

"""What the coordinator says about one partition, as messages of bounded size: what is routed to the partition's judge.

The first message has names and clocks, the others some thousand records each.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from kafkalog.auditing.partition import open_at_start, read_states, write_states
from kafkalog.auditing.pipeline.places import LogPlace
from kafkalog.txn.columns import Columns
from kafkalog.txn.coordinator import Coordinator
from kafkalog.txn.placed import distinct
from kafkalog.txn.wire import Schema, WireTable, read_message, write_message

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["coordinator_for", "coordinator_messages", "read_coordinator"]

_HEAD: Final = Schema(
    "coordinator",
    1,
    (
        WireTable("total", ("total",)),
        WireTable("known", ("partition",)),
        WireTable("newest", ("partition", "newest")),
        WireTable("logs", ("partition",), ("log",)),
        WireTable("named", ("producer_id", "id")),
        WireTable("transactional_ids", (), ("name",)),
        WireTable("topics", (), ("name",)),
    ),
)
_ROWS: Final = 1 << 14  # records in a message


def coordinator_for(
    logs: Sequence[LogPlace], producers: NDArray[np.int64] | None, coordinator: Coordinator
) -> Iterator[bytes]:
    """Yield what concerns one partition, given as its replicas' logs and the producer ids in their segments.

    Producers of transactions that were open before the logs begin are only in their snapshots.
    """
    directory = logs[0].directory
    ids = [np.empty(0, np.int64) if producers is None else producers]
    if len(coordinator.states):
        ids += [open_at_start(log.directory, lambda _: None)["producer_id"] for log in logs]
    some = coordinator.for_partition(directory.topic, directory.partition, distinct(np.concatenate(ids)))
    return coordinator_messages(some)


def coordinator_messages(coordinator: Coordinator) -> Iterator[bytes]:
    """Yield a coordinator's records, or a slice of them."""
    states = coordinator.states
    used = np.unique(states.listed_topic)
    producers, ids = coordinator.named
    yield write_message(
        _HEAD,
        {
            "total": [(coordinator.total,)],
            "known": [(number,) for number in sorted(coordinator.known)],
            "newest": coordinator.newest.items(),
            "logs": list(zip(coordinator.partitions, coordinator.logs, strict=True)),
            "named": Columns({"producer_id": producers.astype(np.int64), "id": ids.astype(np.int64)}),
            "transactional_ids": states.ids,
            "topics": states.topics.take(used),
        },
    )
    for start in range(0, len(states), _ROWS):
        rows = np.arange(start, min(start + _ROWS, len(states)))
        some = states.take(rows)
        some.listed_topic = np.searchsorted(used, some.listed_topic)
        yield write_states(some, np.asarray(coordinator.of_log[rows], np.int64))


def read_coordinator(messages: Iterable[bytes]) -> Coordinator:
    """Read what ``coordinator_messages`` yielded. Raises WireError."""
    found = Coordinator()
    first, *others = messages
    head = read_message(_HEAD, first)
    [(found.total,)] = head.rows("total")
    found.known = {number for (number,) in head.rows("known")}
    found.newest = dict(head.rows("newest"))
    logs: list[tuple[int, str]] = head.rows("logs")
    found.partitions, found.logs = [number for number, _ in logs], [log for _, log in logs]
    named = head.columns("named")
    ids, topics = head.texts("transactional_ids"), head.texts("topics")
    pieces: dict[str, list[Any]] = {}
    of_log = [np.empty(0, np.int64)]
    for message in others:
        columns, logs_of_rows = read_states(message)
        of_log.append(logs_of_rows)
        for name, column in columns.items():
            pieces.setdefault(name, []).append(column)
    found.states = type(found.states).of(pieces, ids, topics)
    found.of_log = np.concatenate(of_log)
    found.named = named["producer_id"], named["id"]
    return found

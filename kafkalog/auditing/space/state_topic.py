"""What the state topic says of producer ids, as columns: their transactional ids, and when what was decided."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from kafkalog.columns.sorted_rows import Spans
from kafkalog.columns.table import Columns
from kafkalog.columns.texts import TextColumn
from kafkalog.errors import UnreadableError
from kafkalog.files.limits import Limits
from kafkalog.files.names import STATE_TOPIC
from kafkalog.kafka.state_records import StateColumns
from kafkalog.kafka.transaction_state import TransactionState
from kafkalog.segments.state_blocks import read_state_columns

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from kafkalog.auditing.space.log_space import LogSpace

__all__ = ["StateTopic", "one_replica", "read_state_topic", "replicas"]


@dataclass(slots=True)
class StateTopic:
    """The state topic's records by transactional id and by producer id.

    `name_of` has the number in `ids` of the last id that a producer id had. `of_ids` counts for each id its `records`,
    its `decided` transactions and the partitions that these `listed`. `decisions` have a `producer_id` and a `time`.
    """

    ids: TextColumn = field(default_factory=TextColumn)
    name_of: dict[int, int] = field(default_factory=dict)
    of_ids: Columns = field(default_factory=lambda: Columns.empty(("records", "decided", "listed")))
    decisions: Columns = field(default_factory=lambda: Columns.empty(("producer_id", "time")))
    bytes: int = 0

    def names_of(self, producers: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the number of each producer's last transactional id, -1 where none is known."""
        return np.array([self.name_of.get(one, -1) for one in producers.tolist()], np.int64)

    def decision_before(self, producers: NDArray[Any], times: NDArray[Any]) -> NDArray[Any]:
        """Return the time of each producer's last decision up to a time, -1 where none is known."""
        return np.append(self.decisions["time"], -1)[self.decisions.known(_spans).last(producers, times)]


def _spans(decisions: Columns) -> Spans:
    return Spans(decisions["producer_id"], decisions["time"])


def one_replica(logs: Sequence[LogSpace]) -> list[LogSpace]:
    """Return one log of each partition: the one that reaches furthest."""
    chosen = replicas((number, log, log.facts.log_end_offset) for number, log in enumerate(logs))
    return [logs[number] for number in chosen]


def replicas(logs: Iterable[tuple[int, LogSpace, int]]) -> list[int]:
    """Return one number for each partition, of (number, log, log end offset): the log that reaches furthest."""
    chosen: dict[tuple[str, int], tuple[int, int]] = {}
    for number, log, end in logs:
        if not log.directory.suffix:
            key = (log.directory.topic, log.directory.partition)
            if key not in chosen or chosen[key][1] < end:
                chosen[key] = number, end
    return [number for number, _ in chosen.values()]


def read_state_topic(logs: Sequence[LogSpace], limits: Limits) -> StateTopic:
    """Read the state topic among one replica of each log."""
    found = StateTopic()
    parts: list[StateColumns] = []
    for log in logs:
        if log.directory.topic == STATE_TOPIC:
            found.bytes += log.log_bytes
            for one in log.segments:
                path = one.segment.path
                try:
                    parts.append(read_state_columns(path, log.directory.log, limits=limits, max_bytes=one.segment.size))
                except UnreadableError:  # the scan has reported it
                    continue
    if not parts:
        return found
    rows = StateColumns.concat(parts)
    found.ids = rows.ids
    names = rows["transactional_id"].astype(np.int64)
    for column in (rows["previous_producer_id"], rows["next_producer_id"], rows["producer_id"]):
        known = column >= 0
        found.name_of.update(zip(column[known].tolist(), names[known].tolist(), strict=True))
    states = list(TransactionState)
    prepares = [states.index(TransactionState.PREPARE_COMMIT), states.index(TransactionState.PREPARE_ABORT)]
    decided = np.isin(rows["state"], prepares)
    size = len(rows.ids)
    listed = np.bincount(names[decided], weights=np.maximum(rows["partitions_count"][decided], 0), minlength=size)
    found.of_ids = Columns({
        "records": np.bincount(names, minlength=size), "decided": np.bincount(names[decided], minlength=size),
        "listed": listed.astype(np.int64),
    })  # fmt: skip
    found.decisions = Columns({
        "producer_id": rows["producer_id"][decided], "time": rows["last_update_timestamp"][decided],
    })  # fmt: skip
    return found

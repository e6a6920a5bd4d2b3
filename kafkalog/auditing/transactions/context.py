"""What surrounds a log, as far as the verdicts on its transactions are based on it."""

from __future__ import annotations

from dataclasses import dataclass

from kafkalog.auditing.partition import PartitionAudit
from kafkalog.auditing.topics import Metadata
from kafkalog.auditing.transactions.own_markers import OwnMarkers
from kafkalog.txn.coordinator import Coordinator

__all__ = ["Context"]


@dataclass(frozen=True, slots=True)
class Context:
    """What surrounds a log: the coordinator of its cluster, and whether the inputs are of one moment.

    `one_moment` says so for certain (a clean stop, or the user says so); else `newest_broker`, the newest time (ms)
    that a broker wrote in any input, `copy_ms` and `max_timeout_ms` decide whether a transaction is too old for its
    marker to have come during the copy. `own_markers` are the markers in the log that answer the decisions that list
    the partition. `state_cleaned` says whether records of the state topic are missing. `replicas` are the same
    partition's logs on other nodes, `several_nodes` says whether there are any: they stop one after the other.
    """

    coordinator: Coordinator
    one_moment: bool
    newest_broker: int
    copy_ms: int
    max_timeout_ms: int
    state_cleaned: bool
    own_markers: OwnMarkers
    replicas: tuple[PartitionAudit, ...] = ()
    several_nodes: bool = False
    metadata: Metadata | None = None

"""What surrounds a cluster's logs: its coordinator's records, its clocks, and whether the inputs are of one moment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import NamedTuple

from kafkalog.auditing.partition import PartitionAudit, SegmentScan, reach, state_differences
from kafkalog.auditing.topics import COPY_MS, Metadata, absent_findings
from kafkalog.findings import Finding
from kafkalog.log.chunk import Limits
from kafkalog.log.logdir import LogDirectory
from kafkalog.log.names import STATE_TOPIC
from kafkalog.quantities import When, at_newest
from kafkalog.txn.coordinator import Coordinator, Decision, Entry, illegal_transitions

__all__ = ["AuditOptions", "StateLog", "Surroundings"]


@dataclass(frozen=True, slots=True)
class AuditOptions:
    """The options of an audit; times in ms.

    `snapshot` says that the inputs are of one moment. An open transaction is overdue by the time `now`, by default the
    newest time that a broker wrote.
    """

    limits: Limits = field(default_factory=Limits)
    jobs: int | None = None
    snapshot: bool = False
    copy_ms: int = COPY_MS
    now: When | None = None
    max_timeout_ms: int = 900_000
    state_partitions: int | None = None


class StateLog(NamedTuple):
    """A replica of a partition of the state topic: its node, its audit, its records."""

    node: LogDirectory
    partition: PartitionAudit
    entries: list[Entry]

    @classmethod
    def of(cls, node: LogDirectory, partition: PartitionAudit, scans: Sequence[SegmentScan]) -> StateLog:
        """Put together the records that the scans of its segments read."""
        return cls(node, partition, [entry for scan in scans for entry in scan.entries])


@dataclass(slots=True)
class Surroundings:
    """All that the verdicts on one cluster's logs are based on, except the logs themselves.

    `newest` is the newest time in all inputs, `newest_broker` the newest that a broker wrote, `now` the time that
    decides what is overdue (ms). `state_clean` says that the brokers with the state topic were stopped cleanly,
    `state_cleaned` that records of it are missing. `listings` are the coordinator's decisions by
    partition, sorted by producer id and time. `metadata` is None where no metadata log was given.
    """

    options: AuditOptions
    several_nodes: bool
    newest: int
    newest_broker: int
    now: int
    state_clean: bool = True
    state_cleaned: bool = False
    coordinator: Coordinator = field(default_factory=Coordinator)
    listings: dict[tuple[str, int], list[Decision]] = field(default_factory=dict)
    metadata: Metadata | None = None
    findings: list[Finding] = field(default_factory=list)

    @classmethod
    def of(
        cls, nodes: Sequence[LogDirectory], metadata: Metadata | None, states: Sequence[StateLog], newest: int,
        newest_broker: int, options: AuditOptions,
    ) -> Surroundings:  # fmt: skip
        """Join the nodes' state topic and metadata log; the newest times are those of all their logs."""
        around = cls(
            options,
            len({node.node_id for node in nodes}) > 1,
            newest,
            newest_broker,
            at_newest(options.now, newest_broker),
            all(state.node.clean_shutdown for state in states),
            any(state.partition.cleaned_to >= 0 or state.partition.log_start_offset > 0 for state in states),
        )
        around.metadata = metadata
        around._read(states)
        around._count_state_partitions(nodes)
        if around.metadata is not None:
            late = -1 if options.snapshot else newest - options.copy_ms
            around.findings += absent_findings(nodes, around.metadata, late)
        for decision in sorted(around.coordinator.decisions(), key=attrgetter("producer_id", "decided")):
            for topic_partition in decision.partitions:
                around.listings.setdefault(topic_partition, []).append(decision)
        return around

    def one_moment(self, node: LogDirectory) -> bool:
        """Say whether a node's logs and the state topic are of one moment for certain."""
        return self.options.snapshot or (node.clean_shutdown and self.state_clean)

    def _read(self, states: Sequence[StateLog]) -> None:
        coordinator = self.coordinator
        replicas: dict[int, list[StateLog]] = {}
        for state in states:
            replicas.setdefault(state.partition.directory.partition, []).append(state)
        cleaned: dict[str, int] = {}
        for number, logs in sorted(replicas.items()):
            # The coordinator uses the replica whose leader epochs reach furthest; of equal ones the longest is taken.
            chosen = max(logs, key=lambda log: reach(log.partition))
            coordinator.known.add(number)
            coordinator.add(chosen.entries)
            cleaned[chosen.partition.directory.log] = chosen.partition.cleaned_to
            for other in logs:
                if other is not chosen:
                    self.findings += state_differences(chosen.entries, other.entries)
        for name, entries in coordinator.timelines.items():
            for before, after in illegal_transitions(entries, cleaned[entries[0].log]):
                self.findings.append(_illegal(name, before, after))

    def _count_state_partitions(self, nodes: Sequence[LogDirectory]) -> None:
        coordinator = self.coordinator
        coordinator.total = _state_partitions(self.metadata) or self.options.state_partitions
        if coordinator.total is None and coordinator.known:
            coordinator.total = max(coordinator.known) + 1
            self.findings.append(
                Finding.of(
                    "state-partitions-guessed",
                    nodes[0].path,
                    f"No metadata log shows how many partitions {STATE_TOPIC} has. {coordinator.total} is used: the"
                    " highest number seen plus one. Set the right number with --transaction-state-partitions.",
                )
            )


def _illegal(name: str, before: Entry, after: Entry) -> Finding:
    old, new = before.record.state, after.record.state
    return Finding.of(
        "state-transition-illegal",
        after.log,
        f"{new.word if new else 'A tombstone'} of {name} at offset {after.offset} follows"
        f" {old.word if old else 'a tombstone'} at offset {before.offset}, which no coordinator writes",
        log=after.log,
        topic=STATE_TOPIC,
        partition=after.partition,
        offset=after.offset,
    )


def _state_partitions(metadata: Metadata | None) -> int | None:
    """Return how many partitions the state topic has, by the metadata; None where it does not have the topic."""
    if metadata is None:
        return None
    ids = metadata.ids.get(STATE_TOPIC, ())
    return max((number + 1 for topic_id, number in metadata.partitions if topic_id in ids), default=None)

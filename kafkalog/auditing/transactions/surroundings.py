"""What surrounds a cluster's logs: its coordinator's records, its clocks, and whether the inputs are of one moment."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

from kafkalog.auditing.partition import PartitionAudit, SegmentScan, reach, state_differences
from kafkalog.auditing.side_files import at_start_findings
from kafkalog.auditing.topics import COPY_MS, NOT_GIVEN, Metadata, placement_findings
from kafkalog.auditing.transactions.lost_leaders import LEADERLESS, leaderless_findings
from kafkalog.auditing.transactions.other_brokers import ELSEWHERE, elsewhere_findings, given_brokers
from kafkalog.catalogue import CATALOGUE
from kafkalog.certainty import Inputs
from kafkalog.few_of_many import OnlyCounted
from kafkalog.files.limits import Limits
from kafkalog.files.names import STATE_TOPIC
from kafkalog.findings import Finding, Severity
from kafkalog.folds.coordinator import Coordinator, StateRows
from kafkalog.kafka.state_records import TOMBSTONE, StateColumns
from kafkalog.kafka.transaction_state import TransactionState
from kafkalog.log_dirs.log_directory import LogDirectory, PartitionDirectory
from kafkalog.quantities import When, at_newest

__all__ = ["AuditOptions", "StateLog", "Surroundings"]


@dataclass(frozen=True, slots=True)
class AuditOptions:
    """The options of an audit; times in ms.

    `snapshot` says that the inputs are of one moment, `again` that they are read for the second time, so that all that
    was written before the first time is there. An open transaction is overdue by the time `now`, by default the newest
    time that a broker wrote. With `compare_keys` the records of compacted logs' replicas are read where they differ.
    """

    limits: Limits = field(default_factory=Limits)
    jobs: int | None = None
    snapshot: bool = False
    copy_ms: int = COPY_MS
    now: When | None = None
    max_timeout_ms: int = 900_000
    state_partitions: int | None = None
    again: bool = False
    compare_keys: bool = True


class StateLog(NamedTuple):
    """A replica of a partition of the state topic: its node, its audit, its records."""

    node: LogDirectory
    partition: PartitionAudit
    rows: StateRows

    @classmethod
    def of(cls, node: LogDirectory, partition: PartitionAudit, scans: Sequence[SegmentScan]) -> StateLog:
        """Put together the records that the scans of its segments read; the scans lose theirs."""
        directory = partition.directory
        states = StateColumns.concat([scan.states for scan in scans])
        return cls(node, partition, StateRows(directory.log, directory.partition, states))

    @property
    def lacks_records(self) -> bool:
        """Say whether records of it are lost or unreadable: what no other names, these may have named."""
        kinds = {CATALOGUE[one.code].kind for one in self.partition.findings if one.severity > Severity.NOTE}
        ends = [self.partition.directory.checkpoints.get(name, -1) for name in _ENDS]
        is_cut = self.node.clean_shutdown and max(ends) > self.partition.log_end_offset
        return is_cut or not kinds.isdisjoint(_LOSSES)


_ENDS: Final = ("recovery_point", "high_watermark")  # checkpoints whose offsets a log has
_LOSSES: Final = ("records-lost", "records-unreadable")


@dataclass(slots=True)
class Surroundings:
    """All that the verdicts on one cluster's logs are based on, except the logs themselves.

    `newest` is the newest time in all inputs, `newest_broker` the newest that a broker wrote, `now` the time that
    decides what is overdue (ms). `state_clean` says that the state topic is whole, of brokers stopped cleanly,
    `state_cleaned` that records of it are missing. `metadata` is None where no metadata log was given.
    """

    options: AuditOptions
    several_nodes: bool
    newest: int
    newest_broker: int
    now: int
    state_clean: bool = True
    state_cleaned: bool = False
    coordinator: Coordinator = field(default_factory=Coordinator)
    metadata: Metadata | None = None
    findings: list[Finding] = field(default_factory=list)
    only_counted: dict[str, OnlyCounted] = field(default_factory=dict)  # by log, where the run's limit leaves some

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
            at_newest(options.now, max([newest_broker, *(node.bundle.now_ms for node in nodes)])),
            all(state.node.clean_shutdown for state in states),
            any(state.partition.cleaned_to >= 0 or state.partition.log_start_offset > 0 for state in states),
        )
        around.metadata = metadata
        taken = around._read(states)
        around._count_state_partitions(nodes)
        lacking = {one.partition.directory.partition for one in taken if one.lacks_records}
        around.coordinator.known -= lacking
        around.state_clean &= not lacking
        around.findings += at_start_findings(nodes, metadata)
        around.findings += around._not_given(nodes)
        return around

    def contradicted(self, nodes: Sequence[LogDirectory], finding: Finding) -> None:
        """Go on without the word that the inputs are of one moment, as a finding contradicts it."""
        self.options = replace(self.options, snapshot=False)
        again = {"partition-absent", NOT_GIVEN, LEADERLESS, *ELSEWHERE}
        others = [one for one in self.findings if one.code not in again]
        self.findings = [*others, *self._not_given(nodes), finding]

    def _not_given(self, nodes: Sequence[LogDirectory]) -> Iterator[Finding]:
        """Yield what nodes should have, which partitions have no leader, and what nodes show to be open on others."""
        snapshot, copied = self.options.snapshot, self.newest - self.options.copy_ms
        if self.metadata is not None:
            yield from placement_findings(nodes, self.metadata, -1 if snapshot else copied)
            if given := given_brokers(nodes):
                yield from leaderless_findings(nodes, self.metadata, given)
        until = self.newest_broker - (0 if snapshot else self.options.copy_ms)
        yield from elsewhere_findings(nodes, self.metadata, self.coordinator, until, snapshot=snapshot)

    def inputs(self, node: LogDirectory, directory: PartitionDirectory) -> Inputs:
        """Say how the files of a node's log and of the state topic belong together."""
        if directory.is_remote_alone:
            return Inputs.REMOTE
        if node.bundle.is_cut_at_end(directory.log):
            return Inputs.CUT
        if self.options.again or (node.clean_shutdown and self.state_clean):
            return Inputs.STOPPED
        return Inputs.ONE_MOMENT if self.options.snapshot else Inputs.COPIED

    @property
    def has_all_states(self) -> bool:
        """Say whether all records are here that the state topic ever had; a number that was guessed says nothing."""
        total = _state_partitions(self.metadata) or self.options.state_partitions
        return total is not None and self.coordinator.complete and not self.state_cleaned

    def _read(self, states: Sequence[StateLog]) -> list[StateLog]:
        """Take the records of the replica of each state partition that its coordinator uses, and return these."""
        replicas: dict[int, list[StateLog]] = {}
        for state in states:
            replicas.setdefault(state.partition.directory.partition, []).append(state)
        taken: list[StateLog] = []
        for _, logs in sorted(replicas.items()):
            # The coordinator uses the replica whose leader epochs reach furthest; of equal ones the longest is taken.
            chosen = max(logs, key=lambda log: reach(log.partition))
            taken.append(chosen)
            for other in logs:
                if other is not chosen:
                    self.findings += state_differences(chosen.rows, other.rows)
        self.coordinator = Coordinator(state.rows for state in taken)
        cleaned = {state.rows.log: state.partition.cleaned_to for state in taken}
        self.findings += (_illegal(self.coordinator, row) for row in self.coordinator.illegal(cleaned).tolist())
        return taken

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


def _illegal(coordinator: Coordinator, row: int) -> Finding:
    states, at = coordinator.states, coordinator.of_log[row]
    name, log = states.ids[states["transactional_id"][row]], coordinator.logs[at]
    last_offset, offset = states["offset"][row - 1 : row + 1].tolist()
    old, new = states["state"][row - 1 : row + 1].tolist()
    before = "a tombstone" if old == TOMBSTONE else TransactionState(old).word
    here = "A tombstone" if new == TOMBSTONE else TransactionState(new).word
    return Finding.of(
        "state-transition-illegal",
        log,
        f"{here} of {name} at offset {offset} follows {before} at offset {last_offset}, which no coordinator writes",
        log=log,
        topic=STATE_TOPIC,
        partition=coordinator.partitions[at],
        offset=offset,
    )


def _state_partitions(metadata: Metadata | None) -> int | None:
    """Return how many partitions the state topic has, by the metadata; None where it does not have the topic."""
    if metadata is None:
        return None
    ids = metadata.ids.get(STATE_TOPIC, ())
    return max((number + 1 for one in ids for number in metadata.partitions.numbers(one)), default=None)

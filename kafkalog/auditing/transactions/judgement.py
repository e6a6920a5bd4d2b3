"""The verdicts on one partition's logs: its transactions compared with all that surrounds them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from kafkalog.auditing.partition import PartitionAudit, fork_of, located, log_findings, marker_findings, replica_forks
from kafkalog.auditing.side_files import check_partition, explains_transactions, settle_copy
from kafkalog.auditing.topics import Led, leaders_of, policies, with_leader
from kafkalog.auditing.transactions.atomicity import AtomicityCheck, unidentified
from kafkalog.auditing.transactions.context import Context
from kafkalog.auditing.transactions.decisions import against_coordinator
from kafkalog.auditing.transactions.findings import Deadlines, TransactionFindings
from kafkalog.auditing.transactions.own_markers import OwnMarkers
from kafkalog.auditing.transactions.pending_offsets import pending_offsets
from kafkalog.auditing.transactions.replicas import say_once, speaker_of
from kafkalog.auditing.transactions.reported import Reported
from kafkalog.auditing.transactions.surroundings import Surroundings
from kafkalog.auditing.transactions.verdicts import Verdicts
from kafkalog.findings import Finding
from kafkalog.log.logdir import LogDirectory
from kafkalog.log.names import OFFSETS_TOPIC

__all__ = ["Judgement", "LogAudit", "judge"]


@dataclass(slots=True)
class LogAudit:
    """A partition's audit on one node, with the verdicts on its transactions.

    `unidentified` counts ended transactions that nothing identifies in other partitions. `fork` is the offset from
    which on it has another history than the replica that speaks for the partition, None if it has the same.
    """

    node: LogDirectory
    partition: PartitionAudit
    verdicts: Verdicts
    judged: AtomicityCheck
    findings: Reported = field(default_factory=Reported)
    unidentified: int = 0
    fork: int | None = None
    leaders: list[Led] = field(default_factory=list)


@dataclass(slots=True)
class Judgement:
    """The audits of one partition's replicas, and the findings about the replicas together."""

    logs: list[LogAudit]
    findings: list[Finding]


def judge(
    replicas: Sequence[tuple[LogDirectory, PartitionAudit]], around: Surroundings, *, share: int = 0, of: int = 1
) -> Judgement:
    """Judge the logs of one partition, given with their nodes.

    With `of` above 1 the logs hold the transactions of every `of`-th producer id alone, beginning at `share`; findings
    about the log as a whole come with the first share.
    """
    speaker = speaker_of(replicas, around.metadata)
    logs = [
        _judge(number, replicas, around, share, of, spoken_for=number != speaker) for number in range(len(replicas))
    ]
    partitions = [partition for _, partition in replicas]
    if len(logs) > 1:
        every = [list(log.findings) for log in logs]
        for log, findings in zip(logs, say_once(partitions, every, speaker), strict=True):
            log.findings = Reported(findings)
            fork = fork_of(log.partition, partitions[speaker])
            log.fork = None if fork is None else fork[0]
    return Judgement(logs, list(replica_forks(partitions, speaker)) if share == 0 else [])


def _judge(
    number: int, replicas: Sequence[tuple[LogDirectory, PartitionAudit]], around: Surroundings, share: int, of: int,
    *, spoken_for: bool,
) -> LogAudit:  # fmt: skip
    node, partition = replicas[number]
    others = tuple(other for _, other in replicas if other is not partition)
    directory, options, metadata = partition.directory, around.options, around.metadata
    coordinator = around.coordinator
    listing = coordinator.listing(directory.topic, directory.partition)
    if of > 1:
        listing = listing[coordinator.states.producer_id[listing] % of == share]
    own_markers = OwnMarkers(partition, coordinator, listing)
    context = Context(
        coordinator, around.one_moment(node), around.newest_broker, options.copy_ms,
        options.max_timeout_ms, around.state_cleaned, own_markers, others, around.several_nodes, metadata,
    )  # fmt: skip
    verdicts = Verdicts.of(partition, context)
    copy_ms = 0 if context.one_moment else options.copy_ms
    deadlines = Deadlines(around.now, copy_ms, options.max_timeout_ms)
    findings = log_findings(partition) if share == 0 else []
    findings += (located(finding, directory) for finding in marker_findings(partition))
    if share == 0:
        findings += check_partition(partition, all_producers=of == 1)
    findings += (located(finding, directory) for finding in partition.of_producers)

    def finish(finding: Finding) -> Finding:
        return finding if metadata is None else with_leader(finding, partition, metadata)

    of_transactions = TransactionFindings(partition, verdicts, deadlines, others, finish)
    about: list[Finding] | TransactionFindings = of_transactions
    if not options.snapshot:
        if explains_transactions(partition):
            findings, about = [*findings, *of_transactions], []
        findings = settle_copy(findings, partition, policies(metadata, directory.topic), joined=share == 0)
    rest: list[Finding] = []
    if directory.topic == OFFSETS_TOPIC:
        rest += (located(found, directory) for found in pending_offsets(directory, verdicts, options.limits))
    judged = against_coordinator(partition, own_markers, context, spoken_for=spoken_for)
    rest += judged.findings
    reported = Reported([finish(one) for one in findings], about, [finish(one) for one in rest])
    leaders = leaders_of(partition, metadata) if share == 0 else []
    return LogAudit(node, partition, verdicts, judged, reported, unidentified(judged), leaders=leaders)

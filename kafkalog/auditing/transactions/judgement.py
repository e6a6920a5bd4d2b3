"""The verdicts on one partition's logs: its transactions compared with all that surrounds them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain

from kafkalog.auditing.partition import (
    PartitionAudit,
    WrongFields,
    fork_of,
    located,
    log_findings,
    marker_findings,
    replica_forks,
)
from kafkalog.auditing.side_files import check_partition, explains_transactions, settle_copy
from kafkalog.auditing.topics import LeadersAt, Led, leaders_of, policies
from kafkalog.auditing.transactions.atomicity import AtomicityCheck, unidentified
from kafkalog.auditing.transactions.context import Context
from kafkalog.auditing.transactions.deadlines import Deadlines
from kafkalog.auditing.transactions.decisions import against_coordinator
from kafkalog.auditing.transactions.findings import TransactionFindings
from kafkalog.auditing.transactions.own_markers import OwnMarkers
from kafkalog.auditing.transactions.pending_offsets import pending_offsets
from kafkalog.auditing.transactions.replicas import say_once, speaker_of, with_own_epoch
from kafkalog.auditing.transactions.reported import Reported
from kafkalog.auditing.transactions.surroundings import AuditOptions, Surroundings
from kafkalog.auditing.transactions.verdicts import Verdicts
from kafkalog.findings import Finding
from kafkalog.log.folded import counted
from kafkalog.log.logdir import LogDirectory
from kafkalog.log.names import OFFSETS_TOPIC
from kafkalog.txn.columns import Packed
from kafkalog.txn.loops import EXTENT_COLUMNS, PRODUCER_COLUMNS
from kafkalog.txn.shares import Share

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
    replicas: Sequence[tuple[LogDirectory, PartitionAudit]],
    around: Surroundings,
    share: Share = Share(),  # noqa: B008  # it is frozen
) -> Judgement:
    """Judge the logs of one partition, given with their nodes.

    The logs hold the transactions of a share of the producers alone; findings about the log as a whole come with the
    share of the log, which has no other ones.
    """
    if len(replicas) > 1:
        replicas = [(node, with_own_epoch(node, partition, around.metadata)) for node, partition in replicas]
    speaker = speaker_of(replicas, around.metadata)
    logs = [_judge(number, replicas, around, share, spoken_for=number != speaker) for number in range(len(replicas))]
    partitions = [partition for _, partition in replicas]
    if len(logs) > 1:
        every = list(say_once(partitions, [log.findings for log in logs], speaker))
        for log, findings in zip(logs, every, strict=True):
            log.findings = findings
            fork = fork_of(log.partition, partitions[speaker])
            log.fork = None if fork is None else fork[0]
    return Judgement(logs, list(replica_forks(partitions, speaker)) if share.of_log else [])


def _judge(
    number: int, replicas: Sequence[tuple[LogDirectory, PartitionAudit]], around: Surroundings, share: Share,
    *, spoken_for: bool,
) -> LogAudit:  # fmt: skip
    node, whole = replicas[number]
    partition = whole if share.of_producers else _bare(whole)
    others = tuple(other for _, other in replicas if other is not whole)
    directory, options, metadata = partition.directory, around.options, around.metadata
    coordinator = around.coordinator
    listing = coordinator.listing(directory.topic, directory.partition)
    if not share.is_all:
        listing = listing[share.has(coordinator.states.producer_id[listing])]
    own_markers = OwnMarkers(partition, coordinator, listing)
    context = Context(
        coordinator, around.one_moment(node), around.newest_broker, options.copy_ms,
        options.max_timeout_ms, around.state_cleaned, own_markers, others, around.several_nodes, metadata,
    )  # fmt: skip
    verdicts = Verdicts.of(partition, context)
    copy_ms = 0 if context.one_moment else options.copy_ms
    deadlines = Deadlines(around.now, copy_ms, options.max_timeout_ms)
    wrong = WrongFields(whole.findings, directory)
    findings = wrong.settle(_of_log(whole, options)) if share.of_log else []
    of_producers = counted(
        located(finding, directory) for finding in chain(marker_findings(partition), partition.of_producers)
    )
    of_producers = wrong.settle(of_producers)

    leaders_at = None if metadata is None else LeadersAt(partition, metadata)

    def finish(finding: Finding) -> Finding:
        return finding if leaders_at is None else leaders_at.on(finding)

    about: list[Finding] | TransactionFindings = []
    if len(verdicts.judged.places):  # findings are about these rows alone
        about = TransactionFindings(partition, verdicts, deadlines, others, leaders_at)
    if not options.snapshot:
        if explains_transactions(partition):
            of_producers, about = [*of_producers, *about], []
        of_topic = policies(metadata, directory.topic)
        findings = settle_copy(findings, whole, of_topic)
        of_producers = settle_copy(of_producers, whole, of_topic, joined=False)
    rest: list[Finding] = []
    if directory.topic == OFFSETS_TOPIC:
        told = {one.file for one in whole.findings if one.code == "file-unreadable"}
        rest += (
            located(found, directory)
            for found in pending_offsets(directory, verdicts, options.limits)
            if found.code != "file-unreadable" or found.file not in told
        )
    judged = against_coordinator(partition, own_markers, context, spoken_for=spoken_for)
    rest += judged.findings
    reported = Reported([finish(one) for one in chain(findings, of_producers)], about, [finish(one) for one in rest])
    leaders = leaders_of(whole, metadata) if share.of_log else []
    return LogAudit(node, partition, verdicts, judged, reported, unidentified(judged), leaders=leaders)


def _of_log(partition: PartitionAudit, options: AuditOptions) -> list[Finding]:
    return counted(chain(log_findings(partition), check_partition(partition, one_moment=options.snapshot)))


def _bare(partition: PartitionAudit) -> PartitionAudit:
    """Return a partition without its producers, which others judge."""
    transactions, producers = Packed(EXTENT_COLUMNS), Packed(PRODUCER_COLUMNS)
    return partition._replace(transactions=transactions, producers=producers, of_producers=())

"""The verdicts on one partition's logs: its transactions compared with all that surrounds them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Final

import numpy as np

from kafkalog import few_of_many
from kafkalog.auditing.partition import (
    PartitionAudit,
    WrongFields,
    fork_of,
    located,
    log_findings,
    marker_findings,
    reach,
    replica_forks,
)
from kafkalog.auditing.side_files import check_partition, explains_transactions, lower_copied
from kafkalog.auditing.topics import (
    ABORTED,
    COMMIT_TYPES,
    PENDING,
    STATES,
    CommitFates,
    LeadersAt,
    Led,
    Metadata,
    Names,
    leader_now,
    leader_spans,
    leaders_of,
    policies,
)
from kafkalog.auditing.transactions.atomicity import AtomicityCheck, unidentified
from kafkalog.auditing.transactions.decisions import against_coordinator
from kafkalog.auditing.transactions.newest_records import are_alike
from kafkalog.auditing.transactions.own_markers import OwnMarkers
from kafkalog.auditing.transactions.replica_outcomes import ReplicaOutcomes
from kafkalog.auditing.transactions.surroundings import Surroundings
from kafkalog.auditing.transactions.transaction_findings import Deadlines, by_hand_not_shown, findings_of_transactions
from kafkalog.auditing.transactions.verdict_facts import Context, opened_at
from kafkalog.auditing.transactions.verdict_table import Verdicts
from kafkalog.catalogue import codes_with
from kafkalog.catalogue.code import Trait
from kafkalog.certainty import Inputs
from kafkalog.columns.table import Columns
from kafkalog.errors import UnreadableError
from kafkalog.files.directories import exists
from kafkalog.files.limits import OVER_BUDGET, Limits
from kafkalog.files.names import OFFSETS_TOPIC
from kafkalog.findings import Finding
from kafkalog.folds.coordinator import Coordinator
from kafkalog.folds.shares import Share
from kafkalog.kafka.internal_topics import Internal
from kafkalog.kernel import buffers
from kafkalog.kernel.buffers import EXTENT_COLUMNS, PRODUCER_COLUMNS
from kafkalog.log_dirs.log_directory import LogDirectory, PartitionDirectory
from kafkalog.log_dirs.moving import is_lost
from kafkalog.quantities import many
from kafkalog.segments.internal_blocks import InternalRecords, internal_blocks
from kafkalog.segments.repeated_findings import counted
from kafkalog.settle import Reason, lowered
from kafkalog.unread import is_not_read, not_read

__all__ = [
    "Judgement",
    "LogAudit",
    "judge_replicas",
    "key_outcomes",
    "outcomes_of_replicas",
    "pending_offsets",
    "say_once",
    "with_own_epoch",
]


# Offset commits in transactions: which groups wait for which transaction, and which commits were discarded.


def pending_offsets(directory: PartitionDirectory, verdicts: Verdicts, limits: Limits) -> Iterator[Finding]:
    """Yield for each group and producer how many offset commits are in open and in aborted transactions."""
    fates = CommitFates(verdicts.rows, (PENDING, ABORTED))
    if not len(fates):
        return
    counts: Counter[tuple[int, str, str]] = Counter()
    for segment in directory.segments:
        try:
            for records in internal_blocks(
                segment.path, Internal.OFFSETS, limits, segment.size, transactions_of=fates.spans.producers
            ):
                if isinstance(records, InternalRecords):
                    _count(records, fates, counts)
                elif records.code == OVER_BUDGET:
                    yield records
        except UnreadableError as error:
            if exists(segment.path) or is_lost(directory.log):  # else a running broker deleted it since
                yield not_read(segment.path, error)
    for (producer, group, state), count in sorted(counts.items()):
        code = "offsets-pending" if state == PENDING else "offsets-aborted"
        what = (
            "in an open transaction"
            if state == PENDING
            else "in an aborted transaction"
            if count == 1
            else "in aborted transactions"
        )
        yield Finding.of(
            code,
            directory.log,
            f"{many(count, 'offset commit')} of group {group}, written by producer {producer},"
            f" {'is' if count == 1 else 'are'} {what}",
            producer_id=producer,
            found=count,
        )


def _count(records: InternalRecords, fates: CommitFates, counts: Counter[tuple[int, str, str]]) -> None:
    """Count a block's commits whose keys could be read, by producer, group and state."""
    producer_id = records.of_batches(buffers.PRODUCER_ID)
    fate = fates.spans.find_rows(producer_id, records.offset)
    parts = records.keys(COMMIT_TYPES, np.flatnonzero(fate >= 0))
    rows = np.sort(np.concatenate([np.empty(0, np.intp), *(part.of for part in parts)]))
    groups = Names()
    group = groups.numbers(records, *(records.field(parts, "group", number)[rows] for number in (0, 1)))
    columns = np.column_stack([producer_id[rows], group, fates.states(fate[rows])])
    found, count = np.unique(columns, axis=0, return_counts=True)
    for (producer, number, state), times in zip(found.tolist(), count.tolist(), strict=True):
        counts[producer, groups.texts[number], STATES[state] or ""] += times


# Several replicas of one partition: which of them speaks for it, and what all of them show is reported once.


_OF_PRODUCERS: Final = codes_with(Trait.OF_PRODUCER)


def with_own_epoch(node: LogDirectory, partition: PartitionAudit, metadata: Metadata | None) -> PartitionAudit:
    """Return a replica with the leader epoch that it leads in, from its end on, if it has written nothing in it.

    Its checkpoint shows that, or an unclean election in the metadata: the end of such a leader is the partition's, and
    what other replicas have after it is lost.
    """
    directory, end = partition.directory, partition.log_end_offset
    newest = max((epoch for epoch, _ in partition.epochs), default=-1)
    begun = [epoch for epoch, first in directory.leader_epochs if first == end]
    if metadata is not None and node.node_id == str(leader_now(metadata, directory.topic, directory.partition)):
        spans = leader_spans(metadata, directory.topic, directory.partition)
        elected = (span.value for span in spans if span.value.change == "unclean-election")
        begun += [value.leader_epoch for value in elected if str(value.leader) == node.node_id]
    own = max(begun, default=-1)
    return partition if own <= newest else partition._replace(epochs=(*partition.epochs, (own, end)))


def speaker_of(replicas: Sequence[tuple[LogDirectory, PartitionAudit]], metadata: Metadata | None) -> int:
    """Return the number of the replica that consumers read: the leader's by the metadata log.

    Where the leader is not known or not given, it is the replica whose leader epochs reach furthest, then the longest,
    then one of which most have the same, then one that has lost least.
    """
    if len(replicas) == 1:
        return 0
    directory = replicas[0][1].directory
    leader = None if metadata is None else leader_now(metadata, directory.topic, directory.partition)
    ranks = [(leader is not None and node.node_id == str(leader), reach(one)) for node, one in replicas]
    best = [number for number, rank in enumerate(ranks) if rank == max(ranks)]

    def rank(number: int) -> tuple[int, int, int]:
        replica = replicas[number][1]
        alike = sum(are_alike([replica, replicas[other][1]]) for other in best)
        lost = replica.gaps.chosen(~replica.gaps.of_kind("legal"))
        return alike, int((lost.first - lost.last).sum()) - len(lost), -number

    return max(best, key=rank) if len(best) > 1 else best[0]


def say_once(
    replicas: Sequence[PartitionAudit], found: Sequence[list[Finding]], speaker: int
) -> Iterator[list[Finding]]:  # fmt: skip
    """Yield each replica's findings without what it repeats of the speaker, or of a replica before it.

    Where a replica's history forks from the speaker's, what it alone says of transactions concerns no consumer.
    """
    said = set(map(_fact, found[speaker]))
    for number, replica in enumerate(replicas):
        if number == speaker:
            yield found[number]
            continue
        new = [one for one in found[number] if one.code not in _OF_PRODUCERS or _fact(one) not in said]
        said.update(map(_fact, new))
        fork = fork_of(replica, replicas[speaker])
        yield new if fork is None else [_unread(one, fork[0], replicas[speaker].directory.log) for one in new]


def _fact(finding: Finding) -> tuple[object, ...]:
    where = finding.message if finding.offset is None else finding.offset
    return finding.code, finding.producer_id, where, finding.found


def _unread(finding: Finding, fork: int, leader: str) -> Finding:
    """Say of what a finding says of transactions that no consumer reads them: `leader` has others from `fork` on."""
    if finding.code not in _OF_PRODUCERS:
        return finding
    words = f" No consumer reads this replica: from offset {fork} on the leader's replica, {leader}, has other batches."
    return lowered(finding._replace(message=finding.message + words), Reason.NO_CONSUMER_READS)


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
    findings: list[Finding] = field(default_factory=list)
    unidentified: int = 0
    fork: int | None = None
    leaders: list[Led] = field(default_factory=list)


@dataclass(slots=True)
class Judgement:
    """The audits of one partition's replicas, and the findings about the replicas together."""

    logs: list[LogAudit]
    findings: list[Finding]


def judge_replicas(
    replicas: Sequence[tuple[LogDirectory, PartitionAudit]],
    around: Surroundings,
    share: Share = Share(),  # noqa: B008  # it is frozen
    of_keys: Sequence[Finding] = (),
) -> Judgement:
    """Judge the logs of one partition, given with their nodes.

    The logs hold the transactions of a share of the producers alone; findings about the log as a whole come with the
    share of the log, which has no other ones. Of a log that is shared out, `of_keys` are what ``key_outcomes`` says.
    """
    if len(replicas) > 1:
        replicas = [(node, with_own_epoch(node, partition, around.metadata)) for node, partition in replicas]
    speaker = speaker_of(replicas, around.metadata)
    logs = [_judge(number, replicas, around, share, speaker) for number in range(len(replicas))]
    partitions = [partition for _, partition in replicas]
    if len(logs) > 1:
        every = list(say_once(partitions, [log.findings for log in logs], speaker))
        for log, findings in zip(logs, every, strict=True):
            log.findings = findings
    findings = list(replica_forks(partitions, speaker)) if share.of_log else []
    if len(logs) > 1 and around.options.compare_keys:
        outcomes = ReplicaOutcomes(
            replicas, speaker, lambda: around.coordinator, around.metadata, around.options.limits
        )  # fmt: skip
        of_transactions = outcomes.transactions() if share.of_producers else []
        of_keys = list(outcomes.keys()) if share.is_all else of_keys
        findings += [*of_transactions, *(of_keys if share.of_log else ())]
        doubted: dict[str | None, list[tuple[int, int]]] = {}
        for finding in chain(of_transactions, of_keys):
            if finding.producer_id is not None and finding.offset is not None:
                doubted.setdefault(finding.log, []).append((finding.producer_id, finding.offset))
        for log in logs:
            if some := doubted.get(log.partition.directory.log):
                log.verdicts.doubt(*np.array(some, np.int64).T)
    return Judgement(logs, findings)


def key_outcomes(
    replicas: Sequence[tuple[LogDirectory, PartitionAudit]], around: Surroundings
) -> list[Finding]:  # fmt: skip
    """Return what replicas differ in by keys; of logs that are shared out, given as the share of the log has them."""
    found = outcomes_of_replicas(replicas, lambda: around.coordinator, around.metadata, around.options.limits)
    return list(found.keys())


def outcomes_of_replicas(
    replicas: Sequence[tuple[LogDirectory, PartitionAudit]], coordinator: Callable[[], Coordinator],
    metadata: Metadata | None, limits: Limits,
) -> ReplicaOutcomes:  # fmt: skip
    """Compare what replicas give consumers that they should give alike, where no audit judges them."""
    own = [(node, with_own_epoch(node, partition, metadata)) for node, partition in replicas]
    return ReplicaOutcomes(own, speaker_of(own, metadata), coordinator, metadata, limits)


def _judge(
    number: int, replicas: Sequence[tuple[LogDirectory, PartitionAudit]], around: Surroundings, share: Share,
    speaker: int,
) -> LogAudit:  # fmt: skip
    node, whole = replicas[number]
    fork = None if number == speaker else fork_of(whole, replicas[speaker][1])
    partition = whole if share.of_producers else _bare(whole)
    others = tuple(other for _, other in replicas if other is not whole)
    directory, options, metadata = partition.directory, around.options, around.metadata
    coordinator = around.coordinator
    listing = coordinator.listing(directory.topic, directory.partition)
    if not share.is_all:
        listing = listing[share.has(coordinator.states["producer_id"][listing])]
    own_markers = OwnMarkers(partition, coordinator, listing)
    context = Context(
        around, around.inputs(node, directory), own_markers, others, around.only_counted.get(directory.log), node.alone,
        opened_at(directory, whole.log_end_offset, metadata) if options.snapshot and not around.several_nodes else -1,
    )  # fmt: skip
    verdicts = Verdicts.of(partition, context)
    copy_ms = 0 if context.inputs.are_of_one_moment else options.copy_ms
    now = -1 if context.inputs is Inputs.CUT else around.now  # what a cut log lacks is not late
    deadlines = Deadlines(now, copy_ms, options.max_timeout_ms)
    wrong = WrongFields(whole.findings, directory)
    of_log = chain(log_findings(whole), check_partition(whole, one_moment=options.snapshot)) if share.of_log else ()
    findings = wrong.without_followers(counted(of_log))
    of_producers = counted(
        located(finding, directory) for finding in chain(marker_findings(partition), partition.of_producers)
    )
    of_producers = wrong.without_followers(of_producers)

    leaders_at = LeadersAt(partition, metadata)
    about = findings_of_transactions(
        partition, verdicts, deadlines, others, leaders_at, is_read=fork is None,
        counts_others=context.only_counted is None,
    )  # fmt: skip
    if share.of_log and (others_open := context.only_counted) is not None:
        how_many = few_of_many.not_all_judged(
            "open transactions", others_open.number, directory.log, others_open.first_offset
        )
        about.append(leaders_at.on(located(how_many, directory)))
    if not options.snapshot:
        if explains_transactions(partition):
            of_producers, about = [*of_producers, *about], []
        of_topic = policies(metadata, directory.topic)
        findings = lower_copied(findings, whole, of_topic)
        of_producers = lower_copied(of_producers, whole, of_topic, joined=False)
    rest: list[Finding] = []
    if directory.topic == OFFSETS_TOPIC:
        told = {one.file for one in whole.findings if is_not_read(one)}
        rest += (
            located(found, directory)
            for found in pending_offsets(directory, verdicts, options.limits)
            if not is_not_read(found) or found.file not in told
        )
    judged = against_coordinator(partition, own_markers, context, spoken_for=number != speaker)
    rest += few_of_many.first_findings(judged.findings)
    rest += by_hand_not_shown(partition, verdicts, judged.broken)
    reported = [*map(leaders_at.on, chain(findings, of_producers)), *about, *map(leaders_at.on, rest)]
    leaders = leaders_of(whole, metadata) if share.of_log else []
    forked = None if fork is None else fork[0]
    return LogAudit(node, partition, verdicts, judged, reported, unidentified(judged), forked, leaders)


def _bare(partition: PartitionAudit) -> PartitionAudit:
    """Return a partition without its producers, which other tasks judge."""
    transactions, producers = Columns.empty(EXTENT_COLUMNS), Columns.empty(PRODUCER_COLUMNS)
    return partition._replace(transactions=transactions, producers=producers, of_producers=())

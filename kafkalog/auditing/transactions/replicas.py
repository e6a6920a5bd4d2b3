"""Several replicas of one partition: which of them speaks for it, and what all of them show is reported once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from kafkalog.auditing.partition import PartitionAudit, fork_of, reach
from kafkalog.auditing.topics import Metadata, leader_now
from kafkalog.findings import Finding, Severity
from kafkalog.log.logdir import LogDirectory

__all__ = ["say_once", "speaker_of"]

# What is said of a producer and its transactions, and not of a file: replicas with the same batches show the same.
_OF_PRODUCERS: Final = frozenset(
    {
        "atomicity-broken", "late-data-adopted", "offsets-aborted", "offsets-pending", "sequence-broken",
        "transaction-hanging",
        "transaction-overdue", "transaction-pending", "transaction-undecided",
    }
)  # fmt: skip


def speaker_of(replicas: Sequence[tuple[LogDirectory, PartitionAudit]], metadata: Metadata | None) -> int:
    """Return the number of the replica that consumers read: the leader's by the metadata log.

    Where the leader is not known or not given, it is the replica whose leader epochs reach furthest, then the longest.
    """
    directory = replicas[0][1].directory
    leader = None if metadata is None else leader_now(metadata, directory.topic, directory.partition)

    def rank(number: int) -> tuple[bool, tuple[int, int], int]:
        node, partition = replicas[number]
        return leader is not None and node.node_id == str(leader), reach(partition), -number

    return max(range(len(replicas)), key=rank)


def say_once(
    replicas: Sequence[PartitionAudit], findings: Sequence[Sequence[Finding]], speaker: int
) -> Iterator[list[Finding]]:
    """Yield each replica's findings without what it repeats of the speaker, or of a replica before it.

    Where a replica's history forks from the speaker's, what it alone says of transactions concerns no consumer.
    """
    said = {_fact(finding) for finding in findings[speaker]}
    for number, replica in enumerate(replicas):
        if number == speaker:
            yield list(findings[number])
            continue
        new = [one for one in findings[number] if one.code not in _OF_PRODUCERS or _fact(one) not in said]
        said.update(map(_fact, new))
        fork = fork_of(replica, replicas[speaker])
        yield new if fork is None else [_without_consumers(one, fork[0], replicas[speaker]) for one in new]


def _fact(finding: Finding) -> tuple[object, ...]:
    where = finding.message if finding.offset is None else finding.offset
    return finding.code, finding.producer_id, where, finding.found


def _without_consumers(finding: Finding, fork: int, speaker: PartitionAudit) -> Finding:
    if finding.code not in _OF_PRODUCERS:
        return finding
    message = (
        f"{finding.message} No consumer reads this replica: from offset {fork} on the leader's replica,"
        f" {speaker.directory.log}, has other batches."
    )
    return finding._replace(message=message, severity=min(finding.severity, Severity.NOTE), remedy=None)

"""Several replicas of one partition: which of them speaks for it, and what all of them show is reported once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import compress
from typing import TYPE_CHECKING, Final

import numpy as np

from kafkalog.auditing.partition import PartitionAudit, fork_of, reach
from kafkalog.auditing.topics import Metadata, leader_now, leader_spans
from kafkalog.auditing.transactions.findings import CODES, TransactionFindings, Unread
from kafkalog.auditing.transactions.reported import Reported
from kafkalog.findings import Finding, Severity
from kafkalog.log.logdir import LogDirectory

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["say_once", "speaker_of", "with_own_epoch"]

# What is said of a producer and its transactions, and not of a file: replicas with the same batches show the same.
_OF_PRODUCERS: Final = frozenset(
    {
        "atomicity-broken", "late-data-adopted", "offsets-aborted", "offsets-pending", "sequence-broken",
        "transaction-hanging",
        "transaction-overdue", "transaction-pending", "transaction-undecided",
    }
)  # fmt: skip


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

    Where the leader is not known or not given, it is the replica whose leader epochs reach furthest, then the longest.
    """
    if len(replicas) == 1:
        return 0
    directory = replicas[0][1].directory
    leader = None if metadata is None else leader_now(metadata, directory.topic, directory.partition)

    def rank(number: int) -> tuple[bool, tuple[int, int], int]:
        node, partition = replicas[number]
        return leader is not None and node.node_id == str(leader), reach(partition), -number

    return max(range(len(replicas)), key=rank)


def say_once(
    replicas: Sequence[PartitionAudit], found: Sequence[Reported], speaker: int
) -> Iterator[Reported]:  # fmt: skip
    """Yield each replica's findings without what it repeats of the speaker, or of a replica before it.

    Where a replica's history forks from the speaker's, what it alone says of transactions concerns no consumer.
    """
    said = _Said()
    said.add(found[speaker])
    for number, replica in enumerate(replicas):
        if number == speaker:
            yield found[number]
            continue
        new = said.without(found[number])
        said.add(new)
        fork = fork_of(replica, replicas[speaker])
        yield new if fork is None else _unread(new, Unread(fork[0], replicas[speaker].directory.log))


class _Said:
    """What replicas have said: facts, and columns of those about transactions, which may be very many."""

    def __init__(self) -> None:
        self._facts: set[tuple[object, ...]] = set()
        self._rows: NDArray[np.int64] = np.empty((3, 0), np.int64)

    def add(self, found: Reported) -> None:
        rows = [self._rows]
        for part in found.parts():
            if isinstance(part, list):
                self._facts.update(map(_fact, part))
                rows.append(_rows_of([one for one in part if _is_row(one)]))
            else:
                rows.append(part.facts())
        self._rows = np.concatenate(rows, axis=1)

    def without(self, found: Reported) -> Reported:
        """Return the findings that no replica before has reported."""
        parts: list[list[Finding] | TransactionFindings] = []
        for part in found.parts():
            if isinstance(part, list):
                rows = [one for one in part if _is_row(one)]
                again = set(compress(rows, _held(self._rows, _rows_of(rows)).tolist())) | self._facts_of(part)
                parts.append([one for one in part if one.code not in _OF_PRODUCERS or one not in again])
            else:
                parts.append(part.some(np.flatnonzero(~_held(self._rows, part.facts()))))
        return Reported(*parts)

    def _facts_of(self, findings: Sequence[Finding]) -> set[Finding]:
        return {one for one in findings if _fact(one) in self._facts}


def _is_row(finding: Finding) -> bool:
    """Say whether a finding is one of those that are also columns."""
    return finding.code in CODES and None not in (finding.producer_id, finding.offset)


def _rows_of(findings: Sequence[Finding]) -> NDArray[np.int64]:
    """Return findings about transactions as ``TransactionFindings.facts`` does."""
    rows = [(CODES.index(one.code), one.producer_id or 0, one.offset or 0) for one in findings]
    return np.array(rows, np.int64).reshape(-1, 3).T


def _held(known: NDArray[np.int64], asked: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Say which columns of cells are among others."""
    count = known.shape[1]
    if not count or not asked.shape[1]:
        return np.zeros(asked.shape[1], bool)
    every = np.concatenate([known, asked], axis=1)
    order = np.lexsort(every)
    begins = np.zeros(len(order), bool)
    for cells in every:
        begins[1:] |= np.diff(cells[order]) != 0
    group = np.cumsum(begins)
    has = np.zeros(group[-1] + 1, bool)
    has[group[order < count]] = True
    found = np.empty(len(order), bool)
    found[order] = has[group]
    return found[count:]


def _fact(finding: Finding) -> tuple[object, ...]:
    where = finding.message if finding.offset is None else finding.offset
    return finding.code, finding.producer_id, where, finding.found


def _unread(found: Reported, unread: Unread) -> Reported:
    """Return what a replica says that no consumer reads."""
    return Reported(
        *(
            [_without_consumers(one, unread) for one in part]
            if isinstance(part, list)
            else part.without_consumers(unread)
            for part in found.parts()
        )
    )


def _without_consumers(finding: Finding, unread: Unread) -> Finding:
    if finding.code not in _OF_PRODUCERS:
        return finding
    message = finding.message + unread.words
    return finding._replace(message=message, severity=min(finding.severity, Severity.NOTE), remedy=None)

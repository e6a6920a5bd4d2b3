"""Replicas of one partition in several brokers' directories: where their histories diverge."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from kafkalog.auditing.partition.facts import PartitionAudit
from kafkalog.auditing.partition.findings import located
from kafkalog.findings import Finding
from kafkalog.log.names import STATE_TOPIC
from kafkalog.txn.coordinator import StateRows

__all__ = ["fork_of", "reach", "replica_forks", "state_differences"]


def reach(partition: PartitionAudit) -> tuple[int, int]:
    """Return how far a replica goes: its highest leader epoch, then its end."""
    epochs = [epoch for epoch, _ in (*partition.directory.leader_epochs, *partition.epochs)]
    return (max(epochs, default=-1), partition.log_end_offset)


def replica_forks(replicas: Sequence[PartitionAudit], speaker: int) -> Iterator[Finding]:
    """Yield a finding for each replica with batches of another leader epoch than the `speaker` at the same offset."""
    leader = replicas[speaker]
    for replica in replicas:
        fork = None if replica is leader else fork_of(replica, leader)
        if fork is None:
            continue
        offset, epoch, needed = fork
        here, there = replica.log_end_offset - offset, leader.log_end_offset - offset
        finding = Finding.of(
            "replicas-fork",
            replica.directory.log,
            f"From offset {offset} on this replica has other batches than {leader.directory.log}, which speaks for the"
            f" partition: there the leader epoch is {needed}, here {epoch}. {_offsets(here)} only here, {there} only"
            " there.",
            offset=offset,
            last_offset=replica.log_end_offset - 1,
            needed=needed,
            found=epoch,
        )
        yield located(finding, replica.directory)


def _offsets(count: int) -> str:
    return "1 offset is" if count == 1 else f"{count} offsets are"


def fork_of(one: PartitionAudit, other: PartitionAudit) -> tuple[int, int, int] | None:
    """Return the first offset that both have in different leader epochs, with the two epochs.

    A leader that has written nothing yet has the offset that it writes next: what others wrote there before is lost.
    """
    low = max(one.log_start_offset, other.log_start_offset)
    high = min(_high(one), _high(other))
    for offset in sorted({max(low, first) for _, first in (*one.epochs, *other.epochs)}):
        mine, theirs = _epoch_at(one, offset), _epoch_at(other, offset)
        if offset >= high or mine == theirs or mine is None or theirs is None or min(mine, theirs) < 0:
            continue
        older = one if mine < theirs else other
        if offset < older.log_end_offset:
            return offset, mine, theirs
    return None


def _high(partition: PartitionAudit) -> int:
    end = partition.log_end_offset
    return end + 1 if partition.epochs[-1:] and partition.epochs[-1][1] == end else end


def _epoch_at(partition: PartitionAudit, offset: int) -> int | None:
    return next((epoch for epoch, first in reversed(partition.epochs) if first <= offset), None)


def state_differences(taken: StateRows, other: StateRows) -> Iterator[Finding]:
    """Yield a finding where two replicas of a state partition have different records at the same offset."""
    mine, theirs = taken.rows, other.rows
    if not len(mine):
        return
    offsets, at = np.unique(mine.offset[::-1], return_index=True)  # the last of several at one offset counts
    found = np.minimum(np.searchsorted(offsets, theirs.offset), len(offsets) - 1)
    rows = np.flatnonzero(offsets[found] == theirs.offset)
    places = len(mine) - 1 - at[found[rows]]
    different = np.flatnonzero(theirs.differ(rows, mine, places))
    if len(different):
        first = different[0]
        here, there = (
            states.ids[states.transactional_id[row]] for states, row in ((theirs, rows[first]), (mine, places[first]))
        )
        yield Finding.of(
            "state-replicas-differ",
            other.log,
            f"at offset {theirs.offset[rows[first]]} this replica has another record than the replica that was used:"
            f" of {here} here, of {there} there",
            offset=int(theirs.offset[rows[first]]),
            log=other.log,
            topic=STATE_TOPIC,
            partition=other.partition,
        )

"""Replicas of one partition in several brokers' directories: where their histories diverge."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

from kafkalog.auditing.partition.facts import PartitionAudit
from kafkalog.findings import Finding
from kafkalog.log.names import STATE_TOPIC
from kafkalog.txn.coordinator import Entry

__all__ = ["reach", "replica_forks", "state_differences"]


def reach(partition: PartitionAudit) -> tuple[int, int]:
    """Return how far a replica goes: its highest leader epoch, then its end."""
    epochs = [epoch for epoch, _ in (*partition.directory.leader_epochs, *partition.epochs)]
    return (max(epochs, default=-1), partition.log_end_offset)


def replica_forks(partitions: Sequence[PartitionAudit]) -> Iterator[Finding]:
    """Yield a finding for each pair of replicas with batches of different leader epochs at the same offset."""
    replicas: dict[tuple[str, int], list[PartitionAudit]] = {}
    for partition in partitions:
        replicas.setdefault((partition.directory.topic, partition.directory.partition), []).append(partition)
    for (topic, number), of_one in replicas.items():
        for one, other in combinations(of_one, 2):
            fork = _fork(one, other)
            if fork is None:
                continue
            offset, epoch, other_epoch = fork
            yield Finding.of(
                "replicas-fork",
                one.directory.log,
                f"at offset {offset} this replica has leader epoch {epoch}, {other.directory.log} has {other_epoch}",
                offset=offset,
                needed=epoch,
                found=other_epoch,
                log=one.directory.log,
                topic=topic,
                partition=number,
            )


def _fork(one: PartitionAudit, other: PartitionAudit) -> tuple[int, int, int] | None:
    """Return the first offset that both have in different leader epochs, with the two epochs."""
    low = max(one.log_start_offset, other.log_start_offset)
    high = min(one.log_end_offset, other.log_end_offset)
    for offset in sorted({max(low, first) for _, first in (*one.epochs, *other.epochs)}):
        mine, theirs = _epoch_at(one, offset), _epoch_at(other, offset)
        if offset < high and mine != theirs and mine is not None and theirs is not None and min(mine, theirs) >= 0:
            return offset, mine, theirs
    return None


def _epoch_at(partition: PartitionAudit, offset: int) -> int | None:
    return next((epoch for epoch, first in reversed(partition.epochs) if first <= offset), None)


def state_differences(taken: Sequence[Entry], other: Sequence[Entry]) -> Iterator[Finding]:
    """Yield a finding where two replicas of a state partition have different records at the same offset."""
    by_offset = {entry.offset: entry for entry in taken}
    for entry in other:
        mine = by_offset.get(entry.offset)
        if mine is not None and mine.record != entry.record:
            yield Finding.of(
                "state-replicas-differ",
                entry.log,
                f"at offset {entry.offset} this replica has another record than the replica that was used: of"
                f" {entry.record.transactional_id} here, of {mine.record.transactional_id} there",
                offset=entry.offset,
                log=entry.log,
                topic=STATE_TOPIC,
                partition=entry.partition,
            )
            return

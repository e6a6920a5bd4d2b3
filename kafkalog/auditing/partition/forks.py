"""Replicas of one partition in several brokers' directories: where their histories diverge."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from kafkalog.auditing.partition.facts import PartitionAudit
from kafkalog.auditing.partition.log_rules import located
from kafkalog.columns.sorted_rows import last_of_each, place_of
from kafkalog.files.names import STATE_TOPIC
from kafkalog.findings import Finding
from kafkalog.folds.coordinator import StateRows
from kafkalog.log_dirs.log_directory import PartitionDirectory

__all__ = ["LogReach", "fork_of", "reach", "replica_forks", "state_differences"]


class LogReach(NamedTuple):
    """What of a log's facts says where offsets stand in it: ``PartitionAudit`` has the same, and more."""

    directory: PartitionDirectory
    epochs: tuple[tuple[int, int], ...]
    log_start_offset: int
    log_end_offset: int
    last_stable_offset: int


def reach(partition: PartitionAudit | LogReach) -> tuple[int, int]:
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
    """Return the first offset at which both have batches of different leader epochs, with the two epochs.

    What a cleaner took says nothing: replicas are cleaned at different times, and only one may have an epoch's start.
    A leader that has written nothing yet has the offset that it writes next: what others wrote there before is lost.
    """
    low = max(one.log_start_offset, other.log_start_offset)
    mine, theirs = list(_epoch_runs(one)), list(_epoch_runs(other))
    here = there = 0
    while here < len(mine) and there < len(theirs):
        (epoch, first, end), (its_epoch, its_first, its_end) = mine[here], theirs[there]
        offset = max(low, first, its_first)
        older = one if epoch < its_epoch else other
        if offset < min(end, its_end, older.log_end_offset) and epoch != its_epoch and min(epoch, its_epoch) >= 0:
            return offset, epoch, its_epoch
        here, there = here + (end <= its_end), there + (its_end <= end)
    return None


def _epoch_runs(partition: PartitionAudit) -> Iterator[tuple[int, int, int]]:
    """Yield the leader epochs of a log's batches: each with its first offset, and an end up to which it has batches."""
    gaps, log_end = partition.gaps, partition.log_end_offset
    bases = [segment.base_offset for segment in partition.directory.segments[-1:]]
    cleaned_to_end = bases == [log_end] and partition.cleaned_to >= log_end
    for (epoch, first), (_, begin) in pairwise((*partition.epochs, (-1, log_end))):  # the next one begins there
        end = begin
        if first == log_end or (begin == log_end and cleaned_to_end):
            end = first + 1  # a leader that wrote nothing yet, or a newest segment that a cleaner emptied
        elif gaps and gaps.last[at := min(int(np.searchsorted(gaps.last, begin - 1)), len(gaps) - 1)] == begin - 1:
            end = int(gaps.first[at])
        yield epoch, first, end


def state_differences(taken: StateRows, other: StateRows) -> Iterator[Finding]:
    """Yield a finding where two replicas of a state partition have different records at the same offset."""
    mine, theirs = taken.rows, other.rows
    if not len(mine):
        return
    offsets, last = last_of_each(mine["offset"])  # the last of several at one offset counts
    found = place_of(offsets, theirs["offset"])
    rows = np.flatnonzero(found >= 0)
    places = last[found[rows]]
    different = np.flatnonzero(theirs.differ(rows, mine, places))
    if len(different):
        first = different[0]
        here, there = (
            one.ids[one["transactional_id"][row]] for one, row in ((theirs, rows[first]), (mine, places[first]))
        )
        yield Finding.of(
            "state-replicas-differ",
            other.log,
            f"at offset {theirs['offset'][rows[first]]} this replica has another record than the replica that was used:"
            f" of {here} here, of {there} there",
            offset=int(theirs["offset"][rows[first]]),
            log=other.log,
            topic=STATE_TOPIC,
            partition=other.partition,
        )

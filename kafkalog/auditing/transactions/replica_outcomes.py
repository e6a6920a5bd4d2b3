"""What consumers are given where one replica leads and not another: replicas in sync that are not the same any more.

A replica that was away for longer than ``delete.retention.ms`` never gets a tombstone, or a marker, that another one's
cleaner has removed meanwhile: a deleted key lives on in it, an aborted record becomes part of the next transaction, a
transaction has no end. Brokers do not notice it: the replica fetches on, and is in sync.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice, pairwise
from typing import TYPE_CHECKING, Final

import numpy as np

from kafkalog.auditing.partition import PartitionAudit, fork_of
from kafkalog.auditing.topics import Metadata
from kafkalog.auditing.transactions.newest_records import (
    DELETED,
    GIVEN,
    OLDER,
    KeyGroup,
    KeyRecord,
    compare_keys,
    may_differ,
    records_at,
)
from kafkalog.auditing.transactions.outcome_sentences import NAMED, ComparedReplica, OutcomeSentences
from kafkalog.columns.table import NONE
from kafkalog.few_of_many import first_findings, grouped
from kafkalog.findings import Finding
from kafkalog.folds import fold

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from kafkalog.columns.table import Columns
    from kafkalog.files.limits import Limits
    from kafkalog.folds.coordinator import Coordinator
    from kafkalog.log_dirs.log_directory import LogDirectory

__all__ = ["ReplicaOutcomes"]

_JUDGED: Final = 1_000  # records of a group of keys that are looked at: their transactions, the first keys
_GROUPS: Final = 10  # of keys that one partition reports


class ReplicaOutcomes:
    """What consumers are given of one replica of a compacted log and not of another, and may not differ.

    Nothing is read where the cleaner was in none of them, or where all have the same offsets. Replicas of another
    history than the speaker's are left out: a fork has a finding of its own. The `coordinator` is asked for where it
    decides. Of a log that is shared out the shares of producers tell of their transactions, that of the log of keys.

    When markers go is the rule of CleanedTransactionMetadata; how far the cleaner goes, of LogCleanerManager.
    """

    def __init__(
        self, replicas: Sequence[tuple[LogDirectory, PartitionAudit]], speaker: int,
        coordinator: Callable[[], Coordinator], metadata: Metadata | None, limits: Limits,
    ) -> None:  # fmt: skip
        leader = replicas[speaker][1]
        alike = [ComparedReplica(node, log) for node, log in replicas if log is leader or fork_of(log, leader) is None]
        self._replicas = alike if may_differ([one.log for one in alike]) else []
        self._coordinator = coordinator
        self._limits = limits
        self._words = OutcomeSentences(metadata)

    def transactions(self) -> list[Finding]:
        """Return the transactions that are open, or ended otherwise, on one replica alone."""
        return first_findings(self._transactions())

    def _transactions(self) -> Iterator[Finding]:
        for one in self._replicas:
            others = [other for other in self._replicas if other is not one]
            yield from self._open(one, others)
            yield from self._ended_otherwise(one, others)

    def _open(self, one: ComparedReplica, others: Sequence[ComparedReplica]) -> Iterator[Finding]:
        """Yield the open transactions of a replica whose marker another one had, before this one's end."""
        rows = one.log.transactions
        for row in rows.take(np.flatnonzero(fold.is_open(rows) & fold.has_data(rows))):
            ended = [other for other in others if _has_ended(other, row, one)]
            if not ended:
                continue
            marker = next((end for end in (_end_of(other, row) for other in ended) if end is not None), None)
            yield self._words.open_on_one(one, ended, row, marker)

    def _ended_otherwise(self, one: ComparedReplica, others: Sequence[ComparedReplica]) -> Iterator[Finding]:
        """Yield the transactions that take in what another replica ended before, with another marker."""
        rows = one.log.transactions
        ended = rows.take(np.flatnonzero(~fold.is_open(rows) & fold.has_data(rows)))
        for other in others:
            at = other.spans.find_rows(ended["producer_id"], ended["first_offset"])
            there = other.log.transactions.take(np.maximum(at, 0)) if len(other.log.transactions) else None
            if there is None:
                continue
            differs = (
                (at >= 0) & ~fold.is_open(there) & (there["marker_offset"] < ended["marker_offset"])
                & (there["marker_type"] != ended["marker_type"]) & fold.has_data(there)
            )  # fmt: skip
            for number in np.flatnonzero(differs).tolist():
                [row], [its] = ended.take(slice(number, number + 1)), there.take(slice(number, number + 1))
                yield self._words.ended_otherwise(one, other, row, its)
        yield from self._begin_earlier(one, others, ended)

    def _begin_earlier(
        self, one: ComparedReplica, others: Sequence[ComparedReplica], ended: Columns
    ) -> Iterator[Finding]:
        """Yield aborted transactions that begin earlier here than by another replica's transaction index.

        A broker writes the index when the marker comes, and cleaning keeps its entries. Records that are older than any
        transaction may be were of another one, which had committed them: an abort is written at the timeout.
        """
        late = ended["marker_timestamp"] - ended["min_timestamp"] > _MAX_TIMEOUT_MS
        rows = ended.take(np.flatnonzero((ended["marker_type"] == fold.ABORT) & late))
        begins = {
            (entry.producer_id, entry.last_offset): (entry.first_offset, other)
            for other in others
            for entries in other.log.txn_entries.values()
            for entry in entries
        } if len(rows) else {}  # fmt: skip
        for row in rows if begins else ():
            first, other = begins.get((row["producer_id"], row["marker_offset"]), (NONE, None))
            if other is None or first <= row["first_offset"]:
                continue
            yield self._words.begins_earlier(one, other, row, first)

    def keys(self) -> Iterator[Finding]:
        """Yield the keys whose newest record one replica gives and another does not."""
        if not self._replicas:
            return
        groups = compare_keys([one.log for one in self._replicas], self._limits)
        if groups is None:
            yield self._words.not_compared(self._replicas[0])
            return
        for group in islice(groups, _GROUPS):
            yield from self._of_keys(group)

    def _of_keys(self, group: KeyGroup) -> Iterator[Finding]:
        holder = self._replicas[group.holder]
        alive, deleted, older = (
            [one for one, has in zip(self._replicas, group.has, strict=True) if has == word]
            for word in (GIVEN, DELETED, OLDER)
        )
        is_absent = np.zeros(len(group.offsets), np.bool_)
        if group.deleted_at < 0:
            is_absent = _in_absent_segments(holder, deleted, group.offsets)
        if is_absent.any():
            offsets = group.offsets[is_absent]
            records = records_at(holder.log, offsets[:NAMED], self._limits)
            for one in deleted:
                yield self._words.absent(holder, one, records, offsets)
        offsets = group.offsets[~is_absent]
        lacking = [one for one in self._replicas if one not in alive]
        for one in alive:
            records = records_at(one.log, offsets[:_JUDGED], self._limits)
            aborted = [record for record in records if self._was_aborted(one, record)]
            for of_one in grouped(aborted, lambda record: (record.producer_id, record.marker_offset)).values():
                yield self._words.aborted(one, lacking, of_one)
            others, count = [record for record in records if record not in aborted], len(offsets) - len(aborted)
            if others and deleted:
                yield self._words.deleted(one, deleted, others, count, group.deleted_at)
            if others and older and one is holder:
                yield from self._older(group, (alive, deleted, older), others, count)

    def _older(
        self, group: KeyGroup, replicas: tuple[Sequence[ComparedReplica], ...], records: Sequence[KeyRecord], count: int
    ) -> Iterator[Finding]:
        """Yield what replicas are whose newest record of keys is an older one: wrong where others deleted the keys."""
        alive, deleted, older = replicas
        if not deleted:
            yield self._words.older(alive, older, records, count)
        for one in older if deleted else ():
            yield self._words.deleted(one, deleted, records, count, group.deleted_at, is_older=True)

    def _was_aborted(self, holder: ComparedReplica, record: KeyRecord) -> bool:
        """Say whether the coordinator aborted a transaction of the record's producer before its own one ended.

        The coordinator's times are those of brokers; a client's may be a little ahead of them.
        """
        if not record.is_transactional or record.marker_offset == NONE:
            return False
        directory = holder.log.directory
        coordinator = self._coordinator()
        rows = coordinator.listing(directory.topic, directory.partition)
        decided = coordinator.decisions(rows[coordinator.states["producer_id"][rows] == record.producer_id])
        first = record.timestamp - _CLOCKS_MS
        return any(not one["committed"] and first <= one["decided"] <= record.marker_ms for one in decided)


_MAX_TIMEOUT_MS: Final = 900_000  # transaction.max.timeout.ms by default
_CLOCKS_MS: Final = 1_000


def _in_absent_segments(
    holder: ComparedReplica, lacking: Sequence[ComparedReplica], offsets: NDArray[np.int64]
) -> NDArray[np.bool_]:  # fmt: skip
    """Say which of some offsets are in segments, with several of them, in all of which some replicas have nothing.

    A cleaner that deletes single keys leaves others of a segment.
    """
    bases = [one.base_offset for one in holder.log.directory.segments]
    found, gaps = np.zeros(len(offsets), np.bool_), [one.log.gaps for one in lacking]
    for base, end in pairwise(bases) if gaps else ():
        inside = (offsets >= base) & (offsets < end)
        if inside.sum() > 1 and all(bool(((one.first <= base) & (one.last >= end - 1)).any()) for one in gaps):
            found |= inside
    return found


def _has_ended(other: ComparedReplica, row: Mapping[str, int], here: ComparedReplica) -> bool:
    """Say whether a transaction that is open in one replica ended in another one, before the first one's end.

    The cleaner goes no further than the first open transaction: where it removed the records, the marker had come.
    """
    end = _end_of(other, row)
    if end is not None:
        return end < here.log.log_end_offset
    first, log = row["first_offset"], other.log
    if not log.log_start_offset <= first < min(log.cleaned_to, log.log_end_offset):
        return False
    of = other.spans.find_rows(np.array([row["producer_id"]]), np.array([first]))
    is_there = len(log.transactions) > 0 and int(of[0]) >= 0
    return not is_there and log.cleaned_to_active().cleaned_to <= here.log.log_end_offset


def _end_of(one: ComparedReplica, row: Mapping[str, int]) -> int | None:
    """Return the offset of the marker that ended a transaction in a replica, None where it is open or not there."""
    rows = one.log.transactions
    if not len(rows):
        return None
    [of] = one.spans.find_rows(np.array([row["producer_id"]]), np.array([row["first_offset"]])).tolist()
    if of < 0:
        return None
    end = int(rows["marker_offset"][of])
    return None if end == NONE else end

"""What consumers are given where one replica leads and not another: replicas in sync that are not the same any more.

A replica that was away for longer than ``delete.retention.ms`` never gets a tombstone, or a marker, that another one's
cleaner has removed meanwhile: a deleted key lives on in it, an aborted record becomes part of the next transaction, a
transaction has no end. Brokers do not notice it: the replica fetches on, and is in sync.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice, pairwise
from typing import TYPE_CHECKING, Final

import numpy as np

from kafkalog.auditing.partition import PartitionAudit, fork_of, located
from kafkalog.auditing.topics import Metadata, leader_now
from kafkalog.auditing.transactions.newest_records import (
    DELETED,
    GIVEN,
    OLDER,
    KeyGroup,
    KeyRecord,
    compare_keys,
    may_differ,
    record_at,
)
from kafkalog.columns.table import NONE
from kafkalog.escape import escape_bytes
from kafkalog.few_of_many import first_findings
from kafkalog.findings import Finding
from kafkalog.folds import fold
from kafkalog.quantities import iso, listed, many

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from kafkalog.columns.sorted_rows import Spans
    from kafkalog.columns.table import Columns
    from kafkalog.files.limits import Limits
    from kafkalog.folds.coordinator import Coordinator
    from kafkalog.log_dirs.log_directory import LogDirectory

__all__ = ["replica_outcomes"]

_JUDGED: Final = 1_000  # records of a group of keys that are looked at: their transactions, the first keys
_GROUPS: Final = 10  # of keys that one partition reports
_NAMED: Final = 3  # keys that a sentence names
_KEY: Final = 40  # bytes of a key that are shown


@dataclass(frozen=True)
class _Replica:
    """A replica with the broker that it is of; `spans` are those of its transactions, sorted once."""

    node: LogDirectory
    log: PartitionAudit

    @cached_property
    def spans(self) -> Spans:
        return fold.spans(self.log.transactions)

    @property
    def name(self) -> str:
        """Name the broker, or the directory where nothing says whose it is."""
        return self.log.directory.log if self.node.node_id is None else f"broker {self.node.node_id}"


def replica_outcomes(
    replicas: Sequence[tuple[LogDirectory, PartitionAudit]], speaker: int,
    coordinator: Callable[[], Coordinator], metadata: Metadata | None, limits: Limits,
) -> Iterator[Finding]:  # fmt: skip
    """Yield what consumers are given of one replica of a compacted log and not of another, and may not differ.

    Nothing is read where the cleaner was in none of them, or where all have the same offsets. Replicas of another
    history than the speaker's are left out: a fork has a finding of its own. The `coordinator` is asked for where it
    decides.

    When markers go is the rule of CleanedTransactionMetadata; how far the cleaner goes, of LogCleanerManager.
    """
    leader = replicas[speaker][1]
    alike = [_Replica(node, log) for node, log in replicas if log is leader or fork_of(log, leader) is None]
    if len(alike) < 2 or not may_differ([one.log for one in alike]):
        return
    found = _Comparison(alike, coordinator, metadata, limits)
    yield from first_findings(found.transactions())
    yield from found.keys()


class _Comparison:
    """Replicas of one partition beside each other."""

    def __init__(
        self, replicas: Sequence[_Replica], coordinator: Callable[[], Coordinator], metadata: Metadata | None,
        limits: Limits,
    ) -> None:  # fmt: skip
        self._replicas = replicas
        self._coordinator = coordinator
        self._metadata = metadata
        self._limits = limits

    def transactions(self) -> Iterator[Finding]:
        """Yield the transactions that are open, or ended otherwise, on one replica alone."""
        for one in self._replicas:
            others = [other for other in self._replicas if other is not one]
            yield from self._open(one, others)
            yield from self._ended_otherwise(one, others)

    def _open(self, one: _Replica, others: Sequence[_Replica]) -> Iterator[Finding]:
        """Yield the open transactions of a replica whose marker another one had, before this one's end."""
        rows = one.log.transactions
        for row in rows.take(np.flatnonzero(fold.is_open(rows) & fold.has_data(rows))):
            ended = [other for other in others if _has_ended(other, row, one)]
            if not ended:
                continue
            first, producer = row["first_offset"], row["producer_id"]
            right = self._names(ended)
            marker = next((end for end in (_end_of(other, row) for other in ended) if end is not None), None)
            away = self._when(one, row["max_timestamp"])
            gone = "its cleaner removed the records and the marker" if marker is None else f"its marker is at {marker}"
            message = (
                f"A transaction of producer {producer} is open on {one.name} since offset {first} and has ended on"
                f" {right}, where {gone}: {one.name} never got the marker. With {one.name} as leader read_committed"
                f" consumers stop at offset {first} for ever, and its cleaner, too.{away}"
            )
            yield self._finding("transaction-open-on-one", one, message, right, row["records"], first, producer)

    def _ended_otherwise(self, one: _Replica, others: Sequence[_Replica]) -> Iterator[Finding]:
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
                yield self._other_end(one, other, row, its)
        yield from self._begin_earlier(one, others, ended)

    def _other_end(self, one: _Replica, other: _Replica, row: Mapping[str, int], its: Mapping[str, int]) -> Finding:
        here, there = _how(row), _how(its)
        first, last = row["first_offset"], its["last_offset"]
        message = (
            f"Records of producer {row['producer_id']} at offsets {first}-{last} are {here} on {one.name}, by the"
            f" marker at {row['marker_offset']}, and {there} on {other.name}, by the marker at {its['marker_offset']},"
            f" which {one.name} never got. With {one.name} as leader read_committed consumers {_given(here)} them, with"
            f" {other.name} they {_given(there)} them.{self._when(one, row['min_timestamp'])}"
        )
        code = "record-committed-on-one-aborted-on-another"
        return self._finding(code, one, message, other.name, its["records"], first, row["producer_id"])

    def _begin_earlier(self, one: _Replica, others: Sequence[_Replica], ended: Columns) -> Iterator[Finding]:
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
            begin, marker = row["first_offset"], row["marker_offset"]
            message = (
                f"The record of producer {row['producer_id']} at offset {begin} counts as aborted on {one.name}, by the"
                f" marker at {marker}: there the transaction begins at {begin}, on {other.name} at {first} by its"
                f" transaction index. The record is {(row['marker_timestamp'] - row['min_timestamp']) // 1000} s older"
                f" than the marker, so it was of an earlier transaction, whose COMMIT marker {one.name} never got:"
                f" {other.name} has neither of both any more. With {one.name} as leader read_committed consumers skip"
                f" what was committed; read_uncommitted ones get it.{self._when(one, row['min_timestamp'])}"
            )
            code = "record-committed-on-one-aborted-on-another"
            yield self._finding(code, one, message, other.name, 1, begin, row["producer_id"])

    def keys(self) -> Iterator[Finding]:
        """Yield the keys whose newest record one replica gives and another does not."""
        groups = compare_keys([one.log for one in self._replicas], self._limits)
        if groups is None:
            one = self._replicas[0]
            message = "This log has too many keys: the newest records of its replicas were not compared."
            yield self._finding("keys-not-compared", one, message, "", None, None, None)
            return
        for group in islice(groups, _GROUPS):
            yield from self._of_keys(group)

    def _of_keys(self, group: KeyGroup) -> Iterator[Finding]:
        holder = self._replicas[group.holder]
        lacking = [one for one, has in zip(self._replicas, group.has, strict=True) if has == DELETED]
        is_absent = np.zeros(len(group.offsets), np.bool_)
        if group.deleted_at < 0:
            is_absent = _in_absent_segments(holder, lacking, group.offsets)
        if is_absent.any():
            yield self._absent(holder, lacking, group.offsets[is_absent])
        offsets = group.offsets[~is_absent]
        records = list(record_at(holder.log, offsets[:_JUDGED], self._limits))
        aborted = [record for record in records if self._was_aborted(holder, record)]
        if aborted:
            yield self._aborted(group, holder, aborted)
        others = [record for record in records if record not in aborted]
        if others:
            yield self._deleted(group, holder, others, len(offsets) - len(aborted))

    def _absent(self, holder: _Replica, lacking: Sequence[_Replica], offsets: NDArray[np.int64]) -> Finding:
        records = list(record_at(holder.log, offsets[:_NAMED], self._limits))
        wrong, first, last = self._names(lacking), int(offsets[0]), int(offsets[-1])
        message = (
            f"{_keys(records, len(offsets))} have their newest records at offsets {first}-{last} on {holder.name}, and"
            f" {wrong} has no record in all of these segments: they were lost there, or every key was deleted and its"
            f" cleaner removed the tombstones, too. Which of them is right is undecided. With {wrong} as leader"
            f" consumers are given none of them, with {holder.name} all.{self._when(lacking[0], records[0].timestamp)}"
        )
        return self._finding("records-absent", lacking[0], message, holder.name, len(offsets), first, None)

    def _deleted(self, group: KeyGroup, holder: _Replica, records: Sequence[KeyRecord], count: int) -> Finding:
        alive, deleted, older = (
            [one for one, has in zip(self._replicas, group.has, strict=True) if has == word]
            for word in (GIVEN, DELETED, OLDER)
        )
        what, verb, lives = _keys(records, count), "is" if count == 1 else "are", "comes" if count == 1 else "come"
        key = "the deleted key" if count == 1 else "the deleted keys"
        when = self._when(holder, records[0].timestamp)
        if deleted:
            right = self._names(deleted)
            if group.deleted_at >= 0:
                why = f"The tombstone is at offset {group.deleted_at} there, and {holder.name} never got it."
            elif any(record.is_transactional for record in records):
                why = (
                    f"The cleaner of {right} removed the record after its tombstone, or because its transaction was"
                    f" aborted, and then that tombstone or marker, which {holder.name} never got."
                )
            else:
                why = (
                    f"The cleaner of {right} removed the record and then its tombstone, which {holder.name} never got."
                )
            wrong = self._names(alive)
            message = (
                f"{what} {verb} deleted on {right} and alive on {wrong}. With {wrong} as leader"
                f" {key} {lives} back. {why}{when}"
            )
            return self._finding("key-deleted-on-one", holder, message, right, count, records[0].offset, None)
        message = (
            f"{what} {verb} newer on {self._names(alive)} than on {self._names(older)}, whose cleaner went past the"
            f" offset. Which of them is right is undecided. With {self._names(older)} as leader consumers get the older"
            f" value.{when}"
        )
        return self._finding("key-older-on-one", older[0], message, self._names(alive), count, records[0].offset, None)

    def _aborted(self, group: KeyGroup, holder: _Replica, records: Sequence[KeyRecord]) -> Finding:
        lacking = [one for one, has in zip(self._replicas, group.has, strict=True) if has != GIVEN]
        right, first = self._names(lacking), records[0]
        end = _end_of(holder, {"producer_id": first.producer_id, "first_offset": first.offset})
        is_one = len(records) == 1
        what = "The aborted record of key" if is_one else f"{len(records)} aborted records, of keys"
        message = (
            f"{what} {_listed(records)} of producer {first.producer_id} {'is' if is_one else 'are'} part of the"
            f" committed transaction on {holder.name} that ends at offset {end}: the coordinator's records have the"
            f" abort, and {holder.name} never got the ABORT marker. {capital_of(right)} does not have"
            f" {'it' if is_one else 'them'} any more. With {holder.name} as leader read_committed consumers are given"
            f" {'it' if is_one else 'them'}.{self._when(holder, first.timestamp)}"
        )
        code = "record-committed-on-one-aborted-on-another"
        return self._finding(code, holder, message, right, len(records), first.offset, first.producer_id)

    def _was_aborted(self, holder: _Replica, record: KeyRecord) -> bool:
        """Say whether the coordinator aborted a transaction of the record's producer before its own one ended.

        The coordinator's times are those of brokers; a client's may be a little ahead of them.
        """
        if not record.is_transactional:
            return False
        directory = holder.log.directory
        coordinator = self._coordinator()
        rows = coordinator.listing(directory.topic, directory.partition)
        decided = coordinator.decisions(rows[coordinator.states["producer_id"][rows] == record.producer_id])
        of = holder.spans.find_rows(np.array([record.producer_id]), np.array([record.offset]))
        if int(of[0]) < 0:
            return False
        marker_ms = int(holder.log.transactions["marker_timestamp"][of[0]])
        return any(
            not one["committed"] and record.timestamp - _CLOCKS_MS <= one["decided"] <= marker_ms for one in decided
        )

    def _names(self, some: Sequence[_Replica]) -> str:
        return listed((one.name for one in some), len(self._replicas))

    def _when(self, wrong: _Replica, time: int) -> str:
        """Say when the replica was away after a time, by the metadata; and who leads now."""
        if self._metadata is None or wrong.node.node_id is None:
            return ""
        directory, node = wrong.log.directory, int(wrong.node.node_id)
        said = ""
        for since, until in _absences(self._metadata, directory.topic, directory.partition, node):
            if until is None or until >= time:
                back = "" if until is None else f" until {iso(until)}"
                said = f" {capital_of(wrong.name)} was not in sync from {iso(since)}{back}."
                break
        leader = leader_now(self._metadata, directory.topic, directory.partition)
        return said if leader is None or leader < 0 else f"{said} Broker {leader} leads now."

    def _finding(
        self, code: str, wrong: _Replica, message: str, right: str, count: int | None, offset: int | None,
        producer: int | None,
    ) -> Finding:  # fmt: skip
        directory = wrong.log.directory
        finding = Finding.of(
            code, directory.log, message, offset=offset, needed=right, found=count, producer_id=producer
        )  # fmt: skip
        return located(finding, directory)


_MAX_TIMEOUT_MS: Final = 900_000  # transaction.max.timeout.ms by default
_CLOCKS_MS: Final = 1_000


def _in_absent_segments(
    holder: _Replica, lacking: Sequence[_Replica], offsets: NDArray[np.int64]
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


def _has_ended(other: _Replica, row: Mapping[str, int], here: _Replica) -> bool:
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


def _end_of(one: _Replica, row: Mapping[str, int]) -> int | None:
    """Return the offset of the marker that ended a transaction in a replica, None where it is open or not there."""
    rows = one.log.transactions
    if not len(rows):
        return None
    [of] = one.spans.find_rows(np.array([row["producer_id"]]), np.array([row["first_offset"]])).tolist()
    if of < 0:
        return None
    end = int(rows["marker_offset"][of])
    return None if end == NONE else end


def _how(row: Mapping[str, int]) -> str:
    return "aborted" if row["marker_type"] == fold.ABORT else "committed"


def _given(how: str) -> str:
    return "skip" if how == "aborted" else "are given"


def capital_of(name: str) -> str:
    """Return a name as a sentence begins with it."""
    return name[:1].upper() + name[1:] if name.startswith("broker ") else name


def _keys(records: Sequence[KeyRecord], count: int) -> str:
    """Name keys with their offsets, as a sentence begins."""
    if count == 1:
        return f"Key {_listed(records)}"
    return f"{many(count, 'key')}, {_listed(records)}{' and more' * (count > _NAMED)},"


def _listed(records: Sequence[KeyRecord]) -> str:
    return ", ".join(f"'{escape_bytes(one.key[:_KEY])}' (offset {one.offset})" for one in records[:_NAMED])


def _absences(metadata: Metadata, topic: str, partition: int, node: int) -> Iterator[tuple[int, int | None]]:
    """Yield the times (ms) in which a broker was no in-sync replica of a partition after it had been one."""
    since: int | None = None
    was_in = False
    for span in metadata.spans_of(topic, partition):
        is_in = node in span.value.isr
        if was_in and not is_in:
            since = span.since
        elif is_in and since is not None:
            yield since, span.since
            since = None
        was_in = is_in
    if since is not None:
        yield since, None

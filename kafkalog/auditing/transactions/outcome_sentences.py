"""What is said of replicas of a compacted log that give consumers different records: the findings' sentences.

Each names what differs, on which replica, what consumers get when each of them leads, and since when: which absence of
the replica, by the metadata. Which replica is right is the rule of ``replica_outcomes``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

from kafkalog.auditing.partition import PartitionAudit, located
from kafkalog.auditing.topics import Metadata, leader_now
from kafkalog.auditing.transactions.newest_records import KeyRecord
from kafkalog.escape import escape_bytes
from kafkalog.findings import Finding
from kafkalog.folds import fold
from kafkalog.quantities import iso, many

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import NDArray

    from kafkalog.columns.sorted_rows import Spans
    from kafkalog.log_dirs.log_directory import LogDirectory

__all__ = ["NAMED", "ComparedReplica", "OutcomeSentences"]

NAMED: Final = 3  # keys that a sentence names
_KEY: Final = 40  # bytes of a key that are shown


@dataclass(frozen=True)
class ComparedReplica:
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


class OutcomeSentences:
    """Makes the findings about replicas of one partition."""

    def __init__(self, metadata: Metadata | None) -> None:
        self._metadata = metadata

    def open_on_one(
        self, one: ComparedReplica, ended: Sequence[ComparedReplica], row: Mapping[str, int], marker: int | None
    ) -> Finding:
        """Say that a transaction is open on `one` and has ended on others; its `marker` there is None where it went."""
        first, producer, right = row["first_offset"], row["producer_id"], _names(ended)
        gone = "the cleaner removed the records and the marker" if marker is None else f"its marker is at {marker}"
        message = (
            f"A transaction of producer {producer} is open on {one.name} since offset {first} and has ended on"
            f" {right}, where {gone}: {one.name} never got the marker. With {one.name} as leader read_committed"
            f" consumers stop at offset {first} for ever, and its cleaner, too.{self._when(one, row['max_timestamp'])}"
        )
        return self._finding("transaction-open-on-one", one, message, right, row["records"], first, producer)

    def ended_otherwise(
        self, one: ComparedReplica, other: ComparedReplica, row: Mapping[str, int], its: Mapping[str, int]
    ) -> Finding:
        """Say that a transaction ended in one way here, and earlier, in the other one, on another replica."""
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

    def begins_earlier(
        self, one: ComparedReplica, other: ComparedReplica, row: Mapping[str, int], first: int
    ) -> Finding:
        """Say that an aborted transaction begins earlier here than at `first`, as another replica's index has it."""
        begin, marker = row["first_offset"], row["marker_offset"]
        age = (row["marker_timestamp"] - row["min_timestamp"]) // 1000
        message = (
            f"The record of producer {row['producer_id']} at offset {begin} counts as aborted on {one.name}, by the"
            f" marker at {marker}: there the transaction begins at {begin}, on {other.name} at {first} by its"
            f" transaction index. The record is {age} s older"
            f" than the marker, so it was of an earlier transaction, whose COMMIT marker {one.name} never got:"
            f" {other.name} has neither of both any more. With {one.name} as leader read_committed consumers skip"
            f" what was committed; read_uncommitted ones get it.{self._when(one, row['min_timestamp'])}"
        )
        code = "record-committed-on-one-aborted-on-another"
        return self._finding(code, one, message, other.name, 1, begin, row["producer_id"])

    def not_compared(self, one: ComparedReplica) -> Finding:
        """Say that a log has more keys than are compared."""
        message = "This log has too many keys: the newest records of its replicas were not compared."
        return self._finding("keys-not-compared", one, message, "", None, None, None)

    def absent(
        self, holder: ComparedReplica, one: ComparedReplica, records: Sequence[KeyRecord], offsets: NDArray[np.int64]
    ) -> Finding:
        """Say that a replica has nothing of whole segments; `records` are the first ones at `offsets`."""
        first, last = int(offsets[0]), int(offsets[-1])
        message = (
            f"{_keys(records, len(offsets))} have their newest records at offsets {first}-{last} on {holder.name}, and"
            f" {one.name} has no record in all of these segments: they were lost there, or every key was deleted and"
            f" its cleaner removed the tombstones, too. Which of them is right is undecided. With {one.name} as leader"
            f" consumers are given none of them, with {holder.name} all.{self._when(one, records[0].timestamp)}"
        )
        return self._finding("records-absent", one, message, holder.name, len(offsets), first, None)

    def deleted(
        self, one: ComparedReplica, deleted: Sequence[ComparedReplica], records: Sequence[KeyRecord], count: int,
        deleted_at: int, *, is_older: bool = False,
    ) -> Finding:  # fmt: skip
        """Say that keys are alive on a replica, perhaps by older records than these, and deleted on others."""
        what, verb, lives = _keys(records, count), "is" if count == 1 else "are", "comes" if count == 1 else "come"
        key = "the deleted key" if count == 1 else "the deleted keys"
        right = _names(deleted)
        if deleted_at >= 0:
            why = f"The tombstone is at offset {deleted_at} there, and {one.name} never got it."
        elif any(record.is_transactional for record in records):
            why = (
                f"The cleaner of {right} removed the record after its tombstone, or because its transaction was"
                f" aborted, and then that tombstone or marker, which {one.name} never got."
            )
        else:
            why = f"The cleaner of {right} removed the record and then its tombstone, which {one.name} never got."
        alive = "alive by an older record" if is_older else "alive"
        message = (
            f"{what} {verb} deleted on {right} and {alive} on {one.name}. With {one.name} as leader"
            f" {key} {lives} back. {why}{self._when(one, records[0].timestamp)}"
        )
        return self._finding("key-deleted-on-one", one, message, right, count, records[0].offset, None)

    def older(
        self, alive: Sequence[ComparedReplica], older: Sequence[ComparedReplica], records: Sequence[KeyRecord],
        count: int,
    ) -> Finding:  # fmt: skip
        """Say that keys have a newer record on some replicas than on others."""
        message = (
            f"{_keys(records, count)} {'is' if count == 1 else 'are'} newer on {_names(alive)} than on"
            f" {_names(older)}, whose cleaner went past the"
            f" offset. Which of them is right is undecided. With {_names(older)} as leader consumers get the older"
            f" value.{self._when(older[0], records[0].timestamp)}"
        )
        return self._finding("key-older-on-one", older[0], message, _names(alive), count, records[0].offset, None)

    def aborted(
        self, holder: ComparedReplica, lacking: Sequence[ComparedReplica], records: Sequence[KeyRecord]
    ) -> Finding:
        """Say that aborted records are part of one committed transaction on a replica, by the coordinator's records."""
        right, first = _names(lacking), records[0]
        is_one = len(records) == 1
        them = "it" if is_one else "them"
        what = "The aborted record of key" if is_one else f"{len(records)} aborted records, of keys"
        no_more = "does not" if len(lacking) == 1 else "do not"
        message = (
            f"{what} {_listed(records)} of producer {first.producer_id} {'is' if is_one else 'are'} part of the"
            f" committed transaction on {holder.name} that ends at offset {first.marker_offset}: the coordinator's"
            f" records have the abort, and {holder.name} never got the ABORT marker. {capital_of(right)} {no_more} have"
            f" {them} any more. With {holder.name} as leader read_committed consumers are given"
            f" {them}.{self._when(holder, first.timestamp)}"
        )
        code = "record-committed-on-one-aborted-on-another"
        return self._finding(code, holder, message, right, len(records), first.offset, first.producer_id)

    def _when(self, wrong: ComparedReplica, time: int) -> str:
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
        self, code: str, wrong: ComparedReplica, message: str, right: str, count: int | None, offset: int | None,
        producer: int | None,
    ) -> Finding:  # fmt: skip
        directory = wrong.log.directory
        finding = Finding.of(
            code, directory.log, message, offset=offset, needed=right, found=count, producer_id=producer
        )
        return located(finding, directory)


def _names(some: Sequence[ComparedReplica]) -> str:
    *names, last = (one.name for one in some)
    return f"{', '.join(names)} and {last}" if names else last


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
    return f"{many(count, 'key')}, {_listed(records)}{' and more' * (count > NAMED)},"


def _listed(records: Sequence[KeyRecord]) -> str:
    return ", ".join(f"'{escape_bytes(one.key[:_KEY])}' (offset {one.offset})" for one in records[:NAMED])


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

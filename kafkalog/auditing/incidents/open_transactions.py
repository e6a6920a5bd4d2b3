"""Transactions that are open: each with its row and the coordinator's records, and since when it is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from kafkalog.auditing.incidents.cluster_tables import ClusterTables
from kafkalog.auditing.incidents.incident import Event, Row, Since, Step, TransactionPart
from kafkalog.auditing.incidents.leadership import leader_at
from kafkalog.certainty import is_proved
from kafkalog.kafka.topic_partition import TopicPartition
from kafkalog.quantities import iso, producer_name

__all__ = [
    "AUDIT",
    "COLLECT_AGAIN",
    "COPY_AGAIN",
    "OTHER_BROKERS",
    "PREPARED",
    "Decided",
    "Open",
    "decided",
    "is_alone",
    "lists",
    "open_transaction",
    "other_replicas",
    "row_of",
    "since",
]


# What the coordinator's records say of one open or lost transaction: when it began, what was decided, when.


PREPARED: Final = ("prepare_commit", "prepare_abort")

_REGISTERED: Final = (None, "marker-missing", "begins-before-log")  # causes of transactions that list their partition


class Decided(NamedTuple):
    """The newest transaction of an id that listed a partition: its records; one that is gone is None.

    `begun` is the first that listed the partition. Where the cleaner took all that did, it is the newest commit of the
    producer, which is only `completed`: it may have had the partition.
    """

    begun: Row | None = None
    prepared: Row | None = None
    completed: Row | None = None

    @property
    def committed(self) -> bool:
        """Say whether the coordinator decided to commit it."""
        said = self.prepared or self.completed
        return said is not None and said["state"] in ("prepare_commit", "complete_commit")

    def events(self, tables: ClusterTables, place: TopicPartition) -> Iterator[Event]:
        """Say what the coordinator wrote, and once which one: its epoch is the leader epoch of its partition."""
        named: tuple[int, int] | None = None
        for row, what in (
            (self.begun, f"added {place} to the transaction"),
            (self.prepared, f"decided to {'commit' if self.committed else 'abort'} the transaction"),
            (self.completed, "completed the transaction"),
        ):
            if row is not None:
                whose = f"{row['transactional_id']} (producer {row['producer_id']}, epoch {row['producer_epoch']})"
                time = row["last_update_timestamp_ms"]
                led = leader_at(tables.leadership.get(TopicPartition.of_log(row["log"]), ()), time)
                which = ""
                if led is not None and led["leader"] is not None and named != (led["leader"], led["leader_epoch"]):
                    named = led["leader"], led["leader_epoch"]
                    which = f" (broker {led['leader']}, coordinator epoch {led['leader_epoch']})"
                yield Event(time, "broker", row["log"], row["offset"], f"The coordinator{which} {what} of {whose}.")

    @property
    def may(self) -> str:
        """Say of a commit that may have been another transaction's that it may."""
        is_alone = self.prepared is None and self.completed is not None
        return " by all that is left of the coordinator's records" if is_alone else ""

    def at(self) -> str:
        """Say when it was decided, as far as records are left."""
        said = self.prepared or self.completed
        return "" if said is None else f" at {iso(said['last_update_timestamp_ms'])}{self.may}"


def decided(tables: ClusterTables, row: Row, record: int | None = None) -> Decided:
    """Return the coordinator's records of a transaction, a row of ``notable``; of its producer's newest one there.

    Where the offset of its `record` is known, it is that one's.
    """
    steps = tables.steps.get(row["transactional_id"] or "", [])
    place = str(TopicPartition.of(row))
    newest = (at for at in range(len(steps) - 1, -1, -1) if record in (None, steps[at]["offset"]))
    last = next((at for at in newest if lists(steps[at], place) and _of(steps[at], row)), None)
    if last is None:
        return Decided(completed=_commit_alone(steps, row))
    begun = _begun(steps, last, place)
    prepared = steps[last] if steps[last]["state"] in PREPARED else None
    after = steps[last + 1] if prepared is not None and last + 1 < len(steps) else None
    completed = after if after is not None and after["state"].startswith("complete") else None
    return Decided(begun, prepared, completed)


def _commit_alone(steps: Sequence[Row], row: Row) -> Row | None:
    """Return the newest commit of a transaction's producer whose other records, with its partitions, are gone."""
    for at in range(len(steps) - 1, -1, -1):
        if steps[at]["state"] == "complete_commit" and _of(steps[at], row):
            return None if at and steps[at - 1]["state"] in PREPARED else steps[at]
    return None


def _of(step: Row, row: Row) -> bool:
    return bool(step["producer_id"] == row["producer_id"])


def lists(step: Row, place: str) -> bool:
    """Say whether a record of the coordinator lists a partition."""
    return place in (step["partitions"] or ())


def _begun(steps: Sequence[Row], last: int, place: str) -> Row | None:
    """Return the first record of the transaction of a record that listed the partition."""
    begun = None
    for at in range(last, -1, -1):
        if steps[at]["state"] == "ongoing" and lists(steps[at], place):
            begun = steps[at]
        elif at != last:
            break
    return begun


def since(tables: ClusterTables, row: Row) -> Since | None:
    """Return since when a transaction has been open in its partition: by a broker's clock, where one shows it."""
    begun = None
    if row["cause"] in _REGISTERED and row["state"] != "undecided":
        begun = decided(tables, row).begun
    if begun is not None:
        return Since(begun["last_update_timestamp_ms"], "broker")
    low, high = row["not_before_ms"], row["not_after_ms"]
    created = _created(tables, row)
    low = created if low is None and created >= 0 else low
    assigned = _assigned(tables, row)
    low = assigned if low is None else max(low, assigned or low)
    high = tables.now if high is None and tables.now >= 0 else high
    return Since.bounded(row["first_timestamp_ms"], low, high)


def _assigned(tables: ClusterTables, row: Row) -> int | None:
    """Return when the coordinator gave a producer its id, None where its records do not show it.

    The first record of the id in epoch 0 and without a transaction is that of InitProducerId: no data is older.
    """
    steps = tables.steps.get(row["transactional_id"], ())
    first = next((one for one in steps if one["producer_id"] == row["producer_id"]), None)
    if first is None or first["state"] != "empty" or first["producer_epoch"] != 0:
        return None
    given: int = first["last_update_timestamp_ms"]
    return given


def _created(tables: ClusterTables, row: Row) -> int:
    """Return when a partition was created, -1 where no metadata shows it."""
    rows = tables.leadership.get(TopicPartition.of(row), ())
    return rows[0]["since_ms"] if rows and rows[0]["change"] == "created" else -1


AUDIT: Final = "kafkalog txn-audit"

OTHER_BROKERS: Final = (AUDIT, "DIR", "OTHER_BROKERS_DIR")


def is_alone(tables: ClusterTables, place: TopicPartition) -> bool:
    """Say whether a partition has one replica, by its newest state in the metadata."""
    rows = tables.leadership.get(place) or []
    return bool(rows) and len(rows[-1]["replicas"] or ()) == 1


def other_replicas(tables: ClusterTables, places: Iterable[TopicPartition], where: str) -> Step:
    """Return how to look for what a replica lacks: in the others, or where the topics have one each in a backup."""
    every = list(places)
    if all(is_alone(tables, place) for place in every):
        has = "it has" if len(every) == 1 else "they have"
        return Step(f"Look in a backup for the files of {where}: {has} no other replica.")
    return Step.running(
        f"Read the other replicas of {where} together with this one: they may be whole.", *OTHER_BROKERS
    )


COPY_AGAIN: Final = Step.running(
    "Copy again, from a volume snapshot or a broker that can be stopped: this copy cannot prove it.",
    AUDIT,
    "NEW_COPY",
)

COLLECT_AGAIN: Final = Step("Collect again with a later --offset or --until, or without: the bundle was cut there.")


class Open(NamedTuple):
    """An open transaction that a finding reports, with its row of ``notable`` and the coordinator's records."""

    place: TopicPartition
    finding: Row
    row: Row
    decided: Decided
    since: Since | None

    @property
    def is_committed(self) -> bool:
        """Say whether the coordinator decided to commit its records: an abort discards them."""
        is_later = self.row["after_commit"] or self.row["cause"] == "data-after-marker"
        return self.decided.committed and not is_later

    @property
    def is_aborted(self) -> bool:
        """Say whether the coordinator decided to abort its records: nobody misses them."""
        said = self.decided.prepared
        is_later = self.row["after_commit"] or self.row["cause"] == "data-after-marker"
        return said is not None and not self.decided.committed and not is_later

    @property
    def is_early(self) -> bool:
        """Say whether the coordinator decided it, and the log may have been copied before the marker came."""
        return self.finding["code"] == "transaction-undecided" and self.decided.prepared is not None

    @property
    def is_proved(self) -> bool:
        """Say whether it hangs for certain, in a replica that consumers read: its remedy may not print all the same."""
        return self.finding["severity"] != "note" and is_proved(self.finding["certainty"])

    @property
    def part(self) -> TransactionPart:
        """Return it as a part of an incident, with what the coordinator decided."""
        row, decided_so = self.row, "committed" if self.is_committed else "aborted" if self.is_aborted else "none"
        fate = "open" if row["state"] == "ongoing" else decided_so
        whose = row["transactional_id"], row["producer_id"], row["records"]
        known = self.finding["code"] == "transaction-pending" or is_proved(self.finding["certainty"])
        fate = fate if known or self.is_early else "unknown"
        return TransactionPart(self.place, row["first_offset"], row["last_offset"], *whose, fate)

    @property
    def who(self) -> str:
        """Name whose transaction it is."""
        return producer_name(self.row["transactional_id"], self.row["producer_id"])


def open_transaction(tables: ClusterTables, finding: Row) -> Open:
    """Return the open transaction that a finding reports."""
    row, known = row_of(tables, finding), Decided()
    if finding["code"] != "transaction-undecided":
        known = decided(tables, row)
    elif (finding["found"] or "").isdecimal():  # the coordinator's record of which the marker may not have been copied
        known = decided(tables, row, int(finding["found"]))
    return Open(TopicPartition.of(row), finding, row, known, since(tables, row))


def row_of(tables: ClusterTables, finding: Row) -> Row:
    """Return the row of a finding's transaction; what the finding alone says where another reading has none."""
    return tables.transaction_of(finding) or {**_NOT_KNOWN, "first_offset": finding["offset"], **finding}


_NOT_KNOWN: Final = {
    **dict.fromkeys(
        ("transactional_id", "cause", "records", "first_timestamp_ms", "not_before_ms", "not_after_ms", "after_commit")
    ),
    "state": "undecided",
}

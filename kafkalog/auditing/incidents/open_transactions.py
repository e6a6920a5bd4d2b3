"""Transactions that are open: each with its row and the coordinator's records, and the steps that end hanging ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from kafkalog.auditing.incidents.cluster_tables import ClusterTables
from kafkalog.auditing.incidents.incident import EVENTS, Event, Row, Since, Step
from kafkalog.auditing.incidents.leadership import leader_at
from kafkalog.auditing.transactions import ABORT
from kafkalog.certainty import is_proved
from kafkalog.files.names import STATE_TOPIC
from kafkalog.kafka.topic_partition import TopicPartition
from kafkalog.quantities import iso, many, offset_range, producer_name

__all__ = [
    "AUDIT",
    "COPY_AGAIN",
    "DESCRIBE",
    "OTHER_BROKERS",
    "Decided",
    "Open",
    "abort_steps",
    "decided",
    "open_transaction",
    "row_of",
    "since",
]


# What the coordinator's records say of one open or lost transaction: when it began, what was decided, when.


_PREPARED: Final = ("prepare_commit", "prepare_abort")

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

    def said(self) -> str:
        """Say in a few words what was decided and when."""
        said = self.prepared or self.completed
        if said is None:
            return "which the coordinator has not decided"
        how = "committed" if self.committed else "aborted"
        if self.prepared is None:
            how = f"may have {how}"
        at = iso(said["last_update_timestamp_ms"])
        return f"which the coordinator {how} at {at} (offset {said['offset']} of {STATE_TOPIC})"


def decided(tables: ClusterTables, row: Row) -> Decided:
    """Return the coordinator's records of a transaction, a row of ``notable``; of its producer's newest one there."""
    steps = tables.steps.get(row["transactional_id"] or "", [])
    place = str(TopicPartition.of(row))
    newest = range(len(steps) - 1, -1, -1)
    last = next((at for at in newest if _lists(steps[at], place) and _of(steps[at], row)), None)
    if last is None:
        return Decided(completed=_commit_alone(steps, row))
    begun = _begun(steps, last, place)
    prepared = steps[last] if steps[last]["state"] in _PREPARED else None
    after = steps[last + 1] if prepared is not None and last + 1 < len(steps) else None
    completed = after if after is not None and after["state"].startswith("complete") else None
    return Decided(begun, prepared, completed)


def _commit_alone(steps: Sequence[Row], row: Row) -> Row | None:
    """Return the newest commit of a transaction's producer whose other records, with its partitions, are gone."""
    for at in range(len(steps) - 1, -1, -1):
        if steps[at]["state"] == "complete_commit" and _of(steps[at], row):
            return None if at and steps[at - 1]["state"] in _PREPARED else steps[at]
    return None


def _of(step: Row, row: Row) -> bool:
    return bool(step["producer_id"] == row["producer_id"])


def _lists(step: Row, place: str) -> bool:
    return place in (step["partitions"] or ())


def _begun(steps: Sequence[Row], last: int, place: str) -> Row | None:
    """Return the first record of the transaction of a record that listed the partition."""
    begun = None
    for at in range(last, -1, -1):
        if steps[at]["state"] == "ongoing" and _lists(steps[at], place):
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
    high = tables.now if high is None and tables.now >= 0 else high
    return Since.bounded(row["first_timestamp_ms"], low, high)


def _created(tables: ClusterTables, row: Row) -> int:
    """Return when a partition was created, -1 where no metadata shows it."""
    rows = tables.leadership.get(TopicPartition.of(row), ())
    return rows[0]["since_ms"] if rows and rows[0]["change"] == "created" else -1


AUDIT: Final = "kafkalog txn-audit"

DESCRIBE: Final = "kafka-transactions.sh --bootstrap-server HOST:PORT describe"

OTHER_BROKERS: Final = (AUDIT, "DIR", "OTHER_BROKERS_DIR")

COPY_AGAIN: Final = Step.running(
    "This copy cannot prove it. Copy again, from a stopped broker or from a snapshot of the file system, and audit the"
    " new copy.",
    AUDIT,
    "NEW_COPY",
)


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
    def is_proved(self) -> bool:
        """Say whether it hangs for certain, in a replica that consumers read: its remedy may not print all the same."""
        return self.finding["severity"] != "note" and is_proved(self.finding["certainty"])

    @property
    def who(self) -> str:
        """Name whose transaction it is."""
        return producer_name(self.row["transactional_id"], self.row["producer_id"])


def open_transaction(tables: ClusterTables, finding: Row) -> Open:
    """Return the open transaction that a finding reports."""
    row = row_of(tables, finding)
    return Open(TopicPartition.of(row), finding, row, decided(tables, row), since(tables, row))


def row_of(tables: ClusterTables, finding: Row) -> Row:
    """Return the row of a finding's transaction; what the finding alone says where another reading has none."""
    return tables.transaction_of(finding) or {**_NOT_KNOWN, "first_offset": finding["offset"], **finding}


_NOT_KNOWN: Final = {
    **dict.fromkeys(
        ("transactional_id", "cause", "records", "first_timestamp_ms", "not_before_ms", "not_after_ms", "after_commit")
    ),
    "state": "undecided",
}


def abort_steps(every: list[Open]) -> list[Step]:
    """Return the steps that end hanging transactions: what each abort discards comes before its command."""
    steps = []
    for one in every[:EVENTS]:
        place = offset_range(one.row["first_offset"], one.row["last_offset"])
        records = many(one.row["records"] or 0, "record")
        if one.is_committed:
            text = (f"Save {records} of {one.who} at {place} of {one.place}, {one.decided.said()}: the abort discards"
                    " what was committed, and no other command ends the transaction.")  # fmt: skip
            row = one.row
            which = (
                ("--topic", row["topic"]), ("--partition", row["partition"]), ("--producer-id", row["producer_id"]),
                ("--offset", f"{row['first_offset']}..{row['last_offset']}"),
            )  # fmt: skip
            saved = (row["topic"], row["partition"], row["first_offset"])
            steps.append(Step.saving(text, *which, place=saved))
        text = f"End the transaction of {one.who} in {one.place}: read_committed consumers then skip {records}"
        text = f"{text} at {place}."
        end = Step.running(
            text, ABORT, ("--topic", one.row["topic"]), ("--partition", one.row["partition"]),
            ("--start-offset", one.row["first_offset"]),
        )  # fmt: skip
        steps.append(end if one.is_proved else Step(text))
    if len(every) > EVENTS:
        steps.append(Step(f"{len(every) - EVENTS} more: each finding has its command in the column remedy.", None))
    return steps

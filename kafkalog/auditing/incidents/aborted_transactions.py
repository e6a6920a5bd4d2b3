"""Aborted transactions by transactional id and reason: fenced writers, timeouts, clients, administrators. Notes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Final, NamedTuple

from kafkalog.auditing.incidents.abort_decisions import OfCause
from kafkalog.auditing.incidents.cluster_tables import ClusterTables
from kafkalog.auditing.incidents.incident import (
    EVENTS,
    Event,
    Incident,
    More,
    Row,
    Since,
    Step,
    Subject,
    TransactionPart,
    Words,
)
from kafkalog.certainty import POSSIBLE, first_doubt
from kafkalog.few_of_many import few_groups, grouped
from kafkalog.kafka.topic_partition import TopicPartition
from kafkalog.quantities import iso, listed, many, offset_range, producer_name

__all__ = ["AT_LEAST", "MOST_IDS", "aborted"]

MOST_IDS: Final = 100  # of one reason; more become one incident
AT_LEAST: Final = "at least "  # a number that a limit cut
_SKIP: Final = ("They skip {skipped} of aborted transactions.", "They get all records.")
_WORDS: Final = {
    "takeover": Words(
        "The writer of {whose} was {probably}fenced {when}: another producer took over, and {open_transactions} {were}"
        " aborted.",
        *_SKIP,
        (Step("Find out whether two instances of the application run with the same transactional.id, or whether it was"
              " restarted: the older one fails with ProducerFencedException and must stop."),),
    ),
    "timeout": Words(
        "{transactions} of {whose} {were} aborted {when} by the coordinator: {they_were} open longer than {their}"
        " timeout.",
        *_SKIP,
        (Step("Find out why the producer was silent for longer than its transaction.timeout.ms: it stopped, or its work"
              " takes longer."),),
    ),
    "administrator": Words(
        "{transactions} of {whose} {were} aborted {when} by an administrator: the coordinator did not decide it.",
        *_SKIP,
        (Step("Nothing to do if an administrator ran kafka-transactions.sh abort; else find out who did."),),
    ),
    "client": Words(
        "{transactions} of {whose} {were} aborted {when} {probably}by the producer itself.",
        *_SKIP,
        (Step("Nothing to do: the application aborted its own work."),),
    ),
}  # fmt: skip


class _Abort(NamedTuple):
    """An aborted transaction: why, how certain that is, the coordinator's records, and the rows of its data."""

    name: str | None
    producer_id: int
    cause: str
    certainty: str
    prepared: Row | None
    successor: Row | None
    rows: Sequence[Row]

    @property
    def time(self) -> int:
        """Return when it was aborted (ms)."""
        if self.prepared is not None:
            return int(self.prepared["last_update_timestamp_ms"])
        return int(self.rows[0]["marker_timestamp_ms"])

    @property
    def who(self) -> str:
        """Name whose transaction it was."""
        return producer_name(self.name, self.producer_id)


def aborted(tables: ClusterTables) -> Iterator[Incident]:
    """Yield notes of fenced writers and aborted transactions, one for each transactional id and reason."""

    def key(one: _Abort) -> tuple[object, ...]:
        return (one.cause,) if one.cause in tables.aborted else (one.cause, one.name)

    for _, some in few_groups((*_by_coordinator(tables), *_by_administrator(tables)), key, 1, MOST_IDS):
        yield _incident(tables, some, tables.aborted.get(some[0].cause))


def _by_coordinator(tables: ClusterTables) -> Iterator[_Abort]:
    rows = (row for of_log in tables.transactions.values() for row in of_log if row["marker_epoch"] is not None)
    aborted_rows = (row for row in rows if row["state"] == "aborted")
    data = grouped(aborted_rows, lambda row: (row["producer_id"], row["marker_epoch"]))
    for reason, prepared, successor in tables.aborts:
        its = data.get((prepared["producer_id"], prepared["producer_epoch"]), ())
        who = prepared["transactional_id"], prepared["producer_id"]
        near = [row for row in its if _is_its(row, prepared)]
        yield _Abort(*who, reason.cause, reason.certainty, prepared, successor, near)


def _is_its(row: Row, prepared: Row) -> bool:
    """Say whether an ABORT marker may be that of a decision: brokers' clocks are never a minute apart."""
    near = abs(row["marker_timestamp_ms"] - prepared["last_update_timestamp_ms"]) <= 60_000
    return near and str(TopicPartition.of(row)) in (prepared["partitions"] or ())


def _by_administrator(tables: ClusterTables) -> Iterator[_Abort]:
    torn = {
        (row["log"], row["producer_id"], row["offset"]) for row in tables.findings if row["code"] == "atomicity-broken"
    }
    for rows in tables.transactions.values():
        for row in rows:
            is_torn = (row["log"], row["producer_id"], row["first_offset"]) in torn
            if row["cause"] == "administrator-abort" and not is_torn:
                yield _Abort(
                    row["transactional_id"], row["producer_id"], "administrator", row["certainty"], None, None, [row]
                )


def _incident(tables: ClusterTables, some: list[_Abort], counted: OfCause | None) -> Incident:
    some = sorted(some, key=lambda abort: abort.time)
    first, cause = some[0], some[0].cause
    kind = "writer-fenced" if cause == "takeover" else "transactions-aborted"
    names = {abort.name for abort in some}
    number_of_ids = len(names) if counted is None else counted.transactional_ids
    subject = Subject(
        producer_id=first.producer_id if first.name is None else None, name=first.name if number_of_ids == 1 else None
    )
    uncounted = POSSIBLE if counted is not None and counted.is_possible else None
    certainty = first_doubt([uncounted, *(abort.certainty for abort in some)])
    incident = tables.incident(kind, cause, subject, (), certainty)
    incident.transactional_ids = {name for name in names if name is not None}
    incident.producer_ids = {abort.producer_id for abort in some}
    incident.transactions = number = len(some) if counted is None else counted.number
    incident.since = Since(first.time, "broker")
    incident.until = Since(some[-1].time if counted is None else counted.until, "broker")
    rows = [row for abort in some for row in abort.rows]
    decided = (abort.prepared["partitions"] or () for abort in some if abort.prepared is not None)
    places = set(map(TopicPartition.named, chain.from_iterable(decided)))
    meant = {place for place in places if tables.narrowing.log(*place)}  # records of no other are counted
    incident.partitions = set(map(TopicPartition.of, rows)) | (meant or places)
    if counted is not None:
        incident.more = More(
            counted.transactional_ids - len(incident.transactional_ids), counted.producers - len(incident.producer_ids)
        )
    incident.reach((row["first_offset"] for row in rows), (row["last_offset"] for row in rows))
    if rows:
        incident.parts = [_part(row) for row in rows]
        incident.records = sum(row["records"] for row in {_row_key(row): row for row in rows}.values())
    for abort in some[:EVENTS]:
        incident.events += _events(abort)
    began, is_one = iso(first.time), number == 1
    at_least = AT_LEAST if counted is not None or any(_may_lack_rows(tables, abort) for abort in some) else ""
    incident.say(
        _WORDS[cause],
        whose=first.who if number_of_ids <= 1 else f"{number_of_ids} transactional ids",
        when=f"at {began}" if is_one else f"from {began} to {iso(incident.until.time)}",
        probably="probably " if certainty == POSSIBLE else "",
        transactions=many(number, "transaction"),
        open_transactions=many(number, "open transaction"),
        were="was" if is_one else "were",
        they_were="it was" if is_one else "they were",
        their="its" if is_one else "their",
        skipped="the records" if incident.records is None else f"{at_least}{many(incident.records, 'record')}",
    )
    return incident


def _part(row: Row) -> TransactionPart:
    whose = row["transactional_id"], row["producer_id"], row["records"]
    return TransactionPart(TopicPartition.of(row), row["first_offset"], row["last_offset"], *whose, "aborted")


def _may_lack_rows(tables: ClusterTables, abort: _Abort) -> bool:
    """Say whether only the newest transactions of a log are here, and not this one's."""
    if abort.prepared is None or not tables.cut or (tables.is_whole and abort.cause != "client"):
        return False
    its = {TopicPartition.of(row) for row in abort.rows}
    return any(place in tables.cut - its for place in map(TopicPartition.named, abort.prepared["partitions"] or ()))


def _row_key(row: Row) -> tuple[str, int, int, int]:
    """Name a transaction in a partition: replicas have the same rows."""
    return row["topic"], row["partition"], row["producer_id"], row["first_offset"]


def _events(abort: _Abort) -> Iterator[Event]:
    if abort.prepared is not None:
        places = listed(abort.prepared["partitions"] or ())
        what = f"The coordinator decided to abort the transaction of {abort.who} in {places}."
        yield Event(abort.time, "broker", abort.prepared["log"], abort.prepared["offset"], what)
    for row in {_row_key(row): row for row in abort.rows}.values():
        what = (
            f"{many(row['records'], 'record')} at {offset_range(row['first_offset'], row['last_offset'])}"
            f" of {TopicPartition.of(row)}"
            f" {'was' if row['records'] == 1 else 'were'} aborted by the marker at offset {row['marker_offset']}."
        )
        yield Event(row["marker_timestamp_ms"], "broker", row["log"], row["marker_offset"], what)
    if abort.successor is not None:
        new = abort.successor
        what = f"A new producer took over {abort.name}: producer {new['producer_id']}, epoch {new['producer_epoch']}."
        yield Event(new["last_update_timestamp_ms"], "broker", new["log"], new["offset"], what)

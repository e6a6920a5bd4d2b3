"""Records that ended otherwise than their transaction: torn transactions, and data that another marker ended."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from itertools import chain

from kafkalog.auditing.incidents.cluster_tables import ClusterTables
from kafkalog.auditing.incidents.incident import (
    EVENTS,
    Consumers,
    Event,
    Incident,
    Row,
    Since,
    Step,
    Subject,
    TopicPartition,
)
from kafkalog.auditing.incidents.leadership import leaderless_at
from kafkalog.auditing.incidents.open_transactions import OTHER_BROKERS
from kafkalog.certainty import is_proved
from kafkalog.files.names import STATE_TOPIC
from kafkalog.limit import OF_A_CAUSE, grouped
from kafkalog.quantities import by_number, iso, listed, many, offset_range, producer_name

__all__ = ["torn"]

_Ended = tuple[Row, Row | None]  # a finding about a transaction, and the transaction's row where there is one


def torn(tables: ClusterTables, findings: list[Row], _following: list[Row]) -> Iterator[Incident]:
    """Yield the incidents of transactions that ended differently in their partitions, and of data that was adopted.

    Each decision is one; where they are many, each partition is one: they may have nothing else in common.
    """

    def whose(one: _Ended) -> tuple[object, ...]:
        finding, row = one
        return finding["producer_id"], finding["found"], finding["certainty"], _decision_offset(tables, finding, row)

    def where(one: _Ended) -> tuple[object, ...]:
        return TopicPartition.of(one[0]), one[0]["found"], one[0]["certainty"]

    for code, of_code in grouped(findings, lambda row: row["code"]).items():
        groups = grouped(((row, tables.transaction_of(row)) for row in of_code), whose)
        if len(groups) > OF_A_CAUSE:
            groups = grouped(chain.from_iterable(groups.values()), where)
        make = _torn if code == "atomicity-broken" else _adopted
        yield from (make(tables, some) for some in groups.values())


def _decision(tables: ClusterTables, finding: Row, row: Row | None) -> Row | None:
    """Return the coordinator's decision on the transaction of a finding, None where no record shows it.

    Of several by the producer that list the partition, it is the one whose time is nearest to the wrong marker.
    """
    steps = tables.decisions(finding, "prepare_commit" if finding["needed"] == "committed" else "prepare_abort")
    if row is None or row["marker_timestamp_ms"] is None:
        return steps[-1] if steps else None
    time = row["marker_timestamp_ms"]
    at = bisect_left(steps, time, key=lambda step: step["last_update_timestamp_ms"])
    near = steps[max(0, at - 1) : at + 1]
    return min(near, key=lambda step: abs(step["last_update_timestamp_ms"] - time), default=None)


def _decision_offset(tables: ClusterTables, finding: Row, row: Row | None) -> int | None:
    decision = _decision(tables, finding, row)
    return None if decision is None else decision["offset"]


def _begin(
    tables: ClusterTables, kind: str, cause: str, some: list[_Ended], counted: str = "records"
) -> Incident:  # fmt: skip
    """Make an incident with what is the same in both kinds; its records are a column of the transactions."""
    findings = [finding for finding, _ in some]
    first = min(findings, key=lambda row: (*TopicPartition.of(row), row["offset"] or 0))
    subject = Subject(*TopicPartition.of(first), first["offset"], first["producer_id"])
    incident = Incident.of(kind, cause, subject, findings, tables.cluster_id)
    incident.transactional_ids = {row["transactional_id"] for _, row in some if row is not None} - {None}
    incident.transactions = len(some)
    rows = [row for _, row in some if row is not None]
    if len(rows) == len(some):
        incident.records = sum(row[counted] for row in rows)
        incident.since = Since.of_brokers(row["marker_timestamp_ms"] for row in rows)
    incident.reach((row["offset"] for row in findings), (_last(finding, row) for finding, row in some))
    return incident


def _last(finding: Row, row: Row | None) -> int:
    """Return the last offset of the data: a finding's is that of the marker."""
    last = finding["last_offset"] if row is None else row["last_offset"]
    return int(finding["offset"] if last is None else last)


def _torn(tables: ClusterTables, some: list[_Ended]) -> Incident:
    finding, row = some[0]
    lost = finding["found"] == "no marker"
    aborted = finding["found"] == "aborted"
    kind = "records-lost" if lost else "transaction-torn"
    cause = "marker-lost" if lost else "administrator" if aborted else "foreign-marker"
    incident = _begin(tables, kind, cause, some)
    incident.transactions = len({(one["producer_id"], _decision_offset(tables, one, its)) for one, its in some})
    decision = _decision(tables, finding, row)
    whose = producer_name(None if decision is None else decision["transactional_id"], finding["producer_id"])
    if decision is not None:
        incident.transactional_ids.add(decision["transactional_id"])
        incident.events.append(_decided(incident, finding, decision, whose))
        incident.events += _without_leader(tables, finding, decision)
    for one, its in some[:EVENTS]:
        incident.events.append(Event.of(one)._replace(time=None if its is None else its["marker_timestamp_ms"]))
    where, when = incident.where(), "" if incident.since is None else f" at {iso(incident.since.time)}"
    if lost:
        incident.first_offset = incident.last_offset = None
        gone = "is missing" if is_proved(incident.certainty) else "may be missing"
        incident.title = f"A committed transaction of {whose} {gone} in {where}: the log has no marker of it."
        incident.consumers = Consumers.alike(
            "They get the transaction's records in its other partitions, but none here."
        )
        incident.steps = [
            Step.running(
                "Look for the records in the partition's other replicas, and save what still has them.",
                *OTHER_BROKERS,
            ),
            Step("Produce again what is lost: no Kafka command restores it."),
        ]  # fmt: skip
        return incident
    place = (
        f" at {offset_range(incident.first_offset, incident.last_offset)}" if incident.first_offset is not None else ""
    )
    records = "Records" if incident.records is None else many(incident.records, "record")
    how = "committed" if finding["needed"] == "committed" else "aborted"
    but = f"it was {how} in another partition" if decision is None else f"the coordinator {how} their transaction"
    verb = "was" if incident.records == 1 else "were"
    if not is_proved(incident.certainty):
        verb = "may have been"
    incident.title = f"{records} of {whose} in {where}{place} {verb} {finding['found']}{when}, although {but}."
    if aborted:
        incident.consumers = Consumers(
            f"They skip the records{place}, which belong to a committed transaction.", "They get all records."
        )
        incident.steps = [tables.save("Save the records that read_committed consumers skip."),
                          Step("Write them again by hand: no command commits what was aborted."),
                          Step("Find out who ran kafka-transactions.sh abort on this partition.")]  # fmt: skip
    else:
        incident.consumers = Consumers(
            f"They get the records{place}, which belong to an aborted transaction.", "They get all records."
        )
        incident.steps = [tables.save("Save the records that consumers got although they were aborted."),
                          Step("Undo by hand what consumers did with them; find out who wrote the marker: no"
                               f" coordinator did, by {STATE_TOPIC}.")]  # fmt: skip
    return incident


def _decided(incident: Incident, finding: Row, decision: Row, whose: str) -> Event:
    others = sorted(set(decision["partitions"] or ()) - set(map(str, incident.partitions)), key=by_number)
    too = f" It has data in {listed(others, 10)}, too." if others else ""
    how = "commit" if finding["needed"] == "committed" else "abort"
    what = f"The coordinator decided to {how} the transaction of {whose}.{too}"
    return Event(decision["last_update_timestamp_ms"], "broker", decision["log"], decision["offset"], what)


def _decisions_before(tables: ClusterTables, finding: Row, time: int) -> Iterator[Row]:
    """Yield a producer's newest decisions on transactions of a partition before a time (ms)."""
    for state in ("prepare_commit", "prepare_abort"):
        steps = tables.decisions(finding, state)
        at = bisect_left(steps, time, key=lambda step: step["last_update_timestamp_ms"])
        yield from steps[max(0, at - 2) : at]


def _without_leader(tables: ClusterTables, finding: Row, *decisions: Row) -> Iterator[Event]:
    """Say which times without a leader kept the markers of decisions away."""
    rows = tables.leadership.get(TopicPartition.of(finding), ())
    for decision in decisions:
        decided = decision["last_update_timestamp_ms"]
        without = leaderless_at(rows, decided)
        if without is not None:
            event, name = without.event(), decision["transactional_id"]
            yield event._replace(what=f"{event.what} A decision for {name} came {decided - without.since} ms later.")


def _adopted(tables: ClusterTables, some: list[_Ended]) -> Incident:
    finding, row = some[0]
    incident = _begin(tables, "wrong-fate", "late-data", some, "older_records")
    fate = "ended" if row is None else row["state"]
    if row is not None:
        time = row["marker_timestamp_ms"]
        older = row["older_records"]
        newer = many(row["records"] - older, "record")
        begin = (
            f"{many(older, 'record')} of an older epoch begin here; {newer} of epoch {row['producer_epoch']} follow."
        )
        incident.events.append(
            Event(row["first_timestamp_ms"], "producer", finding["file"], row["first_offset"], begin)
        )
        incident.events.append(Event(time, "broker", finding["file"], row["marker_offset"], finding["message"]))
        incident.events += _without_leader(tables, finding, *_decisions_before(tables, finding, time))
    else:
        incident.tell([one for one, _ in some])
    whose = producer_name(min(incident.transactional_ids, default=None), finding["producer_id"])
    where = incident.where()
    first, last = incident.first_offset, incident.last_offset
    place = ""
    if first is not None:
        place = f" from offset {first} on" if last is None else f" among {offset_range(first, last)}"
    when = "" if incident.since is None else f" at {iso(incident.since.time)}"
    records = many(incident.records, "record") if incident.records else "Records"  # 0 where they are before the log
    verb = "was" if incident.records == 1 else "were"
    if not is_proved(incident.certainty):
        verb = "may have been"
    incident.title = (
        f"{records} of an older epoch of {whose} in {where}{place} {verb} {fate}{when} by the marker of the producer's"
        " next transaction."
    )
    gets = "They get them" if fate == "committed" else "They skip them"
    incident.consumers = Consumers(f"{gets}: they were {fate} with the next transaction.", "They get all records.")
    text = (
        "Save the transaction's records, of which those of the older epoch come first, and ask the producer's owner"
        " whether those should count."
    )
    incident.steps = [tables.save(text)]
    return incident

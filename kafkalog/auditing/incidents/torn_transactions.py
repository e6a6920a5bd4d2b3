"""Records that ended otherwise than their transaction: torn transactions, and data that another marker ended."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Final, NamedTuple

from kafkalog.auditing.incidents.cluster_tables import ClusterTables
from kafkalog.auditing.incidents.incident import (
    EVENTS,
    Event,
    Incident,
    Row,
    Since,
    Step,
    Subject,
    Words,
)
from kafkalog.auditing.incidents.leadership import leaderless_at
from kafkalog.auditing.incidents.open_transactions import OTHER_BROKERS
from kafkalog.few_of_many import OF_A_CAUSE, grouped
from kafkalog.kafka.topic_partition import TopicPartition
from kafkalog.quantities import by_number, iso, listed, many, offset_range, producer_name

__all__ = ["torn"]

_WORDS: Final = {
    "marker-lost": Words(
        "A committed transaction of {whose} is missing in {where}: the log has no marker of it.",
        "They get the transaction's records in its other partitions, but none here.",
        steps=(
            Step.running(
                "Look for the records in the partition's other replicas, and save what still has them.", *OTHER_BROKERS
            ),
            Step("Produce again what is lost: no Kafka command restores it."),
        ),
        doubtful="A committed transaction of {whose} may be missing in {where}: the log has no marker of it.",
    ),
    "administrator": Words(
        "{records} of {whose} in {where}{place} {were} {found}{when} by a marker that no coordinator sent, although"
        " {but}.{parts}",
        "They miss the records{place}, which belong to a committed transaction.",
        "They get all records.",
        (
            Step.saving("Save {too} of {whose}, which read_committed consumers miss: this loses nothing."),
            Step("Find out who sent the foreign marker.{hand}"),
            Step("Let their owner send them again from that file, unless it has done so: no command commits what was"
                 " aborted.{rest} Who reads"
                 " uncommitted gets them twice.", kind="again"),
        ),
    ),
    "foreign-marker": Words(
        "{records} of {whose} in {where}{place} {were} {found}{when} by a marker that no coordinator sent, although"
        " {but}.{parts}",
        "They get the records{place}, which belong to an aborted transaction: they are too many.",
        "They get all records.",
        (
            Step.saving("Save {too} of {whose}, which read_committed consumers got: this loses nothing."),
            Step("Find out who sent the foreign marker.{hand}"),
            Step("Undo them downstream, where consumers have used them: no command takes them back.{rest}"),
        ),
    ),
    "late-data": Words(
        "{records} of an older epoch of {whose} in {where}{place} {were} {ended}{when} by the marker of the producer's"
        " next transaction.{own}",
        "They {get} them: they were {ended} with the next transaction.",
        "They get all records.",
        (
            Step.saving("Save the transaction's records, of which the late ones come first: this loses nothing."),
            Step("Ask the owner of {whose} whether the late ones should count; {then}."),
        ),
    ),
}  # fmt: skip

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

    foreign = _foreign_markers(tables, findings)
    for code, of_code in grouped(findings, lambda row: row["code"]).items():
        groups = grouped(((row, tables.transaction_of(row)) for row in of_code), whose)
        if len(groups) > OF_A_CAUSE:
            groups = grouped(chain.from_iterable(groups.values()), where)
        for some in groups.values():
            yield _torn(tables, some, foreign) if code == "atomicity-broken" else _adopted(tables, some)


class _Marker(NamedTuple):
    """A marker that no coordinator wrote: when, whether it is a COMMIT, and whether it changed what was decided.

    It ended a transaction of `whose`.
    """

    time: int
    commits: bool = False
    changed: bool = False
    whose: str = ""


def _foreign_markers(tables: ClusterTables, findings: list[Row]) -> list[_Marker]:
    """Return the markers that no coordinator wrote, oldest first."""
    ended = (tables.transaction_of(row) for row in findings if row["found"] in ("aborted", "committed"))
    by_tool = (row for rows in tables.transactions.values() for row in rows if row["cause"] == "administrator-abort")
    every = {
        (TopicPartition.of(row), row["marker_offset"]): _Marker(
            row["marker_timestamp_ms"],
            row["state"] == "committed",
            changed,
            row["transactional_id"] or producer_name(None, row["producer_id"]),
        )
        for changed, rows in ((False, by_tool), (True, filter(None, ended)))
        for row in rows
        if row["marker_timestamp_ms"] is not None
    }
    return sorted(every.values())


_HAND: Final = 60_000  # ms: foreign markers that are closer are most likely of one hand


def _whose_hand(incident: Incident, foreign: Sequence[_Marker]) -> str:
    """Say what can have sent an incident's foreign marker, and whether others came with it."""
    near: Sequence[_Marker] = ()
    if incident.since is not None:
        low, high = incident.since.time - _HAND + 1, incident.since.time + _HAND
        near = foreign[bisect_left(foreign, _Marker(low)) : bisect_left(foreign, _Marker(high))]
    said = ""
    if len(near) > 1:
        number, harmless = len(near) - 1, [one.whose for one in near if not one.changed]
        said = f" Most likely the same hand sent {number} more, from {iso(near[0].time)} to {iso(near[-1].time)}"
        if harmless:
            these = "these" if len(harmless) == number else f"{len(harmless)} of these"
            said += f"; {these}, of {' and of '.join(dict.fromkeys(harmless[:EVENTS]))}, undid no commit"
        said += "."
    program = "a program that sends WriteTxnMarkers: the brokers' request log, if on, has the client"
    if any(one.commits for one in near) or incident.cause == "foreign-marker":
        return f"{said} As kafka-transactions.sh sends no COMMIT, it was {program}."
    return f"{said} It was kafka-transactions.sh abort or {program}."


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
    incident = tables.incident(kind, cause, subject, findings)
    rows = [row for _, row in some if row is not None]
    incident.transactional_ids = {row["transactional_id"] for row in rows} - {None}
    incident.transactions = len(some)
    if len(rows) == len(some):
        incident.records = sum(row[counted] for row in rows)
        incident.since = Since.of_brokers(row["marker_timestamp_ms"] for row in rows)
    incident.reach((row["offset"] for row in findings), (_last(finding, row) for finding, row in some))
    return incident


def _last(finding: Row, row: Row | None) -> int:
    """Return the last offset of the data: a finding's is that of the marker."""
    last = finding["last_offset"] if row is None else row["last_offset"]
    return int(finding["offset"] if last is None else last)


def _torn(tables: ClusterTables, some: list[_Ended], foreign: Sequence[_Marker]) -> Incident:
    finding, row = some[0]
    cause = {"no marker": "marker-lost", "aborted": "administrator"}.get(finding["found"], "foreign-marker")
    lost = cause == "marker-lost"
    incident = _begin(tables, "records-lost" if lost else "transaction-torn", cause, some)
    incident.transactions = len({(one["producer_id"], _decision_offset(tables, one, its)) for one, its in some})
    decision = _decision(tables, finding, row)
    whose = producer_name(None if decision is None else decision["transactional_id"], finding["producer_id"])
    if decision is not None:
        incident.transactional_ids.add(decision["transactional_id"])
        incident.events.append(_decided(incident, finding, decision, whose))
        incident.events += _without_leader(tables, finding, decision)
    for one, its in some[:EVENTS]:
        incident.events.append(Event.of(one)._replace(time=None if its is None else its["marker_timestamp_ms"]))
    if lost:
        incident.first_offset = incident.last_offset = None
    parts, rest = _other_parts(tables, incident, some, decision)
    first, how = incident.first_offset, "committed" if finding["needed"] == "committed" else "aborted"
    incident.say(
        _WORDS[cause],
        hand=_whose_hand(incident, foreign),
        parts=parts,
        rest=f" The rest of the transaction was {how}: {listed(rest)}." if rest else "",
        whose=whose,
        place="" if first is None else f" at {offset_range(first, incident.last_offset)}",
        found=finding["found"],
        too=f"{how} records" if incident.records is None else many(incident.records, f"{how} record"),
        when=_when(incident),
        but=f"it was {how} in another partition" if decision is None else f"the coordinator {how} their transaction",
    )
    return incident


def _other_parts(
    tables: ClusterTables, incident: Incident, some: list[_Ended], decision: Row | None
) -> tuple[str, list[str]]:
    """Say what became of the rest of a transaction, and where it is: after the wrong marker, and elsewhere."""
    if decision is None:
        return "", []
    needed, halves = some[0][0]["needed"], []
    for finding, row in some:
        half = None if row is None else _second_half(tables, finding, row, decision)
        if half is not None:
            halves.append(half)
    rest = [f"{offset_range(one['first_offset'], one['last_offset'])} of {TopicPartition.of(one)}" for one in halves]
    were = "was" if sum(one["records"] for one in halves) == 1 else "were"
    cut = f" The marker cut it in two: {listed(rest)}, written after it, {were} {needed}." if rest else ""
    listing = {TopicPartition.named(name) for name in decision["partitions"] or ()}
    others = list(map(str, sorted((listing & tables.replicas.keys()) - incident.partitions)))
    return cut + (f" Its part in {listed(others)} was {needed}." if others else ""), rest + others


def _second_half(tables: ClusterTables, finding: Row, row: Row, decision: Row) -> Row | None:
    """Return what the decision's own marker ended there: the producer's next data, if no other decision is nearer."""
    decided = decision["last_update_timestamp_ms"]
    steps = (step for state in ("prepare_commit", "prepare_abort") for step in tables.decisions(finding, state))
    later = (step["last_update_timestamp_ms"] for step in steps)
    until = min((time for time in later if time > decided), default=None)
    its = (
        one
        for one in tables.transactions.get(finding["log"], ())
        if one["producer_id"] == finding["producer_id"]
        and one["first_offset"] is not None
        and one["first_offset"] > row["marker_offset"]
        and one["state"] == finding["needed"]
        and decided <= one["marker_timestamp_ms"]
        and (until is None or one["marker_timestamp_ms"] < until)
    )
    return min(its, key=lambda one: one["first_offset"], default=None)


def _when(incident: Incident) -> str:
    return "" if incident.since is None else f" at {iso(incident.since.time)}"


def _decided(incident: Incident, finding: Row, decision: Row, whose: str) -> Event:
    others = sorted(set(decision["partitions"] or ()) - set(map(str, incident.partitions)), key=by_number)
    too = f" It has data in {listed(others, 10)}, too." if others else ""
    how = "commit" if finding["needed"] == "committed" else "abort"
    what = f"The coordinator decided to {how} the transaction of {whose}.{too}"
    return Event(decision["last_update_timestamp_ms"], "broker", decision["log"], decision["offset"], what)


def _own_fate(tables: ClusterTables, finding: Row, row: Row) -> str:
    """Say how the transaction ended to which late records belong, where its marker is in the log, before them."""
    before = [
        one
        for one in tables.transactions.get(finding["log"], ())
        if one["producer_id"] == finding["producer_id"]
        and one["state"] in ("committed", "aborted")
        and one["marker_offset"] < row["first_offset"]
        and one["producer_epoch"] is not None
        and one["producer_epoch"] < row["producer_epoch"]
    ]
    own = max(before, key=lambda one: one["marker_offset"], default=None)
    if own is None:
        return ""
    marker = "COMMIT" if own["state"] == "committed" else "ABORT"
    said = f" Their own transaction was {own['state']}: they came after its {marker} marker at offset"
    return f"{said} {own['marker_offset']}."


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
        without = leaderless_at(rows, decision["last_update_timestamp_ms"])
        if without is not None:
            yield without.before(decision, f"A decision for {decision['transactional_id']}")


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
        incident.events = [Event.of(one) for one, _ in some[:EVENTS]]
    first, last = incident.first_offset, incident.last_offset
    place = "" if first is None else f" from offset {first} on"
    if first is not None and last is not None:
        place = f" among {offset_range(first, last)}"
        if row is not None and row["older_records"] and row["records"] == last - first + 1:  # no other's are between
            place = f" at {offset_range(first, first + row['older_records'] - 1)}"
    incident.say(
        _WORDS["late-data"],
        **({} if incident.records else {"records": "records"}),  # 0 where they are before the log
        whose=producer_name(min(incident.transactional_ids, default=None), finding["producer_id"]),
        place=place,
        ended=fate,
        get="get" if fate == "committed" else "skip",
        own="" if row is None else _own_fate(tables, finding, row),
        then="if not, undo these downstream" if fate == "committed" else "if so, write these again",
        when=_when(incident),
    )
    return incident

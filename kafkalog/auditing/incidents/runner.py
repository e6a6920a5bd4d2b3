"""The last stage of an audit: from findings and tables to incidents, a pure function."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from contextlib import closing
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

from kafkalog.auditing.incidents.aborted_transactions import aborted
from kafkalog.auditing.incidents.cluster_tables import ClusterTables, tables_of_audit, tables_of_files
from kafkalog.auditing.incidents.incident import EVENTS, Event, Incident, Row, Step, Subject, Words
from kafkalog.auditing.incidents.open_transactions import AUDIT, COLLECT_AGAIN, COPY_AGAIN
from kafkalog.auditing.incidents.resume import after_fork
from kafkalog.auditing.incidents.standing import take_groups
from kafkalog.auditing.incidents.takes import MIXED, STORIES, Left, take
from kafkalog.auditing.starting import HARMFUL, Fate, Throw, row_of_file
from kafkalog.auditing.transactions import Audit, audit_batches, audit_rows
from kafkalog.catalogue import CATALOGUE
from kafkalog.catalogue.code import KindWords
from kafkalog.catalogue.incident_kinds import INCIDENT_KINDS, INFORMATIVE, kind_of
from kafkalog.certainty import is_proved
from kafkalog.errors import UnreadableError
from kafkalog.few_of_many import few_groups, grouped
from kafkalog.files.names import METADATA_TOPIC, given_again
from kafkalog.files.opening import open_source
from kafkalog.kafka.layout import RECORD_BATCH
from kafkalog.kafka.topic_partition import TopicPartition
from kafkalog.quantities import iso, many, offset_range
from kafkalog.segments.file_rows import finding_rows
from kafkalog.settle import of_finding
from kafkalog.tables.arrow import arrow_batches, arrow_schema
from kafkalog.tables.incident_tables import INCIDENTS, KINDS

if TYPE_CHECKING:
    from kafkalog.auditing.verification import Verification
    from kafkalog.findings import Finding
    from kafkalog.tables.arrow import RecordBatch

__all__ = [
    "batches_of_audit",
    "incidents_of",
    "incidents_of_audit",
    "incidents_of_verification",
    "others",
    "rows_of_audit",
    "rows_of_verification",
]


# Directories of several clusters among the inputs: one incident about all of them.


def _mixed(rows: list[Row]) -> Iterator[Incident]:
    """Yield an incident if a finding tells that the inputs are of several clusters."""
    if not rows:
        return
    cause = "cluster-ids" if all(row["severity"] == "note" for row in rows) else "topic-ids"
    incident = Incident.of("clusters-mixed", cause, Subject(), rows, None)
    incident.events = list(map(Event.of, rows))
    incident.say(_MIXED, message=rows[0]["message"])
    yield incident


_MIXED: Final = Words(
    "{message}",
    "Each cluster has consumers of its own.",
    steps=(Step.running("Give the directories of one cluster if you meant only one.", AUDIT, "DIR"),),
)


def incidents_of(tables: Iterable[ClusterTables], refused: Iterable[Finding] = ()) -> list[Incident]:
    """Return the incidents of some clusters, worst first; each finding above a note is in exactly one.

    `refused` are inputs that could not be read at all, of no known cluster.

    The order: errors before warnings before notes, then in the order of the kinds, then the oldest first.
    """
    if inputs := list(finding_rows(refused)):
        tables = [*tables, tables_of_files(None, inputs, (), (), ())]
    left_of: list[tuple[ClusterTables, Left]] = [(one, grouped(one.findings, _code)) for one in tables]
    found = list(_mixed([row for _, left in left_of for row in take(left, MIXED)]))
    for cluster, left in left_of:
        own = [one for story in STORIES for one in story.incidents(cluster, left)]
        own += others(cluster, chain.from_iterable(left.values()))
        take_groups(cluster, own)
        found += [*own, *aborted(cluster)]
    _equally_severe(found)
    for incident in found:
        _copied_first(incident)
    return sorted(found, key=_order)


def _code(row: Row) -> str:
    return str(row["code"])


def _equally_severe(found: list[Incident]) -> None:
    """Make what may stop consumers as severe as the worst of it that is open to the same doubt: nobody knows more."""
    unsure = (one for one in found if one.kind == "consumers-stopped" and not is_proved(one.certainty))
    for some in grouped(unsure, lambda one: (one.cluster_id, one.certainty)).values():
        worst = max(one.severity for one in some)
        for one in some:
            one.severity = worst


def _copied_first(incident: Incident) -> None:
    """Put a new copy before everything else where this one does not prove an incident.

    What the inputs lack comes before that, and so does what a running broker is asked.
    """
    is_said = any(step in (COPY_AGAIN, COLLECT_AGAIN) or step.kind == "ask" for step in incident.steps)
    if is_proved(incident.certainty) or incident.kind in INFORMATIVE or is_said:
        return
    if incident.cause in ("state-partition-missing", "never-arrived"):  # another copy has no more of it
        return
    incident.steps = [COPY_AGAIN, *incident.steps]


_NEVER: Final = 2**63


def _order(incident: Incident) -> tuple[int, int, int, str]:
    since = _NEVER if incident.since is None else incident.since.time
    return -incident.severity, KINDS.index(incident.kind), since, incident.id


# The tables of an audit and of a verification, incidents among them, as rows and as Arrow batches.


def incidents_of_audit(audit: Audit) -> list[Incident]:
    """Return the incidents of an audit, worst first."""
    return incidents_of((tables_of_audit(one, audit.narrowing) for one in audit.clusters), audit.refused)


def incidents_of_verification(found: Verification) -> list[Incident]:
    """Return the incidents of a verification, worst first; it knows no transactions."""
    clusters = {log.node.cluster_id for log in found.logs}
    only = next(iter(clusters)) if len(clusters) == 1 else None
    partitions = (log.partition for log in found.logs)
    tables = tables_of_files(only, found.rows("findings"), found.rows("logs"), partitions, found.clusters)
    return incidents_of([tables])


def rows_of_audit(audit: Audit, table: str) -> Iterable[tuple[Any, ...]]:
    """Return the rows of one of the tables of ``txn-audit``."""
    return _rows(incidents_of_audit(audit)) if table == INCIDENTS.name else audit_rows(audit, table)


def batches_of_audit(audit: Audit, table: str) -> Iterator[RecordBatch]:
    """Return the same as Arrow batches; needs pyarrow."""
    if table == INCIDENTS.name:
        return arrow_batches(rows_of_audit(audit, table), arrow_schema(INCIDENTS))
    return audit_batches(audit, table)


def rows_of_verification(found: Verification, table: str) -> Iterable[tuple[Any, ...]]:
    """Return the rows of one of the tables of ``verify``."""
    return _rows(incidents_of_verification(found)) if table == INCIDENTS.name else found.rows(table)


def _rows(incidents: Iterable[Incident]) -> list[tuple[Any, ...]]:
    return [incident.row() for incident in incidents]


# Incidents that findings alone make: one for each kind, cause and partition, or broker.

_OFFSETS: Final = ("offset", "last_offset")
_OF_CLUSTER: Final = frozenset({"copy-incomplete", "copy-skewed", "clusters-mixed", "output-damaged"})
_OF_FILES: Final = frozenset({"side-files-wrong", "start-goes-wrong"})
_OF_PRODUCER: Final = frozenset({"transaction-torn", "wrong-fate"})


def others(tables: ClusterTables, left: Iterable[Row]) -> Iterator[Incident]:
    """Yield the incidents of all findings above a note that are left."""
    rows = (row for row in left if row["severity"] != "note")
    for key, some in few_groups(rows, lambda row: _key(tables, row), 3):
        yield _incident(tables, key, some)


def _key(tables: ClusterTables, row: Row) -> tuple[object, ...]:
    kind, cause = _kind(tables, row)
    certainty = of_finding(row)
    if kind in _OF_CLUSTER:
        return kind, cause, certainty
    if row["topic"] is None:
        return kind, cause, certainty, tables.node_of(row["log"]), row["code"]
    who = row["producer_id"] if kind in _OF_PRODUCER else None
    return kind, cause, certainty, row["topic"], row["partition"], who


def _throw(tables: ClusterTables, row: Row) -> Throw | None:
    """Return what a start makes of the file that a finding is about."""
    metadata_logs = tables.replicas.get(TopicPartition(METADATA_TOPIC, 0), ())
    return row_of_file(row["code"], row["file"], metadata_logs=[one["log"] for one in metadata_logs])


def _kind(tables: ClusterTables, row: Row) -> KindWords:
    """Return the kind and the cause of a finding's incident: a start goes wrong at some of the files."""
    throw = _throw(tables, row)
    if throw is None or throw.fate not in HARMFUL or kind_of(row["code"]).kind != "side-files-wrong":
        return kind_of(row["code"])
    return KindWords("start-goes-wrong", "broker-stops" if throw.fate is Fate.EXITS else "broker-start")


def _incident(tables: ClusterTables, key: tuple[object, ...], rows: list[Row]) -> Incident:
    kind, cause, certainty = (str(part) for part in key[:3])
    subject = _subject(tables, kind, rows)
    incident = tables.incident(kind, cause, subject, rows, certainty)
    if kind == "start-goes-wrong" and is_proved(incident.certainty):
        throws = (_throw(tables, row) for row in rows)
        incident.severity = max([incident.severity, *(throw.severity for throw in throws if throw is not None)])
    if any(row["offset"] is not None for row in rows):
        incident.reach((row["offset"] for row in rows), (row[name] for row in rows for name in _OFFSETS))
    incident.events = [Event.of(row)._replace(what=_message(tables, row)) for row in rows[:EVENTS]]
    worst = max(rows, key=lambda row: ("note", "warning", "error").index(row["severity"]))
    codes, of_kind, message = {row["code"] for row in rows}, INCIDENT_KINDS[kind], _message(tables, worst)
    above = [row for row in rows if row["code"] == _ABOVE and row["needed"]]  # what else is odd there follows from it
    missed = [row for row in rows if row["code"] == _OUTSIDE and row["needed"] and str(row["found"]).isdecimal()]
    told = above or rows
    if missed:
        incident.records = sum(int(row["found"]) for row in missed)
        first, last = min(row["offset"] for row in missed), max(row["last_offset"] for row in missed)
        at = f"{'at' if incident.records == last - first + 1 else 'among'} {offset_range(first, last)}"
        what = f"{at}, below 0. The lastOffsetDelta of {_batches(missed)} is too high"
    elif above and all(row["needed"].isdecimal() for row in above):  # else they are only counted
        what = _given_again(above)
    elif codes == {_STRANDED}:
        what = f": {'; '.join(dict.fromkeys(_message(tables, row) for row in rows))}"
    elif len(codes) > 1:
        what = f": {message.removesuffix('.')}; and {many(len(rows) - 1, 'more finding')}."
    else:
        what = f": {message}" if len(rows) == 1 else f". {CATALOGUE[worst['code']].meaning}"
    consumers = _OF_TWICE if cause == "partition-twice" else of_kind.consumers
    if kind in _OF_FILES:
        consumers = " ".join(dict.fromkeys(_of_start(tables, row) for row in rows))
    if cause in ("odd-batches", "epochs-missing"):
        consumers = " ".join(dict.fromkeys(CATALOGUE[row["code"]].kafka for row in told))
    begins = [f"{_OF_CAUSE.get(cause, one)} {{where}}{{what}}" for one in (of_kind.title, of_kind.doubtful) if one]
    words = _OF_MISSED if missed else Words(begins[0], "{consumers}", doubtful=begins[-1])
    incident.say(words, where=incident.where() or worst["file"], what=what, consumers=consumers)
    if missed:
        directories = dict.fromkeys(map(given_again, tables.directories))
        more = "Look for more of them: an audit reads only the headers of batches, this reads all records."
        incident.steps.append(Step.running(more, "kafkalog verify", *directories))
        return incident
    incident.steps = [Step(text) for text in dict.fromkeys(_step(tables, row) for row in told)]
    if codes == {_STRANDED}:
        incident.steps += _set_back(tables, rows)
    return incident


def _of_start(tables: ClusterTables, row: Row) -> str:
    """Say what consumers get from a broker that starts with a file that is wrong, or reads it while it runs."""
    throw = _throw(tables, row)
    return CATALOGUE[row["code"]].kafka if throw is None else throw.consumers


def _step(tables: ClusterTables, row: Row) -> str:
    """Say what to do about a finding: before the start where a start goes wrong at it."""
    throw = _throw(tables, row)
    return CATALOGUE[row["code"]].next if throw is None else throw.step


_STRANDED: Final = "offset-beyond-end"


def _set_back(tables: ClusterTables, rows: list[Row]) -> Iterator[Step]:
    """Yield how groups go on in each partition that does not have what they had read any more."""
    for place, some in grouped(rows, TopicPartition.of).items():
        first = min(int(row["needed"]) for row in some)
        ends = [tables.logs[row["log"]]["log_end_offset"] for row in some if row["log"] in tables.logs]
        ended = [tables.groups.epoch_before(row["log"], first) for row in some]
        epoch = max((one for one in ended if one is not None), default=None)
        yield from after_fork(tables, place, first, epoch, max(ends, default=None))


_ABOVE: Final = "records-count-above-offsets"
_OUTSIDE: Final = "offset-outside-segment"

_OF_MISSED: Final = Words(
    "No consumer could ever fetch {records} of {where} {what}, which brokers of 0.11 took. Their bytes are"
    " whole, and it has been so since they were written: that can wait until morning.",
    "They never get these records, and no error; they get the others.",
    steps=(
        Step.saving("Save the records that no consumer can fetch: this loses nothing."),
        Step("Find the client that wrote them, by what is in them: no batch has its name."),
        Step("Let it send again those that are wanted: no Kafka command moves them."),
    ),
)  # fmt: skip


def _batches(rows: list[Row]) -> str:
    """Name the batches that findings are about by the newest time in the header of the first one, where it has one."""
    time = -1
    try:
        with closing(open_source(rows[0]["file"])) as source:
            head = source.read_bytes(rows[0]["position"], RECORD_BATCH.size)
            time = RECORD_BATCH.read_field("max_timestamp", head)
    except (UnreadableError, struct.error):
        pass  # reported when the file was read, or changed since
    of = f" of {iso(time)}" if time >= 0 else ""
    return f"their batch{of}" if len(rows) == 1 else f"their batches{of and f', the first{of},'}"


def _given_again(rows: list[Row]) -> str:
    """Say how many records share offsets, and how many of them a consumer is given that reads them in order."""
    counts = [(row["offset"], int(row["found"]), int(row["needed"])) for row in rows]
    records, offsets, position, given = sum(one[1] for one in counts), sum(one[2] for one in counts), 0, 0
    for first, number, _ in sorted(counts):
        given += max(0, first + number - max(first, position))
        position = max(position, first + number)
    said = f"{many(records, 'record')} in {many(len(counts), 'batch', 'batches')} have {many(offsets, 'offset')}"
    return f": {said}; a consumer that begins before them is given {given} of them, and no error."


def _message(tables: ClusterTables, row: Row) -> str:
    """Return what a finding says, with the replica's name: an incident is about several."""
    node = tables.node_of(row["log"])
    name = str(row["log"]) if node is None else f"Broker {node}'s replica"
    return str(row["message"]).replace("This replica", name, 1)


def _subject(tables: ClusterTables, kind: str, rows: list[Row]) -> Subject:
    """Return whom the findings of an incident are about: the first partition, or the broker."""
    places = [TopicPartition.of(row) for row in rows if row["topic"] is not None]
    code = min(row["code"] for row in rows)
    if not places:
        return Subject(name=f"{tables.node_of(rows[0]['log'])} {code}")
    who = rows[0]["producer_id"] if kind in _OF_PRODUCER else None
    return Subject(*min(places), producer_id=who, name=code if kind in _OF_CLUSTER else None)


_OF_CAUSE: Final = {
    "partition-twice": "One broker has two directories of",
    "history-changed": "The log is not what it was in",
    "broker-stops": "The broker does not start because of",
    "directory-offline": "A broker works without",
    "odd-batches": "Batches are not as Kafka writes them in",
    "epochs-missing": "Brokers find no remote segment of a part of",
}
_OF_TWICE: Final = "Nothing from this broker, which refuses to start; other replicas serve them."

"""The last stage of an audit: from findings and tables to incidents, a pure function."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from kafkalog.auditing.incidents.aborted_transactions import aborted
from kafkalog.auditing.incidents.blocked_consumers import OPEN, not_given, stopped
from kafkalog.auditing.incidents.cluster_tables import (
    ClusterTables,
    Pool,
    Row,
    tables_of_audit,
    tables_of_files,
)
from kafkalog.auditing.incidents.elections import elections
from kafkalog.auditing.incidents.incident import Consumers, Event, Incident, Step, Subject, few, many
from kafkalog.auditing.incidents.lost_records import LOST, OBJECTS, UNREADABLE, losses, lost_objects
from kafkalog.auditing.incidents.open_transactions import AUDIT, COPY_AGAIN
from kafkalog.auditing.incidents.torn_transactions import torn
from kafkalog.auditing.transactions import Audit, audit_batches, audit_rows
from kafkalog.catalogue import CATALOGUE
from kafkalog.catalogue.incident_kinds import INCIDENT_KINDS, INFORMATIVE, kind_of
from kafkalog.certainty import is_proved, of_finding
from kafkalog.tables.arrow import arrow_batches, arrow_schema
from kafkalog.tables.incident_tables import INCIDENTS, KINDS

if TYPE_CHECKING:
    from kafkalog.auditing.verification import Verification
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


def _mixed(pools: Iterable[Pool]) -> Iterator[Incident]:
    """Yield an incident if a finding tells that the inputs are of several clusters."""
    rows = [row for pool in pools for row in pool.take("clusters-mixed")]
    if not rows:
        return
    cause = "cluster-ids" if all(row["severity"] == "note" for row in rows) else "topic-ids"
    incident = Incident.of("clusters-mixed", cause, Subject(), rows, None)
    incident.title = rows[0]["message"]
    incident.events = [Event(None, "broker", row["file"], None, row["message"]) for row in rows]
    alone = "Each cluster has consumers of its own."
    incident.consumers = Consumers(alone, alone)
    incident.steps = [Step.running("Give the directories of one cluster if you meant only one.", AUDIT, "DIR")]
    yield incident


class _Story(NamedTuple):
    """One of the stories: what incidents it makes, and of findings of which codes; it is offered no others."""

    tell: Callable[[ClusterTables, Pool], Iterator[Incident]]
    codes: frozenset[str]


_FOLLOWS: Final = {"atomicity-broken", "transaction-hanging"}  # of a loss, where it explains them

# In this order: each story takes the findings that it explains; `others` makes incidents of what is left.
_STORIES: Final = (
    _Story(elections, frozenset({"replicas-fork", "state-replicas-differ", "election-elsewhere", *_FOLLOWS})),
    _Story(losses, frozenset({*LOST, *UNREADABLE, "late-data-adopted", *_FOLLOWS})),
    _Story(lost_objects, OBJECTS),
    _Story(torn, frozenset({"atomicity-broken", "late-data-adopted"})),
    _Story(stopped, frozenset({*OPEN, "offsets-pending"})),
    _Story(not_given, frozenset({"decision-elsewhere", "leaderless-elsewhere"})),
)


def incidents_of(tables: Iterable[ClusterTables]) -> list[Incident]:
    """Return the incidents of some clusters, worst first; each finding above a note is in exactly one.

    The order: errors before warnings before notes, then in the order of the kinds, then the oldest first.
    """
    pools = [(cluster, Pool(cluster.findings)) for cluster in tables]
    found = list(_mixed(pool for _, pool in pools))
    for cluster, pool in pools:
        for story in _STORIES:
            found += story.tell(cluster, pool.offering(story.codes))
        found += others(cluster, pool)
        found += aborted(cluster)
    for incident in found:
        _copied_first(incident)
    return sorted(found, key=_order)


def _copied_first(incident: Incident) -> None:
    """Put a new copy before everything else where this one does not prove an incident.

    What the inputs lack comes before that.
    """
    if is_proved(incident.certainty) or incident.kind in INFORMATIVE or incident.cause == "state-partition-missing":
        return
    incident.steps = [COPY_AGAIN, *(step for step in incident.steps if step != COPY_AGAIN)]


_NEVER: Final = 2**63


def _order(incident: Incident) -> tuple[int, int, int, str]:
    since = _NEVER if incident.since is None else incident.since.time
    return -incident.severity, KINDS.index(incident.kind), since, incident.id


# The tables of an audit and of a verification, incidents among them, as rows and as Arrow batches.


def incidents_of_audit(audit: Audit) -> list[Incident]:
    """Return the incidents of an audit, worst first."""
    return incidents_of(map(tables_of_audit, audit.clusters))


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

_EVENTS: Final = 20
_OFFSETS: Final = ("offset", "last_offset")
_OF_CLUSTER: Final = frozenset({"copy-incomplete", "copy-skewed", "clusters-mixed", "output-damaged"})
_OF_PRODUCER: Final = frozenset({"transaction-torn", "wrong-fate"})


def others(tables: ClusterTables, pool: Pool) -> Iterator[Incident]:
    """Yield the incidents of all findings above a note that are left."""
    groups: dict[tuple[object, ...], list[Row]] = {}
    for row in pool.rest():
        if row["severity"] != "note":
            groups.setdefault(_key(tables, row), []).append(row)
    yield from (_incident(tables, key, rows) for key, rows in few(groups, 3))


def _key(tables: ClusterTables, row: Row) -> tuple[object, ...]:
    kind, cause = kind_of(row["code"])
    certainty = of_finding(row)
    if kind in _OF_CLUSTER:
        return kind, cause, certainty
    if row["topic"] is None:
        return kind, cause, certainty, _node(tables, row), row["code"]
    who = row["producer_id"] if kind in _OF_PRODUCER else None
    return kind, cause, certainty, row["topic"], row["partition"], who


def _node(tables: ClusterTables, row: Row) -> object:
    return tables.logs.get(row["log"] or "", {}).get("node_id")


def _incident(tables: ClusterTables, key: tuple[object, ...], rows: list[Row]) -> Incident:
    kind, cause, certainty = (str(part) for part in key[:3])
    subject = _subject(tables, kind, rows)
    incident = Incident.of(kind, cause, subject, rows, tables.cluster_id, certainty=certainty)
    if any(row["offset"] is not None for row in rows):
        incident.reach((row["offset"] for row in rows), (row[name] for row in rows for name in _OFFSETS))
    for row in rows[:_EVENTS]:
        incident.events.append(Event(None, "broker", row["file"], row["offset"], _message(tables, row)))
    worst = max(rows, key=lambda row: ("note", "warning", "error").index(row["severity"]))
    where = incident.where() or worst["file"]
    said = _OF_CAUSE.get(cause) or (_SAID if is_proved(certainty) else _MAY)[kind]
    incident.title = f"{said} {where}: {_message(tables, worst)}"
    if len({row["code"] for row in rows}) > 1:
        incident.title = f"{incident.title.removesuffix('.')}; and {many(len(rows) - 1, 'more finding')}."
    elif len(rows) > 1:
        incident.title = f"{said} {where}. {CATALOGUE[worst['code']].meaning}"
    consumers = _OF_TWICE if cause == "partition-twice" else INCIDENT_KINDS[kind].consumers
    if cause == "odd-batches":
        consumers = " ".join(dict.fromkeys(CATALOGUE[row["code"]].kafka for row in rows))
    incident.consumers = Consumers(consumers, consumers)
    incident.steps = [Step(text) for text in dict.fromkeys(CATALOGUE[row["code"]].next for row in rows)]
    return incident


def _message(tables: ClusterTables, row: Row) -> str:
    """Return what a finding says, with the replica's name: an incident is about several."""
    node = _node(tables, row)
    name = str(row["log"]) if node is None else f"Broker {node}'s replica"
    return str(row["message"]).replace("This replica", name, 1)


def _subject(tables: ClusterTables, kind: str, rows: list[Row]) -> Subject:
    """Return whom the findings of an incident are about: the first partition, or the broker."""
    places = [(row["topic"], row["partition"]) for row in rows if row["topic"] is not None]
    code = min(row["code"] for row in rows)
    if not places:
        return Subject(name=f"{_node(tables, rows[0])} {code}")
    who = rows[0]["producer_id"] if kind in _OF_PRODUCER else None
    return Subject(*min(places), producer_id=who, name=code if kind in _OF_CLUSTER else None)


_OF_CAUSE: Final = {
    "partition-twice": "One broker has two directories of",
    "history-changed": "The log is not what it was in",
    "odd-batches": "Batches are not as Kafka writes them in",
}
_OF_TWICE: Final = "Nothing from this broker, which refuses to start; other replicas serve them."
_SAID: Final = {
    "consumers-stopped": "An open transaction stops read_committed consumers of",
    "records-lost": "Records are missing in",
    "records-unreadable": "Records can't be read in",
    "retention-blocked": "Old records are kept in",
    "transaction-torn": "A transaction ended differently in its partitions, in",
    "wrong-fate": "The marker of another transaction ended records in",
    "writer-fenced": "A producer was fenced in",
    "transactions-aborted": "Transactions were aborted in",
    "cleaner-stopped": "The cleaner stopped in",
    "remote-store-behind": "The remote store is not as it should be for",
    "side-files-wrong": "Side files are not those of the log in",
    "replicas-diverged": "Replicas differ in",
    "mirror-differs": "A mirror does not have the records of",
    "copy-incomplete": "The inputs do not have all of",
    "copy-skewed": "The files are of different moments in",
    "clusters-mixed": "The inputs are of several clusters:",
    "too-many-to-judge": "There is more than an audit judges in",
    "output-damaged": "An output of kafkalog is not what was written:",
}
_MAY: Final = {
    **_SAID,
    "consumers-stopped": "An open transaction may stop read_committed consumers of",
    "records-lost": "Records may be missing in",
    "records-unreadable": "Records may be unreadable in",
    "transaction-torn": "A transaction may have ended differently in its partitions, in",
    "wrong-fate": "The marker of another transaction may have ended records in",
    "side-files-wrong": "Side files may not be those of the log in",
    "replicas-diverged": "Replicas may differ in",
    "copy-incomplete": "The inputs may not have all of",
    "copy-skewed": "The files may be of different moments in",
}

"""The last stage of an audit: from findings and tables to incidents, a pure function."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from kafkalog.auditing.incidents.aborted_transactions import aborted
from kafkalog.auditing.incidents.blocked_consumers import OPEN, not_given, stopped
from kafkalog.auditing.incidents.elections import elections
from kafkalog.auditing.incidents.incident import Consumers, Event, Incident, Step, Subject
from kafkalog.auditing.incidents.known import Known, Pool, known_of_audit, known_of_files, severity_of
from kafkalog.auditing.incidents.lost_records import LOST, UNREADABLE, losses
from kafkalog.auditing.incidents.open_transactions import AUDIT, COPY_AGAIN
from kafkalog.auditing.incidents.remaining import others
from kafkalog.auditing.incidents.remote_tier import OBJECTS, lost_objects
from kafkalog.auditing.incidents.torn_transactions import torn
from kafkalog.auditing.transactions import Audit, audit_batches, audit_rows
from kafkalog.catalogue.incident_kinds import INFORMATIVE
from kafkalog.certainty import is_proved
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
    "rows_of_audit",
    "rows_of_verification",
]


# Directories of several clusters among the inputs: one incident about all of them.


def _mixed(pools: Iterable[Pool]) -> Iterator[Incident]:
    """Yield an incident if a finding tells that the inputs are of several clusters."""
    rows = [row for pool in pools for row in pool.take("clusters-mixed")]
    if not rows:
        return
    severity = severity_of(rows)
    cause = "cluster-ids" if all(row["severity"] == "note" for row in rows) else "topic-ids"
    incident = Incident("clusters-mixed", cause, Subject(), severity)
    incident.title = rows[0]["message"]
    incident.findings = [row["id"] for row in rows]
    incident.events = [Event(None, "broker", row["file"], None, row["message"]) for row in rows]
    alone = "Each cluster has consumers of its own."
    incident.consumers = Consumers(alone, alone)
    incident.steps = [Step.running("Give the directories of one cluster if you meant only one.", AUDIT, "DIR")]
    yield incident


class _Story(NamedTuple):
    """One of the stories: what incidents it makes, and of findings of which codes; it is offered no others."""

    tell: Callable[[Known, Pool], Iterator[Incident]]
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


def incidents_of(known: Iterable[Known]) -> list[Incident]:
    """Return the incidents of some clusters, worst first; each finding above a note is in exactly one.

    The order: errors before warnings before notes, then in the order of the kinds, then the oldest first.
    """
    pools = [(cluster, Pool(cluster.findings)) for cluster in known]
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
    return incidents_of(map(known_of_audit, audit.clusters))


def incidents_of_verification(found: Verification) -> list[Incident]:
    """Return the incidents of a verification, worst first; it knows no transactions."""
    clusters = {log.node.cluster_id for log in found.logs}
    only = next(iter(clusters)) if len(clusters) == 1 else None
    partitions = (log.partition for log in found.logs)
    known = known_of_files(only, found.rows("findings"), found.rows("logs"), partitions, found.clusters)
    return incidents_of([known])


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

"""The last stage of an audit: from findings and tables to incidents, a pure function."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from kafkalog.auditing.incidents.aborted import aborted
from kafkalog.auditing.incidents.elections import elections
from kafkalog.auditing.incidents.incident import Consumers, Event, Incident, Step
from kafkalog.auditing.incidents.known import Known
from kafkalog.auditing.incidents.losses import losses
from kafkalog.auditing.incidents.not_given import not_given
from kafkalog.auditing.incidents.opened import AUDIT, COPY_AGAIN
from kafkalog.auditing.incidents.others import others
from kafkalog.auditing.incidents.pool import Pool, severity_of
from kafkalog.auditing.incidents.stopped import stopped
from kafkalog.auditing.incidents.torn import fates
from kafkalog.tables.incident_tables import KINDS

__all__ = ["incidents_of", "mixed"]


# Directories of several clusters among the inputs: one incident about all of them.


def mixed(pools: Iterable[Pool]) -> Iterator[Incident]:
    """Yield an incident if a finding tells that the inputs are of several clusters."""
    rows = [row for pool in pools for row in pool.take("clusters-mixed")]
    if not rows:
        return
    severity = severity_of(rows)
    cause = "cluster-ids" if all(row["severity"] == "note" for row in rows) else "topic-ids"
    incident = Incident("clusters-mixed", cause, (), severity)
    incident.title = rows[0]["message"]
    incident.findings = [row["id"] for row in rows]
    incident.events = [Event(None, "broker", row["file"], None, row["message"]) for row in rows]
    alone = "Each cluster has consumers of its own."
    incident.consumers = Consumers(alone, alone)
    incident.steps = [Step.running("Give the directories of one cluster if you meant only one.", AUDIT, "DIR")]
    yield incident


def incidents_of(known: Iterable[Known]) -> list[Incident]:
    """Return the incidents of some clusters, worst first; each finding above a note is in exactly one.

    The order: errors before warnings before notes, then in the order of the kinds, then the oldest first.
    """
    pools = [(cluster, Pool(cluster.findings)) for cluster in known]
    found = list(mixed(pool for _, pool in pools))
    for cluster, pool in pools:
        found += elections(cluster, pool)
        found += losses(cluster, pool)
        found += fates(cluster, pool)
        found += stopped(cluster, pool)
        found += not_given(cluster, pool)
        found += others(cluster, pool)
        found += aborted(cluster)
    for incident in found:
        _copied_first(incident)
    return sorted(found, key=_order)


_COUNTED: Final = frozenset({"writer-fenced", "transactions-aborted"})  # facts of the coordinator's own records


def _copied_first(incident: Incident) -> None:
    """Put a new copy before everything else where this one does not prove an incident.

    What the inputs lack comes before that.
    """
    if incident.certainty == "proved" or incident.kind in _COUNTED or incident.cause == "state-partition-missing":
        return
    incident.steps = [COPY_AGAIN, *(step for step in incident.steps if step != COPY_AGAIN)]


_NEVER: Final = 2**63


def _order(incident: Incident) -> tuple[int, int, int, str]:
    since = _NEVER if incident.since is None else incident.since.time
    return -incident.severity, KINDS.index(incident.kind), since, incident.id

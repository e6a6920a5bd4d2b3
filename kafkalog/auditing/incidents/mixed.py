"""Directories of several clusters among the inputs: one incident about all of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kafkalog.auditing.incidents.incident import Consumers, Event, Incident, Step
from kafkalog.auditing.incidents.opened import AUDIT
from kafkalog.auditing.incidents.pool import Pool
from kafkalog.auditing.incidents.severities import severity_of

__all__ = ["mixed"]


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

"""Bytes that could go and do not: what holds them, as incidents. They are notes, as in ``kafkalog space``.

Where an open transaction holds them, the incident is that of an audit, as severe as it says.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from kafkalog.auditing.incidents.incident import LISTED, Event, Incident, Since, Step, Subject, Words
from kafkalog.auditing.incidents.runner import incidents_of_audit
from kafkalog.auditing.pipeline import audit
from kafkalog.auditing.transactions import AuditOptions
from kafkalog.catalogue.incident_kinds import INCIDENT_KINDS
from kafkalog.certainty import first_doubt, is_proved
from kafkalog.few_of_many import few_groups
from kafkalog.files.names import STATE_TOPIC
from kafkalog.findings import Finding, Severity
from kafkalog.kafka.topic_partition import TopicPartition
from kafkalog.tables import Table
from kafkalog.tables.incident_tables import INCIDENTS
from kafkalog.tables.space_tables import SPACE

if TYPE_CHECKING:
    from kafkalog.auditing.space import Space, Weighed

__all__ = ["items_of_judged", "items_of_space", "join_incidents"]

_SAID: Final = {  # by cause: the kind of incident, and its title
    "cleaner-stopped": ("cleaner-stopped", "The cleaner of a broker does not clean {where} any more{doubt}{size}."),
    "partition-uncleanable": ("cleaner-stopped", "The cleaner can't clean {where}{doubt}{size}."),
    "future-timestamp": (
        "retention-blocked", "Retention keeps {where}: timestamps are in the future{doubt}{size}."
    ),
    "past-timestamp": (
        "clocks-wrong", "Retention takes what is new in {where} for old: its timestamps are of 1970{doubt}."
    ),
    "open-transaction": ("retention-blocked", "An open transaction keeps the cleaner from {where}{doubt}{size}."),
    "tiered-copy-pending": (
        "retention-blocked", "Segments of {where} wait for their copy to the remote store{doubt}{size}."
    ),
}  # fmt: skip


def items_of_space(found: Space, tables: Collection[str]) -> Iterator[tuple[Table, tuple[Any, ...]] | Finding]:
    """Yield what a measurement found as rows of these tables and as findings: incidents too, joined with its causes.

    Directories that an open transaction holds are audited for that: its incident is that of ``txn-audit``.
    """
    incidents = join_incidents(found) if {INCIDENTS.name, SPACE.name}.intersection(tables) else []
    yield from found.items(tables)
    if INCIDENTS.name in tables:
        yield from ((INCIDENTS, one.row()) for one in incidents)


def items_of_judged(
    logs: Sequence[Weighed], tables: Collection[str]
) -> Iterator[tuple[Table, tuple[Any, ...]] | Finding]:  # fmt: skip
    """Yield the same of directories that were judged elsewhere, of the tables about single directories.

    An open transaction's incident is not looked up.
    """
    from kafkalog.auditing.space import judged_items  # an audit does not need it

    incidents = _of_causes(logs)
    yield from judged_items(logs, tables)
    if INCIDENTS.name in tables:
        yield from ((INCIDENTS, one.row()) for one in incidents)


def join_incidents(found: Space) -> list[Incident]:
    """Return the incidents of what holds bytes, and give each directory its own; a mere setting is no incident."""
    return _of_causes(found.logs) + _of_transactions(found)


def _of_causes(logs: Sequence[Weighed]) -> list[Incident]:
    """Return an incident for each directory, or for all of one cause if they are many.

    A broker whose cleaner stopped is one incident, whatever number of partitions wait.
    """

    def key(one: Weighed) -> tuple[object, ...]:
        cause, directory = one.verdicts[0].cause, one.log.directory
        whose = (one.log.node.node_id,) if cause == "cleaner-stopped" else (directory.topic, directory.partition)
        return cause, one.log.node.cluster_id, *whose

    held = (one for one in logs if one.verdicts[0].cause in _SAID)
    return [_incident(cause, some) for cause, some in few_groups(held, key, 2)]


def _of_transactions(found: Space) -> list[Incident]:
    """Return the incidents of open transactions that hold bytes, as an audit of these directories finds them."""
    held = [one for one in found.logs if one.verdicts[0].cause == "open-transaction"]
    if not held:
        return []
    places = {(one.log.directory.topic, one.log.directory.partition) for one in held}
    options = AuditOptions(found.options.limits, 1, now=found.options.now)
    audited = audit(
        found.paths,
        options,
        lambda directory: directory.topic == STATE_TOPIC or (directory.topic, directory.partition) in places,
    )
    joined = []
    for incident in incidents_of_audit(audited):
        mine = [one for one in held if _is_about(incident, one)]
        for verdict in (one.verdicts[0] for one in mine):
            verdict.incident = incident.id
            verdict.next_step = f"End the transaction: kafkalog txn-audit --incident {incident.id} DIR says how."
        joined += [incident] * bool(mine)
    return joined


def _is_about(incident: Incident, held: Weighed) -> bool:
    """Say whether an incident is the open transaction that holds a directory's bytes."""
    directory, since = held.log.directory, held.verdicts[0].since_offset
    return (
        incident.kind in ("consumers-stopped", "copy-skewed")
        and incident.cluster_id == held.log.node.cluster_id
        and (directory.topic, directory.partition) in incident.partitions
        and (incident.first_offset is None or incident.first_offset == since)
    )


def _incident(key: tuple[object, ...], held: list[Weighed]) -> Incident:
    (cause, cluster), first = (str(key[0]), key[1]), held[0].log
    whole = cause == "cleaner-stopped"
    (kind, title), found = _SAID[cause], [one.verdicts[0] for one in held]
    places = {TopicPartition(one.log.directory.topic, one.log.directory.partition) for one in held}
    subject = Subject(name=first.node.node_id) if whole else Subject(*min(places))
    incident = Incident(kind, cause, subject, Severity.NOTE, None if cluster is None else str(cluster))
    incident.certainty = first_doubt(one.certainty for one in found)
    incident.partitions = places
    incident.since = Since.of_brokers(one.since_ms for one in found)
    if len(incident.partitions) == 1:
        incident.first_offset = found[0].since_offset
    for one in held[:LISTED]:
        verdict = one.verdicts[0]
        log, text = one.log.directory.log, f"{verdict.evidence}."
        incident.events.append(Event(verdict.since_ms, "broker", log, verdict.since_offset, text))
    sizes = [one.bytes for one in found if one.bytes is not None]
    incident.say(
        Words(title, INCIDENT_KINDS[kind].consumers),
        doubt="" if is_proved(incident.certainty) else f" ({incident.certainty})",
        size=f"; {sum(sizes)} bytes would be freed without it" if len(sizes) == len(found) else "",
    )
    steps = dict.fromkeys(one.next_step for one in found if one.next_step)
    incident.steps = [Step(text) for text in steps] or [Step(INCIDENT_KINDS[kind].next)]
    for verdict in found:
        verdict.incident = incident.id
    return incident

"""Partitions on brokers whose directories were not given: without a leader, or without the markers of decisions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kafkalog.auditing.incidents.incident import SHOWN, Consumers, Event, Incident, Step, Subject, many
from kafkalog.auditing.incidents.known import Known, Pool, Row, severity_of
from kafkalog.auditing.incidents.leadership import leaderless_now
from kafkalog.auditing.incidents.open_transactions import OTHER_BROKERS
from kafkalog.auditing.incidents.since import Since

__all__ = ["not_given"]

_EVENTS: Final = 20
_NOTHING: Final = "Nobody can read a partition without a leader."
_WAITS: Final = "Nothing from a transaction on whose marker is missing."


def not_given(known: Known, pool: Pool) -> Iterator[Incident]:
    """Yield an incident for each set of brokers that were not given, with all that is open there."""
    groups: dict[str, list[Row]] = {}
    for row in pool.take("decision-elsewhere", "leaderless-elsewhere", when=lambda row: row["severity"] != "note"):
        groups.setdefault(row["needed"], []).append(row)
    for needed, rows in groups.items():
        yield _incident(known, needed, rows)


def _incident(known: Known, needed: str, rows: list[Row]) -> Incident:
    decided = [row for row in rows if row["code"] == "decision-elsewhere"]
    leaderless = [row for row in rows if row["code"] == "leaderless-elsewhere"]
    partitions, cause = {(row["topic"], row["partition"]) for row in rows}, "no-leader" if leaderless else "decided"
    subject = Subject(*min(partitions))
    incident = Incident("consumers-stopped", cause, subject, severity_of(rows), known.cluster_id)
    incident.findings = [row["id"] for row in rows]
    incident.partitions = partitions
    times = [leaderless_now(known.leadership.get((row["topic"], row["partition"]), ())) for row in leaderless[:_EVENTS]]
    incident.since = Since.of_brokers(one.since for one in times if one is not None)
    incident.events = [one.event() for one in times if one is not None]
    incident.events += [Event(None, "broker", row["file"], None, f"{row['message']}.") for row in decided[:_EVENTS]]
    what = [f"{many(len(leaderless), 'partition')} without a leader"] if leaderless else []
    what += [f"{many(len(decided), 'partition')} without the markers of decided transactions"] if decided else []
    incident.title = f"These inputs show {' and '.join(what)}, and lack {needed}: {incident.where()}."
    incident.consumers = Consumers(
        " ".join([_NOTHING] * bool(leaderless) + [_WAITS] * bool(decided)), _NOTHING if leaderless else "Everything."
    )
    incident.steps = [Step.running(f"Read {needed} together with these.", *OTHER_BROKERS)]
    led = sorted({one.leader for one in times if one is not None and one.leader is not None})
    if leaderless:
        who = f": start {', '.join(f'broker {leader}' for leader in led[:SHOWN])}, which led before" if led else ""
        incident.steps.append(Step(f"Give these partitions a leader{who}."))
    if decided:
        incident.steps.append(Step("Do not abort these transactions before all is read together: they are decided."))
    return incident

"""Bytes that could go and do not: what holds them, as incidents. Notes, as in ``kafkalog space``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

from kafkalog.auditing.incidents.incident import Consumers, Event, Incident, Since, Step
from kafkalog.auditing.incidents.known import Row
from kafkalog.auditing.space import Space
from kafkalog.catalogue.incidents import INCIDENT_KINDS
from kafkalog.findings import Severity
from kafkalog.tables.space import SPACE

__all__ = ["incidents_of_space", "rows_of_space"]

_KIND_OF: Final = {
    "cleaner-stopped": "cleaner-stopped",
    "partition-uncleanable": "cleaner-stopped",
    "future-timestamp": "retention-blocked",
    "open-transaction": "retention-blocked",
    "tiered-copy-pending": "retention-blocked",
}
_SAID: Final = {
    "cleaner-stopped": "The cleaner of a broker does not clean {where} any more",
    "partition-uncleanable": "The cleaner can't clean {where}",
    "future-timestamp": "Retention keeps {where}: timestamps are in the future",
    "open-transaction": "An open transaction keeps the cleaner from {where}",
    "tiered-copy-pending": "Segments of {where} wait for their copy to the remote store",
}
_MOST: Final = 20  # incidents of one cause; more become one
_EVENTS: Final = 100


def incidents_of_space(rows: Iterable[Row]) -> list[Incident]:
    """Return the incidents of rows of the table ``space``; settings and what will go by itself are none.

    A broker whose cleaner stopped is one incident, whatever number of partitions wait.
    """
    groups: dict[tuple[str, object], list[Row]] = {}
    for row in rows:
        if row["cause"] in _KIND_OF:
            whole = row["cause"] == "cleaner-stopped"
            groups.setdefault((row["cause"], row["node_id"] if whole else (row["topic"], row["partition"])), []).append(
                row
            )
    by_cause: dict[str, list[object]] = {}
    for cause, key in groups:
        by_cause.setdefault(cause, []).append(key)
    found = []
    for cause, keys in by_cause.items():
        if len(keys) > _MOST:
            found.append(_incident(cause, None, [row for key in keys for row in groups[cause, key]]))
        else:
            found += [_incident(cause, key, groups[cause, key]) for key in keys]
    return found


def rows_of_space(found: Space) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of the table ``incidents`` of what was measured."""
    rows = (item[1] for item in found.items((SPACE.name,)) if isinstance(item, tuple) and item[0] is SPACE)
    for incident in incidents_of_space(dict(zip(SPACE.names, row, strict=True)) for row in rows):
        yield incident.row()


def _incident(cause: str, key: object, rows: list[Row]) -> Incident:
    kind = _KIND_OF[cause]
    incident = Incident(kind, cause, (key,), Severity.NOTE)
    incident.certainty = "proved" if all(row["certainty"] == "proved" for row in rows) else "possible"
    incident.partitions = {(row["topic"], row["partition"]) for row in rows}
    times = [row["since_ms"] for row in rows if row["since_ms"] is not None]
    incident.since = Since(min(times), "broker") if times else None
    if len(incident.partitions) == 1:
        incident.first_offset = rows[0]["since_offset"]
    for row in rows[:_EVENTS]:
        incident.events.append(Event(row["since_ms"], "broker", row["log"], row["since_offset"], f"{row['evidence']}."))
    sizes = [row["reclaimable_bytes"] for row in rows]
    size = "" if None in sizes else f"; {sum(sizes)} bytes would go without it"
    likely = " (likely)" if incident.certainty == "possible" else ""
    incident.title = f"{_SAID[cause].format(where=incident.where())}{likely}{size}."
    seen = INCIDENT_KINDS[kind].consumers
    incident.consumers = Consumers(seen, seen)
    steps = dict.fromkeys(row["next_step"] for row in rows if row["next_step"])
    incident.steps = [Step(text) for text in steps] or [Step(INCIDENT_KINDS[kind].next)]
    return incident

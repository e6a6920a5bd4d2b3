"""An audit as events for Timesketch: lines of JSON with ``message``, ``datetime`` and ``timestamp_desc``.

Source: Timesketch's guide on importing data, "JSONL".
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from kafkalog.quantities import iso, producer_name
from kafkalog.reports.lanes import is_time
from kafkalog.reports.source import AuditSource, leader_changes, leader_words, transaction_rows

__all__ = ["timesketch"]

_US: Final = 1000  # in a ms


def timesketch(source: AuditSource) -> Iterator[bytes]:
    """Yield a line for each moment: of transactions, transitions, changes of leaders, and incidents' events."""
    for row in transaction_rows(source):
        yield from _of_transaction(row)
    for row in source.rows("coordinator"):
        yield from _event(
            row["last_update_timestamp_ms"], "Coordinator Transition",
            f"The coordinator moved transactional id {row['transactional_id']} to {row['state']}.", row,
        )  # fmt: skip
    for row in leader_changes(source):
        log = f"{row['topic']}-{row['partition']}"
        yield from _event(row["since_ms"], "Leader Changed", f"In {log}: {leader_words(row)}.", row)
    for row in source.rows("incidents"):
        for event in row["events"] or ():
            about = {"incident": row["id"], "kind": row["kind"], "severity": row["severity"], "title": row["title"]}
            about |= {"time_source": event["time_source"], "file": event["file"], "offset": event["offset"]}
            yield from _event(event["time_ms"], "Incident Event", event["what"], about)


def _of_transaction(row: Mapping[str, Any]) -> Iterator[bytes]:
    log = f"{row['topic']}-{row['partition']}"
    who = producer_name(row["transactional_id"], row["producer_id"])
    state = row["state"]
    if row["first_offset"] is not None:
        ended = {"committed": "was committed", "aborted": "was aborted"}.get(state, f"is {state}")
        yield from _event(
            row["first_timestamp_ms"], "First Record Written",
            f"A transaction of {who} began in {log} at offset {row['first_offset']}; it {ended}."
            " The time is that of its first record: the producer's own clock, unless the topic has LogAppendTime.", row,
        )  # fmt: skip
    if row["marker_offset"] is not None:
        kind = "COMMIT" if state == "committed" else "ABORT"
        yield from _event(
            row["marker_timestamp_ms"], "Marker Written",
            f"The {kind} marker at offset {row['marker_offset']} ended a transaction of {who} in {log}.", row,
        )  # fmt: skip


def _event(time_ms: int | None, what: str, message: str, row: Mapping[str, Any]) -> Iterator[bytes]:
    if time_ms is None or not is_time(time_ms):
        return
    event = {
        "message": message,
        "datetime": iso(time_ms).replace("Z", "+00:00"),
        "timestamp": time_ms * _US,
        "timestamp_desc": what,
        "data_type": "kafkalog:audit",
    }
    about = {name: value for name, value in row.items() if value is not None and name not in event}
    yield json.dumps(event | about).encode() + b"\n"

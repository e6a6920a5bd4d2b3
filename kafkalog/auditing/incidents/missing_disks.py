"""Where the metadata places partitions and they are not: disks that were not given, replicas that were put aside."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kafkalog.auditing.incidents.cluster_tables import ClusterTables
from kafkalog.auditing.incidents.incident import EVENTS, Event, Incident, Row, Step, Subject, Words
from kafkalog.auditing.incidents.open_transactions import AUDIT
from kafkalog.few_of_many import grouped
from kafkalog.kafka.topic_partition import TopicPartition
from kafkalog.quantities import by_number, capital, many
from kafkalog.settle import of_finding

__all__ = ["directories_not_given", "replicas_put_aside"]

_WORDS: Final = Words(
    "{what} of broker {broker} {are} not in this copy: the metadata log has {them} in {directories}, not given. What"
    " was lost, open or blocked there is not known.",
    "Nothing is known of them: they get what that log directory has.",
    steps=(
        Step.running(
            "Give the other log directories of the broker, too: log.dirs in its settings.",
            AUDIT,
            "DIR",
            "OTHER_LOG_DIR",
        ),
        Step(
            "If a directory is lost, restore it, or copy its partitions from other replicas before broker {broker}"
            " starts: it does not start with an empty directory in its place, and without it serves nothing of {where}."
        ),
    ),
)


def directories_not_given(tables: ClusterTables, findings: list[Row], _following: list[Row]) -> Iterator[Incident]:
    """Yield an incident for each broker of which a log directory with partitions was not given."""
    for broker, rows in grouped(findings, lambda row: str(row["found"])).items():
        yield _of_broker(tables, broker, rows)


def _of_broker(tables: ClusterTables, broker: str, rows: list[Row]) -> Incident:
    incident = tables.incident("copy-incomplete", "directory-absent", Subject(name=f"broker {broker}"), rows)
    directories = sorted({str(row["needed"]) for row in rows}, key=by_number)
    is_one, number = len(directories) == 1, len(incident.partitions)
    incident.events = [Event.of(row) for row in rows[:EVENTS]]
    incident.say(
        _WORDS,
        what=capital(many(number, "partition")),
        are="is" if number == 1 else "are",
        them="it" if number == 1 else "them",
        broker=broker,
        directories=f"its log directory {directories[0]}" if is_one else f"{len(directories)} log directories",
    )
    return incident


_PUT_ASIDE: Final = Words(
    "{message}.",
    "Nothing changes before the start; after it they get none of these records from this replica.",
)


def replicas_put_aside(tables: ClusterTables, findings: list[Row], _following: list[Row]) -> Iterator[Incident]:
    """Yield an incident for each partition of which a broker has only directories with a suffix."""
    for row in findings:
        incident = tables.incident(
            "start-empties", "move-interrupted", Subject(*TopicPartition.of(row)), [row], of_finding(row)
        )
        incident.reach([row["offset"]], [row["last_offset"]])
        incident.records = row["last_offset"] - row["offset"] + 1
        incident.events = [Event.of(row)]
        incident.say(_PUT_ASIDE, message=row["message"])
        rename = f"Before broker {row['found']} starts, copy the directories, and rename the whole one."
        incident.steps = [Step.running(rename, "mv -T", row["file"], row["needed"])]
        yield incident

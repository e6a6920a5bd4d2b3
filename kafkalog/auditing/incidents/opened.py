"""Transactions that are open: each with its row and the coordinator's records, and the steps that end hanging ones."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from kafkalog.auditing.incidents.decided import Decided, decided, since
from kafkalog.auditing.incidents.incident import Since, Step
from kafkalog.auditing.incidents.known import Known, Row
from kafkalog.auditing.incidents.words import many, offsets
from kafkalog.auditing.transactions import ABORT, READ_RECORDS, Crowd

__all__ = [
    "AUDIT",
    "COPY_AGAIN",
    "DESCRIBE",
    "OTHER_BROKERS",
    "SHOWN",
    "Open",
    "abort_steps",
    "open_transactions",
]

AUDIT: Final = "kafkalog txn-audit"
DESCRIBE: Final = "kafka-transactions.sh --bootstrap-server HOST:PORT describe"
OTHER_BROKERS: Final = (AUDIT, "DIR", "OTHER_BROKERS_DIR")
COPY_AGAIN: Final = Step.running(
    "This copy does not prove it. First make a new copy, best of a stopped broker or from a snapshot of the file"
    " system; then audit the new copy.",
    AUDIT,
    "NEW_COPY",
)
SHOWN: Final = 20  # transactions of an incident that steps and events name


class Open(NamedTuple):
    """An open transaction that a finding reports, with its row of ``notable`` and the coordinator's records."""

    finding: Row
    row: Row
    decided: Decided
    since: Since | None
    crowd: Crowd | None = None  # others like it, in the same log

    @property
    def place(self) -> str:
        """Return the partition as Kafka's tools write it."""
        return f"{self.row['topic']}-{self.row['partition']}"

    @property
    def is_committed(self) -> bool:
        """Say whether the coordinator decided to commit its records: an abort discards them."""
        is_later = self.row["after_commit"] or self.row["cause"] == "data-after-marker"
        return self.decided.committed and not is_later

    @property
    def is_proved(self) -> bool:
        """Say whether it hangs for certain, in a replica that consumers read: its remedy may not print all the same."""
        return self.finding["severity"] != "note" and self.finding["certainty"] in (None, "proved")

    @property
    def who(self) -> str:
        """Name whose transaction it is."""
        name, producer = self.row["transactional_id"], self.row["producer_id"]
        return f"producer {producer}" if name is None else f"{name} (producer {producer})"


def open_transactions(known: Known, findings: Iterable[Row]) -> list[Open]:
    """Return the open transactions that findings report."""
    rows = {
        (row["log"], row["producer_id"], row["first_offset"]): row
        for of_log in known.transactions.values()
        for row in of_log
    }
    found = []
    for finding in findings:
        at = finding["log"], finding["producer_id"], finding["offset"]
        row = rows.get(at) or _row_of(finding)
        found.append(Open(finding, row, decided(known, row), since(known, row), known.crowds.get(at)))
    return found


def _row_of(finding: Row) -> Row:
    """Return what a finding alone says of a transaction: another reading of the log no longer has its row."""
    empty = dict.fromkeys(
        ("transactional_id", "cause", "records", "first_timestamp_ms", "not_before_ms", "not_after_ms", "after_commit")
    )
    return {**empty, "state": "undecided", "first_offset": finding["offset"], **finding}


def abort_steps(every: list[Open]) -> list[Step]:
    """Return the steps that end hanging transactions: what each abort discards comes before its command."""
    steps = []
    for one in every[:SHOWN]:
        place = offsets(one.row["first_offset"], one.row["last_offset"])
        records = many(one.row["records"] or 0, "record")
        if one.is_committed:
            text = (f"Save {records} of {one.who} at {place} of {one.place}, {one.decided.said()}: the abort discards"
                    " what was committed, and no other command ends the transaction.")  # fmt: skip
            steps.append(
                Step.running(
                    text, READ_RECORDS, ("--producer-id", one.row["producer_id"]),
                    ("--offset", f"{one.row['first_offset']}..{one.row['last_offset']}"), ("-o", "saved.ndjson"),
                    one.finding["file"],
                )
            )  # fmt: skip
        text = f"End the transaction of {one.who} in {one.place}: read_committed consumers then skip {records}"
        text = f"{text} at {place}."
        end = Step.running(
            text, ABORT, ("--topic", one.row["topic"]), ("--partition", one.row["partition"]),
            ("--start-offset", one.row["first_offset"]),
        )  # fmt: skip
        steps.append(end if one.is_proved else Step(text))
    number = len(every) + sum(len(one.crowd) for one in every if one.crowd is not None)
    if number > SHOWN:
        steps.append(Step(f"{number - SHOWN} more: each finding has its command in the column remedy.", None))
    return steps

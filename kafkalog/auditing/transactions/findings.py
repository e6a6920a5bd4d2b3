"""What an audit reports about transactions: those that hang, are undecided, pending or overdue.

A message names the transaction and its partition, then the cause with its word in brackets, then who waits for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final, NamedTuple

from kafkalog.auditing.partition import PartitionAudit, file_of, located
from kafkalog.auditing.transactions.own_markers import kept_by
from kafkalog.auditing.transactions.verdicts import Verdict, Verdicts, markers_since
from kafkalog.findings import Finding, Severity
from kafkalog.format.records.transaction_state import TransactionState
from kafkalog.format.times import iso_marked
from kafkalog.log.names import STATE_TOPIC
from kafkalog.txn import extents
from kafkalog.txn.columns import NONE
from kafkalog.txn.coordinator import Coordinator, Decision

__all__ = ["Deadlines", "producer_findings"]

_SCAN_MS: Final = 10_000  # how often the coordinator looks for timeouts
_SHOWN: Final = 5  # partitions that a message names
_CODES: Final = {
    "hanging": "transaction-hanging",
    "undecided": "transaction-undecided",
    "commit-pending": "transaction-pending",
    "abort-pending": "transaction-pending",
}
_WHY: Final = {
    "partition-not-registered": "the partition was never added to the transaction at the coordinator",
    "marker-missing": "the coordinator completed the transaction, but its marker is not in this log",
    "superseded-epoch": "the coordinator's transaction of this producer has a newer epoch",
    "id-expired": "the coordinator has forgotten the transactional id",
    "producer-replaced": "the transactional id now has another producer id",
    "producer-unknown": f"all partitions of {STATE_TOPIC} are available, and none names this producer",
}


class Deadlines(NamedTuple):
    """What decides when a transaction is overdue; times in ms.

    The inputs show the moment `now` where they are of one moment (`copy_ms` is 0). Of a copy the state partition may
    have been copied first, so that what was decided since is not in it.
    """

    now: int
    copy_ms: int
    max_timeout_ms: int

    def passed(self, verdict: Verdict, coordinator: Coordinator) -> bool:
        """Say whether the coordinator, or a marker, is later than it may be."""
        if verdict.entry is None or verdict.cause == "replica-behind":
            return False
        now = self.now
        if self.copy_ms:
            now = min(now, max(coordinator.newest[verdict.entry.partition], now - self.copy_ms))
        record = verdict.entry.record
        if record.state is TransactionState.ONGOING:
            return now > record.start_timestamp + record.timeout_ms + _SCAN_MS and record.timeout_ms != 2**31 - 1
        return now > record.last_update_timestamp + self.max_timeout_ms


def producer_findings(
    audit: PartitionAudit, verdicts: Verdicts, coordinator: Coordinator, deadlines: Deadlines,
    replicas: Sequence[PartitionAudit] = (),
) -> list[Finding]:  # fmt: skip
    """Return the findings about the producers in a log, and about their transactions.

    `replicas` are the partition's other logs: one may still have a marker that this one has lost.
    """
    found = list(audit.of_producers)
    for row, verdict in verdicts.judged():
        is_lost = verdict.state == "hanging" and verdict.cause == "marker-missing"
        kept = kept_by(replicas, verdict.decision) if is_lost and verdict.decision is not None else ""
        found += (
            finding._replace(message=finding.message + kept)
            for finding in _of_transaction(audit, row, verdict, coordinator, deadlines)
        )
    return [located(finding, audit.directory) for finding in found]


def _of_transaction(
    audit: PartitionAudit, row: dict[str, int], verdict: Verdict, coordinator: Coordinator, deadlines: Deadlines
) -> Iterator[Finding]:
    code = _CODES.get(verdict.state)
    if verdict.cause == "late-data-adopted":
        code = "late-data-adopted"
    overdue = deadlines.passed(verdict, coordinator)
    if verdict.state == "ongoing" and overdue:
        code = "transaction-overdue"
    if code is None:
        return
    severity = None
    remedy = None
    if code == "transaction-hanging" and verdict.certainty == "proved":
        remedy = (
            f"kafka-transactions.sh --bootstrap-server HOST:PORT abort --topic {audit.directory.topic}"
            f" --partition {audit.directory.partition} --start-offset {row['first_offset']}"
        )
    elif code == "transaction-hanging":
        young = verdict.recent and verdict.certainty == "unless-copied-while-running"
        severity = Severity.NOTE if young else Severity.WARNING
    elif code == "transaction-undecided" and verdict.cause == "copied-while-running":
        severity = Severity.NOTE
    elif code == "transaction-pending" and overdue:
        severity = Severity.WARNING
    finding = Finding.of(
        code,
        file_of(audit.directory, row["first_offset"]),
        _message(code, audit, row, verdict, coordinator),
        position=None if row["position"] == NONE else row["position"],
        offset=row["first_offset"],
        last_offset=row["last_offset"],
        producer_id=row["producer_id"],
        certainty=verdict.certainty,
        remedy=remedy,
    )
    yield finding if severity is None else finding._replace(severity=severity)


def _message(code: str, audit: PartitionAudit, row: dict[str, int], verdict: Verdict, coordinator: Coordinator) -> str:
    name, producer, first = verdict.transactional_id, row["producer_id"], row["first_offset"]
    if code == "late-data-adopted":
        who = f"Producer {producer}" if name is None else f"{name} (producer {producer})"
        ended = "COMMIT" if row["marker_type"] == extents.COMMIT else "ABORT"
        return (
            f"{who} left data of epoch {row['first_epoch']} open from offset {first} on. The {ended} marker of epoch"
            f" {row['marker_epoch']} at offset {row['marker_offset']} ended it with a later transaction."
        )
    who = (
        f"A transaction of producer {producer} (epoch {row['last_epoch']}, no transactional id known)"
        if name is None
        else f"Transaction of {name} (producer {producer}, epoch {row['last_epoch']})"
    )
    is_open = f"{who} has been open in {audit.directory.topic}-{audit.directory.partition} since offset {first}"
    if code == "transaction-hanging":
        return f"{is_open}: {_hanging(audit, row, verdict)}"
    if verdict.cause == "copied-while-running":
        return (
            f"{is_open}. This copy can't say more: its file or that of {STATE_TOPIC} was copied before the coordinator"
            " had ended the transaction, or had begun it (copied-while-running). Copy again."
        )
    if code == "transaction-undecided":
        return (
            f"{is_open}: no available partition of {STATE_TOPIC} names its producer ({verdict.cause})."
            f" Needed: {_missing_states(coordinator)}."
        )
    if code == "transaction-overdue" and verdict.entry is not None:
        record = verdict.entry.record
        return (
            f"{is_open}, longer than its timeout allows: it began at {iso_marked(record.start_timestamp)}"
            f" with a timeout of {record.timeout_ms} ms."
        )
    how = "COMMIT" if verdict.state == "commit-pending" else "ABORT"
    if verdict.cause == "replica-behind":
        return f"{is_open}: another replica has its {how} marker, this one ends before it (replica-behind)."
    return f"{is_open}: the coordinator has decided to {how.lower()} it, the marker is not here yet ({verdict.state})."


def _hanging(audit: PartitionAudit, row: dict[str, int], verdict: Verdict) -> str:
    """Say why a transaction hangs, who waits for it, what the coordinator decided, and what is not certain."""
    decision, first = verdict.decision, row["first_offset"]
    waiting = audit.log_end_offset - first
    words = _WHY.get(verdict.cause or "", "the coordinator will never end it")
    if verdict.cause == "data-after-marker" and decision is not None:
        words = f"its data arrived after its {_marker_word(audit, row, decision)} marker"
    message = (
        f"{words} ({verdict.cause}). Consumers with read_committed get nothing from offset {first} on;"
        f" {waiting} offset{' waits' if waiting == 1 else 's wait'}."
    )
    if decision is not None:
        how = "committed" if decision.committed else "aborted"
        message += (
            f" At {iso_marked(decision.decided)} the coordinator {how} the last transaction that listed this partition"
            f" (record at offset {decision.offset} of {STATE_TOPIC})."
        )
        if decision.committed and verdict.cause == "marker-missing":
            message += " Aborting it now loses data that was committed."
    if verdict.certainty == "unless-copied-while-running":
        message += (
            " Not certain: its marker may have come after this file was copied. Copy again and check whether it is"
            " still open."
        )
    elif verdict.certainty != "proved":
        message += " Not certain: its marker may have been in the unreadable bytes."
    return message


def _marker_word(audit: PartitionAudit, row: dict[str, int], decision: Decision) -> str:
    markers = markers_since(audit, row, decision.epoch, decision.decided)["marker_type"]
    return "COMMIT" if len(markers) and markers[-1] == extents.COMMIT else "ABORT"


def _missing_states(coordinator: Coordinator) -> str:
    """Name the partitions of the state topic that were not given and may know a producer."""
    if coordinator.total is None:
        return f"the brokers that have {STATE_TOPIC}"
    count = coordinator.total - sum(number < coordinator.total for number in coordinator.known)
    missing = (number for number in range(coordinator.total) if number not in coordinator.known)
    shown = ", ".join(f"{STATE_TOPIC}-{number}" for number in islice(missing, _SHOWN))
    return shown if count <= _SHOWN else f"{shown} and {count - _SHOWN} more"

"""What an audit reports about transactions: those that hang, are undecided, pending or overdue."""

from __future__ import annotations

from collections.abc import Iterator

from kafkalog.auditing.partition import PartitionAudit, file_of, located
from kafkalog.auditing.transactions.verdicts import Verdict, Verdicts
from kafkalog.findings import Finding, Severity
from kafkalog.format.records.transaction_state import TransactionState
from kafkalog.format.times import iso
from kafkalog.txn.columns import NONE
from kafkalog.txn.coordinator import Decision

__all__ = ["producer_findings"]

_SCAN_MS = 10_000  # how often the coordinator looks for timeouts


def producer_findings(audit: PartitionAudit, verdicts: Verdicts, now: int, max_timeout_ms: int) -> list[Finding]:
    """Return what is to be said of the producers in a log, and of their transactions."""
    found = list(audit.of_producers)
    for row, verdict in verdicts.judged():
        found += _of_transaction(audit, row, verdict, now, max_timeout_ms)
    return [located(finding, audit.directory) for finding in found]


def _of_transaction(
    audit: PartitionAudit, row: dict[str, int], verdict: Verdict, now: int, max_timeout_ms: int
) -> Iterator[Finding]:
    code = {
        "hanging": "transaction-hanging",
        "undecided": "transaction-undecided",
        "commit-pending": "transaction-pending",
        "abort-pending": "transaction-pending",
    }.get(verdict.state)
    if verdict.cause == "late-data-adopted":
        code = "late-data-adopted"
    overdue = _overdue(verdict, now, max_timeout_ms)
    if verdict.state == "ongoing" and overdue:
        code = "transaction-overdue"
    if code is None:
        return
    who = f"producer {row['producer_id']} ({verdict.transactional_id or 'no transactional id known'})"
    behind = audit.log_end_offset - row["first_offset"]
    message = {
        "transaction-hanging": f"{who}: open from offset {row['first_offset']}, {behind} offsets behind the end:"
        f" {verdict.cause}",
        "transaction-undecided": f"{who}: open from offset {row['first_offset']}; its state partition is not at hand",
        "transaction-pending": f"{who}: {verdict.state} from offset {row['first_offset']}",
        "transaction-overdue": f"{who}: open from offset {row['first_offset']} for longer than its timeout",
        "late-data-adopted": f"{who}: data of epoch {row['first_epoch']} from offset {row['first_offset']} was ended by"
        f" the marker at {row['marker_offset']} of epoch {row['marker_epoch']}",
    }[code]
    remedy = None
    severity = None
    if code == "transaction-hanging":
        remedy = (
            f"kafka-transactions.sh --bootstrap-server HOST:PORT abort --topic {audit.directory.topic}"
            f" --partition {audit.directory.partition} --start-offset {row['first_offset']}"
        )
        if verdict.decision is not None:
            message += f"; {_decided(verdict.decision)}"
            if verdict.decision.committed and verdict.cause == "marker-missing":
                message += ": ending it loses data that was committed"
        if verdict.certainty != "proved":
            severity = Severity.WARNING
            message += (
                "; or its marker came after this file was copied: copy again and see whether it is still open"
                if verdict.certainty == "unless-copied-while-running"
                else "; or its marker was among the unreadable bytes"
            )
    elif code == "transaction-pending" and overdue:
        severity = Severity.WARNING
    finding = Finding.of(
        code,
        file_of(audit.directory, row["first_offset"]),
        message,
        position=None if row["position"] == NONE else row["position"],
        offset=row["first_offset"],
        last_offset=row["last_offset"],
        producer_id=row["producer_id"],
        certainty=verdict.certainty,
        remedy=remedy,
    )
    yield finding if severity is None else finding._replace(severity=severity)


def _decided(decision: Decision) -> str:
    how = "committed" if decision.committed else "aborted"
    return (
        f"the coordinator {how} the last transaction that listed this partition at {iso(decision.decided)} (record at"
        f" offset {decision.offset} of the state topic)"
    )


def _overdue(verdict: Verdict, now: int, max_timeout_ms: int) -> bool:
    if verdict.entry is None or verdict.cause == "replica-behind":
        return False
    record = verdict.entry.record
    if record.state is TransactionState.ONGOING:
        return now > record.start_timestamp + record.timeout_ms + _SCAN_MS and record.timeout_ms != 2**31 - 1
    return now > record.last_update_timestamp + max_timeout_ms

"""What an audit says of a log: hanging and overdue transactions, broken atomicity, gaps, leftovers."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator

import numpy as np

from kafkalog.audit.partition import PartitionAudit
from kafkalog.audit.verdicts import Context, Verdict, Verdicts
from kafkalog.findings import Finding, Severity
from kafkalog.format.records.transaction_state import TransactionState
from kafkalog.txn import extents
from kafkalog.txn.columns import NONE
from kafkalog.txn.coordinator import Decision

__all__ = ["partition_findings"]

_SCAN_MS = 10_000  # how often the coordinator looks for timeouts


def partition_findings(
    audit: PartitionAudit,
    verdicts: Verdicts,
    decisions: dict[int, list[Decision]],
    context: Context,
    now: int,
    max_timeout_ms: int,
) -> list[Finding]:
    """Return everything that is to be said of one log."""
    directory = audit.directory
    found = [*audit.findings, *_left_over(audit), *_gaps(audit)]
    for row, verdict in verdicts.judged():
        found += _of_transaction(audit, row, verdict, now, max_timeout_ms)
    found += _atomicity(audit, decisions, context)
    return [
        finding._replace(log=directory.log, topic=directory.topic, partition=directory.partition) for finding in found
    ]


def _left_over(audit: PartitionAudit) -> Iterator[Finding]:
    names = audit.directory.left_over
    if names:
        yield Finding.of("files-left-over", audit.directory.log, ", ".join(names))


def _gaps(audit: PartitionAudit) -> Iterator[Finding]:
    for gap in audit.gaps:
        if gap.kind == "legal" or gap.cause == "unreadable-bytes":  # the bytes have their own finding
            continue
        code = "offset-gap-lost" if gap.kind == "damage" else "offset-gap-unexplained"
        yield Finding.of(
            code,
            gap.file,
            f"offsets {gap.first_offset} to {gap.last_offset} are missing: {gap.cause}",
            position=gap.position,
            offset=gap.first_offset,
            last_offset=gap.last_offset,
        )


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
        if verdict.decision is not None and verdict.decision.committed and verdict.cause == "marker-missing":
            message += "; the coordinator committed it: ending it loses this data"
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
        _file(audit, row),
        message,
        position=None if row["position"] == NONE else row["position"],
        offset=row["first_offset"],
        last_offset=row["last_offset"],
        producer_id=row["producer_id"],
        certainty=verdict.certainty,
        remedy=remedy,
    )
    yield finding if severity is None else finding._replace(severity=severity)


def _file(audit: PartitionAudit, row: dict[str, int]) -> str:
    segments = audit.directory.segments
    number = bisect_right(segments, row["first_offset"], key=lambda segment: segment.base_offset) - 1
    return segments[number].path if number >= 0 else audit.directory.log


def _overdue(verdict: Verdict, now: int, max_timeout_ms: int) -> bool:
    if verdict.entry is None:
        return False
    record = verdict.entry.record
    if record.state is TransactionState.ONGOING:
        return now > record.start_timestamp + record.timeout_ms + _SCAN_MS and record.timeout_ms != 2**31 - 1
    return now > record.last_update_timestamp + max_timeout_ms


def _atomicity(audit: PartitionAudit, decisions: dict[int, list[Decision]], context: Context) -> Iterator[Finding]:
    """Hold ended transactions against what the coordinator decided for the very same ones."""
    here = (audit.directory.topic, audit.directory.partition)
    for producer in audit.producers["producer_id"].tolist():
        listed = [decision for decision in decisions.get(producer, ()) if here in decision.partitions]
        if not listed:
            continue
        rows = audit.of_producer(producer)
        ended = (rows["marker_type"] != extents.OPEN) & (rows["first_offset"] != NONE) & (rows["epoch_changes"] == 0)
        # In one log a producer's rows stand in the order of their markers, so their times rise with them.
        mine = rows.take(ended)
        times = np.maximum.accumulate(mine["marker_timestamp"])
        for decision in listed:
            low = int(np.searchsorted(times, decision.started, "left"))
            high = len(times) if decision.until is None else int(np.searchsorted(times, decision.until, "right"))
            for row in mine.take(slice(low, high if decision.until is not None else min(high, low + _NEAR))):
                if _same(row, decision, context) and decision.committed != (row["marker_type"] == extents.COMMIT):
                    yield _broken(audit, row, decision)


_NEAR = 64  # transactions of a producer that may follow the last one that the state topic tells of


def _broken(audit: PartitionAudit, row: dict[str, int], decision: Decision) -> Finding:
    said = "committed" if decision.committed else "aborted"
    is_now = "committed" if row["marker_type"] == extents.COMMIT else "aborted"
    return Finding.of(
        "atomicity-broken",
        _file(audit, row),
        f"offsets {row['first_offset']} to {row['last_offset']} of {decision.transactional_id} are {is_now} by the"
        f" marker at {row['marker_offset']}; the coordinator {said} the transaction (record at offset"
        f" {decision.offset} of the state topic)",
        position=row["position"],
        offset=row["first_offset"],
        last_offset=row["marker_offset"],
        producer_id=row["producer_id"],
        needed=said,
        found=is_now,
        certainty="proved",
    )


def _same(row: dict[str, int], decision: Decision, context: Context) -> bool:
    """Say whether a transaction of a log is the one of a decision, for certain."""
    if decision.data_epoch is None or row["last_epoch"] != decision.data_epoch:
        return False
    if decision.epoch > decision.data_epoch and row["marker_epoch"] == decision.epoch:
        return True  # an epoch of its own: transaction.version 2, or an abort by the coordinator
    if decision.until is None:  # is the marker that of a transaction which this copy of the state topic doesn't know?
        return decision.started <= row["marker_timestamp"] and (
            context.one_moment or row["marker_timestamp"] < decision.known_until
        )
    return decision.started <= row["marker_timestamp"] < decision.until

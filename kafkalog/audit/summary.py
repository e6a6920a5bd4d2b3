"""An audit in a few lines: the verdict, who blocks which partition, and what to look at."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from kafkalog.audit.run import Audit, LogAudit
from kafkalog.findings import Finding, Severity
from kafkalog.txn import extents
from kafkalog.txn.columns import NONE

__all__ = ["Blocked", "blocked", "totals", "verdict", "worst"]


class Blocked(NamedTuple):
    """A log whose last stable offset is behind its end, and the transaction that holds it."""

    log: LogAudit
    producer_id: int
    transactional_id: str | None
    state: str
    since_ms: int
    behind: int


def _count(number: int, one: str, many: str = "") -> str:
    return f"{number} {one if number == 1 else many or one + 's'}"


def worst(audit: Audit) -> Severity | None:
    """Return the highest severity among all findings, None where there are none."""
    return max((finding.severity for finding in audit.findings()), default=None)


def verdict(audit: Audit) -> str:
    """Return the verdict in one line."""
    counts = Counter(finding.code for finding in _serious(audit))
    if audit.unreadable:
        return f"INCOMPLETE: {_count(len(audit.unreadable), 'input')} could not be read"
    if not counts:
        decided = sum(sum(log.verdicts.counts()[state] for state in ("committed", "aborted")) for log in _logs(audit))
        return f"OK: {_count(decided, 'transaction')} decided, nothing wrong"
    words = ", ".join(f"{count} {code}" for code, count in counts.most_common())
    return f"{'WRONG' if worst(audit) is Severity.ERROR else 'SUSPICIOUS'}: {words}"


def _serious(audit: Audit) -> Iterator[Finding]:
    return (finding for finding in audit.findings() if finding.severity > Severity.NOTE)


def _logs(audit: Audit) -> Iterator[LogAudit]:
    for cluster in audit.clusters:
        yield from cluster.logs


def blocked(audit: Audit) -> Iterator[Blocked]:
    """Yield each log whose last stable offset is behind its end, with who blocks it, since when, and how far."""
    for log in _logs(audit):
        partition = log.partition
        behind = partition.log_end_offset - partition.last_stable_offset
        opened = [(row, found) for row, found in log.verdicts.judged() if row["marker_type"] == extents.OPEN]
        if behind <= 0 or not opened:
            continue
        row, found = min(opened, key=lambda item: item[0]["first_offset"])
        since = row["min_timestamp"] if row["min_timestamp"] != NONE else row["max_timestamp"]
        yield Blocked(log, row["producer_id"], found.transactional_id, found.state, since, behind)


def totals(audit: Audit) -> str:
    """Return one line of totals."""
    logs = list(_logs(audit))
    states: Counter[str] = sum((log.verdicts.counts() for log in logs), Counter())
    gaps = Counter(gap.kind for log in logs for gap in log.partition.gaps)
    parts = [
        _count(len(logs), "log"),
        _count(sum(log.partition.batches for log in logs), "batch", "batches"),
        _count(sum(log.partition.records for log in logs), "record"),
        _count(sum(states.values()), "transaction")
        + (f" ({', '.join(f'{count} {state}' for state, count in states.most_common())})" if states else ""),
        _count(sum(gaps.values()), "gap")
        + (f" ({', '.join(f'{n} {kind}' for kind, n in gaps.most_common())})" if gaps else ""),
    ]
    if unidentified := sum(log.unidentified for log in logs):
        parts.append(f"atomicity: {_count(unidentified, 'transaction')} not checkable")
    return ", ".join(parts)

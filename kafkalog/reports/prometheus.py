"""An audit as Prometheus' text exposition, for the textfile collector of the node exporter.

Samples have no timestamps: the collector refuses files with them.
Source: Prometheus' "Exposition formats", text-based format.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from kafkalog.auditing.incidents import WORDS
from kafkalog.escape import escape
from kafkalog.reports.first_screen import screen_of
from kafkalog.reports.source import AuditSource
from kafkalog.tables.dump_tables import OPEN

__all__ = ["prometheus"]


class _Sample(NamedTuple):
    labels: Mapping[str, object]
    value: int


def prometheus(source: AuditSource) -> Iterator[bytes]:
    """Yield the metrics of an audit: its verdict, and by partition what is open, what waits and what is missing."""
    verdict = screen_of(source).verdict
    yield _metric(
        "kafkalog_verdict", "The audit's verdict: 1 for each word that holds.",
        [_Sample({"verdict": one.lower()}, int(one in (verdict.word, verdict.also))) for one in WORDS],
    )  # fmt: skip
    incidents = list(source.rows("incidents"))
    severities = Counter(row["severity"] for row in incidents)
    yield _metric(
        "kafkalog_incidents", "Incidents by severity.",
        [_Sample({"severity": one}, severities[one]) for one in ("error", "warning", "note")],
    )  # fmt: skip
    lost = sum(row["lost_records"] or 0 for row in incidents)
    yield _metric(
        "kafkalog_lost_records",
        "Records that consumers have lost, of missing offsets one each at most.",
        [_Sample({}, lost)],
    )
    lags, sizes, ends = [], [], []
    for row in source.rows("partitions"):
        labels = _labels(row)
        lags.append(_Sample(labels, row["log_end_offset"] - row["last_stable_offset"]))
        sizes.append(_Sample(labels, row["size_bytes"]))
        ends.append(_Sample(labels, row["log_end_offset"]))
    yield _metric("kafkalog_last_stable_offset_lag", "Offsets between the last stable offset and the log's end.", lags)
    yield _metric("kafkalog_log_end_offset", "The next offset to be written.", ends)
    yield _metric("kafkalog_log_size_bytes", "The size of a log's segments.", sizes)
    open_of: dict[str, Counter[str]] = defaultdict(Counter)
    for columns in source.transactions():
        for log, state in zip(columns["log"].tolist(), columns["state"].tolist(), strict=True):
            if state in OPEN:
                open_of[log][state] += 1
    samples = [
        _Sample(_labels(row) | {"state": state}, open_of[row["log"]][state])
        for row in source.rows("partitions")
        for state in OPEN
    ]
    yield _metric("kafkalog_open_transactions", "Transactions that no marker has ended, by state.", samples)
    missing: Counter[tuple[str, str]] = Counter()
    for row in source.rows("gaps"):
        missing[row["log"], row["kind"]] += row["count"]
    samples = [
        _Sample(_labels(row) | {"kind": kind}, missing[row["log"], kind])
        for row in source.rows("partitions")
        for kind in ("damage", "unexplained")
    ]
    yield _metric("kafkalog_missing_offsets", "Offsets that are missing and ought not to be.", samples)
    found = Counter((row["code"], row["severity"]) for row in source.rows("findings"))
    yield _metric(
        "kafkalog_findings", "Findings by code and severity.",
        [_Sample({"code": code, "severity": severity}, count) for (code, severity), count in sorted(found.items())],
    )  # fmt: skip


def _labels(row: Mapping[str, Any]) -> dict[str, object]:
    return {"topic": row["topic"], "partition": row["partition"], "node_id": row["node_id"] or "", "log": row["log"]}


def _metric(name: str, meaning: str, samples: Iterable[_Sample]) -> bytes:
    lines = [f"# HELP {name} {meaning}", f"# TYPE {name} gauge"]
    for labels, value in samples:
        written = ",".join(f'{label}="{_escaped(str(cell))}"' for label, cell in labels.items())
        lines.append(f"{name}{f'{{{written}}}' if written else ''} {value}")
    return ("\n".join(lines) + "\n").encode()


def _escaped(value: str) -> str:
    """Write a label's value, of which the format escapes three characters; bytes that are no UTF-8 it cannot have."""
    return escape(value).replace("\\", "\\\\").replace('"', '\\"')

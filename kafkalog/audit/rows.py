"""An audit as rows of the tables that ``tables.audit`` declares."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, Final

from kafkalog.audit.run import Audit, Cluster, LogAudit
from kafkalog.audit.verdicts import Verdict
from kafkalog.findings import Severity
from kafkalog.format.batch import Batch
from kafkalog.log.readers import segment_chunks
from kafkalog.log.rows import finding_row
from kafkalog.tables import TABLES
from kafkalog.txn import extents
from kafkalog.txn.columns import NONE
from kafkalog.txn.stable import visible_ranges

__all__ = ["AUDIT_TABLES", "audit_rows", "unsettled_rows"]

Row = tuple[Any, ...]


def _present(value: int) -> int | None:
    return None if value == NONE else value


def _where(log: LogAudit) -> Row:
    directory = log.partition.directory
    return (directory.log, directory.topic, directory.partition)


def _transactions(cluster: Cluster) -> Iterator[Row]:
    for log in cluster.logs:
        for row, verdict in log.verdicts:
            yield _transaction(log, row, verdict)


def unsettled_rows(audit: Audit) -> Iterator[Row]:
    """Yield the rows of the table ``transactions`` that are neither committed nor aborted."""
    for cluster in audit.clusters:
        for log in cluster.logs:
            for row, verdict in log.verdicts.judged():
                if verdict.state not in ("committed", "aborted"):
                    yield _transaction(log, row, verdict)


def _transaction(log: LogAudit, row: dict[str, int], verdict: Verdict) -> Row:
    return (
        *_where(log), row["producer_id"], _present(row["last_epoch"]), verdict.transactional_id, verdict.state,
        _present(row["first_offset"]), _present(row["last_offset"]), _present(row["marker_offset"]),
        _present(row["marker_epoch"]), _present(row["coordinator_epoch"]), row["batches"], row["records"],
        row["size"], _present(row["min_timestamp"]), _present(row["max_timestamp"]), _present(row["marker_timestamp"]),
        verdict.certainty, verdict.cause,
    )  # fmt: skip


def _partitions(cluster: Cluster) -> Iterator[Row]:
    for log in cluster.logs:
        partition = log.partition
        directory = partition.directory
        counts = log.verdicts.counts()
        is_open = sum(row["marker_type"] == extents.OPEN for row, _ in log.verdicts.judged())
        yield (
            *_where(log), log.node.cluster_id, log.node.node_id, directory.topic_id, partition.log_start_offset,
            partition.log_end_offset, directory.checkpoints.get("high_watermark"), partition.last_stable_offset,
            len(directory.segments), directory.size, partition.batches, partition.records, partition.control_records,
            counts["committed"], counts["aborted"], is_open, counts["hanging"], len(partition.gaps),
            sum(finding.severity > Severity.NOTE for finding in log.findings),
        )  # fmt: skip


def _gaps(cluster: Cluster) -> Iterator[Row]:
    for log in cluster.logs:
        for gap in log.partition.gaps:
            count = gap.last_offset - gap.first_offset + 1
            yield (*_where(log), gap.first_offset, gap.last_offset, count, gap.kind, gap.cause, gap.file, gap.position)


def _producers(cluster: Cluster) -> Iterator[Row]:
    for log in cluster.logs:
        counts: Counter[tuple[int, int]] = Counter()
        for rows in log.partition.transactions.blocks():
            has_data = rows["first_offset"] != NONE
            ended = zip(rows["producer_id"][has_data].tolist(), rows["marker_type"][has_data].tolist(), strict=True)
            counts.update(ended)
        for row in log.partition.producers:
            names = cluster.coordinator.names(row["producer_id"])
            of_type = [counts[row["producer_id"], kind] for kind in (extents.OPEN, extents.COMMIT, extents.ABORT)]
            yield (
                *_where(log), row["producer_id"], names[0] if names else None, row["first_epoch"], row["last_epoch"],
                row["last_sequence"], row["batches"], row["records"], sum(of_type), *of_type[1:],
                row["first_offset"], row["last_offset"], row["first_timestamp"], row["last_timestamp"],
            )  # fmt: skip


def _coordinator(cluster: Cluster) -> Iterator[Row]:
    for name, entries in sorted(cluster.coordinator.timelines.items()):
        for entry in entries:
            record = entry.record
            if record.state is None:
                yield (name, None, None, "tombstone", None, None, None, None, entry.offset, entry.log)
                continue
            listed = None if record.partitions is None else [f"{topic}-{number}" for topic, number in record.partitions]
            yield (
                name, record.producer_id, record.producer_epoch, record.state.word, record.timeout_ms,
                record.start_timestamp, record.last_update_timestamp, listed, entry.offset, entry.log,
            )  # fmt: skip


def _visible(cluster: Cluster) -> Iterator[Row]:
    for log in cluster.logs:
        partition = log.partition
        aborted: dict[int, list[tuple[int, int]]] = {}
        for rows in partition.transactions.blocks():
            for row in rows.take((rows["marker_type"] == extents.ABORT) & (rows["first_offset"] != NONE)):
                aborted.setdefault(row["producer_id"], []).append((row["first_offset"], row["marker_offset"]))
        for ranges in aborted.values():
            ranges.sort()
        start, stop = partition.log_start_offset, partition.last_stable_offset
        for low, high in visible_ranges(_batches(log), aborted, start, stop):
            yield (*_where(log), low, high)


def _batches(log: LogAudit) -> Iterator[tuple[int, int, int, bool, bool]]:
    segments = log.partition.directory.segments
    first = max(0, bisect_left([segment.base_offset for segment in segments], log.partition.log_start_offset) - 1)
    for segment in segments[first:]:
        for chunk in segment_chunks(segment.path, max_bytes=segment.size):  # the audit has told the findings
            chunk.open_wrappers()
            for row in range(chunk.heads.count):
                batch = Batch.of(chunk.heads, row)
                if batch.crc_holds and batch.records_count != 0 and batch.base_offset is not None:
                    yield (
                        batch.base_offset,
                        batch.last_offset,
                        batch.producer_id,
                        batch.is_transactional,
                        batch.is_control,
                    )


def _findings(cluster: Cluster) -> Iterator[Row]:
    for node in cluster.nodes:
        for finding in node.findings:
            yield finding_row(finding, node.node_id)
    for finding in cluster.findings:
        yield finding_row(finding)
    for log in cluster.logs:
        for finding in log.findings:
            yield finding_row(finding, log.node.node_id)


_ROWS: Final[dict[str, Callable[[Cluster], Iterator[Row]]]] = {
    "partitions": _partitions,
    "transactions": _transactions,
    "gaps": _gaps,
    "producers": _producers,
    "coordinator": _coordinator,
    "visible": _visible,
    "findings": _findings,
}
AUDIT_TABLES: Final = tuple(TABLES[name] for name in _ROWS)


def audit_rows(audit: Audit, table: str) -> Iterator[Row]:
    """Yield the rows of one of the audit's tables."""
    for cluster in audit.clusters:
        yield from _ROWS[table](cluster)

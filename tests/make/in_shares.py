"""Logs judged at once, and in shares of their producers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from kafkalog.auditing.pipeline.executors import InProcess
from kafkalog.auditing.pipeline.kept_scans import KeptScans
from kafkalog.auditing.pipeline.places import groups_of, logs_of
from kafkalog.auditing.pipeline.run import run_stages
from kafkalog.auditing.pipeline.stages import judge_partition, keys_of_partition
from kafkalog.auditing.transactions.summary import LogSummary
from kafkalog.auditing.transactions.surroundings import AuditOptions
from kafkalog.auditing.transactions.table_rows import gap_rows, log_rows
from kafkalog.folds.shares import shares_of
from kafkalog.log_dirs.clusters import open_clusters
from kafkalog.segments.file_rows import finding_rows


def judged(paths: Sequence[str], shares: int) -> tuple[dict[str, Counter[Any]], list[LogSummary]]:
    """Judge all partitions in so many shares; return the rows of the tables that logs have, and their summaries."""
    options = AuditOptions()
    clusters, _ = open_clusters(paths)
    logs = [replace(log, shares=shares) for log in logs_of(clusters, None)]
    rows: dict[str, Counter[Any]] = {name: Counter() for name in ("transactions", "findings", "gaps", "producers")}
    summaries: dict[int, LogSummary] = {}
    executor = InProcess(options.limits, KeptScans())
    with executor.scan(logs, {}) as scanned:
        scans = {log.number: list(some) for log, some in scanned.of_logs(logs)}
    with run_stages(clusters, logs, executor, options) as (around, _):
        for of_one in groups_of(logs):
            of_keys, where = [], around[of_one[0].cluster]
            for share in reversed(shares_of(shares)):
                of_share = {
                    log.number: [list(scan.shares(shares))[share.number] for scan in scans[log.number]]
                    for log in of_one
                }
                if shares > 1 and share.of_log and len(of_one) > 1:
                    of_keys = keys_of_partition(of_one, of_share, where)
                found = judge_partition(of_one, of_share, where, share, of_keys)
                rows["findings"].update(map(str, finding_rows(found.findings)))
                for place, log in zip(of_one, found.logs, strict=True):
                    for table in ("transactions", "findings", "producers"):
                        rows[table].update(map(str, log_rows(log, table)))
                    rows["gaps"].update(map(str, gap_rows(log.partition) if share.of_log else ()))
                    known, new = summaries.get(place.number), LogSummary.of(log)
                    summaries[place.number] = new if known is None else known.with_share(new)
    return rows, [summaries[number] for number in sorted(summaries)]


def same(paths: Sequence[str], *of_shares: int) -> None:
    alone = judged(paths, 1)
    for shares in of_shares:
        shared = judged(paths, shares)
        for table, rows in alone[0].items():
            assert shared[0][table] == rows, (shares, table)
        assert shared[1] == alone[1], shares

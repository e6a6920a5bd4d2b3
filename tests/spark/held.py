"""Bulk audits, and how they are held against local ones."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pyspark

from kafkalog.auditing.incidents.runner import rows_of_audit
from kafkalog.auditing.transactions.audit_result import Audit
from kafkalog.auditing.transactions.summary import Summary
from kafkalog.reports import screen_of, source_of
from kafkalog.tables.audit_tables import AUDIT_TABLES
from kafkalog.tables.manifest import TableFile, read_manifest
from kafkalog_spark.bulk_audit import BulkAudit, bulk_audit
from kafkalog_spark.job_output import Output
from kafkalog_spark.session import JobPlan

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ALL_TABLES = tuple(table.name for table in AUDIT_TABLES)


Row = tuple[Any, ...]


def in_order(rows: Sequence[Row]) -> list[Row]:
    """Sort rows; null comes first."""
    return sorted(rows, key=lambda row: [(cell is not None, cell) for cell in row])


def rows_in(folder: Path, table: str) -> list[Row]:
    """Read a table's rows, sorted."""
    return in_order([tuple(row.values()) for row in pq.read_table(folder / table).to_pylist()])


def rows_of(found: Audit, table: str) -> list[Row]:
    """Return the rows of a local audit's table as they are in files, sorted."""
    return in_order(
        [
            tuple(json.dumps(cell, ensure_ascii=False) if isinstance(cell, (list, dict)) else cell for cell in row)
            for row in rows_of_audit(found, table)
        ]
    )


def held(done: BulkAudit, folder: Path, found: Audit, tables: Sequence[str] = ALL_TABLES) -> None:
    """Hold a bulk audit against a local one."""
    summary = Summary.of(found)
    assert done.summary.findings == summary.findings
    assert done.summary.logs == summary.logs
    assert done.summary.totals() == summary.totals()
    verdict = screen_of(source_of(found)).verdict
    assert (done.verdict.words, done.verdict.severity) == (verdict.words, verdict.severity)
    if tables == ALL_TABLES:  # of an audit that was written with some tables alone less is counted
        assert replace(done.verdict, scope=()) == verdict  # which is of an audit that read everything
    for table in tables:
        assert rows_in(folder, table) == rows_of(found, table), table
    assert set(listed(folder)) == set(tables)


def listed(folder: Path) -> dict[str, list[TableFile]]:
    """Return what the manifest lists, which is what is there."""
    found = dict(read_manifest((folder / "manifest.json").read_bytes()).tables)
    for table, files in found.items():
        there = {str(path.relative_to(folder)): path.stat().st_size for path in (folder / table).iterdir()}
        assert there == {file.name: file.size_bytes for file in files}
        assert sum(file.rows or 0 for file in files) == pq.read_table(folder / table).num_rows
    assert {path.name for path in folder.iterdir() if path.is_dir()} - {"_work"} == set(found)
    return found


def run(spark: SparkSession, paths: Sequence[str], folder: Path, **options: Any) -> BulkAudit:
    """Run a bulk audit of all tables, or of some, into a new folder."""
    output = Output(str(folder))
    output.make_directory(overwrite=False)
    tables, of_audit = options.pop("tables", ALL_TABLES), options.pop("options", None)
    return bulk_audit(spark, paths, output, of_audit, tables=tables, plan=JobPlan(**options))


def home_of_links(folder: Path) -> Path:
    """Make a home of links for Spark, which writes beside its jars."""
    home = folder / "home"
    home.mkdir()
    for name in ("bin", "jars", "python", "sbin"):
        there = Path(pyspark.__file__).parent / name
        if there.exists():
            (home / name).symlink_to(there)
    return home

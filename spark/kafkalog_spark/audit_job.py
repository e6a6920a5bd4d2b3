"""The audit as one call: its inputs listed, its output held, the tables written with all that later commands look for.

A notebook and the programs for spark-submit call it.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from pyspark import __version__ as spark_version
from pyspark.sql import SparkSession

from kafkalog.auditing.pipeline import as_text, ending, provenance, scans_of_audit
from kafkalog.auditing.transactions import AuditOptions
from kafkalog.errors import NothingMatchesError, UnsupportedError
from kafkalog.files.directories import expand
from kafkalog.files.names import why_no_place
from kafkalog.files.object_stores import set_storage_options
from kafkalog.files.off_limits import refuse_evidence
from kafkalog.log_dirs.archives import is_archive
from kafkalog.provenance import PROVENANCE, SUCCESS, VERDICT
from kafkalog.severity import Severity
from kafkalog.tables.audit_tables import AUDIT_TABLES
from kafkalog_spark.bulk_audit import BulkAudit, CorruptInputError, bulk_audit
from kafkalog_spark.ended_jobs import jvm_in_words
from kafkalog_spark.job_output import Output
from kafkalog_spark.session import JobPlan

__all__ = ["AuditOrder", "audit", "earlier_scans", "listed", "run_audit"]

Path = str | os.PathLike[str]
_USUAL: Final = tuple(table.name for table in AUDIT_TABLES if table.name != "visible")


@dataclass(frozen=True, slots=True)
class AuditOrder:
    """What is asked of an audit besides its inputs and its output.

    `since` is the output of an earlier audit. `arguments` say in the output how it was asked for; a run with the same
    ones goes on from it where it did not end. `fail_on` and `exit_zero` decide the exit status in ``verdict.json``.
    """

    options: AuditOptions
    tables: tuple[str, ...] = _USUAL
    plan: JobPlan = JobPlan()  # noqa: RUF009  # it is frozen
    since: str | None = None
    overwrite: bool = False
    arguments: tuple[str, ...] = ()
    fail_on: Severity = Severity.WARNING
    exit_zero: bool = False


def audit(
    spark: SparkSession, inputs: Path | Sequence[Path], output: Path, options: AuditOptions | None = None, *,
    tables: Sequence[str] = _USUAL, since: Path | None = None, overwrite: bool = False, plan: JobPlan | None = None,
) -> BulkAudit:  # fmt: skip
    """Audit log directories with a session of yours, and write what ``bulk_audit.py`` writes to a new directory.

        done = kafkalog.spark.audit(spark, "/backups/broker-*", "/audits/2026-11-21")
        done.table("transactions").where("state = 'hanging'").show()

    Shown in a notebook, the result is the verdict. `kafkalog report`, `history`, `diff` and `since` take the output.
    A run that was ended goes on where the same call is made again. Of the session nothing is changed: settings, job
    group, pool and tags are as before, and an interrupt cancels the audit's own jobs alone.

    Raises UnsupportedError for an output that is there (unless `overwrite` is set) or where evidence is, OutputError
    where it can't be written, UnreadableError where the job failed, with the cause.
    """
    given = [os.fspath(path) for path in ([inputs] if isinstance(inputs, str | os.PathLike) else inputs)]
    if not given:
        raise UnsupportedError("there are no inputs: name the log directories of brokers, or a pattern")
    tables = (tables,) if isinstance(tables, str) else tables
    unknown = sorted(set(tables) - {table.name for table in AUDIT_TABLES})
    if unknown:
        known = ", ".join(table.name for table in AUDIT_TABLES)
        raise UnsupportedError(f"there is no table {', '.join(unknown)}: the tables are {known}")
    options, plan = options or AuditOptions(), plan or JobPlan()
    earlier = None if since is None else os.fspath(since)
    asked = (
        *given,
        f"tables={','.join(tables)}",
        f"since={earlier}",
        repr((plan.hashed, plan.narrowing)),
        repr(options),
    )
    order = AuditOrder(options, tuple(tables), plan, earlier, overwrite, ("kafkalog.spark.audit", *asked))
    set_storage_options(plan.storage)
    paths = listed(given)
    target = Output(os.fspath(output))
    refuse_evidence(target.name, paths)
    target.refuse_existing(overwrite=overwrite, arguments=order.arguments)
    with target.held(), jvm_in_words():
        return run_audit(spark, paths, target, order)


def listed(patterns: Iterable[str]) -> list[str]:
    """Return the inputs that patterns mean. Raises UnsupportedError for what executors can't read."""
    paths = [path for pattern in patterns for path in expand(_absolute(pattern))]
    for path in filter(is_archive, paths):
        raise UnsupportedError(
            f"{path}: an archive, which is unpacked on one machine alone: unpack it where all machines see it, "
            "and give the directory"
        )
    return paths


def _absolute(pattern: str) -> str:
    """Return a path or pattern that means the same in executors, which run in directories of their own.

    Raises UnsupportedError for a URI that nothing here reads.
    """
    if wrong := why_no_place(pattern):
        raise UnsupportedError(wrong)
    return pattern if "://" in pattern else os.path.abspath(pattern)


def earlier_scans(output: Output, since: str | None) -> tuple[str, ...]:
    """Return the folders of scans that an audit may take. Raises UnsupportedError."""
    if since is None:
        return ()
    if output.is_at(since):
        raise UnsupportedError("the earlier audit and the output are the same directory: name another output")
    return (scans_of_audit(_absolute(since)),)


def run_audit(session: SparkSession, paths: Sequence[str], output: Output, order: AuditOrder) -> BulkAudit:
    """Audit directories into an output that is held: its tables, then what says how it ended.

    Raises CorruptInputError where the plan says to stop over damaged bytes, NothingMatchesError and UnsupportedError
    for what can be refused before the scan; each leaves nothing.
    """
    begun = time.time() if order.plan.begun is None else order.plan.begun

    def said(found: BulkAudit) -> dict[str, str]:
        verdict, status = found.verdict.said(), found.verdict.status(order.fail_on, exit_zero=order.exit_zero)
        origin = provenance(output.command, verdict, found.files, order.arguments, begun, f"spark {spark_version}")
        origin["reading"] = found.reading
        ended = ending(found.summary, verdict, status, found.run) | {"about": found.about}
        return {VERDICT: as_text(ended), PROVENANCE: as_text(origin), SUCCESS: ""}

    earlier = earlier_scans(output, order.since)
    output.make_directory(overwrite=order.overwrite, arguments=order.arguments)
    try:
        return bulk_audit(
            session, paths, output, order.options, tables=order.tables,
            kept=output.kept(earlier, hashed=order.plan.hashed), plan=replace(order.plan, begun=begun), said=said,
        )  # fmt: skip
    except (CorruptInputError, NothingMatchesError, UnsupportedError):
        output.discard()
        raise

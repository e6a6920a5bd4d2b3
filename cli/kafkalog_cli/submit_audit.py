"""The audit on Spark, as a command: what spark-submit is given, and ``txn-audit --engine spark``."""

from __future__ import annotations

import logging
import os
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

import click
from click.core import ParameterSource

from kafkalog.errors import UnreadableError
from kafkalog.escape import escape
from kafkalog.findings import Severity
from kafkalog_cli.audit_options import SHOWN, audit_options, audit_options_of, say_reused, since_audit_option
from kafkalog_cli.exit import Exit, OutputError
from kafkalog_cli.help import GroupedCommand
from kafkalog_cli.options import storage_options
from kafkalog_cli.output import say
from kafkalog_cli.params import Size

if TYPE_CHECKING:
    from kafkalog.files.object_stores import StorageOptions
    from kafkalog_spark.job_output import Output

__all__ = ["absolute", "bulk_audit", "jvm_in_words", "run_bulk"]

_FULL: Final = "No space left on device"  # the JVM says it far below its first line
_OURS: Final = "kafkalog.errors."  # what the line of an error of ours begins with, in the trace of a task
_CONF: Final = "Every option except --input and --output can also be set as spark.kafkalog.…, with dots for dashes."


@click.command("bulk_audit", cls=GroupedCommand, epilog=_CONF)
@click.argument("more", nargs=-1, metavar="[DIR]...")
@click.option(
    "--input",
    "inputs",
    multiple=True,
    metavar="DIR",
    help="A broker's log directory, or a pattern; repeat for more.",
)
@click.option("-o", "--output", required=True, metavar="DIR", help="New directory for the output.")
@click.option("--overwrite", is_flag=True, help="Replace a directory that the same command wrote.")
@click.option(
    "--split-bytes", type=Size(), default="128MiB", show_default=True, help="How much one task reads, approximately."
)
@click.option(
    "--on-corrupt", type=click.Choice(("quarantine", "fail")), default="quarantine", show_default=True,
    help="If bytes are damaged: report them and continue, or stop before anything is written.",
)  # fmt: skip
@storage_options
@since_audit_option
@audit_options
def bulk_audit(more: tuple[str, ...], inputs: tuple[str, ...], **_params: Any) -> int:
    """Audit the log directories of whole clusters and write the tables as Parquet.

    \b
        spark-submit bulk_audit.py --input /backups/broker-1 --input /backups/broker-2 --output /audits/2026-11-21
    """
    paths = (*inputs, *more)
    if not paths:
        raise click.UsageError("Inputs are missing: name directories with --input.")
    ctx = click.get_current_context()
    return run_bulk(paths, ctx.params["output"], overwrite=ctx.params["overwrite"], master=None)


def run_bulk(paths: Sequence[str], output: str, *, overwrite: bool, master: str | None) -> int:
    """Run the job with the command's parameters; the session's configuration may set those that were left out."""
    try:
        from kafkalog_spark.job_output import Output, OutputFailedError
        from kafkalog_spark.session import configured
    except ImportError as error:
        raise OutputError("Spark needs pyspark: pip install 'kafkalog[spark]'") from error
    from kafkalog.files.directories import expand
    from kafkalog.files.object_stores import set_storage_options
    from kafkalog.files.off_limits import refuse_evidence

    started, ctx = time.time(), click.get_current_context()
    params = ctx.params | {"output": output, "overwrite": overwrite}
    set_storage_options(_storage(params))
    paths = [path for pattern in paths for path in expand(absolute(pattern))]
    try:
        target = Output(output)
        refuse_evidence(output, paths)
        target.refuse_existing(overwrite=overwrite or configured("overwrite") == "true", arguments=sys.argv[1:])
        _earlier(params, target)
        with target.held():
            return _in_session(paths, target, params, started, master)
    except OutputFailedError as error:
        raise OutputError(str(error)) from error


def _in_session(
    paths: Sequence[str], output: Output, params: dict[str, Any], started: float, master: str | None
) -> int:
    from kafkalog_spark.session import active_session, open_session, stop, told

    ctx, mine = click.get_current_context(), active_session() is None
    with jvm_in_words():
        session = open_session(master)
        try:
            for param in ctx.command.params:
                name = param.name or ""
                value = told(session, param.opts[-1].lstrip("-"))
                if value is not None and ctx.get_parameter_source(name) is ParameterSource.DEFAULT and name != "output":
                    params[name] = param.type_cast_value(ctx, value.split(",") if param.multiple else value)
            return _run(session, paths, output, params, started)
        finally:
            if mine:
                stop(session)


@contextmanager
def jvm_in_words() -> Iterator[None]:
    """Say in one line what ended a job, and exit with the status that it means."""
    from py4j.protocol import Py4JError  # type: ignore[import-untyped]  # it has no types
    from pyspark.errors import PySparkException

    from kafkalog_spark.parts import CANNOT_WRITE

    logging.getLogger("py4j").setLevel(logging.CRITICAL)  # what it logs with a trace is raised, too
    logger = logging.getLogger()
    logger.addFilter(_is_no_signal)
    try:
        yield
    except (PySparkException, Py4JError, ConnectionError, EOFError) as error:  # the last ones where the JVM is gone
        text = str(error)
        if CANNOT_WRITE in text:
            raise OutputError(text.partition(CANNOT_WRITE)[2].splitlines()[0]) from error
        lines = [line.strip() for line in text.splitlines()]
        causes = [line.partition(": ")[2] for line in lines if line.startswith(_OURS)]
        causes += [line for line in lines if _FULL in line]
        first = next(iter(causes or text.splitlines()), type(error).__name__)
        raise UnreadableError(f"the job failed: {first.strip()}") from error
    finally:
        logger.removeFilter(_is_no_signal)


def _is_no_signal(record: logging.LogRecord) -> bool:
    """Say whether to log a record: py4j logs what a signal raised while it waited for an answer, with its trace.

    Spark's own handler, until the session is there, asks the JVM something meanwhile: that call is reentrant.
    """
    error = record.exc_info[1] if record.exc_info is not None else None
    while error is not None:
        if isinstance(error, KeyboardInterrupt | SystemExit) or "reentrant call" in str(error):
            return False
        error = error.__context__
    return True


def absolute(pattern: str) -> str:
    """Return a path or pattern that means the same in executors, which run in directories of their own."""
    return pattern if "://" in pattern else os.path.abspath(pattern)


def _storage(params: dict[str, Any]) -> StorageOptions:
    from kafkalog.files.object_stores import StorageOptions

    return StorageOptions(params.get("endpoint"), params.get("region"), params.get("anonymous", False))


def _earlier(params: dict[str, Any], output: Output) -> tuple[str, ...]:
    """Return the folders of scans that the job may take. Raises UnsupportedError."""
    from kafkalog.auditing.pipeline import scans_of_audit

    previous = params.get("since_audit")
    if previous is None:
        return ()
    if output.is_at(previous):
        raise click.UsageError("--since-audit and the output are the same directory: name another one with -o.")
    return (scans_of_audit(absolute(previous)),)


def _run(session: Any, paths: Sequence[str], output: Output, params: dict[str, Any], started: float) -> int:
    from pyspark import __version__ as spark_version

    from kafkalog.auditing.pipeline import SPLIT_BYTES, as_text, provenance, verdict_of
    from kafkalog.files.object_stores import set_storage_options
    from kafkalog.provenance import PROVENANCE, SUCCESS, VERDICT
    from kafkalog_spark.bulk_audit import BulkAudit, CorruptInputError, bulk_audit
    from kafkalog_spark.job_output import OutputFailedError

    storage = _storage(params)
    set_storage_options(storage)

    def status_of(found: BulkAudit) -> Exit:
        return found.summary.outcome(Severity[params["fail_on"].upper()]).status(exit_zero=params["exit_zero"])

    def said(found: BulkAudit) -> dict[str, str]:
        engine = f"spark {spark_version}"
        origin = provenance(output.command, found.summary, found.files, sys.argv[1:], started, engine)
        told = {"headline": found.headline, "scope": found.summary.scope(), "about": found.about}
        verdict = verdict_of(found.summary, status_of(found), found.run) | told
        return {VERDICT: as_text(verdict), PROVENANCE: as_text(origin), SUCCESS: ""}

    try:
        output.reach()  # by the options that the session's configuration may have set
        earlier = _earlier(params, output)
        output.make(overwrite=params.get("overwrite", False), arguments=sys.argv[1:])
        found = bulk_audit(
            session, paths, output, audit_options_of(params), tables=params["tables"] or SHOWN,
            split_bytes=params.get("split_bytes", SPLIT_BYTES),
            kept=output.kept(earlier, hashed=params["hashed"]),
            fail_on_corrupt=params.get("on_corrupt") == "fail", storage=storage, begun=started, said=said, progress=say,
        )  # fmt: skip
        say_reused(found.summary.reused, params.get("since_audit"), resumed=output.resumed)
        for line in found.summary.unreadable:
            say(f"error: {line}")
    except CorruptInputError as error:
        output.discard()
        say(f"error: {error}")
        return Exit.FINDINGS
    except OutputFailedError as error:
        raise OutputError(str(error)) from error
    print(escape(found.headline))
    return status_of(found)

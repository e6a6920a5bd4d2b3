"""The audit on Spark, as a command: what spark-submit is given, and ``txn-audit --engine spark``."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from typing import Any

import click
from click.core import ParameterSource

from kafkalog.errors import KafkaLogError
from kafkalog.findings import Severity
from kafkalog_cli.audit_options import SHOWN, audit_options, audit_options_of
from kafkalog_cli.exit import Exit, OutputError
from kafkalog_cli.options import storage_options
from kafkalog_cli.output import say
from kafkalog_cli.params import Size

__all__ = ["bulk_audit", "run_bulk"]

_CONF = "Every option except --input and --output can also be set as spark.kafkalog.…, with dots for dashes."


@click.command("bulk_audit", epilog=_CONF)
@click.argument("more", nargs=-1, metavar="[DIR]...")
@click.option(
    "--input",
    "inputs",
    multiple=True,
    metavar="DIR",
    help="A broker's log directory, or a pattern; repeat for more.",
)
@click.option("--output", required=True, metavar="DIR", help="New directory for the output.")
@click.option("--overwrite", is_flag=True, help="Replace a directory that kafkalog wrote.")
@click.option(
    "--split-bytes", type=Size(), default="128MiB", show_default=True, help="How much one task reads, approximately."
)
@click.option(
    "--on-corrupt", type=click.Choice(("quarantine", "fail")), default="quarantine", show_default=True,
    help="If bytes are damaged: report them and continue, or stop before anything is written.",
)  # fmt: skip
@storage_options
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
        from kafkalog_spark.session import active_session, open_session, told
    except ImportError as error:
        raise OutputError("Spark needs pyspark: pip install 'kafkalog[spark]'") from error
    started, ctx = time.time(), click.get_current_context()
    mine = active_session() is None
    session = open_session(master)
    params = ctx.params | {"output": output, "overwrite": overwrite}
    for param in ctx.command.params:
        name = param.name or ""
        value = told(session, param.opts[-1].lstrip("-"))
        if value is not None and ctx.get_parameter_source(name) is ParameterSource.DEFAULT and name != "output":
            params[name] = param.type_cast_value(ctx, value.split(",") if param.multiple else value)
    try:
        return _run(session, paths, params, started)
    finally:
        if mine:
            session.stop()


def _run(session: Any, paths: Sequence[str], params: dict[str, Any], started: float) -> int:
    from pyspark import __version__ as spark_version
    from pyspark.errors import PySparkException

    from kafkalog.auditing.pipeline import PROVENANCE, SPLIT_BYTES, SUCCESS, VERDICT, as_text, provenance, verdict_of
    from kafkalog.log.storage import expand
    from kafkalog.log.storage_options import StorageOptions, set_storage_options
    from kafkalog_spark.audit import CorruptInputError, bulk_audit
    from kafkalog_spark.output import Output

    storage = StorageOptions(params.get("endpoint"), params.get("region"), params.get("anonymous", False))
    set_storage_options(storage)
    paths = [path for pattern in paths for path in expand(pattern)]
    output = Output(str(params["output"]))
    try:
        output.refuse_within(paths)
        output.make(overwrite=params.get("overwrite", False))
        found = bulk_audit(
            session, paths, output, audit_options_of(params), tables=params["tables"] or SHOWN,
            split_bytes=params.get("split_bytes", SPLIT_BYTES),
            hashed=params["hashed"], fail_on_corrupt=params.get("on_corrupt") == "fail", storage=storage, progress=say,
        )  # fmt: skip
        for line in found.summary.unreadable:
            say(f"error: {line}")
        outcome = found.summary.outcome(Severity[params["fail_on"].upper()])
        status = outcome.status(exit_zero=params["exit_zero"])
        origin = provenance(found.summary, found.files, sys.argv[1:], started, f"spark {spark_version}")
        output.write(VERDICT, as_text(verdict_of(found.summary, status)))
        output.write(PROVENANCE, as_text(origin))
        output.write(SUCCESS, "")
    except CorruptInputError as error:
        output.remove()
        say(f"error: {error}")
        return Exit.FINDINGS
    except KafkaLogError as error:
        raise OutputError(str(error)) from error
    except PySparkException as error:
        say(f"error: the job failed: {str(error).splitlines()[0]}")
        return Exit.INCOMPLETE
    print(found.summary.verdict())
    return status

"""What spark-submit is given: the audit, which is also ``txn-audit --engine spark``, and what holds the bytes."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import click

from kafkalog.escape import escape
from kafkalog.findings import Severity
from kafkalog.tables.audit_tables import FINDINGS
from kafkalog.tables.space_tables import SPACE_TABLES
from kafkalog_cli.audit_options import SHOWN, audit_options, audit_options_of, say_reused, since_audit_option
from kafkalog_cli.exit import Exit, Outcome
from kafkalog_cli.help import GroupedCommand
from kafkalog_cli.options import limit_options, limits_of, remote_options, status_options, storage_options
from kafkalog_cli.output import say
from kafkalog_cli.params import Size, Time
from kafkalog_cli.spark_job import SparkJob, absolute, spark_job

if TYPE_CHECKING:
    from kafkalog_spark.job_output import Output

__all__ = ["bulk_audit", "bulk_space", "run_bulk"]

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
    started = time.time()
    with spark_job(
        paths,
        output,
        "txn-audit",
        overwrite=overwrite,
        master=master,
        arguments=sys.argv[1:],
        known=_settings(),
        check=_earlier,
    ) as job:
        return _run_audit(job, started)


def _earlier(output: Output, params: dict[str, Any]) -> tuple[str, ...]:
    """Return the folders of scans that the job may take. Raises UnsupportedError."""
    from kafkalog.auditing.pipeline import scans_of_audit

    previous = params.get("since_audit")
    if previous is None:
        return ()
    if output.is_at(previous):
        raise click.UsageError("--since-audit and the output are the same directory: name another one with -o.")
    return (scans_of_audit(absolute(previous)),)


def _run_audit(job: SparkJob, started: float) -> int:
    from pyspark import __version__ as spark_version

    from kafkalog.auditing.pipeline import SPLIT_BYTES, as_text, provenance, verdict_of
    from kafkalog.provenance import PROVENANCE, SUCCESS, VERDICT
    from kafkalog_spark.bulk_audit import BulkAudit, CorruptInputError, bulk_audit

    params, output = job.params, job.output

    def status_of(found: BulkAudit) -> Exit:
        return found.summary.outcome(Severity[params["fail_on"].upper()]).status(exit_zero=params["exit_zero"])

    def said(found: BulkAudit) -> dict[str, str]:
        engine = f"spark {spark_version}"
        origin = provenance(output.command, found.summary, found.files, sys.argv[1:], started, engine)
        told = {"headline": found.headline, "scope": found.summary.scope(), "about": found.about}
        verdict = verdict_of(found.summary, status_of(found), found.run) | told
        return {VERDICT: as_text(verdict), PROVENANCE: as_text(origin), SUCCESS: ""}

    try:
        earlier = _earlier(output, params)
        output.make(overwrite=params.get("overwrite", False), arguments=sys.argv[1:])
        found = bulk_audit(
            job.session, job.paths, output, audit_options_of(params), tables=params["tables"] or SHOWN,
            split_bytes=params.get("split_bytes", SPLIT_BYTES),
            kept=output.kept(earlier, hashed=params["hashed"]),
            fail_on_corrupt=params.get("on_corrupt") == "fail", storage=job.storage, begun=started, said=said,
            progress=say,
        )  # fmt: skip
        say_reused(found.summary.reused, params.get("since_audit"), resumed=output.resumed)
        for line in found.summary.unreadable:
            say(f"error: {line}")
    except CorruptInputError as error:
        output.discard()
        say(f"error: {error}")
        return Exit.FINDINGS
    print(escape(found.headline))
    return status_of(found)


# What holds the bytes of whole clusters' disks.


_OF_SPACE = (*(table.name for table in SPACE_TABLES), FINDINGS.name)


@click.command("bulk_space")
@click.option(
    "--input",
    "inputs",
    multiple=True,
    required=True,
    metavar="DIR",
    help="A broker's log directory, or a pattern; repeat for more.",
)
@click.option("-o", "--output", required=True, metavar="DIR", help="New directory for the output.")
@click.option("--overwrite", is_flag=True, help="Replace a directory that the same command wrote.")
@click.option(
    "--split-bytes",
    type=Size(),
    default="128MiB",
    show_default=True,
    help="How much one task reads, approximately; at least one partition.",
)
@click.option("--table", "tables", multiple=True, type=click.Choice(_OF_SPACE), help="Table to write; repeat for more.")
@click.option("--keys", is_flag=True, help="Read the keys of all partitions, not only of those below 64 MiB.")
@click.option(
    "--server-properties",
    type=click.Path(exists=True, dir_okay=False),
    help="The brokers' settings that the metadata log does not have.",
)
@click.option(
    "--topic-configs",
    type=click.Path(exists=True, dir_okay=False),
    help="The topics' settings if there is no metadata log: JSON, settings by topic.",
)
@click.option(
    "--now",
    type=Time(),
    metavar="TIME",
    help="The present.  [default: the clock if a broker runs, else the newest time]",
)
@storage_options
@remote_options
@limit_options
@status_options()
def bulk_space(inputs: tuple[str, ...], output: str, overwrite: bool, **_params: Any) -> int:
    """Measure the log directories of whole clusters and write what holds their bytes as Parquet.

    \b
        spark-submit bulk_space.py --input '/backups/broker-*' --output /space/2026-11-21
    """
    started = time.monotonic()
    with spark_job(inputs, output, "space", overwrite=overwrite, known=_settings()) as job:
        return _run_space(job, started)


def _run_space(job: SparkJob, started: float) -> int:
    from kafkalog.auditing.pipeline import as_text
    from kafkalog.auditing.space import SpaceOptions, read_broker_properties, read_topic_configs
    from kafkalog.provenance import PROVENANCE, SUCCESS, VERDICT, mark
    from kafkalog_spark.bulk_space import BulkSpace
    from kafkalog_spark.bulk_space import bulk_space as run

    params, output = job.params, job.output
    properties, configs = params["server_properties"], params["topic_configs"]
    options = SpaceOptions(
        limits_of(params), params["now"], params["keys"],
        {} if properties is None else read_broker_properties(properties),
        {} if configs is None else read_topic_configs(configs),
    )  # fmt: skip

    def status_of(done: BulkSpace) -> Exit:
        outcome = Outcome(Severity[params["fail_on"].upper()], incomplete=bool(done.unreadable))
        for finding in done.findings:
            outcome.take(finding)
        return outcome.status(exit_zero=params["exit_zero"])

    def said(done: BulkSpace) -> dict[str, str]:
        origin = mark(output.command) | {"arguments": sys.argv[1:]}
        ended = {"exit_status": int(status_of(done)), "unreadable": done.unreadable}
        return {VERDICT: as_text(ended), PROVENANCE: as_text(origin), SUCCESS: ""}

    output.make(overwrite=params["overwrite"])
    done = run(
        job.session, job.paths, output, options, tables=params["tables"] or _OF_SPACE,
        split_bytes=params["split_bytes"], storage=job.storage, said=said, progress=say,
    )  # fmt: skip
    for line in done.unreadable:
        say(f"error: {line}")
    say(f"measured {done.directories} directories in {time.monotonic() - started:.1f} s")
    return status_of(done)


def _settings() -> frozenset[str]:
    """Return the options that may be settings of a session: of both commands, for which a cluster has one file."""
    options = (*bulk_audit.params, *bulk_space.params)
    return frozenset(one.opts[-1].lstrip("-") for one in options if one.name not in ("more", "inputs", "output"))

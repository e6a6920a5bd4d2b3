"""What spark-submit is given: the audit, which is also ``txn-audit --engine spark``, and what holds the bytes.

A job has the session's configuration beside its options, and says what failed in words.
"""

from __future__ import annotations

import difflib
import re
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import click
from click.core import ParameterSource

from kafkalog.errors import UnreadableError
from kafkalog.escape import escape
from kafkalog.exit_status import Exit, Outcome
from kafkalog.findings import Severity
from kafkalog.narrowing import Narrowing
from kafkalog.tables.audit_tables import FINDINGS
from kafkalog.tables.space_tables import SPACE_TABLES
from kafkalog.unread import leaves_complete
from kafkalog_cli.help import GroupedCommand
from kafkalog_cli.options import (
    SHOWN,
    Option,
    audit_options,
    audit_options_of,
    in_order,
    limit_options,
    limits_of,
    partition_option,
    remote_options,
    say_reused,
    since_audit_option,
    space_options,
    status_options,
    storage_options,
    topic_option,
)
from kafkalog_cli.output import say, say_findings
from kafkalog_cli.params import SIZE, PathOrUri

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from kafkalog.auditing.transactions import AuditOptions
    from kafkalog.files.object_stores import StorageOptions
    from kafkalog_spark.job_output import Output

__all__ = ["bulk_audit", "bulk_space", "check_packages", "run_bulk"]


@dataclass(frozen=True, slots=True)
class SparkJob:
    """A session, and what the command and the session's configuration say: `params` are the command's parameters.

    `is_ours` says that the session was started for the job.
    """

    session: SparkSession
    paths: list[str]
    output: Output
    params: dict[str, Any]
    is_ours: bool

    @property
    def storage(self) -> StorageOptions:
        """Return how object stores are reached."""
        return _storage(self.params)


@contextmanager
def spark_job(
    paths: Sequence[str], output: str, command: str, *, overwrite: bool, master: str | None = None,
    arguments: Sequence[str] | None = None, check: Callable[[Output, dict[str, Any]], None] = lambda *_: None,
) -> Iterator[SparkJob]:  # fmt: skip
    """Hold an output and open a session; what can be refused without a session is refused before it.

    An unfinished output of a run with the same `arguments` is gone on with. `check` raises what the command refuses.
    """
    check_packages()
    from kafkalog.files.object_stores import set_storage_options
    from kafkalog.files.off_limits import refuse_evidence
    from kafkalog_spark.audit_job import listed
    from kafkalog_spark.ended_jobs import jvm_in_words
    from kafkalog_spark.job_output import Output
    from kafkalog_spark.session import active_session, configured, open_session, stop

    params = click.get_current_context().params | {"output": output, "overwrite": overwrite}
    set_storage_options(_storage(params))
    paths = listed(paths)
    target = Output(output, command)
    refuse_evidence(output, paths)
    target.refuse_existing(overwrite=overwrite or configured("overwrite") == "true", arguments=arguments)
    check(target, params)
    mine = active_session() is None
    with target.held(), jvm_in_words():
        session = open_session(master)
        try:
            _take_settings(session, command, params)
            set_storage_options(_storage(params))
            target.reach()  # by the options that the session's configuration may have set
            yield SparkJob(session, paths, target, params, mine)
        finally:
            if mine:
                stop(session)


def _storage(params: dict[str, Any]) -> StorageOptions:
    from kafkalog.files.object_stores import StorageOptions

    return StorageOptions(params.get("endpoint"), params.get("region"), params.get("anonymous", False))


def _take_settings(session: SparkSession, command: str, params: dict[str, Any]) -> None:
    """Let the session's settings fill in what was left out, and what `txn-audit` has no option for.

    Raises UsageError for one that does not exist.
    """
    from kafkalog_spark.session import setting_of, settings

    given, ctx = settings(session), click.get_current_context()
    options = {setting_of(option) for option in _settings()}
    for name in sorted(given.keys() - options):
        close = difflib.get_close_matches(name, options, 1)
        hint = f"did you mean {close[0]}?" if close else f"the settings are {', '.join(sorted(options))}"
        raise click.UsageError(f"the setting {name} does not exist: {hint}")
    of_job = bulk_space if command == "space" else bulk_audit
    left_out = (None, ParameterSource.DEFAULT)
    for param in {one.name: one for one in (*of_job.params, *ctx.command.params)}.values():
        name, value = param.name or "", given.get(setting_of(param.opts[-1].lstrip("-")))
        if value is not None and ctx.get_parameter_source(name) in left_out and name != "output":
            params[name] = param.type_cast_value(ctx, value.split(",") if param.multiple else value)


_output_options = in_order(
    click.option(
        "-o", "--output", type=PathOrUri(), required=True, metavar="DIR", help="New directory for the output."
    ),
    click.option("--overwrite", is_flag=True, help="Replace a directory that the same command wrote."),
)
_CONF: Final = "Every option except --input and --output can also be set as spark.kafkalog.…, with dots for dashes."


def _input_option(*, required: bool) -> Option:
    text = "A broker's log directory, or a pattern; repeat for more."
    return click.option(
        "--input", "inputs", type=PathOrUri(), multiple=True, required=required, metavar="DIR", help=text
    )


def _split_option(more: str = ".") -> Option:
    text = f"How much one task reads, approximately{more}"
    return click.option("--split-bytes", type=SIZE, default="128MiB", show_default=True, help=text)


@click.command("bulk_audit", cls=GroupedCommand, epilog=_CONF)
@click.argument("more", nargs=-1, type=PathOrUri(), metavar="[DIR]...")
@_input_option(required=False)
@_output_options
@_split_option()
@click.option(
    "--on-corrupt", type=click.Choice(("quarantine", "fail")), default="quarantine", show_default=True,
    help="If bytes are damaged: report them and continue, or stop before anything is written.",
)  # fmt: skip
@topic_option
@partition_option
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
        paths, output, "txn-audit", overwrite=overwrite, master=master, arguments=sys.argv[1:], check=_earlier
    ) as job:
        verdict, status = _run_audit(job, started)
    if verdict:
        print(escape(verdict))  # behind the job, which has not failed where nobody reads that any more
    return status


def _earlier(output: Output, params: dict[str, Any]) -> None:
    """Raise UnsupportedError for an earlier audit whose scans the job can't take."""
    from kafkalog_spark.audit_job import earlier_scans

    earlier_scans(output, params.get("since_audit"))


def _audit_options(params: Mapping[str, Any]) -> AuditOptions:
    names = ("snapshot", "copy_minutes", "now", "max_timeout_ms", "state_partitions")
    return audit_options_of(**{name: params[name] for name in names}, limits=limits_of(params))


def _run_audit(job: SparkJob, started: float) -> tuple[str, int]:
    """Return the verdict, empty where the job stopped before there was one, and the exit status."""
    from kafkalog.auditing.pipeline import SPLIT_BYTES
    from kafkalog_spark.audit_job import AuditOrder, run_audit
    from kafkalog_spark.bulk_audit import CorruptInputError
    from kafkalog_spark.session import JobPlan

    params, output = job.params, job.output
    plan = JobPlan(
        params.get("split_bytes", SPLIT_BYTES), storage=job.storage, progress=say, begun=started,
        hashed=params["hashed"] is not None, fail_on_corrupt=params.get("on_corrupt") == "fail", is_ours=job.is_ours,
        narrowing=Narrowing(tuple(params["topics"]), tuple(params["partitions"])),
    )  # fmt: skip
    order = AuditOrder(
        _audit_options(params), tuple(params["tables"] or SHOWN), plan, params.get("since_audit"),
        params.get("overwrite", False), tuple(sys.argv[1:]),
        Severity[params["fail_on"].upper()], params["exit_zero"],
    )  # fmt: skip
    try:
        found = run_audit(job.session, job.paths, output, order)
    except CorruptInputError as error:
        say(f"error: {error}")
        refused = Outcome(Severity.ERROR)
        refused.answered_no()
        return "", refused.status()
    say_reused(found.summary.reused, params.get("since_audit"), resumed=output.resumed)
    say_findings(found.summary.refused)
    return found.verdict.headline, found.verdict.status(order.fail_on, exit_zero=order.exit_zero)


# What holds the bytes of whole clusters' disks.


_OF_SPACE = (*(table.name for table in SPACE_TABLES), FINDINGS.name)


@click.command("bulk_space")
@_input_option(required=True)
@_output_options
@_split_option("; at least one partition.")
@click.option("--table", "tables", multiple=True, type=click.Choice(_OF_SPACE), help="Table to write; repeat for more.")
@space_options
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
    with spark_job(inputs, output, "space", overwrite=overwrite) as job:
        return _run_space(job, started)


def _run_space(job: SparkJob, started: float) -> int:
    from kafkalog.auditing.pipeline import as_text
    from kafkalog.auditing.space import SpaceOptions, read_broker_properties, read_topic_configs
    from kafkalog.provenance import PROVENANCE, SUCCESS, VERDICT, mark
    from kafkalog_spark.bulk_space import BulkSpace
    from kafkalog_spark.bulk_space import bulk_space as run
    from kafkalog_spark.session import JobPlan

    params, output = job.params, job.output
    properties, configs = params["server_properties"], params["topic_configs"]
    options = SpaceOptions(
        limits_of(params), params["now"], params["keys"],
        {} if properties is None else read_broker_properties(properties),
        {} if configs is None else read_topic_configs(configs),
    )  # fmt: skip

    def status_of(done: BulkSpace) -> Exit:
        outcome = Outcome(Severity[params["fail_on"].upper()])
        for finding in done.findings:
            outcome.count(finding.code, finding.severity)
        return outcome.status(exit_zero=params["exit_zero"])

    def said(done: BulkSpace) -> dict[str, str]:
        origin = mark(output.command) | {"arguments": sys.argv[1:]}
        ended = {"exit_status": int(status_of(done))}
        return {VERDICT: as_text(ended), PROVENANCE: as_text(origin), SUCCESS: ""}

    output.make_directory(overwrite=params["overwrite"])
    done = run(
        job.session, job.paths, output, options, tables=params["tables"] or _OF_SPACE,
        plan=JobPlan(params["split_bytes"], storage=job.storage, progress=say, is_ours=job.is_ours), said=said,
    )  # fmt: skip
    say_findings(one for one in done.findings if not leaves_complete(one.code))
    say(f"measured {done.directories} directories in {time.monotonic() - started:.1f} s")
    return status_of(done)


def _settings() -> frozenset[str]:
    """Return the options that may be settings of a session: of both commands, for which a cluster has one file."""
    options = (*bulk_audit.params, *bulk_space.params)
    return frozenset(one.opts[-1].lstrip("-") for one in options if one.name not in ("more", "inputs", "output"))


_LEAST: Final = (3, 5)
_INSTALL: Final = "pip install 'pyspark<5' 'pandas<3' pyarrow"


def check_packages() -> None:
    """Check the driver's packages. Raises UnreadableError, in one line, where one is missing or too old."""
    try:
        import pyspark
    except ImportError as error:
        raise UnreadableError(f"Spark needs pyspark: {_INSTALL}") from error
    version = pyspark.__version__
    found = re.match(r"(\d+)\.(\d+)", version)
    if found is not None and (int(found[1]), int(found[2])) < _LEAST:
        raise UnreadableError(f"kafkalog needs Spark {'.'.join(map(str, _LEAST))} or newer: this is pyspark {version}")
    try:
        import pandas  # noqa: F401  # pyspark asks for it wherever Arrow is used
        import pyarrow  # noqa: F401  # the tables
    except ImportError as error:
        raise UnreadableError(f"the driver lacks the Python package {error.name}: {_INSTALL}") from error

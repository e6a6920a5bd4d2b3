"""``kafkalog space`` as a Spark job: what spark-submit is given."""

from __future__ import annotations

import sys
import time
from typing import Any

import click

from kafkalog.findings import Severity
from kafkalog.tables.audit_tables import FINDINGS
from kafkalog.tables.space_tables import SPACE_TABLES
from kafkalog_cli.exit import Outcome, OutputError
from kafkalog_cli.options import limit_options, limits_of, remote_options, status_options, storage_options
from kafkalog_cli.output import say
from kafkalog_cli.params import Size, Time
from kafkalog_cli.submit_audit import absolute, jvm_in_words

__all__ = ["bulk_space"]

_TABLES = (*(table.name for table in SPACE_TABLES), FINDINGS.name)


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
@click.option("--table", "tables", multiple=True, type=click.Choice(_TABLES), help="Table to write; repeat for more.")
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
def bulk_space(
    inputs: tuple[str, ...], output: str, overwrite: bool, split_bytes: int, tables: tuple[str, ...], keys: bool,
    server_properties: str | None, topic_configs: str | None, now: Any, fail_on: str, exit_zero: bool, **others: Any,
) -> int:  # fmt: skip
    """Measure the log directories of whole clusters and write what holds their bytes as Parquet.

    \b
        spark-submit bulk_space.py --input '/backups/broker-*' --output /space/2026-11-21
    """
    try:
        from kafkalog_spark.session import active_session, open_session, stop
    except ImportError as error:
        raise OutputError("Spark needs pyspark: pip install 'kafkalog[spark]'") from error
    from kafkalog.auditing.pipeline import as_text
    from kafkalog.auditing.space import SpaceOptions, read_broker_properties, read_topic_configs
    from kafkalog.files.directories import expand
    from kafkalog.files.object_stores import StorageOptions, set_storage_options
    from kafkalog.files.off_limits import refuse_evidence
    from kafkalog.provenance import PROVENANCE, SUCCESS, mark
    from kafkalog_spark.bulk_space import bulk_space as run
    from kafkalog_spark.job_output import Output, OutputFailedError

    started, mine = time.monotonic(), active_session() is None
    storage = StorageOptions(others["endpoint"], others["region"], others["anonymous"])
    options = SpaceOptions(
        limits_of(others), now, keys,
        {} if server_properties is None else read_broker_properties(server_properties),
        {} if topic_configs is None else read_topic_configs(topic_configs),
    )  # fmt: skip
    set_storage_options(storage)
    paths = [path for pattern in inputs for path in expand(absolute(pattern))]
    tables = tables or _TABLES
    try:
        folder = Output(output, "space")
        refuse_evidence(output, paths)
        folder.refuse_existing(overwrite=overwrite)
        with folder.held(), jvm_in_words():
            session = open_session()
            try:
                folder.make(overwrite=overwrite)
                said = {PROVENANCE: as_text(mark(folder.command) | {"arguments": sys.argv[1:]}), SUCCESS: ""}
                done = run(
                    session, paths, folder, options, tables=tables, split_bytes=split_bytes, storage=storage, said=said
                )
            finally:
                if mine:
                    stop(session)
    except OutputFailedError as error:
        raise OutputError(str(error)) from error
    for line in done.unreadable:
        say(f"error: {line}")
    outcome = Outcome(Severity[fail_on.upper()], incomplete=bool(done.unreadable))
    for finding in done.findings:
        outcome.take(finding)
    say(f"measured {done.directories} directories in {time.monotonic() - started:.1f} s")
    return outcome.status(exit_zero=exit_zero)

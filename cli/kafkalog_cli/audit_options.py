"""The options that every audit has, local or on Spark."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import click

from kafkalog.tables.audit_tables import AUDIT_TABLES
from kafkalog_cli.options import (
    in_order,
    limit_options,
    limits_of,
    remote_options,
    status_options,
    table_option,
)
from kafkalog_cli.output import say
from kafkalog_cli.params import TIMES, Time

if TYPE_CHECKING:
    from kafkalog.auditing.transactions import AuditOptions, Reused

__all__ = ["SHOWN", "TABLE_NAMES", "audit_options", "audit_options_of", "say_reused", "since_audit_option"]

TABLE_NAMES: Final = tuple(table.name for table in AUDIT_TABLES)
SHOWN: Final = tuple(name for name in TABLE_NAMES if name != "visible")  # visible only when asked for

since_audit_option: Final = click.option(
    "--since-audit", type=click.Path(file_okay=False), metavar="PREVIOUS",
    help="Scan only segments that are new or changed since this output of an earlier audit.",
)  # fmt: skip

audit_options: Final = in_order(
    table_option(TABLE_NAMES),
    click.option("--now", type=Time(), metavar="TIME",
                 help=f"Treat this time as the present: {TIMES}  [default: newest broker time]"),
    click.option(
        "--snapshot", is_flag=True, help="The inputs show one moment: a file system snapshot, or a stopped broker."
    ),
    click.option(
        "--copy-minutes", type=click.FloatRange(min=0), default=10.0, show_default=True, help="How long the copy took."
    ),
    click.option(
        "--transaction-max-timeout-ms", "max_timeout_ms", type=click.IntRange(min=0), default=900_000,
        show_default=True, help="The brokers' transaction.max.timeout.ms.",
    ),
    click.option(
        "--transaction-state-partitions", "state_partitions", type=click.IntRange(min=1),
        help="Number of partitions of __transaction_state, if no metadata log gives it.",
    ),
    click.option("--hash", "hashed", is_flag=True, help="With Parquet: add each segment's SHA-256 to provenance.json."),
    remote_options,
    limit_options,
    status_options(),
)  # fmt: skip


def audit_options_of(params: Mapping[str, Any], jobs: int | None = None) -> AuditOptions:
    """Return the parameters of the audit itself from a command's."""
    from kafkalog.auditing.transactions import AuditOptions

    return AuditOptions(
        limits_of(params), snapshot=params["snapshot"], copy_ms=round(params["copy_minutes"] * 60_000),
        now=params["now"], max_timeout_ms=params["max_timeout_ms"], state_partitions=params["state_partitions"],
        jobs=jobs,
    )  # fmt: skip


def say_reused(reused: Reused, previous: str | None, *, resumed: bool) -> None:
    """Report what a run took of an earlier run that it `resumed`, and if it took nothing of a `previous` audit."""
    if resumed and reused.resumed:  # else by a task that Spark lost
        say(f"{reused.resumed:,} of {reused.segments:,} segments were scanned by the earlier run")
    elif previous is not None and reused.segments and not reused.taken:
        say(
            f"all {reused.segments:,} segments were scanned: no scan that {previous} kept is of one of them. It needs"
            " the same cluster, node, file times, limits and version of kafkalog, with --hash the same SHA-256, and "
            "segments of at least 256 KiB"
        )

"""The options that every audit has, whatever does the work."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import click

from kafkalog.findings import Severity
from kafkalog.tables.audit import AUDIT_TABLES
from kafkalog_cli.params import Time

__all__ = ["SHOWN", "TABLE_NAMES", "audit_options"]

TABLE_NAMES: Final = tuple(table.name for table in AUDIT_TABLES)
SHOWN: Final = tuple(name for name in TABLE_NAMES if name != "visible")  # visible only when asked for

_OPTIONS: Final = (
    click.option(
        "--table", "tables", multiple=True, type=click.Choice(TABLE_NAMES), help="Table to show; repeat for more."
    ),
    click.option("--now", type=Time(), help="Treat this time as the present.  [default: newest broker time]"),
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
    click.option(
        "--fail-on", type=click.Choice([level.word for level in Severity]), default="warning", show_default=True,
        help="Lowest severity that makes the exit status 1.",
    ),
    click.option("--exit-zero", is_flag=True, help="Exit with 0 despite findings; unreadable input still gives 3."),
)  # fmt: skip


def audit_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command

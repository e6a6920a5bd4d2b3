"""``kafkalog diff``: what changed between two copies, or two audits, of one cluster."""

from __future__ import annotations

import sys
import time
from typing import Any, Final

import click

from kafkalog import Limits, Severity
from kafkalog.tables import SCHEMA_VERSION, TABLES
from kafkalog.tables.change_tables import CHANGES, DIFF_TABLES
from kafkalog.zone import Zone
from kafkalog_cli.help import GroupedCommand
from kafkalog_cli.options import (
    ROW_FORMS,
    columns_option,
    findings_option,
    format_option,
    jobs_option,
    limit_options,
    output_options,
    row_form,
    status_options,
    table_option,
    tz_option,
    unpacked,
    unpacked_option,
)
from kafkalog_cli.output import Target
from kafkalog_cli.params import PROSE_FORMS, PROSE_SUFFIXES

__all__ = ["diff"]

_NAMES: Final = tuple(table.name for table in DIFF_TABLES)


@click.command("diff", cls=GroupedCommand)
@click.argument("old", type=click.Path(exists=True))
@click.argument("new", type=click.Path(exists=True))
@format_option((*ROW_FORMS, *PROSE_FORMS))
@findings_option
@tz_option
@table_option(_NAMES)
@click.option("--all", "everything", is_flag=True, help="Show all rows of all tables.")
@columns_option(DIFF_TABLES)
@limit_options
@jobs_option
@unpacked_option
@output_options("Write to this file; without a suffix, to this new directory with a file for each table.")
@status_options()
def diff(
    old: str, new: str, form: str | None, findings: bool, zone: Zone, tables: tuple[str, ...], everything: bool,
    columns: tuple[str, ...], jobs: int | None, target: Target, fail_on: str, exit_zero: bool, limits: Limits,
) -> int:  # fmt: skip
    """Say what changed from OLD to NEW: two copies of a broker's directories, or two outputs of audits of them.

    The exit status is 1 when something got worse: an incident is new or has grown, or a log did what no healthy broker
    does.

    \b
        kafkalog diff monday/log.dirs tuesday/log.dirs
        kafkalog diff monday-audit tuesday-audit
        kafkalog diff --format ndjson --table changes OLD NEW | jq 'select(.what == "truncated")'
    """
    form = row_form(form, target, tables, columns, PROSE_SUFFIXES)
    if form in PROSE_FORMS and (tables or columns):
        raise click.UsageError(f"--format {form} has all tables.")
    from kafkalog.auditing.transactions import AuditOptions
    from kafkalog.over_time import diff as compared
    from kafkalog.provenance import mark
    from kafkalog_cli.render.people import style
    from kafkalog_cli.render.report_forms import is_report, print_headline, write_form
    from kafkalog_cli.render.sinks import write_output

    started = time.time()
    sides = unpacked((old,)), unpacked((new,))
    found = compared(*sides, AuditOptions(limits, jobs), (old, new))
    status = found.outcome(Severity[fail_on.upper()]).status(exit_zero=exit_zero)

    def origin() -> dict[str, Any]:
        return mark(target.command) | {
            "schema_version": SCHEMA_VERSION, "arguments": sys.argv[1:],
            "started_ms": round(started * 1000), "ended_ms": round(time.time() * 1000),
        }  # fmt: skip

    if is_report(form, tables, columns, everything=everything):
        with target.stream((old, new)) as stream:
            write_form(form, found, origin, stream, zone=zone, style=style(target.on_terminal), findings=findings)
    else:
        shown = tables or (_NAMES if everything or form != "table" else (CHANGES.name,))
        rows = [(TABLES[name], found.cells(name)) for name in shown]
        write_output(form, rows, target, (old, new), columns=columns, zone=zone)
    if target.path is not None:
        print_headline(found)
    return status

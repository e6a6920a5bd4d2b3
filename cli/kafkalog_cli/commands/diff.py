"""``kafkalog diff``: what changed between two copies, or two audits, of one cluster."""

from __future__ import annotations

import sys
import time
from typing import Any, Final

import click

from kafkalog import Limits
from kafkalog.tables import SCHEMA_VERSION, TABLES
from kafkalog.tables.change_tables import CHANGES, DIFF_TABLES
from kafkalog_cli.help import GroupedCommand
from kafkalog_cli.options import (
    Failing,
    all_option,
    check_report,
    check_rows,
    columns_option,
    findings_option,
    full_option,
    jobs_option,
    limit_options,
    output_options,
    showing_options,
    status_options,
    table_option,
    tz_option,
    unpacked,
    unpacked_option,
)
from kafkalog_cli.render.forms import PROSE, ROWS
from kafkalog_cli.render.showing import Showing, Told

__all__ = ["diff"]

_NAMES: Final = tuple(table.name for table in DIFF_TABLES)


@click.command("diff", cls=GroupedCommand)
@click.argument("old", type=click.Path(exists=True))
@click.argument("new", type=click.Path(exists=True))
@showing_options(
    findings_option, full_option, tz_option, table_option(_NAMES), all_option, columns_option(DIFF_TABLES),
    output_options("Write to this file; without a suffix, to this new directory with a file for each table."),
    forms=(*ROWS, *PROSE),
)  # fmt: skip
@limit_options
@jobs_option
@unpacked_option
@status_options()
def diff(old: str, new: str, showing: Showing, jobs: int | None, failing: Failing, limits: Limits) -> int:
    """Say what changed from OLD to NEW: two copies of a broker's directories, or two outputs of audits of them.

    The exit status is 1 when something got worse: an incident is new or has grown, or a log did what no healthy broker
    does.

    \b
        kafkalog diff monday/log.dirs tuesday/log.dirs
        kafkalog diff monday-audit tuesday-audit
        kafkalog diff --format ndjson --table changes OLD NEW | jq 'select(.what == "truncated")'
    """
    check_rows(showing, showing.tables)
    check_report(showing)
    from kafkalog.auditing.transactions import AuditOptions
    from kafkalog.over_time import diff as compared
    from kafkalog.provenance import mark
    from kafkalog.reports import screen_of
    from kafkalog_cli.render.report_forms import is_report, print_headline, write_form
    from kafkalog_cli.render.sinks import write_output

    started = time.time()
    sides = unpacked((old,)), unpacked((new,))
    found = compared(*sides, AuditOptions(limits, jobs), (old, new))
    screen = screen_of(found)

    def origin() -> dict[str, Any]:
        return mark(showing.target.command) | {
            "schema_version": SCHEMA_VERSION, "arguments": sys.argv[1:],
            "started_ms": round(started * 1000), "ended_ms": round(time.time() * 1000),
        }  # fmt: skip

    if is_report(showing):
        write_form(Told(found, screen, origin), showing, (old, new))
    else:
        shown = showing.tables or (_NAMES if showing.everything or not showing.form.draws else (CHANGES.name,))
        write_output(showing, [(TABLES[name], found.cells(name)) for name in shown], (old, new))
    if showing.target.path is not None:
        print_headline(screen.verdict)
    return failing.status_of(screen.verdict)

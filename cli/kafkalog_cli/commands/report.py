"""``kafkalog report``: an audit that was written to Parquet as a report, without reading the evidence again."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from kafkalog.zone import Zone
from kafkalog_cli.help import GroupedCommand
from kafkalog_cli.options import (
    existing_directory,
    findings_option,
    full_option,
    output_options,
    showing_options,
    tz_option,
)
from kafkalog_cli.output import say
from kafkalog_cli.render.forms import FORMS
from kafkalog_cli.render.showing import Showing, Told

if TYPE_CHECKING:
    from kafkalog.reports import Night, WrittenAudit

__all__ = ["report"]


@click.command("report", cls=GroupedCommand)
@click.argument("audit", callback=existing_directory, metavar="AUDIT")
@showing_options(
    findings_option, full_option, tz_option, output_options("Write to this file.", folders=False),
    forms=[form for form in FORMS.values() if form.report is not None],
    default="table; with -o, from its suffix", bare=None,
)  # fmt: skip
@click.option("--nights", type=click.Path(path_type=Path, exists=True, file_okay=False), metavar="NIGHTS",
              help="In HTML: show how the audits in the directories below NIGHTS ended.")  # fmt: skip
def report(audit: str, showing: Showing, nights: Path | None) -> int:
    """Show the report of AUDIT, a directory or URI to which txn-audit or the bulk audit on Spark wrote.

    \b
        kafkalog txn-audit /copy/of/log.dirs -o audit
        kafkalog report audit -o report.html
        kafkalog report --nights nights nights/2026-11-21 -o report.html
    """
    from kafkalog.reports import WrittenAudit, screen_of
    from kafkalog_cli.render.report_forms import write_form

    if nights is not None and not showing.form.nights:
        raise click.UsageError("--nights is shown in HTML alone: kafkalog history NIGHTS has it as text.")
    source = WrittenAudit(audit)
    source.check_command()
    strip = () if nights is None else _strip(nights, source, showing.zone)
    write_form(Told(source, screen_of(source), source.origin, nights=strip), showing, [audit])
    return 0


def _strip(nights: Path, source: WrittenAudit, zone: Zone) -> Sequence[Night]:
    """Return the nights of the audit's own cluster, up to it."""
    from kafkalog.over_time import history

    found, unreadable = history(nights)
    for line in unreadable:
        say(f"error: {line}")
    if source.run is None:
        return ()
    run = source.run
    return [
        night
        for one in found
        if one.cluster_id == run.cluster_id
        for night, row in zip(one.strip(zone), one.nights, strict=True)
        if row["started_ms"] <= run.started_ms
    ]

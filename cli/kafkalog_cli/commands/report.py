"""``kafkalog report``: an audit that was written to Parquet as a report, without reading the evidence again."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from kafkalog.zone import Zone
from kafkalog_cli.help import GroupedCommand
from kafkalog_cli.options import (
    ALONE,
    existing_place,
    findings_option,
    full_option,
    incident_option,
    output_options,
    showing_options,
    tz_option,
)
from kafkalog_cli.output import say
from kafkalog_cli.render.forms import FORMS
from kafkalog_cli.render.showing import Showing, Told

if TYPE_CHECKING:
    from kafkalog.reports import AuditSource, Night, WrittenAudit

__all__ = ["report"]


@click.command("report", cls=GroupedCommand)
@click.argument("audit", callback=existing_place, metavar="AUDIT")
@showing_options(
    findings_option, full_option, tz_option, output_options("Write to this file.", folders=False),
    forms=[form for form in FORMS.values() if form.report is not None],
    default="table; with -o, from its suffix", bare=None,
)  # fmt: skip
@click.option("--nights", type=click.Path(path_type=Path, exists=True, file_okay=False), metavar="NIGHTS",
              help="In HTML: how the audits below NIGHTS ended, and what changed since the one before.")  # fmt: skip
@incident_option("Show only these incidents, with all of their events and steps")
def report(audit: str, showing: Showing, nights: Path | None, incident: str | None) -> int:
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
    if incident is not None and not showing.form.draws:
        raise click.UsageError(ALONE)
    source = WrittenAudit(audit)
    source.check_command()
    strip, before = ((), None) if nights is None else _strip(nights, source, showing.zone)
    since = None if before is None else _since(before, audit)
    told = Told(source, screen_of(source), source.origin, incident=incident, nights=strip, since=since)
    write_form(told, showing, [audit])
    return 0


def _since(before: str, audit: str) -> AuditSource | None:
    """Return what changed since the night before, None where the two are not compared, which is said."""
    from kafkalog.auditing.transactions import AuditOptions
    from kafkalog.errors import UnreadableError, UnsupportedError
    from kafkalog.over_time import diff

    try:
        return diff([before], [audit], AuditOptions())
    except (UnreadableError, UnsupportedError) as error:
        say(f"not compared with {before}: {error}")
        return None


def _strip(nights: Path, source: WrittenAudit, zone: Zone) -> tuple[Sequence[Night], str | None]:
    """Return the nights of the audit's own cluster, up to it, and where the one before it is."""
    from kafkalog.over_time import history

    found, unreadable = history(nights)
    for line in unreadable:
        say(f"error: {line}")
    if source.run is None:
        return (), None
    run = source.run
    known = [
        (night, row)
        for one in found
        if one.cluster_id == run.cluster_id
        for night, row in zip(one.strip(zone), one.nights, strict=True)
        if row["started_ms"] <= run.started_ms
    ]
    earlier = [row["audit"] for _, row in known if row["started_ms"] < run.started_ms]
    return [night for night, _ in known], earlier[-1] if earlier else None

"""``kafkalog report``: an audit that was written to Parquet as a report, without reading the evidence again."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from kafkalog.zone import Zone
from kafkalog_cli.help import GroupedCommand
from kafkalog_cli.options import existing_directory, findings_option, format_option, output_options, tz_option
from kafkalog_cli.output import Target, say
from kafkalog_cli.params import REPORT_FORMS, REPORT_SUFFIXES, check_name, form_of

if TYPE_CHECKING:
    from kafkalog.reports import Night, WrittenAudit

__all__ = ["report"]


@click.command("report", cls=GroupedCommand)
@click.argument("audit", callback=existing_directory, metavar="AUDIT")
@format_option(("table", *REPORT_FORMS), "table; with -o, from its suffix")
@findings_option
@tz_option
@click.option("--nights", type=click.Path(path_type=Path, exists=True, file_okay=False), metavar="NIGHTS",
              help="In HTML: show how the audits in the directories below NIGHTS ended.")  # fmt: skip
@output_options("Write to this file.", folders=False)
def report(audit: str, form: str | None, findings: bool, zone: Zone, nights: Path | None, target: Target) -> int:
    """Show the report of AUDIT, a directory or URI to which txn-audit or the bulk audit on Spark wrote.

    \b
        kafkalog txn-audit /copy/of/log.dirs -o audit
        kafkalog report audit -o report.html
        kafkalog report --nights nights nights/2026-11-21 -o report.html
    """
    from kafkalog.reports import WrittenAudit
    from kafkalog_cli.render.people import style
    from kafkalog_cli.render.report_forms import write_form

    form = form or ("table" if target.path is None else form_of(target.path, REPORT_SUFFIXES))
    check_name(form, target.path)
    if nights is not None and form != "html":
        raise click.UsageError("--nights is shown in HTML alone: kafkalog history NIGHTS has it as text.")
    source = WrittenAudit(audit)
    strip = () if nights is None else _strip(nights, source, zone)
    with target.stream([audit]) as stream:
        write_form(
            form, source, source.origin, stream, zone=zone, style=style(target.on_terminal),
            findings=findings, nights=strip,
        )  # fmt: skip
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

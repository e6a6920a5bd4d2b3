"""``kafkalog report``: an audit that was written to Parquet as a report, without reading the evidence again."""

from __future__ import annotations

import click

from kafkalog.zone import Zone
from kafkalog_cli.help import GroupedCommand
from kafkalog_cli.options import existing_directory, findings_option, format_option, output_options, tz_option
from kafkalog_cli.output import Target
from kafkalog_cli.params import REPORT_FORMS, REPORT_SUFFIXES, check_name, form_of

__all__ = ["report"]


@click.command("report", cls=GroupedCommand)
@click.argument("audit", callback=existing_directory, metavar="AUDIT")
@format_option(("table", *REPORT_FORMS), "table; with -o, from its suffix")
@findings_option
@tz_option
@output_options("Write to this file.", folders=False)
def report(audit: str, form: str | None, findings: bool, zone: Zone, target: Target) -> int:
    """Show the report of AUDIT, a directory or URI to which txn-audit or the bulk audit on Spark wrote.

    \b
        kafkalog txn-audit /copy/of/log.dirs -o audit
        kafkalog report audit -o report.html
    """
    from kafkalog.reports import WrittenAudit
    from kafkalog_cli.render.report_forms import write_form
    from kafkalog_cli.render.sinks import style

    form = form or ("table" if target.path is None else form_of(target.path, REPORT_SUFFIXES))
    check_name(form, target.path)

    source = WrittenAudit(audit)
    with target.stream([audit]) as stream:
        write_form(
            form, source, source.origin, stream, zone=zone, style=style(target.on_terminal),
            findings=findings,
        )  # fmt: skip
    return 0

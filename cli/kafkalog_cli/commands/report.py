"""``kafkalog report``: an audit that was written to Parquet as a report, without reading the evidence again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from kafkalog_cli.options import findings_option, format_option, output_option, tz_option
from kafkalog_cli.output import data_stream, is_terminal
from kafkalog_cli.params import REPORT_FORMS, form_of
from kafkalog_cli.render.zone import Zone

__all__ = ["report"]


@click.command("report")
@click.argument("audit", type=click.Path(path_type=Path, exists=True, file_okay=False), metavar="AUDIT")
@format_option(("table", *REPORT_FORMS), "table; with -o, from its suffix")
@findings_option
@tz_option
@output_option("Write to this file.", directory=False)
def report(audit: Path, form: str | None, findings: bool, zone: Zone, output: Path | None) -> int:
    """Show the report of AUDIT, a directory that txn-audit or the bulk audit on Spark has written.

    \b
        kafkalog txn-audit /copy/of/log.dirs -o audit
        kafkalog report audit -o report.html
    """
    from kafkalog.auditing.pipeline import PROVENANCE
    from kafkalog.reports import WrittenAudit
    from kafkalog_cli.render.reports import write_form
    from kafkalog_cli.render.sinks import style

    form = form or ("table" if output is None else form_of(output))

    def origin() -> dict[str, Any]:
        file = audit / PROVENANCE
        return dict(json.loads(file.read_bytes())) if file.is_file() else {}

    with data_stream(output, [audit]) as stream:
        write_form(
            form, WrittenAudit(audit), origin, stream, zone=zone, style=style(output is None and is_terminal()),
            findings=findings,
        )  # fmt: skip
    return 0

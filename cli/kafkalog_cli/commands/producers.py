"""``kafkalog producers``: who wrote to topics, and how much of it when."""

from __future__ import annotations

from dataclasses import replace

import click

from kafkalog.tables.writer_tables import RATES, WRITERS
from kafkalog_cli.help import GroupedCommand
from kafkalog_cli.options import jobs_option, remote_options
from kafkalog_cli.output import is_terminal
from kafkalog_cli.views import ViewOutput, view_options

__all__ = ["producers"]


@click.command("producers", cls=GroupedCommand)
@click.option("--topic", "topics", multiple=True, metavar="NAME|GLOB",
              help="Only this topic, or those that match.  [default: all but internal ones]")  # fmt: skip
@click.option("--by", type=click.Choice(("minute", "hour", "day")),
              help="Count what each wrote in this time: as text a line for each, else the table rates.")  # fmt: skip
@remote_options
@jobs_option
@view_options((WRITERS, RATES), (WRITERS,), has_moment=False)
def producers(view: ViewOutput, topics: tuple[str, ...], by: str | None, jobs: int | None) -> int:
    """Show who wrote to topics under DIRs: producers and their transactional ids, since when, how much.

    Producers without an id are one row for each topic. Batches are counted by their headers, at their newest timestamp.

    \b
        kafkalog producers --topic orders /copy/of/log.dirs
        kafkalog producers --topic orders --by minute /copy/of/log.dirs
        kafkalog producers --by hour --format csv /copy/of/log.dirs
    """
    from kafkalog.auditing.topics import SPANS, writer_rows

    is_drawn = by is not None and view.is_text and view.tables == (WRITERS,)
    if by is not None and view.tables == (WRITERS,):
        view = replace(view, tables=(RATES,))
    rows = writer_rows(view.paths, topics, by, view.limits, view.names, jobs)
    if not is_drawn:
        return view.write_rows(rows)
    from kafkalog_cli.render.drawings import rate_lines
    from kafkalog_cli.render.people import is_ascii, width

    wide = width() if is_terminal() else 80
    return view.draw(
        rows, lambda found: rate_lines(found, by or "", SPANS[by or ""], width=wide, ascii_only=is_ascii())
    )

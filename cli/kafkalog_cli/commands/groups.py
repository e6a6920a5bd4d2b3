"""``kafkalog groups``: what each group had committed, and what it was, at any moment."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, TypeVar

import click

from kafkalog import Finding
from kafkalog.segments.moment import Moment
from kafkalog.tables.internal_tables import (
    COMMIT_EVENTS,
    COMMIT_LINES,
    COMMITTED,
    GROUPS,
    INTERNAL,
    OFFSETS,
    SHARE_OFFSETS,
)
from kafkalog_cli.help import GroupedCommand
from kafkalog_cli.options import jobs_option, remote_options
from kafkalog_cli.output import say
from kafkalog_cli.views import ViewOutput, view_options

__all__ = ["groups"]

_OVER_TIME: Final = (COMMIT_LINES, COMMIT_EVENTS)


@click.command("groups", cls=GroupedCommand)
@click.option("--group", "wanted", multiple=True, metavar="NAME|GLOB",
              help="Only this group, or those that match; repeat for more.")  # fmt: skip
@click.option("--no-lag", is_flag=True,
              help="Read no logs of the partitions: the columns that compare offsets with them are null.")  # fmt: skip
@click.option("--over-time", is_flag=True,
              help="Show the commits of --group as a line for each partition, and where it breaks: steps back, silence,"
                   " deletions, truncations.")  # fmt: skip
@remote_options
@jobs_option
@view_options((GROUPS, COMMITTED, *_OVER_TIME, SHARE_OFFSETS, OFFSETS, INTERNAL), (GROUPS, COMMITTED, SHARE_OFFSETS))
def groups(
    view: ViewOutput, at: Moment | None, wanted: tuple[str, ...], jobs: int | None, no_lag: bool, over_time: bool
) -> int:
    """Show the groups under DIRs and where each would start again: committed, pending, aborted and deleted offsets.

    Where the partitions' logs are under DIRs, too, show how far behind each is, and what it waits for. With --at, show
    the groups at that moment, without the logs. The table offsets has every commit, the table internal every record.

    \b
        kafkalog groups /copy/of/log.dirs
        kafkalog groups --table committed --columns group,topic,partition,offset,lag,visible_lag,stuck_by DIR
        kafkalog groups --group billing --at 2026-11-21T03:00:00Z /copy/of/log.dirs
        kafkalog groups --group billing --over-time /copy/of/log.dirs
    """
    from kafkalog.auditing.topics import group_rows

    if over_time:
        if not wanted:
            raise click.UsageError("--over-time keeps every commit in memory: say of which groups with --group")
        view = view.showing_tables(_OVER_TIME)
    rows = group_rows(
        view.paths, at, view.limits, groups=wanted, tables=view.names, jobs=jobs, form=view.row_form, lag=not no_lag
    )
    return view.write_rows(_told(rows) if view.showing.form.draws else rows)


_STEPS: Final = ("offset-went-back", "offset-deleted")


_Item = TypeVar("_Item")


def _told(rows: Iterable[_Item]) -> Iterator[_Item]:
    """Tell people which groups went back, and which lost their offsets, though these are notes."""
    for item in rows:
        if isinstance(item, Finding) and item.code in _STEPS:
            say(f"note: {item.message}")
        yield item

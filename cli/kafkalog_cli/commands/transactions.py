"""``kafkalog transactions``: the life of each transactional id, as the coordinator recorded it."""

from __future__ import annotations

from typing import Final

import click

from kafkalog.segments.moment import Moment
from kafkalog.tables.internal_tables import INTERNAL, TRANSITION_STATES, TRANSITIONS
from kafkalog_cli.help import GroupedCommand
from kafkalog_cli.options import jobs_option, transactional_id_option
from kafkalog_cli.views import ViewOutput, view_options

__all__ = ["transactions"]

_OPEN: Final = ("ongoing", "prepare_commit", "prepare_abort", "prepare_epoch_fence")


@click.command("transactions", cls=GroupedCommand)
@transactional_id_option
@click.option(
    "--state",
    multiple=True,
    type=click.Choice((*TRANSITION_STATES, "open")),
    help="Only steps that lead to this state; open: to one in which the transaction is not ended.",
)
@click.option("--prepared", is_flag=True,
              help="Only two-phase commits that wait for their owner, now or at --at: no timeout ends them. Whether the"
                   " owner has prepared one, no record says.")  # fmt: skip
@jobs_option
@view_options((TRANSITIONS, INTERNAL), (TRANSITIONS,))
def transactions(
    view: ViewOutput, at: Moment | None, transactional_ids: tuple[str, ...], state: tuple[str, ...], jobs: int | None,
    prepared: bool,
) -> int:  # fmt: skip
    """Show each step of each transactional id under DIRs: begun, decided, ended or fenced, and with which producer id.

    With --at, show only the step that each id was in at that moment. The table internal has the records.

    \b
        kafkalog transactions /copy/of/log.dirs
        kafkalog transactions --at 2026-11-21T03:00:00Z --state ongoing /copy/of/log.dirs
        kafkalog transactions --prepared --columns transactional_id,start_timestamp_ms,partitions /copy/of/log.dirs
    """
    from kafkalog.auditing.topics import WantedSteps, transition_rows

    rows = transition_rows(
        view.paths,
        at,
        view.limits,
        tables=view.names,
        ids=transactional_ids,
        jobs=jobs,
        form=view.row_form,
        wanted=WantedSteps(tuple(word for one in state for word in (_OPEN if one == "open" else (one,))), prepared),
    )
    return view.write_rows(rows)

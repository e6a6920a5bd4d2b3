"""``kafkalog metadata``: brokers, topics, partitions and settings over time, from the controller's log."""

from __future__ import annotations

import click

from kafkalog.segments.moment import Moment
from kafkalog.tables.internal_tables import INTERNAL
from kafkalog.tables.metadata_tables import BROKERS, CONFIGS, FEATURES, LEADERSHIP, METADATA, TOPICS
from kafkalog_cli.help import GroupedCommand
from kafkalog_cli.options import topic_option
from kafkalog_cli.views import ViewOutput, view_options

__all__ = ["metadata"]


@click.command("metadata", cls=GroupedCommand)
@topic_option
@view_options(
    (BROKERS, FEATURES, TOPICS, CONFIGS, LEADERSHIP, METADATA, INTERNAL),
    (BROKERS, FEATURES, TOPICS, CONFIGS, LEADERSHIP),
)
def metadata(view: ViewOutput, at: Moment | None, topics: tuple[str, ...]) -> int:
    """Show brokers, topics, leaders, in-sync replicas and settings under DIRs, with all changes.

    With --at, show them at that moment. The tables metadata and internal have the log's records.

    \b
        kafkalog metadata /copy/of/log.dirs
        kafkalog metadata --topic orders --table leadership --at 2026-11-21T03:00:00Z /copy/of/log.dirs
    """
    from kafkalog.auditing.topics import metadata_view

    return view.write_rows(
        metadata_view(view.paths, at, view.limits, topics=topics, tables=view.names, form=view.row_form)
    )

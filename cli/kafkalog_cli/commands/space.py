"""``kafkalog space``: where the bytes are, and what holds those that can be freed."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import click

from kafkalog import Finding, Limits, Severity
from kafkalog.exit_status import Outcome
from kafkalog.tables import Table
from kafkalog.tables.incident_tables import INCIDENTS
from kafkalog.tables.space_tables import (
    BLOCKERS,
    CLOCKS,
    NEXT_START,
    PRODUCER_GROUPS,
    SPACE,
    SPACE_TABLES,
    TRANSACTION_COSTS,
)
from kafkalog_cli.help import GroupedCommand
from kafkalog_cli.options import (
    ROW_FORMS,
    columns_option,
    format_option,
    in_order,
    limit_options,
    output_options,
    paths_argument,
    remote_options,
    row_form,
    space_options,
    status_options,
    table_option,
    unpacked,
    unpacked_option,
)
from kafkalog_cli.output import Target, say
from kafkalog_cli.views import ViewOutput

if TYPE_CHECKING:
    from kafkalog.auditing.space import Space
    from kafkalog.reports import SpaceReport

__all__ = ["space"]

_BY_NAME: Final = {table.name: table for table in SPACE_TABLES}
_SECTIONS: Final = {
    "next_start": NEXT_START, "transactions": TRANSACTION_COSTS, "producers": PRODUCER_GROUPS, "clocks": CLOCKS,
}  # fmt: skip

_sections = in_order(
    click.option("--next-start", is_flag=True, help="Show what brokers do with each directory when they start."),
    click.option("--transactions", is_flag=True, help="Show what transactions cost."),
    click.option("--producers", is_flag=True, help="Show who writes, by the beginning of transactional ids."),
    click.option("--clocks", is_flag=True, help="Show clocks that differ from the brokers'."),
)


@click.command("space", cls=GroupedCommand)
@paths_argument("DIR...")
@unpacked_option
@_sections
@space_options
@format_option((*ROW_FORMS, "html"))
@table_option(tuple(_BY_NAME), ".  [default: a tree of all directories, and what holds their bytes]")
@columns_option(SPACE_TABLES)
@output_options("Write to this file; without a suffix, to this new directory with a file for each table.")
@remote_options
@limit_options
@status_options()
def space(
    paths: tuple[str, ...], form: str | None, tables: tuple[str, ...], columns: tuple[str, ...], target: Target,
    keys: bool, server_properties: str | None, topic_configs: str | None, now: int | None, fail_on: str,
    exit_zero: bool, limits: Limits, **others: Any,
) -> int:  # fmt: skip
    """Show where the bytes of DIRs are, what holds those that can be freed, and how many these are.

    What holds them are notes: the exit status is 0 unless --fail-on note.

    \b
        kafkalog space /copy/of/log.dirs
        kafkalog space --format ndjson /copy/of/log.dirs | jq 'select(.cause != "none")'
        kafkalog space --now 2026-11-21T03:00:00Z /copy/of/log.dirs
        kafkalog space -o space.html /copy/of/log.dirs
        kafkalog space --server-properties server.properties --topic-configs topics.json /copy/of/log.dirs
    """
    from kafkalog.auditing.space import SpaceOptions, measure, read_broker_properties, read_topic_configs

    wanted = [_BY_NAME[name] for name in tables]
    wanted += [table for flag, table in _SECTIONS.items() if others[flag] and table not in wanted]
    chosen = tuple(wanted) or (SPACE,)
    form = row_form(form, target, chosen, columns, {".html": "html"})
    if form == "html" and columns:
        raise click.UsageError("--format html has whole tables.")
    paths = unpacked(paths)
    properties = (
        {}
        if server_properties is None
        else read_broker_properties(server_properties, on_finding=lambda finding: say(str(finding)))
    )
    topics = {} if topic_configs is None else read_topic_configs(topic_configs)
    options = SpaceOptions(limits, now=now, keys=keys, properties=properties, topics=topics)
    found = measure(paths, options)
    outcome = Outcome(Severity[fail_on.upper()])
    for line in found.unreadable:
        outcome.unread()
        say(f"error: {line}")
    if form == "html" or (form == "table" and not wanted and not columns):
        with target.stream(paths) as stream:
            if form == "html":
                from kafkalog.reports import space_page

                for piece in space_page(_report(found, (SPACE, BLOCKERS, *wanted), outcome)):
                    stream.write(piece)
            else:
                from kafkalog.auditing.incidents import join_incidents
                from kafkalog_cli.render.drawings import write_tree

                join_incidents(found)
                for item in found.items(()):
                    if isinstance(item, Finding):
                        _count(outcome, item)
                write_tree(found, stream)
        return outcome.status(exit_zero=exit_zero)
    from kafkalog.auditing.incidents import items_of_space

    view = ViewOutput(
        paths=paths, form=form, tables=chosen, columns=columns, target=target, limits=limits, outcome=outcome,
        exit_zero=exit_zero,
    )  # fmt: skip
    return view.write(items_of_space(found, view.names))


def _count(outcome: Outcome, finding: Finding) -> None:
    """Count a finding for the exit status, and show it if it is more than a note."""
    outcome.count(finding.code, finding.severity)
    if finding.severity > Severity.NOTE:
        say(str(finding))


def _report(found: Space, tables: Sequence[Table], outcome: Outcome) -> SpaceReport:
    """Collect what the page shows."""
    from kafkalog.auditing.incidents import items_of_space
    from kafkalog.reports import SpaceReport
    from kafkalog.version import VERSION

    rows: dict[str, list[dict[str, Any]]] = {table.name: [] for table in (*tables, INCIDENTS)}
    for item in items_of_space(found, rows):
        if isinstance(item, Finding):
            _count(outcome, item)
        else:
            rows[item[0].name].append(dict(zip(item[0].names, item[1], strict=True)))
    homes = {one.log.directory.log: one.log.node.home for one in found.logs}
    made = (("kafkalog", VERSION), ("arguments", " ".join(sys.argv[1:])))
    return SpaceReport(rows, homes, found.moments, made)

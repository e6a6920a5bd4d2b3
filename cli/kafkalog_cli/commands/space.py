"""``kafkalog space``: where the bytes are, and what holds those that can be freed."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, BinaryIO, Final

import click

from kafkalog import Finding, Limits
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
    TOPIC_CLOCKS,
    TRANSACTION_COSTS,
)
from kafkalog_cli.help import GroupedCommand
from kafkalog_cli.options import (
    Failing,
    Measuring,
    as_one,
    check_rows,
    columns_option,
    limit_options,
    output_options,
    paths_argument,
    remote_options,
    showing_options,
    space_options,
    status_options,
    table_option,
    unpacked,
    unpacked_option,
)
from kafkalog_cli.output import say_findings
from kafkalog_cli.render.forms import FORMS, ROWS
from kafkalog_cli.render.showing import Showing
from kafkalog_cli.views import ViewOutput

if TYPE_CHECKING:
    from kafkalog.auditing.space import Space
    from kafkalog.reports import SpaceReport

__all__ = ["space"]

_BY_NAME: Final = {table.name: table for table in SPACE_TABLES}


def _chosen(
    *, next_start: bool, transactions: bool, producers: bool, clocks: bool
) -> tuple[Table, ...]:  # fmt: skip
    flags = {
        NEXT_START: next_start, TRANSACTION_COSTS: transactions, PRODUCER_GROUPS: producers, TOPIC_CLOCKS: clocks,
        CLOCKS: clocks,
    }  # fmt: skip
    return tuple(table for table, is_wanted in flags.items() if is_wanted)


_sections = as_one(
    "sections", _chosen,
    click.option("--next-start", is_flag=True, help="Show what brokers do with each directory when they start."),
    click.option("--transactions", is_flag=True, help="Show what transactions cost."),
    click.option("--producers", is_flag=True, help="Show who writes, by the beginning of transactional ids."),
    click.option("--clocks", is_flag=True,
                 help="Show how the times in topics lie to the brokers', and each clock that differs."),
)  # fmt: skip


@click.command("space", cls=GroupedCommand)
@paths_argument("DIR...")
@unpacked_option
@_sections
@as_one("measuring", Measuring, space_options)
@showing_options(
    table_option(tuple(_BY_NAME), ".  [default: a tree of all directories, and what holds their bytes]"),
    columns_option(SPACE_TABLES),
    output_options("Write to this file; without a suffix, to this new directory with a file for each table."),
    forms=(*ROWS, FORMS["html"]),
)
@remote_options
@limit_options
@status_options()
def space(
    paths: tuple[str, ...], sections: tuple[Table, ...], measuring: Measuring, showing: Showing, limits: Limits,
    failing: Failing,
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
    from kafkalog.auditing.space import measure

    wanted = tuple(dict.fromkeys((*(_BY_NAME[name] for name in showing.tables), *sections)))
    chosen = wanted or (SPACE,)
    check_rows(showing, chosen)
    if not showing.form.has_rows and showing.columns:
        raise click.UsageError(f"--format {showing.form} has whole tables.")
    paths = unpacked(paths)
    found = measure(paths, measuring.options(limits))
    outcome = failing.outcome()
    if not showing.form.has_rows or (showing.form.draws and not wanted and not showing.columns):
        with showing.target.stream(paths) as stream:
            if showing.form.has_rows:
                _draw(found, stream, outcome, terminal=showing.target.on_terminal)
            else:
                from kafkalog.reports import space_page

                for piece in space_page(_report(found, (SPACE, BLOCKERS, *wanted), outcome)):
                    stream.write(piece)
        return failing.status(outcome)
    from kafkalog.auditing.incidents import items_of_space

    view = ViewOutput(paths, chosen, showing, limits, outcome, failing)
    return view.write_rows(items_of_space(found, view.names))


def _draw(found: Space, stream: BinaryIO, outcome: Outcome, *, terminal: bool) -> None:
    """Draw the tree of all directories."""
    from kafkalog.auditing.incidents import join_incidents
    from kafkalog_cli.render.drawings import write_tree

    join_incidents(found)
    for item in found.items(()):
        if isinstance(item, Finding):
            _count(outcome, item)
    write_tree(found, stream, terminal=terminal)


def _count(outcome: Outcome, finding: Finding) -> None:
    """Count a finding for the exit status, and show it if it is more than a note."""
    outcome.count(finding.code, finding.severity)
    say_findings((finding,))


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

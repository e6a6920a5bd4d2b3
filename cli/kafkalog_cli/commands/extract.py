"""``kafkalog extract``: the records themselves, as a replay needs them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import click

from kafkalog import Limits, Severity
from kafkalog.quantities import Ago, When, many
from kafkalog.segments.selection import ReplicaChoice, Selection
from kafkalog.tables.dump_tables import RECORDS
from kafkalog_cli.filters import (
    RecordFilters,
    absolute,
    newest_time,
    record_filter_options,
    tell_absent,
    tell_unreadable,
    without_side_files,
)
from kafkalog_cli.help import GroupedCommand
from kafkalog_cli.options import (
    Failing,
    ValueFormats,
    as_one,
    columns_option,
    incident_option,
    jobs_option,
    limit_options,
    output_options,
    paths_argument,
    remote_options,
    showing_options,
    status_options,
    unpacked,
    unpacked_option,
    value_format_options,
)
from kafkalog_cli.output import parquet_engine, say
from kafkalog_cli.params import TIME, TIMES
from kafkalog_cli.render.forms import FORMS, ROWS
from kafkalog_cli.render.showing import Showing

__all__ = ["extract"]

_SEGMENT, _CONSOLE = FORMS["segment"], FORMS["console"]
_FORMS: Final = (*(form for form in ROWS if not form.people), _SEGMENT, _CONSOLE)
# What a replay needs, and whose it is; --columns names others.
_REPLAYED: Final = (
    "log", "topic", "partition", "offset", "timestamp_ms", "timestamp_type", "transactional_id", "producer_id",
    "outcome", "visible", "key", "key_base64", "value", "value_base64", "headers",
)  # fmt: skip
_VIEWS: Final = ("read-committed", "read-uncommitted")


@dataclass(frozen=True, slots=True)
class _Meant:
    """Which records are meant, besides what the filters say."""

    lost: bool
    incident: str | None
    view: str | None
    at: When | None
    node: str | None

    @property
    def at_stake(self) -> bool:
        """Say whether they are those of an incident, or those that only one replica has."""
        return self.lost or self.incident is not None

    def check(self, filters: RecordFilters) -> None:
        """Raise UsageError for options that do not go together."""
        if (self.at_stake or filters.outcomes) and (self.view or self.at is not None):
            raise click.UsageError("--view and --at do not go with --outcome, --lost and --incident: these say which.")
        if self.lost and self.incident:
            raise click.UsageError("--lost and --incident exclude each other.")
        if self.at_stake and self.node is not None:
            raise click.UsageError("--from does not go with --lost and --incident: these say which replica's.")


_meant_options = as_one(
    "meant", _Meant,
    click.option("--lost", is_flag=True, help="Records that one replica has and the log that counts has not."),
    incident_option("The records that these incidents of txn-audit are about"),
    click.option("--view", type=click.Choice(_VIEWS), help="What consumers of this isolation level are given."
                 "  [default: read-committed]"),
    click.option("--at", type=TIME, metavar="TIME", help=f"What read_committed consumers were given then: {TIMES}"),
    click.option("--from", "node", metavar="NODE", help="What the replicas of this node have: its id, or its"
                 " directory.  [default: of each partition the leader's replica]"),
)  # fmt: skip


@click.command("extract", cls=GroupedCommand)
@paths_argument("DIR|FILE...")
@_meant_options
@record_filter_options
@showing_options(
    columns_option([RECORDS]),
    output_options(
        "Write to this file; segments, and what is in a format with a file for each table, to this directory."
    ),
    forms=_FORMS, default="ndjson; with -o, from its suffix", bare=_FORMS[0],
)  # fmt: skip
@value_format_options
@remote_options
@limit_options
@jobs_option
@unpacked_option
@status_options(Severity.ERROR)
def extract(
    paths: Sequence[str], meant: _Meant, filters: RecordFilters, showing: Showing, formats: ValueFormats,
    limits: Limits, jobs: int | None, failing: Failing,
) -> int:  # fmt: skip
    """Write the records below DIRs out, with what became of them: without control records, of replicas each once.

    By default these are what read_committed consumers are given, of the leader's replica. How many others have is said.

    \b
        kafkalog extract --topic orders -o orders.ndjson /copy/of/log.dirs
        kafkalog extract --outcome aborted --since 2026-11-21T03:00:00Z /copy/of/log.dirs | jq .value
        kafkalog extract --incident 4e5db4f538ae -o saved-4e5db4f538ae.ndjson /copy/of/log.dirs
        kafkalog extract --lost --format console --topic orders -o orders.txt broker-1 broker-2
    """
    meant.check(filters)
    _check(showing, formats)
    outcome = failing.outcome()
    paths = without_side_files(unpacked(paths), outcome)
    decoders = formats.decoders(paths)
    moment = None
    if meant.at is not None:
        files = filters.find_files(paths, limits, with_fates=False).files if isinstance(meant.at, Ago) else ()
        moment = absolute("--at", meant.at, newest_time(files, limits) if files else -1)
    committed = meant.view != "read-uncommitted" and not (meant.at_stake or filters.outcomes)
    besides = Selection(data_only=True, visible_only=committed)
    found = filters.find_files(
        paths, limits, with_fates=True, at=moment, jobs=jobs, besides=besides,
        replicas=ReplicaChoice(not meant.at_stake, meant.node),
    )  # fmt: skip
    if moment is not None:
        until = found.selection.until_ms
        found = replace(found, selection=replace(found.selection, until_ms=min(moment, until or moment)))
    tell_unreadable(found, outcome, everywhere=not meant.at_stake)
    from kafkalog_cli import extracting

    if meant.at_stake:
        found = extracting.at_stake(found, filters, meant.incident)
    elif committed:
        for one in filter(None, (file.left_out() for file in found.given.values())):
            outcome.unread()
            say(f"error: {one.file}: {one.message}")
    elif meant.view == "read-uncommitted" or filters.outcomes:
        found = extracting.since_log_start(found)
    found, of_others = extracting.apart(found)
    others = 0
    if showing.form.has_rows:
        shown = replace(showing, columns=showing.columns or _REPLAYED)
        extracting.write_rows(shown, found, limits, outcome, decoders=decoders)
    else:
        write = {_SEGMENT: extracting.write_segments, _CONSOLE: extracting.write_console}[showing.form]
        others = write(found, limits, showing.target, paths, outcome)
    met = found.selection.met
    lines = extracting.counted(met, others), *extracting.left_to_others(of_others, limits)
    for line in (*lines, *extracting.groups_beside(found, paths, limits)):
        say(line)
    if met.deleted:
        are = "is" if met.deleted == 1 else "are"
        say(f"{many(met.deleted, 'record', grouped=True)} before the start of the log {are} deleted, and left out")
    words = None if found.selection.everything else met.words(of_records=True)
    if words is not None and not met.records and not outcome.incomplete:
        outcome.nothing_matched()
        say(f"error: {words}")
    tell_absent(found, outcome, everywhere=not meant.at_stake)
    return failing.status(outcome)


def _check(showing: Showing, formats: ValueFormats) -> None:
    """Raise UsageError for a format that can't be written so, OutputError if what writes it is missing."""
    form = showing.form
    if form.needs_path and showing.target.path is None:
        raise click.UsageError(f"--format {form} needs -o NAME.")
    if not form.has_rows and (showing.columns or formats.key_format or formats.value_format):
        raise click.UsageError(f"--format {form} has whole records as they are.")
    if form.columnar:
        parquet_engine()

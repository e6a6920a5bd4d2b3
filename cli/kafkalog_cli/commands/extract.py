"""``kafkalog extract``: the records themselves, as a replay needs them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import click

from kafkalog import Limits, Severity
from kafkalog.exit_status import Outcome
from kafkalog.quantities import Ago, When
from kafkalog.tables.dump_tables import RECORDS
from kafkalog_cli.filters import (
    RecordFilters,
    absolute,
    newest_time,
    record_filter_options,
    tell_lost,
    tell_unreadable,
    without_side_files,
)
from kafkalog_cli.help import GroupedCommand
from kafkalog_cli.options import (
    columns_option,
    decoders_of,
    format_option,
    jobs_option,
    limit_options,
    output_options,
    paths_argument,
    remote_options,
    status_options,
    unpacked,
    unpacked_option,
    value_format_options,
)
from kafkalog_cli.output import Target, parquet_engine, say
from kafkalog_cli.params import TIME, TIMES, form_of

__all__ = ["extract"]

_FORMATS: Final = ("ndjson", "csv", "arrow", "parquet", "segment", "console")
_SUFFIXES: Final = {"": "ndjson"}
# What a replay needs, and whose it is; --columns names others.
_REPLAYED: Final = (
    "log", "topic", "partition", "offset", "timestamp_ms", "timestamp_type", "transactional_id", "producer_id",
    "outcome", "visible", "key", "key_base64", "value", "value_base64", "headers",
)  # fmt: skip
_VIEWS: Final = ("read-committed", "read-uncommitted")


@click.command("extract", cls=GroupedCommand)
@paths_argument("DIR|FILE...")
@click.option("--lost", is_flag=True, help="Records that one replica has and the log that counts has not.")
@click.option("--incident", "incident_id", metavar="ID", help="The records that this incident of txn-audit is about.")
@click.option("--view", type=click.Choice(_VIEWS), help="What consumers of this isolation level are given."
              "  [default: read-committed]")  # fmt: skip
@click.option("--at", type=TIME, metavar="TIME", help=f"What read_committed consumers were given then: {TIMES}")
@record_filter_options
@format_option(_FORMATS, "ndjson; with -o, from its suffix")
@columns_option([RECORDS])
@value_format_options
@remote_options
@limit_options
@jobs_option
@unpacked_option
@output_options("Write to this file; segments, and what is in a format with a file for each table, to this directory.")
@status_options(Severity.ERROR)
def extract(
    paths: Sequence[str], lost: bool, incident_id: str | None, view: str | None, at: When | None,
    filters: RecordFilters, form: str | None, columns: tuple[str, ...], limits: Limits,
    jobs: int | None, target: Target, fail_on: str,
    exit_zero: bool, key_format: str | None, value_format: str | None, schema_paths: tuple[str, ...],
) -> int:  # fmt: skip
    """Write the records below DIRs out, with what became of them: without control records, of replicas each once.

    By default these are what read_committed consumers are given.

    \b
        kafkalog extract --topic orders -o orders.ndjson /copy/of/log.dirs
        kafkalog extract --outcome aborted --since 2026-11-21T03:00:00Z /copy/of/log.dirs | jq .value
        kafkalog extract --incident 4e5db4f538ae -o saved.ndjson /copy/of/log.dirs
        kafkalog extract --lost --format console --topic orders -o orders.txt broker-1 broker-2
    """
    form = _checked(
        form, target, view, at, filters, columns, key_format or value_format, lost=lost, incident=incident_id
    )
    outcome = Outcome(Severity[fail_on.upper()])
    paths = without_side_files(unpacked(paths), outcome)
    decoders = decoders_of(key_format, value_format, schema_paths, paths)
    moment = None
    if at is not None:
        files = filters.find(paths, limits, with_fates=False).files if isinstance(at, Ago) else ()
        moment = absolute("--at", at, newest_time(files, limits) if files else -1)
    committed = view != "read-uncommitted" and not (lost or incident_id or filters.outcomes)
    found = filters.find(paths, limits, with_fates=True, at=moment, jobs=jobs, data_only=True, visible_only=committed)
    if moment is not None:
        until = found.selection.until_ms
        found = replace(found, selection=replace(found.selection, until_ms=min(moment, until or moment)))
    tell_unreadable(found, outcome, everywhere=not (lost or incident_id))
    from kafkalog_cli import extracting

    if lost or incident_id:
        found = extracting.at_stake(found, filters, incident_id)
    elif committed:
        for line in extracting.left_out(found):
            outcome.unread()
            say(f"error: {line}")
    elif view == "read-uncommitted":
        found = extracting.since_log_start(found)
    others = 0
    if form == "console":
        extracting.write_console(found, limits, target, paths, outcome)
    elif form == "segment":
        others = extracting.write_segments(found, limits, target, paths, outcome)
    else:
        extracting.write_rows(form, found, limits, columns or _REPLAYED, target, outcome, decoders=decoders)
    met = found.selection.met
    for line in (extracting.counted(met, others), *extracting.groups_beside(found, paths, limits)):
        say(line)
    words = None if found.selection.everything else met.words(of_records=True)
    if words is not None and not met.records and not outcome.incomplete:
        outcome.nothing_matched()
        say(f"error: {words}")
    tell_lost(found, outcome)
    return outcome.status(exit_zero=exit_zero)


def _checked(
    form: str | None, target: Target, view: str | None, at: When | None, filters: RecordFilters,
    columns: tuple[str, ...], decoded: str | None, *, lost: bool, incident: str | None,
) -> str:  # fmt: skip
    """Return the format. Raises UsageError for options that do not go together."""
    if (lost or incident or filters.outcomes) and (view or at is not None):
        raise click.UsageError("--view and --at do not go with --outcome, --lost and --incident: these say which.")
    if lost and incident:
        raise click.UsageError("--lost and --incident exclude each other.")
    form = form or ("ndjson" if target.path is None else form_of(target.path, _SUFFIXES))
    if form in ("segment", "console", "arrow", "parquet") and target.path is None:
        raise click.UsageError(f"--format {form} needs -o NAME.")
    if form in ("segment", "console") and (columns or decoded):
        raise click.UsageError(f"--format {form} has whole records as they are.")
    if form in ("arrow", "parquet"):
        parquet_engine()
    return form

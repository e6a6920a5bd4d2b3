"""``kafkalog dump``: what kafka-dump-log shows, and the same as rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

import click

from kafkalog import Limits, Severity
from kafkalog.exit_status import Outcome
from kafkalog.kafka.internal_topics import Internal
from kafkalog.segments.file_rows import TABLES_OF
from kafkalog.segments.selection import ReplicaChoice, Selection
from kafkalog.tables import TABLES
from kafkalog.tables.declared import EVERY_COLUMN
from kafkalog.tables.dump_tables import OF_LOG
from kafkalog_cli.dumping import DumpRequest
from kafkalog_cli.filters import RecordFilters, is_folder, record_filter_options, tell_absent, tell_unreadable
from kafkalog_cli.help import GroupedCommand
from kafkalog_cli.inputs import STDIN
from kafkalog_cli.options import (
    Failing,
    ValueFormats,
    as_one,
    columns_option,
    form_of,
    format_option,
    limit_options,
    output_options,
    paths_argument,
    remote_options,
    status_options,
    table_option,
    unpacked,
    unpacked_option,
    value_format_options,
)
from kafkalog_cli.output import NothingToWriteError, Target, parquet_engine, say
from kafkalog_cli.render.forms import FORMS, ROWS
from kafkalog_cli.render.kafka.tool_options import DECODERS, KafkaTextOptions
from kafkalog_cli.render.showing import Form, Showing

__all__ = ["dump"]

_FORMS: Final = (FORMS["kafka"], *ROWS)
# In the official tool's order of preference, if several are given.
_INTERNAL: Final = {
    Internal.OFFSETS: "__consumer_offsets",
    Internal.TRANSACTION_LOG: "__transaction_state",
    Internal.CLUSTER_METADATA: "__cluster_metadata and KRaft snapshots",
    Internal.REMOTE_LOG_METADATA: "__remote_log_metadata",
    Internal.SHARE_GROUP_STATE: "__share_group_state",
}
_NAMES_OF_ROWS: Final = f"{', '.join(form.name for form in ROWS[:-1])} or {ROWS[-1]}"
# The columns of a directory's records on a terminal.
_SHOWN: Final = (
    "topic", "partition", "offset", "timestamp_ms", "transactional_id", "producer_id", "outcome", "visible", "key",
    "value",
)  # fmt: skip
_TABLES: Final = (*dict.fromkeys(table.name for tables in TABLES_OF.values() for table in tables), "findings")


class _Decoder(click.ParamType):  # type: ignore[type-arg]  # not generic at run time before click 8.4
    """A decoder class of Kafka's."""

    name = "class"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if callable(value):
            return value
        if value not in DECODERS:
            known = ", ".join(name.rpartition(".")[2] for name in DECODERS)
            why = " (it prints a Java address, not the data)" if str(value).endswith(".DefaultDecoder") else ""
            self.fail(f"{value} is not supported{why}; supported are {known} of org.apache.kafka.tools.api", param, ctx)
        return DECODERS[value]


class _Files(NamedTuple):
    """What to dump: paths, and the files of --files."""

    paths: tuple[str, ...]
    listed: tuple[str, ...]


def _listed(*, paths: tuple[str, ...], listed: tuple[str, ...]) -> _Files:
    files = _Files(paths, tuple(file for one in listed for file in one.split(",") if file))
    if not any(files):
        raise click.UsageError("Files are missing: name them, or use --files a,b.")
    return files


_files = as_one(
    "files", _listed,
    paths_argument("FILE...", required=False),
    click.option("--files", "listed", multiple=True, metavar="A,B",
                 help="The files, separated by commas, as in the official tool."),
)  # fmt: skip


def _chosen(
    *, offsets_decoder: bool, transaction_log_decoder: bool, cluster_metadata_decoder: bool,
    remote_log_metadata_decoder: bool, share_group_state_decoder: bool,
) -> Internal | None:  # fmt: skip
    """Return the decoder; if several are given, the first of the list is used."""
    given = (
        offsets_decoder, transaction_log_decoder, cluster_metadata_decoder, remote_log_metadata_decoder,
        share_group_state_decoder,
    )  # fmt: skip
    return next((internal for internal, is_given in zip(_INTERNAL, given, strict=True) if is_given), None)


_decoder_options = as_one(
    "internal", _chosen,
    *(
        click.option(f"--{internal}-decoder", is_flag=True, help=f"Decode records of {topic}.")
        for internal, topic in _INTERNAL.items()
    ),
)  # fmt: skip

_tool_options = as_one(
    "tool", KafkaTextOptions,
    click.option("--deep-iteration", is_flag=True, help="Show records, too."),
    click.option("--print-data-log", is_flag=True,
                 help="Show records with keys and values; implies --deep-iteration."),
    click.option("--skip-record-metadata", is_flag=True, help="Show only the keys and values of records."),
    click.option("--verify-index-only", is_flag=True, help="Check index files without listing their entries."),
    click.option("--index-sanity-check", is_flag=True,
                 help="Check index files only as a broker does when it opens them."),
    click.option("--max-bytes", type=click.IntRange(min=0), help="Read only this many bytes of each segment."),
    click.option("--max-message-size", type=click.IntRange(min=0), default=5242880, show_default=True,
                 help="Largest batch that an index entry may point to."),
    click.option("--key-decoder-class", "key_decoder", type=_Decoder(),
                 default="org.apache.kafka.tools.api.StringDecoder",
                 help=f"Decoder for keys: {', '.join(DECODERS)}."),
    click.option("--value-decoder-class", "value_decoder", type=_Decoder(),
                 default="org.apache.kafka.tools.api.StringDecoder", help="Decoder for values."),
    _decoder_options,
    click.option("--dialect", type=click.Choice(("4.3", "4.2", "4.4")), default="4.3", show_default=True,
                 help="Release of kafka-dump-log whose text is printed."),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Shown:
    """What the options say of how it is shown; what is the default depends on the inputs."""

    form: Form | None
    target: Target
    raw: bool
    tables: tuple[str, ...]
    columns: tuple[str, ...]

    def of(self, internal: Internal | None, *, below: bool) -> Showing:
        """Return how it is shown, `below` directories or of files. Raises UsageError."""
        target, tables, columns = replace(self.target, raw=self.raw), self.tables, self.columns
        form = self.form or (FORMS["table"] if below else None)
        form = form or (_FORMS[0] if target.path is None or target.is_stream else form_of(target.path, _FORMS))
        if below and form.has_rows:
            tables = tables or (() if internal else ("records",))
            columns = columns or (_SHOWN if form.draws else (EVERY_COLUMN,))
        if not form.has_rows and (tables or columns):
            raise click.UsageError(f"--table and --columns need a --format of rows: {_NAMES_OF_ROWS}.")
        return Showing(form, target, tables, columns)


@dataclass(frozen=True, slots=True)
class _Part:
    """What part of the files is shown, besides what the filters say."""

    control_only: bool
    limit: int | None


@click.command("dump", cls=GroupedCommand)
@_files
@_tool_options
@value_format_options
@as_one(
    "shown", _Shown,
    format_option(_FORMS, "kafka; with -o, from its suffix"),
    click.option("--raw", is_flag=True, help="Do not escape control characters on a terminal."),
    table_option(_TABLES, f": {', '.join(_TABLES)}.", metavar="NAME"),
    columns_option([TABLES[name] for name in _TABLES]),
    output_options("Write to this file; without a suffix in ndjson, arrow or parquet to this new directory with a file"
                   " for each table."),
)  # fmt: skip
@record_filter_options
@as_one(
    "part", _Part,
    click.option("--control-only", is_flag=True, help="Only control batches."),
    click.option("--limit", type=click.IntRange(min=1),
                 help="Stop after this many batches, or records if records are shown."),
)  # fmt: skip
@remote_options
@limit_options
@unpacked_option
@status_options(Severity.ERROR)
def dump(
    files: _Files, tool: KafkaTextOptions, formats: ValueFormats, shown: _Shown, filters: RecordFilters,
    part: _Part, limits: Limits, failing: Failing,
) -> int:  # fmt: skip
    """Show what FILES contain: record batches of segments, entries of indexes, snapshots and checkpoints.

    Of a directory the records of all logs below it are shown, with what became of them; what several replicas of a
    partition have once, with those that have it. ``-`` is standard input.

    \b
        kafkalog dump 00000000000000000000.log
        kafkalog dump --deep-iteration --print-data-log 00000000000000000000.log
        kafkalog dump --format ndjson 00000000000000000000.log | jq .producer_id
        kafkalog dump --value-format avro --schema orders.avsc --format ndjson 00000000000000000000.log
        kafkalog dump --since 2026-11-21T03:00:00Z --until 2026-11-21T04:00:00Z 00000000000000000000.log
        kafkalog dump --print-data-log --since -5m 00000000000000000000.log.gz
        kafkalog dump --topic orders --outcome aborted --format ndjson /copy/of/log.dirs
    """
    given = unpacked((*files.paths, *files.listed))
    showing = shown.of(tool.internal, below=any(map(is_folder, given)))
    is_official, tables = not showing.form.has_rows, showing.tables
    decoders = formats.decoders(given)
    if decoders:
        if is_official:
            raise click.UsageError("--key-format and --value-format need a --format of rows, for example ndjson.")
        tool = replace(tool, deep_iteration=True)
    if "internal" in tables and tool.internal is None:
        raise click.UsageError("--table internal needs a decoder: --offsets-decoder, --transaction-log-decoder, …")
    with_fates = EVERY_COLUMN in showing.columns or bool(set(OF_LOG) & set(showing.columns))
    besides = Selection(control_only=part.control_only)
    found = filters.find_files(
        given, limits, with_fates=with_fates, besides=besides, replicas=ReplicaChoice(every=True)
    )
    if showing.columns == _SHOWN and any(file.is_other for file in found.given.values()):
        showing = replace(showing, columns=(*_SHOWN, "replicas"))
    request = DumpRequest(
        files=found.files,
        limits=limits,
        selection=found.selection,
        given=found.given,
        limit=part.limit,
        options=replace(tool, escape=showing.target.is_escaped),
        tables=tables,
        decoders=decoders,
        listed=frozenset(files.listed),
    )
    outcome = failing.outcome()
    tell_unreadable(found, outcome)
    inputs = [file for file in found.files if file != STDIN]
    if is_official:
        from kafkalog_cli.dumping_text import dump_text

        with showing.target.nothing_said(), showing.target.stream(inputs) as stream:
            dump_text(request, stream, outcome)
            if _silence(request.selection) is not None:
                raise NothingToWriteError
    else:
        _dump_rows(showing, request, inputs, outcome)
    tell_absent(found, outcome, everywhere=part.limit is None, in_any=True)
    _say_silence(request.selection, outcome)
    return failing.status(outcome)


def _dump_rows(showing: Showing, request: DumpRequest, inputs: Sequence[str], outcome: Outcome) -> None:
    from kafkalog_cli.dumping_rows import dump_folder, dump_stream

    form = showing.form
    if form.columnar:
        parquet_engine()
        if showing.target.on_terminal:
            raise click.UsageError(f"--format {form} is not for a terminal: name a file with -o, or redirect it.")
    if showing.is_folder:
        dump_folder(showing, request, inputs, outcome)
    else:
        as_rows = form.has_findings or "findings" in request.tables
        dump_stream(showing, request, inputs, outcome, findings_as_rows=as_rows)


def _silence(selection: Selection) -> str | None:
    """Say that a filter left nothing, and what there is; None where it left something."""
    return None if selection.everything else selection.met.words(of_records=selection.looks_at_records)


def _say_silence(selection: Selection, outcome: Outcome) -> None:
    """Say that a filter left nothing: then not what was asked for was found."""
    words = _silence(selection)
    if words is not None:
        outcome.nothing_matched()
        say(f"error: {words}")

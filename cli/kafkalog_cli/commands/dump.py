"""``kafkalog dump``: what kafka-dump-log shows, and the same as rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeVar

import click

from kafkalog import Limits, Severity
from kafkalog.exit_status import Outcome
from kafkalog.kafka.internal_topics import Internal
from kafkalog.segments.file_rows import TABLES_OF
from kafkalog.segments.selection import Selection
from kafkalog.tables import TABLES
from kafkalog.tables.declared import EVERY_COLUMN
from kafkalog.tables.dump_tables import OF_LOG
from kafkalog_cli.dumping import DumpRequest
from kafkalog_cli.filters import RecordFilters, is_folder, record_filter_options, tell_lost, tell_unreadable
from kafkalog_cli.help import GroupedCommand
from kafkalog_cli.inputs import STDIN
from kafkalog_cli.options import (
    columns_option,
    decoders_of,
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
from kafkalog_cli.output import Target, parquet_engine, say
from kafkalog_cli.params import form_of
from kafkalog_cli.render.kafka.tool_options import DECODERS, KafkaTextOptions

__all__ = ["dump"]

F = TypeVar("F", bound=Callable[..., Any])

_FORMATS: Final = ("kafka", "table", "ndjson", "json", "csv", "arrow", "parquet")
# In the official tool's order of preference, if several are given.
_INTERNAL: Final = {
    Internal.OFFSETS: "__consumer_offsets",
    Internal.TRANSACTION_LOG: "__transaction_state",
    Internal.CLUSTER_METADATA: "__cluster_metadata and KRaft snapshots",
    Internal.REMOTE_LOG_METADATA: "__remote_log_metadata",
    Internal.SHARE_GROUP_STATE: "__share_group_state",
}
_SUFFIXES: Final = dict.fromkeys(("", ".txt", ".log", ".out", ".dump"), "kafka")
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


def _decoder_options(command: F) -> F:
    """Add the official tool's options for internal topics; if several are given, the first of the list is used."""
    for internal, topic in reversed(_INTERNAL.items()):
        text = f"Decode records of {topic}."
        command = click.option(f"--{internal}-decoder", is_flag=True, help=text)(command)
    return command


def _internal(tool: dict[str, Any]) -> Internal | None:
    """Take the decoders' flags out of the options and return what they choose."""
    flags = {internal: tool.pop(f"{internal.replace('-', '_')}_decoder") for internal in _INTERNAL}
    return next((internal for internal, given in flags.items() if given), None)


@click.command("dump", cls=GroupedCommand)
@paths_argument("FILE...", required=False)
@click.option(
    "--files",
    "listed",
    multiple=True,
    metavar="A,B",
    help="The files, separated by commas, as in the official tool.",
)
@click.option("--deep-iteration", is_flag=True, help="Show records, too.")
@click.option("--print-data-log", is_flag=True, help="Show records with keys and values; implies --deep-iteration.")
@click.option("--skip-record-metadata", is_flag=True, help="Show only the keys and values of records.")
@click.option("--verify-index-only", is_flag=True, help="Check index files without listing their entries.")
@click.option("--index-sanity-check", is_flag=True, help="Check index files only as a broker does when it opens them.")
@click.option("--max-bytes", type=click.IntRange(min=0), help="Read only this many bytes of each segment.")
@click.option("--max-message-size", type=click.IntRange(min=0), default=5242880, show_default=True,
              help="Largest batch that an index entry may point to.")  # fmt: skip
@click.option("--key-decoder-class", "key_decoder", type=_Decoder(), default="org.apache.kafka.tools.api.StringDecoder",
              help=f"Decoder for keys: {', '.join(DECODERS)}.")  # fmt: skip
@click.option("--value-decoder-class", "value_decoder", type=_Decoder(),
              default="org.apache.kafka.tools.api.StringDecoder", help="Decoder for values.")  # fmt: skip
@_decoder_options
@value_format_options
@format_option(_FORMATS, "kafka; with -o, from its suffix")
@click.option("--dialect", type=click.Choice(("4.3", "4.2", "4.4")), default="4.3", show_default=True,
              help="Release of kafka-dump-log whose text is printed.")  # fmt: skip
@click.option("--raw", is_flag=True, help="Do not escape control characters on a terminal.")
@table_option(_TABLES, f": {', '.join(_TABLES)}.", metavar="NAME")
@columns_option([TABLES[name] for name in _TABLES])
@record_filter_options
@click.option("--control-only", is_flag=True, help="Only control batches.")
@click.option(
    "--limit", type=click.IntRange(min=1), help="Stop after this many batches, or records if records are shown."
)
@remote_options
@limit_options
@unpacked_option
@output_options(
    "Write to this file; without a suffix in ndjson, arrow or parquet to this new directory with a file for each table."
)
@status_options(Severity.ERROR)
def dump(
    paths: tuple[str, ...], listed: tuple[str, ...], form: str | None, raw: bool, tables: tuple[str, ...],
    columns: tuple[str, ...], filters: RecordFilters, control_only: bool, limit: int | None, limits: Limits,
    target: Target, fail_on: str, exit_zero: bool,
    key_format: str | None, value_format: str | None, schema_paths: tuple[str, ...], **tool: Any,
) -> int:  # fmt: skip
    """Show what FILES contain: record batches of segments, entries of indexes, snapshots and checkpoints.

    Of a directory the records of all logs below it are shown, with what became of them; of several replicas of a
    partition those of the one that consumers read. ``-`` is standard input.

    \b
        kafkalog dump 00000000000000000000.log
        kafkalog dump --deep-iteration --print-data-log 00000000000000000000.log
        kafkalog dump --format ndjson 00000000000000000000.log | jq .producer_id
        kafkalog dump --value-format avro --schema orders.avsc --format ndjson 00000000000000000000.log
        kafkalog dump --since 2026-11-21T03:00:00Z --until 2026-11-21T04:00:00Z 00000000000000000000.log
        kafkalog dump --print-data-log --since -5m 00000000000000000000.log.gz
        kafkalog dump --topic orders --outcome aborted --format ndjson /copy/of/log.dirs
    """
    files = (*paths, *(file for one in listed for file in one.split(",") if file))
    if not files:
        raise click.UsageError("Files are missing: name them, or use --files a,b.")
    files = unpacked(files)
    internal = _internal(tool)
    below = any(map(is_folder, files))
    form = form or ("table" if below else "kafka" if target.path is None else form_of(target.path, _SUFFIXES))
    if below and form != "kafka":
        tables = tables or (() if internal else ("records",))
        columns = columns or (_SHOWN if form == "table" else (EVERY_COLUMN,))
    if form == "kafka" and (tables or columns):
        raise click.UsageError(
            "--table and --columns need a --format of rows: table, ndjson, json, csv, arrow or parquet."
        )
    decoders = decoders_of(key_format, value_format, schema_paths, files)
    if decoders:
        if form == "kafka":
            raise click.UsageError("--key-format and --value-format need a --format of rows, for example ndjson.")
        tool["deep_iteration"] = True
    if "internal" in tables and internal is None:
        raise click.UsageError("--table internal needs a decoder: --offsets-decoder, --transaction-log-decoder, …")
    with_fates = EVERY_COLUMN in columns or bool(set(OF_LOG) & set(columns))
    found = filters.find(files, limits, with_fates=with_fates, control_only=control_only)
    files = found.files
    request = DumpRequest(
        files=files,
        limits=limits,
        selection=found.selection,
        given=found.given,
        limit=limit,
        options=KafkaTextOptions(internal=internal, escape=target.on_terminal and not raw, **tool),
        tables=tables,
        decoders=decoders,
    )
    outcome = Outcome(Severity[fail_on.upper()])
    tell_unreadable(found, outcome)
    inputs = [file for file in files if file != STDIN]
    if form == "kafka":
        from kafkalog_cli.dumping_text import dump_text

        with target.stream(inputs) as stream:
            dump_text(request, stream, outcome)
    else:
        _dump_rows(form, target, request, columns, inputs, outcome, raw=raw)
    tell_lost(found, outcome)
    _say_silence(request.selection, outcome)
    return outcome.status(exit_zero=exit_zero)


def _dump_rows(
    form: str, target: Target, request: DumpRequest, columns: Sequence[str], inputs: Sequence[str], outcome: Outcome, *,
    raw: bool,
) -> None:  # fmt: skip
    from kafkalog_cli.dumping_rows import dump_folder, dump_stream

    if form in ("arrow", "parquet"):
        parquet_engine()
        if target.on_terminal:
            raise click.UsageError(f"--format {form} is not for a terminal: name a file with -o, or redirect it.")
    if target.is_folder(form):
        dump_folder(form, target, request, columns, inputs, outcome)
    else:
        as_rows = form in ("ndjson", "json") or "findings" in request.tables
        dump_stream(form, target, request, columns, inputs, outcome, findings_as_rows=as_rows, raw=raw)


def _say_silence(selection: Selection, outcome: Outcome) -> None:
    """Say that a filter left nothing, and what there is: then not what was asked for was found."""
    words = None if selection.everything else selection.met.words(of_records=selection.looks_at_records)
    if words is not None:
        outcome.nothing_matched()
        say(f"error: {words}")

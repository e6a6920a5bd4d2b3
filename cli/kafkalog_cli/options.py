"""Options that several commands have, each declared once. What differs between commands is an argument here."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from inspect import signature
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

import click

from kafkalog import Limits, Severity
from kafkalog.files.names import FileKind, is_remote, local_path, parse_name
from kafkalog.tables import Table
from kafkalog.tables.audit_tables import AUDIT_TABLES
from kafkalog.values.format_names import FORMATS, WITH_SCHEMA
from kafkalog_cli.inputs import STDIN
from kafkalog_cli.output import Target, say
from kafkalog_cli.params import ROW_FORMS, SIZE, TIME, TIMES, NumberRanges, Place, TimeZone, form_of, names_of

if TYPE_CHECKING:
    from pathlib import Path

    from kafkalog.auditing.transactions import AuditOptions, Reused
    from kafkalog.values.value import Decode

__all__ = [
    "ROW_FORMS",
    "SHOWN",
    "audit_options",
    "audit_options_of",
    "columns_option",
    "decoders_of",
    "existing_directory",
    "findings_option",
    "format_option",
    "in_order",
    "jobs_option",
    "limit_options",
    "limits_of",
    "max_batch_bytes_option",
    "max_expansion_option",
    "output_options",
    "partition_option",
    "paths_argument",
    "remote_options",
    "row_form",
    "say_reused",
    "since_audit_option",
    "space_options",
    "status_options",
    "storage_options",
    "table_option",
    "topic_option",
    "transactional_id_option",
    "tz_option",
    "unpacked",
    "unpacked_option",
    "value_format_options",
]

Command = TypeVar("Command", bound=Callable[..., Any])


class Option(Protocol):
    """A decorator that gives a command one option, or several."""

    def __call__(self, command: Command, /) -> Command: ...


def in_order(*options: Option) -> Option:
    """Return one decorator that gives a command the options in the order in which its help lists them."""

    def decorate(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


def as_one(name: str, make: Callable[..., Any], *options: Option) -> Option:
    """Return a decorator that gives a command options as one argument: what `make` makes of them, by their names."""
    taken = tuple(signature(make).parameters)

    def decorate(command: Command) -> Command:
        @wraps(command)
        def run(*arguments: Any, **others: Any) -> Any:
            given = {one: others.pop(one) for one in taken if one in others}
            return command(*arguments, **{name: make(**given)}, **others)

        return in_order(*options)(run)  # type: ignore[return-value]  # takes what click gives, not what the command takes

    return decorate


def paths_argument(metavar: str, *, required: bool = True) -> Option:
    """Declare a command's inputs, as `paths`."""
    path = Place(readable=False)  # what can't be read is said later
    return click.argument("paths", nargs=-1, required=required, metavar=metavar, type=path, callback=_patterns_of_uris)


def _patterns_of_uris(_ctx: click.Context, _param: click.Parameter, paths: tuple[str, ...]) -> tuple[str, ...]:
    """Expand patterns in URIs, which no shell does."""
    from kafkalog.files.directories import expand

    return tuple(path for given in paths for path in (expand(given) if is_remote(given) else (given,)))


def existing_directory(_ctx: click.Context, _param: click.Parameter, path: str) -> str:
    """Take a directory that is there, or a URI. Raises BadParameter."""
    if not is_remote(path):
        Place(exists=True, file_okay=False).convert(path, _param, _ctx)
    return path


def format_option(
    formats: Sequence[str] = ROW_FORMS, default: str = "table; with -o, from its suffix; without a suffix, parquet"
) -> Option:
    """Declare ``--format``, as `form`; without it the suffix of ``-o`` decides."""
    return click.option("--format", "form", type=click.Choice(formats), help=f"Output format.  [default: {default}]")


def table_option(names: Sequence[str], more: str = ".", **attributes: Any) -> Option:
    """Declare ``--table``, as `tables`; `more` ends its help."""
    return click.option(
        "--table", "tables", multiple=True, type=click.Choice(names), help=f"Table to show; repeat for more{more}",
        **attributes,
    )  # fmt: skip


def columns_option(tables: Sequence[Table]) -> Option:
    """Declare ``--columns``, which accepts the columns of all these tables."""

    def known() -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for table in tables for name in table.names))

    return click.option("--columns", callback=names_of(known), metavar="A,B", help="Columns to show, in this order.")


def output_options(text: str, *, folders: bool = True, required: bool = False) -> Option:
    """Declare ``-o`` and what is done to what is there, as `target`; `text` says what ``-o`` names.

    Without `folders` a command writes no directories.
    """
    again = click.option("--overwrite", is_flag=True, help="Replace a directory that the same command wrote.")
    return as_one(
        "target", _target,
        click.option("-o", "--output", type=Place(), required=required, metavar="NAME",
                     help=f"{text} `-` is standard output."),
        click.option("--no-clobber", is_flag=True, help="Replace nothing: exit with 4 if NAME exists."),
        *((again,) if folders else ()),
        click.option("--csv-safe", is_flag=True,
                     help="In CSV for a spreadsheet: put ' before texts that begin with = + - @ ' tab or CR."),
    )  # fmt: skip


def _target(*, output: str | None, no_clobber: bool, csv_safe: bool, overwrite: bool = False) -> Target:
    if no_clobber and overwrite:
        raise click.UsageError("--no-clobber and --overwrite exclude each other.")
    path = None if output in (None, "-") else _path(output or "")
    remote = output if output and is_remote(output) else None
    name = click.get_current_context().command.name or ""
    return Target(path, overwrite, no_clobber, csv_safe, remote, name)


def _path(output: str) -> Path:
    from pathlib import Path  # takes as long as a small dump

    return Path(local_path(output))


max_batch_bytes_option: Final = click.option(
    "--max-batch-bytes", type=SIZE, default=Limits().max_batch_bytes, show_default=True,
    help="Largest batch that is read.",
)  # fmt: skip
max_expansion_option: Final = click.option(
    "--max-expansion", type=SIZE,
    help="Most bytes that all of a file's batches may decompress to.  [default: 8 GiB or 1,000 times the file,"
    " whichever is less, plus 1 GiB]",
)  # fmt: skip


def limits_of(params: Mapping[str, Any]) -> Limits:
    """Return the limits of a job's parameters, some of which the session's configuration has."""
    return Limits(params["max_batch_bytes"], params["max_decompressed_bytes"], params["max_expansion"])


def remote_options(command: Command) -> Command:
    """Declare ``--remote`` and ``--remote-layout``: what a command opens has that store beside it."""

    @wraps(command)
    def run(*arguments: Any, remote: str | None, remote_layout: str | None, **others: Any) -> Any:
        from kafkalog.log_dirs.remote_store import LayoutError, remote_given, remote_of

        try:
            given = remote_of(remote, remote_layout)
        except LayoutError as error:
            raise click.UsageError(f"--remote-layout: {error}.") from error
        with remote_given(given):
            return command(*arguments, **others)

    options = in_order(
        click.option("--remote", type=Place(readable=False), metavar="DIR|URI",
                     help="The remote store of tiered storage: its segments are the earlier part of the logs."),
        click.option("--remote-layout", metavar="PATTERN",
                     help="How its objects are named, with {topic}, {topic_id}, {partition}, {segment_id},"
                     " {start_offset:020} and {type}.  [default: found by what is there]"),
    )  # fmt: skip
    return options(run)  # type: ignore[return-value]  # takes what click gives, not what the command takes


limit_options: Final = as_one(
    "limits", Limits,
    max_batch_bytes_option,
    click.option("--max-decompressed-bytes", type=SIZE, default=Limits().max_decompressed_bytes,
                 show_default=True, help="Largest size that a batch may decompress to."),
    max_expansion_option,
)  # fmt: skip
_MAX_UNPACKED: Final = "kafkalog.max_unpacked_bytes"


def _keep_max_unpacked(ctx: click.Context, _param: click.Parameter, value: int) -> None:
    ctx.meta[_MAX_UNPACKED] = value


unpacked_option: Final = click.option(
    "--max-unpacked-bytes", type=SIZE, default="8GiB", show_default=True, expose_value=False,
    callback=_keep_max_unpacked, help="Most bytes that archives and compressed files are unpacked to, in TMPDIR.",
)  # fmt: skip


def unpacked(paths: Sequence[str]) -> tuple[str, ...]:
    """Return the paths of a command, with what is in archives in their place, as long as the command runs."""
    if not any(map(_may_be_packed, paths)):
        if _is_left():
            from kafkalog.log_dirs.archives import remove_left

            remove_left()
        return tuple(paths)
    from kafkalog.log_dirs.archives import unpacked as opened

    ctx = click.get_current_context()
    return tuple(ctx.with_resource(opened(paths, ctx.meta[_MAX_UNPACKED])))


def _is_left() -> bool:
    """Say whether there may be a folder of an archive that a run left: one that was killed, or that reads it now."""
    try:
        return any(name.startswith("kafkalog-unpacked-") for name in os.listdir(os.environ.get("TMPDIR") or "/tmp"))
    except OSError:
        return False


def _may_be_packed(path: str) -> bool:
    local = local_path(path.partition("!/")[0])
    return parse_name(os.path.basename(local)).kind is FileKind.UNKNOWN and os.path.isfile(local)


jobs_option: Final = click.option(
    "--jobs",
    type=click.IntRange(min=0),
    help="Number of processes that read segments, 0 for all processors.  [default: 1 below 256 MiB, else up to 4]",
)

tz_option: Final = click.option(
    "--tz", "zone", type=TimeZone(), default="UTC", show_default=True, help="Time zone of times that people read."
)

findings_option: Final = click.option(
    "--findings", is_flag=True, help="Print each finding above a note, too; incidents say what they come to."
)

transactional_id_option: Final = click.option(
    "--transactional-id", "transactional_ids", multiple=True, metavar="ID|GLOB",
    help="Only this transactional id, or those that match; repeat for more.",
)  # fmt: skip
topic_option: Final = click.option(
    "--topic",
    "topics",
    multiple=True,
    metavar="NAME|GLOB",
    help="Only this topic, or those that match; repeat for more.",
)


partition_option: Final = click.option(
    "--partition", "partitions", type=NumberRanges(), default=(), help="Only these partitions."
)

storage_options: Final = in_order(
    click.option("--endpoint", metavar="URL", help="The object store's server, if the environment does not set it."),
    click.option("--region", help="The object store's region, if the environment does not set it."),
    click.option("--anonymous", is_flag=True, help="Do not sign requests to the object store."),
)


_FILE: Final = click.Path(exists=True, dir_okay=False)
space_options: Final = in_order(
    click.option("--keys", is_flag=True, help="Read the keys of all partitions, not only of those below 64 MiB."),
    click.option("--server-properties", type=_FILE, help="The brokers' settings that the metadata log does not have."),
    click.option("--topic-configs", type=_FILE,
                 help="The topics' settings if there is no metadata log: JSON, settings by topic."),
    click.option("--now", type=TIME, metavar="TIME",
                 help="The present.  [default: the clock if a broker runs, else the newest time]"),
)  # fmt: skip


def status_options(default: Severity = Severity.WARNING) -> Option:
    """Declare ``--fail-on`` and ``--exit-zero``."""
    return in_order(
        click.option("--fail-on", type=click.Choice([level.word for level in Severity]), default=default.word,
                     show_default=True, help="Lowest severity that makes the exit status 1."),
        click.option("--exit-zero", is_flag=True,
                     help="Exit with 0 despite findings; unreadable input still gives 3."),
    )  # fmt: skip


def row_form(
    form: str | None, target: Target, tables: Sequence[object], columns: Sequence[str] = (),
    others: Mapping[str, str] | None = None,
) -> str:  # fmt: skip
    """Return the format: the one that is named, or that of the output's suffix; `others` are a command's own.

    Raises UsageError for a CSV of several tables, for a file of a format that has a file for each, and for some of the
    columns in a directory.
    """
    form = form or (
        "table" if target.path is None else form_of(target.path, {"": "parquet", ".txt": "table", **(others or {})})
    )
    if form == "csv" and len(tables) != 1:
        raise click.UsageError("--format csv takes exactly one --table.")
    if form in ("arrow", "parquet"):
        if target.path is None:
            raise click.UsageError(f"--format {form} needs -o NAME.")
        if not target.is_folder(form) and len(tables) != 1:
            raise click.UsageError(
                f"--format {form} in one file takes exactly one --table; a name without a suffix is a directory."
            )
    if columns and target.is_folder(form):
        raise click.UsageError("--columns works only with one file of rows; a directory has whole tables.")
    return form


F = TypeVar("F", bound=Callable[..., Any])


def value_format_options(command: F) -> F:
    """Add ``--key-format``, ``--value-format`` and ``--schema``."""
    command = click.option(
        "--schema", "schema_paths", multiple=True, metavar="FILE|DIR", type=click.Path(exists=True),
        help="Schemas: Avro, JSON Schema, what protoc -o writes, .proto; ID.avsc is that of an id.",
    )(command)  # fmt: skip
    for what in ("value", "key"):
        command = click.option(
            f"--{what}-format", type=click.Choice(FORMATS), help=f"Decode {what}s; what can't be stays base64."
        )(command)
    return command


def decoders_of(
    key_format: str | None, value_format: str | None, paths: Sequence[str], inputs: Sequence[str]
) -> dict[str, Decode]:
    """Return what decodes keys and values, by the name of their column, with the schemas that it needs.

    Raises UsageError without any schema for them, UnsupportedError if what decodes them is not installed.
    """
    chosen = {name: form for name, form in (("key", key_format), ("value", value_format)) if form is not None}
    if not chosen:
        if paths:
            raise click.UsageError("--schema needs --key-format or --value-format.")
        return {}
    from kafkalog.queries.schema_files import schemas
    from kafkalog.values.formats import decoder

    needed = any(form in WITH_SCHEMA for form in chosen.values())
    known = schemas(*paths, logs=[file for file in inputs if file != STDIN]) if needed else None
    decoders = {name: decoder(form, known) for name, form in chosen.items()}
    if needed and not known:
        forms = " and ".join(sorted(set(chosen.values()) & set(WITH_SCHEMA)))
        raise click.UsageError(f"The format {forms} needs schemas: --schema FILE, or _schemas among the inputs.")
    return decoders


TABLE_NAMES: Final = tuple(table.name for table in AUDIT_TABLES)
SHOWN: Final = tuple(name for name in TABLE_NAMES if name != "visible")  # visible only when asked for

since_audit_option: Final = click.option(
    "--since-audit", type=Place(file_okay=False), metavar="PREVIOUS",
    help="Scan only segments that are new or changed since this output of an earlier audit.",
)  # fmt: skip

audit_options: Final = in_order(
    table_option(TABLE_NAMES),
    click.option("--now", type=TIME, metavar="TIME",
                 help=f"Treat this time as the present: {TIMES}  [default: newest broker time]"),
    click.option(
        "--snapshot", is_flag=True, help="The inputs show one moment: a file system snapshot, or a stopped broker."
    ),
    click.option(
        "--copy-minutes", type=click.FloatRange(min=0), default=10.0, show_default=True, help="How long the copy took."
    ),
    click.option(
        "--transaction-max-timeout-ms", "max_timeout_ms", type=click.IntRange(min=0), default=900_000,
        show_default=True, help="The brokers' transaction.max.timeout.ms.",
    ),
    click.option(
        "--transaction-state-partitions", "state_partitions", type=click.IntRange(min=1),
        help="Number of partitions of __transaction_state, if no metadata log gives it.",
    ),
    click.option("--hash", "hashed", is_flag=True, help="With Parquet: add each segment's SHA-256 to provenance.json."),
    remote_options,
    limit_options,
    status_options(),
)  # fmt: skip


def audit_options_of(params: Mapping[str, Any], limits: Limits, jobs: int | None = None) -> AuditOptions:
    """Return the parameters of the audit itself from a command's."""
    from kafkalog.auditing.transactions import AuditOptions

    return AuditOptions(
        limits, snapshot=params["snapshot"], copy_ms=round(params["copy_minutes"] * 60_000),
        now=params["now"], max_timeout_ms=params["max_timeout_ms"], state_partitions=params["state_partitions"],
        jobs=jobs,
    )  # fmt: skip


def say_reused(reused: Reused, previous: str | None, *, resumed: bool) -> None:
    """Report what a run took of an earlier run that it `resumed`, and if it took nothing of a `previous` audit."""
    if resumed and reused.resumed:  # else by a task that Spark lost
        say(f"{reused.resumed:,} of {reused.segments:,} segments were scanned by the earlier run")
    elif previous is not None and reused.segments and not reused.taken:
        say(
            f"all {reused.segments:,} segments were scanned: no scan that {previous} kept is of one of them. It needs"
            " the same cluster, node, file times, limits and version of kafkalog, with --hash the same SHA-256, and "
            "segments of at least 256 KiB"
        )

"""Options that several commands have, each declared once. What differs between commands is an argument here."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from inspect import signature
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

import click

from kafkalog import Limits, Severity
from kafkalog.exit_status import Exit, Outcome
from kafkalog.files.names import FileKind, is_remote, local_path, parse_name
from kafkalog.quantities import When
from kafkalog.tables import Table
from kafkalog.tables.audit_tables import AUDIT_TABLES
from kafkalog.values.format_names import FORMATS, MAY_HAVE_SCHEMA, WITH_SCHEMA
from kafkalog.zone import UTC, Zone
from kafkalog_cli.inputs import STDIN
from kafkalog_cli.output import Target, say
from kafkalog_cli.params import SIZE, TIME, TIMES, FormChoice, NumberRanges, OptionalWord, PathOrUri, TimeZone, names_of
from kafkalog_cli.render.forms import FORMS, ROWS
from kafkalog_cli.render.showing import Form, Showing

if TYPE_CHECKING:
    from pathlib import Path

    from kafkalog.auditing.incidents import Verdict
    from kafkalog.auditing.space import SpaceOptions
    from kafkalog.auditing.transactions import AuditOptions, Reused
    from kafkalog.values.value import Decode

__all__ = [
    "ALONE",
    "HASHES",
    "SHOWN",
    "Failing",
    "Measuring",
    "Option",
    "ValueFormats",
    "all_option",
    "as_one",
    "audit_options",
    "audit_options_of",
    "check_report",
    "check_rows",
    "columns_option",
    "existing_place",
    "findings_option",
    "form_of",
    "format_option",
    "full_option",
    "hash_option",
    "in_order",
    "incident_option",
    "jobs_option",
    "keys_option",
    "limit_options",
    "limits_of",
    "max_batch_bytes_option",
    "max_expansion_option",
    "output_options",
    "partition_option",
    "paths_argument",
    "remote_options",
    "say_reused",
    "showing_options",
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

HASHES: Final = ("sha256",)
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
    path = PathOrUri(readable=False)  # what can't be read is said later
    return click.argument("paths", nargs=-1, required=required, metavar=metavar, type=path, callback=_patterns_of_uris)


def _patterns_of_uris(_ctx: click.Context, _param: click.Parameter, paths: tuple[str, ...]) -> tuple[str, ...]:
    """Expand patterns in URIs, which no shell does."""
    from kafkalog.files.directories import expand

    return tuple(path for given in paths for path in (expand(given) if is_remote(given) else (given,)))


def existing_place(_ctx: click.Context, _param: click.Parameter, path: str) -> str:
    """Take a path where something is, or a URI. Raises BadParameter."""
    if not is_remote(path):
        PathOrUri(exists=True).convert(path, _param, _ctx)
    return path


def format_option(forms: Sequence[Form], default: str) -> Option:
    """Declare ``--format``, as `form`; without it the suffix of ``-o`` decides."""
    return click.option("--format", "form", type=FormChoice(forms), help=f"Output format.  [default: {default}]")


def table_option(names: Sequence[str], more: str = ".", *, metavar: str | None = None) -> Option:
    """Declare ``--table``, as `tables`; `more` ends its help."""
    return click.option(
        "--table", "tables", multiple=True, type=click.Choice(names), metavar=metavar,
        help=f"Table to show; repeat for more{more}",
    )  # fmt: skip


def columns_option(tables: Sequence[Table]) -> Option:
    """Declare ``--columns``, which accepts the columns of all these tables."""

    def known() -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for table in tables for name in table.names))

    return click.option("--columns", callback=names_of(known), metavar="A,B", help="Columns to show, in this order.")


def output_options(text: str, *, folders: bool = True, required: bool = False, csv: bool = True) -> Option:
    """Declare ``-o`` and what is done to what is there, as `target`; `text` says what ``-o`` names.

    Without `folders` a command writes no directories, without `csv` no rows.
    """
    replaced = "a file that is there, or a directory that the same command wrote" if folders else "a file that is there"
    csv_safe = click.option(
        "--csv-safe", is_flag=True,
        help="In CSV for a spreadsheet: put ' before each text that one may take for a formula.",
    )  # fmt: skip
    return as_one(
        "target", _target,
        click.option("-o", "--output", type=PathOrUri(), required=required, metavar="NAME",
                     help=f"{text} `-` is standard output."),
        click.option("--overwrite", is_flag=True, help=f"Replace {replaced}."),
        *((csv_safe,) if csv else ()),
    )  # fmt: skip


def _target(*, output: str | None, overwrite: bool, csv_safe: bool = False) -> Target:
    path = None if output in (None, "-", "/dev/stdout") else _path(output or "")
    remote = output if output and is_remote(output) else None
    name = click.get_current_context().command.name or ""
    target = Target(path, overwrite, csv_safe, remote, name)
    target.refuse_replacing()  # before anything is read, which may take hours
    return target


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
        click.option("--remote", type=PathOrUri(readable=False), metavar="DIR|URI",
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
    """Return the paths of a command, with what is in archives in their place, as long as the command runs.

    Raises UsageError for standard input, but where it is a segment.
    """
    if STDIN in paths and click.get_current_context().command.name != "dump":
        raise click.UsageError(
            "Standard input can't be read twice, and what a report says to do next needs a name: write the bundle to a"
            " file, as kafkalog collect … -o - > bundle.tar.zst, and name that."
        )
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

all_option: Final = click.option("--all", "everything", is_flag=True, help="Show all rows of all tables.")

findings_option: Final = click.option(
    "--findings", is_flag=True, help="Print each finding above a note, too; incidents say what they come to."
)

full_option: Final = click.option(
    "--full", is_flag=True, help="Tell every incident whole; else one screen has the worst one."
)


ALONE: Final = "--incident shows incidents as text: leave tables, --state and other formats out."


def _with_commas(_ctx: click.Context, _param: click.Parameter, given: tuple[str, ...]) -> str | None:
    return ",".join(given) if given else None


def incident_option(said: str) -> Option:
    """Return the option that takes incidents: a word with commas between them, however often it is given."""
    return click.option(
        "--incident", multiple=True, metavar="N-M|ID,...", callback=_with_commas,
        help=f"{said}, by their numbers on the screen or their ids: 2-4,7.",
    )  # fmt: skip


transactional_id_option: Final = click.option(
    "--transactional-id", "transactional_ids", multiple=True, metavar="ID|GLOB",
    help="Only this transactional id, or those that match; repeat for more.",
)  # fmt: skip
keys_option: Final = click.option(
    "--compare-keys/--no-compare-keys",
    default=True,
    help="Read the records of compacted logs' replicas where they differ.",
)
hash_option: Final = click.option(
    "--hash", "hashed", cls=OptionalWord, words=HASHES,
    help="Compute the checksums of files in the same read; provenance.json has them, and verify's table of files.",
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


@dataclass(frozen=True, slots=True)
class Failing:
    """From which severity on findings fail the command, unless they never do."""

    fail_on: str
    exit_zero: bool

    def outcome(self) -> Outcome:
        """Return what counts a run's findings."""
        return Outcome(self.severity)

    @property
    def severity(self) -> Severity:
        """Return the lowest severity that makes the exit status 1."""
        return Severity[self.fail_on.upper()]

    def status(self, outcome: Outcome) -> Exit:
        """Return the exit status of a run."""
        return outcome.status(exit_zero=self.exit_zero)

    def status_of(self, verdict: Verdict) -> Exit:
        """Return the exit status of what was judged."""
        return verdict.status(self.severity, exit_zero=self.exit_zero)


@dataclass(frozen=True, slots=True)
class Measuring:
    """How space is measured; settings are read from the two files."""

    keys: bool
    server_properties: str | None
    topic_configs: str | None
    now: When | None

    def options(self, limits: Limits) -> SpaceOptions:
        """Return the options; what is wrong with a line of the brokers' settings is said."""
        from kafkalog.auditing.space import SpaceOptions, read_broker_properties, read_topic_configs

        properties, configs = self.server_properties, self.topic_configs
        return SpaceOptions(
            limits, self.now, self.keys,
            {} if properties is None else read_broker_properties(properties, on_finding=lambda one: say(str(one))),
            {} if configs is None else read_topic_configs(configs),
        )  # fmt: skip


def status_options(default: Severity = Severity.WARNING) -> Option:
    """Declare ``--fail-on`` and ``--exit-zero``, as `failing`."""
    return as_one(
        "failing", Failing,
        click.option("--fail-on", type=click.Choice([level.word for level in Severity]), default=default.word,
                     show_default=True, help="Lowest severity that makes the exit status 1."),
        click.option("--exit-zero", is_flag=True,
                     help="Exit with 0 despite findings; unreadable input still gives 3."),
    )  # fmt: skip


def form_of(output: Path, offered: Sequence[Form], bare: Form | None = None) -> Form:
    """Choose one of the formats by an output's suffix; a name without one is in the format `bare`."""
    known = {suffix: form for form in reversed(offered) for suffix in form.suffixes}
    form = known.get(output.suffix.lower(), bare if not output.suffix else None)
    if form is None:
        raise click.UsageError(f"The suffix {output.suffix!r} does not name a format: choose one with --format.")
    return form


_WHERE: Final = "table; with -o, from its suffix; without a suffix, parquet"


def showing_options(
    *options: Option, forms: Sequence[Form] = ROWS, default: str = _WHERE, bare: Form | None = FORMS["parquet"]
) -> Option:
    """Declare ``--format``, and `options` of how something is shown; a command gets them as `showing`.

    Without ``--format`` it is the first of the `forms`; with ``-o`` that of the suffix, or `bare` without one.
    """

    def showing(
        *, form: Form | None, target: Target, tables: tuple[str, ...] = (), columns: tuple[str, ...] = (),
        everything: bool = False, findings: bool = False, zone: Zone = UTC, full: bool = False,
    ) -> Showing:  # fmt: skip
        form = form or (forms[0] if target.path is None or target.is_stream else form_of(target.path, forms, bare))
        if form.misread and target.path is not None and target.path.suffix.lower() == form.misread:
            raise click.UsageError(f"--format {form} is lines of JSON: give the file a name that ends in .jsonl.")
        return Showing(form, target, tables, columns, everything, findings, zone, full)

    return as_one("showing", showing, format_option(forms, default), *options)


def check_rows(showing: Showing, tables: Sequence[object]) -> None:
    """Check whether a command's `tables` can be shown so.

    Raises UsageError for several of them in a format that has one, and for some of the columns in a directory.
    """
    form, where = showing.form, showing.target
    if form.needs_path and where.path is None:
        raise click.UsageError(f"--format {form} needs -o NAME.")
    if form.one_table and not showing.is_folder and len(tables) != 1:
        raise click.UsageError(
            f"--format {form} in one file takes exactly one --table; a name without a suffix is a directory."
            if form.folders
            else f"--format {form} takes exactly one --table."
        )
    if showing.columns and showing.is_folder:
        raise click.UsageError("--columns works only with one file of rows; a directory has whole tables.")


def check_report(showing: Showing) -> None:
    """Raise UsageError for some of the tables or columns in a format that has all."""
    if not showing.form.has_rows and (showing.tables or showing.columns):
        raise click.UsageError(f"--format {showing.form} has all tables.")


@dataclass(frozen=True, slots=True)
class ValueFormats:
    """In which formats keys and values are, and the paths of their schemas."""

    key_format: str | None = None
    value_format: str | None = None
    schema_paths: tuple[str, ...] = ()

    def decoders(self, inputs: Sequence[str]) -> dict[str, Decode]:
        """Return what decodes keys and values, by the name of their column, with the schemas that it needs.

        Raises UsageError without any schema for them, UnsupportedError if what decodes them is not installed.
        """
        both = (("key", self.key_format), ("value", self.value_format))
        chosen = {name: value_format for name, value_format in both if value_format is not None}
        if not chosen:
            if self.schema_paths:
                raise click.UsageError("--schema needs --key-format or --value-format.")
            return {}
        from kafkalog.queries.schema_files import schemas
        from kafkalog.values.formats import decoder

        with_schema = sorted(set(chosen.values()) & set(WITH_SCHEMA))
        is_asked = with_schema or MAY_HAVE_SCHEMA in chosen.values()
        known = schemas(*self.schema_paths, logs=[file for file in inputs if file != STDIN]) if is_asked else None
        decoders = {name: decoder(value_format, known) for name, value_format in chosen.items()}
        if with_schema and not known:
            needed = " and ".join(with_schema)
            raise click.UsageError(f"The format {needed} needs schemas: --schema FILE, or _schemas among the inputs.")
        if MAY_HAVE_SCHEMA in chosen.values():
            say(f"{MAY_HAVE_SCHEMA} is read as JSON, and not compared with its schema")
        return decoders


value_format_options: Final = as_one(
    "formats", ValueFormats,
    *(
        click.option(f"--{what}-format", type=click.Choice(FORMATS),
                     help=f"Decode {what}s; what can't be stays base64.")
        for what in ("key", "value")
    ),
    click.option("--schema", "schema_paths", multiple=True, metavar="FILE|DIR", type=click.Path(exists=True),
                 help="Schemas: Avro, JSON Schema, what protoc -o writes, .proto; ID.avsc is that of an id."),
)  # fmt: skip


TABLE_NAMES: Final = tuple(table.name for table in AUDIT_TABLES)
SHOWN: Final = tuple(name for name in TABLE_NAMES if name != "visible")  # visible only when asked for

since_audit_option: Final = click.option(
    "--since-audit", type=PathOrUri(file_okay=False), metavar="PREVIOUS",
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
    hash_option,
    remote_options,
    limit_options,
    status_options(),
)  # fmt: skip


def audit_options_of(
    *, snapshot: bool, copy_minutes: float, now: When | None, max_timeout_ms: int, state_partitions: int | None,
    limits: Limits, jobs: int | None = None, compare_keys: bool = True,
) -> AuditOptions:  # fmt: skip
    """Return the options of the audit itself from a command's."""
    from kafkalog.auditing.transactions import AuditOptions

    return AuditOptions(
        limits, jobs, snapshot, round(copy_minutes * 60_000), now, max_timeout_ms, state_partitions,
        compare_keys=compare_keys,
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

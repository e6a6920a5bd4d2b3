"""``kafkalog space``: where the bytes are, and what holds those that could go."""

from __future__ import annotations

from pathlib import Path

import click

from kafkalog import Finding, Severity
from kafkalog.errors import UnreadableError
from kafkalog.log.names import local_path
from kafkalog.tables.space import SPACE_TABLES
from kafkalog_cli.exit import Exit, Outcome
from kafkalog_cli.options import (
    columns_option,
    format_option,
    output_option,
    row_form,
    status_options,
    table_option,
)
from kafkalog_cli.output import data_stream, is_terminal, say
from kafkalog_cli.params import Time
from kafkalog_cli.views import ViewOutput

__all__ = ["space"]

_FILE = click.Path(exists=True, dir_okay=False)
_BY_NAME = {table.name: table for table in SPACE_TABLES}


@click.command("space")
@click.argument("paths", nargs=-1, required=True, metavar="DIR...")
@format_option()
@table_option(tuple(_BY_NAME), ".  [default: a tree of all directories, and what holds their bytes]")
@columns_option(SPACE_TABLES)
@click.option("--keys", is_flag=True, help="Read the keys of all partitions, not only of those below 64 MiB.")
@click.option("--server-properties", type=_FILE, help="The brokers' settings that the metadata log does not have.")
@click.option("--topic-configs", type=_FILE,
              help="The topics' settings if there is no metadata log: JSON, settings by topic.")  # fmt: skip
@click.option("--now", type=Time(),
              help="The present.  [default: the clock if the broker runs, else the newest time]")  # fmt: skip
@output_option("Write to this file, or to a new directory of Parquet files.")
@status_options()
def space(
    paths: tuple[str, ...], form: str | None, tables: tuple[str, ...], columns: tuple[str, ...], keys: bool,
    server_properties: str | None, topic_configs: str | None, now: int | None, output: Path | None, fail_on: str,
    exit_zero: bool,
) -> int:  # fmt: skip
    """Show where the bytes of DIRs are, what holds those that could go, and how many these are.

    What holds them are notes: the exit status is 0 unless --fail-on note.

    \b
        kafkalog space /copy/of/log.dirs
        kafkalog space --format ndjson /copy/of/log.dirs | jq 'select(.cause != "none")'
        kafkalog space --server-properties server.properties --topic-configs topics.json /copy/of/log.dirs
    """
    from kafkalog.auditing.space import SpaceOptions, measure, read_broker_properties, read_topic_configs

    chosen = tuple(_BY_NAME[name] for name in tables) or SPACE_TABLES[:1]
    form = row_form(form, output, chosen)
    if form == "parquet" and (output is None or columns):
        raise click.UsageError("--format parquet needs a new directory, -o DIR, and takes no --columns.")
    try:
        options = SpaceOptions(
            now=now, keys=keys,
            properties={} if server_properties is None else read_broker_properties(server_properties),
            topics={} if topic_configs is None else read_topic_configs(topic_configs),
        )  # fmt: skip
    except UnreadableError as error:
        raise click.UsageError(str(error)) from error
    found = measure(paths, options)
    for line in found.unreadable:
        say(f"error: {line}")
    if form == "table" and not tables and not columns:
        from kafkalog_cli.render.space_tree import write_tree

        outcome = Outcome(Severity[fail_on.upper()])
        for item in found.items(()):
            if isinstance(item, Finding):
                outcome.count(item.severity)
                if item.severity > Severity.NOTE:
                    say(str(item))
        with data_stream(output, [Path(local_path(path)) for path in paths]) as stream:
            write_tree(found, stream, terminal=output is None and is_terminal())
        status = outcome.status(exit_zero=exit_zero)
    else:
        view = ViewOutput(paths, form, chosen, columns, output, fail_on, exit_zero)
        status = Exit(view.write(found.items(view.names)))
    return Exit.INCOMPLETE if found.unreadable else status

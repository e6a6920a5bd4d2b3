"""``kafkalog sql``: a question to the tables of audits, in SQL."""

from __future__ import annotations

import click

from kafkalog.zone import Zone
from kafkalog_cli.help import GroupedCommand
from kafkalog_cli.options import ROW_FORMS, format_option, output_options, row_form, tz_option
from kafkalog_cli.output import Target

__all__ = ["sql"]


@click.command("sql", cls=GroupedCommand)
@click.argument("audits", nargs=-1, required=True, type=click.Path(exists=True), metavar="AUDIT...")
@click.argument("query", metavar="SELECT")
@format_option(ROW_FORMS)
@tz_option
@output_options("Write to this file.", folders=False)
def sql(audits: tuple[str, ...], query: str, form: str | None, zone: Zone, target: Target) -> int:
    """Answer a SELECT over the tables of AUDITs, which txn-audit wrote as Parquet, with DuckDB.

    Each table is a view of its name; kafkalog schema lists them. An AUDIT may also be a Parquet file that extract, dump
    or another command wrote. Nothing else is read, and nothing is written but the result.

    \b
        kafkalog txn-audit /copy/of/log.dirs -o audit
        kafkalog sql audit "SELECT topic, state, count(*) AS n FROM transactions GROUP BY ALL ORDER BY ALL"
        kafkalog sql monday tuesday "SELECT audit, sum(log_end_offset) AS ends FROM partitions GROUP BY ALL"
    """
    form = row_form(form, target, ("result",))
    from kafkalog_cli.querying import Query, database

    asked = Query(database(audits), query)
    if form in ("arrow", "parquet"):
        from kafkalog_cli.render.columnar import write_stream

        with asked.arrow() as reader, target.stream(audits) as stream:
            write_stream(form, stream, reader.schema, reader)
        return 0
    answer = asked.answer()
    from kafkalog_cli.render.sinks import sink_of

    with target.stream(audits) as stream:
        sink = sink_of(
            form, stream, (), (answer.table,), terminal=target.on_terminal, csv_safe=target.csv_safe, zone=zone
        )  # fmt: skip
        for row in answer.rows:
            sink.row(answer.table, row)
        sink.close()
    return 0

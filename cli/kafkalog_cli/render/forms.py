"""Each output format, declared once: what it may carry, what it needs, and what writes it.

A command offers some of them, by trait or by name. Its ``--format``, the suffixes of ``-o`` that choose one, and every
rule about one follow from the declarations.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, BinaryIO, Final

from kafkalog.tables import Table
from kafkalog.tables.audit_tables import FINDINGS
from kafkalog_cli.render.showing import Form, Showing, Told, WriteReport

if TYPE_CHECKING:
    from kafkalog.writing.row_formats import BlockSink

__all__ = ["FORMS", "PROSE", "REPORTS", "ROWS"]


def _names(tables: Sequence[Table]) -> list[str]:
    return [table.name for table in tables]


def _table(showing: Showing, stream: BinaryIO, tables: Sequence[Table], _files: Sequence[str]) -> BlockSink:
    from kafkalog_cli.render.people import style
    from kafkalog_cli.render.text_table import TableSink

    # No table means that there is nothing to say.
    shown = [name for name in _names(tables) if name != FINDINGS.name or len(tables) == 1]
    return TableSink(stream, showing.columns, zone=showing.zone, tables=shown, **style(showing.target.on_terminal))


def _ndjson(showing: Showing, stream: BinaryIO, _tables: Sequence[Table], _files: Sequence[str]) -> BlockSink:
    from kafkalog.writing.row_formats import NdjsonSink

    return NdjsonSink(stream, showing.columns)


def _json(showing: Showing, stream: BinaryIO, tables: Sequence[Table], _files: Sequence[str]) -> BlockSink:
    from kafkalog.writing.row_formats import JsonSink

    return JsonSink(stream, showing.columns, _names(tables))


def _csv(showing: Showing, stream: BinaryIO, tables: Sequence[Table], _files: Sequence[str]) -> BlockSink:
    from kafkalog.writing.row_formats import CsvSink

    target = showing.target
    return CsvSink(stream, showing.columns, tables[0], escaped=target.is_escaped, safe=target.csv_safe)


def _columnar(showing: Showing, stream: BinaryIO, tables: Sequence[Table], files: Sequence[str]) -> BlockSink:
    from kafkalog.writing.columnar import ArrowSink

    return ArrowSink(showing.form.name, stream, showing.columns, tables[0], files)


def _as_text(told: Told, showing: Showing, stream: BinaryIO) -> None:
    from kafkalog_cli.render.report_forms import write_text

    write_text(told, showing, stream)


def _as_markdown(told: Told, showing: Showing, stream: BinaryIO) -> None:
    from kafkalog_cli.render.report_forms import write_markdown

    write_markdown(told, showing, stream)


def _as_page(told: Told, showing: Showing, stream: BinaryIO) -> None:
    from kafkalog_cli.render.report_forms import write_page

    write_page(told, showing, stream)


def _for_programs(name: str) -> WriteReport:
    """Return what writes an audit with the function of this name in ``kafkalog.reports``."""

    def write(told: Told, showing: Showing, stream: BinaryIO) -> None:
        from kafkalog import reports
        from kafkalog_cli.render.report_forms import write_pieces

        write_pieces(getattr(reports, name)(told.source), showing, stream)

    return write


FORMS: Final = {
    form.name: form
    for form in (
        Form("kafka", ("", ".txt", ".log", ".out", ".dump"), people=True),  # what kafka-dump-log prints
        Form("text", people=True),  # of commands that have no tables
        Form("table", (".txt",), _table, _as_text, people=True),
        Form("ndjson", (".ndjson", ".jsonl"), _ndjson, folders=True),
        Form("json", (".json",), _json),
        Form("csv", (".csv",), _csv, one_table=True),
        Form("arrow", (".arrow",), _columnar, one_table=True, folders=True, columnar=True, needs_path=True),
        Form("parquet", (".parquet",), _columnar, one_table=True, folders=True, parts=True, columnar=True,
             needs_path=True),
        Form("markdown", (".md",), report=_as_markdown, people=True),
        Form("html", (".html",), report=_as_page, people=True, nights=True),
        Form("trace", (".pftrace",), report=_for_programs("trace")),
        Form("timesketch", report=_for_programs("timesketch"), misread=".csv"),
        Form("prometheus", (".prom",), report=_for_programs("prometheus")),
        Form("junit", (".xml",), report=_for_programs("junit")),
        Form("segment", needs_path=True),  # the batches as they are, in a directory for each log
        Form("console", needs_path=True),  # lines that kafka-console-producer reads
    )
}  # fmt: skip
ROWS: Final = tuple(form for form in FORMS.values() if form.has_rows)
REPORTS: Final = tuple(form for form in FORMS.values() if form.report is not None and not form.has_rows)
PROSE: Final = tuple(form for form in REPORTS if form.people)  # reports that people read, of any comparison

"""Rows that are given as columns, written to a sink."""

from __future__ import annotations

from collections.abc import Iterable

from kafkalog.columns.table import Columns
from kafkalog.segments.blocks import Rows
from kafkalog.segments.column_blocks import ColumnBlock
from kafkalog.tables import Table
from kafkalog_cli.render.row_formats import BlockSink

__all__ = ["write_columns", "write_part"]


def write_columns(sink: BlockSink, table: Table, parts: Iterable[Columns]) -> None:
    """Write rows that are given as columns, all columns of the table in each part."""
    block = ColumnBlock(table, sink.names(table))
    for columns in parts:
        write_part(sink, block, columns)


def write_part(sink: BlockSink, block: ColumnBlock, columns: Columns) -> None:
    """Write some rows."""
    for item in block.items(columns):
        if isinstance(item, Rows):
            sink.block(item)
        else:
            sink.row(*item)

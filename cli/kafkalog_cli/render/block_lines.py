"""Lines of JSON and CSV before they are written: collected in a buffer that the kernel's writer fills, too."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kafkalog.format import columns, row_lines
from kafkalog.log.blocks import Block, BlockColumn, Kind, Rows
from kafkalog.log.records import header_at
from kafkalog_cli.render.cells import as_csv, as_json
from kafkalog_cli.render.row_templates import RowTemplate

if TYPE_CHECKING:
    from _typeshed import SupportsWrite

__all__ = ["BlockLines"]

_OUT: Final = 1 << 18


class BlockLines:
    """Writes lines to `out`: of rows of blocks by the kernel, and any others; a big row in pieces."""

    def __init__(self, out: SupportsWrite[memoryview | bytes]) -> None:
        self._out = out
        self._buffer = bytearray(_OUT)
        self._used = 0

    def flush(self) -> None:
        """Give all lines so far to `out`."""
        if self._used:
            self._out.write(memoryview(self._buffer)[: self._used])
            self._used = 0

    def write(self, data: bytes) -> None:
        """Write text that is ready."""
        if self._used + len(data) > len(self._buffer):
            self.flush()
        if len(data) > len(self._buffer):
            self._out.write(data)
            return
        self._buffer[self._used : self._used + len(data)] = data
        self._used += len(data)

    def rows(self, rows: Rows, template: RowTemplate) -> None:
        """Write the lines of some rows of a block."""
        block, row, stop = rows.block, rows.start, rows.stop
        while row < stop:
            row, self._used, why = row_lines.row_lines(
                block.buf, block.cells, block.room, block.valid, row, stop, template.steps, template.literals,
                template.form, template.line_room, block.weight, self._buffer, self._used,
            )  # fmt: skip
            if why == row_lines.NO_ROOM:
                self.flush()
            elif why == row_lines.BIG:
                self._big(block, row, template)
                row += 1

    def _big(self, block: Block, row: int, template: RowTemplate) -> None:
        """Write one row in pieces."""
        is_csv = template.is_csv
        for literal, column in template.parts:
            self.write(literal)
            if column is None:
                continue
            at = column.at + row
            if column.kind is Kind.HEADERS:
                self._headers(block, block.cells[at], block.cells[at + block.room], template)
            elif column.kind in (Kind.TEXT, Kind.BASE64):
                self._bytes(block, column, at, template)
            elif column.kind is Kind.JSON and not is_csv:
                self._ready(block, at, template)
            elif column.kind is Kind.JSON:
                self._bytes(block, column, at, template)
            else:
                (value,) = block.column(column, row, row + 1)
                text = as_csv(value, safe=template.form == row_lines.SAFE_CSV) if is_csv else as_json(value)
                self.write(template.null if value is None else text.encode())

    def _ready(self, block: Block, at: int, template: RowTemplate) -> None:
        """Write JSON as it is."""
        start, size = block.cells[at], block.cells[at + block.room]
        self.write(template.null if size < 0 else b"")
        for piece in range(start, start + size, _OUT):
            self.write(bytes(block.buf[piece : min(piece + _OUT, start + size)]))

    def _bytes(self, block: Block, column: BlockColumn, at: int, template: RowTemplate) -> None:
        start, size, what = (block.cells[at + run * block.room] for run in range(3))
        is_text = what in (columns.PLAIN, columns.ESCAPED)
        if is_text is (column.kind is Kind.BASE64) or what == columns.NOTHING:
            self.write(template.null)
            return
        mark = b""
        if template.form == row_lines.SAFE_CSV and column.kind is not Kind.JSON and size:
            mark = b"'" if row_lines.is_marked(block.buf[start], in_base64=not is_text) else b""
        is_quoted = not template.is_csv or (is_text and row_lines.is_quoted(block.buf, start, size))
        if mark and is_quoted and size < _OUT:  # a blank after the mark needs no quotes
            marked = mark + bytes(block.buf[start : start + size])
            is_quoted = row_lines.is_quoted(marked, 0, len(marked))
        quote = b'"' if is_quoted else b""
        how = row_lines.CSV if template.is_csv else row_lines.JSON
        self._long(block, start, size, (quote + mark, quote), how if is_text else row_lines.IN_BASE64)

    def _long(self, block: Block, start: int, size: int, around: tuple[bytes, bytes], how: int) -> None:
        """Write bytes in pieces, with what is before and after them."""
        self.write(around[0])
        stop = start + size
        while start < stop:
            start, self._used = row_lines.text_piece(block.buf, start, stop, how, self._buffer, self._used)
            if start < stop:
                self.flush()
        self.write(around[1])

    def _headers(self, block: Block, position: int, left: int, template: RowTemplate) -> None:
        quote = b'"' if template.is_csv and left > 0 else b""
        self.write(quote + b"[")
        is_started = False
        while left > 0:
            before = left
            position, left, self._used = row_lines.headers_piece(
                block.buf, position, left, is_started, template.literals, template.steps, template.headers,
                template.form, self._buffer, self._used,
            )  # fmt: skip
            is_started = is_started or left < before
            if left > 0:
                self.flush()
                if left == before:
                    position = self._header(block, position, template, is_started)
                    is_started = True
                    left -= 1
        self.write(b"]" + quote)

    def _header(self, block: Block, position: int, template: RowTemplate, is_started: bool) -> int:
        """Write one big header in pieces; answer where the next one begins."""
        key, key_size, value, value_size, position = header_at(block.buf, position)
        is_csv = template.is_csv
        quote = b'""' if is_csv else b'"'
        self.write(b"," if is_started else b"")
        for at, (start, size) in ((0, (key, key_size)), (6, (value, value_size))):
            what = row_lines.kind_of(block.buf, start, size)
            texts = (columns.PLAIN, columns.ESCAPED), (columns.BASE64,)
            for word, kinds, how in zip(
                (at, at + 2), texts, (row_lines.QUOTED_JSON if is_csv else row_lines.JSON, row_lines.IN_BASE64),
                strict=True,
            ):  # fmt: skip
                self.write(template.header_word(word))
                if what in kinds:
                    self._long(block, start, size, (quote, quote), how)
                else:
                    self.write(b"null")
        self.write(template.header_word(12))
        return position

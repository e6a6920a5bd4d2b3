"""What stands between the values of a line of JSON or CSV, as data for the kernel's writer; see ``row_lines``."""

from __future__ import annotations

from array import array
from collections.abc import Callable
from functools import partial
from typing import Final, NamedTuple

from kafkalog.format import row_lines
from kafkalog.log.blocks import Block, BlockColumn, Kind
from kafkalog.tables import SCHEMA_VERSION
from kafkalog_cli.render.cells import as_csv, as_json

__all__ = ["RowTemplate", "csv_template", "json_template", "ndjson_template"]

_KINDS: Final = {
    Kind.NUMBER: row_lines.INTEGER,
    Kind.BOOL: row_lines.WORD,
    Kind.WORD: row_lines.WORD,
    Kind.TEXT: row_lines.TEXT,
    Kind.BASE64: row_lines.BASE64,
    Kind.HEADERS: row_lines.HEADERS,
    Kind.JSON: row_lines.READY,
}
# Before a header's key, before the key's base64, null; the same of its value; after it.
_HEADER: Final = ('{"key":', ',"key_base64":', "null", ',"value":', ',"value_base64":', "null", "}")


class RowTemplate(NamedTuple):
    """A line: `parts` are literals, each with the column after it; the rest is the same for the kernel's writer."""

    form: int
    parts: tuple[tuple[bytes, BlockColumn | None], ...]
    null: bytes
    steps: array[int]
    literals: bytes
    headers: int  # where the words of headers begin in `steps`
    line_room: int

    @property
    def is_csv(self) -> bool:
        """Say whether lines are those of a CSV."""
        return self.form != row_lines.JSON

    def header_word(self, at: int) -> bytes:
        """Return a word of headers; `at` counts the cells of those before."""
        start, size = self.steps[self.headers + at : self.headers + at + 2]
        return self.literals[start : start + size]


def ndjson_template(block: Block) -> RowTemplate:
    """Return the line of an object that says which table's row it is."""
    return _json(block, f'{{"table":{as_json(block.table.name)},"schema_version":{SCHEMA_VERSION}', ",", "}\n")


def json_template(block: Block, *, is_first: bool = False) -> RowTemplate:
    """Return an element of an array of objects, all but the first after a comma."""
    return _json(block, "\n  {" if is_first else ",\n  {", "", "}")


def csv_template(block: Block, *, safe: bool = False) -> RowTemplate:
    """Return the line of a CSV; a row of one null, or of nothing, is a quoted field: an empty line would be no row.

    `safe` is that of ``as_csv``.
    """
    text_of = partial(as_csv, safe=safe)
    parts: list[tuple[str, BlockColumn | None]] = []
    pending = "" if block.columns else '""'
    for number, column in enumerate(block.columns):
        pending += "," if number else ""
        if column.kind is Kind.FILE:
            pending += text_of(block.file)
        else:
            parts.append((pending, column))
            pending = ""
    parts.append((pending + "\r\n", None))
    form = row_lines.SAFE_CSV if safe else row_lines.CSV
    return _template(form, parts, "" if len(block.columns) > 1 else '""', text_of)


def _json(block: Block, begin: str, comma: str, end: str) -> RowTemplate:
    parts: list[tuple[str, BlockColumn | None]] = []
    pending = begin
    for column in block.columns:
        pending += f"{comma}{as_json(column.name)}:"
        comma = ","
        if column.kind is Kind.FILE:
            pending += as_json(block.file)
        else:
            parts.append((pending, column))
            pending = ""
    parts.append((pending + end, None))
    return _template(row_lines.JSON, parts, "null", as_json)


def _template(
    form: int, parts: list[tuple[str, BlockColumn | None]], null: str, text_of: Callable[[object], str]
) -> RowTemplate:
    """Lay steps and words out in one buffer: the words come after the last step."""
    literals = bytearray()
    words: list[int] = []
    begin = 7 * len(parts) + 1
    room = 0

    def literal(text: str) -> tuple[int, int]:
        data = text.encode("utf-8", "surrogateescape")
        literals.extend(data)
        return len(literals) - len(data), len(data)

    def listed(*texts: str) -> int:
        at = begin + len(words)
        for text in texts:
            words.extend(literal(text))
        return at

    none = listed(null)
    double = '"' if form == row_lines.JSON else '""'
    headers = listed(*(text.replace('"', double) for text in _HEADER))
    steps: list[int] = []
    for text, column in parts:
        step = [*literal(text), row_lines.LITERAL, 0, -1, 0, none]
        room += step[1]
        if column is not None:
            known: tuple[object, ...] = (False, True) if column.kind is Kind.BOOL else column.words
            shown = [text_of(word) for word in known]
            at = headers if column.kind is Kind.HEADERS else listed(*shown)
            step[2:6] = _KINDS[column.kind], column.at, column.bit, at
            room += max(24, len(null), *map(len, shown), 0)
        steps += step
    encoded = tuple((text.encode("utf-8", "surrogateescape"), column) for text, column in parts)
    cells = array("q", [*steps, -1, *words])
    literals.extend(bytes(32))  # so that the writer can copy 32 bytes of any of them, which is cheaper than fewer
    return RowTemplate(form, encoded, null.encode(), cells, bytes(literals), headers, room + 4 * row_lines.SLACK)

"""Rows as ndjson, json and csv. Every sink takes (table, row) and writes bytes to a stream."""

from __future__ import annotations

import json
import re
from array import array
from codecs import getincrementaldecoder
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, BinaryIO, Final, NamedTuple, Protocol

from kafkalog.escape import escape
from kafkalog.kernel import plans
from kafkalog.kernel import text as kernel_text
from kafkalog.segments.blocks import Block, BlockColumn, Kind, Rows
from kafkalog.segments.decoded import header_at
from kafkalog.tables import SCHEMA_VERSION, Table
from kafkalog.tables.declared import EVERY_COLUMN
from kafkalog.writing.output_buffer import Buffer

if TYPE_CHECKING:
    from _typeshed import SupportsWrite

__all__ = [
    "OUT_BYTES",
    "BlockSink",
    "ChosenColumns",
    "CsvSink",
    "EscapedCsv",
    "JsonSink",
    "NdjsonSink",
    "PartedCsv",
    "as_csv",
    "as_json",
]


# One value as JSON and as a field of a CSV.


_ENCODER: Final = json.JSONEncoder(ensure_ascii=True, separators=(",", ":"))  # dumps makes one for every call


def as_json(value: Any) -> str:
    """Write a value as JSON in ASCII, so that nothing in it acts on a terminal, an HTML page or a line reader."""
    return _ENCODER.encode(value)


# Texts, numbers and nothing are most cells: these functions are what the encoder itself calls for them.
_CELLS: Final[dict[type, Callable[[Any], str]]] = {
    str: json.encoder.encode_basestring_ascii,
    int: int.__repr__,
    type(None): lambda _: "null",
}


class JsonRows:
    """Writes the rows of a table as objects of the same names: faster than an encoder that is given each object.

    `head` are cells that all objects begin with; `kept` are the numbers of the columns.
    """

    def __init__(
        self, names: Sequence[str], kept: Sequence[int], head: Mapping[str, Any] = MappingProxyType({})
    ) -> None:
        first = [f"{as_json(name)}:{as_json(cell)}" for name, cell in head.items()]
        self._kept = None if list(kept) == list(range(len(names))) else list(kept)
        cells = ",".join([*(text.replace("%", "%%") for text in first), *(f"{as_json(names[i])}:%s" for i in kept)])
        self._text = f"{{{cells}}}"

    def __call__(self, row: Sequence[Any]) -> str:
        cells = row if self._kept is None else [row[i] for i in self._kept]
        return self._text % tuple([_CELLS.get(type(cell), as_json)(cell) for cell in cells])


# What makes a cell a formula to a spreadsheet, and the mark itself: who removes one from each cell gets the text back.
_MARK: Final = "'"

_MARKED: Final = ("=", "+", "-", "@", "\t", "\r", "\n", " ", _MARK)


def as_csv(value: Any, *, safe: bool = False) -> str:
    """Write a value as RFC 4180 has it: null is empty, an empty string quoted, a list or object its JSON.

    With `safe` a text that a spreadsheet would take for a formula begins with a mark.
    """
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    text = value if isinstance(value, str) else as_json(value)
    if safe and (text.startswith(_MARKED) or "\uf000" <= text[:1] <= "\uffff"):  # as the kernel's is_marked
        text = _MARK + text
    if text and not any(character in text for character in ',"\r\n') and text == text.strip():
        return text
    return '"' + text.replace('"', '""') + '"'


# What stands between the values of a line of JSON or CSV, as data for the kernel's writer; see ``row_lines``.


_KINDS: Final = {
    Kind.NUMBER: plans.AS_INTEGER,
    Kind.BOOL: plans.AS_WORD,
    Kind.WORD: plans.AS_WORD,
    Kind.TEXT: plans.AS_TEXT,
    Kind.BASE64: plans.AS_BASE64,
    Kind.HEADERS: plans.AS_HEADERS,
    Kind.JSON: plans.AS_READY,
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
        return self.form != plans.JSON

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
    form = plans.SAFE_CSV if safe else plans.CSV
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
    return _template(plans.JSON, parts, "null", as_json)


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
    double = '"' if form == plans.JSON else '""'
    headers = listed(*(text.replace('"', double) for text in _HEADER))
    steps: list[int] = []
    for text, column in parts:
        step = [*literal(text), plans.AS_LITERAL, 0, -1, 0, none]
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
    return RowTemplate(form, encoded, null.encode(), cells, bytes(literals), headers, room + 4 * kernel_text.SLACK)


# Lines of JSON and CSV before they are written: collected in a buffer that the kernel's writer fills, too.


OUT_BYTES: Final = 1 << 18


class BlockLines(Buffer):
    """Writes lines to `out`: of rows of blocks by the kernel, and any others; a big row in pieces."""

    def __init__(self, out: SupportsWrite[memoryview | bytes]) -> None:
        super().__init__(out, OUT_BYTES)

    def rows(self, rows: Rows, template: RowTemplate) -> None:
        """Write the lines of some rows of a block."""
        block, row, stop = rows.block, rows.start, rows.stop
        while row < stop:
            row, self.used, why = kernel_text.row_lines(block, row, stop, template, self.buffer, self.used)
            if why == kernel_text.NO_ROOM:
                self.flush()
            elif why == kernel_text.SPECIAL:
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
                text = as_csv(value, safe=template.form == plans.SAFE_CSV) if is_csv else as_json(value)
                self.write(template.null if value is None else text.encode())

    def _ready(self, block: Block, at: int, template: RowTemplate) -> None:
        """Write JSON as it is."""
        start, size = block.cells[at], block.cells[at + block.room]
        self.write(template.null if size < 0 else b"")
        for piece in range(start, start + size, OUT_BYTES):
            self.write(bytes(block.buf[piece : min(piece + OUT_BYTES, start + size)]))

    def _bytes(self, block: Block, column: BlockColumn, at: int, template: RowTemplate) -> None:
        start, size, what = (block.cells[at + run * block.room] for run in range(3))
        is_text = what in (plans.PLAIN, plans.ESCAPED)
        if is_text is (column.kind is Kind.BASE64) or what == plans.NOTHING:
            self.write(template.null)
            return
        mark = b""
        if template.form == plans.SAFE_CSV and column.kind is not Kind.JSON and size:
            mark = b"'" if kernel_text.is_marked(block.buf[start], in_base64=not is_text) else b""
        is_quoted = not template.is_csv or (is_text and kernel_text.is_quoted(block.buf, start, size))
        if mark and is_quoted and size < OUT_BYTES:  # a blank after the mark needs no quotes
            marked = mark + bytes(block.buf[start : start + size])
            is_quoted = kernel_text.is_quoted(marked, 0, len(marked))
        quote = b'"' if is_quoted else b""
        how = plans.CSV if template.is_csv else plans.JSON
        self._long(block, start, size, (quote + mark, quote), how if is_text else plans.IN_BASE64)

    def _long(self, block: Block, start: int, size: int, around: tuple[bytes, bytes], how: int) -> None:
        """Write bytes in pieces, with what is before and after them."""
        self.write(around[0])
        stop = start + size
        while start < stop:
            start, self.used = kernel_text.text_piece(block.buf, start, stop, how, self.buffer, self.used)
            if start < stop:
                self.flush()
        self.write(around[1])

    def _headers(self, block: Block, position: int, left: int, template: RowTemplate) -> None:
        quote = b'"' if template.is_csv and left > 0 else b""
        self.write(quote + b"[")
        is_started = False
        while left > 0:
            before = left
            position, left, self.used = kernel_text.headers_piece(
                block.buf, position, left, is_started, template.literals, template.steps, template.headers,
                template.is_csv, self.buffer, self.used,
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
            what = kernel_text.kind_of(block.buf, start, size)
            texts = (plans.PLAIN, plans.ESCAPED), (plans.BASE64,)
            for word, kinds, how in zip(
                (at, at + 2), texts, (plans.QUOTED_JSON if is_csv else plans.JSON, plans.IN_BASE64),
                strict=True,
            ):  # fmt: skip
                self.write(template.header_word(word))
                if what in kinds:
                    self._long(block, start, size, (quote, quote), how)
                else:
                    self.write(b"null")
        self.write(template.header_word(12))
        return position


# A CSV for a terminal: what its fields have that acts on one is escaped on the way, a piece at a time.


_PIECE: Final = 1 << 14  # bytes that are escaped at once: the text takes many times that

_ENDS: Final = re.compile(r"([\r\n])")


class EscapedCsv:
    """Escapes what is written, line ends inside quotes included, and gives it to `out`."""

    def __init__(self, out: SupportsWrite[bytes]) -> None:
        self._out = out
        self._decoder = getincrementaldecoder("utf-8")("surrogateescape")
        self._is_quoted = False

    def write(self, data: bytes | memoryview) -> int:
        """Write a part of the CSV; it may end anywhere."""
        for start in range(0, len(data), _PIECE):
            text = self._decoder.decode(bytes(data[start : start + _PIECE]))
            self._out.write(self._escaped(text).encode("utf-8"))
        return len(data)

    def _escaped(self, text: str) -> str:
        if text.isprintable() and "\\" not in text:
            self._is_quoted ^= text.count('"') % 2 == 1
            return text
        parts = text.split('"')
        for number, part in enumerate(parts):
            if number:
                self._is_quoted = not self._is_quoted
            if self._is_quoted:
                parts[number] = escape(part)
            else:
                # A field without quotes has neither: each is of a line's end, which may be cut in two.
                parts[number] = "".join(one if one in ("\r", "\n") else escape(one) for one in _ENDS.split(part))
        return '"'.join(parts)


# A spreadsheet whose separator is a semicolon, or a tab, makes cells of parts of a text, and of its lines.

_SIGN: Final = rb"(?='*(?:[=+@-]|\xef[\x80-\xbf]))"
_PARTED: Final = re.compile(rb"([;\t] *)" + _SIGN)
_PARTED_IN_QUOTES: Final = re.compile(rb"([;\t\r\n] *)" + _SIGN)
_BEGUN: Final = re.compile(rb"[;\t\r\n] *'*\xef?\Z")


class PartedCsv:
    """Puts a mark where a part of a text would be a formula, and gives all to `out`.

    Each row is written to its end before anything else is.
    """

    def __init__(self, out: SupportsWrite[bytes]) -> None:
        self._out = out
        self._is_quoted = False
        self._begun = b""  # what may be the beginning of such a place

    def write(self, data: bytes | memoryview) -> int:
        """Write a part of the CSV; it may end anywhere."""
        whole = self._begun + bytes(data)
        begun = None if whole.endswith(b"\r\n") and not self._ends_quoted(whole) else _BEGUN.search(whole)
        self._begun = b"" if begun is None else begun[0]
        parts = whole[: len(whole) - len(self._begun)].split(b'"')
        for number, part in enumerate(parts):
            if number:
                self._is_quoted = not self._is_quoted
            parts[number] = (_PARTED_IN_QUOTES if self._is_quoted else _PARTED).sub(rb"\1'", part)
        self._out.write(b'"'.join(parts))
        return len(data)

    def _ends_quoted(self, data: bytes) -> bool:
        return self._is_quoted ^ (data.count(b'"') % 2 == 1)


_ROOM: Final = 2100  # records in a block: a block costs some calls, and text is made of it while it is in the cache


class BlockSink(Protocol):
    """Takes rows in the order in which they come, and blocks of at most `room` records with the columns it asks for.

    They are of chunks of at most `batches` batches, None for as many as text takes. JSON in them has blanks and is not
    ASCII if it is `spaced`.
    """

    room: int = _ROOM
    spaced: bool = False
    batches: int | None = None

    def names(self, table: Table) -> Sequence[str]:
        """Return the columns that blocks of a table need."""

    def row(self, table: Table, row: Sequence[Any]) -> None: ...

    def block(self, rows: Rows) -> None:
        """Take rows of a block."""

    def flush(self) -> None:
        """Show the rows so far, if the format can."""
        return

    def close(self) -> None: ...


class ChosenColumns:
    """The requested columns, by table: all for ``*``, all that need not be asked for if none were requested."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = tuple(names)
        self._kept: dict[str, list[int]] = {}

    def of(self, table: Table) -> list[int]:
        """Return their numbers in the table, in the order in which they were requested."""
        kept = self._kept.get(table.name)
        if kept is None:
            asked = [table.names.index(name) for name in self._names if name in table.names]
            if EVERY_COLUMN in self._names:
                asked = list(range(len(table.names)))
            elif not self._names or (table.name == "findings" and not asked):
                asked = [table.names.index(name) for name in table.usual]
            kept = asked
            self._kept[table.name] = kept
        return kept

    def names_of(self, table: Table) -> list[str]:
        """Return their names."""
        return [table.names[i] for i in self.of(table)]


class NdjsonSink(BlockSink):
    """One JSON object a line: ``table`` says which table it is a row of, ``schema_version`` what its columns mean."""

    def __init__(self, stream: BinaryIO, columns: Sequence[str]) -> None:
        self._stream = stream
        self._columns = ChosenColumns(columns)
        self._lines = BlockLines(stream)
        self._templates = _Templates()
        self._rows: dict[str, JsonRows] = {}

    def names(self, table: Table) -> Sequence[str]:
        return self._columns.names_of(table)

    def row(self, table: Table, row: Sequence[Any]) -> None:
        text = self._rows.get(table.name)
        if text is None:
            head = {"table": table.name, "schema_version": SCHEMA_VERSION}
            text = self._rows[table.name] = JsonRows(table.names, self._columns.of(table), head)
        if self._columns.of(table):  # else none of the requested columns
            self._lines.write(text(row).encode() + b"\n")

    def block(self, rows: Rows) -> None:
        if rows.block.columns:
            self._lines.rows(rows, self._templates.of(rows.block, ndjson_template))

    def flush(self) -> None:
        self._lines.flush()
        self._stream.flush()

    def close(self) -> None:
        self._lines.flush()


class _Templates:
    """The templates of blocks, which stay the same as long as their cells do."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[Block, RowTemplate]] = {}

    def of(self, block: Block, make: Callable[[Block], RowTemplate]) -> RowTemplate:
        known = self._known.get(block.table.name)
        if known is None or known[0] is not block:
            known = self._known[block.table.name] = (block, make(block))
        return known[1]


class JsonSink(BlockSink):
    """One object: schema_version, and for each table a list of its rows.

    The rows of the first of the `expected` tables are written as they come; those of the others wait in files.
    """

    def __init__(self, stream: BinaryIO, columns: Sequence[str], expected: Sequence[str]) -> None:
        self._stream = stream
        self._columns = ChosenColumns(columns)
        self._lists: dict[str, _JsonList] = {}
        self._begun = ""
        self._expected = list(expected)
        self._rows: dict[str, JsonRows] = {}
        self._is_started = False

    def head(self, cells: Mapping[str, Any]) -> None:
        """Write cells of the object before its tables."""
        self._start()
        for name, cell in cells.items():
            self._stream.write(f',\n "{name}": {as_json(cell)}'.encode())

    def _start(self) -> None:
        if not self._is_started:
            self._stream.write(f'{{"schema_version": {SCHEMA_VERSION}'.encode())
        self._is_started = True

    def _list_of(self, name: str) -> _JsonList:
        while self._expected:
            expected, *self._expected = self._expected
            self._add_list(expected)
        return self._lists[name] if name in self._lists else self._add_list(name)

    def _add_list(self, name: str) -> _JsonList:
        if self._lists:
            import tempfile

            from kafkalog.files.off_limits import temporary_folder

            made = _JsonList(tempfile.TemporaryFile(dir=temporary_folder()))  # noqa: SIM115  # closed by `close`
        else:
            self._begun = name
            self._start()
            self._stream.write(f',\n "{name}": ['.encode())
            made = _JsonList(self._stream)
        self._lists[name] = made
        return made

    def names(self, table: Table) -> Sequence[str]:
        return self._columns.names_of(table)

    def row(self, table: Table, row: Sequence[Any]) -> None:
        text = self._rows.get(table.name)
        if text is None:
            text = self._rows[table.name] = JsonRows(table.names, self._columns.of(table))
        self._list_of(table.name).row(text(row).encode())

    def block(self, rows: Rows) -> None:
        self._list_of(rows.block.table.name).block(rows)

    def close(self) -> None:
        self._start()
        while self._expected:
            self._list_of(self._expected[0])
        for name, rows in self._lists.items():
            rows.flush()
            if name != self._begun:
                self._stream.write(f',\n "{name}": ['.encode())
                rows.give(self._stream)
            self._stream.write(b"]")
        self._stream.write(b"}\n")


class _JsonList:
    """The rows of one table, with commas between them."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._lines = BlockLines(file)
        self._templates = _Templates()
        self._is_started = False

    def row(self, data: bytes) -> None:
        self._lines.write((b",\n  " if self._is_started else b"\n  ") + data)
        self._is_started = True

    def block(self, rows: Rows) -> None:
        block, start, stop = rows.block, rows.start, rows.stop
        if not self._is_started and start < stop:
            self._lines.rows(Rows(block, start, start + 1), json_template(block, is_first=True))
            self._is_started = True
            start += 1
        self._lines.rows(Rows(block, start, stop), self._templates.of(block, json_template))

    def flush(self) -> None:
        self._lines.flush()

    def give(self, stream: BinaryIO) -> None:
        """Copy all rows to `stream`."""
        self._file.seek(0)
        while data := self._file.read(1 << 20):
            stream.write(data)
        self._file.close()


class CsvSink(BlockSink):
    """One table as RFC 4180; null is an empty field, an empty string a quoted one, JSON columns are JSON text.

    With `escaped`, what acts on a terminal is escaped; `safe` is that of ``as_csv``.
    """

    def __init__(
        self, stream: BinaryIO, columns: Sequence[str], table: Table, *, escaped: bool, safe: bool = False
    ) -> None:
        self._stream = stream
        self._chosen = ChosenColumns(columns)
        self._kept = self._chosen.of(table)
        self._table = table
        self._safe = safe
        self._template = partial(csv_template, safe=safe)
        out = EscapedCsv(stream) if escaped else stream
        self._lines = BlockLines(PartedCsv(out) if safe else out)
        self._templates = _Templates()
        self._write(table.names[i] for i in self._kept)

    def names(self, table: Table) -> Sequence[str]:
        return self._chosen.names_of(table) if table.name == self._table.name else ()

    def row(self, table: Table, row: Sequence[Any]) -> None:
        if table.name == self._table.name:
            self._write(row[i] for i in self._kept)

    def block(self, rows: Rows) -> None:
        if rows.block.table.name != self._table.name:
            return
        self._lines.rows(rows, self._templates.of(rows.block, self._template))

    def _write(self, cells: Iterable[Any]) -> None:
        line = ",".join(as_csv(cell, safe=self._safe) for cell in cells)
        text = (line or '""') + "\r\n"  # an empty line would be no row
        self._lines.write(text.encode("utf-8", "surrogateescape"))

    def flush(self) -> None:
        self._lines.flush()
        self._stream.flush()

    def close(self) -> None:
        self._lines.flush()

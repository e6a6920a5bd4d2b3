"""Tables for people: text in columns, as wide as needed in a file, at most as wide as the terminal on one.

A column with the same value in every row is shown once above the table. On a terminal that is too narrow, texts are
shortened first, then columns are left out and named, those that a table's `answers` do not name before these. A number,
a time, or a name that tells rows apart is shown whole. Where that needs more room, a row has a line for each field.
Times are ISO-8601.
"""

from __future__ import annotations

import re
import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, BinaryIO, Final

from kafkalog.escape import escape
from kafkalog.quantities import many
from kafkalog.segments.blocks import Rows
from kafkalog.segments.decoded import ROOM
from kafkalog.tables import TABLES, Column, Table
from kafkalog.writing.row_formats import BlockSink, ChosenColumns, as_json
from kafkalog.zone import UTC, Zone
from kafkalog_cli.render.people import encoded

__all__ = ["TableSink"]

_BOLD: Final = "\x1b[1m{}\x1b[0m"
_BETWEEN: Final = "   "
_LONG: Final = 10_000  # characters of a text that are shown
_BYTES: Final = 4 << 20  # of texts in a part, approximately
_MEMBER: Final = 64  # bytes of a member of a list or an object
_SHORT: Final = 12  # a text is not made shorter than this for other columns
_WORD: Final = 15  # nor one of a column's words
_CODE: Final = 24  # nor a finding's code: what explains it
_ROOMY: Final = 40  # a text has this room before columns are shown that are no answers
_NUMBER: Final = re.compile(r"-?\d{1,20}")
_TEXTS: Final = frozenset({"string", "json", "headers"})  # columns whose cells may be long
_PATHS: Final = frozenset({"file", "log"})
_KEYS: Final = frozenset({"group", "topic", "topics", "transactional_id"})  # names that tell rows apart: never cut
_WHOLE: Final = _KEYS | {"resource", "name"}  # nor these; where a table has no answers others are left out for them
_SOUGHT: Final = frozenset(  # nor left out
    ("group", "topic", "lag", "visible_lag", "stuck_by", "step", "name", "state", "value")
)
_LAST_TO_GO: Final = frozenset({"key", "value", "message"})  # what people look for in records and findings


class _Part:
    """The columns of rows that wait to be drawn, and the approximate size of their texts."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self.columns: list[list[Any]] = [[] for _ in table.columns]
        self.count = 0
        self.size = 0
        self._texts = [i for i, one in enumerate(table.columns) if one.type in _TEXTS and not one.words]

    def add(self, columns: Sequence[Sequence[Any]], count: int, size: int) -> None:
        """Add rows, whose texts have this size."""
        for column, more in zip(self.columns, columns, strict=True):
            column.extend(more)
        self.count += count
        self.size += size

    def clear(self) -> None:
        """Forget the rows."""
        for column in self.columns:
            column.clear()
        self.count = self.size = 0

    def cut(self, count: int) -> None:
        """Keep the first rows alone."""
        self.columns = [column[:count] for column in self.columns]
        self.count = min(self.count, count)

    def size_of(self, columns: Sequence[Sequence[Any]]) -> int:
        """Return the approximate size of the texts of rows."""
        return sum([_size(cell) for i in self._texts for cell in columns[i] if cell])


def _size(cell: Any) -> int:
    """Return the approximate size of a text, or of the texts in a list or an object and of what holds them."""
    if isinstance(cell, str):
        return len(cell)
    if isinstance(cell, dict):
        cell = cell.values()
    elif not isinstance(cell, list):
        return 0
    return _MEMBER * len(cell) + sum(map(_size, cell))


class TableSink(BlockSink):
    """Draws each table when it has all its rows; a long one in parts, with its total at the end.

    A terminal gets the first rows of one that is longer than anybody scrolls, and how to read the others.
    """

    room = ROOM
    _ROWS = 10_000  # of a part
    _MOST = 1000  # rows of a table on a terminal
    _FIRST = 100  # that are shown where there are more

    def __init__(
        self, stream: BinaryIO, columns: Sequence[str], *, color: bool, width: int | None, zone: Zone = UTC,
        tables: Sequence[str] = (),
    ) -> None:  # fmt: skip
        """Draw tables; of those in `tables` that have no rows it is said that they have none."""
        self._stream = stream
        self._zone = zone
        self._columns = ChosenColumns(columns)
        self._color = color
        self._width = width
        self._tables = tables
        self._parts: dict[str, _Part] = {}
        self._drawn: dict[str, int] = {}  # rows of the parts so far
        self._beyond: Counter[str] = Counter()  # rows that a terminal does not get

    def names(self, table: Table) -> Sequence[str]:
        asked = self._columns.of(table)
        return table.names if asked and max(asked) >= len(table.usual) else table.usual

    def block(self, rows: Rows) -> None:
        block, table = rows.block, rows.block.table
        part = self._part(table)
        if part is None:
            return
        if (rest := self._too_many(table, part, len(rows))) == len(rows):
            return
        rows = rows.first(len(rows) - rest)
        made = [list(block.column(column, rows.start, rows.stop, _LONG + 1)) for column in block.columns]
        made += [[None] * len(rows)] * (len(table.names) - len(made))  # what was not asked for is not drawn
        if part.size + part.size_of(made) > _BYTES:
            for row in zip(*made, strict=True):
                self.row(table, row)
            return
        at = 0
        while at < len(rows):
            self._make_room(table, part)
            stop = min(at + self._ROWS - part.count, len(rows))
            piece = made if stop - at == len(rows) else [column[at:stop] for column in made]
            part.add(piece, stop - at, part.size_of(piece))
            at = stop

    def row(self, table: Table, row: Sequence[Any]) -> None:
        part = self._part(table)
        if part is None:
            return
        if self._too_many(table, part, 1):
            return
        self._make_room(table, part)
        cells = [(cell,) for cell in row]
        part.add(cells, 1, part.size_of(cells))

    def _too_many(self, table: Table, part: _Part, count: int) -> int:
        """Return how many of some more rows a terminal does not get."""
        if self._width is None:
            return 0
        room = 0 if part.size > _BYTES or self._beyond[table.name] else self._MOST - part.count
        rest = max(0, count - room)
        self._beyond[table.name] += rest
        return rest

    def _make_room(self, table: Table, part: _Part) -> None:
        """Draw the rows that wait if they are as many as a part may have."""
        if part.count == self._ROWS or part.size > _BYTES:
            self._draw_part(table, part)
            part.clear()

    def _part(self, table: Table) -> _Part | None:
        """Return the rows of a table that wait, None if none of its columns is wanted."""
        part = self._parts.get(table.name)
        if part is None and self._columns.of(table):
            part = self._parts[table.name] = _Part(table)
        return part

    def close(self) -> None:
        for name, part in self._parts.items():
            if rest := self._beyond[name]:
                total = part.count + rest
                part.cut(self._FIRST)
                self._draw(part.table, part, f"{_total(name, total)}, of which the first {part.count} are shown")
                self._write(self._folded(
                    f"{total:,} rows are too many for a terminal. To read all: | less -S; as a file: -o NAME;"
                    " some of them: the options below Selection in --help"
                ))  # fmt: skip
            elif name not in self._drawn:
                self._draw(part.table, part, _total(name, part.count))
            else:
                self._draw_part(part.table, part)
                self._write([self._strong(_total(name, self._drawn[name]))])
        for name in self._tables:
            if name not in self._parts:
                self._write([self._strong(_total(name, 0))])

    def _draw_part(self, table: Table, part: _Part) -> None:
        first = self._drawn.get(table.name, 0)
        self._drawn[table.name] = first + part.count
        self._draw(table, part, f"{table.name}, in parts: rows {first + 1} to {first + part.count}")

    def _draw(self, table: Table, part: _Part, heading: str) -> None:
        lines = [self._strong(heading)]
        same, columns = [], []
        whole = _WHOLE - _KEYS if table.answers else _WHOLE
        for i in self._columns.of(table):
            column, cells = table.columns[i], part.columns[i]
            answers = column.name in table.answers  # it is where people look for it, whatever the rows are
            if part.count > 1 and not answers and cells.count(cells[0]) == len(cells):
                cell = _time(cells[0], self._zone) if column.is_time else _cell(cells[0])
                same.append(f"{column.name} {cell or '(empty)'}")
            else:
                columns.append(_Column(column, cells, self._zone, is_whole=column.name in whole))
        if same:
            lines += self._folded(f"in every row{' of this part' * (table.name in self._drawn)}: {', '.join(same)}")
        every = [*columns]
        left_out = [] if self._width is None else _fit(columns, self._width, table.answers)
        in_records = self._width is not None and _loses_answers(every, columns, table, self._width)
        if in_records:
            columns = [column for column in every if column.name in table.answers] or every
            left_out = [column.name for column in every if column not in columns]
        if left_out:
            lines += self._folded(
                f"left out, as the terminal is too narrow: {', '.join(left_out)}"
                + (f"; to choose: --table {table.name} --columns A,B" if table.name in TABLES else "")
            )
        if in_records:
            lines += ["", *self._records(columns)]
        elif columns:
            line = _BETWEEN.join(column.cell for column in columns)
            header, *body = [
                " " + (line % cells).rstrip() for cells in zip(*(column.lines() for column in columns), strict=True)
            ]
            width = sum(column.width + len(_BETWEEN) for column in columns) - len(_BETWEEN)
            lines += ["", self._strong(header), " " + "─" * width, *body, ""]
        self._write(lines)

    def _records(self, columns: Sequence[_Column]) -> Iterator[str]:
        """Yield each row as lines, a field in each, those without a value left out; a long one is wrapped."""
        before = max(len(column.name) for column in columns) + len(_BETWEEN)
        for cells in zip(*(column.cells[1:] for column in columns), strict=True):
            for column, cell in zip(columns, cells, strict=True):
                if cell != "-":
                    yield from textwrap.wrap(
                        str(cell), max(self._width or 0, 40), initial_indent=f" {column.name:<{before}}",
                        subsequent_indent=" " * (before + 1), break_on_hyphens=False,
                    )  # fmt: skip
            yield ""

    def _strong(self, text: str) -> str:
        return _BOLD.format(text) if self._color else text

    def _folded(self, text: str) -> list[str]:
        return [text] if self._width is None else textwrap.wrap(text, self._width, break_on_hyphens=False)

    def _write(self, lines: Iterable[str]) -> None:
        self._stream.write(encoded("\n".join(lines) + "\n"))


class _Column:
    """A column's cells as text, the heading first, and its widths: largest, smallest and current.

    One that `is_whole` makes no room for others.
    """

    def __init__(self, column: Column, values: list[Any], zone: Zone, *, is_whole: bool = False) -> None:
        self.name = name = column.name
        self.padded = _cut_inside if name in _PATHS else _padded
        self.is_number = column.type.startswith("int")
        if column.is_time:
            self.cells = [name, *(_time(value, zone) for value in values)]
            self.widest = self.width = max(map(len, self.cells))
        elif self.is_number:
            numbers = [value for value in values if value is not None] if None in values else values
            self.cells = [name, *(values if numbers is values else ["-" if one is None else one for one in values])]
            ends = (min(numbers), max(numbers)) if numbers else ()
            self.widest = self.width = max([len(name), *(len(str(number)) for number in ends)])
        else:
            texts: dict[str, str] = {}  # most tables repeat a few
            self.cells = [name, *[_text(value, texts) for value in values]]
            self.widest = self.width = max(map(_width, {*self.cells}))
        self.narrowest = self.widest
        shortest = _CODE if name == "code" else _WORD if column.words else _SHORT
        if not (self.is_number or is_whole) and self.widest > shortest:
            lengths = (len(cell) for cell in self.cells if _NUMBER.fullmatch(cell))
            self.narrowest = max(shortest, len(name), max(lengths, default=0))

    @property
    def cell(self) -> str:
        """Return how a cell is formatted in a line."""
        return f"%{self.width}s" if self.is_number else "%s"

    def lines(self) -> Sequence[Any]:
        """Return the cells; texts are as wide as the column."""
        if self.is_number:
            return self.cells
        padded = {cell: self.padded(cell, self.width) for cell in {*self.cells}}
        return [padded[cell] for cell in self.cells]


def _loses_answers(every: Sequence[_Column], shown: Sequence[_Column], table: Table, width: int) -> bool:
    """Say whether a table cuts a name that tells its rows apart, or leaves out what people look for in it."""
    asked = [one for one in every if not table.answers or one.name in table.answers]
    sought = _SOUGHT if table.answers else _WHOLE
    is_too_wide = sum(one.width + len(_BETWEEN) for one in shown) > width - 1 + len(_BETWEEN)
    return is_too_wide or any(
        (one.name in sought) if one not in shown else (one.name in _KEYS and one.width < one.widest) for one in asked
    )


def _fit(columns: list[_Column], width: int, answers: Sequence[str]) -> list[str]:
    """Make columns narrow enough for `width`; returns the names of those that it removes.

    Each of the `answers` that fits stays. Others stay, from the left, where these then still have room to be read.
    """
    stay: list[_Column] = []
    room = width - 1 + len(_BETWEEN)

    def fits(column: _Column, roomy: int) -> bool:
        return sum(min(one.widest, max(one.narrowest, roomy)) + len(_BETWEEN) for one in (*stay, column)) <= room

    for name in answers:
        stay += [column for column in columns if column.name == name and fits(column, 0)]
    roomy = _ROOMY if stay else 0
    for column in sorted(columns, key=lambda column: column.name not in _LAST_TO_GO):
        if column.name in answers:
            continue
        if stay and not fits(column, roomy):
            break
        stay.append(column)
    left_out = [column.name for column in columns if column not in stay]
    columns[:] = [column for column in columns if column in stay]
    free = max(room - sum(column.narrowest + len(_BETWEEN) for column in columns), 0)
    for number, column in enumerate(sorted(columns, key=lambda column: column.widest - column.narrowest)):
        column.width = min(column.widest, column.narrowest + free // (len(columns) - number))
        free -= column.width - column.narrowest
    return left_out


def _time(value: Any, zone: Zone) -> str:
    """Return a time in ISO-8601; a number that no calendar has stays one."""
    if not isinstance(value, int):
        return "-"
    written = zone.time(value)
    return str(value) if written.startswith("@") else written


def _total(name: str, count: int) -> str:
    return f"{name}: {many(count, 'row')}"


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, dict)):
        return _short(escape(_in_words(value)))
    return _short(escape(str(value)[: _LONG + 1]))


def _in_words(value: Any) -> str:
    """Write a list or an object as people read it: ``transactional_id tx-1, producer_id 4``."""
    if isinstance(value, dict):
        return ", ".join(f"{name} {_in_words(one)}" for name, one in value.items() if one is not None)
    if isinstance(value, list):
        return ("; " if any(isinstance(one, dict) for one in value) else ", ").join(map(_in_words, value))
    return value if isinstance(value, str) else as_json(value)


def _text(value: Any, known: dict[str, str]) -> str:
    """Return a value's text, which is `known` where an equal string was met before."""
    if not isinstance(value, str):
        return _cell(value)
    text = known.get(value)
    if text is None:
        text = known[value] = _cell(value)
    return text


def _short(text: str) -> str:
    """Cut a long text: a table with a value of megabytes could not be read, and would take its memory many times."""
    return text if len(text) <= _LONG else text[: _LONG - 1] + "…"


def _width(text: str) -> int:
    """Return how many cells of a terminal `text` needs."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def _cut_inside(text: str, width: int) -> str:
    """Make a path as wide as `width`; a longer one loses its middle: its begin and its end tell it apart."""
    if len(text) <= width or not text.isascii():
        return _padded(text, width)
    head = (width - 1) // 4
    return f"{text[:head]}…{text[len(text) - (width - 1 - head) :]}"


def _padded(text: str, width: int) -> str:
    """Make `text` as wide as `width`; a longer one ends in an ellipsis, never after digits: there might be more."""
    missing = width - _width(text)
    if missing >= 0:
        return text + " " * missing
    from rich.cells import set_cell_size

    return _padded(set_cell_size(text, width - 1).rstrip(" -.0123456789") + "…", width)

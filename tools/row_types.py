"""Writes the types of rows, ``kafkalog/rows.py``, from the tables' declarations: python tools/row_types.py."""

from __future__ import annotations

import json
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from kafkalog.tables import TABLES, Table  # noqa: E402  # of this checkout
from kafkalog.tables.declared import HEADER_FIELDS, Column  # noqa: E402  # ditto

__all__ = ["HOME", "text"]

HOME = ROOT / "kafkalog" / "rows.py"
_HEAD = '''"""The type of each table's rows; python tools/row_types.py writes this file from the tables' declarations.

A column is never None where the table is nothing without it. Words are literals, so that a type checker knows them.
"""

from __future__ import annotations

from typing import Any, Literal, TypedDict

# fmt: off
'''
_WIDTH = 119
_PLAIN = {"int64": "int", "int32": "int", "int16": "int", "int8": "int", "bool": "bool", "string": "str"}


def camel(name: str) -> str:
    """Write a table's or a column's name as a class has it."""
    return "".join(part.capitalize() for part in name.split("_"))


def text() -> str:
    """Return the file."""
    classes = [part for table in TABLES.values() for part in _of_table(table)]
    names = sorted({"HeaderCells", *(part.split("(")[0].removeprefix("class ") for part in classes)})
    exported = "".join(f'    "{name}",\n' for name in names)
    header = "".join(f"    {name}: str | None\n" for name in HEADER_FIELDS)
    classes.insert(0, f'class HeaderCells(TypedDict):\n    """A header of a record."""\n\n{header}')
    return f"{_HEAD}\n__all__ = [\n{exported}]\n\n\n" + "\n\n".join(classes)


def _of_table(table: Table) -> Iterator[str]:
    """Yield the classes of a table: those of objects in its cells, then that of its rows."""
    own = f"{camel(table.name)}Row"
    lines = []
    for column in table.columns:
        kind, parts = _kind(column, f"{camel(table.name)}{camel(column.name)}")
        yield from parts
        lines.append(_field(column.name, kind if column.name in table.filled or kind == "Any" else f"{kind} | None"))
    yield f'class {own}(TypedDict):\n    """A row of the table ``{table.name}``."""\n\n{"".join(lines)}'


def _field(name: str, kind: str) -> str:
    """Write a field, a long list of words in several lines."""
    line = f"    {name}: {kind}\n"
    if len(line) <= _WIDTH:
        return line
    begin, _, rest = kind.partition("[")
    words, _, end = rest.partition("]")
    wrapped = textwrap.fill(words, _WIDTH, initial_indent=" " * 8, subsequent_indent=" " * 8, break_on_hyphens=False)
    return f"    {name}: {begin}[\n{wrapped},\n    ]{end}\n"


def _kind(column: Column, name: str) -> tuple[str, list[str]]:
    if column.type == "headers":
        return "list[HeaderCells]", []
    if column.type == "json":
        return _shape(json.loads(column.shape), name) if column.shape else ("Any", [])
    if column.type == "string" and column.words and not column.open:
        return f"Literal[{', '.join(json.dumps(word) for word in column.words)}]", []
    return _PLAIN[column.type], []


def _shape(shape: Any, name: str) -> tuple[str, list[str]]:
    """Return the type of a cell of JSON, with the classes of its objects."""
    if isinstance(shape, str):
        plain = _PLAIN[shape.removesuffix("?")]
        return (f"{plain} | None" if shape.endswith("?") else plain), []
    if isinstance(shape, list):
        kind, parts = _shape(shape[0], name)
        return f"list[{kind}]", parts
    if list(shape) == ["*"]:
        kind, parts = _shape(shape["*"], name)
        return f"dict[str, {kind}]", parts
    fields, made = [], []
    for field, its in shape.items():
        kind, parts = _shape(its, f"{name}{camel(field)}")
        made += parts
        fields.append(_field(field, kind))
    return name, [*made, f'class {name}(TypedDict):\n    """An object in a cell."""\n\n{"".join(fields)}']


if __name__ == "__main__":
    HOME.write_text(text())

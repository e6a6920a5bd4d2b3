"""Tables of rows: the first ones as HTML, all of them for the script, which sorts, filters and copies them."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Final

from kafkalog.escape import escape
from kafkalog.reports.page.elements import Content, Element, data, element, moment, table
from kafkalog.tables import TABLES
from kafkalog.zone import Zone

__all__ = ["rows_table", "text_of"]

_SHOWN: Final = 500  # rows that are there without the script

_MOST: Final = 100_000  # rows that the script has

_TIMES: Final = frozenset({"time_ms", "since_ms"})


def rows_table(
    caption: str, columns: Sequence[str], rows: Iterable[Mapping[str, Any]], source: str, zone: Zone, *,
    is_open: bool = False, anchor: str = "table",
) -> Element:  # fmt: skip
    """Make a table that unfolds; says how many rows there are and what prints those that are not here."""
    rest = iter(rows)
    cells = [[_cell(name, row[name], zone) for name in columns] for row in islice(rest, _MOST)]
    total = len(cells) + sum(1 for _ in rest)
    said = f"{caption}: {total:,} row{'s' * (total != 1)}"
    notes: list[Content] = []
    if total > len(cells):
        notes.append(f"The first {len(cells):,} are here; all of them: --format ndjson --table {source}.")
    if len(cells) > _SHOWN:
        notes.append(element("span", f" Without a script the first {_SHOWN} are seen.", class_="unscripted"))
    shown = islice(cells, _SHOWN)
    numbers = frozenset(number for number, name in enumerate(columns) if _is_number(name, source))
    heads = [name.removesuffix("_ms").replace("_", " ") for name in columns]
    return element(
        "details",
        element("summary", said),
        element("p", notes, class_="quiet") if notes else None,
        table(said, heads, shown, numbers),
        data(_packed(cells), type="text/plain", class_="rows") if len(cells) > _SHOWN else None,
        class_="rows", id=f"{anchor}-{source}", **({"open": ""} if is_open else {}),
    )  # fmt: skip


def _is_number(name: str, source: str) -> bool:
    types = {column.name: column.type for column in TABLES[source].columns} if source in TABLES else {}
    return types.get(name, "").startswith(("int", "float")) and not _is_time(name)


def _is_time(name: str) -> bool:
    return name.endswith("_timestamp_ms") or name in _TIMES


def _cell(name: str, value: Any, zone: Zone) -> Content:
    if _is_time(name):
        return moment(value, zone)
    return zone.prose(text_of(value)) if name == "message" else text_of(value)


def _packed(rows: Sequence[Sequence[Content]]) -> str:
    """Write all rows for the script, a column after the other, as deflated JSON of texts."""
    texts = ([escape("".join(_texts(cell))) for cell in column] for column in zip(*rows, strict=True))
    return base64.b64encode(zlib.compress(json.dumps(list(texts)).encode(), 9)).decode()


def _texts(cell: Content) -> Iterator[str]:
    if isinstance(cell, str):
        yield cell
    elif isinstance(cell, Element):
        yield from cell.itertext()


def text_of(value: object) -> str:
    """Write a cell's value for people."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (list, tuple)):
        return ", ".join(map(text_of, value)) or "-"
    return str(value)

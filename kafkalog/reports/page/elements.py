"""Elements of HTML, made so that text from the evidence is never markup."""

from __future__ import annotations

import base64
import hashlib
import json
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Final, TypeAlias
from xml.etree import ElementTree

from kafkalog.escape import escape, escape_line
from kafkalog.quantities import iso, many
from kafkalog.reports.colours import LOOKS
from kafkalog.tables import TABLES
from kafkalog.zone import TIMES, Zone

__all__ = [
    "HOST",
    "Content",
    "Element",
    "command",
    "data",
    "element",
    "html",
    "moment",
    "opening",
    "prose",
    "rows_table",
    "script",
    "section",
    "table",
    "text_of",
]

Element: TypeAlias = ElementTree.Element
Content: TypeAlias = "Element | str | Iterable[Content] | None"


def element(tag: str, *content: Content, **attributes: str | int | float) -> Element:
    """Make an element; a trailing underscore of an attribute's name goes, other underscores are hyphens."""
    names = {name.rstrip("_").replace("_", "-"): escape(str(value)) for name, value in attributes.items()}
    made = ElementTree.Element(tag, names)
    for part in content:
        _add(made, part)
    return made


def section(head: str, *content: Content) -> Element:
    """Make a part of a page, which links name by its heading."""
    return element("section", element("h2", head), *content, id=head.lower())


def data(text: str, **attributes: str) -> Element:
    """Make an element of data for the script, which no browser runs: `text` is JSON or base64."""
    made = element("script", **attributes)
    made.text = text.replace("<", "\\u003c")  # the end of a script's element is never in it
    return made


def _add(parent: Element, part: Content) -> None:
    if part is None:
        return
    if isinstance(part, str):
        if len(parent):
            parent[-1].tail = (parent[-1].tail or "") + escape(part)
        else:
            parent.text = (parent.text or "") + escape(part)
    elif isinstance(part, ElementTree.Element):
        parent.append(part)
    else:
        for one in part:
            _add(parent, one)


def html(made: Element) -> str:
    """Write an element."""
    return ElementTree.tostring(made, encoding="unicode", method="html")


def moment(time_ms: int | None, zone: Zone) -> Element | str:
    """Write a time for people and for programs; a dash for none."""
    if time_ms is None:
        return "-"
    written = iso(time_ms)
    return written if written.startswith("@") else element("time", zone.time(time_ms), datetime=written)


def prose(text: str, zone: Zone) -> list[Element | str]:
    """Write a sentence, whose times are in UTC, with each time whole on its line and for programs, too."""
    found: list[Element | str] = []
    end = 0
    for time in TIMES.finditer(text):
        found += [text[end : time.start()], element("time", zone.prose(time[0]), datetime=time[0])]
        end = time.end()
    return [*found, text[end:]]


HOST: Final = "HOST:PORT"  # what the reader of a command replaces


def command(line: str) -> Element:
    """Make a command that can be copied; its HOST:PORT is what a reader types once for all of them."""
    made = ElementTree.Element("code")
    first, *others = escape_line(line).split(HOST)  # its backslashes are its own
    made.text = first
    for text in others:
        place = ElementTree.SubElement(made, "span", {"class": "host"})
        place.text, place.tail = HOST, text
    return element("pre", made, class_="command", tabindex="0")


def table(
    caption: str, heads: Iterable[str], rows: Iterable[Iterable[Content]], numbers: frozenset[int] = frozenset(),
    **attributes: str,
) -> Element:  # fmt: skip
    """Make a table that a screen reader can read: a caption, heads with a scope, cells; `numbers` are to the right."""

    def cells(tag: str, row: Iterable[Content], **others: str) -> list[Element]:
        return [
            element(tag, cell, **others, **({"class_": "number"} if at in numbers else {}))
            for at, cell in enumerate(row)
        ]

    return element(
        "div",
        element(
            "table",
            element("caption", caption),
            element("thead", element("tr", cells("th", heads, scope="col"))),
            element("tbody", [element("tr", cells("td", row)) for row in rows]),
            **attributes,
        ),
        class_="wide", tabindex="0", role="region", aria_label=caption,
    )  # fmt: skip


# How every page begins: its style, and a Content-Security-Policy that lets nothing run or load but the page's own.


_STYLES: Final = ("page.css", "timeline.css", "treemap.css", "print.css")

_SCRIPTS: Final = ("base.js", "data.js", "axis.js", "timeline.js", "board.js", "tables.js", "incidents.js", "start.js")


def script() -> str:
    """Return the script of every page: its files one after the other, in a function of their own."""
    return '"use strict";\n(() => {\n' + "".join(map(_resource, _SCRIPTS)) + "})();\n"


def opening(title: str) -> bytes:
    """Return a page up to its body's first element."""
    style = _colours() + "".join(map(_resource, _STYLES))
    policy = (
        f"default-src 'none'; script-src 'sha256-{_digest(script())}'; style-src 'sha256-{_digest(style)}';"
        " base-uri 'none'; form-action 'none'"
    )
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"{html(element('title', title))}\n<style>{style}</style>\n</head>\n<body>\n"
    ).encode()


def _colours() -> str:
    """Return the colours of states as properties: for light, and for dark where the system or the reader is."""
    light = "".join(f"--{name}:{look.light};" for name, look in LOOKS.items())
    dark = "".join(f"--{name}:{look.dark};" for name, look in LOOKS.items())
    return (
        f":root{{{light}}}\n@media (prefers-color-scheme:dark){{:root:not([data-theme=light]){{{dark}}}}}\n"
        f":root[data-theme=dark]{{{dark}}}\n@media print{{:root:root:root{{{light}}}}}\n"
    )


def _resource(name: str) -> str:
    """Read a file beside this module."""
    from importlib.resources import files  # imports tempfile, also for an audit that writes no page

    return (files("kafkalog.reports.page") / name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


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
    said = f"{caption}: {many(total, 'row', grouped=True)}"
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

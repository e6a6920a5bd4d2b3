"""Elements of HTML, made so that text from the evidence is never markup."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable
from typing import Final, TypeAlias
from xml.etree import ElementTree

from kafkalog.escape import escape
from kafkalog.quantities import iso

__all__ = ["Content", "Element", "data", "element", "html", "moment", "opening", "resource", "table", "text_of"]

Element: TypeAlias = ElementTree.Element
Content: TypeAlias = "Element | str | Iterable[Content] | None"


def element(tag: str, *content: Content, **attributes: str | int | float) -> Element:
    """Make an element; a trailing underscore of an attribute's name goes, other underscores are hyphens."""
    names = {name.rstrip("_").replace("_", "-"): escape(str(value)) for name, value in attributes.items()}
    made = ElementTree.Element(tag, names)
    for part in content:
        _add(made, part)
    return made


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


def moment(time_ms: int | None) -> Element | str:
    """Write a time for people and for programs; a dash for none."""
    if time_ms is None:
        return "-"
    written = iso(time_ms)
    return written if written.startswith("@") else element("time", written, datetime=written)


def text_of(value: object) -> str:
    """Write a cell's value for people."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (list, tuple)):
        return ", ".join(map(text_of, value)) or "-"
    return str(value)


def table(caption: str, heads: Iterable[str], rows: Iterable[Iterable[Content]], **attributes: str) -> Element:
    """Make a table that a screen reader can read: a caption, heads with a scope, cells."""
    return element(
        "div",
        element(
            "table",
            element("caption", caption),
            element("thead", element("tr", [element("th", head, scope="col") for head in heads])),
            element("tbody", [element("tr", [element("td", cell) for cell in row]) for row in rows]),
            **attributes,
        ),
        class_="wide", tabindex="0", role="region", aria_label=caption,
    )  # fmt: skip


# How every page begins: its style, and a Content-Security-Policy that lets nothing run or load but the page's own.


_STYLES: Final = ("report.css", "treemap.css")


def opening(title: str, script: str | None = None) -> bytes:
    """Return a page up to its body's first element; without a `script` none may run."""
    style = "".join(map(resource, _STYLES))
    scripts = "'none'" if script is None else f"'sha256-{_digest(script)}'"
    policy = (
        f"default-src 'none'; script-src {scripts}; style-src 'sha256-{_digest(style)}'; base-uri 'none';"
        " form-action 'none'"
    )
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"{html(element('title', title))}\n<style>{style}</style>\n</head>\n<body>\n"
    ).encode()


def resource(name: str) -> str:
    """Read a file beside this module."""
    from importlib.resources import files  # imports tempfile, also for an audit that writes no page

    return (files("kafkalog.reports.page") / name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()

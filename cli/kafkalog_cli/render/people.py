"""How text for people looks: colours and width on a terminal, characters that the locale has."""

from __future__ import annotations

import os
from typing import Final, TypedDict

__all__ = ["PAPER", "Style", "encoded", "folded", "is_ascii", "style", "width"]

PAPER: Final = 100  # characters of a report's line where there is no terminal

_ASCII: Final = str.maketrans({"·": "|", "…": "...", "─": "-", "│": "|", "→": "->"})
_LOCALES: Final = ("LC_ALL", "LC_CTYPE", "LANG")  # the first that is set counts


class Style(TypedDict):
    """How tables for people are drawn; a width of None is as wide as needed."""

    color: bool
    width: int | None


def style(terminal: bool) -> Style:
    """Return how tables are drawn on a terminal, or in a file."""
    color = terminal and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    return Style(color=color, width=width() if terminal else None)


def width() -> int:
    """Return how many characters a line of the terminal has."""
    import shutil  # imports each codec of Python

    return shutil.get_terminal_size().columns


def folded(line: str, *, terminal: bool) -> str:
    """Wrap a line that is longer than the terminal's at its words, what follows further in; a file has it as it is."""
    if not terminal or len(line) <= width():
        return line
    import textwrap

    within = " " * (len(line) - len(line.lstrip()) + 2)
    return "\n".join(textwrap.wrap(line, max(width(), 40), subsequent_indent=within, break_on_hyphens=False))


def is_ascii() -> bool:
    """Say whether the user asked for the locale C; without a word UTF-8 is meant, as containers set none."""
    locale = next((os.environ[name] for name in _LOCALES if os.environ.get(name)), "")
    return locale in ("C", "POSIX")


def encoded(text: str) -> bytes:
    """Return a text's bytes; a name's bytes that are no UTF-8 are as they were."""
    if is_ascii():
        return text.translate(_ASCII).encode("ascii", "backslashreplace")
    return text.encode("utf-8", "surrogateescape")

"""One value as JSON and as a field of a CSV."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

__all__ = ["JsonRows", "as_csv", "as_json"]

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
_MARKED: Final = ("=", "+", "-", "@", "\t", "\r", _MARK)


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
    if safe and text.startswith(_MARKED):
        text = _MARK + text
    if text and not any(character in text for character in ',"\r\n') and text == text.strip():
        return text
    return '"' + text.replace('"', '""') + '"'

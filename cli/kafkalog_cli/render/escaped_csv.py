"""A CSV for a terminal: what its fields have that acts on one is escaped on the way, a piece at a time."""

from __future__ import annotations

import re
from codecs import getincrementaldecoder
from typing import TYPE_CHECKING, Final

from kafkalog.escape import escape

if TYPE_CHECKING:
    from _typeshed import SupportsWrite

__all__ = ["EscapedCsv"]

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

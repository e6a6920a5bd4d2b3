"""The fields at a position as text: a block for each structure, a line for each field."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from typing import TYPE_CHECKING, BinaryIO, Final

from kafkalog.escape import escape

if TYPE_CHECKING:
    from kafkalog import Shown

__all__ = ["write_fields"]

_WORD: Final = 4  # bytes that are written together
_LINE: Final = 16  # bytes on a line


def write_fields(found: Iterable[Shown], stream: BinaryIO) -> None:
    """Write fields: position, name, bytes in hex, value, meaning; ``>`` marks the requested one."""
    for (file, structure), group in groupby(found, key=lambda shown: (shown.file, shown.field.structure)):
        lines = [escape(f"{file}: {structure}")]
        for shown in group:
            lines += _lines(shown)
        stream.write(("\n".join(lines) + "\n\n").encode("utf-8", "surrogateescape"))


def _lines(shown: Shown) -> list[str]:
    field = shown.field
    place = "" if field.position is None else str(field.position)
    value = [] if field.value is None else [escape(field.value)]
    if field.computed is not None:
        value.append(f"computed {field.computed}")
    text = "  ".join([*value, *([f"({escape(field.meaning)})"] if field.meaning else [])])
    first, *rest = [field.data[at : at + _LINE] for at in range(0, len(field.data), _LINE)] or [b""]
    mark = ">" if shown.is_here else " "
    lines = [f"{mark}{place:>12}  {field.name:24}  {_hex(first):35}  {text}".rstrip()]
    return lines + [f"{'':41}{_hex(data)}" for data in rest]


def _hex(data: bytes) -> str:
    return " ".join(data[at : at + _WORD].hex() for at in range(0, len(data), _WORD))

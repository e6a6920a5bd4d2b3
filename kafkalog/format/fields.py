"""Structures field by field with positions, from the construct declarations so that the two cannot differ."""

from __future__ import annotations

import codecs
import io
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from kafkalog.format.layout import Layout, Varying
from kafkalog.format.meanings import meaning

if TYPE_CHECKING:
    import construct

__all__ = ["Field", "fields_of", "placed"]

_SHOWN = 64  # bytes shown of a long field
_TEXT = 256  # characters shown of a long text


class Field(NamedTuple):
    """A field at `position` in a file, None if it is compressed there.

    `data` are its first bytes, `value` what they encode. `computed` is the checksum computed from the bytes that a
    checksum field covers.
    """

    structure: str
    name: str
    position: int | None
    size: int
    data: bytes
    value: str | None
    meaning: str
    computed: str | None = None


def placed(declared: construct.Struct[Any, Any], data: bytes) -> Iterator[tuple[str, int, int, Any]]:
    """Yield (name, start, stop, value) of each field of a declared structure, as far as `data` goes."""
    import construct

    stream = io.BytesIO(data)
    values: dict[str, Any] = {}
    for part in declared.subcons:
        start = stream.tell()
        try:
            values[part.name] = part.parse_stream(stream, **values)
        except construct.StreamError:  # the bytes end in it
            return
        yield part.name, start, stream.tell(), values[part.name]


def fields_of(layout: Layout | Varying, structure: str, data: bytes, position: int | None) -> list[Field]:
    """Return the fields of the structure that `data` begins with; `position` is that of its first byte in the file."""
    found = list(placed(layout.construct, data))
    values = {name: value for name, _, _, value in found}
    return [
        Field(
            structure,
            name,
            None if position is None else position + start,
            stop - start,
            data[start : min(stop, start + _SHOWN)],
            _text(value),
            "" if isinstance(value, bytes) and not stop - start else _said(structure, name, values, stop - start),
        )
        for name, start, stop, value in found
    ]


def _said(structure: str, name: str, values: dict[str, Any], size: int) -> str:
    if isinstance(values[name], bytes):
        return f"{size} bytes, the first {_SHOWN} are shown" if size > _SHOWN else ""
    return meaning(structure, name, values)


def _text(value: Any) -> str | None:
    if not isinstance(value, bytes):
        return str(value)
    if not value:
        return None
    try:
        decoder = codecs.getincrementaldecoder("utf-8")()
        return decoder.decode(value[: 4 * _TEXT], final=len(value) <= 4 * _TEXT)[:_TEXT]
    except UnicodeDecodeError:
        return None

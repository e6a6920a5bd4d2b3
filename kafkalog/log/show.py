"""The bytes at a position, field by field: the proof of a finding."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from kafkalog.errors import UnsupportedError
from kafkalog.format.fields import Field
from kafkalog.log.chunk import Limits
from kafkalog.log.names import FileKind, parse_name
from kafkalog.tables.show import FIELDS

__all__ = ["Shown", "show"]

_SEGMENTS = (FileKind.LOG, FileKind.KRAFT_SNAPSHOT)


class Shown(NamedTuple):
    """A field of a file, and whether it contains the position that was asked for."""

    file: str
    field: Field
    is_here: bool

    def row(self) -> tuple[Any, ...]:
        """Make it a row of the table ``fields``."""
        field = self.field
        return FIELDS.of(
            file=self.file,
            structure=field.structure,
            field=field.name,
            position=field.position,
            size_bytes=field.size,
            bytes=field.data.hex(),
            value=field.value,
            computed=field.computed,
            meaning=field.meaning,
            is_here=self.is_here,
        )


def show(
    path: str | os.PathLike[str],
    position: int | None = None,
    *,
    offset: int | None = None,
    limits: Limits | None = None,
) -> Iterator[Shown]:
    """Yield the fields of the structure at a byte `position` of a file, or of the batch that contains the log `offset`.

    Raises UnreadableError if the file can't be read or has nothing there, UnsupportedError for an offset in a file that
    is not a segment.
    """
    file, kind = os.fspath(path), parse_name(Path(path).name).kind
    if kind in _SEGMENTS or kind is FileKind.UNKNOWN:
        from kafkalog.log.show_segment import show_batch

        found = show_batch(file, position, offset, limits or Limits())
    elif position is None:
        raise UnsupportedError(f"{file}: only segments can be searched for an offset; give a position")
    else:
        from kafkalog.log.show_side import show_entry

        found = show_entry(file, kind, position)
    for where, field in found:
        start = field.position
        is_here = (
            where == file and position is not None and start is not None and start <= position < start + field.size
        )
        yield Shown(where, field, is_here)

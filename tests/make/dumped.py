"""A segment's rows as a dump has them, one by one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from kafkalog.findings import Finding
from kafkalog.kafka.internal_topics import Internal
from kafkalog.segments.chunk import Chunk
from kafkalog.segments.file_rows import one_by_one, segment_rows
from kafkalog.segments.selection import Selection
from kafkalog.tables import TABLES, Table

__all__ = ["dumped"]


def dumped(
    file: str, chunks: Iterable[Chunk], tables: Iterable[str], selection: Selection, internal: Internal | None = None
) -> Iterator[tuple[Table, tuple[Any, ...]] | Finding]:
    """yield the selected rows of these tables with their usual columns, and every finding."""
    wanted = {name: TABLES[name].usual for name in tables}
    yield from one_by_one(segment_rows(file, chunks, wanted, selection, internal))

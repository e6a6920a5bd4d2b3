"""The entry or line of a side file that contains a position, field by field."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator
from typing import Final

from kafkalog.errors import UnreadableError
from kafkalog.format import checksums
from kafkalog.format.batch_start import magic_of
from kafkalog.format.fields import Field, fields_of
from kafkalog.format.layout import (
    ABORTED_TXN,
    OFFSET_INDEX_ENTRY,
    PRODUCER_SNAPSHOT,
    PRODUCER_STATE_ENTRY,
    RECORD_BATCH,
    TIME_INDEX_ENTRY,
    Layout,
)
from kafkalog.log.files import open_source, read_small
from kafkalog.log.names import FileKind, parse_name, sibling
from kafkalog.log.show_words import compared, outside

__all__ = ["show_entry"]

_ENTRIES: Final = {
    FileKind.OFFSET_INDEX: (OFFSET_INDEX_ENTRY, "OffsetIndex"),
    FileKind.TIME_INDEX: (TIME_INDEX_ENTRY, "TimeIndex"),
    FileKind.TXN_INDEX: (ABORTED_TXN, "AbortedTxn"),
}
_LONGEST_LINE: Final = 256  # bytes that are shown of a part of a line

Found = Iterator[tuple[str, Field]]


def show_entry(file: str, kind: FileKind, position: int) -> Found:
    """Yield (file, field) of the entry at `position`.

    Raises UnreadableError if the file does not have that position.
    """
    data = read_small(file)
    if not 0 <= position < len(data):
        raise outside(file, position, len(data))
    if kind in _ENTRIES:
        layout, structure = _ENTRIES[kind]
        yield from _index_entry(file, data, position, layout, structure)
    elif kind is FileKind.PRODUCER_SNAPSHOT:
        yield from _snapshot_entry(file, data, position)
    else:
        yield from _line(file, data, position)


def _index_entry(file: str, data: bytes, position: int, layout: Layout, structure: str) -> Found:
    number = position // layout.size
    at = number * layout.size
    entry = data[at : at + layout.size]
    if len(entry) < layout.size:
        meaning = f"not a whole entry, which has {layout.size} bytes"
        yield file, Field(structure, "rest", position=at, size=len(entry), data=entry, value=None, meaning=meaning)
        return
    base = parse_name(os.path.basename(file)).offset
    preallocated = not any(data[at:]) and layout is not ABORTED_TXN
    for field in fields_of(layout, structure, entry, at):
        said = field.meaning
        if preallocated:
            said = "zeros up to the end of the file: preallocated"
        elif field.name == "relative_offset" and base is not None:
            said = f"offset {base + int(field.value or 0)}"
        elif field.name == "position":
            said = "where the batch begins in the segment"
        yield file, field._replace(structure=f"{structure} entry {number}", meaning=said)
    if layout is OFFSET_INDEX_ENTRY and not preallocated:
        yield from _batch_there(file, OFFSET_INDEX_ENTRY.packed.unpack(entry)[1])


def _batch_there(index: str, position: int) -> Found:
    """Show the header at the position of an entry, if the segment is beside the index."""
    segment = sibling(index, os.path.basename(index).partition(".")[0] + ".log")
    with contextlib.suppress(UnreadableError), contextlib.closing(open_source(segment)) as source:
        head = source.read(position, RECORD_BATCH.size) if position >= 0 else b""
        if len(head) == RECORD_BATCH.size and magic_of(head) == 2:
            for field in fields_of(RECORD_BATCH, "RecordBatch", head, position):
                yield segment, field


def _snapshot_entry(file: str, data: bytes, position: int) -> Found:
    computed = str(checksums.crc32c(data, PRODUCER_SNAPSHOT.position("entries_count"), len(data)))
    for field in fields_of(PRODUCER_SNAPSHOT, "ProducerSnapshot", data[: PRODUCER_SNAPSHOT.size], 0):
        yield file, compared(field, computed, "all bytes after it") if field.name == "crc" else field
    number, _ = divmod(position - PRODUCER_SNAPSHOT.size, PRODUCER_STATE_ENTRY.size)
    if number >= 0:
        at = PRODUCER_SNAPSHOT.size + number * PRODUCER_STATE_ENTRY.size
        entry = data[at : at + PRODUCER_STATE_ENTRY.size]
        if len(entry) < PRODUCER_STATE_ENTRY.size:
            yield (
                file,
                Field(
                    "ProducerStateEntry",
                    "rest",
                    position=at,
                    size=len(entry),
                    data=entry[:64],
                    value=None,
                    meaning="not a whole entry",
                ),
            )
            return
        for field in fields_of(PRODUCER_STATE_ENTRY, "ProducerStateEntry", entry, at):
            yield file, field._replace(structure=f"ProducerStateEntry {number}")


def _line(file: str, data: bytes, position: int) -> Found:
    """Show the line of a text file, part by part."""
    start = data.rfind(b"\n", 0, position) + 1
    stop = data.find(b"\n", position)
    stop = len(data) if stop < 0 else stop
    number = data.count(b"\n", 0, start) + 1
    names = _parts_of(file, number)
    text = data[start : min(stop + 1, len(data))]
    found = [match.start() for match in re.finditer(rb"\S+", text)][: max(1, len(names))]
    places = [0, *found[1:], len(text)]
    for name, at, end in zip(names or ["text"], places, places[1:], strict=False):
        part = text[at:end]
        value = part[:_LONGEST_LINE].strip().decode("utf-8", "backslashreplace")
        yield (
            file,
            Field(
                f"line {number}",
                name,
                position=start + at,
                size=len(part),
                data=part[:_LONGEST_LINE],
                value=value,
                meaning="",
            ),
        )


def _parts_of(file: str, number: int) -> list[str]:
    kind = parse_name(os.path.basename(file)).kind
    if kind not in (FileKind.OFFSET_CHECKPOINT, FileKind.LEADER_EPOCH_CHECKPOINT):
        return []
    if number <= 2:
        return ["version" if number == 1 else "entries_count"]
    return ["epoch", "start_offset"] if kind is FileKind.LEADER_EPOCH_CHECKPOINT else ["topic", "partition", "offset"]

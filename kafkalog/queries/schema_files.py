"""The schemas of a registry: files of them, folders, and the topic ``_schemas`` that it keeps them in."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Final

from kafkalog.errors import UnreadableError
from kafkalog.files.ledger import note_opening, note_refusal
from kafkalog.files.names import FileKind, local_path, parse_name
from kafkalog.files.off_limits import temporary_folder
from kafkalog.findings import Finding
from kafkalog.queries.given_file import GivenFile
from kafkalog.queries.reading import selected_blocks
from kafkalog.segments.selection import Selection
from kafkalog.values.schemas import SUFFIXES, Schemas

__all__ = ["schemas"]

_TOPIC: Final = re.compile(r"_schemas-\d+")
_LEVELS: Final = 3  # below a directory: brokers, their disks, partitions
_MOST_FILES: Final = 10_000


def schemas(*paths: str | os.PathLike[str], logs: Iterable[str | os.PathLike[str]] = ()) -> Schemas:
    """Return the schemas of files and folders: Avro, JSON Schema, what ``protoc -o`` writes, segments of ``_schemas``.

    A name that is a number, as in ``7.avsc``, is the schema's id; what a registry's REST answers says it itself. Of
    `logs`, segments and log directories, those of ``_schemas`` are read. Raises UnreadableError if a file can't be
    read, or is no schema, UnsupportedError if text of Protobuf would be compiled in a log directory.

    Without a path there are no schemas.

    >>> sorted(kafkalog.schemas().by_id)
    []
    """
    found = Schemas()
    for path in logs:
        with suppress(OSError):  # what reads the log says it, here and below
            for segment in _segments(os.fspath(path), _LEVELS):
                with suppress(UnreadableError):
                    _take(found, segment)
    for path in paths:
        name = os.fspath(path)
        try:
            files = _files(name) if os.path.isdir(name) else [name]
        except OSError as error:
            raise UnreadableError(f"{name} can't be read: {error.strerror}") from error
        for file in files:
            _take(found, file)
    if found.are_compiled:
        found.temporary = temporary_folder()
    return found


def _files(folder: str) -> list[str]:
    """Return the files of schemas in a folder, and the segments of a topic of schemas that it is or contains."""
    inside = [os.path.join(folder, name) for name in sorted(os.listdir(folder))]
    found = [path for path in inside if path.endswith(SUFFIXES) and os.path.isfile(path)]
    found += _segments(folder, 1)
    if not found:
        raise UnreadableError(f"{folder} has no schema: the names of files end in {', '.join(SUFFIXES)}")
    if len(found) > _MOST_FILES:
        raise UnreadableError(f"{folder} has more than {_MOST_FILES:,} schemas")
    return found


def _segments(path: str, levels: int) -> Iterator[str]:
    """Yield the segments of ``_schemas`` at a path, and so many levels below."""
    local = local_path(path)
    if not os.path.isdir(local):
        packed = path.partition("!/")[0]  # a compressed segment is beside the others
        if _is_segment(path) and (_is_topic(os.path.dirname(path)) or _is_topic(os.path.dirname(packed))):
            yield path
        return
    is_topic = _is_topic(path)
    if not is_topic and not levels:
        return
    with os.scandir(local) as found:
        names = sorted(one.name for one in found if (_is_segment(one.name) if is_topic else one.is_dir()))
    for name in names:
        inside = os.path.join(path, name)
        if is_topic:
            yield inside
        else:
            yield from _segments(inside, levels - 1)


def _is_topic(folder: str) -> bool:
    return _TOPIC.fullmatch(os.path.basename(os.path.abspath(folder))) is not None


def _is_segment(path: str | os.PathLike[str]) -> bool:
    return parse_name(os.path.basename(path)).kind is FileKind.LOG


def _take(found: Schemas, path: str) -> None:
    if _is_segment(path):
        blocks = selected_blocks(GivenFile(path), Selection(), None)
        _take_topic(found, (one.value for some in blocks if not isinstance(some, Finding) for one in some.records()))
        return
    try:
        found.add_file(path)
    except UnreadableError as error:
        note_refusal(path, str(error))
        raise
    size = os.path.getsize(path)
    note_opening(path, size)(size, size)


def _take_topic(found: Schemas, values: Iterable[bytes | None]) -> None:
    """Take the schemas among the values of the topic; deleted ones stay: what they wrote is still there."""
    for value in values:
        if value is not None:
            found.add_record(value)

"""The schemas of a registry: files of them, folders, and the topic ``_schemas`` that it keeps them in."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from typing import Final

from kafkalog.errors import UnreadableError
from kafkalog.files.names import FileKind, parse_name
from kafkalog.segments.readers import records
from kafkalog.untrusted import untrusted_json
from kafkalog.values.schemas import SUFFIXES, Schemas

__all__ = ["schemas"]

_TOPIC: Final = re.compile(r"_schemas-\d+")
_LEVELS: Final = 3  # below a directory: brokers, their disks, partitions
_MOST_FILES: Final = 10_000


def schemas(*paths: str | os.PathLike[str], logs: Iterable[str | os.PathLike[str]] = ()) -> Schemas:
    """Return the schemas of files and folders: Avro, JSON Schema, what ``protoc -o`` writes, segments of ``_schemas``.

    A name that is a number, as in ``7.avsc``, is the schema's id; what a registry's REST answers says it itself. Of
    `logs`, segments and log directories, those of ``_schemas`` are read. Raises UnreadableError if a file can't be
    read, or is no schema.
    """
    found = Schemas()
    for path in logs:
        for segment in _segments(os.fspath(path), _LEVELS):
            _take(found, segment)
    for path in [os.fspath(one) for one in paths]:
        if not os.path.isdir(path):
            _take(found, path)
            continue
        inside = sorted(os.listdir(path))
        if len(inside) > _MOST_FILES:
            raise UnreadableError(f"{path} has more than {_MOST_FILES:,} files")
        before = bool(found)
        for name in inside:
            whole = os.path.join(path, name)
            if os.path.isdir(whole):
                for segment in _segments(whole, 0):
                    _take(found, segment)
            elif name.endswith(SUFFIXES) or _is_segment(name):
                _take(found, whole)
        if not before and not found:
            raise UnreadableError(f"{path} has no schema: files of these names are: {', '.join(SUFFIXES)}, .log")
    return found


def _segments(path: str, levels: int) -> Iterator[str]:
    """Yield the segments of ``_schemas`` at a path, and so many levels below."""
    whole = os.path.abspath(path)
    if not os.path.isdir(path):
        if _is_segment(path) and _TOPIC.fullmatch(os.path.basename(os.path.dirname(whole))):
            yield path
        return
    is_topic = _TOPIC.fullmatch(os.path.basename(whole))
    if not is_topic and not levels:
        return
    with os.scandir(path) as found:
        inside = sorted((one.name, one.path) for one in found if (one.is_dir() if not is_topic else _is_segment(one)))
    for _, one in inside:
        if is_topic:
            yield one
        else:
            yield from _segments(one, levels - 1)


def _is_segment(path: str | os.PathLike[str]) -> bool:
    return parse_name(os.path.basename(path)).kind is FileKind.LOG


def _take(found: Schemas, path: str) -> None:
    if _is_segment(path):
        _take_topic(found, (record.value for record in records(path, on_finding=lambda _: None)))
    else:
        found.add_file(path)


def _take_topic(found: Schemas, values: Iterable[bytes | None]) -> None:
    """Take the schemas among the values of the topic; deleted ones stay: what they wrote is still there."""
    for value in values:
        if value is None:
            continue
        try:
            found.add_registered(untrusted_json(value))
        except ValueError:
            continue

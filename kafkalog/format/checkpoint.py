"""The text files of a log directory: offset and leader-epoch checkpoints, partition.metadata, meta.properties.

Each reader returns what can be read, and what is wrong as (line number, message).
"""

from __future__ import annotations

import json
import re
from functools import lru_cache
from typing import Any, Final, NamedTuple

__all__ = [
    "Checkpoint",
    "LeaderEpoch",
    "PartitionOffset",
    "Properties",
    "leader_epochs",
    "partition_offsets",
    "properties",
    "quorum_state",
]

_SMALL: Final = 1 << 10  # bytes of a file whose content is remembered
_INT: Final = re.compile(r"-?[0-9]{1,19}")
_LIMITS: Final = (2**31, 2**63)  # an entry ends with an int and a long; a broker refuses what is beyond these


class PartitionOffset(NamedTuple):
    """A line of a root checkpoint: what the offset means depends on the file."""

    topic: str
    partition: int
    offset: int


class LeaderEpoch(NamedTuple):
    """A line of leader-epoch-checkpoint: the first offset of a leader epoch in this replica."""

    epoch: int
    start_offset: int


class Checkpoint(NamedTuple):
    """A checkpoint's version and rows, and what is wrong with it, line by line."""

    version: int | None
    rows: list[Any]
    wrong: list[tuple[int, str]]


class Properties(NamedTuple):
    """Keys and values of a properties file, and what is wrong with it, line by line."""

    values: dict[str, str]
    wrong: list[tuple[int, str]]


def _text(data: bytes) -> list[str]:
    return data.decode("utf-8", "backslashreplace").split("\n")


def _fits(text: str, limit: int) -> bool:
    return _INT.fullmatch(text) is not None and -limit <= int(text) < limit


def _checkpoint(data: bytes, columns: int, make: type[Any]) -> Checkpoint:
    lines = _text(data)
    if lines[-1] == "":
        lines.pop()
    if not lines:
        return Checkpoint(None, [], [])
    wrong: list[tuple[int, str]] = []
    first = lines[0].strip()  # strips more characters than int() does
    version = int(first) if _INT.fullmatch(first) else None
    if version != 0:
        wrong.append((1, f"the version is {lines[0]!r}, not 0"))
    rows = []
    for number, line in enumerate(lines[2:], start=3):
        parts = line.split()
        numbers = parts[columns - 2 :]
        if len(parts) != columns or not all(map(_fits, numbers, _LIMITS)):
            wrong.append((number, f"this is not an entry: {line!r}"))
            continue
        rows.append(make(*parts[: columns - 2], *map(int, numbers)))
    declared = lines[1].strip() if len(lines) > 1 else ""
    if not _INT.fullmatch(declared) or int(declared) != len(lines) - 2:
        wrong.append((2, f"the number of entries is {declared!r}, but {len(lines) - 2} lines follow"))
    return Checkpoint(version, rows, wrong)


def partition_offsets(data: bytes) -> Checkpoint:
    """Read a checkpoint of a log directory's root: lines of topic, partition, offset (OffsetCheckpointFile)."""
    return _checkpoint(data, 3, PartitionOffset)


def leader_epochs(data: bytes) -> Checkpoint:
    """Read a leader-epoch-checkpoint: lines of epoch, start offset (LeaderEpochCheckpointFile)."""
    if len(data) > _SMALL:
        return _checkpoint(data, 2, LeaderEpoch)
    version, rows, wrong = _known_epochs(data)
    return Checkpoint(version, [*rows], [*wrong])


# The small files of many partitions are the same: each content is read once.
@lru_cache(maxsize=1024)
def _known_epochs(data: bytes) -> Checkpoint:
    return _checkpoint(data, 2, LeaderEpoch)


def properties(data: bytes, separator: str) -> Properties:
    """Read partition.metadata (separator ``:``) or meta.properties (``=``)."""
    if len(data) > _SMALL:
        return _properties(data, separator)
    values, wrong = _known_properties(data, separator)
    return Properties({**values}, [*wrong])


@lru_cache(maxsize=1024)
def _known_properties(data: bytes, separator: str) -> Properties:
    return _properties(data, separator)


def _properties(data: bytes, separator: str) -> Properties:
    values: dict[str, str] = {}
    wrong = []
    for number, line in enumerate(_text(data), start=1):
        if not line.strip() or line.startswith(("#", "!")):
            continue
        key, found, value = line.partition(separator)
        if found:
            values[key.strip()] = value.strip()
        else:
            wrong.append((number, f"this is not a key and a value: {line!r}"))
    return Properties(values, wrong)


def quorum_state(data: bytes) -> Properties:
    """Read KRaft's quorum-state, one JSON object."""
    try:
        values = json.loads(data)
    except (ValueError, RecursionError) as error:
        return Properties({}, [(1, f"the file is not JSON: {error}")])
    if not isinstance(values, dict):
        return Properties({}, [(1, "the file is not a JSON object")])
    return Properties(
        {str(key): json.dumps(value) if not isinstance(value, str) else value for key, value in values.items()}, []
    )

"""The text files of a log directory: offset and leader-epoch checkpoints, partition.metadata, meta.properties.

Each reader returns what can be read, and what is wrong as (line number, message). A line is wrong if a broker refuses
it.
"""

from __future__ import annotations

import base64
import json
import re
from typing import Any, Final, NamedTuple

__all__ = [
    "NO_UUID",
    "Checkpoint",
    "LeaderEpoch",
    "PartitionOffset",
    "Properties",
    "java_int",
    "java_uuid",
    "leader_epochs",
    "partition_metadata",
    "partition_offsets",
    "properties",
    "quorum_state",
]

NO_UUID: Final = "A" * 22  # the id of nothing, which a broker refuses for a topic
_NUMBER: Final = re.compile(r"[+-]?\d{1,30}")
_LINE_END: Final = re.compile(r"\r\n|\r|\n")
_LIMITS: Final = (2**31, 2**63)  # an entry ends with an int and a long; a broker refuses what is beyond these
_UUID: Final = re.compile(r"[A-Za-z0-9_-]{22}(?:==)?")
# A line of java.util.Properties: the key ends at the first of these that no backslash hides.
_PROPERTY: Final = re.compile(r"((?:[^\\=: \t\f]|\\.)*)(?:[ \t\f]*[=:]|[ \t\f])?[ \t\f]*(.*)", re.DOTALL)
_BLANK: Final = " \t\f"
_ESCAPED: Final = re.compile(r"\\(u[0-9A-Fa-f]{4}|.)", re.DOTALL)
_ESCAPES: Final = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


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


def java_int(text: str, limit: int = 2**31) -> int | None:
    """Read a number as Java's Integer.parseInt does, None where that refuses it; `limit` is that of its type."""
    number = int(text) if _NUMBER.fullmatch(text) else limit
    return number if -limit <= number < limit else None


def java_uuid(text: str) -> str | None:
    """Return an id as Kafka writes it, None where its Uuid.fromString refuses the text.

    The last of 22 characters has four bits that do not count.
    """
    if not _UUID.fullmatch(text):
        return None
    return base64.urlsafe_b64encode(base64.urlsafe_b64decode(text[:22] + "==")).decode()[:22]


def _lines(data: bytes) -> list[str]:
    """Return the lines that a BufferedReader yields."""
    lines = _LINE_END.split(data.decode("utf-8", "backslashreplace"))
    return lines if lines[-1] else lines[:-1]


def _fits(text: str, limit: int) -> bool:
    return java_int(text, limit) is not None


def _checkpoint(data: bytes, columns: int, make: type[Any]) -> Checkpoint:
    lines = _lines(data)
    if not lines:
        return Checkpoint(None, [], [])
    wrong: list[tuple[int, str]] = []
    version = java_int(lines[0])
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
    if lines[1:] and java_int(lines[1]) != len(lines) - 2:  # a broker takes the version alone, too
        follow = "1 line follows" if len(lines) == 3 else f"{len(lines) - 2} lines follow"
        wrong.append((2, f"the number of entries is {lines[1]!r}, but {follow}"))
    return Checkpoint(version, rows, wrong)


def partition_offsets(data: bytes) -> Checkpoint:
    """Read a checkpoint of a log directory's root: lines of topic, partition, offset (OffsetCheckpointFile)."""
    return _checkpoint(data, 3, PartitionOffset)


def leader_epochs(data: bytes) -> Checkpoint:
    """Read a leader-epoch-checkpoint: lines of epoch, start offset (LeaderEpochCheckpointFile)."""
    return _checkpoint(data, 2, LeaderEpoch)


def partition_metadata(data: bytes) -> Properties:
    """Read a partition.metadata: a version and a topic's id, whatever stands before each (PartitionMetadataFile)."""
    if not data:
        return Properties({}, [(1, "the file is empty: a broker fails to load the partition, and does not start")])
    values: dict[str, str] = {}
    for number, (key, line) in enumerate(zip(("version", "topic_id"), [*_lines(data), ""], strict=False), start=1):
        parts = re.split(r":\s+", line)
        if len(parts) != 2:
            return Properties(values, [(number, f"this is not a key and a value: {line!r}")])
        values[key] = parts[1]
    return Properties(values, [])


def properties(data: bytes) -> Properties:
    """Read meta.properties as java.util.Properties does, which takes any line as a key and a value."""
    values: dict[str, str] = {}
    wrong = []
    lines = enumerate(_LINE_END.split(data.decode("iso-8859-1")), start=1)
    for number, line in lines:
        pieces = [line.lstrip(_BLANK)]
        if not pieces[0] or pieces[0][0] in "#!":
            continue
        while (len(pieces[-1]) - len(pieces[-1].rstrip("\\"))) % 2:  # the line goes on
            pieces[-1] = pieces[-1][:-1]
            pieces.append(next(lines, (0, ""))[1].lstrip(_BLANK))
        match = _PROPERTY.fullmatch("".join(pieces))
        assert match is not None  # no line is too odd
        try:
            values[_ESCAPED.sub(_unescaped, match[1])] = _ESCAPED.sub(_unescaped, match[2])
        except ValueError:
            wrong.append((number, f"a \\u without four digits: {line!r}"))
    return Properties(values, wrong)


def _unescaped(match: re.Match[str]) -> str:
    text = match[1]
    if text[0] == "u":
        return chr(int(text[1:], 16))  # ValueError where no digits follow
    return _ESCAPES.get(text, text)


def quorum_state(data: bytes) -> Properties:
    """Read KRaft's quorum-state, one JSON object at the beginning of the first line; Kafka takes no notice of more.

    Follows FileQuorumStateStore.readStateFromFile.
    """
    try:
        values = json.JSONDecoder().raw_decode(_lines(data)[0].lstrip())[0] if data else None
    except (ValueError, RecursionError) as error:
        return Properties({}, [(1, f"the file is not JSON: {error}")])
    if not isinstance(values, dict):
        return Properties(
            {}, [(1, "the file is not a JSON object" if data else "the file is empty: a node does not start")]
        )
    return Properties(
        {str(key): json.dumps(value) if not isinstance(value, str) else value for key, value in values.items()}, []
    )

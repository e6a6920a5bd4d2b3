"""The small files beside segments written again: numbers, ids and names pass, in the places that Kafka gives them.

What is damaged keeps its length and the shape of its lines, not its characters.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Collection
from typing import Any, Final, Protocol

from kafkalog.files.names import FileKind
from kafkalog.kafka.layout import (
    ABORTED_TXN,
    OFFSET_INDEX_ENTRY,
    TIME_INDEX_ENTRY,
    Layout,
)
from kafkalog.kafka.snapshot import ProducerState, producer_snapshot
from kafkalog.redaction.new_names import NameKind, NewNames
from kafkalog.redaction.rewritten_segment import HIGHEST_NUMBER, HIGHEST_TIME, Places
from kafkalog.redaction.shifted_times import ShiftedTimes

__all__ = ["SideBytes", "is_id", "new_index"]

_RANDOM_VERSION, _RANDOM_VARIANT = 4, 2  # bits of an id as java.util.UUID.randomUUID makes it
_UUID: Final = re.compile(r"[A-Za-z0-9_-]{22}")
_NUMBER: Final = re.compile(r"-?\d{1,20}")
_TOPIC: Final = re.compile(r"[A-Za-z0-9._-]{1,249}")
_DATE: Final = re.compile(r"#\w{3} \w{3} \d{2} \d{2}:\d{2}:\d{2} [A-Z]{1,5}(?:[+-]\d{2}:\d{2})? \d{4}")
_SEEN: Final = re.compile(r"[^\s:#=]")  # what a damaged line loses
_LINES: Final = re.compile(r"[^\r\n]*(?:\r\n|\r|\n|$)")
_OFFSETS_STEP: Final = 1 << 20  # offsets from one entry of an index to the next, at most
_POSITIONS_STEP: Final = 1 << 24  # bytes
_NUMBERS: Final = ("version", "broker.id", "node.id")  # in meta.properties
_RESERVED: Final = bytes(8)  # how ids that Kafka reserves begin, as that of the topic that has the metadata


class SideBytes:
    """Makes side files anew by their kind; `directories` are the ids of log directories that the metadata has."""

    def __init__(self, names: NewNames, directories: Collection[str], times: ShiftedTimes) -> None:
        self._names = names
        self._times = times
        self._directories = directories
        self._kinds: dict[FileKind, Callable[[bytes], bytes]] = {
            FileKind.OFFSET_CHECKPOINT: self._offsets,
            FileKind.LEADER_EPOCH_CHECKPOINT: self._epochs,
            FileKind.PARTITION_METADATA: self._partition_metadata,
            FileKind.META_PROPERTIES: self._properties,
            FileKind.QUORUM_STATE: self._quorum_state,
            FileKind.PRODUCER_SNAPSHOT: self._snapshot,
        }

    def of(self, kind: FileKind, data: bytes) -> bytes | None:
        """Return the file's new bytes, None for a kind that does not pass."""
        make = self._kinds.get(kind)
        return None if make is None else make(data)

    def _offsets(self, data: bytes) -> bytes:
        return _each_line(data, self._offset_line)

    def _offset_line(self, line: str, number: int) -> str | None:
        if number < 2:
            return line if _NUMBER.fullmatch(line) else None
        parts = re.split(r"(\s+)", line)
        if len(parts) != 5 or not (_NUMBER.fullmatch(parts[2]) and _NUMBER.fullmatch(parts[4])):
            return None
        if not _TOPIC.fullmatch(parts[0]):
            return None
        parts[0] = self._names.of(NameKind.TOPIC, parts[0].encode()).decode()
        return "".join(parts)

    def _epochs(self, data: bytes) -> bytes:
        return _each_line(data, lambda line, _: line if all(map(_NUMBER.fullmatch, line.split())) else None)

    def _partition_metadata(self, data: bytes) -> bytes:
        def line_of(line: str, number: int) -> str | None:
            key, colon, value = line.partition(": ")
            passes = {"version": _is_version, "topic_id": is_id}.get(key)
            return line if passes is not None and colon and passes(value) and number < 2 else None

        return _each_line(data, line_of)

    def _properties(self, data: bytes) -> bytes:
        def line_of(line: str, _: int) -> str | None:
            if line == "#" or not line:
                return line
            if _DATE.fullmatch(line):
                return self._times.in_date(line)
            key, equals, value = line.partition("=")
            if key == "cluster.id" and equals and _SEEN.match(value):
                return f"{key}={self._cluster(value)}"
            passes = {"directory.id": self._is_directory}.get(key, _is_number_text if key in _NUMBERS else None)
            return line if passes is not None and equals and passes(value) else None

        return _each_line(data, line_of, "iso-8859-1")

    def _is_directory(self, text: str) -> bool:
        return is_id(text) or text in self._directories

    def _cluster(self, text: str) -> str:
        """Return a cluster's id, which may be any text of somebody's."""
        return self._names.of(NameKind.CLUSTER, text.encode()).decode()

    def _quorum_state(self, data: bytes) -> bytes:
        """Return Kafka's own fields of the one JSON object; of anything else the shape."""
        try:
            text = data.decode()
            state, end = json.JSONDecoder().raw_decode(text)
        except (ValueError, RecursionError):
            return _each_line(data, _no_line)
        if not isinstance(state, dict):
            return _each_line(data, _no_line)
        passed = {key: value for key, value in state.items() if _passes(key, value)}
        if isinstance(passed.get("clusterId"), str):
            passed["clusterId"] = self._cluster(passed["clusterId"])
        return json.dumps(passed, separators=(",", ":")).encode() if passed != state or end != len(text) else data

    def _snapshot(self, data: bytes) -> bytes:
        """Return a whole snapshot whose numbers a broker can have written; zeros of the same length otherwise."""
        read = producer_snapshot(data)
        if read.wrong or not all(map(_is_possible, read.entries)):
            return bytes(len(data))
        return self._times.in_snapshot(data, read.entries)


def _passes(key: str, value: Any) -> bool:
    if key == "clusterId":
        return isinstance(value, str)
    if key == "votedDirectoryId":
        return isinstance(value, str) and (not value or is_id(value))
    if key == "currentVoters":
        return isinstance(value, list) and all(
            isinstance(one, dict) and list(one) == ["voterId"] and _is_number(one["voterId"]) for one in value
        )
    known = ("leaderId", "leaderEpoch", "votedId", "appliedOffset", "data_version")
    return key in known and _is_number(value)


def is_id(text: str) -> bool:
    """Say whether a text is a random id, or one that Kafka reserves: one of 22 letters may be a name."""
    if not _UUID.fullmatch(text):
        return False
    data = base64.urlsafe_b64decode(f"{text}==")
    return data[:8] == _RESERVED or (data[6] >> 4 == _RANDOM_VERSION and data[8] >> 6 == _RANDOM_VARIANT)


def _is_number_text(text: str) -> bool:
    return _NUMBER.fullmatch(text) is not None


def _is_version(text: str) -> bool:
    return len(text) <= 2 and text.isdigit()


def _no_line(_: str, __: int) -> None:
    """Let no line pass."""


def _is_number(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**63


def _each_line(data: bytes, line_of: Callable[[str, int], str | None], encoding: str = "utf-8") -> bytes:
    """Return the lines that pass, and of the others the shape; `line_of` is given a line without its end."""
    made = []
    for number, found in enumerate(_LINES.findall(data.decode(encoding, "replace"))):
        line = found.rstrip("\r\n")
        passed = line_of(line, number) if line else line
        made.append((_SEEN.sub("x", line) if passed is None else passed) + found[len(line) :])
    return "".join(made).encode(encoding, "replace")


def _is_possible(state: ProducerState) -> bool:
    numbers = (state.producer_id, state.last_offset, state.current_txn_first_offset, state.timestamp)
    return all(-1 <= number < HIGHEST_NUMBER for number in numbers)


def new_index(kind: FileKind, data: bytes, base_offset: int, places: Places, times: ShiftedTimes) -> bytes:
    """Return an index with the positions and the times of the batches as they are now.

    An entry passes if its numbers can be those of its segment, also of one whose end was lost; another becomes zeros.
    """
    layout, entries = _INDEXES[kind]
    passing = entries(base_offset, places, times)
    size, made = layout.size, bytearray(len(data))
    used = len(data) if kind is FileKind.TXN_INDEX else len(data.rstrip(b"\0"))
    for at in range(0, min(-(-used // size), len(data) // size) * size, size):
        if (entry := passing.now(layout.packed.unpack_from(data, at))) is not None:
            layout.packed.pack_into(made, at, *entry)
    return bytes(made)


class _Entries(Protocol):
    """Entries of an index, one after the other."""

    def now(self, entry: tuple[int, ...], /) -> tuple[int, ...] | None: ...


class _OffsetEntries:
    """Entries of an offset index, one after the other."""

    def __init__(self, base_offset: int, places: Places, _: ShiftedTimes) -> None:
        self._places = places
        self._reach = max(0, places.last_offset - base_offset)
        self._before = (0, 0)

    def now(self, entry: tuple[int, ...]) -> tuple[int, ...] | None:
        """Return an entry as it is now, None for one that no broker would write after those before."""
        relative, position = entry
        is_inside = 0 <= relative <= self._reach and 0 <= position < max(self._places.original_size, 1)
        if not (is_inside or _follows(relative, self._before[0], _OFFSETS_STEP, position, self._before[1])):
            return None
        self._before = (relative, position)
        return relative, self._places.now(position)


class _TimeEntries:
    """Entries of a time index, one after the other."""

    def __init__(self, base_offset: int, places: Places, times: ShiftedTimes) -> None:
        self._timestamps = places.timestamps
        self._times = times
        self._reach = max(0, places.last_offset - base_offset)
        self._before = 0

    def now(self, entry: tuple[int, ...]) -> tuple[int, ...] | None:
        """Return the entry, None for one that no broker would write after those before."""
        timestamp, relative = entry
        is_time = timestamp in self._timestamps or -1 <= timestamp < HIGHEST_TIME
        if not is_time or not 0 <= relative <= max(self._reach, self._before + _OFFSETS_STEP):
            return None
        self._before = max(self._before, relative)
        return self._times.of(timestamp), relative


class _AbortedEntries:
    """Entries of a transaction index."""

    def __init__(self, _: int, places: Places, __: ShiftedTimes) -> None:
        self._producers = places.producers

    def now(self, entry: tuple[int, ...]) -> tuple[int, ...] | None:
        """Return the entry, None for one with numbers that no broker reaches."""
        version, producer_id, *offsets = entry
        is_known = producer_id in self._producers or 0 <= producer_id < HIGHEST_NUMBER
        return entry if version == 0 and is_known and all(-1 <= one < HIGHEST_NUMBER for one in offsets) else None


_INDEXES: Final[dict[FileKind, tuple[Layout, Callable[[int, Places, ShiftedTimes], _Entries]]]] = {
    FileKind.OFFSET_INDEX: (OFFSET_INDEX_ENTRY, _OffsetEntries),
    FileKind.TIME_INDEX: (TIME_INDEX_ENTRY, _TimeEntries),
    FileKind.TXN_INDEX: (ABORTED_TXN, _AbortedEntries),
}


def _follows(offset: int, before: int, most: int, position: int, position_before: int) -> bool:
    return before < offset <= before + most and position_before < position <= position_before + _POSITIONS_STEP

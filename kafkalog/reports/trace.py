"""An audit as a trace for Perfetto: a track for each producer in a log and for each transactional id.

Transactions are slices from their first record to their marker, the coordinator's transitions and changes of leaders
are instants, and a flow leads from a decision to the markers that it brought about. Times are as in the files, in UTC.
Source: perfetto's ``trace_packet.proto``, ``track_event.proto``, ``track_descriptor.proto``.

The messages are written here: protobuf comes with the extra ``schemas`` alone, and they need four kinds of fields.
"""

from __future__ import annotations

import hashlib
import struct
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from kafkalog.quantities import producer_name
from kafkalog.reports.lanes import is_time, span_of
from kafkalog.reports.source import AuditSource, leader_changes, transaction_rows

__all__ = ["number", "part", "text", "trace"]


# The few ways in which a protobuf message is put together. Source: the protobuf encoding's specification.


_VARINT, _FIXED64, _BYTES = 0, 1, 2


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def number(field: int, value: int) -> bytes:
    """Encode an integer; a negative one as int64."""
    return _varint(field << 3 | _VARINT) + _varint(value & 0xFFFF_FFFF_FFFF_FFFF)


def fixed64(field: int, value: int) -> bytes:
    """Encode a fixed64, from 0 to 2**64 - 1."""
    return _varint(field << 3 | _FIXED64) + struct.pack("<Q", value)


def part(field: int, message: bytes) -> bytes:
    """Encode a message inside of another one, or bytes."""
    return _varint(field << 3 | _BYTES) + _varint(len(message)) + message


def text(field: int, value: str) -> bytes:
    """Encode a string: protobuf's are UTF-8, so what is none is escaped."""
    return part(field, value.encode("utf-8", "backslashreplace"))


_BEGIN, _END, _INSTANT = 1, 2, 3

_REALTIME, _BOOTTIME = 1, 6  # clocks: BuiltinClock

_SEQUENCE: Final = 1

_CLEARED: Final = 1  # SEQ_INCREMENTAL_STATE_CLEARED

_EXPLICIT: Final = 3  # ChildTracksOrdering

_NS: Final = 1_000_000

_DECISIONS: Final = {"prepare_commit": "committed", "prepare_abort": "aborted"}


def trace(source: AuditSource) -> Iterator[bytes]:
    """Yield a trace in pieces: each is a whole packet, or several."""
    tracks = _Tracks()
    decisions = _Decisions()
    root = tracks.root("transactional ids", 1)
    yield root.packet + _clocks()
    for row in source.rows("coordinator"):
        yield from _of_coordinator(row, tracks, decisions, root.uuid)
    decisions.sort()
    root = tracks.root("partitions", 0)
    yield root.packet
    for row in leader_changes(source):
        yield from _of_leader(row, tracks, root.uuid)
    for row in transaction_rows(source):
        yield from _of_transaction(row, tracks, decisions, root.uuid)


class _Track(NamedTuple):
    uuid: int
    packet: bytes  # describes the track; empty where that was written


class _Tracks:
    """Tracks by what they stand for, each described once; and when the last slice of each ended."""

    def __init__(self) -> None:
        self._known: set[int] = set()
        self.ended: dict[int, int] = {}

    def root(self, name: str, rank: int) -> _Track:
        return self.of(name, (name,), None, rank)

    def of(self, name: str, identity: tuple[Any, ...], parent: int | None, rank: int | None = None) -> _Track:
        uuid = _hash(*identity)
        if uuid in self._known:
            return _Track(uuid, b"")
        self._known.add(uuid)
        fields = number(1, uuid) + text(2, name)
        if parent is not None:
            fields += number(5, parent)
        if rank is not None:
            fields += number(12, rank) + number(11, _EXPLICIT)
        return _Track(uuid, _packet(part(60, fields)))


class _Decisions:
    """When the coordinator decided on a producer's transactions, and on which partitions."""

    def __init__(self) -> None:
        self._of: dict[tuple[int, int, str], list[tuple[int, int, frozenset[str]]]] = defaultdict(list)

    def add(self, row: Mapping[str, Any], flow: int) -> None:
        key = (row["producer_id"], row["producer_epoch"], _DECISIONS[row["state"]])
        self._of[key].append((row["last_update_timestamp_ms"], flow, frozenset(row["partitions"] or ())))

    def sort(self) -> None:
        for decided in self._of.values():
            decided.sort(key=lambda one: one[:2])

    def flow_to(self, row: Mapping[str, Any]) -> int | None:
        """Return the flow of the decision that a transaction's marker comes from: the last of its epoch before it."""
        decided = self._of.get((row["producer_id"], row["marker_epoch"], row["state"]), ())
        number = bisect_right(decided, row["marker_timestamp_ms"], key=lambda one: one[0])
        if number and f"{row['topic']}-{row['partition']}" in decided[number - 1][2]:
            return decided[number - 1][1]
        return None


def _of_coordinator(row: Mapping[str, Any], tracks: _Tracks, decisions: _Decisions, root: int) -> Iterator[bytes]:
    if not is_time(row["last_update_timestamp_ms"]):
        return
    name = row["transactional_id"]
    track = tracks.of(name, ("id", name), root)
    flow = None
    if row["state"] in _DECISIONS:
        flow = _hash("flow", name, row["log"], row["offset"])
        decisions.add(row, flow)
    said = ("producer_id", "producer_epoch", "timeout_ms", "offset", "log")
    about = {column: row[column] for column in said} | {"partitions": ", ".join(row["partitions"] or ()) or None}
    yield track.packet + _event(
        _INSTANT, track.uuid, row["last_update_timestamp_ms"], row["state"], about, "coordinator", flow=flow
    )


def _of_leader(row: Mapping[str, Any], tracks: _Tracks, root: int) -> Iterator[bytes]:
    if row["since_ms"] is None or not is_time(row["since_ms"]):
        return
    log = tracks.of(f"{row['topic']}-{row['partition']}", ("log", row["log"]), root)
    about = {name: row[name] for name in ("leader_epoch", "leader", "first_offset", "log")}
    yield log.packet + _event(_INSTANT, log.uuid, row["since_ms"], row["change"], about, "leader")


def _of_transaction(row: Mapping[str, Any], tracks: _Tracks, decisions: _Decisions, root: int) -> Iterator[bytes]:
    span = span_of(row)
    if span is None:
        return
    first, last = span
    log = tracks.of(f"{row['topic']}-{row['partition']}", ("log", row["log"]), root)
    who = producer_name(row["transactional_id"], row["producer_id"])
    is_open = row["marker_offset"] is None
    identity = ("producer", row["log"], row["producer_id"], row["first_offset"] if is_open else None)
    track = tracks.of(who + " open" * is_open, identity, log.uuid)
    packets = log.packet + track.packet
    if row["first_offset"] is not None:
        begin = max(first, tracks.ended.get(track.uuid, first))  # a producer's clock that went back
        tracks.ended[track.uuid] = last = max(last, begin)
        about = {name: value for name, value in row.items() if value is not None and name not in ("topic", "partition")}
        packets += _event(_BEGIN, track.uuid, begin, row["state"], about, "transaction")
        if not is_open:
            packets += _event(_END, track.uuid, last)
    if not is_open and is_time(row["marker_timestamp_ms"]):
        about = {name: row[name] for name in ("marker_offset", "marker_epoch", "coordinator_epoch")}
        kind = "COMMIT" if row["state"] == "committed" else "ABORT"
        packets += _event(
            _INSTANT, track.uuid, last, f"{kind} marker", about, "marker", flow=decisions.flow_to(row), flow_ends=True
        )
    yield packets


def _event(
    kind: int, track: int, time_ms: int, name: str = "", about: Mapping[str, Any] | None = None, category: str = "",
    *, flow: int | None = None, flow_ends: bool = False,
) -> bytes:  # fmt: skip
    fields = number(9, kind) + number(11, track)
    if name:
        fields += text(23, name) + text(22, category)
    for key, value in (about or {}).items():
        if value is not None:
            annotation = text(6, value) if isinstance(value, str) else number(4, int(value))
            fields += part(4, text(10, key) + annotation)
    if flow is not None:
        fields += fixed64(48 if flow_ends else 47, flow)
    return _packet(number(8, time_ms * _NS) + number(58, _REALTIME) + part(11, fields))


def _clocks() -> bytes:
    """Say that the trace's clock is the wall clock."""
    clocks = b"".join(part(1, number(1, clock) + number(2, _NS)) for clock in (_REALTIME, _BOOTTIME))
    return part(1, part(6, clocks + number(2, _REALTIME)) + number(10, _SEQUENCE) + number(13, _CLEARED))


def _packet(fields: bytes) -> bytes:
    return part(1, fields + number(10, _SEQUENCE))


def _hash(*identity: Any) -> int:
    """Return a number that the same thing has in each trace; never 0, which stands for none."""
    return int.from_bytes(hashlib.blake2b(repr(identity).encode(), digest_size=8).digest(), "big") >> 1 | 1

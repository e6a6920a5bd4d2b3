"""Records of the offsets topic, byte by byte, and its partitions as files."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Final, NamedTuple

import build

__all__ = ["Marker", "T", "Write", "commit_key", "commit_value", "group_key", "group_value", "write_offsets"]

T: Final = build.TIME


class Write(NamedTuple):
    """A record to be written; one with a producer is transactional."""

    key: bytes
    value: bytes | None
    producer: int = -1


class Marker(NamedTuple):
    """The end of a producer's transaction."""

    producer: int
    commit: bool


def _string(text: str) -> bytes:
    data = text.encode()
    return struct.pack(f">h{len(data)}s", len(data), data)


def commit_key(group: str, topic: str = "t", partition: int = 0, kind: int = 1) -> bytes:
    """A key of an offset commit."""
    return struct.pack(">h", kind) + _string(group) + _string(topic) + struct.pack(">i", partition)


def commit_value(offset: int, metadata: str = "", epoch: int = -1, when: int = T) -> bytes:
    """A value of an offset commit, version 3."""
    return struct.pack(">hqi", 3, offset, epoch) + _string(metadata) + struct.pack(">q", when)


def group_key(group: str) -> bytes:
    """A key of a classic group."""
    return struct.pack(">h", 2) + _string(group)


def group_value(generation: int) -> bytes:
    """A value of a classic group without members, version 3."""
    return struct.pack(">h", 3) + _string("consumer") + struct.pack(">ihhqi", generation, -1, -1, T, 0)


def write_offsets(root: Path, *written: Write | Marker, number: int = 0) -> Path:
    """Write a partition of the topic, one batch for each record and marker, a second behind one another."""
    folder = root / f"__consumer_offsets-{number}"
    folder.mkdir(parents=True, exist_ok=True)
    data = b""
    for at, one in enumerate(written):
        about = {
            "base_offset": at,
            "base_timestamp": T + 1000 * at,
            "max_timestamp": T + 1000 * at,
            "producer_id": one.producer,
            "producer_epoch": -1 if one.producer < 0 else 0,
        }
        if isinstance(one, Marker):
            data += build.marker(int(one.commit), **about)
        else:
            bits = 0 if one.producer < 0 else build.TRANSACTIONAL
            sequence = min(one.producer, 0)  # of a coordinator's batches always 0
            data += build.batch(build.record(one.value, one.key), attributes=bits, base_sequence=sequence, **about)
    (folder / f"{0:020}.log").write_bytes(data)
    return folder

"""Records of the transaction state topic, byte by byte, and its partitions as files."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Final

import build

__all__ = ["T", "key", "value", "write_state"]

T: Final = build.TIME


def value(
    state: int, producer: int = 1000, epoch: int = 0, partitions: list[tuple[str, list[int]]] | None = None,
    update: int = T, start: int = T, timeout: int = 60_000,
) -> bytes:  # fmt: skip
    """A value of version 0, field by field."""
    listed = struct.pack(">i", -1 if partitions is None else len(partitions))
    for topic, numbers in partitions or []:
        name = topic.encode()
        listed += struct.pack(f">h{len(name)}si{len(numbers)}i", len(name), name, len(numbers), *numbers)
    return struct.pack(">hqhib", 0, producer, epoch, timeout, state) + listed + struct.pack(">qq", update, start)


def key(name: str) -> bytes:
    """A key of type 0."""
    data = name.encode()
    return struct.pack(f">hh{len(data)}s", 0, len(data), data)


def write_state(
    root: Path, *rows: tuple[str, bytes | None], number: int = 0, first: int = 0, epoch: int = 0, append: bool = False
) -> Path:
    """Write a state partition's records, one a batch, a second behind one another."""
    folder = root / f"__transaction_state-{number}"
    folder.mkdir(parents=True, exist_ok=True)
    data = b"".join(
        build.batch(
            build.record(content, key(name)),
            base_offset=at,
            base_timestamp=T + 1000 * at,
            max_timestamp=T + 1000 * at,
            partition_leader_epoch=epoch,
        )
        for at, (name, content) in enumerate(rows, first)
    )
    with (folder / f"{0:020}.log").open("ab" if append else "wb") as file:
        file.write(data)
    return folder

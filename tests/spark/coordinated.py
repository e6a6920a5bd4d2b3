"""A made log directory with many records of the coordinator, of which each partition needs few."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import build
from state_topic import T, key, value

__all__ = ["RECORDS", "coordinated"]

RECORDS: Final = 100_000
_PARTITIONS: Final = 4
_PRODUCERS: Final = 60  # that wrote to a partition
_BATCH: Final = 1000
_ONGOING, _PREPARE_COMMIT, _COMPLETE_COMMIT = 1, 2, 4


def _varint(number: int) -> bytes:
    number *= 2  # zigzag, of what is not negative
    found = b""
    while number > 0x7F:
        found += bytes([number & 0x7F | 0x80])
        number >>= 7
    return found + bytes([number])


def _record(content: bytes, name: bytes, delta: int) -> bytes:
    """Write a record of a batch; ``build.record`` takes a third of a millisecond."""
    parts = b"\0\0" + _varint(delta) + _varint(len(name)) + name + _varint(len(content)) + content + b"\0"
    return _varint(len(parts)) + parts


def coordinated(root: Path) -> Path:
    """Write one state partition, and four partitions of a topic with transactions; every tenth has no marker."""
    for partition in range(_PARTITIONS):
        folder = root / f"t-{partition}"
        folder.mkdir(parents=True)
        data, offset = b"", 0
        for producer in range(partition, _PARTITIONS * _PRODUCERS, _PARTITIONS):
            about = {"producer_id": producer, "producer_epoch": 0, "base_timestamp": T + 1, "max_timestamp": T + 1}
            data += build.batch(build.record(b"v"), base_offset=offset, attributes=16, base_sequence=0, **about)
            offset += 1
            if producer % 10:
                data += build.marker(1, base_offset=offset, **about | {"base_timestamp": T + 3, "max_timestamp": T + 3})
                offset += 1
        (folder / f"{0:020}.log").write_bytes(data)
    state = root / "__transaction_state-0"
    state.mkdir()
    records = [
        (key(f"tx-{producer}"), value(what, producer, 0, [("t", [producer % _PARTITIONS])], T + 2, T + 1))
        for producer in range(RECORDS // 3 + 1)
        for what in (_ONGOING, _PREPARE_COMMIT, _COMPLETE_COMMIT)
    ][:RECORDS]
    with (state / f"{0:020}.log").open("wb") as file:
        for start in range(0, RECORDS, _BATCH):
            some = records[start : start + _BATCH]
            packed = (_record(content, name, at) for at, (name, content) in enumerate(some))
            file.write(build.batch(*packed, base_offset=start, base_timestamp=T + 2, max_timestamp=T + 9))
    return root

"""Log directories with very many of one thing: damaged batches, open transactions, ids, what only looks like a header."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path
from typing import Final

import build
from bombs import MIB
from kafkalog.kafka.layout import RECORD_BATCH

__all__ = ["CROWDS"]

_CRC_FROM: Final = RECORD_BATCH.position("attributes")


def _directory(root: Path, topic: str = "t") -> Path:
    """Make a log directory with an empty partition; return its segment's path."""
    folder = root / f"{topic}-0"
    folder.mkdir(parents=True)
    (root / "meta.properties").write_text("version=1\ncluster.id=c\nnode.id=1\n")
    return folder / f"{0:020}.log"


def _renumbered(batch: bytes, count: int, step: int = 1) -> bytearray:
    """Repeat a batch, each time with another base offset, which its checksum does not cover."""
    data = bytearray(batch * count)
    for number in range(count):
        struct.pack_into(">q", data, number * len(batch), number * step)
    return data


def _small(part: float, every: int) -> bytearray:
    batch = build.batch(build.record(b""))
    data = _renumbered(batch, int(64 * MIB * part) // len(batch))
    if every:
        data[len(batch) - 2 :: every * len(batch)] = b"\x7f" * len(range(len(batch) - 2, len(data), every * len(batch)))
    return data


def _whole(root: Path, part: float) -> None:
    """Write 64 MiB of the smallest batches, a million, all whole: what the damaged ones are compared with."""
    _directory(root).write_bytes(_small(part, 0))


def _damaged(root: Path, part: float) -> None:
    """Write 64 MiB of the smallest batches, every second one damaged: half a million."""
    _directory(root).write_bytes(_small(part, 2))


def _all_damaged(root: Path, part: float) -> None:
    """Write 64 MiB of the smallest batches, all damaged."""
    _directory(root).write_bytes(_small(part, 1))


def _steps(step: int) -> Callable[[Path, float], None]:
    """Write 64 MiB of the smallest batches, each `step` offsets after the one before."""

    def write(root: Path, part: float) -> None:
        batch = build.batch(build.record(b""))
        _directory(root).write_bytes(_renumbered(batch, int(64 * MIB * part) // len(batch), step))

    return write


def _epochs(root: Path, part: float) -> None:
    """Write 64 MiB of the smallest batches, each in another leader epoch, every second one in an older one."""
    data = _small(part, 0)
    size = len(build.batch(build.record(b"")))
    for number in range(len(data) // size):
        struct.pack_into(">i", data, number * size + 12, number ^ 1)
    _directory(root).write_bytes(data)


def _producers(attributes: int) -> Callable[[Path, float], None]:
    def write(root: Path, part: float) -> None:
        batch = bytearray(build.batch(build.record(b""), attributes=attributes, producer_epoch=0, base_sequence=0))
        producer, crc = RECORD_BATCH.position("producer_id"), RECORD_BATCH.position("crc")
        with _directory(root).open("wb") as file:
            for number in range(int(1_000_000 * part)):
                struct.pack_into(">q", batch, 0, number)
                struct.pack_into(">q", batch, producer, number)
                struct.pack_into(">I", batch, crc, build.crc32c(bytes(batch[_CRC_FROM:])))
                file.write(batch)

    return write


def _old_headers(sizes: tuple[int, ...]) -> Callable[[Path, float], None]:
    """Write 64 MiB of what only looks like headers of messages of magic 0 and 1, with these sizes."""

    def write(root: Path, part: float) -> None:
        size = int(64 * MIB * part)
        heads = b"".join(
            struct.pack(">qiIbb", number, sizes[number % len(sizes)], 0, number % 2, 0) + bytes(8)
            for number in range(7)
        )
        data = (heads * (size // len(heads) + 1))[:size]
        _directory(root).write_bytes(build.message(b"v") + data + build.message(b"v", offset=9))

    return write


def _old_whole(root: Path, part: float) -> None:
    """Write 64 MiB of the smallest messages of magic 1, every second one damaged."""
    message = build.message(b"")
    data = _renumbered(message, int(64 * MIB * part) // len(message))
    data[len(message) - 9 :: 2 * len(message)] = b"\x7f" * len(range(len(message) - 9, len(data), 2 * len(message)))
    _directory(root).write_bytes(data)


def _new_headers(root: Path, part: float) -> None:
    """Write 64 MiB of headers of magic 2 whose lengths lead far ahead and whose checksums do not match."""
    head = bytearray(build.batch(build.record(b"v"), base_offset=3)[: RECORD_BATCH.size])
    struct.pack_into(">i", head, 8, int(30 * MIB * part))
    whole = build.batch(build.record(b"v"))
    _directory(root).write_bytes(whole + bytes(head) * (int(64 * MIB * part) // len(head)) + whole)


CROWDS: Final[dict[str, Callable[[Path, float], None]]] = {
    "a million batches": _whole,
    "half a million damaged batches": _damaged,
    "a million damaged batches": _all_damaged,
    "a million gaps": _steps(2),
    "a million batches of one offset": _steps(0),
    "a million leader epochs": _epochs,
    "a million open transactions": _producers(build.TRANSACTIONAL),
    "a million producers": _producers(0),
    "headers of magic 0 and 1, short": _old_headers((14, 30, 100)),
    "headers of magic 0 and 1, long": _old_headers((MIB, 16 * MIB, 40 * MIB)),
    "headers of magic 0 and 1, mixed": _old_headers((14, 1000, 100_000, 5 * MIB)),
    "a million damaged messages of magic 1": _old_whole,
    "headers of magic 2": _new_headers,
}

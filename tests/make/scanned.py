"""What a scan gave, taken together: batches, records and findings of one file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

import kafkalog
from kafkalog import Batch, Chunk, Finding, Record
from kafkalog.kernel import buffers

# Findings that say which bytes they are about and that no batch holds these.
EXTENTS = frozenset(
    {"crc-mismatch", "batch-length-wrong", "bytes-unreadable", "bytes-zero", "batch-truncated", "tail-preallocated"}
)
# Findings that a whole, valid file may have too.
HARMLESS = frozenset({"offset-gap", "tail-preallocated", "file-changed", "file-empty"})


@dataclass(frozen=True)
class Scanned:
    """All of one file."""

    batches: list[Batch]
    records: list[Record]
    findings: list[Finding]

    @property
    def codes(self) -> list[str]:
        """The findings' codes, in order."""
        return [finding.code for finding in self.findings]

    @property
    def whole(self) -> list[Batch]:
        """The batches whose checksum holds."""
        return [batch for batch in self.batches if batch.crc_holds]

    @property
    def offsets(self) -> list[int]:
        """The last offsets of the batches whose checksum holds."""
        return [batch.last_offset for batch in self.whole]

    def gaps(self, size: int) -> list[tuple[int, int]]:
        """Return where the parts of a file of `size` bytes do not lie end to end, as (position, next position).

        Parts are the batches that hold and the extents of what is damaged, zero or left over: every byte belongs to one.
        """
        spans = [(batch.position, batch.size) for batch in self.whole]
        spans += [(f.position or 0, f.length or 0) for f in self.findings if f.code in EXTENTS]
        ends = [0, *(position + length for position, length in sorted(spans))]
        starts = [*(position for position, _ in sorted(spans)), size]
        return [pair for pair in zip(ends, starts, strict=True) if pair[0] != pair[1]]


def scanned(data: bytes, **options: Any) -> Scanned:
    """Read `data` as a segment, every record of it; `options` are those of ``kafkalog.scan``."""
    return gathered(kafkalog.scan(data, **options))


def gathered(chunks: Iterator[Chunk]) -> Scanned:
    """Take all of `chunks` together; the records are decoded here."""
    batches: list[Batch] = []
    records: list[Record] = []
    findings: list[Finding] = []
    for chunk in chunks:
        for block in chunk.records():
            position = None if block.outer is None else chunk.heads.cell(buffers.POSITION, block.outer)
            records += [block.record(number, position) for number in range(block.recs.count)]
            findings += block.findings
        batches += [Batch.of(chunk.heads, row) for row in range(chunk.heads.count)]
        findings += chunk.findings
    return Scanned(batches, records, findings)


def in_small_steps(patch: pytest.MonkeyPatch) -> None:
    """Make windows and tables small, so that they fill, move and grow within a few KiB, and are quick to set up."""
    for module in ("cursor", "damage"):
        patch.setattr(f"kafkalog.segments.{module}.WINDOW", 1024)
    patch.setattr("kafkalog.segments.cursor.SLACK", 64)
    patch.setattr("kafkalog.segments.cursor.CHUNK_ROOM", 16)
    patch.setattr("kafkalog.segments.decoded.ROOM", 16)
    for name, value in {"LEAST_READ": 64, "MOST_READ": 512, "IN_MEMORY": 256, "BLOCK": 64, "FORGOTTEN": 512}.items():
        patch.setattr(f"kafkalog.files.pipes.{name}", value)

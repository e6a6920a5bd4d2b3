"""What a reader of segments yields: consecutive batches; and the limits that it observes."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from typing import Final, NamedTuple

from kafkalog.files.limits import Expansion, Limits
from kafkalog.findings import Finding
from kafkalog.kafka.batch import CellTable
from kafkalog.kernel import buffers
from kafkalog.segments.decoded import Decoder, RecordBlock

__all__ = ["CROWDED", "Chunk", "CrowdedPlaces", "Resumed"]

CROWDED: Final = "bytes-unreadable"  # the code of the places of a crowd


class Resumed(NamedTuple):
    """Where reading goes on after damage.

    `is_proved` says whether the bytes before prove that a batch begins there, as an end that is believed does;
    `expected` is the offset that the damaged batch's header leads to, None if it gives none.
    """

    position: int
    is_proved: bool
    expected: int | None


class CrowdedPlaces:
    """Damaged places of a file with so many that they were not examined closely, as columns, in the file's order.

    Reading goes on where each ends; `proved` and `expected` are as in `Resumed`, ``NONE`` for no offset. `after` counts
    the chunk's `examined` findings that come before each.
    """

    __slots__ = ("after", "expected", "file", "lengths", "positions", "proved")

    def __init__(self, file: str) -> None:
        self.file = file
        self.positions, self.lengths, self.expected = array("q"), array("q"), array("q")
        self.proved, self.after = array("b"), array("q")

    def __len__(self) -> int:
        return len(self.positions)

    def findings(self) -> Iterator[Finding]:
        """Yield a finding for each place."""
        for position, size in zip(self.positions, self.lengths, strict=True):
            message = (
                f"{size} bytes that are no batch; the file has so many damaged places that this one was not examined"
                " closely"
            )
            yield Finding.of(CROWDED, self.file, message, position=position, length=size, needed="a batch")

    def resumed(self) -> Iterator[Resumed]:
        """Yield where reading goes on after each place."""
        places = zip(self.positions, self.lengths, self.proved, self.expected, strict=True)
        for position, size, proved, expected in places:
            yield Resumed(position + size, bool(proved), None if expected == buffers.NONE else expected)


class Chunk:
    """Consecutive batches, and what is wrong with them and after them.

    `heads` is the kernel's table of them, `buf` their bytes, `position` that of ``buf[0]`` in the file. Both are used
    again for the next chunk: copy what must last. `resumed` says where reading goes on after each damage, in or after
    the chunk; `expansion` counts what all of the file's batches decompress to. `examined` are all findings but those
    about the places of the `crowd`, which has these and where reading goes on after them. `impossible` are the rows
    whose offsets no log has.
    """

    __slots__ = (
        "buf",
        "crowd",
        "examined",
        "expansion",
        "file",
        "heads",
        "impossible",
        "limits",
        "position",
        "resumed",
    )

    def __init__(
        self, file: str, buf: memoryview, position: int, heads: CellTable, limits: Limits, expansion: Expansion
    ) -> None:
        self.file = file
        self.buf = buf
        self.position = position
        self.heads = heads
        self.limits = limits
        self.expansion = expansion
        self.examined: list[Finding] = []
        self.resumed: list[Resumed] = []
        self.crowd: CrowdedPlaces | None = None
        self.impossible: list[int] = []

    @property
    def findings(self) -> list[Finding]:
        """Return all findings, in the order in which they were found."""
        if self.crowd is None:
            return self.examined
        found: list[Finding] = []
        before = 0
        for number, finding in zip(self.crowd.after, self.crowd.findings(), strict=True):
            found += self.examined[before:number]
            found.append(finding)
            before = number
        return found + self.examined[before:]

    @property
    def goes_on_at(self) -> int | None:
        """Return where reading goes on after the last damage; None without damage."""
        if self.crowd is not None:
            return self.crowd.positions[-1] + self.crowd.lengths[-1]
        return self.resumed[-1].position if self.resumed else None

    def skip(self, row: int) -> None:
        """Leave a batch's records out of `records`."""
        self.heads.set(buffers.SECTION_START, row, -1)

    def only_possible(self) -> None:
        """Take batches whose offsets no log has for such whose checksums don't match: nothing counts with them."""
        for row in self.impossible:
            self.heads.set(buffers.VALID, row, 0)
            self.skip(row)

    def open_wrappers(self) -> None:
        """Read the messages inside wrappers of magic 0 and 1: only they give a wrapper's first offset and its count.

        After this, only the records of wrappers can be decoded.
        """
        bases = self.heads.column(buffers.BASE_OFFSET)
        if buffers.NONE not in bases:
            return
        for row, base in enumerate(bases):
            if base != buffers.NONE:
                self.skip(row)
        for _ in self.records():
            pass

    def records(self, table: CellTable | None = None) -> Iterator[RecordBlock]:
        """Decode the records of the batches that were not skipped, in order, as many at a time as `table` has room for.

        Without a table of the caller's own, which serves many chunks, there is room for 1048.
        """
        limit = self.limits.max_decompressed_bytes
        return Decoder(self.file, self.heads, limit, self.expansion, table).blocks(self.buf)

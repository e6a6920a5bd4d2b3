"""What a reader of segments yields: consecutive batches; and the limits that it observes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from kafkalog.files.limits import Expansion, Limits
from kafkalog.findings import Finding
from kafkalog.kafka.batch import CellTable
from kafkalog.kernel import buffers
from kafkalog.segments.decoded import Decoder, RecordBlock

__all__ = ["Chunk", "Resumed"]


class Resumed(NamedTuple):
    """Where reading goes on after damage.

    `is_proved` says whether the bytes before prove that a batch begins there, as an end that is believed does;
    `expected` is the offset that the damaged batch's header leads to, None if it gives none.
    """

    position: int
    is_proved: bool
    expected: int | None


class Chunk:
    """Consecutive batches, and what is wrong with them and after them.

    `heads` is the kernel's table of them, `buf` their bytes, `position` that of ``buf[0]`` in the file. Both are used
    again for the next chunk: copy what must last. `findings` are in the order in which they were found, `resumed` says
    where reading goes on after each damage, in or after the chunk; `expansion` counts what all of the file's batches
    decompress to. `impossible` are the rows whose offsets no log has.
    """

    __slots__ = (
        "buf",
        "expansion",
        "file",
        "findings",
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
        self.findings: list[Finding] = []
        self.resumed: list[Resumed] = []
        self.impossible: list[int] = []

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

    def below_zero(self, row: int) -> int:
        """Return how many records of a batch have offsets below 0, which no consumer can ask for."""
        alone = CellTable(len(buffers.BATCH_COLUMNS), 1)
        alone.count = 1
        for column, value in enumerate(self.heads.row(row)):
            alone.set(column, 0, value)
        blocks = Decoder(self.file, alone, self.limits.max_decompressed_bytes, self.expansion).blocks(self.buf)
        return sum(offset < 0 for block in blocks for offset in block.recs.column(buffers.OFFSET))

    def records(self, table: CellTable | None = None) -> Iterator[RecordBlock]:
        """Decode the records of the batches that were not skipped, in order, as many at a time as `table` has room for.

        Without a table of the caller's own, which serves many chunks, there is room for 1048.
        """
        limit = self.limits.max_decompressed_bytes
        return Decoder(self.file, self.heads, limit, self.expansion, table).blocks(self.buf)

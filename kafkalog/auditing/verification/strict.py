"""Records decoded under every rule of the format: breaches of `record_rules` become findings."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator

import numpy as np

from kafkalog.auditing.verification.record_rules import control_words, message_words, record_words, wrapper_words
from kafkalog.findings import Finding
from kafkalog.format import kernel, record_oddities
from kafkalog.format.batch import CODEC_MASK, CONTROL
from kafkalog.format.streams import stream_words
from kafkalog.log.records import Decoder, RecordBlock

__all__ = ["StrictDecoder"]

Words = tuple[str, str]


class StrictDecoder(Decoder):
    """A decoder that also reports what can be decoded and should not be there."""

    def blocks(self, buf: memoryview) -> Iterator[RecordBlock]:
        """Decode the records in which something may be wrong; breaches of the rules are in the next block's findings.

        The kernel looks at all of them first: most batches are in order, and need nothing more.
        """
        self.told: list[Finding] = []
        self.seen: set[tuple[int, str]] = set()
        self.found = array("q", bytes(8 * record_oddities.FOUND))
        self.look(buf, 0, self.heads.count, unpacked=False)
        for block in super().blocks(buf):
            self.look_at_control(block)
            block.findings += self.taken()
            yield block
        if self.told:
            last = self.block(b"", 0, ())
            last.findings += self.taken()
            yield last

    def taken(self) -> list[Finding]:
        told, self.told = self.told, []
        return told

    def tell(self, row: int, words: Iterable[Words]) -> None:
        """Keep findings about a batch whose CRC matches, each code once."""
        if not self.heads.cell(kernel.VALID, row):
            return
        for code, text in words:
            if (row, code) not in self.seen:
                self.seen.add((row, code))
                self.told.append(self.finding(code, row, text))

    def look(self, buf: bytes | bytearray | memoryview, row: int, stop_row: int, *, unpacked: bool) -> None:
        """Check the batches in rows [`row`, `stop_row`), and leave those that are in order out of what is decoded."""
        heads = self.heads
        while True:
            row = record_oddities.next_odd(buf, heads.cells, heads.capacity, row, stop_row, unpacked, self.found)
            if row >= stop_row:
                return
            if heads.cell(kernel.MAGIC, row) < 2:
                self.tell(row, message_words(heads, row, buf))
            else:
                start, stop = heads.cell(kernel.SECTION_START, row), heads.cell(kernel.SECTION_STOP, row)
                self.tell(row, record_words(heads, row, buf, start, stop))
            row += 1

    def unpack(self, payload: memoryview, row: int, magic: int) -> bytes | bytearray | Finding | None:
        """Decompress a batch's records and check the stream, and the messages in a wrapper, by the rules."""
        data = super().unpack(payload, row, magic)
        if not isinstance(data, bytes | bytearray):
            return data
        self.tell(row, stream_words(self.heads.cell(kernel.ATTRIBUTES, row) & CODEC_MASK, payload, len(data)))
        if magic < 2:
            self.tell(row, wrapper_words(self.heads, row, data))
        return data

    def unpacked_together(self, buf: memoryview, first: int) -> tuple[int, memoryview]:
        """Decompress batches by the kernel, and check their streams by the rules."""
        starts, stops = (
            self.heads.column(column)[first:].tolist() for column in (kernel.SECTION_START, kernel.SECTION_STOP)
        )
        stop_row, data = super().unpacked_together(buf, first)
        for row, start, stop in zip(range(first, stop_row), starts, stops, strict=False):
            size = self.heads.cell(kernel.SECTION_STOP, row) - self.heads.cell(kernel.SECTION_START, row)
            self.tell(row, stream_words(self.heads.cell(kernel.ATTRIBUTES, row) & CODEC_MASK, buf[start:stop], size))
        return stop_row, data

    def unpacked(self, data: bytes | bytearray | memoryview, row: int, stop_row: int) -> None:
        """Check the decompressed records of batches by the rules."""
        self.look(data, row, stop_row, unpacked=True)

    def look_at_control(self, block: RecordBlock) -> None:
        """Check that control records have what their type needs."""
        if block.outer is not None or not block.recs.count:
            return
        rows = block.recs.numpy()[kernel.BATCH]
        is_control = block.heads.numpy()[kernel.ATTRIBUTES, rows] & CONTROL != 0
        for number in np.flatnonzero(is_control).tolist():
            self.tell(
                int(rows[number]), control_words(self.heads, int(rows[number]), block.key(number), block.value(number))
            )

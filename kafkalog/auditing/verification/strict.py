"""Records decoded under every rule of the format: breaches of `record_rules` become findings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kafkalog.auditing.verification.record_rules import control_words, message_words, record_words, wrapper_words
from kafkalog.findings import Finding
from kafkalog.format import kernel
from kafkalog.format.batch import CODEC_MASK, CONTROL
from kafkalog.format.streams import stream_words
from kafkalog.log.records import Decoder, RecordBlock

__all__ = ["StrictDecoder"]

Words = tuple[str, str]


class StrictDecoder(Decoder):
    """A decoder that also reports what can be decoded and should not be there."""

    def blocks(self, buf: memoryview) -> Iterator[RecordBlock]:
        """Decode every row's records; breaches of the rules are in the next block's findings."""
        self.told: list[Finding] = []
        self.seen: set[tuple[int, str]] = set()
        for row in range(self.heads.count):
            self.look_at_message(row, buf)
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

    def look_at_message(self, row: int, buf: memoryview) -> None:
        cell = self.heads.cell
        if cell(kernel.MAGIC, row) < 2:
            self.tell(row, message_words(self.heads, row, buf))
            return
        start, stop = cell(kernel.SECTION_START, row), cell(kernel.SECTION_STOP, row)
        if start >= 0 and not cell(kernel.ATTRIBUTES, row) & CODEC_MASK:
            self.tell(row, record_words(self.heads, row, buf, start, stop))

    def unpack(self, payload: memoryview, row: int, magic: int) -> bytes | bytearray | Finding | None:
        """Decompress a batch's records and check them, and the stream, by the rules."""
        data = super().unpack(payload, row, magic)
        if not isinstance(data, bytes | bytearray):
            return data
        self.tell(row, stream_words(self.heads.cell(kernel.ATTRIBUTES, row) & CODEC_MASK, payload, len(data)))
        if magic >= 2:
            self.tell(row, record_words(self.heads, row, data, 0, len(data)))
        else:
            self.tell(row, wrapper_words(self.heads, row, data))
        return data

    def look_at_control(self, block: RecordBlock) -> None:
        """Check that control records have what their type needs."""
        attributes = block.heads.column(kernel.ATTRIBUTES)
        if block.outer is not None or not any(value & CONTROL for value in attributes):
            return
        for number in range(block.recs.count):
            row = block.recs.cell(kernel.BATCH, number)
            if attributes[row] & CONTROL:
                self.tell(row, control_words(self.heads, row, block.key(number), block.value(number)))

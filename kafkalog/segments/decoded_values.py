"""Keys and values of a block of the table ``records`` in a chosen format: their text replaces their bytes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from kafkalog.findings import Finding
from kafkalog.kafka.batch import CONTROL, Batch
from kafkalog.kernel import buffers
from kafkalog.kernel.columns import BASE64, bytes_kinds
from kafkalog.segments.readers import key_undecodable
from kafkalog.values.value import Undecoded

if TYPE_CHECKING:
    from kafkalog.segments.blocks import Block
    from kafkalog.segments.decoded import RecordBlock
    from kafkalog.segments.selection import Picks
    from kafkalog.values.value import Decode

__all__ = ["Decoding"]

_MOST_REASONS: Final = 20  # that are said of a file's keys, and of its values


@dataclass(slots=True)
class Decoding:
    """What the keys and the values of one file are decoded with; a reason is said once."""

    file: str
    decoders: Mapping[str, Decode]  # by the name of the column
    _said: dict[str, set[str]] = field(default_factory=dict)

    def write(self, block: Block, records: RecordBlock, picks: Picks) -> Iterator[Finding]:
        """Decode the picked rows of a block. What can't be decoded stays bytes, in base64; so do control records."""
        block.freeze()
        buf, room, count = bytearray(block.buf), block.room, picks.count
        cells = block.cells
        for name, decode in self.decoders.items():
            column = next((one for one in block.columns if one.name in (name, f"{name}_base64")), None)
            if column is None:
                continue
            at, coded = column.at, []
            for row in range(count):
                start, size = cells[at + row], cells[at + room + row]
                if size < 0 or _is_control(records, picks.rows[row]):
                    continue
                found = decode(bytes(buf[start : start + size]))
                if isinstance(found, Undecoded):
                    coded.append(row)
                    yield from self._say(name, found.why, records, picks.rows[row], size)
                    continue
                text = (found.text or "").encode(errors="replace")
                cells[at + row], cells[at + room + row] = len(buf), len(text)
                cells[block.weight + row] += len(text)
                buf += text
            bytes_kinds(buf, cells, at, at + room, at + 2 * room, count)
            for row in coded:
                cells[at + 2 * room + row] = BASE64
        block.buf = buf

    def _say(self, what: str, why: str, records: RecordBlock, number: int, size: int) -> Iterator[Finding]:
        said = self._said.setdefault(what, set())
        if why in said or len(said) >= _MOST_REASONS:
            return
        said.add(why)
        batch = Batch.of(records.heads, records.recs.cell(buffers.BATCH, number))
        offset = records.recs.cell(buffers.OFFSET, number)
        yield key_undecodable(self.file, batch, offset, what, size, f"{why}; this is not repeated for later ones")


def _is_control(records: RecordBlock, number: int) -> bool:
    row = records.recs.cell(buffers.BATCH, number)
    return bool(records.heads.cell(buffers.MAGIC, row) >= 2 and records.heads.cell(buffers.ATTRIBUTES, row) & CONTROL)

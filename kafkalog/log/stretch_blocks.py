"""The stretches of a segment as columns of the table ``stretches``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from kafkalog.format import kernel
from kafkalog.log.block_makers import BlockLayout
from kafkalog.log.blocks import Rows
from kafkalog.log.salvage import SalvagedStretches
from kafkalog.tables.salvage import GRADES, REASONS, STRETCHES

__all__ = ["StretchBlocks"]

_ROOM: Final = 2048  # rows, a multiple of the bits of a byte
_WORDS: Final = {"grade": GRADES, "reason": REASONS}
_NULLABLE: Final = ("records", "first_offset", "last_offset", "grade")


class StretchBlocks:
    """Makes blocks of the table ``stretches`` with the named columns."""

    def __init__(self, file: str, names: Sequence[str]) -> None:
        layout = BlockLayout(STRETCHES, file, _ROOM)
        for name in names:
            if name == "file":
                continue
            layout.number(name, _WORDS.get(name, ()), is_nullable=name in _NULLABLE)
        self._block = layout.block(names)

    def of(self, part: SalvagedStretches) -> Iterator[Rows]:
        """Make these stretches rows; the block is the same one every time."""
        made = part.stretches
        columns = {
            "position": made.positions,
            "size_bytes": made.sizes,
            "batches": made.batches,
            "records": made.records,
            "first_offset": made.first_offsets,
            "last_offset": made.last_offsets,
            "grade": np.where(made.grades < 0, kernel.NONE, made.grades.astype(np.int64)),
            "taken": part.taken,
            "reason": made.reasons,
        }
        cells = np.frombuffer(self._block.cells, np.int64)
        valid = np.frombuffer(self._block.valid, np.uint8)
        for start in range(0, len(part.taken), _ROOM):
            count = self._block.count = min(_ROOM, len(part.taken) - start)
            for column in self._block.columns:
                if column.name == "file":
                    continue
                some = columns[column.name][start : start + count]
                if column.bit >= 0:
                    bits = np.packbits(some != kernel.NONE, bitorder="little")
                    valid[column.bit >> 3 : (column.bit >> 3) + len(bits)] = bits
                    some = np.where(some == kernel.NONE, 0, some)
                cells[column.at : column.at + count] = some
            yield Rows(self._block, 0, count)

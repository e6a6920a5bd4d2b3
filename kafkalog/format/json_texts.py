"""Messages that were read as JSON, one after the other in a buffer that the next block of them uses again."""

from __future__ import annotations

from array import array
from typing import Final

from kafkalog.format import message_ops as ops
from kafkalog.format import message_text
from kafkalog.format.batch import CellTable
from kafkalog.format.kernel import Bytes
from kafkalog.format.message_tables import MessageTables
from kafkalog.format.message_templates import JsonPrograms

__all__ = ["JsonTexts"]

_FIRST_ROOM: Final = 1 << 16


class JsonTexts:
    """Writes the messages of `tables` by the programs of `json`; their texts are in `content`."""

    def __init__(self, json: JsonPrograms, tables: MessageTables) -> None:
        self.content = bytearray(_FIRST_ROOM)
        self._json = json
        self._tables = tables
        self._stack = array("q", bytes(8 * ops.FRAME * 2 * (tables.programs.depth + 2)))
        self._used = 0

    def clear(self) -> None:
        """Forget all texts."""
        self._used = 0

    def write(self, buf: Bytes, messages: CellTable, starts: memoryview, sizes: memoryview) -> set[int]:
        """Write messages, whose bytes are `buf`, and where each of them is; return those that only `put` can write."""
        tables, json = self._tables, self._json
        done = 0
        special: set[int] = set()
        while True:
            done, self._used, why = message_text.write(
                buf, messages.cells, messages.capacity, done, messages.count, json.programs, json.steps, json.literals,
                tables.tables, tables.cells, self._stack, self.content, self._used, starts, sizes,
                json.dialect,
            )  # fmt: skip
            if why == message_text.DONE:
                return special
            if why == message_text.NO_ROOM:
                self.content += bytes(len(self.content))
            else:
                special.add(done)
                done += 1

    def put(self, text: str) -> tuple[int, int]:
        """Add a text: return where it begins, and its size."""
        data = text.encode("utf-8", "surrogateescape")
        start = self._used
        self.content[start : start + len(data)] = data
        self._used += len(data)
        return start, len(data)

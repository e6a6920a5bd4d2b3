"""The messages of KRaft's control records as JSON, those of a block together."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from kafkalog.format import kernel
from kafkalog.format import message_ops as ops
from kafkalog.format.batch import CellTable
from kafkalog.format.control import CONTROL_MESSAGES
from kafkalog.format.definitions import message
from kafkalog.format.json_texts import JsonTexts
from kafkalog.format.kernel import Bytes
from kafkalog.format.message_program import ProgramSet
from kafkalog.format.message_tables import MessageTables
from kafkalog.format.message_templates import JsonPrograms

__all__ = ["ControlText"]

_MOST_CELLS: Final = 1 << 21  # of a block


class ControlText:
    """Writes the values of KRaft's control records in a `dialect` of ``message_ops``; their texts are in `content`."""

    def __init__(self, dialect: int) -> None:
        programs, self._of_types, json = _json_programs(dialect)
        self._tables = MessageTables(programs, most=_MOST_CELLS)
        self._texts = JsonTexts(json, self._tables)
        self._messages = CellTable(len(ops.MESSAGE_COLUMNS), 0)

    @property
    def content(self) -> bytearray:
        """Return the buffer that has the texts."""
        return self._texts.content

    def write(
        self, buf: Bytes, recs: CellTable, types: Sequence[tuple[int, int, int]], starts: memoryview, sizes: memoryview
    ) -> set[int]:
        """Write the values of some records: `types` are of each its row of `starts` and `sizes`, its number and type.

        Types that no message is known for are left alone. Returns the rows that must be read one by one.
        """
        self._texts.clear()
        self._tables.clear()
        messages = self._messages
        if messages.capacity < len(types):
            messages = self._messages = CellTable(len(ops.MESSAGE_COLUMNS), len(types))
        messages.count = len(types)
        messages.column(ops.M_PROGRAM)[:] = array("q", [-1]) * len(types)
        slow: set[int] = set()
        for at, (row, number, kind) in enumerate(types):
            size = max(recs.cell(kernel.VALUE_SIZE, number), 0)
            if size > ops.MOST_BYTES:
                slow.add(row)
            elif kind in self._of_types:
                messages.set(ops.M_PROGRAM, at, self._of_types[kind])
                messages.set(ops.M_START, at, recs.cell(kernel.VALUE_START, number) if size else 0)
                messages.set(ops.M_SIZE, at, size)
        self._tables.read(buf, messages)
        places = memoryview(array("q", [0]) * len(types) + array("q", [-1]) * len(types))
        special = self._texts.write(buf, messages, places[: len(types)], places[len(types) :])
        for at, (row, _, _) in enumerate(types):
            starts[row], sizes[row] = places[at], places[len(types) + at]
            if at in special or (messages.cell(ops.M_PROGRAM, at) >= 0 and messages.cell(ops.M_ERROR, at)):
                slow.add(row)
        return slow

    def put(self, text: str) -> tuple[int, int]:
        """Add a text: return where it begins, and its size."""
        return self._texts.put(text)


@lru_cache(maxsize=3)
def _json_programs(dialect: int) -> tuple[ProgramSet, dict[int, int], JsonPrograms]:
    """Make the programs that read the messages, their numbers by type, and the programs that write them, once."""
    programs = ProgramSet()
    made = {int(kind): programs.add(message("control_records", name), 0) for kind, name in CONTROL_MESSAGES.items()}
    json = JsonPrograms(programs, dialect=dialect)
    for program in made.values():
        json.add(program)
    return programs, {kind: program.number for kind, program in made.items()}, json

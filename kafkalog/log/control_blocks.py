"""Control records as columns of the table ``control``; the messages of KRaft's are JSON."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from kafkalog.findings import Finding
from kafkalog.format import kernel, selecting
from kafkalog.format import message_ops as ops
from kafkalog.format.batch import Batch, CellTable
from kafkalog.format.columns import OF_BATCH, OF_ROW
from kafkalog.log import values
from kafkalog.log.block_makers import BlockLayout, Chosen
from kafkalog.log.blocks import BlockColumn, Kind, Rows, Tables
from kafkalog.log.records import RecordBlock
from kafkalog.log.selection import Picks
from kafkalog.tables.dump import CONTROL

if TYPE_CHECKING:
    from kafkalog.format.control_text import ControlText

__all__ = ["ControlBlocks"]

_OF_RECORD: Final = {name: values.RECORD[name] for name in ("offset", "timestamp_ms")}
_OF_BATCH: Final = {
    "producer_id": values.BATCH["producer_id"],
    "producer_epoch": values.BATCH["producer_epoch"],
    "partition_leader_epoch": values.BATCH["partition_leader_epoch"],
    "batch_position": values.BATCH["position"],
}
# In the order in which ``selecting.controls`` lists them after the record's number.
_TYPE, _VERSION, _EPOCH = range(1, 4)
_TYPES: Final = next(column.words for column in CONTROL.columns if column.name == "type")  # by number, but for the last
_UNKNOWN: Final = len(_TYPES) - 1
_MOST: Final = 1 << 21  # bytes of messages whose text is made at once


class ControlBlocks:
    """Makes blocks of the table ``control`` with the named columns.

    JSON is in ASCII without blanks, or, `spaced`, as Arrow's columns have it.
    """

    def __init__(self, file: str, names: Sequence[str], room: int, *, spaced: bool) -> None:
        self._file = file
        self._dialect = ops.SPACED_JSON if spaced else ops.ASCII_JSON
        layout = BlockLayout(CONTROL, file, room)
        layout.values(OF_ROW, _OF_RECORD, CONTROL.names)
        layout.values(OF_BATCH, _OF_BATCH, CONTROL.names)
        self._type, self._number, self._version, self._epoch = (
            layout.number(name, words, is_nullable=is_nullable)
            for name, words, is_nullable in (
                ("type", _TYPES, False), ("type_number", (), False), ("version", (), False),
                ("coordinator_epoch", (), True),
            )
        )  # fmt: skip
        self._data = layout.columns["data"] = BlockColumn("data", Kind.JSON, layout.run(3))
        weight = layout.run(2)
        self._block = layout.block(CONTROL.names)
        self._block.columns = tuple(layout.columns[name] for name in names)
        self._block.weight = weight
        self._block.valid[:] = b"\xff" * len(self._block.valid)
        self._text: ControlText | None = None
        self._without_epoch: list[int] = []  # rows whose validity bits are cleared
        self._found = array("q", bytes(8 * 4 * room))
        self._chosen = Chosen()

    def of(self, heads: CellTable, records: RecordBlock, picks: Picks) -> Iterator[Rows | Finding]:
        """Yield the control records among these as rows, and what is wrong with them; the next block is the same one.

        `heads` are the batches of their chunk.
        """
        block, recs = self._block, records.recs
        run = len(picks.rows)
        if len(self._found) < 4 * run:
            self._found = array("q", bytes(8 * 4 * run))
        found = self._found
        count = selecting.controls(
            records.buf, records.heads.cells, records.heads.capacity, recs.cells, recs.capacity, picks.rows,
            picks.count, found,
        )  # fmt: skip
        block.count = 0
        if not count:
            return
        block.take(Tables(self._chosen.of(recs, Picks(found, count)), records.heads, records.heads), count)
        block.freeze()  # the kernel's tables do not have all of it
        self._fill(found, run)
        done = 0
        for others, stop in self._parts(recs, found, run):
            for row, finding in self._others(heads, records, found, run, others) if others else ():
                if row > done:
                    yield Rows(block, done, row)
                done = row + 1
                yield finding
            if stop > done:
                yield Rows(block, done, stop)
                done = stop

    def _parts(self, recs: CellTable, found: array[int], run: int) -> Iterator[tuple[list[int], int]]:
        """Yield the rows that end no transaction in parts, each with the row where it stops: their text is bounded."""
        others: list[int] = []
        size = 0
        for row in range(self._block.count):
            if found[run + row] < 0:
                others.append(row)
                size += recs.cell(kernel.VALUE_SIZE, found[row])
                if size > _MOST:
                    yield others, row + 1
                    others, size = [], 0
        yield others, self._block.count

    def _fill(self, found: array[int], run: int) -> None:
        """Write the columns as if all were the ends of transactions."""
        block, room, count = self._block, self._block.room, self._block.count
        cells = block.cells
        for which, at in (
            (_TYPE, self._type.at), (_TYPE, self._number.at), (_VERSION, self._version.at), (_EPOCH, self._epoch.at),
        ):  # fmt: skip
            cells[at : at + count] = found[which * run : which * run + count]
        none, zero = array("q", [-1]) * count, array("q", bytes(8 * count))
        for at, value in ((self._data.at + room, none), (self._data.at + 2 * room, zero), (block.weight, zero)):
            cells[at : at + count] = value
        for row in self._without_epoch:
            block.valid[(self._epoch.bit + row) >> 3] |= 1 << ((self._epoch.bit + row) & 7)
        self._without_epoch.clear()

    def _others(
        self, heads: CellTable, records: RecordBlock, found: array[int], run: int, rows: Sequence[int]
    ) -> list[tuple[int, Finding]]:
        """Correct what these rows have, which end no transaction; return those that are malformed."""
        # Only KRaft's logs need these.
        from kafkalog.format.control import control_record
        from kafkalog.format.control_text import ControlText
        from kafkalog.format.message import MalformedError
        from kafkalog.format.message_json import JSON_ENCODERS, plain
        from kafkalog.log.readers import control_finding

        if self._text is None:
            self._text = ControlText(self._dialect)
        block, room, text = self._block, self._block.room, self._text
        kraft, slow = [], []
        for row in rows:
            if found[run + row] == kernel.NO_END:
                number = found[_EPOCH * run + row]
                self._set(row, number, found[_VERSION * run + row])
                kraft.append((row, found[row], number))
            else:
                slow.append(row)
        cells = memoryview(block.cells)
        starts, sizes, kinds = (cells[self._data.at + at * room :][:room] for at in range(3))
        slow += text.write(records.buf, records.recs, kraft, starts, sizes)
        wrong = []
        for row in sorted(slow):
            batch = Batch.of(heads, records.recs.cell(kernel.BATCH, found[row]))
            record = records.record(found[row], batch.position)
            try:
                control = control_record(record.key, record.value)
            except MalformedError as error:
                wrong.append((row, control_finding(self._file, batch, record, error)))
            else:
                starts[row], sizes[row] = text.put(JSON_ENCODERS[self._dialect](plain(control.data)))
        for row in rows:
            kinds[row] = sizes[row] >= 0
            cells[block.weight + row] = max(sizes[row], 0)
        block.buf = text.content
        return wrong

    def _set(self, row: int, number: int, version: int) -> None:
        """Write the type and the version of a row that ends no transaction."""
        cells = self._block.cells
        cells[self._type.at + row] = number if 0 <= number < _UNKNOWN else _UNKNOWN
        cells[self._number.at + row] = number
        cells[self._version.at + row] = version
        bit = self._epoch.bit + row
        self._block.valid[bit >> 3] &= 255 ^ 1 << (bit & 7)
        self._without_epoch.append(row)

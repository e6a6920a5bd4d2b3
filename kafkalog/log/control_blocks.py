"""Control records that end transactions as columns of the table ``control``."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import Final, NamedTuple

from kafkalog.format import kernel, selecting
from kafkalog.log import values
from kafkalog.log.blocks import Block, BlockColumn, Filling, Kind, RowLayout, fillings
from kafkalog.log.records import RecordBlock
from kafkalog.log.selection import Picks
from kafkalog.log.values import Value
from kafkalog.tables.dump import CONTROL

__all__ = ["ControlBlocks", "Controls"]

_OF_RECORD: Final = {name: values.RECORD[name] for name in ("offset", "timestamp_ms")}
_OF_BATCH: Final = {
    "producer_id": values.BATCH["producer_id"],
    "producer_epoch": values.BATCH["producer_epoch"],
    "partition_leader_epoch": values.BATCH["partition_leader_epoch"],
    "batch_position": values.BATCH["position"],
}
# In the order in which ``selecting.controls`` lists them after the record's number.
_TYPE, _VERSION, _EPOCH = range(1, 4)
_LISTED: Final = {
    "type": (_TYPE, ("abort", "commit")),
    "type_number": (_TYPE, ()),
    "version": (_VERSION, ()),
    "coordinator_epoch": (_EPOCH, ()),
}
_SELF: Final = Value(kernel.BATCH)


class Controls(NamedTuple):
    """The control records of a block; `others` are the rows that must be made otherwise, each with its record."""

    block: Block
    others: list[tuple[int, int]]


class ControlBlocks:
    """Makes blocks of the table ``control`` with the named columns."""

    def __init__(self, file: str, names: Sequence[str], room: int) -> None:
        layout = RowLayout(CONTROL, room)
        columns = {"file": BlockColumn("file", Kind.FILE)}
        self._batch = Filling(BlockColumn("batch", Kind.NUMBER, layout.run()), _SELF)
        self._of_record = fillings(layout, columns, _OF_RECORD, names)
        self._of_batch = fillings(layout, columns, _OF_BATCH, names)
        self._listed: list[tuple[int, int]] = []
        for name, (run, words) in _LISTED.items():
            kind = Kind.WORD if words else Kind.NUMBER
            columns[name] = BlockColumn(name, kind, layout.run(), words=words)
            self._listed.append((run, columns[name].at))
        columns["data"] = BlockColumn("data", Kind.TEXT, layout.run(3))  # null: only messages of KRaft have data
        self._block = Block(CONTROL, file, [columns[name] for name in names], room, layout.runs)
        self._found = array("q", bytes(8 * 4 * room))

    def of(self, records: RecordBlock, picks: Picks) -> Controls:
        """Make the control records among these a block, the same one for every call."""
        block, recs, heads = self._block, records.recs, records.heads
        run = len(picks.rows)
        if len(self._found) < 4 * run:
            self._found = array("q", bytes(8 * 4 * run))
        found = self._found
        count = selecting.controls(
            records.buf, heads.cells, heads.capacity, recs.cells, recs.capacity, picks.rows, picks.count, found
        )
        block.count = 0
        if not count:
            return Controls(block, [])
        numbers = Picks(found[:count], count)
        self._batch.fill(recs, numbers, block)
        at = self._batch.column.at
        batches = Picks(block.cells[at : at + count], count)
        for filling in self._of_record:
            filling.fill(recs, numbers, block)
        for filling in self._of_batch:
            filling.fill(heads, batches, block)
        others = [(row, found[row]) for row in range(count) if found[run + row] < 0]
        for row, _ in others:
            found[run + row] = 0
        for which, at in self._listed:
            block.cells[at : at + count] = found[which * run : which * run + count]
        block.count = count
        return Controls(block, others)

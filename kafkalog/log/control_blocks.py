"""Control records that end transactions as columns of the table ``control``."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import Final, NamedTuple

from kafkalog.format import selecting
from kafkalog.format.columns import OF_BATCH, OF_ROW
from kafkalog.log import values
from kafkalog.log.block_makers import BlockLayout, Chosen
from kafkalog.log.blocks import Block, BlockColumn, Kind, Tables
from kafkalog.log.records import RecordBlock
from kafkalog.log.selection import Picks
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


class Controls(NamedTuple):
    """The control records of a block; `others` are the rows that must be made otherwise, each with its record."""

    block: Block
    others: list[tuple[int, int]]


class ControlBlocks:
    """Makes blocks of the table ``control`` with the named columns."""

    def __init__(self, file: str, names: Sequence[str], room: int) -> None:
        layout = BlockLayout(CONTROL, file, room)
        layout.values(OF_ROW, _OF_RECORD, names)
        layout.values(OF_BATCH, _OF_BATCH, names)
        self._listed = [(run, layout.number(name, words).at) for name, (run, words) in _LISTED.items()]
        layout.columns["data"] = BlockColumn("data", Kind.TEXT, layout.run(3))  # null: only messages of KRaft have data
        self._block = layout.block(names)
        sizes = layout.columns["data"].at + room
        self._block.cells[sizes : sizes + room] = array("q", [-1]) * room
        self._found = array("q", bytes(8 * 4 * room))
        self._chosen = Chosen()

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
        rows = self._chosen.of(recs, Picks(found, count))
        block.take(Tables(rows, heads, heads), count)
        cells = block.cells
        others = [(row, found[row]) for row in range(count) if found[run + row] < 0]
        for row, _ in others:
            found[run + row] = 0
        for which, at in self._listed:
            cells[at : at + count] = found[which * run : which * run + count]
        block.freeze()  # the kernel's tables do not have all of it
        return Controls(block, others)

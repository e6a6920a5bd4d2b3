"""Records of the metadata log as columns of the table ``metadata``."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from kafkalog.auditing.topics.internal import RowForm, Written
from kafkalog.auditing.topics.metadata_names import NAMED, Named
from kafkalog.format import message_ops as ops
from kafkalog.format.internal import record_types
from kafkalog.format.internal_topics import Internal
from kafkalog.format.kernel import LEADER_EPOCH, NONE
from kafkalog.format.message_json import JSON_ENCODERS
from kafkalog.format.text_columns import JsonColumn, TextColumn
from kafkalog.log.blocks import Rows
from kafkalog.log.column_blocks import AnyColumns, ColumnBlock, ColumnsByName, Marked
from kafkalog.log.internal_blocks import InternalRecords
from kafkalog.log.internal_rows import InternalBlocks
from kafkalog.log.selection import Picks
from kafkalog.tables.column import Table
from kafkalog.tables.metadata import METADATA

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["MetadataBlocks"]

_DECODED: Final = ("type", "kind", "version", "value", "unknown")  # columns of the table ``internal``


class MetadataBlocks:
    """Makes records of a metadata log rows of the table ``metadata``, at most `room` at once."""

    def __init__(self, log: str, form: RowForm, room: int) -> None:
        self._log = TextColumn.of([log])
        self._encode = JSON_ENCODERS[ops.SPACED_JSON if form.spaced else ops.ASCII_JSON]
        types = record_types(Internal.CLUSTER_METADATA)
        self._kinds = [types[number].name if number in types else None for number in range(max(types) + 1)]
        self._words = TextColumn.of([*self._kinds, None])
        self._decoded = InternalBlocks(
            log, Internal.CLUSTER_METADATA, _DECODED, room, spaced=form.spaced, log=log, partition=0
        )
        self._block = ColumnBlock(METADATA, form.names_of(METADATA))

    def of(self, records: InternalRecords, rows: NDArray[Any]) -> Iterator[Rows | tuple[Table, tuple[Any, ...]]]:
        """Yield these rows of a block, which ascend, but for unreadable records; the next rows use the same cells."""
        numbers = array("q", rows.astype(np.int64).tobytes())
        for item in self._decoded.of(records.heads, records.block, Picks(numbers, len(numbers))):
            if isinstance(item, Rows):
                of = np.array(self._decoded.numbers[item.start : item.stop], np.int64)
                yield from self._block.items(self._columns(records, of, item))

    def _columns(self, records: InternalRecords, rows: NDArray[np.int64], decoded: Rows) -> AnyColumns:
        """Return the columns of records; those that are in `decoded`, too, are taken from there."""
        block, places = decoded.block, slice(decoded.start, decoded.stop)
        types, kinds, versions, fields, unknown = block.columns
        every, bits = np.frombuffer(block.cells, np.int64), np.frombuffer(block.valid, np.uint8)

        def cells(at: int) -> NDArray[np.int64]:
            return every[at : at + block.room][places]

        def present(column_cells: NDArray[np.int64], bit: int, absent: int) -> NDArray[np.int64]:
            valid = np.unpackbits(bits[bit // 8 :], bitorder="little")[bit % 8 :][places]
            return np.where(valid, column_cells, absent)

        starts, sizes = cells(fields.at), cells(fields.at + block.room)
        end = int((starts + sizes)[sizes > 0].max(initial=0))
        same, named = np.zeros(len(rows), np.int64), self._named(records, rows)
        return {
            "log": self._log.take(same),
            "file": TextColumn.of([records.file]).take(same),
            "offset": Marked(records.offset[rows]),
            "timestamp_ms": Marked(records.timestamp[rows]),
            "controller_epoch": records.of_batches(LEADER_EPOCH)[rows],
            "type": cells(types.at),
            "kind": self._words.take(present(cells(kinds.at), kinds.bit, len(self._words) - 1)),
            "version": present(cells(versions.at), versions.bit, NONE),
            **{name: named[name] for name in METADATA.names if name in NAMED},
            "fields": JsonColumn(bytes(memoryview(block.buf)[:end]), starts, sizes),
            "unknown": cells(unknown.at) != 0,
        }

    def _named(self, records: InternalRecords, rows: NDArray[np.int64]) -> ColumnsByName:
        named = Named(len(rows), self._encode)
        is_certain = ~records.is_doubtful[rows]
        certain = rows[is_certain]
        for part in records.values(np.unique(records.type[certain]).tolist(), certain):
            kind = self._kinds[int(records.type[part.of[0]])]
            assert kind is not None  # it was read
            named.take(records, part, np.searchsorted(rows, part.of), kind)
        for row in np.flatnonzero(~is_certain).tolist():
            for item in records.written(rows[row : row + 1]):
                if isinstance(item, Written):
                    named.take_one(row, item)
        return named.columns()

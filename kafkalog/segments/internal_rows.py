"""The records of an internal topic as columns of the table ``internal``, their keys and values as JSON."""

from __future__ import annotations

import os
from array import array
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import Any, Final

from kafkalog.findings import Finding
from kafkalog.kafka.batch import Batch, CellTable
from kafkalog.kafka.internal_block import DOUBT, TYPE, VERSION
from kafkalog.kafka.internal_records import record_types
from kafkalog.kafka.internal_text import BlockText
from kafkalog.kafka.internal_topics import Internal
from kafkalog.kafka.message_json import JSON_ENCODERS
from kafkalog.kafka.message_schema import EVERY_RELEASE
from kafkalog.kernel import buffers
from kafkalog.kernel import message_ops as ops
from kafkalog.kernel import records as kernel_records
from kafkalog.kernel.columns import signs, texts
from kafkalog.kernel.plans import OF_BATCH, OF_ROW
from kafkalog.segments import blocks
from kafkalog.segments.blocks import Block, BlockColumn, BlockLayout, Chosen, Kind, Rows, Tables
from kafkalog.segments.decoded import RecordBlock, pieces
from kafkalog.segments.internal_blocks import TOPICS, Written, internal_row, read_internal
from kafkalog.segments.selection import Picks
from kafkalog.tables.internal_tables import INTERNAL

__all__ = ["InternalBlocks"]

_OF_RECORD: Final = {name: blocks.RECORD[name] for name in ("offset", "timestamp_ms")}
_OF_BATCH: Final = {
    "transactional": blocks.BATCH_VALUES["is_transactional"],
    "producer_id": blocks.BATCH_VALUES["producer_id"],
}
_TEXTS: Final = {"key": 0, "value": 2}  # the columns of ``BlockText.places``

Items = dict[int, list[Written | Finding]]


class InternalBlocks:
    """Makes blocks of the table ``internal`` with the named columns; log and partition are those of the file's path.

    JSON is in ASCII without blanks, or, `spaced`, as Arrow's columns have it. `numbers` are those of the records that
    the rows of the newest block are. With a `log`, it and the `partition` stand instead of the path's.
    """

    def __init__(
        self, file: str, internal: Internal, names: Sequence[str], room: int, *, spaced: bool, log: str | None = None,
        partition: int | None = None,
    ) -> None:  # fmt: skip
        self._file = file
        self._internal = internal
        self._dialect = ops.SPACED_JSON if spaced else ops.ASCII_JSON
        self._text = BlockText(internal, EVERY_RELEASE, self._dialect)
        self._log = os.path.dirname(file) if log is None else log
        self._topic = next(name for name, kind in TOPICS.items() if kind is internal)
        directory = os.path.basename(self._log)
        number = directory.removeprefix(f"{self._topic}-")
        if log is None and number != directory and number.isdecimal():
            partition = int(number)
        self._partition = partition
        self.numbers: Sequence[int] = ()
        layout = BlockLayout(INTERNAL, file, room)
        layout.values(OF_ROW, _OF_RECORD, INTERNAL.names)
        layout.values(OF_BATCH, _OF_BATCH, INTERNAL.names)
        types = record_types(internal)
        kinds = tuple(types[one].name if one in types else "" for one in range(max(types) + 1))
        for name, words, is_nullable in (
            ("log", (self._log,), False), ("topic", (self._topic,), False), ("partition", (), True),
            ("type", (), False), ("kind", kinds, True), ("version", (), True), ("tombstone", (), False),
            ("unknown", (), False),
        ):  # fmt: skip
            layout.number(name, words, is_nullable=is_nullable)
        for name in _TEXTS:
            layout.columns[name] = BlockColumn(name, Kind.JSON, layout.run(3))
        weight = layout.run(2)
        self._columns = layout.columns
        self._has_texts = bool(_TEXTS.keys() & set(names))
        self._chosen, self._chosen_facts = Chosen(), Chosen()
        self._block = block = layout.block(INTERNAL.names)
        block.columns = tuple(layout.columns[name] for name in names)
        block.weight = weight
        if self._partition is not None and self._partition < 1 << 31:
            at = layout.columns["partition"].at
            block.cells[at : at + room] = array("q", [self._partition]) * room
            for row in range(room):
                self._set_bit("partition", row, there=True)

    def of(self, chunk_heads: CellTable, records: RecordBlock, picks: Picks) -> Iterator[Rows | Finding]:
        """Yield the rows of these records, and after each what is wrong with it; the next block uses the same cells.

        `chunk_heads` are the batches of their chunk. Control records have no rows.
        """
        rows = self._without_control(records, picks)
        at = 0
        for first, piece in pieces(records) if rows else ():
            stop = bisect_left(rows, first + piece.recs.count, at)
            if stop > at:
                chosen = rows[at:stop] if not first else array("q", [row - first for row in rows[at:stop]])
                yield from self._piece(chunk_heads, piece, chosen, first)
            at = stop

    def _piece(
        self, chunk_heads: CellTable, records: RecordBlock, rows: array[int], first: int
    ) -> Iterator[Rows | Finding]:
        """Yield the rows of records that are no control records; the piece's are numbered from `first` on."""
        recs = records.recs
        by_hand = self._text.write_most(records.buf, recs, texts=self._has_texts)
        doubts = self._text.block.facts.column(DOUBT)
        if 1 in doubts:
            by_hand |= {number for number in rows if doubts[number]}
        items = self._by_hand(chunk_heads, records, sorted(by_hand.intersection(rows))) if by_hand else {}
        made = array("q", [row for row in rows if _written(items.get(row))]) if items else rows
        self.numbers = made if not first else array("q", [first + row for row in made])
        block = self._fill(chunk_heads, records, made)
        yield from self._pieces(block, rows, items) if items else (Rows(block, 0, block.count),)

    @staticmethod
    def _without_control(records: RecordBlock, picks: Picks) -> array[int]:
        if records.outer is not None:  # a wrapper has none
            return array("q", picks.rows[: picks.count])
        heads, recs = records.heads, records.recs
        rows = array("q", bytes(8 * picks.count))
        count = kernel_records.without_control(heads.cells, recs.cells, picks.rows, picks.count, rows)
        return rows[:count]

    def _by_hand(self, heads: CellTable, records: RecordBlock, numbers: Sequence[int]) -> Items:
        """Read records one by one and set their texts."""
        found: Items = {}
        encode = JSON_ENCODERS[self._dialect]
        for number in numbers:
            batch = Batch.of(heads, self._batch_of(records, number))
            items = list(read_internal(self._file, batch, records.record(number), self._internal))
            for one in items:
                if isinstance(one, Written) and not self._text.has(number):
                    row = dict(zip(INTERNAL.names, internal_row(one, self._topic, self._log, None), strict=True))
                    key, value = (None if row[name] is None else encode(row[name]) for name in _TEXTS)
                    self._text.put(number, (key, value))
            found[number] = [_without_fields(one) if isinstance(one, Written) else one for one in items]
        return found

    @staticmethod
    def _batch_of(records: RecordBlock, number: int) -> int:
        return records.recs.cell(buffers.BATCH, number) if records.outer is None else records.outer

    def _fill(self, heads: CellTable, records: RecordBlock, rows: array[int]) -> Block:
        text, columns = self._text, self._columns
        recs, count = records.recs, len(rows)
        picks = Picks(rows, count)
        outer = -1 if records.outer is None else records.outer
        block = self._block.take(Tables(self._chosen.of(recs, picks), heads, records.heads, outer), count, text.content)
        cells = block.cells
        facts = self._chosen_facts.of(text.block.facts, picks)
        flat = memoryview(cells)
        for name, column in (("type", TYPE), ("kind", TYPE), ("version", VERSION)):
            at = columns[name].at
            flat[at : at + count] = facts.flat[column * facts.capacity : column * facts.capacity + count]
        flat.release()
        for zero in (block.weight, columns["unknown"].at):
            cells[zero : zero + count] = array("q", bytes(8 * count))
        signs(cells, columns["kind"].at, count, columns["tombstone"].at, block.valid, columns["kind"].bit)
        signs(cells, columns["version"].at, count, columns["tombstone"].at, block.valid, columns["version"].bit)
        for name, column in _TEXTS.items():
            at = columns[name].at
            texts(text.places.cells, column, picks.rows, count, cells, at, block.room, block.weight)
        block.freeze()  # the kernel's tables do not have all of it
        return block

    def _pieces(self, block: Block, rows: Sequence[int], items: Items) -> Iterator[Rows | Finding]:
        """Yield the rows with what is wrong with some of them between."""
        at = 0  # in the block
        places: list[tuple[int, list[Finding]]] = []
        for number in rows:
            of_record = items.get(number)
            if _written(of_record):
                for one in of_record or ():
                    if isinstance(one, Written):
                        self._set(at, one)
                at += 1
            if of_record:
                places.append((at, [one for one in of_record if isinstance(one, Finding)]))
        done = 0
        for stop, findings in places:
            if stop > done:
                yield Rows(block, done, stop)
                done = stop
            yield from findings
        if block.count > done:
            yield Rows(block, done, block.count)

    def _set(self, row: int, record: Written) -> None:
        """Correct the facts of a record that was read by itself."""
        content = record.content
        tombstone = content is not None and content.value is None
        cells = {
            "type": record.type, "kind": record.type, "version": -1 if record.version is None else record.version,
            "tombstone": tombstone, "unknown": content is None,
        }  # fmt: skip
        for name, cell in cells.items():
            self._block.cells[self._columns[name].at + row] = cell
        self._set_bit("version", row, there=record.version is not None)
        self._set_bit("kind", row, there=record.kind is not None)

    def _set_bit(self, name: str, row: int, *, there: bool) -> None:
        bit = self._columns[name].bit + row
        if there:
            self._block.valid[bit >> 3] |= 1 << (bit & 7)
        else:
            self._block.valid[bit >> 3] &= 255 ^ 1 << (bit & 7)


def _without_fields(record: Written) -> Written:
    """Forget a record's fields, of which there may be millions."""
    content = record.content
    if content is None:
        return record
    return record._replace(content=content._replace(key=None, value=None if content.value is None else {}))


def _written(items: list[Any] | None) -> bool:
    """Say whether a record has a row: all but those that can't be read."""
    return items is None or any(isinstance(one, Written) for one in items)

"""Batches and records as Arrow columns, made from the kernel's tables without a row in between.

They hold what ``kafkalog.log.rows`` holds; only the columns that are asked for are made.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from kafkalog.format import kernel
from kafkalog.format.batch import CODEC_MASK, CONTROL, DELETE_HORIZON, LOG_APPEND_TIME, TRANSACTIONAL, Batch
from kafkalog.format.compression import CODECS
from kafkalog.log.chunk import Chunk
from kafkalog.log.records import RecordBlock
from kafkalog.log.rows import headers_cell, text_cells
from kafkalog.log.selection import Selection

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["batch_columns", "gathered", "record_columns"]

_ROWS: Final = 1 << 14  # in a batch of Arrow's, about
_BYTES: Final = 32 << 20  # or fewer rows, where they are big


def gathered(some: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Put small batches together."""
    held: list[pa.RecordBatch] = []
    rows = size = 0
    for batch in some:
        if batch.num_rows:
            held.append(batch)
            rows, size = rows + batch.num_rows, size + batch.nbytes
        if rows >= _ROWS or size >= _BYTES:
            yield pa.concat_batches(held)
            held, rows, size = [], 0, 0
    if held:
        yield pa.concat_batches(held)


def batch_columns(
    file: str, chunks: Iterable[Chunk], schema: pa.Schema, selection: Selection
) -> Iterator[pa.RecordBatch]:
    """Yield the selected batches' headers of a segment."""
    for chunk in chunks:
        heads = _Heads(file, chunk.heads.numpy())
        rows = _selected(chunk, selection)
        yield _made(schema, _BATCHES, heads if rows is None else heads.taken(rows))


def record_columns(
    file: str, chunks: Iterable[Chunk], schema: pa.Schema, selection: Selection
) -> Iterator[pa.RecordBatch]:
    """Yield the records of the selected batches of a segment."""
    for chunk in chunks:
        table = chunk.heads.numpy()[: kernel.SECTION_START].copy()
        rows = _selected(chunk, selection)
        if rows is not None:
            for row in set(range(chunk.heads.count)) - set(rows.tolist()):
                chunk.skip(row)
        for block in chunk.records():
            numbers = None if rows is None else np.fromiter(selection.numbers(block), np.intp)
            yield _made(schema, _RECORDS, _Records(file, table, block, numbers))


def _selected(chunk: Chunk, selection: Selection) -> NDArray[np.intp] | None:
    """Return the numbers of the selected batches, None for all."""
    if selection.everything:
        return None
    rows = [row for row in range(chunk.heads.count) if selection.may_hold(Batch.of(chunk.heads, row))]
    return np.array(rows, np.intp)


def _made(schema: pa.Schema, columns: Mapping[str, Callable[[Any], pa.Array]], source: Any) -> pa.RecordBatch:
    arrays = [_as(columns[field.name](source), field.type) for field in schema]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _as(column: Any, kind: pa.DataType) -> pa.Array:
    """Make a column of what a column function gives: an array of Arrow's, values, or values and which are null."""
    if isinstance(column, pa.Array):
        return column
    values, null = column if isinstance(column, tuple) else (column, None)
    if kind == pa.int64():
        values = values.copy()  # of a table that is used again
    elif kind != pa.bool_():
        bits = np.iinfo(kind.to_pandas_dtype())
        beyond = (values < bits.min) | (values > bits.max)  # no header has such a value
        null = beyond if null is None else null | beyond
        values = values.astype(kind.to_pandas_dtype())
    return pa.array(values, kind, mask=null)


class _Heads:
    """Batches as columns of the kernel's table."""

    def __init__(self, file: str, table: NDArray[np.int64]) -> None:
        self.file = file
        self.table = table

    def taken(self, rows: NDArray[np.intp]) -> _Heads:
        return _Heads(self.file, self.table[:, rows])

    def __getitem__(self, number: int) -> NDArray[np.int64]:
        found: NDArray[np.int64] = self.table[number]
        return found

    def __len__(self) -> int:
        return int(self.table.shape[1])

    @property
    def current(self) -> NDArray[np.bool_]:
        """Say which are of magic 2; those before know no transactions."""
        found: NDArray[np.bool_] = self[kernel.MAGIC] > 1
        return found

    def unknown(self, number: int) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Return a column that is null where a wrapper of magic 0 or 1 does not tell."""
        return self[number], (self[number] == kernel.NONE) & ~self.current

    def has(self, bit: int) -> NDArray[np.bool_]:
        """Say which have an attribute that came with magic 2."""
        found: NDArray[np.bool_] = self.current & (self[kernel.ATTRIBUTES] & bit != 0)
        return found


def _file(source: _Heads | _Records) -> pa.Array:
    return pa.repeat(source.file.encode("utf-8", "backslashreplace").decode(), len(source))


def _words(words: Sequence[str], places: NDArray[np.int64]) -> pa.Array:
    return pa.array(words, pa.string()).take(pa.array(places))


def _timestamp_type(heads: _Heads) -> pa.Array:
    appended = (heads[kernel.ATTRIBUTES] & LOG_APPEND_TIME != 0).astype(np.int64) + 1
    return _words(("none", "create_time", "log_append_time"), np.where(heads[kernel.MAGIC] == 0, 0, appended))


def _delta(heads: _Heads) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    base, unknown = heads.unknown(kernel.BASE_OFFSET)
    return heads[kernel.LAST_OFFSET] - base, unknown


_NUMBERED: Final = (*CODECS, *(str(number) for number in range(len(CODECS), CODEC_MASK + 1)))
_BATCHES: Final[dict[str, Callable[[_Heads], Any]]] = {
    "file": _file,
    "position": lambda heads: heads[kernel.POSITION],
    "size_bytes": lambda heads: heads[kernel.SIZE],
    "base_offset": lambda heads: heads.unknown(kernel.BASE_OFFSET),
    "last_offset": lambda heads: heads[kernel.LAST_OFFSET],
    "last_offset_delta": _delta,
    "count": lambda heads: heads.unknown(kernel.COUNT),
    "magic": lambda heads: heads[kernel.MAGIC],
    "crc": lambda heads: heads[kernel.CRC],
    "crc_holds": lambda heads: heads[kernel.VALID] != 0,
    "attributes": lambda heads: heads[kernel.ATTRIBUTES],
    "codec": lambda heads: _words(_NUMBERED, heads[kernel.ATTRIBUTES] & CODEC_MASK),
    "timestamp_type": _timestamp_type,
    "is_transactional": lambda heads: heads.has(TRANSACTIONAL),
    "is_control": lambda heads: heads.has(CONTROL),
    "has_delete_horizon": lambda heads: heads.has(DELETE_HORIZON),
    "unused_attribute_bits": lambda heads: np.where(heads.current, heads[kernel.ATTRIBUTES] & 0xFF80, 0),
    "base_timestamp_ms": lambda heads: (heads[kernel.BASE_TIMESTAMP], ~heads.current),
    "delete_horizon_ms": lambda heads: (heads[kernel.BASE_TIMESTAMP], ~heads.has(DELETE_HORIZON)),
    "max_timestamp_ms": lambda heads: heads[kernel.MAX_TIMESTAMP],
    "producer_id": lambda heads: heads[kernel.PRODUCER_ID],
    "producer_epoch": lambda heads: heads[kernel.PRODUCER_EPOCH],
    "base_sequence": lambda heads: heads[kernel.BASE_SEQUENCE],
    "last_sequence": lambda heads: heads[kernel.LAST_SEQUENCE],
    "partition_leader_epoch": lambda heads: heads[kernel.LEADER_EPOCH],
}


class _Records:
    """Records as columns of the kernel's table; `batch` are their batches, `own` the messages of magic 0 and 1."""

    def __init__(
        self, file: str, heads: NDArray[np.int64], block: RecordBlock, numbers: NDArray[np.intp] | None
    ) -> None:
        self.file = file
        self.block = block
        self.numbers = np.arange(block.recs.count) if numbers is None else numbers
        self.table = block.recs.numpy()[:, self.numbers]
        inner = self.table[kernel.BATCH]
        outer = inner if block.outer is None else np.full(len(inner), block.outer)
        self.batch = _Heads(file, heads[:, outer])
        self.own = _Heads(file, block.heads.numpy()[:, inner])
        self._texts: dict[str, pa.Array] = {}

    def __getitem__(self, number: int) -> NDArray[np.int64]:
        found: NDArray[np.int64] = self.table[number]
        return found

    def __len__(self) -> int:
        return len(self.numbers)

    def bytes_of(self, name: str) -> pa.Array:
        """Return a column of keys or values: as text, or what is no text in base64."""
        if not self._texts:
            records = [self.block.record(number) for number in self.numbers.tolist()]
            cells: dict[str, Sequence[Any]] = {}
            for kind, values in (("key", [r.key for r in records]), ("value", [r.value for r in records])):
                pairs = [text_cells(value) for value in values]
                cells[kind] = [text for text, _ in pairs]
                cells[f"{kind}_base64"] = [coded for _, coded in pairs]
            cells["headers"] = [json.dumps(headers_cell(record), ensure_ascii=False) for record in records]
            self._texts = {kind: pa.array(values, pa.string()) for kind, values in cells.items()}
        return self._texts[name]


def _text(name: str) -> Callable[[_Records], pa.Array]:
    return lambda records: records.bytes_of(name)


_RECORDS: Final[dict[str, Callable[[_Records], Any]]] = {
    "file": _file,
    "offset": lambda records: records[kernel.OFFSET],
    "timestamp_ms": lambda records: records[kernel.TIMESTAMP],
    "timestamp_type": lambda records: _timestamp_type(records.batch),
    "sequence": lambda records: records[kernel.SEQUENCE],
    "producer_id": lambda records: records.batch[kernel.PRODUCER_ID],
    "producer_epoch": lambda records: records.batch[kernel.PRODUCER_EPOCH],
    "is_transactional": lambda records: records.batch.has(TRANSACTIONAL),
    "is_control": lambda records: records.batch.has(CONTROL),
    "size_bytes": lambda records: records[kernel.RECORD_SIZE],
    "key_size": lambda records: np.maximum(records[kernel.KEY_SIZE], -1),
    "value_size": lambda records: np.maximum(records[kernel.VALUE_SIZE], -1),
    "headers_count": lambda records: np.maximum(records[kernel.HEADERS_COUNT], 0),
    **{name: _text(name) for name in ("key", "key_base64", "value", "value_base64", "headers")},
    "magic": lambda records: records.own[kernel.MAGIC],
    "message_crc": lambda records: (records.own[kernel.CRC], records.own.current),
    "message_crc_holds": lambda records: (records.own[kernel.VALID] != 0, records.own.current),
    "batch_position": lambda records: records.batch[kernel.POSITION],
    "batch_crc_holds": lambda records: records.batch[kernel.VALID] != 0,
}

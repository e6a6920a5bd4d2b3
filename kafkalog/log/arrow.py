"""Batches and records as Arrow, made from the kernel's tables without rows.

The values are those of ``log.rows``, by the same ``log.values``; only the columns that are needed are made.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from kafkalog.format import kernel
from kafkalog.format.batch import Batch
from kafkalog.log import values
from kafkalog.log.chunk import Chunk
from kafkalog.log.records import RecordBlock
from kafkalog.log.selection import Selection
from kafkalog.tables.arrow import Numbers, arrow_batch

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from kafkalog.tables.arrow import RecordBatch, Schema

__all__ = ["batches_as_arrow", "records_as_arrow"]


def batches_as_arrow(file: str, chunks: Iterable[Chunk], schema: Schema, selection: Selection) -> Iterator[RecordBatch]:
    """Yield the selected batches' headers of a segment, with the columns of the table ``batches`` in the schema."""
    for chunk in chunks:
        heads = chunk.heads.numpy()
        rows = _selected(chunk, selection)
        yield arrow_batch(_OfBatches(file, heads if rows is None else heads[:, rows]), schema)


def records_as_arrow(file: str, chunks: Iterable[Chunk], schema: Schema, selection: Selection) -> Iterator[RecordBatch]:
    """Yield the records of the selected batches of a segment, with the columns of the table ``records``."""
    for chunk in chunks:
        heads = chunk.heads.numpy()[: kernel.SECTION_START].copy()
        rows = _selected(chunk, selection)
        if rows is not None:
            for row in set(range(chunk.heads.count)) - set(rows.tolist()):
                chunk.skip(row)
        for block in chunk.records():
            numbers = None if rows is None else np.fromiter(selection.numbers(block), np.intp)
            yield arrow_batch(_OfRecords(file, heads, block, numbers), schema)


def _selected(chunk: Chunk, selection: Selection) -> NDArray[np.intp] | None:
    """Return the numbers of the selected batches, None for all."""
    if selection.everything:
        return None
    rows = [row for row in range(chunk.heads.count) if selection.may_hold(Batch.of(chunk.heads, row))]
    return np.array(rows, np.intp)


def _numbers(value: values.Value, table: NDArray[np.int64]) -> Numbers:
    """Compute a value for all rows of the kernel's table at once."""
    columns = [table[number] for number in value.of]
    made = columns[0].copy() if value.rule is None else value.rule(*columns)  # the table is used again
    return Numbers(made, None if value.none is None else value.none(*columns), value.words)


def _file(file: str, rows: int) -> Numbers:
    return Numbers(np.zeros(rows, np.intp), words=(file.encode("utf-8", "backslashreplace").decode(),))


class _OfBatches:
    """Makes the columns of batches by name."""

    def __init__(self, file: str, heads: NDArray[np.int64]) -> None:
        self.file = file
        self.heads = heads

    def __call__(self, name: str) -> Numbers:
        if name == "file":
            return _file(self.file, self.heads.shape[1])
        return _numbers(values.BATCH[name], self.heads)


class _OfRecords:
    """Makes the columns of records by name; `heads` are the batches of their chunk, `numbers` the selected records."""

    def __init__(
        self, file: str, heads: NDArray[np.int64], block: RecordBlock, numbers: NDArray[np.intp] | None
    ) -> None:
        self.file = file
        self.records = block.recs.numpy() if numbers is None else block.recs.numpy()[:, numbers]
        inner = self.records[kernel.BATCH]
        outer = inner if block.outer is None else np.full(len(inner), block.outer)
        self.batches = heads[:, outer]
        self.messages = block.heads.numpy()[:, inner]
        self._texts = values.texts(block, range(len(inner)) if numbers is None else numbers.tolist())

    def __call__(self, name: str) -> Numbers | Iterable[Any]:
        if name == "file":
            return _file(self.file, self.records.shape[1])
        if name in self._texts:
            return self._texts[name]
        for of, table in (
            (values.RECORD, self.records), (values.OF_BATCH, self.batches), (values.MESSAGE, self.messages),
        ):  # fmt: skip
            if name in of:
                return _numbers(of[name], table)
        raise KeyError(name)

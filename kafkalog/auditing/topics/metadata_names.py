"""What records of the metadata log name: a topic, a partition, a broker, a setting; as columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from kafkalog.auditing.topics.internal import Written
from kafkalog.format.kernel import NONE
from kafkalog.format.message import escaped_text
from kafkalog.format.message_program import ReadField
from kafkalog.format.numbered import Numbered
from kafkalog.format.primitives import uuid_text
from kafkalog.format.schema import ZERO_UUID
from kafkalog.format.text_columns import JsonColumn, TextColumn, joined
from kafkalog.log.column_blocks import ColumnsByName
from kafkalog.log.internal_blocks import InternalRecords, Part

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["NAMED", "Named"]

_TEXTS: Final = ("topic", "topic_id", "isr", "name", "value")
_NUMBERS: Final = ("partition", "broker_id", "leader")
NAMED: Final = (*_TEXTS, *_NUMBERS)
_UUID: Final = 16
_CELL: Final = 8
# Fields by their names; those of a name that several kinds of records have for different things are not here.
_OF_BROKERS: Final = ("FenceBrokerRecord", "UnfenceBrokerRecord")  # whose `id` is a broker's
_COLUMNS: Final = {
    "topicId": "topic_id", "partitionId": "partition", "brokerId": "broker_id", "leader": "leader", "isr": "isr",
    "featureLevel": "value",
}  # fmt: skip


class Named:
    """The columns `NAMED` of some records of one block; `encode` writes lists as JSON."""

    def __init__(self, count: int, encode: Callable[[Any], str]) -> None:
        self._count = count
        self._encode = encode
        self._numbers = {name: np.full(count, NONE, np.int64) for name in _NUMBERS}
        self._texts: dict[str, list[tuple[NDArray[Any], TextColumn]]] = {name: [] for name in _TEXTS}

    def columns(self) -> ColumnsByName:
        """Return the columns."""
        texts = {name: joined(self._count, parts) for name, parts in self._texts.items()}
        isr = texts["isr"]
        return {**self._numbers, **texts, "isr": JsonColumn(isr.data, isr.starts, isr.sizes)}

    def take(self, records: InternalRecords, part: Part, rows: NDArray[Any], kind: str) -> None:
        """Take the fields of records of one kind, which are these rows here."""
        for field in part.program.structure.fields:
            column = _column_of(kind, field.name)
            if column in _NUMBERS:
                cells = records.cells(part, field)
                is_there = (cells != field.default) | (not field.is_tagged)
                self._numbers[column][rows] = np.where(is_there, cells, NONE)
            elif column is not None and (field.name != "value" or field.kind == "string"):
                numbers, words = self._words(records, part, field)
                shown = [None if field.is_tagged and word == field.default else self._text(word) for word in words]
                self._texts[column].append((rows, TextColumn.of(shown).take(numbers)))

    def take_one(self, row: int, record: Written) -> None:
        """Take the fields of one record."""
        value = (None if record.content is None else record.content.value) or {}
        for name, cell in value.items():
            column = _column_of(record.kind or "", name)
            if column in _NUMBERS:
                self._numbers[column][row] = cell
            elif column is not None and (name != "value" or isinstance(cell, str)):
                self._texts[column].append((np.array([row]), TextColumn.of([self._text(cell)])))

    def _text(self, word: Any) -> str | None:
        if word is None or isinstance(word, str):
            return word
        return self._encode(word) if isinstance(word, list) else str(word)

    @staticmethod
    def _words(records: InternalRecords, part: Part, field: ReadField) -> tuple[NDArray[np.int64], Sequence[Any]]:
        """Return the different values of a field, and the number of each record's: -1 for the last one."""
        first = records.cells(part, field)
        numbered = Numbered()

        def numbers(buf: Any, starts: NDArray[np.int64], sizes: NDArray[np.int64]) -> NDArray[np.int64]:
            return np.frombuffer(numbered.numbers(buf, starts.data, sizes.data), np.int64)

        if field.kind == "array":
            count = records.cells(part, field, 1)
            cells = records.elements(field).cast("B")
            found = numbers(cells, first * _CELL, np.where(count < 0, -1, count * _CELL))
            return found, [*(np.frombuffer(one, np.int64).tolist() for one in numbered), None]
        if field.kind == "uuid":
            found = numbers(records.buf, first, np.where(first < 0, -1, _UUID))
            return found, [*(uuid_text(one) for one in numbered), ZERO_UUID]
        if field.kind == "string":
            sizes = records.cells(part, field, 1)  # below -1: missing, with its default
            return numbers(records.buf, first, sizes), [*map(escaped_text, numbered), None]
        different, found = np.unique(first, return_inverse=True)
        return found.astype(np.int64), different.tolist()


def _column_of(kind: str, field: str) -> str | None:
    """Return the column that a field of a kind of record is in."""
    if field == "name":
        return "topic" if kind == "TopicRecord" else "name"
    if field == "id":
        return "broker_id" if kind in _OF_BROKERS else None
    return "value" if field == "value" else _COLUMNS.get(field)

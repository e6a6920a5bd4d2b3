"""How each column of the tables ``batches`` and ``records`` is computed, written once for rows and for Arrow.

A value is a rule over columns of the kernel's tables. A rule uses only operators, so that it works on the cells of one
row and on whole arrays: `cells` makes plain Python values, without NumPy, and ``log.arrow`` makes arrays. The order of
the columns is that of their declaration in ``tables.dump``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import tee
from operator import itemgetter
from typing import Any, Final, NamedTuple

from kafkalog.format import kernel
from kafkalog.format.batch import CODEC_MASK, CONTROL, DELETE_HORIZON, LOG_APPEND_TIME, TRANSACTIONAL
from kafkalog.format.compression import CODECS
from kafkalog.log.records import RecordBlock

__all__ = ["BATCH", "MESSAGE", "OF_BATCH", "RECORD", "Value", "cells", "texts"]


class Value(NamedTuple):
    """A column's value: the result of `rule` for the cells of the columns `of`; without a rule, the first cell.

    `none` says for the same cells whether there is no value. `words` are the words for the numbers.
    """

    of: tuple[int, ...]
    rule: Callable[..., Any] | None = None
    none: Callable[..., Any] | None = None
    words: tuple[str, ...] = ()


_UNUSED_BITS: Final = 0xFF80
_NUMBERED: Final = (*CODECS, *(str(number) for number in range(len(CODECS), CODEC_MASK + 1)))


def _holds(valid: Any) -> Any:
    return valid != 0


def _is_old(_: Any, magic: Any) -> Any:
    """Say whether magic 0 or 1 has no such field."""
    return magic < 2


def _unknown(cell: Any, magic: Any, *_: Any) -> Any:
    """Say whether the value is unknown, as the header of a wrapper of magic 0 or 1 does not have it."""
    return (cell == kernel.NONE) & (magic < 2)


def _bit(bit: int) -> Callable[[Any, Any], Any]:
    """Return a rule for an attribute that exists since magic 2."""
    return lambda attributes, magic: (magic > 1) & (attributes & bit != 0)


# Of a batch, by the kernel's table of headers.
BATCH: Final[dict[str, Value]] = {
    "position": Value((kernel.POSITION,)),
    "size_bytes": Value((kernel.SIZE,)),
    "base_offset": Value((kernel.BASE_OFFSET, kernel.MAGIC), none=_unknown),
    "last_offset": Value((kernel.LAST_OFFSET,)),
    "last_offset_delta": Value(
        (kernel.BASE_OFFSET, kernel.MAGIC, kernel.LAST_OFFSET), lambda base, _, last: last - base, _unknown
    ),
    "count": Value((kernel.COUNT, kernel.MAGIC), none=_unknown),
    "magic": Value((kernel.MAGIC,)),
    "crc": Value((kernel.CRC,)),
    "crc_holds": Value((kernel.VALID,), _holds),
    "attributes": Value((kernel.ATTRIBUTES,)),
    "codec": Value((kernel.ATTRIBUTES,), lambda attributes: attributes & CODEC_MASK, words=_NUMBERED),
    "timestamp_type": Value(
        (kernel.ATTRIBUTES, kernel.MAGIC),
        lambda attributes, magic: (magic != 0) * (1 + (attributes & LOG_APPEND_TIME != 0)),
        words=("none", "create_time", "log_append_time"),
    ),
    "is_transactional": Value((kernel.ATTRIBUTES, kernel.MAGIC), _bit(TRANSACTIONAL)),
    "is_control": Value((kernel.ATTRIBUTES, kernel.MAGIC), _bit(CONTROL)),
    "has_delete_horizon": Value((kernel.ATTRIBUTES, kernel.MAGIC), _bit(DELETE_HORIZON)),
    "unused_attribute_bits": Value(
        (kernel.ATTRIBUTES, kernel.MAGIC), lambda attributes, magic: (magic > 1) * (attributes & _UNUSED_BITS)
    ),
    "base_timestamp_ms": Value((kernel.BASE_TIMESTAMP, kernel.MAGIC), none=_is_old),
    "delete_horizon_ms": Value(
        (kernel.BASE_TIMESTAMP, kernel.ATTRIBUTES, kernel.MAGIC),
        none=lambda _, attributes, magic: (magic < 2) | (attributes & DELETE_HORIZON == 0),
    ),
    "max_timestamp_ms": Value((kernel.MAX_TIMESTAMP,)),
    "producer_id": Value((kernel.PRODUCER_ID,)),
    "producer_epoch": Value((kernel.PRODUCER_EPOCH,)),
    "base_sequence": Value((kernel.BASE_SEQUENCE,)),
    "last_sequence": Value((kernel.LAST_SEQUENCE,)),
    "partition_leader_epoch": Value((kernel.LEADER_EPOCH,)),
}
# Of a record, by the kernel's table of records.
RECORD: Final[dict[str, Value]] = {
    "offset": Value((kernel.OFFSET,)),
    "timestamp_ms": Value((kernel.TIMESTAMP,)),
    "sequence": Value((kernel.SEQUENCE,)),
    "size_bytes": Value((kernel.RECORD_SIZE,)),
    # Any size below 0 is null's.
    "key_size": Value((kernel.KEY_SIZE,), lambda size: (size >= 0) * (size + 1) - 1),
    "value_size": Value((kernel.VALUE_SIZE,), lambda size: (size >= 0) * (size + 1) - 1),
    "headers_count": Value((kernel.HEADERS_COUNT,), lambda count: (count > 0) * count),
}
# Of a record's batch; for a message inside a wrapper of magic 0 or 1, of the wrapper.
OF_BATCH: Final[dict[str, Value]] = {
    **{
        name: BATCH[name]
        for name in ("timestamp_type", "producer_id", "producer_epoch", "is_transactional", "is_control", "magic")
    },
    "batch_position": BATCH["position"],
    "batch_crc_holds": BATCH["crc_holds"],
}
# Of the message of magic 0 or 1 that a record is, inside a wrapper or alone; the batch of a record of magic 2.
MESSAGE: Final[dict[str, Value]] = {
    "message_crc": Value((kernel.CRC, kernel.MAGIC), none=lambda _, magic: magic > 1),
    "message_crc_holds": Value((kernel.VALID, kernel.MAGIC), lambda valid, _: valid != 0, lambda _, magic: magic > 1),
}


def cells(value: Value, column: Callable[[int], Sequence[int]]) -> Iterable[Any]:
    """Compute a value for each row; `column` returns the rows' cells of a column of the kernel."""
    columns = [column(number) for number in value.of]
    made: Iterable[Any] = columns[0] if value.rule is None else map(value.rule, *columns)
    if value.words:
        made = map(value.words.__getitem__, made)
    if value.none is None:
        return made
    absent = list(map(value.none, *columns))
    return (None if gone else cell for cell, gone in zip(made, absent, strict=True)) if True in absent else made


def texts(block: RecordBlock, numbers: Sequence[int]) -> dict[str, Iterator[Any]]:
    """Make the keys, values and headers of these records, each when it is needed."""
    keys = tee(map(_text_cells, map(block.key, numbers)))
    values = tee(map(_text_cells, map(block.value, numbers)))
    text, coded = itemgetter(0), itemgetter(1)
    return {
        "key": map(text, keys[0]),
        "key_base64": map(coded, keys[1]),
        "value": map(text, values[0]),
        "value_base64": map(coded, values[1]),
        "headers": map(_headers_cell, map(block.headers, numbers)),
    }


def _text_cells(data: bytes | None) -> tuple[str | None, str | None]:
    """Split bytes into a text column and a base64 column, one of them null."""
    if data is None:
        return None, None
    try:
        return data.decode(), None
    except UnicodeDecodeError:
        import base64

        return None, base64.b64encode(data).decode()


def _headers_cell(headers: Iterable[tuple[bytes, bytes | None]]) -> list[dict[str, str | None]]:
    names = ("key", "key_base64", "value", "value_base64")
    return [dict(zip(names, (*_text_cells(key), *_text_cells(value)), strict=True)) for key, value in headers]

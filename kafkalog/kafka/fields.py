"""Structures field by field with positions, from the construct declarations so that the two cannot differ."""

from __future__ import annotations

import codecs
import io
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from kafkalog.kafka.batch import CODEC_MASK, CONTROL, DELETE_HORIZON, LOG_APPEND_TIME, LOG_OVERHEAD, TRANSACTIONAL
from kafkalog.kafka.compression import CODECS
from kafkalog.kafka.control import ControlType
from kafkalog.kafka.layout import Layout, Varying
from kafkalog.quantities import iso_marked

if TYPE_CHECKING:
    import construct

__all__ = ["Field", "fields_of", "meaning", "placed"]


# What the values of fields say, in words.


_OUTSIDE: Final = "outside the checksum"


def meaning(structure: str, name: str, values: Mapping[str, Any]) -> str:
    """Say what the field `name` means; `values` are those of its structure, at least up to this field."""
    say = _BY_STRUCTURE.get((structure, name)) or _BY_NAME.get(name)
    return "" if say is None else say(values[name], values)


def _none(value: int, _: Mapping[str, Any]) -> str:
    return "none" if value == -1 else ""


def _null(value: int, _: Mapping[str, Any]) -> str:
    return "null" if value < 0 else "bytes"


def _time(value: int, _: Mapping[str, Any]) -> str:
    return "none" if value == -1 else iso_marked(value)


def _magic(value: int, _: Mapping[str, Any]) -> str:
    return f"the format's version; {_OUTSIDE}" if value > 1 else "the format's version"


def codec(attributes: int) -> str:
    """Return the codec's name, or the number of an unknown codec."""
    number = attributes & CODEC_MASK
    return CODECS[number] if number < len(CODECS) else f"unknown codec {number}"


def _batch_attributes(value: int, _: Mapping[str, Any]) -> str:
    parts = [
        f"compression {codec(value)}",
        "LogAppendTime" if value & LOG_APPEND_TIME else "CreateTime",
        "transactional" if value & TRANSACTIONAL else "not transactional",
        "control" if value & CONTROL else "no control",
    ]
    if value & DELETE_HORIZON:
        parts.append("delete horizon set")
    if unused := value & 0xFF80:
        parts.append(f"unused bits 0x{unused:04x}")
    return ", ".join(parts)


def _message_attributes(value: int, values: Mapping[str, Any]) -> str:
    parts = [f"compression {codec(value)}"]
    if values["magic"]:
        parts.append("LogAppendTime" if value & LOG_APPEND_TIME else "CreateTime")
    if unused := value & 0xFF & ~(CODEC_MASK | LOG_APPEND_TIME if values["magic"] else CODEC_MASK):
        parts.append(f"unused bits 0x{unused:02x}")
    return ", ".join(parts)


def _base_timestamp(value: int, values: Mapping[str, Any]) -> str:
    what = "the delete horizon, " if values["attributes"] & DELETE_HORIZON else ""
    return what + _time(value, values)


def _last_offset(value: int, values: Mapping[str, Any]) -> str:
    return f"last offset {values['base_offset'] + value}"


def _type(value: int, _: Mapping[str, Any]) -> str:
    known = {int(kind): kind.name for kind in ControlType}
    return known.get(value, "unknown")


def _batch_size(length: int) -> str:
    return f"the whole batch has {length + LOG_OVERHEAD} bytes"


_BATCH: Final = "RecordBatch"

_MESSAGE: Final = "message"

_BY_STRUCTURE: Final[dict[tuple[str, str], Callable[[int, Mapping[str, Any]], str]]] = {
    (_BATCH, "base_offset"): lambda _value, _values: f"first offset as written; {_OUTSIDE}",
    (_BATCH, "batch_length"): lambda value, _: f"{_batch_size(value)}; {_OUTSIDE}",
    (_BATCH, "partition_leader_epoch"): lambda value, _: f"unknown; {_OUTSIDE}" if value == -1 else _OUTSIDE,
    (_BATCH, "magic"): _magic,
    (_BATCH, "attributes"): _batch_attributes,
    (_BATCH, "last_offset_delta"): _last_offset,
    (_BATCH, "base_timestamp"): _base_timestamp,
    (_MESSAGE, "offset"): lambda _, values: (
        "of the last message in it" if values.get("attributes", 0) & CODEC_MASK else ""
    ),
    (_MESSAGE, "message_size"): lambda value, _: f"the whole message has {value + LOG_OVERHEAD} bytes",
    (_MESSAGE, "magic"): _magic,
    (_MESSAGE, "attributes"): _message_attributes,
    ("ControlRecordType", "type"): _type,
    ("AbortedTxn", "first_offset"): lambda _value, _values: "of the transaction in this partition",
    ("AbortedTxn", "last_offset"): lambda _value, _values: "of the ABORT marker",
    ("AbortedTxn", "last_stable_offset"): lambda _value, _values: "right after this abort",
    ("ProducerStateEntry", "offset_delta"): lambda _value, _values: "the last batch's number of offsets, minus one",
    ("ProducerStateEntry", "current_txn_first_offset"): lambda value, _: (
        "no open transaction" if value == -1 else "where the open transaction begins"
    ),
}

_BY_NAME: Final[dict[str, Callable[[int, Mapping[str, Any]], str]]] = {
    "max_timestamp": _time,
    "timestamp": _time,
    "producer_id": _none,
    "producer_epoch": _none,
    "base_sequence": _none,
    "last_sequence": _none,
    "last_offset": _none,
    "coordinator_epoch": _none,
    "key_size": _null,
    "value_size": _null,
    "header_value_size": _null,
}


_SHOWN = 64  # bytes shown of a long field

_TEXT = 256  # characters shown of a long text


class Field(NamedTuple):
    """A field at `position` in a file, None if it is compressed there.

    `data` are its first bytes, `value` what they encode. `computed` is the checksum computed from the bytes that a
    checksum field covers.
    """

    structure: str
    name: str
    position: int | None
    size: int
    data: bytes
    value: str | None
    meaning: str
    computed: str | None = None


def placed(declared: construct.Struct[Any, Any], data: bytes) -> Iterator[tuple[str, int, int, Any]]:
    """Yield (name, start, stop, value) of each field of a declared structure, as far as `data` goes."""
    import construct

    stream = io.BytesIO(data)
    values: dict[str, Any] = {}
    for part in declared.subcons:
        start = stream.tell()
        try:
            values[part.name] = part.parse_stream(stream, **values)
        except construct.StreamError:  # the bytes end in it
            return
        yield part.name, start, stream.tell(), values[part.name]


def fields_of(layout: Layout | Varying, structure: str, data: bytes, position: int | None) -> list[Field]:
    """Return the fields of the structure that `data` begins with; `position` is that of its first byte in the file."""
    found = list(placed(layout.construct, data))
    values = {name: value for name, _, _, value in found}
    return [
        Field(
            structure,
            name,
            None if position is None else position + start,
            stop - start,
            data[start : min(stop, start + _SHOWN)],
            _text(value),
            "" if isinstance(value, bytes) and not stop - start else _said(structure, name, values, stop - start),
        )
        for name, start, stop, value in found
    ]


def _said(structure: str, name: str, values: dict[str, Any], size: int) -> str:
    if isinstance(values[name], bytes):
        return f"{size} bytes, the first {_SHOWN} are shown" if size > _SHOWN else ""
    return meaning(structure, name, values)


def _text(value: Any) -> str | None:
    if not isinstance(value, bytes):
        return str(value)
    if not value:
        return None
    try:
        decoder = codecs.getincrementaldecoder("utf-8")()
        return decoder.decode(value[: 4 * _TEXT], final=len(value) <= 4 * _TEXT)[:_TEXT]
    except UnicodeDecodeError:
        return None

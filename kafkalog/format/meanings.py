"""What the values of fields say, in words."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from kafkalog.format.batch import CODEC_MASK, CONTROL, DELETE_HORIZON, LOG_APPEND_TIME, TRANSACTIONAL
from kafkalog.format.batch_start import LOG_OVERHEAD
from kafkalog.format.compression import CODECS
from kafkalog.format.control import ControlType
from kafkalog.format.times import iso_marked

__all__ = ["meaning"]

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

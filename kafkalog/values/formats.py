"""The formats of keys and values, by their names: those of Kafka's own serializers, and those of a schema registry."""

from __future__ import annotations

import base64
import json
import math
import struct
import uuid
from collections.abc import Callable
from typing import Final

from kafkalog.errors import UnsupportedError
from kafkalog.values.budget import OVER
from kafkalog.values.format_names import FORMATS, MAY_HAVE_SCHEMA, WITH_SCHEMA
from kafkalog.values.schemas import JSON, Framed, Schemas, framed
from kafkalog.values.value import Decode, Undecoded, Value

__all__ = ["decoder"]

_MOST_JSON: Final = 8 << 20  # bytes: Python makes twenty of each to prove it

_Read = Callable[[bytes], Value | Undecoded]


def decoder(form: str, schemas: Schemas | None = None) -> Decode:
    """Return what decodes a key or value in this format; null is a `Value` without a text.

    Raises UnsupportedError for a format that is not one of `FORMATS`, or if what decodes it is not installed.

    `form` is one of ``kafkalog dump --key-format``'s; `schemas` are needed by Avro and Protobuf; of JSON Schema the
    ids alone are looked up.

    >>> kafkalog.decoder("int")(bytes([0, 0, 0, 7]))
    Value(text='7', is_json=True)
    """
    known = Schemas() if schemas is None else schemas
    if form in _PLAIN:
        read = _PLAIN[form]
    elif form == MAY_HAVE_SCHEMA:
        read = _json_of(known)
    elif form == "avro":
        from kafkalog.values.avro import AvroReader

        read = AvroReader(known)
    elif form == "protobuf":
        from kafkalog.values.protobuf import ProtobufReader

        read = ProtobufReader(known)
    else:
        raise UnsupportedError(f"{form} is no format of keys and values; these are: {', '.join(FORMATS)}")

    def decode(data: bytes | None) -> Value | Undecoded:
        return Value(None) if data is None else read(data)

    def within_budget(data: bytes | None) -> Value | Undecoded:
        found = decode(data)
        if data is None or isinstance(found, Undecoded) or found.text is None:
            return found
        return found if known.budget.takes_text(len(data), len(found.text)) else Undecoded(OVER)

    return within_budget if form in WITH_SCHEMA else decode


def _string(data: bytes) -> Value | Undecoded:
    try:
        return Value(data.decode())
    except UnicodeDecodeError:
        return Undecoded("not UTF-8")


def _integer(size: int) -> _Read:
    def read(data: bytes) -> Value | Undecoded:
        if len(data) != size:
            return Undecoded(f"not the {size} bytes of such a number")
        return Value(str(int.from_bytes(data, "big", signed=True)), is_json=True)

    return read


def _float(data: bytes) -> Value | Undecoded:
    if len(data) != 4:
        return Undecoded("not the 4 bytes of a float")
    (number,) = struct.unpack(">f", data)
    return _real(
        number,
        next((text for text in (f"{number:.{digits}g}" for digits in (6, 7, 8)) if _is(text, data)), f"{number:.9g}"),
    )


def _is(text: str, data: bytes) -> bool:
    try:
        return struct.pack(">f", float(text)) == data
    except OverflowError:
        return False


def _double(data: bytes) -> Value | Undecoded:
    if len(data) != 8:
        return Undecoded("not the 8 bytes of a double")
    (number,) = struct.unpack(">d", data)
    return _real(number, repr(number))


def _real(number: float, text: str) -> Value:
    """Write a number as JSON has it; what JSON does not have, as Java does."""
    if math.isnan(number):
        return Value("NaN")
    if math.isinf(number):
        return Value("Infinity" if number > 0 else "-Infinity")
    return Value(text if set(text) & set(".e") else f"{text}.0", is_json=True)


def _uuid(data: bytes) -> Value | Undecoded:
    """Read what Kafka's serializer writes, a text of 36 characters, or the 16 bytes."""
    if len(data) == 16:
        return Value(str(uuid.UUID(bytes=data)))
    try:
        text = data.decode("ascii")
        found = str(uuid.UUID(text))
    except ValueError:
        return Undecoded("neither the text of a UUID nor its 16 bytes")
    return Value(found) if found == text.lower() else Undecoded("neither the text of a UUID nor its 16 bytes")


def _json(data: bytes) -> Value | Undecoded:
    """Prove that the text is JSON, and keep it as it is: no number loses a digit."""
    if len(data) > _MOST_JSON:
        return Undecoded(f"JSON of more than {_MOST_JSON:,} bytes")
    try:
        text = data.decode()
        _STRICT.decode(text)
    except UnicodeDecodeError:
        return Undecoded("not UTF-8")
    except RecursionError:
        return Undecoded("JSON of too many levels")
    except ValueError:
        return Undecoded("not JSON")
    return Value(text, is_json=True)


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


# Numbers stay text: one of a million digits would take minutes.
_STRICT: Final = json.JSONDecoder(parse_int=len, parse_float=len, parse_constant=_no_constant)


def _json_of(schemas: Schemas) -> _Read:
    """Return what reads a registry's JSON. Not it, only its id is compared with the schemas, if any are given."""

    def read(data: bytes) -> Value | Undecoded:
        found = framed(data)
        if not isinstance(found, Framed):
            return found
        schema = schemas.find_schema(found.schema_id, JSON) if schemas else None
        return Undecoded(schema) if isinstance(schema, str) else _json(data[found.start :])

    return read


def _hex(data: bytes) -> Value:
    return Value(data.hex())


def _base64(data: bytes) -> Value:
    return Value(base64.b64encode(data).decode())


_PLAIN: Final[dict[str, _Read]] = {
    "string": _string,
    "short": _integer(2),
    "int": _integer(4),
    "long": _integer(8),
    "float": _float,
    "double": _double,
    "uuid": _uuid,
    "json": _json,
    "hex": _hex,
    "base64": _base64,
}

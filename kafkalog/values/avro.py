"""Avro in the registry's wire format: fastavro decodes what was proved to end within its bytes.

fastavro trusts what it reads: an array of 2**31 nulls takes no bytes and 16 GiB, a schema that contains itself takes as
many levels of C's stack as the payload says, and a negative index finds a symbol. So each payload is first walked along
its schema, without making anything, and with a ceiling on levels and on what would be made.
"""

from __future__ import annotations

import base64
import io
import math
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any, Final

from kafkalog.errors import UnsupportedError
from kafkalog.untrusted import untrusted_json
from kafkalog.values.budget import OVER
from kafkalog.values.schemas import AVRO, TYPES, Framed, Schemas, ValueSchema, framed
from kafkalog.values.value import Undecoded, Value, as_json

__all__ = ["AvroReader"]

_LEVELS: Final = 64  # of a schema, and of the records and lists in a payload
_REFERENCES: Final = 1000
_DIGITS: Final = 1000  # of a decimal
_PER_BYTE: Final = 64  # what may be made of a byte of a payload,
_FREE: Final = 1 << 12  # and of none: a record of many nulls has few bytes and long names
_NODE: Final = 4
_MOST_BYTES: Final = 8 << 20  # of a payload: a character may become six of JSON
_MOST_MADE: Final = 1 << 22  # of any payload: a million numbers
_ROOT: Final = "kafkalog_payload"


class _SchemaError(ValueError):
    """A schema that cannot be used; the words say why."""


class _SpentError(ValueError):
    """What is left of the run's budget is not enough for a payload."""


class _PayloadError(ValueError):
    """A payload that does not fit its schema; the words say why."""


class AvroReader:
    """Decodes Avro of any schema that is known."""

    def __init__(self, schemas: Schemas) -> None:
        try:
            from fastavro import parse_schema, schemaless_reader
        except ImportError as error:
            raise UnsupportedError("Avro needs fastavro: pip install fastavro") from error
        self._parse: Callable[..., Any] = parse_schema
        self._read: Callable[..., Any] = schemaless_reader
        self._schemas = schemas
        self._known: dict[int, dict[str, Any] | str] = {}  # by the identity of what `_schemas` keeps

    def __call__(self, data: bytes) -> Value | Undecoded:
        """Decode one key or value."""
        found = framed(data)
        if not isinstance(found, Framed):
            return found
        known = self._schemas.find_schema(found.schema_id, AVRO)
        if isinstance(known, str):
            return Undecoded(known)
        schema = self._known.get(id(known))
        if schema is None:
            schema = self._known[id(known)] = self._parsed(known)
        if schema == OVER:
            return Undecoded(OVER)
        if isinstance(schema, str):
            return Undecoded(f"the Avro schema of id {found.schema_id} can't be used: {schema}")
        payload = data[found.start :]
        if len(payload) > _MOST_BYTES:
            return Undecoded(f"it has more than {_MOST_BYTES:,} bytes")
        budget = self._schemas.budget
        walk = _Walk(payload, schema["__named_schemas"], budget.steps(len(payload)))
        try:
            walk.check(schema["fields"][0]["type"])
            read = self._read(io.BytesIO(payload), schema)
            return as_json(_finite(read["value"]))
        except (ValueError, ArithmeticError) as error:
            if isinstance(error, _SpentError):
                return Undecoded(OVER)
            why = str(error) if isinstance(error, _PayloadError) else "it has a text or number that is none"
            return Undecoded(f"it does not fit the Avro schema of id {found.schema_id}: {why}")
        finally:
            budget.stepped(len(payload), walk.steps)

    def _parsed(self, found: ValueSchema) -> dict[str, Any] | str:
        """Return a record whose only field is the schema, parsed with its references; or why it can't be used."""
        names: dict[str, Any] = {}
        try:
            referred = self._in_order(found)
            for one in (*referred, found):  # each time: what fastavro makes of one is not shared
                if not self._schemas.budget.takes_schema(len(one.content)):
                    return OVER
            for one in referred:
                self._parse(_plain(untrusted_json(one.content)), named_schemas=names)
            content = _plain(untrusted_json(found.content))
            root = {"type": "record", "name": _ROOT, "fields": [{"name": "value", "type": content}]}
            parsed: dict[str, Any] = self._parse(root, named_schemas=names)
        except _SchemaError as error:
            return str(error)
        except Exception as error:  # whatever fastavro raises over a schema that anybody wrote
            return f"{type(error).__name__}: {str(error)[:200]}"
        return parsed

    def _in_order(self, schema: ValueSchema) -> list[ValueSchema]:
        """Return the schemas that this one refers to, each after those that it refers to itself."""
        order: list[ValueSchema] = []
        begun: set[int] = {id(schema)}
        stack = [(schema, iter(schema.references))]
        while stack:
            at, rest = stack[-1]
            reference = next(rest, None)
            if reference is None:
                stack.pop()
                if at is not schema:
                    order.append(at)
                continue
            name, subject, version = reference
            found = self._schemas.by_version.get((subject, version))
            if found is None:
                raise _SchemaError(f"it refers to {name}, version {version} of {subject}, which is not known")
            if id(found) not in begun:
                begun.add(id(found))
                if len(begun) > _REFERENCES:
                    raise _SchemaError(f"it refers to more than {_REFERENCES:,} others")
                stack.append((found, iter(found.references)))
        return order


def _plain(schema: Any, level: int = 0) -> Any:
    """Return only those parts of a schema that say how bytes are read; of the logical types, decimals."""
    if level > _LEVELS:
        raise _SchemaError(f"it has more than {_LEVELS} levels")
    if isinstance(schema, str):
        return schema
    if isinstance(schema, list):
        return [_plain(branch, level + 1) for branch in schema]
    if not isinstance(schema, dict) or "type" not in schema:
        raise _SchemaError("a type of it is none")
    kind = schema["type"]
    if not isinstance(kind, str):
        return _plain(kind, level + 1)
    made = {name: schema[name] for name in ("type", "name", "namespace") if isinstance(schema.get(name), str)}
    if made.get("name", "").rpartition(".")[2] in TYPES:  # fastavro reads the type, the walk would follow the name
        raise _SchemaError(f"{made['name']} is no name: it is a type")
    if kind in ("record", "error"):
        fields = schema.get("fields")
        if not isinstance(fields, list) or not all(
            isinstance(one, dict) and isinstance(one.get("name"), str) and "type" in one for one in fields
        ):
            raise _SchemaError("a record lacks its fields")
        made["type"] = "record"
        made["fields"] = [{"name": one["name"], "type": _plain(one["type"], level + 1)} for one in fields]
    elif kind in ("array", "map"):
        of = "items" if kind == "array" else "values"
        if of not in schema:
            raise _SchemaError(f"{'an array' if kind == 'array' else 'a map'} lacks its {of}")
        made[of] = _plain(schema[of], level + 1)
    elif kind == "enum":
        symbols = schema.get("symbols")
        if not isinstance(symbols, list) or not all(isinstance(one, str) for one in symbols):
            raise _SchemaError("an enum lacks its symbols")
        made["symbols"] = symbols
    elif kind == "fixed":
        size = schema.get("size")
        if type(size) is not int or not 0 <= size < 1 << 31:
            raise _SchemaError("a fixed lacks its size")
        made["size"] = size
    if kind in ("bytes", "fixed") and schema.get("logicalType") == "decimal":
        precision, scale = schema.get("precision"), schema.get("scale", 0)
        if type(precision) is int and type(scale) is int and 0 <= scale <= precision <= _DIGITS and precision:
            made |= {"logicalType": "decimal", "precision": precision, "scale": scale}
    return made


class _Walk:
    """Goes along a payload as its schema says."""

    def __init__(self, data: bytes, names: dict[str, Any], most_steps: int) -> None:
        self.steps = 0
        self._most_steps = most_steps
        self._data = data
        self._at = 0
        self._names = names
        self._made = 0
        self._most = min(_PER_BYTE * len(data) + _FREE, _MOST_MADE)

    def check(self, schema: Any) -> None:
        """Raise _PayloadError unless these bytes, all of them, are a value of the schema."""
        stack = [iter((schema,))]
        while stack:
            found = next(stack[-1], None)
            if found is None:
                stack.pop()
                continue
            deeper = self._value(found)
            if deeper is not None:
                stack.append(deeper)
                if len(stack) > _LEVELS:
                    raise _PayloadError(f"it has more than {_LEVELS} levels")
        if self._at < len(self._data):
            raise _PayloadError("bytes are left after it")

    def _value(self, schema: Any) -> Iterator[Any] | None:
        """Pass a value by; of one that has parts, return their schemas as they come."""
        while isinstance(schema, list):
            schema = schema[self._index(len(schema), "branch of a union")]
        if isinstance(schema, str):
            schema = self._names.get(schema, schema)
        kind = schema if isinstance(schema, str) else schema["type"]
        self._make(_NODE)
        self.steps += 1
        if self.steps > self._most_steps:
            raise _SpentError
        match kind:
            case "null":
                pass
            case "boolean":
                if self._take(1) not in (b"\0", b"\1"):
                    raise _PayloadError("it has a boolean that is neither 0 nor 1")
            case "int" | "long":
                number = self._long()
                if kind == "int" and not -(1 << 31) <= number < 1 << 31:
                    raise _PayloadError("it has an int of more than 32 bits")
            case "float":
                self._take(4)
            case "double":
                self._take(8)
            case "bytes" | "string":
                self._sized(self._long(), schema)
            case "fixed":
                self._sized(schema["size"], schema)
            case "enum":
                self._make(len(schema["symbols"][self._index(len(schema["symbols"]), "symbol of an enum")]))
            case "record":
                return self._fields(schema["fields"])
            case "array":
                return self._items(schema["items"])
            case "map":
                return self._entries(schema["values"])
            case _:
                raise _PayloadError("a type of it is not known")
        return None

    def _fields(self, fields: list[dict[str, Any]]) -> Iterator[Any]:
        for one in fields:
            self._make(len(one["name"]))
            yield one["type"]

    def _items(self, items: Any) -> Iterator[Any]:
        while count := self._count():
            for _ in range(count):
                yield items

    def _entries(self, values: Any) -> Iterator[Any]:
        while count := self._count():
            for _ in range(count):
                self._take(self._long())
                yield values

    def _make(self, size: int) -> None:
        self._made += size
        if self._made > self._most:
            too_many = f"it has more than {_MOST_MADE // _NODE:,} parts"
            raise _PayloadError(too_many if self._most == _MOST_MADE else "far more than its bytes would be made of it")

    def _count(self) -> int:
        count = self._long()
        if count < 0:
            self._long()  # the block's size in bytes
        return abs(count)

    def _index(self, count: int, what: str) -> int:
        index = self._long()
        if not 0 <= index < count:
            raise _PayloadError(f"it has a {what} that does not exist")
        return index

    def _sized(self, size: int, schema: Any) -> None:
        if isinstance(schema, dict) and "precision" in schema and size > _DIGITS // 2:
            raise _PayloadError(f"it has a decimal of more than {_DIGITS // 2} bytes")
        self._take(size)

    def _take(self, size: int) -> bytes:
        end = self._at + size
        if size < 0 or end > len(self._data):
            raise _PayloadError("it ends too early, or a size in it is wrong")
        found = self._data[self._at : end] if size == 1 else b""
        self._at = end
        return found

    def _long(self) -> int:
        number = shift = 0
        while True:
            byte = self._take(1)[0]
            number |= (byte & 0x7F) << shift
            if byte < 0x80:
                break
            shift += 7
            if shift > 63:
                raise _PayloadError("it has a number of more than 64 bits")
        if number >> 64:
            raise _PayloadError("it has a number of more than 64 bits")
        return (number >> 1) ^ -(number & 1)


def _finite(value: Any) -> Any:
    """Return what JSON has for a value: bytes are base64, decimals and what is no number are texts."""
    if isinstance(value, dict):
        return {name: _finite(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_finite(one) for one in value]
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, Decimal):
        return f"{value:f}"
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return value

"""Schemas by their ids: from files, from what a registry's REST answers, and from records of its topic ``_schemas``.

The registry's wire format says which: a byte 0, the schema's id in 4 bytes, the payload.
"""

from __future__ import annotations

import errno
import os
import stat
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from kafkalog.errors import UnreadableError
from kafkalog.untrusted import untrusted_json
from kafkalog.values.budget import DecodingBudget
from kafkalog.values.value import Undecoded

__all__ = ["MOST_BYTES", "MOST_SCHEMAS", "SUFFIXES", "TYPES", "Framed", "Schemas", "ValueSchema", "framed"]

AVRO, JSON, PROTOBUF, PROTO_TEXT = "AVRO", "JSON", "PROTOBUF", "PROTOBUF text"

# Of the files in a folder of schemas; those of `protoc -o` have no suffix of their own.
SUFFIXES: Final = (".avsc", ".json", ".proto", ".desc", ".pb", ".protoset", ".bin")

_MOST_BYTES: Final = 16 << 20  # of a file
MOST_BYTES: Final = 64 << 20  # of all schemas
_MOST_OF_ONE: Final = 4 << 20  # that a registry has
MOST_SCHEMAS: Final = 100_000


@dataclass(frozen=True, slots=True)
class ValueSchema:
    """A schema as it was found: JSON of Avro or JSON Schema, text of Protobuf, or the bytes of a FileDescriptorSet.

    JSON stays bytes, which take a twentieth of what is made of them.
    """

    kind: str
    content: Any
    references: tuple[tuple[str, str, int], ...] = ()  # name, subject, version
    name: str = ""


@dataclass(slots=True)
class Schemas:
    """The schemas that are known, and what a run may spend with them.

    One that has no id stands for each id, if it is the only one of its kind.
    `temporary` is the directory in which text of Protobuf is compiled, None for Python's choice.
    """

    by_id: dict[int, ValueSchema] = field(default_factory=dict)
    by_version: dict[tuple[str, int], ValueSchema] = field(default_factory=dict)
    unnumbered: list[ValueSchema] = field(default_factory=list)
    temporary: str | None = None
    budget: DecodingBudget = field(default_factory=DecodingBudget)
    _size: int = 0
    _kept: int = 0

    def __bool__(self) -> bool:
        return bool(self.by_id or self.unnumbered)

    @property
    def are_compiled(self) -> bool:
        """Say whether text of Protobuf is among them, which is compiled."""
        return any(schema.kind == PROTO_TEXT for schema in (*self.by_id.values(), *self.unnumbered))

    def find_schema(self, schema_id: int, *kinds: str) -> ValueSchema | str:
        """Return the schema of an id, or why there is none."""
        found = self.by_id.get(schema_id)
        if found is not None:
            return found if found.kind in kinds else f"schema id {schema_id} is of kind {found.kind}"
        of_kind = [schema for schema in self.unnumbered if schema.kind in kinds]
        if len(of_kind) == 1:
            return of_kind[0]
        if of_kind:
            return f"schema id {schema_id} is not known: of {len(of_kind)} files none is named {schema_id}"
        return f"schema id {schema_id} is not known"

    def add_file(self, path: str | os.PathLike[str]) -> None:
        """Read a file. A name that is a number, as in ``7.avsc``, is the schema's id. Raises UnreadableError."""
        name = os.fspath(path)
        try:
            with open(path, "rb", opener=_regular) as file:
                data = file.read(_MOST_BYTES + 1)
        except OSError as error:
            raise UnreadableError(f"the schema {name} can't be read: {error.strerror}") from error
        if len(data) > _MOST_BYTES:
            raise UnreadableError(f"the schema {name} has more than {_MOST_BYTES:,} bytes")
        stem, suffix = os.path.splitext(os.path.basename(name))
        number = int(stem) if stem.isascii() and stem.isdigit() and len(stem) < 11 else None
        try:
            self._add(number, suffix.lower(), data, name)
        except ValueError as error:
            raise UnreadableError(f"the schema {name} can't be read: {error}") from error

    def _add(self, number: int | None, suffix: str, data: bytes, name: str) -> None:
        if suffix == ".proto":
            self._keep(number, ValueSchema(PROTO_TEXT, data.decode(), name=name), len(data))
        elif suffix not in (".avsc", ".json"):
            self._keep(number, ValueSchema(PROTOBUF, data, name=name), len(data))
        else:
            content = untrusted_json(data)
            listed = content if isinstance(content, list) else [content]
            if listed and all(isinstance(one, dict) and isinstance(one.get("schema"), str) for one in listed):
                for one in listed:
                    if not self.add_registered(one, number):
                        raise ValueError("a schema of the registry lacks its id, or is none")
            else:
                self._keep(number, ValueSchema(_kind_of(content), data, name=name), len(data))

    def add_record(self, value: bytes) -> bool:
        """Take the value of a record of the registry's topic; answer whether it is a schema."""
        if len(value) > 2 * _MOST_OF_ONE:  # its text has escapes
            return False
        try:
            return self.add_registered(untrusted_json(value))
        except ValueError:
            return False

    def add_registered(self, found: Any, number: int | None = None) -> bool:
        """Take what a registry's topic or its REST says of a schema; answer whether it is one."""
        if not isinstance(found, dict) or not isinstance(found.get("schema"), str):
            return False
        schema_id, text = found.get("id", number), found["schema"]
        kind = found.get("schemaType", AVRO)
        if type(schema_id) is not int or not 0 <= schema_id < 1 << 32 or kind not in (AVRO, JSON, PROTOBUF):
            return False
        if len(text) > _MOST_OF_ONE:
            return False
        try:
            content = text if kind == PROTOBUF else text.encode()
            if content is not text:
                untrusted_json(content)
            references = tuple(_reference(one) for one in found.get("references") or ())
        except (ValueError, TypeError):
            return False
        subject, version = found.get("subject"), found.get("version")
        schema = ValueSchema(PROTO_TEXT if kind == PROTOBUF else kind, content, references, f"{subject}")
        told = [text, f"{subject}", *(word for name, of, _ in references for word in (name, of))]
        self._keep(schema_id, schema, sum(map(len, told)))
        if isinstance(subject, str) and type(version) is int:
            self.by_version[subject, version] = schema
        return True

    def _keep(self, number: int | None, schema: ValueSchema, size: int) -> None:
        self._size += size
        self._kept += 1  # also those that another one of the same id replaces: they stay known by their version
        if self._size > MOST_BYTES or self._kept > MOST_SCHEMAS:
            raise UnreadableError(f"there are more than {MOST_SCHEMAS:,} schemas or {MOST_BYTES:,} bytes of them")
        if number is None:
            self.unnumbered.append(schema)
        else:
            self.by_id[number] = schema


def _regular(path: str, flags: int) -> int:
    """Open a file, and wait for none: a FIFO or a device may never give a byte. Raises OSError."""
    descriptor = os.open(path, flags | os.O_NONBLOCK)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "not a regular file")
    return descriptor


def _reference(found: Any) -> tuple[str, str, int]:
    name, subject, version = (found.get(what) if isinstance(found, dict) else None for what in _REFERENCE)
    if not isinstance(name, str) or not isinstance(subject, str) or type(version) is not int:
        raise ValueError("a reference is none")
    return name, subject, version


_REFERENCE: Final = ("name", "subject", "version")
TYPES: Final = {  # of Avro; the last three are fastavro's
    *("null", "boolean", "int", "long", "float", "double", "bytes", "string"),
    *("record", "error", "enum", "array", "map", "fixed"),
    *("union", "error_union", "request"),
}


def _kind_of(content: Any) -> str:
    """Tell Avro's JSON from a JSON Schema."""
    if isinstance(content, dict):
        kind = content.get("type")
        if "$schema" in content or "properties" in content or (isinstance(kind, str) and kind not in TYPES):
            return JSON
    return AVRO if isinstance(content, (dict, list, str)) else JSON


_HEAD: Final = 5


class Framed(NamedTuple):
    """The id of the schema, and where the payload begins."""

    schema_id: int
    start: int = _HEAD


def framed(data: bytes) -> Framed | Undecoded:
    """Read the 5 bytes before a payload."""
    if len(data) < _HEAD:
        return Undecoded("fewer than the 5 bytes before a registry's payload")
    if data[0]:
        return Undecoded("does not begin with the byte 0 of a registry's wire format")
    return Framed(int.from_bytes(data[1:_HEAD], "big"))

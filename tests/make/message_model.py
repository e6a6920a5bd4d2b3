"""Generated messages read in Python, one field after the other: the model of what the kernel's loop must answer.

For each version a schema is turned once into a list of steps, in which neighbours of fixed width are one
``struct.Struct``.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from kafkalog.kafka.message import UNKNOWN_TAGS, Decoded, escaped_text
from kafkalog.kafka.message_primitives import FIXED, MalformedError, Text, uvarint
from kafkalog.kafka.message_schema import EVERY_RELEASE, Array, Message, MessageField, Release, Struct, Value
from message_primitives import (
    Reader,
    Remarks,
    array,
    compact_length,
    fixed,
    or_null,
    plain_length,
    raw,
    refusing,
    string,
    take,
)

__all__ = ["decode"]

_COUNT_IS_BOUNDED: Final[Release] = (4, 4)  # older releases read tagged fields until one of them fails
_MOST_TAGS: Final = 10000
_NUMBERS: Final = ("int8", "int16", "int32", "int64")


def decode(
    message: Message, version: int, data: bytes, *, release: Release = EVERY_RELEASE, text: Text = escaped_text
) -> Decoded:
    """Read `data` as `message` in `version`, with the fields that `release` knows and strings as `text` reads them.

    Raises MalformedError if the bytes are not such a message.
    """
    remarks: Remarks = []
    fields, taken = _reader(message, version, release, text)(data, 0, remarks)
    return Decoded(fields, taken, tuple(remarks))


@lru_cache(maxsize=512)
def _reader(message: Message, version: int, release: Release, text: Text) -> Reader:
    return _Readers(message, version, release, text).structure(message.fields)


class _Readers:
    """Makes the readers of one version of a message."""

    def __init__(self, message: Message, version: int, release: Release, text: Text) -> None:
        self.version = version
        self.counted = max(version, 0)
        self.newest = message.newest_in(release)
        self.release = release
        self.text = text
        self.flexible = version >= message.flexible_since or not message.flexible_since
        self.short = compact_length if self.flexible else plain_length("h")
        self.int = compact_length if self.flexible else plain_length("i")

    def knows(self, field: MessageField) -> bool:
        """Say whether the release's schema has the field in any version."""
        return field.since <= self.newest and field.release <= self.release

    def has(self, field: MessageField) -> bool:
        """Say whether this version has the field."""
        return field.since <= self.counted <= field.until

    def of(self, field: MessageField, kind: str | Array | Struct, name: str) -> Reader:
        """Make the reader of one value of `field`, which has type `kind`."""
        nullable = self.counted >= field.nullable_since and kind is field.type
        if isinstance(kind, Struct):
            if self.version > self.newest:
                return refusing(f"Can't read version {self.version} of {kind.name}")
            reader = self.structure(kind.fields)
            return or_null(name, reader, tagged=field.tag is not None) if nullable else reader
        if isinstance(kind, Array):
            code = FIXED[kind.of] if kind.of in _NUMBERS else ""
            element = self.of(field, kind.of, f"{name} element")
            return array(name, self.int, element, nullable=nullable, code=code)
        if kind in FIXED:
            return fixed([MessageField(name, kind)])
        if kind == "string":
            return string(name, self.short, self.text, nullable=nullable)
        return raw(name, self.int, nullable=nullable)

    def structure(self, fields: tuple[MessageField, ...]) -> Reader:
        """Make the reader of a structure."""
        known = [field for field in fields if self.knows(field)]
        steps = self.steps([field for field in known if field.tag is None and self.has(field)])
        tags = self.tags([field for field in known if field.tag is not None]) if self.flexible else None
        order = tuple(field.name for field in known)

        def read(data: bytes, at: int, remarks: Remarks) -> tuple[Value, int]:
            row: dict[str, Value] = {}
            for name, names, reader in steps:
                value, at = reader(data, at, remarks)
                if name:
                    row[name] = value
                else:
                    row.update(zip(names, value, strict=True))
            if tags is None:
                return row, at
            found, at = tags(data, at, remarks)
            if found:
                row.update(found)
                row = {name: row[name] for name in (*order, UNKNOWN_TAGS) if name in row}
            return row, at

        return read

    def steps(self, fields: list[MessageField]) -> list[tuple[str, tuple[str, ...], Reader]]:
        """Make the readers of fields that are not tagged: of one, by its name, or of several, by their names."""
        steps: list[tuple[str, tuple[str, ...], Reader]] = []
        run: list[MessageField] = []
        for field in (*fields, None):
            if field is not None and field.type in FIXED:
                run.append(field)
                continue
            if run:
                names = tuple(one.name for one in run)
                steps.append((names[0] if len(run) == 1 else "", names, fixed(run)))
                run = []
            if field is not None:
                steps.append((field.name, (), self.of(field, field.type, field.name)))
        return steps

    def tags(self, fields: list[MessageField]) -> Reader:
        """Make the reader of a structure's tagged fields: it gives the fields that it found, or None."""
        readers = {field.tag: self.tagged(field) for field in fields}
        known = {field.tag: (field.name, field.fallback) for field in fields}
        bounded = self.release >= _COUNT_IS_BOUNDED

        def read(data: bytes, at: int, remarks: Remarks) -> tuple[Value, int]:
            if at < len(data) and not data[at]:  # the usual case: no tagged field
                return None, at + 1
            count, at = uvarint(data, at, "the count of tagged fields")
            if bounded:
                _check_count(count, data, at)
            found: dict[str, Value] = {}
            before = -1
            for _ in range(count):
                tag, at = uvarint(data, at, "a tag")
                size, at = uvarint(data, at, "a tagged field's size")
                if tag <= before:
                    remarks.append(f"tag {tag} comes after tag {before}")
                before = tag
                if tag not in known:
                    content, at = take(data, at, size, f"tag {tag}")
                    found.setdefault(UNKNOWN_TAGS, []).append([tag, content])
                    continue
                name, fallback = known[tag]
                found[name], end = readers[tag](data, at, remarks)
                if end - at != size:
                    remarks.append(f"{name} takes {end - at} bytes, but its tag's size is {size}")
                at = end
                if found[name] == fallback:
                    del found[name]
            return found, at

        return read

    def tagged(self, field: MessageField) -> Reader:
        """Make the reader of a tagged field's content."""
        if not self.has(field):
            return refusing(f"Tag {field.tag} is not valid for version {self.version}")
        return self.of(field, field.type, field.name)


def _check_count(count: int, data: bytes, at: int) -> None:
    left = len(data) - at
    if count < 0:
        kafka = f"Invalid negative number of tagged fields {count}"
    elif count > left:
        kafka = f"Tried to read {count} tagged fields, but there are only {left} bytes remaining."
    elif count > _MOST_TAGS:
        kafka = f"Tried to read {count} tagged fields, which exceeds the maximum allowed count of {_MOST_TAGS}."
    else:
        return
    raise MalformedError(f"{count} tagged fields are declared before {at}, but only {left} bytes are left", kafka)

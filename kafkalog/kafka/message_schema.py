"""How a generated message of Kafka's is declared: names, types and versions, as data.

A message has versions; from `flexible_since` on, strings, bytes and arrays have a uvarint of their length plus one and
every structure ends in tagged fields (KIP-482). Field names are Kafka's own, in the spelling of its JSON. A release
older than a field or a version reads without it, as that release's tools do.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, NamedTuple, TypeAlias

__all__ = [
    "BY_TYPE",
    "EVERY_RELEASE",
    "NEVER",
    "ZERO_UUID",
    "Array",
    "Message",
    "MessageField",
    "Release",
    "Struct",
    "Value",
]

Value: TypeAlias = Any  # int, float, bool, str, bytes, None, a list of values or a dict of them
Release: TypeAlias = tuple[int, int]

EVERY_RELEASE: Final[Release] = (99, 0)  # knows what any release does
NEVER: Final = 1 << 15  # above every version
ZERO_UUID: Final = "A" * 22
BY_TYPE: Final = object()  # a default that is zero, empty or false

_PLAIN: Final[dict[str, Value]] = {"bool": False, "float64": 0.0, "string": "", "bytes": b"", "uuid": ZERO_UUID}


class Array(NamedTuple):
    """An array of one type."""

    of: str | Struct


class Struct(NamedTuple):
    """A nested structure."""

    name: str
    fields: tuple[MessageField, ...]


class MessageField(NamedTuple):
    """A field of a message: its type, the versions that have it, up to `until`, and those in which it may be null.

    The plain types are ``bool``, ``int8`` to ``int64``, ``uint16``, ``uint32``, ``float64``, ``string``, ``bytes`` and
    ``uuid``. A field with a `tag` is left out if it has its default. `release` is the first that knows the field, if
    the field was added to a version that older releases have without it.
    """

    name: str
    type: str | Array | Struct
    since: int = 0
    until: int = NEVER
    nullable_since: int = NEVER
    tag: int | None = None
    default: Value = BY_TYPE
    release: Release = (0, 0)

    @property
    def fallback(self) -> Value:
        """Return the value of a missing field: its default, otherwise zero, empty or false."""
        if self.default is not BY_TYPE:
            return self.default
        if isinstance(self.type, Array):
            return []
        if isinstance(self.type, Struct):
            return {field.name: field.fallback for field in self.type.fields}
        return _PLAIN.get(self.type, 0)


@dataclass(frozen=True, slots=True, eq=False)
class Message:
    """A schema, named as Kafka names it.

    `older` gives the newest version of the releases up to one, as in ``((4, 2), 3)``.
    """

    name: str
    fields: tuple[MessageField, ...]
    flexible_since: int = 0
    newest: int = 0
    older: tuple[Release, int] | None = None

    def newest_in(self, release: Release) -> int:
        """Return the newest version that the release knows."""
        if self.older is not None and release <= self.older[0]:
            return self.older[1]
        return self.newest

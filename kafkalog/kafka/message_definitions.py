"""Kafka's message definitions as data: files of JSON in Kafka's own shape, read into schemas.

``kafka/messages/`` has a folder for each internal topic, one for control records and one for the consumer protocol,
and in them a file for each message, so that a new message is a new file. They hold facts only: names, types, versions.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cache
from typing import Any, Final, NamedTuple

from kafkalog.kafka.message_primitives import FIXED
from kafkalog.kafka.message_schema import (
    BY_TYPE,
    EVERY_RELEASE,
    NEVER,
    Array,
    Message,
    MessageField,
    Release,
    Struct,
    Value,
)

__all__ = [
    "FIELDS_SINCE",
    "RECORDS_BETWEEN",
    "VERSIONS_UP_TO",
    "Definition",
    "DefinitionError",
    "definition",
    "definitions",
    "message",
]


# Which release of Kafka added what: an older release is read without it, as that release's tools do.
#
# Kafka's message definitions say what a version has, not which release knows the version. That is here, from 4.2 on,
# the oldest release whose text kafkalog writes. `make messages` compares both with a release.


# Message: the newest version that releases up to one know.
VERSIONS_UP_TO: Final[dict[str, tuple[Release, int]]] = {
    "BrokerRegistrationChangeRecord": ((4, 2), 2),
    "LegacyOffsetCommitValue": ((98, 0), 0),  # from 4.1 on; before, its key went with values of all versions
    "RegisterBrokerRecord": ((4, 2), 3),
}

# Message: the first release with a field that was added to a version which older releases have without it.
FIELDS_SINCE: Final[dict[str, dict[str, Release]]] = {
    "ConsumerGroupCurrentMemberAssignmentValue": {"assignmentEpochs": (4, 3)},
    "ConsumerGroupTargetAssignmentMetadataValue": {"assignmentTimestamp": (4, 3)},
    "ShareGroupTargetAssignmentMetadataValue": {"assignmentTimestamp": (4, 3)},
    "StreamsGroupMetadataValue": {
        "storedDescriptionTopologyEpoch": (4, 4),
        "failedDescriptionTopologyEpoch": (4, 4),
    },
    "StreamsGroupTargetAssignmentMetadataValue": {"assignmentTimestamp": (4, 3)},
}

# Kind of record: the first and the last release with it.
RECORDS_BETWEEN: Final[dict[str, tuple[Release, Release]]] = {
    "ShareGroupPartitionMetadata": ((0, 0), (4, 0)),
    "UnregisterControllerRecord": ((4, 4), EVERY_RELEASE),
}


_MESSAGES: Final = "messages"

_PLAIN: Final = {*FIXED, "string", "bytes"}

_TYPES: Final = frozenset({"coordinator-key", "coordinator-value", "data", "metadata"})

_NONE: Final = (NEVER, NEVER)

# What Kafka's generator uses these for does not concern the bytes of a record.
_UNREAD: Final = frozenset({"about", "entityType", "ignorable", "mapKey", "zeroCopy"})

_OF_A_MESSAGE: Final = frozenset({
    "apiKey", "commonStructs", "fields", "flexibleVersions", "name", "type", "validVersions",
})  # fmt: skip

_OF_A_STRUCT: Final = frozenset({"fields", "name", "versions"})

_OF_A_FIELD: Final = _UNREAD | {
    "default", "fields", "name", "nullableVersions", "tag", "taggedVersions", "type", "versions",
}  # fmt: skip


class DefinitionError(ValueError):
    """A message definition that can't be read; it names the file, the field and what is wrong."""


class Definition(NamedTuple):
    """What a file defines: `type` is Kafka's word for the kind of message, `number` that of its kind of record."""

    type: str
    number: int | None
    message: Message


@cache
def definitions(folder: str) -> Mapping[str, Definition]:
    """Return the definitions of a folder by the names of their messages; they are read once."""
    import json  # a dump without a decoder does not need it

    found = (definition(f"{_MESSAGES}/{folder}/{name}", json.loads(text)) for name, text in sorted(_files(folder)))
    return {one.message.name: one for one in found}


def message(folder: str, name: str) -> Message:
    """Return the schema of one message."""
    return definitions(folder)[name].message


def definition(file: str, data: dict[str, Any]) -> Definition:
    """Read one definition, that of a file whose JSON is `data`.

    Raises DefinitionError for anything that is not known here: nothing is skipped silently.
    """
    return _Reading(file, data).definition()


def _files(folder: str) -> Iterator[tuple[str, bytes]]:
    place = os.path.join(os.path.dirname(__file__), _MESSAGES, folder)
    if os.path.isdir(place):
        for name in os.listdir(place):
            if name.endswith(".json"):
                with open(os.path.join(place, name), "rb") as file:
                    yield name, file.read()
        return
    from importlib import resources  # takes 10 ms to import: only for a zip

    for packed in resources.files(__package__).joinpath(_MESSAGES, folder).iterdir():
        if packed.name.endswith(".json"):
            yield packed.name, packed.read_bytes()


class _Reading:
    """Reads the definition of one file."""

    def __init__(self, file: str, data: dict[str, Any]) -> None:
        self.file = file
        self.name = name = str(data.get("name"))
        self.check(name, data, _OF_A_MESSAGE, _OF_A_MESSAGE - {"apiKey", "commonStructs"})
        if data["type"] not in _TYPES:
            raise self.error(name, f"unknown type {data['type']}")
        self.data = data
        self.releases = FIELDS_SINCE.get(name, {})
        self.rows: dict[str, list[dict[str, Any]]] = {}  # fields of the structures that several fields share
        self.structs: dict[str, Struct] = {}
        for struct in data.get("commonStructs", ()):
            self.check(str(struct.get("name")), struct, _OF_A_STRUCT, _OF_A_STRUCT)
            self.rows[struct["name"]] = struct["fields"]
        first, self.newest = self.versions(name, data["validVersions"])
        if first or self.newest == NEVER:
            raise self.error(name, f"validVersions {data['validVersions']} do not begin with 0 or do not end")

    def definition(self) -> Definition:
        message = Message(
            self.name,
            self.fields(self.data["fields"]),
            flexible_since=self.since(self.name, self.data["flexibleVersions"]),
            newest=self.newest,
            older=VERSIONS_UP_TO.get(self.name),
        )
        return Definition(self.data["type"], self.data.get("apiKey"), message)

    def fields(self, rows: list[dict[str, Any]]) -> tuple[MessageField, ...]:
        return tuple(map(self.field, rows))

    def field(self, row: dict[str, Any]) -> MessageField:
        where = str(row.get("name"))
        # A field that is tagged in all of its versions need not say in which ones.
        self.check(where, row, _OF_A_FIELD, {"name", "type", "taggedVersions" if "tag" in row else "versions"})
        since, until = self.versions(where, row["versions"] if "versions" in row else row["taggedVersions"])
        tagged = self.versions(where, row.get("taggedVersions", "none"))
        if tagged != ((since, until) if "tag" in row else _NONE):
            raise self.error(where, "a field must have a tag in all of its versions or in no version")
        name = where[:1].lower() + where[1:]  # as in Kafka's JSON of records
        nullable_since = self.since(where, row.get("nullableVersions", "none"))
        kind = self.kind(where, row)
        default = self.default(where, row.get("default"), kind, nullable_since)
        release = self.releases.get(name, (0, 0))
        return MessageField(name, kind, since, until, nullable_since, row.get("tag"), default, release)

    def kind(self, where: str, row: dict[str, Any]) -> str | Array | Struct:
        word = str(row["type"])
        name = word.removeprefix("[]")
        of: str | Struct
        if name in _PLAIN and "fields" not in row:
            of = name
        elif name not in _PLAIN and "fields" in row:
            of = Struct(name, self.fields(row["fields"]))
        elif name in self.rows:
            of = self.common(name)
        else:
            raise self.error(where, f"unknown type {word}")
        return of if word == name else Array(of)

    def common(self, name: str) -> Struct:
        if name not in self.structs:
            self.structs[name] = Struct(name, self.fields(self.rows[name]))
        return self.structs[name]

    def default(self, where: str, said: Value, kind: str | Array | Struct, nullable_since: int) -> Value:
        """Read a default, which Kafka's files write as a value or as its text.

        To Kafka's generator JSON's null is no default; a default of null is the text ``null``.
        """
        if said is None:
            return BY_TYPE
        if said == "null" and nullable_since != NEVER:
            return None
        if kind == "bool" and said in (True, False, "true", "false"):
            return said in (True, "true")
        if kind == "string" and isinstance(said, str):
            return said
        if isinstance(kind, str) and "int" in kind and not isinstance(said, bool):
            with suppress(ValueError):
                return int(str(said), 0)
        raise self.error(where, f"{said!r} is not a default of type {self.word(kind)}")

    def word(self, kind: str | Array | Struct) -> str:
        if isinstance(kind, Array):
            return f"[]{self.word(kind.of)}"
        return kind.name if isinstance(kind, Struct) else kind

    def since(self, where: str, text: object) -> int:
        """Return the first of versions that include the message's newest."""
        since, until = self.versions(where, text)
        if until < self.newest:
            raise self.error(where, f"versions {text} end before version {self.newest} of the message")
        return since

    def versions(self, where: str, text: object) -> tuple[int, int]:
        """Read versions, which are ``none``, one, from one on, or from one to another."""
        words = str(text)
        first, mark, last = words.removesuffix("+").partition("-")
        if words == "none":
            return _NONE
        if not first.isdecimal() or (mark and not last.isdecimal()) or (mark and words.endswith("+")):
            raise self.error(where, f"{words} is not a range of versions")
        return int(first), int(last) if mark else NEVER if words.endswith("+") else int(first)

    def check(self, where: str, row: dict[str, Any], known: frozenset[str], needed: set[str] | frozenset[str]) -> None:
        if unknown := sorted(row.keys() - known):
            raise self.error(where, f"unknown attribute {unknown[0]}")
        if missing := sorted(needed - row.keys()):
            raise self.error(where, f"attribute {missing[0]} is missing")

    def error(self, where: str, what: str) -> DefinitionError:
        return DefinitionError(f"{self.file}: {where}: {what}")

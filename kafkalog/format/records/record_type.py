"""How a kind of record of an internal topic is declared."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final, NamedTuple

from kafkalog.format.definitions import Definition
from kafkalog.format.releases import RECORDS_BETWEEN
from kafkalog.format.schema import EVERY_RELEASE, Message, Release

__all__ = ["RecordType", "declared_types"]

_ALWAYS: Final[tuple[Release, Release]] = ((0, 0), EVERY_RELEASE)


class RecordType(NamedTuple):
    """A kind of record: its number, Kafka's name, and its schemas. Records of metadata topics have no key.

    Releases from `first` to `last` know it; ``EVERY_RELEASE`` means all of them together.
    """

    number: int
    name: str
    key: Message | None
    value: Message
    first: Release = (0, 0)
    last: Release = EVERY_RELEASE

    def known_in(self, release: Release) -> bool:
        """Say whether the release has this kind."""
        return release == EVERY_RELEASE or self.first <= release <= self.last


def declared_types(definitions: Collection[Definition]) -> dict[int, RecordType]:
    """Return the kinds of records of one topic's definitions by their numbers; key and value have the same number."""
    keys = {one.number: one.message for one in definitions if one.type == "coordinator-key"}
    found = {}
    for one in definitions:
        if one.number is not None and one.type != "coordinator-key":
            name = one.message.name.removesuffix("Value")
            found[one.number] = RecordType(
                one.number, name, keys.get(one.number), one.message, *RECORDS_BETWEEN.get(name, _ALWAYS)
            )
    return dict(sorted(found.items()))

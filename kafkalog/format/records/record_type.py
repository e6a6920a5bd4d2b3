"""What a kind of record of an internal topic is declared with."""

from __future__ import annotations

from typing import Final, NamedTuple

from kafkalog.format.schema import EVERY_RELEASE, NEVER, Field, Message, Release

__all__ = ["GROUP", "MEMBER", "RecordType", "keyed"]

GROUP: Final = (Field("groupId", "string"),)
MEMBER: Final = (*GROUP, Field("memberId", "string"))


class RecordType(NamedTuple):
    """A kind of record: its number, Kafka's name, and its schemas. Records of metadata topics have no key.

    Releases from `first` to `last` know it; ``EVERY_RELEASE`` stands for all of them together.
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


def keyed(name: str, *fields: Field) -> Message:
    """Declare a key: keys have one version and are never flexible."""
    return Message(name, fields, flexible_since=NEVER)

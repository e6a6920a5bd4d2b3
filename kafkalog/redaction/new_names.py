"""Names of topics, groups, transactional ids, clients and hosts, kept or made anew.

A new name has the bytes of the old one in number. That of a group or a transactional id has the partition of the
coordinator's topic that Kafka's hash gave the old one, so that a record stays in the right partition.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from enum import StrEnum
from typing import Final

from kafkalog.errors import UnsupportedError
from kafkalog.kafka.internal_topics import coordinator_partition
from kafkalog.redaction.keyed_bytes import KeyedBytes
from kafkalog.segments.internal_blocks import TOPICS

__all__ = ["NameChoice", "NameKind", "NewNames"]

_TRIES: Final = 1 << 14  # of letters and digits, then as many of any printable character
_PRINTABLE: Final = bytes(33 + number % 94 for number in range(256))
_LETTERS: Final = bytes(b"abcdefghijklmnopqrstuvwxyz0123456789"[number % 36] for number in range(256))


class NameChoice(StrEnum):
    """What becomes of names."""

    HASH = "hash"
    KEEP = "keep"


class NameKind(StrEnum):
    """What has a name; each kind is renamed apart."""

    TOPIC = "topic"
    GROUP = "group"
    TRANSACTIONAL_ID = "transactional-id"
    CLIENT = "client"
    HOST = "host"
    HEADER = "header"
    CLUSTER = "cluster"


class NewNames:
    """The names of one redaction: what it did with each.

    `partitions` are how many the topic has that a kind of name is hashed to; several numbers where it is not known.
    """

    def __init__(self, names: NameChoice, salt: bytes, partitions: Mapping[NameKind, Collection[int]]) -> None:
        self.names = names
        self.made: dict[NameKind, dict[bytes, bytes]] = defaultdict(dict)
        self._partitions = partitions
        self._taken: dict[NameKind, set[bytes]] = defaultdict(set)
        self._keyed = {kind: KeyedBytes(salt, kind.value) for kind in NameKind}

    def of(self, kind: NameKind, name: bytes) -> bytes:
        """Return the name to write instead. Raises UnsupportedError if a short one leaves no other."""
        if (
            self.names is NameChoice.KEEP
            or not name
            or (kind is NameKind.TOPIC and name.decode("utf-8", "replace") in TOPICS)
        ):
            return name
        known = self.made[kind].get(name)
        if known is None:
            known = self.made[kind][name] = self._new(kind, name)
            self._taken[kind].add(known)
        return known

    def _new(self, kind: NameKind, name: bytes) -> bytes:
        wanted = {total: _partition(name, total) for total in self._partitions.get(kind, ())}
        for number in range(2 * _TRIES):
            letters = _LETTERS if number < _TRIES or kind is NameKind.TOPIC else _PRINTABLE
            made = self._keyed[kind].digest(number.to_bytes(2, "big") + name, len(name)).translate(letters)
            if made == name or made in self._taken[kind]:
                continue
            if all(_partition(made, total) == partition for total, partition in wanted.items()):
                return made
        raise UnsupportedError(
            f"no other name of {len(name)} bytes is left for a {kind.value} that Kafka's hash gives the same partition:"
            f" keep names with --names {NameChoice.KEEP}"
        )


def _partition(name: bytes, total: int) -> int:
    return coordinator_partition(name.decode("utf-8", "replace"), total)  # as Kafka reads a name from a message

"""Names of topics, groups, transactional ids, clients and hosts: kept, made anew, or as a map gives them.

A new name has the bytes of the old one in number. That of a group or a transactional id has the partition of the
coordinator's topic that Kafka's hash gave the old one, so that a record stays in the right partition. A shorter name of
a map is the beginning of one for which both is true.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from enum import StrEnum
from typing import Final

from kafkalog.errors import UnsupportedError
from kafkalog.files.names import OFFSETS_TOPIC, STATE_TOPIC
from kafkalog.kafka.internal_topics import coordinator_partition
from kafkalog.redaction.keyed_bytes import KeyedBytes
from kafkalog.segments.internal_blocks import TOPICS

__all__ = ["COORDINATORS", "NameChoice", "NameKind", "NewNames"]

_TRIES: Final = 1 << 14  # of letters and digits, then as many of any printable character
_PRINTABLE: Final = bytes(33 + number % 94 for number in range(256))
_LEGAL: Final = re.compile(rb"(?!\.{1,2}$)[A-Za-z0-9._-]+")  # of a topic
_LETTERS: Final = bytes(b"abcdefghijklmnopqrstuvwxyz0123456789"[number % 36] for number in range(256))


class NameChoice(StrEnum):
    """What becomes of names."""

    HASH = "hash"
    KEEP = "keep"
    MAP = "map"


class NameKind(StrEnum):
    """What has a name; each kind is renamed apart."""

    TOPIC = "topic"
    GROUP = "group"
    TRANSACTIONAL_ID = "transactional-id"
    CLIENT = "client"
    HOST = "host"
    HEADER = "header"
    CLUSTER = "cluster"


COORDINATORS: Final = {NameKind.GROUP: OFFSETS_TOPIC, NameKind.TRANSACTIONAL_ID: STATE_TOPIC}


class NewNames:
    """The names of one redaction: what it did with each.

    `partitions` are how many the topic has that a kind of name is hashed to; several numbers where it is not known.
    `given` are the new names of old ones, by their kinds. Raises UnsupportedError for one that can't be written.
    """

    def __init__(
        self, names: NameChoice, salt: bytes, partitions: Mapping[NameKind, Collection[int]],
        given: Mapping[str, Mapping[str, str]] | None = None,
    ) -> None:  # fmt: skip
        self.names = names
        self.made: dict[NameKind, dict[bytes, bytes]] = defaultdict(dict)
        self._partitions = partitions
        self._taken: dict[NameKind, set[bytes]] = defaultdict(set)
        self._keyed = {kind: KeyedBytes(salt, kind.value) for kind in NameKind}
        for kind, old, new in _of_map(given or {}):
            self.made[kind][old] = made = self._given(kind, old, new)
            if made in self._taken[kind]:
                raise UnsupportedError(f"{kind.value}: two names would be {_shown(made)}")
            self._taken[kind].add(made)

    def of(self, kind: NameKind, name: bytes) -> bytes:
        """Return the name to write instead. Raises UnsupportedError if a short one leaves no other."""
        if self.names is NameChoice.KEEP or not name or (kind is NameKind.TOPIC and _text(name) in TOPICS):
            return name
        known = self.made[kind].get(name)
        if known is None:
            known = self.made[kind][name] = self._new(kind, name)
            self._taken[kind].add(known)
        return known

    def _given(self, kind: NameKind, old: bytes, new: bytes) -> bytes:
        """Return the name of a map as it is written; a shorter one goes on with letters."""
        what = f"{kind.value} {_shown(old)}: the new name {_shown(new)}"
        if kind is NameKind.TOPIC and (_text(old) in TOPICS or _text(new) in TOPICS or not _LEGAL.fullmatch(new)):
            raise UnsupportedError(f"{what} is none that a topic of yours may have")
        if len(new) > len(old):
            raise UnsupportedError(
                f"{what} has {len(new)} bytes, and the old one {len(old)}: a new name can't be longer, as records"
                " have no room for it"
            )
        if len(new) < len(old):
            return self._new(kind, old, new)
        for total in self._partitions.get(kind, ()):
            was, is_now = _partition(old, total), _partition(new, total)
            if was != is_now:
                raise UnsupportedError(
                    f"{what} would be in partition {is_now} of {COORDINATORS[kind]} by Kafka's hash, and its records"
                    f" are in {was}: give some bytes less, and letters behind them are found that keep the partition"
                )
        return new

    def _new(self, kind: NameKind, name: bytes, start: bytes = b"") -> bytes:
        """Return a name that nobody has; `start` is how it begins."""
        wanted = {total: _partition(name, total) for total in self._partitions.get(kind, ())}
        size = len(name) - len(start)
        for number in range(2 * _TRIES):
            letters = _LETTERS if number < _TRIES or kind is NameKind.TOPIC else _PRINTABLE
            made = start + self._keyed[kind].digest(number.to_bytes(2, "big") + name, size).translate(letters)
            if made == name or made in self._taken[kind]:
                continue
            if all(_partition(made, total) == partition for total, partition in wanted.items()):
                return made
        raise UnsupportedError(
            f"no other name of {len(name)} bytes{f' that begins with {_shown(start)}' if start else ''} is left for a"
            f" {kind.value} that Kafka's hash gives the same partition: "
            + ("give a shorter one" if start else f"keep names with --names {NameChoice.KEEP}")
        )


def _of_map(given: Mapping[str, Mapping[str, str]]) -> Iterator[tuple[NameKind, bytes, bytes]]:
    """Yield the names of a map with their kinds. Raises UnsupportedError for another kind."""
    for kind, names in given.items():
        if kind not in set(NameKind):
            raise UnsupportedError(f"{kind!r:.80} is no kind of name: {', '.join(NameKind)}")
        for old, new in names.items():
            yield NameKind(kind), old.encode("utf-8", "surrogateescape"), new.encode("utf-8", "surrogateescape")


def _text(name: bytes) -> str:
    return name.decode("utf-8", "replace")


def _shown(name: bytes) -> str:
    return f"{_text(name)!r:.200}"


def _partition(name: bytes, total: int) -> int:
    return coordinator_partition(_text(name), total)  # as Kafka reads a name from a message

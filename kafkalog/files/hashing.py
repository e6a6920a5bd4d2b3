"""A source whose bytes are hashed while they are read: one read gives the data and its hash."""

from __future__ import annotations

import hashlib
from contextlib import closing
from typing import TYPE_CHECKING, Final

from kafkalog.files.opening import open_source

if TYPE_CHECKING:
    from kafkalog.files.opening import SizedSource

__all__ = ["HashedSource", "sized_hash"]

_PIECE: Final = 1 << 20


class HashedSource:
    """A source around a file's source. All bytes are hashed in order, also those that a reader skips."""

    def __init__(self, source: SizedSource, name: str) -> None:
        self.name = source.name
        self.is_cut = source.is_cut
        self.source = source
        self._digest = hashlib.new(name)
        self._hashed = 0

    @property
    def size(self) -> int:
        return self.source.size

    def read_into(self, position: int, view: memoryview, least: int, /) -> int:
        got = self.source.read_into(position, view, least)
        if position <= self._hashed < position + got:
            self._digest.update(view[self._hashed - position : got])
            self._hashed = position + got
        return got

    def read_bytes(self, position: int, size: int) -> bytes:
        return self.source.read_bytes(position, size)

    def release(self, position: int) -> None: ...

    def close(self) -> None:
        self.source.close()

    def changes(self) -> str | None:
        return self.source.changes()

    def hexdigest(self) -> str:
        """Return the hash of all bytes; those that were not read yet are read now.

        Raises UnreadableError if they can't be read.
        """
        while data := self.source.read_bytes(self._hashed, _PIECE):
            self._digest.update(data)
            self._hashed += len(data)
        return self._digest.hexdigest()


def sized_hash(path: str, *, max_bytes: int | None = None) -> tuple[int, str]:
    """Return a file's size and SHA-256; with `max_bytes` those of its beginning. Raises UnreadableError."""
    with closing(open_source(path, max_bytes=max_bytes)) as source:
        return source.size, HashedSource(source, "sha256").hexdigest()

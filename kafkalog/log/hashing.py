"""A source whose bytes are hashed while somebody reads them: one read gives the data and its checksum."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from kafkalog.log.files import SizedSource

__all__ = ["HASHES", "HashedSource"]

HASHES: Final = ("sha256",)
_PIECE: Final = 1 << 20


class HashedSource:
    """Passes on what a file's source gives. Bytes are hashed in order, those that a reader jumps over too."""

    def __init__(self, source: SizedSource, name: str) -> None:
        self.name = source.name
        self.is_cut = source.is_cut
        self.hash = name
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

    def read(self, position: int, size: int) -> bytes:
        return self.source.read(position, size)

    def release(self, position: int) -> None: ...

    def close(self) -> None:
        self.source.close()

    def changes(self) -> str | None:
        return self.source.changes()

    def hexdigest(self) -> str:
        """Return the checksum of all bytes; those that nobody asked for are read now.

        Raises UnreadableError where they can't be.
        """
        while data := self.source.read(self._hashed, _PIECE):
            self._digest.update(data)
            self._hashed += len(data)
        return self._digest.hexdigest()

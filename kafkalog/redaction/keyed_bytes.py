"""Other bytes of the same length: equal ones stay equal, unlike ones unlike, and without the salt nothing leads back.

Short bytes go through a permutation of all bytes of their length, so that no two of them become one: a topic keyed by
one byte keeps its 256 keys. From nine bytes on it is a keyed hash, repeated to the length: what compressed well does so
again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Final

__all__ = ["SALT_BYTES", "KeyedBytes"]

SALT_BYTES: Final = 32
_DIGEST: Final = 32  # bytes of a hash
_PERMUTED: Final = 8  # bytes up to which it is a permutation
_ROUNDS: Final = (0, 10, 10, 10, 4, 4, 4, 4, 4)  # of it, by the bytes; tiny halves need more than four
_KEPT: Final = 64  # bytes of what is remembered: keys repeat, values seldom
_REMEMBERED: Final = 1 << 16
_TEXT: Final = bytes(b"abcdefghijklmnopqrstuvwxyz234567"[number & 31] for number in range(256))


class KeyedBytes:
    """Makes other bytes under one secret salt; `purpose` is what they are, so that a key says nothing of a value."""

    def __init__(self, salt: bytes, purpose: str) -> None:
        self._hash = hashlib.blake2b(key=salt, person=purpose.encode(), digest_size=_DIGEST)
        self._short: Callable[[bytes], bytes] = lru_cache(_REMEMBERED)(self._permuted)
        self._some: Callable[[bytes], bytes] = lru_cache(_REMEMBERED)(self._repeated)

    def like(self, data: bytes) -> bytes:
        """Return other bytes of the same length."""
        made = bytearray(data)
        self.replace(made, [(0, len(data))])
        return bytes(made)

    def replace(self, data: bytearray | memoryview, places: Iterable[tuple[int, int]]) -> None:
        """Put other bytes in the place of those at some places, each a position with a size; 0 or less is nothing."""
        view, copy, some, short = memoryview(data), self._hash.copy, self._some, self._short
        for start, size in places:
            if size > _KEPT:
                stop = start + size
                made = copy()  # as `digest` does, once for each record
                made.update(view[start:stop])
                view[start:stop] = (made.digest() * (size // _DIGEST + 1))[:size]
            elif size > _PERMUTED:
                view[start : start + size] = some(bytes(view[start : start + size]))
            elif size > 0:
                view[start : start + size] = short(bytes(view[start : start + size]))

    def text_like(self, data: bytes) -> bytes:
        """Return letters and digits, as many as there are bytes; short ones may become the same."""
        return self.digest(data, len(data)).translate(_TEXT)

    def digest(self, data: bytes, size: int) -> bytes:
        """Return `size` bytes that depend on the data and the salt alone."""
        made = self._hash.copy()
        made.update(data)
        found = made.digest()
        return (found * (size // _DIGEST + 1))[:size]

    def _repeated(self, data: bytes) -> bytes:
        return self.digest(data, len(data))

    def _permuted(self, data: bytes) -> bytes:
        """Permute all bytes of this length: a Feistel network of two halves, or of the bits of one byte."""
        size = len(data)
        if size < 2:
            return bytes((self._permuted_byte(data[0]),)) if data else b""
        left, right = data[: size // 2], data[size // 2 :]
        for number in range(_ROUNDS[size]):
            mask = int.from_bytes(self.digest(bytes((size, number)) + right, len(left)), "big")
            left, right = right, (int.from_bytes(left, "big") ^ mask).to_bytes(len(left), "big")
        return left + right

    def _permuted_byte(self, byte: int) -> int:
        left, right = byte >> 4, byte & 15
        for number in range(_ROUNDS[1]):
            left, right = right, left ^ (self.digest(bytes((1, number, right)), 1)[0] & 15)
        return left << 4 | right

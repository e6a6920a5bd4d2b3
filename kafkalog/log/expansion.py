"""How much one reading of a file may decompress in all: 64 MiB may hold streams of a terabyte.

A batch that is decoded again in the same reading costs nothing more. After the first batch that does not fit, no
compressed batch of the file is decompressed; headers, CRCs and records that are not compressed are read as before.
"""

from __future__ import annotations

from typing import Final

from kafkalog.findings import Finding

__all__ = ["OVER_BUDGET", "Expansion", "default_budget"]

OVER_BUDGET: Final = "expansion-over-budget"
_MOST: Final = 8 << 30
_TIMES: Final = 1000
_ALWAYS: Final = 1 << 30
_ENDLESS: Final = 1 << 62


def default_budget(size: int | None) -> int:
    """Return how many bytes a file of `size` bytes may decompress to; a stream's size is not known."""
    return (_MOST if size is None else min(_MOST, _TIMES * size)) + _ALWAYS


class Expansion:
    """The decompressed bytes of one reading of a file: those that are left, and the batches that got none."""

    __slots__ = ("_counted", "_last_offset", "_left", "_left_out", "_limit", "_next", "_seen", "_stopped")

    def __init__(self, limit: int) -> None:
        self._limit = self._left = limit
        self._counted = self._seen = -1  # positions of the last batches that were counted, and left out
        self._stopped = _ENDLESS
        self._next = self._left_out = self._last_offset = 0

    def room(self, position: int) -> int:
        """Return how many bytes the batch at `position` may decompress to, below 0 if it is not to be decompressed."""
        if position >= self._stopped:
            if position > self._seen:
                self._seen = position
                self._left_out += 1
            return -1
        return _ENDLESS if position <= self._counted else self._left

    def take(self, position: int, size: int) -> None:
        """Count what a batch decompressed to, or what was decompressed of it before that failed."""
        if position > self._counted:
            self._counted = position
            self._left = max(0, self._left - size)

    def stop(self, position: int, size: int, last_offset: int) -> None:
        """Leave out the batch at `position`, of `size` bytes, and all compressed ones after it."""
        self._stopped = self._seen = position
        self._next, self._left_out, self._last_offset = position + size, 1, last_offset

    def findings(self, file: str) -> list[Finding]:
        """Report the batches that were left out."""
        if not self._left_out:
            return []
        many = self._left_out > 1
        message = (
            f"the records of {self._left_out} compressed batch{'es' if many else ''} were not read, from position"
            f" {self._stopped} on: the file's batches decompress to more than --max-expansion {self._limit} bytes."
            f" Headers, CRCs and records that are not compressed were read on from position {self._next}"
        )
        return [
            Finding.of(
                OVER_BUDGET, file, message, position=self._stopped, offset=self._last_offset, needed=self._limit,
                found=self._left_out,
            )
        ]  # fmt: skip

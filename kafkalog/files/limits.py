"""The limits of a batch and of a file: memory, and how much one reading of a file may decompress in all.

64 MiB may hold streams of a terabyte, or a billion records.

A batch that is decoded again in the same reading costs nothing more. After the first batch that does not fit, no
compressed batch of the file is decompressed; headers, CRCs and records that are not compressed are read as before.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from kafkalog.findings import Finding

__all__ = ["OVER_BUDGET", "Expansion", "Limits"]

OVER_BUDGET: Final = "expansion-over-budget"
_MOST: Final = 8 << 30
_TIMES: Final = 1000
_ALWAYS: Final = 1 << 30
_RECORDS: Final = 16 << 20  # compressed records that any file may have; more, where it has a byte for each
_SMALLEST: Final = 7  # bytes of a record
_ENDLESS: Final = 1 << 62


@dataclass(frozen=True, slots=True)
class Limits:
    """The most bytes that one batch may take, and that all of a file's may decompress to; more is a finding.

    Without `max_expansion` a file may decompress to 8 GiB or 1,000 times its size, whichever is less, plus 1 GiB; and
    to 16 Mi records plus one for each of its bytes.
    """

    max_batch_bytes: int = 128 << 20
    max_decompressed_bytes: int = 128 << 20
    max_expansion: int | None = None

    def expansion(self, size: int | None) -> Expansion:
        """Begin to count what a file of `size` bytes decompresses to; None is the size of a stream."""
        if self.max_expansion is not None:
            return Expansion(self.max_expansion)
        size = _MOST if size is None else size
        return Expansion(min(_MOST, _TIMES * size) + _ALWAYS, min(_MOST, size) + _RECORDS)


class Expansion:
    """The decompressed bytes of one reading of a file: those that are left, and the batches that got none.

    `records` is how many compressed records may be read.
    """

    __slots__ = (
        "_counted", "_last_offset", "_left", "_left_out", "_limit", "_next", "_records", "_records_left", "_seen",
        "_stopped",
    )  # fmt: skip

    def __init__(self, limit: int, records: int = _ENDLESS) -> None:
        self._limit = self._left = limit
        self._records = self._records_left = records
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
        if position <= self._counted:
            return _ENDLESS
        return self._left if self._records_left > 0 else 0

    def room_together(self, first: int, last: int) -> int:
        """Return how many bytes the batches from the one at `first` to that at `last` may have without more questions.

        0 if each must be asked about.
        """
        if last >= self._stopped or first <= self._counted < last:
            return 0
        if last <= self._counted:
            return _ENDLESS
        return max(0, min(self._left, _SMALLEST * (self._records_left - 1)))

    def count(self, position: int, size: int, records: int = 0) -> None:
        """Count what a batch decompressed to, or what was decompressed of it before that failed, and its records."""
        if position > self._counted:
            self._counted = position
            self._left = max(0, self._left - size)
            self._records_left -= min(max(records, 0), size // _SMALLEST)

    def stop(self, position: int, size: int, last_offset: int) -> None:
        """Leave out the batch at `position`, of `size` bytes, and all compressed ones after it."""
        self._stopped = self._seen = position
        self._next, self._left_out, self._last_offset = position + size, 1, last_offset

    def findings(self, file: str) -> list[Finding]:
        """Report the batches that were left out."""
        if not self._left_out:
            return []
        limit = self._limit if self._records_left > 0 else self._records
        why = f"decompress to more than --max-expansion {limit} bytes"
        if self._records_left <= 0:
            why = f"contain more than {limit} records, which --max-expansion allows"
        message = (
            f"the records of {self._left_out} compressed batch{'es' * (self._left_out > 1)} were not read, from"
            f" position {self._stopped} on: the file's batches {why}. Headers, CRCs and records that are not compressed"
            f" were read on from position {self._next}"
        )
        return [
            Finding.of(
                OVER_BUDGET, file, message, position=self._stopped, offset=self._last_offset, needed=limit,
                found=self._left_out,
            )
        ]  # fmt: skip

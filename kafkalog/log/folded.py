"""The findings about one file: where a code of damage has more than a thousand, one finding counts them.

A report of a million damaged places helps nobody. Below that every finding stays as it is.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator
from typing import Final

from kafkalog.findings import Bytes, Finding
from kafkalog.log.chunk import CROWDED, Chunk

__all__ = ["MOST", "Extents", "FileFindings", "is_extent"]

MOST: Final = 1000  # findings of one damage code in one file


class Extents:
    """Where the bytes of one damage code are in a file, in the order in which they were found."""

    __slots__ = ("first", "lengths", "positions")

    def __init__(self, first: Finding) -> None:
        self.first = first
        self.positions = array("q")
        self.lengths = array("q")

    def __len__(self) -> int:
        return len(self.positions)

    def __iter__(self) -> Iterator[tuple[int, int]]:
        return zip(self.positions, self.lengths, strict=True)

    def extend(self, positions: array[int], lengths: array[int]) -> None:
        """Take in the next places."""
        self.positions.extend(positions)
        self.lengths.extend(lengths)

    def add(self, finding: Finding) -> None:
        """Take in the next finding."""
        self.positions.append(finding.position or 0)
        self.lengths.append(finding.length or 0)

    def finding(self, table: str) -> Finding:
        """Return the one finding that stands for all, from the first place to the last; `table` lists them."""
        first = self.first
        start, end = min(self.positions), max(position + length for position, length in self)
        message = (
            f"{len(self)} places with {sum(self.lengths)} bytes, between positions {start} and {end}; the table {table}"
            f" lists them. The first: {first.message}"
        )
        return first._replace(message=message, position=start, length=end - start, needed=None, found=len(self))


def is_extent(finding: Finding) -> bool:
    """Say whether a finding is about bytes that are damaged."""
    return finding.length is not None and finding.position is not None and finding.bytes in (Bytes.LOST, Bytes.SUSPECT)


class FileFindings:
    """Collects the findings about one file; those that `is_counted` are counted, and `table` lists their places."""

    def __init__(
        self, is_counted: Callable[[Finding], bool] = is_extent, table: str = "extents of kafkalog verify"
    ) -> None:
        self._is_counted = is_counted
        self._table = table
        self._kept: list[Finding] = []
        self._extents: dict[str, Extents] = {}

    def add(self, finding: Finding) -> None:
        """Take in the next finding."""
        if self._is_counted(finding):
            extents = self._extents.get(finding.code)
            if extents is None:
                extents = self._extents[finding.code] = Extents(finding)
            extents.add(finding)
            if len(extents) > MOST:
                return
        self._kept.append(finding)

    def of_chunk(self, chunk: Chunk) -> list[Finding]:
        """Return the findings of a chunk to add: without those of its crowd where the places are only counted."""
        if chunk.crowd is None or not self.counts(CROWDED, chunk.crowd.positions, chunk.crowd.lengths):
            return chunk.findings
        return chunk.examined

    def counts(self, code: str, positions: array[int], lengths: array[int]) -> bool:
        """Count these places if those of the code are only counted; say whether they are."""
        extents = self._extents.get(code)
        if extents is None or len(extents) <= MOST:
            return False
        extents.extend(positions, lengths)
        return True

    def all(self) -> list[Finding]:
        """Return all findings in order; the one that counts many is where the first of them was."""
        many = {code: extents for code, extents in self._extents.items() if len(extents) > MOST}
        if not many:
            return self._kept
        found = []
        for finding in self._kept:
            if finding.code not in many or not self._is_counted(finding):
                found.append(finding)
            elif finding is many[finding.code].first:
                found.append(many[finding.code].finding(self._table))
        return found

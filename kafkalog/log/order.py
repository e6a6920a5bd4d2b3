"""The order of a segment's batches: offsets rise, leader epochs do not fall, and all offsets belong to the segment."""

from __future__ import annotations

from array import array
from typing import Final

from kafkalog.findings import Finding
from kafkalog.format import batch_headers, kernel
from kafkalog.format.batch import CellTable

__all__ = ["BatchOrder", "allowed_offsets"]

_HIGHEST: Final = 2**63 - 2  # the log's end is one more
_OFFSETS: Final = 2**31  # that a segment can hold: its indexes have relative offsets of 32 bits
_NOT_INCREASING: Final = 1  # the kernel's numbers of the rules
_EPOCH_DECREASING: Final = 2
_IMPOSSIBLE: Final = 4


def allowed_offsets(base_offset: int | None) -> tuple[int, int]:
    """Return the lowest and the highest offset of a segment that begins at `base_offset`, where that is known."""
    if base_offset is None:
        return 0, _HIGHEST
    return base_offset, min(base_offset + _OFFSETS - 1, _HIGHEST)


class BatchOrder:
    """What the batches so far require of the next one."""

    # Cells of the kernel's state; see batch_headers.order.
    _LAST, _EPOCH, _LOW, _HIGH, _GAPS, _MISSING, _FIRST_GAP = range(7)

    def __init__(self, base_offset: int | None) -> None:
        low, high = allowed_offsets(base_offset)
        self.impossible: list[int] = []  # rows of the table last given to `broken` whose offsets no log has
        self._state = array("q", [kernel.NONE, -1, low, high, 0, 0, 0])

    @property
    def last_offset(self) -> int | None:
        """Return the last offset so far, None before the first batch."""
        last = self._state[self._LAST]
        return None if last == kernel.NONE else last

    def reach(self, offset: int) -> None:
        """Count `offset` as read, although its batch could not be, if it is above all before."""
        self._state[self._LAST] = max(self._state[self._LAST], offset)

    def broken(self, file: str, heads: CellTable, row: int = 0) -> list[Finding]:
        """Compare the batches of `heads`, from `row` on, with those before; return a finding for each that is wrong."""
        findings: list[Finding] = []
        self.impossible = []
        first = row
        while row < heads.count:
            before, epoch = self._state[self._LAST], self._state[self._EPOCH]
            row, rule = batch_headers.order(heads.cells, heads.capacity, row, heads.count, self._state)
            if not rule:
                break
            if rule == _IMPOSSIBLE:
                self.impossible.append(row)
            elif row > first:
                before, epoch = heads.cell(kernel.LAST_OFFSET, row - 1), heads.cell(kernel.LEADER_EPOCH, row - 1)
            findings.append(self._finding(file, heads, row, rule, before, epoch))
            row += 1
        return findings

    def _finding(self, file: str, heads: CellTable, row: int, rule: int, before: int, epoch: int) -> Finding:
        position, size = heads.cell(kernel.POSITION, row), heads.cell(kernel.SIZE, row)
        first, last = heads.cell(kernel.BASE_OFFSET, row), heads.cell(kernel.LAST_OFFSET, row)
        first = last if first == kernel.NONE else first
        if rule == _NOT_INCREASING:
            return Finding.of(
                "offset-not-increasing",
                file,
                f"the batch begins at offset {first}, but the batch before it ends at offset {before}",
                position=position,
                length=size,
                offset=first,
                needed=before + 1,
                found=first,
            )
        if rule == _EPOCH_DECREASING:
            now = heads.cell(kernel.LEADER_EPOCH, row)
            return Finding.of(
                "leader-epoch-decreasing",
                file,
                f"the batch has leader epoch {now}, but the batch before it has {epoch}",
                position=position,
                length=size,
                offset=first,
                needed=epoch,
                found=now,
            )
        low, high = self._state[self._LOW], self._state[self._HIGH]
        return Finding.of(
            "offset-outside-segment",
            file,
            f"the batch begins at offset {first} and ends at {last}; the segment may contain offsets {low}-{high}",
            position=position,
            length=size,
            offset=first,
            needed=f"{low}..{high}",
            found=f"{first}..{last}",
        )

    def gaps(self, file: str) -> Finding | None:
        """Return the finding about all gaps between batches, None if there are no gaps."""
        gaps, missing, position = self._state[self._GAPS], self._state[self._MISSING], self._state[self._FIRST_GAP]
        if not gaps:
            return None
        return Finding.of(
            "offset-gap",
            file,
            f"{missing} offset{'s are' if missing > 1 else ' is'} missing in {gaps}"
            f" gap{'s' * (gaps > 1)} between batches,"
            f" the first before position {position}",
            position=position,
            needed=0,
            found=missing,
        )

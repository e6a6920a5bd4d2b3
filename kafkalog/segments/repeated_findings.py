"""The findings about one file or log: where a code has more than a thousand, one finding counts them.

A report of a million damaged places helps nobody. Below that every finding stays as it is. Findings about batches of a
producer are counted producer by producer: a log's producers may be judged apart.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice
from typing import Any

from kafkalog import few_of_many
from kafkalog.findings import Bytes, Finding
from kafkalog.settle import as_severe_as

__all__ = ["DamagedPlaces", "FileFindings", "counted", "is_of_damage"]


class _Many:
    """Findings for which one will stand: it is as severe, and as certain, as the first one of the most severe."""

    __slots__ = ("first", "worst")

    def __init__(self, first: Finding) -> None:
        self.first = first
        self.worst = first

    def add(self, finding: Finding) -> None:
        """Take in the next finding."""
        if finding.severity > self.worst.severity:
            self.worst = finding

    def one(self, message: str, **where: Any) -> Finding:
        """Return the first finding with other words, and another place."""
        return as_severe_as(self.first, self.worst)._replace(message=message, needed=None, **where)


class DamagedPlaces(_Many):
    """Where the bytes of one damage code are in a file, in the order in which they were found."""

    __slots__ = ("lengths", "positions")

    def __init__(self, first: Finding) -> None:
        super().__init__(first)
        self.positions = array("q")
        self.lengths = array("q")

    def __len__(self) -> int:
        return len(self.positions)

    def __iter__(self) -> Iterator[tuple[int, int]]:
        return zip(self.positions, self.lengths, strict=True)

    def add(self, finding: Finding) -> None:
        """Take in the next finding."""
        super().add(finding)
        self.positions.append(finding.position or 0)
        self.lengths.append(finding.length or 0)

    def finding(self, table: str) -> Finding:
        """Return the one finding that stands for all, from the first place to the last; `table` lists them."""
        start, end = min(self.positions), max(position + length for position, length in self)
        message = (
            f"{len(self)} places with {sum(self.lengths)} bytes, between positions {start} and {end}; the table {table}"
            f" lists them. The first: {self.first.message}"
        )
        return self.one(message, position=start, length=end - start, found=len(self))


class _Places(_Many):
    """How many findings of one code and producer are about no bytes, and between which offsets."""

    __slots__ = ("count", "high", "low")

    def __init__(self, first: Finding) -> None:
        super().__init__(first)
        self.count = 0
        self.low: int | None = None
        self.high: int | None = None

    def __len__(self) -> int:
        return self.count

    def add(self, finding: Finding) -> None:
        """Take in the next finding."""
        super().add(finding)
        self.count += 1
        if finding.offset is not None:
            last = finding.offset if finding.last_offset is None else finding.last_offset
            self.low = finding.offset if self.low is None else min(self.low, finding.offset)
            self.high = last if self.high is None else max(self.high, last)

    def finding(self, _table: str) -> Finding:
        """Return the one finding that stands for all, at the first one's place."""
        between = "" if self.low is None else f", between offsets {self.low} and {self.high}"
        message = f"{self.count} places{between}. The first: {self.first.message}"
        return self.one(message, length=None, offset=self.low, last_offset=self.high, found=self.count)


def counted(findings: Iterable[Finding]) -> list[Finding]:
    """Return findings about a log, those of a code as one if they are many; damaged bytes were counted file by file."""
    every = iter(findings)
    first = list(islice(every, few_of_many.IN_A_FILE + 1))
    if len(first) <= few_of_many.IN_A_FILE:  # too few of any code
        return first
    kept = FileFindings(table=None)
    for finding in chain(first, every):
        kept.add(finding)
    return kept.all()


def is_of_damage(finding: Finding) -> bool:
    """Say whether a finding is about bytes that are damaged."""
    return finding.length is not None and finding.position is not None and finding.bytes in (Bytes.LOST, Bytes.SUSPECT)


class FileFindings:
    """Collects the findings about one file, and counts them; `table` lists the places of those that `is_counted`.

    Without a table these are not counted, but kept.
    """

    def __init__(
        self, is_counted: Callable[[Finding], bool] = is_of_damage, table: str | None = "extents of kafkalog verify"
    ) -> None:
        self._is_counted = is_counted
        self._table = table
        self._kept: list[Finding] = []
        self._damaged: dict[str, DamagedPlaces] = {}
        self._places: dict[tuple[str, int | None], _Places] = {}

    def add(self, finding: Finding) -> None:
        """Take in the next finding."""
        is_counted, code = self._is_counted(finding), finding.code
        if not is_counted or self._table is not None:
            many: DamagedPlaces | _Places
            if is_counted:
                many = self._damaged.get(code) or self._damaged.setdefault(code, DamagedPlaces(finding))
            else:
                place = code, finding.producer_id
                many = self._places.get(place) or self._places.setdefault(place, _Places(finding))
            many.add(finding)
            if len(many) > few_of_many.IN_A_FILE:
                return
        self._kept.append(finding)

    def all(self) -> list[Finding]:
        """Return all findings in order; the one that counts many is where the first of them was."""
        if not self._kept:
            return self._kept
        damaged = {code: many for code, many in self._damaged.items() if len(many) > few_of_many.IN_A_FILE}
        places = {place: many for place, many in self._places.items() if len(many) > few_of_many.IN_A_FILE}
        if not damaged and not places:
            return self._kept
        found = []
        for finding in self._kept:
            one: DamagedPlaces | _Places | None
            if self._is_counted(finding):
                one = damaged.get(finding.code)
            else:
                one = places.get((finding.code, finding.producer_id))
            if one is None:
                found.append(finding)
            elif finding is one.first:
                found.append(one.finding(self._table or ""))
        return found

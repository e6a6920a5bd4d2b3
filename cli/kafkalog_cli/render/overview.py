"""An audit's incidents in one look: a line each, like ones together, and of the worst what fits on a screen."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from kafkalog.escape import escape
from kafkalog.quantities import iso, many
from kafkalog.reports import IncidentLine
from kafkalog.zone import Zone

__all__ = ["LINES", "Overview", "Sheet", "TimesOfDay", "alike", "cut"]

LINES: Final = 30  # of a screen

_COLOUR: Final = re.compile(r"\x1b\[[0-9;]*m")

_TOGETHER: Final = 4  # incidents that are alike from this many on are one line

_MOMENT: Final = re.compile(r"\b(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d)(\.\d{3})(Z|[+-]\d\d:\d\d)")

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Sheet:
    """What a report is written on: how many characters a line has, and whether there are colours.

    A terminal `wraps` a line that is longer, as a command may be; a file does not.
    """

    width: int
    color: bool = False
    wraps: bool = True

    def rows(self, lines: Iterable[str]) -> int:
        """Return how many rows some lines take, whatever their colours."""
        return sum(max(1, -(-len(_COLOUR.sub("", line)) // self.width)) if self.wraps else 1 for line in lines)


def cut(lines: list[str], room: int, sheet: Sheet) -> list[str]:
    """Return the first lines that fit into some rows, and how many more there are."""
    if sheet.rows(lines) <= room or not lines:
        return lines
    kept = len(lines)
    while kept and sheet.rows(lines[:kept]) >= room:
        kept -= 1
    return [*lines[:kept], f"   … {many(len(lines) - kept, 'more line')}: --full"]


def alike(rows: Sequence[Row]) -> list[list[Row]]:
    """Return incidents in their order, those of one kind, cause and certainty together."""
    groups: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault((row["severity"], row["kind"], row["cause"], row["certainty"]), []).append(row)
    return list(groups.values())


@dataclass(slots=True)
class TimesOfDay:
    """The times of some lines, in a zone: the date stands once, the others of that `day` are times of day.

    `said` are those that were written.
    """

    zone: Zone
    day: str | None = None
    said: frozenset[str] = frozenset()

    def prose(self, text: str) -> str:
        """Write the times of a sentence, which are in UTC."""
        return _MOMENT.sub(self._written, self.zone.prose(text))

    def time(self, time_ms: int) -> str:
        """Write a time (ms), or ``then`` if these lines have it already."""
        whole = self.zone.time(time_ms)
        return "then" if whole in self.said else self.prose(whole)

    def block(self) -> TimesOfDay:
        """Return the times of lines that stand for themselves, but for the date."""
        return TimesOfDay(self.zone, self.day)

    def _written(self, found: re.Match[str]) -> str:
        day, time, fraction, zone = found.groups()
        self.said |= {found[0]}
        is_same, self.day = self.day == day + zone, self.day or day + zone
        return time + ("" if fraction == ".000" else fraction) if is_same else found[0]


@dataclass(frozen=True, slots=True)
class Overview:
    """The lines of some incidents, worst first, with their times of day where the `moments` say the date."""

    rows: Sequence[Row]
    moments: TimesOfDay

    def lines(self, told: frozenset[int] = frozenset()) -> Iterator[tuple[str, str]]:
        """Yield each line: which incidents it is about, as its number and severity, and what it says.

        Of those that are `told`, by their places, the next step is not said.
        """
        number = 1
        for some in alike(self.rows):
            for together in [some] if len(some) >= _TOGETHER else [[row] for row in some]:
                last = number + len(together) - 1
                numbers = f"{number}" if last == number else f"{number}-{last}"
                yield (
                    f"{numbers:>2} {together[0]['severity'].upper()}",
                    self._line(together, told.issuperset(range(number - 1, last))),
                )
                number = last + 1

    def _line(self, some: Sequence[Row], is_told: bool) -> str:
        line = IncidentLine.of(some)
        since = "" if line.since_ms is None else f"since {self._times(line.since_ms, line.until_ms)}"
        parts = [
            line.what,
            line.where,
            since,
            line.who,
            line.behind,
            "" if is_told or not line.next else f"next: {line.next}",
        ]
        return escape(" · ".join(filter(None, parts)))

    def _times(self, first: int, last: int | None) -> str:
        """Write a time of day, or the two between which it is; of one second they are about the same."""
        since = self._time(first)
        if last is None:
            return since
        until = self._time(last)
        return f"about {since}" if since == until else f"between {since} and {until}"

    def _time(self, time_ms: int) -> str:
        written = self.moments.block().prose(iso(time_ms))
        return written if "T" in written else written.partition(".")[0]

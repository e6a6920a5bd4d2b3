"""An audit's incidents in one look: a line each, like ones together, and of the worst what fits on a screen."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from kafkalog.escape import escape
from kafkalog.quantities import many, offset_range
from kafkalog.zone import Zone

__all__ = ["LINES", "Overview", "alike", "cut", "next_words", "rows_of_screen"]

LINES: Final = 30  # of a screen

_COLOUR: Final = re.compile(r"\x1b\[[0-9;]*m")

_NAMES: Final = 20  # of partitions, ids or producers in a line: all that clients noticed, but for a crowd

_TOGETHER: Final = 4  # incidents that are alike from this many on are one line

_WORDS: Final = 4  # of the next step

_LAST: Final = frozenset({"a", "an", "and", "at", "before", "each", "for", "in", "it", "its", "of", "on", "or", "that",
                          "the", "to", "until", "whether", "with"})  # words that end no sentence  # fmt: skip

_TIME: Final = slice(11, 19)  # of a day, in a time as it is written

_DAY: Final = slice(0, 10)

Row = Mapping[str, Any]


def rows_of_screen(lines: Iterable[str], width: int) -> int:
    """Return how many rows of a terminal some lines take, whatever their colours; it wraps those that are longer."""
    return sum(max(1, -(-len(_COLOUR.sub("", line)) // width)) for line in lines)


def cut(lines: list[str], room: int, width: int) -> list[str]:
    """Return the first lines that fit into some rows of a terminal, and how many more there are."""
    if rows_of_screen(lines, width) <= room:
        return lines
    kept = len(lines)
    while kept and rows_of_screen(lines[:kept], width) >= room:
        kept -= 1
    return [*lines[:kept], f"   … {many(len(lines) - kept, 'more line')}: --full"]


def alike(rows: Sequence[Row]) -> list[list[Row]]:
    """Return incidents in their order, those of one kind, cause and certainty together."""
    groups: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault((row["severity"], row["kind"], row["cause"], row["certainty"]), []).append(row)
    return list(groups.values())


def next_words(text: str) -> str:
    """Return how a step begins: ``End the transaction`` of ``End the transaction of tx-c in ledger-2: …``."""
    words = text.split(":", 1)[0].split(",", 1)[0].split()[:_WORDS]
    while len(words) > 1 and words[-1].lower() in _LAST:
        words.pop()
    return " ".join(words)


@dataclass(frozen=True, slots=True)
class Overview:
    """The lines of some incidents, worst first; `zone` is that of their times."""

    rows: Sequence[Row]
    zone: Zone

    def lines(self) -> Iterator[tuple[str, str]]:
        """Yield each line: which incidents it is about, as its number and severity, and what it says."""
        number = 1
        for some in alike(self.rows):
            for together in [some] if len(some) >= _TOGETHER else [[row] for row in some]:
                last = number + len(together) - 1
                numbers = f"{number}" if last == number else f"{number}-{last}"
                yield f"{numbers:>2} {together[0]['severity'].upper()}", self._line(together)
                number = last + 1

    def day(self) -> str | None:
        """Return the day of all times; None where they are of several days, or no time is known."""
        days = {self.zone.time(row["since_ms"])[_DAY] for row in self.rows if row["since_ms"] is not None}
        return days.pop() if len(days) == 1 else None

    def _line(self, some: Sequence[Row]) -> str:
        row = some[0]
        crowd = f"{len(some)} alike: " if len(some) > 1 else ""
        what = f"{crowd}{row['kind']} ({row['cause']})".replace("-", " ")
        parts = [what, self._where(some), self._since(some), self._who(some), _behind(some)]
        if row["next_steps"]:
            parts.append(f"next: {next_words(row['next_steps'][0]['text'])}")
        return self.zone.prose(escape(" · ".join(filter(None, parts))))

    def _where(self, some: Sequence[Row]) -> str:
        where = _named(some, "partitions")
        if len(some) == 1 and some[0]["first_offset"] is not None:
            first, last = some[0]["first_offset"], some[0]["last_offset"]
            where += f" from offset {first} on" if last is None else f" {offset_range(first, last)}"
        return where

    def _since(self, some: Sequence[Row]) -> str:
        known = [row for row in some if row["since_ms"] is not None]
        if not known:
            return ""
        first = min(known, key=lambda row: row["since_ms"])
        written = self.zone.time(first["since_ms"])
        about = "about " if first["since_until_ms"] is not None else ""
        return f"since {about}{written[_TIME] if self.day() else written}"

    @staticmethod
    def _who(some: Sequence[Row]) -> str:
        ids = _named(some, "transactional_ids")
        producers = _named(some, "producer_ids")
        return ids or (producers and f"producer {producers}")


def _named(some: Sequence[Row], name: str) -> str:
    values = list(dict.fromkeys(str(value) for row in some for value in row[name] or ()))
    total = max(len(values), *(row[f"{name}_total"] or 0 for row in some))
    more = total - min(len(values), _NAMES)
    return ", ".join(values[:_NAMES]) + (f" and {more} more" if more else "")


def _behind(some: Sequence[Row]) -> str:
    """Return how many records are lost, or else are concerned."""
    lost = [row["lost_records"] for row in some if row["lost_records"] is not None]
    if lost:
        return f"{many(sum(lost), 'record')} lost"
    records = [row["records"] for row in some if row["records"] is not None]
    return many(sum(records), "record") if records else ""

"""An audit's incidents in one look: a line each, like ones together, and of the worst what fits on a screen."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any, Final

from kafkalog.escape import escape
from kafkalog.quantities import iso, many, offset_range
from kafkalog.zone import Zone

__all__ = ["LINES", "Overview", "TimesOfDay", "alike", "cut", "in_words", "next_words", "rows_of_screen"]

LINES: Final = 30  # of a screen

_COLOUR: Final = re.compile(r"\x1b\[[0-9;]*m")

_NAMES: Final = 20  # of partitions, ids or producers in a line: all that clients noticed, but for a crowd

_TOGETHER: Final = 4  # incidents that are alike from this many on are one line

_WORDS: Final = 4  # of the next step

_PLAN: Final = frozenset({"Check", "End", "Save", "Verify"})  # how the steps of a plan begin

_LAST: Final = frozenset({"a", "an", "and", "at", "before", "each", "for", "in", "it", "its", "of", "on", "or", "that",
                          "the", "to", "until", "whether", "with"})  # words that end no sentence  # fmt: skip

_MOMENT: Final = re.compile(r"\b(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d)(\.\d{3})(Z|[+-]\d\d:\d\d)")

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


def in_words(row: Row) -> str:
    """Return an incident's kind and cause as words."""
    return f"{row['kind']} ({row['cause']})".replace("-", " ")


def next_words(texts: Sequence[str]) -> str:
    """Return how the first step begins, ``Give ledger-2`` of ``Give ledger-2 a leader``; of a plan all words."""
    plan = list(takewhile(_PLAN.__contains__, (text.split(" ", 1)[0] for text in texts)))
    if len(plan) > 1:
        return ", ".join(dict.fromkeys(plan)).capitalize()
    words = texts[0].split(":", 1)[0].split(",", 1)[0].split()[:_WORDS]
    while len(words) > 1 and words[-1].lower() in _LAST:
        words.pop()
    return " ".join(words)


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
        return time + fraction if is_same else found[0]


@dataclass(frozen=True, slots=True)
class Overview:
    """The lines of some incidents, worst first, with their times of day where the `moments` say the date."""

    rows: Sequence[Row]
    moments: TimesOfDay

    def lines(self) -> Iterator[tuple[str, str]]:
        """Yield each line: which incidents it is about, as its number and severity, and what it says."""
        number = 1
        for some in alike(self.rows):
            for together in [some] if len(some) >= _TOGETHER else [[row] for row in some]:
                last = number + len(together) - 1
                numbers = f"{number}" if last == number else f"{number}-{last}"
                yield f"{numbers:>2} {together[0]['severity'].upper()}", self._line(together)
                number = last + 1

    def _line(self, some: Sequence[Row]) -> str:
        row = some[0]
        crowd = f"{len(some)} alike: " if len(some) > 1 else ""
        parts = [f"{crowd}{in_words(row)}", self._where(some), self._since(some), self._who(some), _behind(some)]
        if row["next_steps"]:
            parts.append(f"next: {next_words([step['text'] for step in row['next_steps']])}")
        return escape(" · ".join(filter(None, parts)))

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
        about = "about " if first["since_until_ms"] is not None else ""
        written = self.moments.block().prose(iso(first["since_ms"]))
        return f"since {about}{written if 'T' in written else written.partition('.')[0]}"

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
    groups = len({one["group"] for row in some for one in row.get("groups") or ()})
    lag = f" · {many(groups, 'group')}" if groups else ""
    by_outcome = sum((Counter(row.get("lost_by_outcome") or {}) for row in some), Counter())
    if lost and by_outcome.total() == sum(lost):
        return f"lost: {', '.join(f'{count} {word}' for word, count in by_outcome.items())}{lag}"
    if lost:
        return f"{many(sum(lost), 'record')} lost{lag}"
    records = [row["records"] for row in some if row["records"] is not None]
    return (many(sum(records), "record") if records else "") + lag

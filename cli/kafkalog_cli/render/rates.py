"""What producers wrote over time, as a line each: a sparkline on one axis of time, the most that a time had."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from kafkalog.escape import escape
from kafkalog.quantities import iso, plausible

__all__ = ["rate_lines"]

_SIGNS: Final = "▁▂▃▄▅▆▇█"
_ASCII: Final = "._-~=+*#"
_SHOWN: Final = 40  # producers
_NAME: Final = 40  # characters of a name at most
_NARROWEST: Final = 10

Who = tuple[str | None, int, str | None, str | None]  # cluster, producer, its id, the topic of those without one


def rate_lines(
    rows: Iterable[Mapping[str, Any]], by: str, unit_ms: int, *, width: int, ascii_only: bool
) -> Iterator[str]:
    """Yield the lines for rows of the table ``rates``, who wrote most first.

    Times outside of 2010 to 2040 are on no axis: they are counted.
    """
    wrote: defaultdict[Who, defaultdict[int, int]] = defaultdict(lambda: defaultdict(int))
    odd: defaultdict[Who, int] = defaultdict(int)
    for row in rows:
        topic = row["topic"] if row["producer_id"] < 0 else None
        who = row["cluster_id"], row["producer_id"], row["transactional_id"], topic
        if row["start_ms"] is not None and plausible(row["start_ms"]):
            wrote[who][row["start_ms"] // unit_ms] += row["records"]
        else:
            odd[who] += row["records"]
    every = sorted({**wrote, **odd}, key=lambda who: -sum(wrote[who].values()) - odd[who])
    if not every:
        yield "nobody wrote anything"
        return
    times = [time for of_who in wrote.values() for time in of_who]
    first, last = (min(times), max(times)) if times else (0, 0)
    longest = min(max(len(_name(who)) for who in every), _NAME)
    each = -(-(last - first + 1) // max(width, _NARROWEST))
    if times:
        span = f"{each} {by}s" if each > 1 else f"1 {by}"
        yield f"{iso(first * unit_ms)} to {iso((last + 1) * unit_ms)}, a character is {span}"
    for who in every[:_SHOWN]:
        of_who = wrote[who]
        name = _name(who)
        name = name if len(name) <= longest else f"{name[: longest - 1]}…"
        yield ""
        yield f"{name:<{longest}}  {_said(of_who, odd[who], by, unit_ms)}"
        if of_who:
            yield _drawn(of_who, first, last, each, ascii_only=ascii_only)
    if len(every) > _SHOWN:
        yield ""
        yield f"{len(every) - _SHOWN} more producers: --table rates has them all"


def _name(who: Who) -> str:
    _, producer, name, topic = who
    if producer < 0:
        return escape(f"no producer id, to {topic}")
    return escape(f"producer {producer}" if name is None else f"{name} (producer {producer})")


def _said(of_who: Mapping[int, int], odd: int, by: str, unit_ms: int) -> str:
    """Say how many records there are, and the most of one time."""
    said = f"{sum(of_who.values()) + odd:,} records"
    if of_who:
        at = max(of_who, key=lambda time: (of_who[time], -time))
        said += f", at most {of_who[at]:,} a {by}, at {iso(at * unit_ms)}"
    return f"{said}; {odd:,} without a time between 2010 and 2040" if odd else said


def _drawn(of_who: Mapping[int, int], first: int, last: int, each: int, *, ascii_only: bool) -> str:
    sums: defaultdict[int, int] = defaultdict(int)
    for time, records in of_who.items():
        sums[(time - first) // each] += records
    signs, most = _ASCII if ascii_only else _SIGNS, max(sums.values())
    cells = range((last - first) // each + 1)
    return "".join(signs[(sums[cell] * len(signs) - 1) // most] if cell in sums else " " for cell in cells).rstrip()

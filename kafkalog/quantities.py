"""Sizes and times in options, read in the same way by the command and by Spark; and as they are written."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = [
    "CLOCKS_MS",
    "FIRST_MS",
    "LAST_MS",
    "Ago",
    "When",
    "age",
    "all_plausible",
    "at_newest",
    "by_number",
    "bytes_of",
    "capital",
    "duration_of",
    "iso",
    "iso_marked",
    "listed",
    "listed_of",
    "many",
    "ms_of",
    "number_of",
    "offset_range",
    "plausible",
    "producer_name",
    "size_text",
    "time_of",
]

CLOCKS_MS: Final = 60_000  # how far the clocks of brokers may be apart


_SIZE: Final = re.compile(r"(\d+)\s*(?:b|([kmg])i?b?)?", re.IGNORECASE)

_DIGITS: Final = re.compile(r"[0-9]+")

_SHIFTS: Final = {"": 0, "k": 10, "m": 20, "g": 30}

_BYTES: Final = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")

_MS: Final = re.compile(r"-?\d+")

_AGO: Final = re.compile(r"(?:now)?([+-])(\d{1,9})\s*(ms|s|m|min|h|d)", re.IGNORECASE)

_DURATION: Final = re.compile(r"([+-]?)(\d{1,9})\s*(ms|s|m|min|h|d)", re.IGNORECASE)

_UNITS: Final = {"ms": 1, "s": 1000, "m": 60_000, "min": 60_000, "h": 3_600_000, "d": 86_400_000}

FIRST_MS: Final = 1_262_304_000_000  # 2010-01-01; Kafka's first release is from 2011

LAST_MS: Final = 2_208_988_800_000  # 2040-01-01


def by_number(name: str) -> tuple[str, str]:
    """Return what names are sorted by, for topic-2 to be before topic-10."""
    return _DIGITS.sub(_padded, name), name


def _padded(digits: re.Match[str]) -> str:
    return digits[0].zfill(20)


def bytes_of(text: str) -> int:
    """Read a number of bytes: ``128``, ``128b``, ``128k``, ``128KiB``, ``1m``, ``1 GiB``; k, m, g are powers of 1024.

    Raises ValueError, whose message names the text and shows two valid sizes.
    """
    match = _SIZE.fullmatch(text.strip())
    if not match:
        raise ValueError(f"{text!r} is not a number of bytes, such as 1048576 or 1MiB")
    return int(match[1]) << _SHIFTS[(match[2] or "").lower()]


def size_text(number: int) -> str:
    """Write a number of bytes for people: ``75 B``, ``14.1 KiB``, ``1.2 TiB``."""
    size, unit = float(number), 0
    while size >= 1024 and unit + 1 < len(_BYTES):
        size, unit = size / 1024, unit + 1
    return f"{size:.1f} {_BYTES[unit]}" if unit else f"{number} B"


class Ago(NamedTuple):
    """A time `ms` before the newest one of what is read, which is known only then; after it if negative."""

    ms: int


When = int | Ago


def ms_of(text: str) -> int:
    """Read a time as ms since 1970, or as ISO-8601; without a zone it is UTC. Return ms since 1970.

    Raises ValueError, whose message names the text and shows two valid times; of seconds, microseconds and nanoseconds
    since 1970 it shows the ms.
    """
    if _MS.fullmatch(text.strip()):
        value = int(text)
        for unit, in_ms in (
            ("seconds", value * 1000),
            ("microseconds", value // 1000),
            ("nanoseconds", value // 10**6),
        ):
            if plausible(in_ms):
                shown = datetime.fromtimestamp(in_ms / 1000, UTC).isoformat().replace("+00:00", "Z")
                raise ValueError(f"{text!r} is a time in {unit} ({shown}); in milliseconds it is {in_ms}")
        return value
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        raise ValueError(f"{text!r} is not a time, such as 2026-11-21T03:00:00Z or 1795230000000") from None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return round(moment.timestamp() * 1000)


def time_of(text: str) -> When:
    """Read a time like ``ms_of``, or one that is relative to the newest: ``now``, ``-90s``, ``-5m``, ``-1h``, ``-2d``.

    Raises ValueError as ``ms_of`` does.
    """
    match = _AGO.fullmatch(text.strip())
    if text.strip().lower() == "now":
        return Ago(0)
    if match is None:
        return ms_of(text)
    ms = int(match[2]) * _UNITS[match[3].lower()]
    return Ago(ms if match[1] == "-" else -ms)


def duration_of(text: str) -> int:
    """Read by how many ms something is moved: ``90s``, ``-36h``, ``2d``. Raises ValueError for anything else."""
    match = _DURATION.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"{text!r} is not a duration, such as 36h, -2d or 90s")
    ms = int(match[2]) * _UNITS[match[3].lower()]
    return -ms if match[1] == "-" else ms


def at_newest(when: When | None, newest: int) -> int:
    """Return a time in ms, given the newest one; None stands for that."""
    if isinstance(when, Ago):
        return newest - when.ms
    return newest if when is None else when


def plausible(ms: int) -> bool:
    """Say whether a time is one of Kafka's: between 2010 and 2040."""
    return FIRST_MS <= ms < LAST_MS


def all_plausible(times: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Say which times are of Kafka's."""
    found: NDArray[np.bool_] = (times >= FIRST_MS) & (times < LAST_MS)
    return found


# Times as people read them.


_LAST_MS: Final = 253_402_300_799_999  # 9999-12-31


def iso(timestamp: int) -> str:
    """Write a time in ms as ISO-8601 in UTC, or as a number if no calendar has it."""
    if not 0 <= timestamp <= _LAST_MS:
        return f"@{timestamp}"
    return datetime.fromtimestamp(timestamp / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def iso_marked(timestamp: int) -> str:
    """Write a time in ms as people read it; one outside of 2010 to 2040 is marked, as a clock that was wrong."""
    return iso(timestamp) if plausible(timestamp) else f"{iso(timestamp)} (a wrong clock: not between 2010 and 2040)"


# Offsets, counts and names as sentences have them.


def offset_range(first: int, last: int | None) -> str:
    """Name the offsets from one to another, both included."""
    if last is None or first == last:
        return f"offset {first}"
    return f"offsets {first}{'-' if last >= 0 else ' to '}{last}"


def many(number: int, one: str, several: str = "", *, grouped: bool = False) -> str:
    """Write a number with its noun: ``4 records``, ``1 batch``; `several` is a plural that is not made with an s.

    Where they are `grouped`, thousands have a comma.
    """
    return f"{number:{',' if grouped else ''}} {one if number == 1 else several or f'{one}s'}"


number_of: Final = partial(many, grouped=True)  # as reports write a number with its noun


def age(ms: int) -> str:
    """Write how long something took in its two largest units: ``3 s``, ``2 h 5 min``, ``41 d``."""
    if ms < 1000:
        return f"{ms} ms"
    seconds = ms // 1000
    units = ((86_400, "d"), (3600, "h"), (60, "min"), (1, "s"))
    for number, (size, unit) in enumerate(units):
        if seconds >= size:
            smaller = units[number + 1] if number + 1 < len(units) else None
            rest = seconds % size // smaller[0] if smaller else 0
            return f"{seconds // size} {unit}" + (f" {rest} {smaller[1]}" if smaller and rest else "")
    return "0 s"


def listed(names: Iterable[str], most: int = 3) -> str:
    """Name the first of some things, and count the others."""
    every = list(names)
    return listed_of(len(every), every[:most])


def listed_of(count: int, names: Iterable[str]) -> str:
    """Name these first ones of `count` things, and count the others."""
    some = list(names)
    shown = ", ".join(some)
    return shown if count <= len(some) else f"{shown} and {count - len(some)} more"


def producer_name(name: str | None, producer_id: int) -> str:
    """Name a producer, by its transactional id if it has one."""
    return f"producer {producer_id}" if name is None else f"{name} (producer {producer_id})"


def capital(text: str) -> str:
    """Begin a sentence."""
    return text[:1].upper() + text[1:]

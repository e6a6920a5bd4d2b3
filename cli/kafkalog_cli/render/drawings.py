"""What single commands draw for people: a tree of space, lines of rates, the fields at a position."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from typing import TYPE_CHECKING, Any, BinaryIO, Final

from kafkalog.certainty import is_proved
from kafkalog.escape import escape
from kafkalog.quantities import by_number, iso, plausible, producer_name, size_text
from kafkalog_cli.render.people import folded

if TYPE_CHECKING:
    from kafkalog import Shown
    from kafkalog.auditing.space import Held, Space

__all__ = ["rate_lines", "write_fields", "write_tree"]

_BAR: Final = 10
_SHOWN: Final = 20  # partitions of a topic, and causes


def write_tree(space: Space, stream: BinaryIO, *, terminal: bool) -> None:
    """Write the tree, what holds the bytes, and where the answer's time and settings are from.

    It is escaped in a pipe, too: a pager shows it.
    """
    for line in _lines(space):
        stream.write(f"{folded(escape(line), terminal=terminal)}\n".encode())


def _lines(space: Space) -> Iterator[str]:
    logs = list(space.held())
    for now, source in space.moments:
        yield f"now: {iso(now)} ({source})"
    for home in dict.fromkeys(one.home for one in logs):
        mine = [one for one in logs if one.home == home]
        total = sum(one.all_bytes for one in mine)
        yield ""
        yield f"{_size(total)} {home}"
        topics = sorted({one.topic for one in mine}, key=lambda topic: (-_sum(mine, topic), by_number(topic)))
        for topic in topics:
            yield f"{_size(_sum(mine, topic))} {_bar(_sum(mine, topic), total)} {topic}"
            parts = [one for one in mine if one.topic == topic]
            for one in parts[:_SHOWN]:
                yield f"{_size(one.all_bytes)} {' ' * (_BAR + 2)}   {one.folder}{_held(one)}"
            if len(parts) > _SHOWN:
                rest = sum(one.all_bytes for one in parts[_SHOWN:])
                yield f"{_size(rest)} {' ' * (_BAR + 2)}   {len(parts) - _SHOWN} more partitions"
        kinds = space.kinds(home)
        yield "of these: " + ", ".join(f"{size_text(size)} {kind}" for kind, size in kinds if size)
    yield from _causes(logs)


def _causes(logs: Iterable[Held]) -> Iterator[str]:
    found = [one for one in logs if one.found.cause != "none"]
    held = [one for one in found if one.found.bytes != 0]
    yield from _listed(held, "what holds bytes that can be freed:")
    yield from _listed([one for one in found if one.found.bytes == 0], "what retention by time makes of timestamps:")


def _listed(found: Iterable[Held], heading: str) -> Iterator[str]:
    held = sorted(found, key=lambda one: -(one.found.bytes or 0))
    if held:
        yield ""
        yield heading
    for one in held[:_SHOWN]:
        since = "" if one.found.since_ms is None else f", since {iso(one.found.since_ms)}"
        sure = "" if is_proved(one.found.certainty) else f" ({one.found.certainty})"
        yield f"  {one.folder}: {one.found.cause}{sure}{_freed(one, 'an unknown number of bytes')}{since}"
        yield f"      {one.found.evidence}"
        if one.found.next_step:
            yield f"      {one.found.next_step}"
    if len(held) > _SHOWN:
        yield f"  {len(held) - _SHOWN} more: --format ndjson has all"


def _sum(logs: Iterable[Held], topic: str) -> int:
    return sum(one.all_bytes for one in logs if one.topic == topic)


def _held(one: Held) -> str:
    if one.found.cause == "none":
        return ""
    return f"  {one.found.cause}{_freed(one)}"


def _freed(one: Held, unknown: str = "") -> str:
    """Say how much can be freed, nothing where nothing can, or what is said where nobody knows it."""
    if one.found.bytes is None:
        return f", {unknown} can be freed" if unknown else ""
    return f", {size_text(one.found.bytes)} can be freed" if one.found.bytes else ""


def _size(number: int) -> str:
    """Return bytes in ten characters."""
    return size_text(number).rjust(10)


def _bar(part: int, whole: int) -> str:
    filled = round(_BAR * part / whole) if whole else 0
    return "[" + "#" * filled + " " * (_BAR - filled) + "]"


_SIGNS: Final = "▁▂▃▄▅▆▇█"
_ASCII: Final = "._-~=+*#"
_PRODUCERS: Final = 40  # producers
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
    for who in every[:_PRODUCERS]:
        of_who = wrote[who]
        name = _name(who)
        name = name if len(name) <= longest else f"{name[: longest - 1]}…"
        yield ""
        yield f"{name:<{longest}}  {_said(of_who, odd[who], by, unit_ms)}"
        if of_who:
            yield _drawn(of_who, first, last, each, ascii_only=ascii_only)
    if len(every) > _PRODUCERS:
        yield ""
        yield f"{len(every) - _SHOWN} more producers: --table rates has them all"


def _name(who: Who) -> str:
    _, producer, name, topic = who
    if producer < 0:
        return escape(f"no producer id, to {topic}")
    return escape(producer_name(name, producer))


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


_WORD: Final = 4  # bytes that are written together
_LINE: Final = 16  # bytes on a line


def write_fields(found: Iterable[Shown], stream: BinaryIO) -> None:
    """Write fields: position, name, bytes in hex, value, meaning; ``>`` marks the requested one."""
    for (file, structure), group in groupby(found, key=lambda shown: (shown.file, shown.field.structure)):
        lines = [escape(f"{file}: {structure}")]
        for shown in group:
            lines += _field_lines(shown)
        stream.write(("\n".join(lines) + "\n\n").encode("utf-8", "surrogateescape"))


def _field_lines(shown: Shown) -> list[str]:
    field = shown.field
    place = "" if field.position is None else str(field.position)
    value = [] if field.value is None else [escape(field.value)]
    if field.computed is not None:
        value.append(f"computed {field.computed}")
    text = "  ".join([*value, *([f"({escape(field.meaning)})"] if field.meaning else [])])
    first, *rest = [field.data[at : at + _LINE] for at in range(0, len(field.data), _LINE)] or [b""]
    mark = ">" if shown.is_here else " "
    lines = [f"{mark}{place:>12}  {field.name:24}  {_hex(first):35}  {text}".rstrip()]
    return lines + [f"{'':41}{_hex(data)}" for data in rest]


def _hex(data: bytes) -> str:
    return " ".join(data[at : at + _WORD].hex() for at in range(0, len(data), _WORD))

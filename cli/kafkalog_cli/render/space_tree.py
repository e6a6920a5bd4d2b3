"""The tree of ``kafkalog space``: log directories, topics and partitions with their bytes, biggest first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, BinaryIO, Final

from kafkalog.escape import escape
from kafkalog.quantities import by_number, iso, size_text

if TYPE_CHECKING:
    from kafkalog.auditing.space import Held, Space

__all__ = ["write_tree"]

_BAR: Final = 10
_SHOWN: Final = 20  # partitions of a topic, and causes


def write_tree(space: Space, stream: BinaryIO) -> None:
    """Write the tree, what holds the bytes, and where the answer's time and settings are from.

    It is escaped in a pipe, too: a pager shows it.
    """
    for line in _lines(space):
        stream.write(f"{escape(line)}\n".encode())


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
    held = sorted((one for one in logs if one.found.cause != "none"), key=lambda one: -(one.found.bytes or 0))
    if held:
        yield ""
        yield "what holds bytes that can be freed:"
    for one in held[:_SHOWN]:
        size = "an unknown number of bytes" if one.found.bytes is None else size_text(one.found.bytes)
        since = "" if one.found.since_ms is None else f", since {iso(one.found.since_ms)}"
        sure = "" if one.found.certainty == "proved" else f" ({one.found.certainty})"
        yield f"  {one.folder}: {one.found.cause}{sure}, {size} can be freed{since}"
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
    return f"  {one.found.cause}" + ("" if one.found.bytes is None else f", {size_text(one.found.bytes)} can be freed")


def _size(number: int) -> str:
    """Return bytes in ten characters."""
    return size_text(number).rjust(10)


def _bar(part: int, whole: int) -> str:
    filled = round(_BAR * part / whole) if whole else 0
    return "[" + "#" * filled + " " * (_BAR - filled) + "]"

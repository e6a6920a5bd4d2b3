"""The ledger of reading: each file and directory that was opened, and each that could not be, in the order of asking.

It is filled where things are opened and refused, in this room, so no command gets at a file past it. One ledger for the
process, where somebody keeps one; forked processes send what they read with their results.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, Final, NamedTuple

__all__ = ["Entry", "Ledger", "ledger", "ledger_kept", "note_listing", "note_opening", "note_refusal"]

_DIRECTORY: Final = -1  # in place of a size


class Entry(NamedTuple):
    """What became of one file or directory; `size` and `read` are bytes, None for what was not opened as a file."""

    path: str
    became: str
    why: str | None
    size: int | None
    read: int | None


class Ledger:
    """Openings as columns; several of one path are one entry."""

    def __init__(self) -> None:
        self._paths: list[str] = []
        self._sizes, self._reached, self._got = array("q"), array("q"), array("q")
        self._refused: dict[str, tuple[str, str]] = {}

    def __len__(self) -> int:
        return len(self._paths)

    def opened(self, path: str, size: int) -> int:
        """Note that a file of `size` bytes is open; return the number of this opening."""
        self._paths.append(path)
        self._sizes.append(size)
        self._reached.append(0)
        self._got.append(0)
        return len(self._paths) - 1

    def reached(self, number: int, end: int, size: int) -> None:
        """Note that `size` more bytes were read, up to the position `end`."""
        self._got[number] += size
        self._reached[number] = max(self._reached[number], end)

    def listed(self, path: str) -> None:
        """Note that a directory was listed."""
        self.opened(path, _DIRECTORY)

    def refused(self, path: str, became: str, why: str) -> None:
        """Note that nothing of a path was read, and why."""
        self._refused.setdefault(path, (became, why.removeprefix(f"{path}: ")))

    def since(self, number: int, refused: int) -> tuple[Any, ...]:
        """Return what was noted after so many openings and refusals, for another process."""
        columns = (self._paths, self._sizes, self._reached, self._got)
        return *(column[number:] for column in columns), dict(list(self._refused.items())[refused:])

    def mark(self) -> tuple[int, int]:
        """Return how many openings and refusals there are."""
        return len(self._paths), len(self._refused)

    def take(self, noted: tuple[Any, ...]) -> None:
        """Take what another process noted."""
        paths, sizes, reached, got, refused = noted
        self._paths += paths
        self._sizes += sizes
        self._reached += reached
        self._got += got
        self._refused = {**refused, **self._refused}

    def entries(self) -> Iterator[Entry]:
        """Yield each path once, by name, with all its openings together."""
        known: dict[str, list[int]] = {}
        for path, size, reached, got in zip(self._paths, self._sizes, self._reached, self._got, strict=True):
            one = known.setdefault(path, [size, 0, 0])
            one[0] = size
            one[1] = max(one[1], reached)
            one[2] += got
        for path in sorted(known.keys() | self._refused.keys()):
            became, why = self._refused.get(path, (None, None))
            if path not in known:
                yield Entry(path, became or "refused", why, None, None)
                continue
            size, reached, got = known[path]
            if size == _DIRECTORY:
                yield Entry(path, "listed" if why is None else "part", why, None, None)
            else:
                is_whole = why is None and min(reached, got) >= size
                yield Entry(path, "whole" if is_whole else "part", why, size, min(reached, got))

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of the table ``reading``."""
        from kafkalog.tables.reading_table import READING  # what opens a file needs no tables

        for one in self.entries():
            yield READING.of(path=one.path, became=one.became, why=one.why, size_bytes=one.size, read_bytes=one.read)


_ledger: Ledger | None = None


def ledger() -> Ledger | None:
    """Return the ledger of this process, None where nobody keeps one."""
    return _ledger


@contextmanager
def ledger_kept() -> Iterator[Ledger]:
    """Keep a ledger from now on."""
    global _ledger  # noqa: PLW0603  # one for the process: reading happens many calls below whoever asks for it
    before, _ledger = _ledger, Ledger()
    try:
        yield _ledger
    finally:
        _ledger = before


def note_opening(path: str, size: int) -> Callable[[int, int], None]:
    """Note that a file of `size` bytes is open; return what takes each read: the position up to which, and how much."""
    return _unkept if _ledger is None else partial(_ledger.reached, _ledger.opened(path, size))


def note_listing(path: str) -> None:
    """Note that a directory was listed."""
    if _ledger is not None:
        _ledger.listed(path)


def note_refusal(path: str, why: str, became: str = "refused") -> None:
    """Note that a path, or the rest of it, was not read, and why."""
    if _ledger is not None:
        _ledger.refused(path, became, why)


def _unkept(_end: int, _size: int) -> None: ...

"""Who watches a long run: how far it is, in bytes, and what it has found so far.

One watch for what runs together: reading happens many calls below whoever shows it.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextvars import ContextVar

from kafkalog.findings import Finding

__all__ = ["CountingWatch", "Watch", "set_watch", "watch"]


class Watch:
    """Takes what a run says of itself, and shows nothing."""

    def begin(self, size: int, segments: int) -> None:
        """Take notice of `size` more bytes that will be read, in so many segments."""

    def at(self, file: str, position: int) -> None:
        """Take notice that a file was read up to `position`."""

    def done(self, file: str, size: int) -> None:
        """Take notice that another process has read `size` bytes of a file."""

    def found(self, findings: Iterable[Finding]) -> None:
        """Take notice of findings; later ones may explain them."""

    def tell(self, line: str) -> None:
        """Take notice of what was decided for the user."""

    def hide(self) -> None:
        """Remove what is shown; more work shows it again."""

    def silence(self) -> None:
        """Show nothing from now on."""


class CountingWatch(Watch):
    """Counts the bytes of a run's segments: `total` that will be read, and those of them that were."""

    def __init__(self) -> None:
        self.total = self.segments = 0
        self.file = ""
        self._read = self._done = 0

    @property
    def read_bytes(self) -> int:
        """Return how many bytes were read so far."""
        return self._done + self._read

    def begin(self, size: int, segments: int) -> None:
        self.total += size
        self.segments += segments

    def at(self, file: str, position: int) -> None:
        if file != self.file:
            self._done += self._read
            self.file = file
        self._read = position
        self.moved(file)

    def done(self, file: str, size: int) -> None:
        self._done += size
        self.moved(file)

    def moved(self, file: str) -> None:
        """Take notice that more of a file was read."""


def set_watch(chosen: Watch) -> None:
    """Let `chosen` watch what this thread reads from now on, in this context."""
    _watch.set(chosen)


def watch() -> Watch:
    """Return who watches."""
    return _watch.get()


_watch: ContextVar[Watch] = ContextVar("watch", default=Watch())  # noqa: B039  # it keeps nothing

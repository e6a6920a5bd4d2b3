"""Who watches a long run: how far it is, in bytes, and what it has found so far.

One watch for the process, like its storage options: reading happens many calls below whoever shows it.
"""

from __future__ import annotations

from collections.abc import Iterable

from kafkalog.findings import Finding

__all__ = ["Watch", "set_watch", "watch"]


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


def set_watch(chosen: Watch) -> None:
    """Let `chosen` watch this process from now on."""
    global _watch  # noqa: PLW0603  # one for the process, like the options of storage
    _watch = chosen


def watch() -> Watch:
    """Return who watches this process."""
    return _watch


_watch = Watch()

"""How far a long run is, on standard error if that is a terminal; and what was found until an interrupt."""

from __future__ import annotations

import os
import sys
import time
from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress
    from rich.progress import TaskID


from kafkalog.escape import escape
from kafkalog.files.watch import CountingWatch
from kafkalog.findings import Finding, Severity
from kafkalog.quantities import many

__all__ = ["AFTER_S", "BETWEEN_S", "ShownProgress"]

AFTER_S: Final = 1.0  # seconds of work before anything is drawn
BETWEEN_S: Final = 0.1  # seconds
_INTERPRETED: Final = (
    "the kernel is not compiled: reading takes ten to seventy times as long; install kafkalog again where there is a C"
    " compiler, or set KAFKALOG_PURE=1 if it is meant to be so"
)


class ShownProgress(CountingWatch):
    """Counts the bytes of a run's segments; draws after a second, unless data goes to the same terminal."""

    def __init__(self) -> None:
        super().__init__()
        self._shown = sys.stderr is not None and sys.stderr.isatty()
        # To scripts, too: who waits for one doesn't see it run.
        self._may_tell_form = sys.stderr is not None and not os.environ.get("KAFKALOG_PURE")
        self._begun = self._drawn = time.monotonic()
        self._codes: Counter[str] = Counter()
        self._lines: set[str] = set()
        self._bar: RichProgress | None = None
        self._task: TaskID | None = None

    def begin(self, size: int, segments: int) -> None:
        if self._may_tell_form:
            self._say_if_interpreted()
        super().begin(size, segments)

    def moved(self, file: str) -> None:
        if self._shown:
            self._draw(file)

    def found(self, findings: Iterable[Finding]) -> None:
        for finding in findings:
            if finding.severity > Severity.NOTE:
                self._codes[finding.code] += 1

    def tell(self, line: str) -> None:
        from kafkalog_cli.output import say

        if line not in self._lines:
            say(line)
        self._lines.add(line)

    def _say_if_interpreted(self) -> None:
        """Say what an install without a compiler costs: pip shows nothing of a build that went on without one."""
        from kafkalog.kernel import form

        self._may_tell_form = False
        if form() == "interpreted":
            self.tell(_INTERPRETED)

    def _draw(self, file: str) -> None:
        now = time.monotonic()
        if now - self._begun < AFTER_S or now - self._drawn < BETWEEN_S:
            return
        self._drawn = now
        if self._bar is None:
            from rich.console import Console
            from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

            self._bar = Progress(
                TextColumn("{task.description}", markup=False), BarColumn(), DownloadColumn(binary_units=True),
                TransferSpeedColumn(), console=Console(stderr=True), transient=True,
            )  # fmt: skip
            self._task = self._bar.add_task("", total=self.total or None)
            self._bar.start()
        if self._task is not None:
            shown, done = escape(os.sep.join(file.split(os.sep)[-2:])), self.read_bytes
            self._bar.update(self._task, completed=done, total=max(self.total, done) or None, description=shown)

    def hide(self) -> None:
        if self._bar is not None:
            self._bar.stop()
            self._bar = None

    def silence(self) -> None:
        self.hide()
        self._shown = False

    def so_far(self) -> str:
        """Say how much was read until an interrupt, and what was found in it."""
        if not self.read_bytes:
            return "interrupted before any segment was read"
        done = min(self.read_bytes, self.total or self.read_bytes)  # of a stream nobody knows how long it is
        words = ", ".join(f"{count} {code}" for code, count in self._codes.most_common()) or "nothing wrong"
        every = f" of {_size(self.total)} in {many(self.segments, 'file')}" if self.total else ""
        return f"interrupted after {_size(done)}{every}; found so far: {words}"


def _size(number: int) -> str:
    """Write a number of bytes as people read it."""
    if number < 1 << 10:
        return f"{number} bytes"
    for unit, shift in (("KiB", 10), ("MiB", 20)):
        if number < 1 << (shift + 10):
            return f"{number / (1 << shift):.1f} {unit}"
    return f"{number / (1 << 30):.1f} GiB"

"""How far a long run is, on standard error and only if that is a terminal."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress
    from rich.progress import TaskID

    from kafkalog import Chunk

from kafkalog.escape import escape
from kafkalog.format import kernel

__all__ = ["Progress"]

_AFTER: Final = 1.0  # seconds of work before anything is drawn


class Progress:
    """Counts the bytes of a run's files; draws after a second."""

    def __init__(self, files: Sequence[str]) -> None:
        self._shown = sys.stderr is not None and sys.stderr.isatty()
        self._files = files
        self._begun = time.monotonic()
        self._done = 0
        self._bar: RichProgress | None = None
        self._task: TaskID | None = None

    def over(self, file: str, chunks: Iterator[Chunk]) -> Iterator[Chunk]:
        """Pass chunks on and count their bytes."""
        if not self._shown:
            yield from chunks
            return
        at = 0
        for chunk in chunks:
            yield chunk
            if chunk.heads.count:
                row = chunk.heads.count - 1
                at = chunk.heads.cell(kernel.POSITION, row) + chunk.heads.cell(kernel.SIZE, row)
            if self._bar is None and time.monotonic() - self._begun > _AFTER:
                self._draw()
            if self._bar is not None and self._task is not None:
                self._bar.update(self._task, completed=self._done + at, description=escape(os.path.basename(file)))
        self._done += at

    def _draw(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

        total = sum(os.path.getsize(file) for file in self._files if os.path.isfile(file))
        self._bar = Progress(
            TextColumn("{task.description}", markup=False), BarColumn(), DownloadColumn(binary_units=True),
            TimeRemainingColumn(), console=Console(stderr=True), transient=True,
        )  # fmt: skip
        self._task = self._bar.add_task("", total=total or None)
        self._bar.start()

    def close(self) -> None:
        """Remove the bar."""
        if self._bar is not None:
            self._bar.stop()

"""SIGINT and SIGTERM as exceptions, so that what is half written is removed; the exit status says which it was."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from kafkalog_cli.exit import Exit

__all__ = ["Signals", "signals_raised"]

_AGAIN: Final = 0.001  # seconds


class Signals:
    """The signals of a run; `number` is the first one's, 0 before it.

    The second is ignored while the first one's work is removed, a third ends the process at once.
    """

    def __init__(self) -> None:
        self.number = 0
        self._count = 0
        self._pid = os.getpid()

    def __call__(self, number: int, _frame: Any) -> None:
        if os.getpid() != self._pid:  # a forked process that has not begun its work
            os._exit(128 + number)
        self._count += 1
        if self._count > 2:
            os._exit(128 + number)
        if self._count == 1:
            self.number = number
            self.again(number, None)

    def again(self, _number: int, _frame: Any) -> None:
        """Raise the exception of the first signal."""
        if self.number == signal.SIGINT:
            raise KeyboardInterrupt
        raise SystemExit(Exit.TERMINATED)


@contextmanager
def signals_raised() -> Iterator[Signals]:
    """Raise KeyboardInterrupt at SIGINT, unless it is ignored, and SystemExit at SIGTERM.

    Python swallows exceptions in finalizers and callbacks, with a stack trace; these come again a moment later.
    """
    signals = Signals()
    hook = sys.unraisablehook

    def swallowed(unraisable: sys.UnraisableHookArgs) -> None:
        if signals.number and isinstance(unraisable.exc_value, KeyboardInterrupt | SystemExit):
            signal.setitimer(signal.ITIMER_REAL, _AGAIN)
        else:
            hook(unraisable)

    is_ignored = signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    before: dict[signal.Signals, Any] = {}
    try:
        before[signal.SIGALRM] = signal.signal(signal.SIGALRM, signals.again)
        for number in (signal.SIGTERM,) if is_ignored else (signal.SIGTERM, signal.SIGINT):
            before[number] = signal.signal(number, signals)
        sys.unraisablehook = swallowed
        yield signals
    finally:
        sys.unraisablehook = hook
        for number, known in before.items():
            signal.signal(number, known)

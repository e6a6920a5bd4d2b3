"""Waits that end: work that hears no signal is done in a thread, and the command waits where one is heard."""

from __future__ import annotations

from collections.abc import Callable
from threading import Thread
from time import monotonic
from typing import Final, TypeVar

__all__ = ["answer_of"]

_Answer = TypeVar("_Answer")

_LOOK: Final = 0.2  # seconds between two looks for a signal
_LAST: Final = 1.0  # second that work has to end after it was given up


def answer_of(
    work: Callable[[], _Answer],
    look: Callable[[float], object] = lambda _seconds: None,
    give_up: Callable[[], object] | None = None,
) -> _Answer:
    """Return what work returns, or raise what it raises; a signal ends the wait, and the thread is left behind.

    `look` gets the seconds of the wait so far, some times a second: what it raises ends the wait, too. `give_up` asks
    the work to end where the wait does.
    """
    done: list[_Answer] = []
    failed: list[BaseException] = []

    def run() -> None:
        try:
            done.append(work())
        except BaseException as error:  # raised below, in the thread that waits
            failed.append(error)

    thread = Thread(target=run, daemon=True)
    begun = monotonic()
    try:
        thread.start()
        while thread.is_alive():
            thread.join(_LOOK)
            look(monotonic() - begun)
    except BaseException:
        if give_up is not None:
            give_up()
            thread.join(_LAST)
        raise
    if failed:
        raise failed[0]
    return done[0]

"""The program's first lines: a signal while Python loads the rest ends it with its status, and no stack trace."""

import os
from typing import Any, NoReturn

try:
    import signal

    def _leave(number: int, _frame: Any) -> NoReturn:
        """End at once: nothing has been written yet, or everything has been."""
        if number == signal.SIGINT and not _run:
            os.write(2, b"kafkalog: interrupted before any segment was read\n")
        os._exit(128 + number)

    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:  # nohup, or a shell's background job
        signal.signal(signal.SIGINT, _leave)
    signal.signal(signal.SIGTERM, _leave)
except KeyboardInterrupt:
    os._exit(130)

__all__ = ["main"]

_run: list[Any] = []  # what was started


def main() -> None:
    """Run ``kafkalog``."""
    try:
        from kafkalog_cli.main import main as run

        _run.append(run)
        run()
    except KeyboardInterrupt:  # between two handlers
        os._exit(130)
    except SystemExit as stop:
        if stop.code in (130, 143):  # all is removed and given away: do not wait for threads
            os._exit(int(stop.code))
        raise

"""Starts the command, and turns whatever ends it into an exit status.

0 nothing at or above --fail-on, 1 findings, 2 usage, 3 incomplete, 4 output failed, 70 internal, 130 INT, 143 TERM,
141 closed pipe.
"""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, NoReturn, TextIO

from kafkalog.exit_status import Exit
from kafkalog.version import version_line

if TYPE_CHECKING:
    import click

    from kafkalog_cli.progress import ShownProgress

__all__ = ["Signals", "main"]

_AGAIN: Final = 0.001  # seconds


class Signals:
    """The signals of a run; `number` is the first one's, 0 before it.

    The second is ignored while the first one's work is removed, a third ends the process at once.
    """

    def __init__(self) -> None:
        self.number = 0
        self.is_heard = False  # the command ended: the first one's exception has done its work
        self.progress: ShownProgress | None = None
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
        if not self.is_heard:
            raise self._ending()

    def _ending(self) -> BaseException:
        ending = KeyboardInterrupt() if self.number == signal.SIGINT else SystemExit(Exit.TERMINATED)
        ending.__dict__["life"] = _Life(self)
        return ending


class _Life:
    """Ends with the exception that holds it; where that is before the command ended, the exception comes again.

    Python's compiler drops what a handler raises meanwhile, finalizers and callbacks do, too.
    """

    def __init__(self, signals: Signals) -> None:
        self._signals = signals

    def __del__(self) -> None:
        if not self._signals.is_heard:
            signal.setitimer(signal.ITIMER_REAL, _AGAIN)


@contextmanager
def signals_raised() -> Iterator[Signals]:
    """Raise KeyboardInterrupt at SIGINT, unless it is ignored, and SystemExit at SIGTERM."""
    signals = Signals()
    hook = sys.unraisablehook

    def unraisable(swallowed: sys.UnraisableHookArgs) -> None:
        if not signals.number or not isinstance(swallowed.exc_value, KeyboardInterrupt | SystemExit):
            hook(swallowed)

    is_ignored = signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    before: dict[signal.Signals, Any] = {}
    try:
        before[signal.SIGALRM] = signal.signal(signal.SIGALRM, signals.again)
        for number in (signal.SIGTERM,) if is_ignored else (signal.SIGTERM, signal.SIGINT):
            before[number] = signal.signal(number, signals)
        sys.unraisablehook = unraisable
        yield signals
    finally:
        signals.is_heard = True
        signal.setitimer(signal.ITIMER_REAL, 0)
        sys.unraisablehook = hook
        for number, known in before.items():
            signal.signal(number, known)


# New objects after which cycles are looked for: at 700, Python's own number, that takes a tenth of an audit of many
# partitions, at 10,000 a twentieth, and it finds next to nothing.
_COLLECT_AFTER: Final = 50_000


def main(command: click.Command | None = None) -> NoReturn:
    """Run a command, by default kafkalog with its subcommands, and exit with its status."""
    gc.set_threshold(_COLLECT_AFTER)
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # numpy starts a thread for each processor, and none has work
    with signals_raised() as signals:
        try:
            status = _ended(command, signals)
        except KeyboardInterrupt:  # also while Python loads the command
            signals.is_heard = True
            status = Exit.INTERRUPTED
            said = signals.progress.so_far() if signals.progress else "interrupted before any segment was read"
            print(f"kafkalog: {said}", file=sys.stderr)
    # What failed may have left something that is closed when it is collected, and DuckDB reports what is not collected.
    if status in (Exit.FINE, Exit.FINDINGS) and "duckdb" not in sys.modules:
        gc.freeze()  # Python's end looks for cycles, several times: a sixth of a small run, for memory that ends anyway
    try:
        if sys.stderr is not None:
            sys.stderr.flush()
    except (OSError, ValueError):  # it took no message, which costs no status
        _give_up(sys.stderr)
    sys.exit(status)


def _ended(command: click.Command | None, signals: Signals) -> int:
    """Run a command, give all of its output away, and return the exit status."""
    version_only = command is None and sys.argv[1:] == ["--version"]  # needs no command tree
    status = Exit.FINE if version_only else _run(command, signals)
    if signals.number and status in (Exit.INCOMPLETE, Exit.OUTPUT_FAILED):
        status = 128 + signals.number  # what the signal broke is said as an error of its own, as by Spark's JVM
    try:
        if version_only:
            print(version_line())
        if sys.stdout is not None:
            sys.stdout.flush()
    except BrokenPipeError:
        status = Exit.CLOSED_PIPE
    except OSError as error:
        if status != Exit.OUTPUT_FAILED:  # it has been said
            print(f"kafkalog: error: standard output: {error.strerror}", file=sys.stderr)
        status = Exit.OUTPUT_FAILED
    if status in (Exit.CLOSED_PIPE, Exit.OUTPUT_FAILED):
        _give_up(sys.stdout)
    return status


def _give_up(stream: TextIO | None) -> None:
    """Send what a standard stream still holds nowhere, so that Python's own flush at the end does not fail."""
    if stream is not None:
        with contextlib.suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _run(command: click.Command | None, signals: Signals) -> int:
    from kafkalog.files.watch import set_watch
    from kafkalog_cli.progress import ShownProgress

    if command is None:
        from kafkalog_cli.group import cli

        command = cli
    stdout, stderr = sys.stdout, sys.stderr
    progress = signals.progress = ShownProgress()
    set_watch(progress)
    try:
        try:
            result = command.main(
                prog_name=command.name if command.name != "cli" else "kafkalog", standalone_mode=False
            )
        finally:
            signals.is_heard = bool(signals.number)
    except SystemExit:
        if sys.stdout is stdout:
            raise
        sys.stdout, sys.stderr = stdout, stderr  # on a closed pipe, click wraps them and exits with 1
        return Exit.CLOSED_PIPE
    except (Exception, KeyboardInterrupt) as error:  # each has its status
        return _status_of(error, progress, signals)
    finally:
        progress.hide()
    return int(result or 0)


def _status_of(error: Exception | KeyboardInterrupt, progress: ShownProgress, signals: Signals) -> int:
    """Say what ended the command, and return the exit status that it has."""
    import click

    from kafkalog.errors import NothingMatchesError, OutputError, UnreadableError, UnsupportedError
    from kafkalog.escape import escape_line
    from kafkalog_cli.output import PipeClosedError

    match error:
        case click.exceptions.Exit():
            return error.exit_code
        case click.UsageError():
            shown = "\n".join(map(escape_line, error.format_message().split("\n")))  # it may quote arguments
            click.UsageError(shown, error.ctx).show()
            return Exit.USAGE
        case UnsupportedError():
            click.UsageError(escape_line(str(error))).show()
            return Exit.USAGE
        case click.Abort() | KeyboardInterrupt():
            _say(progress.so_far())
            return Exit.INTERRUPTED
        case BrokenPipeError() | PipeClosedError():
            return Exit.CLOSED_PIPE
        case NothingMatchesError() | UnreadableError():
            _say(f"error: {error}")
            return Exit.INCOMPLETE
        case OutputError():
            _say(f"error: {error}")
            return Exit.OUTPUT_FAILED
        case OSError():  # those of the evidence are UnreadableError
            _say(f"error: output: {error.strerror}")
            return Exit.OUTPUT_FAILED
    if signals.number:  # some packages make an ImportError of it
        if signals.number == signal.SIGINT:
            _say(progress.so_far())
        return 128 + signals.number
    if os.environ.get("KAFKALOG_TRACEBACK"):
        raise error
    _say(f"internal error: {type(error).__name__}: {error}")  # for the user one line, the rest for a bug report
    _say("set KAFKALOG_TRACEBACK=1 to see where")
    return Exit.INTERNAL


def _say(text: str) -> None:
    from kafkalog_cli.output import say  # its imports only where there is something to say

    say(text)

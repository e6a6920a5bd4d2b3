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
from typing import TYPE_CHECKING, Any, Final, NoReturn

from kafkalog_cli.exit import Exit, OutputError, PipeClosedError
from kafkalog_cli.version import version_line

if TYPE_CHECKING:
    import click

__all__ = ["main"]

# New objects after which cycles are looked for: at 700, Python's own number, that takes a tenth of an audit of many
# partitions, and it finds next to nothing.
_COLLECT_AFTER: Final = 10_000


def _terminate(_number: int, _frame: Any) -> NoReturn:
    raise SystemExit(Exit.TERMINATED)


def main(command: click.Command | None = None) -> NoReturn:
    """Run a command, by default kafkalog with its subcommands, and exit with its status."""
    signal.signal(signal.SIGTERM, _terminate)
    gc.set_threshold(_COLLECT_AFTER)
    version_only = command is None and sys.argv[1:] == ["--version"]  # needs no command tree
    status = Exit.FINE if version_only else _run(command)
    try:
        if version_only:
            print(version_line())
        if sys.stdout is not None:
            sys.stdout.flush()
    except BrokenPipeError:
        status = Exit.CLOSED_PIPE
    except OSError as error:
        print(f"kafkalog: error: standard output: {error.strerror}", file=sys.stderr)
        status = Exit.OUTPUT_FAILED
    if status in (Exit.CLOSED_PIPE, Exit.OUTPUT_FAILED) and sys.stdout is not None:
        with contextlib.suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # so that Python's own flush does not fail
    sys.exit(status)


def _run(command: click.Command | None) -> int:
    import click

    from kafkalog_cli.escape import escape

    if command is None:
        from kafkalog_cli.group import cli

        command = cli
    stdout, stderr = sys.stdout, sys.stderr
    try:
        result = command.main(prog_name=command.name if command.name != "cli" else "kafkalog", standalone_mode=False)
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except click.UsageError as error:
        shown = "\n".join(map(escape, error.format_message().split("\n")))  # it may quote arguments
        click.UsageError(shown, error.ctx).show()
        return Exit.USAGE
    except (click.Abort, KeyboardInterrupt):
        return Exit.INTERRUPTED
    except (BrokenPipeError, PipeClosedError):
        return Exit.CLOSED_PIPE
    except SystemExit:
        if sys.stdout is stdout:
            raise
        sys.stdout, sys.stderr = stdout, stderr  # on a closed pipe, click wraps them and exits with 1
        return Exit.CLOSED_PIPE
    except OutputError as error:
        print(f"kafkalog: error: {error}", file=sys.stderr)
        return Exit.OUTPUT_FAILED
    except OSError as error:  # those of the evidence are UnreadableError
        print(f"kafkalog: error: output: {error.strerror}", file=sys.stderr)
        return Exit.OUTPUT_FAILED
    except Exception as error:  # the last resort: one line for the user, the rest for a bug report
        if os.environ.get("KAFKALOG_TRACEBACK"):
            raise
        print(f"kafkalog: internal error: {type(error).__name__}: {error}", file=sys.stderr)
        print("kafkalog: set KAFKALOG_TRACEBACK=1 to see where", file=sys.stderr)
        return Exit.INTERNAL
    return int(result or 0)

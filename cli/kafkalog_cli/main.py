"""The command ``kafkalog``: finds the subcommand, and turns whatever ends it into an exit status.

0 nothing at or above --fail-on, 1 findings, 2 usage, 3 incomplete, 4 output failed, 70 internal, 130 INT, 143 TERM,
141 closed pipe.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import signal
import sys
from typing import Any, Final, NoReturn

import click

from kafkalog_cli.exit import Exit, OutputError, PipeClosedError
from kafkalog_cli.render.escape import escape

__all__ = ["cli", "main"]

_COMMANDS: Final = ("dump", "txn-audit", "explain", "schema")


class _LazyGroup(click.Group):
    """Loads a subcommand's module when it is called for."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  # click's signature
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002  # as above
        if cmd_name not in _COMMANDS:
            return None
        name = cmd_name.replace("-", "_")
        command = getattr(importlib.import_module(f"kafkalog_cli.commands.{name}"), name)
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0] if args else ""
        if name and name not in _COMMANDS and not name.startswith("-"):
            import difflib

            close = difflib.get_close_matches(name, _COMMANDS, 1)
            hint = f" Did you mean {close[0]!r}?" if close else ""
            if os.path.exists(name):
                hint = f" Did you mean `kafkalog {'txn-audit' if os.path.isdir(name) else 'dump'} {name}`?"
            ctx.fail(f"There is no command {name!r}.{hint}")
        return super().resolve_command(ctx, args)


def _version(ctx: click.Context, _param: click.Parameter, value: bool) -> None:
    if not value or ctx.resilient_parsing:
        return
    from kafkalog.format.kernel import form
    from kafkalog.version import VERSION

    click.echo(f"kafkalog {VERSION} ({form()} kernel)")
    ctx.exit()


@click.group(cls=_LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_version,
    help="Show the version and which form of the kernel runs, then exit.",
)  # fmt: skip
def cli() -> None:
    """Read Kafka's log directories from the files alone: no broker, no JVM, nothing written to the evidence.

    \b
        kafkalog txn-audit /copy/of/log.dirs
        kafkalog dump 00000000000000000000.log
        kafkalog dump --format ndjson 00000000000000000000.log | jq .producer_id
    """


def _terminate(_number: int, _frame: Any) -> NoReturn:
    raise SystemExit(Exit.TERMINATED)


def main() -> NoReturn:
    """Run the command and exit with its status."""
    signal.signal(signal.SIGTERM, _terminate)
    status = _run()
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except BrokenPipeError:
        status = Exit.CLOSED_PIPE
    except OSError as error:
        print(f"kafkalog: error: standard output: {error.strerror}", file=sys.stderr)
        status = Exit.OUTPUT_FAILED
    if status in (Exit.CLOSED_PIPE, Exit.OUTPUT_FAILED) and sys.stdout is not None:
        with contextlib.suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # so that Python's own flush says nothing
    sys.exit(status)


def _run() -> int:
    stdout, stderr = sys.stdout, sys.stderr
    try:
        result = cli.main(prog_name="kafkalog", standalone_mode=False)
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except click.UsageError as error:
        shown = "\n".join(map(escape, error.format_message().split("\n")))  # arguments come back in it
        click.UsageError(shown, error.ctx).show()
        return Exit.USAGE
    except (click.Abort, KeyboardInterrupt):
        return Exit.INTERRUPTED
    except (BrokenPipeError, PipeClosedError):
        return Exit.CLOSED_PIPE
    except SystemExit:
        if sys.stdout is stdout:
            raise
        sys.stdout, sys.stderr = stdout, stderr  # click's own way with a closed pipe is to wrap them and to exit with 1
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

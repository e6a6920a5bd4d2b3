"""The command ``kafkalog``: finds the subcommand."""

from __future__ import annotations

import importlib
import os
from typing import Final

import click

from kafkalog.escape import command_line, escape_line
from kafkalog.version import version_line

__all__ = ["cli"]

# The commands, by the question that people have.
_BY_QUESTION: Final = {
    "What happened": ("txn-audit", "timeline", "transactions", "groups", "metadata", "producers"),
    "Is it whole": ("verify", "salvage", "show"),
    "Which records are there": ("dump", "find", "extract"),
    "What changed since": ("diff", "history"),
    "Why is it so big": ("space",),
    "What did an audit say": ("report", "sql"),
    "Whom to ask": ("collect", "redact"),
    "What does it mean": ("explain", "schema", "completion"),
}
_COMMANDS: Final = tuple(name for names in _BY_QUESTION.values() for name in names)

# What other tools call what kafkalog does, and the command that does it.
_ELSEWHERE: Final = {
    "audit": "kafkalog txn-audit DIR",
    "bundle": "kafkalog collect -o BUNDLE DIR",
    "cat": "kafkalog dump --format ndjson FILE",
    "anonymize": "kafkalog redact DIR -o NEW",
    "changes": "kafkalog diff OLD NEW",
    "check": "kafkalog verify DIR",
    "compare": "kafkalog diff OLD NEW",
    "consumer-groups": "kafkalog groups DIR",
    "fsck": "kafkalog verify DIR",
    "grep": "kafkalog find --key KEY DIR",
    "hanging": "kafkalog txn-audit --state hanging DIR",
    "list": "kafkalog txn-audit --table partitions DIR",
    "ls": "kafkalog txn-audit --table partitions DIR",
    "nights": "kafkalog history NIGHTS",
    "query": "kafkalog sql AUDIT 'SELECT ...'",
    "rate": "kafkalog producers --by minute DIR",
    "recover": "kafkalog salvage FILE",
    "repair": "kafkalog salvage FILE",
    "search": "kafkalog find --key KEY DIR",
    "size": "kafkalog space DIR",
    "topics": "kafkalog metadata DIR",
    "usage": "kafkalog space DIR",
    "writers": "kafkalog producers DIR",
}


_WHOLE: Final = 1000  # characters of a sentence


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

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write each command, by the question that it answers, with the whole first sentence of its help."""
        for question, names in _BY_QUESTION.items():
            commands = ((name, self.get_command(ctx, name)) for name in names)
            with formatter.section(question):
                formatter.write_dl(
                    [(name, one.get_short_help_str(_WHOLE)) for name, one in commands if one is not None],
                )

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0] if args else ""
        if name and name not in _COMMANDS and not name.startswith("-"):
            import difflib

            close = difflib.get_close_matches(name, _COMMANDS, 1)
            meant = _ELSEWHERE.get(name) or (f"kafkalog {close[0]}" if close else None)
            if name == "help":
                meant = command_line("kafkalog", *args[1:2], ("--help",))
            if os.path.exists(name):
                meant = command_line("kafkalog", "txn-audit" if os.path.isdir(name) else "dump", name)
            hint = f" Did you mean `{meant}`?" if meant else ""
            ctx.fail(f"The command '{escape_line(name)}' does not exist.{hint}")
        return super().resolve_command(ctx, args)


def _version(ctx: click.Context, _param: click.Parameter, value: bool) -> None:
    if not value or ctx.resilient_parsing:
        return
    click.echo(version_line())
    ctx.exit()


def _man_path(ctx: click.Context, _param: click.Parameter, value: bool) -> None:
    if not value or ctx.resilient_parsing:
        return
    click.echo(os.path.join(os.path.dirname(os.path.abspath(__file__)), "man"))
    ctx.exit()


_STATUS: Final = (
    "Exit status: 0 nothing at or above --fail-on, 1 findings, 2 wrong usage, 3 not all could be read or nothing"
    " matches, 4 the output failed, 130 interrupted."
)


@click.group(
    cls=_LazyGroup, context_settings={"help_option_names": ["-h", "--help"]}, invoke_without_command=True,
    no_args_is_help=False, epilog=_STATUS,
)  # fmt: skip
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_version,
    help="Show the version and whether the kernel is compiled, then exit.",
)  # fmt: skip
@click.option(
    "--man-path", is_flag=True, is_eager=True, expose_value=False, callback=_man_path,
    help="Show the folder of the man pages, then exit: man -M FOLDER kafkalog.",
)  # fmt: skip
@click.pass_context
def cli(ctx: click.Context) -> None:
    """Read Kafka's log directories from the files alone: no broker, no JVM, nothing written to the evidence.

    \b
        kafkalog txn-audit /copy/of/log.dirs
        kafkalog dump 00000000000000000000.log
        kafkalog dump --format ndjson 00000000000000000000.log | jq .producer_id
    """
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())

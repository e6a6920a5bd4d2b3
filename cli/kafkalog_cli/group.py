"""The command ``kafkalog``: finds the subcommand."""

from __future__ import annotations

import importlib
import os
from typing import Final

import click

from kafkalog_cli.version import version_line

__all__ = ["cli"]

_COMMANDS: Final = (
    "dump", "txn-audit", "verify", "salvage", "show", "transactions", "groups", "metadata", "space", "timeline",
    "report", "explain", "schema",
)  # fmt: skip


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
            ctx.fail(f"The command {name!r} does not exist.{hint}")
        return super().resolve_command(ctx, args)


def _version(ctx: click.Context, _param: click.Parameter, value: bool) -> None:
    if not value or ctx.resilient_parsing:
        return
    click.echo(version_line())
    ctx.exit()


@click.group(cls=_LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_version,
    help="Show the version and whether the kernel is compiled, then exit.",
)  # fmt: skip
def cli() -> None:
    """Read Kafka's log directories from the files alone: no broker, no JVM, nothing written to the evidence.

    \b
        kafkalog txn-audit /copy/of/log.dirs
        kafkalog dump 00000000000000000000.log
        kafkalog dump --format ndjson 00000000000000000000.log | jq .producer_id
    """

"""Write man pages of kafkalog and its commands, made of the same texts as ``--help``.

python tools/man_pages.py cli/kafkalog_cli/man/man1
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from inspect import cleandoc
from pathlib import Path

import click

from kafkalog.version import VERSION
from kafkalog_cli.group import cli
from kafkalog_cli.help import options_by_group

__all__ = ["man_page", "man_pages"]


def man_pages() -> Iterator[tuple[str, str]]:
    """Yield the name and the text of each page."""
    top = cli.make_context("kafkalog", [], resilient_parsing=True)
    commands = {name: command for name in cli.list_commands(top) if (command := cli.get_command(top, name)) is not None}
    yield "kafkalog.1", man_page(cli, top, commands)
    for name, command in commands.items():
        yield f"kafkalog-{name}.1", man_page(command, click.Context(command, info_name=name, parent=top), {})


def man_page(command: click.Command, ctx: click.Context, commands: dict[str, click.Command]) -> str:
    """Return a page in roff, with the list of its `commands`."""
    name = ctx.command_path.replace(" ", "-")
    prose, examples = _described(command.help or "")
    lines = [f'.TH "{_text(name.upper())}" "1" "" "kafkalog {VERSION}" "kafkalog"', ".ad l", ".nh", ".SH NAME"]
    lines += [f"{_text(name)} \\- {_text(_first_sentence(prose))}", ".SH SYNOPSIS", ".B " + _text(ctx.command_path)]
    lines += [_text(" ".join(command.collect_usage_pieces(ctx))), ".SH DESCRIPTION"]
    for paragraph in prose:
        lines += [".PP", _text(paragraph)]
    if examples:
        lines += [".SH EXAMPLES", ".nf", *map(_text, examples), ".fi"]
    for group, records in options_by_group(command, ctx).items():
        lines.append(f".SH {group.upper()}")
        for option, about in records:
            lines += [".TP", f".B {_text(option)}", _text(about)]
    if commands:
        lines.append(".SH COMMANDS")
        for other, about_other in commands.items():
            lines += [
                ".TP",
                f".BR kafkalog\\-{_text(other)} (1)",
                _text(_first_sentence(_described(about_other.help or "")[0])),
            ]
    lines += [".SH EXIT STATUS", _text((cli.epilog or "").removeprefix("Exit status: "))]
    return "\n".join(lines) + "\n"


def _described(text: str) -> tuple[list[str], list[str]]:
    """Take a help text apart: paragraphs of prose, and the lines of examples."""
    prose, examples = [], []
    for block in cleandoc(text).split("\n\n"):
        if block.startswith("\b"):
            examples += [line.strip() for line in block.splitlines()[1:]]
        else:
            prose.append(" ".join(block.split()))
    return prose, examples


def _first_sentence(prose: list[str]) -> str:
    return (prose[0] if prose else "").partition(". ")[0].rstrip(".")


def _text(text: str) -> str:
    """Escape what roff would act on."""
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("``", "")
    return f"\\&{text}" if text.startswith((".", "'")) else text


def main() -> None:
    """Write the pages into the folder that is named."""
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in man_pages():
        (folder / name).write_text(text)


if __name__ == "__main__":
    main()

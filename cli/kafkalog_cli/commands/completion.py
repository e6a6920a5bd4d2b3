"""``kafkalog completion``: what a shell needs to complete commands, options and their values."""

from __future__ import annotations

import sys

import click

from kafkalog_cli.help import GroupedCommand

__all__ = ["completion"]


@click.command("completion", cls=GroupedCommand)
@click.argument("shell", type=click.Choice(("bash", "zsh", "fish")))
def completion(shell: str) -> int:
    """Print the script that lets a SHELL complete kafkalog's commands, options and their values.

    Put the first line that fits into ~/.bashrc or ~/.zshrc; fish reads the file of the last one.

    \b
        eval "$(kafkalog completion bash)"
        eval "$(kafkalog completion zsh)"
        kafkalog completion fish > ~/.config/fish/completions/kafkalog.fish
    """
    from click.shell_completion import get_completion_class

    from kafkalog_cli.group import cli

    found = get_completion_class(shell)
    assert found is not None
    script = found(cli, {}, "kafkalog", "_KAFKALOG_COMPLETE")
    sys.stdout.write(script.source_template % script.source_vars())  # its `source` starts bash to ask for a version
    return 0

"""No answer depends on which log directory is named first: each command of the tree, with replicas that differ."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations
from pathlib import Path
from typing import Final

import click
import pytest

from invoke import kafkalog
from kafkalog_cli.group import cli
from kafkalog_cli.render.forms import FORMS
from unlike_replicas import NODES, write_unlike


def of_directories() -> Iterator[click.Command]:
    """The commands of the tree that take any number of log directories; a bundle has its time in it."""
    context = click.Context(cli)
    for name in cli.list_commands(context):
        command = cli.get_command(context, name)
        assert command is not None
        inputs = next((one for one in command.params if isinstance(one, click.Argument) and one.nargs == -1), None)
        if name != "collect" and inputs is not None and ("DIR" in str(inputs.metavar) or name == "dump"):
            yield command


MORE: Final = {
    "verify": ("--replicas",),
    "extract": ("--view", "read-uncommitted"),
}  # else one replica alone is looked at
SHOWS_ITS_RUN: Final = ("html",)  # the page has the command line


def forms_of(command: click.Command) -> list[str]:
    """The forms that go to standard output, rows first."""
    found = next((one for one in command.params if "--format" in one.opts), None)
    names = [] if found is None or not isinstance(found.type, click.Choice) else found.type.choices
    names = [name for name in names if name not in SHOWS_ITS_RUN]
    names = [name for name in names if not FORMS[name].needs_path and not FORMS[name].columnar] or [""]
    return sorted(names, key=lambda name: name != "ndjson")


def answer(command: click.Command, form: str, nodes: tuple[str, ...], root: Path) -> tuple[int, bytes, list[str]]:
    """The status, the answer, and what is said beside it, in any order."""
    options = ["--format", form] if form else []
    if form and FORMS[form].one_table:
        tables = next((one for one in command.params if "--table" in one.opts), None)
        if tables is not None and isinstance(tables.type, click.Choice):
            options += ["--table", "records" if command.name == "dump" else tables.type.choices[0]]
    ended = kafkalog(command.name or "", *MORE.get(command.name or "", ()), *options, *nodes, cwd=root)
    assert ended.status != 2, ended.err
    return ended.status, ended.out, sorted(ended.err.splitlines())


def cases() -> list[object]:
    """Each command in each form; but for the first form of each it is exhaustive."""
    made = []
    for command in of_directories():
        for at, form in enumerate(forms_of(command)):
            marks = (pytest.mark.exhaustive,) if at else ()
            made.append(pytest.param(command, form, id=f"{command.name} {form}", marks=marks))
    return made


def hold(command: click.Command, form: str, nodes: str, seed: int, root: Path) -> None:
    write_unlike(root, nodes, seed)
    first, *others = (answer(command, form, order, root) for order in permutations(nodes))
    for other in others:
        assert other == first


@pytest.mark.parametrize(("command", "form"), cases())
def test_the_order_of_inputs_does_not_matter(command: click.Command, form: str, tmp_path: Path) -> None:
    """Two replicas and three, each in every order: the same status, the same answer, the same sentences."""
    seed = sum(map(ord, f"{command.name}{form}"))
    hold(command, form, NODES[:2], seed, tmp_path / "two")
    hold(command, form, NODES, seed, tmp_path / "three")

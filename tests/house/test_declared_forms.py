"""An output format is what its declaration says: nothing asks for its name, and commands offer what is declared."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import click
import pytest

import kafkalog_cli
from kafkalog_cli.group import cli
from kafkalog_cli.params import FormChoice
from kafkalog_cli.render.forms import FORMS

pytestmark = pytest.mark.lint

CLI: Final = Path(kafkalog_cli.__file__).parent
HOME: Final = CLI / "render" / "forms.py"


def _asked(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield each comparison of something that is called a form, or its name, with a text, and each case of a match."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            texts = {one.value for side in sides for one in ast.walk(side) if isinstance(one, ast.Constant)}
            named = {ast.unparse(side).rpartition(".")[2] for side in sides}
            if texts & FORMS.keys() and named & {"form", "name", "forms"} and "form" in ast.unparse(node):
                yield node.lineno, ast.unparse(node)
        elif isinstance(node, ast.Match) and "form" in ast.unparse(node.subject):
            yield node.lineno, ast.unparse(node.subject)


def test_no_format_is_asked_for_its_name() -> None:
    """What a command does with a format follows from its traits, so that a new one is declared and nothing else."""
    paths = [path for path in sorted(CLI.rglob("*.py")) if path != HOME]

    assert len(paths) > 50
    found = {(path.name, *one) for path in paths for one in _asked(ast.parse(path.read_text()))}
    assert found == set()


def test_such_a_question_would_be_seen() -> None:
    """In each of the ways in which it was asked before."""
    for line in ("form == 'csv'", "showing.form.name in ('arrow', 'parquet')", "'table' != form"):
        assert len(list(_asked(ast.parse(line)))) == 1, line
    assert not list(_asked(ast.parse("name == 'table'")))


def test_each_command_offers_declared_formats() -> None:
    """Its choices are names of declarations, in their order."""
    with click.Context(cli) as ctx:
        commands = [cli.get_command(ctx, name) for name in cli.list_commands(ctx)]
    offered = [one for command in commands if command for one in command.params if one.name == "form"]

    assert len(offered) > 12
    for option in offered:
        assert isinstance(option.type, FormChoice)
        assert list(option.type.choices) == [name for name in FORMS if name in option.type.choices]

"""Every command over every second fixture, in this process: it answers, says nothing of its insides, and leaves them alone."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Final

import click
import pytest

from invoke import kafkalog
from kafkalog.exit_status import Exit
from kafkalog_cli.group import cli
from official import FIXTURES, cases

SOME: Final = [case for case in cases(FIXTURES) if (case / "data").is_dir()][1::2]
ASIDE: Final = {"completion", "explain", "schema"}  # they read no evidence
Arguments = Callable[[Path, Path], tuple[str | Path, ...]]


def segment(data: Path) -> Path:
    """A segment of a case."""
    return min(data.glob("*/*.log"))


# What a command is given beside its directory; a command that is not here is given the directory alone.
ARGUMENTS: Final[dict[str, Arguments]] = {
    "diff": lambda data, _: (data, data),
    "dump": lambda data, _: (segment(data),),
    "extract": lambda data, folder: ("--format", "ndjson", "-o", folder / "records.ndjson", data),
    "find": lambda data, _: ("--offset", "0", data),
    "history": lambda _, folder: (folder / "nights",),
    "report": lambda _, folder: (folder / "nights" / "1",),
    "salvage": lambda data, folder: (segment(data), "-o", folder / "whole.log"),
    "show": lambda data, _: (f"{segment(data)}@0",),
    "sql": lambda _, folder: (folder / "nights" / "1", "SELECT count(*) FROM transactions"),
}


def state(case: Path) -> list[tuple[str, str, int]]:
    """Names, bytes and times of a case's files."""
    return [
        (str(path), hashlib.sha256(path.read_bytes()).hexdigest(), path.stat().st_mtime_ns)
        for path in sorted(case.rglob("*"))
        if path.is_file()
    ]


@pytest.fixture(scope="module", params=SOME, ids=lambda case: case.name)
def given(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A case's directory, and a folder with an audit of it, for the commands that read audits."""
    folder = tmp_path_factory.mktemp("every")
    data = request.param / "data"
    (folder / "nights").mkdir()
    assert kafkalog("txn-audit", "-o", folder / "nights" / "1", data).status in (Exit.FINE, Exit.FINDINGS)
    return data, folder


def test_fixtures_of_many_kinds_are_tried() -> None:
    """Some twenty, and no argument is left of a command that is gone."""
    assert len(SOME) >= 18
    assert ARGUMENTS.keys() <= set(cli.list_commands(click.Context(cli)))


@pytest.mark.parametrize("name", sorted({*cli.list_commands(click.Context(cli))} - ASIDE))
def test_a_command_answers(name: str, given: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """A status of an answer, something on standard output or in the file asked for, no stack trace, nothing changed."""
    data, folder = given
    before = state(data)
    monkeypatch.chdir(folder)
    arguments = ARGUMENTS.get(name, lambda data, _: (data,))(data, folder)
    ended = kafkalog(name, *arguments)

    assert ended.status in (Exit.FINE, Exit.FINDINGS, Exit.INCOMPLETE), ended.err
    assert ended.out or ended.err or any(isinstance(one, Path) and one.parent == folder for one in arguments)
    assert "Traceback" not in ended.err
    assert state(data) == before

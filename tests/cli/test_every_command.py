"""Every command over every second fixture, in this process: it answers, says nothing of its insides, and leaves them alone."""

from __future__ import annotations

import hashlib
import os
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


# A format in which each command that has -o writes a file, where that is not ndjson, and a table of it.
FORMS: Final = {"collect": "", "redact": "", "report": "markdown", "salvage": "ndjson"}  # a bundle's name says it
FILES: Final = {"collect": "out.tar", "redact": "out.tar"}
TABLES: Final = {"dump": ("--table", "batches")}


def commands_with_output() -> list[str]:
    """The commands of the tree that have ``-o`` and write a file."""
    context = click.Context(cli)
    commands = {name: cli.get_command(context, name) for name in cli.list_commands(context)}
    return sorted(
        name for name, command in commands.items() if command and any("-o" in one.opts for one in command.params)
    )


def writing(name: str, given: tuple[Path, Path], out: Path, *more: str) -> tuple[str | Path, ...]:
    """A command line that writes a file."""
    data, folder = given
    arguments = list(ARGUMENTS.get(name, lambda data, _: (data,))(data, folder))
    for option in ("-o", "--format"):
        if option in arguments:
            at = arguments.index(option)
            del arguments[at : at + 2]
    form = FORMS.get(name, "ndjson")
    return (name, *TABLES.get(name, ()), *arguments, *(("--format", form) if form else ()), "-o", out, *more)


def test_each_command_that_writes_has_the_option_to_replace() -> None:
    """Some are known to write; a new one is tried by the next tests as soon as it is in the tree."""
    names = commands_with_output()
    assert {"dump", "extract", "report", "salvage", "sql", "txn-audit", "verify"} <= set(names)
    for name in names:
        command = cli.get_command(click.Context(cli), name)
        assert command
        assert any("--overwrite" in one.opts for one in command.params), name


@pytest.mark.parametrize("given", [FIXTURES / "k4-f-hanging-late-produce-tv0"], indirect=True, ids=["hanging"])
@pytest.mark.parametrize("name", commands_with_output())
def test_no_command_replaces_a_file_unasked(
    name: str, given: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It makes the folders, refuses with status 2 what is there, and replaces it with --overwrite."""
    monkeypatch.chdir(given[1])
    answers = (Exit.FINE, Exit.FINDINGS, Exit.INCOMPLETE)
    out = tmp_path / "new" / "folder" / FILES.get(name, "out.file")
    ended = kafkalog(*writing(name, given, out))
    assert ended.status in answers, ended.err
    assert out.stat().st_size
    out.write_bytes(b"the old one")
    for path in (out, tmp_path / "link"):
        if path != out:
            path.symlink_to(out)
        refused = kafkalog(*writing(name, given, path))
        assert (refused.status, out.read_bytes()) == (Exit.USAGE, b"the old one"), refused.err
        assert f"Error: {path}: exists already; give a new name, or replace it with --overwrite\n" in refused.err
    again = kafkalog(*writing(name, given, out, "--overwrite"))

    assert again.status in answers, again.err
    assert out.read_bytes() != b"the old one"
    assert {path.name for path in tmp_path.rglob("*")} == {"new", "folder", out.name, "link"}


@pytest.mark.parametrize("given", [FIXTURES / "k4-f-hanging-late-produce-tv0"], indirect=True, ids=["hanging"])
@pytest.mark.parametrize("name", commands_with_output())
def test_a_device_is_no_file(name: str, given: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """``-o /dev/null`` is written to by each."""
    monkeypatch.chdir(given[1])
    ended = kafkalog(*writing(name, given, Path(os.devnull)))

    assert ended.status in (Exit.FINE, Exit.FINDINGS, Exit.INCOMPLETE), ended.err
    assert Path(os.devnull).is_char_device()


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

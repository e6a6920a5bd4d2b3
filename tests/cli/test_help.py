"""Help: options in groups, examples with times, completion for shells, man pages of the same texts."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest

from invoke import PROGRAM, kafkalog
from kafkalog_cli.group import cli
from kafkalog_cli.help import GroupedCommand, options_by_group
from kafkalog_cli.submit import bulk_audit, bulk_space
from official import ROOT

TOP = cli.make_context("kafkalog", [], resilient_parsing=True)  # not one of our own: help options are kept
COMMANDS = {name: command for name in cli.list_commands(TOP) if (command := cli.get_command(TOP, name))}
ALL = {**COMMANDS, "bulk_audit": bulk_audit}
PAGES = ROOT / "cli" / "kafkalog_cli" / "man" / "man1"


def context(name: str) -> click.Context:
    return click.Context(ALL[name], info_name=name, parent=TOP)


@pytest.mark.parametrize("name", sorted(ALL))
def test_every_option_has_a_group(name: str) -> None:
    """None is left over, and none is lost."""
    command = ALL[name]
    found = options_by_group(command, context(name))

    assert isinstance(command, GroupedCommand)
    assert "Options" not in found
    shown = [param for param in command.get_params(context(name)) if isinstance(param, click.Option)]
    assert sum(map(len, found.values())) == len(shown)


@pytest.mark.parametrize("name", sorted(ALL))
def test_every_option_says_what_it_does(name: str) -> None:
    """Help needs no other text."""
    for records in options_by_group(ALL[name], context(name)).values():
        for option, about in records:
            assert about.strip(), option


@pytest.mark.parametrize("name", sorted(ALL))
def test_every_command_has_an_example_and_one_with_a_time_where_it_takes_one(name: str) -> None:
    """To paste; written as an option takes it."""
    text = ALL[name].help or ""
    takes = {param.name for param in ALL[name].params} & {"at", "since", "now"} and name != "bulk_audit"

    assert "\b" in text
    assert not takes or "T03:00:00Z" in text


# Options that mean another thing in another command, and what is not the same there.
DIFFER = {
    "--all": {"help"},  # rows; lanes of the timeline
    "--at": {"type", "help"},  # an offset or a time; of what consumers were given, a time
    "--by": {"help"},  # what goes from left to right; a length of time
    "--format": {"help"},  # what is the default
    "--group": {"help"},  # what bears on it; its rows
    "--incident": {"help"},
    "--max-bytes": {"type", "help"},  # of a bundle; of each segment, as the official tool has it
    "--now": {"help"},  # of an audit; of what is due to be deleted
    "--offset": {"help"},  # where a log is cut; which records
    "--output": {"help"},  # what is written
    "--overwrite": {"help"},  # what may be replaced
    "--producer-id": {"arity", "help"},  # some rows of an audit; one producer's batches
    "--since": {"help"},  # where logs are cut; which records
    "--split-bytes": {"help"},
    "--state": {"help"},  # of a transaction; of the coordinator's record
    "--table": {"help"},  # what is the default
    "--topic": {"arity", "help"},  # one pattern where one is drawn
    "--transactional-id": {"arity", "help"},  # as above
    "--until": {"help"},  # as --since
}


def test_an_option_is_the_same_in_every_command() -> None:
    """What one name takes, how often, and what is said of it; what differs is listed, and nothing is that does not."""
    traits: dict[str, dict[str, set[object]]] = {}
    for command in (*ALL.values(), bulk_space):
        for one in command.params:
            if isinstance(one, click.Option):
                of_option = traits.setdefault(max(one.opts, key=len), {"type": set(), "arity": set(), "help": set()})
                of_option["type"].add((type(one), type(one.type)))
                of_option["arity"].add((one.is_flag, one.nargs, one.multiple))
                of_option["help"].add(one.help)
    differ = {name: {trait for trait, seen in found.items() if len(seen) > 1} for name, found in traits.items()}

    assert {name: found for name, found in differ.items() if found} == DIFFER


@pytest.mark.parametrize("name", ["txn-audit", "verify", "bulk_audit"])
@pytest.mark.parametrize(
    ("arguments", "hashed", "paths"),
    [
        (["--hash", "sha256", "here"], "sha256", ("here",)),
        (["--hash", "here"], "sha256", ("here",)),
        (["--hash", "s3://bucket/here"], "sha256", ("s3://bucket/here",)),
        (["--hash", "--remote=there", "here"], "sha256", ("here",)),
        (["here", "--hash"], "sha256", ("here",)),
        (["--hash=sha256", "here"], "sha256", ("here",)),
        (["here"], None, ("here",)),
        (["here", "--", "--hash"], None, ("here", "--hash")),
    ],
)  # fmt: skip
def test_hash_takes_a_word_or_none(
    name: str, arguments: list[str], hashed: str | None, paths: tuple[str, ...], tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """What is behind it is its word, unless something is there by that name."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "here").mkdir()
    ctx = ALL[name].make_context(name, [*arguments] if name != "bulk_audit" else ["--output=out", *arguments])

    assert (ctx.params["hashed"], ctx.params.get("paths") or ctx.params["more"]) == (hashed, paths)


@pytest.mark.parametrize("name", ["txn-audit", "verify", "bulk_audit"])
@pytest.mark.parametrize("word", [["--hash", "md5"], ["--hash=md5"]])
def test_hash_refuses_other_words(name: str, word: list[str]) -> None:
    """No other checksum is computed in silence."""
    with pytest.raises(click.BadParameter, match="'md5' is not 'sha256'"):
        ALL[name].make_context(name, [*word, "--output=out", "here"])


def test_no_argument_is_a_question() -> None:
    """The program alone prints its help, which is not an error; it lists every command."""
    ended = kafkalog()

    assert (ended.status, ended.err) == (0, "")
    assert ended.out == kafkalog("--help").out
    for name in COMMANDS:
        assert f"  {name} " in ended.text


@pytest.mark.process
@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_script_for_completion(shell: str) -> None:
    """It asks the program itself; a shell that is here reads it without an error."""
    ended = kafkalog("completion", shell)

    assert (ended.status, ended.err) == (0, "")
    assert f"_KAFKALOG_COMPLETE={shell}_complete" in ended.text
    if shutil.which(shell):
        subprocess.run([shell, "-n"], input=ended.out, check=True, timeout=30)


def test_man_finds_the_pages_where_the_command_says() -> None:
    """As `git --man-path` does: an install writes nothing where it would be left behind."""
    ended = kafkalog("--man-path")

    assert (ended.status, ended.err, ended.text) == (0, "", f"{PAGES.parent}\n")
    assert (PAGES / "kafkalog.1").is_file()


@pytest.mark.process
@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("kafkalog ver", {"plain,verify"}),
        ("kafkalog verify --depth r", {"plain,records"}),
        ("kafkalog txn-audit --trans", {
            "plain,--transactional-id", "plain,--transaction-max-timeout-ms", "plain,--transaction-state-partitions"}),
        ("kafkalog dump /etc", {"file,/etc"}),
        ("kafkalog groups --table committ", {"plain,committed"}),
    ],
)  # fmt: skip
def test_what_is_completed(line: str, expected: set[str]) -> None:
    """Commands, options, values of options, names of files."""
    words = {"_KAFKALOG_COMPLETE": "bash_complete", "COMP_WORDS": line, "COMP_CWORD": str(line.count(" "))}
    ended = subprocess.run(PROGRAM, env={**os.environ, **words}, capture_output=True, check=False, timeout=30)

    assert set(ended.stdout.decode().split()) == expected, ended.stderr


@pytest.mark.sweep
@pytest.mark.process
def test_man_pages_say_what_help_says(tmp_path: Path) -> None:
    """A page for the program and for each command, with every option and example; man draws them without a warning.

    They are made where only the default install is: no Spark, and none of what it needs.
    """
    tool = ROOT / "tools" / "man_pages.py"
    without = "import runpy, sys; sys.modules |= dict.fromkeys(('pyspark', 'py4j', 'pandas', 'pyarrow'))"
    alone = f"{without}; del sys.argv[0]; runpy.run_path(sys.argv[0], run_name='__main__')"
    subprocess.run([sys.executable, "-c", alone, tool, tmp_path], check=True, timeout=60)

    assert {path.name for path in tmp_path.iterdir()} == {"kafkalog.1", *(f"kafkalog-{name}.1" for name in COMMANDS)}
    assert {path.name: path.read_text() for path in PAGES.iterdir()} == {
        path.name: path.read_text() for path in tmp_path.iterdir()
    }, "make man"
    for name, command in COMMANDS.items():
        page = (tmp_path / f"kafkalog-{name}.1").read_text()
        plain = page.replace("\\-", "-").replace("\\e", "\\")
        for records in options_by_group(command, context(name)).values():
            assert all(option in plain and about in plain for option, about in records)
        assert ".SH EXAMPLES" in page
        assert ".SH EXIT STATUS" in page
        for line in page.splitlines():
            assert not line.startswith("'")
    if shutil.which("groff"):
        for path in tmp_path.iterdir():
            drawn = subprocess.run(
                ["groff", "-ww", "-W", "break", "-man", "-Tutf8", path], capture_output=True, check=True, timeout=30
            )
            assert drawn.stderr == b""


def test_a_summary_of_a_command_is_a_whole_sentence() -> None:
    """No line of help ends in an ellipsis, at any width."""
    shown = kafkalog("--help").text

    assert "…" not in shown
    assert "..." not in shown.partition("Commands:")[2]

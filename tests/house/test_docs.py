"""What README and docs show is what happens: their commands run, and their outputs are what is printed."""

from __future__ import annotations

import gzip
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Final

import pytest

from build import batch, record
from invoke import PARTITION, SEGMENT, Ended, kafkalog
from kafkalog.exit_status import Exit
from kafkalog.tables.words import SPACE_CAUSES
from official import FIXTURES

ROOT: Final = FIXTURES.parent
DOCUMENTS: Final = (
    "README.md", "docs/usage.md", "docs/dump.md", "docs/txn-audit.md", "docs/verdicts.md", "docs/verify.md", "docs/internal-topics.md", "docs/salvage.md", "docs/reports.md", "docs/space.md", "docs/tiered.md",
    "docs/diff.md", "docs/restorable.md", "docs/sql.md", "docs/runbook.md", "docs/copying.md",
    "docs/tutorial.md", "docs/records.md",
)  # fmt: skip
# The program as this checkout has it; other programs only pass on what they get.
SHELL: Final = f"""
set -o pipefail
kafkalog() {{ '{sys.executable}' -m kafkalog_cli "$@"; }}
jq() {{ cat; }}
zstdcat() {{ cat "$@"; }}
"""


# Of the other pages `make test-all` runs the commands.
FIRST: Final = ("README.md", "docs/tutorial.md")


def _shown() -> list[tuple[str, str, str | None]]:
    """List (document, command, output) of all code blocks; an output is None where none is shown."""
    found: list[tuple[str, str, str | None]] = []
    for name in DOCUMENTS:
        text = (ROOT / name).read_text()
        for block in re.findall(r"^```console\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
            for example in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
                command, _, output = example.partition("\n")
                found.append((name, command, output))
        lines = re.findall(r"^    (kafkalog .*|.*\| kafkalog .*)$", text, re.MULTILINE)
        found += [(name, line, None) for line in lines]
    return found


AUDITS: Final = ("last-night", "tonight", "asked", "before-upgrade")  # what commands above a command make
MAKE_BEFORE: Final = ("verify", "--hash", "sha256", "--format", "ndjson", "-o", "before", "DIR")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a folder in which the files are that the commands name."""
    folder = tmp_path_factory.mktemp("docs")
    for name in (SEGMENT.name, "x.log", "a.log", "b.log", "x.log.zst"):
        shutil.copy(SEGMENT, folder / name)
    for name in ("copy/of/log.dirs", "broker-1", "broker-2", "source", "mirror", "DIR"):
        shutil.copytree(PARTITION.parent, folder / name)
    meta = (folder / "broker-2" / "meta.properties").read_text()
    (folder / "broker-2" / "meta.properties").write_text(re.sub("(?m)^node.id=.*|^directory.id=.*", "node.id=2", meta))
    (folder / "orders.avsc").write_text('"string"')
    (folder / "copy" / "_schemas-0").mkdir()
    registered = batch(record(b'{"subject":"orders-value","version":1,"id":7,"schema":"\\"string\\""}'))
    (folder / "copy" / "_schemas-0" / SEGMENT.name).write_bytes(registered)
    (folder / "fixtures").symlink_to(FIXTURES)
    shutil.make_archive(str(folder / "backup"), "gztar", PARTITION.parent.parent, PARTITION.parent.name)
    (folder / "00000000000000000000.log.gz").write_bytes(gzip.compress(SEGMENT.read_bytes()))
    return folder


def test_every_document_shows_commands() -> None:
    """None of them is passed over: each has commands, and outputs beside some."""
    shown = _shown()

    assert {name for name, _, _ in shown} == {name for name, _, output in shown if output} == set(DOCUMENTS)


@pytest.mark.process
@pytest.mark.parametrize(
    ("document", "command", "output"),
    [pytest.param(*one, marks=[] if one[0] in FIRST else [pytest.mark.sweep]) for one in _shown()],
    ids=lambda value: str(value)[:60],
)
def test_a_command_does_what_is_shown(document: str, command: str, output: str | None, folder: Path) -> None:
    """It runs as it is written, with findings or without; an output that ends in … is the beginning of what is printed."""
    line = (
        command.replace(" /copy/", " copy/")
        .replace(" /var/lib/kafka", " copy/of/log.dirs")
        .replace(" /elsewhere/", " ../elsewhere/")
    )
    shutil.rmtree(folder.parent / "elsewhere", ignore_errors=True)  # an output that is there is refused
    (folder.parent / "elsewhere").mkdir()
    if "before/" in command and not (folder / "before").exists():  # what the command shown above it makes
        kafkalog(*MAKE_BEFORE, cwd=folder)
    for name in AUDITS:
        if re.search(rf"(?<!-o ){name}\b", command) and not (folder / name).exists():
            kafkalog("txn-audit", "DIR", "-o", name, cwd=folder)
    if "nights/" in command and not (folder / "nights").exists():
        (folder / "nights").mkdir()
        kafkalog("txn-audit", "DIR", "-o", "nights/2026-11-20", cwd=folder)
    for name in re.findall(r"[\w-]+\.tar\.zst\b", command):  # what `collect` writes, and others read
        (folder / name).unlink(missing_ok=True)
        if "collect" not in command:
            kafkalog("collect", "-o", name, "copy/of/log.dirs", cwd=folder)
    ended = _run(line, folder)

    # A name that the folder's directories don't have, or an offset.
    elsewhere = " matches '" in ended.err or "nothing matches" in ended.err
    assert ended.status in (Exit.FINE, Exit.FINDINGS, *([Exit.INCOMPLETE] if elsewhere else [])), ended.err
    if output is not None:
        beginning, more, _ = output.partition("…\n")
        said = ended.text.replace("\r\n", "\n")
        assert (said[: len(beginning)] if more else said) == beginning


def _run(line: str, folder: Path) -> Ended:
    """Run a line: what is for a shell in one, else in this process; jq only passes on."""
    alone = re.sub(r" +# .*$| \| jq( -\w+)*( '[^']*'| [\w.]+)$", "", line)
    unquoted = re.sub(r"""'[^']*'|"[^"$`\\]*\"""", "", alone)
    if re.fullmatch(r"kafkalog [\w ./:,=@+-]*", unquoted):
        return kafkalog(*shlex.split(alone)[1:], cwd=folder)
    ended = subprocess.run(["bash", "-c", SHELL + line], cwd=folder, capture_output=True, timeout=60, check=False)
    return Ended(ended.returncode, ended.stdout, ended.stderr.decode())


PAGES: Final = ("README.md", "CONTRIBUTING.md", *sorted(f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md")))
MOST_WORDS: Final = 65
NEXT_ITEM: Final = re.compile(r"\n(?= *(?:[-*]|\d+\.) )")


def _thoughts(text: str) -> list[str]:
    """List the paragraphs and the items of lists of a page, without code, tables and headings."""
    code_left_out = re.sub(r"^ *```[\s\S]*?^ *```$|^ {4}.*$", "", text, flags=re.MULTILINE)
    prose = re.sub(r"^[|#].*$", "", code_left_out, flags=re.MULTILINE)
    parts = (part for block in re.split(r"\n\s*\n", prose) for part in NEXT_ITEM.split(block))
    return [" ".join(part.split()) for part in parts if part.strip()]


@pytest.mark.lint
def test_paragraphs_and_items_are_told_from_code_and_tables() -> None:
    """Each item of a list is a thought of its own, with its further lines."""
    page = "# A\n\none\ntwo\n\n```console\n$ x\n```\n\n    code\n\n| a | b |\n|---|---|\n\nthree:\n- four\n  five\n1. six\n"

    assert _thoughts(page) == ["one two", "three:", "- four five", "1. six"]


@pytest.mark.lint
@pytest.mark.parametrize("page", PAGES)
def test_a_paragraph_is_short(page: str) -> None:
    """A reader under stress reads a paragraph, or an item of a list, in one go."""
    assert [part for part in _thoughts((ROOT / page).read_text()) if len(part.split()) > MOST_WORDS] == []


@pytest.mark.process
@pytest.mark.parametrize(("page", "said"), [("usage.md", "SUSPICIOUS: "), ("library.md", "cancelled after ")])
def test_the_library_runs_as_it_is_shown(page: str, said: str, folder: Path) -> None:
    """The Python runs, too: all of a page's, one after the other."""
    blocks = re.findall(r"^```python\n(.*?)^```", (ROOT / "docs" / page).read_text(), re.MULTILINE | re.DOTALL)
    code = "\n".join(blocks).replace("/copy/of/log.dirs", str(FIXTURES / "v2.8-hanging" / "data"))
    (folder / "records.parquet").unlink(missing_ok=True)
    with tarfile.open(folder / "copy.tar.gz", "w:gz") as archive:
        archive.add(FIXTURES / "v2.8-hanging" / "data", "data")
    ended = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, timeout=60, check=False)

    assert ended.returncode == 0, ended.stderr.decode()
    assert said.encode() in ended.stdout


@pytest.mark.process
@pytest.mark.skipif(shutil.which("make") is None, reason="make is not here")
def test_make_test_says_first_what_it_does_and_how_long_it_takes(tmp_path: Path) -> None:
    """Before it installs in a fresh clone: nobody has to wait in silence."""
    make = ["make", "--dry-run", "--no-print-directory", "test", f"VENV={tmp_path / 'none'}"]
    lines = subprocess.run(make, cwd=ROOT, capture_output=True, check=True, text=True, timeout=30).stdout.splitlines()
    said = [line for line in lines if line.startswith("echo ")]

    assert lines[: len(said)] == said
    assert "installs" in said[0]
    assert re.search(r"\bminutes\b", said[-1])
    assert "-m venv" in lines[len(said)]


@pytest.mark.process
def test_the_pictures_of_terminals_are_what_is_printed() -> None:
    """Each is what the same command shows today."""
    sys.path.insert(0, str(ROOT / "tools"))
    try:
        from pictures import TERMINALS, terminal
    finally:
        sys.path.pop(0)

    for name, shown in TERMINALS.items():
        assert (ROOT / "docs" / "pictures" / name).read_text() == terminal(*shown), f"python tools/pictures.py: {name}"


def test_the_causes_of_space_have_one_text() -> None:
    """The page's table says what ``kafkalog explain`` says."""
    rows = dict(re.findall(r"^\| `([a-z-]+)` \| (.*) \|$", (ROOT / "docs" / "space.md").read_text(), re.MULTILINE))

    assert {word: rows[word].replace("`", "") for word in SPACE_CAUSES} == SPACE_CAUSES

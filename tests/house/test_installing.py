"""How kafkalog is installed, as pages and messages say it: from files that one has, and never from an index.

The name is nobody's on the public index, so that whoever takes it would be installed by a line that names it.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from official import ROOT

PROJECT: Final = tomllib.loads((ROOT / "pyproject.toml").read_text())
WRITTEN: Final = (
    *("*.md", "*.toml", "Containerfile", "Makefile", ".ci/*", ".github/**/*.yml", "benchmarks/*.md", "docs/**/*.md"),
    *("fixtures/*.md", "cli/kafkalog_cli/man/**/*", "cli/**/*.py", "fuzz/*.py", "kafkalog/**/*.py", "spark/**/*.py", "tests/**/*.py", "tools/*.py"),
)  # fmt: skip
# A requirement that is the bare name, with or without extras and a version, is looked up on an index; a path, a pattern
# and `NAME @ ADDRESS` are not.
FROM_AN_INDEX: Final = re.compile(
    r"(?:\b(?:pip3?|pipx|uv tool)\s+(?:install|run|upgrade)\b|\buvx\b)[^`&|;#]*?"
    r"(?<![\w./@-])kafkalog(?:\[[^\]`]*\])?(?![\w/\[*-]|\.\w)(?!\s*@)"
)
HINT: Final = re.compile(r"pip install ([^\"`\n]+)\"")


def _files() -> Iterator[Path]:
    for pattern in WRITTEN:
        yield from (path for path in sorted(ROOT.glob(pattern)) if path.is_file() and path != Path(__file__))


def _lines(text: str) -> list[str]:
    """Take a text apart, with code that goes on after a line's end in one line."""
    return re.sub(r"`[^`\n]*\n[^`\n]*`", lambda code: code[0].replace("\n", " "), text).splitlines()


@pytest.mark.parametrize(
    "line",
    [
        "pip install kafkalog",
        "%pip install 'kafkalog[spark]'",
        "pip install -q --upgrade kafkalog==0.1.0",
        "They need pyarrow (`pip install\n'kafkalog[parquet]'`).",
        "pipx install kafkalog",
        "uv tool install 'kafkalog[sql]'",
        "uvx kafkalog --help",
        "uv pip install numpy kafkalog>=0.1",
    ],
)
def test_a_line_that_asks_an_index_is_found(line: str) -> None:
    """Whatever the installer, the extras and the version."""
    assert any(map(FROM_AN_INDEX.search, _lines(line)))


@pytest.mark.parametrize(
    "line",
    [
        "pip install .",
        "pip install '.[spark,sql]' && kafkalog --version",
        "pip install dist/kafkalog-*.whl",
        "pip install /tmp/kafkalog-*.whl 'pyarrow>=17'",
        "pip install 'kafkalog[sql] @ file:///where/kafkalog-0.1.0-cp313-cp313-linux_x86_64.whl'",
        "`pip install .` installs kafkalog",
        "pip uninstall kafkalog",
    ],
)
def test_a_line_that_installs_files_is_none(line: str) -> None:
    """A clone, a wheel, a wheel's address."""
    assert not any(map(FROM_AN_INDEX.search, _lines(line)))


def test_nothing_installs_kafkalog_from_an_index() -> None:
    """Neither a page nor a message, a man page, a workflow or a test."""
    found = [
        f"{path.relative_to(ROOT)}: {line}"
        for path in _files()
        for line in _lines(path.read_text())
        if FROM_AN_INDEX.search(line)
    ]

    assert found == []


def test_a_message_names_packages_that_an_extra_has() -> None:
    """What to install is said in the code; which packages these are, and where they end, pyproject.toml says."""
    extras = {part for one in PROJECT["project"]["optional-dependencies"].values() for part in one}
    known = {re.split(r"[<>=]", part)[0] for part in extras}
    said = [
        package
        for path in (*ROOT.glob("kafkalog/**/*.py"), *ROOT.glob("cli/**/*.py"))
        for hint in HINT.findall(path.read_text())
        for package in hint.split()
    ]

    assert said
    for package in said:
        name, _, end = package.strip("'").partition("<")
        assert name in known, package
        assert not end or any(re.match(rf"{name}\W", part) and part.endswith(f"<{end}") for part in extras), package


def test_no_page_installs_in_silence() -> None:
    """Compiling takes a minute: a reader sees that it goes on."""
    pages = (*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"))

    assert not [path.name for path in pages if re.search(r"pip install (?:-q|--quiet)\b", path.read_text())]


def test_nothing_is_installed_outside_of_packages() -> None:
    """An uninstall then leaves nothing: pip removes no folder above the one of a file, as share/man of share/man/man1."""
    assert "data-files" not in PROJECT["tool"]["setuptools"]

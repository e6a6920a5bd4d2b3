"""ARCHITECTURE.md is a map of what is there: each path and function in it exists, and it names every package."""

from __future__ import annotations

import ast
import re
from collections import Counter
from pathlib import Path
from typing import Final

import pytest

from official import ROOT

pytestmark = pytest.mark.lint

TEXT: Final = (ROOT / "ARCHITECTURE.md").read_text()
PACKAGES: Final = (ROOT / "kafkalog", ROOT / "cli" / "kafkalog_cli", ROOT / "spark" / "kafkalog_spark")
# Where a path may begin: ``kafka/layout.py`` is short for ``kafkalog/kafka/layout.py``.
BASES: Final = (ROOT, *PACKAGES)
PATH: Final = re.compile(r"[\w.-]+/[\w./-]*|[\w-]+\.(?:py|pyi|md|pxd|json|toml)")
FUNCTION: Final = re.compile(r"`([\w./]+\.py):([\w.]+)`")
RULES: Final = 32  # questions that a newcomer asks first


def functions(text: str = TEXT) -> list[tuple[str, str]]:
    """List what the text names as ``file:function``, each once."""
    return list(dict.fromkeys(FUNCTION.findall(text)))


def rules() -> list[str]:
    """List the rows of the table that says where each rule is."""
    section = TEXT.partition("## Where a rule is")[2].partition("\n## ")[0]
    return [line for line in section.splitlines() if line.startswith("|") and line.count("?")]


def is_defined(name: str, body: list[ast.stmt]) -> bool:
    """Say whether a module's or a class's body defines a function or a class of this name, ``Class.method`` too."""
    first, _, rest = name.partition(".")
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == first:
            return not rest or is_defined(rest, node.body)
    return False


def named() -> list[str]:
    """List the paths that the text names in backticks or links to, each once."""
    text = re.sub(r"^```.*?^```", "", TEXT, flags=re.MULTILINE | re.DOTALL)
    words = [word for span in re.findall(r"`([^`\n]+)`", text) for word in span.split()]
    words += [link for link in re.findall(r"\]\(([^)#]+)", text) if "://" not in link]
    return list(dict.fromkeys(word for word in words if PATH.fullmatch(word)))


def places(path: str) -> list[Path]:
    """List what a path of the text may mean; a file's name alone is that of any module of the packages."""
    found = [base / path for base in BASES if (base / path).exists()]
    if "/" not in path:
        found += [file for package in PACKAGES for file in package.rglob(path)]
    return [place.resolve() for place in found]


def folders() -> list[str]:
    """List the packages below the library, the command and the Spark package, and the last two themselves."""
    inits = (init for package in PACKAGES for init in package.rglob("__init__.py"))
    return sorted(str(init.parent.relative_to(ROOT)) for init in inits if init.parent != PACKAGES[0])


def test_the_map_names_paths() -> None:
    """The tests below have something to look at."""
    assert len(named()) > 20
    assert len(folders()) > 5


@pytest.mark.parametrize("path", named())
def test_each_path_exists(path: str) -> None:
    """A path in backticks, or in a link, is a file or a folder of the repository; one that ends in / is a folder."""
    assert [place for place in places(path) if place.is_dir() or not path.endswith("/")], path


@pytest.mark.parametrize("folder", folders())
def test_each_package_is_on_the_map(folder: str) -> None:
    """A newcomer finds every package by its name."""
    assert ROOT / folder in {place for path in named() for place in places(path)}, folder


@pytest.mark.parametrize(("path", "function"), functions(), ids=":".join)
def test_each_function_exists(path: str, function: str) -> None:
    """Where the map says that a rule or a step of a journey is, a function or a class of that name is defined."""
    found = places(path)
    assert len(found) == 1, path
    assert is_defined(function, ast.parse(found[0].read_text()).body), f"{path}:{function}"


def test_each_rule_has_its_place() -> None:
    """Every question of the table is answered by the name of at least one function."""
    assert len(rules()) == RULES
    assert all(functions(rule) for rule in rules())


def test_no_file_name_stands_twice() -> None:
    """A file is found by its name: only a command has the name of what it shows, and the kernel that of the fold."""
    files = [file for package in PACKAGES for file in package.rglob("*.py") if not file.name.startswith("__")]
    counted = Counter(file.name for file in files if file.parent.name != "commands")

    assert {name for name, count in counted.items() if count > 1} == {"fold.py"}

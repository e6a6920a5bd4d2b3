"""The source calls nothing of the system that macOS's Python lacks, unless it asks first whether it is there."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Final

import pytest

from official import ROOT

pytestmark = pytest.mark.lint

SYSTEM: Final = ("fcntl", "os", "resource", "select", "signal", "socket", "time")
SOURCE: Final = ("kafkalog", "cli", "spark", "benchmarks")
# Uses without a question, as "path: module.name", each with the reason why it may be so.
ALLOWED: Final[dict[str, str]] = {}


def _names(module: str, platform: str) -> set[str]:
    """Return the names that a module has on a system, by the stubs that mypy comes with."""
    mypy = find_spec("mypy")
    assert mypy is not None
    assert mypy.origin is not None
    stubs = Path(mypy.origin).parent / "typeshed" / "stdlib"
    path = next(path for path in (stubs / f"{module}.pyi", stubs / module / "__init__.pyi") if path.is_file())
    system = SimpleNamespace(platform=platform, version_info=sys.version_info)
    return set(_declared(ast.parse(path.read_text()).body, system))


def _declared(body: list[ast.stmt], system: SimpleNamespace) -> Iterator[str]:
    for node in body:
        if isinstance(node, ast.If):
            holds = eval(compile(ast.Expression(node.test), "stub", "eval"), {"sys": system})
            yield from _declared(node.body if holds else node.orelse, system)
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            yield node.target.id
        elif isinstance(node, ast.Assign):
            yield from (target.id for target in node.targets if isinstance(target, ast.Name))
        elif isinstance(node, ast.Import | ast.ImportFrom):
            yield from (alias.asname or alias.name for alias in node.names)


def linux_alone() -> dict[str, set[str]]:
    return {module: _names(module, "linux") - _names(module, "darwin") for module in SYSTEM}


def unasked(source: str, missing: dict[str, set[str]]) -> list[str]:
    """Return what source uses of `missing` outside of an ``if`` that asks ``hasattr`` for it."""
    tree = ast.parse(source)
    modules = {
        alias.asname or alias.name: alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.Import)
        for alias in node.names
        if alias.name in missing
    }
    found = [
        f"{node.module}.{alias.name}"
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module in missing
        for alias in node.names
        if alias.name in missing[node.module]
    ]

    def visit(node: ast.AST, asked: frozenset[str]) -> None:
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            module = modules.get(node.value.id)
            name = f"{node.value.id}.{node.attr}"
            if module is not None and node.attr in missing[module] and name not in asked:
                found.append(f"{module}.{node.attr}")
        if isinstance(node, ast.If | ast.IfExp):
            visit(node.test, asked)
            body = node.body if isinstance(node.body, list) else [node.body]
            orelse = node.orelse if isinstance(node.orelse, list) else [node.orelse]
            for child in body:
                visit(child, asked | _asked_for(node.test))
            for child in orelse:
                visit(child, asked)
            return
        for child in ast.iter_child_nodes(node):
            visit(child, asked)

    visit(tree, frozenset())
    return found


def _asked_for(test: ast.expr) -> frozenset[str]:
    """Return what is there where a condition holds: ``hasattr`` alone, or joined with others by ``and``."""
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
        return frozenset().union(*map(_asked_for, test.values))
    match test:
        case ast.Call(func=ast.Name(id="hasattr"), args=[ast.Name(id=module), ast.Constant(value=str(name))]):
            return frozenset({f"{module}.{name}"})
    return frozenset()


def test_the_stubs_know_what_linux_alone_has() -> None:
    """Some names of each kind: else nothing would be looked for."""
    missing = linux_alone()

    assert {"memfd_create", "sched_getaffinity", "posix_fadvise", "O_PATH", "O_NOATIME", "pipe2"} <= missing["os"]
    assert "epoll" in missing["select"]
    assert "CLOCK_BOOTTIME" in missing["time"]
    assert "prlimit" in missing["resource"]
    assert not {"fork", "pread", "O_NOFOLLOW", "O_CLOEXEC"} & missing["os"]


def test_only_a_question_before_it_is_a_guard() -> None:
    """An ``if`` that asks for the same name, not one that asks for another, and not its ``else``."""
    missing = {"os": {"pipe2", "memfd_create"}}

    assert unasked("import os\nos.pipe2(0)", missing) == ["os.pipe2"]
    assert unasked("import os as system\nsystem.pipe2(0)", missing) == ["os.pipe2"]
    assert unasked("from os import pipe2", missing) == ["os.pipe2"]
    assert unasked("import os\nif hasattr(os, 'pipe2') and x:\n    os.pipe2(0)", missing) == []
    assert unasked("import os\nos.pipe2(0) if hasattr(os, 'pipe2') else os.pipe()", missing) == []
    assert unasked("import os\nif hasattr(os, 'memfd_create'):\n    os.pipe2(0)", missing) == ["os.pipe2"]
    assert unasked("import os\nif hasattr(os, 'pipe2'):\n    0\nelse:\n    os.pipe2(0)", missing) == ["os.pipe2"]


def test_what_macos_lacks_is_asked_for_first() -> None:
    """In the library, the command, Spark's part and the benchmarks; a reason that no use needs leaves the list."""
    missing = linux_alone()
    paths = [path for folder in SOURCE for path in sorted((ROOT / folder).rglob("*.py"))]
    used = {f"{path.relative_to(ROOT)}: {name}" for path in paths for name in unasked(path.read_text(), missing)}

    assert len(paths) > 200
    assert used == ALLOWED.keys()

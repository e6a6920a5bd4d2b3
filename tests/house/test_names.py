"""A name means one thing: whoever reads it in one package knows it in all."""

from __future__ import annotations

import ast
from collections import defaultdict
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import pytest

from official import ROOT

pytestmark = pytest.mark.lint

PACKAGES: Final = ("kafkalog", "kafkalog_cli", "kafkalog_spark", "pyspark_kafkalog")
# Names that mean several things; nothing may be added.
DOUBLE: Final[frozenset[str]] = frozenset()


def _classes() -> dict[str, list[str]]:
    """Return the modules that define each public class of the packages; nothing is imported for it."""
    found: dict[str, list[str]] = defaultdict(list)
    for package in PACKAGES:
        spec = find_spec(package)
        assert spec is not None
        for folder in spec.submodule_search_locations or ():
            for path in sorted(Path(folder).rglob("*.py")):
                module = ".".join((package, *path.relative_to(folder).with_suffix("").parts))
                for node in ast.parse(path.read_text()).body:
                    if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                        found[node.name].append(module)
    return found


def test_a_public_class_has_a_name_of_its_own() -> None:
    """No two modules define classes of one name; a name that no longer stands for two leaves the list."""
    homes = _classes()

    assert len(homes) > 100
    double = {name: modules for name, modules in homes.items() if len(modules) > 1}
    assert {name: modules for name, modules in double.items() if name not in DOUBLE} == {}
    assert DOUBLE - double.keys() == set()


BARE: Final = frozenset({"chunk", "find", "make", "open", "read"})
# Streams have `read(size)`; the others are names that click, pyspark and its users know; those of the library's face are the commands'.
OF_OTHERS: Final = {
    "api.py": ("find", "open"), "data_source.py": ("read",), "find.py": ("find",), "__init__.py": ("read",),
}  # fmt: skip


def _bare(path: Path) -> list[str]:
    """List the public functions of a module that are called by a verb alone; those inside functions are nobody's."""
    tree = ast.parse(path.read_text())
    homes = [tree, *(node for node in tree.body if isinstance(node, ast.ClassDef))]
    found = [node for home in homes for node in home.body if isinstance(node, ast.FunctionDef)]
    streams = {node.name for node in found if [one.arg for one in node.args.args] == ["self", "size"]}
    return [
        node.name for node in found if node.name in BARE and node.name not in {*streams, *OF_OTHERS.get(path.name, ())}
    ]


def test_a_function_is_called_by_a_verb_and_its_thing() -> None:
    """What is read, made or found is searched for by its name: `read_headers`, `read_messages`."""
    modules = [path for name in ("kafkalog", "cli", "spark") for path in sorted((ROOT / name).rglob("*.py"))]

    assert len(modules) > 300
    assert {str(path): bare for path in modules if (bare := _bare(path))} == {}

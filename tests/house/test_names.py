"""A name means one thing: whoever reads it in one package knows it in all."""

from __future__ import annotations

import ast
from collections import defaultdict
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import pytest

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

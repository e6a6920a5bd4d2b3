"""A function takes few arguments: what belongs together is a type."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from official import ROOT

pytestmark = pytest.mark.lint

MOST: Final = 8
PACKAGES: Final = ("kafkalog", "cli/kafkalog_cli", "spark/kafkalog_spark", "spark/pyspark_kafkalog")
# What names that are not declared stand for: a row's cells, the fields of a finding, the attributes of an element.
OPEN_NAMES: Final = {
    "where": "fields of a finding", "cells": "columns of a row", "facts": "places of a template",
    "fields": "fields of a layout", "numbers": "columns of a row", "changed": "fields of a replaced value",
    "attributes": "attributes of an element", "others": "cells or names beside the usual ones", "question": "fields of a question to a log",
    "how": "keywords that a TypedDict names", "kwargs": "what pyspark passes to its own function",
}  # fmt: skip


def _wrong(tree: ast.AST) -> Iterator[tuple[str, str]]:
    """Yield each function that takes too many arguments, or options that it does not name."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.FunctionDef):
            continue
        names = [one.arg for one in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]
        count = len(names) - (names[:1] in (["self"], ["cls"]))
        if count > MOST:
            yield node.name, f"{count} arguments"
        rest = node.args.kwarg
        # A decorator passes on what the command takes; what begins with an underscore is not used.
        is_wrapper = any("wraps" in ast.unparse(one) for one in node.decorator_list)
        if rest is not None and not (is_wrapper or rest.arg.startswith("_") or rest.arg in OPEN_NAMES):
            yield node.name, f"**{rest.arg}"


def _modules() -> list[Path]:
    found = [path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))]
    return [path for path in found if "kernel" not in path.relative_to(ROOT).parts]


def test_no_function_takes_more_than_eight_arguments() -> None:
    """Nor options without names; of the kernel's loops each argument is a column of numbers."""
    found = {(path.name, *one) for path in _modules() for one in _wrong(ast.parse(path.read_text()))}

    assert len(_modules()) > 250
    assert found == set()


def test_a_ninth_would_be_seen() -> None:
    """Eight are not, whether they have names or not; `self` does not count."""
    eight = "a, b, c, d, *, e, f, g, h"

    assert not list(_wrong(ast.parse(f"def f({eight}): ...\nclass C:\n def g(self, {eight}): ...")))
    assert list(_wrong(ast.parse(f"def f({eight}, i): ..."))) == [("f", "9 arguments")]
    assert list(_wrong(ast.parse("def f(a, **options): ..."))) == [("f", "**options")]

"""Each function that ``kafkalog`` exports has an example in its docstring, which runs over ``fixtures/``."""

from __future__ import annotations

import doctest
import inspect
from typing import Any, Final

import pytest

import kafkalog
from official import ROOT

# Every name of the package, of these the functions; a class shows how it is used where a function returns it.
FUNCTIONS: Final[dict[str, Any]] = {
    name: found for name in kafkalog.__all__ if inspect.isfunction(found := getattr(kafkalog, name))
}


def test_functions_are_looked_at() -> None:
    """The test below has something to run."""
    assert {"batches", "open", "record_columns", "scan"} <= FUNCTIONS.keys()


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_a_public_function_has_an_example_that_runs(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """From a checkout's root it prints what the docstring says, and at least one line is printed."""
    monkeypatch.chdir(ROOT)
    text = FUNCTIONS[name].__doc__ or ""
    example = doctest.DocTestParser().get_doctest(text, {"kafkalog": kafkalog}, name, None, 0)

    assert any(line.want for line in example.examples), f"{name} has no example that prints something"
    report: list[str] = []
    assert doctest.DocTestRunner().run(example, out=report.append).failed == 0, "".join(report)

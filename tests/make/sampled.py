"""How many cases of many run: some with ``make test``, all with ``make exhaustive``, by the same code."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

__all__ = ["each", "steps"]


def steps(some: int) -> pytest.MarkDecorator:
    """Give a test a `step`: every `some`-th case, or each."""
    every = pytest.param(1, id="all", marks=pytest.mark.exhaustive)
    return pytest.mark.parametrize("step", [pytest.param(some, id="some"), every])


def each(name: str, cases: Sequence[Any], every: int = 4) -> pytest.MarkDecorator:
    """Give a test each of these cases by this name: every fourth one, or all."""
    some = [
        pytest.param(case, id=getattr(case, "name", None), marks=[pytest.mark.exhaustive] if number % every else [])
        for number, case in enumerate(cases)
    ]
    return pytest.mark.parametrize(name, some)

"""How many cases of many run: some with ``make test``, all with ``make exhaustive``, by the same code."""

from __future__ import annotations

import pytest

__all__ = ["steps"]


def steps(some: int) -> pytest.MarkDecorator:
    """Give a test a `step`: every `some`-th case, or each."""
    every = pytest.param(1, id="all", marks=pytest.mark.exhaustive)
    return pytest.mark.parametrize("step", [pytest.param(some, id="some"), every])

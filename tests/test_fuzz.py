"""The fuzz targets over what is stored and their seeds, and a minute of changed ones: ``make fuzz`` runs for longer."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Final

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent / "fuzz"))

from run import at_random  # of the folder fuzz
from targets import INPUTS, TARGETS, seeds

SECONDS: Final = float(os.environ.get("KAFKALOG_FUZZ_SECONDS", "10"))  # a target: a minute for the six


@pytest.mark.parametrize("name", TARGETS)
def test_a_target_holds(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Every stored input and every seed, then changed ones, always the same; how many ran is printed."""
    ran = at_random(name, TARGETS[name], SECONDS)

    with capsys.disabled():
        print(f"\n{name}: {ran} ran")
    assert ran > len(seeds(name))


def test_what_is_stored_belongs_to_a_target() -> None:
    """No folder of inputs is forgotten."""
    assert {path.name for path in INPUTS.glob("*")} <= set(TARGETS)


def test_every_target_has_seeds() -> None:
    """And some of them lead to what the layer is about."""
    assert all(len(seeds(name)) >= 3 for name in TARGETS)

"""The fuzz targets over what is stored and their seeds, and a count of changed ones: ``make fuzz`` runs for longer."""

from __future__ import annotations

import sys
from itertools import islice
from pathlib import Path
from typing import Final

import pytest

from official import ROOT

sys.path.insert(0, str(ROOT / "fuzz"))

from run import at_random, changed_seeds  # of the folder fuzz
from targets import INPUTS, TARGETS, seeds

# How many changed seeds each target is given: half a second of a core, and the same work on any machine.
RUNS: Final = {
    "frame": 5_000, "records": 1_500, "codecs": 12_500, "side_files": 4_000, "fold": 300, "escaping": 3_000,
    "directories": 2,
}  # fmt: skip


@pytest.mark.some(every=7)
@pytest.mark.parametrize("name", TARGETS)
def test_a_target_holds(name: str) -> None:
    """Every stored input and every seed, then so many changed ones, always the same; all of them ran."""
    ran = at_random(name, TARGETS[name], islice(changed_seeds(seeds(name)), RUNS[name]))

    assert ran == len(seeds(name)) + RUNS[name]


def test_a_failure_is_found_and_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A target that some changed seed breaks stops there, and the input is stored under its name."""
    import targets

    monkeypatch.setattr(targets, "INPUTS", tmp_path)
    known = set(seeds("frame"))

    def breaks(data: bytes) -> None:
        assert data in known

    with pytest.raises(AssertionError):
        at_random("frame", breaks, changed_seeds(seeds("frame")))
    (kept,) = (tmp_path / "frame").iterdir()
    assert kept.read_bytes() not in known


def test_the_changed_seeds_are_the_same_every_time() -> None:
    """They depend on nothing but the seeds, and are not the seeds themselves."""
    for name in TARGETS:
        first, again = (list(islice(changed_seeds(seeds(name)), 200)) for _ in range(2))
        assert first == again
        assert len(set(first) - set(seeds(name))) > 100, name


def test_what_is_stored_belongs_to_a_target() -> None:
    """No folder of inputs is forgotten, and no target is without a count."""
    assert {path.name for path in INPUTS.glob("*")} <= set(TARGETS) == set(RUNS)


def test_every_target_has_seeds() -> None:
    """And some of them lead to what the layer is about."""
    assert all(len(seeds(name)) >= 3 for name in TARGETS)

"""Kept scans of every fixture, and of nights in any order: the tables are those of an audit that reads everything."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

import kept
from kafkalog.auditing.pipeline import kept_scans
from kept import audited, broker, rows, segments
from official import FIXTURES, materialize
from sampled import each

_NIGHTS: Final = (kept.append, kept.roll, kept.delete, kept.truncate, kept.compact, kept.nightly)


@pytest.fixture(autouse=True)
def small_segments() -> Iterator[None]:
    """Keep the scans of small segments, too."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kept_scans, "LEAST_BYTES", 1)
        yield


@pytest.mark.some(every=4)
@each("case", sorted(path.parent.name for path in FIXTURES.glob("*/case.json")), every=3)
def test_every_fixture_says_the_same_from_kept_scans(case: str, tmp_path: Path) -> None:
    """Transactions of all kinds, damage, old formats, state topics: what is taken is what was found."""
    roots = sorted(path for path in materialize(FIXTURES / case, tmp_path).glob("data*") if path.is_dir())
    first = audited(roots, tmp_path / "first")
    second = audited(roots, tmp_path / "second", tmp_path / "first")

    assert rows(second) == rows(first)
    files = sorted(path.name for path in (tmp_path / "first").iterdir())
    assert second.reused.taken == len(files)
    assert files == sorted(path.name for path in (tmp_path / "second").iterdir())


@pytest.mark.some(every=3)
@pytest.mark.parametrize("seed", range(6))
def test_nights_in_any_order(seed: int, tmp_path: Path) -> None:
    """Each takes what the one before has, some of which that one had taken, too."""
    chosen, root = random.Random(seed), broker(tmp_path)
    audited(root, tmp_path / "0")
    for night in range(1, 6):
        for change in chosen.sample(_NIGHTS, 2):
            if len(segments(root)) > 2:
                change(root)
        found = audited(root, tmp_path / str(night), tmp_path / str(night - 1))
        assert rows(found) == rows(audited(root))
        assert found.reused.taken

"""Nothing of a secret is in what may leave the house."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafkalog.redaction import NameChoice, RedactionChoice, redact
from planted import Planted, left_of


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.exhaustive) for seed in range(1, 20))])
def test_no_piece_of_what_was_planted_is_left(tmp_path: Path, seed: int) -> None:
    """In every place that can hold one, in names, contents and decompressed contents: no eight bytes of any secret."""
    planted = Planted(seed)
    planted.write(tmp_path / "data")
    out = tmp_path / "out"
    out.mkdir()

    done = redact(str(tmp_path / "data"), out, RedactionChoice(NameChoice.HASH))

    assert len(planted.secrets) > 1000
    assert left_of(planted.secrets, tmp_path / "data")
    assert left_of(planted.secrets, out) == []
    assert done.left_out

"""Nothing of a secret is in what may leave the house."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

import build
from kafkalog.redaction import NameChoice, RedactionChoice, redact
from official import CORPUS, cases, of_corpus
from planted import InReal, Planted, left_of

# What clients' names and the broker's own have in common, as of cleaner-offset-checkpoint.
_KAFKAS = re.compile("consumer|transaction|checkpoint|compress|-offset-")


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


@pytest.mark.parametrize("offset", [b"\xfeffsecre", b"\x0coffsecr", b"offsecre"])
def test_an_offset_that_no_log_reaches_is_zeroed(tmp_path: Path, offset: bytes) -> None:
    """The checksum of a batch is not of its first offset: damaged bytes there are in a batch that is whole."""
    (tmp_path / "data" / "orders-0").mkdir(parents=True)
    whole = [build.batch(build.record(), base_offset=at) for at in range(3)]
    (tmp_path / "data" / "orders-0" / f"{0:020}.log").write_bytes(whole[0] + offset + whole[1][8:] + whole[2])
    (tmp_path / "out").mkdir()

    done = redact(str(tmp_path / "data"), tmp_path / "out")

    assert left_of([offset], tmp_path / "out") == []
    assert done.zeroed_bytes > 0


@pytest.mark.corpus
@pytest.mark.exhaustive
@pytest.mark.parametrize("case", of_corpus(cases(CORPUS)), ids=lambda case: case.name)
def test_nothing_of_a_real_directory_is_left(tmp_path: Path, case: Path) -> None:
    """Neither what clients wrote, nor what is planted behind, into and beside the files that a broker wrote."""
    for number, data in enumerate(sorted(case.glob("data*"))):
        real = InReal(number)
        real.gather(data)
        shutil.copytree(data, tmp_path / data.name)
        real.plant(tmp_path / data.name)
        out = tmp_path / f"out{number}"
        out.mkdir()

        done = redact(str(tmp_path / data.name), out, RedactionChoice(NameChoice.HASH, shift_ms=-987_654_321))

        assert left_of(real.secrets, tmp_path / data.name)
        names = [old.encode() for names in done.new_names.values() for old in names if not _KAFKAS.search(old)]
        assert left_of(real.secrets + names, out) == []

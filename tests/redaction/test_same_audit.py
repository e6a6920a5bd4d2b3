"""What an audit says of a redaction is what it says of the original."""

from __future__ import annotations

from pathlib import Path

import pytest

from invoke import kafkalog
from kafkalog.redaction import NameChoice, RedactionChoice, redact
from official import CORPUS, FIXTURES, cases, of_corpus
from redacted import differences_of_audits

_SHIFT_MS = -1_234_567_890
# Two topics with the same records, packed by different clients, are packed alike afterwards.
_ALIKE = "'code': 'segments-alike'"


def differences(folder: Path, out: Path, names: NameChoice, shift_ms: int = 0) -> list[str]:
    out.mkdir()
    done = redact(str(folder), out, RedactionChoice(names, shift_ms=shift_ms))
    assert done.left_out == []
    assert done.unknown_records == 0
    return [line for line in differences_of_audits(folder, out, done, shift_ms) if _ALIKE not in line]


@pytest.mark.parametrize(
    ("case", "names", "shift_ms"),
    [
        ("k4-b-codecs", NameChoice.HASH, 0),
        ("k4-c-group-offsets-tv0", NameChoice.HASH, _SHIFT_MS),
        ("k4-f-hanging-late-produce-tv0", NameChoice.KEEP, 0),
    ],
)
def test_the_audit_is_the_same(tmp_path: Path, case: str, names: NameChoice, shift_ms: int) -> None:
    """Transactions, partitions, gaps, findings, groups, files: each row but for what was redacted, and what moved."""
    assert differences(FIXTURES / case / "data", tmp_path / "out", names, shift_ms) == []


def test_the_audit_of_a_tiered_bundle_is_the_same(tmp_path: Path) -> None:
    """Remote objects and a broker's copies of their indexes are redacted like its own files."""
    case, bundle = FIXTURES / "tiered-missing", tmp_path / "bundle"
    assert kafkalog("collect", "--remote", case / "remote", "-o", bundle, case / "data").status == 0

    assert differences(bundle, tmp_path / "out", NameChoice.HASH, _SHIFT_MS) == []
    assert len(list((tmp_path / "out" / "remote").glob("*/*"))) == sum(
        path.is_file() for path in (case / "remote").rglob("*")
    )


@pytest.mark.corpus
@pytest.mark.exhaustive
@pytest.mark.parametrize("case", of_corpus(cases(CORPUS)), ids=lambda case: case.name)
def test_the_audit_of_each_case_of_the_corpus_is_the_same(tmp_path: Path, case: Path) -> None:
    """Of every version, codec, damage and end of a broker that there is, with times that are moved."""
    for folder in sorted(case.glob("data*")):
        assert differences(folder, tmp_path / folder.name, NameChoice.HASH, _SHIFT_MS) == []

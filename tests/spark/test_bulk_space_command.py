"""``bulk_space.py`` as a command: what it refuses before a session starts, and what it leaves."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

from invoke import kafkalog
from kafkalog.exit_status import Exit
from kafkalog_cli.submit import bulk_space
from kafkalog_spark import session
from official import FIXTURES

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HANGING: Final = FIXTURES / "v2.8-hanging" / "data"


def test_an_output_is_refused_before_a_session_starts(
    needs_spark: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that exists, one that kafkalog did not write, and one inside an input."""

    def never(*_: object) -> None:
        raise AssertionError("a session was started")

    monkeypatch.setattr(session, "open_session", never)
    (tmp_path / "out").mkdir()
    for more in (("-o", tmp_path / "out"), ("-o", tmp_path / "out", "--overwrite")):
        assert kafkalog("--input", HANGING, *more, command=bulk_space).status == Exit.USAGE
    assert kafkalog("--input", HANGING, "-o", HANGING / "out", command=bulk_space).status == Exit.USAGE
    assert list((tmp_path / "out").iterdir()) == []


def test_a_whole_run_says_so(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """``_SUCCESS`` is written last; a relative input is one of the directory that the command runs in."""
    monkeypatch.chdir(HANGING.parent)
    ended = kafkalog("--input", "data", "-o", tmp_path / "out", "--table", "space", "--exit-zero", command=bulk_space)
    assert ended.status == Exit.FINE, ended.err
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        "_SUCCESS",
        "manifest.json",
        "provenance.json",
        "space",
        "verdict.json",
    }
    assert json.loads((tmp_path / "out" / "verdict.json").read_text()) == {"exit_status": 0}

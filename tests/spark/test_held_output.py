"""Two jobs with one output: the second is refused before it starts anything, and takes over what a killed one held."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Final

import pytest
from pyarrow import fs

from invoke import kafkalog
from kafkalog.errors import OutputError
from kafkalog.exit_status import Exit
from kafkalog_spark import session
from kafkalog_spark.job_output import HELD, HeldError, Output, held_in_store
from official import FIXTURES

HANGING: Final = str(FIXTURES / "v2.8-hanging" / "data")


def test_a_second_job_is_refused_before_a_session_starts(
    needs_spark: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether the first one's directory is new or replaced; --overwrite does not help."""

    def never(*_: object) -> None:
        raise AssertionError("a session was started")

    monkeypatch.setattr(session, "open_session", never)
    out = tmp_path / "out"
    for _ in ("new", "replaced"):
        with Output(str(out)).held():
            for more in ([], ["--overwrite"]):
                ended = kafkalog("txn-audit", "--engine", "spark", HANGING, "-o", out, *more)
                if (out / "provenance.json").exists() and not more:
                    assert "exists already" in ended.err
                    assert ended.status == Exit.USAGE
                else:
                    assert ended.err == f"kafkalog: error: {out}: another job is writing to it\n"
                    assert ended.status == Exit.OUTPUT_FAILED
            if not (out / "provenance.json").exists():
                Output(str(out)).make_directory(overwrite=False)
    assert [found.name for found in out.iterdir()] == ["provenance.json"]


def test_a_directory_that_was_only_held_is_none(tmp_path: Path) -> None:
    """A job that ended before it wrote anything leaves nothing; one that was killed then is in nobody's way."""
    out = tmp_path / "new" / "out"
    with Output(str(out)).held():
        assert [found.name for found in out.iterdir()] == [HELD]
    assert not out.exists()
    out.mkdir()
    (out / HELD).touch()
    output = Output(str(out))
    assert not output.refuse_existing(overwrite=False)
    with output.held():
        output.make_directory(overwrite=False)
    assert [found.name for found in out.iterdir()] == ["provenance.json"]


def test_a_directory_that_was_replaced_is_not_committed_to(tmp_path: Path) -> None:
    """Another command's --overwrite exchanges the whole directory: what is there then is its own."""
    out = tmp_path / "out"
    output = Output(str(out))
    with output.held():
        output.make_directory(overwrite=False)
        out.rename(tmp_path / "before")
        out.mkdir()
        (out / HELD).touch()
        with pytest.raises(OutputError, match="another command replaced"):
            output.commit([])
    assert [found.name for found in out.iterdir()] == [HELD]


def test_a_store_is_held_by_an_object(tmp_path: Path) -> None:
    """Another job's counts as long as it is renewed; who lost it may not commit."""
    store, path = fs.LocalFileSystem(), str(tmp_path)
    with held_in_store(store, path) as check:
        check()
        with pytest.raises(HeldError, match="another job is writing to it"), held_in_store(store, path):
            pass
        [mine] = tmp_path.iterdir()
        long_ago = time.time() - 600
        os.utime(mine, (long_ago, long_ago))
        with held_in_store(store, path) as of_other:
            of_other()
            with pytest.raises(HeldError, match="took it over"):
                check()
    assert list(tmp_path.iterdir()) == []


def test_who_lost_an_output_does_not_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of it comes to count."""
    out = tmp_path / "out"
    out.mkdir()
    output = Output(str(out))
    monkeypatch.setattr(
        "kafkalog_spark.job_output.held_on_disk", lambda path: held_in_store(fs.LocalFileSystem(), path)
    )
    with output.held():
        for found in out.glob(f"{HELD}*"):
            found.unlink()
        with pytest.raises(OutputError, match="took it over"):
            output.commit([])
    assert list(out.iterdir()) == []

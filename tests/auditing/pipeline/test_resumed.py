"""An audit that was ended early: the same command goes on from what it had scanned, another one does not."""

from __future__ import annotations

import fcntl
import hashlib
import json
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import kept
from invoke import Ended, in_full, kafkalog
from kafkalog import UnsupportedError
from kafkalog.api import open as opened
from kafkalog.auditing.pipeline import kept_scans
from kept import SEGMENTS, broker


@pytest.fixture(autouse=True)
def small_segments() -> Iterator[None]:
    """Keep the scans of small segments, too."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kept_scans, "LEAST_BYTES", 1)
        yield


@contextmanager
def ended_after(number: int, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Let an interrupt come after some scans of segments with batches; gives the segments that were scanned."""
    seen: list[str] = []
    real = kept_scans.scan_segment

    def scanned(place, segment, limits):
        if len(seen) == number:
            raise KeyboardInterrupt
        seen.extend([segment.path] if segment.size else [])
        return real(place, segment, limits)

    with monkeypatch.context() as patch:
        patch.setattr(kept_scans, "scan_segment", scanned)
        yield seen


def tables(folder: Path) -> dict[str, list[tuple[object, ...]]]:
    """All rows of an output."""
    return {
        path.parent.name: [tuple(row.values()) for row in pq.read_table(path).to_pylist()]
        for path in sorted(folder.glob("*/*.parquet"))
    }


@pytest.mark.parametrize("form", ["parquet", "ndjson"])
def test_the_same_command_goes_on(form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It scans the rest alone, says so, and gives what a run gives that was never ended."""
    root, out = broker(tmp_path), tmp_path / "out"
    command = ("txn-audit", root, "--format", form, "-o", out)
    with ended_after(SEGMENTS // 2, monkeypatch) as before:
        ended = kafkalog(*command)
    assert ended.status == 130
    assert f"has the scans of {SEGMENTS // 2} segments: the same command goes on from there" in ended.err
    assert sorted(path.name for path in out.iterdir()) == ["_work", "provenance.json"]

    with ended_after(10**9, monkeypatch) as after:
        ended = kafkalog(*command)
    assert ended.status == 0
    assert f"{SEGMENTS // 2} of 16 segments were scanned by the earlier run" in ended.err
    assert len(set(before) | set(after)) == len(before) + len(after) == SEGMENTS
    whole = tmp_path / "whole"
    assert kafkalog("txn-audit", root, "--format", form, "-o", whole).out == ended.out
    assert tables(out) == tables(whole)
    assert {path.name for path in out.iterdir()} == {path.name for path in whole.iterdir()}
    assert json.loads((out / "verdict.json").read_text())["segments"] | {"scanned": 0, "resumed": 0} == {
        "segments": 16, "scanned": 0, "resumed": 0, "taken": 0, "oldest_scan_ms": None,
    }  # fmt: skip


@pytest.mark.sweep
@pytest.mark.process
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_run_that_was_killed_is_gone_on_with(jobs: str, tmp_path: Path) -> None:
    """By nobody asked, in the middle of a scan: also where processes scan."""
    root, out = broker(tmp_path), tmp_path / "out"
    arguments = ["txn-audit", str(root), "--jobs", jobs, "-o", str(out)]
    code = f"""
import os, signal, sys
from kafkalog import UnsupportedError
from kafkalog.auditing.pipeline import kept_scans
real, seen = kept_scans.scan_segment, []
kept_scans.LEAST_BYTES = 1
def scanned(place, segment, limits):
    seen.extend([1] if segment.size else [])
    if len(seen) == {SEGMENTS // 2}:
        os.killpg(0, signal.SIGKILL)
    return real(place, segment, limits)
kept_scans.scan_segment = scanned
sys.argv = ["kafkalog", *{arguments!r}]
from kafkalog_cli.start import main
main()
"""
    ended = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, check=False, timeout=60, start_new_session=True
    )
    assert ended.returncode == -signal.SIGKILL, ended.stderr
    scans = len(list((out / "_work" / "scans").glob("*.scan")))
    assert scans >= SEGMENTS // 2 - 1

    again = kafkalog(*arguments)
    assert again.status == 0
    assert f"{scans} of 16 segments were scanned by the earlier run" in again.err
    assert kafkalog("txn-audit", root, "-o", tmp_path / "whole").out == again.out
    assert tables(out) == tables(tmp_path / "whole")


def test_what_was_half_written_goes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables and pieces of files of the earlier run don't come to count."""
    root, out = broker(tmp_path), tmp_path / "out"
    with ended_after(3, monkeypatch):
        kafkalog("txn-audit", root, "-o", out)
    (out / "transactions").mkdir()
    (out / "transactions" / "part-00000.parquet").write_bytes(b"half")
    (out / "_work" / "tables").mkdir()
    (out / "_work" / "scans" / ".half").touch()

    assert kafkalog("txn-audit", root, "-o", out).status == 0
    kafkalog("txn-audit", root, "-o", tmp_path / "whole")
    assert tables(out) == tables(tmp_path / "whole")
    assert not list(out.rglob(".*"))


def test_another_command_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As any output that exists; --overwrite replaces it, and a complete one is not gone on with."""
    root, out = broker(tmp_path), tmp_path / "out"
    with ended_after(3, monkeypatch):
        kafkalog("txn-audit", root, "-o", out)

    def run(*more: str) -> Ended:
        return kafkalog("txn-audit", root, "-o", out, *more)

    other = run("--snapshot")
    assert (other.status, "exists already; " in other.err) == (2, True)
    assert "earlier run" in run("--overwrite").err
    assert run().status == 2
    again = run("--overwrite")
    assert (again.status, again.err) == (0, "")


def test_a_run_that_replaces_a_complete_output_leaves_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Until the new one is complete; an audit may take the scans of the one that it replaces."""
    root, out = broker(tmp_path), tmp_path / "out"
    kafkalog("txn-audit", root, "-o", out)
    before = tables(out)
    with ended_after(3, monkeypatch):
        assert kafkalog("txn-audit", root, "-o", out, "--overwrite").status == 130
    assert tables(out) == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["broker", "out"]

    kept.roll(root)
    again = kafkalog("txn-audit", root, "-o", out, "--overwrite", "--since-audit", out)
    assert "(3 of 17 segments were scanned; damage since " in again.text
    assert len(list((out / "_work" / "scans").iterdir())) == SEGMENTS + 1


def test_two_runs_do_not_write_to_one_output(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second one of the same command is refused as long as the first one runs."""
    root, out = broker(tmp_path), tmp_path / "out"
    with ended_after(3, monkeypatch):
        kafkalog("txn-audit", root, "-o", out)
    with (out / "_work" / "begun.json").open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        refused = kafkalog("txn-audit", root, "-o", out)
    assert (refused.status, "another run of the same command is writing to it" in refused.err) == (4, True)
    assert kafkalog("txn-audit", root, "-o", out).status == 0


def test_an_output_without_scans_is_wrong_usage(tmp_path: Path) -> None:
    """Of an older version, unfinished, or no audit's at all: said before anything is read."""
    root, out = broker(tmp_path), tmp_path / "out"
    kafkalog("txn-audit", root, "-o", out)
    for change, words in (
        (lambda: shutil.rmtree(out / "_work"), "has no scans in _work/scans: an older version wrote it"),
        ((out / "_SUCCESS").unlink, "has no _SUCCESS, so it is no audit that was completed"),
        (lambda: shutil.rmtree(out), "is no directory"),
    ):
        change()
        ended = kafkalog("txn-audit", root, "--since-audit", out, "-o", tmp_path / "new")
        assert (ended.status, words in ended.err) == (2, True), ended.err
        assert not (tmp_path / "new").exists()


def test_without_an_output_scans_are_taken_and_not_kept(tmp_path: Path) -> None:
    """On standard output, in every format, with the words about what was not read."""
    root, out = broker(tmp_path), tmp_path / "out"
    kafkalog("txn-audit", root, "-o", out)
    for more in ((), ("--format", "json"), ("--jobs", "2")):
        ended = in_full("txn-audit", root, "--since-audit", out, *more)
        assert ended.status == 0
        assert "2 of 16 segments were scanned; damage since " in ended.text


def test_an_output_never_comes_to_be_in_the_earlier_one(tmp_path: Path) -> None:
    """It is an input."""
    root, out = broker(tmp_path), tmp_path / "out"
    kafkalog("txn-audit", root, "-o", out)
    assert kafkalog("txn-audit", root, "--since-audit", out, "-o", out / "new").status == 2


def test_the_library_takes_scans(tmp_path: Path) -> None:
    """With the same words, and the same rows."""
    root, out = broker(tmp_path), tmp_path / "out"
    command = kafkalog("txn-audit", root, "-o", out)
    found = opened(root).audit(since=out)
    assert command.text.startswith("OK: 33 transactions: ")
    assert "(2 of 16 segments were scanned; " in found.verdict.headline
    assert list(found.transactions) == list(opened(root).audit().transactions)
    with pytest.raises(UnsupportedError, match="is no directory of an earlier audit"):
        _ = opened(root).audit(since=tmp_path / "nothing").verdict


def test_hashes_are_of_what_was_audited(tmp_path: Path) -> None:
    """Each segment is read for its checksum once, also where its scan is taken."""
    root = broker(tmp_path)
    files = []
    for name, more in (("first", ()), ("second", ("--since-audit", tmp_path / "first"))):
        ended = kafkalog("txn-audit", root, "--hash", "-o", tmp_path / name, *more)
        assert ("the SHA-256 of the others is that of earlier scans" in ended.text) == bool(more)
        files.append(json.loads((tmp_path / name / "provenance.json").read_text())["files"])
    assert files[0] == files[1]
    for file in files[0]:
        assert file["sha256"] == hashlib.sha256(Path(file["file"]).read_bytes()).hexdigest()

"""What a bulk audit writes to: refused before a session starts, replaced only if kafkalog wrote it, whole or marked."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import time
from contextlib import nullcontext, suppress
from functools import partial
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from unittest.mock import Mock

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import misbehaving
from held import listed, rows_in
from invoke import kafkalog
from kafkalog.errors import OutputError
from kafkalog.exit_status import Exit
from kafkalog.tables import TABLES
from kafkalog.tables.arrow import arrow_batches, arrow_schema
from kafkalog.tables.manifest import read_manifest
from kafkalog_spark import audit_job, executor, job_output, judge_tasks, session
from kafkalog_spark.job_output import Output
from kafkalog_spark.parts import PartFiles
from official import FIXTURES, ROOT

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HANGING: Final = str(FIXTURES / "v2.8-hanging" / "data")


def bulk(*arguments: str | Path) -> tuple[int, str]:
    ended = kafkalog("txn-audit", "--engine", "spark", *arguments)
    return ended.status, ended.err


def test_an_output_is_refused_before_a_session_starts(
    needs_spark: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that exists, and one inside an input: in a moment, whatever the cluster's queue is like."""

    def never(*_: object) -> None:
        raise AssertionError("a session was started")

    monkeypatch.setattr(session, "open_session", never)
    (tmp_path / "out").mkdir()
    assert bulk(HANGING, "-o", tmp_path / "out") == (
        Exit.USAGE,
        f"Error: {tmp_path}/out: exists already; give a new name (--overwrite replaces only what kafkalog wrote)\n",
    )
    assert bulk(HANGING, "-o", f"{HANGING}/out")[0] == Exit.USAGE
    assert bulk(HANGING, "-o", tmp_path / "out", "--overwrite") == (
        Exit.USAGE,
        f"Error: {tmp_path}/out: exists already, and kafkalog did not write it: it is not replaced\n",
    )


TEXTS: Final = {"provenance.json": '{"kafkalog": "x", "command": "txn-audit"}', "_SUCCESS": ""}


def written(name: str, *, overwrite: bool, marked: bool = False) -> Output:
    """Write an output with a table; `marked` ones have a row more."""
    output = Output(name)
    with output.held():
        output.make_directory(overwrite=overwrite, arguments=["x"])
        with output.working():
            gaps = TABLES["gaps"]
            rows = [(None,) * len(gaps.columns)] * (2 if marked else 1)
            output.write_table(gaps, arrow_batches(rows, arrow_schema(gaps)))
            output.commit([], TEXTS)
    return output


class _FailsAt:
    """A filesystem that writes or moves `left` files, then fails once; one that `died` does nothing more."""

    def __init__(self, real: Any, left: int, *, died: bool) -> None:
        self._real, self.left, self._died, self.failed = real, left, died, False

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._real, name)
        names = ("move", "open_output_stream", *(["delete_file"] if self._died else []))
        return partial(self._step, found) if name in names else found

    def _step(self, what: Any, *arguments: Any) -> Any:
        self.left -= 1
        if self.left == -1 or (self.left < 0 and self._died):
            self.failed = True
            raise OSError(28, "No space left on device")
        return what(*arguments)


@pytest.mark.parametrize("died", [False, True], ids=["an error", "a kill"])
@pytest.mark.parametrize("in_store", [False, True], ids=["disk", "store"])
def test_the_old_output_is_whole_until_the_new_one_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, in_store: bool, died: bool
) -> None:
    """Whatever step of a run that replaces it fails: every file is the old one's, or every table the new one's."""
    monkeypatch.setattr("kafkalog_spark.job_output.is_remote", lambda _: in_store)
    monkeypatch.setattr("kafkalog_spark.job_output.held_on_disk", lambda _: nullcontext(lambda: None))
    monkeypatch.setattr("kafkalog_spark.job_output.held_in_store", lambda *_: nullcontext(lambda: None))
    name = (tmp_path / "out").as_uri()
    reach, seen = Output.reach, set()
    for left in count():
        shutil.rmtree(tmp_path / "out", ignore_errors=True)
        written(name, overwrite=False)
        (tmp_path / "out" / "gaps" / "mine").touch()
        broken: list[_FailsAt] = []

        def reached(output: Output, left: int = left, broken: list[_FailsAt] = broken) -> None:
            reach(output)
            broken.append(_FailsAt(output.filesystem, left, died=died))
            output.filesystem = broken[-1]  # type: ignore[assignment]  # it has what is used of one

        monkeypatch.setattr(Output, "reach", reached)
        with suppress(OutputError):
            written(name, overwrite=True, marked=True)
        monkeypatch.setattr(Output, "reach", reach)
        manifest = read_manifest((tmp_path / "out" / "manifest.json").read_bytes())
        [file] = manifest.tables["gaps"]
        seen.add(file.rows)
        assert pq.read_metadata(tmp_path / "out" / file.name).num_rows == file.rows
        if file.rows == 1:
            assert kafkalog("verify", tmp_path / "out").status == 0
        if not died:
            assert {found.name for found in (tmp_path / "out" / "gaps").iterdir()} == {"mine", Path(file.name).name}
            assert [found.name for found in tmp_path.iterdir()] == ["out"]
        written(name, overwrite=True)
        assert len(list((tmp_path / "out" / "gaps").iterdir())) == 2
        assert kafkalog("verify", tmp_path / "out").status == 0
        assert not (tmp_path / "out" / "_work" / "coming.json").exists()
        if not broken[0].failed:
            break
    assert left > 5
    assert seen == {1, 2}


def test_what_a_store_says_is_a_failed_output(monkeypatch: pytest.MonkeyPatch) -> None:
    """Azure's errors are no errors of the system; they are one line, with what to do."""
    said = "Unknown error: Check failed:\nAuthenticationException: no token"
    monkeypatch.setattr(job_output, "filesystem_of", Mock(side_effect=pa.ArrowException(said)))

    with pytest.raises(OutputError) as raised:
        Output("abfss://c@a.dfs.core.windows.net/x")
    assert str(raised.value).startswith("abfss://c@a.dfs.core.windows.net/x: Unknown error: Check failed: Auth")
    assert str(raised.value).endswith("check the credentials (environment, ~/.aws, role) and what they may do")


def test_files_of_an_attempt_that_did_not_count_are_no_rows(tmp_path: Path) -> None:
    """A task that runs twice writes other files; only those that the driver names become a table's."""
    output = Output(str(tmp_path / "out"))
    output.make_directory(overwrite=False)
    gaps = TABLES["gaps"]
    [batch] = arrow_batches([(None,) * len(gaps.columns)], arrow_schema(gaps))
    with output.working():
        parts = []
        for _ in range(2):
            files = PartFiles(output.work)
            assert list(files.write_rows("gaps", batch)) == []
            parts += files.close()
        output.write_table(TABLES["findings"], [])
        output.commit([parts[1]])
    assert len(rows_in(tmp_path / "out", "gaps")) == 1
    assert rows_in(tmp_path / "out", "findings") == []
    assert sorted(found.name for found in (tmp_path / "out").iterdir()) == [
        "findings", "gaps", "manifest.json", "provenance.json"
    ]  # fmt: skip
    assert {table: [file.rows for file in files] for table, files in listed(tmp_path / "out").items()} == {
        "findings": [0], "gaps": [1]
    }  # fmt: skip


def test_a_failed_task_takes_its_files_with_it(tmp_path: Path) -> None:
    """Complete and incomplete ones."""
    schema = arrow_schema(TABLES["gaps"])
    empty = pa.RecordBatch.from_pylist([], schema)
    with pytest.raises(ZeroDivisionError), PartFiles(tmp_path.as_uri()) as files:
        list(files.write_rows("gaps", empty))
        list(files.close())
        list(files.write_rows("producers", pa.RecordBatch.from_pylist([], arrow_schema(TABLES["producers"]))))
        raise ZeroDivisionError
    assert list(tmp_path.iterdir()) == []


def test_relative_inputs_are_made_absolute(needs_spark: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Executors run in directories of their own."""
    monkeypatch.chdir(Path(HANGING).parent)
    assert audit_job.listed(["data", "dat*"]) == [HANGING, HANGING]


def test_an_output_that_tasks_cannot_write_ends_with_its_status(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their folder is gone: 4, one line, no trace, and no _SUCCESS."""
    monkeypatch.setattr(judge_tasks, "Judge", misbehaving.JudgeWithoutFolder)
    status, said = bulk(HANGING, "-o", tmp_path / "out")
    assert status == Exit.OUTPUT_FAILED
    assert "Traceback" not in said
    assert said.splitlines()[-1].startswith("kafkalog: error: ")
    assert not (tmp_path / "out" / "_SUCCESS").exists()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_an_interrupted_job_has_its_status(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: signal.Signals
) -> None:
    """What waits for a job raises it: 143 and 130, no trace, and no _SUCCESS."""
    raised = KeyboardInterrupt if number is signal.SIGINT else SystemExit(128 + number)
    monkeypatch.setattr(executor, "fetched", Mock(side_effect=raised))
    status, said = bulk(HANGING, "-o", tmp_path / "out")
    assert status == 128 + number
    assert "Traceback" not in said
    assert not (tmp_path / "out" / "_SUCCESS").exists()


@pytest.mark.exhaustive
@pytest.mark.parametrize(("number", "after"), [(signal.SIGTERM, "listed"), (signal.SIGINT, "scanned")])
def test_a_signal_has_its_status(needs_spark: None, tmp_path: Path, number: signal.Signals, after: str) -> None:
    """In the middle of a call to the JVM too: 143 and 130, no trace, and no _SUCCESS; the same command then works."""
    argv = [sys.executable, "-m", "kafkalog_cli", "txn-audit", "--engine", "spark", "--master", "local[1]",
            HANGING, "-o", str(tmp_path / "out"), "--overwrite"]  # fmt: skip
    # A shell's background job ignores SIGINT, and so would this one.
    heeded = (
        "import os, signal, sys; signal.signal(signal.SIGINT, signal.SIG_DFL); os.execv(sys.executable, sys.argv[1:])"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", heeded, *argv], stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, cwd=ROOT
    )
    assert process.stderr is not None
    said = ""
    while after not in said:
        line = process.stderr.readline()
        assert line, said
        said += line
    time.sleep(0.3)
    process.send_signal(number)
    said += process.stderr.read()
    assert process.wait(60) == 128 + number, said
    assert "Traceback" not in said, said
    assert not (tmp_path / "out" / "_SUCCESS").exists()

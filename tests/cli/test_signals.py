"""SIGINT and SIGTERM at any moment from the program's first line: the signal's status, no stack trace, nothing left."""

from __future__ import annotations

import gc
import io
import os
import shutil
import signal
import subprocess
import sys
import tarfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

from invoke import SEGMENT
from kafkalog.segments import damage
from kafkalog.tables import TABLES
from kafkalog.writing.columnar import ArrowSink
from official import FIXTURES

CASE: Final = FIXTURES / "k4-b-codecs" / "data"
COMMANDS: Final[dict[str, tuple[str, ...]]] = {
    "verify": ("verify", "--jobs", "2", "{root}"),
    "an audit as a directory": ("txn-audit", "-o", "{out}/audit", "{root}"),
    "an audit of an archive": ("txn-audit", "--format", "html", "-o", "{out}/page.html", "{archive}"),
    "a dump as text": ("dump", "--print-data-log", "-o", "{out}/dump.txt", "{segment}"),
    "a dump as Parquet": ("dump", "--format", "parquet", "-o", "{out}/dump", "{segment}"),
    "salvage": ("salvage", "-o", "{out}/copy.log", "{segment}"),
    "space": ("space", "-o", "{out}/space", "{root}"),
}
# The first line gives a byte to who sends the signal; what Python does before it is not the program's.
CODE: Final = """
import kafkalog_cli.start
import os, sys
os.write({ready}, b"x")
sys.argv[0] = "kafkalog"
kafkalog_cli.start.main()
"""


def _started(arguments: list[str], folder: Path) -> subprocess.Popen[bytes]:
    """Start the command in a session of its own, with default signals, and return when it runs its first line."""
    readable, writable = os.pipe()
    with open(folder / "said", "wb") as said:
        running = subprocess.Popen(
            [sys.executable, "-c", CODE.format(ready=writable), *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=said, pass_fds=[writable], env={**os.environ, "TMPDIR": str(folder / "tmp")}, start_new_session=True,
        )  # fmt: skip
    os.close(writable)
    assert os.read(readable, 1) == b"x"
    os.close(readable)
    return running


def _fresh(folder: Path) -> None:
    for name in ("out", "tmp"):
        shutil.rmtree(folder / name, ignore_errors=True)
        (folder / name).mkdir()


def _interrupted(arguments: list[str], folder: Path, delay: float, number: int) -> tuple[int, str]:
    """Run a command and send the signal to all of its processes after so many seconds; return its status and words."""
    _fresh(folder)
    running = _started(arguments, folder)
    time.sleep(delay)
    if running.poll() is None:
        os.killpg(running.pid, number)
    status = running.wait(60)
    return (128 - status if status < 0 else status), (folder / "said").read_text()


@pytest.fixture
def words(tmp_path: Path) -> Callable[[str], list[str]]:
    """Return what makes a command's arguments."""
    shutil.copytree(CASE, tmp_path / "in" / "data")
    with tarfile.open(tmp_path / "data.tar.gz", "w:gz") as archive:
        archive.add(CASE, "data")
    places = {
        "root": tmp_path / "in", "out": tmp_path / "out", "archive": tmp_path / "data.tar.gz", "segment": SEGMENT,
    }  # fmt: skip
    return lambda name: [word.format(**places) for word in COMMANDS[name]]


@pytest.mark.some(every=4)
@pytest.mark.process
@pytest.mark.parametrize("moments", [3, pytest.param(150, marks=pytest.mark.soak)])
@pytest.mark.parametrize("name", COMMANDS)
def test_a_signal_at_any_moment(name: str, moments: int, words: Callable[[str], list[str]], tmp_path: Path) -> None:
    """From the first line to past the end: 130 or 143, or the status of a run that was over; whole outputs or none."""
    arguments = words(name)
    _fresh(tmp_path)
    begun = time.monotonic()
    over = _started(arguments, tmp_path).wait(60)
    whole = time.monotonic() - begun
    results = {path.name for path in (tmp_path / "out").iterdir()}
    assert over in (0, 1)
    ended = set()
    for moment in range(moments):
        number = (signal.SIGINT, signal.SIGTERM)[moment % 2]
        status, said = _interrupted(arguments, tmp_path, whole * moment / moments, number)
        ended.add(status)
        assert status in (over, 128 + number), (moment, said)
        assert "Traceback" not in said, (moment, said)
        assert "Exception ignored" not in said, (moment, said)
        assert {path.name for path in (tmp_path / "out").iterdir()} <= results, moment
        assert list((tmp_path / "tmp").iterdir()) == [], moment
    assert ended & {130, 143}


@pytest.mark.parametrize("form", ["arrow", "parquet"])
@pytest.mark.parametrize("closed", [True, False])
def test_a_file_that_is_given_up_ends_silently(
    form: str, closed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pyarrow's writers write a footer when they are collected: not to a closed file, nor to standard output."""
    swallowed: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", swallowed.append)
    stream = io.BytesIO()

    def interrupted() -> int:
        sink = ArrowSink(form, stream, (), TABLES["batches"], ["x"])
        size = len(stream.getvalue())
        if closed:
            stream.close()
        del sink
        return size

    begun = interrupted()
    gc.collect()

    assert swallowed == []
    assert closed or len(stream.getvalue()) == begun


COMPILING: Final = """
import time
import click
from kafkalog_cli.main import main

def compiling():
    source = open({module!r}, "rb").read()
    print(flush=True)
    end = time.monotonic() + 0.3
    while time.monotonic() < end:
        compile(source, "a module", "exec")
    time.sleep(60)

main(click.Command("compiling", callback=compiling))
"""


@pytest.mark.sweep
@pytest.mark.process
def test_a_signal_while_python_compiles_a_module_is_not_lost() -> None:
    """Python's compiler, which a module without cached bytecode needs, drops a handler's exception: it comes again."""
    code = COMPILING.format(module=damage.__file__)
    for moment in range(8):
        with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as running:
            assert running.stdout
            running.stdout.readline()
            time.sleep(moment / 50)
            running.terminate()
            try:
                assert running.wait(20) == 143
            finally:
                running.kill()

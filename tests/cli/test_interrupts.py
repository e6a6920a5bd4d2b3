"""Interrupts: what was found so far is said, and no stack trace is printed, whatever Python was doing."""

from __future__ import annotations

import io
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from handmade import one
from invoke import kafkalog

BOTH = pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
SAID = {130: b"kafkalog: interrupted before any segment was read\n", 143: b""}


@pytest.fixture
def two(tmp_path: Path) -> Path:
    """Make two partitions, both damaged, the second one of some size."""
    for number, batches in ((0, 10), (1, 50_000)):
        home = tmp_path / f"t-{number}"
        home.mkdir()
        batch = one(b"k", bytes(100))
        data = bytearray(batch * batches)
        for offset in range(batches):  # outside the checksum
            data[offset * len(batch) : offset * len(batch) + 8] = offset.to_bytes(8, "big")
        data[100] ^= 1
        (home / f"{0:020}.log").write_bytes(data)
    return tmp_path


@pytest.mark.some(every=4)
@pytest.mark.process
@pytest.mark.parametrize("command", ["txn-audit", "verify"])
@pytest.mark.parametrize(("jobs", "method"), [("1", "at"), ("2", "done")])
def test_an_interrupt_says_what_was_found_so_far(two: Path, command: str, jobs: str, method: str) -> None:
    """How much was read, and findings; the status is 130, and worker processes end with the first one."""
    code = f"""
import os, signal, sys
from kafkalog_cli.progress import ShownProgress
known, files = ShownProgress.{method}, set()
def interrupted(self, file, number):
    known(self, file, number)
    files.add(file)
    if len(files) == (2 if {jobs!r} == "1" else 1):
        os.killpg(0, signal.SIGINT)
        sum(range(1000))
ShownProgress.{method} = interrupted
sys.argv = ["kafkalog", {command!r}, "--jobs", {jobs!r}, {str(two)!r}]
from kafkalog_cli.start import main
main()
"""
    ended = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, check=False, timeout=60, start_new_session=True
    )

    assert ended.returncode == 130, ended.stderr
    assert b"interrupted after " in ended.stderr
    assert b"in 2 files; found so far: " in ended.stderr
    assert b"Traceback" not in ended.stderr
    assert ended.stderr.count(b"interrupted") == 1
    if jobs == "1":
        assert b"1 crc-mismatch\n" in ended.stderr


@pytest.mark.process
@BOTH
@pytest.mark.parametrize(
    "module", ["click", "kafkalog.findings", "kafkalog_cli.group", "kafkalog_cli.commands.verify", "numpy"]
)
def test_a_signal_while_modules_are_imported(module: str, number: int, status: int, tmp_path: Path) -> None:
    """The signal's status, and at Ctrl-C a sentence, wherever in its imports the program is."""
    code = f"""
import os, sys
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            os.kill(os.getpid(), {int(number)})
            sum(range(1000))
sys.meta_path.insert(0, Finder())
sys.argv = ["kafkalog", "verify", {str(tmp_path)!r}]
from kafkalog_cli.start import main
main()
"""
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False, timeout=60)

    assert ended.returncode == status, ended.stderr
    assert ended.stderr.lstrip() == SAID[status]


@pytest.mark.process
@BOTH
def test_a_signal_that_a_finalizer_swallows_comes_again(number: int, status: int) -> None:
    """Python prints a stack trace for an exception in ``__del__`` and goes on; the command ends all the same."""
    code = f"""
import os, sys, time
import click
class Last:
    def __del__(self):
        os.kill(os.getpid(), {int(number)})
        sum(range(1000))
@click.command("busy")
def busy():
    Last()
    time.sleep(200)
sys.argv = ["busy"]
from kafkalog_cli.main import main
main(busy)
"""
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False, timeout=60)

    assert ended.returncode == status, ended.stderr
    assert ended.stderr.lstrip() == SAID[status]


@pytest.mark.process
def test_an_error_that_an_interrupt_caused_is_no_internal_error() -> None:
    """Some packages turn an exception in their import into an ImportError of their own."""
    code = """
import os, signal, sys
import click
@click.command("busy")
def busy():
    try:
        os.kill(os.getpid(), signal.SIGINT)
        sum(range(1000))
    except KeyboardInterrupt:
        raise ImportError("no module") from None
sys.argv = ["busy"]
from kafkalog_cli.main import main
main(busy)
"""
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False, timeout=60)

    assert (ended.returncode, ended.stderr) == (130, SAID[130])


@pytest.mark.process
def test_an_ignored_interrupt_stays_ignored(tmp_path: Path) -> None:
    """As nohup has it: the command reads on to its end."""
    (tmp_path / "t-0").mkdir()
    (tmp_path / "t-0" / f"{0:020}.log").write_bytes(one(b"k") * 3)
    code = (
        "import os, signal, sys; signal.signal(signal.SIGINT, signal.SIG_IGN); os.execv(sys.executable, sys.argv[1:])"
    )
    command = [sys.executable, "-c", code, sys.executable, "-m", "kafkalog_cli", "dump", "-"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as running:
        assert running.stdin
        running.stdin.write(one(b"k"))
        running.stdin.flush()
        time.sleep(1)
        running.send_signal(signal.SIGINT)
        out, _ = running.communicate(timeout=30)

    assert running.returncode == 0
    assert out.count(b"baseOffset") == 1


class Screen(io.StringIO):
    """A terminal."""

    def isatty(self) -> bool:
        return True


def test_progress_is_drawn_on_a_terminal_and_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    """After a second: bytes of bytes, the rate and the file; not once data goes to the same terminal."""
    from kafkalog_cli import progress

    monkeypatch.setattr(sys, "stderr", screen := Screen())
    monkeypatch.setenv("TERM", "xterm")
    shown = progress.ShownProgress()
    shown.begin(4 << 20, 2)
    shown.at("home/t-0/x.log", 1 << 20)
    assert screen.getvalue() == ""  # the first second

    monkeypatch.setattr(progress, "AFTER_S", -1)
    monkeypatch.setattr(progress, "BETWEEN_S", -1)
    shown.at("home/t-1/x.log", 1 << 20)
    shown.hide()
    assert "t-1/x.log" in screen.getvalue()
    assert "2.0/4.0 MiB" in screen.getvalue()

    shown.silence()
    drawn = screen.getvalue()
    shown.at("home/t-1/x.log", 2 << 20)
    assert screen.getvalue() == drawn


@pytest.mark.some(every=3)
@pytest.mark.parametrize(
    "command", ["txn-audit", "verify", "dump", "groups", "transactions", "metadata", "salvage", "space"]
)
def test_every_command_that_reads_segments_says_how_far_it_is(
    command: str, two: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All of them tell the same watch how many bytes there are and how many are read."""
    from kafkalog_cli.progress import ShownProgress

    told: list[tuple[int, int]] = []
    hide = ShownProgress.hide
    monkeypatch.setattr(ShownProgress, "hide", lambda self: (told.append((self.total, self.read_bytes)), hide(self)))
    root = two
    if command in ("dump", "salvage"):
        root = two / "t-1" / f"{0:020}.log"
    elif command in ("groups", "transactions", "metadata"):
        names = {
            "groups": "__consumer_offsets",
            "transactions": "__transaction_state",
            "metadata": "__cluster_metadata",
        }
        (two / "t-1").rename(two / f"{names[command]}-0")
    kafkalog(command, root, *(["-o", two.parent / f"{two.name}-salvaged"] if command == "salvage" else []))
    total, read = told[-1]

    assert total >= 5_000_000
    assert read >= 5_000_000


@pytest.mark.parametrize(
    ("form", "pure", "said"), [("interpreted", "", 1), ("interpreted", "1", 0), ("compiled", "", 0)]
)
def test_a_run_that_reads_says_once_that_the_kernel_is_not_compiled(
    form: str, pure: str, said: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With what it costs, before anything is read; not to whoever asked for it."""
    from kafkalog_cli import progress

    monkeypatch.setenv("KAFKALOG_PURE", pure)
    monkeypatch.setattr("kafkalog.kernel.form", lambda: form)
    monkeypatch.setattr(sys, "stderr", screen := io.StringIO())
    shown = progress.ShownProgress()
    assert screen.getvalue() == ""
    shown.begin(1000, 1)
    shown.begin(1000, 1)

    assert screen.getvalue().count("the kernel is not compiled: reading takes ten to seventy times as long") == said
    assert screen.getvalue().count("\n") == said


def test_a_command_that_reads_segments_says_that_it_is_interpreted(two: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that reads none doesn't; what is on standard output stays the same."""
    segment = two / "t-1" / f"{0:020}.log"
    monkeypatch.delenv("KAFKALOG_PURE", raising=False)
    monkeypatch.setattr("kafkalog.kernel.form", lambda: "compiled")
    compiled = kafkalog("dump", segment)
    monkeypatch.setattr("kafkalog.kernel.form", lambda: "interpreted")
    plain = kafkalog("dump", segment)

    assert plain.text == compiled.text
    assert (compiled.err.count("not compiled"), plain.err.count("not compiled")) == (0, 1)
    assert kafkalog("explain", "hanging").err == ""

"""Outputs that fail, and signals at any moment, for the commands over whole directories; the evidence is only read."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path
from typing import Any, Final

import pytest

from handmade import one
from invoke import PROGRAM, finish, kafkalog, process, processed
from official import FIXTURES

COMMANDS: Final = ("txn-audit", "verify")
FORMS: Final = ("table", "ndjson", "json")
STRACE: Final = shutil.which("strace")


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a data directory with some damage."""
    return Path(shutil.copytree(FIXTURES / "made-damaged" / "data", tmp_path_factory.mktemp("evidence") / "data"))


@pytest.fixture(scope="module")
def long(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a data directory that takes a second or more to read."""
    root = tmp_path_factory.mktemp("long")
    data = b"".join(one(b"k", bytes(200), base_offset=number) for number in range(3_000))
    for number in range(6):
        (root / f"t-{number}").mkdir()
        (root / f"t-{number}" / f"{0:020}.log").write_bytes(data)
    return root


@pytest.mark.some(every=3)
@pytest.mark.process
@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.parametrize("form", FORMS)
def test_a_full_device_is_4(root: Path, name: str, form: str) -> None:
    """What can't be written is said in a line, without a stack trace."""
    with Path("/dev/full").open("wb") as full:
        ended = processed(name, "--format", form, root, stdout=full)

    assert (ended.status, ended.err) == (4, "kafkalog: error: standard output: No space left on device\n")


# What an audit that was begun has besides scans.
_BEGUN: Final = ("out", "out/_work", "out/_work/begun.json", "out/_work/scans", "out/provenance.json")


@pytest.mark.some(every=2)
@pytest.mark.process
@pytest.mark.parametrize("name", COMMANDS)
def test_a_full_disk_leaves_no_partial_output(root: Path, name: str, tmp_path: Path) -> None:
    """On a disk of 16 KiB ``-o DIR`` ends with 4 and leaves neither a name that looks whole nor pieces.

    An audit may leave scans that are whole, for another run.
    """
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=16k", "tmpfs", disk], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("only the superuser may mount a small disk")
    try:
        ended = processed(name, root, "-o", disk / "out")
        left = sorted(str(path.relative_to(disk)) for path in disk.rglob("*"))
    finally:
        subprocess.run(["umount", disk], check=True)

    assert ended.status == 4, ended.err
    assert "No space left on device" in ended.err
    assert "Traceback" not in ended.err
    kept = [name for name in left if name.endswith(".scan")]
    assert left == [] or (kept and [name for name in left if name not in kept] == [*_BEGUN])


@pytest.mark.process
@pytest.mark.parametrize("name", COMMANDS)
def test_a_reader_that_was_never_there_is_141(root: Path, name: str) -> None:
    """``| true`` ends it without a word."""
    reader, writer = os.pipe()
    os.close(reader)
    ended = processed(name, "--format", "ndjson", root, stdout=writer)
    os.close(writer)

    assert (ended.status, ended.err) == (141, "")


def _names(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


@pytest.mark.some(every=2)
@pytest.mark.process
@pytest.mark.parametrize(
    ("name", "number", "status"), [("txn-audit", signal.SIGTERM, 143), ("verify", signal.SIGINT, 130)]
)
def test_a_signal_at_any_moment_leaves_nothing_behind(
    long: Path, name: str, number: int, status: int, tmp_path: Path
) -> None:
    """While it reads, and while it writes: the signal's status, no partial output, no stack trace of ours.

    An audit leaves its scans, from which the same command goes on.
    """
    begun = time.monotonic()
    whole = processed(name, "--exit-zero", long, "-o", tmp_path / "whole")
    took = time.monotonic() - begun
    assert whole.status == 0, whole.err
    before = _state(long)
    seen = set()
    for part in (0.4, 0.75):
        out = tmp_path / f"out-{int(100 * part)}"
        with process(name, "--exit-zero", long, "-o", out) as running:
            time.sleep(took * part)
            running.send_signal(number)
            ended = finish(running)
        seen.add(ended.status)
        # Python itself dies of a signal that comes before our first line.
        assert ended.status in (status, 0, -number), ended.err
        if ended.status == status:
            if out.exists() and not (out / "_SUCCESS").exists():
                assert name == "txn-audit"
                assert not list(out.rglob("*.parquet"))
                assert processed(name, "--exit-zero", long, "-o", out).status == 0
            assert not out.exists() or _names(out) == _names(tmp_path / "whole")  # it came after the last step
            assert "internal error" not in ended.err
        assert not [
            path.name for path in tmp_path.iterdir() if path.name not in ("whole", out.name, *_finished(tmp_path))
        ]
    assert status in seen
    assert _state(long) == before


def _finished(folder: Path) -> list[str]:
    """The outputs of runs that the signal came too late for."""
    return [path.name for path in folder.glob("out-*")]


def _state(root: Path) -> dict[str, tuple[Any, ...]]:
    """Describe a tree: names, kinds, times, what the files hold."""
    found = {}
    for path in [root, *sorted(root.rglob("*"))]:
        status = path.lstat()
        content = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
        found[str(path)] = (
            status.st_mode,
            status.st_ino,
            status.st_size,
            status.st_mtime_ns,
            status.st_ctime_ns,
            content,
        )
    return found


READING: Final = {
    "txn-audit": ("txn-audit", "{root}", "--format", "ndjson"),
    "verify": ("verify", "{root}", "--hash", "sha256", "--format", "ndjson"),
    "dump": ("dump", "--deep-iteration", "{root}/tickets-tickets.26-2/00000000000000000000.log"),
    "salvage": ("salvage", "{root}/tickets-tickets.26-2/00000000000000000000.log", "-o", "{out}/x.log"),
    "show": ("show", "{root}/tickets-tickets.26-2/00000000000000000000.log@0"),
}


@pytest.mark.some(every=3)
@pytest.mark.process
@pytest.mark.skipif(STRACE is None, reason="strace is not installed")
@pytest.mark.parametrize("name", READING)
def test_the_system_sees_only_reads(root: Path, name: str, tmp_path: Path) -> None:
    """Of all system calls of a whole run those that name the evidence open it to read, or look at it; nothing changes."""
    before = _state(root)
    trace = tmp_path / "trace"
    arguments = [argument.format(root=root, out=tmp_path) for argument in READING[name]]
    ended = subprocess.run(
        [str(STRACE), "-f", "-s", "4096", "-e", "trace=%file,mmap,ftruncate,fallocate", "-o", trace, *PROGRAM, *arguments],
        capture_output=True, timeout=120, check=False,
    )  # fmt: skip
    lines = [line for line in trace.read_text(errors="replace").splitlines() if str(root) in line]
    calls = [match for line in lines if (match := re.search(r"\b([a-z0-9_]+)\((.*)", line))]

    assert ended.returncode in (0, 1, 3), ended.stderr
    assert [call[0] for call in calls if call[1].startswith("open")]
    looking = {
        "stat",
        "lstat",
        "newfstatat",
        "statx",
        "access",
        "faccessat",
        "faccessat2",
        "readlink",
        "readlinkat",
        "execve",
        "getcwd",
        "chdir",
    }
    for call in calls:
        if call[1] in ("open", "openat"):
            flags = call[2].split(str(root))[-1]
            assert "O_RDONLY" in flags, call[0]
            assert not re.search(r"O_WRONLY|O_RDWR|O_CREAT|O_TRUNC|O_APPEND", flags), call[0]
        else:
            assert call[1] in looking, call[0]
    assert _state(root) == before


def test_the_evidence_is_read_and_left_alone(root: Path) -> None:
    """The same without strace: hashes and times of the tree before and after."""
    before = _state(root)
    for name in COMMANDS:
        assert kafkalog(name, "--exit-zero", root).status == 0

    assert _state(root) == before

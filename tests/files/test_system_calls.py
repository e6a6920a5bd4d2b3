"""What macOS lacks is taken away: the answers are the same, and what can't be written is said in a line."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import select
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest

from invoke import Ended, kafkalog
from kafkalog import StreamSource
from kafkalog.auditing.pipeline import executors
from kafkalog.columns.table import give_back
from kafkalog.errors import UnreadableError
from kafkalog.files import opening, processes, system_calls
from kafkalog.files.opening import FileSource
from kafkalog.files.processes import in_processes, processors, unnamed_file
from kafkalog.files.system_calls import may_fork, read_at, waiter, write_at
from official import FIXTURES

BROKER: Final = FIXTURES / "made-damaged" / "data"


@pytest.fixture
def mac(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Take away what macOS lacks, and answer the directory for temporary files; pyarrow may be in this process."""
    for home, name in ((os, "memfd_create"), (os, "preadv"), (os, "sched_getaffinity"), (select, "poll")):
        monkeypatch.delattr(home, name)
    monkeypatch.setattr(system_calls, "_MACOS", True)
    monkeypatch.setattr(system_calls, "_THREADED", ())
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    return tmp_path


def audited(jobs: int) -> Ended:
    return kafkalog("txn-audit", "--all", "--exit-zero", "--jobs", str(jobs), BROKER)


@pytest.fixture
def alone() -> Ended:
    """Audit in one process, before anything is taken away."""
    return audited(1)


@pytest.fixture
def forks(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Let small tasks be worth a fork, and note the forks that this process makes."""
    made: list[int] = []
    fork = os.fork

    def noted() -> int:
        made.append(fork())
        time.sleep(0.05 if made[-1] else 0)  # the fork takes the first task
        return made[-1]

    monkeypatch.setattr(os, "fork", noted)
    monkeypatch.setattr(executors, "TASK_BYTES", 1000)
    monkeypatch.setattr(executors, "WORTH_A_FORK", 0)
    return made


@pytest.mark.process
def test_two_processes_say_what_one_does(alone: Ended, forks: list[int], mac: Path) -> None:
    """What they share is in the directory for temporary files, and nothing of it stays."""
    ended = audited(2)

    assert forks
    assert (ended.status, ended.out, ended.err) == (alone.status, alone.out, alone.err)
    assert list(mac.iterdir()) == []


def test_no_fork_where_a_library_has_threads(
    alone: Ended, forks: list[int], mac: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One process does all of the work: on macOS a fork could wait without an end."""
    monkeypatch.setattr(system_calls, "_THREADED", ("pyarrow",))
    monkeypatch.setitem(sys.modules, "pyarrow", sys)

    assert not may_fork()
    assert audited(2).out == alone.out
    assert forks == []


def test_without_affinity_all_processors_count(mac: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One where the system does not say how many there are."""
    monkeypatch.setattr(processes, "CPU_MAX", mac / "cpu.max")
    monkeypatch.setattr(os, "cpu_count", lambda: 12)
    assert processors() == 12
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert processors() == 1


def test_nothing_is_given_back_where_the_c_library_keeps_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """glibc alone has malloc_trim."""
    asked: list[object] = []

    def other_library(name: object) -> object:
        asked.append(name)
        return object()

    monkeypatch.setattr(ctypes, "CDLL", other_library)
    give_back()

    assert asked == [None]


def _fill(monkeypatch: pytest.MonkeyPatch, where: str) -> None:
    """Let a file system have no room, for this process or for its forks."""
    mine, write = os.getpid(), os.pwrite

    def full(descriptor: int, data: Any, position: int) -> int:
        if (os.getpid() == mine) == (where == "here"):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return write(descriptor, data, position)

    monkeypatch.setattr(os, "pwrite", full)


@pytest.mark.process
@pytest.mark.parametrize("where", ["here", "in a fork"])
def test_a_full_directory_for_temporary_files_is_3(
    where: str, forks: list[int], mac: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether what is to be done or what was found can't be written: a line says where, and what to do."""
    _fill(monkeypatch, where)
    ended = audited(2)

    assert bool(forks) == (where == "in a fork")
    assert ended.status == 3
    assert ended.err == (
        f"kafkalog: error: what several processes share can't be written in {mac}: No space left on device;"
        " set TMPDIR to another directory\n"
    )


def test_a_missing_directory_for_temporary_files_is_3(forks: list[int], mac: Path) -> None:
    """It is said before any work is done."""
    mac.rmdir()
    ended = audited(2)

    assert (ended.status, forks) == (3, [])
    assert ended.err == f"kafkalog: error: {mac}: no such directory; TMPDIR chooses the directory for temporary files\n"


def test_no_temporary_file_is_in_evidence(forks: list[int], mac: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also none without a name."""
    monkeypatch.setenv("TMPDIR", str(BROKER))
    ended = audited(2)

    assert ended.status == 2
    assert "kafkalog never writes there; TMPDIR chooses" in ended.err


@pytest.mark.process
def test_an_error_that_cannot_be_written_is_no_lost_process(mac: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A fork can't write what it raised where the disk is full: the error names the full disk, and no lost process."""
    mine = os.getpid()

    def task(_: int) -> None:
        time.sleep(0.05)
        if os.getpid() != mine:
            raise ValueError("in a fork")

    _fill(monkeypatch, "in a fork")
    with pytest.raises(UnreadableError, match="No space left"), in_processes(task, range(4), 2) as results:
        list(results)


# Reads, writes and waits.


MOST: Final = 1000  # bytes


def _limited(of: Callable[..., Any]) -> Callable[..., Any]:
    """Return a call of the system that refuses more than `MOST` bytes, as macOS does with 2 GiB."""

    def call(descriptor: int, what: Any, position: int) -> Any:
        size = what if isinstance(what, int) else len(what[0]) if isinstance(what, list) else len(what)
        if size > MOST:
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
        return of(descriptor, what, position)

    return call


@pytest.mark.process
@pytest.mark.parametrize("preadv", ["with preadv", "without preadv"])
def test_no_call_is_too_big(preadv: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is bigger than a call may be is read and written in several; before macOS 11 there is no preadv."""
    data = bytes(range(251)) * 40
    (tmp_path / "file").write_bytes(data)
    for name in ("preadv", "pread", "pwrite"):
        monkeypatch.setattr(os, name, _limited(getattr(os, name)))
    monkeypatch.setattr(system_calls, "_MOST", MOST)
    if preadv == "without preadv":
        monkeypatch.delattr(os, "preadv")
    with contextlib.closing(FileSource(tmp_path / "file")) as source:
        assert source.read_bytes(3, len(data)) == data[3:]
    shared = unnamed_file()
    write_at(shared, np.frombuffer(data, np.uint8), 7)
    view = memoryview(bytearray(len(data)))

    assert read_at(shared, view, 7) == MOST
    assert view[:MOST] == data[:MOST]
    assert os.fstat(shared).st_size == 7 + len(data)
    os.close(shared)
    with in_processes(_numbers, range(6), 2) as results:
        assert [len(found) for found in results] == [5000] * 6


def _numbers(_: int) -> np.ndarray[Any, Any]:
    time.sleep(0.01)
    return np.arange(5000)


@pytest.mark.parametrize("poll", ["poll", "no poll", "macOS"])
def test_who_waits_is_told_when_there_are_bytes(poll: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where poll is missing, or doesn't know what is waited for."""
    if poll == "no poll":
        monkeypatch.delattr(select, "poll")
    if poll == "macOS":
        monkeypatch.setattr(system_calls, "_MACOS", True)
    reading, writing = os.pipe()
    wait = waiter(reading)
    with open(reading, "rb", buffering=0) as stream:
        assert not wait(0)
        assert not wait(0.01)
        os.write(writing, b"bytes")
        assert wait(0)
        assert wait(None)
        source = StreamSource(stream)
        os.close(writing)
        assert source.read_bytes(0, 100) == b"bytes"


@pytest.mark.parametrize("code", [errno.ENXIO, errno.EOPNOTSUPP])
def test_a_socket_is_named_whatever_the_system_calls_it(code: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Linux and macOS refuse to open one with different numbers."""

    def refused(name: str, flags: int = 0) -> int:
        raise OSError(code, os.strerror(code), name)

    monkeypatch.setattr(opening, "open_unnoticed", refused)
    with pytest.raises(UnreadableError, match=r"^x\.log: a socket$"):
        FileSource("x.log")

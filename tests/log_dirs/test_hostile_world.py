"""A data directory in a hostile world: each bad thing in it is one finding, and nothing else is lost."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest

import build
from engines import ENGINES, Found
from official import FIXTURES, ROOT, materialize
from sampled import steps

pytestmark = pytest.mark.timeout(120)  # what hangs is told soon
NAME: Final = "00000000000000000000.log"
KEPT: Final = ("tickets-tickets.26-0", "tickets-tickets.26-1")  # enough to see what a bad thing costs the others
LATER: Final = "00000000000000000500.log"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Give a data directory of a healthy broker, with a partition of ours for what is bad."""
    data = materialize(FIXTURES / "k4-f-hanging-late-produce-tv0", tmp_path) / "data"
    for folder in [path for path in data.iterdir() if path.is_dir() and path.name not in KEPT]:
        shutil.rmtree(folder)
    (data / "hostile-0").mkdir()
    (data / "hostile-0" / NAME).write_bytes(b"".join(build.log(9, 9, 9)))
    return data


def _socket(path: Path) -> None:
    with contextlib.chdir(path.parent):  # a socket's path may only be short
        socket.socket(socket.AF_UNIX).bind(path.name)


def _device(path: Path) -> None:
    try:
        os.mknod(path, 0o644 | stat.S_IFCHR, os.makedev(1, 5))
    except PermissionError:
        pytest.skip("only the superuser may make a device")


def _leaving(path: Path) -> None:
    outside = path.parent.parent.parent / "outside.log"
    outside.write_bytes(b"".join(build.log(5)))
    path.symlink_to(outside)


BAD: Final[dict[str, tuple[Callable[[Path], object], str]]] = {
    "a FIFO": (os.mkfifo, "file-unreadable"),
    "a socket": (_socket, "file-unreadable"),
    "a device": (_device, "file-unreadable"),
    "a directory": (Path.mkdir, "file-unreadable"),
    "a dangling link": (lambda path: path.symlink_to("nowhere"), "link-leaves"),
    "a loop of links": (lambda path: path.symlink_to(path.name), "link-leaves"),
    "a link that leaves": (_leaving, "link-leaves"),
    "a link to a device": (lambda path: path.symlink_to("/dev/zero"), "link-leaves"),
}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("what", BAD)
def test_what_is_no_segment_is_one_finding(root: Path, engine: str, what: str) -> None:
    """Named like a segment beside a whole one: at once one finding about it, and the other logs' rows are the same."""
    before = ENGINES[engine]([root])
    make, code = BAD[what]
    path = root / "hostile-0" / LATER
    make(path)
    begun = time.monotonic()
    found = ENGINES[engine]([root])

    assert time.monotonic() - begun < 60  # a FIFO would be waited for without end
    assert [finding.code for finding in found.loud if finding.file == str(path)] == [code]
    assert found.without(root / "hostile-0") == before.without(root / "hostile-0")
    assert len(found.loud) == len(before.loud) + 1
    assert found.refused == []


# Reads that fail, and files that change: at the n-th read, for every fifth n or for every n.


class Reads:
    """Stands in for ``os.preadv``: counts the reads of a file, and does something else at the one that is asked for."""

    def __init__(self, path: Path) -> None:
        self.status = path.stat()
        self.count = 0
        self.at = 0
        self.act: Callable[[Callable[..., int], tuple[Any, ...]], int] | None = None
        self.really = os.preadv

    def __call__(self, descriptor: int, *arguments: Any) -> int:
        there = os.fstat(descriptor)
        if (there.st_dev, there.st_ino) == (self.status.st_dev, self.status.st_ino):
            self.count += 1
            if self.count == self.at and self.act is not None:
                return self.act(self.really, (descriptor, *arguments))
        return self.really(descriptor, *arguments)


@pytest.fixture
def long(root: Path) -> Path:
    """Make the hostile segment one of several windows, with damage in it, so that it is read in several ways."""
    path = root / "hostile-0" / NAME
    batches = build.log(*[700_000] * 6)
    path.write_bytes(b"".join([*batches[:2], build.flipped(batches[2], 8 * 100), *batches[3:]]))
    return path


def _failing(number: int) -> Callable[..., int]:
    def act(_really: Any, _arguments: Any) -> int:
        raise OSError(number, os.strerror(number))

    return act


@pytest.mark.some(every=3)
@steps(5)
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("number", [errno.EIO, errno.ESTALE, errno.EACCES], ids=errno.errorcode.get)
def test_a_read_that_fails_is_one_finding(
    root: Path, long: Path, engine: str, number: int, step: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At whichever read of the segment: one finding that says where, and the other logs' rows are the same."""
    reads = Reads(long)
    monkeypatch.setattr(os, "preadv", reads)
    before = ENGINES[engine]([root])
    total = reads.count
    assert total >= 4
    reads.act = _failing(number)
    for reads.at in range(1, total + 1, step):
        reads.count = 0
        found = ENGINES[engine]([root])
        told = [finding for finding in found.loud if finding.code == "file-unreadable"]
        assert [finding.file for finding in told] == [str(long)], reads.at
        assert os.strerror(number).lower() in told[0].message.lower()
        assert found.without(long.parent) == before.without(long.parent), reads.at
        assert found.refused == []


@steps(5)
@pytest.mark.parametrize("engine", ENGINES)
def test_short_reads_change_nothing(
    root: Path, long: Path, engine: str, step: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A read that gives less than was asked for, be it a byte, is gone on with."""
    reads = Reads(long)
    monkeypatch.setattr(os, "preadv", reads)
    before = ENGINES[engine]([root])
    total = reads.count
    for size in (1, 4097):
        reads.act = lambda really, arguments, size=size: really(arguments[0], [arguments[1][0][:size]], arguments[2])  # type: ignore[misc]  # a default argument
        for reads.at in range(1, total + 1, step):
            reads.count = 0
            assert ENGINES[engine]([root]) == before, reads.at


# Files that change while they are read.


def _grow(path: Path) -> None:
    with path.open("ab") as file:
        file.write(build.batch(build.record(b"new"), base_offset=6)[:50])


def _replace(path: Path) -> None:
    shutil.copyfile(path, path.with_suffix(".new"))
    path.with_suffix(".new").replace(path)


CHANGES: Final[dict[str, Callable[[Path], object]]] = {
    "grows": _grow,
    "is truncated": lambda path: os.truncate(path, 2_000_000),
    "is emptied": lambda path: os.truncate(path, 0),
    "is unlinked": Path.unlink,
    "is replaced": _replace,
}


@pytest.mark.some(every=4)
@steps(5)
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("change", CHANGES)
def test_a_segment_that_changes_is_told_and_costs_no_other(
    root: Path, long: Path, engine: str, change: str, step: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At whichever read of it: ``file-changed``, or what the newest state says; the other logs' rows are the same."""
    reads = Reads(long)
    monkeypatch.setattr(os, "preadv", reads)
    before = ENGINES[engine]([root])
    total, whole = reads.count, long.read_bytes()
    for reads.at in range(1, total + 1, step):
        long.write_bytes(whole)
        reads.status, reads.count = long.stat(), 0

        def act(really: Any, arguments: Any) -> int:
            CHANGES[change](long)
            return int(really(*arguments))

        reads.act = act
        found = ENGINES[engine]([root])
        reads.act = None
        codes = {(finding.code, finding.severity) for finding in found.findings if finding.file == str(long)}
        if "file-changed" not in {code for code, _ in codes}:
            newest = ENGINES[engine]([root]).findings
            assert codes == {(one.code, one.severity) for one in newest if one.file == str(long)}, reads.at
        assert _elsewhere(found, root) == _elsewhere(before, root), reads.at


def _elsewhere(found: Found, root: Path) -> Any:
    return found.without(root / "hostile-0")


@pytest.mark.parametrize("engine", ENGINES)
def test_a_torn_tail_in_a_growing_file_is_no_damage(root: Path, engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a broker is writing right now is in flight: nothing about it is above a note or a torn tail's warning."""
    path = root / "hostile-0" / NAME
    whole = b"".join(build.log(9, 9, 9))
    path.write_bytes(whole + build.batch(build.record(bytes(500)), base_offset=3)[:200])
    reads = Reads(path)
    monkeypatch.setattr(os, "preadv", reads)

    def act(really: Any, arguments: Any) -> int:
        got = int(really(*arguments))
        path.write_bytes(whole + build.batch(build.record(bytes(500)), base_offset=3))
        return got

    reads.act, reads.at = act, 1
    found = ENGINES[engine]([root])

    told = {finding.code for finding in found.findings if finding.file == str(path)}
    assert "file-changed" in told
    assert told <= {"file-changed", "batch-truncated"}


# Names.

NAMES: Final = (
    b"line\nfeed-0", b"esc\x1b[2J\x1b]0;owned\x07-0", b"\xff\xfe\xc3(-0", b"\xed\xa0\x80-0", "\u202ebidi-0".encode(), b"-0", b"a-b--0",
    b"'; rm -rf x-0", b"%s{}-0", b"x" * 200 + b"-0",
)  # fmt: skip


@pytest.mark.parametrize("engine", ENGINES)
def test_any_name_is_a_name(root: Path, engine: str) -> None:
    """Directories and files whose names hold newlines, escape sequences or no UTF-8 are read like any other."""
    before = ENGINES[engine]([root])
    for number, name in enumerate(NAMES):
        folder = root / os.fsdecode(name)
        folder.mkdir()
        (folder / NAME).write_bytes(b"".join(build.log(9, 20 + number)))
        (folder / os.fsdecode(b"00000000000000000000.log.\n\x1b[2J\xff.deleted")).touch()
        (root / os.fsdecode(b"00000000000000000000.log" + name)).touch()
    found = ENGINES[engine]([root])

    lost = {name: rows for name, rows in before.rows.items() if found.rows.get(name) != rows}
    assert lost == {}
    assert len([name for name in found.rows if "owned" in name or "bidi" in name]) >= 2
    known = {(finding.code, finding.file) for finding in before.loud}
    assert [finding for finding in found.loud if (finding.code, finding.file) not in known] == []


# Very many files.


def _entries(root: Path, number: int) -> None:
    folder = root / "hostile-0"
    for at in range(number):
        os.close(os.open(folder / f"{at + 1000:020}.txnindex", os.O_CREAT | os.O_WRONLY))


CHILD: Final = """
import sys, time
from pathlib import Path
from engines import ENGINES
found = ENGINES[sys.argv[1]]([Path(sys.argv[2])])
peak = next(int(line.split()[1]) for line in Path("/proc/self/status").read_text().splitlines() if "VmHWM" in line)
print(len(found.rows), peak >> 10, int(time.process_time()))
"""


def _measured(engine: str, root: Path) -> tuple[int, int, int]:
    """Run an engine in a process of its own: logs or files with rows, most memory in MiB, seconds of a core."""
    ended = subprocess.run(
        [sys.executable, "-c", CHILD, engine, root],
        cwd=ROOT / "tests" / "make",
        capture_output=True,
        check=True,
        timeout=300,
    )
    rows, memory, seconds = map(int, ended.stdout.split())
    return rows, memory, seconds


@pytest.mark.sweep
@pytest.mark.process
@pytest.mark.parametrize("engine", ENGINES)
def test_many_files_take_time_and_memory_in_proportion(root: Path, engine: str) -> None:
    """Five thousand files that belong to no segment cost no other log anything."""
    before = len(ENGINES[engine]([root]).rows)
    _entries(root, 5_000)
    rows, memory, seconds = _measured(engine, root)

    assert rows == before + (5_000 if engine == "verify" else 0)
    assert memory < 200
    assert seconds < 20


@pytest.mark.exhaustive
@pytest.mark.timeout(400)
@pytest.mark.parametrize("engine", ENGINES)
def test_a_hundred_thousand_files_are_read(root: Path, engine: str) -> None:
    """Two minutes and 512 MiB are enough for a hundred thousand."""
    _entries(root, 100_000)
    _, memory, seconds = _measured(engine, root)

    assert memory < 512
    assert seconds < 120


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    """Every descriptor is closed again."""
    before = len(os.listdir("/proc/self/fd"))
    yield
    assert len(os.listdir("/proc/self/fd")) <= before + 1  # a socket of the test's own may be collected late

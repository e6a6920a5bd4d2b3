"""Evidence is opened for reading only and left as it was; a file that changes or can't be read is told quickly."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import chdir
from pathlib import Path
from typing import Any, Final

import pytest

import build
import kafkalog
from kafkalog import Finding, UnreadableError
from official import FIXTURES, materialize
from scanned import gathered, scanned

pytestmark = pytest.mark.timeout(60)  # what hangs is told soon
MIB: Final = 1 << 20
CASES: Final = (
    "k4-a-interleaved-tv2",
    "k4-i-cleaner-failed",
    "k4-j-preallocated",
    "v0.9-magic0",
    "v3.9-txn-java-killed",
)
# What an audit hook sees of a process: every open with its flags, and whatever changes a directory or maps a file.
HOOKED: Final = """
import json, os, sys
root, seen = os.fsencode(sys.argv[1]), []
CHANGES = ("os.chmod", "os.chown", "os.link", "os.mkdir", "os.remove", "os.rename", "os.rmdir", "os.symlink",
           "os.truncate", "os.utime", "os.setxattr", "mmap.__new__", "shutil.", "os.posix_spawn", "subprocess.Popen")
def hook(event, arguments):
    if event == "open" and isinstance(arguments[0], (str, bytes)):
        path = os.path.abspath(os.fsencode(arguments[0]))
        if path.startswith(root):
            seen.append(("open", os.fsdecode(path), arguments[2]))
    elif event.startswith(CHANGES):
        seen.append((event, repr(arguments), 0))
from kafkalog_cli.main import main
import kafkalog_cli.commands.dump
sys.addaudithook(hook)
sys.argv = ["kafkalog", *sys.argv[2:]]
try:
    main()
finally:
    sys.stderr.write("\\n" + json.dumps(seen))
"""


def _state(root: Path) -> dict[str, tuple[Any, ...]]:
    """Describe a tree: names, sizes, times of change, what the files hold."""
    state: dict[str, tuple[Any, ...]] = {}
    for path in [root, *sorted(root.rglob("*"))]:
        status = path.lstat()
        content = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
        state[str(path)] = (status.st_mode, status.st_ino, status.st_nlink, status.st_size, status.st_mtime_ns, content)
        state[f"{path} ctime"] = (status.st_ctime_ns,)
    return state


@pytest.mark.some(every=5)
@pytest.mark.process
@pytest.mark.parametrize(
    "arguments", [("--deep-iteration", "--print-data-log"), ("--format", "ndjson"), ("--index-sanity-check",)]
)
@pytest.mark.parametrize("case", CASES)
def test_a_dump_of_a_whole_directory_only_reads(case: str, arguments: tuple[str, ...], tmp_path: Path) -> None:
    """Every file of a data directory is opened, none to write, none mapped; nothing about the tree changes."""
    root = materialize(FIXTURES / case, tmp_path)
    files = [str(path) for path in sorted(root.rglob("*")) if path.is_file()]
    before = _state(root)

    ended = subprocess.run(
        [sys.executable, "-c", HOOKED, str(root), "dump", *arguments, *files],
        capture_output=True,
        timeout=120,
        check=False,
    )

    seen = json.loads(ended.stderr.splitlines()[-1])
    opened = {path for event, path, _ in seen if event == "open"}
    assert {path for path in files if path.endswith((".log", ".index", ".timeindex", ".snapshot"))} <= opened
    assert [entry for entry in seen if entry[0] != "open"] == []
    writing = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
    assert [(path, flags) for _, path, flags in seen if flags & writing] == []
    assert _state(root) == before


def test_the_time_of_access_is_left_alone(tmp_path: Path) -> None:
    """Where the system lets us: the file is the caller's own."""
    path = tmp_path / "00000000000000000000.log"
    path.write_bytes(build.log(1)[0])
    os.utime(path, (1_000_000, path.stat().st_mtime))
    list(kafkalog.open(path).records())

    assert path.stat().st_atime == 1_000_000


# Files that change while they are read.


def _appended(path: Path) -> None:
    with path.open("ab") as file:
        file.write(build.log(1)[0])


def _cut(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2 + 5)


def _emptied(path: Path) -> None:
    os.truncate(path, 0)


def _replaced(path: Path) -> None:
    shutil.copyfile(path, path.with_suffix(".new"))
    path.with_suffix(".new").rename(path)


def _written_in_place(path: Path) -> None:
    """Write as a broker does to a preallocated segment: the size stays."""
    size = path.stat().st_size
    with path.open("r+b") as file:
        file.seek(size - 500)
        file.write(build.batch(build.record(), base_offset=10**6))
    os.utime(path, ns=(time.time_ns(), path.stat().st_mtime_ns + 10**9))


CHANGES: Final[dict[str, tuple[Callable[[Path], object], str]]] = {
    "grows": (_appended, "grew"),
    "shrinks": (_cut, "shrank"),
    "is emptied": (_emptied, "shrank"),
    "is replaced": (_replaced, "replaced"),
    "vanishes": (Path.unlink, "vanished"),
    "is written in place": (_written_in_place, ""),
}


@pytest.mark.parametrize("size", [10, 3 * MIB], ids=["small", "of several windows"])
@pytest.mark.parametrize("change", CHANGES)
def test_a_file_that_changes_is_told(change: str, size: int, tmp_path: Path) -> None:
    """What was read is the file as it was at opening, as far as that is still there."""
    act, word = CHANGES[change]
    path = tmp_path / "00000000000000000000.log"
    whole = b"".join(build.log(*[10] * 9))
    path.write_bytes(whole + build.batch(build.record(bytes([7]) * size), base_offset=9) + bytes(1000))
    chunks = kafkalog.segment_chunks(path)
    first = next(chunks)
    assert first.heads.count >= 9
    act(path)

    found = gathered(chunks)
    (told,) = [finding for finding in found.findings if finding.code == "file-changed"]
    assert word in told.message
    if change in ("grows", "is replaced", "vanishes"):
        assert set(found.codes) == {"file-changed", "tail-preallocated"}


def test_a_file_that_does_not_change_is_not_said_to(tmp_path: Path) -> None:
    """Neither its being read, nor a link to it, nor another file beside it, is a change."""
    path = tmp_path / "00000000000000000000.log"
    path.write_bytes(build.log(1)[0])
    link = tmp_path / "00000000000000000001.log"
    link.symlink_to(path)
    (tmp_path / "other").touch()

    assert [finding for file in (path, link) for finding in _findings(file) if finding.code == "file-changed"] == []


def _findings(path: Path) -> list[Finding]:
    findings: list[Finding] = []
    list(kafkalog.batches(path, on_finding=findings.append))
    return findings


# Files that can't be read.

NAMES: Final[dict[str, Callable[[Path], object]]] = {
    "00000000000000000000.log": lambda path: list(kafkalog.open(path).records()),
    "a": lambda path: list(kafkalog.scan(path)),
    "00000000000000000000.index": kafkalog.offset_index,
    "00000000000000000000.timeindex": kafkalog.time_index,
    "00000000000000000000.txnindex": kafkalog.read_aborted_transactions,
    "00000000000000000000.snapshot": kafkalog.read_snapshot,
    "leader-epoch-checkpoint": kafkalog.read_checkpoint,
    "partition.metadata": kafkalog.read_properties,
}


def _socket(path: Path) -> None:
    with chdir(path.parent):
        socket.socket(socket.AF_UNIX).bind(path.name)


def _refused(path: Path) -> None:
    path.write_bytes(b"secret")
    path.chmod(0)


UNREADABLE: Final[dict[str, tuple[Callable[[Path], object], str]]] = {
    "fifo": (os.mkfifo, "FIFO"),
    "directory": (Path.mkdir, "directory"),
    "socket": (_socket, "socket"),
    "missing": (lambda path: None, "no such file"),
    "dangling link": (lambda path: path.symlink_to("nowhere"), "no such file"),
    "loop of links": (lambda path: path.symlink_to(path.name), "symbolic link"),
    "character device": (lambda path: path.symlink_to("/dev/zero"), "character device"),
    "no permission": (_refused, "permission"),
}


@pytest.fixture(autouse=True)
def _permissions_hold(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Refuse files of mode 0, to the superuser too; and hold that every descriptor is closed again."""
    really_open = os.open

    def refusing(path: Any, flags: int, *more: Any, **options: Any) -> int:
        if isinstance(path, (str, os.PathLike)) and os.path.isfile(path) and os.stat(path).st_mode & 0o777 == 0:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)
        return really_open(path, flags, *more, **options)

    monkeypatch.setattr(os, "open", refusing)
    before = len(os.listdir("/proc/self/fd"))
    yield
    assert len(os.listdir("/proc/self/fd")) == before


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("what", [name for name in UNREADABLE if name != "socket"])
def test_what_cannot_be_read_is_an_error_at_once(what: str, name: str, tmp_path: Path) -> None:
    """It names the path and what is there instead of a file; a FIFO is not waited for."""
    make, words = UNREADABLE[what]
    path = tmp_path / name
    make(path)
    start = time.monotonic()
    with pytest.raises(UnreadableError) as raised:
        NAMES[name](path)

    assert time.monotonic() - start < 60  # waiting would have no end
    assert str(path) in str(raised.value)
    assert words in str(raised.value).replace("Permission", "permission")


def test_a_socket_is_an_error_at_once(tmp_path: Path) -> None:
    """A socket can't be opened at all."""
    path = tmp_path / "0.log"
    listening = socket.socket(socket.AF_UNIX)
    with listening, chdir(tmp_path):
        listening.bind("0.log")
        with pytest.raises(UnreadableError, match="socket"):
            list(kafkalog.scan(path))


def test_a_disk_that_fails_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It says where; the batches before were given."""
    path = tmp_path / "00000000000000000000.log"
    path.write_bytes(b"".join(build.log(*[1000] * 3000)))
    really_read = os.preadv

    def failing(descriptor: int, buffers: Any, position: int) -> int:
        if position >= MIB:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return really_read(descriptor, buffers, position)

    monkeypatch.setattr(os, "preadv", failing)
    got = 0
    with pytest.raises(UnreadableError, match="Input/output error"):
        for _ in kafkalog.batches(path):
            got += 1
    assert got >= 900


@pytest.mark.parametrize("what", UNREADABLE)
def test_an_index_that_cannot_be_read_costs_the_segment_nothing(what: str, tmp_path: Path) -> None:
    """The offset index is asked where the log is damaged; the log is read without it as well."""
    batches = build.log(*[50] * 9)
    data = b"".join([*batches[:3], build.with_field(batches[3], 8, 70), *batches[4:]])
    path = tmp_path / "00000000000000000000.log"
    path.write_bytes(data)
    UNREADABLE[what][0](path.with_suffix(".index"))

    assert list(kafkalog.batches(path, on_finding=lambda _: None)) == scanned(data).batches

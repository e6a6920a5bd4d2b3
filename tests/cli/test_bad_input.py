"""Bad input gets a line that names what was found, ends with 3, and costs no other file anything."""

from __future__ import annotations

import contextlib
import errno
import gzip
import os
import shutil
import socket
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from handmade import one, segment
from invoke import SEGMENT, Ended, finish, kafkalog, process

NAME = "00000000000000000000.log"
DATA = SEGMENT.read_bytes()
Bad = Callable[[Path], object]


def _socket(path: Path) -> None:
    with contextlib.chdir(path.parent):  # a socket's path may only be short
        socket.socket(socket.AF_UNIX).bind(path.name)


BAD: dict[str, tuple[Bad, str]] = {
    "directory": (Path.mkdir, "a directory"),
    "empty": (Path.touch, "empty"),
    "gzip": (lambda path: path.write_bytes(gzip.compress(DATA)), "gzip"),
    "zstd": (lambda path: path.write_bytes(bytes.fromhex("28b52ffd") + bytes(40)), "zstd"),
    "zip": (lambda path: path.write_bytes(b"PK\x03\x04" + bytes(100)), "zip"),
    "parquet": (lambda path: path.write_bytes(b"PAR1" + bytes(100)), "Parquet"),
    "text": (lambda path: path.write_text("[2026-11-21 03:00:00,000] INFO started\n" * 30), "text"),
    "text-of-a-dump": (lambda path: path.write_bytes(kafkalog("dump", SEGMENT).out), "dump"),
    "text-in-utf-8": (lambda path: path.write_text("[2026-11-21 03:00:00] INFO Größe über null\n" * 30), "text"),
    "text-of-a-word": (lambda path: path.write_text("hello\n"), "text"),
    "fifo": (os.mkfifo, "a FIFO"),
    "socket": (_socket, "a socket"),
    "device": (lambda path: path.symlink_to("/dev/null"), "a character device"),
    "missing": (lambda path: None, "no such file"),
    "dangling-link": (lambda path: path.symlink_to("nowhere"), "no such file"),
    "loop-of-links": (lambda path: path.symlink_to(path.name), "symbolic link"),
    "below-a-file": (lambda path: path.write_bytes(DATA), "not a directory"),
}  # fmt: skip


def said(ended: Ended, path: Path | str, words: str) -> None:
    """Hold a run to: exit status 3, one line of ours that names the file and what it is."""
    lines = [line for line in ended.err.splitlines() if line.startswith("kafkalog: error: ")]
    assert (ended.status, len(lines)) == (3, 1), ended.err or "nothing was said"
    assert lines[0].startswith(f"kafkalog: error: {path}: ")
    assert words in lines[0]


@pytest.mark.parametrize("what", BAD)
@pytest.mark.parametrize("form", ["kafka", "ndjson"])
def test_bad_input_is_named_and_the_rest_goes_on(tmp_path: Path, what: str, form: str) -> None:
    """What the file is stands in one line on standard error; the file behind it is dumped as ever."""
    make, words = BAD[what]
    path = tmp_path / NAME
    make(path)
    path = path / "x.log" if what == "below-a-file" else path
    begun = time.monotonic()
    ended = kafkalog("dump", "--format", form, path, SEGMENT)

    said(ended, path, words)
    # Beside a directory a segment's rows are those of a directory: records, with what became of them.
    rows = ("--table", "records", "--columns", "*") if (what, form) == ("directory", "ndjson") else ()
    assert ended.out.endswith(kafkalog("dump", "--format", form, *rows, SEGMENT).out)
    assert time.monotonic() - begun < 60  # a FIFO would be waited for without end


@pytest.mark.parametrize("suffix", [".index", ".timeindex", ".txnindex", ".snapshot"])
def test_a_fifo_or_directory_named_like_a_side_file_is_named(tmp_path: Path, suffix: str) -> None:
    """Side files are opened as carefully as segments."""
    for number, (make, words) in enumerate((BAD["directory"], BAD["fifo"], BAD["missing"], BAD["gzip"])):
        path = tmp_path / f"{number:020}{suffix}"
        make(path)
        said(kafkalog("dump", path), path, words)


def test_a_directory_without_logs_is_told(tmp_path: Path) -> None:
    """A dump of a directory has the records of all logs below it; where there are none, it says what there is."""
    for name in (str(tmp_path), f"{tmp_path}/"):
        ended = kafkalog("dump", name)
        assert (ended.status, ended.out.count(b"baseOffset")) == (3, 0)
        assert "no log directory in it or up to 4 levels below: it is empty" in ended.err


@pytest.mark.parametrize("name", [NAME, "00000000000000000000.index", "no-name-of-kafka"])
def test_of_a_file_that_is_not_there_nothing_is_written(tmp_path: Path, name: str) -> None:
    """No line on standard output begins a file that could not be opened."""
    ended = kafkalog("dump", tmp_path / "not" / name)

    assert (ended.status, ended.out) == (3, b"")
    assert "no such file or directory" in ended.err


def test_a_name_that_is_too_long_is_no_internal_error(tmp_path: Path) -> None:
    """What the system refuses to look up is a file that can't be read."""
    path = tmp_path / f"{'a' * 300}.log"

    said(kafkalog("dump", path), path, "name too long")


def test_an_empty_segment_of_a_broker_is_legal(tmp_path: Path) -> None:
    """An empty segment with a broker's files beside it is a new one."""
    path = tmp_path / NAME
    path.touch()
    path.with_suffix(".index").touch()
    ended = kafkalog("dump", path)

    assert ended == Ended(0, f"Dumping {path}\nLog starting offset: 0\n".encode(), "")


def test_an_empty_index_is_legal(tmp_path: Path) -> None:
    """As the tool says it."""
    path = tmp_path / "00000000000000000000.index"
    path.touch()
    path.with_suffix(".log").touch()

    assert kafkalog("dump", path) == Ended(0, f"Dumping {path}\n{path} is empty.\n".encode(), "")


# Standard input is a file too.


@pytest.mark.parametrize("what", ["empty", "gzip", "zstd", "zip", "text", "text-of-a-dump", "text-in-utf-8"])
def test_bad_standard_input_is_named(tmp_path: Path, what: str) -> None:
    """``kafkalog dump -`` behind the wrong pipe says so: it is as incomplete as with a file."""
    make, words = BAD[what]
    make(tmp_path / "file")

    said(kafkalog("dump", "-", stdin=(tmp_path / "file").read_bytes()), "-", words)


# What the user may not read.


@contextlib.contextmanager
def unprivileged() -> Iterator[Path]:
    """Give a folder that all may search, and be nobody for as long where the tests run as root.

    The working directory is ``/``: nobody may not even return to a checkout in a folder of root's alone.
    """
    folder = Path(tempfile.mkdtemp(prefix="kafkalog-"))
    folder.chmod(0o755)
    kafkalog("dump", SEGMENT)  # so that all modules are loaded
    root = os.geteuid() == 0
    with contextlib.chdir("/"):
        try:
            yield folder
        finally:
            if root:
                os.seteuid(0)
            for inside in folder.iterdir():  # which nobody but the superuser could remove else
                if inside.is_dir():
                    inside.chmod(0o700)
            shutil.rmtree(folder)


def drop() -> None:
    """Become nobody."""
    if os.geteuid() == 0:
        os.seteuid(65534)


@pytest.mark.parametrize("mode", ["file", "folder"])
def test_no_permission_is_named(mode: str) -> None:
    """A file that may not be read, or whose folder may not be searched, is told and the next one dumped."""
    with unprivileged() as folder:
        (folder / "in").mkdir()
        path, good = folder / "in" / NAME, folder / "good.log"
        for file in (path, good):
            file.write_bytes(DATA)
        (path if mode == "file" else path.parent).chmod(0)
        drop()
        ended = kafkalog("dump", path, good)
        said(ended, path, "permission denied")
        assert ended.text.count("baseOffset: ") == 29


# What goes wrong on the way.


def test_a_read_error_costs_the_rest_of_that_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An error of the disk is told with its place; what came before stays, the next file is dumped."""
    path = segment(tmp_path, *(one(b"k", bytes(100_000), base_offset=number) for number in range(40)))
    real = os.preadv

    def failing(descriptor: int, buffers: Sequence[memoryview], offset: int) -> int:
        if offset > 2_000_000:
            raise OSError(errno.EIO, "Input/output error")
        return real(descriptor, buffers, offset)

    monkeypatch.setattr(os, "preadv", failing)
    ended = kafkalog("dump", path, SEGMENT)

    assert ended.status == 3
    assert "nput/output error" in ended.err
    assert ended.text.count("baseOffset: ") > 29 + 5
    assert ended.out.endswith(b"crc: 4096154222 isvalid: true\n")


@pytest.mark.some(every=4)
@pytest.mark.process
@pytest.mark.parametrize("change", ["vanish", "grow", "shrink", "replace"])
def test_a_file_that_changes_while_it_is_read_is_told(tmp_path: Path, change: str) -> None:
    """What was there at opening is read; that the file vanished, grew, shrank or was replaced is a note."""
    path = segment(tmp_path, *(one(b"k", base_offset=number) for number in range(50_000)))
    size = path.stat().st_size
    with process("dump", path, bufsize=0) as running:
        assert running.stdout
        begun = running.stdout.read(1)  # it waits for us now, with most of the file before it
        if change == "vanish":
            path.unlink()
        elif change == "grow":
            with path.open("ab") as file:
                file.write(one(b"k", base_offset=50_000))
        elif change == "shrink":
            os.truncate(path, size - 70)
        else:
            (tmp_path / "new").write_bytes(path.read_bytes())
            (tmp_path / "new").replace(path)
        ended = finish(running)
    words = {"vanish": "vanished", "grow": "grew", "shrink": "shrank", "replace": "replaced"}[change]

    assert ended.status == 0
    assert (begun + ended.out).count(b"\nbaseOffset: ") == 50_000 - (change == "shrink")
    assert f"kafkalog: note: {path}: file-changed: " in ended.err
    assert words in ended.err

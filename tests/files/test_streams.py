"""Standard input as a source: what is kept of it and where, how it is waited for."""

from __future__ import annotations

import contextlib
import io
import os
import resource
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, Final

import pytest

import build
import kafkalog
from handmade import one
from invoke import SEGMENT, finish, process, processed
from invoke import kafkalog as command
from kafkalog import StreamSource

MIB: Final = 1 << 20
DATA: Final = bytes(range(256)) * (MIB // 256)  # a MiB without a zero block


@pytest.fixture
def spilled(monkeypatch: pytest.MonkeyPatch) -> list[IO[bytes]]:
    """Collect the temporary files that are made."""
    made: list[IO[bytes]] = []
    make = tempfile.TemporaryFile

    def noted(*arguments: Any, **options: Any) -> IO[bytes]:
        made.append(make(*arguments, **options))
        return made[-1]

    monkeypatch.setattr(tempfile, "TemporaryFile", noted)
    return made


def _on_disk(files: list[IO[bytes]]) -> int:
    """Return how many bytes of a disk the open ones of `files` take."""
    return sum(os.fstat(file.fileno()).st_blocks * 512 for file in files if not file.closed)


class _Pieces(io.RawIOBase):
    """A stream made of `pieces`, one a read."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self.pieces = pieces

    def read(self, size: int = -1, /) -> bytes:  # as much as there is
        return next(self.pieces, b"")


def _source(pieces: Iterator[bytes]) -> StreamSource:
    return StreamSource(_Pieces(pieces))  # type: ignore[arg-type]  # read is all of BinaryIO that is used


def test_what_was_read_can_be_read_again() -> None:
    """Bytes are the same from memory, from the file and across the border between them, until they are released."""
    data = b"".join(DATA + bytes(MIB) for _ in range(20))
    source = _source(data[at : at + 777_777] for at in range(0, len(data), 777_777))
    with contextlib.closing(source):
        assert source.read_bytes(len(data) - 1, 100) == data[-1:]
        for start in (0, 5, 7 * MIB - 3, 20 * MIB + 5):
            source.release(start)
            for at in range(start, len(data), 3 * MIB + 1):
                assert source.read_bytes(at, 2 * MIB) == data[at : at + 2 * MIB]
        assert source.read_bytes(start, len(data)) == data[start:]
        assert source.size == len(data)


def test_zeros_need_no_disk(spilled: list[IO[bytes]]) -> None:
    """Zeros that are kept are a hole in the file, so that no zero stream is too long."""
    source = _source(bytes(MIB) for _ in range(64))
    with contextlib.closing(source):
        assert source.read_bytes(64 * MIB - 1, 2) == b"\0"
        assert source.read_bytes(0, MIB) == bytes(MIB)
        assert len(spilled) == 1
        assert _on_disk(spilled) < MIB


def test_disk_is_given_back_on_the_way(spilled: list[IO[bytes]]) -> None:
    """A reader that looks 20 MiB ahead, always, needs a disk for what lies between, not for all that it has read."""
    source = _source(DATA for _ in range(300))
    most = 0
    with contextlib.closing(source):
        for at in range(0, 280 * MIB, MIB):
            assert source.read_bytes(at + 20 * MIB, 1)
            assert source.read_bytes(at, MIB) == DATA
            source.release(at)
            most = max(most, _on_disk(spilled))
    assert 16 * MIB <= most <= 120 * MIB
    assert all(file.closed for file in spilled)


def test_an_ordinary_stream_needs_no_file(spilled: list[IO[bytes]]) -> None:
    """Whole batches and a torn tail go through memory alone."""
    batch = build.batch(build.record(DATA))
    pieces = iter([*[batch] * 20, batch[:1000]])
    findings = [finding.code for chunk in kafkalog.scan_source(_source(pieces)) for finding in chunk.findings]

    assert "batch-truncated" in findings
    assert spilled == []


LYING: Final = build.log(1)[0] + build.with_field(build.log(1)[0], 8, 2**31 - 1) + DATA * 20


@pytest.mark.process
@pytest.mark.parametrize("how", ["full", "missing"])
def test_a_temporary_directory_without_room_is_3(tmp_path: Path, how: str) -> None:
    """What came before is shown; the message names the directory and how to choose another."""

    def small() -> None:
        if how == "full":
            resource.setrlimit(resource.RLIMIT_FSIZE, (MIB, MIB))

    folder = tmp_path / ("gone" if how == "missing" else "")
    ended = processed("dump", "-", stdin=LYING, environment={"TMPDIR": str(folder)}, preexec_fn=small)

    assert ended.status == 3
    assert ended.text.count("baseOffset: ") == 1
    assert ended.err.startswith(f"kafkalog: error: {'-' if how == 'full' else folder}: ")
    assert str(folder) in ended.err
    assert "TMPDIR" in ended.err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.process
def test_a_stream_that_cannot_be_read_is_3() -> None:
    """A read that fails ends the input, not the program."""
    with Path(os.devnull).open("wb") as written, process("dump", "-", stdin=written) as running:
        ended = finish(running)

    assert (ended.status, ended.err) == (3, "kafkalog: error: -: Bad file descriptor\n")


TORN: Final = SEGMENT.read_bytes() + one(b"k")[:50]


@pytest.mark.parametrize("max_bytes", [0, 1, 148, 149, 150, 300, len(TORN) - 50, len(TORN) - 1, len(TORN), 10**6])
def test_max_bytes_cut_a_stream_like_a_file(max_bytes: int) -> None:
    """A batch across an end that was asked for is no torn one; across the stream's own end it is."""
    options = ("--format", "ndjson", "--max-bytes", str(max_bytes))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, SEGMENT.name)
        path.write_bytes(TORN)
        wanted = command("dump", *options, path)
    ended = command("dump", *options, "-", stdin=TORN)

    assert ended.status == wanted.status
    rows = [{**row, "file": "-", "id": None} for row in wanted.rows]
    assert [{**row, "id": None} for row in ended.rows] == rows


@pytest.mark.process
@pytest.mark.timeout(30)
def test_a_text_is_refused_whatever_comes_first() -> None:
    """What begins as no segment does is waited for, so that the message says what it is."""
    with process("dump", "-", stdin=subprocess.PIPE, bufsize=0) as running:
        assert running.stdin
        running.stdin.write(b"Dumping")
        running.stdin.write(b" x.log\nbaseOffset: 0\n")
        ended = finish(running, b"")

    assert ended.status == 3
    assert "the text of a dump" in ended.err


@pytest.mark.timeout(30)
@pytest.mark.parametrize("buffering", [-1, 0], ids=["buffered", "raw"])
def test_a_pipe_that_does_not_block_is_read_to_its_end(buffering: int) -> None:
    """Nothing for now is no end, through Python's buffers neither; who wants to know is told before the wait."""
    reader, writer = os.pipe()
    os.set_blocking(reader, False)
    waits: list[int] = []
    more = threading.Event()

    def write() -> None:
        for _ in range(3):
            more.wait(10)
            more.clear()
            os.write(writer, DATA[:1000])
        os.close(writer)

    def wait() -> None:
        waits.append(1)
        more.set()

    thread = threading.Thread(target=write)
    thread.start()
    with open(reader, "rb", buffering=buffering) as stream:
        source = StreamSource(stream, before_waiting=wait)  # type: ignore[arg-type]
        data = source.read_bytes(0, 10_000)
    thread.join()

    assert data == DATA[:1000] * 3
    assert len(waits) >= 3

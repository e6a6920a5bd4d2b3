"""The command among other processes: pipes in and out, signals, closed and full outputs."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from handmade import one, segment
from invoke import PARTITION, PROGRAM, SEGMENT, finish, kafkalog, process, processed

DATA = SEGMENT.read_bytes()
FORMS = ("kafka", "table", "ndjson", "json", "csv")


@pytest.fixture(scope="module")
def long(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a segment whose dump is many times a pipe's buffer."""
    return segment(tmp_path_factory.mktemp("long"), *(one(b"k", base_offset=number) for number in range(5_000)))


# Standard input.


@pytest.mark.process
def test_a_pipe_is_read_like_a_file() -> None:
    """``-`` gives what the file gives, less what its name says."""
    ended = processed("dump", "-", stdin=DATA)
    wanted = kafkalog("dump", SEGMENT).text.splitlines()

    assert (ended.status, ended.err) == (0, "")
    assert ended.text.splitlines() == ["Dumping -", *wanted[2:]]


@pytest.mark.some(every=3)
@pytest.mark.process
@pytest.mark.parametrize("size", [1, 61, 700])
def test_a_pipe_may_be_slow(size: int) -> None:
    """Bytes that come one by one or in pieces are waited for."""
    with process("dump", "--deep-iteration", "-", stdin=subprocess.PIPE, bufsize=0) as running:
        assert running.stdin
        for at in range(0, len(DATA), size):
            running.stdin.write(DATA[at : at + size])
            if size > 1 or at % 500 == 0:
                time.sleep(0.01)
        ended = finish(running, b"")

    assert ended == processed("dump", "--deep-iteration", "-", stdin=DATA)


@pytest.mark.process
def test_a_pipe_that_does_not_block_is_waited_for() -> None:
    """Standard input that another process made non-blocking is no end and no failure where it has nothing yet."""
    reader, writer = os.pipe()
    os.set_blocking(reader, False)
    with process("dump", "-", stdin=reader) as running:
        os.close(reader)
        time.sleep(0.3)
        try:
            for piece in (DATA[:1000], DATA[1000:]):
                os.write(writer, piece)
                time.sleep(0.2)
        except BrokenPipeError:
            pass  # it has ended already: below is shown how
        os.close(writer)
        ended = finish(running)

    assert ended == processed("dump", "-", stdin=DATA)


@pytest.mark.process
@pytest.mark.timeout(30)
@pytest.mark.parametrize("form", ["kafka", "ndjson", "csv"])
def test_a_stream_is_shown_before_it_ends(form: str) -> None:
    """Of a stream that goes on, every whole batch that came is shown, however small; none of it waits for more."""
    arguments = ("dump", "--format", form)
    with process(*arguments, "-", stdin=subprocess.PIPE, bufsize=0) as running:
        assert running.stdin
        assert running.stdout
        shown: list[bytes] = []
        for size in (293, len(DATA)):  # two batches, and the others
            running.stdin.write(DATA[293 if shown else 0 : size])
            wanted = kafkalog(*arguments, "-", stdin=DATA[:size]).out.splitlines(keepends=True)
            shown += [running.stdout.readline() for _ in wanted[len(shown) :]]
            assert shown == wanted
        running.stdin.close()
        running.wait(10)


@pytest.mark.process
def test_a_cut_pipe_is_a_torn_tail() -> None:
    """A stream that ends inside a batch keeps what came before; rows and findings name the same file."""
    ended = processed("dump", "--format", "ndjson", "-", stdin=DATA[:200])

    assert ended.status == 0
    assert [row["table"] for row in ended.rows] == ["batches", "findings"]
    assert ended.rows[1]["code"] == "batch-truncated"
    assert ended.rows[0]["file"] == ended.rows[1]["file"]


@pytest.mark.process
def test_a_stream_is_not_kept_in_memory() -> None:
    """100 MiB through a pipe need at most 100 MiB of memory, Python included."""
    piece = one(b"k", bytes(1 << 20))
    with process("dump", "-", stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as running:
        assert running.stdin
        for _ in range(100):
            running.stdin.write(piece)
        running.stdin.flush()
        status = Path(f"/proc/{running.pid}/status").read_text()
        running.stdin.close()
        running.wait(30)
    peak = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM"))

    assert peak < 100 << 10


# Standard output and standard error.


@pytest.mark.process
@pytest.mark.parametrize("form", [form for form in FORMS if form != "table"])  # a table comes in one piece at the end
def test_a_reader_that_has_seen_enough_is_141(long: Path, form: str) -> None:
    """``| head -1``: no stack trace, nothing said, and the status of who dies of SIGPIPE."""
    with process("dump", "--format", form, long, bufsize=0) as running:
        assert running.stdout
        begun = running.stdout.read(10)
        running.stdout.close()
        assert running.stderr
        said = running.stderr.read()
        running.wait(30)

    assert begun
    assert (running.returncode, said) == (141, b"")


@pytest.mark.process
@pytest.mark.parametrize(
    "arguments", [("dump", SEGMENT), ("schema",), ("--help",), ("--version",)], ids=lambda of: of[0]
)
def test_a_reader_that_was_never_there_is_141(arguments: tuple[str, ...]) -> None:
    """The same holds for outputs so short that they are written in one piece at the end."""
    reader, writer = os.pipe()
    os.close(reader)
    ended = processed(*arguments, stdout=writer)
    os.close(writer)

    assert (ended.status, ended.err) == (141, "")


@pytest.mark.some(every=5)
@pytest.mark.process
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("size", ["short", "long"])
def test_a_full_device_is_4(long: Path, form: str, size: str) -> None:
    """What can't be written ends with 4 and says so, also where it all fits into one buffer."""
    with Path("/dev/full").open("wb") as full:
        ended = processed("dump", "--format", form, long if size == "long" else SEGMENT, stdout=full)

    assert (ended.status, ended.err) == (4, "kafkalog: error: standard output: No space left on device\n")


@pytest.mark.process
@pytest.mark.parametrize("arguments", [("schema",), ("--help",), ("--version",)], ids=lambda of: of[0])
def test_a_full_device_is_4_for_other_outputs(arguments: tuple[str, ...]) -> None:
    """No command takes a full disk for a bug of its own."""
    with Path("/dev/full").open("wb") as full:
        ended = processed(*arguments, stdout=full)

    assert ended.status == 4
    assert "internal error" not in ended.err


def closed(descriptor: int) -> Callable[[], None]:
    """Close one of the standard streams in a process that is about to start."""
    return partial(os.close, descriptor)


@pytest.mark.process
def test_a_closed_standard_output_is_4() -> None:
    """``>&-``: there is nowhere to write to, which is said in a line."""
    ended = processed("dump", SEGMENT, preexec_fn=closed(1))

    assert ended.status == 4
    assert "Traceback" not in ended.err
    assert ended.err.startswith("kafkalog: error: ")


@pytest.mark.process
def test_nothing_but_data_is_on_standard_output_when_standard_error_is_closed(tmp_path: Path) -> None:
    """``2>&-``: findings, errors and summaries vanish; they don't go where the data goes."""
    (tmp_path / "x.foo").write_bytes(b"1")
    path = segment(tmp_path, one(b"k"), one(b"k", base_offset=5))
    arguments = ("dump", "--deep-iteration", tmp_path / "x.foo", path, tmp_path / "missing.log")
    ended = processed(*arguments, preexec_fn=closed(2))

    assert ended.out == kafkalog(*arguments).out
    assert ended.status == 3


@pytest.mark.process
@pytest.mark.parametrize("how", ["full", "closed pipe"])
def test_the_data_is_written_when_standard_error_fails(tmp_path: Path, how: str) -> None:
    """Messages that can't be written cost neither data nor the status."""
    (tmp_path / "x.foo").write_bytes(b"1")
    arguments = ("dump", tmp_path / "missing.log", tmp_path / "x.foo", SEGMENT)
    reader, writer = os.pipe()
    os.close(reader)
    with Path("/dev/full").open("wb") as full:
        ended = processed(*arguments, stderr=full if how == "full" else writer)
    os.close(writer)

    assert ended.out == kafkalog(*arguments).out
    assert ended.status == 3


@pytest.mark.some(every=5)
@pytest.mark.process
@pytest.mark.parametrize("form", FORMS)
def test_standard_output_is_data_alone(tmp_path: Path, form: str) -> None:
    """With both streams in one pipe or apart, every line on standard output is of the format."""
    (tmp_path / "x.index").write_bytes(bytes(7))
    side = [] if form == "csv" else [tmp_path / "x.index"]  # a csv holds one table
    arguments = ("dump", "--deep-iteration", "--format", form, SEGMENT, *side, tmp_path / "missing.log")
    apart = processed(*arguments, environment={"FORCE_COLOR": "1", "PYTHONUNBUFFERED": "1"})

    assert b"kafkalog: " not in apart.out
    assert b"\x1b" not in apart.out
    assert all(line.startswith("kafkalog: ") for line in apart.err.splitlines())
    if form == "ndjson":
        assert all(json.loads(line) for line in apart.out.splitlines())
    assert apart.out == kafkalog(*arguments).out


@pytest.mark.some(every=5)
@pytest.mark.process
@pytest.mark.parametrize("form", FORMS)
def test_the_surroundings_change_no_byte(tmp_path: Path, form: str) -> None:
    """Locale, time zone, hash seed and width of a terminal elsewhere have no say in what programs read.

    What people read is ASCII where the locale is: a table has no other lines there.
    """
    path = segment(tmp_path, one("é\U0001f600".encode(), b"\xff", [("ü".encode(), b"\0")]))
    path = path.rename(tmp_path / "é.log")
    arguments = ("dump", "--print-data-log", "--format", form, "é.log", "--since", "1970-01-01T00:00:00")
    environments = (
        {
            "LC_ALL": "C.UTF-8" if form == "table" else "C",
            "TZ": "Pacific/Kiritimati",
            "PYTHONHASHSEED": "1",
        },
        {"LC_ALL": "C.UTF-8", "TZ": "America/New_York", "COLUMNS": "20", "PYTHONHASHSEED": "2"},
    )
    first, second = (processed(*arguments, cwd=tmp_path, environment=environment) for environment in environments)

    assert (first.status, first.err) == (0, "")
    assert first == second


# Signals.


@pytest.mark.process
@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_signal_while_waiting_for_input(number: int, status: int) -> None:
    """TERM and INT end the command at once, with their status and without a stack trace; INT with a sentence."""
    with process("dump", "-", stdin=subprocess.PIPE, bufsize=0) as running:
        assert running.stdin
        running.stdin.write(one(b"k", bytes(1 << 20)))  # more than a pipe holds: it is reading when this is written
        begun = time.monotonic()
        running.send_signal(number)
        ended = finish(running)

    assert ended.status == status
    assert ended.err.strip() == ("kafkalog: interrupted before any segment was read" if status == 130 else "")
    assert time.monotonic() - begun < 30


@pytest.mark.process
@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
@pytest.mark.parametrize("form", ["kafka", "ndjson"])
def test_a_signal_while_writing(long: Path, number: int, status: int, form: str) -> None:
    """The same holds while the command waits for who reads its output."""
    with process("dump", "--format", form, long, bufsize=0) as running:
        assert running.stdout
        running.stdout.read(1)
        running.send_signal(number)
        ended = finish(running)

    assert ended.status == status
    assert "Traceback" not in ended.err


@pytest.mark.process
@pytest.mark.parametrize("module", ["kafkalog", "kafkalog_cli"])
def test_the_module_is_the_command(module: str) -> None:
    """``python -m kafkalog`` and the script ``kafkalog`` beside the interpreter are one."""
    script = Path(PROGRAM[0]).with_name("kafkalog")
    out = subprocess.run([script, "--version"], capture_output=True, check=True).stdout

    assert out == subprocess.run([PROGRAM[0], "-m", module, "--version"], capture_output=True, check=True).stdout


@pytest.mark.process
@pytest.mark.parametrize("how", [("-m", "kafkalog"), ("-m", "kafkalog_cli"), ("-P", "-m", "kafkalog")])
def test_what_lies_in_the_current_folder_is_not_run(how: tuple[str, ...], tmp_path: Path) -> None:
    """Modules there are evidence; with ``-P`` so is one with kafkalog's own name."""
    own = ("kafkalog", "kafkalog_cli") if "-P" in how else ()
    for name in ("click", "crc32c", "kafkalog_spark", "numpy", "rich", "signal", "zstandard", *own):
        (tmp_path / f"{name}.py").write_text(f"open('RUN-{name}', 'w')")
    ended = subprocess.run(
        [PROGRAM[0], *how, "txn-audit", PARTITION.parent], cwd=tmp_path, capture_output=True, check=False, timeout=60
    )

    assert ended.returncode in (0, 1), ended.stderr
    assert list(tmp_path.glob("RUN-*")) == []

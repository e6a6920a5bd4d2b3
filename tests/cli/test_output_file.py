"""``-o FILE``: whole or not at all, and never beside the evidence."""

from __future__ import annotations

import os
import pty
import resource
import signal
import stat
import subprocess
import time
from pathlib import Path

import pytest

from handmade import damaged, one, segment
from invoke import SEGMENT, finish, kafkalog, process, processed


@pytest.fixture
def evidence(tmp_path: Path) -> Path:
    """Give a segment in a folder of its own, with a log directory above it."""
    folder = tmp_path / "data" / "orders-0"
    folder.mkdir(parents=True)
    (folder / SEGMENT.name).write_bytes(SEGMENT.read_bytes())
    return folder / SEGMENT.name


@pytest.fixture
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a folder for outputs, far from any evidence."""
    return tmp_path_factory.mktemp("out")


def names(folder: Path) -> list[str]:
    """List everything below a folder."""
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


@pytest.mark.parametrize(
    ("name", "form"), [("a.txt", "kafka"), ("a.ndjson", "ndjson"), ("a.json", "json"), ("a.csv", "csv")]
)
def test_a_file_holds_what_standard_output_would(evidence: Path, out: Path, name: str, form: str) -> None:
    """The suffix chooses the format; nothing goes to standard output, nothing else stays in the folder."""
    ended = kafkalog("dump", evidence, "-o", out / name)

    assert (ended.status, ended.out, ended.err) == (0, b"", "")
    assert (out / name).read_bytes() == kafkalog("dump", "--format", form, evidence).out
    assert names(out) == [name]


def test_format_wins_over_the_suffix(evidence: Path, out: Path) -> None:
    """``--format`` says what it is, whatever the file is called."""
    kafkalog("dump", "--format", "ndjson", evidence, "-o", out / "a.csv")

    assert (out / "a.csv").read_bytes().startswith(b'{"table":"batches"')


def test_a_suffix_in_capitals_counts(evidence: Path, out: Path) -> None:
    """A file that calls itself CSV is one."""
    assert kafkalog("dump", evidence, "-o", out / "a.CSV").status == 0
    assert (out / "a.CSV").read_bytes().startswith(b"file,position,")


@pytest.mark.parametrize("name", ["a.orc", "a.xlsx"])
def test_a_suffix_promises_a_format(evidence: Path, out: Path, name: str) -> None:
    """A file that calls itself an ORC file is not filled with text: a format that dump has not is refused."""
    ended = kafkalog("dump", evidence, "-o", out / name)

    assert ended.status == 2
    assert not (out / name).exists()


def test_a_file_is_readable_as_the_umask_says(evidence: Path, out: Path) -> None:
    """The file has the mode of any new file."""
    before = os.umask(0o027)
    try:
        kafkalog("dump", evidence, "-o", out / "a.txt")
    finally:
        os.umask(before)

    assert stat.S_IMODE((out / "a.txt").stat().st_mode) == 0o640


def test_findings_do_not_cost_the_file(tmp_path: Path, out: Path) -> None:
    """What was found and what could not be read decide the status; the file is there, with the rest."""
    ended = kafkalog("dump", damaged(tmp_path), SEGMENT, tmp_path / "missing.log", "-o", out / "a.txt")

    assert ended.status == 3
    assert (out / "a.txt").read_text().count("baseOffset: ") == 32


@pytest.mark.parametrize(
    "where", ["beside", "itself", "subfolder", "log-directory", "through-a-link", "link-to-evidence"]
)
def test_nothing_is_written_where_evidence_lies(tmp_path: Path, evidence: Path, out: Path, where: str) -> None:
    """An output in a folder that is read, or below it, by whichever path, is refused with 2; the evidence stays as it was."""
    folder = evidence.parent
    (folder / "sub").mkdir()
    (out / "folder").symlink_to(folder)
    (out / evidence.name).symlink_to(evidence)
    before, data = names(tmp_path / "data"), evidence.read_bytes()
    read, written = {
        "beside": (evidence, folder / "a.txt"),
        "itself": (evidence, evidence),
        "subfolder": (evidence, folder / "sub" / "a.txt"),
        "log-directory": (folder.parent, folder.parent / "a.txt"),
        "through-a-link": (evidence, out / "folder" / "a.txt"),
        "link-to-evidence": (out / evidence.name, folder / "a.txt"),
    }[where]
    ended = kafkalog("dump", read, "-o", written)

    assert names(tmp_path / "data") == before
    assert evidence.read_bytes() == data
    assert ended.status == 2
    assert str(written) in ended.err


def test_a_link_to_evidence_is_not_written_through(evidence: Path, out: Path) -> None:
    """A name that is a symbolic link to the evidence is refused, a hard one replaced; the evidence is not touched."""
    data = evidence.read_bytes()
    (out / "soft").symlink_to(evidence)
    os.link(evidence, out / "hard")
    for name, status in (("soft", 2), ("hard", 0)):
        ended = kafkalog("dump", evidence, "-o", out / name, "--format", "csv", "--overwrite")
        assert ended.status == status, ended.err

    assert (out / "hard").read_bytes() != data
    assert evidence.read_bytes() == data


@pytest.mark.process
def test_what_is_no_regular_file_is_not_replaced(evidence: Path, out: Path) -> None:
    """A FIFO or a device, as /dev/null, is written to as standard output is, and is there afterwards."""
    os.mkfifo(out / "fifo")
    with process("dump", evidence, "-o", out / "fifo") as running:
        data = (out / "fifo").read_bytes()
        ended = finish(running)

    assert (ended.status, data) == (0, kafkalog("dump", evidence).out)
    assert stat.S_ISFIFO((out / "fifo").stat().st_mode)
    assert kafkalog("dump", "--format", "ndjson", evidence, "-o", os.devnull).status == 0
    assert stat.S_ISCHR(os.stat(os.devnull).st_mode)


@pytest.mark.process
@pytest.mark.parametrize("name", ["/dev/stdout", "/dev/stderr", "/dev/fd/1"])
def test_a_descriptor_is_written_to_where_it_stands(evidence: Path, out: Path, name: str) -> None:
    """Also where the shell appends it to a file: what is there stays, and so does the name in /dev."""
    (out / "a.txt").write_bytes(b"the old one\n")
    before = os.readlink("/dev/stdout"), os.readlink("/dev/stderr")
    with (out / "a.txt").open("ab") as both:
        ended = processed("dump", evidence, "-o", name, stdout=both, stderr=both)

    assert ended.status == 0
    assert (out / "a.txt").read_bytes() == b"the old one\n" + kafkalog("dump", evidence).out
    assert (os.readlink("/dev/stdout"), os.readlink("/dev/stderr")) == before


@pytest.mark.process
def test_a_terminal_that_is_named_is_no_less_safe(tmp_path: Path) -> None:
    """What acts on a terminal is escaped in ``-o /dev/pts/0`` as it is on standard output."""
    path = segment(tmp_path, one(b"\x1b[2J"))
    theirs, ours = pty.openpty()
    ended = processed("dump", "--print-data-log", path, "-o", os.ttyname(ours))
    shown = os.read(theirs, 10_000)
    os.close(ours)
    os.close(theirs)

    assert ended.status == 0, ended.err
    assert b"\\x1b[2J" in shown
    assert b"\x1b[2J" not in shown


def test_folders_that_are_not_there_are_made(evidence: Path, out: Path) -> None:
    """All that the output is in; where they can't be, the output's path is named."""
    assert kafkalog("dump", evidence, "-o", out / "a" / "b" / "c.txt").status == 0
    assert names(out) == ["a", "a/b", "a/b/c.txt"]

    ended = kafkalog("dump", evidence, "-o", out / "a" / "b" / "c.txt" / "d.txt")
    assert ended.status == 4
    assert f"kafkalog: error: {out / 'a' / 'b' / 'c.txt' / 'd.txt'}: " in ended.err


@pytest.mark.some(every=5)
@pytest.mark.process
@pytest.mark.parametrize("form", ["kafka", "ndjson", "json", "csv", "table"])
def test_a_full_disk_leaves_no_partial_file(tmp_path: Path, out: Path, form: str) -> None:
    """When the file can't be finished the status is 4; the old file is whole and nothing new is left."""
    path = segment(tmp_path, *(one(b"k", base_offset=number) for number in range(3000)))
    target = out / "a.out"
    target.write_bytes(b"the old one\n")
    limit = 100_000

    def small() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    with process("dump", "--format", form, path, "-o", target, "--overwrite", preexec_fn=small) as running:
        ended = finish(running)

    assert ended.status == 4
    assert ended.err == f"kafkalog: error: {target}: File too large\n"
    assert names(out) == ["a.out"]
    assert target.read_bytes() == b"the old one\n"


@pytest.mark.process
@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_signal_leaves_no_partial_file(out: Path, number: int, status: int) -> None:
    """Who is stopped while writing leaves the old file and no temporary one."""
    (out / "a.txt").write_bytes(b"the old one\n")
    with process("dump", "-", "-o", out / "a.txt", "--overwrite", stdin=subprocess.PIPE, bufsize=0) as running:
        assert running.stdin
        running.stdin.write(SEGMENT.read_bytes())
        deadline = time.monotonic() + 10
        while names(out) == ["a.txt"] and time.monotonic() < deadline:  # until the temporary file is there
            time.sleep(0.01)
        running.send_signal(number)
        running.wait(10)

    assert running.returncode == status
    assert names(out) == ["a.txt"]
    assert (out / "a.txt").read_bytes() == b"the old one\n"


def test_a_usage_error_leaves_the_old_file(evidence: Path, out: Path) -> None:
    """Whatever is wrong with the request, an existing file is not touched."""
    (out / "a.csv").write_bytes(b"the old one\n")
    ended = kafkalog("dump", "--table", "batches", "--table", "control", evidence, "-o", out / "a.csv", "--overwrite")

    assert ended.status == 2
    assert names(out) == ["a.csv"]
    assert (out / "a.csv").read_bytes() == b"the old one\n"


@pytest.mark.process
def test_the_file_does_not_appear_before_it_is_whole(out: Path) -> None:
    """While the input is still coming there is no file under the final name."""
    with process("dump", "-", "-o", out / "a.txt", stdin=subprocess.PIPE, bufsize=0) as running:
        assert running.stdin
        running.stdin.write(SEGMENT.read_bytes())
        time.sleep(0.3)
        early = (out / "a.txt").exists()
        ended = finish(running, b"")

    assert not early
    assert ended.status == 0
    assert (out / "a.txt").read_text().count("baseOffset: ") == 29


@pytest.mark.process
def test_relative_paths_and_colour(evidence: Path, out: Path) -> None:
    """A relative output lands in the working directory; a table in a file has no colour."""
    ended = processed("dump", "--format", "table", evidence, "-o", "a.txt", cwd=out)

    assert (ended.status, ended.err) == (0, "")
    assert b"\x1b" not in (out / "a.txt").read_bytes()

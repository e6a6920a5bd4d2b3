"""``-o FILE``: whole or not at all, and never beside the evidence."""

from __future__ import annotations

import os
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
    """An output name that is a link, symbolic or hard, to the evidence is replaced; what it pointed at is not touched."""
    data = evidence.read_bytes()
    (out / "soft").symlink_to(evidence)
    os.link(evidence, out / "hard")
    for name in ("soft", "hard"):
        kafkalog("dump", evidence, "-o", out / name)

    assert evidence.read_bytes() == data


@pytest.mark.process
def test_what_is_no_regular_file_is_not_replaced(evidence: Path, out: Path) -> None:
    """A FIFO or device, as in ``-o /dev/null``, is written to or refused, and is there afterwards."""
    os.mkfifo(out / "fifo")
    with process("dump", evidence, "-o", out / "fifo") as running:
        reader = os.open(out / "fifo", os.O_RDONLY | os.O_NONBLOCK)
        finish(running)
        os.close(reader)

    assert stat.S_ISFIFO((out / "fifo").stat().st_mode)


def test_a_folder_that_is_not_there_is_4(evidence: Path, out: Path) -> None:
    """The output's path is named."""
    ended = kafkalog("dump", evidence, "-o", out / "no" / "a.txt")

    assert ended.status == 4
    assert f"kafkalog: error: {out / 'no' / 'a.txt'}: " in ended.err


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

    with process("dump", "--format", form, path, "-o", target, preexec_fn=small) as running:
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
    with process("dump", "-", "-o", out / "a.txt", stdin=subprocess.PIPE, bufsize=0) as running:
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
    ended = kafkalog("dump", "--table", "batches", "--table", "control", evidence, "-o", out / "a.csv")

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

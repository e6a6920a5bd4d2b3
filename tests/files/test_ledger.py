"""The ledger of reading: each opening and refusal, of this process and of its forks, of disks and of stores."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from invoke import SEGMENT, kafkalog
from kafkalog.errors import UnreadableError
from kafkalog.files import opening
from kafkalog.files.directories import open_tree
from kafkalog.files.ledger import Entry, ledger, ledger_kept
from kafkalog.files.opening import open_file, open_source, read_small
from kafkalog.files.processes import in_processes
from official import FIXTURES

DATA = FIXTURES / "k4-c-group-offsets-tv0" / "data"


def test_nothing_is_kept_where_nobody_asks(tmp_path: Path) -> None:
    """A library that reads for years keeps no list of it."""
    (tmp_path / "a").write_bytes(b"abc")
    read_small(tmp_path / "a")
    assert ledger() is None


def test_openings_of_one_file_are_one_entry(tmp_path: Path) -> None:
    """As far as any of them came; a jump to the end is not the whole."""
    (tmp_path / "a").write_bytes(b"0123456789")
    (tmp_path / "jumped").write_bytes(b"0123456789")
    (tmp_path / "streamed").write_bytes(b"0123456789")
    with ledger_kept() as kept:
        open_source(tmp_path / "a").read_bytes(0, 4)
        open_source(tmp_path / "a").read_bytes(4, 6)
        open_source(tmp_path / "jumped").read_bytes(8, 2)
        with open_file(str(tmp_path / "streamed")) as file:
            file.read()
        open_tree(str(tmp_path)).entries(str(tmp_path))
        with pytest.raises(UnreadableError):
            read_small(tmp_path / "missing")

    assert [*kept.entries()] == [
        Entry(str(tmp_path), "listed", None, None, None),
        Entry(str(tmp_path / "a"), "whole", None, 10, 10),
        Entry(str(tmp_path / "jumped"), "part", None, 10, 2),
        Entry(str(tmp_path / "missing"), "refused", "no such file or directory", None, None),
        Entry(str(tmp_path / "streamed"), "whole", None, 10, 10),
    ]


@pytest.mark.parametrize("command", ["txn-audit", "verify"])
def test_what_forks_read_is_there_too(command: str, tmp_path: Path) -> None:
    """The same account with one process and with several."""
    said = []
    for jobs in ("1", "3"):
        place = tmp_path / f"{jobs}.csv"
        assert kafkalog(command, "--jobs", jobs, "--reading", place, DATA).status == 0
        said.append(place.read_text())
    assert said[0] == said[1]
    assert said[0].count(",whole,") > 40


def test_a_read_that_fails_is_no_whole_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It says how far it came, and why no further."""
    (tmp_path / "a").write_bytes(b"0123456789")

    def failing(*_: object) -> int:
        raise OSError(5, "Input/output error")

    with ledger_kept() as kept:
        source = open_source(tmp_path / "a")
        source.read_bytes(0, 4)
        monkeypatch.setattr(opening, "read_at", failing)
        with pytest.raises(UnreadableError):
            source.read_bytes(4, 6)

    why = "cannot read at position 4: Input/output error"
    assert [*kept.entries()] == [Entry(str(tmp_path / "a"), "part", why, 10, 4)]


def _read_and_fail(path: str) -> None:
    read_small(path)
    raise UnreadableError("no more")


@pytest.mark.process
def test_what_a_task_read_before_it_failed_is_there(tmp_path: Path) -> None:
    """Of a fork as of this process."""
    paths = [str(tmp_path / name) for name in "ab"]
    for path in paths:
        Path(path).write_bytes(b"x")
    with ledger_kept() as kept, in_processes(_read_and_fail, paths, 2) as results:
        time.sleep(0.5)  # the fork takes both tasks meanwhile
        with pytest.raises(UnreadableError):
            next(results)
    assert [one.path for one in kept.entries()][:1] == paths[:1]


def test_schemas_are_accounted_for(tmp_path: Path) -> None:
    """They are read beside the evidence, and say what it means."""
    (tmp_path / "7.avsc").write_text('"long"')
    ended = kafkalog(
        "dump", "--reading", tmp_path / "r.ndjson", "--value-format", "avro", "--schema", tmp_path / "7.avsc", SEGMENT
    )
    assert str(tmp_path / "7.avsc") in (tmp_path / "r.ndjson").read_text(), ended.err


def test_spark_keeps_no_account(tmp_path: Path) -> None:
    """It is refused, and not answered with what this machine read."""
    out = ("-o", tmp_path / "out")
    ended = kafkalog("txn-audit", "--engine", "spark", *out, "--reading", tmp_path / "r.csv", DATA)
    assert ended.status == 2
    assert "--reading is for this machine's engine" in ended.err
    assert not (tmp_path / "out").exists()


def test_a_file_that_is_there_is_not_replaced(tmp_path: Path) -> None:
    """Nor is anything written where evidence is."""
    (tmp_path / "there.csv").write_text("mine")
    ended = kafkalog("verify", "--reading", tmp_path / "there.csv", DATA)
    assert (ended.status, (tmp_path / "there.csv").read_text()) == (2, "mine")
    refused = kafkalog("verify", "--reading", DATA / "here.csv", DATA)
    assert (refused.status, refused.out) == (2, b"")  # before anything is read
    assert not (DATA / "here.csv").exists()
    audit = tmp_path / "audit"
    assert kafkalog("txn-audit", "--exit-zero", DATA, "-o", audit).status == 0
    assert kafkalog("report", audit, "--reading", audit / "here.csv").status == 2
    assert not (audit / "here.csv").exists()

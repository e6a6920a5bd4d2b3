"""Directories of very many partitions, and of very many files in one partition: time and memory in proportion."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

import pytest

import build
from measured import Measured, measured

COMMANDS: Final = ("txn-audit", "verify", "groups", "transactions", "metadata", "space", "timeline")
SEGMENT: Final = build.log(9)[0]


def _partitions(root: Path, count: int) -> None:
    """Write partitions of one segment each, and the checkpoint that names them."""
    (root / "meta.properties").write_text("version=1\ncluster.id=c\nnode.id=1\n")
    for number in range(count):
        folder = root / f"t-{number}"
        folder.mkdir()
        (folder / f"{0:020}.log").write_bytes(SEGMENT)
    lines = "".join(f"t {number} 1\n" for number in range(count))
    (root / "recovery-point-offset-checkpoint").write_text(f"0\n{count}\n{lines}")


def _files(root: Path, count: int) -> None:
    """Write one partition of so many files: segments, indexes, snapshots and names that no broker writes."""
    folder = root / "t-0"
    folder.mkdir()
    (root / "meta.properties").write_text("version=1\ncluster.id=c\nnode.id=1\n")
    suffixes = (".log", ".index", ".timeindex", ".txnindex", ".snapshot", ".log.deleted", ".x")
    for number in range(count):
        name = folder / f"{number:020}{suffixes[number % len(suffixes)]}"
        os.close(os.open(name, os.O_CREAT | os.O_WRONLY))


MAKERS: Final = {"partitions": _partitions, "files": _files}


def _run(what: str, command: str, count: int, root: Path) -> Measured:
    root.mkdir()
    MAKERS[what](root, count)
    form = () if command == "timeline" else ("--format", "ndjson")
    ended = measured(command, *form, root)
    print(f"{count} {what} | {command} | {ended.status} | {ended.seconds} s | {ended.memory} MiB")
    assert ended.status in (0, 1, 3), ended.said
    return ended


@pytest.mark.process
@pytest.mark.parametrize("command", ["txn-audit", "verify"])
@pytest.mark.parametrize("what", MAKERS)
def test_time_is_in_proportion(what: str, command: str, tmp_path: Path) -> None:
    """Four times the directory takes at most six times the time, and little memory."""
    few, many = (_run(what, command, count, tmp_path / str(count)) for count in (250, 1000))

    assert many.seconds < 6 * few.seconds
    assert many.memory < 200


@pytest.mark.process
@pytest.mark.soak
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("what", MAKERS)
def test_a_hundred_thousand_are_read(what: str, command: str, tmp_path: Path) -> None:
    """Five minutes of a core and 1 GiB are enough: a millisecond or three, and 10 KiB, for each."""
    ended = _run(what, command, 100_000, tmp_path / "data")

    assert ended.seconds < 300
    assert ended.memory < 1024

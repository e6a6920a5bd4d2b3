"""Access times of files and directories stay as they were, in every command that reads directories."""

from __future__ import annotations

import os
import shutil
import tarfile
from pathlib import Path
from typing import Final

import pytest

from invoke import kafkalog
from kafkalog.files import opening
from kafkalog.files.directories import expand
from official import FIXTURES

CASE: Final = FIXTURES / "k4-l-idempotent" / "data"
LONG_AGO: Final = 1_000_000_000


def _aged(root: Path) -> list[Path]:
    """Set every access time to one that any access would change."""
    every = [root, *root.rglob("*")]
    for path in every:
        os.utime(path, (LONG_AGO, path.stat().st_mtime))
    return every


@pytest.mark.parametrize("command", ["txn-audit", "verify", "groups", "transactions", "metadata"])
def test_access_times_of_directories_stay(command: str, tmp_path: Path) -> None:
    """Also those of the directories above a log directory that are searched for it."""
    root = tmp_path / "backups"
    shutil.copytree(CASE, root / "broker-1" / "data")
    every = _aged(root)
    kafkalog(command, "--format", "ndjson", root)

    assert [str(path) for path in every if path.stat().st_atime != LONG_AGO] == []


@pytest.mark.parametrize(
    ("name", "command"), [("x.tar.gz", "verify"), ("x.tar", "txn-audit"), (".lock", "dump"), ("x", "dump")]
)
def test_access_times_of_archives_and_unknown_files_stay(name: str, command: str, tmp_path: Path) -> None:
    """What is looked at only to learn whether it is an archive, and an archive that is unpacked."""
    path = tmp_path / "in" / name
    path.parent.mkdir()
    if ".tar" in name:
        with tarfile.open(path, "w:gz" if name.endswith(".gz") else "w") as archive:
            archive.add(CASE, "data")
    else:
        path.write_bytes(b"")
    every = _aged(path.parent)
    kafkalog(command, path)

    assert [str(path) for path in every if path.stat().st_atime != LONG_AGO] == []


def test_access_times_stay_where_a_pattern_is_expanded(tmp_path: Path) -> None:
    """A pattern lists directories, too; it matches as a shell does."""
    for name in ("broker-1/data", "broker-2", ".broker-3/data"):
        (tmp_path / name).mkdir(parents=True)
    _aged(tmp_path)

    assert expand(f"{tmp_path}/*/data") == [f"{tmp_path}/broker-1/data"]
    assert expand(f"file://{tmp_path}/b*-[12]") == [f"file://{tmp_path}/broker-1", f"file://{tmp_path}/broker-2"]
    assert expand(f"{tmp_path}/.b*") == [f"{tmp_path}/.broker-3"]
    assert expand(f"{tmp_path}/none*") == [f"{tmp_path}/none*"]
    assert {path.stat().st_atime for path in (tmp_path, tmp_path / "broker-1")} == {LONG_AGO}


def test_a_pattern_may_be_relative(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Matches are relative as the pattern is."""
    (tmp_path / "a" / "b-1").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)

    assert expand("a/b-*") == ["a/b-1"]
    assert expand("?/b-1") == ["a/b-1"]


def test_what_another_user_owns_is_read_all_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the owner and root may leave the access time unchanged; where that is refused, everything is read without."""
    root = tmp_path / "data"
    shutil.copytree(CASE, root)
    before = kafkalog("txn-audit", "--format", "ndjson", root)
    really, refused = os.open, []

    def refusing(path: str, flags: int, *more: int, **named: int) -> int:
        if flags & os.O_NOATIME:
            refused.append(path)
            raise PermissionError(1, "Operation not permitted")
        return really(path, flags, *more, **named)

    monkeypatch.setattr(opening.os, "open", refusing)
    after = kafkalog("txn-audit", "--format", "ndjson", root)

    assert {root.name, "meta.properties"} <= {Path(path).name for path in refused}
    assert (after.status, after.rows) == (before.status, before.rows)

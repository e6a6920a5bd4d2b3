"""``--overwrite``: what is replaced, what stays, and that one of the two outputs is always whole."""

from __future__ import annotations

import ctypes
import os
import shutil
from pathlib import Path
from typing import Any, Final

import pytest

import kept
from invoke import Ended, kafkalog
from kafkalog import provenance
from kafkalog.auditing.pipeline import kept_scans
from official import FIXTURES

DATA: Final = FIXTURES / "k4-c-group-offsets-tv0" / "data"
NOTES: Final = ("notes.txt", "transactions/notes.txt", "_SUCCESS.txt", "mine/a/b")


def audit(out: Path, *more: str | Path) -> Ended:
    return kafkalog("txn-audit", "--exit-zero", DATA, "-o", out, *more)


def with_notes(folder: Path) -> Path:
    """Put files of somebody else into an output: files, directories and links."""
    for name in NOTES:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("mine")
    (folder / "link").symlink_to(DATA)
    return folder


def notes_are_there(folder: Path) -> bool:
    return all((folder / name).read_text() == "mine" for name in NOTES) and (folder / "link").is_symlink()


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """Write an audit with files of somebody else in it."""
    assert audit(tmp_path / "out").status == 0
    return with_notes(tmp_path / "out")


def content(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def no_exchange(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take away the system's one step."""
    monkeypatch.setattr(ctypes, "CDLL", lambda _: object())


class MacSystem:
    """A C library that has macOS's call alone, which here Linux's does; it may refuse, as some file systems do."""

    def __init__(self, refuses: bool) -> None:
        self._system = ctypes.CDLL(None)
        self._refuses = refuses
        self.asked = 0

    def renamex_np(self, one: bytes, other: bytes, flags: int) -> int:
        assert flags == 2  # RENAME_SWAP
        self.asked += 1
        return -1 if self._refuses else self._system.renameat2(-100, one, -100, other, 2)


@pytest.mark.parametrize("steps", ["one step", "three steps", "one step of macOS", "macOS refuses it"])
def test_what_kafkalog_did_not_write_stays(out: Path, steps: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the directory, in those of tables, in its own; kafkalog's files are the new ones', and nothing else is left."""
    mac = MacSystem(refuses=steps == "macOS refuses it") if "macOS" in steps else None
    if steps == "three steps":
        no_exchange(monkeypatch)
    elif mac is not None:
        monkeypatch.setattr(ctypes, "CDLL", lambda _: mac)
    before = out.stat().st_ino
    assert audit(out, "--overwrite", "--table", "transactions").status == 0
    assert out.stat().st_ino != before
    assert notes_are_there(out)
    assert not (out / "gaps").exists()
    assert (out / "_SUCCESS").exists()
    ended = kafkalog("verify", out, "--format", "ndjson")
    unlisted = {row["file"].removeprefix(f"{out}/") for row in ended.table("findings") if row["severity"] == "note"}
    assert (ended.status, unlisted) == (3, {*NOTES})  # the link leads out, and is not followed
    assert [path.name for path in out.parent.iterdir()] == ["out"]
    assert mac is None or mac.asked == 1


def test_a_directory_in_the_place_of_a_file_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Linux and macOS refuse to remove one as a file with different errors, so that nobody tries."""
    (tmp_path / "0.parquet" / "mine").mkdir(parents=True)
    (tmp_path / "1.parquet").touch()
    removed = []
    unlink = os.unlink

    def noted(path: Path, **more: Any) -> None:
        removed.append(path.name)
        unlink(path, **more)

    monkeypatch.setattr(os, "unlink", noted)
    provenance.remove_listed(tmp_path, ["0.parquet", "1.parquet"])

    assert removed == ["1.parquet"]
    assert [path.name for path in tmp_path.iterdir()] == ["0.parquet"]


def test_a_file_with_the_name_of_a_new_one_is_not_lost(out: Path) -> None:
    """It is refused before anything is done."""
    assert audit(out, "--overwrite", "--table", "transactions").status == 0
    (out / "gaps").mkdir()
    (out / "gaps" / "part-00000.parquet").write_text("mine")
    before = content(out)
    ended = audit(out, "--overwrite")
    assert ended.status == 4
    assert (
        "gaps/part-00000.parquet was not written by kafkalog, and the new output has a file of this name" in ended.err
    )
    assert content(out) == before
    assert [path.name for path in out.parent.iterdir()] == ["out"]


@pytest.mark.parametrize("command", ["verify", "groups", "space"])
def test_only_an_output_of_the_same_command_is_replaced(tmp_path: Path, command: str) -> None:
    """The checksums of a verification are no audit to write anew."""
    out = tmp_path / "out"
    assert kafkalog(command, "--exit-zero", DATA, "-o", out).status == 0
    before = content(out)
    ended = audit(out, "--overwrite")
    assert ended.status == 2
    assert f"kafkalog {command} wrote it: kafkalog txn-audit replaces only its own outputs" in ended.err
    assert content(out) == before
    (out / "provenance.json").write_text('{"kafkalog": "0.1.0"}')
    assert "does not say which command wrote it" in audit(out, "--overwrite").err


@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    ("name", "said"),
    [("provenance.json", "kafkalog did not write it"), ("manifest.json", "was not written by kafkalog")],
)
def test_a_fifo_in_an_output_is_not_waited_for(out: Path, name: str, said: str) -> None:
    """What it says of the directory can't be known: nothing of it is replaced."""
    (out / name).unlink()
    os.mkfifo(out / name)
    before = content(out)
    ended = audit(out, "--overwrite")

    assert ended.status in {2, 4}
    assert said in ended.err
    assert content(out) == before


def test_a_link_is_followed_and_stays(out: Path) -> None:
    """What it leads to is replaced, there; no other link is left."""
    link = out.parent / "elsewhere" / "lnk"
    link.parent.mkdir()
    link.symlink_to(out)
    assert audit(link, "--overwrite").status == 0
    assert link.is_symlink()
    assert notes_are_there(out)
    assert [path.name for path in link.parent.iterdir()] == ["lnk"]
    assert sorted(path.name for path in out.parent.iterdir()) == ["elsewhere", "out"]


class _Failing:
    """Lets one rename fail, or a signal come at it."""

    def __init__(self, at: int, error: BaseException, *, after: bool) -> None:
        self.left, self._error, self._after = at, error, after
        self._real = Path.rename

    def __call__(self, path: Path, target: Path) -> Path:
        self.left -= 1
        if self.left == -1 and not self._after:
            raise self._error
        moved = self._real(path, target)
        if self.left == -1:
            raise self._error
        return moved


@pytest.mark.some(every=2)
@pytest.mark.parametrize(
    ("error", "after"),
    [
        pytest.param(OSError(5, "Input/output error"), False, id="error"),
        pytest.param(KeyboardInterrupt(), True, id="signal behind it"),
        pytest.param(OSError(5, "Input/output error"), True, id="error behind it", marks=pytest.mark.exhaustive),
        pytest.param(KeyboardInterrupt(), False, id="signal", marks=pytest.mark.exhaustive),
    ],
)
def test_one_of_the_two_is_always_whole(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch, error: BaseException, after: bool
) -> None:
    """Whichever rename fails, or a signal comes before or after it: no file of somebody else is lost."""
    first, tmp_path = tmp_path_factory.mktemp("first") / "out", tmp_path_factory.mktemp("again")
    assert audit(first).status == 0
    with_notes(first)
    out, at, left = tmp_path / "out", 0, -1
    while left < 0:
        shutil.rmtree(out, ignore_errors=True)
        shutil.copytree(first, out, symlinks=True)
        failing = _Failing(at, error, after=after)
        with monkeypatch.context() as patch:
            no_exchange(patch)
            patch.setattr(Path, "rename", lambda path, target, failing=failing: failing(path, target))
            ended = audit(out, "--overwrite")
        left, at = failing.left, at + 1
        assert ended.status == (0 if left >= 0 else 4 if isinstance(error, OSError) else 130), ended.err
        assert "output-changed" not in kafkalog("verify", out).text
        assert (out / "_SUCCESS").exists()
        beside = [path for path in tmp_path.iterdir() if path != out]
        if not beside:
            assert notes_are_there(out)
        else:  # the new one has its name, and what is beside it has what could not be moved
            assert isinstance(error, OSError)
            rest = {path.name for path in out.rglob("*")} | {path.name for path in beside[0].rglob("*")}
            assert rest >= {Path(name).name for name in NOTES}
        for path in beside:
            shutil.rmtree(path)
    assert at > 10


def test_a_signal_while_the_old_one_is_removed_leaves_nothing(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The new one is there; the old one goes nevertheless."""
    real, calls = provenance.remove_written, [0]

    def removing(folder: Path) -> None:
        calls[0] += 1
        if calls[0] == 1:
            raise KeyboardInterrupt
        real(folder)

    monkeypatch.setattr(provenance, "remove_written", removing)
    assert audit(out, "--overwrite", "--table", "gaps").status == 130
    assert notes_are_there(out)
    assert not (out / "findings").exists()
    assert [path.name for path in out.parent.iterdir()] == ["out"]


def test_an_output_around_an_input_is_refused(out: Path) -> None:
    """Its files would move with the directory."""
    shutil.copytree(DATA, out / "data")
    ended = kafkalog("txn-audit", "--exit-zero", out / "data", "-o", out, "--overwrite")
    assert ended.status != 0
    assert "never writes there" in ended.err


# An output that somebody prepared, or that a run left that was ended early.


def begun(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """Have an audit ended after some scans; return the broker's directory and the output."""
    monkeypatch.setattr(kept_scans, "LEAST_BYTES", 1)
    root, out = kept.broker(tmp_path), tmp_path / "out"
    real, seen = kept_scans.scan_segment, [0]

    def scanned(*arguments: Any) -> Any:
        seen[0] += 1
        if seen[0] == 6:
            raise KeyboardInterrupt
        return real(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(kept_scans, "scan_segment", scanned)
        assert kafkalog("txn-audit", root, "-o", out).status == 130
    return root, out


@pytest.mark.parametrize("name", ["_work/scans", "_work", "_work/begun.json", "transactions"])
def test_a_link_inside_is_not_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Nothing is removed or written where it leads; the directory is refused."""
    root, out = begun(tmp_path, monkeypatch)
    victim = tmp_path / "victim"
    if (out / name).exists():
        (out / name).rename(victim)
    else:
        victim.mkdir()
    if victim.is_dir():
        for mine in (".precious", "keep.scan", "part-00000.parquet"):
            (victim / mine).write_text("precious")
        (victim / "tables").mkdir(exist_ok=True)
        (victim / "tables" / "mine").write_text("precious")
    (out / name).symlink_to(victim)
    before = content(tmp_path / "victim") or victim.read_bytes()
    ended = kafkalog("txn-audit", root, "-o", out)
    assert ended.status == 4
    assert "is a link, or behind one: kafkalog did not make it" in ended.err
    assert (content(tmp_path / "victim") or victim.read_bytes()) == before
    assert (out / name).is_symlink()


def test_a_run_that_goes_on_leaves_what_is_not_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where it is ended early, without a scan."""
    root, out = begun(tmp_path, monkeypatch)
    with_notes(out)
    for scan in (out / "_work" / "scans").iterdir():
        scan.unlink()
    with monkeypatch.context() as patch:
        patch.setattr("kafkalog_cli.audit_folder.write_manifest", lambda *_: os.kill(os.getpid(), 15))
        patch.setattr(kept_scans, "LEAST_BYTES", 1 << 40)
        assert kafkalog("txn-audit", root, "-o", out).status == 143
    assert notes_are_there(out)
    assert not (out / "_work").exists()
    (out / "link").unlink()
    shutil.rmtree(out)
    root, out = begun(tmp_path / "again", monkeypatch)
    with_notes(out)
    assert kafkalog("txn-audit", root, "-o", out).status == 0
    assert notes_are_there(out)
    assert (out / "_SUCCESS").exists()

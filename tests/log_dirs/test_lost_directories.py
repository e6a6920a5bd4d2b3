"""Log directories that go away while they are read: renamed, unmounted, replaced, or on a file system that fails."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pytest
from test_moving import at_call

from invoke import kafkalog
from kafkalog.exit_status import Exit
from kafkalog.log_dirs.log_directory import open_log_directory
from kafkalog.log_dirs.moving import lost_directories, movement
from official import FIXTURES

COMMANDS: Final = (
    "txn-audit", "verify", "space", "groups", "transactions", "metadata", "producers", "find", "extract", "dump",
)  # fmt: skip
DATA: Final = FIXTURES / "k4-c-group-offsets-tv0" / "data"
PARTITION: Final = "fares-refunds.18-1"
# How many of a command's calls, evenly spread, besides the last ones.
TRIED: Final = pytest.mark.parametrize("tried", [2, pytest.param(30, marks=pytest.mark.exhaustive)])
_CALLS: Final = ("open", "scandir", "preadv", "stat", "lstat", "read")


def _numbers(calls: int, tried: int) -> list[int]:
    return sorted({*range(1, calls + 1, max(1, calls // tried)), *range(max(1, calls - 3), calls + 1)})


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A copy of a broker's log directory."""
    return Path(shutil.copytree(DATA, tmp_path / "data"))


@pytest.mark.some(every=6)
@TRIED
@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("replaced", [False, True], ids=["gone", "another one is there"])
def test_a_directory_that_is_renamed_at_any_call_is_not_read_whole(
    command: str, replaced: bool, tried: int, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before whichever listing, opening or read it is renamed: the status is 3, and nothing is said to be in order.

    The same files at the same path, in another directory, are another moment's: a copy that is put in its place.
    """
    away = data.with_name("away")

    def rename() -> None:
        data.rename(away)
        if replaced:
            shutil.copytree(away, data)

    calls = _calls(command, data, monkeypatch)
    for number in _numbers(calls - 12 * replaced, tried):  # the last ones look at what is there once all was read
        with at_call(number, rename, monkeypatch):
            ended = kafkalog(command, "--format", "ndjson", data)
        if not away.exists():  # soon after they were written files are looked at more often: there were more calls
            break
        # Of what is renamed before the first listing, the new directory is the one that is read.
        assert ended.status == Exit.INCOMPLETE or (replaced and number <= 2), number
        assert b'"complete": true' not in ended.out or ended.status == Exit.FINE
        shutil.rmtree(data, ignore_errors=True)
        away.rename(data)


def _calls(command: str, path: Path, monkeypatch: pytest.MonkeyPatch) -> int:
    """Count the calls of a run that reads all; the first one also fills what a process keeps in memory."""
    for _ in range(2):
        with at_call(0, lambda: None, monkeypatch) as calls:
            assert kafkalog(command, "--format", "ndjson", path).status != Exit.INCOMPLETE
    return calls[0]


@contextmanager
def _failing(
    root: Path, code: int, wanted: Callable[[int], bool], monkeypatch: pytest.MonkeyPatch, ending: str = ""
) -> Iterator[list[int]]:
    """Let calls about what is below `root` and has this `ending` fail, by their numbers; gives the number of calls."""
    calls, inside = [0], set[int]()

    def is_below(what: Any) -> bool:
        if isinstance(what, int):
            return what in inside
        name = os.fspath(what) if isinstance(what, str | os.PathLike) else ""
        return isinstance(name, str) and name.startswith(str(root)) and name.endswith(ending)

    def hooked(name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(what: Any, *arguments: Any, **named: Any) -> Any:
            if is_below(what):
                calls[0] += 1
                if wanted(calls[0]):
                    raise OSError(code, os.strerror(code))
            result = real(what, *arguments, **named)
            if name == "open":
                (inside.add if is_below(what) else inside.discard)(result)
            return result

        return call

    with monkeypatch.context() as patch:
        for name in _CALLS:
            patch.setattr(os, name, hooked(name, getattr(os, name)))
        yield calls


@pytest.mark.some(every=6)
@TRIED
@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("code", [errno.EIO, errno.ESTALE], ids=["EIO", "ESTALE"])
def test_a_file_system_that_fails_from_some_call_on(
    command: str, code: int, tried: int, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A dead disk or a file server that forgot its handles says nothing about what is there: the status is 3."""
    with _failing(data, code, lambda _: False, monkeypatch) as calls:
        assert kafkalog(command, "--format", "ndjson", data).status == Exit.FINE
    for number in _numbers(calls[0] - 8, tried):  # what one run reads, another has in memory
        with _failing(data, code, lambda call, first=number: call >= first, monkeypatch):
            ended = kafkalog(command, "--format", "ndjson", data)
        assert (number, ended.status) == (number, Exit.INCOMPLETE)


@pytest.mark.some(every=3)
@TRIED
@pytest.mark.parametrize("command", COMMANDS)
def test_one_call_that_fails(command: str, tried: int, data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Either it is tried again, and the answer is the whole one, or the status is 3."""
    with _failing(data, errno.EIO, lambda _: False, monkeypatch) as calls:
        whole = kafkalog(command, "--format", "ndjson", data)
    for number in _numbers(calls[0] - 8, tried):
        with _failing(data, errno.EIO, lambda call, one=number: call == one, monkeypatch):
            ended = kafkalog(command, "--format", "ndjson", data)
        assert ended.status == Exit.INCOMPLETE or _without_state(ended.rows) == _without_state(whole.rows), number


@pytest.mark.some(every=6)
@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("place", [PARTITION, "__transaction_state-1"])
def test_each_call_about_one_segment_fails_once(
    command: str, place: str, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A segment is read several times, and each time for an answer: that it could be read once says nothing of that."""
    with _failing(data / place, errno.EIO, lambda _: False, monkeypatch, ".log") as calls:
        whole = kafkalog(command, "--format", "ndjson", data)
    for number in range(1, calls[0] + 1):
        with _failing(data / place, errno.EIO, lambda call, one=number: call == one, monkeypatch, ".log"):
            ended = kafkalog(command, "--format", "ndjson", data)
        assert ended.status == Exit.INCOMPLETE or _without_state(ended.rows) == _without_state(whole.rows), number


def _without_state(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Leave out how a file was after all of it was read: it could not be looked at then."""
    return [
        {key: row[key] for key in row if key not in ("state", "worst")}
        for row in rows
        if row.get("code") != "file-changed" and row.get("kind") != "copy-skewed"
    ]


@TRIED
@pytest.mark.parametrize("command", ["txn-audit", "verify", "space"])
@pytest.mark.parametrize("around", [True, False], ids=["a log directory is around it", "alone"])
def test_a_partition_alone_may_be_deleted_by_a_broker_only(
    command: str, around: bool, tried: int, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its parent is its log directory if that has a meta.properties; else nothing shows that a broker deleted it."""
    if not around:
        (data / "meta.properties").unlink()
    partition = data / PARTITION
    calls = _calls(command, partition, monkeypatch) - 1  # before the last one it was looked at again
    for number in _numbers(calls, tried):
        with at_call(number, lambda: partition.rename(data / "away"), monkeypatch):
            ended = kafkalog(command, "--fail-on", "error", partition)
        is_listed = number > 3
        whole = around and is_listed and command != "verify"  # which has to walk through the directory itself
        assert whole or ended.status == Exit.INCOMPLETE or (around and command == "verify"), number
        assert not whole or ended.status == Exit.FINE, number
        (data / "away").rename(partition)


def test_an_unmarked_directory_proves_no_deletion(data: Path) -> None:
    """What a broker keeps in a log directory went, too: that is no deleted topic."""
    node = open_log_directory(data)
    (directory,) = [one for one in node.partitions if Path(one.log).name == PARTITION]
    shutil.rmtree(directory.log)

    moved = movement(node, directory)
    assert moved is not None
    assert moved.is_gone
    assert not list(lost_directories([node]))
    for path in data.iterdir():
        if path.is_file():
            path.unlink()
    with pytest.raises(Exception, match="no such file"):
        movement(node, directory)
    assert [finding.code for finding in lost_directories([node])] == ["file-unreadable"]

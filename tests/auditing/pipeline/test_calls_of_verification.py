"""The work of a verification grows with the files, the partitions and the producers, counted in calls."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest
from test_big_directories import MAKERS

import build
from counted import counted
from crowds import CROWDS
from kafkalog.auditing.verification import VerifyOptions, verify

MOST: Final = 4.2  # times the calls for four times as much


def _calls(root: Path) -> int:
    """Count the calls of a verification and of its rows."""

    def work() -> int:
        found = verify([root], VerifyOptions(jobs=1))
        return sum(1 for table in ("findings", "files", "extents") for _ in found.rows(table))

    rows, calls = counted(work)
    assert rows
    return calls


def _in_directory(make: Callable[[Path, int], None]) -> Callable[[Path, int], None]:
    def write(root: Path, count: int) -> None:
        root.mkdir()
        make(root, count)

    return write


def _producers(root: Path, count: int) -> None:
    CROWDS["a million open transactions"](root, count / 1_000_000)


def _snapshots(root: Path, count: int) -> None:
    """Write segments of a batch each, with a snapshot at every start: each is compared with what was rebuilt."""
    folder = root / "t-0"
    folder.mkdir(parents=True)
    empty = struct.pack(">hIi", 1, build.crc32c(bytes(4)), 0)
    for base in range(count):
        (folder / f"{base:020}.log").write_bytes(build.batch(build.record(), base_offset=base))
        (folder / f"{base:020}.snapshot").write_bytes(empty)


MADE: Final[dict[str, Callable[[Path, int], None]]] = {
    **{what: _in_directory(make) for what, make in MAKERS.items()},
    "snapshots": _snapshots,
    "producers": _producers,
}


@pytest.mark.some(every=4)
@pytest.mark.parametrize("what", MADE)
def test_calls_grow_no_faster_than_what_there_is(what: str, tmp_path: Path) -> None:
    """Nothing is looked at once for each other: four times as many take at most 4.2 times the calls."""
    MADE[what](tmp_path / "first", 8)
    _calls(tmp_path / "first")  # what is imported when it is needed is counted for none
    few = {"partitions": 100, "snapshots": 200}.get(what, 400)  # so many that quadratic work is more than all other
    calls = []
    for count in (few, 4 * few):
        root = tmp_path / str(count)
        MADE[what](root, count)
        calls.append(_calls(root))

    assert calls[0] <= calls[1] <= MOST * calls[0]
    if what != "producers":  # whose rows are columns: a chunk of them costs the same as one
        assert calls[1] > 2 * calls[0]

"""Rows of one segment that depend on others, or on a snapshot: they are carried over only if those are the same."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

import build
from kafkalog.auditing.partition import facts
from kafkalog.auditing.pipeline import kept_scans
from row_nights import Night, fresh


@pytest.fixture(autouse=True)
def small_segments() -> Iterator[None]:
    """Keep the scans of small segments and their rows, too."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kept_scans, "LEAST_BYTES", 1)
        patch.setattr(facts, "LEAST_ROWS", 1)
        yield


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A partition's directory, in a log directory where the cleaner never was."""
    made = tmp_path / "broker" / "t-0"
    made.mkdir(parents=True)
    (made.parent / "cleaner-offset-checkpoint").write_text("0\n0\n")
    return made


def _segment(folder: Path, base: int, *batches: bytes) -> None:
    path = folder / f"{base:020}.log"
    path.write_bytes(b"".join(batches))
    os.utime(path, ns=(10**18, 10**18))


def _data(offset: int, producer: int, value: bytes = b"v") -> bytes:
    fields = {"producer_id": producer, "producer_epoch": 0, "base_sequence": 0, "attributes": build.TRANSACTIONAL}
    return build.batch(build.record(value), base_offset=offset, **fields)


def _end(offset: int, producer: int) -> bytes:
    return build.marker(base_offset=offset, producer_id=producer, producer_epoch=0)


def _whole(offset: int, producer: int) -> tuple[bytes, bytes]:
    return _data(offset, producer), _end(offset + 1, producer)


def _open_since(folder: Path, base: int, producer: int, first: int, time: int = build.TIME) -> None:
    path = folder / f"{base:020}.snapshot"
    path.write_bytes(build.snapshot((producer, 0, 0, base - 1, 0, time, 0, first)))


def test_rows_are_carried_past_a_transaction_that_hangs(folder: Path, tmp_path: Path) -> None:
    """Its row changes with its data and its end, and with it only the file of the segment that it begins in."""
    root = folder.parent
    _segment(folder, 0, _data(0, 7), *_whole(1, 8))
    _segment(folder, 3, *_whole(3, 9))
    _segment(folder, 5, *_whole(5, 10))
    first = Night(root, tmp_path / "1")
    _segment(folder, 7, *_whole(7, 11))
    second = Night(root, tmp_path / "2", tmp_path / "1")
    assert (second.rows, len(first.kept), len(second.taken)) == (fresh(root), 3, 3)

    _segment(folder, 9, _data(9, 7), *_whole(10, 12))
    third = Night(root, tmp_path / "3", tmp_path / "2")
    assert (third.rows, len(third.kept), len(third.taken)) == (fresh(root), 5, 3)

    _segment(folder, 12, _end(12, 7), *_whole(13, 13))
    fourth = Night(root, tmp_path / "4", tmp_path / "3")
    assert (fourth.rows, len(fourth.kept), len(fourth.taken)) == (fresh(root), 6, 4)


def test_what_a_snapshot_says_of_a_segment_is_in_its_rows(folder: Path, tmp_path: Path) -> None:
    """Also if it is wrong: a transaction that began, as it says, later than the log."""
    root = folder.parent
    _segment(folder, 10, *_whole(10, 8), *_whole(12, 7))
    _open_since(folder, 10, 7, 11)
    Night(root, tmp_path / "1")
    _open_since(folder, 10, 7, 12)
    second = Night(root, tmp_path / "2", tmp_path / "1")
    assert (second.rows, len(second.taken)) == (fresh(root), 0)

    assert len(Night(root, tmp_path / "3", tmp_path / "2").taken) == 1


def test_what_a_snapshot_says_of_a_later_segment_is_in_its_rows(folder: Path, tmp_path: Path) -> None:
    """A transaction that ended before the segment that it begins in, as a wrong snapshot says."""
    root = folder.parent
    _segment(folder, 10, _end(10, 7))
    _segment(folder, 11, *_whole(11, 8))
    _open_since(folder, 10, 7, 11)
    Night(root, tmp_path / "1")
    _open_since(folder, 10, 7, 11, build.TIME + 1)
    second = Night(root, tmp_path / "2", tmp_path / "1")
    assert (second.rows, len(second.taken)) == (fresh(root), 0)


@pytest.mark.parametrize("offset", [3, 11])
def test_a_segment_with_offsets_of_another_one_carries_nothing(offset: int, folder: Path, tmp_path: Path) -> None:
    """An offset does not say then in which segment a row's batches are."""
    root = folder.parent
    _segment(folder, 0, *_whole(0, 7), *_whole(8, 8))
    for name, value in (("1", b"v"), ("2", b"longer")):
        _segment(folder, 10, *_whole(10, 9), *_whole(12, 9), _data(offset, 10, value), _end(offset + 1, 10))
        found = Night(root, tmp_path / name, *([tmp_path / "1"] if name == "2" else []))
        assert (found.rows, found.kept) == (fresh(root), set())
        assert found.found.reused.taken == int(name) - 1  # the scan of the segment that is in order


def test_a_segment_that_reaches_into_the_next_one_carries_nothing(folder: Path, tmp_path: Path) -> None:
    """The next one's name is below the end of the one before: no batch of it need be there."""
    root = folder.parent
    _segment(folder, 0, *_whole(0, 7), *_whole(5, 8))
    _segment(folder, 4, *_whole(7, 9))
    found = Night(root, tmp_path / "1")
    assert (found.rows, found.kept) == (fresh(root), set())

"""Searches say what is not there, by the audit's own rule of gaps: a line for each range, and status 3."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import plain
from build import flipped
from invoke import kafkalog
from plain import Batch
from remote_topic import PLACE, Segment, write_tiers

LOG = [Batch(0, at, at, "plain") for at in range(12)]
MISSING = "Offsets 4-7 are missing"


def write(root: Path, *segments: list[Batch], cleaned: int | None = None, start: int | None = None) -> Path:
    """Write a broker's directory with t-0."""
    plain.write_segments(root / "t-0", *segments)
    for name, offset in (("cleaner", cleaned), ("log-start", start)):
        if offset is not None:
            (root / f"{name}-offset-checkpoint").write_text(f"0\n1\nt 0 {offset}\n")
    return root


def without_the_middle(root: Path, cleaned: int | None = None) -> Path:
    return write(root, LOG[:4], LOG[8:], cleaned=cleaned)


@pytest.mark.parametrize(
    "words", [("find", "--key", "none"), ("extract",), ("dump",), ("find", "--key", "none", "--offset", "5..6")],
    ids=["find", "extract", "dump", "find in a range"],
)  # fmt: skip
def test_a_missing_segment_is_said(words: tuple[str, ...], tmp_path: Path) -> None:
    """Once, by each command that searches; where the cleaner was the same is legal, and silent, gaps in a file, too."""
    lost = kafkalog(*words, without_the_middle(tmp_path / "lost"))
    cleaned = kafkalog(*words, write(tmp_path / "cleaned", [*LOG[:1], *LOG[2:4]], LOG[8:], cleaned=8))

    assert (lost.status, lost.err.count(MISSING)) == (3, 1)
    assert cleaned.status != 3
    assert "missing" not in cleaned.err


@pytest.mark.parametrize("words", [("--offset", "8.."), ("--offset", "..3"), ("--max-count", "1")])
def test_what_is_missing_elsewhere_is_not_said(words: tuple[str, ...], tmp_path: Path) -> None:
    """Outside of the offsets that are asked for, and after a search that ended before it."""
    ended = kafkalog("find", *words, without_the_middle(tmp_path))

    assert (ended.status, MISSING in ended.err) == (0, False)


def test_a_whole_log_is_not_audited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its batches follow each other in all of its segments: a search reads it once."""
    monkeypatch.setattr("kafkalog.auditing.pipeline.audit", None)

    assert kafkalog("find", "--key", "none", write(tmp_path, LOG[:4], LOG[4:8], LOG[8:])).status == 1


def test_a_damaged_stretch_is_said_with_its_offsets(tmp_path: Path) -> None:
    """Beside the finding of the batch itself."""
    root = write(tmp_path, LOG)
    path = root / "t-0" / f"{0:020}.log"
    data = path.read_bytes()
    path.write_bytes(flipped(data, 8 * (len(data) // 12 * 5 + 62)))

    for words in (("find", "--key", "none"), ("extract",)):
        ended = kafkalog(*words, root)
        assert ended.status == 3
        assert "Offset 5 can't be read: bytes are damaged" in ended.err


def test_an_object_with_the_bytes_of_another_segment_is_said_and_gives_nothing(tmp_path: Path) -> None:
    """What it should have can't be read, and what it has is not written twice."""
    write_tiers(tmp_path)
    whole = kafkalog("extract", "--remote", "store", "--topic", "t", "data", cwd=tmp_path)
    one, two = Segment(0, 1), Segment(2, 3)
    shutil.copy(tmp_path / PLACE / f"{0:020}-{one.id}.log", tmp_path / PLACE / f"{2:020}-{two.id}.log")
    swapped = kafkalog("extract", "--remote", "store", "--topic", "t", "data", cwd=tmp_path)
    found = kafkalog("find", "--remote", "store", "--key", "none", "data", cwd=tmp_path)

    assert (whole.status, [row["offset"] for row in whole.rows]) == (0, [0, 1, 2, 3, 4, 5, 6, 7])
    assert (swapped.status, [row["offset"] for row in swapped.rows]) == (3, [0, 1, 4, 5, 6, 7])
    assert "Offsets 2-3 can't be read: the remote object has the bytes of another segment" in swapped.err
    assert found.status == 3


@pytest.mark.parametrize("order", [("1", "2"), ("2", "1")])
def test_what_one_replica_alone_has_is_found_in_any_order(order: tuple[str, str], tmp_path: Path) -> None:
    """Once each, and with the replica that has it; replicas that have the same are read once."""
    for name, cleaned in (("1", 8), ("2", None)):
        segments = (LOG[2:8] if cleaned else LOG[:8], LOG[8:])
        write(tmp_path / name, *segments, cleaned=cleaned)
        (tmp_path / name / "meta.properties").write_text(f"version=1\ncluster.id=c\nnode.id={name}\n")
    lines = kafkalog("find", "--value", "", *order, cwd=tmp_path).text.splitlines()
    offsets = [int(line.split("offset ")[1].split()[0]) for line in lines]

    assert sorted(offsets) == list(range(12))
    told = {offset for offset, line in zip(offsets, lines, strict=True) if "only in 2/t-0" in line}
    assert told in ({0, 1}, set())


def test_records_before_the_start_of_the_log_are_deleted_whatever_became_of_them(tmp_path: Path) -> None:
    """The segment has them until all of it is deleted; they are counted."""
    ended = kafkalog("extract", "--outcome", "not-transactional", write(tmp_path, LOG, start=3))

    assert [row["offset"] for row in ended.rows] == list(range(3, 12))
    assert "3 records before the start of the log are deleted, and left out" in ended.err

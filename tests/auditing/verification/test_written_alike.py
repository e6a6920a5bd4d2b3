"""What healthy applications leave, and was called wrong: equal segments of two topics, and an empty segment's words."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Final

import pytest

import build
from kafkalog.auditing.verification import verify
from kafkalog.findings import Finding, Severity
from official import FIXTURES, materialize
from side_damage import CASE, LOG


def alike(root: Path) -> list[Finding]:
    return [finding for finding in verify([root]).findings() if finding.code == "segments-alike"]


def written(home: Path, *, indexes: bool) -> None:
    """A log of three batches, with the index files that a broker makes or without."""
    home.mkdir()
    (home / f"{0:020}.log").write_bytes(b"".join(build.log(10, 20, 30)))
    for suffix in (".index", ".timeindex") if indexes else ():
        (home / f"{0:020}{suffix}").touch()


def test_equal_segments_of_two_topics_with_indexes_of_their_own_are_a_note(tmp_path: Path) -> None:
    """A Streams application writes the same to partitions of one number; partitions of one topic never get the same."""
    written(tmp_path / "a-0", indexes=True)
    written(tmp_path / "b-0", indexes=True)
    (only,) = alike(tmp_path)
    assert only.severity is Severity.NOTE

    (tmp_path / "b-0").rename(tmp_path / "b-1")
    (only,) = alike(tmp_path)
    assert only.severity is Severity.WARNING


def test_equal_segments_without_indexes_are_a_warning(tmp_path: Path) -> None:
    """Somebody put a segment there without the files that a broker makes beside it."""
    written(tmp_path / "a-0", indexes=True)
    written(tmp_path / "b-0", indexes=False)
    (only,) = alike(tmp_path)

    assert only.severity is Severity.WARNING


def test_equal_segments_of_a_copy_without_any_index_are_a_note(tmp_path: Path) -> None:
    """Public copies leave out indexes: what else the partitions have tells that both were written."""
    for number, name in enumerate(("a-0", "b-0")):
        written(tmp_path / name, indexes=False)
        (tmp_path / name / "partition.metadata").write_text(
            f"version: 0\ntopic_id: 3Im2pdfaTAeOu6HPVmdaB{'Ag'[number]}"
        )
        (tmp_path / name / "leader-epoch-checkpoint").write_text("0\n1\n0 0\n")
    (only,) = alike(tmp_path)

    assert only.severity is Severity.NOTE, verify([tmp_path]).findings()


def test_an_empty_segment_that_its_index_knows_more_of_is_called_empty(tmp_path: Path) -> None:
    """No offset is before the first one."""
    root = materialize(FIXTURES / CASE, tmp_path) / "data"
    for folder in (root / LOG, root / "alone-0"):
        if folder.name == "alone-0":
            shutil.copytree(root / LOG, folder)
        first = min(folder.glob("*.log"))
        first.write_bytes(b"")
    messages = [finding.message for finding in verify([root]).findings() if finding.code == "log-cut-short"]

    assert any(message.startswith("the segment is empty, but its .") for message in messages)
    assert not any("-1" in message for message in messages)


def broadcast(root: Path) -> None:
    """Two partitions to which a transaction wrote the same, with all that a broker keeps beside them."""
    fields = {"producer_id": 4, "producer_epoch": 0}
    data = build.batch(build.record(b"x"), attributes=build.TRANSACTIONAL, base_sequence=0, **fields)
    for name in ("big-4", "big-10"):
        home = root / name
        home.mkdir()
        (home / f"{0:020}.log").write_bytes(data + build.marker(base_offset=1, **fields))
        (home / f"{0:020}.index").touch()
        (home / f"{0:020}.timeindex").touch()
        (home / "leader-epoch-checkpoint").write_text("0\n1\n0 0\n")


def test_a_transaction_that_wrote_the_same_to_many_partitions_is_a_note(tmp_path: Path) -> None:
    """Its producer's batches and markers are equal in all of them, at equal offsets."""
    broadcast(tmp_path)
    (only,) = alike(tmp_path)

    assert only.severity is Severity.NOTE


@pytest.mark.parametrize("beside", ["index", "snapshot"])
def test_equal_segments_are_foreign_where_their_producers_do_not_fit(tmp_path: Path, beside: str) -> None:
    """An index may be wrong by itself; the producers' state beside the log tells that other batches were there."""
    broadcast(tmp_path)
    if beside == "index":
        (tmp_path / "big-10" / f"{0:020}.index").write_bytes(bytes([0, 0, 0, 1, 0, 0, 0, 7]))
    else:
        other = build.snapshot((99, 0, 5, 1, 1, build.TIME, -1, -1))
        (tmp_path / "big-10" / f"{2:020}.snapshot").write_bytes(other)
    codes = {one.code for one in verify([tmp_path]).findings() if one.severity > Severity.NOTE}

    assert ("segment-foreign" in codes) == (beside == "snapshot")
    assert "index-mismatch" in codes or beside == "snapshot"


def broadcast_in_segments(root: Path) -> Path:
    """Four partitions of three segments to which one producer's transactions wrote the same; return the second."""
    fields = {"producer_id": 4, "producer_epoch": 0}
    for name in ("big-0", "big-1", "big-2", "big-3"):
        (root / name).mkdir()
        for base in (0, 4, 8):
            data = b"".join(
                build.batch(
                    build.record(b"x"), attributes=build.TRANSACTIONAL, base_sequence=at // 2, base_offset=at, **fields
                )
                + build.marker(base_offset=at + 1, **fields)
                for at in (base, base + 2)
            )
            (root / name / f"{base:020}.log").write_bytes(data)
            (root / name / f"{base:020}.index").touch()
            (root / name / f"{base:020}.timeindex").touch()
        (root / name / "leader-epoch-checkpoint").write_text("0\n1\n0 0\n")
    return root / "big-1"


SMALL: Final = {
    "no segment": lambda home: (home / f"{4:020}.log").unlink(),
    "a torn one": lambda home: os.truncate(home / f"{4:020}.log", 100),
    "an index": lambda home: (home / f"{4:020}.index").write_bytes(bytes([0, 0, 0, 1, 0, 0, 0, 7])),
    "epochs": lambda home: (home / "leader-epoch-checkpoint").write_text("0\n1\n3 0\n"),
    "a snapshot": lambda home: (home / f"{12:020}.snapshot").write_bytes(
        build.snapshot((4, 0, 5, 1, 1, build.TIME, -1, -1))
    ),
}


@pytest.mark.parametrize("wrong", SMALL)
def test_segments_of_a_log_are_its_own_where_its_producers_write_in_others_of_it(wrong: str, tmp_path: Path) -> None:
    """Whatever else is wrong with the log: equal batches, and a gap that others would fill, show nothing."""
    SMALL[wrong](broadcast_in_segments(tmp_path))
    told = [one for one in verify([tmp_path]).findings() if one.severity > Severity.NOTE]

    assert told
    assert not {"segment-foreign", "segments-alike"} & {one.code for one in told}

"""What healthy applications leave, and was called wrong: equal segments of two topics, and an empty segment's words."""

from __future__ import annotations

import shutil
from pathlib import Path

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

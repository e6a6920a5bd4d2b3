"""A directory in which no entry came or went is not listed again; one that changed a moment ago is."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

import build
from kafkalog.log_dirs import moving
from kafkalog.log_dirs.log_directory import LogDirectory, PartitionDirectory, open_log_directory
from kafkalog.log_dirs.moving import movement

NAME = f"{0:020}"


def listed(root: Path, age_s: float) -> tuple[LogDirectory, PartitionDirectory]:
    """A partition whose directory changed so long ago, listed."""
    folder = root / "t-0"
    folder.mkdir(parents=True)
    (root / "meta.properties").write_text("version=1\ncluster.id=c\nnode.id=1\n")
    for suffix in (".log", ".index"):
        (folder / (NAME + suffix)).write_bytes(build.batch(build.record()))
    (folder / "partition.metadata").write_text("version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAQ\n")
    then = time.time() - age_s
    os.utime(folder, (then, then))
    node = open_log_directory(root)
    return node, node.partitions[0]


def test_an_unchanged_directory_is_not_listed_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its files are asked for one by one: that is enough to see all that can have moved."""
    node, directory = listed(tmp_path, 3600)
    monkeypatch.setattr(moving, "open_tree", lambda *_, **__: pytest.fail("it was listed"))

    assert movement(node, directory) is None


def test_a_directory_that_changed_a_moment_ago_is_listed_again(tmp_path: Path) -> None:
    """File systems count in coarse steps: another change at once may leave the time as it is."""
    _, directory = listed(tmp_path, 5)

    assert directory.itself is None


@pytest.mark.parametrize("what", ["new", "gone", "replaced", "written", "index replaced"])
def test_what_moves_is_seen_as_by_a_listing(tmp_path: Path, what: str) -> None:
    """Files that come, go, are replaced or written to in place, in a directory that was old when it was listed."""
    node, directory = listed(tmp_path, 3600)
    path = tmp_path / "t-0" / f"{NAME}.log"
    assert directory.itself is not None
    if what == "new":
        (path.parent / f"{5:020}.log").write_bytes(b"")
    elif what == "gone":
        path.unlink()
    elif what == "written":
        with path.open("r+b") as file:
            file.truncate(3)
    else:
        path = path.with_suffix(".index") if what == "index replaced" else path
        other = path.with_suffix(".new")
        other.write_bytes(path.read_bytes())
        other.rename(path)
    moved = movement(node, directory)

    assert moved is not None
    assert not moved.is_gone
    assert moved.files == {f"{5:020}.log" if what == "new" else path.name}

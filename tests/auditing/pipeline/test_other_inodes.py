"""What another machine sees of the listed files: the same bytes and times, and inodes of its own."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from kafkalog.auditing.pipeline import Keeping, KeptScans, LocalFolder, LogPlace, SegmentPlace, kept_scans
from kafkalog.auditing.pipeline.places import logs_of, segments_of
from kafkalog.files.limits import Limits
from kafkalog.log_dirs.clusters import open_clusters
from kafkalog.log_dirs.moving import list_again, movement, stays
from kept import broker

ELSEWHERE = "another machine"


@pytest.fixture(autouse=True)
def small_segments(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the scans of small segments, too."""
    monkeypatch.setattr(kept_scans, "LEAST_BYTES", 1)


@pytest.fixture
def listed(tmp_path: Path) -> tuple[list[LogPlace], list[SegmentPlace], Path]:
    """A broker's directory as the driver lists it, and a folder for scans; all files have other inodes since then."""
    root, folder = tmp_path / "broker", tmp_path / "scans"
    broker(root)
    folder.mkdir()
    clusters, _ = open_clusters([root])
    logs = logs_of(clusters, None)
    places = segments_of(logs, 1, KeptScans(Keeping(LocalFolder(str(folder)))).known(clusters, logs, Limits()))
    shutil.move(root, tmp_path / "first")
    shutil.copytree(tmp_path / "first", root)
    return logs, [place for place in places if place.known is not None and place.segment.size], folder


def test_scans_are_kept_and_taken_on_a_machine_with_other_inodes(
    listed: tuple[list[LogPlace], list[SegmentPlace], Path],
) -> None:
    """By size, time and the headers' CRCs; where the files were listed, another inode is another file."""
    _, places, folder = listed
    here = Keeping(LocalFolder(str(folder)))
    assert not any(here.scan(place, Limits()).kept for place in places)
    there = Keeping(LocalFolder(str(folder)), listed_on=ELSEWHERE)
    found = [there.scan(place, Limits()) for place in places]
    assert all(one.kept for one in found)
    assert all(there.taken(place) is not None for place in places)
    assert not any(here.taken(place) for place in places)

    for place in places:  # of another time
        os.utime(place.segment.path, ns=(0, 1))
    assert not any(there.taken(place) for place in places)


def test_other_inodes_are_no_movement_on_another_machine(
    listed: tuple[list[LogPlace], list[SegmentPlace], Path],
) -> None:
    """So nothing is read again; a file of another size or time moved there, too."""
    log = next(log for log in listed[0] if len(log.directory.segments) > 1)
    assert movement(log.node, log.directory) is not None
    there = log.by_size_and_time()
    assert movement(there.node, there.directory) is None
    newer = list_again(there.node, there.directory)
    assert all(stays(segment, there.directory, newer) for segment in newer.segments)

    with open(log.directory.segments[-1].path, "ab") as last:  # which a broker writes to: that is no movement
        last.write(b"more")
    assert movement(there.node, there.directory) is None
    first = log.directory.segments[0].path
    os.utime(first, ns=(0, 1))
    moved = movement(there.node, there.directory)
    assert moved is not None
    assert moved.files == {os.path.basename(first)}
    assert not stays(log.directory.segments[0], there.directory, list_again(there.node, there.directory))

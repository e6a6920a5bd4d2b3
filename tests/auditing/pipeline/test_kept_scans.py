"""Scans that are kept: an audit that takes them says what one that reads everything says, or it reads again."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import kept
from kafkalog.auditing.pipeline import Keeping, KeptScans, LocalFolder, audit, kept_scans
from kafkalog.auditing.transactions import AuditOptions
from kafkalog.files.limits import Limits
from kafkalog.reports import screen_of, source_of
from kept import LOG, SEGMENTS, audited, broker, rows, segments

Change = Callable[[Path], None]


def _nothing(_root: Path) -> None: ...


# What happens in a night, and how many of the segments with batches are then scanned, at least and at most.
NIGHTS: dict[str, tuple[Change, int]] = {
    "nothing": (_nothing, 0),
    "appended": (kept.append, 1),
    "rolled": (kept.roll, 1),
    "deleted": (kept.delete, 0),
    "truncated": (kept.truncate, 1),
    "compacted": (kept.compact, 1),
    "recreated": (kept.recreate, 8),  # all three partitions of the topic
    "other times": (kept.touch, SEGMENTS),
}


@pytest.fixture(autouse=True)
def small_segments() -> Iterator[None]:
    """Keep the scans of small segments, too."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kept_scans, "LEAST_BYTES", 1)
        yield


@pytest.mark.some(every=5)
@pytest.mark.parametrize("night", NIGHTS)
@pytest.mark.parametrize("jobs", [1, 2])
def test_the_next_night_costs_what_is_new(night: str, jobs: int, tmp_path: Path) -> None:
    """Only new and changed segments are scanned, and all tables are those of an audit that reads everything."""
    root, options = broker(tmp_path), AuditOptions(jobs=jobs)
    change, scanned = NIGHTS[night]
    audited(root, tmp_path / "first", options=options)
    change(root)

    found = audited(root, tmp_path / "second", tmp_path / "first", options=options)
    assert rows(found) == rows(audited(root, options=options))
    with_batches = sum(path.stat().st_size > 0 for path in root.rglob("*.log"))
    assert found.reused.taken == with_batches - scanned
    assert len(list((tmp_path / "second").iterdir())) == with_batches  # for the third night

    third = audited(root, None, tmp_path / "second", options=options)
    assert rows(third) == rows(found)
    assert third.reused.taken == with_batches


def test_a_nightly_copy_has_other_inodes(tmp_path: Path) -> None:
    """What the cleaner may have replaced is scanned again, nothing else is; wherever the copy is."""
    root = broker(tmp_path)
    audited(root, tmp_path / "first")
    kept.nightly(root)
    moved = root.rename(tmp_path / "elsewhere")

    found = audited(moved, None, tmp_path / "first")
    assert found.reused.taken == SEGMENTS - 2  # two partitions of the state topic have batches
    assert rows(found) == rows(audited(moved))


@pytest.mark.parametrize("known", ["by the cleaner's checkpoint", "by no file"])
def test_a_pass_of_the_cleaner_that_keeps_size_and_time_is_seen(known: str, tmp_path: Path) -> None:
    """Where it may have been, the inode counts."""
    root = broker(tmp_path)
    audited(root, tmp_path / "first")
    kept.compact_alike(root)
    if known == "by no file":  # a partition alone, without what its broker says
        shutil.rmtree(root / "__cluster_metadata-0")
        (root / "cleaner-offset-checkpoint").unlink()
    else:
        topic, _, partition = LOG.rpartition("-")
        (root / "cleaner-offset-checkpoint").write_text(f"0\n1\n{topic} {partition} 50\n")

    found = audited(root, None, tmp_path / "first")
    assert rows(found) == rows(audited(root))


def test_damage_in_a_skipped_segment_is_not_seen_and_that_is_said(tmp_path: Path) -> None:
    """The verdict names what was not read; with SHA-256 it is read, and seen."""
    root = broker(tmp_path)
    audited(root, tmp_path / "first", hashed=True)
    path = segments(root)[1]
    status, data = path.stat(), bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))

    assert screen_of(source_of(audited(root))).verdict.word == "DAMAGED"
    skipped = screen_of(source_of(audited(root, None, tmp_path / "first"))).verdict.headline
    assert skipped.startswith("OK: ")
    assert "(2 of 16 segments were scanned; damage since 20" in skipped
    assert skipped.endswith("Z in the others is not seen)")

    hashed = audited(root, None, tmp_path / "first", hashed=True)
    assert rows(hashed) == rows(audited(root))
    assert hashed.reused.taken == SEGMENTS - 1
    assert "the SHA-256 of the others is that of earlier scans" in screen_of(source_of(hashed)).verdict.headline


def test_what_is_damaged_is_read_again_each_time(tmp_path: Path) -> None:
    """Its findings are of today: a scan with any is not kept."""
    root = broker(tmp_path)
    path = segments(root)[1]
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    first = audited(root, tmp_path / "first")
    found = audited(root, None, tmp_path / "first")

    assert found.reused.taken == SEGMENTS - 1
    assert rows(found) == rows(first)


@pytest.mark.parametrize("name", ["max_batch_bytes", "max_decompressed_bytes", "max_expansion"])
def test_other_limits_are_another_scan(name: str, tmp_path: Path) -> None:
    """What they allow decides what a scan finds."""
    root = broker(tmp_path)
    audited(root, tmp_path / "first")
    options = AuditOptions(replace(Limits(), **{name: 1 << 30}))
    assert audited(root, None, tmp_path / "first", options=options).reused.taken == 0


@pytest.mark.sweep
def test_a_kept_scan_that_is_changed_anywhere_is_no_scan(tmp_path: Path) -> None:
    """Whatever byte is changed, wherever it is cut: its segment is scanned again, and nothing fails."""
    root = broker(tmp_path)
    audited(root, tmp_path / "first")
    file = max((tmp_path / "first").iterdir(), key=lambda path: path.stat().st_size)
    data = file.read_bytes()
    damaged = [data[:at] + bytes([data[at] ^ 0x41]) + data[at + 1 :] for at in range(0, len(data), len(data) // 20)]
    damaged += [data[:at] for at in (0, 1, 31, 32, 40, len(data) - 1)] + [data + b"\0", os.urandom(500)]
    for content in damaged:
        file.unlink()
        file.write_bytes(content)
        found = audited(root, None, tmp_path / "first")
        assert found.reused.taken == SEGMENTS - 1


def test_foreign_files_are_no_scans(tmp_path: Path) -> None:
    """Not another segment's under this one's name, not a directory, not a FIFO, which nobody waits for."""
    root = broker(tmp_path)
    audited(root, tmp_path / "first")
    files = sorted((tmp_path / "first").iterdir())
    contents = [file.read_bytes() for file in files]
    for file, content in zip(files, contents[1:] + contents[:1], strict=True):
        file.unlink()
        file.write_bytes(content)
    files[0].unlink()
    files[0].mkdir()
    files[1].unlink()
    os.mkfifo(files[1])
    (tmp_path / "first" / "odd.scan").touch()

    found = audited(root, tmp_path / "second", tmp_path / "first")
    assert found.reused.taken == 0
    assert len(list((tmp_path / "second").iterdir())) == SEGMENTS


@pytest.mark.parametrize("what", ["VERSION", "SCAN_VERSION"])
def test_scans_of_another_version_are_no_scans(what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the program or of the format: what they found may be something else today."""
    root = broker(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(kept_scans, what, "0.0.1" if what == "VERSION" else 1)
        audited(root, tmp_path / "first")
    assert audited(root, None, tmp_path / "first").reused.taken == 0


def test_a_checksum_alone_proves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file whose checksum holds, and whose cells no scan has, is no scan."""
    root = broker(tmp_path)
    real = kept_scans.kept_bytes
    monkeypatch.setattr(
        kept_scans, "kept_bytes", lambda about, messages: real(about, [bytes(messages[0][:-9]), *messages[1:]])
    )
    audited(root, tmp_path / "first")
    monkeypatch.undo()
    assert kept_scans.kept_about(next((tmp_path / "first").iterdir()).read_bytes()).key
    assert audited(root, None, tmp_path / "first").reused.taken == 0


def test_a_segment_that_moves_while_it_is_scanned_is_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    """Its scan is of no file that will be there again."""
    root = broker(tmp_path)
    last, real = segments(root)[-1], kept_scans.scan_segment

    def scanned(place, segment, limits):
        found = real(place, segment, limits)
        if segment.path == str(last) and found.segment.size == last.stat().st_size:
            kept.append(root)
        return found

    monkeypatch.setattr(kept_scans, "scan_segment", scanned)
    audited(root, tmp_path / "first")
    monkeypatch.undo()
    assert len(list((tmp_path / "first").iterdir())) == SEGMENTS - 1

    found = audited(root, None, tmp_path / "first")
    assert found.reused.taken == SEGMENTS - 1
    assert rows(found) == rows(audited(root))


def test_a_segment_that_moved_since_it_was_listed_is_not_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    """It is read as any other that moves."""
    root = broker(tmp_path)
    audited(root, tmp_path / "first")
    real = kept_scans.kept_about
    once = [True]

    def looked(data: bytes):
        if once.pop() if once else False:
            kept.append(root)
        return real(data)

    monkeypatch.setattr(kept_scans, "kept_about", looked)
    found = audited(root, None, tmp_path / "first")
    monkeypatch.undo()
    assert found.reused.taken == SEGMENTS - 1
    assert rows(found)["transactions"] == rows(audited(root))["transactions"]


def test_segments_that_cannot_be_few_states_are_all_scanned(tmp_path: Path) -> None:
    """Two copies of a partition without a cluster's and a node's name are in all else the same."""
    root = broker(tmp_path)
    homes = [tmp_path / name / LOG for name in ("a", "b")]
    for home in homes:
        shutil.copytree(root / LOG, home)
    audited(homes, tmp_path / "first")
    assert not list((tmp_path / "first").iterdir())
    assert audited(homes, None, tmp_path / "first").reused.taken == 0


def test_small_segments_are_scanned_each_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A look at what is kept would cost more; the verdict does not speak of what was read."""
    root = broker(tmp_path)
    monkeypatch.setattr(kept_scans, "LEAST_BYTES", 1000)
    audited(root, tmp_path / "first")
    big = sum(path.stat().st_size >= 1000 for path in root.rglob("*.log"))
    assert len(list((tmp_path / "first").iterdir())) == big > 0
    assert audited(root, None, tmp_path / "first").reused.taken == big

    monkeypatch.setattr(kept_scans, "LEAST_BYTES", 1 << 18)
    assert not screen_of(source_of(audited(root, tmp_path / "second", tmp_path / "first"))).verdict.scope
    assert not list((tmp_path / "second").iterdir())


def test_what_a_lost_attempt_kept_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A task that is tried again, wherever, finds in the audit's own folder what was scanned before."""
    root, own = broker(tmp_path), tmp_path / "own"
    own.mkdir()
    scans = KeptScans(Keeping(LocalFolder(str(own))), begun_ms=1)
    first = audit([root], kept=scans)
    assert (first.reused.scanned, first.reused.resumed) == (16, 0)
    next(own.iterdir()).write_bytes(b"half")

    monkeypatch.setattr(
        kept_scans.KeptScans, "may_be_taken", lambda _: {}
    )  # an attempt knows what was there at the start
    second = audit([root], kept=scans)
    assert (second.reused.scanned, second.reused.resumed, second.reused.taken) == (3, SEGMENTS - 1, 0)
    assert rows(second) == rows(first)
    assert len(list(own.iterdir())) == SEGMENTS

"""What a broker had put aside, and what its loader would do with it: said, never done."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

import plain
from kafkalog.findings import Finding, Severity
from kafkalog.log_dirs.left_over import deleted_at_start, left_over
from kafkalog.log_dirs.log_directory import open_log_directory
from official import FIXTURES
from plain import Batch

UNIQUE: Final = "0dc3a58e6bb548a38f9a45f0bcfe9e70"


def told(root: Path) -> list[Finding]:
    found = list(left_over(open_log_directory(root)))
    assert all(finding.severity is Severity.NOTE for finding in found)
    return found


def partition(root: Path, *names: str) -> Path:
    """Segments from offsets 0, 3 and 6 on, and files of other names: a log's with the batches of offsets 0 to 4."""
    batches = [Batch(0, number, number, "plain") for number in range(9)]
    folder = plain.write_segments(root / "t-0", batches[:3], batches[3:6], batches[6:])
    for name in names:
        data = b"".join(map(plain.as_bytes, batches[:5])) if ".log" in name else b""
        (folder / name).write_bytes(data)
    return root


def name(base: int, suffix: str) -> str:
    return f"{base:020}{suffix}"


def test_nothing_is_said_of_what_is_in_place(tmp_path: Path) -> None:
    """Only what has one of the suffixes."""
    assert told(partition(tmp_path)) == []


def test_deleted_files_go_first(tmp_path: Path) -> None:
    """Given up before the stop; the loader deletes what is left of them."""
    names = [name(0, suffix) for suffix in (".log.deleted", ".index.deleted", ".snapshot.deleted")]
    [found] = told(partition(tmp_path, *names))

    assert (found.code, found.found, found.offset) == ("files-deleted", 3, 0)
    assert "1 .index, 1 .log, 1 .snapshot" in found.message


def test_an_interrupted_cleaning_is_thrown_away(tmp_path: Path) -> None:
    """With the swap files from its lowest offset on: they may be of the same cleaning."""
    found = told(partition(tmp_path, name(3, ".log.cleaned"), name(0, ".log.swap"), name(6, ".log.swap")))

    assert [finding.code for finding in found] == ["files-cleaned", "files-swap", "files-swap"]
    assert [finding.offset for finding in found] == [3, 6, 0]
    assert "deletes them" in found[0].message
    assert "deletes them" in found[1].message
    assert "offsets 0-4 with them: 2 segments here" in found[2].message


def test_a_finished_cleaning_takes_the_place_of_what_it_was_made_of(tmp_path: Path) -> None:
    """All files of the offsets that it holds, however many segments they are."""
    [found] = told(partition(tmp_path, name(0, ".log.swap"), name(0, ".index.swap"), name(0, ".timeindex.swap")))

    assert (found.code, found.found) == ("files-swap", 3)
    assert "offsets 0-4 with them: 2 segments here" in found.message


def test_indexes_alone_wait_for_their_segment(tmp_path: Path) -> None:
    """The segment was renamed already."""
    [found] = told(partition(tmp_path, name(3, ".index.swap")))

    assert (found.code, found.offset) == ("files-swap", 3)
    assert "removes the suffix" in found.message


def test_an_interrupted_checkpoint_is_told(tmp_path: Path) -> None:
    """In a partition's directory and in the root."""
    root = partition(tmp_path, "leader-epoch-checkpoint.tmp")
    (root / "recovery-point-offset-checkpoint.tmp").touch()

    assert [(found.code, found.file) for found in told(root)] == [
        ("files-unfinished", str(root / "t-0")),
        ("files-unfinished", str(root)),
    ]


@pytest.mark.parametrize(
    ("suffix", "words"),
    [
        ("-delete", "after its next start"),
        ("-future", "continues to copy it"),
        ("-stray", "never deletes the directory"),
    ],
)
def test_directories_put_aside_are_told_with_their_fate(tmp_path: Path, suffix: str, words: str) -> None:
    """By their suffix, which is what the broker goes by."""
    (partition(tmp_path) / f"u-1.{UNIQUE}{suffix}").mkdir()
    [found] = told(tmp_path)

    assert (found.code, found.topic, found.partition) == ("directory-put-aside", "u", 1)
    assert words in found.message


def test_what_is_put_in_place_is_not_deleted(tmp_path: Path) -> None:
    """Up to the lowest .cleaned file, from which on .swap files are deleted, too; a .tmp file stays."""
    names = [name(0, ".log.swap"), name(3, ".log.cleaned"), name(6, ".log.swap"), name(9, ".log.deleted"), "x.tmp"]
    [directory] = open_log_directory(partition(tmp_path, *names)).partitions

    assert sorted(deleted_at_start(directory)) == names[1:4]


def test_nothing_is_touched(tmp_path: Path) -> None:
    """The files are as they were."""
    root = partition(tmp_path, name(0, ".log.swap"), name(3, ".log.cleaned"), name(6, ".log.deleted"))
    before = {path: (path.stat().st_mtime_ns, path.stat().st_size) for path in sorted(root.rglob("*"))}
    told(root)

    assert {path: (path.stat().st_mtime_ns, path.stat().st_size) for path in sorted(root.rglob("*"))} == before


def test_what_a_failed_cleaner_left(tmp_path: Path) -> None:
    """A real one: its files are in both partitions."""
    found = told(FIXTURES / "k4-i-cleaner-failed" / "data")

    assert {finding.code for finding in found} == {"files-cleaned"}
    assert all(finding.offset == 0 and finding.found == 3 for finding in found)
    assert all("left by a cleaning that failed" in finding.message for finding in found)
    assert all("00000000000000000000.timeindex.cleaned is full with 120 bytes" in finding.message for finding in found)
    assert all("Raise segment.index.bytes" in finding.message for finding in found)
    assert all(" --add-config segment.index.bytes=10485760" in str(finding.remedy) for finding in found)


@pytest.mark.parametrize(("mark", "failed"), [(True, True), (False, False)])
def test_a_stop_in_order_shows_that_a_cleaning_failed(tmp_path: Path, mark: bool, failed: bool) -> None:
    """It deletes what it interrupts itself; after a kill a cleaning may have been under way."""
    root = partition(tmp_path, name(0, ".log.cleaned"), name(0, ".index.cleaned"))
    (root / "t-0" / name(0, ".index.cleaned")).write_bytes(b"\1" * 8 + bytes(16))
    if mark:
        (root / ".kafka_cleanshutdown").write_text('{"version":0,"brokerEpoch":8}')
    [found] = told(root)

    assert ("left by a cleaning that failed" in found.message) is failed
    assert ("left by an interrupted cleaning" in found.message) is not failed
    assert "full" not in found.message


def test_a_swap_that_cannot_be_read_is_told_all_the_same(tmp_path: Path) -> None:
    """Its end is unknown then."""
    root = partition(tmp_path)
    (root / "t-0" / name(3, ".log.swap")).mkdir()

    assert [finding.code for finding in told(root)] == ["files-swap"]

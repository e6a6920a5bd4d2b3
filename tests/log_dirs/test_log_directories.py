"""Log directories as brokers leave them: names, states, what is put aside, and damage that stays where it is."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

import build
import plain
from invoke import kafkalog
from kafkalog.auditing.pipeline.run import audit
from kafkalog.auditing.transactions.audit_result import Audit
from kafkalog.findings import Finding, Severity
from kafkalog.log_dirs.log_directory import open_log_directory
from official import FIXTURES, materialize
from plain import Batch, Row, table

UNIQUE: Final = "0dc3a58e6bb548a38f9a45f0bcfe9e70"
SEGMENT: Final = f"{0:020}.log"
OPEN: Final = [Batch(0, 0, 0, "plain"), Batch(0, 1, 1, "data", 1000, 0, 0)]


def told(found: Audit, code: str) -> list[Finding]:
    """The findings of one code."""
    return [finding for finding in found.findings() if finding.code == code]


# Names.


@pytest.mark.parametrize(
    ("name", "topic", "partition", "suffix"),
    [
        ("orders-0", "orders", 0, ""),
        ("a-b-c-12", "a-b-c", 12, ""),
        ("a.b_c-d.e-3", "a.b_c-d.e", 3, ""),
        ("orders-2-7", "orders-2", 7, ""),
        ("orders.v2-delete-0", "orders.v2-delete", 0, ""),
        (f"orders-0.{UNIQUE}-delete", "orders", 0, "-delete"),
        (f"a.b-c.d-5.{UNIQUE}-future", "a.b-c.d", 5, "-future"),
        (f"x-stray-1.{UNIQUE}-stray", "x-stray", 1, "-stray"),
        ("__consumer_offsets-49", "__consumer_offsets", 49, ""),
    ],
)
def test_a_partition_is_named_by_its_directory(
    tmp_path: Path, name: str, topic: str, partition: int, suffix: str
) -> None:
    """The last dash parts topic and number; dashes and dots before it are the topic's."""
    (tmp_path / name).mkdir()
    [found] = open_log_directory(tmp_path).partitions

    assert (found.topic, found.partition, found.suffix) == (topic, partition, suffix)


@pytest.mark.parametrize("name", ["lost+found", "remote-log-index-cache", "orders", "-0", "orders-x", ".snapshot"])
def test_what_is_no_partition_is_passed_over(tmp_path: Path, name: str) -> None:
    """Other directories are no logs, and cost the others nothing."""
    (tmp_path / name).mkdir()
    plain.write_segments(tmp_path / "t-0", OPEN)

    assert [found.topic for found in open_log_directory(tmp_path).partitions] == ["t"]


def test_a_partition_without_segments_is_empty(tmp_path: Path) -> None:
    """It costs the others nothing."""
    (tmp_path / "e-0").mkdir()
    plain.write_segments(tmp_path / "t-0", OPEN)

    assert [(row["topic"], row["log_end_offset"]) for row in table(audit([tmp_path]), "partitions")] == [
        ("e", 0),
        ("t", 2),
    ]


@pytest.mark.parametrize("suffix", ["-delete", "-future", "-stray"])
def test_directories_put_aside_are_told_and_not_audited(tmp_path: Path, suffix: str) -> None:
    """They are no replica of the partition beside them and give no row; one note each names them."""
    plain.write_segments(tmp_path / "a.b-c-0", OPEN)
    before = {name: table(audit([tmp_path]), name) for name in ("partitions", "transactions", "visible")}
    aside = plain.write_segments(tmp_path / f"a.b-c-0.{UNIQUE}{suffix}", [Batch(0, 0, 7, "data", 1, 0, 0)])
    found = audit([tmp_path])
    [note] = told(found, "directory-put-aside")

    assert (note.severity, note.file) == (Severity.NOTE, str(aside))
    assert {name: table(found, name) for name in before} == before


# How the broker was stopped.


def state(root: Path, *names: str) -> tuple[list[Finding], bool]:
    """What is told of a broker that leaves these files, and whether it counts as stopped cleanly."""
    plain.write_segments(root / "t-0", OPEN)
    for name in names:
        (root / name).touch()
    return told(audit([root]), "read-while-running"), open_log_directory(root).clean_shutdown


@pytest.mark.parametrize(
    ("names", "running", "clean"),
    [
        ((".lock",), True, False),
        ((".lock", ".kafka_cleanshutdown"), False, True),
        ((".kafka_cleanshutdown",), False, True),
        ((), False, False),
    ],
)
def test_a_broker_that_was_not_stopped_is_told(
    tmp_path: Path, names: tuple[str, ...], running: bool, clean: bool
) -> None:
    """A lock without the mark of a clean stop is a note; without either nothing is known, and nothing said."""
    notes, stopped = state(tmp_path, *names)

    assert [(note.severity, note.file) for note in notes] == [(Severity.NOTE, str(tmp_path))] * running
    assert stopped == clean


def test_a_partition_alone_knows_its_brokers_state(tmp_path: Path) -> None:
    """Named alone, it is told of by the files in the directory above it."""
    state(tmp_path, ".lock")

    assert [note.file for note in told(audit([tmp_path / "t-0"]), "read-while-running")] == [str(tmp_path)]


def torn(root: Path, number: int, *names: str) -> Audit:
    """Audit two segments of which one ends inside its last batch; `names` stand beside the partition."""
    batches = [*OPEN, *(Batch(0, offset, offset, "plain") for offset in (2, 3, 4))]
    folder = plain.write_segments(root / "t-0", batches[:3], batches[3:])
    path = sorted(folder.iterdir())[number]
    os.truncate(path, path.stat().st_size - 5)
    for name in names:
        (root / name).touch()
    return audit([root])


def test_a_torn_tail_that_a_broker_was_writing_is_a_note(tmp_path: Path) -> None:
    """In the active segment of a broker that ran it is no damage: it leaves no doubt on what stands before it."""
    found = torn(tmp_path, 1, ".lock")

    assert [finding.severity for finding in told(found, "batch-truncated")] == [Severity.NOTE]
    assert [row["certainty"] for row in table(found, "transactions")] == ["unless-copied-while-running"]
    assert [row["log_end_offset"] for row in table(found, "partitions")] == [4]


@pytest.mark.parametrize(("at", "byte"), [(7, 9), (16, 90)], ids=["another offset", "no magic"])
def test_what_no_broker_was_writing_is_no_torn_tail(tmp_path: Path, at: int, byte: int) -> None:
    """Bytes at the end of an active segment that do not go on with its log are not excused."""
    (tmp_path / ".lock").touch()
    folder = plain.write_segments(tmp_path / "t-0", OPEN)
    whole = bytearray(plain.as_bytes(Batch(0, 2, 2, "plain")))
    whole[at] = byte
    with (folder / SEGMENT).open("ab") as file:
        file.write(whole[:40])

    assert [finding.severity for finding in told(audit([tmp_path]), "batch-truncated")] == [Severity.WARNING]


@pytest.mark.parametrize("kept", [1, 7, 8, 16, 17, 60, 61, 68])
def test_a_torn_tail_of_any_length_is_one(tmp_path: Path, kept: int) -> None:
    """However little of the batch is there."""
    (tmp_path / ".lock").touch()
    folder = plain.write_segments(tmp_path / "t-0", OPEN)
    with (folder / SEGMENT).open("ab") as file:
        file.write(plain.as_bytes(Batch(0, 2, 2, "plain"))[:kept])

    assert [finding.severity for finding in told(audit([tmp_path]), "batch-truncated")] == [Severity.NOTE]


@pytest.mark.parametrize(
    ("number", "names"), [(0, (".lock",)), (1, (".lock", ".kafka_cleanshutdown")), (1, ())],
    ids=["not the active segment", "a clean stop", "nothing known"],
)  # fmt: skip
def test_a_torn_tail_elsewhere_is_damage(tmp_path: Path, number: int, names: tuple[str, ...]) -> None:
    """Nobody was writing there: a warning, and what it may have held is in doubt."""
    found = torn(tmp_path, number, *names)

    assert [finding.severity for finding in told(found, "batch-truncated")] == [Severity.WARNING]
    assert [row["certainty"] for row in table(found, "transactions")] == ["damage-between"]


# One thing wrong costs one thing.


def _flip(path: Path) -> None:
    path.write_bytes(build.flipped(path.read_bytes(), 8 * 300))


def _zeros(path: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(data[:200] + bytes(400) + data[600:])


def _fifo(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def _dangling(path: Path) -> None:
    path.unlink()
    path.symlink_to(path.with_suffix(".gone"))


def _noise(path: Path) -> None:
    path.write_bytes(b"\x5a" * path.stat().st_size)


HURT: Final[dict[str, tuple[Callable[[Path], object], str]]] = {
    "a flipped bit": (_flip, "crc-mismatch"),
    "zeros": (_zeros, "bytes-unreadable"),
    "a torn tail": (lambda path: os.truncate(path, path.stat().st_size - 30), "batch-truncated"),
    "noise": (_noise, "batch-truncated"),
    "a pipe in its place": (_fifo, "file-unreadable"),
    "a link to nowhere": (_dangling, "link-leaves"),
}
CASE: Final = "k4-f-hanging-late-produce-tv0"
HURT_LOG: Final = "tickets-tickets.26-2"


def rows_elsewhere(root: Path, *tables: str) -> dict[str, list[Row]]:
    """All rows that are not of the log which is hurt."""
    found = audit([root])
    return {name: [row for row in table(found, name) if not str(row["log"]).endswith(HURT_LOG)] for name in tables}


@pytest.mark.parametrize("hurt", HURT)
def test_damage_in_one_partition_changes_no_row_of_another(tmp_path: Path, hurt: str) -> None:
    """Every row of every table but the damaged log's own is as it was, and the damage is told there."""
    root = materialize(FIXTURES / CASE, tmp_path) / "data"
    damage, code = HURT[hurt]
    tables = ["partitions", "transactions", "gaps", "producers", "coordinator", "findings", "visible"]
    before = rows_elsewhere(root, *tables)
    damage(root / HURT_LOG / SEGMENT)

    assert rows_elsewhere(root, *tables) == before
    assert code in {finding.code for finding in audit([root]).findings() if finding.topic == "tickets-tickets.26"}


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    ("hurt", "status", "cause"),
    [("a pipe in its place", 3, "unreadable-bytes"), ("a link to nowhere", 3, "lost-segment")],
)
def test_an_unreadable_segment_costs_itself(tmp_path: Path, hurt: str, status: int, cause: str) -> None:
    """The other segments are read and a finding names the file; a link to nowhere is no part of the log."""
    batches = [[Batch(0, base, base + 1, "plain", records=2)] for base in (0, 2, 4)]
    folder = plain.write_segments(tmp_path / "t-0", *batches)
    path = folder / f"{2:020}.log"
    make, code = HURT[hurt]
    make(path)
    ended = kafkalog("txn-audit", "--format", "ndjson", tmp_path)
    [partition] = ended.table("partitions")

    assert ended.status == status
    assert (partition["log_end_offset"], partition["records"]) == (6, 4)
    assert [(gap["first_offset"], gap["last_offset"], gap["cause"]) for gap in ended.table("gaps")] == [(2, 3, cause)]
    assert [row["file"] for row in ended.table("findings") if row["code"] == code] == [str(path)]


def test_a_segment_that_vanishes_after_it_was_listed_is_a_note(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A running broker deletes segments: the partition is read again without it."""
    folder = plain.write_segments(tmp_path / "t-0", [Batch(0, 0, 0, "plain")], [Batch(0, 1, 1, "plain")])

    def listed(path: Any, tree: Any) -> Any:
        found = open_log_directory(path, tree)
        (folder / SEGMENT).unlink()
        return found

    monkeypatch.setattr("kafkalog.log_dirs.clusters.open_log_directory", listed)
    found = audit([tmp_path])

    assert [finding.message for finding in told(found, "partition-moving")] == [
        f"{SEGMENT} went while t-0 was read; it was read again without"
    ]
    assert not told(found, "file-unreadable")
    assert [(row["log_start_offset"], row["log_end_offset"]) for row in table(found, "partitions")] == [(1, 2)]


def test_what_grows_after_it_was_listed_is_read_to_its_listed_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All partitions are of the moment of listing, as far as sizes can say: later batches are not seen."""
    folder = plain.write_segments(tmp_path / "t-0", [Batch(0, 0, 0, "plain")])

    def listed(path: Any, tree: Any) -> Any:
        found = open_log_directory(path, tree)
        with (folder / SEGMENT).open("ab") as file:
            file.write(plain.as_bytes(Batch(0, 1, 1, "plain")))
        return found

    monkeypatch.setattr("kafkalog.log_dirs.clusters.open_log_directory", listed)
    found = audit([tmp_path])

    assert [row["log_end_offset"] for row in table(found, "partitions")] == [1]
    assert [finding for finding in found.findings() if finding.severity > Severity.NOTE] == []


def test_an_argument_that_is_not_there_costs_itself(tmp_path: Path) -> None:
    """The other directories are audited; the status says incomplete."""
    shutil.copytree(FIXTURES / CASE / "data", tmp_path / "data")
    ended = kafkalog("txn-audit", "--format", "ndjson", tmp_path / "data", tmp_path / "gone")

    assert ended.status == 3
    assert "gone" in ended.err
    assert len([row for row in ended.table("transactions") if row["state"] == "hanging"]) == 3


def test_visible_rows_pass_over_what_cannot_be_read(tmp_path: Path) -> None:
    """A segment that is none costs its own rows."""
    folder = plain.write_segments(tmp_path / "t-0", *([Batch(0, base, base, "plain")] for base in (0, 1, 2)))
    path = folder / f"{1:020}.log"
    path.unlink()
    os.mkfifo(path)
    ended = kafkalog("txn-audit", "--format", "ndjson", "--table", "visible", tmp_path)

    assert ended.status == 3, ended.err
    assert [(row["first_offset"], row["last_offset"]) for row in ended.rows] == [(0, 0), (2, 2)]


def test_a_partition_without_a_segment_is_one_without_batches(tmp_path: Path) -> None:
    """A directory that a broker has just made, or whose segments a copy left out."""
    (tmp_path / "meta.properties").write_text("version=0\nbroker.id=1\n")
    (tmp_path / "orders-0").mkdir()
    ended = kafkalog("txn-audit", "--format", "ndjson", "--all", tmp_path)
    (row,) = ended.table("partitions")

    assert (row["segments"], row["log_start_offset"], row["log_end_offset"]) == (0, 0, 0)
    assert ended.status == 0


def test_what_lies_above_a_partition_may_be_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The partition is audited; that its checkpoints can't be read is told."""
    folder = plain.write_segments(tmp_path / "t-0", [Batch(0, 0, 0, "plain")])
    opening = os.open

    def closed(path: str, *flags: int, **named: int) -> int:
        if path == str(tmp_path):
            raise PermissionError(13, "Permission denied")
        return opening(path, *flags, **named)

    monkeypatch.setattr(os, "open", closed)
    found = open_log_directory(folder)

    assert [directory.topic for directory in found.partitions] == ["t"]
    assert [(finding.code, finding.file) for finding in found.findings] == [("file-unreadable", str(tmp_path))]


@pytest.mark.parametrize("command", ["txn-audit --table partitions", "verify --table logs"])
def test_rows_are_in_the_order_of_numbers(command: str, tmp_path: Path) -> None:
    """Partition 2 is before partition 10, and topic t2 before t10; lanes have the same order."""
    names = ["t-0", "t-2", "t-10", "t2-0", "t10-0"]
    for name in reversed(names):
        plain.write_segments(tmp_path / name, [Batch(0, 0, 7, "data", 1, 0, 0)])
    rows = kafkalog(*command.split(), "--format", "ndjson", tmp_path).rows
    lanes = kafkalog("timeline", tmp_path).text.splitlines()

    assert [f"{row['topic']}-{row['partition']}" for row in rows] == names
    assert [line.split()[0] for line in lanes if line.startswith("t")] == names


@pytest.mark.parametrize(
    "command",
    ["txn-audit", "verify", "space", "groups", "transactions", "metadata", "producers", "find", "extract", "dump"],
)
def test_what_a_pattern_of_a_shell_catches(command: str) -> None:
    """A log directory's own files among its partitions' directories are no inputs that can't be read."""
    data = FIXTURES / "k4-c-group-offsets-tv0" / "data"
    named = [path for path in sorted(data.iterdir()) if not path.name.startswith(".")]
    assert any(path.is_file() for path in named)

    alone, ended = (kafkalog(command, "--format", "ndjson", *paths) for paths in ([data], named))

    assert "error" not in ended.err
    assert (ended.status, ended.rows == []) == (alone.status, False)

"""Gaps: offsets that are missing, found within and between stretches, and why each is missing."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from hypothesis import given

import build
from kafkalog.auditing.pipeline.run import audit
from kafkalog.folds.fold import GAP_COLUMNS, Fold
from kafkalog.kernel.buffers import NONE
from kafkalog.segments.readers import batches as read_batches
from metadata_topic import write_policy
from official import FIXTURES, materialize
from plain import (
    Batch,
    Row,
    as_bytes,
    as_heads,
    cut,
    cuts,
    logs,
    missing,
    table,
    write_checkpoint,
    write_epochs,
    write_segments,
)


def found(*parts: list[Batch]) -> list[tuple[int, int, int]]:
    """The gaps between batches that a fold takes in one stretch behind the other."""
    fold = Fold()
    for batches in parts:
        fold.batches(*as_heads(batches))
    rows = fold.result().gaps
    assert rows.names == GAP_COLUMNS
    return [(row["first_offset"], row["last_offset"], row["position"]) for row in rows]


# The fold.


@given(logs(count=1))
def test_gaps_are_what_a_plain_loop_finds(batches: list[Batch]) -> None:
    """Every range of offsets between two batches, with the position of the batch behind it."""
    positions = {batch.offset - 1: batch.position for batch in batches}

    assert found(batches) == [(first, last, positions[last]) for first, last in missing(batches)]


@given(logs(count=1), cuts)
def test_gaps_are_the_same_however_the_log_is_taken_in(batches: list[Batch], places: list[int]) -> None:
    """A fold that takes in a log in parts finds what it finds at once."""
    assert found(*(batches[start:stop] for start, stop in cut(places, len(batches)))) == found(batches)


def test_nothing_has_no_gaps() -> None:
    """A fold without batches has no gaps."""
    assert found([]) == found([], []) == []


def test_a_stretch_alone_begins_without_a_gap() -> None:
    """Where nothing is known of what came before, the first batch has none in front of it."""
    assert found([Batch(0, 5, 6, "plain")]) == []


def test_a_gap_may_reach_over_all_offsets() -> None:
    """Offsets at both ends of int64 have a gap between them that is told without a sum that overflows."""
    ends = [Batch(0, -(2**62), -(2**62), "plain"), Batch(0, 2**62, 2**62, "plain", position=9)]

    assert found(ends) == [(-(2**62) + 1, 2**62 - 1, 9)]


def test_offsets_that_go_back_are_no_gap() -> None:
    """A batch that overlaps the one before, or lies below it, leaves nothing missing in front of it."""
    assert found([Batch(0, 5, 9, "plain"), Batch(0, 7, 7, "plain"), Batch(0, 8, 8, "plain")]) == []


# Causes, each in a small log.


def plain(first: int, last: int | None = None) -> Batch:
    """A batch of no producer at these offsets."""
    last = first if last is None else last
    return Batch(0, first, last, "plain", records=last - first + 1)


class Log:
    """A log directory with the partition t-0, and what an audit says is missing in it."""

    def __init__(self, root: Path, *segments: list[Batch]) -> None:
        self.root = root
        self.folder = write_segments(root / "t-0", *segments)

    def checkpoint(self, name: str, offset: int) -> None:
        """Write the root's checkpoint for the partition."""
        write_checkpoint(self.root, name, ("t", 0, offset))

    def gaps(self) -> list[Row]:
        """The table of gaps."""
        return table(audit([self.root]), "gaps")

    def told(self) -> list[tuple[int, int, str, str]]:
        """The gaps: first and last offset, kind, cause."""
        return brief(self.gaps())

    def file(self, base: int, suffix: str = ".log") -> Path:
        """The path of a file by its base offset."""
        return self.folder / f"{base:020}{suffix}"


def brief(rows: list[Row]) -> list[tuple[int, int, str, str]]:
    """Of gaps: first and last offset, kind, cause."""
    return [(row["first_offset"], row["last_offset"], row["kind"], row["cause"]) for row in rows]


def zeroed(path: Path, number: int) -> tuple[int, int]:
    """Overwrite a segment's batch with zeros, and answer its first and last offset."""
    batch = list(read_batches(path, on_finding=lambda _: None))[number]
    data = bytearray(path.read_bytes())
    data[batch.position : batch.position + batch.size] = bytes(batch.size)
    path.write_bytes(data)
    assert batch.base_offset is not None
    return batch.base_offset, batch.last_offset


def test_a_gap_below_the_log_start_is_legal(tmp_path: Path) -> None:
    """Offsets that were deleted are no loss, whatever is missing there."""
    log = Log(tmp_path, [plain(0), plain(5), plain(6)])
    log.checkpoint("log-start-offset-checkpoint", 5)

    assert log.told() == [(1, 4, "legal", "below-log-start")]


def test_a_gap_above_the_log_start_is_not_below_it(tmp_path: Path) -> None:
    """A gap that reaches the log's start is judged like any other."""
    log = Log(tmp_path, [plain(0), plain(5), plain(6)])
    log.checkpoint("log-start-offset-checkpoint", 4)

    assert log.told() == [(1, 4, "unexplained", "missing-batches")]


def test_missing_batches_are_unexplained(tmp_path: Path) -> None:
    """A gap inside a segment that was never cleaned, with no damage near, has no explanation; it says where it lies."""
    log = Log(tmp_path, [plain(0), plain(1), plain(5)])
    (row,) = log.gaps()

    assert brief([row]) == [(2, 4, "unexplained", "missing-batches")]
    assert (row["count"], row["file"], row["position"]) == (3, str(log.file(0)), 138)


def test_the_cleaner_leaves_gaps(tmp_path: Path) -> None:
    """A gap in a segment that the cleaner's checkpoint lies above is compaction."""
    log = Log(tmp_path, [plain(0), plain(5)], [plain(6)])
    log.checkpoint("cleaner-offset-checkpoint", 6)

    assert log.told() == [(1, 4, "legal", "compaction")]


def test_the_first_offset_after_what_was_cleaned_is_not_the_cleaners(tmp_path: Path) -> None:
    """A segment that the cleaner has not reached begins with an offset that it can't have removed."""
    log = Log(tmp_path, [plain(0), plain(1)])
    write_segments(log.folder, [plain(3)], bases={0: 2})
    log.checkpoint("cleaner-offset-checkpoint", 2)

    assert log.told() == [(2, 2, "unexplained", "missing-batches")]


def test_the_cleaner_rewrites_the_segment_of_its_checkpoint(tmp_path: Path) -> None:
    """Gaps are legal up to the end of the segment that the checkpoint lies in, and not behind it."""
    log = Log(tmp_path, [plain(0), plain(5)], [plain(6), plain(9)])
    log.checkpoint("cleaner-offset-checkpoint", 2)

    assert log.told() == [(1, 4, "legal", "compaction"), (7, 8, "unexplained", "missing-batches")]


def test_the_cleaner_never_reads_the_last_segment(tmp_path: Path) -> None:
    """In a topic that is compacted a gap needs no other trace of it, but for one inside that segment."""
    log = Log(tmp_path, [plain(0), plain(5)], [plain(7), plain(9)])
    write_policy(tmp_path, "t", "compact")

    assert log.told() == [
        (1, 4, "legal", "compaction"), (6, 6, "legal", "compaction"), (8, 8, "unexplained", "missing-batches"),
    ]  # fmt: skip


def test_cleaned_batches_show_that_the_cleaner_was_there(tmp_path: Path) -> None:
    """Without a checkpoint, a batch with fewer records than offsets makes the gaps of its segment legal."""
    log = Log(tmp_path, [plain(0), plain(5), Batch(0, 6, 9, "plain", records=2)], [plain(10), plain(13)])

    assert log.told() == [(1, 4, "legal", "compaction"), (11, 12, "unexplained", "missing-batches")]


def test_without_a_checkpoint_nobody_knows_how_far_the_cleaner_came(tmp_path: Path) -> None:
    """In a topic that is compacted cleaned batches of one segment say nothing of the next; a checkpoint does."""
    log = Log(tmp_path, [plain(0), Batch(0, 1, 4, "plain", records=2)], [plain(5), plain(8)], [plain(9), plain(11)])
    write_policy(tmp_path, "t", "compact")

    assert [kind for *_, kind, _ in log.told()] == ["legal", "unexplained"]
    log.checkpoint("cleaner-offset-checkpoint", 5)
    assert [kind for *_, kind, _ in log.told()] == ["unexplained", "unexplained"]


def test_cleaned_aborted_data_is_named(tmp_path: Path) -> None:
    """A cleaned gap that an entry of the .txnindex overlaps held aborted data."""
    log = Log(tmp_path, [plain(0), Batch(0, 4, 4, "abort", 1000, 0, coordinator_epoch=0)], [plain(5)])
    log.checkpoint("cleaner-offset-checkpoint", 5)
    log.file(0, ".txnindex").write_bytes(build.aborted(0, 1000, 1, 4, 5))

    assert log.told() == [(1, 3, "legal", "cleaned-aborted-data")]


def test_an_aborted_transaction_elsewhere_explains_nothing(tmp_path: Path) -> None:
    """An entry of the .txnindex that ends in front of the gap, or begins behind it, says nothing of it."""
    log = Log(tmp_path, [plain(0, 4), plain(8), plain(9)], [plain(10)])
    log.checkpoint("cleaner-offset-checkpoint", 10)
    log.file(0, ".txnindex").write_bytes(build.aborted(0, 1000, 1, 4, 5) + build.aborted(0, 1000, 8, 9, 10))

    assert log.told() == [(5, 7, "legal", "compaction")]


def test_a_marker_is_removed_after_its_horizon(tmp_path: Path) -> None:
    """One cleaned offset behind transactional data that no marker ended was its marker."""
    log = Log(tmp_path, [Batch(0, 0, 0, "data", 1000, 0, 0, 0), plain(2)], [plain(3)])
    log.checkpoint("cleaner-offset-checkpoint", 3)

    assert log.told() == [(1, 1, "legal", "removed-marker")]


def test_one_missing_offset_is_no_marker_where_there_are_no_transactions(tmp_path: Path) -> None:
    """A single cleaned offset of a log without any transaction held a record like any other."""
    log = Log(tmp_path, [plain(0), plain(2)], [plain(3)])
    log.checkpoint("cleaner-offset-checkpoint", 3)

    assert log.told() == [(1, 1, "legal", "compaction")]


def test_a_gap_between_segments_is_a_lost_segment(tmp_path: Path) -> None:
    """Where one file ends and the next begins later, and nothing was ever cleaned, a file is gone."""
    log = Log(tmp_path, [plain(0), plain(1)], [plain(5)])
    (row,) = log.gaps()

    assert brief([row]) == [(2, 4, "damage", "lost-segment")]
    assert (row["file"], row["position"]) == (str(log.file(5)), 0)


@pytest.mark.parametrize("trace", [".index", ".timeindex", ".snapshot", "leader epoch"])
def test_traces_of_a_lost_segment_tell_of_it(tmp_path: Path, trace: str) -> None:
    """In a compacted log, above what was cleaned, what was left of the missing file or epoch says that it was there."""
    log = Log(tmp_path, [plain(0), plain(2)], [plain(3)], [plain(9)])
    log.checkpoint("cleaner-offset-checkpoint", 2)
    if trace == "leader epoch":
        write_epochs(log.folder, (0, 0), (1, 5))
    else:
        log.file(4, trace).write_bytes(build.snapshot() if trace == ".snapshot" else b"")

    assert log.told()[1:] == [(4, 8, "damage", "lost-segment")]


def test_a_seam_of_a_compacted_log_without_traces_is_unexplained(tmp_path: Path) -> None:
    """A follower of a compacted leader has such seams: without a trace nothing says that a file is gone."""
    log = Log(tmp_path, [plain(0), plain(2)], [plain(3)], [plain(9)])
    log.checkpoint("cleaner-offset-checkpoint", 2)

    assert log.told()[1:] == [(4, 8, "unexplained", "missing-batches")]


def test_an_orphan_index_tells_of_a_lost_segment_where_the_cleaner_was_too(tmp_path: Path) -> None:
    """Cleaning removes a segment's files together: an index left without its segment comes before compaction."""
    log = Log(tmp_path, [plain(0), plain(1)], [plain(5)], [plain(6)])
    log.checkpoint("cleaner-offset-checkpoint", 6)
    log.file(2, ".index").write_bytes(b"")
    log.file(2, ".timeindex").write_bytes(b"")

    assert log.told() == [(2, 4, "damage", "lost-segment")]


THREE = ([plain(0), plain(1), plain(2)], [plain(3), plain(4), plain(5)], [plain(6), plain(7), plain(8)])


@pytest.mark.parametrize(("base", "number"), [(0, 1), (0, 2), (3, 0), (3, 1), (3, 2), (6, 0), (6, 1)], ids=str)
def test_a_zeroed_batch_leaves_unreadable_bytes(tmp_path: Path, base: int, number: int) -> None:
    """A batch of zeros is a gap of its offsets, whose cause is the bytes, wherever in its segment it stood."""
    log = Log(tmp_path, *THREE)
    first, last = zeroed(log.file(base), number)

    assert log.told() == [(first, last, "damage", "unreadable-bytes")]


@pytest.mark.parametrize(("base", "number"), [(0, 1), (0, 2), (3, 0), (3, 1), (3, 2), (6, 0), (6, 1)])
def test_a_flipped_bit_leaves_unreadable_bytes(tmp_path: Path, base: int, number: int) -> None:
    """A batch whose checksum fails is a gap of its offsets, wherever in its segment it stood."""
    log = Log(tmp_path, *THREE)
    path = log.file(base)
    path.write_bytes(build.flipped(path.read_bytes(), 8 * (69 * number + 64)))

    assert log.told() == [(base + number, base + number, "damage", "unreadable-bytes")]


def test_a_whole_segment_of_zeros_is_unreadable(tmp_path: Path) -> None:
    """A segment that holds nothing but zeros was not lost: its bytes are there, and can't be read."""
    log = Log(tmp_path, *THREE)
    log.file(3).write_bytes(bytes(log.file(3).stat().st_size))

    assert log.told() == [(3, 5, "damage", "unreadable-bytes")]


def test_damage_explains_no_gap_elsewhere(tmp_path: Path) -> None:
    """Bytes damaged at a segment's begin, or behind a gap, don't explain what is missing in another place."""
    log = Log(tmp_path, [plain(0)], [plain(1), plain(2), plain(5), plain(6), plain(7)])
    zeroed(log.file(1), 0)
    zeroed(log.file(1), 3)

    assert brief([row for row in log.gaps() if row["first_offset"] == 3]) == [(3, 4, "unexplained", "missing-batches")]


def test_the_first_batch_of_a_log_may_be_unreadable(tmp_path: Path) -> None:
    """Offsets between a first segment's name and its first whole batch are missing like any others."""
    log = Log(tmp_path, *THREE)
    zeroed(log.file(0), 0)

    assert log.told() == [(0, 0, "damage", "unreadable-bytes")]


@pytest.mark.parametrize("segments", [1, 2])
def test_the_first_segments_of_a_log_may_be_unreadable(tmp_path: Path, segments: int) -> None:
    """A log that begins with segments of which nothing can be read misses their offsets from the first one's name on."""
    log = Log(tmp_path, *THREE)
    for base in (0, 3)[:segments]:
        path = log.file(base)
        data = path.read_bytes()
        path.write_bytes(b"".join(build.flipped(data[at : at + 69], 8 * 64) for at in range(0, len(data), 69)))

    assert log.told() == [(0, 3 * segments - 1, "damage", "unreadable-bytes")]


def test_each_gap_has_its_own_cause(tmp_path: Path) -> None:
    """Several gaps of one log are told apart."""
    log = Log(tmp_path, [plain(0), plain(3)], [plain(4), plain(9), plain(10), plain(11), plain(15)], [plain(20)])
    log.checkpoint("cleaner-offset-checkpoint", 2)
    log.file(18, ".index").write_bytes(b"")
    zeroed(log.file(4), 2)

    assert log.told() == [
        (1, 2, "legal", "compaction"),
        (5, 8, "unexplained", "missing-batches"),
        (10, 10, "damage", "unreadable-bytes"),
        (12, 14, "unexplained", "missing-batches"),
        (16, 19, "damage", "lost-segment"),
    ]


# What real brokers wrote.

COMPACTED = [
    "k4-i-cleaner-failed", "k4-i-compacted-markers-gone", "v0.10-magic1", "v0.9-magic0", "v2.8-mixed-magic",
    "v3.9-compact-txn",
]  # fmt: skip


@pytest.mark.parametrize("name", COMPACTED)
def test_compaction_leaves_legal_gaps_only(tmp_path: Path, name: str) -> None:
    """In logs that a broker compacted every gap is legal, and there are some."""
    folder = materialize(FIXTURES / name, tmp_path)
    rows = table(audit([folder / "data"]), "gaps")

    assert rows
    assert {row["kind"] for row in rows} == {"legal"}


@pytest.mark.parametrize("name", ["v0.10-magic1", "v0.9-magic0"])
def test_old_magics_have_no_markers_to_remove(tmp_path: Path, name: str) -> None:
    """Brokers without transactions never removed a marker."""
    folder = materialize(FIXTURES / name, tmp_path)

    assert "removed-marker" not in {row["cause"] for row in table(audit([folder / "data"]), "gaps")}


SEGMENTED = [
    ("v3.9-txn-rdk", "orders-0", 16, 36),
    ("k4-a-interleaved-tv2-killed", "parcels-parcels.91-0", 13, 25),
    ("k4-j-preallocated", "orders-ledger.27-0", 40, 83),
    ("k4-j-preallocated", "orders-ledger.27-0", 83, 133),
]


@pytest.mark.parametrize("whole", [True, False], ids=["all files", "log only"])
@pytest.mark.parametrize(("name", "partition", "base", "following"), SEGMENTED)
def test_a_removed_segment_is_lost(
    tmp_path: Path, name: str, partition: str, base: int, following: int, *, whole: bool
) -> None:
    """Without one of its middle segments a log has one gap, of exactly its offsets: a segment was lost."""
    folder = materialize(FIXTURES / name, tmp_path) / "data" / partition
    for path in folder.glob(f"{base:020}.*" if whole else f"{base:020}.log"):
        path.unlink()
    rows = [row for row in table(audit([folder.parent]), "gaps") if row["log"] == str(folder)]

    assert brief(rows) == [(base, following - 1, "damage", "lost-segment")]


def test_a_segment_lost_where_the_cleaner_was_is_lost(tmp_path: Path) -> None:
    """A compacted log whose middle .log is gone while its indexes stand says that the file is lost."""
    folder = materialize(FIXTURES / "v3.9-compact-txn", tmp_path) / "data" / "fast-0"
    (folder / f"{144:020}.log").unlink()
    rows = table(audit([folder.parent]), "gaps")

    assert [row["cause"] for row in rows if row["first_offset"] <= 144 <= row["last_offset"]] == ["lost-segment"]


@pytest.mark.parametrize(("name", "partition", "base", "following"), SEGMENTED)
def test_zeros_in_a_real_segment_are_unreadable(
    tmp_path: Path, name: str, partition: str, base: int, following: int
) -> None:
    """Zeroing any batch of a middle segment leaves one gap, of exactly its offsets."""
    folder = materialize(FIXTURES / name, tmp_path) / "data" / partition
    path = folder / f"{base:020}.log"
    good = path.read_bytes()
    wrong = {}
    for number in range(len(list(read_batches(path)))):
        first, last = zeroed(path, number)
        rows = [row for row in table(audit([folder]), "gaps") if row["kind"] != "legal"]
        if brief(rows) != [(first, last, "damage", "unreadable-bytes")]:
            wrong[number] = brief(rows)
        path.write_bytes(good)

    assert not wrong


def test_a_wrapper_that_cannot_be_opened_hides_no_gap_elsewhere(tmp_path: Path) -> None:
    """A wrapper of magic 1 whose messages can't be read says nothing of its first offset; other gaps are still told."""
    inner = build.message(b"v" * 40, offset=0)
    bad = build.message(b"no gzip", offset=1, attributes=build.GZIP)
    data = [
        build.message(offset=0),
        bad,
        build.message(offset=2),
        build.message(offset=6),
        build.wrapper(inner, offset=7),
    ]
    folder = tmp_path / "t-0"
    folder.mkdir()
    (folder / f"{0:020}.log").write_bytes(b"".join(data))
    read = read_batches(folder / f"{0:020}.log", on_finding=lambda _: None)
    assert [batch.base_offset for batch in read].count(None) == 2  # as headers tell

    assert (3, 5) in [(row["first_offset"], row["last_offset"]) for row in table(audit([folder]), "gaps")]
    assert NONE not in [row["first_offset"] for row in table(audit([folder]), "gaps")]


def test_the_written_bytes_are_a_brokers(tmp_path: Path) -> None:
    """The small logs of these tests are whole: nothing is said of one without a gap."""
    log = Log(tmp_path, *THREE)

    assert log.told() == []
    assert table(audit([tmp_path]), "findings") == []
    assert log.file(3).read_bytes() == b"".join(map(as_bytes, THREE[1]))
    shutil.rmtree(log.folder)


def test_the_longest_gap_is_counted(tmp_path: Path) -> None:
    """From the first offset of a log to the last that one can have: the column is of int64 in every format."""
    folder = tmp_path / "orders-0"
    folder.mkdir()
    log = build.batch(build.record()) + build.batch(build.record(), base_offset=2**63 - 2)
    (folder / f"{0:020}.log").write_bytes(log)

    assert [row["count"] for row in table(audit([tmp_path]), "gaps")] == [2**63 - 3]

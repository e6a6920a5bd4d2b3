"""What a salvage says about transactions, offsets and what to do next; and the files that are removed for a copy."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

import build
import kafkalog
import plain
from invoke import kafkalog as run
from kafkalog.auditing.transactions import fates_after_salvage
from kafkalog.auditing.verification.verifying import verify
from kafkalog.findings import Finding, Severity
from plain import Batch

NAME: Final = f"{0:020}.log"


def data(offset: int, epoch: int = 0) -> Batch:
    """A transactional batch of producer 1000."""
    return Batch(0, offset, offset, "data", 1000, epoch, offset)


def marker(offset: int, kind: str = "commit", epoch: int = 0) -> Batch:
    """A marker of producer 1000."""
    return Batch(0, offset, offset, kind, 1000, epoch, coordinator_epoch=0)


OTHER: Final = Batch(0, 2, 2, "plain")  # a batch of no producer


def salvaged(root: Path, lost: int, *segments: list[Batch]) -> tuple[Path, str]:
    """Damage the batch at an offset of the first segment and salvage it; return the segment, and what was said."""
    folder = plain.write_segments(root / "data" / "t-0", *segments)
    path = folder / f"{segments[0][0].offset:020}.log"
    [bad] = [batch for batch in kafkalog.batches(path) if batch.base_offset == lost]
    path.write_bytes(build.flipped(path.read_bytes(), 8 * (bad.position + bad.size - 3)))
    ended = run("salvage", path, "-o", root / "copy.log", "--exit-zero")
    assert ended.status == 0, ended.err
    return path, ended.err


@pytest.mark.parametrize(
    ("rest", "said"),
    [
        ([OTHER], "offset 0: open; no marker follows, consumers with read_committed stop at offset 0"),
        ([data(2), marker(3)], "offsets 0-2: merged; committed by the marker at offset 3 with data from after"),
        ([data(2, 1), marker(3, "abort", 1)], "offsets 0-2: merged; aborted by the marker at offset 3 with data"),
        (
            [OTHER, marker(3)],
            "offset 0: extended; committed by the marker at offset 3",
        ),
    ],
    ids=["open", "merged", "two epochs", "extended"],
)
def test_a_lost_marker_changes_fates(rest: list[Batch], said: str, tmp_path: Path) -> None:
    """The transaction whose marker was left out is open, or what comes later ends it: each is named with its end."""
    _, err = salvaged(tmp_path, 1, [data(0), marker(1), *rest])

    assert "transactions that reach across what was left out: 1\n" in err
    assert f"transaction of producer 1000, {said}" in err


def test_a_marker_of_the_next_epoch_is_the_datas_own(tmp_path: Path) -> None:
    """Under transaction.version 2 no other transaction has a COMMIT with the epoch after the data's."""
    _, err = salvaged(tmp_path, 1, [data(0), data(1), marker(2, epoch=1)])

    assert "transactions: none that is in the partition reaches across what was left out" in err


def test_later_segments_decide(tmp_path: Path) -> None:
    """The marker that ends it now is in another segment of the partition."""
    _, err = salvaged(tmp_path, 1, [data(0), marker(1)], [data(2), marker(3)])

    assert "offsets 0-2: merged; committed by the marker at offset 3" in err


def test_what_was_open_before_the_segment_is_known(tmp_path: Path) -> None:
    """Bytes are left out at the beginning of a segment: transactions of the segments before reach across them."""
    folder = plain.write_segments(tmp_path / "data" / "t-0", [data(0)], [marker(1), OTHER])
    path = folder / f"{1:020}.log"
    path.write_bytes(build.flipped(path.read_bytes(), 8 * 60))
    err = run("salvage", path, "-o", tmp_path / "copy.log", "--exit-zero").err

    assert "offset 0: open" in err


def test_a_segment_alone_has_no_transactions_to_look_at(tmp_path: Path) -> None:
    """In a directory that is no partition's nothing is known of what follows."""
    folder = plain.write_segments(tmp_path / "loose", [data(0), marker(1), OTHER])
    path = folder / NAME
    [_, bad, _] = kafkalog.batches(path)
    path.write_bytes(build.flipped(path.read_bytes(), 8 * (bad.position + 70)))

    assert fates_after_salvage(str(path), str(path), [0]) is None
    assert "not looked at" in run("salvage", path, "-o", tmp_path / "copy.log", "--exit-zero").err


def test_some_are_named_and_all_are_counted(tmp_path: Path) -> None:
    """Of many transactions the first ones are named."""
    many = [Batch(0, at, at, "data", at, 0, 0) for at in range(30)]
    _, err = salvaged(tmp_path, 30, [*many, Batch(0, 30, 30, "plain"), Batch(0, 31, 31, "plain")])

    assert "transactions that reach across what was left out: 30\n" in err
    assert (err.count(": open; no marker follows"), "  and 10 more\n" in err) == (20, True)


def test_a_segment_beside_that_cannot_be_read_costs_nothing(tmp_path: Path) -> None:
    """The copy is written, and what could be read decides."""
    folder = plain.write_segments(tmp_path / "data" / "t-0", [data(0), marker(1), OTHER])
    (folder / f"{3:020}.log").write_bytes(b"\xff" * 100)
    (folder / f"{9:020}.log").symlink_to(folder / "nothing")
    path = folder / NAME
    path.write_bytes(build.flipped(path.read_bytes(), 8 * (69 + 70)))
    ended = run("salvage", path, "-o", tmp_path / "copy.log", "--exit-zero")

    assert (ended.status, "offset 0: open" in ended.err) == (0, True)


def test_the_way_back_to_a_broker_is_told(tmp_path: Path) -> None:
    """Stop the broker, prefer a whole replica, remove the three indexes, audit before the start."""
    _, err = salvaged(tmp_path, 1, [data(0), marker(1), OTHER])

    for step in ("stop the broker", "if another replica is whole", ".txnindex", "txn-audit"):
        assert step in err
    assert "anew" not in err  # the last batch was copied


def test_a_lost_end_is_told(tmp_path: Path) -> None:
    """Its offsets are given to other records, and groups may have committed later ones."""
    _, err = salvaged(tmp_path, 2, [data(0), marker(1), data(2)])

    assert "the broker writes the offsets after 1 anew, and groups" in err


def test_nothing_is_told_where_nothing_is_left_out(tmp_path: Path) -> None:
    """A whole segment's copy is the segment."""
    folder = plain.write_segments(tmp_path / "data" / "t-0", [data(0), marker(1)])

    assert "stop the broker" not in run("salvage", folder / NAME, "-o", tmp_path / "copy.log").err


def loud(root: Path) -> list[Finding]:
    """The findings of a verification above a note."""
    return [finding for finding in verify([root]).findings() if finding.severity > Severity.NOTE]


def test_a_missing_txnindex_is_a_note_where_the_index_was_removed(tmp_path: Path) -> None:
    """A broker that starts makes all indexes of such a segment anew; with the .index there it does not."""
    folder = plain.write_segments(
        tmp_path / "t-0",
        [data(0), marker(1, "abort")],
        [data(2), marker(3, "abort")],
        [OTHER._replace(offset=4, last_offset=4)],
    )
    (folder / f"{2:020}.index").write_bytes(b"")

    assert [(finding.code, finding.offset) for finding in loud(tmp_path)] == [("txn-index-mismatch", 3)]
    (folder / f"{2:020}.index").unlink()
    assert loud(tmp_path) == []
    notes = [finding for finding in verify([tmp_path]).findings() if finding.code == "txn-index-mismatch"]
    assert ["a starting broker makes both anew" in finding.message for finding in notes] == [True, True]

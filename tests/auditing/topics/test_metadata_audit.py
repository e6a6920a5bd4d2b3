"""What the metadata log adds to an audit: who led, whether a topic is compacted, which partitions are absent."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import build
from invoke import Row, kafkalog
from kafkalog.auditing.partition.steady_log import read_log
from kafkalog.log_dirs.log_directory import open_log_directory
from official import FIXTURES

WHOLE = FIXTURES / "k4-d-fencing-tv2-400" / "data"  # a broker that was stopped cleanly, with all its partitions


def findings(code: str, *arguments: str | Path) -> list[Row]:
    """Return the findings with a code of ``kafkalog txn-audit ARGUMENTS``."""
    ended = kafkalog("txn-audit", "--format", "ndjson", "--table", "findings", *arguments)
    assert ended.status in (0, 1, 3), ended.err
    return [row for row in ended.rows if row["code"] == code]


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """Copy the broker's log directory."""
    return Path(shutil.copytree(WHOLE, tmp_path / "data"))


def test_a_whole_log_directory_lacks_nothing() -> None:
    """All that the metadata assigns to the node is there."""
    assert findings("partition-absent", WHOLE) == []


def test_a_partition_that_was_removed_is_told(copied: Path) -> None:
    """With topic, partition and how far it had come, by the checkpoints that still name it."""
    removed = next(path for path in copied.iterdir() if path.is_dir() and not path.name.startswith("__"))
    shutil.rmtree(removed)
    (row,) = findings("partition-absent", copied)

    assert f"{row['topic']}-{row['partition']}" == removed.name
    assert row["severity"] == "warning"
    assert "Its checkpoint last recorded offset" in row["message"]


def test_it_is_a_note_where_nothing_can_be_lost(copied: Path) -> None:
    """Of a broker that ran the copy may be older than the partition; an empty one had nothing."""
    removed = next(path for path in copied.iterdir() if path.is_dir() and not path.name.startswith("__"))
    shutil.rmtree(removed)
    (copied / ".kafka_cleanshutdown").rename(copied / ".lock")

    assert [row["severity"] for row in findings("partition-absent", copied)] == ["note"]
    assert [row["severity"] for row in findings("partition-absent", "--snapshot", copied)] == ["warning"]
    for path in copied.glob("*-offset-checkpoint"):
        path.write_text("0\n1\n" + removed.name.rpartition("-")[0] + f" {removed.name[-1]} 0\n")
    assert [row["severity"] for row in findings("partition-absent", "--snapshot", copied)] == ["note"]


def test_nothing_is_missed_where_single_partitions_are_named(copied: Path) -> None:
    """The user has chosen them."""
    names = [path for path in copied.iterdir() if path.name in ("__cluster_metadata-0", "__transaction_state-0")]

    assert len(names) == 2
    assert findings("partition-absent", *names) == []


def test_a_finding_tells_who_led() -> None:
    """By the leader epoch of the batch that it is about, as the metadata has it."""
    case = FIXTURES / "k4-f-marker-leaderless"
    rows = findings("transaction-hanging", *sorted(case.glob("data-*")))

    assert rows
    assert all(row["leader"] is not None for row in rows)
    for row in rows:
        ended = kafkalog("metadata", "--format", "ndjson", "--table", "leadership", case / "data-1")
        leaders = {
            r["leader"]
            for r in ended.table("leadership")
            if (r["topic"], r["partition"]) == (row["topic"], row["partition"])
        }
        assert row["leader"] in leaders


def gaps(folder: Path, *policies: str | None) -> list[tuple[int, int, str, str]]:
    """Return a partition's gaps as the policies leave them."""
    (directory,) = open_log_directory(folder).partitions
    found = read_log(directory, policies).partition.gaps
    return [(gap.first_offset, gap.last_offset, gap.kind, gap.cause) for gap in found]


@pytest.fixture
def holed(tmp_path: Path) -> Path:
    """Write a log of three segments with offsets missing inside the first, between it and the second, inside the last."""
    folder = tmp_path / "t-0"
    folder.mkdir()
    for base, offsets in ((0, (0, 3)), (6, (6, 7)), (8, (8, 10))):
        data = b"".join(build.batch(build.record(b"v"), base_offset=offset) for offset in offsets)
        (folder / f"{base:020}.log").write_bytes(data)
    return folder


def test_without_a_policy_gaps_stay_as_they_are(holed: Path) -> None:
    """The brokers' default is not known: neither is the cleaner ruled out nor in."""
    unknown = gaps(holed)

    assert [(first, last) for first, last, _, _ in unknown] == [(1, 2), (4, 5), (9, 9)]
    assert gaps(holed, None) == gaps(holed, None, "compact") == unknown


def test_in_a_topic_that_was_never_compacted_no_gap_is_legal(holed: Path) -> None:
    """Whatever a checkpoint of the cleaner says."""
    assert {gap[2] for gap in gaps(holed, "delete")} == {"damage"}
    (holed.parent / "cleaner-offset-checkpoint").write_text("0\n1\nt 0 8\n")
    assert {gap[2:] for gap in gaps(holed, "compact")[:2]} == {("legal", "compaction")}
    assert [gap[2:] for gap in gaps(holed, "delete")] == [
        ("damage", "missing-batches"),
        ("damage", "lost-segment"),
        ("damage", "missing-batches"),
    ]


def test_a_compacted_topic_may_have_gaps_but_in_its_last_segment(holed: Path) -> None:
    """Without any other sign of the cleaner, too; it never touches the segment that is written to."""
    assert [gap[2:] for gap in gaps(holed, "compact,delete")] == [
        ("legal", "compaction"),
        ("legal", "compaction"),
        ("unexplained", "missing-batches"),
    ]


def test_an_index_without_its_segment_is_a_loss_in_a_compacted_topic_too(holed: Path) -> None:
    """The cleaner removes a segment's index along with it."""
    (holed / f"{4:020}.index").write_bytes(b"")

    assert gaps(holed, "compact")[1] == (4, 5, "damage", "lost-segment")


def test_verify_tells_of_absent_partitions_too(copied: Path) -> None:
    """It is the same finding."""
    for path in [path for path in copied.iterdir() if path.is_dir() and not path.name.startswith("__")]:
        shutil.rmtree(path)
    ended = kafkalog("verify", "--format", "ndjson", copied)
    told = [row for row in ended.rows if row.get("code") == "partition-absent"]
    audited = findings("partition-absent", copied)
    names = ("id", "severity", "message", "file")

    assert len(told) > 1
    assert [[row[name] for name in names] for row in told] == [[row[name] for name in names] for row in audited]


def test_another_clusters_metadata_says_nothing(tmp_path: Path) -> None:
    """Two clusters have nodes of one number, and other topics."""
    ended = kafkalog("verify", "--format", "ndjson", WHOLE, FIXTURES / "k4-c-group-offsets-tv0" / "data")

    assert [row for row in ended.rows if row.get("code") in ("partition-absent", "topic-id-differs")] == []

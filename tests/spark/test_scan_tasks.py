"""What scans in a task: what could not be read is tried once more, and a log's heads come to the driver as one row."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from kafkalog.auditing.pipeline import Keeping, SegmentPlace, logs_of, segments_of
from kafkalog.files import opening
from kafkalog.files.limits import Limits
from kafkalog.files.object_stores import StorageOptions
from kafkalog.files.opening import open_unnoticed
from kafkalog.folds.shares import shares_of
from kafkalog.log_dirs.clusters import open_clusters
from kafkalog_spark.between_tasks import FileAccess, begin_task, rows_of
from kafkalog_spark.scan_tasks import HEADS, PLACES, SCANNED, heads, place_row, routed, scan, to_each_share
from kept import LOG, broker


@pytest.fixture
def places(tmp_path: Path) -> list[SegmentPlace]:
    """The segments of one log, of which the first can't be read any more."""
    broker(tmp_path / "broker")
    clusters, _ = open_clusters([tmp_path / "broker"])
    found = [one for one in segments_of(logs_of(clusters, None), 1) if one.log.endswith(LOG)]
    found.sort(key=lambda place: place.split_no)
    os.unlink(found[0].segment.path)
    os.mkdir(found[0].segment.path)
    return found


def scanned(places: list[SegmentPlace], tried_on: str | None, listed_on: str) -> list[pa.RecordBatch]:
    rows = rows_of((place_row(place, tried_on) for place in places), PLACES)
    return list(scan(rows, Limits(), FileAccess(), Keeping(listed_on=listed_on)))


def head(batches: list[pa.RecordBatch]) -> dict[str, object]:
    (row,) = pa.Table.from_batches(heads(of_heads(batches), 0), HEADS).to_pylist()
    return {**row, **json.loads(row.pop("about"))}


def of_heads(batches: list[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        yield batch.filter(pa.array([row == 0 for row in batch["row_no"].to_pylist()])).drop_columns(
            ["group", "content"]
        )


def test_what_could_not_be_read_is_tried_again(places: list[SegmentPlace]) -> None:
    """Its head says on which machine it failed, and counts nothing else; the second time the finding names both."""
    here = platform.node()
    first = scanned(places, None, here)
    failed = {
        row["split_no"] for batch in first for row in batch.select(["split_no", "failed"]).to_pylist() if row["failed"]
    }
    assert failed == {0}
    one = head(first)
    assert one["failed"] == {here: [0]}
    assert one["findings"] == 0
    assert one["scanned"] == len(places) - 1

    again = head(scanned(places[:1], "node-7", "driver"))
    assert (again["failed"], again["findings"], again["scanned"]) == ({}, 1, 1)
    (content,) = (row for batch in scanned(places[:1], "node-7", "driver") for row in batch["content"].to_pylist())
    assert f"is a directory (tried on node-7 and on {here})".encode() in content or b"tried on node-7 and on" in content
    (content,) = (row for batch in scanned(places[:1], here, here) for row in batch["content"].to_pylist())
    assert b"tried" not in content  # a job on one machine


def test_heads_of_a_log_are_joined(places: list[SegmentPlace]) -> None:
    """One row: the newest times, sums of counts, and all producers, whatever is in one segment alone."""
    each = [head(scanned([place], None, platform.node())) for place in places[1:]]
    whole = head(scanned(places[1:], None, platform.node()))
    for name, join in (("newest", max), ("newest_broker", max), ("findings", sum), ("opened", sum), ("scanned", sum)):
        assert whole[name] == join(one[name] for one in each), name  # type: ignore[operator]
    assert len(str(whole["producers"])) >= max(len(str(one["producers"])) for one in each)


def test_a_log_s_place_is_sent_once() -> None:
    """And comes to each of its judges: the shares of its producers, and the log as a whole."""
    (batch,) = rows_of([routed(1, 3, 10, 0, "log", b"a"), routed(2, 1, 11, 0, "log", b"b")], SCANNED)
    made = to_each_share(batch)

    assert made.schema == SCANNED
    got = list(zip(*(made[name].to_pylist() for name in ("group", "share", "log", "content")), strict=True))
    assert got == [(1, share.number, 10, b"a") for share in shares_of(3)] + [(2, 0, 11, b"b")]


def test_no_link_leads_a_task_out_of_a_log_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Which ones there are comes with the task: another process listed them."""
    broker(tmp_path / "broker")
    clusters, _ = open_clusters([tmp_path / "broker"])
    monkeypatch.setattr(opening, "_confined", set())
    (tmp_path / "secret").write_text("x")
    link = Path(clusters[0].nodes[0].partitions[0].log) / "00000000000000000099.log"
    link.symlink_to(tmp_path / "secret")
    os.close(open_unnoticed(str(link)))  # a process that does not know
    begin_task(FileAccess.of(StorageOptions(), clusters))
    with pytest.raises(OSError, match="a symbolic link out of"):
        open_unnoticed(str(link))

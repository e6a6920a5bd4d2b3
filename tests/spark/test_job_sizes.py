"""What a job of any size asks for: within the limits that docs/bulk-arithmetic.md has, which this computes.

Listings are made up, of logs and segments that no disk has; planning, grouping and joining are the job's own.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pytest

from held import rows_in, run
from invoke import PARTITION
from kafkalog.auditing.pipeline import SHARE_BYTES, SPLIT_BYTES, LogPlace, logs_of, segments_of
from kafkalog.auditing.pipeline.run import audit
from kafkalog.auditing.transactions import Summary
from kafkalog.errors import UnsupportedError
from kafkalog.log_dirs.clusters import Cluster, open_clusters
from kafkalog.log_dirs.log_directory import PartitionDirectory, Segment
from kafkalog.quantities import size_text
from kafkalog.tables.manifest import TableFile
from kafkalog_cli.options import SHOWN
from kafkalog_spark import executor, frames, job_sizes
from kafkalog_spark.between_tasks import Seal, rows_of
from kafkalog_spark.bulk_audit import _share_bytes, _sizes
from kafkalog_spark.job_sizes import MOST_TASKS, TABLE_FILE_BYTES, JobSizes, batched, share_bytes_of
from kafkalog_spark.parts import PartFile, _new_name, write_part
from kafkalog_spark.scan_tasks import HEADS, PLACES, SCANNED, heads, place_row
from kafkalog_spark.session import JobPlan
from official import FIXTURES, ROOT
from transactions import Transactions, write_transactions  # the benchmarks are no package

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

LOGS: Final = 20_000
CORES: Final = 400
GIB: Final = 1 << 30
TEXT: Final = (ROOT / "docs" / "bulk-arithmetic.md").read_text()
CLUSTER: Any = SimpleNamespace(sparkContext=SimpleNamespace(defaultParallelism=CORES, getConf=dict))  # its cores alone


class Made(PartitionDirectory):
    """A log whose segments are all as big as its first: nobody counts them one by one."""

    __slots__ = ()

    @property
    def size(self) -> int:
        return len(self.segments) * self.segments[0].size


def listing(logs: int, segments: int) -> list[Cluster]:
    """Make up what listing a cluster gives: each log with as many segments of 1 GiB."""
    (cluster,), _ = open_clusters([PARTITION.parent])
    node = cluster.nodes[0]
    some = tuple(Segment(f"/backups/broker-1/orders-0/{at * GIB:020}.log", at * GIB, GIB) for at in range(segments))
    about = {name: getattr(node.partitions[0], name) for name in PartitionDirectory.__dataclass_fields__}
    first = Made(**{**about, "segments": some, "topic": "orders"})
    made: list[PartitionDirectory] = [replace(first, log=f"/b/orders-{at}", partition=at) for at in range(logs)]
    return [Cluster("c", [replace(node, partitions=made)])]


@cache
def planned(segments: int) -> tuple[list[LogPlace], JobSizes]:
    """Plan an audit of 20,000 logs on 400 cores, as a job does."""
    clusters = listing(LOGS, segments)
    logs = logs_of(clusters, _share_bytes(clusters, CLUSTER, JobPlan(), SHOWN))
    return logs, _sizes(logs, SHOWN, hashed=False)


@pytest.mark.parametrize("segments", [10, 100, 1000])
def test_the_page_has_what_the_code_computes(segments: int) -> None:
    """A row of its table: tasks, shuffle index, what the driver gets, files; none is beyond the limits that it names."""
    _, sizes = planned(segments)
    (row,) = re.findall(rf"^\| 20,000 x {segments:,} \|(.*)\|$", TEXT, re.MULTILINE)
    told = [cell.strip() for cell in row.split("|")]
    small = [(at, 28 << 10) for at in range(sizes.judges)]
    together = sizes.tables * len(batched(small, TABLE_FILE_BYTES))

    assert told == [
        f"{sizes.scans(SPLIT_BYTES):,}", f"{sizes.heads:,}", f"{sizes.judges:,}",
        size_text(sizes.index_bytes(SPLIT_BYTES)), size_text(sizes.driver_bytes), f"{sizes.files:,}", f"{together:,}",
    ]  # fmt: skip
    assert max(sizes.scans(SPLIT_BYTES), sizes.judges) <= MOST_TASKS
    assert sizes.driver_bytes < GIB  # the default of spark.driver.maxResultSize
    assert sizes.index_bytes(SPLIT_BYTES) < 8 << 30
    sizes.check(GIB)


def test_segments_are_shared_out_to_as_many_tasks() -> None:
    """Each of about as many bytes; a segment in the plan, which goes by files, is a row of some 300 bytes."""
    logs = [replace(log, number=at) for at, log in enumerate(planned(10)[0][:: LOGS // 500])]
    sizes = _sizes(logs, SHOWN, hashed=False)
    places = segments_of(logs, sizes.split_bytes(4 * GIB))
    tasks = np.bincount([place.task for place in places])

    assert len(tasks) == sizes.scans(4 * GIB) == len(places) // 4 + 1
    assert tasks.min() >= 3
    assert tasks.max() <= 4
    assert sum(batch.nbytes for batch in rows_of(map(place_row, places), PLACES)) < 300 * len(places)


def test_what_a_machine_without_the_mount_left_is_shared_out_as_well() -> None:
    """A few segments to a few tasks; half of a cluster to as many tasks as would have scanned it."""
    logs = [replace(log, number=at) for at, log in enumerate(planned(10)[0][:: LOGS // 500])]
    places = segments_of(logs, GIB)

    assert executor._tasks_again(places[:3], GIB) == 3
    assert executor._tasks_again(places[:100], GIB * 10) == 64
    assert executor._tasks_again(places, GIB) == len(places) == 5000
    assert executor._tasks_again(places * 10, GIB) == MOST_TASKS


def heads_of(logs: int, segments: int, hosts: int, *, failed: bool = False, hashed: bool = False) -> pa.Table:
    """Join made-up heads of segments that many machines read, each with five producers."""
    ids = np.arange(5).tobytes()
    rows = [
        (log, 0, log, at, 0, "scan", failed, f"ip-10-0-0-{at % hosts}.eu-west-1.compute.internal", 1, 1, 0, 0, -1,
         "0" * 64 if hashed else None, ids, json.dumps({}), b"")
        for log in range(logs) for at in range(segments)
    ]  # fmt: skip
    return pa.Table.from_batches(heads(rows_of(rows, SCANNED), 0), HEADS)


def test_what_the_driver_gets_of_a_log_does_not_grow() -> None:
    """Neither with its segments nor with the machines that read them; a checksum of each is what was asked for."""
    few, many = heads_of(20, 10, 1), heads_of(20, 1000, 100)

    assert max(few.nbytes, many.nbytes) < 20 * job_sizes._OF_LOG
    assert len({host for row in many["about"].to_pylist() for host in json.loads(row)["hosts"]}) == 100
    assert heads_of(20, 1000, 100, hashed=True).nbytes < 20 * (job_sizes._OF_LOG + 1000 * job_sizes._OF_CHECKSUM)
    assert heads_of(1, 1000, 2, failed=True).nbytes < job_sizes._OF_LOG + 1000 * 8  # a machine without the mount
    found = Summary.of(audit([FIXTURES / "v2.8-hanging" / "data", FIXTURES / "k4-k-unclean-election" / "data-2"]))
    assert max(len(Seal().packed(log)) for log in found.logs) < job_sizes._OF_LOG
    file = TableFile(_new_name("remote_segments"), 1 << 40, 1 << 40, "0" * 64)
    assert len(write_part(PartFile("remote_segments", file))) < job_sizes._OF_FILE


@pytest.mark.exhaustive
@pytest.mark.parametrize("segments", [10, 100])
def test_a_listing_of_millions_of_segments_is_shared_out(segments: int) -> None:
    """To the tasks of the page's table, each of as many segments; the plan is a row of less than 300 bytes a segment."""
    logs, sizes = planned(segments)
    places = segments_of(logs, sizes.split_bytes(SPLIT_BYTES))
    tasks = np.bincount([place.task for place in places])

    assert len(places) == LOGS * segments
    assert len(tasks) == sizes.scans(SPLIT_BYTES)
    assert set(tasks) == {len(places) // len(tasks)}
    assert sum(batch.nbytes for batch in rows_of(map(place_row, places), PLACES)) < 300 * len(places)


@pytest.mark.exhaustive
@pytest.mark.parametrize(("segments", "of"), [(10, 1), (100, 1), (1000, 10)])
def test_heads_of_millions_of_segments_are_joined(segments: int, of: int) -> None:
    """Task after task, of the biggest job one of ten: the driver gets no more than was computed, 1 KiB a log."""
    sizes = planned(segments)[1]
    logs = LOGS // sizes.heads
    sent = of * sum(heads_of(logs, segments, 100).nbytes for _ in range(sizes.heads // of))

    assert 0 < sent + sizes.heads * job_sizes._OF_TASK < sizes.driver_bytes
    assert sent < LOGS * job_sizes._OF_LOG


def test_logs_are_shared_out_where_others_would_wait() -> None:
    """One big log on many cores is, also among small ones; many big ones are not; one that no memory holds is."""
    big = 10 * SHARE_BYTES
    assert share_bytes_of(big, 2) <= big
    assert share_bytes_of(big + 1000 * SHARE_BYTES // 100, CORES) <= big
    assert share_bytes_of(big * 4 * CORES + 1, CORES) > big - 1
    assert share_bytes_of(20_000 << 40, CORES) <= 1 << 40
    assert share_bytes_of(1 << 20, CORES) == share_bytes_of(1 << 60, None) == SHARE_BYTES


def test_what_the_driver_can_not_take_is_refused_before_the_scan() -> None:
    """With the number of logs, both sizes, and what to do; a driver without a limit takes all."""
    many = JobSizes(4_000_000, 2_000_000, 2_000_000, 1 << 50, 8)
    with pytest.raises(
        UnsupportedError,
        match=r"send about \S+ GiB of 2,000,000 logs to the driver, more than .*maxResultSize \(1.0 GiB\): raise",
    ):
        many.check(GIB)
    many.check(None)
    of_segments = replace(planned(1000)[1], hashed=True)
    with pytest.raises(UnsupportedError, match="maxResultSize"):
        of_segments.check(GIB)


def test_small_files_are_put_together_in_their_order() -> None:
    """To some bytes each; a big one stays alone, nothing is left out."""
    assert batched([("a", 3), ("b", 3), ("c", 3), ("d", 20), ("e", 1)], 6) == [["a", "b"], ["c"], ["d"], ["e"]]
    assert batched([], 6) == []


@pytest.mark.exhaustive
@pytest.mark.parametrize(("partitions", "transactions"), [(300, 3000), (900, 9000)])
def test_a_job_sends_what_was_computed(
    partitions: int, transactions: int, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a job that runs: its tasks, its shuffle's index files, its files, and all that the driver fetches."""
    write_transactions(tmp_path / "d", Transactions(transactions, 30, partitions=partitions))
    clusters, _ = open_clusters([tmp_path / "d"])
    sizes = _sizes(logs_of(clusters, None), SHOWN, hashed=False)
    local = Path(spark.sparkContext.getConf().get("spark.local.dir", "/tmp"))
    sent: list[tuple[str, int]] = []
    real = frames.fetched

    def fetched(frame: DataFrame, what: str, tell: Any) -> pa.Table:
        table = real(frame, what, tell)
        sent.append((what.split(maxsplit=1)[0], table.nbytes))
        indexes.append({path: path.stat().st_size for path in local.rglob("shuffle_*.index")})
        return table

    indexes: list[dict[Path, int]] = [dict.fromkeys(local.rglob("shuffle_*.index"), 0)]
    monkeypatch.setattr(executor, "fetched", fetched)
    monkeypatch.setattr(executor, "MANY_FILES", 1)
    done = run(spark, [str(tmp_path / "d")], tmp_path / "out", tables=SHOWN, split_bytes=8 << 20)

    assert len(rows_in(tmp_path / "out", "transactions")) == transactions
    assert len(done.summary.logs) == partitions + 1
    assert max(size for what, size in sent if what != "fetch") < sizes.driver_bytes
    made = {path: size for some in indexes for path, size in some.items() if path not in indexes[0]}
    assert 0 < sum(made.values()) < sizes.index_bytes(8 << 20) + len(made) * 64

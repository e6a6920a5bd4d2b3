"""Whatever is lost or damaged on the way, a bulk audit's tables are those of a local audit."""

from __future__ import annotations

import json
import os
import shutil
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

import misbehaving
from held import ALL_TABLES, held, rows_in, rows_of, run
from invoke import kafkalog
from kafkalog import UnreadableError
from kafkalog.auditing.pipeline import logs_of, segments_of
from kafkalog.auditing.pipeline import run as local
from kafkalog.auditing.pipeline.run import audit
from kafkalog.auditing.transactions.audit_result import Audit
from kafkalog.exit_status import Exit
from kafkalog.findings import Severity
from kafkalog.tables import TABLES
from kafkalog_spark import bulk_audit as bulk
from kafkalog_spark import bulk_space, judge_tasks, scan_tasks
from kafkalog_spark.job_output import Output
from kafkalog_spark.request import Request
from kafkalog_spark.source_views import VIEWS, segment_batches
from misbehaving import Failure, KilledWorker, Trouble
from official import FIXTURES

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CASES: Final = ("k4-f-marker-leaderless", "made-damaged", "v2.3-txn-java-clean", "v2.8-hanging")
CHOSEN: Final = sorted(str(data) for case in CASES for data in (FIXTURES / case).glob("data*"))
JUDGED: Final = ("transactions", "partitions", "findings")
SEVERAL: Final = 1 << 20  # a split of some segments: each counts for 256 KiB besides its bytes


@pytest.mark.parametrize(
    "trouble",
    [
        pytest.param(KilledWorker, id="a worker is killed"),
        pytest.param(Failure, id="a task fails twice", marks=pytest.mark.exhaustive),
    ],
)
def test_a_task_that_is_lost_is_done_again(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, trouble: type[Trouble]
) -> None:
    """In the middle of each task its worker is killed once, or it fails twice: no row is lost, none comes twice, no work is left."""
    seen = tmp_path / "seen"
    seen.mkdir()
    monkeypatch.setattr(scan_tasks, "scan", misbehaving.Scan(trouble(seen)))
    monkeypatch.setattr(judge_tasks, "Judge", partial(misbehaving.Judge, trouble(seen)))
    done = run(spark, CHOSEN, tmp_path / "out", split_bytes=SEVERAL, tables=JUDGED)

    assert {found.name for found in (tmp_path / "out").iterdir()} == {*JUDGED, "manifest.json", "provenance.json"}
    for stage in ("scan", "judge"):
        attempts = Counter(trouble(seen).attempts(stage))
        assert len(attempts) == (2 if trouble is KilledWorker else 3)
        assert attempts[0] == attempts[max(attempts)] > 1  # every task, not one of them
    held(done, tmp_path / "out", audit(CHOSEN), JUDGED)


def _vanish(file: Path) -> None:
    file.unlink()


def _tear(file: Path) -> None:
    os.truncate(file, file.stat().st_size - 20)


def _grow(file: Path) -> None:
    with file.open("ab") as more:
        more.write(file.read_bytes())


def _block(file: Path) -> None:
    file.unlink()
    os.mkfifo(file)


def _copy(to: Path, case: str = "v2.3-txn-java-clean") -> tuple[Path, Path]:
    """Copy a fixture's log directory; return it and the file that is to be spoiled."""
    shutil.copytree(FIXTURES / case / "data", to)
    return to, max((to / "orders-0").glob("*.log"))


@pytest.mark.parametrize(
    ("spoil", "code", "status"),
    [
        (_vanish, "log-cut-short", Exit.FINDINGS),  # read again without it
        (_tear, "batch-truncated", Exit.FINDINGS),
        (_grow, None, None),
        (_block, "file-unreadable", Exit.INCOMPLETE),
    ],
    ids=["vanishes", "is torn", "grows", "becomes a pipe"],
)
def test_a_file_that_changes_behind_the_listing(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    spoil: Callable[[Path], None], code: str | None, status: Exit | None,
) -> None:  # fmt: skip
    """Rows tell of it, the job goes on, and the verdict says so; one that grew is read to its listed size."""
    data, file = _copy(tmp_path / "data")
    before = audit([data])

    def spoil_once(line: str) -> None:
        if line.startswith("listed"):
            spoil(file)

    done = run(spark, [str(data)], tmp_path / "out", tables=JUDGED, progress=spoil_once)
    found = _spoiled_locally(tmp_path, monkeypatch, data, file, spoil)

    held(done, tmp_path / "out", found, JUDGED)
    if code is None:
        held(done, tmp_path / "out", before, JUDGED)
    else:
        assert (code, Severity.ERROR) in done.summary.findings or (code, Severity.WARNING) in done.summary.findings
        assert done.verdict.status(Severity.WARNING) is status
        assert done.summary.complete is (status is not Exit.INCOMPLETE)


def _spoiled_locally(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, data: Path, file: Path, spoil: Callable[[Path], None]
) -> Audit:
    """Audit the same files locally; they are spoiled at the same moment."""
    shutil.rmtree(data)
    _copy(data)
    really = local.open_clusters

    def opened(paths: Any) -> Any:
        clusters = really(paths)
        spoil(file)
        return clusters

    with monkeypatch.context() as patch:
        patch.setattr(local, "open_clusters", opened)
        return audit([data])


@pytest.mark.parametrize(
    ("spoil", "status", "complete"),
    [(_block, Exit.INCOMPLETE, False), (_tear, Exit.FINDINGS, True)],
    ids=["a pipe", "torn"],
)
@pytest.mark.exhaustive
def test_a_hostile_file_decides_the_exit_status(
    spark: SparkSession, tmp_path: Path, spoil: Callable[[Path], None], status: Exit, complete: bool
) -> None:
    """As in a local audit: 3 where something could not be read, 1 where bytes are damaged."""
    data, file = _copy(tmp_path / "data")
    spoil(file)
    ended = kafkalog("txn-audit", "--engine", "spark", data, "-o", tmp_path / "out")
    verdict = json.loads((tmp_path / "out" / "verdict.json").read_text())

    assert ended.status == verdict["exit_status"] == status
    assert verdict["complete"] is complete
    assert (tmp_path / "out" / "_SUCCESS").exists()
    assert kafkalog("txn-audit", data).status == status


def _flip(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 0x10
    file.write_bytes(content)


def _blank(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[64:200] = bytes(136)
    file.write_bytes(content)


PARTITIONS: Final = 70
PARTITION_CASES: Final = (
    "v2.3-txn-java-clean/data/orders-0",
    "v2.8-hanging/data/ledger-1",
    "k4-a-interleaved-tv2-killed/data/parcels-parcels.91-0",
    "made-damaged/data/clicks-coupons.10-1",
)
DAMAGE: Final = (_flip, _tear, _blank, _block, _vanish)


def test_damaged_partitions_among_many(spark: SparkSession, tmp_path: Path) -> None:
    """One in seven is damaged, each in its way: the other 60 give what they give without those ten."""
    data, apart = tmp_path / "data", tmp_path / "apart"
    damaged = []
    for number in range(PARTITIONS):
        partition = data / f"topic-{number}"
        shutil.copytree(FIXTURES / PARTITION_CASES[number % len(PARTITION_CASES)], partition)
        if number % 7 == 3:
            damaged.append(partition)
            DAMAGE[number // 7 % len(DAMAGE)](min(partition.glob("*.log")))
    assert len(damaged) == PARTITIONS // 7
    done = run(spark, [str(data)], tmp_path / "out")

    held(done, tmp_path / "out", audit([data]))
    assert len(done.summary.logs) == PARTITIONS
    told = {Path(finding_log).name for finding_log in _column(tmp_path / "out", "findings", "log") if finding_log}
    # Of the two whose segment vanished one has a snapshot, which knows the log's end, the other another topic's id.
    assert len(told & {partition.name for partition in damaged}) == 10
    apart.mkdir()
    for partition in damaged:
        partition.rename(apart / partition.name)
    alone = audit([data])
    names = {str(partition) for partition in damaged}
    for table in ALL_TABLES:
        if "log" not in TABLES[table].names:
            continue  # incidents may be about several logs
        at = TABLES[table].names.index("log")
        others = [row for row in rows_in(tmp_path / "out", table) if row[at] not in names]
        assert others == rows_of(alone, table), table


def _column(folder: Path, table: str, column: str) -> list[Any]:
    at = TABLES[table].names.index(column)
    return [row[at] for row in rows_in(folder, table)]


def _is_away_for_tasks(
    monkeypatch: pytest.MonkeyPatch, module: Any, listed: str, looked_at: str, place: Path
) -> None:  # fmt: skip
    """Let `place` be missing from when the driver has listed it until the driver looks at it again."""
    opened, again, away = getattr(module, listed), getattr(module, looked_at), place.with_name("away")

    def lists(paths: Any) -> Any:
        found = opened(paths)
        place.rename(away)
        return found

    def looks(*arguments: Any) -> Any:
        if away.exists():
            away.rename(place)
        return again(*arguments)

    monkeypatch.setattr(module, listed, lists)
    monkeypatch.setattr(module, looked_at, looks)


@pytest.mark.parametrize(
    ("engine", "what"),
    [
        ("txn-audit", "a partition of an older copy"),
        ("space", "the mount"),
        pytest.param("txn-audit", "the mount", marks=pytest.mark.exhaustive),
        pytest.param("space", "a partition of an older copy", marks=pytest.mark.exhaustive),
    ],
)
def test_executors_that_do_not_see_what_the_driver_sees(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, engine: str, what: str
) -> None:
    """Nothing that no task could read is in order, whatever the driver sees before and after: it is unreadable."""
    data, file = _copy(tmp_path / "data")
    place = data if what == "the mount" else file.parent
    module = bulk if engine == "txn-audit" else bulk_space
    _is_away_for_tasks(
        monkeypatch, module, "open_clusters", "lost_directories" if what == "the mount" else "unseen", place
    )
    if engine == "txn-audit":
        done = run(spark, [str(data)], tmp_path / "out")
        found = [code for (code, _), _ in done.summary.findings.items()]
        assert not done.summary.complete
        assert done.verdict.status(Severity.WARNING) is Exit.INCOMPLETE
    else:
        output = Output(str(tmp_path / "out"))
        output.make_directory(overwrite=False)
        found = [
            finding.code for finding in bulk_space.bulk_space(spark, [str(data)], output, tables=["space"]).findings
        ]
    assert "file-unreadable" in found


def test_a_partition_that_its_broker_deleted_is_no_fault(spark: SparkSession, tmp_path: Path) -> None:
    """Tasks and driver see the log directory without it: a topic was deleted."""
    data, file = _copy(tmp_path / "data")

    def delete(line: str) -> None:
        if line.startswith("listed"):
            shutil.rmtree(file.parent)

    done = run(spark, [str(data)], tmp_path / "out", progress=delete)

    assert done.summary.complete
    assert {code for code, _ in done.summary.findings} >= {"partition-moving"}


def test_a_view_without_the_mount_is_an_error(tmp_path: Path) -> None:
    """Rows that are missing because a machine does not see the disk are not left out silently."""
    data, _ = _copy(tmp_path / "data")
    clusters, _ = local.open_clusters([data])
    request = Request.of({"path": str(data), "view": "records"}, tuple(VIEWS))
    (piece, *_) = segments_of(logs_of(clusters, None), SEVERAL)
    names = request.names(VIEWS["records"])
    assert list(segment_batches(VIEWS["records"], piece, names, request))
    shutil.rmtree(piece.log)
    assert not list(segment_batches(VIEWS["records"], piece, names, request))  # a broker deleted the topic
    data.rename(tmp_path / "unmounted")
    with pytest.raises(UnreadableError, match="no such file"):
        list(segment_batches(VIEWS["records"], piece, names, request))

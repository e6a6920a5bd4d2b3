"""The bulk audit gives what a local audit gives, row for row, whatever is put together in a task."""

from __future__ import annotations

import json
import re
import shutil
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow.parquet as pq
import pytest

import build
import plain
from cleaned_replicas import write_differing
from held import ALL_TABLES, held, listed, rows_in, rows_of, run
from invoke import kafkalog
from kafkalog import few_of_many
from kafkalog.auditing.incidents import rows_of_audit
from kafkalog.auditing.pipeline import places
from kafkalog.auditing.pipeline.run import audit
from kafkalog.auditing.transactions.summary import Summary
from kafkalog.auditing.transactions.surroundings import AuditOptions
from kafkalog.findings import Severity
from kafkalog.segments.readers import batches
from kafkalog.tables import TABLES
from kafkalog.tables.audit_tables import FINDINGS
from kafkalog_spark import executor
from kafkalog_spark.bulk_audit import CorruptInputError
from official import CORPUS, FIXTURES, cases, materialize
from offsets_topic import Write, commit_key, commit_value, write_offsets
from plain import Batch
from side_damage import CASE, DAMAGE, LOG
from state_topic import T, value, write_state
from transactions import Transactions, write_transactions  # the benchmarks are no package

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

WHOLE = sorted(str(data) for case in cases(FIXTURES) for data in case.glob("data*"))
SOME = [path for path in WHOLE if any(name in path for name in ("v2.8-hanging", "made", "unclean", "group-offsets"))]
DAMAGED = str(FIXTURES / "made-damaged" / "data")


@pytest.mark.exhaustive
def test_a_segment_a_task(spark: SparkSession, tmp_path: Path) -> None:
    """Some clusters, every segment a task of its own."""
    done = run(spark, SOME, tmp_path / "out", split_bytes=1)

    held(done, tmp_path / "out", audit(SOME))


def test_the_producers_of_a_log_are_shared_out(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    """As those of a log too big for one task: no row is lost, none comes twice, counts add up."""
    monkeypatch.setattr(places, "LEAST_SHARES", 3)
    tables = tuple(table for table in ALL_TABLES if table != "visible")
    words = ("interleaved-tv2", "fencing", "hanging", "misattributed", "damaged")
    paths = [path for path in WHOLE if any(word in path for word in words)]
    done = run(spark, paths, tmp_path / "out", tables=tables, share_bytes=4096)

    held(done, tmp_path / "out", audit(paths), tables)


@pytest.mark.parametrize(
    "share_bytes",
    [100, pytest.param(None, marks=pytest.mark.exhaustive)],
    ids=["shared out", "not shared out"],
)
def test_replicas_that_give_different_records(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, share_bytes: int | None
) -> None:
    """The newest records of keys, and which transactions are contradicted, are the same as here."""
    monkeypatch.setattr(places, "LEAST_SHARES", 3)
    tables = tuple(table for table in ALL_TABLES if table != "visible")
    differing = write_differing(tmp_path / "in")
    paths = [str(root) for roots in differing.values() for root in roots]
    done = run(spark, paths, tmp_path / "out", tables=tables, share_bytes=share_bytes)

    held(done, tmp_path / "out", audit(paths), tables)
    assert set(differing) <= {code for code, _ in done.summary.findings}


def test_small_files_of_a_table_are_put_together(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    """Of many judges each writes some rows of each table: they are in one file then, and no row is lost."""
    monkeypatch.setattr(executor, "MANY_FILES", 1)
    paths = [DAMAGED, str(FIXTURES / "v2.8-hanging" / "data")]
    done = run(spark, paths, tmp_path / "out", split_bytes=1)

    held(done, tmp_path / "out", audit(paths))
    files = listed(tmp_path / "out")
    assert len(files["transactions"]) == 1
    assert len(files["findings"]) == 2  # the driver's own, too


def test_a_run_has_one_limit(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same transactions are judged as here, also of logs whose producers are shared out; the others are counted."""
    monkeypatch.setattr(few_of_many, "IN_A_LOG", 5)
    monkeypatch.setattr(few_of_many, "IN_A_RUN", 7)
    write_transactions(tmp_path / "d", Transactions(36, 36, partitions=3, outcome="hanging"))
    paths, tables = [str(tmp_path / "d")], ("transactions", "partitions")  # messages name the limits, which tasks keep
    done = run(spark, paths, tmp_path / "out", tables=(*tables, "findings"), share_bytes=1000)
    found = audit(paths)

    assert done.summary.logs == Summary.of(found).logs
    for table in tables:
        assert rows_in(tmp_path / "out", table) == rows_of(found, table), table
    counted, of_tasks = (Counter(row[: FINDINGS.names.index("message")] for row in some if "not-all-judged" in row)
                         for some in (rows_of(found, "findings"), rows_in(tmp_path / "out", "findings")))  # fmt: skip
    assert counted == of_tasks
    assert counted.total() == 3


def test_options_are_those_of_a_local_audit(spark: SparkSession, tmp_path: Path) -> None:
    """What decides over verdicts decides in the tasks too."""
    paths = [str(FIXTURES / "v2.8-hanging" / "data")]
    options = AuditOptions(snapshot=True, now=2**50, max_timeout_ms=1, copy_ms=0)
    done = run(spark, paths, tmp_path / "out", options=options)
    found = audit(paths, options)

    held(done, tmp_path / "out", found)
    assert rows_of(found, "findings") != rows_of(audit(paths), "findings")


@pytest.mark.parametrize(
    "share_bytes", [pytest.param(None, marks=pytest.mark.exhaustive), 1], ids=["whole", "shared out"]
)
def test_what_contradicts_a_snapshot_is_found_in_tasks(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, share_bytes: int | None
) -> None:
    """Markers without decisions, and a checkpoint past a log's end: the first is told, the others are counted."""
    monkeypatch.setattr(places, "LEAST_SHARES", 3)
    for partition in range(3):
        ended = [
            Batch(0, 2 * number + is_marker, 2 * number + is_marker, kind, 1000 + number, 0,
                  coordinator_epoch=is_marker - 1, timestamp=T + 2500 * is_marker)
            for number in range(4) for is_marker, kind in enumerate(("data", "commit"))
        ]  # fmt: skip
        plain.write_segments(tmp_path / "d" / f"t-{partition}", ended)
    states = [(f"tx-{number}", value(1, 1000 + number, partitions=[("t", [0])], update=T)) for number in range(4)]
    write_state(tmp_path / "d", *states)
    (tmp_path / "d" / "replication-offset-checkpoint").write_text("0\n1\nt 1 9\n")
    options = AuditOptions(snapshot=True, state_partitions=1)
    found = audit([tmp_path / "d"], options)
    [told] = [one for one in found.findings() if one.code == "snapshot-contradicted"]
    done = run(spark, [str(tmp_path / "d")], tmp_path / "out", options=options, share_bytes=share_bytes)

    assert told.message.endswith(". 12 more like it")
    held(done, tmp_path / "out", found)


def test_damage_stops_a_job_that_was_told_so(spark: SparkSession, tmp_path: Path) -> None:
    """Before any table is written."""
    with pytest.raises(CorruptInputError, match="1 damaged"):
        run(spark, [DAMAGED], tmp_path / "out", fail_on_corrupt=True)

    assert [found.name for found in (tmp_path / "out").iterdir()] == ["provenance.json"]


def test_a_batch_that_a_broker_was_writing_is_no_damage(spark: SparkSession, tmp_path: Path) -> None:
    """Its beginning is there in a copy of a directory that was in use: a note, and no reason to stop."""
    data = tmp_path / "data"
    shutil.copytree(FIXTURES / "v1.1-txn-java-running" / "data", data)
    (data / ".lock").touch()
    log = max(data.glob("orders-*/*.log"))  # the active segment
    end = list(batches(log))[-1].last_offset + 1
    with log.open("ab") as file:
        file.write(end.to_bytes(8, "big") + bytes(4))
    done = run(spark, [str(data)], tmp_path / "out", fail_on_corrupt=True)

    assert done.summary.findings["batch-truncated", Severity.NOTE] == 1
    held(done, tmp_path / "out", audit([data]))


@pytest.mark.exhaustive  # damaged partitions among many, and each fixture, are in make test-all
def test_findings_of_damaged_directories_are_those_of_a_local_audit(spark: SparkSession, tmp_path: Path) -> None:
    """Every damage of a log and its side files, each in a cluster of its own: same codes, ids, severities, all rows."""
    paths = []
    for number, (damage, _) in enumerate(DAMAGE.values()):
        root = materialize(FIXTURES / CASE, tmp_path / f"{number}") / "data"
        damage(root / LOG)
        about = root / "meta.properties"
        about.write_text(re.sub(r"(?m)^cluster\.id=.{4}", f"cluster.id=d{number:03}", about.read_text()))
        paths.append(str(root))
    found = audit(paths)
    done = run(spark, paths, tmp_path / "out")

    assert len(found.clusters) == len(DAMAGE)
    assert {finding.code for finding in found.findings()} >= {
        "offset-gap-lost", "batch-truncated", "batch-length-wrong", "txn-index-mismatch", "log-cut-short",
        "checkpoint-ahead",
    }  # fmt: skip
    held(done, tmp_path / "out", found)


def test_groups_that_stand_at_damage_have_the_same_lines(spark: SparkSession, tmp_path: Path) -> None:
    """The driver reads where groups stand, as a local audit does."""
    good, bad = (build.batch(build.record(b"v"), base_offset=at) for at in (0, 1))
    (tmp_path / "t-0").mkdir()
    (tmp_path / "t-0" / f"{0:020}.log").write_bytes(good + bad[:-1] + b"?")
    write_offsets(tmp_path, Write(commit_key("billing"), commit_value(1)))
    found = audit([str(tmp_path)])
    done = run(spark, [str(tmp_path)], tmp_path.parent / f"{tmp_path.name}-out")

    assert any("--group billing" in str(row) for row in rows_of_audit(found, "incidents"))
    held(done, tmp_path.parent / f"{tmp_path.name}-out", found)


def test_groups_that_moved_and_that_a_truncation_left_behind_are_told(spark: SparkSession, tmp_path: Path) -> None:
    """They went back, lost what they had committed, and stand past the end of their epoch: as a local audit says."""
    two_epochs = [
        build.batch(build.record(b"v"), base_offset=offset, partition_leader_epoch=offset // 2) for offset in range(4)
    ]
    (tmp_path / "d" / "t-0").mkdir(parents=True)
    (tmp_path / "d" / "t-0" / f"{0:020}.log").write_bytes(b"".join(two_epochs))
    write_offsets(
        tmp_path / "d",
        Write(commit_key("back"), commit_value(3)), Write(commit_key("back"), commit_value(1)),
        Write(commit_key("gone"), commit_value(2)), Write(commit_key("gone"), None),
        Write(commit_key("past"), commit_value(3, epoch=0)),
    )  # fmt: skip
    found = audit([str(tmp_path / "d")])
    done = run(spark, [str(tmp_path / "d")], tmp_path / "out")

    codes = {one.code for one in found.findings()}
    assert codes >= {"offset-went-back", "offset-deleted", "offset-beyond-end"}, codes
    held(done, tmp_path / "out", found)


def test_nothing_there_is_an_answer(spark: SparkSession, tmp_path: Path) -> None:
    """An empty directory and a missing one give empty tables with all columns, and each is told."""
    (tmp_path / "empty").mkdir()
    done = run(spark, [str(tmp_path / "empty"), str(tmp_path / "missing")], tmp_path / "out")

    told = {"findings": 2, "incidents": 1}
    assert {table: len(rows_in(tmp_path / "out", table)) for table in ALL_TABLES} == dict.fromkeys(ALL_TABLES, 0) | told
    assert pq.read_table(tmp_path / "out" / "gaps").column_names == list(TABLES["gaps"].names)
    assert [finding.file for finding in done.summary.refused] == [
        str(tmp_path / "empty"), str(tmp_path / "missing"),
    ]  # fmt: skip
    assert done.verdict.words == "INCOMPLETE"


@pytest.mark.one_job
def test_local_and_spark_audits_are_read_alike(spark: SparkSession, tmp_path: Path) -> None:
    """Some forty clusters in a job, many segments a task: directories, columns, types, footers, rows, by DuckDB and Spark."""
    assert kafkalog("txn-audit", *WHOLE, "-o", tmp_path / "local").status == 3
    ended = kafkalog("txn-audit", "--engine", "spark", *WHOLE, "-o", tmp_path / "bulk")

    assert ended.status == 3
    names = [sorted(path.name for path in (tmp_path / engine).iterdir()) for engine in ("local", "bulk")]
    assert names[0] == names[1]
    assert {"_SUCCESS", "provenance.json", "verdict.json", "transactions"} <= set(names[0])
    verdicts = [json.loads((tmp_path / engine / "verdict.json").read_text()) for engine in ("local", "bulk")]
    runs = [[verdict.pop(name) for verdict in verdicts] for name in ("run_id", "started_ms")]
    assert all(one != other for one, other in runs)  # two runs
    assert verdicts[0] == verdicts[1]
    assert verdicts[0]["exit_status"] == 3
    assert listed(tmp_path / "bulk").keys() == listed(tmp_path / "local").keys()
    for table in ALL_TABLES:
        if table == "visible":
            continue
        local, bulk = tmp_path / "local" / table, tmp_path / "bulk" / table
        query = "SELECT * FROM read_parquet('{}/*.parquet')"
        differ = f"({query.format(local)} EXCEPT ALL {query.format(bulk)})"
        assert duckdb.sql(f"SELECT count(*) FROM {differ}").fetchall() == [(0,)], table
        types = [duckdb.sql(f"DESCRIBE {query.format(folder)}").fetchall() for folder in (local, bulk)]
        assert types[0] == types[1], table
        footers = [footer(next(folder.glob("*.parquet"))) for folder in (local, bulk)]
        assert footers[0] == footers[1], table
        counts = [duckdb.sql(f"SELECT count(*) FROM ({query.format(folder)})").fetchall() for folder in (local, bulk)]
        assert counts[0] == counts[1], table
    for table in ("transactions", "findings"):  # the footers, which are alike, say Spark what the columns are
        frames = [spark.read.parquet(str(tmp_path / engine / table)) for engine in ("local", "bulk")]
        assert frames[0].schema == frames[1].schema, table
        assert frames[0].count() == frames[1].count(), table
    assert spark.read.parquet(str(tmp_path / "local" / "gaps")).schema["kind"].metadata["comment"]


def footer(file: Path) -> Any:
    """What a file says of its columns."""
    return json.loads(pq.read_metadata(file).metadata[b"org.apache.spark.sql.parquet.row.metadata"])


@pytest.mark.corpus
@pytest.mark.parametrize(
    "split_bytes",
    [
        pytest.param(1, id="a segment a task", marks=pytest.mark.exhaustive),
        pytest.param(1 << 27, id="packed"),
    ],
)
def test_one_job_over_the_whole_corpus(spark: SparkSession, tmp_path: Path, split_bytes: int) -> None:
    """Some hundred clusters at once."""
    paths = sorted(str(data) for case in cases(CORPUS) for data in case.glob("data*"))
    assert len(paths) > 50, f"there are no cases in {CORPUS}: nothing was compared"
    done = run(spark, paths, tmp_path / "out", split_bytes=split_bytes)

    held(done, tmp_path / "out", audit(paths))


def test_a_second_copy_of_a_broker_is_not_read(spark: SparkSession, tmp_path: Path) -> None:
    """As in a local audit: only the first one is, and a finding names the other."""
    copies = [str(shutil.copytree(FIXTURES / "k4-c-group-offsets-tv0" / "data", tmp_path / name)) for name in "ab"]
    done = run(spark, copies, tmp_path / "out")

    held(done, tmp_path / "out", audit(copies))
    assert ("directory-twice", copies[1]) in {
        (row["code"], row["file"]) for row in pq.read_table(tmp_path / "out" / "findings").to_pylist()
    }

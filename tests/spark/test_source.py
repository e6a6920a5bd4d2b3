"""``spark.read.format("kafkalog")`` in a session: every view gives what the library gives without Spark."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import kafkalog
import kafkalog_spark
from invoke import PARTITION, SEGMENT
from kafkalog.errors import UnsupportedError
from kafkalog.tables import TABLES
from kafkalog_spark.request import Request
from kafkalog_spark.source_views import VIEWS
from object_store import object_store
from official import FIXTURES
from sourced import DIRECTORIES, OF_LOGS, OF_SEGMENTS, in_order, library_rows, of_table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FEW = [str(FIXTURES / case / "data") for case in ("made-damaged", "k4-c-group-offsets-tv0")]  # each view has rows
HANGING = str(FIXTURES / "v2.8-hanging" / "data")


def read(spark: SparkSession, *paths: str, **options: Any) -> DataFrame:
    return kafkalog_spark.read(spark, paths, options)


def rows_in(view: str, found: DataFrame) -> list[tuple[Any, ...]]:
    """The rows of a view's usual columns, without what its table does not have."""
    return in_order(of_table(view, row.asDict()) for row in found.collect())


@pytest.mark.parametrize("view", [*OF_LOGS, *OF_SEGMENTS])
@pytest.mark.parametrize("few", [True, pytest.param(False, marks=pytest.mark.exhaustive)], ids=["few", "every fixture"])
def test_each_view_gives_the_library_s_rows(view: str, few: bool, spark: SparkSession) -> None:
    """Clusters side by side, several segments and logs to a task; two of the views of all fixtures in any case."""
    directories = FEW if few and view not in {"transactions", "records"} else DIRECTORIES
    found, rows = read(spark, *directories, view=view), library_rows(view, *directories)

    assert rows_in(view, found) == rows != []
    assert set(found.columns) >= {*TABLES[view].usual, "topic", "partition", "log"}


def test_a_directory_alone_shows_its_transactions(spark: SparkSession) -> None:
    """The view that nobody names; Spark filters, sorts and counts as it does elsewhere."""
    found = read(spark, HANGING)
    expected = [row for row in library_rows("transactions", HANGING) if "hanging" in row]

    assert rows_in("transactions", found.where("state = 'hanging'")) == expected
    assert expected
    assert found.schema["producer_id"].metadata["comment"] == "the producer id"


def test_only_the_columns_that_are_named_are_made(spark: SparkSession) -> None:
    """In their order; a view has them by name, whatever it would have else."""
    found = read(spark, *DIRECTORIES, view="batches", columns="producer_id, file,crc_holds")
    whole = library_rows("batches", *DIRECTORIES)
    places = [TABLES["batches"].usual.index(name) for name in ("producer_id", "file", "crc_holds")]

    assert found.columns == ["producer_id", "file", "crc_holds"]
    assert in_order(found.collect()) == in_order([row[place] for place in places] for row in whole)


def of_library(data: str, view: str) -> list[dict[str, Any]]:
    """Return the rows of a directory as the library has them."""
    logs = kafkalog.open(data, on_finding=lambda _: None)
    rows: list[dict[str, Any]] = (logs.records() if view == "records" else logs.batches()).to_arrow().to_pylist()
    return rows


@pytest.mark.parametrize("view", ["records", "batches"])
def test_records_know_what_became_of_them(view: str, spark: SparkSession) -> None:
    """With the columns that only a whole log tells: the rows are those of the library, of one replica and of several."""
    for cases in (("v2.8-hanging", "k4-a-interleaved-tv2", "k4-f-hanging-late-produce-tv0"), ("made-damaged",)):
        data = [str(FIXTURES / case / "data") for case in cases]
        rows = [row for one in data for row in of_library(one, view)]
        found = read(spark, *data, view=view, columns="*")

        assert set(found.columns) >= set(TABLES[view].names)
        assert in_order(found.select(*TABLES[view].names).collect()) == in_order(row.values() for row in rows), cases
    few = read(spark, *data, view=view, columns="outcome,PARTITION")
    assert few.columns == ["outcome", "partition"]
    assert in_order(few.collect()) == in_order((row["outcome"], row["partition"]) for row in rows)
    nodes = sorted(map(str, (FIXTURES / "remedies" / "fork-dead-leader").glob("data-*")))
    both = read(spark, *nodes, view=view, columns="log,outcome", topic="t")
    assert {row.log for row in both.collect()} >= {f"{node}/t-0" for node in nodes[1:]}


def test_one_task_for_each_segment_gives_the_same(spark: SparkSession) -> None:
    """Where a task's share is next to nothing."""
    case = str(FIXTURES / "k4-i-retention-delete-records" / "data")
    found = read(spark, case, view="records", splitBytes="1")

    segments = len(list(Path(case).glob("*-*/*.log")))
    assert found.rdd.getNumPartitions() == segments
    assert rows_in("records", found) == library_rows("records", case)


def test_patterns_and_topics_choose(spark: SparkSession) -> None:
    """Paths with stars in them, and of what lies there the topics that are asked for."""
    found = read(spark, f"{FIXTURES}/v?.8-codecs/da*", view="segments", topic="append-*")
    case = str(FIXTURES / "v2.8-codecs" / "data")
    expected = [row for row in library_rows("segments", case) if row[1].startswith("append-")]

    assert rows_in("segments", found) == expected
    assert expected


def test_filters_go_down_where_the_session_lets_them(spark: SparkSession) -> None:
    """The rows are the same with and without; a session that does not let them never sees the reader that takes them.

    Before Spark 4.1 there is nothing to push: the option changes no row.
    """
    case = str(PARTITION.parent)
    offset, producer = (TABLES["records"].usual.index(name) for name in ("offset", "producer_id"))
    someone = next(row[producer] for row in library_rows("records", case) if row[offset] == 20)
    condition = f"offset >= 10 and offset < 30 and producer_id = {someone}"
    without = in_order(read(spark, case, view="records").where(condition).collect())
    spark.conf.set("spark.sql.python.filterPushdown.enabled", "true")
    try:
        pushed = read(spark, case, view="records", pushdown="true").where(condition)
        assert in_order(pushed.collect()) == without
    finally:
        spark.conf.unset("spark.sql.python.filterPushdown.enabled")
    assert without


def test_what_can_not_be_read_is_a_row_and_no_end(spark: SparkSession, tmp_path: Path) -> None:
    """A link that leads nowhere, a FIFO, garbage: the job goes on, and the view of findings tells."""
    copy = tmp_path / "data"
    shutil.copytree(PARTITION.parent, copy)
    for name in ("gone-0", "pipe-0", "noise-0"):
        (copy / name).mkdir()
    (copy / "gone-0" / SEGMENT.name).symlink_to(tmp_path / "nowhere")
    os.mkfifo(copy / "pipe-0" / SEGMENT.name)
    (copy / "noise-0" / SEGMENT.name).write_bytes(bytes(range(256)) * 8)
    told = read(spark, str(copy), view="findings", columns="code,file").collect()
    rows = read(spark, str(copy), view="batches", columns="base_offset").count()

    codes = {(row.code, Path(row.file).parent.name) for row in told}
    assert {("link-leaves", "gone-0"), ("file-unreadable", "pipe-0")} <= codes
    assert [code for code, name in codes if name == "noise-0"]
    assert rows == len(library_rows("batches", str(PARTITION.parent)))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"view": "batch"}, "view 'batch' does not exist: the views are transactions, batches"),
        ({"view": "batches", "columns": "producer"}, "batches has no column 'producer': did you mean producer_id"),
        ({"colums": "file"}, "option 'colums' does not exist: did you mean columns?"),
        ({"path": "wasbs://c@a/x"}, "wasbs: is no file system that kafkalog knows: write abfss://"),
        ({"workFolder": "dbfs:/x"}, "option workfolder: dbfs: is no file system that kafkalog knows: write /dbfs/"),
        ({"splitBytes": "much"}, "option splitbytes: 'much' is not a number of bytes, such as 1048576 or 1MiB"),
        ({"now": "today"}, "option now: 'today' is not a time, such as 2026-11-21T03:00:00Z or 1795230000000"),
    ],
    ids=str,
)
def test_what_can_not_be_asked_is_told(options: dict[str, str], said: str) -> None:
    """Before anything is read, with what could have been meant; that Spark hands on these words is tested elsewhere."""
    with pytest.raises(UnsupportedError, match=said):
        request = Request.of({"path": str(PARTITION), **options}, tuple(VIEWS))
        request.names(VIEWS[request.view])


def test_a_path_that_is_not_there_ends_the_query(spark: SparkSession, tmp_path: Path) -> None:
    """None of several, too; an empty answer would look like an empty log. Among findings it is one."""
    with pytest.raises(Exception, match="no such file or directory"):
        read(spark, str(tmp_path / "none")).collect()
    (row,) = read(spark, str(tmp_path / "none"), view="findings").collect()

    assert (row.code, row.file) == ("file-unreadable", str(tmp_path / "none"))


def test_an_object_store_gives_the_same(spark: SparkSession) -> None:
    """Tasks find it by the options; each of them makes connections of its own."""
    local = str(PARTITION.parent)
    with object_store() as store:
        uri = store.upload(PARTITION.parent, "broker-1", public=True)
        where = {"endpoint": store.endpoint, "region": "us-east-1", "anonymous": "true", "splitBytes": "1"}
        for view in ("transactions", "records"):
            found = rows_in(view, read(spark, uri, view=view, **where))
            expected = in_order(
                tuple(cell.replace(local, uri) if isinstance(cell, str) else cell for cell in row)
                for row in library_rows(view, local)
            )
            assert found == expected

"""Tables that a catalogue keeps: views of log directories, and what an audit wrote, put into a lake by Spark itself."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest

from invoke import kafkalog
from kafkalog_spark.frames import has_data_sources
from official import FIXTURES
from sourced import in_order, library_rows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HANGING = str(FIXTURES / "v2.8-hanging" / "data")


@pytest.fixture
def tables(spark: SparkSession) -> Iterator[SparkSession]:
    """A session whose tables go when the test ends."""
    yield spark
    for name in ("lake", "seen", "seen_as_well"):
        spark.sql(f"DROP TABLE IF EXISTS {name}")


@pytest.mark.skipif(not has_data_sources(), reason="data sources came with Spark 4.0")
def test_a_view_is_a_table(tables: SparkSession) -> None:
    """With the options of its statement, whatever properties the catalogue hands on with them."""
    records = library_rows("records", HANGING)
    tables.sql(
        f"CREATE TABLE seen USING kafkalog OPTIONS (path '{HANGING}', view 'records', columns 'offset,timestamp')"
        " COMMENT 'what a broker has' TBLPROPERTIES ('a.b' = 'c')"
    )
    assert tables.table("seen").columns == ["offset", "timestamp"]
    assert tables.table("seen").count() == len(records)

    tables.sql(f"CREATE TABLE seen_as_well USING kafkalog LOCATION '{HANGING}'")
    assert tables.table("seen_as_well").count() == len(library_rows("transactions", HANGING))


def test_an_audit_goes_into_a_lake(tables: SparkSession, tmp_path: Path) -> None:
    """By Spark's own writer; of an audit by a version that lacked a column, its cells are null."""
    assert kafkalog("txn-audit", "--exit-zero", HANGING, "-o", tmp_path / "new").status == 0
    (file,) = (tmp_path / "new" / "transactions").glob("*.parquet")
    whole = pq.read_table(file)
    (tmp_path / "old").mkdir()
    pq.write_table(whole.drop_columns(["certainty"]), tmp_path / "old" / "part.parquet")

    audits = [str(tmp_path / "new" / "transactions"), str(tmp_path / "old")]
    both = tables.read.option("mergeSchema", "true").parquet(*audits)
    both.write.format("parquet").mode("append").saveAsTable("lake")
    names = [name for name in whole.schema.names if name != "certainty"]
    cells = [[row[name] for name in names] for row in whole.to_pylist()]
    assert in_order(tables.table("lake").select(*names).collect()) == in_order([*cells, *cells])
    missing = tables.table("lake").where("certainty is null").count()
    assert missing == whole.num_rows + whole["certainty"].null_count

"""Spark reads the Parquet and Arrow files of a dump without this package."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from invoke import SEGMENT, kafkalog, rows_of
from kafkalog_spark.frames import has_data_sources

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_a_query_gives_what_ndjson_has(spark: SparkSession, tmp_path: Path) -> None:
    """Numbers as differences, words as dictionaries, text and lists of structures."""
    out = tmp_path / "out.parquet"
    kafkalog("dump", "--table", "records", "-o", out, SEGMENT)
    rows = rows_of("--table", "records", SEGMENT)
    names = ("offset", "timestamp_ms", "sequence", "timestamp_type", "key", "value", "headers")

    found = spark.read.parquet(f"file://{out}").orderBy("offset").select(*names).collect()
    assert [row.asDict(recursive=True) for row in found] == [{name: row[name] for name in names} for row in rows]


@pytest.mark.skipif(not has_data_sources(), reason="Spark makes DataFrames of Arrow's tables from 4.0 on")
def test_an_arrow_file_becomes_a_data_frame(spark: SparkSession, tmp_path: Path) -> None:
    """Its table is what Spark makes one of; words in dictionaries are text there."""
    out = tmp_path / "out.arrow"
    kafkalog("dump", "--table", "records", "--columns", "offset,key,value,headers", "-o", out, SEGMENT)
    rows = rows_of("--table", "records", SEGMENT)
    names = ("offset", "key", "value", "headers")

    found = spark.createDataFrame(pa.ipc.open_file(out).read_all()).orderBy("offset").select(*names).collect()
    assert [row.asDict(recursive=True) for row in found] == [{name: row[name] for name in names} for row in rows]

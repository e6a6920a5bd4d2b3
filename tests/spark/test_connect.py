"""The data source under Spark Connect: a client that shares nothing with the server but the connection."""

from __future__ import annotations

import subprocess
import sys

import pytest

from official import FIXTURES
from sourced import library_rows

HANGING = str(FIXTURES / "v2.8-hanging" / "data")
CLIENT = """
import sys
from pyspark.sql import SparkSession
builder = SparkSession.builder.remote("local[2]")
for setting in sys.argv[2:]:
    builder = builder.config(*setting.split("=", 1))
spark = builder.getOrCreate()
assert ".connect." in type(spark).__module__
read = spark.read.format("kafkalog").option("columns", "topic,partition,first_offset,state")
found = read.load(sys.argv[1]).where("state = 'hanging'").collect()
print(sorted((row.topic, row.partition, row.first_offset) for row in found))
spark.stop()
"""
SETTINGS = (
    "spark.driver.host=127.0.0.1",
    "spark.driver.extraJavaOptions=-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.sql.shuffle.partitions=2",
    "spark.ui.enabled=false",
)


@pytest.mark.exhaustive
def test_a_connected_client_gets_the_same(needs_spark: None) -> None:
    """A server on this machine finds the source by its name, and its workers import it."""
    pytest.importorskip("grpc", reason="Spark Connect needs pyspark[connect]")
    pytest.importorskip("pyspark.sql.datasource", reason="data sources came with Spark 4.0")
    ended = subprocess.run(
        [sys.executable, "-c", CLIENT, HANGING, *SETTINGS], capture_output=True, text=True, timeout=300, check=False
    )
    hanging = sorted((row[1], row[2], row[7]) for row in library_rows("transactions", HANGING) if "hanging" in row)

    assert ended.stdout.splitlines() == [str(hanging)], ended.stderr
    assert hanging

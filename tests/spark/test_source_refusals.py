"""What the data source refuses, and in which words; whether it needs a session or not."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from invoke import PARTITION
from kafkalog.errors import UnreadableError, UnsupportedError

pytest.importorskip("pyspark.sql.datasource", reason="the data source needs Spark 4.0")

from pyspark.sql.types import LongType, StringType, StructType

from kafkalog_spark.data_source import KafkalogSource
from kafkalog_spark.source_tasks import _around
from official import FIXTURES

if TYPE_CHECKING:
    from pyspark.sql import DataFrameReader, SparkSession


def source(*paths: str | Path, **options: str) -> KafkalogSource:
    return KafkalogSource({"paths": str([str(path) for path in paths]).replace("'", '"'), **options})


def planned(one: KafkalogSource) -> list[Any]:
    reader: Any = one.reader(one.schema())
    return list(reader.partitions())


@pytest.mark.parametrize("view", ["transactions", "records", "segments"])
def test_a_missing_path_fails_the_query(view: str, tmp_path: Path) -> None:
    """An answer about less than was asked for would look like a good one; an option allows it."""
    with pytest.raises(UnreadableError, match=r"nope.*ignoreMissing"):
        planned(source(PARTITION, tmp_path / "nope", view=view))
    assert len(planned(source(PARTITION, tmp_path / "nope", view=view, ignoreMissing="true"))) == len(
        planned(source(PARTITION, view=view))
    )


def test_no_path_at_all_fails_whatever_is_ignored(tmp_path: Path) -> None:
    """There is nothing to read."""
    with pytest.raises(UnreadableError, match="nope"):
        planned(source(tmp_path / "nope", view="records", ignoreMissing="true"))


def test_what_all_tasks_need_goes_through_a_folder(tmp_path: Path) -> None:
    """It is there once, no task has it, the rows are the same; a file that was changed is refused, and evidence."""
    data = FIXTURES / "v2.8-hanging" / "data"

    def rows(**options: str) -> list[dict[str, Any]]:
        reader: Any = source(data, splitBytes="1", **options).reader(source(data).schema())
        tasks = reader.partitions()
        sizes.append(max(len(pickle.dumps(task.value.around)) for task in tasks))
        return [row for task in tasks for batch in reader.read(task) for row in batch.to_pylist()]

    sizes: list[int] = []
    folder = tmp_path / "work"
    assert rows(workFolder=str(folder)) == rows(workFolder=folder.as_uri()) == rows()
    assert max(sizes[:2]) < 300 < sizes[2]
    [file] = folder.iterdir()
    file.write_bytes(file.read_bytes()[:-1] + b"?")
    _around.cache_clear()
    with pytest.raises(UnreadableError, match="was changed"):
        rows(workFolder=str(folder))
    with pytest.raises(UnsupportedError, match="never writes there"):
        rows(workFolder=str(data / "work"))


def test_column_names_have_no_case() -> None:
    """As elsewhere in Spark: in the option, and in a schema, whose names the rows then have."""
    named = source(PARTITION, view="records", columns="OFFSET, Key_Size,offset")
    assert named.schema().fieldNames() == ["offset", "key_size"]

    schema = StructType().add("OFFSET", LongType()).add("Value_Size", LongType())
    reader: Any = source(PARTITION, view="records").reader(schema)
    batches = [batch for task in reader.partitions() for batch in reader.read(task)]
    assert batches[0].schema.names == ["OFFSET", "Value_Size"]
    assert batches[0].column(0)[0].as_py() == 0


def test_a_column_that_is_named_twice_is_refused() -> None:
    """Spark itself cannot tell them apart."""
    schema = StructType().add("OFFSET", LongType()).add("offset", LongType())
    with pytest.raises(UnsupportedError, match="twice"):
        source(PARTITION, view="records").reader(schema)


def test_a_column_of_another_type_is_refused() -> None:
    """Spark's own worker would fail with a trace of Python, when the first row comes."""
    for schema, said in (
        (StructType().add("offset", StringType()), r"column offset of records is bigint, the schema says string"),
        (StructType().add("HEADERS", StringType()), "column headers of records is array<struct<"),
    ):
        with pytest.raises(UnsupportedError, match=said):
            source(PARTITION, view="records").reader(schema)
    whole = source(PARTITION, view="records").schema()
    assert source(PARTITION, view="records").reader(whole)


def test_errors_are_words(spark: SparkSession, tmp_path: Path) -> None:
    """They say what is wrong and have no trace of Python."""
    from pyspark.errors import PySparkException

    def read(view: str) -> DataFrameReader:  # a reader keeps its options and its schema
        return spark.read.format("kafkalog").option("view", view)

    for make, word in (
        (lambda: read("records").schema("offset string").load(str(PARTITION)).count(), "is bigint"),
        (lambda: read("nonsense").load(str(PARTITION)), "view 'nonsense' does not exist"),
        (
            lambda: read("records").load([str(PARTITION), str(tmp_path / "nope")]).count(),
            "ignoreMissing",
        ),
    ):
        with pytest.raises(PySparkException) as caught:
            make()
        assert word in str(caught.value)
        assert "Traceback" not in str(caught.value)


def test_a_stream_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    """In words that say what to call instead."""
    from pyspark.errors import PySparkException

    stream = spark.readStream.format("kafkalog").load(str(PARTITION))
    with pytest.raises(PySparkException) as caught:
        stream.writeStream.format("noop").option("checkpointLocation", str(tmp_path)).start().processAllAvailable()
    assert "spark.read, not spark.readStream" in str(caught.value)
    assert "UnboundLocalError" not in str(caught.value)


def test_names_of_any_case_come_back_from_a_session(spark: SparkSession) -> None:
    """A schema's names are those of the result."""
    found = spark.read.format("kafkalog").option("view", "records").schema("OFFSET bigint").load(str(PARTITION))
    assert found.columns == ["OFFSET"]
    assert found.where("offset = 0").count() == 1

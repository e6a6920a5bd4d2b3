"""``spark.read.format("kafkalog")``: every view gives what the library gives without Spark."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final

import pytest

from kafkalog.audit.rows import audit_rows
from kafkalog.audit.run import audit, open_clusters
from kafkalog.audit.scan import scan_segment
from kafkalog.audit.segments import segment_row
from kafkalog.log.rows import segment_rows
from kafkalog.log.segment import segment_chunks
from kafkalog.log.selection import Selection
from kafkalog.tables import TABLES
from kafkalog.tables.arrow import arrow_batches, arrow_schema
from official import FIXTURES

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.usefixtures("spark")

OF_LOGS: Final = ("transactions", "findings", "gaps", "producers")
OF_SEGMENTS: Final = ("batches", "records", "control", "segments")
# No broker's: directories that hold several data directories are several inputs.
DIRECTORIES: Final = [str(path) for path in sorted(FIXTURES.glob("*/data*")) if path.is_dir()]

Row = tuple[Any, ...]


def in_order(rows: Iterable[Row]) -> list[Row]:
    return sorted(map(tuple, rows), key=repr)


def read(spark: SparkSession, view: str, *paths: str, **options: object) -> DataFrame:
    return spark.read.format("kafkalog").options(view=view, **options).load(list(paths))


def local_rows(view: str, *paths: str) -> list[Row]:
    """The same by the library alone, in Arrow's types."""
    rows = audit_rows(audit(paths), view) if view in OF_LOGS else _of_segments(view, paths)
    return in_order(
        tuple(row.values()) for batch in arrow_batches(rows, arrow_schema(TABLES[view])) for row in batch.to_pylist()
    )


def _of_segments(view: str, paths: tuple[str, ...]) -> Iterator[Row]:
    for cluster in open_clusters(paths)[0]:
        for _, directory in cluster.wanted():
            for segment in directory.segments:
                if view == "segments":
                    yield segment_row(directory, scan_segment(directory, segment))
                    continue
                chunks = segment_chunks(segment.path, max_bytes=segment.size)
                for item in segment_rows(segment.path, chunks, {view}, Selection()):
                    if isinstance(item[0], type(TABLES[view])):
                        yield item[1]


@pytest.mark.parametrize("view", [*OF_LOGS, *OF_SEGMENTS])
def test_every_fixture_at_once_gives_the_local_rows(view: str, spark: SparkSession) -> None:
    """Of each view, all clusters side by side, several segments and logs to a task."""
    found = read(spark, view, *DIRECTORIES)

    assert in_order(found.collect()) == local_rows(view, *DIRECTORIES)
    assert tuple(found.columns) == TABLES[view].names

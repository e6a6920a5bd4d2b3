"""The session that the other tests run in."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import kafkalog

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession


def _home(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    for batch in batches:
        yield pa.RecordBatch.from_pydict({"home": [str(kafkalog.__file__)] * batch.num_rows})


def test_a_worker_imports_the_checkout_that_the_test_does(spark: SparkSession) -> None:
    """Not an installed kafkalog, wherever the tests are started from."""
    homes = spark.range(0, 2, 1, 2).mapInArrow(_home, "home string").collect()

    assert [row.home for row in homes] == [kafkalog.__file__] * 2

"""A judging task that carries the rows of the smallest segments over; workers import it by its name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from kafkalog.auditing.partition import cuts
from kafkalog_spark import tasks

if TYPE_CHECKING:
    import pyarrow as pa


class Judge:
    """Stands for ``tasks.Judge`` in the driver."""

    def __init__(self, *args: Any) -> None:
        self.args = args

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        before, cuts.LEAST_ROWS = cuts.LEAST_ROWS, 1  # type: ignore[misc]  # of a worker that others use, too
        try:
            yield from tasks.Judge(*self.args)(batches)
        finally:
            cuts.LEAST_ROWS = before  # type: ignore[misc]  # as above

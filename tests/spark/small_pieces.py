"""Tasks that treat the smallest segments like big ones; workers import them by their names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from kafkalog_spark import scan_tasks

if TYPE_CHECKING:
    import pyarrow as pa


class Scan:
    """Stands for ``scan_tasks.scan`` in the driver: judges read every kept scan from its file."""

    def __call__(self, batches: Iterable[pa.RecordBatch], *args: Any, **options: Any) -> Iterator[pa.RecordBatch]:
        before = scan_tasks.MANY_ROWS
        scan_tasks.MANY_ROWS = 0  # type: ignore[misc]  # of a worker that others use, too
        try:
            yield from scan_tasks.scan(batches, *args, **options)
        finally:
            scan_tasks.MANY_ROWS = before  # type: ignore[misc]  # as above

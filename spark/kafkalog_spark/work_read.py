"""The tables of a job as its report reads them, before they count: from the files of its tasks and its driver."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pyarrow.parquet as pq

from kafkalog.auditing.transactions import Summary
from kafkalog.reports import ClusterRead, WrittenAudit
from kafkalog_spark.job_output import Output
from kafkalog_spark.parts import PartFile

__all__ = ["WorkAudit"]


class WorkAudit(WrittenAudit):
    """An audit whose files are in an output's work: they are this job's own, so nothing is checked."""

    def __init__(
        self, output: Output, parts: Iterable[PartFile], summary: Summary, about: list[ClusterRead]
    ) -> None:  # fmt: skip
        """Name the files of all tables; `parts` are those of the tasks."""
        self._filesystem, self._paths = output.filesystem, dict[str, list[str]]()
        for table, file in (*output.written, *parts):
            self._paths.setdefault(table, []).append(f"{output.work_path}/{file.name}")
        self.tables = frozenset(self._paths)
        self.verdict, self.totals, self.complete = summary.verdict(), summary.totals(), summary.complete
        self.worst = None if summary.worst is None else summary.worst.word
        self.scope, self._about = summary.scope(), about

    def batches(self, table: str, columns: Sequence[str] | None = None) -> Iterator[Any]:
        """Yield a table's batches."""
        for path in self._paths.get(table, ()):
            with self._filesystem.open_input_file(path) as stream, pq.ParquetFile(stream) as parquet:
                yield from parquet.iter_batches(columns=columns)

"""The tables of what one task judges: some go to files, some to the driver, as rows of ``tasks.JUDGED``.

Rows of many partitions are put together: making a batch of Arrow costs as much as some hundred rows of it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice
from typing import Final

import pyarrow as pa

from kafkalog.auditing.incidents import is_lost, needed
from kafkalog.auditing.pipeline import write_counts
from kafkalog.auditing.transactions import (
    MANY_ROWS,
    Judgement,
    LogAudit,
    gap_rows,
    log_rows,
    notable_columns,
)
from kafkalog.columns.named import Columns
from kafkalog.findings import Severity
from kafkalog.folds.shares import Share
from kafkalog.segments.file_rows import finding_rows
from kafkalog.tables import TABLES, Table
from kafkalog.tables.arrow import arrow_batches, arrow_schema
from kafkalog.tables.audit_tables import FINDINGS, GAPS, NOTABLE, PRODUCERS, TRANSACTIONS
from kafkalog_spark.between_tasks import Row
from kafkalog_spark.parts import PartFile, PartFiles, write_part

__all__ = ["EXPLAINED", "LOST", "PART", "JudgedTables"]

PART: Final = "part"  # a file of a table
EXPLAINED: Final = "explained"  # the findings that incidents need
LOST: Final = "lost"  # the gaps that they need

_ROWS: Final = 1 << 12
_GATHERED: Final = 1 << 14  # rows that are columns
_COLUMNS: Final[dict[str, Callable[[LogAudit], Iterator[Columns]]]] = {
    TRANSACTIONS.name: MANY_ROWS[TRANSACTIONS.name],
    PRODUCERS.name: MANY_ROWS[PRODUCERS.name],
    NOTABLE.name: notable_columns,
}
_TABLES: Final[dict[str, Table]] = {**TABLES, NOTABLE.name: NOTABLE, EXPLAINED: FINDINGS, LOST: GAPS}


class JudgedTables:
    """What a task makes of its partitions: rows of the `tables` in files, those of the `kinds` for the driver, counts.

    `sizes` are bytes of what else the task sends, by its kind.
    """

    def __init__(self, tables: tuple[str, ...], kinds: tuple[str, ...], files: PartFiles) -> None:
        self._tables = tables
        self._kinds = kinds
        self._files = files
        self._codes: Counter[tuple[str, Severity]] = Counter()
        self.sizes: Counter[str] = Counter()
        self._rows: dict[tuple[str, int], list[Row]] = {}  # not yet in a batch, by table and cluster
        self._columns: dict[tuple[str, int], list[Columns]] = {}  # ditto
        self._gathered_rows: Counter[tuple[str, int]] = Counter()

    def add(self, cluster: int, share: Share, found: Judgement) -> Iterator[Row]:
        """Add what was judged; yield rows of ``tasks.JUDGED`` of what is complete."""
        self._codes.update((finding.code, finding.severity) for finding in found.findings)
        for log in found.logs:
            self._codes.update((finding.code, finding.severity) for finding in log.findings)
        for name in (*self._tables, *self._kinds):
            if name in _COLUMNS:
                for log in found.logs:
                    for columns in _COLUMNS[name](log):
                        yield from self._gathered(name, cluster, columns)
                continue
            rows = iter(_rows_of(name, share, found))
            held = self._rows.setdefault((name, cluster), [])
            held += islice(rows, _ROWS - len(held))
            while len(held) == _ROWS:
                yield from self._complete(name, cluster)
                held += islice(rows, _ROWS)

    def _gathered(self, name: str, cluster: int, columns: Columns) -> Iterator[Row]:
        """Add rows that are columns; yield rows of ``tasks.JUDGED`` of what is complete."""
        key = (name, cluster)
        self._columns.setdefault(key, []).append(columns)
        self._gathered_rows[key] += len(columns)
        if self._gathered_rows[key] >= _GATHERED:
            yield from self._together(*key)

    def _together(self, name: str, cluster: int) -> Iterator[Row]:
        parts, self._gathered_rows[name, cluster] = self._columns.pop((name, cluster)), 0
        whole = Columns.chained(parts, parts[0].names)
        yield from self._written(name, cluster, whole.to_arrow(arrow_schema(_TABLES[name])))

    def rest(self) -> Iterator[Row]:
        """Yield rows of ``tasks.JUDGED`` of all that is left; files are complete then."""
        for name, cluster in self._rows:
            yield from self._complete(name, cluster)
        for name, cluster in list(self._columns):
            yield from self._together(name, cluster)
        yield from map(_part_row, self._files.close())
        yield ("counts", -1, 0, 0, write_counts(self._codes, self.sizes))

    def _complete(self, name: str, cluster: int) -> Iterator[Row]:
        rows = self._rows[name, cluster]
        for batch in arrow_batches(rows, arrow_schema(_TABLES[name])):
            yield from self._written(name, cluster, batch)
        rows.clear()

    def _written(self, name: str, cluster: int, batch: pa.RecordBatch) -> Iterator[Row]:
        if name in self._tables:
            yield from map(_part_row, self._files.write(name, batch))
        else:
            yield (name, cluster, 0, batch.num_rows, _ipc(batch))


def _rows_of(name: str, share: Share, found: Judgement) -> Iterable[Row]:
    """Return the rows of a table or a kind; of what is about whole logs, those that are this share's."""
    if name == EXPLAINED:
        return filter(needed, _findings(found))
    if name == "findings":
        return _findings(found)
    if name == LOST:
        gaps = chain.from_iterable(gap_rows(log.partition) for log in found.logs if share.of_log)
        return filter(is_lost, gaps)
    if name == GAPS.name and not share.of_log:
        return ()  # whoever wrote in the log
    return chain.from_iterable(log_rows(log, name) for log in found.logs)


def _findings(found: Judgement) -> Iterator[Row]:
    of_logs = (row for log in found.logs for row in finding_rows(log.findings, log.node.node_id))
    return chain(finding_rows(found.findings), of_logs)


def _ipc(batch: pa.RecordBatch) -> bytes:
    """Return a batch as bytes, with only the names and types of its schema."""
    batch = batch.replace_schema_metadata(None)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return bytes(sink.getvalue())


def _part_row(part: PartFile) -> Row:
    """Make a row of ``tasks.JUDGED`` of a table's file."""
    return (PART, -1, -1, 0, write_part(part))

"""What the data source's views must give: the library's own rows."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any, Final

from dumped import dumped
from kafkalog.auditing.partition.joined import segment_row
from kafkalog.auditing.partition.scan import scan_segment
from kafkalog.auditing.pipeline.run import audit
from kafkalog.auditing.topics.groups import offsets_rows
from kafkalog.auditing.topics.metadata_at import metadata_rows
from kafkalog.auditing.transactions.table_rows import audit_rows
from kafkalog.findings import Finding
from kafkalog.log_dirs.clusters import open_clusters
from kafkalog.segments.file_rows import one_by_one
from kafkalog.segments.internal_blocks import TOPICS
from kafkalog.segments.segment import segment_chunks
from kafkalog.segments.selection import Selection
from kafkalog.tables import TABLES
from kafkalog.tables.arrow import arrow_batches, chosen_schema
from official import FIXTURES

OF_LOGS: Final = ("transactions", "findings", "gaps", "producers", "offsets")
OF_SEGMENTS: Final = ("batches", "records", "control", "segments", "internal", "metadata")
OF_GROUPS: Final = ("offset-beyond-end", "offset-deleted", "offset-went-back")
DIRECTORIES: Final = [str(path) for path in sorted(FIXTURES.glob("*/data*")) if path.is_dir()]

Row = tuple[Any, ...]
LATEST: Final = 253_402_300_800_000


def in_order(rows: Iterable[Iterable[Any]]) -> list[Row]:
    """Sort rows, whatever is in them; structures, Spark's rows, become dictionaries as they are in Arrow."""
    return sorted((tuple(map(_plain, row)) for row in rows), key=repr)


def _plain(cell: Any) -> Any:
    return [one.asDict() if hasattr(one, "asDict") else one for one in cell] if isinstance(cell, list) else cell


def of_table(view: str, row: dict[str, Any]) -> Row:
    """The cells of a view's row that its table has, too; the others are held against them."""
    for name, cell in row.items():
        if f"{name}_ms" in row:
            ms = row[f"{name}_ms"]
            assert (None if cell is None else round(cell.timestamp() * 1000)) == (
                ms if ms is not None and 0 <= ms < LATEST else None
            )
    if view == "control":
        assert (row["topic"], row["partition"]) == partition_of(row["log"])
        assert row["file"].startswith(f"{row['log']}/")
    return tuple(_text(row[name]) if name == "isr" else row[name] for name in TABLES[view].usual)


def partition_of(log: str) -> tuple[str, int]:
    """What the name of a partition's directory says."""
    topic, _, partition = log.rpartition("/")[2].rpartition("-")
    return topic, int(partition)


def _text(cell: Any) -> str | None:
    return None if cell is None else json.dumps([*cell])


def library_rows(view: str, *paths: str) -> list[Row]:
    """The rows of a view without Spark, as values of the types that Arrow makes of them."""
    if view == "offsets":
        rows = _offsets(paths)
    else:
        rows = audit_rows(audit(paths), view) if view in OF_LOGS else _of_segments(view, paths)
        if view == "findings":  # the source reads no groups
            rows = (row for row in rows if row[TABLES[view].names.index("code")] not in OF_GROUPS)
    batches = arrow_batches(rows, chosen_schema(TABLES[view], TABLES[view].usual))
    return in_order(row.values() for batch in batches for row in batch.to_pylist())


def _offsets(paths: tuple[str, ...]) -> Iterator[Row]:
    for cluster in open_clusters(paths)[0]:
        for _, directory in cluster.wanted():
            if directory.topic == "__consumer_offsets":
                for item in one_by_one(offsets_rows(directory.log)):
                    if not isinstance(item, Finding):
                        yield item[1]


def _of_segments(view: str, paths: tuple[str, ...]) -> Iterator[Row]:
    for cluster in open_clusters(paths)[0]:
        for _, directory in cluster.wanted():
            for segment in directory.segments:
                if view == "segments":
                    yield segment_row(directory, scan_segment(directory, segment))
                    continue
                if view == "metadata":
                    if directory.topic == "__cluster_metadata":
                        found = metadata_rows(segment.path, directory.log)
                        yield from (item[1] for item in one_by_one(found) if not isinstance(item, Finding))
                    continue
                chunks = segment_chunks(segment.path, max_bytes=segment.size)
                for item in dumped(segment.path, chunks, {view}, Selection(), TOPICS.get(directory.topic)):
                    if not isinstance(item, Finding):
                        yield item[1]

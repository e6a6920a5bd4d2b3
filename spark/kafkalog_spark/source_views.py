"""The data source's views: each a table, and what makes its rows in a task.

A view of segments reads one segment at a time, a view of logs all replicas of a partition with what surrounds them.
Records and batches are read by segments, but by logs where it is asked what became of them. A new view is a line in
`VIEWS`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import Any, Final

import pyarrow as pa

from kafkalog.auditing.partition import SegmentScan, scan_segment, segment_row
from kafkalog.auditing.pipeline import Clock, LogPlace, SegmentPlace, judge_partition, segments_of
from kafkalog.auditing.topics import RowForm, metadata_rows, offsets_rows
from kafkalog.auditing.transactions import Judgement, Surroundings
from kafkalog.auditing.transactions import log_batches as audited
from kafkalog.errors import UnreadableError
from kafkalog.files.names import METADATA_TOPIC, OFFSETS_TOPIC
from kafkalog.findings import Finding
from kafkalog.log_dirs.moving import is_lost
from kafkalog.quantities import at_newest
from kafkalog.queries.given_logs import fates_of, segments_with
from kafkalog.segments.blocks import Rows
from kafkalog.segments.file_rows import finding_rows
from kafkalog.segments.internal_blocks import TOPICS
from kafkalog.segments.segment import segment_chunks
from kafkalog.segments.segment_arrow import ARROW_BATCHES, ArrowRows, segment_as_arrow
from kafkalog.tables import Table, audit_tables, dump_tables, internal_tables, metadata_tables
from kafkalog.tables.arrow import arrow_batches, arrow_schema, chosen_schema, gathered
from kafkalog_spark.request import Request

__all__ = ["VIEWS", "View", "log_batches", "schema_of", "segment_batches", "told_batches"]

Row = tuple[Any, ...]
SegmentRows = Callable[[SegmentPlace, Request], Iterable[Row]]
SegmentBlocks = Callable[[SegmentPlace, RowForm, Request], Iterable[tuple[Table, Row] | Rows]]
LogBatches = Callable[[list[LogPlace], Surroundings, Request], Iterable[pa.RecordBatch]]


@dataclass(frozen=True, slots=True)
class View:
    """A table with one of the ways to make its rows.

    With `in_columns` and by `blocks_of_segment` only the requested columns of a segment are made. `of_segment` makes
    whole rows of a segment, `of_logs` whole batches of a partition's logs: columns are left out afterwards. With both
    `in_columns` and `of_logs` the second is for the columns that no segment alone can fill.
    """

    table: Table
    in_columns: bool = False
    blocks_of_segment: SegmentBlocks | None = None
    of_segment: SegmentRows | None = None
    of_logs: LogBatches | None = None

    def reads_logs(self, names: Iterable[str]) -> bool:
        """Say whether a task needs whole logs for these columns."""
        return self.of_logs is not None and (not self.in_columns or not set(dump_tables.OF_LOG).isdisjoint(names))


def schema_of(view: View, names: Iterable[str]) -> pa.Schema:
    """Return the schema of some of a view's columns."""
    return chosen_schema(view.table, names).remove_metadata()


def segment_batches(view: View, piece: SegmentPlace, schema: pa.Schema, request: Request) -> Iterator[pa.RecordBatch]:
    """Yield one segment's rows; the view ``findings`` reports what can't be read of it.

    Raises UnreadableError where its log directory is not there, as on a machine without the mount.
    """
    try:
        if view.in_columns:
            path, topic = piece.segment.path, TOPICS.get(piece.topic)
            if topic is None and view.table is internal_tables.INTERNAL:
                return
            chunks = segment_chunks(
                path, limits=request.options.limits, max_bytes=piece.segment.size, room=ARROW_BATCHES
            )
            yield from segment_as_arrow(path, chunks, view.table, schema, request.selection, internal=topic)
        if view.blocks_of_segment is not None:
            form = RowForm(lambda _: schema.names, spaced=True)
            yield from _from_blocks(view, view.blocks_of_segment(piece, form, request), schema)
        if view.of_segment is not None:
            yield from _batches(view, view.of_segment(piece, request), schema)
    except UnreadableError:
        if is_lost(piece.log):
            raise


def log_batches(
    view: View, logs: list[LogPlace], around: Surroundings, schema: pa.Schema, request: Request
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of one partition's logs."""
    if view.of_logs is not None:
        yield from (batch.select(schema.names) for batch in view.of_logs(logs, around, request))


def told_batches(view: View, rows: Iterable[Row], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Yield rows that were found while the tasks were planned."""
    yield from _batches(view, rows, schema)


def _batches(view: View, rows: Iterable[Row], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Yield whole rows as batches of the requested columns."""
    places = [view.table.names.index(name) for name in schema.names]
    if len(places) == 1:
        chosen: Iterable[Row] = ((row[places[0]],) for row in rows)
    else:
        chosen = map(itemgetter(*places), rows)
    yield from gathered(arrow_batches(chosen, schema))


def _from_blocks(view: View, items: Iterable[tuple[Table, Row] | Rows], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Yield rows of blocks as batches; where a text is not UTF-8 they come one by one, with all columns."""
    made = ArrowRows(schema, ())
    for item in items:
        if isinstance(item, Rows):
            yield from made.add(item)
        else:
            yield from made.last()
            yield from _batches(view, (item[1],), schema)
    yield from made.last()


def _segment(piece: SegmentPlace, request: Request) -> Iterator[Row]:
    yield segment_row(piece, scan_segment(piece, piece.segment, request.options.limits))


def _of_logs(table: str) -> LogBatches:
    """Return the function that makes a table's rows by the audit of a partition."""

    def batches(logs: list[LogPlace], around: Surroundings, request: Request) -> Iterator[pa.RecordBatch]:
        judgement = _judged(logs, around, request)
        if table == "findings":
            yield from arrow_batches(finding_rows(judgement.findings), arrow_schema(audit_tables.FINDINGS))
        for found in judgement.logs:
            yield from audited(found, table)

    return batches


def _judged(logs: list[LogPlace], around: Surroundings, request: Request) -> Judgement:
    places = segments_of(logs, request.split_bytes)
    scans: dict[int, dict[int, SegmentScan]] = {log.number: {} for log in logs}
    clock = Clock(around.newest, around.newest_broker)
    for place in places:
        scan = scan_segment(place, place.segment, request.options.limits)
        scans[place.log_number][place.split_no] = scan
        clock = clock.with_scan(scan.folded.newest, scan.folded.newest_broker)
    now = at_newest(request.options.now, clock.newest_broker)
    in_order = {number: [of_log[at] for at in sorted(of_log)] for number, of_log in scans.items()}
    return judge_partition(
        logs, in_order, replace(around, newest=clock.newest, newest_broker=clock.newest_broker, now=now)
    )


def _with_fates(table: Table) -> LogBatches:
    """Return the function that makes the rows of a table of records or batches with what became of them."""

    def batches(logs: list[LogPlace], around: Surroundings, request: Request) -> Iterator[pa.RecordBatch]:
        schema, limits = chosen_schema(table, request.names(table)), request.options.limits
        ids: dict[int, tuple[str, ...]] = {}
        for found in _judged(logs, around, request).logs:
            directory = found.partition.directory
            selection = replace(request.selection, fates=fates_of(found, ids))
            for segment in segments_with(directory, selection):
                chunks = segment_chunks(segment.path, limits=limits, max_bytes=segment.size, room=ARROW_BATCHES)
                try:
                    yield from segment_as_arrow(segment.path, chunks, table, schema, selection)
                except UnreadableError:
                    if is_lost(directory.log):
                        raise

    return batches


def _metadata(piece: SegmentPlace, form: RowForm, request: Request) -> Iterator[tuple[Table, Row] | Rows]:
    if piece.topic == METADATA_TOPIC:
        segment = piece.segment
        found = metadata_rows(segment.path, piece.log, request.options.limits, segment.size, form)
        yield from (item for item in found if not isinstance(item, Finding))


def _offsets(logs: list[LogPlace], _around: Surroundings, request: Request) -> Iterator[pa.RecordBatch]:
    """Yield the commits in each replica: only a whole log shows how transactional ones ended."""
    for log in logs:
        if log.directory.topic == OFFSETS_TOPIC:
            made = ArrowRows(arrow_schema(internal_tables.OFFSETS), (log.directory.log,))
            for item in offsets_rows(log.directory.log, request.options.limits):
                if isinstance(item, Rows):
                    yield from made.add(item)
            yield from made.last()


VIEWS: Final[dict[str, View]] = {
    "transactions": View(audit_tables.TRANSACTIONS, of_logs=_of_logs("transactions")),
    "batches": View(dump_tables.BATCHES, in_columns=True, of_logs=_with_fates(dump_tables.BATCHES)),
    "records": View(dump_tables.RECORDS, in_columns=True, of_logs=_with_fates(dump_tables.RECORDS)),
    "control": View(dump_tables.CONTROL, in_columns=True),
    "findings": View(audit_tables.FINDINGS, of_logs=_of_logs("findings")),
    "segments": View(audit_tables.SEGMENTS, of_segment=_segment),
    "internal": View(internal_tables.INTERNAL, in_columns=True),
    "offsets": View(internal_tables.OFFSETS, of_logs=_offsets),
    "metadata": View(metadata_tables.METADATA, blocks_of_segment=_metadata),
    "gaps": View(audit_tables.GAPS, of_logs=_of_logs("gaps")),
    "producers": View(audit_tables.PRODUCERS, of_logs=_of_logs("producers")),
}

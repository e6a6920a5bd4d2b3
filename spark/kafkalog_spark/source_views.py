"""The data source's views: each a table, and what makes its rows in a task.

A view of segments reads one segment at a time, a view of logs all replicas of a partition with what surrounds them.
Records and batches are read by segments, but by logs where it is asked what became of them. A new view is a line in
`VIEWS`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from operator import itemgetter
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

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
from kafkalog.tables.arrow import arrow_batches, arrow_schema, chosen_schema, gathered, spark_schema
from kafkalog_spark.request import Request

__all__ = ["VIEWS", "View", "log_batches", "segment_batches", "spark_fields", "told_batches"]

Row = tuple[Any, ...]
SegmentRows = Callable[[SegmentPlace, Request], Iterable[Row]]
SegmentBlocks = Callable[[SegmentPlace, RowForm, Request], Iterable[tuple[Table, Row] | Rows]]
LogBatches = Callable[[list[LogPlace], Surroundings, Sequence[str], Request], Iterable[pa.RecordBatch]]
Place = tuple[str | None, int | None, str | None]  # the topic, the partition and the log


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

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of all columns."""
        return tuple(_fields(self.table))

    @property
    def usual(self) -> tuple[str, ...]:
        """Return the names of the columns that are made without being asked for."""
        left_out = set(self.table.names).difference(self.table.usual, PLACE)
        return tuple(name for name in self.names if name not in left_out)

    def reads_logs(self, names: Iterable[str]) -> bool:
        """Say whether a task needs whole logs for these columns."""
        return self.of_logs is not None and (not self.in_columns or not _OF_WHOLE_LOGS.isdisjoint(names))


# A view has more columns than its table: times as timestamps, and where the log is. They are made of Arrow batches.


PLACE: Final = ("topic", "partition", "log")

_OF_WHOLE_LOGS: Final = frozenset(dump_tables.OF_LOG).difference(PLACE)

_LATEST: Final = 253_402_300_799_999  # ms: the year 9999, the last one that Spark shows

_ARRAYS: Final = {"isr": {"type": "array", "elementType": "integer", "containsNull": True}}  # what is JSON in the table


@cache
def _fields(table: Table) -> dict[str, dict[str, Any]]:
    """Return the columns of a table's view by their names, as Spark's JSON of a schema has them."""
    fields: dict[str, dict[str, Any]] = {}
    for column, field in zip(table.columns, spark_schema(table)["fields"], strict=True):
        fields[column.name] = {**field, "type": _ARRAYS[column.name]} if column.name in _ARRAYS else field
        if column.is_time:
            meaning = f"{column.name} as a time; null for none"
            fields[_time(column.name)] = {**field, "name": _time(column.name), "type": "timestamp",
                                          "metadata": {"comment": meaning, "table": table.name}}  # fmt: skip
    for field in spark_schema(dump_tables.RECORDS)["fields"]:
        if field["name"] in PLACE:
            fields.setdefault(field["name"], field)
    return fields


def _placed(table: Table) -> set[str]:
    """Return the columns that say where the log is, and not what a record of a table is about."""
    return set(PLACE).difference(table.usual)


def _time(name: str) -> str:
    return name.removesuffix("_ms")


def spark_fields(view: View, names: Iterable[str]) -> dict[str, Any]:
    """Return the schema of some of a view's columns as the JSON of Spark's StructType."""
    return {"type": "struct", "fields": [_fields(view.table)[name] for name in names]}


def schema_of(view: View, names: Iterable[str], *, in_logs: bool = False) -> pa.Schema:
    """Return the schema of the columns of a table that some of a view's columns are made of.

    A segment's place is known without its rows, but `in_logs` rows come from several.
    """
    own = set(names)
    times = {column.name for column in view.table.columns if column.is_time and _time(column.name) in own}
    needed = (own if in_logs else own - _placed(view.table)) | times
    chosen = [name for name in view.table.names if name in needed]
    if not chosen:  # as many rows as there are
        chosen = [next(column.name for column in view.table.columns if column.type == "int64")]
    return chosen_schema(view.table, chosen).remove_metadata()


def _whole(batch: pa.RecordBatch, names: Sequence[str], place: Place | None) -> pa.RecordBatch:
    """Return a batch with all columns of a view that are asked for."""
    where = {} if place is None else dict(zip(PLACE, place, strict=True))
    return pa.RecordBatch.from_arrays([_column(batch, name, where) for name in names], names=list(names))


def _column(batch: pa.RecordBatch, name: str, where: Mapping[str, str | int | None]) -> pa.Array:
    if name in batch.schema.names:
        column = batch[name]
        if name not in _ARRAYS:
            return column
        return pa.array([None if cell is None else json.loads(cell) for cell in column.to_pylist()], _INTS)
    if name in where:
        return pa.repeat(pa.scalar(where[name], _PLACE_TYPES[name]), batch.num_rows)
    times = batch[f"{name}_ms"]
    there = pc.and_(pc.greater_equal(times, 0), pc.less_equal(times, _LATEST))
    return pc.if_else(there, times, pa.scalar(None, pa.int64())).cast(_MS).cast(_US)


_MS: Final = pa.timestamp("ms", "UTC")
_US: Final = pa.timestamp("us", "UTC")
_INTS: Final = pa.list_(pa.int32())
_PLACE_TYPES: Final = {"topic": pa.string(), "partition": pa.int32(), "log": pa.string()}


def segment_batches(
    view: View, piece: SegmentPlace, names: Sequence[str], request: Request
) -> Iterator[pa.RecordBatch]:  # fmt: skip
    """Yield one segment's rows; the view ``findings`` reports what can't be read of it.

    Raises UnreadableError where its log directory is not there, as on a machine without the mount.
    """
    place = (_shown(piece.topic), piece.partition, _shown(piece.log))
    for batch in _of_segment(view, piece, schema_of(view, names), request):
        yield _whole(batch, names, place)


def _shown(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode()


def _of_segment(view: View, piece: SegmentPlace, schema: pa.Schema, request: Request) -> Iterator[pa.RecordBatch]:
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
    view: View, logs: list[LogPlace], around: Surroundings, names: Sequence[str], request: Request
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of one partition's logs."""
    if view.of_logs is not None:
        of_table = schema_of(view, names, in_logs=True).names
        for batch in view.of_logs(logs, around, of_table, request):
            yield _whole(batch, names, None)


def told_batches(view: View, rows: Iterable[Row], names: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """Yield rows that were found while the tasks were planned."""
    for batch in _batches(view, rows, schema_of(view, names, in_logs=True)):
        yield _whole(batch, names, None)


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

    def batches(
        logs: list[LogPlace], around: Surroundings, _names: Sequence[str], request: Request
    ) -> Iterator[pa.RecordBatch]:
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

    def batches(
        logs: list[LogPlace], around: Surroundings, names: Sequence[str], request: Request
    ) -> Iterator[pa.RecordBatch]:
        schema, limits = chosen_schema(table, names), request.options.limits
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


def _offsets(
    logs: list[LogPlace], _around: Surroundings, _names: Sequence[str], request: Request
) -> Iterator[pa.RecordBatch]:
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

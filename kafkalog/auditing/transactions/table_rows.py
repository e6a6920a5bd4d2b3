"""An audit as rows of the tables that ``tables.audit`` declares."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from kafkalog import few_of_many
from kafkalog.auditing.partition import PartitionAudit, visible_batches
from kafkalog.auditing.transactions.audit_result import Audit
from kafkalog.auditing.transactions.judging import LogAudit
from kafkalog.auditing.transactions.live_copy import Moments
from kafkalog.auditing.transactions.summary import LogSummary
from kafkalog.auditing.transactions.verdict_facts import CAUSE
from kafkalog.auditing.transactions.verdict_table import Verdicts
from kafkalog.certainty import NEVER
from kafkalog.columns.sorted_rows import among, distinct, groups, place_of
from kafkalog.columns.table import NONE, AnyColumn, Columns
from kafkalog.columns.texts import TextColumn
from kafkalog.errors import UnreadableError
from kafkalog.findings import Finding
from kafkalog.folds import fold
from kafkalog.folds.coordinator import Coordinator
from kafkalog.folds.fold import tally
from kafkalog.folds.stable import visible_ranges
from kafkalog.kafka.batch import CONTROL, believed_counts
from kafkalog.kafka.state_records import TOMBSTONE, StateColumns, listed_partitions
from kafkalog.kafka.transaction_state import TransactionState
from kafkalog.kernel import buffers
from kafkalog.segments.file_rows import finding_rows
from kafkalog.segments.segment import possible_chunks
from kafkalog.tables import TABLES, Column
from kafkalog.tables.arrow import Numbers, arrow_array, arrow_batch, arrow_batches, arrow_schema
from kafkalog.tables.audit_tables import (
    COORDINATOR,
    FINDINGS,
    GAPS,
    LEADERS,
    PARTITIONS,
    PRODUCERS,
    REMOTE_SEGMENTS,
    TRANSACTIONS,
    VISIBLE,
)

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    from kafkalog.tables.arrow import RecordBatch

__all__ = [
    "COLUMN_TABLES",
    "MANY_ROWS",
    "NEWEST_ABORTED",
    "NO_DECISIONS",
    "audit_batches",
    "audit_columns",
    "audit_rows",
    "coordinator_batches",
    "coordinator_columns",
    "coordinator_rows",
    "decision_keys",
    "finding_columns",
    "gap_rows",
    "log_batches",
    "log_rows",
    "notable_columns",
    "notable_rows",
    "partition_row",
    "producer_columns",
    "transactions_at",
    "unsettled_rows",
]


# The tables of an audit that have a row for each transaction or producer, as columns: some thousand rows at a time.
#
# A column of numbers is an array; the other columns are texts or JSON.


_AT_ONCE: Final = 4096  # rows that become columns together

_STATE_WORDS: Final = ("tombstone", *(state.word for state in TransactionState))
_STATES: Final = TextColumn.of(_STATE_WORDS)


def transaction_columns(logs: Iterable[LogAudit]) -> Iterator[Columns]:
    """Yield the table ``transactions`` of some logs: of each by first offset, a bare marker's its own."""
    for some in _together(logs, lambda log: log.verdicts.rows):
        verdicts = Verdicts.joined([log.verdicts for log in some])
        of_log = np.repeat(np.arange(len(some), dtype=np.int16), [len(log.verdicts.rows) for log in some])
        order = np.lexsort((fold.begins(verdicts.rows), of_log))
        for start in range(0, len(order), _AT_ONCE):
            places = order[start : start + _AT_ONCE]
            yield transactions_at(some, of_log[places], verdicts.of_places(places))


def _together(logs: Iterable[LogAudit], rows_of: Callable[[LogAudit], Columns]) -> Iterator[list[LogAudit]]:
    """Yield logs of one coordinator that have some thousand rows together: what is made of each piece has its cost."""
    some: list[LogAudit] = []
    count = 0
    for log in logs:
        coordinator, size = log.verdicts.coordinator, len(rows_of(log))
        if some and (count + size > _AT_ONCE or some[0].verdicts.coordinator is not coordinator):
            yield some
            some, count = [], 0
        if size:
            some.append(log)
            count += size
    if some:
        yield some


def transactions_at(logs: Sequence[LogAudit], of_log: NDArray[np.integer], rows: Columns) -> Columns:
    """Return some transactions, each of one of the logs, with their verdicts, as rows of their table."""
    return Columns(
        {
            **_where_many(logs, of_log),
            "producer_id": rows["producer_id"],
            "producer_epoch": rows["last_epoch"],
            "transactional_id": rows.column("transactional_id"),
            "state": rows.column("state"),
            "first_offset": rows["first_offset"],
            "last_offset": rows["last_offset"],
            "marker_offset": rows["marker_offset"],
            "marker_epoch": rows["marker_epoch"],
            "coordinator_epoch": rows["coordinator_epoch"],
            "batches": rows["batches"],
            "records": rows["records"],
            "size_bytes": rows["size"],
            "first_timestamp_ms": rows["min_timestamp"],
            "last_timestamp_ms": rows["max_timestamp"],
            "marker_timestamp_ms": rows["marker_timestamp"],
            "certainty": rows.column("certainty"),
            "cause": rows.column("cause"),
        }
    )


def producer_columns(logs: Iterable[LogAudit]) -> Iterator[Columns]:
    """Yield the table ``producers`` of some logs."""
    for some in _together(logs, lambda log: log.partition.producers):
        of_each = [log.partition.producers for log in some]
        of_log = np.repeat(np.arange(len(some), dtype=np.int16), [len(producers) for producers in of_each])
        verdicts, ended = some[0].verdicts, np.concatenate([_ended(log) for log in some], axis=1)
        start = 0
        for rows in Columns.chained(of_each, of_each[0].names).pieces(_AT_ONCE):
            here = slice(start, start + len(rows))
            start = here.stop
            committed, aborted, opened = ended[:, here]
            yield Columns(
                {
                    **_where_many(some, of_log[here]),
                    "producer_id": rows["producer_id"],
                    "transactional_id": verdicts.names(verdicts.coordinator.names_of(rows["producer_id"])),
                    "first_epoch": rows["first_epoch"],
                    "last_epoch": rows["last_epoch"],
                    "last_sequence": rows["last_sequence"],
                    "batches": rows["batches"],
                    "records": rows["records"],
                    "transactions": committed + aborted + opened,
                    "committed": committed,
                    "aborted": aborted,
                    "first_offset": rows["first_offset"],
                    "last_offset": rows["last_offset"],
                    "first_timestamp_ms": rows["first_timestamp"],
                    "last_timestamp_ms": rows["last_timestamp"],
                }
            )


def _ended(log: LogAudit) -> NDArray[np.int64]:
    """Count each producer's transactions with data: committed, aborted, open."""
    ids = log.partition.producers["producer_id"]
    counts = np.zeros((3, len(ids)), np.int64)
    for rows in log.partition.transactions.blocks("producer_id", "first_offset", "marker_type"):
        at = place_of(ids, rows["producer_id"])
        known = (at >= 0) & fold.has_data(rows)
        for number, kind in enumerate((fold.COMMIT, fold.ABORT, fold.OPEN)):
            np.add.at(counts[number], at[known & (rows["marker_type"] == kind)], 1)
    return counts


def coordinator_columns(coordinator: Coordinator) -> Iterator[Columns]:
    """Yield the table ``coordinator``; a list of partitions is a list, one object for records that list the same."""
    logs = TextColumn.of(coordinator.logs)
    for rows, states in coordinator.by_name():
        gone = states["state"] == TOMBSTONE
        yield Columns(
            {
                "transactional_id": states.ids.take(states["transactional_id"]),
                "producer_id": np.where(gone, NONE, states["producer_id"].astype(np.int64)),
                "producer_epoch": np.where(gone, NONE, states["producer_epoch"].astype(np.int64)),
                "state": _STATES.take(states["state"].astype(np.intp) - TOMBSTONE),
                "timeout_ms": np.where(gone, NONE, states["timeout_ms"].astype(np.int64)),
                "start_timestamp_ms": np.where(gone, NONE, states["start_timestamp"].astype(np.int64)),
                "last_update_timestamp_ms": np.where(gone, NONE, states["last_update_timestamp"].astype(np.int64)),
                "partitions": listed_partitions(states),
                "offset": states["offset"].astype(np.int64),
                "log": logs.take(coordinator.of_log[rows]),
            }
        )


def finding_columns(logs: Iterable[LogAudit]) -> Iterator[Columns]:
    """Yield the table ``findings`` of some logs."""
    return chain.from_iterable(_of_findings(log.findings, log.node.node_id) for log in logs)


def _of_findings(findings: Iterable[Finding], node_id: str | None = None) -> Iterator[Columns]:
    rows = finding_rows(findings, node_id)
    while some := list(islice(rows, _AT_ONCE)):
        columns = map(_column, FINDINGS.columns, zip(*some, strict=True))
        yield Columns(dict(zip(FINDINGS.names, columns, strict=True)))


def _column(column: Column, cells: tuple[Any, ...]) -> NDArray[Any] | TextColumn:
    if column.type == "string":
        return TextColumn.of(cells)
    return np.array([NONE if cell is None else cell for cell in cells], np.int64)


def _where(partition: PartitionAudit) -> dict[str, Any]:
    directory = partition.directory
    return {"log": directory.log, "topic": directory.topic, "partition": directory.partition}


def _where_many(logs: Sequence[LogAudit], of_log: NDArray[np.integer]) -> dict[str, AnyColumn]:
    """Return where rows are, each in one of the logs."""
    where = [_where(log.partition) for log in logs]
    texts = {name: TextColumn.of(one[name] for one in where).take(of_log) for name in ("log", "topic")}
    return {**texts, "partition": np.array([one["partition"] for one in where])[of_log]}


COLUMN_TABLES: Final = frozenset((COORDINATOR.name, FINDINGS.name, PRODUCERS.name, TRANSACTIONS.name))

MANY_ROWS: Final[dict[str, Callable[[Iterable[LogAudit]], Iterator[Columns]]]] = {
    TRANSACTIONS.name: transaction_columns,
    PRODUCERS.name: producer_columns,
    FINDINGS.name: finding_columns,
}


def audit_columns(audit: Audit, table: str) -> Iterator[Columns]:
    """Yield all rows of one of these tables; those of small logs together."""
    return Columns.gathered(_columns_of_logs(audit, table), _AT_ONCE)


def _columns_of_logs(audit: Audit, table: str) -> Iterator[Columns]:
    if table == FINDINGS.name:
        yield from _of_findings(audit.refused)
    for cluster in audit.clusters:
        if table == COORDINATOR.name:
            yield from coordinator_columns(cluster.coordinator)
            continue
        if table == FINDINGS.name:
            for node in cluster.nodes:
                yield from _of_findings(node.findings, node.node_id)
            yield from _of_findings(cluster.findings)
        yield from MANY_ROWS[table](cluster.logs)


Row = tuple[Any, ...]

NEWEST_ABORTED: Final = 20  # transactions of each log that incidents tell of, whatever else is


_MOST: Final = 2**63 - 1  # damaged offsets may be further apart


def unsettled_rows(audit: Audit) -> Iterator[Row]:
    """Yield the rows of ``transactions`` that are neither committed nor aborted, of one replica of each partition."""
    for cluster in audit.clusters:
        for log in cluster.logs:
            if not log.judged.spoken_for:
                for rows in log.verdicts.unsettled():
                    yield from transactions_at([log], np.zeros(len(rows), np.intp), rows).rows()


def partition_row(summary: LogSummary) -> Row:
    """Make a row of the table ``partitions`` of a log's summary."""
    states, named = summary.states, summary._asdict()
    counted = {
        "size_bytes": summary.size, "committed": states["committed"], "aborted": states["aborted"],
        "hanging": states["hanging"], "gaps": summary.gaps.total(), "findings": summary.serious,
    }  # fmt: skip
    return PARTITIONS.of(**{name: counted[name] if name in counted else named[name] for name in PARTITIONS.names})


def gap_rows(partition: PartitionAudit) -> Iterator[Row]:
    """Yield the rows of the table ``gaps`` of a log."""
    for gap in partition.gaps:
        yield GAPS.of(
            **_where(partition),
            first_offset=gap.first_offset,
            last_offset=gap.last_offset,
            count=min(gap.last_offset - gap.first_offset + 1, _MOST),
            kind=gap.kind,
            cause=gap.cause,
            file=gap.file,
            position=gap.position,
        )


def coordinator_rows(coordinator: Coordinator) -> Iterator[Row]:
    """Yield the rows of the table ``coordinator``."""
    return chain.from_iterable(map(Columns.rows, coordinator_columns(coordinator)))


def _visible(log: LogAudit) -> Iterator[Row]:
    partition = log.partition
    pieces = ((some["first_offset"], some["last_offset"]) for _, some in visible_batches(partition))
    for low, high in visible_ranges(pieces, partition.log_start_offset, partition.last_stable_offset):
        yield VISIBLE.of(**_where(partition), first_offset=low, last_offset=high)


def _leaders(log: LogAudit) -> Iterator[Row]:
    for led in log.leaders:
        yield LEADERS.of(
            **_where(log.partition), leader_epoch=led.leader_epoch, leader=led.leader, since_ms=led.since,
            change=led.change, first_offset=led.first_offset,
        )  # fmt: skip


def _remote_segments(log: LogAudit) -> Iterator[Row]:
    directory = log.partition.directory
    tier = directory.tier
    if tier is None:
        return
    for one in tier.segments:
        yield REMOTE_SEGMENTS.of(
            **_where(log.partition),
            segment_id=one.segment_id or None,
            start_offset=_known(one.start_offset),
            end_offset=_known(one.end_offset),
            size_bytes=_known(one.size),
            state=one.state or None,
            states=[{"state": state, "time_ms": time} for state, time in one.states],
            holds=tier.holds(one, directory.log_start_offset, directory.local_start_offset),
            objects=[other.type for other in one.objects],
            object_bytes=one.object_bytes,
            file=None if one.log is None else one.log.path,
        )


def _known(number: int) -> int | None:
    return None if number < 0 else number


_OF_LOG: Final[dict[str, Callable[[LogAudit], Iterator[Row]]]] = {
    GAPS.name: lambda log: gap_rows(log.partition),
    LEADERS.name: _leaders,
    PARTITIONS.name: lambda log: iter([partition_row(LogSummary.of(log))]),
    REMOTE_SEGMENTS.name: _remote_segments,
    VISIBLE.name: _visible,
}


def log_rows(log: LogAudit, table: str) -> Iterator[Row]:
    """Yield a log's rows of one of the audit's tables."""
    if table in MANY_ROWS:
        return chain.from_iterable(map(Columns.rows, MANY_ROWS[table]([log])))
    return _OF_LOG[table](log)


def audit_rows(audit: Audit, table: str) -> Iterator[Row]:
    """Return the rows of one of the audit's tables."""
    if table in COLUMN_TABLES:
        return chain.from_iterable(map(Columns.rows, audit_columns(audit, table)))
    return (row for cluster in audit.clusters for log in cluster.logs for row in log_rows(log, table))


NO_DECISIONS: Final = np.empty(0, np.int64)

# The transactions that incidents tell of: open ones, those with a cause, those that only a lost history has.


def notable_rows(logs: Iterable[LogAudit], of_decisions: NDArray[np.int64] = NO_DECISIONS) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of ``transactions`` that incidents need, open ones with the brokers' times around their data.

    Finished ones are among them if their verdict does not follow from their marker alone, if their decision was another
    one, if they are the newest that were aborted, or if they reach past the offset where this replica's history forks
    from the leader's. So are all that decisions to abort ended, which `of_decisions` names by `decision_keys`.
    """
    return chain.from_iterable(map(Columns.rows, notable_columns(logs, of_decisions)))


def decision_keys(producer_ids: NDArray[np.int64], epochs: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return a number for each decision of the coordinator: its producer and its epoch, which the markers have."""
    found: NDArray[np.int64] = producer_ids.astype(np.int64) << 16 | epochs.astype(np.int64) & 0xFFFF
    return found


def notable_columns(logs: Iterable[LogAudit], of_decisions: NDArray[np.int64] = NO_DECISIONS) -> Iterator[Columns]:
    """Yield the rows of ``notable_rows`` as columns, if there are any."""
    for every in _together(logs, lambda log: log.verdicts.rows):
        found = [(log, places) for log in every if len(places := _places(log, of_decisions))]
        if not found:
            continue
        some = [log for log, _ in found]
        starts = np.cumsum([0, *(len(log.verdicts.rows) for log in some)]).tolist()
        places = np.concatenate([start + own for (_, own), start in zip(found, starts, strict=False)])
        verdicts = Verdicts.joined([log.verdicts for log in some])
        rows = verdicts.of_places(places)
        not_before, not_after, forked = np.full((3, len(rows)), NONE)
        is_open = fold.is_open(rows)  # of an ended one the marker's own time is known
        of_log = np.repeat(np.arange(len(some), dtype=np.int16), [len(own) for _, own in found])
        for number in np.unique(of_log[is_open]).tolist():
            own = np.flatnonzero(is_open & (of_log == number))
            begins = rows["first_offset"][own]
            bracket = Moments(some[number].partition).bracket(begins)
            before, after = bracket["before"], bracket["after"]
            not_before[own] = np.where((begins != NONE) & (before >= 0), before, NONE)
            not_after[own] = np.where((begins != NONE) & (after != NEVER), after, NONE)
        for number, log in enumerate(some):
            if log.fork is not None:
                own = np.flatnonzero(of_log == number)
                forked[own] = _forked_records(log, log.fork, rows.take(own))
        yield transactions_at(some, of_log, rows).with_columns(
            {
                "not_before_ms": not_before,
                "not_after_ms": not_after,
                "after_commit": among(places, verdicts.judged["place"][verdicts.judged["committed"]]),
                "forked_records": forked,
                "older_records": rows["older_records"],
            }
        )


def _forked_records(log: LogAudit, fork: int, rows: Columns) -> NDArray[np.int64]:
    """Return how many records of each row are after the log's fork; where a row reaches across it they are read."""
    first, last = rows["first_offset"], rows["last_offset"]
    found = np.where((first >= fork) & (first != NONE), rows["records"], 0)
    across = np.flatnonzero((first < fork) & (first != NONE) & (last >= fork))
    if len(across):
        heads = _heads_from(log.partition, fork)
        for row in across.tolist():
            mine = (heads["producer_id"] == rows["producer_id"][row]) & (heads["last_offset"] <= last[row])
            found[row] = int(heads["records"][mine].sum())
    return found


_HEADS: Final = {"producer_id": buffers.PRODUCER_ID, "last_offset": buffers.LAST_OFFSET}


def _heads_from(partition: PartitionAudit, offset: int) -> Columns:
    """Read the producer, last offset and records of each batch of producers from an offset on."""
    segments = partition.directory.segments
    ends = [*(segment.base_offset for segment in segments[1:]), partition.log_end_offset]
    found: list[Columns] = []
    for segment, end in zip(segments, ends, strict=True):
        if end <= offset:
            continue
        with suppress(UnreadableError):  # it vanished since: what was read of it before says so
            for chunk in possible_chunks(segment.path, max_bytes=segment.size):
                heads = chunk.heads.numpy()
                mine = (heads[buffers.VALID] != 0) & (heads[buffers.LAST_OFFSET] >= offset)
                mine &= (heads[buffers.PRODUCER_ID] >= 0) & (heads[buffers.ATTRIBUTES] & CONTROL == 0)
                records = {"records": believed_counts(heads[:, mine])}
                found.append(Columns({name: heads[column, mine] for name, column in _HEADS.items()} | records))
    return Columns.concat(found, (*_HEADS, "records"))


def _of_each_cause(verdicts: Verdicts) -> Iterator[NDArray[np.intp]]:
    """Yield the numbers of the judged rows of each cause, as many as are shown of one log."""
    judged = verdicts.judged
    for some in groups(judged["cause"]):
        if judged["cause"][some[0]] != CAUSE["not-judged"]:
            places = judged["place"][some]
            shown, _ = few_of_many.split(verdicts.rows.take(places, "first_offset")["first_offset"])
            yield places[shown]


_OF_PLACES: Final = ("first_offset", "last_offset", "marker_offset", "marker_type", "producer_id", "marker_epoch")


def _places(log: LogAudit, of_decisions: NDArray[np.int64]) -> NDArray[np.intp]:
    """Return the numbers of the notable rows, in the order of the log."""
    judged, counts = log.verdicts.judged["place"], tally(log.verdicts.rows)
    if not (len(judged) or counts.aborted or len(log.judged.broken) or log.fork is not None):
        return judged
    told, counted = (log.judged.broken[some] for some in few_of_many.split(log.judged.broken))
    chosen = list(_of_each_cause(log.verdicts))
    aborted = np.empty((2, 0), np.int64)  # numbers, markers
    start = 0
    for rows in log.verdicts.rows.blocks(*_OF_PLACES):
        marker = rows["marker_offset"]
        ended = np.flatnonzero(fold.has_data(rows) & (rows["marker_type"] == fold.ABORT))
        if len(told):
            here = np.flatnonzero(among(marker, told))
            chosen += [start + here, start + _next_of_producers(rows, here)]
        if len(ended):
            if len(of_decisions):
                keys = decision_keys(rows["producer_id"][ended], rows["marker_epoch"][ended])
                chosen.append(start + ended[among(keys, of_decisions)])
            aborted = np.concatenate([aborted, [start + ended, marker[ended]]], axis=1)
            aborted = aborted[:, np.argsort(aborted[1], kind="stable")[-NEWEST_ABORTED:]]
        if log.fork is not None:
            chosen.append(start + np.flatnonzero(np.maximum(rows["last_offset"], marker) >= log.fork))
        start += len(rows)
    chosen.append(aborted[0][~among(aborted[1], counted)].astype(np.intp))
    if not any(map(len, chosen)):  # most logs of a cluster
        return chosen[0]
    places = distinct(np.concatenate(chosen))
    rows = log.verdicts.rows.take(places, "first_offset", "marker_offset")
    return places[np.argsort(fold.begins(rows), kind="stable")]


def _next_of_producers(rows: Columns, chosen: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return the transactions with data that follow chosen ones of their producers: a marker may cut one in two."""
    producer, marker = rows["producer_id"], rows["marker_offset"]
    has_data = fold.has_data(rows)
    found: list[int] = []
    for row in chosen.tolist():
        after = np.flatnonzero(has_data & (producer == producer[row]) & (marker > marker[row]))
        found += [int(after[np.argmin(marker[after])])] if len(after) else []
    return np.array(found, np.intp)


# An audit's tables as Arrow batches, for Parquet; needs pyarrow.


def log_batches(log: LogAudit, table: str) -> Iterator[RecordBatch]:
    """Yield a log's rows of one of the audit's tables; of the many transactions column by column."""
    schema = arrow_schema(TABLES[table])
    if table in MANY_ROWS:
        return (columns.to_arrow(schema) for columns in MANY_ROWS[table]([log]))
    return arrow_batches(log_rows(log, table), schema)


def audit_batches(audit: Audit, table: str) -> Iterator[RecordBatch]:
    """Return all rows of one of the audit's tables; those that are many column by column."""
    schema = arrow_schema(TABLES[table])
    if table == COORDINATOR.name:
        return chain.from_iterable(coordinator_batches(cluster.coordinator) for cluster in audit.clusters)
    if table in COLUMN_TABLES:
        return (columns.to_arrow(schema) for columns in audit_columns(audit, table))
    return arrow_batches(audit_rows(audit, table), schema)


def coordinator_batches(coordinator: Coordinator) -> Iterator[RecordBatch]:
    """Yield the rows of the table ``coordinator``, column by column; a cluster has many million."""
    schema = arrow_schema(COORDINATOR)
    logs = _texts(TextColumn.of(coordinator.logs, "backslashreplace"))
    topics = TextColumn.of(json.dumps(f"{topic}-", ensure_ascii=False)[:-1] for topic in coordinator.states.topics)
    before = _texts(topics)
    for rows, states in coordinator.by_name():
        gone = states["state"] == TOMBSTONE
        there = ~gone if gone.any() else None
        columns: dict[str, Numbers | Iterable[Any]] = {
            "transactional_id": _texts(states.ids.gather(states["transactional_id"])),
            "state": Numbers(states["state"].astype(np.int32) - TOMBSTONE, None, _STATE_WORDS),
            "partitions": _listed(states, gone, before),
            "offset": Numbers(np.ascontiguousarray(states["offset"])),
            "log": logs.take(_numbers(coordinator.of_log[rows])),
        }
        for name in ("producer_id", "producer_epoch", "timeout_ms"):
            columns[name] = Numbers(np.ascontiguousarray(states[name]), there)
        for name in ("start_timestamp", "last_update_timestamp"):
            columns[f"{name}_ms"] = Numbers(np.ascontiguousarray(states[name]), there)
        yield arrow_batch(columns.__getitem__, schema)


def _listed(states: StateColumns, gone: NDArray[np.bool_], before: pa.Array) -> pa.Array:
    """Return the partitions that records list as JSON, null for none; `before` is what a topic's begin with."""
    import pyarrow as pa
    import pyarrow.compute as pc

    counts = states["partitions_count"]
    offsets = np.concatenate([[0], np.cumsum(np.maximum(counts, 0))]).astype(np.int32)
    numbers = _numbers(states.listed["partition"]).cast(pa.string())
    # Scalars of an array: ``pyarrow.scalar`` imports pandas, as ``pyarrow.array`` does.
    quote, first, last, comma, nothing, null = arrow_array(('"', "[", "]", ", ", "", None), pa.string())
    names = pc.binary_join_element_wise(before.take(_numbers(states.listed["topic"])), numbers, quote, nothing)
    lists = pc.binary_join(pa.ListArray.from_arrays(arrow_array(Numbers(offsets), pa.int32()), names), comma)
    texts = pc.binary_join_element_wise(first, lists, last, nothing)
    return pc.if_else(arrow_array(Numbers(gone | (counts < 0)), pa.bool_()), null, texts)


def _texts(texts: TextColumn) -> pa.Array:
    import pyarrow as pa

    bounds = np.concatenate([[0], np.cumsum(texts.sizes)]).astype(np.int32)
    return pa.StringArray.from_buffers(len(texts), pa.py_buffer(bounds), pa.py_buffer(texts.data))


def _numbers(column: NDArray[Any]) -> pa.Array:
    import pyarrow as pa

    return arrow_array(Numbers(column), pa.int64())

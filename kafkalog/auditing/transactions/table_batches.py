"""An audit's tables as Arrow batches, for Parquet; needs pyarrow."""

from __future__ import annotations

import hashlib
import json
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

import numpy as np

from kafkalog.auditing.partition import Cut
from kafkalog.auditing.transactions.audited import Audit
from kafkalog.auditing.transactions.judgement import LogAudit
from kafkalog.auditing.transactions.table_rows import MANY_ROWS, audit_rows, log_rows, transaction_columns
from kafkalog.columns.named import NONE, Columns
from kafkalog.columns.placed import distinct
from kafkalog.columns.sentences import TextColumn
from kafkalog.columns.texts import PackedTexts
from kafkalog.folds.coordinator import Coordinator
from kafkalog.kafka.state_records import TOMBSTONE, StateColumns
from kafkalog.kafka.transaction_state import TransactionState
from kafkalog.kernel.fold import EXTENT_COLUMNS
from kafkalog.segments.column_blocks import ColumnsByName
from kafkalog.tables import SCHEMA_VERSION, TABLES, Table
from kafkalog.tables.arrow import Numbers, arrow_batch, arrow_batches, arrow_schema
from kafkalog.tables.audit_tables import COORDINATOR, PRODUCERS, TRANSACTIONS
from kafkalog.tables.parquet import WholeFile, whole_file
from kafkalog.version import VERSION

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    from kafkalog.tables.arrow import RecordBatch

__all__ = [
    "RowKeeper",
    "audit_batches",
    "coordinator_batches",
    "log_batches",
    "together",
    "transaction_batches",
    "transaction_parts",
]


_STATES: Final = ("tombstone", *(state.word for state in TransactionState))


def log_batches(log: LogAudit, table: str) -> Iterator[RecordBatch]:
    """Yield a log's rows of one of the audit's tables; of the many transactions column by column."""
    schema = arrow_schema(TABLES[table])
    if table in MANY_ROWS:
        return (arrow_batch(partial(_column, columns), schema) for columns in MANY_ROWS[table](log))
    return arrow_batches(log_rows(log, table), schema)


def transaction_batches(log: LogAudit, order: NDArray[np.intp]) -> Iterator[RecordBatch]:
    """Yield the rows of a log's table ``transactions`` at some places, in this order."""
    schema = arrow_schema(TRANSACTIONS)
    return (arrow_batch(partial(_column, columns), schema) for columns in transaction_columns(log, order))


def together(parts: Sequence[ColumnsByName], table: Table) -> RecordBatch:
    """Return rows of several logs, given as columns, as one batch: making one costs as much as some hundred rows."""

    def column(name: str) -> Numbers | Iterable[Any]:
        columns = [part[name] for part in parts]
        texts = [one for one in columns if isinstance(one, TextColumn)]
        if texts:
            return list(chain.from_iterable(one.tolist() for one in texts))
        return _with_absent(np.concatenate([one for one in columns if not isinstance(one, TextColumn)]))

    return arrow_batch(column, arrow_schema(table))


def _column(columns: ColumnsByName, name: str) -> Numbers | Iterable[Any]:
    column = columns[name]
    return column.tolist() if isinstance(column, TextColumn) else _with_absent(column)


def _with_absent(column: NDArray[Any]) -> Numbers:
    absent = column == NONE
    return Numbers(column, absent if absent.any() else None)


def audit_batches(audit: Audit, table: str) -> Iterator[RecordBatch]:
    """Yield all rows of one of the audit's tables."""
    if table == COORDINATOR.name:
        for cluster in audit.clusters:
            yield from coordinator_batches(cluster.coordinator)
        return
    if table not in (TRANSACTIONS.name, PRODUCERS.name):
        yield from arrow_batches(audit_rows(audit, table), arrow_schema(TABLES[table]))
        return
    for cluster in audit.clusters:
        for log in cluster.logs:
            yield from log_batches(log, table)


def coordinator_batches(coordinator: Coordinator) -> Iterator[RecordBatch]:
    """Yield the rows of the table ``coordinator``, column by column; a cluster has many million."""
    schema = arrow_schema(COORDINATOR)
    logs = _texts(PackedTexts.of(coordinator.logs))
    topics = PackedTexts.of(json.dumps(f"{topic}-", ensure_ascii=False)[:-1] for topic in coordinator.states.topics)
    before = _texts(topics)
    for rows, states in coordinator.by_name():
        gone = states.state == TOMBSTONE
        absent = gone if gone.any() else None
        columns: dict[str, Numbers | Iterable[Any]] = {
            "transactional_id": _texts(states.ids.take(states.transactional_id)),
            "state": Numbers(states.state.astype(np.int32) - TOMBSTONE, None, _STATES),
            "partitions": _listed(states, gone, before),
            "offset": Numbers(np.ascontiguousarray(states.offset)),
            "log": logs.take(_numbers(coordinator.of_log[rows])),
        }
        for name in ("producer_id", "producer_epoch", "timeout_ms"):
            columns[name] = Numbers(np.ascontiguousarray(getattr(states, name)), absent)
        for name in ("start_timestamp", "last_update_timestamp"):
            columns[f"{name}_ms"] = Numbers(np.ascontiguousarray(getattr(states, name)), absent)
        yield arrow_batch(columns.__getitem__, schema)


def _listed(states: StateColumns, gone: NDArray[np.bool_], before: pa.Array) -> pa.Array:
    """Return the partitions that records list as JSON, null for none; `before` is what a topic's begin with."""
    import pyarrow as pa
    import pyarrow.compute as pc

    counts = states.partitions_count
    offsets = np.concatenate([[0], np.cumsum(np.maximum(counts, 0))]).astype(np.int32)
    numbers = pa.array(np.ascontiguousarray(states.listed_partition)).cast(pa.string())
    names = pc.binary_join_element_wise(before.take(_numbers(states.listed_topic)), numbers, '"', "")
    lists = pc.binary_join(pa.ListArray.from_arrays(pa.array(offsets), names), ", ")
    texts = pc.binary_join_element_wise("[", lists, "]", "")
    return pc.if_else(pa.array(gone | (counts < 0)), pa.scalar(None, pa.string()), texts)


def _texts(texts: PackedTexts) -> pa.Array:
    import pyarrow as pa

    bounds = np.concatenate([[0], np.cumsum(texts.sizes)]).astype(np.int32)
    return pa.StringArray.from_buffers(len(texts), pa.py_buffer(bounds), pa.py_buffer(texts.data))


def _numbers(column: NDArray[Any]) -> pa.Array:
    import pyarrow as pa

    return pa.array(column.astype(np.int64))


# A log's rows of ``transactions`` in pieces: the rows of a segment as a whole file, where digests stand for them.
#
# A piece has the rows that begin in one segment (``partition.cuts``). They are a function of what the digest of its
# cut stands for, of the final rows that do not also end in it, of the verdicts that do not follow from a marker alone,
# and of the transactional ids. All of these make the key under which a file of the rows is kept for the next audit,
# or, for the ids, are compared when it is taken: verdicts are made anew from everything each time, only unchanged rows
# are not written anew.


Names = Callable[["NDArray[np.int64]"], bytes]


class RowKeeper(Protocol):
    """Keeps files of rows for the next audit, and takes those of an earlier one."""

    def take(self, key: str, rows: int, names: Names) -> WholeFile | None:
        """Return the file of a key if it has so many rows, and the digest of their producers' `names` is the same."""

    def put(self, key: str, file: WholeFile, producers: NDArray[np.int64], names: bytes) -> None:
        """Keep a file with the ids of its producers, and the digest of their names."""


def transaction_parts(log: LogAudit, kept: RowKeeper) -> Iterator[RecordBatch | WholeFile]:
    """Yield a log's table ``transactions`` in its order: whole files of pieces, and batches of all other rows."""
    if not log.partition.cuts or log.verdicts.rows is not log.partition.transactions:  # the latter of a narrowed audit
        yield from log_batches(log, TRANSACTIONS.name)
        return
    pieces = _Pieces(log)
    taken = {number: kept.take(key, rows, pieces.names) for number, (key, rows) in enumerate(pieces.keys()) if rows}
    written = np.array([number for number, file in taken.items() if file is not None], np.intp)
    places, at = pieces.left(written)
    for number, run in _runs(pieces.numbers[places], written, at):
        file = taken.get(number)
        if file is not None:
            yield file
        elif number == _NO_PIECE:
            yield from transaction_batches(log, places[run])
        else:
            file, producers = _made(log, places[run])
            kept.put(pieces.key(number), file, producers, pieces.names(producers))
            yield file


def _runs(
    numbers: NDArray[np.int32], written: NDArray[np.intp], at: NDArray[np.intp]
) -> Iterator[tuple[int, slice]]:  # fmt: skip
    """Yield the numbers of pieces in the table's order, -1 for rows of none, with which of the rows left they are.

    `numbers` are those of the rows left, in order. The pieces that are `written` already come before the rows `at`.
    """
    changes = np.flatnonzero(np.diff(numbers)) + 1
    bounds = np.unique(np.concatenate([[0, len(numbers)], changes, at])).tolist()
    done = 0
    for low, high in zip(bounds, [*bounds[1:], None], strict=True):
        while done < len(written) and at[done] <= low:
            yield int(written[done]), slice(0, 0)
            done += 1
        if high is not None:
            yield int(numbers[low]), slice(low, high)


def _made(log: LogAudit, places: NDArray[np.intp]) -> tuple[WholeFile, NDArray[np.int64]]:
    producers = distinct(log.verdicts.rows.take(places, "producer_id")["producer_id"])
    return whole_file(TRANSACTIONS, transaction_batches(log, places)), producers


class _Late(NamedTuple):
    """Final rows of a log by the numbers of the pieces that they begin in."""

    numbers: NDArray[np.int64]
    rows: Columns

    def of(self, number: int) -> Columns:
        low, high = np.searchsorted(self.numbers, [number, number + 1]).tolist()
        return self.rows.take(slice(low, high))


class _Pieces:
    """A log's transactions by the segment that they begin in: `numbers` has each row's piece, -1 for none."""

    def __init__(self, log: LogAudit) -> None:
        self._log = log
        self.cuts = log.partition.cuts
        verdicts = log.verdicts
        self.numbers = np.full(len(verdicts.rows), -1, np.int32)
        late, start = [np.empty(0, np.intp)], 0
        lows = [cut.base for cut in self.cuts]
        for rows in verdicts.rows.blocks("first_offset", "marker_offset"):
            here = self.numbers[start : start + len(rows)]
            outside = _place(here, rows, self.cuts, lows)
            if outside is not None:
                late.append(start + np.flatnonzero(outside))
            start += len(rows)
        self.rows = np.bincount(self.numbers + 1, minlength=len(self.cuts) + 1)[1:].tolist()
        self._late = self._by_piece(np.concatenate(late))
        judged = verdicts.judged.places.astype(np.intp)
        self._judged = judged[np.argsort(self.numbers[judged], kind="stable")]
        self._of_judged = self.numbers[self._judged]
        self._keys = [self._key(number, cut) for number, cut in enumerate(self.cuts)]

    def keys(self) -> list[tuple[str, int]]:
        """Return the key of each piece, and how many rows it has."""
        return list(zip(self._keys, self.rows, strict=True))

    def key(self, number: int) -> str:
        """Return the key of a piece."""
        return self._keys[number]

    def names(self, producers: NDArray[np.int64]) -> bytes:
        """Return a digest of the transactional ids of some producers."""
        verdicts = self._log.verdicts
        names = verdicts.names(verdicts.coordinator.names_of(producers)).tolist()
        return hashlib.blake2b(json.dumps(names).encode(), digest_size=16).digest()

    def left(self, written: NDArray[np.intp]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return the places of all rows but those of some pieces, in order; and before which of them these come."""
        wanted = np.ones(len(self.cuts) + 1, bool)  # the last one is that of rows of no piece
        wanted[written] = False
        places = np.flatnonzero(wanted[self.numbers])
        begins = _begins(self._log.verdicts.rows.take(places, "first_offset", "marker_offset"))
        order = np.argsort(begins, kind="stable")
        lows = np.array([cut.base for cut in self.cuts])[written]
        return places[order], np.searchsorted(begins[order], lows)

    def _by_piece(self, places: NDArray[np.intp]) -> _Late:
        rows = self._log.verdicts.rows.take(places)
        numbers = self.numbers[places].astype(np.int64)
        order = np.lexsort((rows["producer_id"], _begins(rows), numbers))
        return _Late(numbers[order], rows.take(order))

    def _key(self, number: int, cut: Cut) -> str:
        directory = self._log.partition.directory
        about = (VERSION, SCHEMA_VERSION, directory.log, directory.topic, directory.partition, cut.base, cut.end)
        digest = hashlib.blake2b(cut.inputs, digest_size=20)
        digest.update(json.dumps(about).encode())
        late = self._late.of(number)
        for name in EXTENT_COLUMNS:
            digest.update(late[name].astype("<i8").tobytes())
        digest.update(json.dumps(self._verdicts(number)).encode())
        return digest.hexdigest()

    def _verdicts(self, number: int) -> list[list[Any]]:
        """Return the verdicts on a piece's rows that do not follow from their markers alone."""
        low, high = np.searchsorted(self._of_judged, [number, number + 1]).tolist()
        places = self._judged[low:high]
        rows, words = self._log.verdicts.of_places(places)
        order = np.lexsort((rows["producer_id"], _begins(rows)))
        return [_begins(rows)[order].tolist(), *(column.take(order).tolist() for column in words)]


def _begins(rows: Columns) -> NDArray[np.int64]:
    return np.where(rows["first_offset"] == NONE, rows["marker_offset"], rows["first_offset"])


_NO_PIECE: Final = -1


def _place(here: NDArray[np.int32], rows: Columns, cuts: tuple[Cut, ...], lows: list[int]) -> NDArray[np.bool_] | None:
    """Write the number of each row's piece to `here`; say which rows have one and do not end in it, None for none."""
    begin, marker = _begins(rows), rows["marker_offset"]
    lowest, highest = int(begin.min()), int(begin.max())
    number = bisect_right(lows, lowest) - 1
    if number >= 0 and highest < cuts[number].end:  # nearly all blocks: a fold ends transactions in log order
        here[:] = number
        low, end = lows[number], cuts[number].end
        if int(marker.min()) >= low and int(marker.max()) < end:
            return None
        return (marker < low) | (marker >= end)
    if highest < lows[0] or (number == len(cuts) - 1 and lowest >= cuts[number].end):
        return None
    found = np.searchsorted(lows, begin, "right") - 1
    ends = np.array([cut.end for cut in cuts])
    found[begin >= ends[found]] = _NO_PIECE  # with -1 the last one's, which is undone below
    found[begin < lows[0]] = _NO_PIECE
    here[:] = found
    outside: NDArray[np.bool_] = (found >= 0) & ((marker < np.array(lows)[found]) | (marker >= ends[found]))
    return outside

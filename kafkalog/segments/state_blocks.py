"""The records of a segment of the transaction state topic, read into columns.

They are what ``state_record`` reads of each record; only what that refuses is read by it, to say why.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from kafkalog.columns.sorted_rows import ranges
from kafkalog.columns.table import Columns
from kafkalog.columns.texts import Numbered, TextColumn
from kafkalog.files.limits import OVER_BUDGET, Limits
from kafkalog.findings import Finding
from kafkalog.kafka.internal_block import TYPE, VERSION, InternalBlock
from kafkalog.kafka.internal_topics import Internal
from kafkalog.kafka.message import MalformedError
from kafkalog.kafka.message_program import Program, ReadField, Structure
from kafkalog.kafka.state_records import LISTED_TYPES, STATE_TYPES, StateColumns
from kafkalog.kafka.transaction_state import TransactionState, state_record
from kafkalog.kernel import buffers
from kafkalog.kernel import message_ops as ops
from kafkalog.segments.chunk import Chunk
from kafkalog.segments.decoded import RecordBlock, record_cells
from kafkalog.segments.segment import possible_chunks

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["read_state_columns"]

_STATES: Final = len(TransactionState)
_NONE: Final = np.empty(0, np.int64)
_ROOM: Final = 8384  # records at once: a coordinator writes one a batch, and a block costs a hundred calls of NumPy
# The columns that are one field each of the value, with what a tombstone has.
_FIELDS: Final = {
    "state": ("transactionStatus", -1),
    "producer_id": ("producerId", -1),
    "producer_epoch": ("producerEpoch", -1),
    "timeout_ms": ("transactionTimeoutMs", -1),
    "last_update_timestamp": ("transactionLastUpdateTimestampMs", -1),
    "start_timestamp": ("transactionStartTimestampMs", -1),
    "previous_producer_id": ("previousProducerId", -1),
    "next_producer_id": ("nextProducerId", -1),
    "client_transaction_version": ("clientTransactionVersion", 0),
}


def read_state_columns(
    file: str, log: str, *, limits: Limits | None = None, max_bytes: int | None = None
) -> StateColumns:
    """Read a segment of the state topic; findings are those of records alone, and that not all were read.

    Raises UnreadableError where the file can't be opened or read.
    """
    reader = StateReader(file, log)
    for chunk in possible_chunks(file, limits=limits, max_bytes=max_bytes, room=_ROOM):
        reader.add(chunk)
    return reader.result()


class StateReader:
    """Takes in the chunks of a segment of the state topic in order; `result` gives their records once."""

    def __init__(self, file: str, log: str) -> None:
        self._file = file
        self._log = log
        self._block = InternalBlock(Internal.TRANSACTION_LOG)
        self._cells = record_cells(_ROOM)
        self._records: list[Columns] = []
        self._listed: list[Columns] = []
        self._ids = Numbered()
        self._topics = Numbered()
        self._findings: list[Finding] = []

    def add(self, chunk: Chunk) -> None:
        """Take in the records of a chunk."""
        self._findings += [finding for finding in chunk.findings if finding.code == OVER_BUDGET]
        for block in chunk.records(self._cells):
            if block.recs.count:
                self._add_block(block)

    def result(self) -> StateColumns:
        """Return all records taken in."""
        ids, topics = TextColumn.of_numbered(self._ids), TextColumn.of_numbered(self._topics)
        columns = StateColumns.moved(self._records, self._listed, ids, topics)
        del self._ids, self._topics, self._records, self._listed
        if b"\\" in ids.data or b"\\" in topics.data:  # escaped bytes and a text may read the same
            columns.distinguish()
        _sort_listed(columns)
        columns.findings = self._findings
        return columns

    def _add_block(self, block: RecordBlock) -> None:
        reader, recs = self._block, block.recs
        reader.read_records(block.buf, recs)
        facts, keys, values, cells = (table.numpy() for table in (reader.facts, reader.keys, reader.values, recs))
        is_tombstone = (facts[TYPE] == 0) & (keys[ops.M_ROW] >= 0) & (cells[buffers.VALUE_SIZE] < 0)
        read = (keys[ops.M_ROW] >= 0) & (values[ops.M_ROW] >= 0) & (values[ops.M_TAKEN] == values[ops.M_SIZE])
        rows = {name: np.full(recs.count, missing, np.int64) for name, (_, missing) in _FIELDS.items()}
        programs = reader.kinds[0].values
        at_version = [np.flatnonzero(read & (facts[VERSION] == version)) for version in range(len(programs))]
        for program, of in zip(programs, at_version, strict=True):
            at = _whole(values[ops.M_ROW][of], reader.tables.rows(program.table))
            columns = {one.name: one for one in program.structure.fields}
            for name, (theirs, _) in _FIELDS.items():
                if theirs in columns:
                    rows[name][of] = self._column(program.table, columns[theirs].column)[at]
        read &= (rows["state"] >= 0) & (rows["state"] < _STATES)
        is_kept = read | is_tombstone
        self._report(block, np.flatnonzero(~is_kept))
        kept = np.flatnonzero(is_kept)
        taken = _whole(kept, recs.count)
        rows |= {"offset": cells[buffers.OFFSET], "timestamp": cells[buffers.TIMESTAMP], "version": facts[VERSION]}
        for name in ("timestamp", "last_update_timestamp", "start_timestamp"):
            rows[name] = np.maximum(rows[name], -1)  # what is below is no time of Kafka's
        rows["transactional_id"] = self._names(kept)
        versions = [(program, of[read[of]]) for program, of in zip(programs, at_version, strict=True)]
        rows["partitions_count"], listed = self._list(versions)
        self._records.append(Columns({name: rows[name][taken] for name in STATE_TYPES}).packed())
        self._listed.append(listed.packed())

    def _column(self, table: int, column: int) -> NDArray[Any]:
        return np.frombuffer(self._block.tables.column(table, column), np.int64)

    def _numbered(self, to: Numbered, table: int, name: ReadField, rows: NDArray[Any] | slice) -> NDArray[Any]:
        """Return the numbers of the strings that `rows` of a table have in a field."""
        starts, sizes = (self._column(table, name.column + number)[rows] for number in (0, 1))
        numbers = to.numbers(self._block.tables.buf, starts.data, sizes.data)
        return np.frombuffer(numbers, np.int64)

    def _names(self, kept: NDArray[Any]) -> NDArray[Any]:
        """Return the transactional ids' numbers of the records in rows `kept`, at these rows."""
        key = self._block.kinds[0].key
        assert key is not None  # the topic's records have keys
        found = np.full(self._block.keys.count, -1)
        rows = self._block.keys.numpy()[ops.M_ROW][kept]
        found[kept] = self._numbered(self._ids, key.table, key.structure.fields[0], rows)
        return found

    def _list(self, versions: Sequence[tuple[Program, NDArray[Any]]]) -> tuple[NDArray[np.int64], Columns]:
        """Return how many partitions the records list, and these; each version's records have tables of their own."""
        counts = np.full(self._block.values.count, -1)
        owners, topics, partitions = [_NONE], [_NONE], [_NONE]
        for program, of in versions:
            at = self._block.values.numpy()[ops.M_ROW][of]
            lists = next(one for one in program.structure.fields if one.name == "transactionPartitions")
            count = self._column(program.table, lists.column + 1)[at]
            counts[of] = np.minimum(count, 0)
            count = np.maximum(count, 0)
            first = self._column(program.table, lists.column)[at]
            entries = _rows(first, count, self._block.tables.rows(lists.child))
            assert isinstance(lists.of, ReadField)
            assert isinstance(lists.of.of, Structure)
            topic, numbers = lists.of.of.fields
            each = self._column(lists.child, numbers.column + 1)[entries]
            owners.append(np.repeat(np.repeat(of, count), each))
            topics.append(np.repeat(self._numbered(self._topics, lists.child, topic, entries), each))
            first = self._column(lists.child, numbers.column)[entries]
            listed = _rows(first, each, self._block.tables.rows(numbers.child))
            partitions.append(self._column(numbers.child, 0)[listed])
        owner = np.concatenate(owners)
        order = np.argsort(owner, kind="stable")
        counts += np.bincount(owner, minlength=len(counts))
        columns = {"topic": np.concatenate(topics)[order], "partition": np.concatenate(partitions)[order]}
        return counts, Columns(columns)

    def _report(self, block: RecordBlock, rows: NDArray[Any]) -> None:
        """Report the records in these rows, unless their keys are of a kind that coordinators skip."""
        for number in rows.tolist():
            try:
                state_record(block.key(number), block.value(number))
            except MalformedError as error:
                batch = block.recs.cell(buffers.BATCH, number) if block.outer is None else block.outer
                offset = block.recs.cell(buffers.OFFSET, number)
                finding = Finding.of(
                    "state-record-malformed", self._file, f"the record at offset {offset}: {error}",
                    position=block.heads.cell(buffers.POSITION, batch), offset=offset, log=self._log,
                )  # fmt: skip
                if finding not in self._findings[-1:]:  # two records of a batch may have one offset
                    self._findings.append(finding)


def _whole(rows: NDArray[Any], count: int) -> NDArray[Any] | slice:
    """Return `rows`, which ascend, as a slice if they are all of so many: that copies nothing."""
    return slice(None) if len(rows) == count else rows


def _rows(first: NDArray[Any], count: NDArray[Any], rows: int) -> NDArray[Any] | slice:
    """Return the rows of several stretches of a table, one after the other; a slice if they are all of its `rows`."""
    return slice(None) if int(count.sum()) == rows else ranges(first, count)


def _sort_listed(columns: StateColumns) -> None:
    """Sort what each record lists by topic and partition."""
    topic, partition, counts = columns.listed["topic"], columns.listed["partition"], columns["partitions_count"]
    if counts.max(initial=0) < 2:
        return
    owner = np.repeat(np.arange(len(counts)), np.maximum(counts, 0))
    order = np.lexsort((partition, columns.topics.ranks()[topic], owner))
    columns.listed = Columns.moved([columns.listed], LISTED_TYPES, order)

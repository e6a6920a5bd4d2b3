"""The records of the transaction state topic as typed columns: 82 bytes a record, 8 a partition that one lists.

They are what ``state_record`` reads of each record; only what that refuses is read by it, to say why.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from kafkalog.findings import Finding
from kafkalog.format import kernel
from kafkalog.format import message_ops as ops
from kafkalog.format.internal import Internal
from kafkalog.format.internal_block import TYPE, VERSION, InternalBlock
from kafkalog.format.message import MalformedError, escaped_text
from kafkalog.format.message_program import Program, ReadField, Structure
from kafkalog.format.numbered import Numbered
from kafkalog.format.records.transaction_state import StateRecord, TransactionState, state_record
from kafkalog.log.chunk import Chunk, Limits
from kafkalog.log.expansion import OVER_BUDGET
from kafkalog.log.records import RecordBlock
from kafkalog.log.segment import segment_chunks

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["StateColumns", "StateReader", "read_state_columns"]

_APART: Final = ("transactional_id", "state", "partitions")
_STATES: Final = len(TransactionState)
# The columns that are one field each of the key or value, with their types and what a tombstone has.
_FIELDS: Final = {
    "state": ("transactionStatus", "i1", -1),
    "producer_id": ("producerId", "i8", -1),
    "producer_epoch": ("producerEpoch", "i2", -1),
    "timeout_ms": ("transactionTimeoutMs", "i4", -1),
    "last_update_timestamp": ("transactionLastUpdateTimestampMs", "i8", -1),
    "start_timestamp": ("transactionStartTimestampMs", "i8", -1),
    "previous_producer_id": ("previousProducerId", "i8", -1),
    "next_producer_id": ("nextProducerId", "i8", -1),
    "client_transaction_version": ("clientTransactionVersion", "i2", 0),
}
_TYPES: Final = {
    "offset": "i8", "timestamp": "i8", "transactional_id": "i4", **{name: one[1] for name, one in _FIELDS.items()},
    "version": "i1", "partitions_first": "i8", "partitions_count": "i4", "listed_topic": "i4", "listed_partition": "i4",
}  # fmt: skip


def _none() -> NDArray[Any]:
    return np.empty(0, np.int64)


@dataclass(slots=True, eq=False)
class StateColumns:
    """One row for each state record, in log order; -1 for none, as in StateRecord, and as the state of a tombstone.

    `transactional_id` is a number in `ids`. A record lists the `partitions_count` partitions from row
    `partitions_first` on of the two `listed` columns, sorted by topic and partition; a count of -1 is no list.
    `listed_topic` is a number in `topics`. Names are numbered in the order in which they first occur.
    """

    offset: NDArray[Any] = field(default_factory=_none)
    timestamp: NDArray[Any] = field(default_factory=_none)
    transactional_id: NDArray[Any] = field(default_factory=_none)
    state: NDArray[Any] = field(default_factory=_none)
    producer_id: NDArray[Any] = field(default_factory=_none)
    producer_epoch: NDArray[Any] = field(default_factory=_none)
    timeout_ms: NDArray[Any] = field(default_factory=_none)
    last_update_timestamp: NDArray[Any] = field(default_factory=_none)
    start_timestamp: NDArray[Any] = field(default_factory=_none)
    previous_producer_id: NDArray[Any] = field(default_factory=_none)
    next_producer_id: NDArray[Any] = field(default_factory=_none)
    client_transaction_version: NDArray[Any] = field(default_factory=_none)
    version: NDArray[Any] = field(default_factory=_none)
    partitions_first: NDArray[Any] = field(default_factory=_none)
    partitions_count: NDArray[Any] = field(default_factory=_none)
    listed_topic: NDArray[Any] = field(default_factory=_none)
    listed_partition: NDArray[Any] = field(default_factory=_none)
    ids: list[str] = field(default_factory=list)
    topics: list[str] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.offset)

    def records(self) -> Iterator[StateRecord]:
        """Yield all rows as records."""
        states = [*TransactionState, None]
        topics = [self.topics[number] for number in self.listed_topic.tolist()]
        listed = list(zip(topics, self.listed_partition.tolist(), strict=True))
        fields = (getattr(self, name).tolist() for name in StateRecord._fields if name not in _APART)
        names = (self.ids[number] for number in self.transactional_id.tolist())
        starts, counts = self.partitions_first.tolist(), self.partitions_count.tolist()
        for name, state, first, count, *others in zip(names, self.state.tolist(), starts, counts, *fields, strict=True):
            producer_id, producer_epoch, timeout_ms, *rest = others
            pairs = None if count < 0 else tuple(listed[first : first + count])
            yield StateRecord(name, states[state], producer_id, producer_epoch, timeout_ms, pairs, *rest)

    @classmethod
    def concat(cls, parts: Sequence[StateColumns]) -> StateColumns:
        """Put columns one after the other; the names of all of them are numbered anew, equal ones once."""
        if len(parts) == 1:
            return parts[0]
        ids: dict[str, int] = {}
        topics: dict[str, int] = {}
        columns: dict[str, list[NDArray[Any]]] = {name: [] for name in _TYPES}
        listed = 0
        for part in parts:
            for name, found in columns.items():
                found.append(getattr(part, name))
            columns["transactional_id"][-1] = _renumbered(part.transactional_id, part.ids, ids)
            columns["listed_topic"][-1] = _renumbered(part.listed_topic, part.topics, topics)
            columns["partitions_first"][-1] = part.partitions_first + listed
            listed += len(part.listed_topic)
        joined = {
            name: np.concatenate([np.empty(0, _TYPES[name]), *found]).astype(_TYPES[name], copy=False)
            for name, found in columns.items()
        }
        return cls(
            **joined, ids=list(ids), topics=list(topics), findings=[one for part in parts for one in part.findings]
        )


def _renumbered(numbers: NDArray[Any], names: Sequence[str], known: dict[str, int]) -> NDArray[Any]:
    new = np.array([known.setdefault(name, len(known)) for name in names] or [0], np.int32)
    return new[numbers] if len(numbers) else numbers


def read_state_columns(
    file: str, log: str, *, limits: Limits | None = None, max_bytes: int | None = None
) -> StateColumns:
    """Read a segment of the state topic; findings are those of records alone, and that not all were read.

    Raises UnreadableError where the file can't be opened or read.
    """
    reader = StateReader(file, log)
    for chunk in segment_chunks(file, limits=limits, max_bytes=max_bytes):
        reader.take(chunk)
    return reader.result()


class StateReader:
    """Takes in the chunks of a segment of the state topic in order; `result` gives their records once."""

    def __init__(self, file: str, log: str) -> None:
        self._file = file
        self._log = log
        self._block = InternalBlock(Internal.TRANSACTION_LOG)
        self._parts: dict[str, list[NDArray[Any]]] = {name: [] for name in _TYPES}
        self._ids = Numbered()
        self._topics = Numbered()
        self._listed = 0
        self._findings: list[Finding] = []

    def take(self, chunk: Chunk) -> None:
        """Take in the records of a chunk."""
        self._findings += [finding for finding in chunk.findings if finding.code == OVER_BUDGET]
        for block in chunk.records():
            if block.recs.count:
                self._take(block)

    def result(self) -> StateColumns:
        """Return all records taken in."""
        columns = {name: np.concatenate([np.empty(0, _TYPES[name]), *found]) for name, found in self._parts.items()}
        columns = {name: column.astype(_TYPES[name], copy=False) for name, column in columns.items()}
        ids, topics = ([escaped_text(one) for one in numbered] for numbered in (self._ids, self._topics))
        columns["listed_topic"], columns["listed_partition"] = _sorted(columns, topics)
        return StateColumns(**columns, ids=ids, topics=topics, findings=self._findings)

    def _take(self, block: RecordBlock) -> None:
        reader, recs = self._block, block.recs
        reader.read(block.buf, recs)
        facts, keys, values, cells = (table.numpy() for table in (reader.facts, reader.keys, reader.values, recs))
        is_tombstone = (facts[TYPE] == 0) & (keys[ops.M_ROW] >= 0) & (cells[kernel.VALUE_SIZE] < 0)
        read = (keys[ops.M_ROW] >= 0) & (values[ops.M_ROW] >= 0) & (values[ops.M_TAKEN] == values[ops.M_SIZE])
        rows = {name: np.full(recs.count, missing, np.int64) for name, (_, _, missing) in _FIELDS.items()}
        programs = reader.kinds[0].values
        at_version = [np.flatnonzero(read & (facts[VERSION] == version)) for version in range(len(programs))]
        for program, of in zip(programs, at_version, strict=True):
            at = _whole(values[ops.M_ROW][of], reader.tables.rows(program.table))
            columns = {one.name: one for one in program.structure.fields}
            for name, (theirs, _, _) in _FIELDS.items():
                if theirs in columns:
                    rows[name][of] = self._column(program.table, columns[theirs].column)[at]
        read &= (rows["state"] >= 0) & (rows["state"] < _STATES)
        is_kept = read | is_tombstone
        self._report(block, np.flatnonzero(~is_kept))
        kept = np.flatnonzero(is_kept)
        taken = _whole(kept, recs.count)
        rows |= {"offset": cells[kernel.OFFSET], "timestamp": cells[kernel.TIMESTAMP], "version": facts[VERSION]}
        rows["transactional_id"] = self._names(kept)
        for name, column in rows.items():
            self._parts[name].append(column[taken].astype(_TYPES[name]))
        self._list(kept, [(program, of[read[of]]) for program, of in zip(programs, at_version, strict=True)])

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

    def _list(self, kept: NDArray[Any], versions: Sequence[tuple[Program, NDArray[Any]]]) -> None:
        """Copy the partitions that the records in rows `kept` list; each version's records have tables of their own."""
        counts = np.full(self._block.values.count, -1)
        owners, topics, partitions = [_none()], [_none()], [_none()]
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
        found = np.maximum(counts[kept], 0)
        self._parts["partitions_first"].append(self._listed + np.cumsum(found) - found)
        self._parts["partitions_count"].append(counts[kept].astype(np.int32))
        self._parts["listed_topic"].append(np.concatenate(topics)[order].astype(np.int32))
        self._parts["listed_partition"].append(np.concatenate(partitions)[order].astype(np.int32))
        self._listed += len(owner)

    def _report(self, block: RecordBlock, rows: NDArray[Any]) -> None:
        """Report the records in these rows, unless their keys are of a kind that coordinators skip."""
        for number in rows.tolist():
            try:
                state_record(block.key(number), block.value(number))
            except MalformedError as error:
                batch = block.recs.cell(kernel.BATCH, number) if block.outer is None else block.outer
                offset = block.recs.cell(kernel.OFFSET, number)
                finding = Finding.of(
                    "state-record-malformed", self._file, f"the record at offset {offset}: {error}",
                    position=block.heads.cell(kernel.POSITION, batch), offset=offset, log=self._log,
                )  # fmt: skip
                if finding not in self._findings[-1:]:  # two records of a batch may have one offset
                    self._findings.append(finding)


def _whole(rows: NDArray[Any], count: int) -> NDArray[Any] | slice:
    """Return `rows`, which ascend, as a slice if they are all of so many: that copies nothing."""
    return slice(None) if len(rows) == count else rows


def _rows(first: NDArray[Any], count: NDArray[Any], rows: int) -> NDArray[Any] | slice:
    """Return the rows of several stretches of a table, one after the other; a slice if they are all of its `rows`."""
    ends = np.cumsum(count)
    total = int(ends[-1]) if len(ends) else 0
    return slice(None) if total == rows else np.repeat(first - (ends - count), count) + np.arange(total)


def _sorted(columns: dict[str, NDArray[Any]], topics: Sequence[str]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Sort what each record lists by topic and partition."""
    topic, partition = columns["listed_topic"], columns["listed_partition"]
    if columns["partitions_count"].max(initial=0) < 2:
        return topic, partition
    ranks = np.empty(len(topics), np.int64)
    ranks[sorted(range(len(topics)), key=topics.__getitem__)] = np.arange(len(topics))
    owner = np.repeat(np.arange(len(columns["offset"])), np.maximum(columns["partitions_count"], 0))
    order = np.lexsort((partition, ranks[topic], owner))
    return topic[order], partition[order]

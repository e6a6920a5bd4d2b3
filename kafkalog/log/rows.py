"""Files as rows of the tables in ``tables``, findings among them."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import compress, repeat
from operator import attrgetter
from typing import Any, Final

from kafkalog.findings import Finding, numbered_id
from kafkalog.format import kernel
from kafkalog.format.batch import Batch, CellTable, Record
from kafkalog.format.internal import Internal
from kafkalog.log import values
from kafkalog.log.chunk import Chunk
from kafkalog.log.names import FileKind
from kafkalog.log.records import RecordBlock
from kafkalog.log.selection import Selection
from kafkalog.log.values import Value, cells, texts
from kafkalog.tables import Table
from kafkalog.tables import dump as tables
from kafkalog.tables.audit import FINDINGS
from kafkalog.tables.internal import INTERNAL

__all__ = [
    "TABLES_OF",
    "DistinctIds",
    "finding_row",
    "finding_rows",
    "segment_rows",
    "side_file_rows",
]

Row = tuple[Any, ...]

# The tables that a file of each kind can give; the first is the default.
TABLES_OF: Final[dict[FileKind, tuple[Table, ...]]] = {
    FileKind.LOG: (tables.BATCHES, tables.CONTROL, tables.RECORDS, INTERNAL),
    FileKind.KRAFT_SNAPSHOT: (tables.BATCHES, tables.CONTROL, tables.RECORDS, INTERNAL),
    FileKind.OFFSET_INDEX: (tables.OFFSET_INDEX,),
    FileKind.TIME_INDEX: (tables.TIME_INDEX,),
    FileKind.TXN_INDEX: (tables.ABORTED_TRANSACTIONS,),
    FileKind.PRODUCER_SNAPSHOT: (tables.PRODUCER_STATES,),
    FileKind.OFFSET_CHECKPOINT: (tables.CHECKPOINTS,),
    FileKind.LEADER_EPOCH_CHECKPOINT: (tables.LEADER_EPOCHS,),
    FileKind.PARTITION_METADATA: (tables.PROPERTIES,),
    FileKind.META_PROPERTIES: (tables.PROPERTIES,),
    FileKind.QUORUM_STATE: (tables.PROPERTIES,),
}


def finding_row(finding: Finding, node: str | None = None) -> Row:
    """Make a finding a row of the table ``findings``; `node` is the broker that it was found on, if known."""
    return FINDINGS.of(
        id=finding.id_in(node),
        code=finding.code,
        severity=finding.severity.word,
        certainty=finding.certainty,
        log=finding.log,
        topic=finding.topic,
        partition=finding.partition,
        producer_id=finding.producer_id,
        file=finding.file,
        position=finding.position,
        length=finding.length,
        offset=finding.offset,
        last_offset=finding.last_offset,
        needed=None if finding.needed is None else str(finding.needed),
        found=None if finding.found is None else str(finding.found),
        message=finding.message,
        remedy=finding.remedy,
        leader=finding.leader,
    )


_ID: Final = FINDINGS.names.index("id")


class DistinctIds:
    """Gives findings that would share an id different ones: the second gets one of its own, always the same."""

    def __init__(self) -> None:
        self._seen: Counter[str] = Counter()

    def __call__(self, row: Row) -> Row:
        """Give a row of the table ``findings`` an id that no row before it has."""
        plain = row[_ID]
        number = self._seen[plain]
        self._seen[plain] += 1
        return row if not number else (*row[:_ID], numbered_id(plain, number), *row[_ID + 1 :])


def finding_rows(findings: Iterable[Finding], node: str | None = None) -> Iterator[Row]:
    """Make the findings about one thing, for example a broker's log, rows with different ids."""
    return map(DistinctIds(), (finding_row(finding, node) for finding in findings))


def _batch_rows(file: str, heads: CellTable) -> list[Row]:
    columns = {name: cells(value, _listed(heads)) for name, value in values.BATCH.items()}
    return list(zip(*tables.BATCHES.of(file=repeat(file, heads.count), **columns), strict=True))


def _listed(block: CellTable) -> Callable[[int], list[int]]:
    return lambda number: block.column(number).tolist()


class _RecordRows:
    """Makes the records of one chunk rows; the cells of their batches are made once for each batch."""

    def __init__(self, file: str, heads: CellTable) -> None:
        self.file = file
        self._of_batch = _made(values.OF_BATCH, heads)
        self._message = _made(values.MESSAGE, heads)

    def of(self, block: RecordBlock, numbers: Sequence[int]) -> Iterator[Row]:
        """Yield a row for each of these records; its texts are made when the row is needed."""
        listed = _listed(block.recs)
        if len(numbers) == block.recs.count:
            column = listed
        else:

            def column(number: int) -> list[int]:
                return list(map(listed(number).__getitem__, numbers))

        inner = column(kernel.BATCH)
        outer = inner if block.outer is None else [block.outer] * len(inner)
        message = self._message if block.outer is None else _made(values.MESSAGE, block.heads)
        columns: dict[str, Iterable[Any]] = {
            **{name: cells(value, column) for name, value in values.RECORD.items()},
            **{name: map(made.__getitem__, outer) for name, made in self._of_batch.items()},
            **{name: map(made.__getitem__, inner) for name, made in message.items()},
            **texts(block, numbers),
        }
        return zip(*tables.RECORDS.of(file=repeat(self.file, len(inner)), **columns), strict=True)


def _made(of: Mapping[str, Value], heads: CellTable) -> dict[str, list[Any]]:
    return {name: list(cells(value, _listed(heads))) for name, value in of.items()}


def _control_row(file: str, batch: Batch, record: Record) -> tuple[Table, Row] | Finding:
    from kafkalog.format.control import control_record
    from kafkalog.format.message import MalformedError

    try:
        control = control_record(record.key, record.value)
    except MalformedError as error:
        from kafkalog.log.readers import control_finding

        return control_finding(file, batch, record, error)
    return tables.CONTROL, tables.CONTROL.of(
        file=file,
        offset=record.offset,
        timestamp_ms=record.timestamp,
        type=control.name,
        type_number=control.type,
        version=control.version,
        coordinator_epoch=control.coordinator_epoch,
        data=control.data,
        producer_id=batch.producer_id,
        producer_epoch=batch.producer_epoch,
        partition_leader_epoch=batch.partition_leader_epoch,
        batch_position=batch.position,
    )


def segment_rows(
    file: str, chunks: Iterator[Chunk], wanted: set[str], selection: Selection, internal: Internal | None = None
) -> Iterator[tuple[Table, Row] | Finding]:
    """Yield the selected rows of the tables named in `wanted` as (table, row), and every finding on the way.

    Records are decoded only if a table or the selection needs them; `internal` says which internal topic they belong
    to.
    """
    everything = selection.everything
    records = bool({"records", "internal"} & wanted) or selection.looks_at_records
    reads = records or "control" in wanted
    for chunk in chunks:
        numbers = range(chunk.heads.count if reads or not everything else 0)  # whose headers are read one by one
        batches = [Batch.of(chunk.heads, number) for number in numbers]
        selected = repeat(True) if everything else [selection.may_hold(batch) for batch in batches]
        for number, batch, is_selected in zip(numbers, batches, selected, strict=False):
            if not is_selected or not (records or batch.is_control):
                chunk.skip(number)
        rows = _batch_rows(file, chunk.heads) if "batches" in wanted else []
        if not selection.looks_at_records:
            yield from ((tables.BATCHES, row) for row in compress(rows, selected))
        if reads:
            yield from _record_rows(file, chunk, batches, rows, wanted, selection, internal)
        yield from chunk.findings


def _record_rows(
    file: str, chunk: Chunk, batches: list[Batch], batch_rows: list[Row], wanted: set[str], selection: Selection,
    internal: Internal | None,
) -> Iterator[tuple[Table, Row] | Finding]:  # fmt: skip
    decoded = _internal_rows(file, internal) if "internal" in wanted else None
    record_rows = _RecordRows(file, chunk.heads) if "records" in wanted else None
    newest = -1  # the last batch whose row was yielded because one of its records is selected
    for block in chunk.records():
        numbers = range(block.recs.count) if selection.everything else list(selection.numbers(block))
        rows = repeat(()) if record_rows is None else record_rows.of(block, numbers)
        for number, row in zip(numbers, rows, strict=False):
            at = block.recs.cell(kernel.BATCH, number) if block.outer is None else block.outer
            batch = batches[at]
            if batch_rows and selection.looks_at_records and at != newest:
                yield tables.BATCHES, batch_rows[at]
                newest = at
            is_control = batch.is_control
            if is_control and "control" in wanted:
                yield _control_row(file, batch, block.record(number, batch.position))
            if record_rows is not None:
                yield tables.RECORDS, row
            if decoded is not None and not is_control:
                yield from decoded(batch, block.record(number, batch.position))
        yield from block.findings


def _internal_rows(
    file: str, internal: Internal | None
) -> Callable[[Batch, Record], Iterator[tuple[Table, Row] | Finding]] | None:
    """Make the function that yields a record of an internal topic as rows; log and partition are the directory's."""
    if internal is None:
        return None
    from kafkalog.log.internals import TOPICS, internal_row, read_internal

    log = os.path.dirname(file)
    topic = next(name for name, kind in TOPICS.items() if kind is internal)
    directory = os.path.basename(log)
    number = directory.removeprefix(f"{topic}-")
    partition = int(number) if number != directory and number.isdecimal() else None

    def rows(batch: Batch, record: Record) -> Iterator[tuple[Table, Row] | Finding]:
        for item in read_internal(file, batch, record, internal):
            yield item if isinstance(item, Finding) else (INTERNAL, internal_row(item, topic, log, partition))

    return rows


def side_file_rows(path: str | os.PathLike[str], kind: FileKind) -> Iterator[tuple[Table, Row] | Finding]:
    """Yield the rows of a side file, and every finding.

    Raises UnreadableError if the file can't be read.
    """
    from kafkalog.log import readers
    from kafkalog.log.indexes import check_offset_index, check_time_index

    findings: list[Finding] = []
    file, table = os.fspath(path), TABLES_OF[kind][0]
    if table is tables.PROPERTIES:
        for key, value in readers.read_properties(path, on_finding=findings.append).items():
            yield table, table.of(file=file, key=key, value=value)
        yield from findings
        return
    entries: Sequence[Any]
    if kind is FileKind.OFFSET_INDEX:
        index = check_offset_index(path)
        entries, findings = index.listed, index.findings
    elif kind is FileKind.TIME_INDEX:
        times = check_time_index(path)
        entries, findings = times.listed, times.findings
    elif kind is FileKind.TXN_INDEX:
        entries = readers.read_aborted_transactions(path, on_finding=findings.append)
    elif kind is FileKind.PRODUCER_SNAPSHOT:
        entries = readers.read_snapshot(path, on_finding=findings.append)
    else:
        entries = readers.read_checkpoint(path, on_finding=findings.append).rows
    yield from ((table, row) for row in _entry_rows(table, file, entries))
    yield from findings


def _entry_rows(table: Table, file: str, entries: Sequence[Any]) -> Iterator[Row]:
    """Yield the entries of a side file: a column has the name of the field, and a time also its unit."""
    columns: dict[str, Iterable[Any]] = {"file": repeat(file, len(entries)), "entry": range(len(entries))}
    for name in table.names:
        if name not in columns:
            columns[name] = map(attrgetter(name.removesuffix("_ms")), entries)
    if "entry" not in table.names:
        del columns["entry"]
    return zip(*table.of(**columns), strict=True)

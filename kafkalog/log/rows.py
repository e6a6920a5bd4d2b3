"""Files as rows of the tables that ``tables.py`` declares, findings among them."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

from kafkalog.findings import Finding, numbered_id
from kafkalog.format import kernel
from kafkalog.format.batch import Batch, Record
from kafkalog.format.internal import Internal
from kafkalog.log.chunk import Chunk
from kafkalog.log.names import FileKind
from kafkalog.log.selection import Selection
from kafkalog.tables import Table
from kafkalog.tables import dump as tables
from kafkalog.tables.internal import INTERNAL

__all__ = [
    "TABLES_OF",
    "DistinctIds",
    "finding_row",
    "finding_rows",
    "headers_cell",
    "segment_rows",
    "side_file_rows",
    "text_cells",
]

Row = tuple[Any, ...]

# The tables that a file of each kind can give, its first being the default.
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
    needed = None if finding.needed is None else str(finding.needed)
    found = None if finding.found is None else str(finding.found)
    return (
        finding.id_in(node), finding.code, finding.severity.word, finding.certainty, finding.log, finding.topic,
        finding.partition, finding.producer_id, finding.file, finding.position, finding.length, finding.offset,
        finding.last_offset, needed, found, finding.message, finding.remedy, finding.leader,
    )  # fmt: skip


class DistinctIds:
    """Counts findings that would share an id apart: the second of them gets one of its own, always the same."""

    def __init__(self) -> None:
        self._seen: Counter[str] = Counter()

    def __call__(self, row: Row) -> Row:
        """Give a row of the table ``findings`` the id that no row before has."""
        plain = row[0]
        number = self._seen[plain]
        self._seen[plain] += 1
        return row if not number else (numbered_id(plain, number), *row[1:])


def finding_rows(findings: Iterable[Finding], node: str | None = None) -> Iterator[Row]:
    """Make the findings about one thing, a broker's log or the like, rows with an id each."""
    return map(DistinctIds(), (finding_row(finding, node) for finding in findings))


def text_cells(data: bytes | None) -> tuple[str | None, str | None]:
    """Split bytes into a text column and a base64 column, of which one is null."""
    if data is None:
        return None, None
    try:
        return data.decode(), None
    except UnicodeDecodeError:
        import base64

        return None, base64.b64encode(data).decode()


def _batch_row(file: str, batch: Batch) -> Row:
    delta = None if batch.base_offset is None else batch.last_offset - batch.base_offset
    current = batch.magic > 1
    return (
        file, batch.position, batch.size, batch.base_offset, batch.last_offset, delta, batch.records_count, batch.magic,
        batch.crc, batch.crc_holds, batch.attributes, batch.codec, batch.timestamp_type, batch.is_transactional,
        batch.is_control, current and bool(batch.attributes & 0x40), batch.attributes & 0xFF80 if current else 0,
        batch.base_timestamp, batch.delete_horizon_ms, batch.max_timestamp, batch.producer_id, batch.producer_epoch,
        batch.base_sequence, batch.last_sequence, batch.partition_leader_epoch,
    )  # fmt: skip


def headers_cell(record: Record) -> list[dict[str, str | None]]:
    """Make a record's headers a cell of the column ``headers``."""
    names = ("key", "key_base64", "value", "value_base64")
    return [dict(zip(names, (*text_cells(key), *text_cells(value)), strict=True)) for key, value in record.headers]


def _record_row(file: str, batch: Batch, record: Record) -> Row:
    headers = headers_cell(record)
    return (
        file, record.offset, record.timestamp, batch.timestamp_type, record.sequence, batch.producer_id,
        batch.producer_epoch, batch.is_transactional, batch.is_control, record.size,
        -1 if record.key is None else len(record.key), -1 if record.value is None else len(record.value), len(headers),
        *text_cells(record.key), *text_cells(record.value), headers, batch.magic, record.crc, record.crc_holds,
        record.position, batch.crc_holds,
    )  # fmt: skip


def _control_row(file: str, batch: Batch, record: Record) -> tuple[Table, Row] | Finding:
    from kafkalog.format.control import control_record
    from kafkalog.format.message import MalformedError

    try:
        control = control_record(record.key, record.value)
    except MalformedError as error:
        from kafkalog.log.readers import control_finding

        return control_finding(file, batch, record, error)
    return tables.CONTROL, (
        file, record.offset, record.timestamp, control.name, control.type, control.version, control.coordinator_epoch,
        control.data, batch.producer_id, batch.producer_epoch, batch.partition_leader_epoch, batch.position,
    )  # fmt: skip


def segment_rows(
    file: str, chunks: Iterator[Chunk], wanted: set[str], selection: Selection, internal: Internal | None = None
) -> Iterator[tuple[Table, Row] | Finding]:
    """Yield the selected rows of the tables named in `wanted` as (table, row), and every finding on the way.

    Records are decoded only where a table or the selection needs them; `internal` says what those of the table
    ``internal`` are.
    """
    for chunk in chunks:
        batches = [Batch.of(chunk.heads, row) for row in range(chunk.heads.count)]
        selected = [selection.may_hold(batch) for batch in batches]
        records = bool({"records", "internal"} & wanted) or selection.looks_at_records
        for row, batch in enumerate(batches):
            if not selected[row] or not (records or ("control" in wanted and batch.is_control)):
                chunk.skip(row)
        if "batches" in wanted and not selection.looks_at_records:
            for row, batch in enumerate(batches):
                if selected[row]:
                    yield tables.BATCHES, _batch_row(file, batch)
        if records or "control" in wanted:
            yield from _record_rows(file, chunk, batches, wanted, selection, internal)
        yield from chunk.findings


def _record_rows(
    file: str, chunk: Chunk, batches: list[Batch], wanted: set[str], selection: Selection, internal: Internal | None
) -> Iterator[tuple[Table, Row] | Finding]:
    decoded = _internal_rows(file, internal) if "internal" in wanted else None
    told = -1  # the last batch whose row was given because a record of it is selected
    for block in chunk.records():
        for number in selection.numbers(block):
            row = block.recs.cell(kernel.BATCH, number) if block.outer is None else block.outer
            batch = batches[row]
            record = block.record(number, batch.position)
            if "batches" in wanted and selection.looks_at_records and row != told:
                yield tables.BATCHES, _batch_row(file, batch)
                told = row
            if "control" in wanted and batch.is_control:
                yield _control_row(file, batch, record)
            if "records" in wanted:
                yield tables.RECORDS, _record_row(file, batch, record)
            if decoded and not batch.is_control:
                yield from decoded(batch, record)
        yield from block.findings


def _internal_rows(
    file: str, internal: Internal | None
) -> Callable[[Batch, Record], Iterator[tuple[Table, Row] | Finding]] | None:
    """Make what gives the rows of a record of an internal topic, by the topic's and the directory's name."""
    if internal is None:
        return None
    from kafkalog.log.internals import TOPICS, internal_row, read_internal

    log = os.path.dirname(file)
    topic = next(name for name, held in TOPICS.items() if held is internal)
    directory = os.path.basename(log)
    number = directory.removeprefix(f"{topic}-")
    partition = int(number) if number != directory and number.isdecimal() else None

    def rows(batch: Batch, record: Record) -> Iterator[tuple[Table, Row] | Finding]:
        for item in read_internal(file, batch, record, internal):
            yield item if isinstance(item, Finding) else (INTERNAL, internal_row(item, topic, log, partition))

    return rows


def side_file_rows(path: str | os.PathLike[str], kind: FileKind) -> Iterator[tuple[Table, Row] | Finding]:
    """Yield the rows of a file that is no segment, and every finding.

    Raises UnreadableError where the file can't be read.
    """
    from kafkalog.log import readers
    from kafkalog.log.indexes import check_offset_index, check_time_index

    findings: list[Finding] = []
    rows: list[Row]
    if kind is FileKind.OFFSET_INDEX:
        index = check_offset_index(path)
        rows, findings = [(n, *entry) for n, entry in enumerate(index.listed)], index.findings
    elif kind is FileKind.TIME_INDEX:
        times = check_time_index(path)
        rows, findings = [(n, *entry) for n, entry in enumerate(times.listed)], times.findings
    elif kind is FileKind.TXN_INDEX:
        aborted = readers.read_aborted_transactions(path, on_finding=findings.append)
        rows = [(n, *entry) for n, entry in enumerate(aborted)]
    elif kind is FileKind.PRODUCER_SNAPSHOT:
        rows = [
            (
                state.producer_id, state.producer_epoch, state.first_sequence, state.last_sequence, state.last_offset,
                state.offset_delta, state.timestamp, state.coordinator_epoch, state.current_txn_first_offset,
            )
            for state in readers.read_snapshot(path, on_finding=findings.append)
        ]  # fmt: skip
    elif kind in (FileKind.OFFSET_CHECKPOINT, FileKind.LEADER_EPOCH_CHECKPOINT):
        rows = [tuple(row) for row in readers.read_checkpoint(path, on_finding=findings.append).rows]
    else:
        rows = list(readers.read_properties(path, on_finding=findings.append).items())
    table = TABLES_OF[kind][0]
    file = os.fspath(path)
    for row in rows:
        yield table, (file, *row)
    yield from findings

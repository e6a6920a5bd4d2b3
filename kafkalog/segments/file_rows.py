"""Files as rows of the tables in ``tables``, findings among them."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import repeat
from operator import attrgetter
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from kafkalog.files.names import FileKind
from kafkalog.findings import Finding, numbered_id
from kafkalog.kafka.batch import CONTROL, Batch
from kafkalog.kafka.internal_topics import Internal
from kafkalog.kernel import buffers
from kafkalog.kernel.columns import bytes_kinds
from kafkalog.kernel.plans import BASE64
from kafkalog.segments.blocks import BatchBlocks, Block, ControlBlocks, RecordBlocks, Rows
from kafkalog.segments.chunk import Chunk
from kafkalog.segments.decoded import ROOM, RecordBlock, record_cells
from kafkalog.segments.selection import Picks, Selection, all_rows
from kafkalog.tables import Table
from kafkalog.tables import dump_tables as tables
from kafkalog.tables.audit_tables import FINDINGS
from kafkalog.tables.internal_tables import INTERNAL

if TYPE_CHECKING:
    from kafkalog.folds.fates import BatchFates
    from kafkalog.segments.internal_rows import InternalBlocks
    from kafkalog.values.value import Decode

__all__ = [
    "TABLES_OF",
    "BlockShape",
    "DistinctIds",
    "finding_row",
    "finding_rows",
    "one_by_one",
    "segment_rows",
    "side_file_rows",
]

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


Row = tuple[Any, ...]


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


def one_by_one(items: Iterable[tuple[Table, Row] | Rows | Finding]) -> Iterator[tuple[Table, Row] | Finding]:
    """Make rows that come many at once values, each with its table."""
    for item in items:
        if isinstance(item, Rows):
            table = item.block.table
            yield from ((table, row) for row in item.block.rows(item.start, item.stop))
        else:
            yield item


class BlockShape(NamedTuple):
    """How blocks of rows are made: of at most `room` records, JSON in them `spaced` as in ``InternalBlocks``."""

    room: int = ROOM
    spaced: bool = False


_USUAL: Final = BlockShape()


def segment_rows(
    file: str,
    chunks: Iterable[Chunk],
    wanted: Mapping[str, Sequence[str]],
    selection: Selection,
    internal: Internal | None = None,
    most_records: int | None = None,
    shape: BlockShape = _USUAL,
    *,
    decoders: Mapping[str, Decode] = MappingProxyType({}),
) -> Iterator[Rows | Finding]:
    """Yield the selected rows of the wanted tables, and every finding on the way.

    `wanted` has the columns by the name of their table. Rows come many at once, with these columns. Records are decoded
    only if a table or the selection needs them, and no more than `most_records` are looked at for rows; `internal` says
    which internal topic they belong to. `decoders` are those of ``key`` and ``value``.
    """
    segment = _Segment(file, wanted, selection, internal, most_records, shape)
    if decoders and "records" in wanted:
        segment.decoding = Decoding(file, decoders)
    for chunk in chunks:
        yield from segment.rows(chunk)
        yield from chunk.findings


class _Segment:
    """Makes the rows of one segment's chunks."""

    def __init__(
        self,
        file: str,
        wanted: Mapping[str, Sequence[str]],
        selection: Selection,
        internal: Internal | None,
        most_records: int | None,
        shape: BlockShape,
    ) -> None:
        self._fates = selection.fates
        self._found: BatchFates | None = None
        self._cells = record_cells(shape.room, 0 if self._fates is None else len(tables.OF_LOG))
        self.file = file
        self.wanted = wanted
        self.selection = selection
        self._left = most_records
        self._records = bool({"records", "internal"} & wanted.keys()) or selection.looks_at_records
        self._topic = internal
        self._spaced = shape.spaced
        self._internal_blocks: InternalBlocks | None = None
        self._batch_blocks: BatchBlocks | None = None
        self._record_blocks: RecordBlocks | None = None
        self._control_blocks: ControlBlocks | None = None
        self.decoding: Decoding | None = None

    def rows(self, chunk: Chunk) -> Iterator[Rows | Finding]:
        """Yield a chunk's rows, and the findings about its records."""
        heads, selection = chunk.heads, self.selection
        reads = self._records or "control" in self.wanted
        self._found = None if self._fates is None else self._fates.of(heads)
        picks = selection.batches(heads, self._found)
        selection.leave_out_others(heads, picks, control_only=reads and not self._records)
        batches = None
        if "batches" in self.wanted and heads.count:
            if self._batch_blocks is None:
                self._batch_blocks = BatchBlocks(
                    self.file, self.wanted["batches"], heads.capacity, self._fates, selection.share
                )  # fmt: skip
            # Made before a wrapper is opened: then its header has more than the file says.
            rows = all_rows(heads) if selection.looks_at_records else picks
            batches = self._batch_blocks.of(heads, rows, self._found)
            if selection.looks_at_records:
                batches.freeze()
            else:
                yield Rows(batches, 0, batches.count)
        if reads and selection.skip_without_literals(chunk):
            newest = -1
            for block in chunk.records(self._cells):
                newest = yield from self._of_block(chunk, block, batches, newest)
                yield from block.findings

    def _of_block(
        self, chunk: Chunk, block: RecordBlock, batches: Block | None, newest: int
    ) -> Generator[Rows | Finding, None, int]:
        """Yield the rows of a block of records; `newest` is the last batch whose row was yielded for its record."""
        recs = block.recs
        picks = self.selection.records(block)
        if self._left is not None:
            picks = Picks(picks.rows, min(picks.count, self._left))
            self._left -= picks.count
        if picks.count and self._fates is not None and self._found is not None:
            self.selection.met.count_picked(block, picks, self._fates, self._found)
        records = None
        if "records" in self.wanted:
            if self._record_blocks is None:
                self._record_blocks = RecordBlocks(
                    self.file, self.wanted["records"], recs.capacity, self._fates, self.selection.share
                )  # fmt: skip
            records = self._record_blocks.of(chunk.heads, block, picks, self._found)
        if records is not None and self.decoding is not None and picks.count:
            yield from self.decoding.write_decoded(records, block, picks)
        if batches is not None and self.selection.looks_at_records:
            newest = yield from self._batches_of(block, batches, picks, newest)
        if "control" in self.wanted and block.outer is None:
            yield from self._controls(chunk, block, picks)
        if records is not None and picks.count:
            yield Rows(records, 0, picks.count)
        if self._topic is not None and "internal" in self.wanted:
            yield from self._internal(chunk, block, picks)
        return newest

    @staticmethod
    def _batches_of(block: RecordBlock, batches: Block, picks: Picks, newest: int) -> Generator[Rows, None, int]:
        """Yield the rows of the batches that have a selected record."""
        for number in picks.rows[: picks.count]:
            row = block.recs.cell(buffers.BATCH, number) if block.outer is None else block.outer
            if row != newest:
                yield Rows(batches, row, row + 1)
                newest = row
        return newest

    def _controls(self, chunk: Chunk, block: RecordBlock, picks: Picks) -> Iterator[Rows | Finding]:
        """Yield the rows of control records."""
        if self._control_blocks is None:
            self._control_blocks = ControlBlocks(
                self.file, self.wanted["control"], block.recs.capacity, spaced=self._spaced
            )
        yield from self._control_blocks.of(chunk.heads, block, picks)

    def _internal(self, chunk: Chunk, block: RecordBlock, picks: Picks) -> Iterator[Rows | Finding]:
        """Yield the rows of an internal topic's records."""
        if self._internal_blocks is None:
            from kafkalog.segments.internal_rows import InternalBlocks  # only a decoder needs it

            assert self._topic is not None
            self._internal_blocks = InternalBlocks(
                self.file, self._topic, self.wanted["internal"], block.recs.capacity, spaced=self._spaced
            )
        yield from self._internal_blocks.of(chunk.heads, block, picks)


# Keys and values of a block of the table ``records`` in a chosen format: their text replaces their bytes.


_MOST_REASONS: Final = 20  # that are said of a file's keys, and of its values


@dataclass(slots=True)
class Decoding:
    """What the keys and the values of one file are decoded with; a reason is said once."""

    file: str
    decoders: Mapping[str, Decode]  # by the name of the column
    _said: dict[str, set[str]] = field(default_factory=dict)

    def write_decoded(self, block: Block, records: RecordBlock, picks: Picks) -> Iterator[Finding]:
        """Decode the picked rows of a block. What can't be decoded stays bytes, in base64; so do control records."""
        from kafkalog.values.value import Undecoded  # with json, which few dumps need

        block.freeze()
        buf, room, count = bytearray(block.buf), block.room, picks.count
        cells = block.cells
        for name, decode in self.decoders.items():
            column = next((one for one in block.columns if one.name in (name, f"{name}_base64")), None)
            if column is None:
                continue
            at, coded = column.at, []
            for row in range(count):
                start, size = cells[at + row], cells[at + room + row]
                if size < 0 or _is_control(records, picks.rows[row]):
                    continue
                found = decode(bytes(buf[start : start + size]))
                if isinstance(found, Undecoded):
                    coded.append(row)
                    yield from self._say(name, found.why, records, picks.rows[row], size)
                    continue
                text = (found.text or "").encode(errors="replace")
                cells[at + row], cells[at + room + row] = len(buf), len(text)
                cells[block.weight + row] += len(text)
                buf += text
            bytes_kinds(buf, cells, at, at + room, at + 2 * room, count)
            for row in coded:
                cells[at + 2 * room + row] = BASE64
        block.buf = buf

    def _say(self, what: str, why: str, records: RecordBlock, number: int, size: int) -> Iterator[Finding]:
        said = self._said.setdefault(what, set())
        if why in said or len(said) >= _MOST_REASONS:
            return
        said.add(why)
        from kafkalog.segments.readers import undecodable  # with the readers of side files, which few dumps need

        batch = Batch.of(records.heads, records.recs.cell(buffers.BATCH, number))
        offset = records.recs.cell(buffers.OFFSET, number)
        yield undecodable(self.file, batch, offset, what, size, f"{why}; this is not repeated for later ones")


def _is_control(records: RecordBlock, number: int) -> bool:
    row = records.recs.cell(buffers.BATCH, number)
    return bool(records.heads.cell(buffers.MAGIC, row) >= 2 and records.heads.cell(buffers.ATTRIBUTES, row) & CONTROL)


def side_file_rows(path: str | os.PathLike[str], kind: FileKind) -> Iterator[tuple[Table, Row] | Finding]:
    """Yield the rows of a side file, and every finding.

    Raises UnreadableError if the file can't be read.
    """
    from kafkalog.segments import readers

    findings: list[Finding] = []
    file, table = os.fspath(path), TABLES_OF[kind][0]
    if table is tables.PROPERTIES:
        for key, value in readers.read_properties(path, on_finding=findings.append).items():
            yield table, table.of(file=file, key=key, value=value)
        yield from findings
        return
    read: dict[FileKind, Callable[..., Sequence[Any]]] = {
        FileKind.OFFSET_INDEX: readers.offset_index,
        FileKind.TIME_INDEX: readers.time_index,
        FileKind.TXN_INDEX: readers.read_aborted_transactions,
        FileKind.PRODUCER_SNAPSHOT: readers.read_snapshot,
    }
    if kind in read:
        entries = read[kind](path, on_finding=findings.append)
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

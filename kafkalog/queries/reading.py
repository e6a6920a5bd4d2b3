"""The records that a question means, with what became of them: the library's functions over files and directories.

A question's words are those of ``kafkalog dump``. What is wrong with a file is a Finding and goes to `on_finding`;
without that, warnings and errors become Python warnings (FindingWarning).
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

from kafkalog.errors import UnreadableError
from kafkalog.findings import Finding
from kafkalog.kafka.batch import CellTable, Record
from kafkalog.kernel import buffers
from kafkalog.queries.given_file import GivenFile, GivenLogs
from kafkalog.segments.decoded import RecordBlock
from kafkalog.segments.readers import OnFinding, warn
from kafkalog.segments.segment import segment_chunks
from kafkalog.segments.selection import Picks, Selection
from kafkalog.tables.dump_tables import OPEN, OUTCOMES

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from kafkalog.files.limits import Limits
    from kafkalog.folds.fates import BatchFates, Fates
    from kafkalog.segments.chunk import Chunk
    from kafkalog.tables import Table
    from kafkalog.tables.arrow import ArrowTable

__all__ = [
    "Question",
    "SelectedBlock",
    "batch_table",
    "record_columns",
    "record_table",
    "records",
    "selected_blocks",
    "selection_of",
]

Paths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]


class Question(TypedDict, total=False):
    """Which records: each word that is given must hold.

    `topic` and `transactional_id` are names or patterns, `outcome` is a word of the column of that name, or some, or
    ``open``. `header` is a name, or a name and a value. `since` and `until` are ms since 1970, `offsets` the first and
    the last offset, None for no bound.
    """

    topic: str | Sequence[str] | None
    partition: int | range | None
    transactional_id: str | Sequence[str] | None
    producer_id: int | None
    outcome: str | Sequence[str] | None
    key: bytes | None
    header: bytes | tuple[bytes, bytes] | None
    since: int | None
    until: int | None
    offsets: tuple[int | None, int | None]


def selection_of(question: Question) -> Selection:
    """Return which records of a file a question means, whichever log it is of.

    Raises ValueError for a word that is no outcome.
    """
    header = question.get("header")
    words = {word for one in _listed(question.get("outcome")) for word in (OPEN if one == "open" else (one,))}
    if not words <= set(OUTCOMES):
        wrong = ", ".join(sorted(words - set(OUTCOMES)))
        raise ValueError(f"{wrong} is no outcome; these are: {', '.join(OUTCOMES)}, open")
    first, last = question.get("offsets", (None, None))
    return Selection(
        first_offset=first,
        last_offset=last,
        since_ms=question.get("since"),
        until_ms=question.get("until"),
        producer_id=question.get("producer_id"),
        key=question.get("key"),
        header=(header, None) if isinstance(header, bytes) else header,
        outcomes=frozenset(words),
        transactional_ids=_listed(question.get("transactional_id")),
    )


def _listed(words: str | Sequence[str] | None) -> tuple[str, ...]:
    return () if words is None else (words,) if isinstance(words, str) else tuple(words)


@dataclass(frozen=True, slots=True)
class SelectedBlock:
    """Decoded records of a file, of which those at `picks` are meant; the next block uses the same buffers.

    `found` says what became of the batches of the chunk that they are of, `passed` is the block's.
    """

    file: str
    chunk: Chunk
    block: RecordBlock
    picks: Picks
    fates: Fates | None = None
    found: BatchFates | None = None
    passed: NDArray[np.bool_] | None = None

    @property
    def heads(self) -> CellTable:
        """Return the batches of the chunk."""
        return self.chunk.heads

    def with_fates(self, file: GivenFile | None) -> SelectedBlock:
        """Return the same with what became of the records, as the file tells."""
        if self.fates is not None or file is None or file.fates is None:
            return self
        return replace(self, fates=file.fates, found=file.fates.of(self.heads), passed=self.block.passed())

    def rows(self) -> Sequence[int]:
        """Return the numbers of the meant records."""
        return self.picks.rows[: self.picks.count]

    def batch_of(self, row: int) -> int:
        """Return the row in `heads` of a record's batch."""
        return self.block.recs.cell(buffers.BATCH, row) if self.block.outer is None else self.block.outer

    def batches(self) -> NDArray[np.int64]:
        """Return the rows in `heads` of the meant records' batches, each once."""
        import numpy as np

        if self.block.outer is not None:
            return np.array([self.block.outer])
        of_each: NDArray[np.int64] = self.block.recs.numpy()[buffers.BATCH][np.asarray(self.rows())]
        numbers: NDArray[np.int64] = of_each[np.diff(of_each, prepend=-1) != 0]
        return numbers

    def record(self, row: int) -> Record:
        """Make one Record."""
        block, fates, found = self.block, self.fates, self.found
        position = None if block.outer is None else self.heads.cell(buffers.POSITION, block.outer)
        record = block.record(row, position)
        if fates is None or found is None:
            return record
        batch = self.batch_of(row)
        topic, partition, log = fates.topic, fates.partition, fates.log
        name, outcome = fates.id_of(found, batch), fates.outcome_of(found, batch)
        is_passed = self.passed is not None and bool(self.passed[row])
        visible = fates.is_visible(found, batch, record.offset, is_passed=is_passed)
        return record._replace(
            topic=topic, partition=partition, log=log, transactional_id=name, outcome=outcome, visible=visible
        )


def selected_blocks(
    file: GivenFile, selection: Selection, limits: Limits | None, *, max_bytes: int | None = None
) -> Iterator[SelectedBlock | Finding]:
    """Yield the records of a file that are meant, block by block, and every finding on the way.

    Raises UnreadableError if the file can't be opened or read.
    """
    fates, selection = file.fates, file.selection(selection)
    for chunk in segment_chunks(file.path, limits=limits, max_bytes=max_bytes):
        if not selection.skip_without_literals(chunk):
            selection.met.meet(chunk.heads)
            yield from chunk.findings
            continue
        found = fates.of(chunk.heads) if fates is not None and selection.needs_fates else None
        selection.leave_out_others(chunk.heads, selection.batches(chunk.heads, found))
        for block in chunk.records():
            picks = selection.records(block)
            if picks.count:
                if fates is not None:
                    found = found or fates.of(chunk.heads)
                    selection.met.count_picked(block, picks, fates, found)
                passed = None if fates is None else block.passed()
                yield SelectedBlock(file.path, chunk, block, picks, fates, found, passed)
            yield from block.findings
        yield from chunk.findings


def records(
    path: Paths, *, limits: Limits | None = None, on_finding: OnFinding | None = None, max_bytes: int | None = None,
    **question: Unpack[Question],
) -> Iterator[Record]:  # fmt: skip
    """Yield the records that a question means, control records included, in the order of topics, partitions, offsets.

    A path is a segment, a KRaft snapshot, or a directory: then all logs below it are meant, of several replicas of a
    partition the one that consumers read, and each record says where it is and what became of it. Of a file it says so
    if the question is about a topic, a partition, an outcome or a transactional id. `max_bytes` makes each file end
    there. Raises UnreadableError if a file can't be opened or read, NothingMatchesError if no log is of such a topic or
    partition, ValueError for a word that is no outcome.

    Timestamps are ms since 1970; keys and values are bytes or None. `limits` bound the memory of a batch, in bytes; by
    default they are those of `Limits()`. `on_finding` is called with each finding; without it a finding is a
    `FindingWarning`.

    >>> next(kafkalog.records("fixtures/v2.8-hanging/data/ledger-1/00000000000000000000.log")).value
    b'a-1-0-'
    """
    report = on_finding or warn
    selection = selection_of(question)
    given = _given(path, question, selection, limits, report)
    for file in given.files:
        for item in selected_blocks(file, selection, limits, max_bytes=max_bytes):
            if isinstance(item, Finding):
                report(item)
            else:
                for row in item.rows():
                    yield item.record(row)
    _report(given.lost(), report)


def _given(
    path: Paths, question: Question, selection: Selection, limits: Limits | None, report: OnFinding, *,
    with_fates: bool | None = None,
) -> GivenLogs:  # fmt: skip
    """Return the files of a question; what becomes of their records is known where it is asked for, or of a directory.

    Parts of the logs that are elsewhere or could not be listed are reported.
    Raises UnreadableError if an input can't be read.
    """
    from kafkalog.files.directories import is_directory
    from kafkalog.files.limits import Limits
    from kafkalog.narrowing import Narrowing

    paths = [os.fspath(one) for one in ([path] if isinstance(path, str | os.PathLike) else path)]
    partition = question.get("partition")
    if isinstance(partition, int):
        partition = range(partition, partition + 1)
    narrowing = Narrowing(_listed(question.get("topic")), () if partition is None else (partition,))
    of_logs = narrowing.of_logs or selection.needs_fates
    if not of_logs and not with_fates and not any(map(is_directory, paths)):
        return GivenLogs([GivenFile(one) for one in paths])
    from kafkalog.queries.given_logs import given_logs

    given = given_logs(paths, narrowing, selection, limits or Limits(), with_fates=with_fates is not False or of_logs)
    if given.refused:
        raise UnreadableError("{0.file}: {0.message}".format(given.refused[0]))
    _report(given.unread, report)
    return given


def _report(findings: Iterable[Finding], report: OnFinding) -> None:
    for finding in findings:
        report(finding)


def record_columns(
    path: Paths, *, limits: Limits | None = None, on_finding: OnFinding | None = None, **question: Unpack[Question]
) -> dict[str, NDArray[np.int64]]:  # fmt: skip
    """Return the records as NumPy columns of int64: offset, timestamp, sequence, sizes, header count.

    Of a directory also `partition`, `outcome` (a number of ``kafkalog.OUTCOMES``) and `visible` (1, 0), -2**63 where
    there is none. Keys and values are not copied; `records` yields them. Paths, words and errors are those of
    `records`.

    All columns have one cell for each record; timestamps are ms, sizes bytes. `limits` bound the memory of a batch, in
    bytes; by default they are those of `Limits()`.

    >>> kafkalog.record_columns("fixtures/v2.8-hanging/data/ledger-1/00000000000000000000.log")["offset"].tolist()
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14]
    """
    import numpy as np

    names = ("offset", "timestamp", "sequence", "key_size", "value_size", "headers_count", "size")
    more = ("partition", "outcome", "visible")
    report = on_finding or warn
    selection = selection_of(question)
    given = _given(path, question, selection, limits, report)
    files = given.files
    wanted = (*names, *more) if any(file.fates is not None for file in files) else names
    parts: dict[str, list[NDArray[np.int64]]] = {name: [np.empty(0, np.int64)] for name in wanted}
    for file in files:
        for item in selected_blocks(file, selection, limits):
            if isinstance(item, Finding):
                report(item)
                continue
            rows = np.frombuffer(item.picks.rows, np.int64)[: item.picks.count]
            cells = item.block.recs.numpy()[:, rows]
            for name in names:
                parts[name].append(cells[buffers.RECORD_COLUMNS.index(name)])
            if item.fates is not None and item.found is not None:
                of = cells[buffers.BATCH] if item.block.outer is None else np.full(len(rows), item.block.outer)
                passed = None if item.passed is None else item.passed[rows]
                partition = buffers.NONE if item.fates.partition is None else item.fates.partition
                parts["partition"].append(np.full(len(rows), partition))
                parts["outcome"].append(item.found.outcome[of])
                parts["visible"].append(item.fates.visible(item.found.shown[of], cells[buffers.OFFSET], passed))
    _report(given.lost(), report)
    return {name: np.concatenate(part) for name, part in parts.items()}


def batch_table(
    path: Paths, *, columns: Sequence[str] | None = None, limits: Limits | None = None,
    on_finding: OnFinding | None = None, **question: Unpack[Question],
) -> ArrowTable:  # fmt: skip
    """Return batches as the Arrow table ``batches`` of ``kafkalog schema``; of a directory with all columns.

    Columns of few different words are dictionaries. Only the named columns are made. Needs pyarrow. Paths, words and
    errors are those of `records`; raises KeyError for a column that the table does not have.

    `limits` bound the memory of a batch, in bytes; by default they are those of `Limits()`.

    >>> path = "fixtures/v2.8-hanging/data/ledger-1/00000000000000000000.log"
    >>> kafkalog.batch_table(path, columns=["base_offset"]).column_names
    ['base_offset']
    """
    from kafkalog.tables.dump_tables import BATCHES

    return _table(BATCHES, path, columns, limits, on_finding, question)


def record_table(
    path: Paths, *, columns: Sequence[str] | None = None, limits: Limits | None = None,
    on_finding: OnFinding | None = None, **question: Unpack[Question],
) -> ArrowTable:  # fmt: skip
    """Return records as the Arrow table ``records`` of ``kafkalog schema``; of a directory with all columns.

    Columns of few different words are dictionaries. Only the named columns are made. Needs pyarrow. Paths, words and
    errors are those of `records`; raises KeyError for a column that the table does not have.

    `limits` bound the memory of a batch, in bytes; by default they are those of `Limits()`.

    >>> path = "fixtures/v2.8-hanging/data/ledger-1/00000000000000000000.log"
    >>> kafkalog.record_table(path, columns=["offset", "value"]).column_names
    ['offset', 'value']
    """
    from kafkalog.tables.dump_tables import RECORDS

    return _table(RECORDS, path, columns, limits, on_finding, question)


def _table(
    table: Table, path: Paths, columns: Sequence[str] | None, limits: Limits | None, on_finding: OnFinding | None,
    question: Question,
) -> ArrowTable:  # fmt: skip
    from kafkalog.segments.segment_arrow import ARROW_BATCHES, segment_as_arrow
    from kafkalog.tables.arrow import arrow_table, chosen_schema
    from kafkalog.tables.dump_tables import OF_LOG

    report = on_finding or warn
    selection = selection_of(question)
    asked = None if columns is None else bool(set(columns) & set(OF_LOG))
    given = _given(path, question, selection, limits, report, with_fates=asked)
    files = given.files
    if columns is None:
        columns = table.names if any(file.fates is not None for file in files) else table.usual
    schema = chosen_schema(table, columns, coded=True, files=True)

    def batches() -> Iterator[Any]:
        for file in files:
            chunks = segment_chunks(file.path, limits=limits, room=ARROW_BATCHES)
            yield from segment_as_arrow(file.path, chunks, table, schema, file.selection(selection), report)
        _report(given.lost(), report)

    return arrow_table(batches(), schema)

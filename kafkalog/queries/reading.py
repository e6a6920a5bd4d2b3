"""The records that a question means, with what became of them.

A question's words are those of ``kafkalog dump``. What is wrong with a file is a Finding; `record_columns` gives them
to `on_finding`, and without that warnings and errors become Python warnings (FindingWarning).
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import repeat
from operator import index
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

from kafkalog.errors import InvalidInputError
from kafkalog.findings import Finding
from kafkalog.kafka.batch import CellTable, Record
from kafkalog.kernel import buffers
from kafkalog.kernel import records as kernel_records
from kafkalog.narrowing import EVERYTHING, Narrowing
from kafkalog.quantities import Ago, When, time_of
from kafkalog.queries.given_file import GivenFile, GivenLogs
from kafkalog.segments.decoded import RecordBlock
from kafkalog.segments.readers import OnFinding, warn
from kafkalog.segments.segment import segment_chunks
from kafkalog.segments.selection import Picks, ReplicaChoice, Selection
from kafkalog.tables.dump_tables import OPEN, OUTCOMES

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from kafkalog.files.limits import Limits
    from kafkalog.folds.fates import BatchFates, Fates
    from kafkalog.segments.chunk import Chunk

__all__ = [
    "Question",
    "SelectedBlock",
    "files_of",
    "listed",
    "number_of",
    "record_columns",
    "selected_blocks",
    "selection_of",
    "when_of",
]

# What `Record._make` calls, without the call between: a tenth of what a record costs.
_new: Callable[[type[Record], tuple[Any, ...]], Record] = tuple.__new__

Paths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]


class Question(TypedDict, total=False):
    """Which records: each word that is given must hold.

    `transactional_id` is a name or a pattern, or some, `outcome` a word of the column of that name, or some, or
    ``open``. `header` is a name, or a name and a value. `since` and `until` are ms since 1970 or ISO-8601, `offsets`
    the first and the last offset, None for no bound. `value` is a part of the value, `value_regex` matches a part.
    """

    transactional_id: str | Sequence[str] | None
    producer_id: int | None
    outcome: str | Sequence[str] | None
    key: bytes | None
    header: bytes | tuple[bytes, bytes] | None
    since: int | str | None
    until: int | str | None
    offsets: tuple[int | None, int | None]
    value: bytes | None
    value_regex: bytes | re.Pattern[bytes] | None
    null_value: bool


def selection_of(question: Question) -> Selection:
    """Return which records of a file a question means, whichever log it is of.

    Raises InvalidInputError for an unknown outcome, and for a time or a regular expression that cannot be read.
    """
    if unknown := [name for name in question if name not in Question.__annotations__]:
        raise TypeError(f"a question has no {unknown[0]!r}: it has {', '.join(Question.__annotations__)}")
    header = question.get("header")
    for name in ("key", "value"):
        _refuse_text(name, question.get(name))
    for part in header if isinstance(header, tuple) else (header,):
        _refuse_text("header", part)
    words = {word for one in listed(question.get("outcome")) for word in (OPEN if one == "open" else (one,))}
    if not words <= set(OUTCOMES):
        wrong = ", ".join(sorted(words - set(OUTCOMES)))
        raise InvalidInputError(f"{wrong} is no outcome; these are: {', '.join(OUTCOMES)}, open")
    if isinstance(header, tuple) and len(header) != 2:
        raise InvalidInputError("header: give a name, or a name and a value, as (b'trace', b'17')")
    try:
        first, last = question.get("offsets", (None, None))
    except (TypeError, ValueError) as error:
        raise InvalidInputError("offsets: give the first and the last, as (5, 9) or (5, None)") from error
    return Selection(
        first_offset=number_of("offsets", first),
        last_offset=number_of("offsets", last),
        since_ms=_ms("since", question.get("since")),
        until_ms=_ms("until", question.get("until")),
        producer_id=number_of("producer_id", question.get("producer_id")),
        key=question.get("key"),
        header=(header, None) if isinstance(header, bytes) else header,
        outcomes=frozenset(words),
        transactional_ids=listed(question.get("transactional_id")),
        value=question.get("value"),
        value_pattern=_pattern(question.get("value_regex")),
        null_value=question.get("null_value", False),
    )


def number_of(name: str, number: Any) -> int | None:
    """Return a whole number of 64 bits, NumPy's too, as an int. Raises InvalidInputError for anything else."""
    try:
        found = None if number is None else index(number)
    except TypeError as error:
        raise InvalidInputError(f"{name}: {number!r} is no whole number") from error
    if found is not None and found.bit_length() > 63:
        raise InvalidInputError(f"{name}: {number} has more than 64 bits")
    return found


def when_of(name: str, time: int | str | None, *, relative: bool = True) -> When | None:
    """Read a time, which may be relative. Raises InvalidInputError for anything else."""
    if time is None or (hasattr(time, "__index__") and not isinstance(time, bool)):
        return number_of(name, time)
    if not isinstance(time, str):
        raise InvalidInputError(f"{name}: {time!r} is not a time: give ms since 1970 as an int, or ISO-8601 as a str")
    try:
        return time_of(time)
    except ValueError as error:
        more = ", or -1h for an hour before the newest" if relative else ""
        raise InvalidInputError(f"{name}: {error}{more}") from error


def _ms(name: str, time: int | str | None) -> int | None:
    """Read a time that is no relative one."""
    found = when_of(name, time, relative=False)
    if isinstance(found, Ago):
        raise InvalidInputError(f"{name}: {time!r} is relative; give a time such as 2026-11-21T03:00:00Z")
    return found


def _refuse_text(name: str, data: object) -> None:
    if data is not None and not isinstance(data, bytes | bytearray | memoryview):
        raise InvalidInputError(f"{name} is of bytes, and {data!r} is none: write b'…', or encode it")


def _pattern(regex: bytes | re.Pattern[bytes] | None) -> re.Pattern[bytes] | None:
    _refuse_text("value_regex", regex.pattern if isinstance(regex, re.Pattern) else regex)
    try:
        return None if regex is None else re.compile(regex)
    except re.error as error:
        raise InvalidInputError(f"value_regex: not a regular expression: {error}") from error


def listed(words: str | Sequence[str] | None) -> tuple[str, ...]:
    """Return some words, one, or none, as a tuple. Raises InvalidInputError for what is no word."""
    if words is None or isinstance(words, str):
        return () if words is None else (words,)
    found = tuple(words) if isinstance(words, Iterable) else (words,)
    if wrong := [one for one in found if not isinstance(one, str)]:
        raise InvalidInputError(f"{wrong[0]!r} is no name: give a str, or some")
    return found


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

    def records(self) -> Iterator[Record]:
        """Make all of the meant Records, column by column: several times as fast as one after the other."""
        block, heads, rows = self.block, self.block.heads, self.rows()
        magics = heads.column(buffers.MAGIC).tolist()
        if block.outer is not None or min(magics, default=2) < 2:
            return map(self.record, rows)
        recs, count = block.recs, len(rows)

        def column(number: int) -> Sequence[int]:
            cells = recs.column(number).tolist()
            return cells if count == recs.count else [cells[row] for row in rows]

        def copies(start: int, size: int) -> list[bytes | None]:
            return kernel_records.copies(block.buf, recs.cells, start, size, self.picks.rows, count)

        batches = column(buffers.BATCH)
        positions = heads.column(buffers.POSITION).tolist()
        headers: Iterable[tuple[tuple[bytes, bytes | None], ...]] = repeat(())
        if any(recs.column(buffers.HEADERS_COUNT)):
            headers = kernel_records.copies_of_headers(block.buf, recs.cells, self.picks.rows, count)
        offsets = column(buffers.OFFSET)
        cells = zip(
            offsets, column(buffers.TIMESTAMP), column(buffers.SEQUENCE), copies(buffers.KEY_START, buffers.KEY_SIZE),
            copies(buffers.VALUE_START, buffers.VALUE_SIZE), headers, column(buffers.RECORD_SIZE),
            [positions[batch] for batch in batches], [magics[batch] for batch in batches], repeat(None), repeat(None),
            *self._told(batches, offsets),
        )  # fmt: skip
        return map(_new, repeat(Record), cells)

    def _told(self, batches: Sequence[int], offsets: Sequence[int]) -> Iterable[Iterable[Any]]:
        """Return the columns of Record from `topic` on."""
        fates, found = self.fates, self.found
        if fates is None or found is None:
            return (repeat(None) for _ in range(6))
        import numpy as np

        kinds = [fates.outcome_of(found, batch) for batch in range(len(found.outcome))]
        names = [fates.id_of(found, batch) for batch in range(len(found.outcome))]
        passed = None if self.passed is None else self.passed[np.asarray(self.rows())]
        shown = fates.visible(found.shown[np.asarray(batches)], np.asarray(offsets), passed).tolist()
        return (
            repeat(fates.topic), repeat(fates.partition), repeat(fates.log), [names[batch] for batch in batches],
            [kinds[batch] for batch in batches], [None if one == buffers.NONE else bool(one) for one in shown],
        )  # fmt: skip

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


def files_of(
    paths: Sequence[str], narrowing: Narrowing, selection: Selection, limits: Limits | None = None, *,
    jobs: int | None = 1, with_fates: bool | None = None, every_replica: bool = False,
) -> GivenLogs:  # fmt: skip
    """Return the files of a question, in the order of topics, partitions, offsets.

    A path is a segment, a KRaft snapshot, or a directory: then all logs below it are meant, of several replicas of a
    partition the one that consumers read; with `every_replica`, which needs `with_fates`, what others alone have
    follows. What becomes of their records is known where it is asked for, or of a
    directory. Raises NothingMatchesError if no log is of such a topic or partition.
    """
    from kafkalog.files.directories import is_directory
    from kafkalog.files.limits import Limits

    of_logs = narrowing.of_logs or selection.needs_fates
    if not of_logs and not with_fates and not any(map(is_directory, paths)):
        return GivenLogs([GivenFile(one) for one in paths])
    from kafkalog.queries.given_logs import given_logs

    return given_logs(
        paths, narrowing, selection, limits or Limits(), with_fates=with_fates is not False or of_logs, jobs=jobs,
        replicas=ReplicaChoice(every_replica),
    )  # fmt: skip


def _report(findings: Iterable[Finding], report: OnFinding) -> None:
    for finding in findings:
        report(finding)


def record_columns(
    path: Paths, *, limits: Limits | None = None, on_finding: OnFinding | None = None, **question: Unpack[Question]
) -> dict[str, NDArray[np.int64]]:  # fmt: skip
    """Return the records as NumPy columns of int64: offset, timestamp, sequence, sizes, header count.

    Of a directory also `partition`, `outcome` (a number of ``kafkalog.OUTCOMES``) and `visible` (1, 0), -2**63 where
    there is none. Keys and values are not copied; ``kafkalog.open(path).records()`` has them, and the same paths, words
    and errors.

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
    paths = [os.fspath(one) for one in ([path] if isinstance(path, str | os.PathLike) else path)]
    given = files_of(paths, EVERYTHING, selection, limits)
    given.refuse_nothing()
    _report([*given.refused, *given.unread], report)
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

"""What an audit reports about transactions: those that hang, are undecided, pending or overdue."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from copy import copy
from hashlib import sha256
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from kafkalog.auditing.partition import PartitionAudit
from kafkalog.auditing.topics import LeadersAt
from kafkalog.auditing.transactions.deadlines import Deadlines
from kafkalog.auditing.transactions.judged_rows import JudgedRows
from kafkalog.auditing.transactions.prose import SAID, LostMarkers, messages, remedies
from kafkalog.auditing.transactions.verdicts import Verdicts
from kafkalog.auditing.transactions.words import CAUSE, CERTAINTY, STATE
from kafkalog.catalogue import CATALOGUE
from kafkalog.findings import Finding, Severity
from kafkalog.format.text_columns import TextColumn, joined, sentences
from kafkalog.tables.audit import CERTAINTIES
from kafkalog.txn.columns import NONE, Columns
from kafkalog.txn.placed import among

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["CODES", "OF_VERDICTS", "TransactionFindings", "Unread"]

_AT_ONCE: Final = 4096  # findings that are made together
_JUDGED_AT_ONCE: Final = 1 << 16  # verdicts that are looked at together
CODES: Final = (
    "transaction-hanging", "transaction-undecided", "transaction-pending", "transaction-overdue", "late-data-adopted",
)  # fmt: skip
OF_VERDICTS: Final = frozenset(CODES[:4])  # about what is open
_HANGING, _UNDECIDED, _PENDING, _OVERDUE, _ADOPTED = range(len(CODES))


class Unread(NamedTuple):
    """Why no consumer reads the transactions of a replica: the offset from which on `leader` has other batches."""

    fork: int
    leader: str

    @property
    def words(self) -> str:
        """Return what a finding says of it, after all else."""
        return (
            f" No consumer reads this replica: from offset {self.fork} on the leader's replica, {self.leader}, has"
            " other batches."
        )


class TransactionFindings:
    """The findings about the transactions of a log: counted as columns, made some thousand at a time.

    `replicas` are the partition's other logs: one may still have a marker that this one has lost. `leaders` say who led
    at each finding's offset. With `only` they are those about some open ones among what is judged.
    """

    def __init__(
        self, audit: PartitionAudit, verdicts: Verdicts, deadlines: Deadlines,
        replicas: Sequence[PartitionAudit] = (), leaders: LeadersAt | None = None,
        only: NDArray[np.intp] | None = None,
    ) -> None:  # fmt: skip
        self._audit = audit
        self._verdicts = verdicts
        self._coordinator = verdicts.coordinator
        self._leaders = leaders
        self._unread: Unread | None = None
        judged = verdicts.judged
        codes, severities = np.empty(len(judged.places), np.int8), np.empty(len(judged.places), np.int8)
        for start in range(0, len(codes), _JUDGED_AT_ONCE):
            part = slice(start, start + _JUDGED_AT_ONCE)
            some = judged.take(part)
            overdue = deadlines.passed(some, self._coordinator)
            codes[part], severities[part] = _codes(some, overdue), _severities(some, overdue)
        self._lost = LostMarkers(verdicts, replicas, codes == _HANGING)
        self._numbers = np.flatnonzero(codes >= 0)
        if only is not None:
            self._numbers = np.intersect1d(only, self._numbers[codes[self._numbers] != _ADOPTED])
        self._codes = codes[self._numbers]
        usual = np.array([CATALOGUE[code].severity for code in CODES], np.int8)[self._codes]
        own = severities[self._numbers]
        self._severities = np.where(own < 0, usual, own)

    def __len__(self) -> int:
        return len(self._numbers)

    def counts(self) -> Counter[tuple[str, Severity]]:
        """Count the findings by code and severity."""
        counts = np.bincount(self._codes * len(Severity) + self._severities)
        pairs = (divmod(number, len(Severity)) for number in range(len(counts)))
        return Counter(
            {
                (CODES[code], Severity(severity)): count
                for (code, severity), count in zip(pairs, counts.tolist(), strict=True)
                if count
            }
        )

    def of_producers(self, producers: NDArray[np.int64]) -> TransactionFindings:
        """Return the findings about the transactions of some producers."""
        places = self._verdicts.judged.places[self._numbers]
        return self.some(among(self._verdicts.rows.take(places, "producer_id")["producer_id"], producers))

    def some(self, numbers: NDArray[np.intp] | NDArray[np.bool_]) -> TransactionFindings:
        """Return some of the findings."""
        found = copy(self)
        found._numbers, found._codes = self._numbers[numbers], self._codes[numbers]
        found._severities = self._severities[numbers]
        return found

    def open_places(self) -> NDArray[np.intp]:
        """Return the numbers of all open transactions of the log, whether a finding is about them or not."""
        judged = self._verdicts.judged
        places: NDArray[np.intp] = judged.places[~np.isin(judged.state, (STATE["committed"], STATE["aborted"]))]
        return places

    def kinds(self) -> NDArray[np.int64]:
        """Return a number for each finding, equal for those that say the same of transactions."""
        judged = self._verdicts.judged
        parts = (self._codes, self._severities, judged.cause[self._numbers], judged.certainty[self._numbers])
        kinds = np.zeros(len(self), np.int64)
        for part in parts:
            kinds = kinds << 8 | part.astype(np.int64) & 0xFF
        return kinds

    @property
    def verdicts(self) -> Verdicts:
        """Return the verdicts on the log's transactions."""
        return self._verdicts

    def places(self) -> NDArray[np.intp]:
        """Return the numbers of the transactions that findings are about."""
        places: NDArray[np.intp] = self._verdicts.judged.places[self._numbers]
        return places

    def facts(self) -> NDArray[np.int64]:
        """Return what a finding is about, a column each: the number of its code, its producer, its offset."""
        rows = self._verdicts.rows.take(self._verdicts.judged.places[self._numbers], "producer_id", "first_offset")
        return np.stack([self._codes.astype(np.int64), rows["producer_id"], rows["first_offset"]])

    def without_consumers(self, unread: Unread) -> TransactionFindings:
        """Return the findings as notes: nobody reads this replica."""
        found = copy(self)
        found._unread = unread
        found._severities = np.minimum(self._severities, Severity.NOTE)
        return found

    def __iter__(self) -> Iterator[Finding]:
        directory = self._audit.directory
        for start in range(0, len(self), _AT_ONCE):
            some = slice(start, start + _AT_ONCE)
            told = self._told(some)
            columns = (
                self._codes[some], self._severities[some], told.file, told.rows["position"], told.rows["first_offset"],
                told.message, told.judged.certainty, told.rows["producer_id"], told.rows["last_offset"], told.remedy,
                told.leader,
            )  # fmt: skip
            for code, severity, file, position, offset, message, certainty, producer, last, remedy, leader in zip(
                *(column.tolist() for column in columns), strict=True
            ):
                yield Finding(
                    CODES[code], Severity(severity), file or directory.log, None if position == NONE else position,
                    None, offset, None, None, message or "", CERTAINTIES[certainty], directory.log, directory.topic,
                    directory.partition, producer, last, remedy, None if leader == NONE else leader,
                )  # fmt: skip

    def columns(self, node: str | None) -> Iterator[dict[str, NDArray[Any] | TextColumn]]:
        """Yield the findings as the columns of ``findings``: as rows of them, without an object for each.

        The ids are those of ``Finding.id_in`` with the broker `node`.
        """
        directory = self._audit.directory
        for start in range(0, len(self), _AT_ONCE):
            some = slice(start, start + _AT_ONCE)
            told = self._told(some)
            rows, count = told.rows, len(told.rows)
            none, nothing = np.full(count, NONE), TextColumn.same(None, count)
            yield {
                "id": self._ids(some, node, rows),
                "code": _CODE_WORDS.take(self._codes[some]),
                "severity": _SEVERITY_WORDS.take(self._severities[some]),
                "certainty": _CERTAINTY_WORDS.take(told.judged.certainty),
                "log": TextColumn.same(directory.log, count),
                "topic": TextColumn.same(directory.topic, count),
                "partition": np.full(count, directory.partition),
                "producer_id": rows["producer_id"],
                "file": told.file,
                "position": rows["position"],
                "length": none,
                "offset": rows["first_offset"],
                "last_offset": rows["last_offset"],
                "needed": nothing,
                "found": nothing,
                "message": told.message,
                "remedy": told.remedy,
                "leader": told.leader,
            }

    def _ids(self, some: slice, node: str | None, rows: Columns) -> TextColumn:
        """Return the ids: hashes of what ``finding_id`` is made of, written for all together."""
        directory, codes, position = self._audit.directory, self._codes[some], rows["position"]
        numbers = [rows[name] for name in ("first_offset", "last_offset", "producer_id")]
        parts = []
        for code in range(len(CODES)):
            for is_placed in (False, True):
                at = np.flatnonzero((codes == code) & ((position != NONE) == is_placed))
                if len(at):
                    head = f"({CODES[code]!r}, {node!r}, {directory.topic!r}, {directory.partition!r}, "
                    first, last, producer = (column[at] for column in numbers)
                    where = position[at] if is_placed else "None"
                    parts.append(
                        (at, sentences(len(at), head, first, ", ", last, ", ", where, ", None, ", producer, ")"))
                    )
        hashed = []
        for _, texts in parts:
            bounds = [*texts.starts.tolist(), len(texts.data)]
            hashed.append("".join([sha256(texts.data[i:j]).hexdigest()[:12] for i, j in pairwise(bounds)]))
        ids = (
            (at, TextColumn(data.encode(), np.arange(len(at)) * 12, np.full(len(at), 12)))
            for (at, _), data in zip(parts, hashed, strict=True)
        )
        return joined(len(codes), list(ids))

    def _told(self, some: slice) -> _Told:
        """Return what findings say."""
        numbers, codes, directory = self._numbers[some], self._codes[some], self._audit.directory
        judged = self._verdicts.judged.take(numbers)
        rows = self._verdicts.rows.take(judged.places, *SAID)
        first = rows["first_offset"]
        message = messages(self._audit, self._coordinator, self._lost.at(numbers), CODES, codes, judged, rows)
        is_proved = (codes == _HANGING) & (judged.certainty == CERTAINTY["proved"])
        if self._unread is not None:
            message, is_proved = sentences(len(codes), message, self._unread.words), np.zeros(len(codes), bool)
        bases = np.array([segment.base_offset for segment in directory.segments], np.int64)
        files = TextColumn.of([*(segment.path for segment in directory.segments), directory.log])
        leader = np.full(len(codes), NONE) if self._leaders is None else self._leaders.at(first)
        file = files.take(np.searchsorted(bases, first, "right") - 1)
        remedy, message = remedies(self._audit, self._coordinator, is_proved, judged, rows, file, message)
        return _Told(judged, rows, message, remedy, file, leader)


class _Told(NamedTuple):
    """What some findings say, and of what."""

    judged: JudgedRows
    rows: Columns
    message: TextColumn
    remedy: TextColumn
    file: TextColumn
    leader: NDArray[np.int64]


_CODE_WORDS: Final = TextColumn.of(CODES)
_SEVERITY_WORDS: Final = TextColumn.of([severity.word for severity in sorted(Severity)])
_CERTAINTY_WORDS: Final = TextColumn.of(CERTAINTIES)


def _codes(judged: JudgedRows, overdue: NDArray[np.bool_]) -> NDArray[np.int8]:
    """Return the number of each transaction's code, -1 for none."""
    state = judged.state
    return np.select(
        [
            judged.cause == CAUSE["late-data-adopted"], state == STATE["hanging"], state == STATE["undecided"],
            (state == STATE["commit-pending"]) | (state == STATE["abort-pending"]),
            (state == STATE["ongoing"]) & overdue,
        ],
        [_ADOPTED, _HANGING, _UNDECIDED, _PENDING, _OVERDUE],
        -1,
    ).astype(np.int8)  # fmt: skip


def _severities(judged: JudgedRows, overdue: NDArray[np.bool_]) -> NDArray[np.int8]:
    """Return how bad each finding is where that is not usual for its code, else -1."""
    state, unsure = judged.state, judged.certainty != CERTAINTY["proved"]
    skewed = judged.certainty == CERTAINTY["unless-copied-while-running"]
    pending = (state == STATE["commit-pending"]) | (state == STATE["abort-pending"])
    return np.select(
        [
            judged.cause == CAUSE["late-data-adopted"], (state == STATE["hanging"]) & unsure & skewed & judged.recent,
            (state == STATE["hanging"]) & unsure, judged.cause == CAUSE["copied-while-running"], pending & overdue,
        ],
        [-1, Severity.NOTE, Severity.WARNING, Severity.NOTE, Severity.WARNING],
        -1,
    ).astype(np.int8)  # fmt: skip

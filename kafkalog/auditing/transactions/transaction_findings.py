"""What an audit reports about transactions: those that hang, are undecided, pending or overdue."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from copy import copy
from functools import cached_property
from hashlib import sha256
from itertools import islice, pairwise
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from kafkalog.auditing.partition import PartitionAudit
from kafkalog.auditing.topics import LeadersAt
from kafkalog.auditing.transactions.deadlines import Deadlines
from kafkalog.auditing.transactions.judged_rows import CAUSE, CERTAINTY, STATE, JudgedRows
from kafkalog.auditing.transactions.kept_markers import KeptMarkers, kept_by
from kafkalog.auditing.transactions.verdicts import Verdicts
from kafkalog.catalogue import CATALOGUE
from kafkalog.columns.named import NONE, Columns
from kafkalog.columns.placed import among
from kafkalog.columns.sentences import joined, moments, sentences
from kafkalog.columns.texts import TextColumn
from kafkalog.escape import command_line, described
from kafkalog.files.names import STATE_TOPIC
from kafkalog.findings import Finding, Severity
from kafkalog.folds import fold
from kafkalog.folds.coordinator import Coordinator
from kafkalog.kafka.transaction_state import NO_TIMEOUT, TransactionState
from kafkalog.tables.audit_tables import CERTAINTIES, STATES

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "ABORT",
    "CODES",
    "OF_VERDICTS",
    "READ_RECORDS",
    "SAID",
    "LostMarkers",
    "ReplicaMarkers",
    "TransactionFindings",
    "Unread",
    "messages",
    "remedies",
]


# What findings say of transactions, for many at once: alike ones have one sentence with other numbers and names.
#
# A message names the transaction and its partition, then the cause with its word in brackets, then who waits for it.


SAID: Final = (
    "producer_id", "first_offset", "last_offset", "first_epoch", "last_epoch", "marker_type", "marker_offset",
    "marker_epoch", "position",
)  # fmt: skip

ABORT: Final = "kafka-transactions.sh --bootstrap-server HOST:PORT abort"

READ_RECORDS: Final = "kafkalog dump --format ndjson --table records"

_SHOWN: Final = 5  # partitions that a message names

_WHY: Final = {
    "partition-not-registered": "the partition was never added to the transaction at the coordinator",
    "marker-missing": "the coordinator completed the transaction, but its marker is not in this log",
    "superseded-epoch": "the coordinator's transaction of this producer has a newer epoch",
    "id-expired": "the coordinator has forgotten the transactional id",
    "producer-replaced": "the transactional id now has another producer id",
    "producer-unknown": f"all partitions of {STATE_TOPIC} are available, and none names this producer",
}

_CAUSES: Final = {number: word for word, number in CAUSE.items()}

_LOST_AT_ONCE: Final = 1 << 17  # lost markers that are looked for together


class _Kind(NamedTuple):
    """What alike findings share: one sentence."""

    code: int
    state: int
    cause: int
    certainty: int
    is_named: int
    is_decided: int
    is_committed: int  # by the decision
    sent_commit: int  # the last marker since then
    ended_by_commit: int
    waits_one: int
    kept_by: int  # the number of the replica that has its marker, -1 for none


class _Alike(NamedTuple):
    """The rows of one kind, with all that is said of them."""

    audit: PartitionAudit
    coordinator: Coordinator
    codes: Sequence[str]
    kind: _Kind
    rows: Columns
    judged: JudgedRows
    decisions: Columns
    kept: ReplicaMarkers

    @property
    def code(self) -> str:
        return self.codes[self.kind.code]

    @property
    def certainty(self) -> str:
        return CERTAINTIES[self.kind.certainty]

    @property
    def cause(self) -> str | None:
        return _CAUSES[self.kind.cause]


class ReplicaMarkers(NamedTuple):
    """The replicas that still have lost markers: of each marker the number of its replica, -1 for none, and where."""

    replicas: Sequence[PartitionAudit]
    number: NDArray[np.int64]
    offset: NDArray[np.int64]


class LostMarkers:
    """The markers that hanging transactions have lost, and which replica still has them; looked up when asked for."""

    def __init__(
        self, verdicts: Verdicts, replicas: Sequence[PartitionAudit], is_hanging: NDArray[np.bool_]
    ) -> None:  # fmt: skip
        self._verdicts = verdicts
        self._replicas = replicas
        self._is_hanging = is_hanging

    @cached_property
    def _found(self) -> tuple[NDArray[np.intp], NDArray[np.int16], NDArray[np.int64]]:
        """Return the numbers of the verdicts whose markers replicas have, in order, and which and where."""
        judged = self._verdicts.judged
        lost = self._is_hanging & (judged.cause == CAUSE["marker-missing"]) & (judged.decision >= 0)
        numbers = np.flatnonzero(lost) if self._replicas else np.empty(0, np.intp)
        parts = [(numbers[:0], np.empty(0, np.int16), np.empty(0, np.int64))]
        for start in range(0, len(numbers), _LOST_AT_ONCE):
            some = numbers[start : start + _LOST_AT_ONCE]
            kept = KeptMarkers.of(self._replicas, self._verdicts.coordinator.decisions(judged.decision[some]))
            there = kept.replica >= 0
            parts.append((some[there], kept.replica[there].astype(np.int16), kept.offset[there]))
        found, replica, offset = (np.concatenate(columns) for columns in zip(*parts, strict=True))
        return found, replica, offset

    def at(self, numbers: NDArray[np.intp]) -> ReplicaMarkers:
        """Return what replicas have of some verdicts' markers."""
        found, replica, offset = self._found
        if not len(found):
            return ReplicaMarkers(self._replicas, np.full(len(numbers), -1), np.full(len(numbers), -1))
        at = np.minimum(np.searchsorted(found, numbers), len(found) - 1)
        return ReplicaMarkers(
            self._replicas, np.where(found[at] == numbers, replica[at], -1).astype(np.int64), offset[at]
        )


def messages(
    audit: PartitionAudit, coordinator: Coordinator, kept: ReplicaMarkers, codes: Sequence[str],
    of_code: NDArray[np.int8], judged: JudgedRows, rows: Columns,
) -> TextColumn:  # fmt: skip
    """Return the messages of findings: of each the number of its code, the verdict, and the transaction."""
    is_decided = judged.decision >= 0
    decisions = coordinator.decisions(judged.decision[is_decided])
    number = np.cumsum(is_decided) - 1  # of the decision
    committed = decisions["committed"][np.maximum(number, 0)] if len(decisions) else is_decided
    waits_one = audit.log_end_offset - rows["first_offset"] == 1
    columns = (
        of_code, judged.state, judged.cause, judged.certainty, judged.name >= 0, is_decided,
        is_decided & (committed != 0), judged.committed, rows["marker_type"] == fold.COMMIT, waits_one, kept.number,
    )  # fmt: skip
    kinds = np.stack([column.astype(np.int64) for column in columns])  # in the order of _Kind
    parts = []
    for at in _groups(kinds):
        kind = _Kind(*kinds[:, at[0]].tolist())
        alike = _Alike(
            audit, coordinator, codes, kind, rows.take(at), judged.take(at),
            decisions.take(number[at] if kind.is_decided else slice(0, 0)), kept._replace(offset=kept.offset[at]),
        )  # fmt: skip
        parts.append((at, sentences(len(at), *_message(alike), *_kept(alike))))
    return joined(len(of_code), parts)


def remedies(
    audit: PartitionAudit, coordinator: Coordinator, is_proved: NDArray[np.bool_], judged: JudgedRows, rows: Columns,
    files: TextColumn, message: TextColumn,
) -> tuple[TextColumn, TextColumn]:  # fmt: skip
    """Return the commands for hanging transactions, none where nothing proves that, and the findings' messages.

    They end the transaction, but for one that the coordinator committed: its records are saved first. A message ends
    with what to run where its command can't be shown.
    """
    directory, committed = audit.directory, _are_committed(coordinator, judged)
    at, saved = np.flatnonzero(is_proved & ~committed), np.flatnonzero(is_proved & committed)
    of_log = ("--topic", directory.topic), ("--partition", directory.partition), ("--start-offset",)
    first, count = rows["first_offset"], len(is_proved)
    shown: list[tuple[NDArray[np.intp], TextColumn]] = []
    told: list[tuple[NDArray[np.intp], TextColumn]] = []
    if (end := command_line(ABORT, *of_log)) is not None:
        shown.append((at, sentences(len(at), f"{end} ", first[at])))
    else:
        told.append((at, sentences(len(at), message.take(at), f" {described(ABORT, *of_log)} ", first[at], ".")))
    if len(saved):
        columns = (rows[name][saved].tolist() for name in ("producer_id", "first_offset", "last_offset"))
        about = [*map(_saving, files.take(saved).tolist(), *columns)]
        lines = [command_line(READ_RECORDS, *one) for one in about]
        shown.append((saved, TextColumn.of(lines)))
        silent = saved[[line is None for line in lines]]
        words = [f" {described(READ_RECORDS, *one)}." for one, line in zip(about, lines, strict=True) if line is None]
        if words:
            told.append((silent, sentences(len(silent), message.take(silent), TextColumn.of(words))))
    if told:
        others = np.setdiff1d(np.arange(count), np.concatenate([some for some, _ in told]))
        message = joined(count, [(others, message.take(others)), *told])
    return joined(count, shown), message


def _saving(
    file: str | None, producer_id: int, first_offset: int, last_offset: int
) -> tuple[str | tuple[Any, ...], ...]:
    """Return the arguments of what saves a transaction's records before an abort discards them."""
    offsets = ("--offset", f"{first_offset}..{last_offset}")
    return ("--producer-id", producer_id), offsets, ("-o", "saved.ndjson"), file or ""


def _are_committed(coordinator: Coordinator, judged: JudgedRows) -> NDArray[np.bool_]:
    """Say of which transactions a record of the coordinator says, or may say, that it was committed."""
    state = np.append(coordinator.states.state, -1)
    said = np.where(judged.decision >= 0, state[judged.decision], state[judged.entry])
    of_commits = np.isin(said, (TransactionState.PREPARE_COMMIT, TransactionState.COMPLETE_COMMIT))
    is_committed: NDArray[np.bool_] = of_commits & (judged.cause != CAUSE["data-after-marker"])
    return is_committed


def _groups(kinds: NDArray[np.int64]) -> list[NDArray[np.intp]]:
    """Return the places of the columns that are equal, kind by kind."""
    order = np.lexsort(kinds)
    sorted_kinds = kinds[:, order]
    begins = np.flatnonzero((sorted_kinds[:, 1:] != sorted_kinds[:, :-1]).any(axis=0)) + 1
    return np.split(order, begins) if len(order) else []


def _message(alike: _Alike) -> list[Any]:
    rows, kind, directory = alike.rows, alike.kind, alike.audit.directory
    producer, first = rows["producer_id"], rows["first_offset"]
    names: list[Any] = []
    if kind.is_named:
        names = [alike.coordinator.states.ids.gather(alike.judged.name)]
    if alike.code == "late-data-adopted":
        who = [*names, " (producer ", producer, ")"] if names else ["Producer ", producer]
        ended = "COMMIT" if kind.ended_by_commit else "ABORT"
        return [
            *who, " left data of epoch ", rows["first_epoch"], " open from offset ", first, f" on. The {ended} marker"
            " of epoch ", rows["marker_epoch"], " at offset ", rows["marker_offset"], " ended it with a later"
            " transaction.",
        ]  # fmt: skip
    who = ["A transaction of producer ", producer, " (epoch ", rows["last_epoch"], ", no transactional id known)"]
    if names:
        who = ["Transaction of ", *names, " (producer ", producer, ", epoch ", rows["last_epoch"], ")"]
    is_open = [*who, f" has been open in {directory.topic}-{directory.partition} since offset ", first]
    if alike.code == "transaction-hanging":
        return [*is_open, ": ", *_hanging(alike)]
    if alike.cause == "copied-while-running":
        return [
            *is_open, f". This copy can't say more: its file or that of {STATE_TOPIC} was copied before the"
            " coordinator had ended the transaction, or had begun it (copied-while-running). Copy again.",
        ]  # fmt: skip
    if alike.code == "transaction-undecided":
        return [
            *is_open, f": no available partition of {STATE_TOPIC} names its producer ({alike.cause})."
            f" Needed: {_missing_states(alike.coordinator)}.",
        ]  # fmt: skip
    if alike.code == "transaction-overdue":
        states, entry = alike.coordinator.states, alike.judged.entry
        timeouts = states.timeout_ms[entry].astype(np.int64)
        longer = [
            ". Its producer has prepared it (transaction.two.phase.commit): only its owner may end it. It began at "
            if timeout == NO_TIMEOUT
            else f", longer than its timeout of {timeout} ms allows: it began at "
            for timeout in timeouts.tolist()
        ]
        return [*is_open, TextColumn.of(longer), moments(states.start_timestamp[entry].astype(np.int64)), "."]
    state = STATES[kind.state]
    how = "COMMIT" if state == "commit-pending" else "ABORT"
    if alike.cause == "replica-behind":
        return [*is_open, f": another replica has its {how} marker, this one ends before it (replica-behind)."]
    return [*is_open, f": the coordinator has decided to {how.lower()} it, the marker is not here yet ({state})."]


def _hanging(alike: _Alike) -> list[Any]:
    """Say why transactions hang, who waits for them, what the coordinator decided, and what is not certain."""
    kind, first = alike.kind, alike.rows["first_offset"]
    words = _WHY.get(alike.cause or "", "the coordinator will never end it")
    if alike.cause == "data-after-marker" and kind.is_decided:
        words = f"its data arrived after its {'COMMIT' if kind.sent_commit else 'ABORT'} marker"
    told: list[Any] = [
        f"{words} ({alike.cause}). Consumers with read_committed get nothing from offset ", first, " on; ",
        alike.audit.log_end_offset - first, f" offset{' waits' if kind.waits_one else 's wait'}.",
    ]  # fmt: skip
    if kind.is_decided:
        how = "committed" if kind.is_committed else "aborted"
        told += [
            " At ", moments(alike.decisions["decided"]), f" the coordinator {how} the last transaction that listed"
            " this partition (record at offset ", alike.decisions["offset"], f" of {STATE_TOPIC}).",
        ]  # fmt: skip
        if kind.is_committed and alike.cause == "marker-missing":
            told.append(" Aborting it now loses data that was committed.")
    if alike.certainty == "unless-copied-while-running":
        told.append(
            " Not certain: its marker may have come after this file was copied. Copy again and check whether it is"
            " still open."
        )
    elif alike.certainty != "proved":
        told.append(" Not certain: its marker may have been in the unreadable bytes.")
    return told


def _kept(alike: _Alike) -> list[Any]:
    """Name the replica that still has lost markers, as the end of messages."""
    number = alike.kind.kept_by
    if number < 0:
        return []
    return kept_by(alike.kept.replicas[number], alike.kept.offset, committed=bool(alike.kind.is_committed))


def _missing_states(coordinator: Coordinator) -> str:
    """Name the partitions of the state topic that were not given and may know a producer."""
    if coordinator.total is None:
        return f"the brokers that have {STATE_TOPIC}"
    count = coordinator.total - sum(number < coordinator.total for number in coordinator.known)
    missing = (number for number in range(coordinator.total) if number not in coordinator.known)
    shown = ", ".join(f"{STATE_TOPIC}-{number}" for number in islice(missing, _SHOWN))
    return shown if count <= _SHOWN else f"{shown} and {count - _SHOWN} more"


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

"""What an audit reports about transactions: those that hang, are undecided, pending or overdue.

A message names the transaction and its partition, then the cause with its word in brackets, then who waits for it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from kafkalog.auditing.partition import PartitionAudit, file_of, located
from kafkalog.auditing.transactions.judged_rows import JudgedRows
from kafkalog.auditing.transactions.kept_markers import KeptMarkers
from kafkalog.auditing.transactions.verdicts import Verdicts
from kafkalog.auditing.transactions.words import CAUSE, CERTAINTY, STATE, texts
from kafkalog.findings import CATALOGUE, Finding, Severity, finding_id
from kafkalog.format.records.transaction_state import TransactionState
from kafkalog.format.times import iso_marked
from kafkalog.log.names import STATE_TOPIC
from kafkalog.tables.audit import CERTAINTIES, STATES
from kafkalog.txn import extents
from kafkalog.txn.columns import NONE, Columns
from kafkalog.txn.coordinator import Coordinator
from kafkalog.txn.placed import among

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["OF_VERDICTS", "Deadlines", "TransactionFindings"]

_SCAN_MS: Final = 10_000  # how often the coordinator looks for timeouts
_SHOWN: Final = 5  # partitions that a message names
_AT_ONCE: Final = 4096  # findings that are made together
_JUDGED_AT_ONCE: Final = 1 << 16  # verdicts that are looked at together
_LATEST: Final = 2**62  # ms
_NO_TIMEOUT: Final = 2**31 - 1
_SAID: Final = (
    "producer_id", "first_offset", "last_offset", "first_epoch", "last_epoch", "marker_type", "marker_offset",
    "marker_epoch", "position",
)  # fmt: skip
_CODES: Final = (
    "transaction-hanging", "transaction-undecided", "transaction-pending", "transaction-overdue", "late-data-adopted",
)  # fmt: skip
OF_VERDICTS: Final = frozenset(_CODES[:4])  # about what is open
_HANGING, _UNDECIDED, _PENDING, _OVERDUE, _ADOPTED = range(len(_CODES))
_WHY: Final = {
    "partition-not-registered": "the partition was never added to the transaction at the coordinator",
    "marker-missing": "the coordinator completed the transaction, but its marker is not in this log",
    "superseded-epoch": "the coordinator's transaction of this producer has a newer epoch",
    "id-expired": "the coordinator has forgotten the transactional id",
    "producer-replaced": "the transactional id now has another producer id",
    "producer-unknown": f"all partitions of {STATE_TOPIC} are available, and none names this producer",
}
_CAUSES: Final = {number: word for word, number in CAUSE.items()}


class Deadlines(NamedTuple):
    """What decides when a transaction is overdue; times in ms.

    The inputs show the moment `now` where they are of one moment (`copy_ms` is 0). Of a copy the state partition may
    have been copied first, so that what was decided since is not in it.
    """

    now: int
    copy_ms: int
    max_timeout_ms: int

    def passed(self, judged: JudgedRows, coordinator: Coordinator) -> NDArray[np.bool_]:
        """Say for which transactions the coordinator, or a marker, is later than it may be."""
        passed: NDArray[np.bool_] = (judged.entry >= 0) & (judged.cause != CAUSE["replica-behind"])
        states, entry = coordinator.states, judged.entry[passed]
        now = np.full(len(entry), self.now)
        if self.copy_ms:
            now = np.minimum(now, np.maximum(coordinator.newest_of(entry), self.now - self.copy_ms))
        started, updated = (
            np.clip(column[entry], -_LATEST, _LATEST)
            for column in (states.start_timestamp, states.last_update_timestamp)
        )
        timeout = states.timeout_ms[entry].astype(np.int64)
        overdue = (now > started + timeout + _SCAN_MS) & (timeout != _NO_TIMEOUT)
        ongoing = states.state[entry] == TransactionState.ONGOING
        passed[passed] = np.where(ongoing, overdue, now > updated + self.max_timeout_ms)
        return passed


class TransactionFindings:
    """The findings about the transactions of a log: counted as columns, each made when it is asked for.

    `replicas` are the partition's other logs: one may still have a marker that this one has lost. `finish`, if there is
    one, gets each finding, and returns the one that is reported. With `only` they are those about some open ones among
    what is judged.
    """

    def __init__(
        self, audit: PartitionAudit, verdicts: Verdicts, deadlines: Deadlines,
        replicas: Sequence[PartitionAudit] = (), finish: Callable[[Finding], Finding] | None = None,
        only: NDArray[np.intp] | None = None,
    ) -> None:  # fmt: skip
        self._audit = audit
        self._verdicts = verdicts
        self._coordinator = verdicts.coordinator
        self._replicas = replicas
        self._finish = finish
        judged = verdicts.judged
        codes, severities = np.empty(len(judged.places), np.int8), np.empty(len(judged.places), np.int8)
        for start in range(0, len(codes), _JUDGED_AT_ONCE):
            part = slice(start, start + _JUDGED_AT_ONCE)
            some = judged.take(part)
            overdue = deadlines.passed(some, self._coordinator)
            codes[part], severities[part] = _codes(some, overdue), _severities(some, overdue)
        self._numbers = np.flatnonzero(codes >= 0)
        if only is not None:
            self._numbers = np.intersect1d(only, self._numbers[codes[self._numbers] != _ADOPTED])
        self._codes = codes[self._numbers]
        usual = np.array([CATALOGUE[code].severity for code in _CODES], np.int8)[self._codes]
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
                (_CODES[code], Severity(severity)): count
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

    def judged_at(self, numbers: NDArray[np.intp] | NDArray[np.bool_]) -> JudgedRows:
        """Return the verdicts that some findings are about."""
        return self._verdicts.judged.take(self._numbers[numbers])

    def open_places(self) -> NDArray[np.intp]:
        """Return the numbers of all open transactions of the log, whether a finding is about them or not."""
        judged = self._verdicts.judged
        places: NDArray[np.intp] = judged.places[~np.isin(judged.state, (STATE["committed"], STATE["aborted"]))]
        return places

    def rows_at(self, numbers: NDArray[np.intp], *names: str) -> Columns:
        """Return columns of the transactions that some findings are about."""
        return self._verdicts.rows.take(self.judged_at(numbers).places, *names)

    def kinds(self) -> NDArray[np.int64]:
        """Return a number for each finding, equal for those that say the same of open transactions; -1 for others."""
        judged = self._verdicts.judged
        parts = (self._codes, self._severities, judged.cause[self._numbers], judged.certainty[self._numbers])
        kinds = np.zeros(len(self), np.int64)
        for part in parts:
            kinds = kinds << 8 | part.astype(np.int64) & 0xFF
        return np.where(self._codes == _ADOPTED, -1, kinds)

    def __iter__(self) -> Iterator[Finding]:
        for start in range(0, len(self), _AT_ONCE):
            found = (
                one.finding(code, severity, words)
                for code, severity, one, words in self._some(slice(start, start + _AT_ONCE))
            )
            yield from found if self._finish is None else map(self._finish, found)

    def columns(self, node: str | None) -> Iterator[dict[str, NDArray[Any]]]:
        """Yield the findings as the columns of ``findings``: as rows of them, without an object for each.

        The ids are those of ``Finding.id_in`` with the broker `node`.
        """
        directory = self._audit.directory
        for start in range(0, len(self), _AT_ONCE):
            some = slice(start, start + _AT_ONCE)
            judged = self._verdicts.judged.take(self._numbers[some])
            rows = self._verdicts.rows.take(judged.places, "producer_id", "first_offset", "last_offset", "position")
            count, codes = len(judged.places), _CODE_WORDS[self._codes[some]]
            spans = (codes, *(rows[name] for name in ("first_offset", "last_offset", "position", "producer_id")))
            said = [(one.message(code, words), one.remedy(code)) for code, _, one, words in self._some(some)]
            absent, none = np.full(count, None, object), np.full(count, NONE)
            yield {
                "id": _objects(
                    finding_id(code, node, directory.topic, directory.partition, first, last,
                               None if position == NONE else position, None, producer)
                    for code, first, last, position, producer in zip(*(one.tolist() for one in spans), strict=True)
                ),
                "code": codes,
                "severity": _SEVERITY_WORDS[self._severities[some]],
                "certainty": _CERTAINTY_WORDS[judged.certainty],
                "log": np.full(count, directory.log, object),
                "topic": np.full(count, directory.topic, object),
                "partition": np.full(count, directory.partition),
                "producer_id": rows["producer_id"],
                "file": _objects(file_of(directory, first) for first in rows["first_offset"].tolist()),
                "position": rows["position"],
                "length": none,
                "offset": rows["first_offset"],
                "last_offset": rows["last_offset"],
                "needed": absent,
                "found": absent,
                "message": _objects(message for message, _ in said),
                "remedy": _objects(remedy for _, remedy in said),
                "leader": none,
            }  # fmt: skip

    @property
    def are_finished(self) -> bool:
        """Say whether the findings are reported as they are made."""
        return self._finish is None

    def _some(self, some: slice) -> Iterator[tuple[str, Severity, _One, str]]:
        """Yield some transactions, each with its finding's code and severity, and which replica has its lost marker."""
        judged = self._verdicts.judged.take(self._numbers[some])
        rows = self._verdicts.rows.take(judged.places, *_SAID)
        names = self._verdicts.names(judged.name)
        decisions = self._coordinator.decisions(judged.decision[judged.decision >= 0])
        kept = KeptMarkers.of(self._replicas, decisions)
        decided, number = iter(decisions), -1
        codes, severities = self._codes[some].tolist(), self._severities[some].tolist()
        verdicts = zip(*(column.tolist() for column in judged[1:]), strict=True)
        for code, severity, row, name, verdict in zip(codes, severities, rows, names, verdicts, strict=True):
            state, cause, certainty, _, entry, decision, _, committed = verdict
            by = None
            if decision >= 0:
                by, number = next(decided), number + 1
            one = _One(
                self._audit, self._coordinator, row, name, STATES[state], _CAUSES[cause], CERTAINTIES[certainty], entry,
                by, committed,
            )  # fmt: skip
            lost = code == _HANGING and cause == CAUSE["marker-missing"] and by is not None
            words = kept.words(number, committed=bool(by and by["committed"])) if lost else ""
            yield _CODES[code], Severity(severity), one, words


_CODE_WORDS: Final = texts(_CODES)
_SEVERITY_WORDS: Final = texts([severity.word for severity in sorted(Severity)])
_CERTAINTY_WORDS: Final = texts(CERTAINTIES)


def _objects(cells: Iterable[str | None]) -> NDArray[np.object_]:
    return texts([*cells])


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


class _One(NamedTuple):
    """A transaction with its verdict; `entry` is the coordinator's record, `decision` what it decided."""

    audit: PartitionAudit
    coordinator: Coordinator
    row: dict[str, int]
    name: str | None
    state: str
    cause: str | None
    certainty: str
    entry: int
    decision: dict[str, int] | None
    committed: bool

    def finding(self, code: str, severity: Severity, kept: str) -> Finding:
        """Make the finding; `kept` says which replica has a lost marker."""
        row, directory = self.row, self.audit.directory
        finding = Finding.of(
            code,
            file_of(directory, row["first_offset"]),
            self.message(code, kept),
            position=None if row["position"] == NONE else row["position"],
            offset=row["first_offset"],
            last_offset=row["last_offset"],
            producer_id=row["producer_id"],
            certainty=self.certainty,
            remedy=self.remedy(code),
        )
        return located(finding._replace(severity=severity), directory)

    def remedy(self, code: str) -> str | None:
        """Return the command that ends the transaction, None where nothing proves that it is needed."""
        if code != "transaction-hanging" or self.certainty != "proved":
            return None
        directory = self.audit.directory
        return (
            f"kafka-transactions.sh --bootstrap-server HOST:PORT abort --topic {directory.topic}"
            f" --partition {directory.partition} --start-offset {self.row['first_offset']}"
        )

    def message(self, code: str, kept: str) -> str:
        """Return what the finding says."""
        return self._message(code) + kept

    def _message(self, code: str) -> str:
        row, directory = self.row, self.audit.directory
        producer, first = row["producer_id"], row["first_offset"]
        if code == "late-data-adopted":
            who = f"Producer {producer}" if self.name is None else f"{self.name} (producer {producer})"
            ended = "COMMIT" if row["marker_type"] == extents.COMMIT else "ABORT"
            return (
                f"{who} left data of epoch {row['first_epoch']} open from offset {first} on. The {ended} marker of"
                f" epoch {row['marker_epoch']} at offset {row['marker_offset']} ended it with a later transaction."
            )
        who = (
            f"A transaction of producer {producer} (epoch {row['last_epoch']}, no transactional id known)"
            if self.name is None
            else f"Transaction of {self.name} (producer {producer}, epoch {row['last_epoch']})"
        )
        is_open = f"{who} has been open in {directory.topic}-{directory.partition} since offset {first}"
        if code == "transaction-hanging":
            return f"{is_open}: {self._hanging()}"
        if self.cause == "copied-while-running":
            return (
                f"{is_open}. This copy can't say more: its file or that of {STATE_TOPIC} was copied before the"
                " coordinator had ended the transaction, or had begun it (copied-while-running). Copy again."
            )
        if code == "transaction-undecided":
            return (
                f"{is_open}: no available partition of {STATE_TOPIC} names its producer ({self.cause})."
                f" Needed: {_missing_states(self.coordinator)}."
            )
        if code == "transaction-overdue":
            states = self.coordinator.states
            return (
                f"{is_open}, longer than its timeout allows: it began at"
                f" {iso_marked(int(states.start_timestamp[self.entry]))} with a timeout of"
                f" {states.timeout_ms[self.entry]} ms."
            )
        how = "COMMIT" if self.state == "commit-pending" else "ABORT"
        if self.cause == "replica-behind":
            return f"{is_open}: another replica has its {how} marker, this one ends before it (replica-behind)."
        return f"{is_open}: the coordinator has decided to {how.lower()} it, the marker is not here yet ({self.state})."

    def _hanging(self) -> str:
        """Say why a transaction hangs, who waits for it, what the coordinator decided, and what is not certain."""
        decision, first = self.decision, self.row["first_offset"]
        waiting = self.audit.log_end_offset - first
        words = _WHY.get(self.cause or "", "the coordinator will never end it")
        if self.cause == "data-after-marker" and decision is not None:
            words = f"its data arrived after its {'COMMIT' if self.committed else 'ABORT'} marker"
        message = (
            f"{words} ({self.cause}). Consumers with read_committed get nothing from offset {first} on;"
            f" {waiting} offset{' waits' if waiting == 1 else 's wait'}."
        )
        if decision is not None:
            how = "committed" if decision["committed"] else "aborted"
            message += (
                f" At {iso_marked(decision['decided'])} the coordinator {how} the last transaction that listed this"
                f" partition (record at offset {decision['offset']} of {STATE_TOPIC})."
            )
            if decision["committed"] and self.cause == "marker-missing":
                message += " Aborting it now loses data that was committed."
        if self.certainty == "unless-copied-while-running":
            message += (
                " Not certain: its marker may have come after this file was copied. Copy again and check whether it is"
                " still open."
            )
        elif self.certainty != "proved":
            message += " Not certain: its marker may have been in the unreadable bytes."
        return message


def _missing_states(coordinator: Coordinator) -> str:
    """Name the partitions of the state topic that were not given and may know a producer."""
    if coordinator.total is None:
        return f"the brokers that have {STATE_TOPIC}"
    count = coordinator.total - sum(number < coordinator.total for number in coordinator.known)
    missing = (number for number in range(coordinator.total) if number not in coordinator.known)
    shown = ", ".join(f"{STATE_TOPIC}-{number}" for number in islice(missing, _SHOWN))
    return shown if count <= _SHOWN else f"{shown} and {count - _SHOWN} more"

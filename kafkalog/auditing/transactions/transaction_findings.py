"""What an audit reports about a log's transactions: those that hang, are undecided, pending or overdue.

A message names the transaction and its partition, then the cause with its word in brackets, then who waits for it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from kafkalog import few_of_many
from kafkalog.auditing.partition import PartitionAudit, located
from kafkalog.auditing.topics import LeadersAt
from kafkalog.auditing.transactions.ended_rows import ReplicaMarkers
from kafkalog.auditing.transactions.verdict_facts import CAUSE, STATE
from kafkalog.auditing.transactions.verdict_rule import TransactionVerdict, reported
from kafkalog.auditing.transactions.verdict_table import Verdicts
from kafkalog.catalogue import codes_with
from kafkalog.catalogue.code import Trait
from kafkalog.certainty import UNLESS_COPIED, cut, is_proved
from kafkalog.columns.sorted_rows import among
from kafkalog.columns.table import NONE, Columns
from kafkalog.escape import command_line, described, saved_as
from kafkalog.files.names import STATE_TOPIC
from kafkalog.findings import Finding
from kafkalog.folds import fold
from kafkalog.folds.coordinator import Coordinator
from kafkalog.kafka.transaction_state import NO_TIMEOUT, TransactionState
from kafkalog.quantities import iso_marked, listed_of
from kafkalog.settle import lowered
from kafkalog.tables.audit_tables import CAUSES, CERTAINTIES, STATES
from kafkalog.tables.words import OF_OPEN

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["ABORT", "OF_VERDICTS", "Deadlines", "by_hand_not_shown", "findings_of_transactions"]


ABORT: Final = "kafka-transactions.sh --bootstrap-server HOST:PORT abort"

_SAVE: Final = "kafkalog extract --view read-uncommitted"

OF_VERDICTS: Final = codes_with(Trait.OF_OPEN)

_SAID: Final = (
    "producer_id", "first_offset", "last_offset", "first_epoch", "last_epoch", "marker_type", "marker_offset",
    "marker_epoch", "position",
)  # fmt: skip

_SHOWN: Final = 5  # partitions that a message names

_COMMITTED: Final = (TransactionState.PREPARE_COMMIT, TransactionState.COMPLETE_COMMIT)


class _Reported(NamedTuple):
    """A transaction that a finding is about.

    `row` has the columns of ``transactions``, `decision` is the coordinator's newest that lists the partition;
    `commit_followed` says that the last marker since then is a COMMIT, `was_committed` that the coordinator says, or
    may say, that it committed the data. `entry` is its newest record about the producer, -1 for none. `kept_by` names
    the replica that still has the marker.
    """

    code: str
    verdict: TransactionVerdict
    transactional_id: str | None
    row: dict[str, int]
    entry: int
    decision: dict[str, int] | None
    commit_followed: bool
    was_committed: bool
    kept_by: str

    @property
    def producer(self) -> int:
        return self.row["producer_id"]

    @property
    def first(self) -> int:
        return self.row["first_offset"]

    @property
    def who(self) -> str:
        """Begin the message."""
        epoch = self.row["last_epoch"]
        if self.transactional_id is None:
            return f"A transaction of producer {self.producer} (epoch {epoch}, no transactional id known)"
        return f"Transaction of {self.transactional_id} (producer {self.producer}, epoch {epoch})"


def findings_of_transactions(
    audit: PartitionAudit, verdicts: Verdicts, deadlines: Deadlines, replicas: Sequence[PartitionAudit],
    leaders: LeadersAt, *, is_read: bool = True, counts_others: bool = True,
) -> list[Finding]:  # fmt: skip
    """Return the findings about a log's transactions, in the order of the log's rows.

    `replicas` are the partition's other logs: one may still have a marker that this one has lost. `leaders` say who led
    at each finding's offset. What no consumer reads (`is_read`) has no command that ends it. `counts_others`
    says that no word of the run counts those past the limit.
    """
    judged = verdicts.judged
    if not len(judged):  # most logs of a cluster
        return []
    adopted = np.flatnonzero(judged["cause"] == CAUSE["late-data-adopted"])
    not_judged = np.flatnonzero(judged["cause"] == CAUSE["not-judged"])
    ended = np.isin(judged["state"], (STATE["committed"], STATE["aborted"]))
    opened = np.flatnonzero(~ended & (judged["cause"] != CAUSE["not-judged"]))
    shown, too_many = _split(verdicts, adopted)
    findings = list(_each(audit, verdicts, deadlines, np.union1d(opened, shown), replicas, is_read=is_read))
    if counts_others:
        findings += _counted(audit, verdicts, "open transactions", not_judged)
    findings += _counted(audit, verdicts, "findings late-data-adopted", too_many)
    return [leaders.on(one) for one in findings]


def by_hand_not_shown(audit: PartitionAudit, verdicts: Verdicts, broken: NDArray[np.int64]) -> list[Finding]:
    """Return what counts the transactions that an administrator aborted and that no incident names.

    Not those whose markers are `broken`: findings are about these.
    """
    numbers = np.flatnonzero(verdicts.judged["cause"] == CAUSE["administrator-abort"])
    if len(broken) and len(numbers):
        markers = verdicts.rows.take(verdicts.judged["place"][numbers], "marker_offset")["marker_offset"]
        numbers = numbers[~among(markers, np.sort(broken))]
    return _counted(audit, verdicts, "transactions that an administrator aborted", _split(verdicts, numbers)[1])


def _counted(audit: PartitionAudit, verdicts: Verdicts, what: str, numbers: NDArray[np.intp]) -> list[Finding]:
    """Return the finding that counts some judged transactions, if there are any."""
    if not len(numbers):
        return []
    first = int(_first_offsets(verdicts, numbers).min())
    return [located(few_of_many.not_all_judged(what, len(numbers), audit.directory.log, first), audit.directory)]


def _split(verdicts: Verdicts, numbers: NDArray[np.intp]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the judged transactions that are shown, and the others."""
    shown, others = few_of_many.split(_first_offsets(verdicts, numbers))
    return numbers[shown], numbers[others]


def _first_offsets(verdicts: Verdicts, numbers: NDArray[np.intp]) -> NDArray[np.int64]:
    return verdicts.rows.take(verdicts.judged["place"][numbers], "first_offset")["first_offset"]


def _each(
    audit: PartitionAudit, verdicts: Verdicts, deadlines: Deadlines, numbers: NDArray[np.intp],
    replicas: Sequence[PartitionAudit], *, is_read: bool,
) -> Iterator[Finding]:  # fmt: skip
    """Yield the findings about some of the judged transactions."""
    coordinator, directory = verdicts.coordinator, audit.directory
    judged = verdicts.judged.take(numbers)
    overdue = deadlines.passed(judged, coordinator)
    rows, names = verdicts.rows.take(judged["place"], *_SAID), verdicts.names(judged["name"]).tolist()
    about = np.where(judged["cause"] == CAUSE["copied-while-running"], judged["undelivered"], judged["decision"])
    decided = np.flatnonzero(about >= 0)
    of_decided = coordinator.decisions(about[decided])
    decisions = dict(zip(decided.tolist(), of_decided, strict=True))
    lost = np.flatnonzero((judged["cause"] == CAUSE["marker-missing"]) & (judged["decision"] >= 0))
    kept = ReplicaMarkers.of(replicas, coordinator.decisions(judged["decision"][lost]))
    place = {number: at for at, number in enumerate(lost.tolist())}
    bases = [segment.base_offset for segment in directory.segments]
    for number, row in enumerate(rows):
        state, cause, certainty, entry, decision = (
            int(column[number])
            for column in map(judged.__getitem__, ("state", "cause", "certainty", "entry", "decision"))
        )
        verdict = TransactionVerdict(STATES[state], (None, *CAUSES)[cause], CERTAINTIES[certainty])
        report = reported(verdict, is_overdue=bool(overdue[number]), is_recent=bool(judged["recent"][number]))
        if report is None:
            continue
        made = decisions.get(number)
        said = entry if decision < 0 else decision
        is_committed = said >= 0 and coordinator.states["state"][said] in _COMMITTED
        one = _Reported(
            report.code, verdict, names[number], row, entry, made, bool(judged["committed"][number]),
            is_committed and verdict.cause != "data-after-marker",
            kept.words(place[number], committed=bool(made and made["committed"])) if number in place else "",
        )  # fmt: skip
        at = bisect_right(bases, one.first) - 1
        file = directory.segments[at].path if at >= 0 else directory.log
        elected = _elected(one, audit)
        told = (
            "" if elected is None else f" {elected}, where the marker was, as after an unclean election that lost it."
        )
        message = _message(one, audit, coordinator) + told + one.kept_by
        needed: str | None = None
        seen: str | int | None = elected
        if verdict.cause == "copied-while-running" and made is not None:  # found is the coordinator's record
            needed, seen = "COMMIT" if made["committed"] else "ABORT", made["offset"]
        remedy, instead = None, ""
        if is_read and one.code == "transaction-hanging" and is_proved(verdict.certainty):
            remedy, instead = _remedy(one, audit)
        found = Finding.of(
            one.code, file, message + instead, position=None if row["position"] == NONE else row["position"],
            offset=one.first, certainty=verdict.certainty, log=directory.log, topic=directory.topic,
            partition=directory.partition, producer_id=one.producer, last_offset=row["last_offset"], remedy=remedy,
            needed=needed, found=seen,
        )  # fmt: skip
        yield lowered(found, report.weaker)


def _elected(one: _Reported, audit: PartitionAudit) -> str | None:
    """Say which leader epoch begins right after the data of a transaction whose marker is missing.

    The coordinator completed it, so its leader had the marker there: the next leader did not.
    """
    if one.code != "transaction-hanging" or one.verdict.cause != "marker-missing":
        return None
    after = one.row["last_offset"] + 1
    epochs = (*audit.epochs, *audit.directory.leader_epochs)
    epoch = next((epoch for epoch, first in epochs if first == after and epoch > 0), None)
    return None if epoch is None else f"Leader epoch {epoch} begins at offset {after}"


def _remedy(one: _Reported, audit: PartitionAudit) -> tuple[str | None, str]:
    """Return the command for a hanging transaction; where it can't be shown, None and the end of the message.

    It ends the transaction, but for one that the coordinator committed: its records are saved first.
    """
    directory = audit.directory
    program: str = ABORT
    arguments: tuple[Any, ...] = (
        ("--topic", directory.topic), ("--partition", directory.partition), ("--start-offset", one.first),
    )  # fmt: skip
    if one.was_committed:
        program = _SAVE
        offsets = ("--offset", f"{one.first}..{one.row['last_offset']}")
        name = saved_as("saved", directory.log, directory.topic, directory.partition, one.first)
        arguments = (("--producer-id", one.producer), offsets, ("-o", name), directory.log)
    line = command_line(program, *arguments)
    return line, "" if line is not None else f" {described(program, *arguments)}."


def _message(one: _Reported, audit: PartitionAudit, coordinator: Coordinator) -> str:
    row, cause, directory = one.row, one.verdict.cause, audit.directory
    if one.code == "late-data-adopted":
        who = f"Producer {one.producer}"
        if one.transactional_id is not None:
            who = f"{one.transactional_id} (producer {one.producer})"
        ended = "COMMIT" if row["marker_type"] == fold.COMMIT else "ABORT"
        return (
            f"{who} left data of epoch {row['first_epoch']} open from offset {one.first} on. The {ended} marker of"
            f" epoch {row['marker_epoch']} at offset {row['marker_offset']} ended it with a later transaction."
        )
    is_open = f"{one.who} has been open in {directory.topic}-{directory.partition} since offset {one.first}"
    if one.code == "transaction-hanging":
        return f"{is_open}: {_hanging(one, audit.log_end_offset - one.first)}"
    if cause == "copied-while-running" and one.decision is not None:
        return (
            f"{is_open}. At {iso_marked(one.decision['decided'])} the coordinator"
            f" {'committed' if one.decision['committed'] else 'aborted'} it (record at offset {one.decision['offset']}"
            f" of {STATE_TOPIC}), but its marker is not in this log, whose file may have been copied before it came"
            " (copied-while-running). Copy again."
        )
    if cause == "copied-while-running":
        return (
            f"{is_open}. This copy can't say more: its file or that of {STATE_TOPIC} was copied before the coordinator"
            " had ended the transaction, or had begun it (copied-while-running). Copy again."
        )
    if cause == "cut-in-bundle":
        return (
            f"{is_open}, in a log that kafkalog collect cut with --offset or --until: what ended the transaction may be"
            " behind the cut (cut-in-bundle). Collect again with a later end."
        )
    if one.code == "transaction-undecided":
        return (
            f"{is_open}: no available partition of {STATE_TOPIC} names its producer ({cause})."
            f" Needed: {_missing_states(coordinator)}."
        )
    if one.code == "transaction-overdue":
        timeout, began = (int(coordinator.states[name][one.entry]) for name in ("timeout_ms", "start_timestamp"))
        longer = f", longer than its timeout of {timeout} ms allows: it began at"
        if timeout == NO_TIMEOUT:
            longer = (
                ". It is of a two-phase commit (transaction.two.phase.commit): only its owner may end it. It began at"
            )
        return f"{is_open}{longer} {iso_marked(began)}."
    how = "COMMIT" if one.verdict.state == "commit-pending" else "ABORT"
    if cause == "replica-behind":
        return f"{is_open}: another replica has its {how} marker, this one ends before it (replica-behind)."
    return (
        f"{is_open}: the coordinator has decided to {how.lower()} it, the marker is not here yet ({one.verdict.state})."
    )


def _hanging(one: _Reported, waiting: int) -> str:
    """Say why a transaction hangs, who waits for it, what the coordinator decided, and what is not certain."""
    cause, decision = one.verdict.cause, one.decision
    words = OF_OPEN.get(cause or "")
    why = (words and words.in_finding) or "the coordinator will never end it"
    if cause == "data-after-marker" and decision is not None:
        why = f"its data arrived after its {'COMMIT' if one.commit_followed else 'ABORT'} marker"
    told = (
        f"{why} ({cause}). Consumers with read_committed get nothing from offset {one.first} on; {waiting}"
        f" offset{' waits' if waiting == 1 else 's wait'}."
    )
    if decision is not None:
        told += (
            f" At {iso_marked(decision['decided'])} the coordinator"
            f" {'committed' if decision['committed'] else 'aborted'} the last transaction that listed this partition"
            f" (record at offset {decision['offset']} of {STATE_TOPIC})."
        )
        if decision["committed"] and cause == "marker-missing":
            told += " Aborting it now loses data that was committed."
    if one.verdict.certainty == UNLESS_COPIED:
        told += (
            " Not certain: its marker may have come after this file was copied. Copy again and check whether it is"
            " still open."
        )
    elif not is_proved(one.verdict.certainty):
        told += " Not certain: its marker may have been in the unreadable bytes."
    return told


def _missing_states(coordinator: Coordinator) -> str:
    """Name the partitions of the state topic that were not given and may know a producer."""
    if coordinator.total is None:
        return f"the brokers that have {STATE_TOPIC}"
    count = coordinator.total - sum(number < coordinator.total for number in coordinator.known)
    missing = (number for number in range(coordinator.total) if number not in coordinator.known)
    return listed_of(count, (f"{STATE_TOPIC}-{number}" for number in islice(missing, _SHOWN)))


# When a transaction is overdue: the coordinator, or a marker, is later than it may be.

_SCAN_MS: Final = 10_000  # how often the coordinator looks for timeouts


class Deadlines(NamedTuple):
    """What decides when a transaction is overdue; times in ms.

    The inputs show the moment `now` where they are of one moment (`copy_ms` is 0). Of a copy the state partition may
    have been copied first, so that what was decided since is not in it.
    """

    now: int
    copy_ms: int
    max_timeout_ms: int

    def passed(self, judged: Columns, coordinator: Coordinator) -> NDArray[np.bool_]:
        """Say for which transactions the coordinator, or a marker, is later than it may be."""
        passed: NDArray[np.bool_] = (judged["entry"] >= 0) & (judged["cause"] != CAUSE["replica-behind"])
        states, entry = coordinator.states, judged["entry"][passed]
        now = np.full(len(entry), self.now)
        if self.copy_ms:
            now = np.minimum(now, np.maximum(coordinator.newest_of(entry), self.now - self.copy_ms))
        started, updated = (
            cut(column[entry]) for column in (states["start_timestamp"], states["last_update_timestamp"])
        )
        timeout = states["timeout_ms"][entry].astype(np.int64)
        timeout[timeout == NO_TIMEOUT] = self.max_timeout_ms  # no coordinator ends it: consumers have waited that long
        overdue = now > started + timeout + _SCAN_MS
        ongoing = states["state"][entry] == TransactionState.ONGOING
        passed[passed] = np.where(ongoing, overdue, now > updated + self.max_timeout_ms)
        return passed

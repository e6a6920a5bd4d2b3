"""What findings say of transactions, for many at once: alike ones have one sentence with other numbers and names.

A message names the transaction and its partition, then the cause with its word in brackets, then who waits for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from kafkalog.auditing.partition import PartitionAudit
from kafkalog.auditing.transactions.judged_rows import JudgedRows
from kafkalog.auditing.transactions.kept_markers import KeptMarkers, kept_by
from kafkalog.auditing.transactions.verdicts import Verdicts
from kafkalog.auditing.transactions.words import CAUSE
from kafkalog.escape import command_line, described
from kafkalog.format.records.transaction_state import NO_TIMEOUT, TransactionState
from kafkalog.format.text_columns import TextColumn, joined, moments, sentences
from kafkalog.log.names import STATE_TOPIC
from kafkalog.tables.audit import CERTAINTIES, STATES
from kafkalog.txn import extents
from kafkalog.txn.columns import Columns
from kafkalog.txn.coordinator import Coordinator

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["ABORT", "READ_RECORDS", "SAID", "LostMarkers", "ReplicaMarkers", "messages", "remedies"]

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
        is_decided & (committed != 0), judged.committed, rows["marker_type"] == extents.COMMIT, waits_one, kept.number,
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
        names = [TextColumn.packed(alike.coordinator.states.ids, alike.judged.name)]
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

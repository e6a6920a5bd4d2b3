"""The facts about a log's transactions that `verdict_rule` judges by, and its verdicts, many rows at once.

Each is compared with the coordinator's records: how it ended or why it is open, its cause, and how certain that is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from kafkalog import few_of_many
from kafkalog.auditing.partition import PartitionAudit, fork_of
from kafkalog.auditing.topics import Metadata, leaderless, led_since
from kafkalog.auditing.transactions.ended_rows import EndedRows, ReplicaMarkers, SentMarkers
from kafkalog.auditing.transactions.live_copy import Moments, Read
from kafkalog.auditing.transactions.own_markers import OwnMarkers
from kafkalog.auditing.transactions.surroundings import Surroundings
from kafkalog.auditing.transactions.verdict_rule import (
    NOT_JUDGED,
    EndedFacts,
    Ending,
    OpenFacts,
    TransactionVerdict,
    Word,
    ended_verdict,
    open_verdict,
)
from kafkalog.certainty import NEVER, Doubt, Inputs, MarkerMissed, Seen, marker_missed
from kafkalog.columns.sorted_rows import SortedRows, among, any_between
from kafkalog.columns.table import NONE, Columns
from kafkalog.folds import fold
from kafkalog.folds.fold import tally
from kafkalog.kafka.state_records import TOMBSTONE
from kafkalog.kafka.transaction_state import TransactionState
from kafkalog.log_dirs.log_directory import PartitionDirectory
from kafkalog.tables.audit_tables import CAUSES, CERTAINTIES, STATES

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["CAUSE", "CERTAINTY", "STATE", "Context", "UnreadBytes", "judged_rows", "opened_at"]


# The places of a log where bytes can't be read: a marker may have been lost there.


_NOWHERE: Final = np.empty(0, np.int64)


class UnreadBytes:
    """The offsets after which a log has damaged bytes, and those from which on offsets are missing through damage."""

    def __init__(self, audit: PartitionAudit) -> None:
        self._after = self._missing = _NOWHERE
        self._at_start = False
        self._log_end = audit.log_end_offset
        if audit.damaged:
            after = np.array([NONE if one.last_offset is None else one.last_offset for one in audit.damaged])
            self._after = np.sort(after[after != NONE])
            self._at_start = bool((after == NONE).any())
        if audit.gaps:
            self._missing = np.sort(audit.gaps.first[audit.gaps.of_kind("damage")])

    def __bool__(self) -> bool:
        """Say whether there is such a place, or bytes before the first offset."""
        return self._at_start or bool(len(self._after)) or bool(len(self._missing))

    def reach(self, rows: Columns) -> NDArray[np.bool_]:
        """Say which rows with data have such a place between their first batch and their marker, or are open."""
        first, has_data = rows["first_offset"], fold.has_data(rows)
        marker = fold.ends(rows)
        found: NDArray[np.bool_] = has_data & self._between(first, marker)
        return found

    def are_inside(self, rows: Columns) -> NDArray[np.bool_]:
        """Say whether there is such a place between each first batch and its marker, or the log's end."""
        first, has_data = rows["first_offset"], fold.has_data(rows)
        marker = fold.ends(rows, self._log_end)
        inside: NDArray[np.bool_] = self._between(first, marker) | (self._at_start & (rows["batches"] == 0))
        inside &= has_data
        return inside

    def _between(self, first: NDArray[np.int64], marker: NDArray[np.int64]) -> NDArray[np.bool_]:
        if not len(self._after) and not len(self._missing):
            return np.zeros(len(first), bool)
        return any_between(self._after, first, marker) | any_between(self._missing, first + 1, marker)


# The words of verdicts by their numbers.


STATE: Final = {word: number for number, word in enumerate(STATES)}

CAUSE: Final = {word: number for number, word in enumerate((None, *CAUSES))}

CERTAINTY: Final = {word: number for number, word in enumerate(CERTAINTIES)}


# What surrounds a log, as far as the verdicts on its transactions are based on it.


@dataclass(frozen=True, slots=True)
class Context:
    """What surrounds a log: all that is `around` its cluster's logs, and how its own files belong to that.

    `own_markers` are the markers in the log that answer the decisions that list the partition. `replicas` are the same
    partition's logs on other nodes. `only_counted` are the open transactions of the log that the limit of the run
    leaves. `is_alone` says that the log was given without the log directory around it. At `opened_ms` a broker had the
    log with its present end; -1 where nothing shows that.
    """

    around: Surroundings
    inputs: Inputs
    own_markers: OwnMarkers
    replicas: tuple[PartitionAudit, ...]
    only_counted: few_of_many.OnlyCounted | None
    is_alone: bool
    opened_ms: int


def opened_at(directory: PartitionDirectory, end: int, metadata: Metadata | None) -> int:
    """Return when a broker had a log with its present end (ms), -1 where nothing shows that.

    It wrote a snapshot of that offset when it opened the log or closed it, and a leader epoch began or ended with that.
    """
    if metadata is None or end not in directory.snapshots:
        return -1
    return led_since(metadata, directory.topic, directory.partition)


_S: Final = TransactionState

_WORDS: Final = {_S.ONGOING: Word.ONGOING, _S.PREPARE_COMMIT: Word.COMMITS, _S.PREPARE_ABORT: Word.ABORTS}

_LOOKED_AT: Final = ("first_offset", "batches", "older_records", "marker_type", "marker_offset")

_COLUMNS: Final = (
    *_LOOKED_AT, "producer_id", "last_epoch", "marker_epoch", "marker_timestamp", "min_timestamp", "max_timestamp",
)  # fmt: skip

_AT_ONCE: Final = 1 << 16  # rows that are judged together


# The columns of verdicts on some rows of a log, in order, with their types: `place` is the number of the row.
# `state`, `cause` and `certainty` are numbers of words. `entry` is the coordinator's record that the verdict is based
# on, `decision` its newest Prepare record that lists the partition, `undelivered` the one about the open data of a log
# that was copied too early, `name` the transactional id: -1 for none. `recent` says that an open transaction is so
# young that a copy of a healthy broker may show it as hanging, `committed` that the last marker since the decision is
# a COMMIT.
_JUDGED: Final = {
    "place": "i8", "state": "i1", "cause": "i1", "certainty": "i1", "name": "i4", "entry": "i8", "decision": "i8",
    "undelivered": "i8", "recent": "?", "committed": "?",
}  # fmt: skip

_NO_ROWS: Final = Columns.empty(tuple(_JUDGED))


def judged_rows(audit: PartitionAudit, context: Context) -> Columns:
    """Judge a log's transactions that are open, or whose marker alone does not say all; return columns of verdicts.

    The coordinator's newest record of the producer decides (KIP-664).
    """
    counts, unread = tally(audit.transactions), UnreadBytes(audit)
    if counts.is_plain and not unread and not (counts.aborted and _knows_decisions(context)):
        return _NO_ROWS  # most logs of a cluster, which cost as little as possible
    return _Judge(audit, context, unread).all()


def _knows_decisions(context: Context) -> bool:
    """Say whether an ABORT marker that no decision explains is another's than the coordinator's."""
    return not context.around.state_cleaned and context.around.coordinator.complete


class _Judge:
    """A log, what surrounds it, and what is looked up in it for many rows."""

    def __init__(self, audit: PartitionAudit, context: Context, unread: UnreadBytes) -> None:
        self.audit = audit
        self.context = context
        self.coordinator = context.around.coordinator
        self.moments, self.unread = Moments(audit), unread
        self._knows_decisions = _knows_decisions(context)

    def all(self) -> Columns:
        transactions, start, chosen = self.audit.transactions, 0, [np.empty(0, np.int64)]
        for rows in transactions.blocks(*_LOOKED_AT):
            chosen.append(start + np.flatnonzero(self._chosen(rows)))
            start += len(rows)
        places = np.concatenate(chosen)
        if not len(places):
            return _NO_ROWS
        who = transactions.take(places, "producer_id", "marker_type", "first_offset")
        opened = np.flatnonzero(fold.is_open(who))
        _, too_many = few_of_many.split(who["first_offset"][opened], self.context.only_counted)
        judged = np.delete(places, opened[too_many])
        self.sent = SentMarkers(self.audit, who["producer_id"][np.delete(opened, too_many)])
        parts = [self._judged(judged[first : first + _AT_ONCE]) for first in range(0, len(judged), _AT_ONCE)]
        if len(too_many):
            parts.append(self._not_judged(places[opened[too_many]]))
        found = Columns.concat(parts, tuple(_JUDGED))
        return found.take(np.argsort(found["place"], kind="stable")) if len(too_many) else found

    def _not_judged(self, places: NDArray[np.int64]) -> Columns:
        """Return what is said of the open transactions past the limit."""
        names = self.coordinator.names_of(self.audit.transactions.take(places, "producer_id")["producer_id"])
        state, cause, certainty = NOT_JUDGED
        said = {"state": STATE[state], "cause": CAUSE[cause], "certainty": CERTAINTY[certainty]}
        return Columns(_of_cells(places, names, **said))

    def _chosen(self, rows: Columns) -> NDArray[np.bool_]:
        """Say which rows have, or may have, a verdict that does not follow from the marker alone."""
        has_data = fold.has_data(rows)
        chosen: NDArray[np.bool_] = fold.is_open(rows)
        chosen |= (rows["older_records"] != NONE) | (has_data & (rows["batches"] == 0))
        if self._knows_decisions:
            foreign = ~among(rows["marker_offset"], self.context.own_markers.offsets)
            chosen |= (rows["marker_type"] == fold.ABORT) & has_data & foreign
        chosen |= self.unread.reach(rows)
        return chosen

    def _judged(self, places: NDArray[np.int64]) -> Columns:
        rows = self.audit.transactions.take(places, *_COLUMNS)
        names = self.coordinator.names_of(rows["producer_id"])
        is_open = fold.is_open(rows)
        found = _of_cells(places, names)
        damaged = self.unread.are_inside(rows)
        opened, ended = np.flatnonzero(is_open), np.flatnonzero(~is_open)
        if len(ended):
            verdicts = self._ended(rows.take(ended), names[ended], damaged[ended])
            for name, column in verdicts.items():
                found[name][ended] = column
        if len(opened):
            judged = self._opened(names[opened], rows.take(opened), damaged[opened])
            for name, column in judged.items():
                found[name][opened] = column
        return Columns(found)

    def _ended(self, rows: Columns, names: NDArray[np.int64], damaged: NDArray[np.bool_]) -> _Cells:
        """Judge transactions that a marker ended."""
        nobody_decided = np.zeros(len(rows), bool)
        if self._knows_decisions:
            # Records from after the copy can't be about a marker whose epoch the coordinator has left.
            last = self.coordinator.last_of(rows["producer_id"])
            epochs = _cells(self.coordinator.states["producer_epoch"], last)
            all_known = (last >= 0) & (epochs > rows["marker_epoch"]) | self.context.inputs.are_of_one_moment
            all_known |= self.coordinator.go_on_past(names, rows["marker_timestamp"])
            nobody_decided = all_known & ~among(rows["marker_offset"], self.context.own_markers.offsets)
        return _by_rule(
            lambda fact: ended_verdict(EndedFacts(**fact)),
            ending=rows["marker_type"],
            has_data=fold.has_data(rows),
            has_older_epoch=rows["older_records"] != NONE,
            nobody_decided=nobody_decided,
            begins_before_log=rows["batches"] == 0,
            damage_between=damaged,
        )

    def _opened(self, names: NDArray[np.int64], rows: Columns, damaged: NDArray[np.bool_]) -> _Cells:
        """Judge transactions that no marker ended."""
        producers, states = rows["producer_id"], self.coordinator.states
        entry, word = self._words(producers, names)
        name = np.where(entry >= 0, _cells(states["transactional_id"], entry), names)
        decision = self.context.own_markers.newest(producers)
        is_decided = decision >= 0
        decided = self.coordinator.decisions(decision[is_decided])
        listed, answered = self._listed(producers, entry, word)
        followed, committed, its_epoch = np.zeros((3, len(rows)), bool)
        followed[is_decided], committed[is_decided] = self.sent.since(
            producers[is_decided], decided["epoch"], decided["decided"]
        )
        its_epoch[is_decided] = (decided["data_epoch"] == NONE) | (
            decided["data_epoch"] == rows["last_epoch"][is_decided]
        )
        missed = self._missed(rows, name, entry, word, decision, followed)
        verdicts = _by_rule(
            lambda fact: open_verdict(OpenFacts(**fact)),
            word=word,
            lists_partition=listed,
            has_newer_epoch=_cells(states["producer_epoch"], entry) > rows["last_epoch"],
            is_answered=answered,
            is_decided=is_decided,
            marker_followed=followed,
            has_its_epoch=its_epoch,
            doubt=np.array([_DOUBTS.index(one.doubt) for one in missed]),
            damage_follows=damaged,
            begins_before_log=rows["batches"] == 0,
            in_replica=self._in_replica(rows),
        )
        recent = np.array([one.is_recent for one in missed]) & (verdicts["cause"] != CAUSE["replica-behind"])
        if self.context.is_alone:  # no broker of the cluster was given that could have had the coordinator's records
            recent &= verdicts["cause"] != CAUSE["state-partition-missing"]
        early = np.flatnonzero(verdicts["cause"] == CAUSE["copied-while-running"])
        undelivered = np.full(len(rows), -1, np.int64)
        undelivered[early] = self.context.own_markers.of_open(producers[early], rows["last_epoch"][early])
        return verdicts | {
            "name": name, "entry": entry, "decision": decision, "undelivered": undelivered, "recent": recent,
            "committed": committed,
        }  # fmt: skip

    def _words(
        self, producers: NDArray[np.int64], names: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the coordinator's newest record about each producer, -1 for none, and the word that it says."""
        entry = self.coordinator.last_of(producers)
        is_last, is_named = entry >= 0, (entry < 0) & (names >= 0)
        entry[is_named] = self.coordinator.last_records(names[is_named])
        says = _cells(self.coordinator.states["state"], entry)
        word = np.full(len(producers), Word.NO_RECORD if self.coordinator.complete else Word.NOT_HERE, np.int64)
        word[is_named] = Word.REPLACED
        word[is_named & (says == TOMBSTONE)] = Word.FORGOTTEN
        word[is_last] = Word.IS_DONE
        for state, meant in _WORDS.items():
            word[is_last & (says == state)] = meant
        return entry, word

    def _listed(
        self, producers: NDArray[np.int64], entry: NDArray[np.int64], word: NDArray[np.int64]
    ) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Say which records about open transactions list the partition, and which of these decisions have a marker."""
        states, directory = self.coordinator.states, self.audit.directory
        listed, answered = np.zeros((2, len(producers)), bool)
        said = np.flatnonzero(word >= Word.ONGOING)
        listed[said] = self.coordinator.list_partition(entry[said], directory.topic, directory.partition)
        due = np.flatnonzero(listed & ((word == Word.COMMITS) | (word == Word.ABORTS)))
        epochs, updated = states["producer_epoch"][entry[due]], states["last_update_timestamp"][entry[due]]
        answered[due] = self.sent.since(producers[due], epochs, updated)[0]
        return listed, answered

    def _missed(
        self, rows: Columns, names: NDArray[np.int64], entry: NDArray[np.int64], word: NDArray[np.int64],
        decision: NDArray[np.int64], sent: NDArray[np.bool_],
    ) -> list[MarkerMissed]:  # fmt: skip
        """Say whether the inputs may have missed the markers of open transactions."""
        context, states = self.context, self.coordinator.states
        is_said, is_decided = entry >= 0, decision >= 0
        decided = np.where(is_decided, _cells(states["last_update_timestamp"], decision), -1)
        times = (_cells(column, entry) for column in (states["timestamp"], states["last_update_timestamp"]))
        said = np.where(is_said, np.maximum(*times), -1)
        latest = np.maximum(said, decided)
        never_comes = is_decided & ~sent
        never_comes[never_comes] = self._never_come(decision[never_comes])
        # Where no record is missing, only a decision that lists the partition sends a marker.
        is_due = is_decided & ~sent | context.around.state_cleaned
        each = Columns({
            "state": self.coordinator.read_until(names), "said": latest, "due": np.where(is_due, latest, -1),
            "decided": decided, "never_comes": never_comes,
        })  # fmt: skip
        options = context.around.options
        read = Read(context.around.newest_broker, options.copy_ms, options.max_timeout_ms, each)
        seen = self.moments.seen(rows, read)
        at_end = self._at_end(rows, read, word) if context.inputs is Inputs.ONE_MOMENT else seen
        return [marker_missed(context.inputs, *both) for both in zip(seen, at_end, strict=True)]

    def _at_end(self, rows: Columns, read: Read, word: NDArray[np.int64]) -> list[Seen]:
        """Return what logs of one moment show of open transactions: what the system had not written is missing.

        A producer that its id has left begins no transaction any more, whatever follows in the state partition.
        """
        is_left = (word == Word.FORGOTTEN) | (word == Word.REPLACED)
        each = read.each.with_columns({"state": np.where(is_left, NEVER, read.each["state"])})
        return self.moments.seen(rows, read._replace(each=each, max_timeout_ms=0, log=self.context.opened_ms))

    def _never_come(self, decisions: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Say of which decisions a marker that is missing never comes: the partition had no leader, or lost it."""
        metadata, directory = self.context.around.metadata, self.audit.directory
        never = np.zeros(len(decisions), bool)
        if metadata is None and not self.context.replicas:
            return never
        decided = self.coordinator.decisions(decisions)
        if metadata is not None:
            for number in np.flatnonzero(decided["completed"] >= 0).tolist():
                since, until = (int(decided[name][number]) for name in ("decided", "completed"))
                never[number] = leaderless(metadata, directory.topic, directory.partition, since, until)
        return never | ReplicaMarkers.of(self.context.replicas, decided).cut_off(self.audit)

    def _in_replica(self, rows: Columns) -> NDArray[np.int64]:
        """Return which marker each row has in another replica that continues this one."""
        found = np.full(len(rows), Ending.NONE, np.int64)
        for other in self.context.replicas:
            is_behind = other.log_end_offset <= self.audit.log_end_offset
            left = found == Ending.NONE
            if is_behind or fork_of(self.audit, other) is not None or not left.any():
                continue
            ended = EndedRows(other, rows["producer_id"][left]).rows
            ended = ended.take(ended["marker_offset"] >= self.audit.log_end_offset)
            if not len(ended):
                continue
            placed = SortedRows((ended["producer_id"], ended["first_offset"]), np.arange(len(ended)))
            group = placed.groups(rows["producer_id"], rows["first_offset"])
            at = placed.first(group, np.zeros(len(rows), np.int64))
            there = np.flatnonzero(left & placed.holds(at, group))
            found[there] = ended["marker_type"][placed.order[at[there]]]
        return found


_Cells = dict[str, "NDArray[Any]"]


def _of_cells(places: NDArray[np.int64], names: NDArray[Any], **cells: int) -> _Cells:
    """Return columns of verdicts with the same cells; what is not said is 0, or -1 where it is a row."""
    every = {"entry": -1, "decision": -1, "undelivered": -1} | cells
    columns = {name: np.full(len(places), every.get(name, 0), kind) for name, kind in _JUDGED.items()}
    return columns | {"place": places, "name": names.astype(_JUDGED["name"])}


def _by_rule(rule: Callable[[dict[str, Any]], TransactionVerdict], **facts: NDArray[Any]) -> _Cells:
    """Judge transactions whose facts are columns: of those with the same facts one. A fact is one of at most 16."""
    key = np.zeros(len(next(iter(facts.values()))), np.int64)
    for fact in facts.values():
        key = key << 4 | fact & 0xF
    _, firsts, of = np.unique(key, return_index=True, return_inverse=True)
    alike = [[_KINDS.get(name, bool)(cell) for cell in fact[firsts].tolist()] for name, fact in facts.items()]
    verdicts = [rule(dict(zip(facts, one, strict=True))) for one in zip(*alike, strict=True)]
    return {
        "state": np.array([STATE[one.state] for one in verdicts], np.int64)[of],
        "cause": np.array([CAUSE[one.cause] for one in verdicts], np.int64)[of],
        "certainty": np.array([CERTAINTY[one.certainty] for one in verdicts], np.int64)[of],
    }


_DOUBTS: Final = (None, *Doubt)

_KINDS: Final[dict[str, Callable[[int], object]]] = {
    "word": Word, "ending": Ending, "in_replica": Ending, "doubt": _DOUBTS.__getitem__,
}  # fmt: skip


def _cells(column: NDArray[Any], rows: NDArray[np.int64]) -> NDArray[Any]:
    """Return the cells of a column at some rows; any cell for a row of -1."""
    return column[rows] if len(column) else np.zeros(len(rows), np.int64)

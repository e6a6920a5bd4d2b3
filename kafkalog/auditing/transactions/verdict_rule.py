"""The rule of verdicts: how a transaction ended in a log, or why it is open there, and how certain that is.

The tables of ``docs/verdicts.md`` say the same. It takes the facts of one transaction and returns its verdict.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final, NamedTuple

from kafkalog.certainty import UNLESS_COPIED, Doubt, certainty_of, is_proved
from kafkalog.folds import fold
from kafkalog.settle import Reason

__all__ = [
    "NOT_JUDGED",
    "EndedFacts",
    "Ending",
    "OpenFacts",
    "Said",
    "TransactionVerdict",
    "Word",
    "ended_verdict",
    "open_verdict",
    "reported",
]


class Word(IntEnum):
    """The coordinator's newest word on a producer: what the last record of its transactional id says."""

    NOT_HERE = 0  # no record names the producer, and not all partitions of the state topic are available
    NO_RECORD = 1  # no record names it, and all are
    FORGOTTEN = 2  # a record named it once; its id has expired since
    REPLACED = 3  # a record named it once; its id has another producer now
    ONGOING = 4
    COMMITS = 5  # decided to commit; its markers are on their way
    ABORTS = 6
    IS_DONE = 7  # completed, or nothing has begun yet


class Ending(IntEnum):
    """The marker that ended something."""

    ABORT = fold.ABORT
    COMMIT = fold.COMMIT
    NONE = fold.OPEN


class OpenFacts(NamedTuple):
    """What is known of an open transaction.

    `lists_partition` and `has_newer_epoch` are about the record of the coordinator's word, `is_answered` says that the
    log has a marker of that epoch since. A decision is the newest one that lists the partition: `is_decided` where
    there is one, `marker_followed` where the log has its marker, `has_its_epoch` where it is about data of this epoch
    or nothing says of which. `doubt` is why the inputs may have missed a marker, None where they have not. `in_replica`
    is the marker that another replica, which goes on from here, has.
    """

    word: Word
    lists_partition: bool = False
    has_newer_epoch: bool = False
    is_answered: bool = False
    is_decided: bool = False
    marker_followed: bool = False
    has_its_epoch: bool = False
    doubt: Doubt | None = None
    damage_follows: bool = False
    begins_before_log: bool = False
    in_replica: Ending = Ending.NONE


class EndedFacts(NamedTuple):
    """What is known of a transaction that a marker ended, or of a marker alone.

    `has_older_epoch` says that some of its data is of an epoch before that of its last, `nobody_decided` that all
    decisions that the marker could follow from are known, and that it follows from none.
    """

    ending: Ending
    has_data: bool = True
    has_older_epoch: bool = False
    nobody_decided: bool = False
    begins_before_log: bool = False
    damage_between: bool = False


class TransactionVerdict(NamedTuple):
    """How a transaction ended, or why it is open."""

    state: str
    cause: str | None
    certainty: str


# What is said of the open transactions of a log past the limit.
NOT_JUDGED: Final = TransactionVerdict("undecided", "not-judged", certainty_of(Doubt.NOT_JUDGED))

_TOO_EARLY: Final = {Doubt.COPIED_TOO_EARLY: "copied-while-running", Doubt.CUT_OFF: "cut-in-bundle"}
_PENDING: Final = {Ending.COMMIT: "commit-pending", Ending.ABORT: "abort-pending"}


def open_verdict(facts: OpenFacts) -> TransactionVerdict:
    """Judge a transaction that no marker ended in the log.

    A transaction hangs by KIP-664's definition: the coordinator will never write its marker.
    """
    state, cause = _by_the_word(facts)
    if state in ("hanging", "undecided") and facts.in_replica is not Ending.NONE:
        return TransactionVerdict(_PENDING[facts.in_replica], "replica-behind", certainty_of())
    damage = Doubt.DAMAGED_BETWEEN if facts.damage_follows else None
    if state == "hanging":
        certainty = certainty_of(damage, facts.doubt)
        if facts.doubt in _TOO_EARLY and damage is None:
            return TransactionVerdict("undecided", _TOO_EARLY[facts.doubt], certainty)
        return TransactionVerdict("hanging", _why_it_hangs(facts, cause), certainty)
    if cause is None and facts.begins_before_log:
        cause = "begins-before-log"
    # What the coordinator has yet to end is open at the moment that the files show, however they were written.
    doubt = None if facts.doubt is Doubt.NOT_WRITTEN_YET else facts.doubt
    return TransactionVerdict(state, cause, certainty_of(damage, doubt))


def _by_the_word(facts: OpenFacts) -> tuple[str, str | None]:
    """Return the state that follows from the coordinator's word, and the cause where the word says it."""
    word = facts.word
    if word is Word.NOT_HERE:
        return "undecided", "state-partition-missing"
    if word is Word.NO_RECORD:
        return "hanging", "producer-unknown"
    if word is Word.FORGOTTEN:
        return "hanging", "id-expired"
    if word is Word.REPLACED:
        return "hanging", "producer-replaced"
    if word is Word.IS_DONE:
        return "hanging", None
    if word is Word.ONGOING and facts.has_newer_epoch:
        return "hanging", "superseded-epoch"
    if not facts.lists_partition:
        return "hanging", "partition-not-registered"
    if word is Word.ONGOING:
        return "ongoing", None
    if facts.is_answered:
        return "hanging", None
    return "commit-pending" if word is Word.COMMITS else "abort-pending", None


def _why_it_hangs(facts: OpenFacts, cause: str | None) -> str:
    """Return why it hangs: what was decided of its data counts, whatever the coordinator has forgotten or begun since.

    `cause` is what the coordinator's word says.
    """
    if facts.is_decided and not facts.marker_followed and (facts.has_its_epoch or cause is None):
        return "marker-missing"
    if cause is not None:
        return cause
    return "data-after-marker" if facts.is_decided else "partition-not-registered"


def ended_verdict(facts: EndedFacts) -> TransactionVerdict:
    """Judge a transaction that a marker ended in the log.

    A coordinator sends WriteTxnMarkers for what it decided to each partition that it lists (KIP-98).
    """
    state = "committed" if facts.ending is Ending.COMMIT else "aborted"
    return TransactionVerdict(
        state, _special(facts), certainty_of(Doubt.DAMAGED_BETWEEN if facts.damage_between else None)
    )


def _special(facts: EndedFacts) -> str | None:
    """Return what is special about an ended transaction, None where nothing is."""
    if not facts.has_data:
        return "marker-without-data"
    if facts.has_older_epoch:
        return "late-data-adopted"
    if facts.ending is Ending.ABORT and facts.nobody_decided:
        return "administrator-abort"
    return "begins-before-log" if facts.begins_before_log else None


class Said(NamedTuple):
    """The code of a finding about a transaction, and why it is less severe than its code, if it is."""

    code: str
    weaker: Reason | None = None


def reported(verdict: TransactionVerdict, *, is_overdue: bool, is_recent: bool) -> Said | None:
    """Return what is reported of a transaction, None where nothing is.

    `is_overdue` says that the coordinator, or a marker, is later than it may be, `is_recent` that a healthy broker may
    have ended the transaction after the copy.
    """
    state, cause, certainty = verdict
    if cause == "late-data-adopted":
        return Said("late-data-adopted")
    if state == "hanging" and is_proved(certainty):
        return Said("transaction-hanging")
    if state == "hanging" and certainty == UNLESS_COPIED and is_recent:
        return Said("transaction-hanging", Reason.MAY_HAVE_ENDED)
    if state == "hanging":
        return Said("transaction-hanging", Reason.NOT_PROVED)
    if state == "undecided":
        return Said("transaction-undecided", Reason.MAY_HAVE_ENDED if is_recent else None)
    if state in ("commit-pending", "abort-pending"):
        return Said("transaction-pending", None if is_overdue else Reason.NOT_OVERDUE)
    return Said("transaction-overdue") if state == "ongoing" and is_overdue else None

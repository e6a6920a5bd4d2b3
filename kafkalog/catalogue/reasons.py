"""Why a finding may be less severe than its code, and the doubt that goes with that.

The catalogue gives each code its severity, and the reasons that may lower it: a rule that knows more of a case names
one of them.
"""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from kafkalog.certainty import Doubt
from kafkalog.severity import Severity

__all__ = ["Reason"]


class Weaker(NamedTuple):
    """What a reason leaves of a finding: the severity at most, with a doubt if there is one, and the remedy or not.

    One `of_any_code` is about a file as a whole, whatever is found in it.
    """

    because: str
    most: Severity = Severity.NOTE
    doubt: Doubt | None = None
    keeps_remedy: bool = True
    of_any_code: bool = False


class Reason(Enum):
    """What makes a finding less than its code."""

    FOLLOWS = Weaker("Another finding about the same place names the cause.")
    COPIED = Weaker(
        "The file may be newer than the log beside it: a broker that ran wrote it in between.", of_any_code=True
    )
    COPY_EXPLAINS = Weaker(
        "A broker that ran changed files while they were copied: one finding of the partition says it for all.",
        doubt=Doubt.COPIED_BEFORE,
        keeps_remedy=False,
    )
    MAY_BE_THERE = Weaker("What is missing may have come after the file was copied.", doubt=Doubt.COPIED_BEFORE)
    COPY_MAY_EXPLAIN = Weaker(
        "It stays open whether a broker that ran explains it, or something was lost.",
        Severity.WARNING,
        Doubt.COPIED_BEFORE,
    )
    BEING_WRITTEN = Weaker("A running broker was writing the batch at the end of the log.")
    MAY_BE_WRITTEN_TO = Weaker("A broker that writes to a file leaves room at its end, and cuts it off at the close.")
    IN_CHECKPOINT = Weaker(
        "A newer .checkpoint of the metadata log has the state of what is missing.",
        Severity.WARNING,
        Doubt.IN_CHECKPOINT,
    )
    LEFT_BY_BROKERS = Weaker(
        "Brokers leave it so and do not read it: entries after a truncation, files that were renamed to be deleted,"
        " paired changelogs of Kafka Streams.",
        of_any_code=True,
    )
    NO_CONSUMER_SEES = Weaker("Consumers get the same records with it and without it.")
    NO_CONSUMER_READS = Weaker("The replica lost its history: consumers read another one.", keeps_remedy=False)
    EMPTY_OR_NEWER = Weaker("The partition is known to be empty, or may be newer than the copy.")
    ON_PURPOSE = Weaker("Directories of clusters with ids of their own were given together.")
    NOT_LOADED = Weaker("A start loads a newer file, or needs nothing of what is wrong in this one.")
    NOT_KAFKAS = Weaker("Kafka does not use a file of this name.")
    MAY_HAVE_ENDED = Weaker("A healthy broker may have ended the transaction after the copy.")
    LAST_COUNTS = Weaker("A broker takes the last of a partition's entries.")
    NOT_PROVED = Weaker("The files do not show beyond doubt that the transaction hangs.", Severity.WARNING)
    AT_WORK = Weaker("A broker may be at work on it: it is the newest record about the partition.")
    HAD_ELSEWHERE = Weaker("The offsets are in another place, or consumers do not need the object.", Severity.WARNING)
    NEITHER_TIER = Weaker("Neither tier of the partition is among the inputs: it may be in another store.")
    MAY_BE_COMPACTED = Weaker(
        "No file shows that the topic was never compacted.", Severity.WARNING, Doubt.MAY_BE_COMPACTED
    )
    MAY_BE_COMMITTED = Weaker(
        "No checkpoint of the older copy shows that the records were committed.",
        Severity.WARNING,
        Doubt.MAY_BE_COMMITTED,
    )
    NOT_OVERDUE = Weaker("The coordinator, or its marker, is not later than it may be.")

    def leaves(self, severity: Severity) -> Severity:
        """Return what is left of a severity."""
        return min(severity, self.value.most)

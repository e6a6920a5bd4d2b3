"""How a finding's code is declared: all that any rule asks of a code stands here, and nowhere else."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from enum import Flag, auto
from typing import Literal, NamedTuple

from kafkalog.catalogue.reasons import Reason
from kafkalog.severity import Bytes, Severity

__all__ = ["ERROR", "NOTE", "WARNING", "Bytes", "Code", "KindWords", "Reason", "StoryName", "Trait"]

StoryName = Literal[
    "several clusters", "elections", "losses", "lost objects", "torn transactions", "outages", "open transactions",
    "brokers not given", "directories not given", "replicas put aside", "surviving records",
]  # fmt: skip


class KindWords(NamedTuple):
    """A kind of incident with its cause."""

    kind: str
    cause: str


class Trait(Flag):
    """What rules ask of a code.

    - OF_PRODUCER: it is about a producer and its transactions, not about a file. Replicas that have the same batches
      show the same, and it is said once.
    - OF_LOG: it is about a log as a whole, whichever file shows it.
    - OF_ROOT: it is about a file in the root of a log directory, which may be wrong by itself.
    - OF_OPEN: it is about transactions that are open. What a later reading shows of them takes its place.
    - TOLD_AS_NOTE: incidents are made of it, or report it, also where it is a note.
    - MAY_BE_HEALTHY: a cluster that is in order may show it, too: an incident of it alone is possible, not proved.
    - NOT_READ: something that was asked for was not read.
    - GAP: offsets are missing between batches.
    - CUT: the end of a log is missing.
    - WITHOUT_OFFSET: the batch's own fields are damaged, its offset among them.
    """

    NONE = 0
    OF_PRODUCER = auto()
    OF_LOG = auto()
    OF_ROOT = auto()
    OF_OPEN = auto()
    TOLD_AS_NOTE = auto()
    MAY_BE_HEALTHY = auto()
    NOT_READ = auto()
    GAP = auto()
    CUT = auto()
    WITHOUT_OFFSET = auto()


@dataclass(frozen=True, slots=True)
class Code:
    """A kind of finding: what it means, how certain it is, what Kafka does, what to do next.

    `bytes` is what it says of the bytes of its place. `kind` and `cause` are those of the incident that it makes where
    no story takes it; a code that is only a note has none. `story` is the story that is about it: the module
    `auditing/incidents/takes.py` has the conditions. `follows` are the codes of which it may be a consequence, so that
    it is a note beside them, and `told_by` the kinds of incidents of a newer audit that say what it says of two.
    `lowered_by` are the reasons for which it may be less severe, beside those of a file as a whole. `line` is the
    label that it has on the first screen although it is a note.
    """

    severity: Severity
    meaning: str
    certainty: str
    kafka: str
    next: str
    bytes: Bytes = Bytes.INFORMATIVE
    _: KW_ONLY
    kind: str | None = None
    cause: str | None = None
    story: StoryName | None = None
    traits: Trait = Trait.NONE
    follows: tuple[str, ...] = ()
    told_by: tuple[str, ...] = ()
    lowered_by: tuple[Reason, ...] = ()
    line: str | None = None

    def may_be_lowered_by(self, reason: Reason) -> bool:
        """Say whether a finding of this code may be less severe for a reason."""
        if reason is Reason.FOLLOWS and (self.follows or self.told_by):
            return True
        return reason.value.of_any_code or reason in self.lowered_by


NOTE, WARNING, ERROR = Severity

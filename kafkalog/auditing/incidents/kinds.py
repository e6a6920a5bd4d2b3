"""What kind of incident a finding belongs to when no story across sources explains it: one for each code."""

from __future__ import annotations

from typing import Final, NamedTuple

from kafkalog.catalogue import CATALOGUE
from kafkalog.catalogue.record_codes import RECORDS
from kafkalog.findings import Severity

__all__ = ["KIND_OF", "KindWords", "kind_of"]


class KindWords(NamedTuple):
    """A kind of incident with its cause."""

    kind: str
    cause: str


_STOPPED: Final = KindWords("consumers-stopped", "other")
_LOST: Final = KindWords("records-lost", "missing-offsets")
_DAMAGE: Final = KindWords("records-unreadable", "damaged-bytes")
_MALFORMED: Final = KindWords("records-unreadable", "malformed-batches")
_FOREIGN: Final = KindWords("records-unreadable", "foreign-segment")
_INDEXES: Final = KindWords("side-files-wrong", "indexes")
_CHECKPOINTS: Final = KindWords("side-files-wrong", "checkpoints")
_DIVERGED: Final = KindWords("replicas-diverged", "replicas-differ")
_NOT_READ: Final = KindWords("copy-incomplete", "not-read")
_ABSENT: Final = KindWords("copy-incomplete", "partitions-absent")
_SKEWED: Final = KindWords("copy-skewed", "copied-while-running")
_CHANGED: Final = KindWords("copy-skewed", "evidence-changed")
_WRONG_FATE: Final = KindWords("wrong-fate", "foreign-marker")
_TOPIC_IDS: Final = KindWords("clusters-mixed", "topic-ids")

_BY_KIND: Final[dict[KindWords, tuple[str, ...]]] = {
    _STOPPED: ("transaction-hanging", "transaction-overdue", "transaction-pending", "transaction-undecided",
               "offsets-pending"),
    KindWords("consumers-stopped", "not-judged"): ("not-all-judged",),
    KindWords("consumers-stopped", "decided"): ("decision-elsewhere",),
    KindWords("consumers-stopped", "no-leader"): ("leaderless-elsewhere",),
    KindWords("records-lost", "unclean-election"): ("election-elsewhere",),
    _LOST: ("offset-gap-lost", "offset-gap-unexplained", "offset-gap", "segment-missing", "sequence-broken",
            "state-transition-illegal", "records-missing"),
    KindWords("records-lost", "log-cut-short"): ("log-cut-short", "checkpoint-ahead"),
    KindWords("records-lost", "log-missing"): ("log-missing",),
    _DAMAGE: ("crc-mismatch", "batch-length-wrong", "magic-wrong", "batch-truncated", "bytes-unreadable", "bytes-zero",
              "message-crc-mismatch", "stretch-isolated", "search-over-budget", "decompression-failed",
              "codec-unknown"),
    _MALFORMED: ("control-record-malformed", "empty-batch-odd", "transaction-without-producer", "control-batch-odd",
                 "offset-not-increasing", "offset-outside-segment", "base-offset-wrong", "leader-epoch-wrong",
                 "leader-epoch-decreasing", "internal-record-malformed", "internal-record-odd", "key-undecodable",
                 "state-record-malformed"),
    _FOREIGN: ("segment-foreign", "segments-alike"),
    KindWords("transaction-torn", "administrator"): ("atomicity-broken",),
    KindWords("wrong-fate", "late-data"): ("late-data-adopted",),
    _WRONG_FATE: ("marker-epoch-wrong", "coordinator-epoch-decreasing"),
    _INDEXES: ("index-truncated", "index-mismatch", "time-index-mismatch", "index-entry-not-last-offset",
               "time-index-entry-unlike-batch", "index-insane", "sibling-missing", "version-unknown",
               "snapshot-corrupt", "txn-index-mismatch", "snapshot-mismatch"),
    _CHECKPOINTS: ("checkpoint-malformed", "checkpoint-wrong", "leader-epochs-mismatch", "meta-properties-wrong",
                   "partition-metadata-wrong", "quorum-state-wrong", "kraft-snapshot-wrong",
                   "metadata-snapshot-incomplete", "file-unknown"),
    _DIVERGED: ("replicas-fork", "state-replicas-differ", "replicas-differ", "replica-lacks"),
    KindWords("replicas-diverged", "partition-twice"): ("partition-twice",),
    _NOT_READ: ("file-unreadable", "link-leaves", "state-not-read", "batch-over-limit", "decompression-over-limit",
                "expansion-over-budget"),
    _ABSENT: ("partition-absent", "topic-missing"),
    _SKEWED: ("copy-skewed", "snapshot-contradicted"),
    _CHANGED: ("directory-twice", "file-added", "file-gone", "file-size-changed", "file-content-changed"),
    _TOPIC_IDS: ("topic-id-differs", "clusters-mixed"),
    KindWords("output-damaged", "not-as-written"): ("output-changed",),
}  # fmt: skip

KIND_OF: Final[dict[str, KindWords]] = {
    **{code: _MALFORMED for code, about in RECORDS.items() if about.severity > Severity.NOTE},
    **{code: kind for kind, codes in _BY_KIND.items() for code in codes},
}


def kind_of(code: str) -> KindWords:
    """Return the kind of incident that a code belongs to by itself; a code that is only a note has none of its own."""
    return KIND_OF.get(code, _SKEWED if CATALOGUE[code].severity is Severity.NOTE else _STOPPED)

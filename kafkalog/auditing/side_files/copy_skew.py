"""What follows from files that were copied at different moments, while a broker ran.

Whoever copies a directory lists it, and then copies file after file. Meanwhile the broker deletes the oldest segments,
puts cleaned segments in place of others, raises the first leader epoch, truncates a follower. What may follow from that
proves no damage: it is a note, and one ``copy-skewed`` finding for the partition names it. That finding is a note where
the files show what the broker did meanwhile, and a warning where they leave it open whether something was lost.

Bytes inside a file are of one moment. So are the files of a segment that was closed when the directory was listed, in a
topic that is not compacted, as long as they are all there.
"""

from __future__ import annotations

import os
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Final

from kafkalog.auditing.partition import LostOffsets, PartitionAudit, is_cleaned
from kafkalog.certainty import DAMAGE_BETWEEN, PROVED
from kafkalog.errors import UnreadableError
from kafkalog.files.directories import open_tree
from kafkalog.files.names import FileKind, parse_name
from kafkalog.findings import Finding, Severity
from kafkalog.quantities import listed
from kafkalog.settle import Reason, lowered

__all__ = ["explains_transactions", "lower_copied"]

_SHOWN: Final = 5  # findings that a message names


def lower_copied(
    findings: Sequence[Finding], audit: PartitionAudit, policies: Collection[str | None], *, joined: bool = True
) -> list[Finding]:  # fmt: skip
    """Return a partition's findings, with notes and one ``copy-skewed`` for what a skewed copy explains.

    `policies` are the values of cleanup.policy that the topic had in its life; they are empty where nothing is known.
    Without `joined` the notes alone are made: another part of the partition's findings has the joining one.
    """
    if not audit.directory.running:
        return list(findings)
    skew = _Skew(audit, policies)
    pairs = [(finding, skew.reason(finding)) for finding in findings]
    reasons = {reason for finding, reason in pairs if reason is not None and finding.severity > Severity.NOTE}
    if not reasons:
        return list(findings)
    told = [lowered(finding, None if reason is None else Reason.COPY_EXPLAINS) for finding, reason in pairs]
    if not joined:
        return told
    reason = Reason.COPY_MAY_EXPLAIN if Reason.COPY_MAY_EXPLAIN in reasons else Reason.MAY_BE_THERE
    return [_joined(audit, [finding for finding, found in pairs if found is not None], reason), *told]


def explains_transactions(audit: PartitionAudit) -> bool:
    """Say whether a skewed copy may explain findings about a log's transactions at all."""
    twice = any(finding.code == "offset-not-increasing" for finding in audit.findings)
    return audit.directory.running and (twice or bool(audit.gaps.of_kind("damage").any()))


def _joined(audit: PartitionAudit, follow: Sequence[Finding], reason: Reason) -> Finding:
    """Make the finding that names what follows."""
    directory = audit.directory
    codes = dict.fromkeys(
        finding.code if finding.offset is None else f"{finding.code} at offset {finding.offset}" for finding in follow
    )
    shown = listed(codes, _SHOWN)
    why = (
        "The broker deleted or replaced files while they were copied."
        if reason is Reason.MAY_BE_THERE
        else "Either the broker deleted or replaced files while they were copied, or files were lost: the copy does not"
        " show which. Copy the partition again and compare."
    )
    offsets = [finding.offset for finding in follow if finding.offset is not None]
    finding = directory.finding(
        "copy-skewed", directory.log,
        f"Files of {directory.topic}-{directory.partition} are not of one moment. From this follows: {shown}. {why}",
        offset=min(offsets, default=None), found=len(codes),
    )  # fmt: skip
    return lowered(finding, reason)


class _Skew:
    """One partition of a broker that ran: what its files say that the broker did while they were copied."""

    def __init__(self, audit: PartitionAudit, policies: Collection[str | None]) -> None:
        self.audit = audit
        self.directory = audit.directory
        self.is_cleaned = is_cleaned(self.directory.topic, audit.cleaned_to, policies)
        self.orphans = self._without_segment()
        self.bases = sorted({segment.base_offset for segment in self.directory.segments} | self.orphans)
        self.rules: Mapping[str, Callable[[Finding], Reason | None]] = {
            "index-mismatch": self._replaced,
            "late-data-adopted": self._transaction,
            "leader-epoch-decreasing": self._after_overlap,
            "leader-epochs-mismatch": self._epochs,
            "log-cut-short": self._newer_index,
            "offset-gap-lost": self._missing,
            "offset-gap-unexplained": self._missing,
            "offset-not-increasing": self._overlap,
            "quorum-state-wrong": self._older_quorum_state,
            "segment-foreign": self._replaced,
            "segment-missing": self._missing,
            "sequence-broken": self._after_overlap,
            "snapshot-mismatch": self._replaced,
            "time-index-mismatch": self._replaced,
            "transaction-hanging": self._transaction,
            "txn-index-mismatch": self._txn_index,
        }

    def _without_segment(self) -> set[int]:
        """Return the offsets of side files whose segment went; only the cleaner puts its batches into another one."""
        orphans, end = self.directory.orphans, self.audit.log_end_offset
        if not orphans or self.is_cleaned or not self.directory.segments:
            return set(orphans)
        lost, start = LostOffsets(self.audit.gaps), self.directory.segments[0].base_offset
        return {one for one in orphans if one < start or one >= end or one in lost}

    def reason(self, finding: Finding) -> Reason | None:
        """Return what a skew leaves of the finding that joins it with others, None where it explains nothing."""
        rule = self.rules.get(finding.code)
        return None if rule is None else rule(finding)

    def _missing(self, finding: Finding) -> Reason | None:
        """Judge a missing segment: retention deletes the first ones, the cleaner any but the last."""
        base = finding.offset
        if base is None:
            return None
        if finding.position:  # inside a file, into which the cleaner had put the segments that follow
            last = self.directory.segments[-1].path
            following = self._following(_base(finding))
            into = finding.file == last or (following is not None and base >= following)
            return Reason.MAY_BE_THERE if into and self.is_cleaned else None
        if self._went(base):
            return Reason.MAY_BE_THERE
        # Retention begins with the first segment: where that is here, nothing was deleted that no cleaner deletes.
        is_whole_before = self.directory.segments[0].base_offset == 0 and not self.is_cleaned
        return None if is_whole_before and finding.code != "offset-gap-unexplained" else Reason.COPY_MAY_EXPLAIN

    def _txn_index(self, finding: Finding) -> Reason | None:
        """Judge a closed segment's ``.txnindex``: the cleaner replaces it, and it may go before it is copied."""
        base = _base(finding)
        if base in self.directory.txn_indexes or not self._is_closed(base):
            return self._replaced(finding)
        at = bisect_left(self.bases, base)
        # Retention removes what is before it first; a log that does not begin at 0 has lost segments before.
        went = self._went(self.bases[at - 1]) if at else base > 0 or self._gone_to >= 0
        return Reason.MAY_BE_THERE if self.is_cleaned or went or self._went(base) else Reason.COPY_MAY_EXPLAIN

    def _replaced(self, finding: Finding) -> Reason | None:
        """Judge files that do not fit together: of a segment that the cleaner replaced, or of a truncated follower."""
        if finding.certainty == PROVED:  # by other files than the segment's own
            return None
        at_seam = finding.file.endswith(".snapshot") and self.bases[-1:] == [_base(finding)]
        if self.is_cleaned and (at_seam or self._is_closed(_base(finding))):
            return Reason.MAY_BE_THERE
        return Reason.COPY_MAY_EXPLAIN if self._truncated(finding) else None

    def _newer_index(self, finding: Finding) -> Reason | None:
        """Judge a segment that ends before its index does: up to the next segment it is whole."""
        base = _base(finding)
        if finding.position is None or not self.is_cleaned or not self._is_closed(base):
            return None
        return Reason.MAY_BE_THERE if finding.offset == self._following(base) else Reason.COPY_MAY_EXPLAIN

    def _overlap(self, finding: Finding) -> Reason | None:
        """Judge a segment that begins before the end of the one before it: the cleaner had put it into that one."""
        first, reached, base = finding.found, finding.needed, _base(finding)
        if finding.position or not self.is_cleaned or not isinstance(first, int) or first < base:
            return None
        whole = reached in (self._following(base), self.audit.log_end_offset)
        # A batch whose offset alone is wrong is not read twice.
        twice = any(again.first_offset <= again.last_offset for again in self.audit.breaks)
        return Reason.MAY_BE_THERE if whole or twice or base in self._in_part else Reason.COPY_MAY_EXPLAIN

    def _after_overlap(self, finding: Finding) -> Reason | None:
        """Judge what follows where batches are read twice."""
        seams = (found for found in self.audit.findings if found.code == "offset-not-increasing")
        if finding.code == "leader-epoch-decreasing":
            seams = (found for found in seams if (found.file, found.position) == (finding.file, finding.position))
        return Reason.MAY_BE_THERE if any(self._overlap(found) is not None for found in seams) else None

    def _transaction(self, finding: Finding) -> Reason | None:
        """Judge a transaction whose marker may be in a segment that went, or that is read twice."""
        if finding.certainty != DAMAGE_BETWEEN or self.audit.damaged:
            return self._after_overlap(finding)
        gaps = self.audit.gaps
        between = gaps.of_kind("damage") & (gaps.first > (finding.offset or 0))
        return Reason.MAY_BE_THERE if gaps.at_starts(between) else None

    def _epochs(self, finding: Finding) -> Reason | None:
        """Judge a checkpoint that is older or newer than the log: it differs before or after what both have."""
        entries, runs = self.directory.leader_epochs, self.audit.epochs
        if any(later <= epoch or after <= start for (epoch, start), (later, after) in pairwise(entries)):
            return None
        before = dict(zip((epoch for epoch, _ in runs), [-1, *(first for _, first in runs)], strict=False))
        firsts = dict(runs)
        same = [epoch for epoch, start in entries if epoch in firsts and before[epoch] < start <= firsts[epoch]]
        if same:
            either = {epoch for epoch, _ in (*entries, *runs)}
            if any(same[0] < epoch < same[-1] and epoch not in same for epoch in either):
                return None
        return Reason.COPY_MAY_EXPLAIN if self._truncated(finding) and len(entries) > 1 else Reason.MAY_BE_THERE

    def _older_quorum_state(self, finding: Finding) -> Reason | None:
        """Judge quorum-state, which the broker wrote anew when the epoch of the log's last batches began."""
        epoch = finding.found if isinstance(finding.found, str) else ""
        return Reason.MAY_BE_THERE if isinstance(finding.needed, int) and epoch.isdecimal() else None

    def _following(self, base: int) -> int | None:
        at = bisect_right(self.bases, base)
        return self.bases[at] if at < len(self.bases) else None

    def _is_closed(self, base: int) -> bool:
        """Say whether a segment was not the last one when the directory was listed."""
        return base >= 0 and (self._following(base) is not None or base < self.audit.cleaned_to)

    def _truncated(self, finding: Finding) -> bool:
        """Say whether it is about offsets that a follower may have truncated: after its first leader epoch began."""
        epochs = self.audit.epochs
        return len(epochs) > 1 and finding.offset is not None and finding.offset >= epochs[-1][1]

    def _went(self, base: int) -> bool:
        """Say whether the files show that the broker was removing a segment, or one after it."""
        epochs, start = self.directory.leader_epochs, self.directory.checkpoints.get("log_start", -1)
        return (bool(epochs) and epochs[0][1] > base) or start > base or base <= self._gone_to

    @cached_property
    def _gone_to(self) -> int:
        """The last segment whose files are here in part, or renamed: its offset, -1 for none."""
        closed = {*self.bases[:-1], *self.orphans}
        aside = (parse_name(name).offset or -1 for name in self.directory.left_over)
        return max([*aside, *(self._in_part & closed)], default=-1)

    @cached_property
    def _in_part(self) -> set[int]:
        """The segments some of whose side files are missing."""
        try:
            listed = open_tree(self.directory.log, deep=False).entries(self.directory.log)
        except UnreadableError:
            return set()
        files = [found for found in (parse_name(entry.name) for entry in listed) if not found.removed]
        of_kind = {kind: {found.offset for found in files if found.kind is kind} for kind in FileKind}
        indexed = of_kind[FileKind.OFFSET_INDEX] & of_kind[FileKind.TIME_INDEX]
        rolled = [base for base in self.bases if base]  # a snapshot is taken when a segment is rolled
        kept = [base for base in rolled if base in of_kind[FileKind.PRODUCER_SNAPSHOT]]
        # Up to 2.7 brokers kept the snapshots of the last segments only.
        lost = {base for base in rolled if base not in kept and (kept[:1] < [base] or len(kept) == len(rolled) - 1)}
        return lost | {base for base in self.bases if base not in indexed}


def _base(finding: Finding) -> int:
    """Return the offset in the name of a finding's file, -1 where it has none."""
    offset = parse_name(os.path.basename(finding.file)).offset
    return -1 if offset is None else offset

"""A partition's snapshots in order: each is rebuilt from the one before it and the log between them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from kafkalog.auditing.partition import LostOffsets, PartitionAudit
from kafkalog.auditing.side_files.doubts import Doubts
from kafkalog.auditing.side_files.rebuilt import RebuiltSegment
from kafkalog.auditing.side_files.snapshot_witness import Difference, differences, states_of
from kafkalog.errors import UnreadableError
from kafkalog.findings import Finding, Severity
from kafkalog.format.layout import PRODUCER_SNAPSHOT, PRODUCER_STATE_ENTRY
from kafkalog.format.snapshot import ProducerSnapshot, producer_snapshot
from kafkalog.log.files import read_small
from kafkalog.log.logdir import Segment
from kafkalog.txn import producer_states
from kafkalog.txn.columns import Columns

__all__ = ["SnapshotChain"]


class _Known:
    """Producers' states, and the offset of the snapshot from which they were continued, None: the log's begin."""

    def __init__(self, states: Columns, since: int | None) -> None:
        self._parts = [states]
        self._is_joined = False  # a snapshot's entries are in no order
        self.since = since

    def go_on(self, changes: Columns) -> None:
        """Take in what the next piece of the log changed; it is joined when a snapshot asks for the states."""
        if len(changes):
            self._parts.append(changes)
            self._is_joined = False

    @property
    def states(self) -> Columns:
        """One row a producer, sorted by producer."""
        if not self._is_joined:
            rows = Columns.concat(self._parts, producer_states.COLUMNS)
            self._parts, self._is_joined = [producer_states.collapse(rows)], True
        return self._parts[0]


class _Suspect(NamedTuple):
    """A snapshot that contradicts the log, until the next ones show which of the two is wrong."""

    finding: Finding
    states: _Known


class SnapshotChain:
    """The snapshots of one partition, and how its segments change producers' states."""

    def __init__(self, audit: PartitionAudit, segments: Sequence[RebuiltSegment], doubts: Doubts) -> None:
        self.audit = audit
        self.segments = segments
        self.doubts = doubts
        self.begin = segments[0].segment.base_offset if segments else 0
        self.lost = LostOffsets(audit.gaps)
        self.reported = {(finding.code, finding.file) for finding in audit.findings}
        self.known = _Known(Columns.empty(producer_states.COLUMNS), None)
        self.suspect: _Suspect | None = None

    def compare(self) -> Iterator[Finding]:
        """Yield what is wrong with each snapshot."""
        if self.segments:
            yield from self._at(self.begin, None)
        bases = sorted({rebuilt.segment.base_offset for rebuilt in self.segments})
        for rebuilt in self.segments:
            for piece in rebuilt.states:
                self.known.go_on(piece.changes)
                if self.suspect is not None:
                    self.suspect.states.go_on(piece.changes)
                if piece.stop is not None:
                    yield from self._at(piece.stop, rebuilt.segment)
            following = bisect_right(bases, rebuilt.segment.base_offset)
            if following < len(bases):
                yield from self._at(bases[following], rebuilt.segment)
        if self.suspect is not None:
            yield self.suspect.finding

    def _at(self, offset: int, segment: Segment | None) -> Iterator[Finding]:
        """Compare the snapshot at an offset, if there is one, with what is known there."""
        path = self.audit.directory.snapshots.get(offset)
        if path is None or offset > self.audit.log_end_offset:
            return
        snapshot = self._read(path)
        if isinstance(snapshot, Finding):
            if (snapshot.code, path) not in self.reported:
                yield snapshot
            return
        stored = _Known(states_of(snapshot.entries), offset)
        if segment is None or self.doubts.is_foreign(segment):  # it is the first evidence
            self.known = stored
            return
        found = differences(snapshot.entries, self.known.states, self._unknown_below(offset, self.known))
        if self.suspect is not None:
            by_stored = differences(
                snapshot.entries, self.suspect.states.states, self._unknown_below(offset, self.suspect.states)
            )
            if found and not by_stored:  # the snapshots agree with one another, and the log does not
                yield self._foreign(self.suspect.finding)
                found = []
            elif not found:
                yield self.suspect.finding
            if not found:
                self.suspect = None
        if not found:
            self.known = stored
        elif self.suspect is None:
            mismatch = self._mismatch(path, offset, found)
            self.suspect = _Suspect(
                mismatch._replace(severity=Severity.NOTE) if self.doubts.of(segment) else mismatch, stored
            )

    def _unknown_below(self, offset: int, known: _Known) -> int | None:
        """Return the offset below which the log does not show everything about producers, None where it does."""
        since = known.since
        # Up to 2.3 brokers forgot producers whose last batch fell below the log's start.
        begin = max(self.begin if since is None else 0, min(self.audit.log_start_offset, offset))
        lost = max(begin, self.audit.cleaned_to, self.lost.end_before(offset))
        return lost if lost > (since or 0) else None

    def _read(self, path: str) -> ProducerSnapshot | Finding:
        try:
            snapshot = producer_snapshot(read_small(path))
        except UnreadableError as error:
            return self._finding("file-unreadable", path, str(error))
        return self._finding("snapshot-corrupt", path, snapshot.wrong) if snapshot.wrong else snapshot

    def _finding(self, code: str, path: str, message: str) -> Finding:
        directory = self.audit.directory
        return Finding.of(code, path, message, log=directory.log, topic=directory.topic, partition=directory.partition)

    def _mismatch(self, path: str, offset: int, found: list[Difference]) -> Finding:
        first = found[0]
        producers = len({difference.producer_id for difference in found})
        if first.field:
            message = (
                f"producer {first.producer_id} has {first.field} {first.stored} in the snapshot, but"
                f" {first.rebuilt} in the log"
            )
        elif first.entry is None:
            message = f"producer {first.producer_id} is in the log, but has no entry in the snapshot"
        else:
            message = f"producer {first.producer_id} has two entries in the snapshot, or is not in the log"
        more = f"; {producers} producers differ in all" if producers > 1 else ""
        position = None
        if first.entry is not None:
            position = PRODUCER_SNAPSHOT.size + first.entry * PRODUCER_STATE_ENTRY.size
            position += PRODUCER_STATE_ENTRY.position(first.field) if first.field else 0
        return self._finding("snapshot-mismatch", path, message + more)._replace(
            position=position,
            offset=offset,
            needed=first.rebuilt,
            found=first.stored,
            producer_id=first.producer_id,
        )

    def _foreign(self, mismatch: Finding) -> Finding:
        return mismatch._replace(
            code="segment-foreign",
            severity=Severity.ERROR if mismatch.severity > Severity.NOTE else Severity.NOTE,
            message=f"the snapshots agree with one another, but the log before this one does not: {mismatch.message}",
        )
